//! A run that is stopped at any file operation leaves a state from which the next run finishes.

use super::pattern::NamePattern;
use super::{run_shard, ShardReport};
use crate::job::task::Task;
use gristmill_core::{ExitClass, Outcome, ProblemKind, RunOptions, ShardPlan};
use gristmill_storage::files::exists;
use gristmill_storage::fs::fault::{Fault, FaultFs};
use gristmill_storage::fs::{Fs, RealFs};
use gristmill_storage::location::{is_remote, RemoteUrl};
use gristmill_storage::lock::DatasetLock;
use gristmill_storage::run_folder::RunFolder;
use gristmill_storage::store::UnfinishedUpload;
use gristmill_storage::stores::store_of;
use gristmill_storage::walk::Walk;
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/webdataset").join(name)
}

fn plan(case: &str, output: &Path) -> ShardPlan {
    let mut plan = ShardPlan { inputs: vec![golden(case).join("given/input")], ..ShardPlan::default() };
    plan.output = Some(output.to_owned());
    plan.division.max_count = 7;
    plan.shuffle = true;
    plan.checksums = true;
    plan
}

fn run(plan: ShardPlan, fs: Arc<dyn Fs>) -> Outcome<ShardReport> {
    // After a fault, this process still holds the lock in the store.
    let options = RunOptions { threads: 2, break_lock: true, ..RunOptions::default() };
    Task::start("shard", options, fs, move |context| run_shard(context, &plan))?.wait()
}

/// Returns the files that readers see.
fn visible(output: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in Walk::new(output).into_iter().map(Result::unwrap).filter(|entry| entry.kind().is_file()) {
        let name = entry.path().strip_prefix(output).unwrap().to_str().unwrap().to_owned();
        if !name.starts_with(".nv-meta/gristmill/") && !name.ends_with("index.uuid") {
            found.insert(name, gristmill_storage::files::read(entry.path()).unwrap());
        }
    }
    found
}

/// Returns the uploads to a folder in a store that are neither completed nor aborted.
fn uploads(output: &Path) -> Vec<UnfinishedUpload> {
    let Some(url) = RemoteUrl::parse(output) else { return Vec::new() };
    store_of(&url).unwrap().uploads(&url).unwrap().unwrap()
}

#[test]
fn run_killed_at_any_operation_is_completed_by_the_same_command() {
    let dir = tempfile::tempdir().unwrap();
    kill_at_operations(dir.path());
}

#[test]
fn run_to_a_store_killed_at_any_operation_leaves_no_upload() {
    kill_at_operations(Path::new("mem://shard-kills"));
}

/// Stops runs at each file operation, with an output in a folder or in a store.
fn kill_at_operations(root: &Path) {
    let counting = Arc::new(FaultFs::new(Fault::Nothing));
    let fs: Arc<dyn Fs> = Arc::clone(&counting) as Arc<dyn Fs>;
    let checksums = |report: &ShardReport| report.files.iter().map(|file| file.sha256.clone()).collect::<Vec<_>>();
    let sums = checksums(&run(plan("reshard_count", &root.join("wanted")), fs).unwrap());
    let wanted = visible(&root.join("wanted"));
    let operations = counting.ops();
    assert!(operations > 100, "{operations}");
    let kills = (0..operations).step_by(13).map(|at| (at, Fault::Kill { at }));
    let cuts = (3..operations).step_by(29).map(|at| (at, Fault::PowerCut { at }));
    let (mut sent, mut resumed) = (0, 0);
    for (at, fault) in kills.chain(cuts) {
        let output = root.join(format!("out-{at}"));
        let plan = plan("reshard_count", &output);
        let killed = run(plan.clone(), Arc::new(FaultFs::new(fault)));
        sent = sent.max(uploads(&output).len());
        let has_index = exists(output.join(".nv-meta/.info.json"));
        assert!(killed.is_ok() || !has_index || visible(&output) == wanted, "{fault:?}: something is half-made");
        let report = run(plan.clone(), Arc::new(RealFs)).unwrap_or_else(|failure| panic!("{fault:?}: {failure}"));
        assert_eq!(checksums(&report), sums, "{fault:?}");
        resumed = resumed.max(report.resumed_shards);
        assert!(visible(&output) == wanted, "{fault:?}");
        assert_eq!(uploads(&output), [], "{fault:?}");
        assert!(run(plan, Arc::new(RealFs)).unwrap().nothing_to_do, "{fault:?}");
        if !is_remote(root) {
            RealFs.remove_dir_all(&output).unwrap();
            RealFs.remove_dir_all(&root.join(format!("out-{at}.gristmill"))).unwrap();
        }
    }
    assert!(resumed > 1, "finished shards are taken over");
    assert_eq!(sent > 1, is_remote(root), "shards are sent while they are written");
}

#[test]
fn full_disk_at_any_operation_leaves_no_partial_output() {
    let dir = tempfile::tempdir().unwrap();
    let counting = Arc::new(FaultFs::new(Fault::Nothing));
    let fs: Arc<dyn Fs> = Arc::clone(&counting) as Arc<dyn Fs>;
    run(plan("reshard_count", &dir.path().join("wanted")), fs).unwrap();
    let wanted = visible(&dir.path().join("wanted"));
    let mut refused = 0;
    for at in (0..counting.ops()).step_by(11) {
        let output = dir.path().join(format!("out-{at}"));
        let plan = plan("reshard_count", &output);
        match run(plan.clone(), Arc::new(FaultFs::new(Fault::Full { at, errno: Errno::NOSPC }))) {
            Ok(_) => assert!(visible(&output) == wanted, "{at}"),
            Err(failure) => {
                refused += 1;
                assert_eq!(failure.class, ExitClass::Environment, "{at}: {failure}");
                assert!(!exists(output.join(".nv-meta/.info.json")), "{at}: {failure}");
            }
        }
        run(plan, Arc::new(RealFs)).unwrap_or_else(|failure| panic!("{at}: {failure}"));
        assert!(visible(&output) == wanted, "{at}");
        RealFs.remove_dir_all(&output).unwrap();
        RealFs.remove_dir_all(&dir.path().join(format!("out-{at}.gristmill"))).unwrap();
    }
    assert!(refused > 20, "{refused}");
}

#[test]
fn append_killed_at_any_operation_leaves_the_old_or_the_new_set() {
    let dir = tempfile::tempdir().unwrap();
    RealFs.create_dir(&dir.path().join("more"), 0o755).unwrap();
    write_input(&dir.path().join("more"), true, 'a');
    let added = |output: &Path| ShardPlan {
        inputs: vec![dir.path().join("more")],
        append: true,
        new_to: Some("train".to_owned()),
        ..plan("reshard_count", output)
    };
    // The files by which loaders find the shards.
    let listed = |output: &Path| {
        let file = |name: &str| gristmill_storage::files::read(output.join(".nv-meta").join(name)).ok();
        [file(".info.json"), file("split.yaml")]
    };
    let first = dir.path().join("wanted");
    run(plan("reshard_count", &first), Arc::new(RealFs)).unwrap();
    let old = listed(&first);
    let counting = Arc::new(FaultFs::new(Fault::Nothing));
    run(added(&first), Arc::clone(&counting) as Arc<dyn Fs>).unwrap();
    // Names of copies of replaced files contain the time.
    let shards = |output: &Path| {
        let files = visible(output).into_iter();
        files.filter(|(name, _)| name.ends_with(".tar") || name.ends_with(".idx")).collect::<Vec<_>>()
    };
    let (wanted, new) = (shards(&first), listed(&first));
    let kills = (0..counting.ops()).step_by(7).map(|at| (at, Fault::Kill { at }));
    let full = (3..counting.ops()).step_by(17).map(|at| (at, Fault::Full { at, errno: Errno::NOSPC }));
    let (mut before, mut after) = (0, 0);
    for (at, fault) in kills.chain(full) {
        let output = dir.path().join(format!("out-{at}"));
        run(plan("reshard_count", &output), Arc::new(RealFs)).unwrap();
        let stopped = run(added(&output), Arc::new(FaultFs::new(fault)));
        match listed(&output) {
            now if now == old => before += 1,
            now if now == new => after += 1,
            // No loader starts between two renames of a publication.
            [info, _] => assert!(info.is_none() && stopped.is_err(), "{fault:?}: something is half-made"),
        }
        run(added(&output), Arc::new(RealFs)).unwrap_or_else(|failure| panic!("{fault:?}: {failure}"));
        assert!(shards(&output) == wanted && listed(&output) == new, "{fault:?}");
        RealFs.remove_dir_all(&output).unwrap();
        RealFs.remove_dir_all(&dir.path().join(format!("out-{at}.gristmill"))).unwrap();
    }
    assert!(before > 10 && after > 0, "{before}, {after}");
}

/// A run on another machine was stopped when one of its shards was visible.
#[test]
fn append_to_a_set_with_a_shard_that_no_index_has_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    RealFs.create_dir(&dir.path().join("more"), 0o755).unwrap();
    write_input(&dir.path().join("more"), true, 'a');
    let output = Path::new("mem://shard-elsewhere/out");
    run(plan("reshard_count", output), Arc::new(RealFs)).unwrap();
    let added = ShardPlan {
        inputs: vec![dir.path().join("more")],
        append: true,
        new_to: Some("train".to_owned()),
        ..plan("reshard_count", output)
    };
    let stray = output.join(NamePattern::parse(&added.division.pattern).unwrap().name(90));
    let shard = std::fs::read(dir.path().join("more/0.tar")).unwrap();
    gristmill_storage::publish::write_file(&RealFs, &stray, &shard, 0o644).unwrap();
    let before = visible(output);
    let failure = run(added.clone(), Arc::new(RealFs)).unwrap_err();
    assert_eq!(failure.class, ExitClass::Usage, "{failure}");
    let name = stray.file_name().unwrap().to_str().unwrap();
    assert!(
        failure.why.contains("1 shard is in the set and not in its index") && failure.why.contains(name),
        "{failure}"
    );
    assert!(failure.hint.unwrap().contains("--update"));
    assert!(visible(output) == before);
    RealFs.remove_file(&stray).unwrap();
    run(added, Arc::new(RealFs)).unwrap();
}

#[test]
fn restart_removes_the_uploads_of_the_stopped_run() {
    let output = Path::new("mem://shard-restart/out");
    let mut at = 0;
    while uploads(output).len() < 2 {
        at += 10;
        let failed = run(plan("reshard_count", output), Arc::new(FaultFs::new(Fault::Kill { at })));
        assert!(failed.is_err(), "it sends nothing before it ends");
    }
    let mut plan = plan("reshard_count", output);
    plan.division.max_count = 1000;
    let options = RunOptions { restart: true, break_lock: true, ..RunOptions::default() };
    let task = Task::start("shard", options, Arc::new(RealFs), move |context| run_shard(context, &plan)).unwrap();
    assert_eq!(task.wait().unwrap().shards, 1);
    assert_eq!(uploads(output), []);
}

#[test]
fn lock_left_by_a_kill_after_publication_is_removed_by_the_next_run() {
    let output = Path::new("mem://shard-lock/out");
    run(plan("reshard_count", output), Arc::new(RealFs)).unwrap();
    let own = RunFolder::for_output(output);
    let lock = DatasetLock::acquire(&RealFs, &own, false).unwrap();
    let text = std::fs::read_to_string(own.lock()).unwrap();
    drop(lock);
    own.remove_work(&RealFs).unwrap();
    let mut holder: serde_json::Value = serde_json::from_str(&text).unwrap();
    holder["started"] = 1.into();
    let places = [own.lock(), own.shown().join("lock")];
    for place in &places {
        gristmill_storage::publish::write_file(&RealFs, place, holder.to_string().as_bytes(), 0o644).unwrap();
    }
    let plan = plan("reshard_count", output);
    let task = Task::start("shard", RunOptions::default(), Arc::new(RealFs), move |context| run_shard(context, &plan));
    assert!(task.unwrap().wait().unwrap().nothing_to_do);
    assert_eq!(places.map(exists), [false; 2]);
}

/// Writes samples as loose files or as one shard. All content consists of this letter.
fn write_input(input: &Path, is_shard: bool, letter: char) {
    let content = letter.to_string().repeat(600);
    let mut tar = tar::Builder::new(Vec::new());
    for number in 0..30 {
        let name = format!("{number:04}.txt");
        match is_shard {
            true => {
                let mut header = tar::Header::new_ustar();
                header.set_size(content.len() as u64);
                tar.append_data(&mut header, name, content.as_bytes()).unwrap();
            }
            false => {
                gristmill_storage::publish::write_file(&RealFs, &input.join(name), content.as_bytes(), 0o644).unwrap()
            }
        }
    }
    if is_shard {
        let archive = tar.into_inner().unwrap();
        gristmill_storage::publish::write_file(&RealFs, &input.join("0.tar"), &archive, 0o644).unwrap();
    }
}

#[test]
fn inputs_that_change_during_the_run_publish_no_output() {
    for is_shard in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let input = dir.path().join("in");
        RealFs.create_dir(&input, 0o755).unwrap();
        write_input(&input, is_shard, 'a');
        let plan_to = |output: PathBuf| ShardPlan {
            inputs: vec![input.clone()],
            ..ShardPlan { output: Some(output), ..plan("reshard_count", dir.path()) }
        };
        let counting = Arc::new(FaultFs::new(Fault::Nothing));
        run(plan_to(dir.path().join("old")), Arc::clone(&counting) as Arc<dyn Fs>).unwrap();
        let old = visible(&dir.path().join("old"));
        let (mut refused, mut new) = (0, None);
        for at in (5..counting.ops()).step_by(9) {
            write_input(&input, is_shard, 'a');
            let (done, changed) = (AtomicU64::new(0), input.clone());
            let fs = FaultFs::watched(move |_| {
                if done.fetch_add(1, Ordering::Relaxed) == at {
                    write_input(&changed, is_shard, 'b');
                }
            });
            let output = dir.path().join(format!("out-{at}"));
            if let Err(failure) = run(plan_to(output.clone()), Arc::new(fs)) {
                refused += 1;
                assert_eq!(failure.kind, Some(ProblemKind::ChangedDuringScan), "{at}: {failure}");
                assert!(!output.exists(), "{at}");
                run(plan_to(output.clone()), Arc::new(RealFs)).unwrap();
                let made = visible(&output);
                assert!(made != old && *new.get_or_insert_with(|| made.clone()) == made, "{at}");
            }
        }
        assert!(refused > 3, "{refused}");
    }
}
