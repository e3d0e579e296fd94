//! Flags of `pack`, and the messages about them.

use super::{bpe, golden_path, jsonl, Case, END};
use crate::cli_support::Sandbox;
use serde_json::json;

fn small() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("a.jsonl", jsonl(["The first document.", "The second.", "straße 東京 🚀"]));
    sandbox
}

#[test]
fn pack_names_flags_of_missing_answers() {
    let sandbox = small();
    let nothing = sandbox.say("pack a.jsonl").ends(2);
    for flag in ["--format", "--tokenizer", "--output"] {
        assert!(nothing.err.contains(flag), "{flag}: {}", nothing.err);
    }
    let base = format!("pack a.jsonl --tokenizer {} --output o", bpe());
    sandbox.say(&format!("{base} --format modalities")).ends(2).complains("--eos-token");
    let forager = sandbox.say(&format!("{base} --format forager")).ends(2);
    assert!(forager.err.contains("--sample-size") && forager.err.contains("--eos-token"), "{}", forager.err);
    sandbox.say("pack --format nanosets").ends(2).complains(".jsonl");
    let result = sandbox.say("pack a.jsonl --json").ends(2).json("error");
    assert_eq!(result["errors"].as_array().unwrap().len(), 3, "{result:#}");
    assert!(!sandbox.has("o"));
}

#[test]
fn dry_run_estimates_file_sizes_from_the_text_of_each_file() {
    let sandbox = Sandbox::new();
    // Texts of about the same size in bytes: words that are tokens, and characters of which every byte is a token.
    sandbox.write("in/a.jsonl", jsonl(vec!["the and of the in that"; 400]));
    sandbox.write("in/b.jsonl", jsonl(vec!["龘靐齉鱻麤龗爨"; 400]));
    let line = format!("pack in --format modalities --tokenizer {} --eos-token {END} --output out", bpe());
    let preview = sandbox.say(&format!("{line} --dry-run --json")).ends(0).json("ok");
    sandbox.say(&line).ends(0);
    for output in preview["targets"][0]["outputs"].as_array().unwrap() {
        let (name, expected) = (output["name"].as_str().unwrap(), output["bytes"].as_u64().unwrap());
        let bytes = std::fs::metadata(name).unwrap().len();
        assert!(bytes.abs_diff(expected) * 5 < bytes, "{name}: {expected} {bytes}");
    }
}

#[test]
fn flags_of_an_unselected_format_are_refused() {
    let sandbox = small();
    let base = format!("pack a.jsonl --tokenizer {} --output o --eos-token {END}", bpe());
    for (format, flags, names) in [
        ("modalities", "--tasks 2 --sample-size 4", vec!["--tasks", "--sample-size"]),
        ("nanosets", "--skip-bad-lines --variable", vec!["--skip-bad-lines", "--variable"]),
        ("forager", "--variable --shuffle documents", vec!["--shuffle"]),
        ("forager", "--variable --sample-size 4", vec!["--sample-size"]),
        ("modalities", "--loss-masks", vec!["--loss-masks"]),
        ("nanosets", "--loss-masks=forager", vec!["--loss-masks"]),
        ("nanosets", "--loss-masks --mask-parts a --mask-eos", vec!["--mask-parts", "--mask-eos"]),
        (
            "nanosets --format forager --variable",
            "--loss-masks=nanosets --mask-parts a --mask-eos",
            vec!["--mask-parts", "--mask-eos"],
        ),
    ] {
        let ran = sandbox.say(&format!("{base} --format {format} {flags}")).ends(2);
        names.iter().for_each(|name| assert!(ran.err.contains(name), "{name}: {}", ran.err));
    }
    for (flags, word) in [
        ("--format nanosets --tasks 2 --rank 2", "--rank"),
        ("--format nanosets --max-tokens-per-file 5", "--max-tokens-per-file"),
        ("--format forager --variable --loss-masks", "--variable"),
        ("--format forager --sample-size 4 --index-folder a/b", "--index-folder"),
        ("--format modalities --batch-lines 3", "--batch-lines"),
        ("--format nanosets --text-key a --jq .b", "--jq"),
        ("--format nanosets --eos-id 1", "--eos-id"),
        ("--format parquet", "parquet"),
    ] {
        sandbox.say(&format!("{base} {flags}")).ends(2).complains(word);
    }
    assert!(!sandbox.has("o"));
}

#[test]
fn limit_tokens_ends_the_output_and_is_in_the_equivalent_command() {
    let sandbox = small();
    let base = format!("pack a.jsonl --format nanosets --tokenizer {} --eos-token {END}", bpe());
    let result = sandbox.say(&format!("{base} --output o --limit-tokens 1 --json")).ends(0).json("ok");
    assert_eq!((&result["documents"], &result["targets"][0]["documents"]), (&1.into(), &1.into()));
    assert!(result["equivalent_command"].as_str().unwrap().contains("--limit-tokens 1"));
    assert_eq!(result["plan"]["limit-tokens"], 1);
    sandbox.say(&format!("{base} --output o --limit-tokens 2")).ends(1).complains("limit-tokens");
    sandbox.say(&format!("{base} --output p --limit-tokens 2 --skip 1")).ends(2).complains("--skip");
    let preview = sandbox.say(&format!("{base} --output p --limit-tokens 1 --dry-run --json")).ends(0).json("ok");
    assert_eq!(preview["targets"][0]["tokens"], 1);
}

#[test]
fn a_dry_run_shows_the_plan_and_writes_nothing() {
    let sandbox = small();
    let line = format!(
        "pack a.jsonl --format nanosets --format forager --sample-size 4 --tokenizer {} --eos-token {END} --output o --dry-run",
        bpe()
    );
    sandbox.say(&line).ends(0).says("Would pack 1 file").says("nanosets").says("forager").says("Equivalent command");
    let result = sandbox.say(&format!("{line} --json")).ends(0).json("ok");
    assert_eq!(result["command"], "pack");
    assert_eq!(result["dry_run"], true);
    assert_eq!(result["documents"], 3);
    assert_eq!(result["targets"].as_array().unwrap().len(), 2);
    assert!(result["equivalent_command"].as_str().unwrap().starts_with("gristmill pack a.jsonl --format nanosets"));
    assert_eq!(result["plan"]["forager"]["sample-size"]["fixed"], 4);
    let mut names: Vec<_> = std::fs::read_dir(sandbox.path("")).unwrap().map(|e| e.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["a.jsonl"], "nothing was written");
    sandbox.say(line.trim_end_matches(" --dry-run")).ends(0).says("Packed 1 file");
    let again =
        sandbox.say(&line).ends(0).says("Nothing to do. Packed already").says("nanosets").says("Equivalent command");
    again.leaves_out("Would").leaves_out("It needs");
}

#[test]
fn the_result_counts_documents_and_tokens_for_each_format() {
    let sandbox = small();
    sandbox.write("b.jsonl", b"{\"text\": \"fine\"}\n{\"text\": null}\n{\"text\": [1]}\n");
    let line = format!(
        "pack a.jsonl b.jsonl --format modalities --format nanosets --tokenizer {} --eos-token {END} --output o --json",
        bpe()
    );
    let result = sandbox.say(&line).ends(1).json("problems");
    assert_eq!(result["documents"], 4);
    assert_eq!(result["files"], 2);
    let of = |at: usize| result["targets"][at].clone();
    assert_eq!((of(0)["format"].clone(), of(0)["documents"].clone()), ("modalities".into(), 4.into()));
    assert_eq!((of(1)["format"].clone(), of(1)["documents"].clone()), ("nanosets".into(), 4.into()));
    for target in [of(0), of(1)] {
        let skipped: u64 = target["skipped"].as_array().unwrap().iter().map(|s| s["documents"].as_u64().unwrap()).sum();
        assert_eq!(skipped, 2, "{target:#}");
        assert_eq!(target["tokens"].as_u64(), result["tokens"].as_u64().map(|tokens| tokens + 4), "one end token each");
    }
    assert!(sandbox.has("o/modalities/a.pbin") && sandbox.has("o/modalities/b.pbin"));
    assert!(sandbox.has("o/nanosets/00001_unshuffled.ds"), "a task a file");
}

#[test]
fn pack_reports_tokenizer_properties() {
    let sandbox = small();
    let base = "pack a.jsonl --format nanosets --output o --force-overwrite --tokenizer";
    let without = sandbox.say(&format!("{base} {}", bpe())).ends(0);
    assert!(without.err.contains("no token ends a document") && without.err.contains("--eos-token"), "{}", without.err);
    let with_begin = golden_path("modalities/tokenizers/bpe1k_bos/tokenizer.json");
    sandbox
        .say(&format!("{base} {with_begin} --eos-token {END}"))
        .ends(0)
        .complains("takes the place of the tokenizer's template");
    let padded = std::fs::read_to_string(bpe()).unwrap();
    let mut padded: serde_json::Value = serde_json::from_str(&padded).unwrap();
    padded["padding"] = serde_json::json!({
        "strategy": {"Fixed": 8}, "direction": "Right", "pad_to_multiple_of": null, "pad_id": 0, "pad_type_id": 0, "pad_token": END
    });
    sandbox.write("padded.json", padded.to_string());
    sandbox.say(&format!("{base} padded.json --eos-token {END}")).ends(1).complains("asks for padding");
    let result = sandbox.say(&format!("{base} {} --json", bpe())).ends(0).json("ok");
    assert!(result["notes"][0]["message"].as_str().unwrap().contains("no token ends"), "{result:#}");
}

#[test]
fn forager_without_output_writes_next_to_its_input() {
    let sandbox = small();
    sandbox.say(&format!("pack . --format forager --variable --tokenizer {}", bpe())).ends(0);
    assert!(sandbox.has("index/sample_locations.bin") && sandbox.has("tokenized-samples/a-tokenized-samples.bin"));
}

#[test]
fn a_configuration_of_modalities_is_read() {
    for name in ["pack_truncation", "pack_jq_expression", "pack_bos_eos_template"] {
        let case = Case::new(&format!("modalities/{name}"));
        case.run(&["index", "input/data.jsonl", "--format", "modalities", "--index_path", "expected/data.idx"]).ends(0);
        case.run(&["pack", "--config", "input/pack.yaml"]).ends(0);
        case.is_as_expected("expected");
    }
}

#[test]
fn flags_override_a_modalities_configuration_or_are_refused() {
    let case = Case::new("modalities/pack_truncation");
    let run = |more: &[&str]| case.run(&[&["pack", "--config", "input/pack.yaml"], more].concat());
    // The index of the configuration is created; the flags replace the output and the length.
    run(&["--output", "mine.pbin", "--truncate-to", "3", "--dry-run", "--json"]).ends(0);
    assert!(!case.sandbox.has("case/mine.pbin"));
    let result = run(&["--output", "mine.pbin", "--truncate-to", "3", "--json", "--eos-id", "5"]).ends(0).json("ok");
    let plan = &result["plan"];
    assert_eq!(plan["modalities"]["truncate-to"], 3);
    assert_eq!((&plan["end"]["id"], &plan["modalities"]["eod-token"]), (&json!(5), &json!(null)));
    assert!(case.sandbox.has("case/mine.pbin") && !case.sandbox.has("case/expected/data.pbin"));
    // The printed command does not need the configuration file.
    assert!(!result["equivalent_command"].as_str().unwrap().contains("--config"), "{result:#}");
    run(&["input/data.jsonl"]).ends(2).complains("--config");
    run(&["--glob", "*.jsonl"]).ends(2).complains("--glob");
    run(&["--format", "nanosets"]).ends(2).complains("--config");
    run(&["--format", "nanosets", "--format", "modalities"]).ends(2).complains("--output");
    let both =
        run(&["--format", "nanosets", "--format", "modalities", "--output", "both", "--json"]).ends(0).json("ok");
    assert_eq!(both["targets"].as_array().unwrap().len(), 2);
    case.run(&["pack", "--config", "nowhere.yaml"]).ends(3).complains("nowhere.yaml");
    case.sandbox.write("case/wrong.yaml", "settings: {src_path: input/data.jsonl}\n");
    case.run(&["pack", "--config", "wrong.yaml"]).ends(2).complains("settings.");
}

fn packed_by_gzip(text: &[u8]) -> Vec<u8> {
    use std::io::Write as _;
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packer.write_all(text).unwrap();
    packer.finish().unwrap()
}

#[test]
fn gzip_files_that_forager_skips_are_reported() {
    let sandbox = Sandbox::new();
    sandbox.write("in/a.jsonl", jsonl(["The first document.", "The second."]));
    sandbox.write("in/b.jsonl.gz", packed_by_gzip(&jsonl(["A third one."])));
    let base = format!("pack in --tokenizer {} --eos-token {END}", bpe());
    let three = sandbox
        .say(&format!(
            "{base} --output o --format modalities --format nanosets --format forager --sample-size 4 --json"
        ))
        .ends(1)
        .json("problems");
    assert_eq!(three["documents"], 3, "what two formats read is no more than it is: {three:#}");
    let problems = three["problems"].to_string();
    assert!(
        problems.contains("in/b.jsonl.gz")
            && problems.contains("only reads the .jsonl files of a folder")
            && problems.contains("--glob"),
        "{problems}"
    );
    let all = format!("{base} --output all --format forager --sample-size 4 --glob *.jsonl*");
    sandbox.run(all.split(' ')).ends(0).says("3 documents");
    sandbox.write("packed/b.jsonl.gz", packed_by_gzip(&jsonl(["A third one."])));
    let nothing =
        format!("pack packed --tokenizer {} --eos-token {END} --output p --format forager --sample-size 4", bpe());
    sandbox.say(&nothing).ends(2).complains("there is no file whose name ends in .jsonl");
}

#[test]
fn skip_and_limit_apply_to_estimate_and_run() {
    let sandbox = Sandbox::new();
    for name in ["a", "b"] {
        sandbox.write(&format!("in/{name}.jsonl"), jsonl(["one"; 5]));
    }
    let base = format!("pack in --tokenizer {} --eos-token {END} --output o --format nanosets", bpe());
    for (flags, documents) in [("", 10), ("--limit 2", 4), ("--skip 4", 2), ("--skip 1 --limit 2", 4), ("--limit 0", 0)]
    {
        let estimate =
            sandbox.say(format!("{base} {flags} --force-overwrite --dry-run --json").trim()).ends(0).json("ok");
        let run = sandbox.say(format!("{base} {flags} --force-overwrite --json").trim()).ends(0).json("ok");
        for result in [&estimate, &run] {
            assert_eq!(
                (&result["documents"], &result["targets"][0]["documents"]),
                (&json!(documents), &json!(documents))
            );
        }
        assert_eq!(estimate["targets"][0]["tokens"], run["targets"][0]["tokens"], "{flags}");
    }
}

#[test]
fn task_without_documents_writes_empty_files() {
    let sandbox = Sandbox::new();
    sandbox.write("in/a.jsonl", jsonl(["one", "two"]));
    sandbox.write("in/b.jsonl", "{\"text\": \"\"}\n{\"text\": null}\n");
    let base = format!("pack in --tokenizer {} --eos-token {END} --output o --format nanosets --tasks 2", bpe());
    sandbox.say(&format!("{base} --rank 1")).ends(0);
    assert_eq!(std::fs::read(sandbox.path("o/00001_unshuffled.ds")).unwrap(), b"");
    let plain = format!("pack in/b.jsonl --tokenizer {} --eos-token {END} --output p --format nanosets", bpe());
    sandbox.say(&plain).ends(1).complains("no line gave a document");
}
