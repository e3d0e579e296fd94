//! Bad input of each kind: losses are counted and reported, and never affect neighbouring documents.

use super::{bpe, golden_path, jsonl, texts, without_own_folders, END};
use crate::cli_support::{zip, RunOutput, Sandbox};
use serde_json::Value;

/// Packs everything in `data` in all three formats into `o`.
fn pack(sandbox: &Sandbox, more: &str) -> RunOutput {
    sandbox.say(&format!(
        "pack data --glob * --format modalities --skip-bad-lines --format nanosets --format forager --variable --tokenizer {} \
         --eos-token {END} --output o --json {more}",
        bpe()
    ))
}

/// Returns the number of documents of each format, in the order of the formats on the command line.
fn documents(result: &Value) -> Vec<u64> {
    result["targets"].as_array().unwrap().iter().map(|target| target["documents"].as_u64().unwrap()).collect()
}

#[test]
fn text_that_the_tokenizer_refuses_loses_only_its_document() {
    let sandbox = Sandbox::new();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/tokenizers/gpt2.json");
    let mut file: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let first = file["model"]["vocab"].as_object().unwrap().len();
    // The first token includes the blanks with which the second would begin; the reference fails on this.
    let token = |id: usize, text: &str, left: bool| {
        serde_json::json!({"id": id, "content": text, "single_word": false, "lstrip": left, "rstrip": !left,
            "normalized": false, "special": true})
    };
    file["added_tokens"] = [token(first, "<|end|>", false), token(first + 1, "  ", true)].into_iter().collect();
    sandbox.write("t.json", file.to_string());
    let good = |number: usize| format!("{{\"text\": \"hello {number}\"}}\n");
    // Among the first documents, which are compared with the reference, and after them.
    for at in [3, 30] {
        let lines: String = (0..40).map(good).collect();
        let (before, after) = lines.split_at((0..at).map(good).map(|line| line.len()).sum());
        sandbox.write("a.jsonl", format!("{before}{{\"text\": \"a<|end|>   \"}}\n{after}"));
        let line = format!("pack a.jsonl --format nanosets --tokenizer t.json --eos-token <|end|> --output o{at}");
        let ran = sandbox.say(&line).ends(1).says("40 documents");
        ran.complains(&format!("line {}", at + 1)).complains("the tokenizer cannot encode its text");
    }
}

#[test]
fn bad_line_loses_only_its_own_document() {
    // The defect, the line, and the number of documents that Modalities, Nanosets and Forager lose.
    let cases: [(&str, Vec<u8>, [u64; 3]); 13] = [
        ("no text", b"{\"other\": 1}".to_vec(), [1, 1, 1]),
        ("null", b"{\"text\": null}".to_vec(), [1, 1, 1]),
        ("empty", b"{\"text\": \"\"}".to_vec(), [1, 1, 0]),
        ("a number", b"{\"text\": 7}".to_vec(), [1, 1, 1]),
        ("a list", b"{\"text\": [\"a\"]}".to_vec(), [1, 1, 1]),
        ("no JSON", b"{\"text\": \"a\"".to_vec(), [1, 1, 1]),
        ("two values", b"{\"text\": \"a\"} {}".to_vec(), [1, 1, 1]),
        ("no object", b"[1]".to_vec(), [1, 1, 1]),
        ("no UTF-8", b"{\"text\": \"\xff\xfe\"}".to_vec(), [1, 1, 1]),
        ("a byte-order mark", b"\xef\xbb\xbf{\"text\": \"a\"}".to_vec(), [0, 1, 1]),
        ("a lone surrogate", b"{\"text\": \"\\ud800\"}".to_vec(), [1, 1, 1]),
        ("a raw NUL", b"{\"text\": \"\0\"}".to_vec(), [1, 1, 1]),
        ("blank", b"".to_vec(), [1, 1, 1]),
    ];
    for (name, line, lost) in cases {
        let sandbox = Sandbox::new();
        let mut data = jsonl(["before"]);
        data.extend_from_slice(&line);
        data.push(b'\n');
        data.extend(jsonl(["after"]));
        sandbox.write("data/a.jsonl", data);
        let ran = pack(&sandbox, "");
        let result: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{name}: {}", ran.err));
        assert_eq!(documents(&result), lost.map(|lost| 3 - lost), "{name}: {result:#}");
        assert!([0, 1].contains(&ran.code), "{name}: {}", ran.err);
        if name != "empty" {
            assert_eq!(ran.code, 1, "{name}: {}", ran.out);
            let named = result["problems"].as_array().unwrap().iter().any(|problem| {
                let subject = problem["subject"].to_string();
                subject.contains("a.jsonl") && problem["subject"]["line"] == 2
            });
            assert!(named, "{name}: {}", result["problems"]);
        }
        // The tokens of the neighbours are the same as without the line.
        let alone = Sandbox::new();
        alone.write("data/a.jsonl", jsonl(["before", "after"]));
        pack(&alone, "").ends(0);
        if lost == [1, 1, 1] {
            assert_eq!(without_own_folders(&sandbox.path("o")), without_own_folders(&alone.path("o")), "{name}");
        }
    }
}

#[test]
fn escaped_nul_and_surrogate_pairs_are_text() {
    let sandbox = Sandbox::new();
    sandbox.write("data/a.jsonl", b"{\"text\": \"a\\u0000b\"}\n{\"text\": \"\\ud83d\\ude80\"}\n");
    let result = pack(&sandbox, "").ends(0).json("ok");
    assert_eq!(documents(&result), [2, 2, 2]);
    let plain = Sandbox::new();
    plain.write("data/a.jsonl", "{\"text\": \"a\\u0000b\"}\n{\"text\": \"🚀\"}\n".as_bytes());
    pack(&plain, "").ends(0);
    assert_eq!(without_own_folders(&sandbox.path("o")), without_own_folders(&plain.path("o")));
}

#[test]
fn empty_files_are_skipped_and_files_without_text_key_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("data/empty.jsonl", b"");
    sandbox.write("data/good.jsonl", jsonl(["one"]));
    let result: Value = serde_json::from_str(&pack(&sandbox, "").out).unwrap();
    assert_eq!(documents(&result), [1, 1, 1], "{result:#}");
    let wrong = Sandbox::new();
    wrong.write("data/a.jsonl", b"{\"content\": \"a\", \"id\": 1}\n{\"content\": \"b\", \"id\": 2}\n");
    let ran = wrong.say(&format!("pack data --format nanosets --tokenizer {} --eos-token {END} --output o", bpe()));
    assert_ne!(ran.code, 0, "{}", ran.out);
    let said = format!("{}{}", ran.out, ran.err);
    assert!(said.contains("content"), "the keys that exist are named: {said}");
}

#[test]
fn unusable_tokenizers_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("data/a.jsonl", jsonl(["one"]));
    sandbox.write("broken.json", b"{\"model\": ");
    sandbox.write("strange.json", b"{\"version\": \"1.0\", \"model\": {\"type\": \"Quantum\", \"vocab\": {}}}");
    sandbox.write("no.model", b"\x0a\xff\xff\xff\xff");
    for (name, codes) in
        [("broken.json", [1, 1]), ("strange.json", [1, 1]), ("no.model", [1, 1]), ("missing.json", [2, 3])]
    {
        let ran = sandbox.say(&format!("pack data --format nanosets --tokenizer {name} --output o"));
        assert!(codes.contains(&ran.code), "{name}: {} {}", ran.code, ran.err);
        assert!(ran.err.contains(name), "{name}: {}", ran.err);
        assert!(!sandbox.has("o"), "{name}");
    }
    let wide = golden_path("modalities/tokenizers/wl70k/tokenizer.json");
    let base = format!("pack data --tokenizer {wide} --output o");
    let text = std::fs::read_to_string(golden_path("modalities/tokenizers/wl70k/tokenizer.json")).unwrap();
    let vocabulary: Value = serde_json::from_str(&text).unwrap();
    let words = vocabulary["model"]["vocab"].as_object().unwrap();
    let (far, _) = words.iter().find(|(_, id)| id.as_u64() == Some(69_000)).unwrap();
    sandbox.write("data/a.jsonl", jsonl([far.as_str(), "x"]));
    sandbox.say(&format!("{base} --format nanosets --eos-token <none>")).ends(2).complains("<none>");
    sandbox.say(&format!("{base} --format nanosets --eos-id 4000000")).ends(2);
    // An id that does not fit only affects the document that contains it.
    let line = format!("{base} --format forager --variable --dtype u16 --json");
    let result = sandbox.say(&line).ends(1).json("problems");
    assert_eq!(documents(&result), [1], "{result:#}");
    sandbox.say(&format!("{base}2 --format forager --sample-size 2 --dtype u8 --eos-id 69000")).ends(2);
}

#[test]
fn cut_gzip_input_is_packed_up_to_the_cut() {
    let sandbox = Sandbox::new();
    let texts = texts(400);
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut packer, &jsonl(&texts)).unwrap();
    let packed = packer.finish().unwrap();
    sandbox.write("data/a.jsonl.gz", &packed[..packed.len() / 2]);
    sandbox.write("data/b.jsonl", jsonl(["a neighbour"]));
    let ran =
        sandbox.say(&format!("pack data --format nanosets --tokenizer {} --eos-token {END} --output o --json", bpe()));
    let result = ran.ends(1).json("problems");
    let kept = documents(&result)[0];
    assert!(kept > 50 && kept < 400, "{kept}");
    assert!(result["problems"].to_string().contains("a.jsonl.gz"), "{}", result["problems"]);
}

#[test]
fn longest_allowed_line_is_packed_and_a_longer_one_is_a_problem() {
    let sandbox = Sandbox::new();
    // Shorter than the maximum line in memory; a repeated token takes the least time.
    let fits = format!("{{\"text\": \"{}\"}}\n", "index ".repeat(1_500_000));
    let over = format!("{{\"text\": \"{}\"}}\n", "a".repeat(65 << 20));
    let mut data = jsonl(["before"]);
    data.extend_from_slice(fits.as_bytes());
    data.extend(jsonl(["between"]));
    data.extend_from_slice(over.as_bytes());
    data.extend(jsonl(["after"]));
    sandbox.write("data/a.jsonl", data);
    let ran =
        sandbox.say(&format!("pack data --format nanosets --tokenizer {} --eos-token {END} --output o --json", bpe()));
    let result = ran.ends(1).json("problems");
    assert_eq!(documents(&result), [4], "{result:#}");
    assert!(result["problems"].as_array().unwrap().iter().any(|problem| problem["subject"]["line"] == 4), "{result:#}");
}

#[test]
fn pack_output_is_never_read_as_input() {
    let sandbox = Sandbox::new();
    sandbox.write("data/a.jsonl", jsonl(["one"]));
    let base = format!("pack data --tokenizer {} --eos-token {END}", bpe());
    sandbox.say(&format!("{base} --format nanosets --output data")).ends(2).complains("the same location as the input");
    sandbox.write("data/b.jsonl", jsonl(["two"]));
    sandbox
        .say(&format!("{base} --format nanosets --output data/b.jsonl"))
        .ends(2)
        .complains("the output is a file that is read");
    std::fs::remove_file(sandbox.path("data/b.jsonl")).unwrap();
    sandbox.write("notes.txt", "a file");
    sandbox.say(&format!("{base} --format mds --sample-size 8 --output notes.txt")).ends(2).complains("of this name");
    // For Nanosets every file of the folder is text; the run that writes tokens into the folder skips them.
    let inside = format!("{base} --format nanosets --output data/tokens");
    sandbox.say(&inside).ends(0);
    sandbox.say(&inside).ends(0).says("Nothing to do");
    std::fs::remove_dir_all(sandbox.path("data/tokens")).unwrap();
    let line =
        format!("pack data/a.jsonl --format modalities --tokenizer {} --eos-token {END} --output data/a.jsonl", bpe());
    assert_ne!(sandbox.say(&line).code, 0);
    sandbox.write("data/b.jsonl", jsonl(["two"]));
    sandbox.say(&format!("{base} --format modalities --output o.pbin"));
    assert_eq!(sandbox.text("data/a.jsonl"), String::from_utf8(jsonl(["one"])).unwrap());
    sandbox
        .say(&format!("pack nowhere --format nanosets --tokenizer {} --output o", bpe()))
        .ends(3)
        .complains("nowhere");
    sandbox.say(&format!("{base} --format nanosets --glob *.txt --output o")).ends(2).complains("--glob");
}

#[test]
fn inputs_are_never_overwritten_by_the_output() {
    let sandbox = Sandbox::new();
    sandbox.write("a.jsonl", jsonl(["one", "two"]));
    sandbox.write("tok.json", std::fs::read(bpe()).unwrap());
    sandbox.say("modalities data create_raw_index a.jsonl").ends(0);
    let before = ["a.jsonl", "tok.json", "a.idx"].map(|name| sandbox.read(name));
    for (output, what) in [("tok.json", "the tokenizer"), ("a.idx", "the raw index"), ("a.jsonl", "an input")] {
        let line = format!("pack a.jsonl --format modalities --tokenizer tok.json --eos-token {END} --output {output} --force-overwrite");
        sandbox.say(&line).ends(2).complains(what);
        assert_eq!(["a.jsonl", "tok.json", "a.idx"].map(|name| sandbox.read(name)), before, "{output}");
    }
}

#[test]
fn forager_loss_masks_name_the_required_line_format() {
    let sandbox = Sandbox::new();
    sandbox.write("a.jsonl", jsonl(texts(3)));
    let ran = sandbox.say(&format!(
        "pack a.jsonl --tokenizer {} --output o --eos-token {END} --format forager --sample-size 4 --loss-masks",
        bpe()
    ));
    ran.ends(1).complains(r#"{"parts":[{"type":"prompt","text":"…"}"#);
    assert!(!sandbox.has("o"));
    let help = sandbox.say("pack --help").ends(0);
    assert!(help.out.replace('\n', " ").contains(r#"{"parts":[{"type":"#), "{}", help.out);
}

#[test]
fn zip_of_several_files_is_a_problem_and_its_first_file_is_packed() {
    let sandbox = Sandbox::new();
    sandbox.write("a.jsonl.zip", zip(&["{\"text\": \"one\"}\n", "{\"text\": \"two\"}\n"]));
    let line = format!("pack a.jsonl.zip --format nanosets --tokenizer {} --eos-token {END} --output o", bpe());
    let ran = sandbox.say(&line).ends(1).says("1 document");
    ran.complains("a.jsonl.zip").complains("an archive of 2 files").complains("unpack it");
}
