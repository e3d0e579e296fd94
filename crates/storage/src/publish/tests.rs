use super::*;
use crate::fs::fault::{Fault, FaultFs, Op};
use crate::fs::RealFs;
use gristmill_core::Problem;
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::os::unix::fs::{symlink, MetadataExt as _};

/// Content and mode of files by their name relative to the root, without the own folder.
type Files = BTreeMap<String, (Vec<u8>, u32)>;

/// Uses a folder in memory if available: these tests publish thousands of times.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

struct World {
    dir: tempfile::TempDir,
    own: RunFolder,
    /// Whether `shards/` is on another file system.
    is_split: bool,
}

const COMMIT: &str = ".nv-meta/.info.json";

impl World {
    fn new(is_overwrite: bool, is_split: bool) -> Self {
        let dir = folder();
        let world = Self { own: RunFolder::for_webdataset(dir.path()), dir, is_split };
        RealFs.create_dir(&world.at("shards"), 0o755).unwrap();
        world.put("shards/a.tar", "tar a");
        if is_overwrite {
            RealFs.create_dir(&world.at(".nv-meta"), 0o755).unwrap();
            for name in
                ["shards/a.tar.idx", ".nv-meta/index.sqlite", ".nv-meta/split.yaml", ".nv-meta/index.uuid", COMMIT]
            {
                world.put(name, &format!("old {name}"));
            }
        }
        world
    }
    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
    fn put(&self, name: &str, text: &str) {
        write_file(&RealFs, &self.at(name), text.as_bytes(), 0o640).unwrap();
    }
    fn fs(&self, fault: Fault) -> FaultFs {
        if self.is_split {
            FaultFs::with_other_filesystem(fault, &self.at("shards"))
        } else {
            FaultFs::new(fault)
        }
    }
    fn publish(&self, fs: &dyn Fs) -> Outcome<()> {
        self.own.create(fs)?;
        let ready = self.own.work_folder().join("ready");
        write_file(fs, &ready, b"new database", 0o600)?;
        let mut set = Publication::begin(fs, self.dir.path(), &self.own)?;
        set.stage_bytes(&self.at("shards/a.tar.idx"), b"new a", 0o644)?;
        set.stage_bytes(&self.at("shards/b.tar.idx"), b"new b", 0o644)?;
        set.stage_file(&self.at(".nv-meta/index.sqlite"), ready, 0o644)?;
        set.keep_backup(&self.at(".nv-meta/split.yaml"), &self.at(".nv-meta/split.yaml.bak"))?;
        set.stage_bytes(&self.at(".nv-meta/split.yaml"), b"new split", 0o644)?;
        set.remove(&self.at(".nv-meta/index.uuid"))?;
        set.stage_bytes(&self.at(COMMIT), b"new info", 0o644)?;
        set.commit(&self.at(COMMIT))
    }
    fn recover(&self, fs: &dyn Fs) -> Outcome<Option<RolledForward>> {
        recover(fs, self.dir.path(), &self.own)
    }
    fn files(&self) -> Files {
        let mut files = Files::new();
        for entry in walkdir::WalkDir::new(self.dir.path()) {
            let entry = entry.unwrap();
            let name = entry.path().strip_prefix(self.dir.path()).unwrap().to_string_lossy().into_owned();
            if entry.file_type().is_file() && !name.starts_with(".nv-meta/gristmill/") {
                let mode = entry.metadata().unwrap().mode() & 0o7777;
                files.insert(name, (std::fs::read(entry.path()).unwrap(), mode));
            }
        }
        files
    }
    fn assert_tidy(&self, context: &str) {
        assert_eq!(pending(&self.own).unwrap(), None, "{context}");
        assert!(!staging_of(&self.own).exists(), "{context}");
        let temporary = std::fs::read_dir(self.own.path()).into_iter().flatten().flatten();
        let left: Vec<_> = temporary.filter(|e| e.file_name().to_string_lossy().starts_with(TEMPORARY)).collect();
        assert!(left.is_empty(), "{context}: {left:?}");
    }
}

/// Returns the files before, the files after, and the number of operations in between.
fn undisturbed(is_overwrite: bool, is_split: bool) -> (Files, Files, u64) {
    let world = World::new(is_overwrite, is_split);
    let old = world.files();
    let fs = world.fs(Fault::Nothing);
    world.publish(&fs).unwrap();
    world.assert_tidy("undisturbed");
    (old, world.files(), fs.ops())
}

const WORLDS: [(bool, bool); 4] = [(false, false), (true, false), (false, true), (true, true)];

#[test]
fn publication_applies_modes_backup_and_removal() {
    for (is_overwrite, is_split) in WORLDS {
        let (_, new, _) = undisturbed(is_overwrite, is_split);
        let text = |name: &str| new.get(name).map(|(bytes, _)| String::from_utf8(bytes.clone()).unwrap());
        assert_eq!(text("shards/a.tar.idx").as_deref(), Some("new a"));
        assert_eq!(text(".nv-meta/index.sqlite").as_deref(), Some("new database"));
        assert_eq!(text(COMMIT).as_deref(), Some("new info"));
        assert_eq!(text(".nv-meta/index.uuid"), None);
        let backup = is_overwrite.then_some("old .nv-meta/split.yaml");
        assert_eq!(text(".nv-meta/split.yaml.bak").as_deref(), backup);
        assert_eq!(new["shards/b.tar.idx"].1, 0o644);
        assert_eq!(new[".nv-meta/index.sqlite"].1, 0o644);
        assert_eq!(new.len(), if is_overwrite { 7 } else { 6 });
    }
}

#[test]
fn commit_file_is_moved_away_first_and_published_last() {
    let world = World::new(true, false);
    let fs = world.fs(Fault::Nothing);
    world.publish(&fs).unwrap();
    let log = fs.log();
    let renames: Vec<_> = log.iter().filter(|(op, _)| *op == Op::Rename).map(|(_, path)| path.clone()).collect();
    let place = |name: &str| renames.iter().position(|path| *path == world.at(name)).unwrap();
    let list = renames.iter().position(|path| *path == world.own.renames()).unwrap();
    assert!(renames[list + 1].ends_with("work/publish/old-6"), "the old commit file is taken away first");
    assert!(place("shards/a.tar.idx") < place("shards/b.tar.idx"));
    assert!(place("shards/b.tar.idx") < place(".nv-meta/index.sqlite"));
    assert_eq!(place(COMMIT), renames.len() - 1);
    let commit = log.iter().position(|(op, path)| *op == Op::Rename && *path == world.at(COMMIT)).unwrap();
    assert_eq!(log[commit - 1].0, Op::SyncDir, "everything else is durable before the commit file appears");
}

/// Whether a reader sees the old set, the new set, or one that is visibly not prepared.
fn is_honest(files: &Files, old: &Files, new: &Files) -> bool {
    // On another file system, a hidden old version next to its target may still have to be removed.
    let seen: Files =
        files.iter().filter(|(name, _)| !name.ends_with(".old")).map(|(k, v)| (k.clone(), v.clone())).collect();
    seen == *old || seen == *new || !files.contains_key(COMMIT)
}

#[test]
fn publish_stopped_at_any_operation_leaves_the_old_or_the_new_or_no_visible_set() {
    for (is_overwrite, is_split) in WORLDS {
        let (old, new, ops) = undisturbed(is_overwrite, is_split);
        let mut outcomes = [0, 0];
        for at in 0..ops {
            for fault in [Fault::Kill { at }, Fault::PowerCut { at }] {
                let context = format!("{fault:?} overwrite={is_overwrite} split={is_split}");
                let world = World::new(is_overwrite, is_split);
                let fs = world.fs(fault);
                let _ = world.publish(&fs);
                assert!(is_honest(&world.files(), &old, &new), "{context}: {:?}", world.files());
                if matches!(fault, Fault::Kill { .. }) && !is_split {
                    let replaced = old.keys().filter(|name| new.contains_key(*name) && *name != COMMIT);
                    let gone: Vec<&String> = replaced.filter(|name| !world.files().contains_key(*name)).collect();
                    assert!(gone.is_empty(), "{context}: {gone:?}");
                }
                let was_pending = pending(&world.own).unwrap().is_some();
                let recovered = world.recover(&world.fs(Fault::Nothing)).unwrap();
                let files = world.files();
                assert!(files == old || files == new, "{context}: {files:?}");
                assert!(!was_pending || (recovered.is_some() && files == new), "{context}");
                world.assert_tidy(&context);
                assert_eq!(world.recover(&RealFs).unwrap(), None, "{context}");
                outcomes[usize::from(files == new)] += 1;
                world.publish(&world.fs(Fault::Nothing)).unwrap();
                // Every run makes a backup of the files that exist at that time.
                assert_eq!(world.files()[COMMIT], new[COMMIT], "{context}");
            }
        }
        assert!(outcomes[0] > 10 && outcomes[1] > 10, "{outcomes:?}");
    }
}

#[test]
fn recovery_killed_at_any_operation_is_completed_by_the_next_recovery() {
    for (is_overwrite, is_split) in [(true, false), (true, true)] {
        let (_, new, ops) = undisturbed(is_overwrite, is_split);
        for at in 0..ops {
            let interrupted = || {
                let world = World::new(is_overwrite, is_split);
                let _ = world.publish(&world.fs(Fault::Kill { at }));
                world
            };
            let world = interrupted();
            if pending(&world.own).unwrap().is_none() {
                continue;
            }
            let fs = world.fs(Fault::Nothing);
            world.recover(&fs).unwrap();
            for second in 0..fs.ops() {
                for fault in [Fault::Kill { at: second }, Fault::PowerCut { at: second }] {
                    let world = interrupted();
                    let _ = world.recover(&world.fs(fault));
                    world.recover(&world.fs(Fault::Nothing)).unwrap();
                    assert_eq!(world.files(), new, "killed at {at}, then {fault:?}");
                    world.assert_tidy("recovered twice");
                }
            }
        }
    }
}

#[test]
fn error_at_any_publish_operation_is_a_failure_with_unchanged_files() {
    for (is_overwrite, is_split) in WORLDS {
        let (old, new, ops) = undisturbed(is_overwrite, is_split);
        for at in 0..ops {
            let mut faults: Vec<Fault> =
                [Errno::NOSPC, Errno::IO, Errno::DQUOT, Errno::ROFS].map(|errno| Fault::Once { at, errno }).to_vec();
            faults.extend([Errno::NOSPC, Errno::DQUOT].map(|errno| Fault::Full { at, errno }));
            for fault in faults {
                let world = World::new(is_overwrite, is_split);
                let fs = world.fs(fault);
                let result = world.publish(&fs);
                let context = format!(
                    "{fault:?} overwrite={is_overwrite} split={is_split}: {result:?} {:?}",
                    fs.log().get(usize::try_from(at).unwrap())
                );
                match result {
                    Ok(()) => {
                        // An old version may remain next to its target; the next start removes it.
                        world.recover(&world.fs(Fault::Nothing)).unwrap();
                        assert_eq!(world.files(), new, "{context}");
                    }
                    Err(failure) => {
                        assert_eq!(failure.class, ExitClass::Environment, "{context}");
                        assert!(failure.subject.path.is_some(), "{context}");
                        assert_eq!(world.files(), old, "{context}");
                        assert_eq!(pending(&world.own).unwrap(), None, "{context}");
                    }
                }
            }
        }
    }
}

#[test]
fn publish_on_a_disk_that_becomes_read_only_is_recovered_later() {
    for (is_overwrite, is_split) in WORLDS {
        let (old, new, ops) = undisturbed(is_overwrite, is_split);
        for at in 0..ops {
            let world = World::new(is_overwrite, is_split);
            let result = world.publish(&world.fs(Fault::From { at, errno: Errno::ROFS }));
            assert!(is_honest(&world.files(), &old, &new), "at {at}");
            if let Err(failure) = result {
                assert_eq!(failure.class, ExitClass::Environment);
                let has_begun = pending(&world.own).unwrap().is_some();
                let says_so = failure.hint.unwrap_or_default().contains("finishes it");
                assert_eq!(says_so, has_begun, "at {at}");
            }
            world.recover(&world.fs(Fault::Nothing)).unwrap();
            let files = world.files();
            assert!(files == old || files == new, "at {at}: {files:?}");
            world.assert_tidy("read-only");
        }
    }
}

#[test]
fn publish_retries_interrupted_calls_and_short_writes() {
    for (is_overwrite, is_split) in WORLDS {
        let (_, new, ops) = undisturbed(is_overwrite, is_split);
        for at in 0..ops {
            for fault in [Fault::Short { at }, Fault::Once { at, errno: Errno::INTR }] {
                let world = World::new(is_overwrite, is_split);
                world.publish(&world.fs(fault)).unwrap();
                assert_eq!(world.files(), new, "{fault:?}");
            }
        }
    }
}

#[test]
fn assumes_unsyncable_folder_is_durable() {
    for errno in [Errno::INVAL, Errno::NOTSUP] {
        let world = World::new(true, false);
        let fs = world.fs(Fault::Nothing);
        world.publish(&fs).unwrap();
        let at = fs.log().iter().position(|(op, _)| *op == Op::SyncDir).unwrap();
        let world = World::new(true, false);
        world.publish(&world.fs(Fault::Once { at: u64::try_from(at).unwrap(), errno })).unwrap();
    }
}

#[test]
fn unstaged_commit_file_is_restored_unchanged() {
    let world = World::new(true, false);
    let before = std::fs::metadata(world.at(COMMIT)).unwrap();
    let mut set = Publication::begin(&RealFs, world.dir.path(), &world.own).unwrap();
    set.stage_bytes(&world.at("shards/a.tar.idx"), b"again", 0o644).unwrap();
    set.commit(&world.at(COMMIT)).unwrap();
    let after = std::fs::metadata(world.at(COMMIT)).unwrap();
    assert_eq!((before.ino(), before.mtime_nsec()), (after.ino(), after.mtime_nsec()));
    assert_eq!(std::fs::read(world.at("shards/a.tar.idx")).unwrap(), b"again");
    world.assert_tidy("not staged");
}

#[test]
fn a_set_without_its_commit_file_is_refused_and_nothing_moves() {
    let world = World::new(false, false);
    let old = world.files();
    let mut set = Publication::begin(&RealFs, world.dir.path(), &world.own).unwrap();
    set.stage_bytes(&world.at("shards/a.tar.idx"), b"x", 0o644).unwrap();
    assert!(set.commit(&world.at(COMMIT)).unwrap_err().why.contains("not staged"));
    assert_eq!(world.files(), old);
    world.assert_tidy("no commit file");
}

#[test]
fn second_commit_file_is_also_hidden_while_files_move() {
    let world = World::new(true, false);
    world.put(".nv-meta/.info.yaml", "old yaml");
    world.own.create(&RealFs).unwrap();
    let run = |fs: &FaultFs| {
        let mut set = Publication::begin(fs, world.dir.path(), &world.own)?;
        set.stage_bytes(&world.at(".nv-meta/.info.yaml"), b"new yaml", 0o644)?;
        set.mark_last(&world.at(".nv-meta/.info.yaml"));
        set.stage_bytes(&world.at("shards/a.tar.idx"), b"new a", 0o644)?;
        set.stage_bytes(&world.at(COMMIT), b"new info", 0o644)?;
        set.commit(&world.at(COMMIT))
    };
    let fs = FaultFs::new(Fault::Nothing);
    run(&fs).unwrap();
    let moved = fs.log().iter().position(|(op, path)| *op == Op::Rename && path.ends_with("a.tar.idx")).unwrap();
    let kill = FaultFs::new(Fault::Kill { at: u64::try_from(moved).unwrap() });
    run(&kill).unwrap_err();
    assert!(!world.at(COMMIT).exists() && !world.at(".nv-meta/.info.yaml").exists());
    world.recover(&RealFs).unwrap();
    assert!(world.at(COMMIT).exists() && world.at(".nv-meta/.info.yaml").exists());
}

#[test]
fn removed_commit_file_is_hidden_before_any_move() {
    let world = World::new(false, false);
    world.own.create(&RealFs).unwrap();
    world.put(".nv-meta/.info.yaml", "old yaml");
    let old = world.files();
    let run = |fs: &FaultFs| {
        let mut set = Publication::begin(fs, world.dir.path(), &world.own)?;
        set.stage_bytes(&world.at("shards/a.tar.idx"), b"new a", 0o644)?;
        set.remove(&world.at(".nv-meta/.info.yaml"))?;
        set.mark_last(&world.at(".nv-meta/.info.yaml"));
        set.stage_bytes(&world.at(COMMIT), b"new info", 0o644)?;
        set.commit(&world.at(COMMIT))
    };
    let mut at = 0;
    loop {
        let fs = FaultFs::new(Fault::Once { at, errno: Errno::NOSPC });
        if run(&fs).is_ok() {
            break;
        }
        assert_eq!(world.files(), old, "failed at {at}");
        let has_moved = fs.log().iter().position(|(op, path)| *op == Op::Rename && path.ends_with("a.tar.idx"));
        let has_hidden = fs.log().iter().position(|(op, path)| *op == Op::Rename && path.ends_with("old-1"));
        assert!(has_moved.is_none() || has_hidden < has_moved);
        at += 1;
    }
    assert!(at > 15 && !world.at(".nv-meta/.info.yaml").exists() && world.at(COMMIT).exists());
}

#[test]
fn pending_lists_the_files_of_an_interrupted_publish() {
    let world = World::new(false, false);
    let fs = world.fs(Fault::Nothing);
    world.publish(&fs).unwrap();
    let list = fs.log().iter().position(|(op, path)| *op == Op::Rename && *path == world.own.renames()).unwrap();
    let world = World::new(false, false);
    world.publish(&world.fs(Fault::Kill { at: u64::try_from(list + 3).unwrap() })).unwrap_err();
    let names = pending(&world.own).unwrap().unwrap();
    assert_eq!(names.first().map(String::as_str), Some("shards/a.tar.idx"));
    assert_eq!(names.last().map(String::as_str), Some(COMMIT));
    let rolled = recover_at_start(&RealFs, world.dir.path(), &world.own).unwrap().unwrap();
    assert_eq!(rolled.files, names);
    assert_eq!(recover_at_start(&RealFs, world.dir.path(), &world.own).unwrap(), None);
}

#[test]
fn running_publish_of_another_process_is_not_recovered() {
    let world = World::new(false, false);
    world.own.create(&RealFs).unwrap();
    let _lock = crate::lock::DatasetLock::acquire(&RealFs, &world.own, false).unwrap();
    let list = RenameList { state: State::Moving, id: "x".into(), entries: vec![] };
    write_list(&RealFs, &world.own, &list).unwrap();
    assert_eq!(recover_at_start(&RealFs, world.dir.path(), &world.own).unwrap(), None);
    assert!(world.own.renames().exists());
}

#[test]
fn damaged_rename_list_is_reported_and_not_applied() {
    let world = World::new(true, false);
    let old = world.files();
    world.own.create(&RealFs).unwrap();
    write_file(&RealFs, &world.own.renames(), b"gristmill renames 1\nstate moving\n", 0o600).unwrap();
    for failure in [world.recover(&RealFs).unwrap_err(), pending(&world.own).unwrap_err()] {
        assert!(failure.subject.path.unwrap().ends_with("renames"));
        assert!(failure.hint.unwrap().contains("remove this file"));
    }
    assert_eq!(world.files(), old);
}

#[test]
fn reports_emptied_work_folder_once() {
    let world = World::new(true, false);
    let fs = world.fs(Fault::Nothing);
    world.publish(&fs).unwrap();
    let moved = fs.log().iter().position(|(op, path)| *op == Op::Rename && path.ends_with("a.tar.idx")).unwrap();
    let world = World::new(true, false);
    world.publish(&world.fs(Fault::Kill { at: u64::try_from(moved).unwrap() })).unwrap_err();
    RealFs.remove_dir_all(&world.own.work_folder()).unwrap();
    let failure = world.recover(&RealFs).unwrap_err();
    assert_eq!(failure.class, ExitClass::Data);
    assert!(!world.at(COMMIT).exists());
    assert_eq!(world.recover(&RealFs).unwrap(), None);
    world.publish(&RealFs).unwrap();
}

#[test]
fn interrupted_publish_is_completed_in_a_moved_data_set() {
    let world = World::new(false, false);
    let fs = world.fs(Fault::Nothing);
    world.publish(&fs).unwrap();
    let new = world.files();
    let list = fs.log().iter().position(|(op, path)| *op == Op::Rename && *path == world.own.renames()).unwrap();
    let mut world = World::new(false, false);
    world.publish(&world.fs(Fault::Kill { at: u64::try_from(list + 4).unwrap() })).unwrap_err();
    let elsewhere = folder();
    let moved = elsewhere.path().join("set");
    std::fs::rename(world.dir.path(), &moved).unwrap();
    std::fs::create_dir(world.dir.path()).unwrap();
    world.own = RunFolder::for_webdataset(&moved);
    recover(&RealFs, &moved, &world.own).unwrap().unwrap();
    std::fs::remove_dir(world.dir.path()).unwrap();
    std::fs::rename(&moved, world.dir.path()).unwrap();
    assert_eq!(world.files(), new);
}

#[test]
fn shard_folder_linked_from_another_file_system_is_published_to() {
    let here = tempfile::tempdir().unwrap();
    let Ok(there) = tempfile::tempdir_in("/dev/shm") else { return };
    if crate::space::same_filesystem(here.path(), there.path()).unwrap() {
        return;
    }
    symlink(there.path(), here.path().join("shards")).unwrap();
    let own = RunFolder::for_webdataset(here.path());
    for round in ["one", "two"] {
        let mut set = Publication::begin(&RealFs, here.path(), &own).unwrap();
        set.stage_bytes(&here.path().join("shards/a.tar.idx"), round.as_bytes(), 0o644).unwrap();
        set.stage_bytes(&here.path().join(COMMIT), round.as_bytes(), 0o644).unwrap();
        set.commit(&here.path().join(COMMIT)).unwrap();
        assert_eq!(std::fs::read_to_string(there.path().join("a.tar.idx")).unwrap(), round);
        assert_eq!(std::fs::read_dir(there.path()).unwrap().count(), 1);
    }
}

#[test]
fn a_symbolic_link_at_a_target_is_replaced_and_not_followed() {
    let world = World::new(true, false);
    world.put("elsewhere", "precious");
    std::fs::remove_file(world.at("shards/a.tar.idx")).unwrap();
    symlink(world.at("elsewhere"), world.at("shards/a.tar.idx")).unwrap();
    world.publish(&RealFs).unwrap();
    assert_eq!(std::fs::read_to_string(world.at("elsewhere")).unwrap(), "precious");
    assert!(std::fs::symlink_metadata(world.at("shards/a.tar.idx")).unwrap().is_file());
}

#[test]
fn a_folder_at_a_target_is_refused_before_anything_moves() {
    let world = World::new(false, false);
    RealFs.create_dir(&world.at("shards/b.tar.idx"), 0o755).unwrap();
    let old = world.files();
    let failure = world.publish(&RealFs).unwrap_err();
    assert!(failure.why.contains("folder"), "{failure}");
    assert_eq!(world.files(), old);
    world.assert_tidy("folder");
}

#[test]
fn dropped_publication_leaves_no_files() {
    let world = World::new(true, false);
    let old = world.files();
    let mut set = Publication::begin(&RealFs, world.dir.path(), &world.own).unwrap();
    set.stage_bytes(&world.at(COMMIT), b"x", 0o644).unwrap();
    drop(set);
    assert_eq!(world.files(), old);
    world.assert_tidy("dropped");
}

#[test]
fn write_of_a_single_file_leaves_the_old_or_the_new_content() {
    for is_first in [true, false] {
        for replaces in [true, false] {
            let setup = || {
                let dir = folder();
                let path = dir.path().join("f");
                if !is_first {
                    write_file(&RealFs, &path, b"old", 0o600).unwrap();
                }
                (RunFolder::for_output(&path), path, dir)
            };
            let write = |fs: &FaultFs, own: &RunFolder, path: &Path| {
                if replaces {
                    replace_file(fs, own, path, b"new", 0o644)
                } else {
                    write_file(fs, path, b"new", 0o644)
                }
            };
            let (own, path, _dir) = setup();
            let counting = FaultFs::new(Fault::Nothing);
            write(&counting, &own, &path).unwrap();
            assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o7777, 0o644);
            for at in 0..counting.ops() {
                for fault in [Fault::Kill { at }, Fault::PowerCut { at }, Fault::Once { at, errno: Errno::NOSPC }] {
                    let (own, path, dir) = setup();
                    let result = write(&FaultFs::new(fault), &own, &path);
                    let seen = std::fs::read(&path).ok();
                    let old = (!is_first).then(|| b"old".to_vec());
                    assert!(seen == old || seen.as_deref() == Some(b"new"), "{fault:?}: {seen:?}");
                    assert!(result.is_err(), "{fault:?}");
                    let strays = std::fs::read_dir(dir.path()).unwrap().flatten();
                    let strays = strays.filter(|e| e.file_name().to_string_lossy().starts_with(".f.")).count();
                    assert!(strays == 0 || (!replaces && matches!(fault, Fault::Kill { .. })), "{fault:?}");
                }
            }
        }
    }
}

#[test]
#[ignore = "a measurement"]
fn measure_publishing_ten_thousand_files() {
    let dir = tempfile::tempdir().unwrap();
    let own = RunFolder::for_webdataset(dir.path());
    for round in 0..2 {
        let clock = std::time::Instant::now();
        let mut set = Publication::begin(&RealFs, dir.path(), &own).unwrap();
        for i in 0..10_000 {
            set.stage_bytes(&dir.path().join(format!("{i}.tar.idx")), &[7; 800], 0o644).unwrap();
        }
        set.stage_bytes(&dir.path().join(COMMIT), b"x", 0o644).unwrap();
        let staged = clock.elapsed();
        set.commit(&dir.path().join(COMMIT)).unwrap();
        println!("round {round}: staged {staged:?}, all {:?}", clock.elapsed());
    }
}

/// Publishes a set of three files in a store, and removes `b`.
fn publish_objects(root: &Path, own: &RunFolder, fs: &dyn Fs, text: &str) -> Outcome<()> {
    let mut publication = Publication::begin(fs, root, own)?;
    publication.stage_bytes(&root.join("a"), text.as_bytes(), 0o644)?;
    publication.remove(&root.join("b"))?;
    publication.stage_bytes(&root.join("info"), text.as_bytes(), 0o644)?;
    publication.commit(&root.join("info"))
}

#[test]
fn publish_into_a_store_killed_at_any_operation_is_completed() {
    let state = tempfile::tempdir().unwrap();
    let text = |path: &Path| crate::files::read_to_string(path).ok();
    for at in 0..200 {
        let root = PathBuf::from(format!("mem://published/{at}"));
        for name in ["a", "b", "info"] {
            crate::memory_store::put(&root.join(name), b"old");
        }
        let own = RunFolder::in_state_folder(&root, state.path());
        let fs = FaultFs::new(Fault::From { at, errno: Errno::IO });
        let killed = publish_objects(&root, &own, &fs, "new");
        let (a, info) = (text(&root.join("a")), text(&root.join("info")));
        match (&killed, info.as_deref()) {
            (_, None) | (Err(_), Some("old")) => {}
            (_, Some("new")) => assert_eq!((a.as_deref(), text(&root.join("b"))), (Some("new"), None), "{at}"),
            other => panic!("{at}: {other:?}"),
        }
        recover(&RealFs, &root, &own).unwrap();
        let after = [text(&root.join("a")), text(&root.join("b")), text(&root.join("info"))];
        let [old, new] = ["old", "new"].map(|text| Some(text.to_owned()));
        assert!(after == [old.clone(), old.clone(), old] || after == [new.clone(), None, new], "{at}: {after:?}");
        if killed.is_ok() {
            assert!(at > 5, "nothing was tried");
            return;
        }
    }
    panic!("every run failed");
}

#[test]
fn output_in_a_store_is_locked_by_one_process() {
    let state = tempfile::tempdir().unwrap();
    let own = RunFolder::in_state_folder(Path::new("mem://locked/set"), state.path());
    let lock = crate::lock::DatasetLock::acquire(&RealFs, &own, false).unwrap();
    let object = own.shown().join("lock");
    assert!(crate::files::is_file(&object) && lock.is_still_ours());
    // The same lock from the view of another host.
    let other = tempfile::tempdir().unwrap();
    let elsewhere = RunFolder::in_state_folder(Path::new("mem://locked/set"), other.path());
    let failure = crate::lock::DatasetLock::acquire(&RealFs, &elsewhere, false).unwrap_err();
    assert!(crate::lock::is_lock_failure(&failure), "{failure}");
    drop(crate::lock::DatasetLock::acquire(&RealFs, &elsewhere, true).unwrap());
    assert!(!lock.is_still_ours() && !crate::files::exists(&object));
}

#[test]
fn new_set_is_published_and_its_lock_released_without_delete_permission() {
    let root = Path::new("mem://keeps-all/set");
    let [one, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    for (state, is_new) in [(&one, true), (&other, false)] {
        let own = RunFolder::in_state_folder(root, state.path());
        let lock = crate::lock::DatasetLock::acquire(&RealFs, &own, false).unwrap();
        let published = publish_objects(root, &own, &RealFs, "new");
        lock.check("packing").unwrap();
        drop(lock);
        let is_of_this = |note: &Problem| {
            note.subject.path.as_ref().is_some_and(|path| path.to_string().starts_with("mem://keeps-all/"))
        };
        let notes: Vec<Problem> = crate::notices::kept().into_iter().filter(is_of_this).collect();
        let has_note = |name: &str| notes.iter().any(|note| note.subject == Subject::path(own.shown().join(name)));
        assert!(has_note("lock"), "{notes:?}");
        assert!(notes.iter().all(|note| note.hint.as_deref() == Some("they need the right to remove it")), "{notes:?}");
        assert_eq!(crate::files::read_to_string(own.shown().join("lock")).unwrap(), "released\n");
        if is_new {
            published.unwrap();
            assert!(has_note("publishing") && !own.renames().exists(), "{notes:?}");
            continue;
        }
        // The commit file of the old set would have to be removed first.
        assert_eq!(published.unwrap_err().hint.as_deref(), Some("they need the right to remove it"));
        assert!(!own.renames().exists(), "everything is as before");
    }
}

#[test]
fn interrupted_publish_is_abandoned_if_another_host_published_later() {
    let root = Path::new("mem://published/twice");
    let [one, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let [mine, theirs] = [&one, &other].map(|state| RunFolder::in_state_folder(root, state.path()));
    // Stopped after everything except the removal of the list, as by a kill.
    let mut publication = Publication::begin(&RealFs, root, &mine).unwrap();
    publication.stage_bytes(&root.join("info"), b"mine", 0o644).unwrap();
    publication.mark_last(&root.join("info"));
    let list = publication.list(&root.join("info")).unwrap();
    write_list(&RealFs, &mine, &list).unwrap();
    mark_begun(&RealFs, &mine, &list).unwrap();
    publication.is_settled = true;
    drop(publication);
    publish_objects(root, &theirs, &RealFs, "theirs").unwrap();
    assert_eq!(recover(&RealFs, root, &mine).unwrap(), None);
    assert_eq!(crate::files::read_to_string(root.join("info")).unwrap(), "theirs");
    assert!(!mine.renames().exists() && !crate::files::exists(marker(&theirs)));
}

#[test]
fn an_edit_of_another_program_is_never_overwritten() {
    let local = folder();
    let state = tempfile::tempdir().unwrap();
    for (root, is_late) in
        [(local.path().to_owned(), false), ("mem://edited/early".into(), false), ("mem://edited/late".into(), true)]
    {
        let own = match is_remote(&root) {
            true => RunFolder::in_state_folder(&root, state.path()),
            false => RunFolder::for_webdataset(&root),
        };
        let [edited, other, info] = ["split", "a", "info"].map(|name| root.join(name));
        for path in [&edited, &other, &info] {
            write_file(&RealFs, path, b"old", 0o644).unwrap();
        }
        let read = crate::files::metadata(&edited).unwrap().stamp;
        let mut publication = Publication::begin(&RealFs, &root, &own).unwrap();
        publication.stage_bytes(&other, b"new", 0o644).unwrap();
        publication.stage_bytes(&edited, b"new", 0o644).unwrap();
        publication.replace_only(Some(read));
        publication.stage_bytes(&info, b"new", 0o644).unwrap();
        publication.mark_last(&info);
        let list = publication.list(&info).unwrap();
        write_file(&RealFs, &edited, b"their edit", 0o644).unwrap();
        let failure = match is_late {
            true => {
                let mut mover = Renamer::new(&RealFs, &own, &root, &list);
                let failure = mover.forward(&mut || {}).unwrap_err();
                assert!(!mover.has_changed, "the publication is given up");
                failure
            }
            false => publication.commit(&info).unwrap_err(),
        };
        assert!(
            failure.why.contains("changed by another program") && failure.class == ExitClass::Environment,
            "{failure}"
        );
        let texts = [&edited, &other, &info].map(|path| crate::files::read_to_string(path).unwrap());
        assert_eq!(texts, ["their edit", "old", "old"], "{}", root.display());
        assert_eq!(recover(&RealFs, &root, &own).unwrap(), None);
    }
}

#[test]
fn a_recovery_keeps_an_edit_of_another_program_and_is_given_up() {
    let local = folder();
    let state = tempfile::tempdir().unwrap();
    for (root, is_edited) in [
        (local.path().join("kept"), false),
        (local.path().join("edited"), true),
        ("mem://recovered/kept".into(), false),
        ("mem://recovered/edited".into(), true),
    ] {
        let own = match is_remote(&root) {
            true => RunFolder::in_state_folder(&root, state.path()),
            false => RunFolder::for_webdataset(&root),
        };
        if !is_remote(&root) {
            std::fs::create_dir(&root).unwrap();
        }
        let [split, other, info] = ["split", "a", "info"].map(|name| root.join(name));
        [&split, &other, &info].iter().for_each(|path| write_file(&RealFs, path, b"old", 0o644).unwrap());
        // It ends like a run that is killed when the version was replaced, or before.
        let mut publication = Publication::begin(&RealFs, &root, &own).unwrap();
        publication.stage_bytes(&split, b"new", 0o644).unwrap();
        publication.replace_only(Some(crate::files::metadata(&split).unwrap().stamp));
        publication.stage_bytes(&other, b"new", 0o644).unwrap();
        publication.stage_bytes(&info, b"new", 0o644).unwrap();
        publication.mark_last(&info);
        let list = publication.list(&info).unwrap();
        write_list(&RealFs, &own, &list).unwrap();
        mark_begun(&RealFs, &own, &list).unwrap();
        RealFs.remove_file(&info).unwrap();
        let new: &[u8] = if is_edited { b"their edit" } else { b"new" };
        write_file(&RealFs, &split, new, 0o644).unwrap();
        publication.is_settled = true;
        drop(publication);
        let text = |path: &Path| crate::files::read_to_string(path).ok();
        match recover(&RealFs, &root, &own) {
            Ok(Some(_)) if !is_edited => {
                assert_eq!(
                    [&split, &other, &info].map(|path| text(path)),
                    [Some("new".into()), Some("new".into()), Some("new".into())]
                );
            }
            Err(failure) if is_edited => {
                assert!(failure.why.contains("changed by another program"), "{failure}");
                assert_eq!((text(&split), text(&other)), (Some("their edit".into()), Some("old".into())));
                assert_eq!(text(&info), None, "it counts as not prepared");
            }
            other => panic!("{}: {other:?}", root.display()),
        }
        assert_eq!(recover(&RealFs, &root, &own).unwrap(), None, "the failure is reported once");
    }
}

#[test]
fn publication_replaces_the_version_that_was_read() {
    let state = tempfile::tempdir().unwrap();
    let root = Path::new("mem://edited/not");
    let own = RunFolder::in_state_folder(root, state.path());
    for old in [false, true] {
        let target = root.join("split");
        let mut publication = Publication::begin(&RealFs, root, &own).unwrap();
        publication.stage_bytes(&target, if old { b"second" } else { b"first" }, 0o644).unwrap();
        publication.replace_only(crate::files::metadata(&target).ok().map(|info| info.stamp));
        publication.stage_bytes(&root.join("info"), b"new", 0o644).unwrap();
        publication.commit(&root.join("info")).unwrap();
        assert_eq!(crate::files::read_to_string(&target).unwrap(), if old { "second" } else { "first" });
    }
}

/// Publishes one object while the lock is held; `work` is done meanwhile.
fn publish_locked(root: &Path, own: &RunFolder, lock: &DatasetLock, work: impl FnOnce() + Send) -> Outcome<()> {
    let mut publication = Publication::begin(&RealFs, root, own)?.with_lock(lock, "packing").with_work(work);
    publication.stage_bytes(&root.join("info"), b"new", 0o644)?;
    publication.commit(&root.join("info"))
}

#[test]
fn publication_without_its_lock_changes_nothing_in_a_store() {
    for has_mark in [false, true] {
        let root = PathBuf::from(format!("mem://broken/{has_mark}"));
        let states = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let [mine, theirs] = states.each_ref().map(|state| RunFolder::in_state_folder(&root, state.path()));
        let lock = DatasetLock::acquire(&RealFs, &mine, false).unwrap();
        let _theirs = DatasetLock::acquire(&RealFs, &theirs, true).unwrap();
        if has_mark {
            crate::memory_store::put(&marker(&theirs), b"theirs");
        }
        let mut is_done = false;
        let failure = publish_locked(&root, &mine, &lock, || is_done = true).unwrap_err();
        assert_eq!(failure.why, "another process has removed the lock of this run");
        assert!(!is_done && !mine.renames().exists() && !crate::files::exists(root.join("info")));
        let mark = crate::files::read_to_string(marker(&theirs)).ok();
        assert_eq!(mark.as_deref(), has_mark.then_some("theirs"));
    }
}

#[test]
fn work_is_done_during_a_publication_that_replaces_the_mark_of_an_earlier_run() {
    let (root, state) = (Path::new("mem://broken/earlier"), tempfile::tempdir().unwrap());
    let own = RunFolder::in_state_folder(root, state.path());
    crate::memory_store::put(&marker(&own), b"of a run that was killed");
    let lock = DatasetLock::acquire(&RealFs, &own, false).unwrap();
    let mut is_done = false;
    publish_locked(root, &own, &lock, || is_done = true).unwrap();
    assert_eq!(crate::files::read_to_string(root.join("info")).unwrap(), "new");
    assert!(is_done && !crate::files::exists(marker(&own)) && !own.renames().exists());
}
