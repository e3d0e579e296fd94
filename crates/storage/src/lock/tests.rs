use super::*;
use crate::publish::write_file;
use gristmill_core::ExitClass;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Barrier;

fn place() -> (tempfile::TempDir, RunFolder) {
    let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let own = RunFolder::for_webdataset(dir.path());
    own.create(&RealFs).unwrap();
    (dir, own)
}

fn acquire(own: &RunFolder) -> Outcome<DatasetLock> {
    DatasetLock::acquire(&RealFs, own, false)
}

/// Writes a lock as if another process had left it.
fn leave(own: &RunFolder, process: ProcessIdentity, system_lock: bool) {
    let holder = Holder { process, token: "left".into(), system_lock };
    write_file(&RealFs, &own.lock(), &serde_json::to_vec(&holder).unwrap(), 0o644).unwrap();
}

fn dead() -> ProcessIdentity {
    let me = ProcessIdentity::current();
    ProcessIdentity { started: me.started + 1, ..me }
}

/// Names in the own folder other than `lock` and `work`.
fn litter(own: &RunFolder) -> Vec<String> {
    let names = std::fs::read_dir(own.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    names.filter(|name| !["lock", "work"].contains(&name.as_str())).collect()
}

#[test]
fn a_lock_is_held_until_it_is_dropped_and_its_holder_is_named() {
    let (_dir, own) = place();
    let lock = acquire(&own).unwrap();
    assert!(lock.is_still_ours());
    let failure = acquire(&own).unwrap_err();
    assert_eq!(failure.class, ExitClass::Environment);
    assert!(failure.why.contains(&format!("process {}", std::process::id())), "{failure}");
    assert!(failure.why.contains(&ProcessIdentity::current().host), "{failure}");
    assert!(failure.hint.unwrap().contains("--break-lock"));
    assert_eq!(DatasetLock::holder(&own).unwrap().unwrap().process, ProcessIdentity::current());
    drop(lock);
    assert!(!own.lock().exists());
    assert_eq!(DatasetLock::holder(&own).unwrap(), None);
    drop(acquire(&own).unwrap());
    assert_eq!(litter(&own), Vec::<String>::new());
}

#[test]
fn work_folder_is_created_only_by_the_lock_holder() {
    let (_dir, own) = place();
    let lock = acquire(&own).unwrap();
    // A run does this at its end, just before it releases the lock.
    own.remove_work(&RealFs).unwrap();
    acquire(&own).unwrap_err();
    assert!(!own.work_folder().exists());
    drop(lock);
    let lock = acquire(&own).unwrap();
    assert!(own.work_folder().exists() && lock.is_still_ours());
}

#[test]
fn the_lock_of_a_dead_process_of_this_host_is_taken_over_silently() {
    for use_system in [true, false] {
        let (_dir, own) = place();
        leave(&own, dead(), use_system);
        assert_eq!(DatasetLock::holder(&own).unwrap(), None);
        let lock = DatasetLock::acquire_with(&RealFs, &own, false, use_system).unwrap();
        assert!(lock.is_still_ours());
        assert_eq!(litter(&own), Vec::<String>::new());
    }
}

#[test]
fn lock_is_left_over_if_its_holder_is_dead() {
    let (_dir, own) = place();
    assert!(!DatasetLock::is_left(&own));
    leave(&own, dead(), true);
    assert!(DatasetLock::is_left(&own));
    let lock = acquire(&own).unwrap();
    assert!(!DatasetLock::is_left(&own));
    drop(lock);
}

#[test]
fn the_lock_in_a_store_is_found_with_its_holder() {
    let own = RunFolder::for_output(Path::new("mem://stored-lock/out"));
    assert_eq!(DatasetLock::stored(&own).unwrap(), None);
    let lock = acquire(&own).unwrap();
    let stored = DatasetLock::stored(&own).unwrap().unwrap();
    assert_eq!(stored.path, Path::new("mem://stored-lock/out.gristmill/lock"));
    assert!(stored.holder.starts_with(&format!("process {} on", std::process::id())), "{stored:?}");
    assert!(stored.hint.contains("--break-lock"));
    let refused = acquire(&own).unwrap_err();
    assert!(refused.to_string().contains("mem://stored-lock/out"), "{refused}");
    drop(lock);
    assert_eq!(DatasetLock::stored(&own).unwrap(), None);
    let left = Holder { process: dead(), token: "left".into(), system_lock: true };
    write_file(&RealFs, &stored.path, &serde_json::to_vec(&left).unwrap(), 0o644).unwrap();
    assert!(DatasetLock::stored(&own).unwrap().unwrap().hint.contains("takes it over"));
    drop(acquire(&own).unwrap());
    assert_eq!(DatasetLock::stored(&own).unwrap(), None);
    write_file(&RealFs, &stored.path, RELEASED, 0o644).unwrap();
    assert_eq!(DatasetLock::stored(&own).unwrap(), None, "it is released");
    write_file(&RealFs, &stored.path, b"{", 0o644).unwrap();
    assert_eq!(DatasetLock::stored(&own).unwrap().unwrap().holder, "another process");
}

#[test]
fn process_killed_during_a_lock_takeover_does_not_block_the_lock() {
    let (_dir, own) = place();
    leave(&own, dead(), false);
    std::fs::copy(own.lock(), own.path().join("lock.takeover")).unwrap();
    assert!(acquire(&own).unwrap().is_still_ours());
    assert_eq!(litter(&own), Vec::<String>::new());
}

#[test]
fn the_lock_of_another_host_is_never_judged_stale() {
    let (_dir, own) = place();
    leave(&own, ProcessIdentity { host: "far-away".into(), pid: 42, boot: "x".into(), ..dead() }, true);
    let failure = acquire(&own).unwrap_err();
    assert!(failure.why.contains("process 42 on host far-away"), "{failure}");
    assert!(own.lock().exists());
}

#[test]
fn holder_in_another_container_is_dead_only_if_its_system_lock_is_released() {
    let hidden = || ProcessIdentity { pid_space: "pid:[1]".into(), ..dead() };
    let (_dir, own) = place();
    leave(&own, hidden(), false);
    acquire(&own).unwrap_err();
    leave(&own, hidden(), true);
    acquire(&own).unwrap();
}

#[test]
fn break_lock_removes_any_lock_file() {
    let (_dir, own) = place();
    leave(&own, ProcessIdentity { host: "far-away".into(), ..dead() }, true);
    drop(DatasetLock::acquire(&RealFs, &own, true).unwrap());
    write_file(&RealFs, &own.lock(), b"not ours", 0o644).unwrap();
    drop(DatasetLock::acquire(&RealFs, &own, true).unwrap());
    let first = acquire(&own).unwrap();
    let second = DatasetLock::acquire(&RealFs, &own, true).unwrap();
    assert!(!first.is_still_ours() && second.is_still_ours());
    assert!(first.check("packing").unwrap_err().why.contains("has removed the lock"));
    second.check("packing").unwrap();
    drop(first);
    assert!(second.is_still_ours(), "who lost the lock does not take it away from its new holder");
}

#[test]
fn invalid_lock_file_counts_as_held_by_another_process() {
    let (_dir, own) = place();
    write_file(&RealFs, &own.lock(), b"{", 0o644).unwrap();
    assert!(acquire(&own).unwrap_err().why.contains("another process"));
}

#[test]
fn exactly_one_of_twenty_concurrent_processes_acquires_the_lock() {
    for use_system in [true, false] {
        for left_by_dead in [true, false] {
            for _ in 0..5 {
                let (_dir, own) = place();
                if left_by_dead {
                    leave(&own, dead(), use_system);
                }
                let barrier = Barrier::new(20);
                let won = AtomicU32::new(0);
                std::thread::scope(|scope| {
                    for _ in 0..20 {
                        scope.spawn(|| {
                            barrier.wait();
                            let lock = DatasetLock::acquire_with(&RealFs, &own, false, use_system);
                            won.fetch_add(u32::from(lock.is_ok()), Ordering::SeqCst);
                            // All attempts end before any lock is released.
                            barrier.wait();
                            drop(lock);
                        });
                    }
                });
                assert_eq!(won.load(Ordering::SeqCst), 1, "system lock {use_system}, left by dead {left_by_dead}");
                assert_eq!(litter(&own), Vec::<String>::new());
            }
        }
    }
}

#[test]
fn lock_of_a_killed_process_is_taken_by_the_next_process() {
    let (_dir, own) = place();
    let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let me = ProcessIdentity::current();
    let started = crate::identity::started(child.id()).unwrap();
    leave(&own, ProcessIdentity { pid: child.id(), started, ..me }, false);
    assert!(acquire(&own).unwrap_err().why.contains(&child.id().to_string()));
    child.kill().unwrap();
    child.wait().unwrap();
    acquire(&own).unwrap();
}

#[test]
fn failed_lock_creation_is_an_environment_failure_and_leaves_no_lock() {
    use crate::fs::fault::{Fault, FaultFs};
    use rustix::io::Errno;
    let (_dir, own) = place();
    let fs = FaultFs::new(Fault::Nothing);
    drop(DatasetLock::acquire(&fs, &own, false).unwrap());
    for at in 0..fs.ops() {
        let result = DatasetLock::acquire(&FaultFs::new(Fault::Once { at, errno: Errno::NOSPC }), &own, false);
        if let Err(failure) = result {
            assert_eq!(failure.class, ExitClass::Environment);
            assert!(!own.lock().exists());
        }
    }
}

#[test]
fn held_lock_in_a_store_is_renewed() {
    let own = RunFolder::for_output(Path::new("mem://renewed-lock/out"));
    let (lock, path) = (acquire(&own).unwrap(), own.shown().join(LOCK_OBJECT));
    let stamp = || read_object(&path).unwrap().map(|found| found.stamp);
    let (first, token) = (stamp(), lock.holder.token.clone());
    assert!(ObjectLock::renew(&path, &token));
    assert!(stamp().is_some() && stamp() != first && lock.is_still_ours());
    assert!(!ObjectLock::renew(&path, "another"), "it is of another process");
    RealFs.remove_file(&path).unwrap();
    assert!(!ObjectLock::renew(&path, &token) && stamp().is_none(), "one that is gone is not made again");
    write_file(&RealFs, &path, RELEASED, 0o644).unwrap();
    assert!(!ObjectLock::renew(&path, &token));
}

#[test]
fn lock_renewal_ends_when_dropped_or_rejected() {
    let (sender, calls) = mpsc::channel();
    let renewal = Renewal::start(Duration::ZERO, move || sender.send(()).is_ok()).unwrap();
    calls.recv().unwrap();
    calls.recv().unwrap();
    drop(renewal);
    // Returns once the thread has ended; all its messages have arrived.
    assert!(calls.iter().all(|()| true));
    let (sender, calls) = mpsc::channel();
    let renewal = Renewal::start(Duration::ZERO, move || sender.send(()).is_err()).unwrap();
    calls.recv().unwrap();
    calls.recv().unwrap_err();
    drop(renewal);
}

#[test]
fn lock_failure_uses_the_lock_age_to_judge_its_holder() {
    let failed = |age: u64| lock_failure(Path::new("s3://b/lock"), None, Some(Duration::from_secs(age)));
    assert!(failed(70).why.contains("wrote it") && failed(70).hint.unwrap().contains("wait for it"));
    assert!(failed(3600).hint.unwrap().contains("most likely ended"));
}

#[test]
fn last_of_two_concurrent_lock_writers_holds_the_lock_without_conditional_writes() {
    let lock_in = |bucket: &str, replacement: &Holder| {
        crate::memory_store::ignore_conditions(bucket, &serde_json::to_vec(replacement).unwrap());
        let path = PathBuf::from(format!("mem://{bucket}/set/lock"));
        let mine = Holder { process: ProcessIdentity::current(), token: "mine".into(), system_lock: true };
        ObjectLock::acquire(&RemoteUrl::parse(&path).unwrap(), &mine, (false, &|| ()))
    };
    let process = ProcessIdentity { host: "other".into(), ..ProcessIdentity::current() };
    let other = Holder { process: process.clone(), token: "other".into(), system_lock: true };
    let failure = lock_in("unconditional-lost", &other).unwrap_err();
    assert!(is_lock_failure(&failure) && failure.why.contains("on host other"), "{failure}");
    let same = Holder { process, token: "mine".into(), system_lock: true };
    lock_in("unconditional-won", &same).unwrap();
    let notes = notices::kept().into_iter().filter(|note| note.message.contains("ignores conditions"));
    assert!(notes.count() >= 2, "both stores are named");
}

#[test]
fn checked_lock_is_released_unless_another_process_holds_it() {
    let state = tempfile::tempdir().unwrap();
    for is_broken in [false, true] {
        let root = format!("mem://looked-at/{is_broken}");
        let own = RunFolder::in_state_folder(Path::new(&root), state.path());
        let (lock, path) = (acquire(&own).unwrap(), own.shown().join(LOCK_OBJECT));
        if is_broken {
            write_file(&RealFs, &path, b"of another process", 0o644).unwrap();
        }
        check_before_release(&own);
        drop(lock);
        assert_eq!(is_taken(&path), is_broken);
    }
}

#[test]
fn lock_taken_by_force_after_the_check_is_kept() {
    let state = tempfile::tempdir().unwrap();
    let own = RunFolder::in_state_folder(Path::new("mem://looked-at/forced"), state.path());
    let (lock, path) = (acquire(&own).unwrap(), own.shown().join(LOCK_OBJECT));
    check_before_release(&own);
    write_file(&RealFs, &path, b"of another process", 0o644).unwrap();
    drop(lock);
    assert_eq!(crate::files::read(&path).unwrap(), b"of another process");
}

#[test]
fn lock_that_cannot_be_made_names_its_folder() {
    let (_dir, own) = place();
    let folder = own.lock().parent().unwrap().to_owned();
    let mine = Holder { process: dead(), token: "t".to_owned(), system_lock: false };
    // A file in place of the folder.
    write_file(&RealFs, &folder.with_file_name("file"), b"x", 0o644).unwrap();
    let missing = folder.with_file_name("file").join("lock");
    let failure = make(&RealFs, &missing, &mine).unwrap_err();
    assert_eq!(failure.subject.path.as_deref(), folder.with_file_name("file").to_str());
}
