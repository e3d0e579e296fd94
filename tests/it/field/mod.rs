//! Situations that users of similar programs reported, as small inputs in `tests/golden/field`: damaged, unusual and misleading data must
//! be reported, and good data next to them must cause no message.

use super::cli_support::{copy_tree, RunOutput, Sandbox};
use serde_json::Value;
use std::path::Path;

mod dedup;
mod media;
mod mixtures;
mod numbers;
mod prepared;
mod samples;
mod shards;
mod single;
mod text;
mod tokenizers;

/// Returns a sandbox whose current folder is a copy of the input of a case.
fn case(id: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let input = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/field").join(id);
    copy_tree(&input, &sandbox.path(""));
    sandbox
}

/// Prepares a folder with the answers that all cases share, and prints one JSON object.
fn prepare(sandbox: &Sandbox, folder: &str) -> RunOutput {
    prepare_with(sandbox, folder, "")
}

/// Prepares a folder with more flags, separated by blanks.
fn prepare_with(sandbox: &Sandbox, folder: &str, flags: &str) -> RunOutput {
    sandbox.say(&format!("prepare {folder} --yes --json --split-ratio 1,0,0 --sample-type CrudeWebdataset {flags}"))
}

/// Packs `input` as Nanosets into `OUT`, and prints one JSON object.
fn pack(sandbox: &Sandbox, input: &str) -> RunOutput {
    pack_with(sandbox, input, "")
}

/// Packs `input` with more flags, separated by blanks.
fn pack_with(sandbox: &Sandbox, input: &str, flags: &str) -> RunOutput {
    sandbox.say(&format!(
        "pack {input} --format nanosets --tokenizer tokenizer.json --eos-token <|endoftext|> --output OUT --json {flags}"
    ))
}

/// Returns `subject: message; hint` of each entry of `problems` that has this severity, one a line.
fn entries(report: &Value, severity: &str) -> String {
    let all = report["problems"].as_array().map(Vec::as_slice).unwrap_or_default();
    let chosen = all.iter().filter(|problem| problem["severity"] == severity);
    chosen.map(|problem| problem.to_string()).collect::<Vec<_>>().join("\n")
}

/// Checks that the run ended without a problem and with exit code 0.
#[track_caller]
fn is_clean(ran: &RunOutput) -> Value {
    let report = ran.json("ok");
    assert_eq!(ran.code, 0, "{report:#}");
    assert_eq!(entries(&report, "problem"), "", "{report:#}");
    report
}

/// Checks that the text contains each of the words.
#[track_caller]
fn names(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "'{word}' is not in:\n{text}");
    }
}
