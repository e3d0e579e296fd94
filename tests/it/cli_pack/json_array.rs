//! Text from a file with one JSON array: the same documents as from lines, losses and omissions.

use super::{golden, END};
use crate::cli_support::{RunOutput, Sandbox};

fn pack(sandbox: &Sandbox, input: &str, output: &str) -> RunOutput {
    let tokenizer = golden("parquet/tokenizers/bpe1k.json").to_string_lossy().into_owned();
    let words = ["--format", "nanosets", "--tokenizer", &tokenizer, "--eos-token", END];
    let rest = ["--tasks", "1", "--shuffle", "none", "--output", output, "--yes"];
    sandbox.run([&["pack", input], &words[..], &rest].concat())
}

fn packed(sandbox: &Sandbox, folder: &str) -> Vec<u8> {
    std::fs::read(sandbox.path(folder).join("00000_unshuffled.ds")).unwrap()
}

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("input")).unwrap();
    for name in ["array.json", "lines.jsonl"] {
        std::fs::copy(golden("json").join(name), sandbox.path("input").join(name)).unwrap();
    }
    sandbox
}

#[test]
fn json_array_has_the_documents_of_equal_lines() {
    let sandbox = sandbox();
    let lines = pack(&sandbox, "input/lines.jsonl", "lines");
    let array = pack(&sandbox, "input/array.json", "array");
    assert_eq!(lines.code, array.code, "{}", array.err);
    assert!(packed(&sandbox, "array") == packed(&sandbox, "lines"));
}

#[test]
fn an_array_without_its_end_is_a_problem() {
    let sandbox = sandbox();
    let text = std::fs::read_to_string(sandbox.path("input/array.json")).unwrap();
    let cut = text.rfind(']').unwrap();
    std::fs::write(sandbox.path("input/array.json"), &text[..cut]).unwrap();
    let result = pack(&sandbox, "input/array.json", "array").ends(1);
    assert!(result.err.contains("the list ends early at byte"), "{}", result.err);
}

#[test]
fn json_array_files_of_a_folder_are_skipped_with_a_problem() {
    let sandbox = sandbox();
    let problem = "1 file without lines left out, the first is array.json: one JSON array";
    pack(&sandbox, "input", "folder").ends(1).complains(problem);
    std::fs::remove_file(sandbox.path("input/lines.jsonl")).unwrap();
    pack(&sandbox, "input", "alone").ends(1).complains("it is one JSON array");
    assert!(!sandbox.has("alone"));
}
