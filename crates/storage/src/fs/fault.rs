//! A file system that fails on purpose: the test double for failures at any moment.
//!
//! It writes to the real disk until operation `k`, counted from 0, and then does what its [`Fault`] specifies.

use super::{Disk, DiskFile, RealFs};
use gristmill_core::Mutex;
use rustix::io::Errno;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The kind of failure, and the operation at which it occurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No failure; operations are only counted.
    Nothing,
    /// Operation `at` fails once.
    Once {
        /// Number of the operation.
        at: u64,
        /// Error that it returns.
        errno: Errno,
    },
    /// Every operation from `at` onwards fails.
    From {
        /// Number of the first operation that fails.
        at: u64,
        /// Error that it returns.
        errno: Errno,
    },
    /// From `at` onwards, every operation that needs space fails; removing, renaming and syncing folders still work.
    Full {
        /// Number of the first operation that fails.
        at: u64,
        /// Error that it returns.
        errno: Errno,
    },
    /// If operation `at` is a write, only half of it is accepted; the caller has to continue.
    Short {
        /// Number of the operation.
        at: u64,
    },
    /// The process is killed at operation `at`: half of a write still reaches the disk, and nothing after it does.
    Kill {
        /// Number of the operation that is interrupted.
        at: u64,
    },
    /// The power fails at operation `at`: nothing after it reaches the disk, and everything that was not synced before is undone.
    PowerCut {
        /// Number of the first operation that is lost.
        at: u64,
    },
}

/// A kind of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Creating or opening a file.
    Create,
    /// Writing to a file.
    Write,
    /// Syncing a file.
    Sync,
    /// Closing a file.
    Close,
    /// Renaming.
    Rename,
    /// Creating a hard link.
    Link,
    /// Removing a file.
    Unlink,
    /// Creating a folder.
    MakeDir,
    /// Removing a folder.
    RemoveDir,
    /// Setting permissions.
    SetMode,
    /// Syncing a folder.
    SyncDir,
}

impl Op {
    fn needs_space(self) -> bool {
        matches!(self, Self::Create | Self::Write | Self::Sync | Self::Link | Self::MakeDir)
    }
}

/// A file system that fails on purpose. Clones share all state.
#[derive(Clone)]
pub struct FaultFs {
    shared: Arc<Shared>,
}

struct Shared {
    fault: Fault,
    other_filesystem: Option<PathBuf>,
    watch: Option<Watch>,
    state: Mutex<State>,
}

/// Callback invoked before each operation.
type Watch = Box<dyn Fn(Op) + Send + Sync>;

#[derive(Default)]
struct State {
    count: u64,
    log: Vec<(Op, PathBuf)>,
    /// Path, offset and length in bytes.
    released_ranges: Vec<(PathBuf, u64, u64)>,
    has_lost_power: bool,
    memory: super::volatile::Volatile,
}

/// How an operation is executed.
enum Verdict {
    Do,
    DoHalf,
    Fail(io::Error),
    DoHalfThenFail(io::Error),
}

impl FaultFs {
    /// Creates a file system with one fault.
    pub fn new(fault: Fault) -> Self {
        Self { shared: Arc::new(Shared { fault, other_filesystem: None, watch: None, state: Mutex::default() }) }
    }
    /// Creates a file system without faults that calls `watch` before each operation.
    pub fn watched(watch: impl Fn(Op) + Send + Sync + 'static) -> Self {
        let (fault, watch) = (Fault::Nothing, Some(Box::new(watch) as Watch));
        Self { shared: Arc::new(Shared { fault, other_filesystem: None, watch, state: Mutex::default() }) }
    }
    /// Creates a file system with one fault in which everything below `folder` behaves as if it were on another file system.
    pub fn with_other_filesystem(fault: Fault, folder: &Path) -> Self {
        let other_filesystem = Some(folder.to_owned());
        Self { shared: Arc::new(Shared { fault, other_filesystem, watch: None, state: Mutex::default() }) }
    }
    /// Fails as the system does if the two paths are on different file systems.
    fn check_same_filesystem(&self, from: &Path, to: &Path) -> io::Result<()> {
        match &self.shared.other_filesystem {
            Some(other) if from.starts_with(other) != to.starts_with(other) => Err(Errno::XDEV.into()),
            _ => Ok(()),
        }
    }
    /// Returns the number of operations requested so far, including failed ones.
    pub fn ops(&self) -> u64 {
        self.shared.state.lock().count
    }
    /// Returns every operation requested so far.
    pub fn log(&self) -> Vec<(Op, PathBuf)> {
        self.shared.state.lock().log.clone()
    }
    /// Returns the ranges released from the page cache so far: file, offset and length in bytes. Releasing is not an operation: it changes
    /// nothing and cannot fail.
    pub fn released_ranges(&self) -> Vec<(PathBuf, u64, u64)> {
        self.shared.state.lock().released_ranges.clone()
    }
    fn next_verdict(&self, op: Op, path: &Path) -> Verdict {
        if let Some(watch) = &self.shared.watch {
            watch(op);
        }
        let mut state = self.shared.state.lock();
        let now = state.count;
        state.count += 1;
        state.log.push((op, path.to_owned()));
        let fail = |errno: Errno| Verdict::Fail(errno.into());
        match self.shared.fault {
            Fault::Once { at, errno } if now == at => fail(errno),
            Fault::From { at, errno } if now >= at => fail(errno),
            Fault::Full { at, errno } if now >= at && op.needs_space() => fail(errno),
            Fault::Short { at } if now == at => Verdict::DoHalf,
            Fault::Kill { at } if now == at => Verdict::DoHalfThenFail(Errno::IO.into()),
            Fault::Kill { at } if now > at => fail(Errno::IO),
            Fault::PowerCut { at } if now >= at => {
                if !std::mem::replace(&mut state.has_lost_power, true) {
                    state.memory.cut_power();
                }
                fail(Errno::IO)
            }
            _ => Verdict::Do,
        }
    }
    /// Runs an operation that cannot be half done.
    fn run_atomic<T>(&self, op: Op, path: &Path, run: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        match self.next_verdict(op, path) {
            Verdict::Do | Verdict::DoHalf => run(),
            Verdict::Fail(error) | Verdict::DoHalfThenFail(error) => Err(error),
        }
    }
    /// Runs an operation on names and stores how to undo it until its folder is synced.
    fn naming(&self, op: Op, path: &Path, from: Option<&Path>, run: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let tracks = matches!(self.shared.fault, Fault::PowerCut { .. });
        self.run_atomic(op, path, || {
            let before = tracks.then(|| super::volatile::PriorState::capture(op, path, from));
            run()?;
            if let Some(before) = before {
                self.shared.state.lock().memory.named(before);
            }
            Ok(())
        })
    }
}

struct FaultFile {
    fs: FaultFs,
    path: PathBuf,
    inner: Box<dyn DiskFile>,
}

impl FaultFile {
    fn write_with(
        &mut self,
        bytes: &[u8],
        mut write: impl FnMut(&mut dyn DiskFile, &[u8]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let half = bytes.get(..bytes.len().div_ceil(2)).unwrap_or_default();
        match self.fs.next_verdict(Op::Write, &self.path) {
            Verdict::Do => write(&mut *self.inner, bytes),
            Verdict::DoHalf => write(&mut *self.inner, half),
            Verdict::Fail(error) => Err(error),
            Verdict::DoHalfThenFail(error) => {
                write(&mut *self.inner, half)?;
                Err(error)
            }
        }
    }
}

impl DiskFile for FaultFile {
    fn raw_write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_with(bytes, |inner, bytes| inner.raw_write(bytes))
    }
    fn raw_write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.write_with(bytes, |inner, bytes| inner.raw_write_at(bytes, offset))
    }
    fn raw_sync(&mut self) -> io::Result<()> {
        let Self { fs, path, inner } = self;
        fs.run_atomic(Op::Sync, path, || inner.raw_sync())?;
        fs.shared.state.lock().memory.synced_file(path);
        Ok(())
    }
    fn raw_start_sync(&mut self) {
        self.inner.raw_start_sync();
    }
    fn raw_release_range(&mut self, from: u64, length: u64) {
        self.fs.shared.state.lock().released_ranges.push((self.path.clone(), from, length));
        self.inner.raw_release_range(from, length);
    }
    fn raw_set_mode(&mut self, mode: u32) -> io::Result<()> {
        let Self { fs, path, inner } = self;
        fs.run_atomic(Op::SetMode, path, || inner.raw_set_mode(mode))
    }
    fn raw_close(self: Box<Self>) -> io::Result<()> {
        let Self { fs, path, inner } = *self;
        fs.run_atomic(Op::Close, &path, || inner.raw_close())
    }
}

impl Disk for FaultFs {
    fn raw_create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let mut inner = None;
        self.naming(Op::Create, path, None, || {
            inner = Some(RealFs.raw_create(path)?);
            Ok(())
        })?;
        let inner = inner.ok_or(io::ErrorKind::Other)?;
        Ok(Box::new(FaultFile { fs: self.clone(), path: path.to_owned(), inner }))
    }
    fn raw_append(&self, path: &Path) -> io::Result<(Box<dyn DiskFile>, u64)> {
        let (inner, bytes) = self.run_atomic(Op::Create, path, || RealFs.raw_append(path))?;
        self.shared.state.lock().memory.opened(path, bytes);
        Ok((Box::new(FaultFile { fs: self.clone(), path: path.to_owned(), inner }), bytes))
    }
    fn raw_reopen(&self, path: &Path, length: u64) -> io::Result<Box<dyn DiskFile>> {
        let bytes = std::fs::metadata(path).map_or(length, |facts| facts.len());
        let inner = self.run_atomic(Op::Create, path, || RealFs.raw_reopen(path, length))?;
        self.shared.state.lock().memory.opened(path, bytes.min(length));
        Ok(Box::new(FaultFile { fs: self.clone(), path: path.to_owned(), inner }))
    }
    fn raw_sync_file(&self, path: &Path) -> io::Result<()> {
        self.run_atomic(Op::Sync, path, || RealFs.raw_sync_file(path))?;
        self.shared.state.lock().memory.synced_file(path);
        Ok(())
    }
    fn raw_sync_dir(&self, path: &Path) -> io::Result<()> {
        self.run_atomic(Op::SyncDir, path, || RealFs.raw_sync_dir(path))?;
        self.shared.state.lock().memory.synced_folder(path);
        Ok(())
    }
    fn raw_rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.naming(Op::Rename, to, Some(from), || {
            self.check_same_filesystem(from, to)?;
            RealFs.raw_rename(from, to)
        })
    }
    fn raw_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.naming(Op::Link, to, None, || {
            self.check_same_filesystem(from, to)?;
            RealFs.raw_link(from, to)
        })
    }
    fn raw_symlink(&self, target: &Path, at: &Path) -> io::Result<()> {
        self.naming(Op::Link, at, None, || RealFs.raw_symlink(target, at))
    }
    fn raw_unlink(&self, path: &Path) -> io::Result<()> {
        self.naming(Op::Unlink, path, None, || RealFs.raw_unlink(path))
    }
    fn raw_mkdir(&self, path: &Path, mode: u32) -> io::Result<()> {
        self.naming(Op::MakeDir, path, None, || RealFs.raw_mkdir(path, mode))
    }
    fn raw_rmdir(&self, path: &Path) -> io::Result<()> {
        self.naming(Op::RemoveDir, path, None, || RealFs.raw_rmdir(path))
    }
    fn raw_chmod(&self, path: &Path, mode: u32) -> io::Result<()> {
        self.run_atomic(Op::SetMode, path, || RealFs.raw_chmod(path, mode))
    }
}
