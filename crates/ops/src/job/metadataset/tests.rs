use super::*;
use crate::engine::mix::fixture::{keys, metadataset, Set};
use gristmill_core::{ExitClass, ProblemKind};
use gristmill_storage::fs::fault::{Fault, FaultFs};
use gristmill_storage::fs::RealFs;
use rustix::io::Errno;
use std::collections::BTreeMap;
use tempfile::TempDir;

const JOINER: &str = "joiner: {__module__: m, __function__: f}";

fn house() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    Set::small().write(&dir.path().join("a"));
    let other = Set { uuid: "22222222-2222-4222-8222-222222222222", ..Set::small() };
    other.write(&dir.path().join("b"));
    let body = format!("  train:\n    join: [{{path: a}}, {{path: b}}]\n    {JOINER}\n");
    let path = metadataset(&dir.path().join("mix.yaml"), &body);
    (dir, path)
}

fn prepare(path: &Path) -> Outcome<MetadatasetReport> {
    start(path, false, IndexAction::Publish, RunOptions::default(), Arc::new(RealFs))?.wait()
}

/// Returns all files below a folder except the data sets, with their relative names and content.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let below = walkdir::WalkDir::new(dir).into_iter().filter_map(Result::ok).filter(|entry| !entry.path().is_dir());
    below
        .map(|entry| {
            (entry.path().strip_prefix(dir).unwrap().to_str().unwrap().to_owned(), std::fs::read(entry.path()).unwrap())
        })
        .filter(|(name, _)| name.starts_with("mix") || name.starts_with("inner"))
        .collect()
}

#[test]
fn a_join_is_published_and_a_second_run_has_nothing_to_do() {
    let (dir, path) = house();
    let report = prepare(&path).unwrap();
    assert_eq!((report.joins[0].rows, report.files.len(), report.nothing_to_do), (10, 1, false));
    assert!(report.files[0].name.starts_with("mix.yaml.cache/join_index_"));
    let after = files(dir.path());
    assert_eq!(after.len(), 2, "{:?}", after.keys());
    let written = std::fs::metadata(dir.path().join(&report.files[0].name)).unwrap();
    let again = prepare(&path).unwrap();
    assert!(again.nothing_to_do && again.files.is_empty());
    let same = std::fs::metadata(dir.path().join(&report.files[0].name)).unwrap();
    assert_eq!(written.modified().unwrap(), same.modified().unwrap());
    assert_eq!(files(dir.path()), after);
    let checked =
        start(&path, false, IndexAction::Compare, RunOptions::default(), Arc::new(RealFs)).unwrap().wait().unwrap();
    assert!(checked.findings.problems.is_empty(), "{:?}", checked.findings.problems);
}

#[test]
fn changed_splits_of_a_member_rebuild_the_join_index() {
    let (dir, path) = house();
    let first = prepare(&path).unwrap();
    // The uuid does not change when splits are edited, so the name of the index does not change either.
    let swapped = Set { splits: vec![("train", vec!["b.tar", "a.tar"]), ("val", vec![])], ..Set::small() };
    swapped.write(&dir.path().join("a"));
    let other = Set {
        uuid: "22222222-2222-4222-8222-222222222222",
        splits: vec![("train", vec!["a.tar", "b.tar"])],
        ..Set::small()
    };
    other.write(&dir.path().join("b"));
    let found =
        start(&path, false, IndexAction::Compare, RunOptions::default(), Arc::new(RealFs)).unwrap().wait().unwrap();
    assert_eq!(found.findings.problems[0].kind, ProblemKind::IndexMismatch);
    assert!(found.findings.problems[0].message.contains("row 0 differs"), "{:?}", found.findings.problems);
    let second = prepare(&path).unwrap();
    assert_eq!((second.joins[0].rows, &second.files[0].name), (20, &first.files[0].name));
    assert!(second.files[0].replaces);
}

#[test]
fn stale_join_indexes_are_removed_only_after_success() {
    let (dir, path) = house();
    let old = prepare(&path).unwrap().files[0].name.clone();
    std::fs::create_dir_all(dir.path().join("mix.yaml.cache/folder")).unwrap();
    let note = dir.path().join("mix.yaml.cache/note.txt");
    gristmill_storage::publish::write_file(&RealFs, &note, b"mine", 0o644).unwrap();
    let changed = Set {
        uuid: "33333333-3333-4333-8333-333333333333",
        shards: vec![("a.tar", keys("q", 0..10))],
        splits: vec![("train", vec!["a.tar"])],
        ..Set::small()
    };
    changed.write(&dir.path().join("b"));
    assert!(prepare(&path).unwrap_err().why.contains("'b' lacks 10 of the 10 samples"));
    assert!(dir.path().join(&old).exists(), "a failed run removes nothing");
    let body = "  train: {path: a}\n";
    metadataset(&path, body);
    let report = prepare(&path).unwrap();
    assert_eq!(report.removed, std::slice::from_ref(&old));
    assert!(!dir.path().join(&old).exists() && note.exists());
    assert!(prepare(&path).unwrap().nothing_to_do);
}

#[test]
fn join_indexes_of_nested_files_are_next_to_those_files() {
    let (dir, _) = house();
    std::fs::remove_file(dir.path().join("mix.yaml")).unwrap();
    let join = |split: &str| {
        format!(
            "{{join: [{{path: a, split_part: {split}}}, {{path: b, split_part: {split}, nonmatch: skip}}], {JOINER}}}"
        )
    };
    let inner = |name: &str, split: &str| {
        metadataset(&dir.path().join(name), &format!("  train: {}\n", join(split)));
    };
    inner("inner_train.yaml", "train");
    inner("inner_val.yaml", "val");
    let path = metadataset(
        &dir.path().join("mix.yaml"),
        "  train: {path: inner_train.yaml}\n  val: {path: inner_val.yaml, split_part: train}\n",
    );
    let report = prepare(&path).unwrap();
    assert_eq!((report.joins.len(), report.files.len()), (2, 2));
    let names: Vec<String> = files(dir.path()).into_keys().filter(|name| name.ends_with(".bin")).collect();
    assert_eq!(names.len(), 2);
    assert!(
        names[0].starts_with("inner_train.yaml.cache/") && names[1].starts_with("inner_val.yaml.cache/"),
        "{names:?}"
    );
    // A split that is only used by another file keeps its index.
    let body = format!(
        "  train: {}\n  other: {{join: [{{path: a}}, {{path: b, nonmatch: none}}], split_part: val, {JOINER}}}\n",
        join("train")
    );
    metadataset(&dir.path().join("inner_train.yaml"), &body);
    assert_eq!(prepare(&dir.path().join("inner_train.yaml")).unwrap().files.len(), 1);
    assert!(prepare(&path).unwrap().removed.is_empty());
}

#[test]
fn join_index_with_few_excludes_is_written_under_every_possible_name() {
    let (dir, path) = house();
    Set { exclude: vec!["a.tar/k0001", "a.tar/k0002", "a.tar/k0003"], ..Set::small() }.write(&dir.path().join("a"));
    let report = prepare(&path).unwrap();
    assert_eq!((report.files.len(), report.joins.len(), report.joins[0].rows), (6, 1, 7));
    let contents: std::collections::HashSet<Vec<u8>> =
        report.files.iter().map(|file| std::fs::read(dir.path().join(&file.name)).unwrap()).collect();
    assert_eq!(contents.len(), 1);
    assert!(prepare(&path).unwrap().nothing_to_do);
}

#[test]
fn a_dry_run_and_a_refused_file_write_nothing() {
    let (dir, path) = house();
    let before = files(dir.path());
    let report =
        start(&path, false, IndexAction::Preview, RunOptions::default(), Arc::new(RealFs)).unwrap().wait().unwrap();
    assert_eq!((report.files.len(), report.joins[0].rows), (1, 10));
    assert_eq!(files(dir.path()), before);
    metadataset(&path, "  train:\n    blend: [{path: a, wight: 1}, {path: nowhere}]\n");
    let failure = prepare(&path).unwrap_err();
    assert_eq!((failure.class, failure.subject.line), (ExitClass::Data, Some(5)));
    metadataset(&path, "  train:\n    blend: [{path: a}, {path: nowhere}, {path: nowhere2}]\n");
    assert!(prepare(&path).unwrap_err().why.starts_with("the loader would stop at 2 places"));
    assert_eq!(files(dir.path()).len(), 1);
    assert_eq!(prepare(&dir.path().join("none.yaml")).unwrap_err().class, ExitClass::Environment);
}

#[test]
fn metadataset_without_joins_has_nothing_to_prepare() {
    let (dir, path) = house();
    metadataset(&path, "  train: {blend: [{path: a}, {path: b}]}\n");
    let report = prepare(&path).unwrap();
    assert!(report.nothing_to_do && report.joins.is_empty() && report.splits == 1);
    assert_eq!(files(dir.path()).len(), 1);
}

/// Creates a metadataset whose index exists, and whose members and cache changed after that.
fn before_a_second_run() -> TempDir {
    let (dir, path) = house();
    prepare(&path).unwrap();
    let stale = dir.path().join("mix.yaml.cache/join_index_old.bin");
    gristmill_storage::publish::write_file(&RealFs, &stale, b"old", 0o644).unwrap();
    let swapped = Set { splits: vec![("train", vec!["b.tar", "a.tar"])], ..Set::small() };
    swapped.write(&dir.path().join("a"));
    let other = Set {
        uuid: "22222222-2222-4222-8222-222222222222",
        splits: vec![("train", vec!["a.tar", "b.tar"])],
        ..Set::small()
    };
    other.write(&dir.path().join("b"));
    dir
}

fn copy(from: &Path, to: &Path) {
    for entry in walkdir::WalkDir::new(from).min_depth(1).into_iter().filter_map(Result::ok) {
        let target = to.join(entry.path().strip_prefix(from).unwrap());
        if entry.path().is_dir() {
            std::fs::create_dir_all(&target).unwrap();
        } else {
            std::fs::copy(entry.path(), &target).unwrap();
        }
    }
}

/// The first run built an index; the second must replace it and remove a stale one. After any failure, the visible files are the old or the
/// new set, and the next run has the same result.
#[test]
fn failure_at_any_step_leaves_the_old_or_the_new_join_indexes() {
    let template = before_a_second_run();
    let prepared = || {
        let dir = tempfile::tempdir().unwrap();
        copy(template.path(), dir.path());
        let path = dir.path().join("mix.yaml");
        (dir, path)
    };
    let (dir, path) = prepared();
    let old = files(dir.path());
    let fs = Arc::new(FaultFs::new(Fault::Nothing));
    start(&path, false, IndexAction::Publish, RunOptions::default(), fs.clone()).unwrap().wait().unwrap();
    let (new, ops) = (files(dir.path()), fs.ops());
    assert!(ops > 20 && new.len() == 2 && old.len() == 3, "{ops}");
    let mut failed = 0;
    for at in 0..ops {
        let (full, io) = (Errno::NOSPC, Errno::IO);
        let faults = [Fault::Once { at, errno: io }, Fault::From { at, errno: full }, Fault::Kill { at }];
        for fault in faults {
            // After these faults, all writes fail, so the old files cannot be restored.
            let is_final = matches!(fault, Fault::From { .. } | Fault::Kill { .. });
            let (dir, path) = prepared();
            let fs = Arc::new(FaultFs::new(fault));
            let result = start(&path, false, IndexAction::Publish, RunOptions::default(), fs).unwrap().wait();
            let visible: BTreeMap<_, _> =
                files(dir.path()).into_iter().filter(|(name, _)| !name.contains(".gristmill")).collect();
            match result {
                Ok(_) if is_final => {}
                Ok(_) => assert_eq!(visible, new, "step {at}"),
                Err(failure) => {
                    failed += 1;
                    assert_eq!(failure.class, ExitClass::Environment, "step {at}: {failure:?}");
                    assert!(is_final || visible == old || visible == new, "{fault:?}: {:?}", visible.keys());
                    // An index is never visible before it is completely written.
                    let whole =
                        |name: &String, bytes: &Vec<u8>| [&old, &new].iter().any(|set| set.get(name) == Some(bytes));
                    assert!(visible.iter().all(|(name, bytes)| whole(name, bytes)), "{fault:?}");
                }
            }
            let options = RunOptions { break_lock: is_final, ..RunOptions::default() };
            start(&path, false, IndexAction::Publish, options, Arc::new(RealFs)).unwrap().wait().unwrap();
            assert_eq!(files(dir.path()), new, "after {fault:?}");
        }
    }
    assert!(failed > 20, "{failed}");
}
