use super::fault::{Fault, FaultFs, Op};
use super::*;
use gristmill_core::ExitClass;
use rustix::io::Errno;
use std::os::unix::fs::{symlink, MetadataExt as _};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().mode() & 0o7777
}

#[test]
fn a_new_file_is_private_until_its_mode_is_set() {
    let dir = folder();
    let path = dir.path().join("f");
    let mut file = RealFs.create_file(&path).unwrap();
    assert_eq!(mode(&path), 0o600);
    file.write_all(b"hello ").unwrap();
    file.write_all(b"world").unwrap();
    assert_eq!((file.len(), file.is_empty(), file.path()), (11, false, path.as_path()));
    file.set_mode(0o644).unwrap();
    assert_eq!(file.finish().unwrap(), 11);
    assert_eq!(mode(&path), 0o644);
    assert_eq!(std::fs::read(&path).unwrap(), b"hello world");
}

#[test]
fn creating_a_file_never_changes_an_existing_file_or_link_target() {
    let dir = folder();
    let (target, link) = (dir.path().join("t"), dir.path().join("l"));
    symlink(&target, &link).unwrap();
    assert_eq!(RealFs.create_file(&link).err().unwrap().class, ExitClass::Environment);
    assert!(!target.exists());
    RealFs.append_file(&link).err().unwrap();
    assert!(!target.exists());
    drop(RealFs.create_file(&target).unwrap());
    RealFs.create_file(&target).err().unwrap();
    RealFs.set_mode(&link, 0o777).unwrap_err();
}

#[test]
fn append_file_continues_at_the_end() {
    let dir = folder();
    let path = dir.path().join("f");
    for (text, total) in [("one", 3), ("two", 6)] {
        let mut file = RealFs.append_file(&path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        assert_eq!(file.close().unwrap(), total);
    }
    assert_eq!(std::fs::read(&path).unwrap(), b"onetwo");
}

#[test]
fn remove_tree_follows_no_links_and_accepts_missing_files() {
    let dir = folder();
    let (tree, precious) = (dir.path().join("tree"), dir.path().join("precious"));
    RealFs.create_dir(&precious, 0o700).unwrap();
    drop(RealFs.create_file(&precious.join("f")).unwrap());
    RealFs.create_dir(&tree, 0o700).unwrap();
    RealFs.create_dir(&tree.join("deep"), 0o700).unwrap();
    symlink(&precious, tree.join("deep/link")).unwrap();
    RealFs.remove_dir_all(&tree).unwrap();
    RealFs.remove_dir_all(&tree).unwrap();
    RealFs.remove_file(&tree).unwrap();
    assert!(!tree.exists() && precious.join("f").exists());
}

#[test]
fn folder_mode_ignores_the_umask_and_an_existing_folder_keeps_its_mode() {
    let dir = folder();
    let path = dir.path().join("d");
    RealFs.create_dir(&path, 0o2777).unwrap();
    assert_eq!(mode(&path), 0o2777);
    RealFs.create_dir(&path, 0o700).unwrap();
    assert_eq!(mode(&path), 0o2777);
    drop(RealFs.create_file(&dir.path().join("f")).unwrap());
    RealFs.create_dir(&dir.path().join("f"), 0o700).unwrap_err();
}

#[test]
fn hard_link_falls_back_to_a_copy() {
    for errno in [Errno::XDEV, Errno::PERM, Errno::NOTSUP, Errno::MLINK] {
        let dir = folder();
        let (from, to) = (dir.path().join("a"), dir.path().join("b"));
        let mut file = RealFs.create_file(&from).unwrap();
        file.write_all(&vec![7; COPY_CHUNK + 5]).unwrap();
        file.set_mode(0o640).unwrap();
        file.finish().unwrap();
        FaultFs::new(Fault::Once { at: 0, errno }).hard_link_or_copy(&from, &to).unwrap();
        assert_eq!(std::fs::read(&to).unwrap(), vec![7; COPY_CHUNK + 5]);
        assert_eq!(mode(&to), 0o640);
        assert_ne!(std::fs::metadata(&to).unwrap().ino(), std::fs::metadata(&from).unwrap().ino());
    }
}

#[test]
fn watched_copy_reports_progress_and_leaves_nothing_when_cancelled() {
    let dir = folder();
    let (from, to) = (dir.path().join("a"), dir.path().join("b"));
    let mut file = RealFs.create_file(&from).unwrap();
    file.write_all(&vec![7; 2 * COPY_CHUNK + 5]).unwrap();
    file.close().unwrap();
    let mut steps = Vec::new();
    let ended = RealFs.copy_file_watched(&from, &to, &mut |bytes| {
        steps.push(bytes);
        if steps.len() == 2 {
            Err(Failure::cancelled())
        } else {
            Ok(())
        }
    });
    assert!(ended.unwrap_err().is_cancelled());
    assert_eq!(steps, [COPY_CHUNK as u64; 2]);
    assert!(!to.exists());
    RealFs.copy_file_watched(&from, &to, &mut |_| Ok(())).unwrap();
    assert_eq!(std::fs::metadata(&to).unwrap().len(), 2 * COPY_CHUNK as u64 + 5);
}

#[test]
fn short_writes_are_continued_and_interrupted_calls_repeated() {
    let dir = folder();
    for (at, fault) in [(1, Fault::Short { at: 1 }), (2, Fault::Once { at: 1, errno: Errno::INTR })] {
        let path = dir.path().join(format!("f{at}"));
        let fs = FaultFs::new(fault);
        let mut file = fs.create_file(&path).unwrap();
        file.write_all(b"0123456789").unwrap();
        assert_eq!(file.finish().unwrap(), 10);
        assert_eq!(std::fs::read(&path).unwrap(), b"0123456789");
        assert_eq!(fs.ops(), 5, "create, write twice, sync, close");
    }
}

#[test]
fn failed_operation_names_its_path_and_is_an_environment_failure() {
    let dir = folder();
    let path = dir.path().join("f");
    let all = |fs: &dyn Fs| -> Outcome<()> {
        let mut file = fs.create_file(&path)?;
        file.write_all(b"x")?;
        file.set_mode(0o600)?;
        file.sync()?;
        file.close()?;
        fs.sync_dir(dir.path())?;
        fs.set_mode(&path, 0o600)?;
        fs.hard_link_or_copy(&path, &dir.path().join("g"))?;
        fs.rename(&dir.path().join("g"), &dir.path().join("h"))?;
        fs.remove_file(&dir.path().join("h"))?;
        fs.create_dir(&dir.path().join("d"), 0o700)?;
        fs.remove_dir_all(&dir.path().join("d"))
    };
    let counting = FaultFs::new(Fault::Nothing);
    all(&counting).unwrap();
    let log = counting.log();
    for op in [Op::Create, Op::Write, Op::Sync, Op::Close, Op::SyncDir, Op::Link, Op::Rename, Op::Unlink, Op::MakeDir] {
        assert!(log.iter().any(|(done, _)| *done == op), "{op:?}");
    }
    for at in 0..counting.ops() {
        for name in ["f", "g", "h"] {
            RealFs.remove_file(&dir.path().join(name)).unwrap();
        }
        RealFs.remove_dir_all(&dir.path().join("d")).unwrap();
        let failure = all(&FaultFs::new(Fault::Once { at, errno: Errno::NOSPC })).unwrap_err();
        assert_eq!(failure.class, ExitClass::Environment);
        assert_eq!(failure.why, "no space left on the device");
        let named = failure.subject.path.unwrap();
        assert!(named.starts_with(dir.path().to_str().unwrap()), "{at}: {named}");
    }
}

#[test]
fn unsupported_sync_is_ignored_only_for_folders() {
    let dir = folder();
    for errno in [Errno::INVAL, Errno::NOTSUP] {
        FaultFs::new(Fault::Once { at: 0, errno }).sync_dir(dir.path()).unwrap();
        FaultFs::new(Fault::Once { at: 0, errno }).sync_file(dir.path()).unwrap_err();
    }
    FaultFs::new(Fault::Once { at: 0, errno: Errno::IO }).sync_dir(dir.path()).unwrap_err();
}

#[test]
fn simulated_power_cut_loses_only_unsynced_data() {
    let dir = folder();
    let at = |name: &str| dir.path().join(name);
    let fs = FaultFs::new(Fault::PowerCut { at: 14 });
    let put = |name: &str, is_synced: bool| {
        let mut file = fs.create_file(&at(name)).unwrap();
        file.write_all(b"text").unwrap();
        if is_synced {
            file.sync().unwrap();
        }
        file.close().unwrap();
    };
    put("whole", true); // 0..4
    put("torn", false); // 4..7
    fs.sync_dir(dir.path()).unwrap(); // 7
    put("nameless", true); // 8..12
    fs.rename(&at("whole"), &at("renamed")).unwrap(); // 12
    fs.remove_file(&at("torn")).unwrap(); // 13
    fs.sync_dir(dir.path()).unwrap_err(); // 14: the power is cut
    fs.create_file(&at("later")).err().unwrap();
    assert_eq!(std::fs::read(at("whole")).unwrap(), b"text");
    assert!(!at("renamed").exists() && !at("nameless").exists() && !at("later").exists());
    assert_eq!(std::fs::read(at("torn")).unwrap().len(), 4, "removed after it was written: its removal is undone");
}

#[test]
fn buffered_file_writes_large_pieces_and_reports_failures() {
    let dir = folder();
    let path = dir.path().join("f");
    let fs = FaultFs::new(Fault::Nothing);
    let mut file = BufferedFile::new(fs.create_file(&path).unwrap(), 10);
    assert!(file.is_empty());
    for text in ["abc", "defg", "hijk", "a text longer than ten", "z"] {
        file.write_all(text.as_bytes()).unwrap();
    }
    assert_eq!(file.len(), 34);
    file.finish().unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"abcdefghijka text longer than tenz");
    assert_eq!(fs.log().iter().filter(|(op, _)| *op == Op::Write).count(), 4);

    use std::io::Write as _;
    let full = FaultFs::new(Fault::Full { at: 1, errno: Errno::NOSPC });
    let path = dir.path().join("g");
    let mut file = BufferedFile::new(full.create_file(&path).unwrap(), 10);
    write!(file, "short").unwrap();
    let error = file.flush().unwrap_err();
    assert_eq!(BufferedFile::failure("writing", &path, error).why, "no space left on the device");
}

#[test]
fn reopened_file_continues_after_its_first_bytes_and_its_head_is_replaceable() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f");
    let mut file = RealFs.create_file(&path).unwrap();
    file.write_all(b"0123456789").unwrap();
    file.finish().unwrap();
    let mut file = RealFs.reopen_file(&path, 4).unwrap();
    assert_eq!(file.len(), 4);
    file.write_all(b"ab").unwrap();
    file.overwrite(b"X", 0).unwrap();
    file.write_all(b"c").unwrap();
    file.finish().unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"X123abc");
    assert!(RealFs.reopen_file(&path, 8).is_err());
    assert!(RealFs.reopen_file(&dir.path().join("none"), 0).is_err());
}

/// Accepts every write, and records the ranges that are released.
#[derive(Clone, Default)]
struct Endless(std::sync::Arc<std::sync::Mutex<Vec<(u64, u64)>>>);

impl DiskFile for Endless {
    fn raw_write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }
    fn raw_write_at(&mut self, bytes: &[u8], _offset: u64) -> io::Result<usize> {
        Ok(bytes.len())
    }
    fn raw_sync(&mut self) -> io::Result<()> {
        Ok(())
    }
    fn raw_release_range(&mut self, from: u64, length: u64) {
        self.0.lock().unwrap().push((from, length));
    }
    fn raw_set_mode(&mut self, _mode: u32) -> io::Result<()> {
        Ok(())
    }
    fn raw_close(self: Box<Self>) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the ranges released from a file that has `before` bytes and grows to `bytes`, in pieces of `piece` bytes.
fn ranges_released_for(before: u64, bytes: u64, piece: usize, keep: bool) -> Vec<(u64, u64)> {
    let disk = Endless::default();
    let mut file = NamedFile::new(Path::new("f"), Box::new(disk.clone()), before);
    if keep {
        file.keep_in_page_cache();
    }
    let zeros = vec![0; piece];
    while file.len() < bytes {
        let count = (bytes - file.len()).min(piece as u64) as usize;
        file.write_all(&zeros[..count]).unwrap();
        // A header that is written last.
        file.overwrite(b"head", 0).unwrap();
    }
    let calls = disk.0.lock().unwrap();
    calls.clone()
}

#[test]
fn releases_written_bytes_in_steps_except_last_part() {
    const MIB: u64 = 1 << 20;
    for piece in [777_777, 1 << 20, 8 << 20, 50 << 20] {
        let calls = ranges_released_for(0, 200 * MIB, piece, false);
        assert!(calls.iter().all(|(_, length)| *length == 8 * MIB));
        // Write-out starts for each whole step, in order; each step that is far enough before the end is released once more.
        let mut wanted = Vec::new();
        for step in 0..25 {
            wanted.push(step * 8 * MIB);
            wanted.extend((step >= 8).then(|| (step - 8) * 8 * MIB));
        }
        assert_eq!(calls.iter().map(|(from, _)| *from).collect::<Vec<_>>(), wanted, "{piece}");
    }
    assert!(ranges_released_for(0, 8 * MIB - 1, 4096, false).is_empty());
    assert_eq!(ranges_released_for(0, 8 * MIB, 4096, false), [(0, 8 * MIB)]);
    // A file no longer than the distance stays in memory: write-out starts for all of its steps.
    assert_eq!(ranges_released_for(0, 64 * MIB, 1 << 20, false).len(), 8);
}

#[test]
fn cache_release_skips_earlier_bytes_and_kept_files() {
    const MIB: u64 = 1 << 20;
    let calls = ranges_released_for(100 * MIB + 5, 200 * MIB, 1 << 20, false);
    assert_eq!(calls.iter().map(|(from, _)| *from).min(), Some(104 * MIB));
    assert_eq!(calls.len(), 12 + 4);
    assert!(ranges_released_for(0, 200 * MIB, 1 << 20, true).is_empty());
}

#[test]
fn cache_release_changes_no_bytes_and_counts_no_operation() {
    let dir = folder();
    let (path, kept) = (dir.path().join("f"), dir.path().join("k"));
    let fs = FaultFs::new(Fault::Nothing);
    let bytes: Vec<u8> = (0..20 << 20).map(|at: u32| (at / 3) as u8).collect();
    let mut file = BufferedFile::new(fs.create_file(&path).unwrap(), 1 << 20);
    file.write_all(&bytes).unwrap();
    file.close().unwrap();
    let mut file = BufferedFile::new(fs.create_file(&kept).unwrap(), 1 << 20).with_cached_pages();
    file.write_all(&bytes).unwrap();
    file.close().unwrap();
    assert_eq!(
        fs.released_ranges(),
        [(path.clone(), 0, WRITEBACK_BYTES), (path.clone(), WRITEBACK_BYTES, WRITEBACK_BYTES)]
    );
    assert_eq!(fs.ops(), fs.log().len() as u64);
    assert!(std::fs::read(&path).unwrap() == bytes && std::fs::read(&kept).unwrap() == bytes);
}
