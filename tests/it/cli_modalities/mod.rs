//! The files of Modalities on the command line: golden cases under the names of the reference program, and the program's own commands.

mod files;
mod instruction;
mod packing;
mod rewrite;

use super::cli_support::{copy_tree, RunOutput, Sandbox};
use serde_json::Value;
use std::path::{Path, PathBuf};

fn golden(case: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/modalities").join(case)
}

/// Returns a golden case as the current folder: its input, and an empty folder `expected`.
fn case(name: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    copy_tree(&golden(name).join("input"), &sandbox.path("input"));
    std::fs::create_dir_all(sandbox.path("expected")).unwrap();
    copy_tree(&golden("tokenizers"), &sandbox.path("../tokenizers"));
    sandbox
}

fn expected(case: &str, file: &str) -> Vec<u8> {
    std::fs::read(golden(case).join("expected").join(file)).unwrap()
}

/// Runs the commands of a golden case that have this name, with `more` appended; returns each run with the exit code of the reference
/// program.
fn replay(sandbox: &Sandbox, name: &str, command: &str, more: &str) -> Vec<(RunOutput, i64)> {
    let case: Value = serde_json::from_slice(&std::fs::read(golden(name).join("case.json")).unwrap()).unwrap();
    let commands = case["commands"].as_array().unwrap().iter().zip(case["exit_status"].as_array().unwrap());
    let mut ran = Vec::new();
    for (words, code) in commands {
        let words: Vec<&str> = words.as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
        if words[2] == command {
            ran.push((sandbox.run(words.into_iter().chain(more.split_whitespace())), code.as_i64().unwrap()));
        }
    }
    assert!(!ran.is_empty());
    ran
}

fn replayed(sandbox: &Sandbox, name: &str, command: &str, more: &str) {
    for (ran, code) in replay(sandbox, name, command, more) {
        ran.ends(code as i32);
    }
}

/// Returns the offsets and lengths at the end of a packed file of the current layout, whose numbers are all below 65,536.
fn index_of(bytes: &[u8]) -> Vec<(u64, u64)> {
    let at = 12 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let (mut numbers, mut at) = (Vec::new(), at + 2 + 9);
    while bytes[at] != b'.' {
        at += 1 + match bytes[at] {
            b'K' => {
                numbers.push(u64::from(bytes[at + 1]));
                1
            }
            b'M' => {
                numbers.push(u64::from(bytes[at + 1]) | u64::from(bytes[at + 2]) << 8);
                2
            }
            _ => 0,
        };
    }
    numbers.chunks(2).map(|pair| (pair[0], pair[1])).collect()
}
