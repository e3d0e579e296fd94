//! Faults at any moment of a prepare-media: the database is the old one or the new one, and the next run succeeds. SQLite itself writes its
//! rows into a private copy; all other operations use the faulty disk.

use crate::cli_support::Sandbox;
use crate::support::{copy_folder, picture, put, text_shard};
use gristmill_core::plan::PLAN_VERSION;
use gristmill_core::{
    ExitClass, MediaFilter, MediaPlan, Outcome, PrepareMediaPlan, PreparePlan, RunOptions, SampleMapping, SplitPlan,
};
use gristmill_ops::job::media::{start_on, MediaReport};
use gristmill_ops::job::prepare::PrepareJob;
use gristmill_storage::fs::fault::{Fault, FaultFs};
use gristmill_storage::fs::{Fs, RealFs};
use rustix::io::Errno;
use std::path::Path;
use std::sync::Arc;

const DATABASE: &str = ".nv-meta/index.sqlite";

/// Writes a folder of pictures that was never prepared.
fn fresh(root: &Path) {
    for number in 0..70 {
        put(&root.join(format!("d/{number:03}.png")), &Sandbox::png(number + 1, 2));
    }
}

/// Writes the same folder, with rows of an earlier run.
fn with_rows(root: &Path) {
    fresh(root);
    run(root, Arc::new(RealFs)).unwrap();
    put(&root.join("new.png"), &Sandbox::png(9, 9));
}

/// Writes a prepared data set without media tables.
fn prepared(root: &Path) {
    text_shard(&root.join("s.tar"), 0, 3);
    let mut plan = PreparePlan::new(root.to_str().unwrap());
    plan.splits = SplitPlan::Ratio("1,0,0".into());
    plan.loading = SampleMapping::Crude { cooker: false };
    PrepareJob::start(plan, RunOptions::default(), None).unwrap().wait().unwrap();
}

fn run(root: &Path, fs: Arc<dyn Fs>) -> Outcome<MediaReport> {
    let plan = PrepareMediaPlan {
        version: PLAN_VERSION,
        path: root.to_str().unwrap().to_owned(),
        media: MediaPlan { filter: MediaFilter::Header, decode: false },
        prune: false,
        compat: false,
    };
    // One worker, so that operation k is the same operation in every run.
    start_on(plan, RunOptions { threads: 1, ..RunOptions::default() }, fs)?.wait()
}

/// Returns every row of the media tables without its time; `None` if there are no tables.
fn rows(root: &Path) -> Option<Vec<String>> {
    let path = root.join(DATABASE);
    if !path.exists() {
        return None;
    }
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    let database = rusqlite::Connection::open_with_flags(path, flags).unwrap();
    let ok: String = database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(ok, "ok");
    let sql =
        "SELECT entry_key || metadata_json FROM media_metadata UNION ALL SELECT strategy FROM media_filters ORDER BY 1";
    let mut statement = database.prepare(sql).ok()?;
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    Some(rows.map(Result::unwrap).collect())
}

fn broken_anywhere(prepare: fn(&Path), fault: impl Fn(u64) -> Fault, may_fail_only_for: Option<ExitClass>) {
    let template = tempfile::tempdir().unwrap();
    prepare(template.path());
    let before = rows(template.path());
    let undisturbed = tempfile::tempdir().unwrap();
    copy_folder(template.path(), undisturbed.path());
    let fs = Arc::new(FaultFs::new(Fault::Nothing));
    run(undisturbed.path(), fs.clone()).unwrap();
    let wanted = rows(undisturbed.path());
    assert!(before != wanted && fs.ops() > 10, "{} operations", fs.ops());
    let files: Vec<_> = picture(template.path()).into_keys().collect();
    for at in 0..fs.ops() {
        let folder = tempfile::tempdir().unwrap();
        copy_folder(template.path(), folder.path());
        let result = run(folder.path(), Arc::new(FaultFs::new(fault(at))));
        let after = rows(folder.path());
        assert!(
            after == before || after == wanted,
            "operation {at}: neither the old rows nor the new ones ({result:?})"
        );
        if let (Err(failure), Some(class)) = (&result, may_fail_only_for) {
            assert_eq!(failure.class, class, "operation {at}: {failure}");
            assert!(!folder.path().join(".nv-meta/gristmill/work/media").exists(), "operation {at}");
        }
        for name in picture(folder.path()).keys() {
            assert!(files.contains(name) || name == Path::new(DATABASE), "operation {at}: stray file {name:?}");
        }
        run(folder.path(), Arc::new(RealFs)).unwrap_or_else(|failure| panic!("operation {at}: {failure}"));
        assert_eq!(rows(folder.path()), wanted, "operation {at}");
    }
}

#[test]
fn prepare_media_killed_at_any_operation_leaves_old_or_new_rows() {
    for prepare in [fresh as fn(&Path), with_rows, prepared] {
        broken_anywhere(prepare, |at| Fault::Kill { at }, None);
    }
}

#[test]
fn power_cut_at_any_operation_of_prepare_media_leaves_old_or_new_rows() {
    broken_anywhere(with_rows, |at| Fault::PowerCut { at }, None);
}

#[test]
fn full_disk_at_any_operation_of_prepare_media_is_an_environment_failure() {
    for prepare in [fresh as fn(&Path), with_rows, prepared] {
        broken_anywhere(prepare, |at| Fault::Full { at, errno: Errno::NOSPC }, Some(ExitClass::Environment));
    }
}

#[test]
fn read_only_folder_of_prepare_media_is_an_environment_failure() {
    broken_anywhere(with_rows, |at| Fault::From { at, errno: Errno::ROFS }, None);
    let folder = tempfile::tempdir().unwrap();
    fresh(folder.path());
    let failure = run(folder.path(), Arc::new(FaultFs::new(Fault::From { at: 0, errno: Errno::ROFS }))).unwrap_err();
    assert!(failure.class == ExitClass::Environment && failure.subject.path.is_some(), "{failure}");
    assert!(!folder.path().join(".nv-meta").exists());
}
