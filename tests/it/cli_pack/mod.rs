//! `pack` on the command line: the cases of the reference programs, bad input, and the same bytes under all conditions.

mod arrow;
mod bad_input;
mod delimited;
mod flags;
mod golden;
mod huggingface;
mod json_array;
mod kills;
mod left_out;
mod mds;
mod megatron;
mod megatron_tools;
mod olmo;
mod packed_folder;
mod parquet;
mod same_bytes;
mod stored;

use super::cli_support::{RunOutput, Sandbox};
use super::support::{copy_folder, picture};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The token that ends documents in the reference cases.
const END: &str = "<|endoftext|>";

/// Returns a folder of the reference cases.
fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

/// Returns a path of the reference cases as an argument.
fn golden_path(name: &str) -> String {
    golden(name).to_string_lossy().into_owned()
}

fn bpe() -> String {
    golden_path("modalities/tokenizers/bpe1k/tokenizer.json")
}

/// A reference case: its input below `case/`, the tokenizers next to it. The program starts in `case/`.
struct Case {
    sandbox: Sandbox,
    name: String,
}

impl Case {
    fn new(name: &str) -> Self {
        let sandbox = Sandbox::new();
        copy_folder(&golden(name).join("input"), &sandbox.path("case/input"));
        let tokenizers = golden(name).parent().unwrap().join("tokenizers");
        if tokenizers.is_dir() {
            std::os::unix::fs::symlink(tokenizers, sandbox.path("tokenizers")).unwrap();
        }
        Self { sandbox, name: name.to_owned() }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.sandbox.command(arguments);
        command.current_dir(self.sandbox.path("case"));
        command
    }

    fn run(&self, arguments: &[&str]) -> RunOutput {
        ran(&mut self.command(arguments))
    }

    /// Checks that `folder` contains the output of the reference program.
    #[track_caller]
    fn is_as_expected(&self, folder: &str) {
        let ours = without_own_folders(&self.sandbox.path("case").join(folder));
        super::support::assert_same(&ours, &picture(&golden(&self.name).join("expected")), &self.name);
    }
}

fn ran(command: &mut Command) -> RunOutput {
    let output = command.output().unwrap();
    RunOutput {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Returns every file below a folder, except those in the program's own folders.
fn without_own_folders(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = picture(root);
    files.retain(|path, _| !path.to_string_lossy().contains(".gristmill"));
    files
}

/// Returns lines of JSON with these texts.
fn jsonl<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Vec<u8> {
    let lines = texts.into_iter().map(|text| format!("{}\n", serde_json::json!({ "text": text.as_ref() })));
    lines.collect::<String>().into_bytes()
}

/// Returns texts of many forms, always the same.
fn texts(count: usize) -> Vec<String> {
    let words = [
        "index",
        "shuffle",
        "한국어",
        "straße",
        "token",
        "file",
        "🚀",
        "\n\n",
        "3.14",
        "don't",
        "東京",
        END,
        "  ",
        "model",
    ];
    let mut state = 88_172_645_463_325_252_u64;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let document = |_| {
        let length = if next(50) == 0 { 3_000 } else { 1 + next(60) };
        (0..length).map(|_| words[next(words.len())]).collect::<Vec<_>>().join(" ")
    };
    (0..count).map(document).collect()
}
