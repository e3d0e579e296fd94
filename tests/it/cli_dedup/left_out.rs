//! Formats of documents that are not written back.

use super::*;

fn arrow() -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/arrow/layouts/plain.arrow")).unwrap()
}

#[test]
fn files_that_dedup_cannot_write_back_are_reported() {
    let sandbox = Sandbox::new();
    sandbox.write("data/a.jsonl", "{\"text\": \"one two three\"}\n");
    sandbox.write("data/c.csv", "text\none\n");
    sandbox.write("data/d.txt", "one\n");
    let note = "2 files are left out, which cannot be written back, the first is c.csv";
    sandbox.say("dedup data --output out --minlen 50").ends(0).complains(note);
    sandbox.write("data/b.arrow", arrow());
    let loss = "1 file is left out, which cannot be written back, the first is b.arrow";
    sandbox.say("dedup data --output more --minlen 50").ends(1).complains(loss);
    sandbox.write("lines/a.jsonl", "{\"text\": \"one two three\"}\n");
    sandbox.write("lines/b.ndjson", "{\"text\": \"one two three\"}\n");
    sandbox.say("dedup lines --output l --minlen 50").ends(1).complains("b.ndjson").complains("name the file itself");
}

#[test]
fn value_lost_by_a_repeated_json_key_is_a_problem() {
    let sandbox = Sandbox::new();
    sandbox.write("a.jsonl", "{\"text\": \"a\", \"id\": 1}\n{\"text\": \"a\", \"te\\u0078t\": \"b\"}\n");
    let loss = "a.jsonl, line 2: the key 'text' is in it more than once; only its last value is used";
    sandbox.say("dedup a.jsonl --output out --minlen 50").ends(1).complains(loss);
    sandbox.write("once.jsonl", "{\"text\": \"a\", \"id\": {\"id\": 1}}\n");
    sandbox.say("dedup once.jsonl --output other --minlen 50").ends(0);
}

#[test]
fn saved_data_set_with_splits_is_refused_as_arrow() {
    let sandbox = Sandbox::new();
    sandbox.write("data/dataset_dict.json", "{\"splits\": [\"train\"]}\n");
    sandbox.write("data/train/state.json", "{\"_data_files\": [{\"filename\": \"a.arrow\"}]}\n");
    sandbox.write("data/train/dataset_info.json", "{}\n");
    sandbox.write("data/train/a.arrow", arrow());
    let ran = sandbox.say("dedup data --output out --minlen 50").ends(2);
    let ran = ran.complains("train/a.arrow").complains("files of Arrow are not written back");
    assert!(!ran.err.contains(".json"), "{}", ran.err);
}

#[test]
fn parquet_file_with_the_name_of_another_format_is_refused_with_the_reason() {
    let sandbox = Sandbox::new();
    let parquet =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/parquet/p01_parquet_files/input/part-0.parquet");
    sandbox.write("data/a.arrow", std::fs::read(parquet).unwrap());
    let ran = sandbox.say("dedup data --output out --minlen 50").ends(2);
    ran.complains("it is a file of Parquet, but has the name of another format")
        .complains("give it the name that fits");
}

#[test]
fn folder_of_only_unwritable_files_is_refused_with_their_kind() {
    for (name, content, kind) in [("a.arrow", arrow(), "Arrow"), ("a.csv", b"text\none\n".to_vec(), "CSV")] {
        let sandbox = Sandbox::new();
        sandbox.write(&format!("data/{name}"), content);
        // A saved data set has description files.
        sandbox.write("data/dataset_info.json", "{\n \"a\": 1\n}\n");
        let ran = sandbox.say("dedup data --output out --minlen 50").ends(2);
        ran.complains(name).complains(&format!("files of {kind} are not written back")).complains("Parquet");
    }
}
