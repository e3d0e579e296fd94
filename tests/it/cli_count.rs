//! Counting tokens without packing them.

use super::cli_support::Sandbox;
use std::io::Write as _;

fn tokenizer() -> String {
    format!("{}/tests/golden/modalities/tokenizers/bpe1k/tokenizer.json", env!("CARGO_MANIFEST_DIR"))
}

fn line(text: &str) -> String {
    format!("{{\"text\": \"{text}\"}}\n")
}

/// Returns a plain file that several threads read, and a compressed one.
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
fn the_tokens_are_those_that_pack_writes() {
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
fn what_has_no_text_is_a_problem_with_its_line_and_a_saved_plan_counts_again() {
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
    sandbox.say(&format!("count nowhere.jsonl --tokenizer {}", tokenizer())).ends(2);
    sandbox.say("count a.jsonl --tokenizer nowhere.json").ends(3);
    sandbox.say("count a.jsonl").ends(2).complains("--tokenizer");
}
