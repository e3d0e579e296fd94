//! The content of mounts, compared with listings that were checked against the reference program where it can show the same.

use super::{sandbox, Mount};
use crate::cli_support::{copy_tree, golden_dir, Sandbox};
use serde_json::{json, Value};
use sha2::{Digest, Sha256};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

fn sha(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Returns a row for each file and folder, sorted by the bytes of their paths. Reads every file as a whole, and five ranges of it.
fn rows(root: &Path) -> Vec<Value> {
    let mut rows: Vec<(String, Value)> = Vec::new();
    for entry in walkdir::WalkDir::new(root).min_depth(1) {
        let entry = entry.unwrap();
        let path = entry.path().strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        let facts = entry.path().symlink_metadata().unwrap();
        let mode = format!("{:04o}", facts.mode() & 0o7777);
        assert_eq!((facts.nlink(), facts.uid()), (1, 0), "{path}");
        if facts.is_dir() {
            rows.push((path.clone(), json!([path, "d", mode])));
            continue;
        }
        let bytes = std::fs::read(entry.path()).unwrap();
        assert_eq!(bytes.len() as u64, facts.len(), "{path}");
        check_ranges(entry.path(), &bytes);
        rows.push((path.clone(), json!([path, "f", mode, facts.len(), sha(&bytes)])));
    }
    rows.sort_by(|a, b| a.0.cmp(&b.0));
    rows.into_iter().map(|(_, row)| row).collect()
}

fn check_ranges(path: &Path, bytes: &[u8]) {
    let file = std::fs::File::open(path).unwrap();
    let length = bytes.len();
    for (from, count) in [(0, 1), (length / 2, 7), (length / 3, length), (length.saturating_sub(1), 9), (length + 5, 3)]
    {
        let mut part = vec![0; count];
        let read = file.read_at(&mut part, from as u64).unwrap();
        let wanted = bytes.get(from..(from + count).min(length)).unwrap_or_default();
        assert_eq!(&part[..read], wanted, "{} from {from}", path.display());
    }
}

/// Returns names, content and times of all files and folders below a folder.
fn state(root: &Path) -> Vec<(String, u64, i64, String)> {
    let mut state: Vec<_> = walkdir::WalkDir::new(root)
        .into_iter()
        .map(|entry| {
            let entry = entry.unwrap();
            let facts = entry.metadata().unwrap();
            let hash = if facts.is_file() { sha(&std::fs::read(entry.path()).unwrap()) } else { String::new() };
            (entry.path().display().to_string(), facts.len(), facts.mtime_nsec(), hash)
        })
        .collect();
    state.sort();
    state
}

fn data_of(case: &Path, data: &str, sandbox: &Sandbox) -> String {
    match data.strip_prefix("energon/") {
        Some(name) => {
            copy_tree(&golden_dir(name).join("input"), &sandbox.path("data"));
            copy_tree(&golden_dir(name).join("expected"), &sandbox.path("data"));
            "data".to_owned()
        }
        None => {
            copy_tree(&case.join("given"), &sandbox.path("given"));
            data.to_owned()
        }
    }
}

fn check(name: &str) {
    let Some(sandbox) = sandbox() else { return };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/mount").join(name);
    let case: Value = serde_json::from_slice(&std::fs::read(folder.join("case.json")).unwrap()).unwrap();
    let data = data_of(&folder, case["data"].as_str().unwrap(), &sandbox);
    let before = state(&sandbox.path(data.split('/').next().unwrap()));
    let command = case["command"].as_array().unwrap().iter().skip(1).map(|word| match word.as_str().unwrap() {
        "DATA" => data.clone(),
        "MNT" => "mnt".to_owned(),
        word => word.to_owned(),
    });
    let mount = Mount::start(&sandbox, command, "mnt");
    let (found, wanted) = (rows(&mount.at), case["listing"].as_array().unwrap());
    for (found, wanted) in found.iter().zip(wanted) {
        assert_eq!(found, wanted);
    }
    assert_eq!(found.len(), wanted.len());
    mount.unmount();
    assert_eq!(state(&sandbox.path(data.split('/').next().unwrap())), before, "the data set is unchanged");
    assert!(!sandbox.has("mnt"), "the folder was made, and is removed");
}

#[test]
fn flat_layout_equals_that_of_energon_mount() {
    check("dropin_flat");
}

#[test]
fn folders_layout_equals_that_of_energon_mount() {
    check("dropin_folders");
}

#[test]
fn lines_are_files_in_numbered_folders() {
    check("jsonl_tree");
}

#[test]
fn unusual_names_in_one_folder() {
    check("odd_flat");
}

#[test]
fn unusual_names_as_folders() {
    check("odd_folders");
}

#[test]
fn unusual_names_under_their_own_names() {
    check("odd_tree");
}

#[test]
fn one_split_is_without_what_is_excluded() {
    check("one_split");
}

#[test]
fn splits_are_next_to_samples_and_shards() {
    check("splits_all");
}
