//! Faults at any moment of a prepare: incomplete files are never treated as complete, and the next run succeeds.

use crate::support::{assert_same, copy_folder, picture, settled_picture, text_shard};
use gristmill_core::{
    Duplicates, ExitClass, Outcome, PreparePlan, ProblemKind, ProblemLog, Rerun, RunOptions, SampleMapping, SplitPlan,
};
use gristmill_ops::job::prepare::{PrepareJob, PrepareReport};
use gristmill_ops::job::recover::recover_interrupted;
use gristmill_storage::fs::fault::{Fault, FaultFs};
use gristmill_storage::fs::{Fs, RealFs};
use rustix::io::Errno;
use std::path::Path;
use std::sync::Arc;

const INFO: &str = ".nv-meta/.info.json";

fn data_set(root: &Path) {
    for shard in 0..3 {
        text_shard(&root.join(format!("shard_{shard}.tar")), shard * 10, 6);
    }
}

fn plan(root: &Path, rerun: Rerun) -> PreparePlan {
    let mut plan = PreparePlan::new(root.to_str().unwrap());
    plan.splits = SplitPlan::Ratio("1,1,1".into());
    plan.loading = SampleMapping::Crude { cooker: true };
    plan.excludes = vec!["shard_1.tar/s000012".into()];
    plan.rerun = rerun;
    // Keys are only repeated in `doubled`.
    plan.duplicates = Duplicates::Prefix;
    plan
}

/// Writes shards that share keys, so that a prepare replaces them.
fn doubled(root: &Path) {
    for shard in 0..3 {
        text_shard(&root.join(format!("shard_{shard}.tar")), shard * 2, 4);
    }
}

fn doubled_after_a_preparation(root: &Path) {
    prepared_once(root);
    text_shard(&root.join("shard_2.tar"), 0, 4);
}

fn run(plan: PreparePlan, fs: Arc<dyn Fs>) -> Outcome<PrepareReport> {
    // One worker, so that operation k is the same operation in every run.
    let options = RunOptions { threads: 1, ..RunOptions::default() };
    PrepareJob::start_on(plan, options, None, fs)?.wait()
}

/// Returns the number of operations of an undisturbed run, and its files.
fn undisturbed(prepare: impl Fn(&Path)) -> (u64, std::collections::BTreeMap<std::path::PathBuf, Vec<u8>>) {
    let folder = tempfile::tempdir().unwrap();
    prepare(folder.path());
    let fs = Arc::new(FaultFs::new(Fault::Nothing));
    let rerun = if folder.path().join(INFO).exists() { Rerun::Overwrite } else { Rerun::Refuse };
    run(plan(folder.path(), rerun), fs.clone()).unwrap();
    (fs.ops(), settled_picture(folder.path()))
}

fn prepared_once(root: &Path) {
    data_set(root);
    run(plan(root, Rerun::Refuse), Arc::new(RealFs)).unwrap();
    // A new shard, so that the second run has a change.
    text_shard(&root.join("shard_3.tar"), 100, 4);
}

/// Checks that after a kill at any operation the data set is the old one, the new one, or recognisably unprepared, and that the next run
/// has the result of an undisturbed run.
fn killed_anywhere(prepare: fn(&Path), fault: fn(u64) -> Fault) {
    let (operations, wanted) = undisturbed(prepare);
    assert!(operations > 10, "only {operations} operations are counted");
    let template = tempfile::tempdir().unwrap();
    prepare(template.path());
    let before = settled_picture(template.path());
    for at in 0..operations {
        let folder = tempfile::tempdir().unwrap();
        copy_folder(template.path(), folder.path());
        let rerun = if folder.path().join(INFO).exists() { Rerun::Overwrite } else { Rerun::Refuse };
        let result = run(plan(folder.path(), rerun.clone()), Arc::new(FaultFs::new(fault(at))));
        let after = settled_picture(folder.path());
        let is_old = after == before;
        let is_new = after == wanted;
        let is_unprepared = !folder.path().join(INFO).exists();
        assert!(is_old || is_new || is_unprepared, "operation {at}: neither old, new nor unprepared ({result:?})");
        for name in after.keys() {
            assert!(before.contains_key(name) || wanted.contains_key(name), "operation {at}: stray file {name:?}");
        }
        let again = if folder.path().join(INFO).exists() { Rerun::Overwrite } else { Rerun::Refuse };
        let result = run(plan(folder.path(), again), Arc::new(RealFs));
        match result {
            Ok(_) => {}
            // The overwrite was rolled forward to its end: the same plan without overwrite then reports "already prepared".
            Err(failure) => {
                run(plan(folder.path(), Rerun::Overwrite), Arc::new(RealFs))
                    .unwrap_or_else(|second| panic!("operation {at}: {failure}; then {second}"));
            }
        }
        assert_same(&settled_picture(folder.path()), &wanted, &format!("operation {at}"));
    }
}

#[test]
fn first_prepare_killed_at_any_operation_is_completed_by_the_next() {
    killed_anywhere(data_set, |at| Fault::Kill { at });
}

#[test]
fn overwrite_killed_at_any_operation_is_completed_by_the_next() {
    killed_anywhere(prepared_once, |at| Fault::Kill { at });
}

#[test]
fn renamed_shards_are_published_completely_or_not_at_all() {
    for prepare in [doubled as fn(&Path), doubled_after_a_preparation] {
        killed_anywhere(prepare, |at| Fault::Kill { at });
        full_anywhere(prepare, Errno::NOSPC);
    }
}

#[test]
fn first_prepare_after_a_power_cut_at_any_operation_is_completed_by_the_next() {
    killed_anywhere(data_set, |at| Fault::PowerCut { at });
}

/// Checks that a disk that is full at any operation ends the run with exit code 3, and that the earlier state is unchanged.
fn full_anywhere(prepare: fn(&Path), errno: Errno) {
    let (operations, wanted) = undisturbed(prepare);
    for at in 0..operations {
        let folder = tempfile::tempdir().unwrap();
        prepare(folder.path());
        let before = picture(folder.path());
        let rerun = if folder.path().join(INFO).exists() { Rerun::Overwrite } else { Rerun::Refuse };
        match run(plan(folder.path(), rerun), Arc::new(FaultFs::new(Fault::Full { at, errno }))) {
            Ok(_) => assert_same(&settled_picture(folder.path()), &wanted, &format!("operation {at}")),
            Err(failure) => {
                assert_eq!(failure.class, ExitClass::Environment, "operation {at}: {failure}");
                assert_same(&picture(folder.path()), &before, &format!("operation {at}: {failure}"));
            }
        }
    }
}

#[test]
fn prepare_on_a_full_disk_changes_nothing() {
    full_anywhere(data_set, Errno::NOSPC);
    full_anywhere(prepared_once, Errno::DQUOT);
}

#[test]
fn short_writes_do_not_change_prepared_data_set() {
    let (operations, wanted) = undisturbed(data_set);
    for at in 0..operations {
        let folder = tempfile::tempdir().unwrap();
        data_set(folder.path());
        run(plan(folder.path(), Rerun::Refuse), Arc::new(FaultFs::new(Fault::Short { at }))).unwrap();
        assert_same(&settled_picture(folder.path()), &wanted, &format!("operation {at}"));
    }
}

#[test]
fn overwrite_killed_between_renames_is_finished_by_recovery() {
    let (operations, wanted) = undisturbed(prepared_once);
    let mut finished = 0;
    for at in (0..operations).rev() {
        let folder = tempfile::tempdir().unwrap();
        prepared_once(folder.path());
        let killed = run(plan(folder.path(), Rerun::Overwrite), Arc::new(FaultFs::new(Fault::Kill { at })));
        if killed.is_ok() || folder.path().join(INFO).exists() {
            continue;
        }
        let found = ProblemLog::default();
        recover_interrupted(folder.path(), &found).unwrap();
        assert_same(&settled_picture(folder.path()), &wanted, &format!("operation {at}"));
        assert_eq!(found.to_vec()[0].kind, ProblemKind::InterruptedPublish);
        finished += 1;
        if finished == 5 {
            return;
        }
    }
    assert!(finished > 0, "no kill left the data set between two renames");
}

#[test]
fn prepare_after_a_read_only_file_system_at_any_operation_is_completed_by_the_next() {
    killed_anywhere(data_set, |at| Fault::From { at, errno: Errno::ROFS });
    killed_anywhere(prepared_once, |at| Fault::From { at, errno: Errno::ROFS });
}

#[test]
fn read_only_folder_is_an_environment_failure_without_changes() {
    for prepare in [data_set as fn(&Path), prepared_once] {
        let folder = tempfile::tempdir().unwrap();
        prepare(folder.path());
        let before = picture(folder.path());
        let rerun = if folder.path().join(INFO).exists() { Rerun::Overwrite } else { Rerun::Refuse };
        let read_only = Arc::new(FaultFs::new(Fault::From { at: 0, errno: Errno::ROFS }));
        let failure = run(plan(folder.path(), rerun), read_only).unwrap_err();
        assert_eq!(failure.class, ExitClass::Environment, "{failure}");
        assert!(failure.to_string().contains("read-only"), "{failure}");
        assert!(failure.subject.path.is_some() && failure.hint.is_some(), "{failure:?}");
        assert_same(&picture(folder.path()), &before, "a read-only folder");
    }
}

#[test]
fn new_shards_are_removed_if_the_run_fails_at_any_operation() {
    let (operations, _) = undisturbed(doubled);
    let mut failed_at = Vec::new();
    for at in 0..operations {
        let folder = tempfile::tempdir().unwrap();
        doubled(folder.path());
        let fault = Fault::Full { at, errno: Errno::NOSPC };
        let Err(failure) = run(plan(folder.path(), Rerun::Refuse), Arc::new(FaultFs::new(fault))) else { continue };
        let left = folder.path().join(".nv-meta/gristmill/work/renamed");
        assert!(!left.exists(), "operation {at}: {failure}");
        failed_at.push(failure.to_string());
    }
    for step in ["work/renamed", "index.sqlite", "work/publish"] {
        assert!(failed_at.iter().any(|failure| failure.contains(step)), "nothing failed at {step}: {failed_at:?}");
    }
}
