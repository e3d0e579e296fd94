//! Disk faults at any moment: incomplete files are never treated as complete, and the next run succeeds.

use super::*;
use gristmill_core::{DedupPlan, ExitClass, Outcome, RunOptions};
use gristmill_ops::job::dedup::{start_on, DedupReport, Tuning};
use gristmill_storage::fs::fault::{Fault, FaultFs};
use gristmill_storage::fs::{Fs, RealFs};
use rustix::io::Errno;
use std::sync::Arc;

fn data(root: &Path) {
    let texts = some_texts(60);
    put(&root.join("data/a.jsonl"), &jsonl(&texts[..20]));
    put(&root.join("data/b/c.jsonl"), &jsonl(&texts[20..40]));
    put(&root.join("data/d.jsonl.gz"), &gzip(&jsonl(&texts[40..])));
}

/// Runs a dedup with text and records in scratch or in memory, and exports everything.
fn run(root: &Path, in_scratch: bool, fs: Arc<dyn Fs>) -> Outcome<DedupReport> {
    let path = |name: &str| root.join(name).to_str().unwrap().to_owned();
    let mut plan = DedupPlan::new(path("data"), path("out"));
    plan.min_length = Some(60);
    (plan.export_index, plan.shards) = (Some(path("index")), 2);
    // One worker, so that operation k is the same operation in every run.
    let options = RunOptions { threads: 1, ..RunOptions::default() };
    let piles = in_scratch.then_some(0);
    start_on(plan, options, Tuning { parts: Some(2), unit_bytes: Some(8 << 10), spill_bytes: piles }, fs)?.wait()
}

/// Returns the visible files: the result, decompressed, and the index.
fn visible(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = unpacked(root);
    files.retain(|name, _| !name.starts_with("out.gristmill") && !name.starts_with("data"));
    files
}

/// Returns the number of operations of an undisturbed run, and its files.
fn undisturbed(in_scratch: bool) -> (u64, BTreeMap<PathBuf, Vec<u8>>) {
    let dir = tempfile::tempdir().unwrap();
    data(dir.path());
    let fs = Arc::new(FaultFs::new(Fault::Nothing));
    run(dir.path(), in_scratch, fs.clone()).unwrap();
    (fs.ops(), visible(dir.path()))
}

#[test]
fn dedup_killed_at_any_operation_is_completed_by_the_next_run() {
    for in_scratch in [true, false] {
        let (operations, wanted) = undisturbed(in_scratch);
        assert!(operations > 50, "only {operations} operations are counted");
        for at in 0..operations {
            // Each operation fails in one of the two ways, and in the other way in the next round.
            let fault = if at % 2 == u64::from(in_scratch) { Fault::Kill { at } } else { Fault::PowerCut { at } };
            let dir = tempfile::tempdir().unwrap();
            data(dir.path());
            let result = run(dir.path(), in_scratch, Arc::new(FaultFs::new(fault)));
            let is_complete = dir.path().join("out.gristmill/report.json").exists();
            if is_complete {
                assert_same(&visible(dir.path()), &wanted, &format!("operation {at}: complete"));
            }
            let again = run(dir.path(), in_scratch, Arc::new(RealFs));
            assert!(again.is_ok(), "operation {at}: {result:?}, then {again:?}");
            assert_same(&visible(dir.path()), &wanted, &format!("operation {at}"));
        }
    }
}

#[test]
fn full_disk_at_any_dedup_operation_leaves_no_output_and_no_scratch() {
    for in_scratch in [true, false] {
        let (operations, wanted) = undisturbed(in_scratch);
        for at in 0..operations {
            let dir = tempfile::tempdir().unwrap();
            data(dir.path());
            let fault = Fault::Full { at, errno: if at % 2 == 0 { Errno::NOSPC } else { Errno::DQUOT } };
            match run(dir.path(), in_scratch, Arc::new(FaultFs::new(fault))) {
                Ok(_) => assert_same(&visible(dir.path()), &wanted, &format!("operation {at}")),
                Err(failure) => {
                    assert_eq!(failure.class, ExitClass::Environment, "operation {at}: {failure}");
                    assert!(visible(dir.path()).is_empty(), "operation {at}: {:?}", visible(dir.path()).keys());
                    assert!(!dir.path().join("out.gristmill/work/scratch").exists(), "operation {at}");
                    run(dir.path(), in_scratch, Arc::new(RealFs)).unwrap();
                    assert_same(&visible(dir.path()), &wanted, &format!("operation {at}, again"));
                }
            }
        }
    }
}

#[test]
fn short_writes_do_not_change_dedup_output() {
    let (operations, wanted) = undisturbed(true);
    for at in 0..operations {
        let dir = tempfile::tempdir().unwrap();
        data(dir.path());
        run(dir.path(), true, Arc::new(FaultFs::new(Fault::Short { at }))).unwrap();
        assert_same(&visible(dir.path()), &wanted, &format!("operation {at}"));
    }
}

#[test]
fn damaged_dedup_spools_are_rewritten() {
    let (operations, wanted) = undisturbed(true);
    for at in (0..operations).step_by(3) {
        let dir = tempfile::tempdir().unwrap();
        data(dir.path());
        if run(dir.path(), true, Arc::new(FaultFs::new(Fault::Kill { at }))).is_ok() {
            continue;
        }
        for entry in walkdir::WalkDir::new(dir.path().join("out.gristmill/work")).into_iter().flatten() {
            let Ok(mut bytes) = std::fs::read(entry.path()) else { continue };
            if let Some(last) = bytes.last_mut().filter(|_| !entry.path().ends_with("plan.yaml")) {
                *last ^= 1;
                std::fs::write(entry.path(), bytes).unwrap();
            }
        }
        if dir.path().join("out.gristmill/renames").exists() {
            // Staged files are no longer spools.
            continue;
        }
        run(dir.path(), true, Arc::new(RealFs)).unwrap();
        assert_same(&visible(dir.path()), &wanted, &format!("operation {at}"));
    }
}
