//! Entries that are named like shards but cannot be read as files, and folders that cannot be written.

use super::sandbox::{assert_unprepared, indexed_parts, shard_counts, Sandbox};
use super::tars::{archive, samples};
use crate::support::put;
use rustix::fs::{mkfifoat, Mode, CWD};
use std::os::unix::fs::symlink;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    put(&sandbox.at("a.tar"), &archive(&samples("a", 3)));
    sandbox
}

#[test]
fn special_files_named_like_shards_are_skipped_and_reported() {
    let sandbox = sandbox();
    std::fs::create_dir(sandbox.at("folder.tar")).unwrap();
    put(&sandbox.at("folder.tar/inner.tar"), &archive(&samples("i", 1)));
    mkfifoat(CWD, sandbox.at("fifo.tar"), Mode::from_raw_mode(0o600)).unwrap();
    symlink(sandbox.at("nowhere"), sandbox.at("dangling.tar")).unwrap();
    symlink(sandbox.at("loop2.tar"), sandbox.at("loop1.tar")).unwrap();
    symlink(sandbox.at("loop1.tar"), sandbox.at("loop2.tar")).unwrap();
    symlink("/dev/zero", sandbox.at("device.tar")).unwrap();
    symlink(sandbox.at("folder.tar"), sandbox.at("linked-folder.tgz")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(sandbox.at("socket.tar")).unwrap();
    let ran = sandbox.prepare(&["--duplicates", "keep-first"]);
    assert_eq!(ran.code, 1, "{ran}");
    let named: Vec<String> =
        ran.problems("not-a-file").iter().map(|p| p["subject"]["shard"].as_str().unwrap().to_owned()).collect();
    for name in ["folder.tar", "fifo.tar", "dangling.tar", "loop1.tar", "loop2.tar", "device.tar", "socket.tar"] {
        assert!(named.contains(&name.to_owned()), "{name} is not named: {ran}");
    }
    assert!(ran.problems("not-a-file").iter().all(|p| !p["hint"].as_str().unwrap().is_empty()), "{ran}");
    let indexed: Vec<String> = shard_counts(&sandbox.data()).into_iter().map(|(name, _)| name).collect();
    assert!(
        indexed.contains(&"a.tar".to_owned()) && indexed.contains(&"folder.tar/inner.tar".to_owned()),
        "{indexed:?}"
    );
    assert!(indexed.iter().all(|name| name.ends_with("/inner.tar") || name == "a.tar"), "{indexed:?}");
}

#[test]
fn folder_that_links_to_itself_is_scanned_once() {
    let sandbox = sandbox();
    symlink(sandbox.data(), sandbox.at("again")).unwrap();
    let ran = sandbox.prepare(&[]);
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(shard_counts(&sandbox.data()), [("a.tar".to_owned(), 3)]);
}

#[test]
fn shard_with_read_errors_ends_the_run_by_name() {
    // A regular file whose reads fail at position 0, even for root.
    let unreadable = std::path::Path::new("/proc/self/mem");
    if !std::fs::metadata(unreadable).is_ok_and(|facts| facts.is_file()) {
        return;
    }
    let sandbox = sandbox();
    symlink(unreadable, sandbox.at("b.tar")).unwrap();
    let ran = sandbox.refused(&[], 3);
    let (message, hint) = ran.error();
    assert!(message.contains("b.tar") && hint.contains("--exclude"), "{ran}");
    assert_unprepared(&sandbox.data());
    let ran = sandbox.prepare(&["--exclude", "^b\\.tar$"]);
    assert_eq!(ran.code, 0, "the hint works: {ran}");
    assert_eq!(indexed_parts(&sandbox.data()).len(), 6);
}

#[test]
fn shard_without_read_permission_ends_the_run() {
    use std::os::unix::fs::PermissionsExt as _;
    let sandbox = sandbox();
    put(&sandbox.at("b.tar"), &archive(&samples("b", 3)));
    std::fs::set_permissions(sandbox.at("b.tar"), std::fs::Permissions::from_mode(0o000)).unwrap();
    if std::fs::File::open(sandbox.at("b.tar")).is_ok() {
        // The superuser can read every file; the mode must still not apply to the written files.
        assert_eq!(sandbox.prepare(&[]).code, 0);
        let mode = std::fs::metadata(sandbox.at("b.tar.idx")).unwrap().permissions().mode();
        assert_eq!(mode & 0o600, 0o600, "the index can be read by its owner");
        return;
    }
    let ran = sandbox.refused(&[], 3);
    let (message, hint) = ran.error();
    assert!(message.contains("b.tar") && message.contains("permission denied") && !hint.is_empty(), "{ran}");
    assert_unprepared(&sandbox.data());
}

#[test]
fn unusable_prepare_paths_are_refused_with_their_kind() {
    let sandbox = sandbox();
    put(&sandbox.at("empty/readme.txt"), b"x");
    put(&sandbox.at("lines.jsonl"), b"{}\n");
    put(&sandbox.at("meta.yaml"), b"x: 1\n");
    put(&sandbox.at("file.bin"), b"x");
    let rest = ["--yes", "--json", "--split-ratio", "1,0,0", "--skip-dataset-yaml"];
    for (path, code, word) in [
        ("nowhere", 3, "no such file"),
        ("empty", 1, "no tar shard"),
        ("a.tar", 2, "single shard"),
        ("lines.jsonl", 2, "has no effect for a JSONL file"),
        ("meta.yaml", 2, "has no effect for a metadataset"),
        ("file.bin", 2, "folder of tar shards"),
        ("ftp://bucket/x", 2, "no addresses of ftp://"),
        ("", 2, "[PATH]"),
    ] {
        let ran = sandbox.run(["prepare", path].into_iter().chain(rest));
        assert_eq!(ran.code, code, "{path}: {ran}");
        assert!(ran.error().0.contains(word), "{path}: {ran}");
        assert!(!sandbox.at(path).join(".nv-meta").exists() || path.is_empty(), "{path}");
    }
}

#[test]
fn file_in_place_of_nv_meta_ends_the_run() {
    let sandbox = sandbox();
    put(&sandbox.at(".nv-meta"), b"a file");
    let ran = sandbox.refused(&[], 3);
    assert!(ran.error().0.contains(".nv-meta"), "{ran}");
}

#[test]
fn file_in_place_of_own_folder_ends_the_run() {
    let sandbox = sandbox();
    std::fs::create_dir(sandbox.at(".nv-meta")).unwrap();
    put(&sandbox.at(".nv-meta/gristmill"), b"a file");
    let ran = sandbox.prepare(&[]);
    assert_eq!(ran.code, 3, "{ran}");
    assert!(ran.error().0.contains("gristmill") && !sandbox.at(".nv-meta/.info.json").exists(), "{ran}");
}

#[test]
fn folder_in_place_of_an_output_file_ends_the_run_without_changes() {
    for target in ["a.tar.idx", ".nv-meta/.info.json", ".nv-meta/split.yaml", ".nv-meta/index.sqlite"] {
        let sandbox = sandbox();
        std::fs::create_dir_all(sandbox.at(target)).unwrap();
        let before = crate::support::picture(&sandbox.data());
        let ran = sandbox.prepare(&[]);
        assert_eq!(ran.code, 3, "{target}: {ran}");
        assert!(ran.error().0.contains(target.rsplit('/').next().unwrap()), "{target}: {ran}");
        let after = crate::support::picture(&sandbox.data());
        assert!(after == before, "{target}: {:?}", after.keys().collect::<Vec<_>>());
        // Removing the folder resolves the failure.
        std::fs::remove_dir(sandbox.at(target)).unwrap();
        assert_eq!(sandbox.prepare(&[]).code, 0, "{target}");
        assert_eq!(indexed_parts(&sandbox.data()).len(), 6);
    }
}

#[test]
fn unusable_scratch_folder_ends_the_run() {
    let sandbox = sandbox();
    let file = sandbox.sibling("file");
    put(&file, b"x");
    let ran = sandbox.refused(&["--scratch", file.join("in").to_str().unwrap()], 3);
    assert!(ran.error().0.contains("file"), "{ran}");
    assert_unprepared(&sandbox.data());
}

#[test]
fn output_that_cannot_be_written_is_exit_3() {
    let sandbox = sandbox();
    for args in [vec!["keys"], vec!["doctor", "--json"], vec!["man"]] {
        let full = std::fs::File::options().write(true).open("/dev/full");
        let Ok(full) = full else { return };
        let mut command = sandbox.command(args);
        let mut child = command.stdout(full).stderr(std::process::Stdio::null()).spawn().unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(3));
    }
}
