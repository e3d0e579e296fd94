//! Open files and objects, which are read at positions.
//!
//! With `GRISTMILL_SLOW_READS_MS` in the environment, every open, every metadata read and every read at a position takes that many
//! milliseconds longer (at most ten seconds), as on remote storage: for tests and benches of code that must not wait. For reads by SQLite,
//! the catalogs add the delay once per query.

use super::file_info::{FileInfo, FileKind};
use super::range_read::{buffer_for, RangeRead};
use gristmill_core::lfs::{is_lfs_pointer, MAX_LFS_POINTER_BYTES};
use gristmill_core::problem::Subject;
use gristmill_core::{Failure, FileStamp, Outcome};
use rustix::fs::{Mode, OFlags};
use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

/// A regular file, or an object of a store, open for reading. It may be shared between threads: every read specifies its position.
#[derive(Debug)]
pub struct ReadFile {
    source: Source,
    path: PathBuf,
    /// Kind, size and version at the time of opening.
    info: FileInfo,
    /// End of the range that is fetched, in bytes from the beginning of the file. A call of [`read_at`](Self::read_at) that begins before it
    /// ends there.
    fetched_to: u64,
}

/// Where the bytes of a file come from. Reads of local files are direct calls.
enum Source {
    Local(File),
    Remote(Box<dyn RangeRead>),
}

impl fmt::Debug for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local(file) => file.fmt(formatter),
            Self::Remote(_) => formatter.write_str("an object"),
        }
    }
}

/// Number of bytes of two files that are compared at a time.
pub(super) const COMPARED: usize = 256 << 10;
/// Flags by which files are opened: they neither block nor become the terminal of the process.
pub(crate) const OPEN_FLAGS: OFlags =
    OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);
/// The longest delay before a read.
const MAX_PAUSE: Duration = Duration::from_secs(10);

/// Waits for the time that `GRISTMILL_SLOW_READS_MS` specifies, if it is set.
pub fn pause() {
    static PAUSE: OnceLock<Option<Duration>> = OnceLock::new();
    let pause = PAUSE.get_or_init(|| {
        let text = std::env::var("GRISTMILL_SLOW_READS_MS").ok()?;
        let pause = Duration::from_millis(text.trim().parse().ok()?).min(MAX_PAUSE);
        (!pause.is_zero()).then_some(pause)
    });
    if let Some(pause) = pause {
        std::thread::sleep(*pause);
    }
}

/// Opens a regular file of this machine without blocking; another kind of file is refused.
pub(super) fn open_local(path: &Path) -> Outcome<ReadFile> {
    let failed = |error: &io::Error| Failure::io("opening", path, error);
    let file = loop {
        match rustix::fs::open(path, OPEN_FLAGS, Mode::empty()) {
            Err(rustix::io::Errno::INTR) => {}
            // The error for a socket, or for a device that does not exist.
            Err(rustix::io::Errno::NXIO) => return Err(not_regular(path, "a socket or device")),
            other => break File::from(other.map_err(|error| failed(&error.into()))?),
        }
    };
    let info = rustix::fs::fstat(&file).map(|stat| FileInfo::of_stat(&stat)).map_err(|error| failed(&error.into()))?;
    if info.kind != FileKind::File {
        return Err(not_regular(path, info.kind.with_article()));
    }
    Ok(ReadFile { source: Source::Local(file), path: path.to_owned(), info, fetched_to: u64::MAX })
}

/// Returns the failure of a path that is not a file.
pub(super) fn not_regular(path: &Path, word: &str) -> Failure {
    Failure::environment("opening", format!("it is {word}, not a file")).on(Subject::path(path))
}

/// Reads a file from its beginning to its end.
pub struct SequentialReader {
    file: ReadFile,
    at: u64,
}

impl io::Read for SequentialReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl ReadFile {
    /// Returns a file whose bytes are read from `ranges`.
    pub(crate) fn of_ranges(path: &Path, info: FileInfo, ranges: Box<dyn RangeRead>) -> Self {
        Self { source: Source::Remote(ranges), path: path.to_owned(), info, fetched_to: u64::MAX }
    }

    /// Sets the end of the range that is fetched.
    pub(super) fn fetched_to(self, end: u64) -> Self {
        Self { fetched_to: end, ..self }
    }

    /// Returns kind, size and version at the time of opening.
    pub(crate) fn info(&self) -> FileInfo {
        self.info
    }

    /// Returns a reader from the beginning of the file to its end.
    pub fn into_reader(self) -> SequentialReader {
        SequentialReader { file: self, at: 0 }
    }

    /// Reads up to `buf.len()` bytes at `offset`; returns 0 at the end of the file. An interrupted call is repeated.
    pub fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        match &self.source {
            Source::Local(file) => {
                pause();
                loop {
                    match file.read_at(buf, offset) {
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                        other => return other,
                    }
                }
            }
            Source::Remote(object) => self.read_object(buf, |buf| object.read_exact_at(buf, offset), offset),
        }
    }
    /// Like [`read_at`](Self::read_at), before a gap that is skipped: of an object, only these bytes are fetched.
    pub fn read_at_directly(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        match &self.source {
            Source::Local(_) => self.read_at(buf, offset),
            Source::Remote(object) => self.read_object(buf, |buf| object.read_at_directly(buf, offset), offset),
        }
    }
    /// Reads several ranges like [`read_at_directly`](Self::read_at_directly); ranges of an object are requested at once. Bytes after the
    /// end of the file are omitted.
    pub fn read_ranges_directly(&self, ranges: &[Range<u64>]) -> Vec<io::Result<Vec<u8>>> {
        let inside = ranges.iter().map(|range| range.start.min(self.len())..range.end.min(self.len()));
        let inside: Vec<Range<u64>> = inside.collect();
        match &self.source {
            Source::Local(_) => inside.iter().map(|range| self.read_range(range)).collect(),
            Source::Remote(object) => {
                pause();
                object.read_ranges_directly(&inside)
            }
        }
    }
    fn read_range(&self, range: &Range<u64>) -> io::Result<Vec<u8>> {
        let mut bytes = buffer_for(range)?;
        self.read_exact_at(&mut bytes, range.start)?;
        Ok(bytes)
    }
    /// Returns the minimum size of a gap, in bytes, that is skipped rather than read; `None` for a local file.
    pub fn bytes_worth_a_jump(&self) -> Option<u64> {
        match &self.source {
            Source::Local(_) => None,
            Source::Remote(object) => Some(object.bytes_worth_a_jump()),
        }
    }
    fn read_object(
        &self,
        buf: &mut [u8],
        read: impl FnOnce(&mut [u8]) -> io::Result<()>,
        offset: u64,
    ) -> io::Result<usize> {
        pause();
        let rest = usize::try_from(self.len().saturating_sub(offset)).unwrap_or(usize::MAX);
        let fetched = usize::try_from(self.fetched_to.saturating_sub(offset)).unwrap_or(usize::MAX);
        let count = rest.min(buf.len()).min(if fetched > 0 { fetched } else { usize::MAX });
        match buf.get_mut(..count).filter(|buf| !buf.is_empty()) {
            Some(buf) => read(buf).map(|()| count),
            None => Ok(0),
        }
    }
    /// Fills `buf` from `offset`; returns an error of kind `UnexpectedEof` if the file is too short.
    pub fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        pause();
        match &self.source {
            Source::Local(file) => file.read_exact_at(buf, offset),
            Source::Remote(_) if buf.is_empty() => Ok(()),
            Source::Remote(_) if offset.checked_add(buf.len() as u64).is_none_or(|end| end > self.len()) => {
                Err(io::ErrorKind::UnexpectedEof.into())
            }
            Source::Remote(object) => object.read_exact_at(buf, offset),
        }
    }
    /// Whether the file is a Git LFS pointer. The content is read only if the file has the size of a pointer.
    pub fn is_lfs_pointer(&self) -> Outcome<bool> {
        if self.is_empty() || self.len() > MAX_LFS_POINTER_BYTES {
            return Ok(false);
        }
        let mut content = vec![0; usize::try_from(self.len()).unwrap_or_default()];
        match self.read_exact_at(&mut content, 0) {
            Ok(()) => Ok(is_lfs_pointer(&content)),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(Failure::io("reading", &self.path, &error)),
        }
    }
    /// Disables read-ahead, for files that are read in random order. Has no effect where the system does not support it.
    pub fn hint_random_access(&self) {
        if let Source::Local(file) = &self.source {
            let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::Random);
        }
    }
    /// Whether another file has identical content. Also `false` if the other file ends early while it is read.
    pub fn is_same_as(&self, other: &Self) -> Outcome<bool> {
        if self.len() != other.len() {
            return Ok(false);
        }
        let (mut ours, mut theirs) = (vec![0; COMPARED], vec![0; COMPARED]);
        let mut at = 0;
        while at < self.len() {
            let count = usize::try_from(self.len() - at).unwrap_or(usize::MAX).min(COMPARED);
            let (Some(ours), Some(theirs)) = (ours.get_mut(..count), theirs.get_mut(..count)) else { return Ok(false) };
            self.read_exact_at(ours, at).map_err(|error| Failure::io("reading", &self.path, &error))?;
            if other.read_exact_at(theirs, at).is_err() || ours != theirs {
                return Ok(false);
            }
            at += count as u64;
        }
        Ok(true)
    }
    /// Returns the size in bytes at the time of opening.
    pub fn len(&self) -> u64 {
        self.info.len()
    }
    /// Whether the file was empty at the time of opening.
    pub fn is_empty(&self) -> bool {
        self.info.is_empty()
    }
    /// Returns the current size, time and inode of the open file (not of the file that its path refers to now). The stamp of an object
    /// never changes: reads fail if it was replaced.
    pub fn stamp(&self) -> io::Result<FileStamp> {
        match &self.source {
            Source::Local(file) => Ok(FileInfo::of_stat(&rustix::fs::fstat(file)?).stamp),
            Source::Remote(_) => Ok(self.info.stamp),
        }
    }
    /// Returns the permission bits (`mode & 0o7777`).
    pub fn mode(&self) -> u32 {
        self.info.mode
    }
    /// Returns the path that was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }
}
