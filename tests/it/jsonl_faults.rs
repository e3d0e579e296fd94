//! Faults at any moment while a JSONL file is indexed: the index is the complete old one or the complete new one, and the next run leaves
//! no other files.

use crate::support::put;
use gristmill_core::{ExitClass, Outcome, PreparePlan, RunOptions};
use gristmill_ops::job::jsonl::{start, JsonlReport};
use gristmill_storage::fs::fault::{Fault, FaultFs};
use gristmill_storage::fs::{Fs, RealFs};
use rustix::io::Errno;
use std::path::Path;
use std::sync::Arc;

const INDEX: &str = "a.jsonl.idx";

fn file_of_lines(root: &Path) {
    let lines: String = (0..20_000).map(|number| format!("{{\"n\": {number}}}\n")).collect();
    put(&root.join("a.jsonl"), lines.as_bytes());
}

fn with_an_old_index(root: &Path) {
    file_of_lines(root);
    put(&root.join(INDEX), &[0; 24]);
}

fn run(root: &Path, fs: Arc<dyn Fs>) -> Outcome<JsonlReport> {
    let plan = PreparePlan::new(root.join("a.jsonl").to_string_lossy());
    start(&plan, false, RunOptions { threads: 1, ..RunOptions::default() }, fs)?.wait()
}

fn index(root: &Path) -> Option<Vec<u8>> {
    std::fs::read(root.join(INDEX)).ok()
}

fn names(root: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Returns the number of operations of an undisturbed run, and its index.
fn undisturbed(prepare: fn(&Path)) -> (u64, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    prepare(folder.path());
    let fs = Arc::new(FaultFs::new(Fault::Nothing));
    run(folder.path(), fs.clone()).unwrap();
    (fs.ops(), index(folder.path()).unwrap())
}

fn broken_anywhere(prepare: fn(&Path), fault: fn(u64) -> Fault, leaves_nothing: bool) {
    let (operations, wanted) = undisturbed(prepare);
    assert!(operations > 10, "only {operations} operations are counted");
    for at in 0..operations {
        let folder = tempfile::tempdir().unwrap();
        prepare(folder.path());
        let before = index(folder.path());
        let result = run(folder.path(), Arc::new(FaultFs::new(fault(at))));
        let after = index(folder.path());
        assert!(after == before || after.as_ref() == Some(&wanted), "operation {at}: half an index ({result:?})");
        if let Err(failure) = &result {
            assert_eq!(failure.class, ExitClass::Environment, "operation {at}: {failure}");
        } else {
            assert_eq!(after.as_ref(), Some(&wanted), "operation {at}: reported as done");
        }
        let strays: Vec<String> =
            names(folder.path()).into_iter().filter(|name| !["a.jsonl", INDEX].contains(&name.as_str())).collect();
        assert!(strays.iter().all(|name| name == "a.jsonl.idx.gristmill"), "operation {at}: {strays:?}");
        assert!(strays.is_empty() || !leaves_nothing, "operation {at}: {strays:?}");
        run(folder.path(), Arc::new(RealFs)).unwrap_or_else(|failure| panic!("operation {at}: {failure}"));
        assert_eq!(index(folder.path()), Some(wanted.clone()), "operation {at}");
        assert_eq!(names(folder.path()), ["a.jsonl", INDEX], "operation {at}");
    }
}

#[test]
fn jsonl_prepare_killed_at_any_operation_is_completed_by_the_next() {
    broken_anywhere(file_of_lines, |at| Fault::Kill { at }, false);
    broken_anywhere(with_an_old_index, |at| Fault::Kill { at }, false);
}

#[test]
fn jsonl_prepare_after_a_power_cut_at_any_operation_is_completed_by_the_next() {
    broken_anywhere(file_of_lines, |at| Fault::PowerCut { at }, false);
    broken_anywhere(with_an_old_index, |at| Fault::PowerCut { at }, false);
}

#[test]
fn full_disk_at_any_operation_leaves_the_old_jsonl_index() {
    broken_anywhere(file_of_lines, |at| Fault::Full { at, errno: Errno::NOSPC }, true);
    broken_anywhere(with_an_old_index, |at| Fault::Full { at, errno: Errno::DQUOT }, true);
}

#[test]
fn io_error_at_any_operation_of_jsonl_prepare_publishes_no_damaged_index() {
    broken_anywhere(file_of_lines, |at| Fault::Once { at, errno: Errno::IO }, false);
    broken_anywhere(with_an_old_index, |at| Fault::From { at, errno: Errno::ROFS }, false);
}

#[test]
fn short_writes_do_not_change_jsonl_index() {
    let (operations, wanted) = undisturbed(file_of_lines);
    for at in 0..operations {
        let folder = tempfile::tempdir().unwrap();
        file_of_lines(folder.path());
        run(folder.path(), Arc::new(FaultFs::new(Fault::Short { at }))).unwrap();
        assert_eq!(index(folder.path()), Some(wanted.clone()), "operation {at}");
    }
}

#[test]
fn folder_in_place_of_the_jsonl_index_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    file_of_lines(folder.path());
    std::fs::create_dir(folder.path().join(INDEX)).unwrap();
    let failure = run(folder.path(), Arc::new(RealFs)).unwrap_err();
    assert_eq!(failure.class, ExitClass::Environment, "{failure}");
    assert!(failure.to_string().contains(INDEX), "{failure}");
    assert_eq!(names(folder.path()), ["a.jsonl", INDEX]);
}

#[test]
fn a_link_in_the_place_of_the_index_is_replaced_and_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    file_of_lines(folder.path());
    put(&folder.path().join("elsewhere"), b"precious");
    std::os::unix::fs::symlink("elsewhere", folder.path().join(INDEX)).unwrap();
    run(folder.path(), Arc::new(RealFs)).unwrap();
    assert_eq!(std::fs::read(folder.path().join("elsewhere")).unwrap(), b"precious");
    assert!(folder.path().join(INDEX).symlink_metadata().unwrap().is_file());
}

#[test]
fn concurrent_jsonl_prepares_leave_one_complete_index() {
    let folder = tempfile::tempdir().unwrap();
    file_of_lines(folder.path());
    let (_, wanted) = undisturbed(file_of_lines);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..5 {
                    match run(folder.path(), Arc::new(RealFs)) {
                        Ok(report) => assert_eq!(report.samples, 20_000),
                        Err(failure) => assert!(failure.why.contains("held by"), "{failure}"),
                    }
                }
            });
        }
    });
    assert_eq!(index(folder.path()), Some(wanted));
    assert_eq!(names(folder.path()), ["a.jsonl", INDEX]);
}

const COPY: [&str; 2] = ["a.clean.jsonl", "a.clean.jsonl.idx"];

fn run_without_bad_lines(root: &Path, fs: Arc<dyn Fs>) -> Outcome<JsonlReport> {
    let mut plan = PreparePlan::new(root.join("a.jsonl").to_string_lossy());
    plan.skip_bad_lines = true;
    start(&plan, false, RunOptions { threads: 1, ..RunOptions::default() }, fs)?.wait()
}

#[test]
fn index_of_a_clean_copy_never_exists_without_the_complete_copy() {
    let put_lines = |root: &Path| {
        let lines: String = (0..2_000).map(|number| format!("{{\"n\": {number}}}\n")).collect();
        put(&root.join("a.jsonl"), format!("{lines}bad\n{lines}").as_bytes());
    };
    let copy = |root: &Path| COPY.map(|name| std::fs::read(root.join(name)).ok());
    let whole = tempfile::tempdir().unwrap();
    put_lines(whole.path());
    let fs = Arc::new(FaultFs::new(Fault::Nothing));
    run_without_bad_lines(whole.path(), fs.clone()).unwrap();
    let wanted = copy(whole.path());
    assert!(wanted.iter().all(Option::is_some) && fs.ops() > 10);
    for at in 0..fs.ops() {
        for fault in [Fault::Kill { at }, Fault::PowerCut { at }, Fault::Full { at, errno: Errno::NOSPC }] {
            let folder = tempfile::tempdir().unwrap();
            put_lines(folder.path());
            let shown = format!("operation {at}, {fault:?}");
            let result = run_without_bad_lines(folder.path(), Arc::new(FaultFs::new(fault)));
            let after = copy(folder.path());
            assert!(after[1].is_none() || after == wanted, "{shown}: an index without its lines ({result:?})");
            run_without_bad_lines(folder.path(), Arc::new(RealFs))
                .unwrap_or_else(|failure| panic!("{shown}: {failure}"));
            assert_eq!(copy(folder.path()), wanted, "{shown}");
            assert_eq!(names(folder.path()), [COPY[0], COPY[1], "a.jsonl"], "{shown}");
        }
    }
}
