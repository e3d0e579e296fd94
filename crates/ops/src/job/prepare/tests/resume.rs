//! Resuming stopped runs: from another folder, with shards added in the meantime, and next to an active scan.

use super::*;
use gristmill_storage::fs::fault::{Fault, FaultFs};
use rustix::io::Errno;

const BEFORE: &str = "shards/shard_00000.tar";

fn plan_at(root: &Path) -> PreparePlan {
    plan_for(root, ratio("8,1,1"), SampleMapping::Crude { cooker: false })
}

/// Returns the number of shards recorded as done by a run that failed at operation `at`.
fn stopped_at(root: &Path, at: u64) -> usize {
    let fs = Arc::new(FaultFs::new(Fault::From { at, errno: Errno::NOSPC }));
    let options = RunOptions { threads: 1, ..RunOptions::default() };
    let failure = PrepareJob::start_on(plan_at(root), options, None, fs).unwrap().wait().unwrap_err();
    assert_eq!(failure.class, ExitClass::Environment, "{failure}");
    let journal = gristmill_storage::run_folder::RunFolder::for_webdataset(root).journal();
    std::fs::read_to_string(journal).map_or(0, |text| text.lines().filter(|line| line.contains("\"unit\"")).count())
}

/// Creates a data set whose run stopped after three of its four shards.
fn stopped() -> tempfile::TempDir {
    stopped_after(|_| ())
}

/// Like [`stopped`], with a change to the data set before the run.
fn stopped_after(change: impl Fn(&Path)) -> tempfile::TempDir {
    for at in 10..200 {
        let folder = copy_of("captioning_fieldmap");
        change(folder.path());
        if stopped_at(folder.path(), at) == 3 {
            return folder;
        }
    }
    panic!("no run was stopped between two shards");
}

/// Runs to the end. Returns the log lines about shards of the interrupted run.
fn go_on(root: &Path, scan: Option<LiveScan>) -> Vec<String> {
    let job = PrepareJob::start(plan_at(root), RunOptions { threads: 1, ..RunOptions::default() }, scan).unwrap();
    while !job.task.is_finished() {
        std::thread::yield_now();
    }
    let log = job.task.status().log;
    job.wait().unwrap();
    log.iter().filter(|line| line.contains("taken over")).cloned().collect()
}

/// Returns all files that a loader reads, except for the random name of the index.
fn results(root: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let made = |name: &PathBuf| name.to_string_lossy().ends_with(".tar.idx") || name.ends_with(".info.json");
    let mut files: Vec<_> = files_below(root).into_iter().filter(made).collect();
    files.push(".nv-meta/split.yaml".into());
    let mut found: Vec<_> =
        files.into_iter().map(|name| (name.clone(), std::fs::read(root.join(&name)).unwrap())).collect();
    let database = rusqlite::Connection::open(root.join(".nv-meta/index.sqlite")).unwrap();
    let mut rows = database.prepare("SELECT tar_file_id, sample_key, sample_index, byte_offset FROM samples").unwrap();
    let row = |row: &rusqlite::Row<'_>| {
        let place: (i64, i64, i64) = (row.get(0)?, row.get(2)?, row.get(3)?);
        Ok(format!("{} {place:?}", row.get::<_, String>(1)?))
    };
    let mut rows: Vec<String> = rows.query_map([], row).unwrap().map(Result::unwrap).collect();
    rows.sort();
    found.push(("rows".into(), rows.join("\n").into_bytes()));
    found
}

fn made_at_once(prepare: impl Fn(&Path)) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = copy_of("captioning_fieldmap");
    prepare(folder.path());
    run_with(&plan_at(folder.path()), 1).unwrap();
    results(folder.path())
}

#[test]
fn stopped_run_resumes_after_the_data_set_was_moved() {
    let folder = stopped();
    let elsewhere = tempfile::tempdir().unwrap();
    let moved = elsewhere.path().join("moved");
    std::fs::rename(folder.path(), &moved).unwrap();
    let told = go_on(&moved, None);
    assert!(told.len() == 1 && told[0].contains("3 shards"), "{told:?}");
    assert_eq!(results(&moved), made_at_once(|_| ()));
}

/// The ids of all shards change by one, so the spools of the stopped run belong to other ids.
#[test]
fn shard_added_before_all_others_does_not_use_their_spools() {
    let add = |root: &Path| {
        let mut builder = tar::Builder::new(Vec::new());
        for key in 0..40 {
            let mut header = tar::Header::new_gnu();
            header.set_size(3);
            header.set_cksum();
            builder.append_data(&mut header, format!("added_{key}.txt"), &b"new"[..]).unwrap();
        }
        put(&root.join(BEFORE), &builder.into_inner().unwrap());
    };
    let folder = stopped();
    add(folder.path());
    let told = go_on(folder.path(), None);
    assert!(told.len() == 1 && told[0].contains("3 shards"), "{told:?}");
    assert_eq!(results(folder.path()), made_at_once(add));
}

#[test]
fn shards_of_a_finished_scan_are_not_also_resumed_from_the_stopped_run() {
    let folder = stopped();
    let scan = LiveScan::start(folder.path(), &RunOptions::default()).unwrap();
    scan.wait().unwrap();
    assert!(go_on(folder.path(), Some(scan)).is_empty());
    assert_eq!(results(folder.path()), made_at_once(|_| ()));
    // In the opposite order: a scan that starts later does not read shards that the stopped run finished.
    let shared = ScanShared::new(folder.path(), &RunOptions::default(), Arc::new(RealFs)).unwrap();
    shared.set_opened(crate::engine::dataset::open(folder.path()).unwrap());
    assert!(shared.take_over(1) && !shared.take_over(1), "one of the two has it");
}

#[test]
fn problems_of_resumed_shards_are_reported_again() {
    let empty_first_shard = |root: &Path| {
        let is_tar = |name: &&PathBuf| name.extension().is_some_and(|extension| extension == "tar");
        let files = files_below(root);
        put(&root.join(files.iter().filter(is_tar).min().unwrap()), &[0; 1_024]);
    };
    let problems_of = |root: &Path| {
        let report = run_with(&plan_at(root), 1).unwrap();
        let problems = report.problems.iter().filter(|problem| problem.severity >= Severity::Problem);
        let lines: Vec<String> = problems.map(|problem| format!("{} {}", problem.subject, problem.message)).collect();
        (lines, report.counts)
    };
    let at_once = copy_of("captioning_fieldmap");
    empty_first_shard(at_once.path());
    let expected = problems_of(at_once.path());
    assert_eq!(expected.0.len(), 1, "{expected:?}");
    let resumed = stopped_after(empty_first_shard);
    assert_eq!(problems_of(resumed.path()), expected);
}

#[test]
fn failed_run_without_finished_shards_leaves_nothing_to_resume() {
    let mut failed = 0;
    for at in 0..40 {
        let folder = copy_of("captioning_fieldmap");
        let own = gristmill_storage::run_folder::RunFolder::for_webdataset(folder.path());
        let fs = Arc::new(FaultFs::new(Fault::Full { at, errno: Errno::NOSPC }));
        let options = RunOptions { threads: 1, ..RunOptions::default() };
        let failure = PrepareJob::start_on(plan_at(folder.path()), options, None, fs).unwrap().wait().unwrap_err();
        assert_eq!(failure.class, ExitClass::Environment, "{at}: {failure}");
        let journal = std::fs::read_to_string(own.journal()).unwrap_or_default();
        if !journal.contains("\"unit\"") {
            failed += 1;
            assert!(!own.running_plan().exists(), "{at}: {failure}");
        }
    }
    assert!(failed > 5, "{failed}");
}
