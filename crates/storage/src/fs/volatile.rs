//! Simulates a power cut: loses content that was not synced, and names whose folder was not. Part of the test double.

use super::fault::Op;
use super::{Disk as _, RealFs};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// All changes that are not durable yet.
#[derive(Default)]
pub(super) struct Volatile {
    names: Vec<PriorState>,
    /// Files written to, with the number of their bytes that are durable.
    contents: BTreeMap<PathBuf, u64>,
}

/// State of a name before an operation.
pub(super) struct PriorState {
    op: Op,
    path: PathBuf,
    from: Option<PathBuf>,
    /// Folders that must be synced before the operation is durable.
    waits_for: Vec<PathBuf>,
    /// Content and mode of the file that was at `path`.
    old: Option<(Vec<u8>, u32)>,
}

impl PriorState {
    pub(super) fn capture(op: Op, path: &Path, from: Option<&Path>) -> Self {
        let old = super::super::read::open_read(path).ok().and_then(|file| {
            let mut bytes = vec![0; usize::try_from(file.len()).ok()?];
            file.read_exact_at(&mut bytes, 0).ok()?;
            Some((bytes, file.mode()))
        });
        let waits_for =
            [Some(path), from].into_iter().flatten().filter_map(Path::parent).map(Path::to_path_buf).collect();
        Self { op, path: path.to_owned(), from: from.map(Path::to_path_buf), waits_for, old }
    }

    fn restore_old(&self) {
        let Some((bytes, mode)) = &self.old else { return };
        if let Ok(mut file) = open_empty(&self.path) {
            let _ = file.write_all(bytes);
            let _ = RealFs.raw_chmod(&self.path, *mode);
        }
    }

    fn undo(&self) {
        match self.op {
            Op::Create | Op::Link => drop(RealFs.raw_unlink(&self.path)),
            Op::MakeDir => drop(RealFs.raw_rmdir(&self.path)),
            Op::RemoveDir => drop(RealFs.raw_mkdir(&self.path, super::PRIVATE_FOLDER)),
            Op::Unlink => self.restore_old(),
            Op::Rename => {
                if let Some(from) = &self.from {
                    drop(RealFs.raw_rename(&self.path, from));
                }
                self.restore_old();
            }
            _ => {}
        }
    }
}

fn open_empty(path: &Path) -> std::io::Result<File> {
    use rustix::fs::{open, Mode, OFlags};
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    Ok(File::from(open(path, flags, Mode::from_raw_mode(super::PRIVATE_FILE))?))
}

impl Volatile {
    /// Records an operation on names.
    pub(super) fn named(&mut self, before: PriorState) {
        match (before.op, &before.from) {
            (Op::Create, _) => drop(self.contents.insert(before.path.clone(), 0)),
            (Op::Rename, Some(from)) => {
                self.contents.remove(&before.path);
                if let Some(durable) = self.contents.remove(from) {
                    self.contents.insert(before.path.clone(), durable);
                }
            }
            _ => {}
        }
        self.names.push(before);
    }
    /// Records that a file's content is durable.
    pub(super) fn synced_file(&mut self, path: &Path) {
        if let Ok(facts) = std::fs::symlink_metadata(path) {
            self.contents.insert(path.to_owned(), facts.len());
        }
    }
    /// Records that a file with this many durable bytes will be appended to.
    pub(super) fn opened(&mut self, path: &Path, bytes: u64) {
        self.contents.entry(path.to_owned()).or_insert(bytes);
    }
    /// Records that a folder's names are durable.
    pub(super) fn synced_folder(&mut self, folder: &Path) {
        self.names.retain_mut(|before| {
            before.waits_for.retain(|waiting| waiting != folder);
            !before.waits_for.is_empty()
        });
    }
    /// Simulates the power cut.
    pub(super) fn cut_power(&mut self) {
        use rustix::fs::{open, Mode, OFlags};
        let contents = std::mem::take(&mut self.contents);
        // A file with two names is durable as far as either of them was synced.
        let mut furthest: BTreeMap<u64, u64> = BTreeMap::new();
        for (path, durable) in &contents {
            if let Ok(facts) = std::fs::symlink_metadata(path) {
                let most = furthest.entry(facts.ino()).or_default();
                *most = (*most).max(*durable);
            }
        }
        for (path, durable) in contents {
            let inode = std::fs::symlink_metadata(&path).map(|facts| facts.ino());
            let durable = inode.ok().and_then(|inode| furthest.get(&inode).copied()).unwrap_or(durable);
            let is_longer = std::fs::symlink_metadata(&path).is_ok_and(|facts| facts.len() > durable);
            if !is_longer {
                continue;
            }
            if let Ok(file) = open(&path, OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()) {
                let _ = rustix::fs::ftruncate(&file, durable);
            }
        }
        for before in std::mem::take(&mut self.names).iter().rev() {
            before.undo();
        }
    }
}
