//! Counting tokens without packing them.

use super::cli_support::Sandbox;
use std::io::Write as _;

fn tokenizer() -> String {
    format!("{}/tests/golden/modalities/tokenizers/bpe1k/tokenizer.json", env!("CARGO_MANIFEST_DIR"))
}

fn line(text: &str) -> String {
    format!("{{\"text\": \"{text}\"}}\n")
}

/// Returns a plain file that several threads read, and a compressed file.
fn corpus() -> Sandbox {
    let sandbox = Sandbox::new();
    let words = "some words that are counted, ".repeat(40);
    let many: String = (0..20_000).map(|number| line(&format!("{words}{number}"))).collect();
    let long = line(&"a much longer text ".repeat(500));
    sandbox.write("in/a.jsonl", format!("{many}{long}{}", line("the end")));
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(format!("{}\n{}", line("one text"), line("another text")).as_bytes()).unwrap();
    sandbox.write("b.jsonl.gz", packed.finish().unwrap());
    sandbox
}

#[test]
fn counted_tokens_equal_those_that_pack_writes() {
    let sandbox = corpus();
    let count = format!("count in b.jsonl.gz --tokenizer {}", tokenizer());
    sandbox.say(&format!("{count} --dry-run")).ends(0).says("Would count the tokens of 2 files");
    let ran = sandbox.say(&count).ends(0);
    let ran = ran.says("a.jsonl: 20,002 documents with").says("(line 20,001)").says("b.jsonl.gz: 2 documents with");
    ran.says("Counted 2 files: 20,004 documents with").says("(a.jsonl, line 20,001)");
    let value = sandbox.say(&format!("{count} --threads 1 --output counts.json --json")).ends(0).json("ok");
    let more = format!("{count} --output counts.json --force-overwrite --threads 3 --json");
    let again = sandbox.say(&more).ends(0).json("ok");
    assert_eq!((&again["files"], &again["total"]), (&value["files"], &value["total"]), "three threads");
    let files = value["files"].as_array().unwrap();
    assert_eq!(files[1]["documents"], 2);
    let written: serde_json::Value = serde_json::from_slice(&sandbox.read("counts.json")).unwrap();
    assert_eq!((&written["files"], &written["total"]), (&value["files"], &value["total"]));
    for (number, input) in ["in", "b.jsonl.gz"].iter().enumerate() {
        let pack = format!("pack {input} --format nanosets --tokenizer {} --output o{number} --json", tokenizer());
        let packed = sandbox.say(&pack).ends(0).json("ok");
        let target = &packed["targets"][0];
        assert_eq!(target["documents"], files[number]["documents"], "{input}");
        let (counted, with_ends) = (files[number]["tokens"].as_u64().unwrap(), target["tokens"].as_u64().unwrap());
        assert_eq!(with_ends, counted, "{input}");
    }
    sandbox.say(&format!("{count} --output counts.json")).ends(1).complains("--force-overwrite");
}

#[test]
fn counted_tokens_of_every_file_kind_equal_those_of_pack() {
    let golden = format!("{}/tests/golden", env!("CARGO_MANIFEST_DIR"));
    let files = [
        ("parquet/p01_parquet_files/input/part-0.parquet", "text", "row"),
        ("arrow/layouts/deltas.arrow", "string", "row"),
        ("json/array.json", "text", "element"),
        ("csv/csv_rows/input/train-1.csv", "text", "row"),
        ("csv/csv_gzip_rows/input/data/train-00000-of-00002.csv.gz", "text", "row"),
        ("csv/tsv_rows/input/train/a.tsv", "text", "row"),
        ("csv/text_rows/input/train/a.txt", "text", "row"),
    ];
    let sandbox = Sandbox::new();
    for (number, (file, key, item)) in files.into_iter().enumerate() {
        let common = format!("{golden}/{file} --text-key {key} --tokenizer {}", tokenizer());
        let count = sandbox.say(&format!("count {common} --threads 3 --json"));
        let counted: serde_json::Value = serde_json::from_str(&count.out).unwrap();
        let pack = sandbox.say(&format!("pack {common} --format nanosets --tasks 1 --output o{number} --json"));
        // An element whose text is null is a problem of `count` alone.
        assert!(count.code == pack.code || item == "element", "{file}: {} {}", count.err, pack.err);
        let packed: serde_json::Value = serde_json::from_str(&pack.out).unwrap();
        let target = &packed["targets"][0];
        assert_eq!(target["documents"], counted["total"]["documents"], "{file}");
        assert_eq!(target["tokens"], counted["total"]["tokens"], "{file}");
        assert!(counted["total"]["tokens"].as_u64().unwrap() > 100, "{file}");
        sandbox.say(&format!("count {common}")).says(&format!(" ({item} "));
    }
    sandbox.say(&format!("count {golden}/{} --text-key no --tokenizer {}", files[0].0, tokenizer())).ends(2);
    // Each loss in a file is reported once.
    sandbox.write("a.csv", format!("text,n\n{}\"x", "one row of several,1\n".repeat(5)));
    let ran = sandbox.say(&format!("count a.csv --tokenizer {}", tokenizer())).ends(1);
    ran.says("5 documents").says("(row 0)").complains("the quotes of a cell of row 5");
}

#[test]
fn lines_without_text_are_count_problems_and_saved_count_plan_runs() {
    let sandbox = Sandbox::new();
    let many: String =
        (0..150_000).map(|number| line(&format!("text number {number} of a file of several units"))).collect();
    sandbox.write("a.jsonl", format!("{many}{{\"other\": 1}}\n\n{}no json\n", line("last")));
    let count = format!("count a.jsonl --tokenizer {} --save-plan plan.yaml", tokenizer());
    let ran = sandbox.say(&count).ends(1);
    ran.complains("line 150001").complains("line 150004").says("150,001 documents");
    let again = sandbox.say("run plan.yaml --json").ends(1).json("problems");
    assert_eq!(again["total"]["documents"], 150_001);
    sandbox.say(&format!("{count} --text-key other")).ends(1).says("0 documents");
    sandbox.say(&format!("count nowhere.jsonl --tokenizer {}", tokenizer())).ends(3);
    sandbox.say("count a.jsonl --tokenizer nowhere.json").ends(3);
    sandbox.say("count a.jsonl").ends(2).complains("--tokenizer");
}

#[test]
fn all_splits_of_a_saved_data_set_are_counted() {
    let sandbox = Sandbox::new();
    sandbox.write("in/dataset_dict.json", r#"{"splits": ["train", "other"]}"#);
    for (split, texts) in [("train", 2), ("other", 1)] {
        let state = format!(r#"{{"_data_files": [{{"filename": "{split}.jsonl"}}]}}"#);
        sandbox.write(&format!("in/{split}/state.json"), state);
        sandbox.write(&format!("in/{split}/{split}.jsonl"), line("some text").repeat(texts));
    }
    sandbox.say(&format!("count in --tokenizer {}", tokenizer())).ends(0).says("3 documents");
}

#[test]
fn byte_order_mark_line_is_counted_like_most_formats_pack_it() {
    let sandbox = Sandbox::new();
    sandbox.write("a.jsonl", format!("\u{feff}{}{}", line("a text"), line("another text")));
    let counted = sandbox.say(&format!("count a.jsonl --tokenizer {} --json", tokenizer())).ends(1).json("problems");
    assert_eq!(counted["total"]["documents"], 1);
    assert!(counted["problems"][0]["hint"].as_str().unwrap().contains("tail -c +4"), "{counted}");
    for (format, documents) in [
        ("nanosets", 1),
        // Two samples of one document.
        ("mds --sample-size 4", 2),
        ("olmo --id-key text", 1),
        ("megatron", 1),
        ("forager --variable", 1),
        ("modalities", 2),
    ] {
        let words = "pack a.jsonl --eos-token <|endoftext|> --output o/ --force-overwrite --json";
        let packed = sandbox.say(&format!("{words} --tokenizer {} --format {format}", tokenizer()));
        let status = if format == "modalities" { "ok" } else { "problems" };
        assert_eq!(packed.json(status)["targets"][0]["documents"], documents, "{format}");
    }
}
