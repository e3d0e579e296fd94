//! `pack` writes the same bytes as the reference programs.

use super::{bpe, golden, golden_path, without_own_folders, Case, END};
use crate::cli_support::Sandbox;
use crate::support::{assert_same, copy_folder, picture};

fn modalities(case: &str, tokenizer: &str, flags: &[&str], code: i32) {
    let case = Case::new(&format!("modalities/{case}"));
    let tokenizer = format!("../tokenizers/{tokenizer}");
    let end = if tokenizer.ends_with(".model") { "<eod>" } else { END };
    let mut arguments = vec!["pack", "input/data.jsonl", "--format", "modalities", "--tokenizer", &tokenizer];
    arguments.extend(["--eod-token", end, "--index", "ours/data.idx", "--output", "ours/data.pbin"]);
    arguments.extend(flags);
    case.run(&arguments).ends(code);
    case.is_as_expected("ours");
}

#[test]
fn modalities_golden_cases_of_all_token_sizes_and_tokenizers() {
    modalities("pack_1_byte", "wl200", &[], 0);
    modalities("pack_4_byte", "wl70k", &[], 0);
    modalities("pack_bpe", "bpe1k", &[], 0);
    modalities("pack_bos_eos_template", "bpe1k_bos", &[], 0);
    modalities("pack_eod_in_text", "bpe1k", &[], 0);
    modalities("pack_truncation", "bpe1k", &["--truncate-to", "6"], 0);
    modalities("pack_sentencepiece", "spm500/spm.model", &[], 0);
}

#[test]
fn modalities_golden_case_of_a_jq_program() {
    modalities("pack_jq_expression", "bpe1k", &["--jq", r#".a.t[1] + "\n" + .b"#], 0);
}

#[test]
fn documents_that_modalities_loses_in_batches_are_kept_without_compat() {
    for (name, documents) in [("pack_quirk_missing_field", 15), ("pack_quirk_empty_text", 12)] {
        modalities(name, "bpe1k", &["--compat", "--batch-lines", "4"], 1);
        let case = Case::new(&format!("modalities/{name}"));
        let line = format!(
            "pack input/data.jsonl --format modalities --tokenizer ../tokenizers/bpe1k --eod-token {END} --output o.pbin --json"
        );
        let result = case.run(&line.split(' ').collect::<Vec<_>>()).ends(1).json("problems");
        assert_eq!(result["targets"][0]["documents"], documents, "{name}: only the bad one is left out");
    }
}

fn nanosets(case: &str, tokenizer: &str, flags: &str, code: i32) {
    let case = Case::new(&format!("nanosets/{case}"));
    let line = format!("pack input --format nanosets --tokenizer ../tokenizers/{tokenizer} --output ours {flags}");
    case.run(&line.split_whitespace().collect::<Vec<_>>()).ends(code);
    case.is_as_expected("ours");
}

#[test]
fn nanosets_folders_equal_golden_cases() {
    let end = format!("--eos-token {END}");
    // Lines that are not JSON are problems; the reference program only warns about them.
    nanosets("02_modern_noshuffle", "bpe1k.json", &format!("{end} --tasks 3"), 1);
    let split = "--shuffle documents --max-tokens-per-file";
    nanosets("03_modern_doc_shuffle_split", "bpe1k.json", &format!("{end} --tasks 2 {split} 700"), 0);
    nanosets(
        "04_modern_chunk_shuffle",
        "bpe1k.json",
        &format!("{end} --tasks 1 --shuffle documents --chunk-size 65 --seed 5"),
        0,
    );
    nanosets("05_modern_loss", "bpe1k.json", &format!("{end} --loss-masks"), 0);
    nanosets("06_merge", "bpe1k.json", &format!("{end} --tasks 3 --shuffle documents --seed 1"), 0);
    nanosets("07_wordlevel_u32", "wordlevel70k.json", "--eos-token </s> --tasks 2", 0);
    nanosets("08_template_bos_no_eos", "bpe1k_bos.json", "--tasks 1", 0);
    let classic = "--names classic --prefix web --seed 3 --tasks 2";
    nanosets("09_classic_shuffle_split", "bpe1k.json", &format!("{end} {classic} {split} 300"), 0);
    nanosets("10_tasks_more_than_files", "bpe1k.json", &format!("{end} --tasks 4 --shuffle documents --seed 3"), 0);
}

#[test]
fn nanotron_command_line_gives_the_golden_files() {
    let case = Case::new("nanosets/01_nanotron_cli_mixed");
    let text = std::fs::read_to_string(golden("nanosets/01_nanotron_cli_mixed/case.json")).unwrap();
    let facts: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut arguments = vec!["nanotron", "preprocess_data"];
    arguments.extend(facts["argv"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()));
    case.run(&arguments).ends(0);
    case.is_as_expected("expected");
    let logs = std::fs::read_dir(case.sandbox.path("case/logs")).unwrap().next().unwrap().unwrap().path();
    for rank in ["00000", "00001", "00002"] {
        assert!(logs.join("completions").join(rank).is_file(), "{rank}");
        let stats = std::fs::read(logs.join("stats").join(format!("{rank}.json"))).unwrap();
        let stats: serde_json::Value = serde_json::from_slice(&stats).unwrap();
        let steps = facts["task_stats_totals"][rank].as_object().unwrap();
        for (step, wanted) in steps {
            let found = stats.as_array().unwrap().iter().find(|found| found["name"] == step.as_str());
            let found = found.unwrap_or_else(|| panic!("{rank} {step}: {stats:#}"));
            for (counter, total) in wanted.as_object().unwrap() {
                let ours = &found["stats"][counter];
                assert_eq!(ours.get("total").unwrap_or(ours), total, "{rank} {step} {counter}");
            }
        }
    }
    // The arguments in a spelling that argparse also accepts.
    let short = [
        "nanotron",
        "preprocess_data",
        "--tok=../tokenizers/bpe1k.json",
        "--out",
        "again",
        "--n-t",
        "1",
        "jsonl",
        "--da",
        "input",
    ];
    case.run(&short).ends(0);
    assert!(case.sandbox.has("case/again/00000_unshuffled.ds"));
}

fn forager(case: &str, tokenizer: &str, flags: &str) {
    let sandbox = Sandbox::new();
    copy_folder(&golden(&format!("forager/{case}/input")), &sandbox.path("base"));
    let tokenizer = golden_path(&format!("modalities/tokenizers/{tokenizer}/tokenizer.json"));
    let line = format!("pack base --format forager --eos-token {END} --tokenizer {tokenizer} {flags}");
    sandbox.say(&line).ends(0);
    let mut ours = without_own_folders(&sandbox.path("base"));
    ours.retain(|path, _| path.starts_with("index") || path.starts_with("tokenized-samples"));
    assert_same(&ours, &picture(&golden(&format!("forager/{case}/expected"))), case);
}

#[test]
fn forager_golden_cases() {
    forager("tokens_16", "bpe1k", "--sample-size 16");
    forager("tokens_bos_template", "bpe1k_bos", "--sample-size 16");
    forager("tokens_tree", "bpe1k", "--sample-size 32");
    forager("tokens_uint32", "wl70k", "--sample-size 8 --dtype u32");
    forager("tokens_variable", "bpe1k", "--variable");
    forager("aux_loss_mask", "bpe1k", "--sample-size 12 --loss-masks");
}

#[test]
fn lines_that_abort_forager_lose_only_their_document() {
    for (case, kept) in [("tokens_fail_empty_line", "blank"), ("tokens_fail_missing_field", "text")] {
        let sandbox = Sandbox::new();
        copy_folder(&golden(&format!("forager/{case}/input")), &sandbox.path("base"));
        let line = format!("pack base --format forager --eos-token {END} --tokenizer {} --sample-size 4", bpe());
        let ran = sandbox.say(&line).ends(1);
        assert!(ran.err.contains("a.jsonl") && ran.err.contains(kept), "{}", ran.err);
        assert!(sandbox.has("base/index/sample_locations.bin"));
        // With `--strict` the run stops and leaves no output.
        let sandbox = Sandbox::new();
        copy_folder(&golden(&format!("forager/{case}/input")), &sandbox.path("base"));
        sandbox.say(&format!("{line} --strict")).ends(1);
        assert!(!sandbox.has("base/index"));
    }
    let sandbox = Sandbox::new();
    copy_folder(&golden("forager/tokens_fail_same_stem/input"), &sandbox.path("base"));
    sandbox.say(&format!("pack base --format forager --eos-token {END} --tokenizer {} --variable", bpe())).ends(0);
    let names = sandbox.text("base/index/file_location.txt");
    let mut names: Vec<&str> = names.lines().collect();
    assert_eq!(names.len(), 2, "two files of one stem: {names:?}");
    names.dedup();
    assert_eq!(names.len(), 2, "with names of their own");
}
