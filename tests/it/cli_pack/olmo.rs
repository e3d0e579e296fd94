//! Files for OLMo: the bytes of the reference program, refusals, omissions and notes.

use super::{bpe, golden, without_own_folders, Case, END};
use crate::cli_support::Sandbox;
use crate::support::{assert_same, copy_folder, picture};
use flate2::read::GzDecoder;
use serde_json::{json, Value};
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

type Files = BTreeMap<PathBuf, Vec<u8>>;

/// Returns the files with decompressed tables.
fn unpacked(files: Files) -> Files {
    let unpack = |(path, bytes): (PathBuf, Vec<u8>)| match path.extension().is_some_and(|end| end == "gz") {
        true => {
            let mut table = Vec::new();
            GzDecoder::new(&bytes[..]).read_to_end(&mut table).unwrap();
            (path.with_extension(""), table)
        }
        false => (path, bytes),
    };
    files.into_iter().map(unpack).collect()
}

/// Creates the tokenizers of `grow.json` in a folder.
fn grow_tokenizers(folder: &Path) {
    let read = |name: &str| -> Value { serde_json::from_slice(&std::fs::read(folder.join(name)).unwrap()).unwrap() };
    for (name, recipe) in read("grow.json").as_object().unwrap() {
        let mut tokenizer = read(recipe["base"].as_str().unwrap());
        let last = recipe["entries"].as_u64().unwrap() - 1;
        let used = |entries: &Value| entries.as_array().unwrap().iter().filter_map(|token| token["id"].as_u64()).max();
        let added = used(&tokenizer["added_tokens"]).unwrap_or(0);
        let vocab = tokenizer["model"]["vocab"].as_object_mut().unwrap();
        let first = vocab.values().filter_map(Value::as_u64).max().unwrap().max(added) + 1;
        vocab.extend((first..last).map(|id| (format!("<dummy_{id}>"), id.into())));
        let flags = json!({"id": last, "content": "<|last|>", "single_word": false, "lstrip": false, "rstrip": false,
            "normalized": false, "special": true});
        tokenizer["added_tokens"].as_array_mut().unwrap().push(flags);
        std::fs::write(folder.join(name), tokenizer.to_string()).unwrap();
    }
}

#[test]
fn olmo_files_equal_the_reference_for_all_threads_and_memory() {
    let tokenizers = Sandbox::new();
    copy_folder(&golden("olmo/tokenizers"), &tokenizers.path("tokenizers"));
    grow_tokenizers(&tokenizers.path("tokenizers"));
    let cases = ["basic", "stripped", "eos_once", "files_of_limited_size", "csv_quoting", "wide", "bos"];
    for (number, case) in cases.into_iter().enumerate() {
        let name = format!("olmo/o{:02}_{case}", number + 1);
        let facts: Value = serde_json::from_slice(&std::fs::read(golden(&name).join("case.json")).unwrap()).unwrap();
        let command: Vec<&str> =
            facts["gristmill"][0].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
        let expected = unpacked(picture(&golden(&name).join("expected")));
        for (threads, memory) in [("1", "64M"), ("2", "256M"), ("7", "1G")] {
            let case = Case::new(&name);
            std::fs::remove_file(case.sandbox.path("tokenizers")).unwrap();
            std::os::unix::fs::symlink(tokenizers.path("tokenizers"), case.sandbox.path("tokenizers")).unwrap();
            let mut command = command.clone();
            command.extend(["--threads", threads, "--memory", memory]);
            case.run(&command).ends(0);
            assert_same(&unpacked(without_own_folders(&case.sandbox.path("case/expected"))), &expected, &name);
        }
    }
}

/// Returns the rows of a table.
fn rows(sandbox: &Sandbox, table: &str) -> Vec<String> {
    let bytes = std::fs::read(sandbox.path(table)).unwrap();
    let table = unpacked(BTreeMap::from([(PathBuf::from("a.csv.gz"), bytes)])).into_values().next().unwrap();
    String::from_utf8(table).unwrap().split_terminator("\r\n").map(str::to_owned).collect()
}

/// Writes a text of this many documents, and returns the flags that pack it.
fn text(sandbox: &Sandbox, documents: usize) -> String {
    let line =
        |number| format!("{{\"id\": \"d{number}\", \"text\": \"word {number}\", \"m\": {{\"n\": \"n{number}\"}}}}\n");
    sandbox.write("a.jsonl", (0..documents).map(line).collect::<String>());
    format!("pack a.jsonl --format olmo --tokenizer {} --eos-token {END} --yes", bpe())
}

#[test]
fn unusable_olmo_answers_are_refused_with_hint() {
    let sandbox = Sandbox::new();
    let line = format!("{} --output o", text(&sandbox, 3));
    let without_end = line.replace(&format!("--eos-token {END} "), "");
    sandbox.say(&without_end).ends(2).complains("--eos-token TEXT, or --bos-token TEXT");
    sandbox.say(&format!("{line} --id-key a..b")).ends(2).complains("--id-key").complains("metadata.id");
    sandbox.say(&format!("{line} --dtype i32")).ends(2).complains("u8, u16 or u32");
    sandbox.say(&format!("{line} --dtype u8")).ends(2).complains("--dtype").complains("vocabulary");
    sandbox.say(&format!("{line} --max-tokens-per-file 0")).ends(2).complains("--max-tokens-per-file");
    sandbox.say(&format!("{line} --input-name a --input-name b")).ends(2).complains("2 names for 1 input");
    assert!(!sandbox.has("o"), "nothing was written");
    let mds = line.replace("--format olmo", "--format mds --sample-size 4");
    sandbox.say(&format!("{mds} --id-key a")).ends(2).complains("--id-key").complains("--format olmo");
    sandbox.say(&format!("{mds} --dtype u16")).ends(2).complains("--dtype").complains("token types");
}

#[test]
fn olmo_metadata_has_ids_of_the_id_key_and_line_numbers() {
    let sandbox = Sandbox::new();
    let line = text(&sandbox, 3);
    let columns = |output: &str| {
        let rows = rows(&sandbox, &format!("{output}/part-0-00000.csv.gz"));
        rows.iter().map(|row| row.splitn(3, ',').nth(2).unwrap().to_owned()).collect::<Vec<_>>()
    };
    sandbox.say(&format!("{line} --id-key m.n --output nested")).ends(0);
    assert_eq!(columns("nested"), ["n0,a.jsonl,1", "n1,a.jsonl,2", "n2,a.jsonl,3"]);
    sandbox.say(&format!("{line} --id-key none --output lines")).ends(0);
    // The SHA-256 of `a.jsonl`.
    let hash = "8d6a6f2da8cffa60896c7bef4041abc38892be977ca31c3cb70f7548a8a5a81d";
    assert_eq!(columns("lines")[1], format!("{hash}-2,a.jsonl,2"));
    sandbox.say(&format!("{line} --input-name web/a.jsonl --output named")).ends(0);
    assert_eq!(columns("named")[0], "d0,web/a.jsonl,1");
}

#[test]
fn documents_without_an_id_are_left_out_and_reported() {
    let sandbox = Sandbox::new();
    let line = format!("{} --output o --json", text(&sandbox, 1));
    let lines = "{\"text\": \"no id\"}\n{\"id\": 7, \"text\": \"a number\"}\n{\"id\": \"a\\nb\", \"text\": \"kept\"}\n\
                 {\"id\": \"e\", \"text\": \"\"}\n";
    sandbox.write("a.jsonl", lines);
    let ran = sandbox.say(&line).ends(1).json("problems");
    let problems = ran["problems"].to_string();
    assert!(problems.contains("its id is missing, or is not text") && problems.contains("a line break in the id"));
    assert_eq!(ran["targets"][0]["documents"], 1);
    assert_eq!(rows(&sandbox, "o/part-0-00000.csv.gz").len(), 1);
    assert!(rows(&sandbox, "o/part-0-00000.csv.gz")[0].ends_with(",a b,a.jsonl,3"));
    sandbox.say(&format!("{line} --compat --force-overwrite")).ends(1);
    assert!(rows(&sandbox, "o/part-0-00000.csv.gz")[0].ends_with(",\"a\nb\",a.jsonl,3"));
}

#[test]
fn a_set_without_documents_is_an_empty_pair_and_a_problem() {
    let sandbox = Sandbox::new();
    let line = format!("{} --output o", text(&sandbox, 0));
    sandbox.say(&line).ends(1).complains("there is no document");
    assert_eq!(std::fs::read(sandbox.path("o/part-0-00000.npy")).unwrap(), b"");
    assert_eq!(rows(&sandbox, "o/part-0-00000.csv.gz"), [""; 0]);
    sandbox.write("a.jsonl", "{\"id\": \"a\", \"text\": \" \"}\n");
    sandbox.say(&format!("{line} --strip --force-overwrite")).ends(1).complains("there is no document");
}

#[test]
fn long_olmo_document_has_a_separate_file_and_old_parts_are_removed() {
    let sandbox = Sandbox::new();
    let line = format!("{} --output o", text(&sandbox, 40));
    let long = format!("{{\"id\": \"long\", \"text\": \"{}\"}}\n", "word ".repeat(60));
    let mut all = std::fs::read_to_string(sandbox.path("a.jsonl")).unwrap();
    all.push_str(&long);
    sandbox.write("a.jsonl", format!("{all}{}", all.lines().next().unwrap()));
    sandbox.say(&format!("{line} --max-tokens-per-file 50")).ends(0).complains("a file of its own");
    let files = std::fs::read_dir(sandbox.path("o")).unwrap().filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        name.to_str().unwrap().ends_with(".npy")
    });
    let files = files.count();
    assert!(files > 3, "{files}");
    let is_long = |number: usize| {
        let rows = rows(&sandbox, &format!("o/part-0-{number:05}.csv.gz"));
        rows.len() == 1 && rows[0].contains(",long,")
    };
    assert!(is_long(files - 2), "the last but one");
    // A smaller number of files replaces them, because readers read all parts of a folder.
    sandbox.write("o/part-0-00099.npy", "of another run");
    sandbox.say(&line).ends(1);
    sandbox.say(&format!("{line} --force-overwrite")).ends(0);
    let left: Vec<PathBuf> = without_own_folders(&sandbox.path("o")).into_keys().collect();
    assert_eq!(left, [PathBuf::from("part-0-00000.csv.gz"), PathBuf::from("part-0-00000.npy")]);
    assert_eq!(rows(&sandbox, "o/part-0-00000.csv.gz").len(), 42);
}

#[test]
fn documents_are_shuffled_with_their_rows_by_the_seed() {
    let sandbox = Sandbox::new();
    let line = format!("{} --max-tokens-per-file 700", text(&sandbox, 500));
    let documents = |output: &str| {
        let mut all = Vec::new();
        for number in 0.. {
            let Ok(tokens) = std::fs::read(sandbox.path(&format!("{output}/part-0-{number:05}.npy"))) else { break };
            assert!(tokens.len() < 1_400, "{}", tokens.len());
            let mut last = 0;
            for row in rows(&sandbox, &format!("{output}/part-0-{number:05}.csv.gz")) {
                let mut columns = row.splitn(3, ',');
                let mut place = || columns.next().unwrap().parse::<usize>().unwrap() * 2;
                let (first, end) = (place(), place());
                assert_eq!(std::mem::replace(&mut last, end), first);
                all.push((columns.next().unwrap().to_owned(), tokens[first..end].to_vec()));
            }
            assert_eq!(last, tokens.len());
        }
        all
    };
    sandbox.say(&format!("{line} --output plain")).ends(0);
    sandbox.say(&format!("{line} --output a --shuffle documents")).ends(0);
    sandbox.say(&format!("{line} --output b --shuffle documents --seed 7 --threads 7 --memory 1M")).ends(0);
    let (plain, a, b) = (documents("plain"), documents("a"), documents("b"));
    assert!(plain != a && a != b);
    // The first numbers of `default_rng(42).permutation(500)`.
    let first = |all: &[(String, Vec<u8>)]| all[..3].iter().map(|(id, _)| id.clone()).collect::<Vec<_>>();
    assert_eq!(first(&a), [473, 132, 472].map(|number| format!("d{number},a.jsonl,{}", number + 1)));
    for mut shuffled in [a, b] {
        let mut plain = plain.clone();
        plain.sort();
        shuffled.sort();
        assert_eq!(plain, shuffled);
    }
    sandbox.say("lint a").ends(0);
    sandbox.say(&format!("verify b --tokenizer {}", bpe())).ends(0);
    sandbox.say(&format!("{line} --output a --shuffle documents")).ends(0).says("Nothing to do");
    sandbox.say(&format!("{line} --output a")).ends(1).complains("shuffle");
    let empty = format!("{} --output none --shuffle documents", text(&sandbox, 0));
    sandbox.say(&empty).ends(1).complains("there is no document");
    assert_eq!(sandbox.read("none/part-0-00000.npy"), b"");
    let forager = line
        .replace("--format olmo --", "--format forager --sample-size 8 --")
        .replace("--max-tokens-per-file 700", "");
    sandbox.say(&format!("{forager} --output f --shuffle documents")).ends(2).complains("--shuffle");
}

#[test]
fn one_pass_writes_olmo_next_to_other_formats() {
    let sandbox = Sandbox::new();
    let line = text(&sandbox, 500);
    let formats = "--format mds --format nanosets --format forager --format modalities --sample-size 32";
    sandbox.say(&format!("{line} {formats} --dtype u32 --output several")).ends(0);
    sandbox.say(&format!("{line} --dtype u32 --output one")).ends(0);
    let (several, one) =
        (without_own_folders(&sandbox.path("several/olmo")), without_own_folders(&sandbox.path("one")));
    assert_same(&several, &one, "the files of one format alone");
    // The same plan has nothing to do.
    sandbox.say(&format!("{line} {formats} --dtype u32 --output several")).ends(0).says("Nothing to do");
}

#[test]
fn olmo_set_is_described_checked_and_browsed() {
    let sandbox = Sandbox::new();
    sandbox.write("a.jsonl", "{\"text\": \"one two\", \"id\": \"a\"}\n{\"text\": \"three\", \"id\": \"b\"}\n");
    let tokenizer = bpe();
    let pack = format!("pack a.jsonl --format olmo --tokenizer {tokenizer} --eos-token {END} --output o --yes");
    sandbox.say(&pack).ends(0);
    sandbox.say("info o").ends(0).says("kind: OLMo").says("documents: 2").says("bytes a token: 2");
    assert_eq!(sandbox.say("info o --json").ends(0).json("ok")["kind"], "olmo-parts");
    sandbox.say("lint o").ends(0).says("No problem found in 1 file");
    sandbox.say(&format!("verify o --tokenizer {tokenizer}")).ends(0).says("No problem found in 1 file");
    sandbox.say("browse o --plain").ends(0).says("OLMo, 2 samples");
    let mut tokens = sandbox.read("o/part-0-00000.npy");
    tokens[..2].fill(0xff);
    sandbox.write("o/part-0-00000.npy", &tokens);
    sandbox.say(&format!("verify o --tokenizer {tokenizer}")).ends(1).complains("token 0, is 65535");
    tokens.pop();
    sandbox.write("o/part-0-00000.npy", &tokens);
    sandbox.say("lint o").ends(1).complains("part-0-00000");
}

#[test]
fn olmo_notes_empty_text_and_reports_missing_text() {
    let sandbox = Sandbox::new();
    sandbox.write("empty.jsonl", "{\"text\": \"one\"}\n{\"text\": \"\"}\n");
    sandbox.write("missing.jsonl", "{\"text\": \"one\"}\n{\"other\": 1}\n{\"text\": null}\n");
    let pack = |input: &str| {
        let tokenizer = bpe();
        format!("pack {input}.jsonl --format olmo --id-key none --tokenizer {tokenizer} --eos-token {END} --output {input} --yes")
    };
    sandbox.say(&pack("empty")).ends(0).says("1  its text is empty");
    let ran = sandbox.say(&pack("missing")).ends(1).complains("line 2").complains("it has no text");
    assert!(ran.err.contains("line 3") && ran.err.contains("its text is null"), "{}", ran.err);
}
