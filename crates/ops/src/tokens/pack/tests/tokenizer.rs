//! Effects of the tokenizer on a run: the switch to the reference, and padded texts.

use super::*;
use gristmill_storage::publish::write_file;
use gristmill_tokenizer::{Tokenizer, DIFFERENCE_MARK};

fn put(path: &Path, bytes: &[u8]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    write_file(&RealFs, path, bytes, 0o644).unwrap();
}

fn lines(texts: &[String]) -> Vec<u8> {
    texts.iter().map(|text| format!("{}\n", serde_json::json!({ "text": text }))).collect::<String>().into_bytes()
}

fn numbers<const BYTES: usize>(path: &Path, number: fn([u8; BYTES]) -> u64) -> Vec<u64> {
    std::fs::read(path).unwrap().as_chunks().0.iter().map(|bytes| number(*bytes)).collect()
}

fn ids(path: &Path) -> Vec<u64> {
    numbers(path, |bytes| u16::from_le_bytes(bytes).into())
}

/// Returns a plan for documents of which the fast tokenizer encodes one differently, and the token counts of the reference.
fn differing(dir: &Path, at: usize) -> (PackPlan, Vec<u64>) {
    let mut texts: Vec<String> = (0..40).map(|n| format!("document {n} of a few words")).collect();
    texts[at].push_str(DIFFERENCE_MARK);
    put(&dir.join("in/a.jsonl"), &lines(&texts));
    let mut plan = plan(&dir.join("in"), "nanosets/tokenizers/bpe1k.json", &dir.join("out"));
    // Each test has its own file, because parallel runs share loaded tokenizers and a switch to the reference affects all of them.
    let mut file = std::fs::read(&plan.tokenizer).unwrap();
    file.resize(file.len() + at, b'\n');
    plan.tokenizer = dir.join("tokenizer.json").to_str().unwrap().into();
    put(Path::new(&plan.tokenizer), &file);
    plan.nanosets = Some(NanosetsTarget::default());
    let tokenizer = Tokenizer::load(&plan.tokenizer).unwrap();
    assert!(tokenizer.is_fast(), "there is nothing to compare otherwise");
    let end = tokenizer.id_of("<|endoftext|>").unwrap();
    let mut expected = Vec::new();
    for text in &texts {
        let mut ids = Vec::new();
        tokenizer.encoder().encode_by_reference(text, &mut ids).unwrap();
        expected.extend(ids.into_iter().chain([end]).map(u64::from));
    }
    (plan, expected)
}

#[test]
fn difference_from_the_reference_repeats_the_run_with_the_reference() {
    let by_lines = Tuning { block_bytes: Some(1), commit_bytes: Some(0), free_bytes: None };
    for (threads, tuning) in [(1, by_lines), (2, by_lines), (2, Tuning::default())] {
        let dir = tempfile::tempdir().unwrap();
        let (plan, expected) = differing(dir.path(), 5);
        let task = start_on(plan, options(threads), tuning, Arc::new(RealFs)).unwrap();
        while !task.is_finished() {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        let log = task.status().log.join("\n");
        let report = task.wait().unwrap();
        assert_eq!(ids(&dir.path().join("out/00000_unshuffled.ds")), expected);
        let why = report.switched_to_reference.unwrap();
        assert!(why.contains("by the reference"), "{why}");
        assert!(log.contains("the run restarts with the reference"), "{log}");
        assert_eq!((report.documents, report.tokens as usize), (40, expected.len() - 40));
    }
}

#[test]
fn difference_in_an_uncompared_document_is_not_detected() {
    let dir = tempfile::tempdir().unwrap();
    let (plan, expected) = differing(dir.path(), 30);
    assert!(!Tokenizer::load(&plan.tokenizer).unwrap().guard().wants(30));
    let report = run(&plan).unwrap();
    // The injected difference reaches the output; otherwise the test above could not fail.
    assert!(report.switched_to_reference.is_none());
    assert_ne!(ids(&dir.path().join("out/00000_unshuffled.ds")), expected);
}

#[test]
fn difference_in_texts_outside_documents_repeats_the_run_with_the_reference() {
    for threads in [1, 2] {
        let dir = tempfile::tempdir().unwrap();
        let (mut plan, expected) = differing(dir.path(), 30);
        let file = std::fs::read_to_string(&plan.tokenizer).unwrap();
        let mut file: serde_json::Value = serde_json::from_str(&file).unwrap();
        // These texts include the added tokens themselves.
        let added = file["added_tokens"].as_array_mut().unwrap();
        let mut token = added[0].clone();
        (token["content"], token["id"]) = (DIFFERENCE_MARK.into(), 60_000.into());
        added.push(token);
        plan.tokenizer = dir.path().join("added.json").to_str().unwrap().into();
        put(Path::new(&plan.tokenizer), file.to_string().as_bytes());
        let task = start_on(plan.clone(), options(threads), Tuning::default(), Arc::new(RealFs)).unwrap();
        let report = task.wait().unwrap();
        assert!(report.switched_to_reference.unwrap().contains("the fast reader differs here"));
        assert_ne!(ids(&dir.path().join("out/00000_unshuffled.ds")), expected, "the token is one id");
        let tokenizer = Tokenizer::load(&plan.tokenizer).unwrap();
        assert!(!tokenizer.is_fast() && tokenizer.facts().slow_because.unwrap().contains("by the reference"));
        let mut right = Vec::new();
        tokenizer
            .encoder()
            .encode_by_reference(&format!("document 30 of a few words{DIFFERENCE_MARK}"), &mut right)
            .unwrap();
        let made = ids(&dir.path().join("out/00000_unshuffled.ds"));
        assert!(made.windows(right.len()).any(|part| part.iter().zip(&right).all(|(a, b)| *a == u64::from(*b))));
    }
}

#[test]
fn texts_are_padded_in_batches_of_ten_thousand_with_a_warning() {
    let dir = tempfile::tempdir().unwrap();
    let json = r#"{"version":"1.0","truncation":null,
        "padding":{"strategy":"BatchLongest","direction":"Right","pad_to_multiple_of":null,"pad_id":9,"pad_type_id":0,"pad_token":"[PAD]"},
        "added_tokens":[],"normalizer":null,"pre_tokenizer":{"type":"WhitespaceSplit"},"post_processor":null,
        "decoder":null,"model":{"type":"WordLevel","vocab":{"a":0,"b":1,"?":2},"unk_token":"?"}}"#;
    put(&dir.path().join("tokenizer.json"), json.as_bytes());
    // The longest document of the first batch is its last one. The second batch has shorter documents.
    let words = |n: usize| match n {
        9_999 => "a b a b a",
        10_001 => "b a b",
        _ => "a",
    };
    let texts: Vec<String> = (0..10_003).map(|n| words(n).to_owned()).collect();
    put(&dir.path().join("in/a.jsonl"), &lines(&texts));
    let mut plan = plan(&dir.path().join("in"), "nanosets/tokenizers/bpe1k.json", &dir.path().join("out"));
    plan.tokenizer = dir.path().join("tokenizer.json").to_str().unwrap().into();
    plan.end = None;
    plan.nanosets = Some(NanosetsTarget::default());
    let report = run(&plan).unwrap();
    assert!(
        report.problems.iter().any(|problem| problem.message.contains("the file pads texts")),
        "{:?}",
        report.problems
    );
    let path = dir.path().join("out/00000_unshuffled.ds");
    let ends = numbers(&path.with_extension("ds.index"), u64::from_le_bytes);
    assert_eq!((ends.len(), ends[0], ends[9_999], ends[10_000], ends[10_002]), (10_003, 5, 50_000, 50_003, 50_009));
    let made = ids(&path);
    assert_eq!(
        (&made[..5], &made[49_990..]),
        (&[0, 9, 9, 9, 9][..], &[0, 9, 9, 9, 9, 0, 1, 0, 1, 0, 0, 9, 9, 1, 0, 1, 0, 9, 9][..])
    );
}

#[test]
fn documents_separated_by_carriage_returns_are_encoded_like_lines() {
    let dir = tempfile::tempdir().unwrap();
    // More documents than are encoded together, with blank ones in between.
    let texts: Vec<String> = (0..700).map(|n| format!("document {n} of a few words")).collect();
    let by_lines = String::from_utf8(lines(&texts)).unwrap();
    let mut made = Vec::new();
    for (name, end) in [("lines", "\n"), ("returns", "\r"), ("blanks", "\r\r\r")] {
        put(&dir.path().join(name).join("a.jsonl"), by_lines.replace('\n', end).as_bytes());
        let mut plan =
            plan(&dir.path().join(name), "nanosets/tokenizers/bpe1k.json", &dir.path().join(format!("{name}.out")));
        plan.nanosets = Some(NanosetsTarget::default());
        let report = run(&plan).unwrap();
        made.push((report.documents, ids(&dir.path().join(format!("{name}.out/00000_unshuffled.ds")))));
    }
    assert_eq!(made[0].0, 700);
    assert!(made[1] == made[0] && made[2] == made[0]);
}
