//! `info` of folders that `pack` writes in several formats, and of indexes of mixtures.

use super::cli_support::{copy_tree, Sandbox};
use std::path::Path;

/// Returns a sandbox with texts packed in all formats into `out`.
fn packed() -> Sandbox {
    let sandbox = Sandbox::new();
    let input = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/field/K04");
    copy_tree(&input, &sandbox.path(""));
    let formats = "--format modalities --format nanosets --format forager --sample-size 8";
    sandbox.say(&format!(
        "pack plain.jsonl {formats} --tokenizer tokenizer.json --eos-token <|endoftext|> --eod-token <|endoftext|> --output out"
    ));
    sandbox
}

#[test]
fn info_of_a_pack_output_lists_each_format_with_size_and_state() {
    let sandbox = packed();
    let facts = sandbox.say("info out --json").ends(0).json("ok");
    assert_eq!(facts["kind"], "packed-formats");
    let formats = facts["formats"].as_array().unwrap();
    let names: Vec<_> = formats.iter().map(|format| format["format"].as_str().unwrap()).collect();
    assert_eq!(names, ["modalities", "nanosets", "forager"]);
    let tokens = std::fs::metadata(sandbox.path("out/modalities/plain.pbin")).unwrap().len();
    assert_eq!(formats[0]["bytes"], tokens);
    for format in formats {
        assert!(format["bytes"].as_u64().unwrap() > 0 && format["state"] == "packed", "{format}");
    }
    sandbox.say("info out").ends(0).says("packed formats").says("nanosets").says("forager");
}

#[test]
fn damaged_format_of_a_pack_output_is_a_problem() {
    let sandbox = packed();
    let data = sandbox.read("out/modalities/plain.pbin");
    sandbox.write("out/modalities/plain.pbin", &data[..data.len() - 5]);
    let facts = sandbox.say("info out --json").ends(1).json("problems");
    assert_ne!(facts["formats"][0]["state"], "packed");
    assert_eq!(facts["formats"][1]["state"], "packed");
    std::fs::remove_file(sandbox.path("out/modalities/plain.pbin")).unwrap();
    let facts = sandbox.say("info out --json").ends(1).json("problems");
    assert_eq!(facts["formats"][0]["state"], "unreadable");
}

#[test]
fn info_of_a_mixture_index_shows_samples_and_data_sets() {
    let sandbox = Sandbox::new();
    sandbox.say("mix index --lengths 8,2,5,5 --weights 0.1,0.5,0.3,0.1 --samples 70 --seed 1234 --output mix").ends(0);
    let facts = sandbox.say("info mix --json").ends(0).json("ok");
    assert_eq!((&facts["kind"], &facts["samples"]), (&"mixture-index".into(), &70.into()));
    assert_eq!(facts["datasets"], serde_json::json!({"0": 7, "1": 34, "2": 21, "3": 8}));
    sandbox.say("info mix").ends(0).says("mixture index").says("70");
    let index = sandbox.read("mix/dataset_index.npy");
    sandbox.write("mix/dataset_index.npy", &index[..index.len() - 8]);
    sandbox.say("info mix").ends(1).complains("another length");
}

#[test]
fn lint_and_verify_of_several_formats_name_info() {
    let sandbox = packed();
    sandbox.say("mix index --lengths 8,2 --samples 10 --output mix").ends(0);
    for command in ["lint", "verify"] {
        sandbox.say(&format!("{command} out")).ends(2).complains("checked one by one").complains("gristmill info out");
        sandbox.say(&format!("{command} mix")).ends(2).complains("gristmill info mix reports");
        sandbox.say(&format!("{command} out/nanosets")).ends(0);
    }
}
