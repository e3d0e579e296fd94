mod golden;
mod limit;
mod logs;
mod outputs;
mod rerun;
mod rows;
mod stores;
mod tables;
mod tokenizer;

use super::*;
use gristmill_core::pack::{
    DocumentShuffle, ForagerTarget, MaskedParts, ModalitiesTarget, NameProfile, NanosetsTarget, SampleSize,
    SpecialToken, TextField, TokenType,
};
use gristmill_storage::memory_store::put;
use gristmill_storage::walk::Walk;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Returns the folder of a golden case.
fn case(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden").join(name)
}

fn plan(input: &Path, tokenizer: &str, output: &Path) -> PackPlan {
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    PackPlan {
        end: Some(SpecialToken::Text("<|endoftext|>".into())),
        ..PackPlan::new(vec![text(input)], text(&case(tokenizer)), text(output))
    }
}

fn options(threads: usize) -> RunOptions {
    RunOptions { threads, ..RunOptions::default() }
}

fn run(plan: &PackPlan) -> Outcome<PackReport> {
    start(plan.clone(), options(2))?.wait()
}

/// Returns all files below a folder by relative name, except those of run folders.
fn files(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in Walk::new(root).into_iter().map(Result::unwrap) {
        let name = entry.path().strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        if entry.kind().is_file() && !name.contains(".gristmill/") {
            found.insert(name, gristmill_storage::files::read(entry.path()).unwrap());
        }
    }
    found
}

/// Calls `run` with the input of a golden case and an output folder: first on disk, then in a store.
fn in_each_place<R>(name: &str, run: impl Fn(&Path, &Path) -> R) -> [R; 2] {
    let (dir, bucket) = (tempfile::tempdir().unwrap(), PathBuf::from(format!("mem://pack/{name}")));
    let input = case(name).join("input");
    files(&input).iter().for_each(|(name, bytes)| put(&bucket.join("input").join(name), bytes));
    [run(&input, dir.path()), run(&bucket.join("input"), &bucket.join("made"))]
}

fn assert_same(made: &BTreeMap<String, Vec<u8>>, expected: &BTreeMap<String, Vec<u8>>, what: &str) {
    let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(made), names(expected), "{what}");
    for (name, bytes) in expected {
        assert!(made[name] == *bytes, "{what}: {name} differs");
    }
}
