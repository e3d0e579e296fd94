//! Safe reads at positions: opening a path never blocks, whatever kind of file it is.
//!
//! With `GRISTMILL_SLOW_READS_MS` in the environment, every open, every metadata read and every read at a position takes that many
//! milliseconds longer (at most ten seconds), as on remote storage: for tests and benches of code that must not wait. For reads by SQLite,
//! the catalogs add the delay once per query.

use super::files::{metadata, FileInfo, FileKind};
use super::files_ahead;
use super::kept::{open_with_read_cache, OpenedObject};
use super::location::{Location, RemoteUrl};
use super::parts_ahead::{self, PartsAhead};
use super::range_read::{buffer_for, AFTER_PART_BYTES};
use super::store::{store_of, RangeRead};
use gristmill_core::lfs::{is_lfs_pointer, LFS_HINT, LFS_POINTER, MAX_LFS_POINTER_BYTES};
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
const COMPARED: usize = 256 << 10;
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

/// Opens a regular file, following symbolic links. A folder, fifo, device or socket is refused without blocking, and so is a Git LFS
/// pointer in place of the file.
pub fn open_read(path: &Path) -> Outcome<ReadFile> {
    not_pointer(open_any(path)?)
}

/// Returns a file; fails if it is a Git LFS pointer.
pub fn not_pointer(file: ReadFile) -> Outcome<ReadFile> {
    match file.is_lfs_pointer()? {
        true => Err(Failure::data("reading", LFS_POINTER).on(Subject::path(&file.path)).with_hint(LFS_HINT)),
        false => Ok(file),
    }
}

/// Like [`open_read`], for a part that is read in order. The part may end after the file. Of an object, only this part is fetched ahead.
pub fn open_part(path: &Path, part: Range<u64>) -> Outcome<ReadFile> {
    match Location::of(path) {
        Location::Remote(url) if part != (0..u64::MAX) => {
            let fetched_to = part.end.saturating_add(AFTER_PART_BYTES);
            let object = parts_ahead::take(path, &part).map_or_else(
                || {
                    pause();
                    open_object(path, &url, Some(part))
                },
                Ok,
            );
            read_file(path, object).map(|file| ReadFile { fetched_to, ..file })
        }
        _ => open_read(path),
    }
}

/// Opens a part of an object for the next call of [`open_part`] with the same part. Has no effect for a local file, or for an object that
/// cannot be opened: that call reports the error.
pub fn open_part_ahead(path: &Path, part: Range<u64>, parts: &PartsAhead) {
    let Location::Remote(url) = Location::of(path) else { return };
    // The first part is opened earlier, to determine the kind of the file.
    if part.start == 0 || !parts.has_room() {
        return;
    }
    if let Ok(object) = open_object(path, &url, Some(part.clone())) {
        parts.put(path, part, object);
    }
}

/// Like [`open_read`], but also opens a Git LFS pointer.
pub fn open_any(path: &Path) -> Outcome<ReadFile> {
    pause();
    match Location::of(path) {
        Location::Local(path) => open_local(path),
        Location::Remote(url) => read_file(path, open_object(path, &url, None)),
    }
}

/// Like [`open_any`], for a file of about this size that is read in order to its end.
pub(super) fn open_in_order(path: &Path, bytes: u64) -> Outcome<ReadFile> {
    match Location::of(path) {
        Location::Remote(url) => {
            pause();
            read_file(path, open_object(path, &url, Some(0..bytes)))
        }
        Location::Local(_) => open_any(path),
    }
}

/// Opens an object, with its cached or fetched bytes if possible.
fn open_object(path: &Path, url: &RemoteUrl<'_>, part: Option<Range<u64>>) -> io::Result<OpenedObject> {
    let (url_path, wanted) = (url.to_path(), part.clone());
    let open = move || {
        let (path, wanted) = (url_path.clone(), wanted.clone());
        let open = move || {
            let url = RemoteUrl::parse(&path).ok_or(io::ErrorKind::NotFound)?;
            let store = store_of(&url)?;
            match wanted.clone() {
                Some(part) => store.open_part(&url, part),
                None => store.open(&url),
            }
        };
        files_ahead::open(&url_path, Box::new(open))
    };
    open_with_read_cache(path, part, Box::new(open))
}

/// Opens a file like [`open_read`]; `None` if it does not exist.
fn open_if_any(path: &Path) -> Outcome<Option<ReadFile>> {
    if let Location::Remote(url) = Location::of(path) {
        pause();
        // The first request for its bytes shows whether it exists.
        return match open_object(path, &url, None) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            opened => read_file(path, opened).and_then(not_pointer).map(Some),
        };
    }
    // A path below a file does not exist either.
    let is_absent = |kind| matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
    match metadata(path) {
        Err(error) if is_absent(error.kind()) => Ok(None),
        _ => open_read(path).map(Some),
    }
}

fn read_file(path: &Path, opened: io::Result<(FileInfo, Box<dyn RangeRead>)>) -> Outcome<ReadFile> {
    match opened {
        Ok((info, object)) => Ok(ReadFile::of_ranges(path, info, object)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => match metadata(path) {
            Ok(info) if info.is_dir() => Err(not_regular(path, info.kind.with_article())),
            _ => Err(Failure::io("opening", path, &error)),
        },
        Err(error) => Err(Failure::io("opening", path, &error)),
    }
}

fn open_local(path: &Path) -> Outcome<ReadFile> {
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

fn not_regular(path: &Path, word: &str) -> Failure {
    Failure::environment("opening", format!("it is {word}, not a file")).on(Subject::path(path))
}

/// Returns the stamp of a path, following symbolic links.
pub fn stamp_at(path: &Path) -> Outcome<FileStamp> {
    pause();
    metadata(path).map(|info| info.stamp).map_err(|error| Failure::io("opening", path, &error))
}

/// Reads a whole regular file of at most `limit` bytes; `None` if it does not exist.
pub fn read_whole(path: &Path, limit: u64) -> Outcome<Option<Vec<u8>>> {
    Ok(read_version(path, limit)?.map(|(_, bytes)| bytes))
}

/// Reads a whole file like [`read_whole`], and also returns its version.
pub(super) fn read_version(path: &Path, limit: u64) -> Outcome<Option<(FileStamp, Vec<u8>)>> {
    let Some(file) = open_if_any(path)? else { return Ok(None) };
    let size = file.len();
    let fits = usize::try_from(size).ok().filter(|_| size <= limit);
    let Some(size) = fits else {
        let why = format!("it is {} large, over the limit of {}", text_size(size), text_size(limit));
        return Err(Failure::environment("reading", why).on(Subject::path(path)));
    };
    let mut bytes = vec![0; size];
    file.read_exact_at(&mut bytes, 0).map_err(|error| Failure::io("reading", path, &error))?;
    Ok(Some((file.info.stamp, bytes)))
}

fn text_size(bytes: u64) -> String {
    gristmill_core::text::bytes(bytes)
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

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_core::ExitClass;
    use std::os::unix::fs::symlink;

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    fn put(path: &Path, bytes: &[u8]) {
        crate::publish::write_file(&crate::fs::RealFs, path, bytes, 0o640).unwrap();
    }

    #[test]
    fn reads_at_positions_through_a_symbolic_link() {
        let dir = folder();
        let path = dir.path().join("a");
        put(&path, b"0123456789");
        symlink(&path, dir.path().join("l")).unwrap();
        let file = open_read(&dir.path().join("l")).unwrap();
        let mut buf = [0; 4];
        file.read_exact_at(&mut buf, 3).unwrap();
        assert_eq!(&buf, b"3456");
        assert_eq!(file.read_at(&mut buf, 8).unwrap(), 2);
        assert_eq!(file.read_at(&mut buf, 10).unwrap(), 0);
        assert_eq!(file.read_exact_at(&mut buf, 8).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert_eq!((file.len(), file.mode()), (10, 0o640));
        assert_eq!(file.stamp().unwrap(), stamp_at(&path).unwrap());
    }

    #[test]
    fn files_are_equal_only_if_every_byte_is_equal() {
        let dir = folder();
        let long: Vec<u8> = (0..COMPARED * 2 + 17).map(|at| (at % 251) as u8).collect();
        let open = |name: &str, bytes: &[u8]| {
            put(&dir.path().join(name), bytes);
            open_read(&dir.path().join(name)).unwrap()
        };
        let one = open("one", &long);
        assert!(one.is_same_as(&open("two", &long)).unwrap());
        for at in [0, COMPARED - 1, COMPARED, long.len() - 1] {
            let mut other = long.clone();
            other[at] ^= 1;
            assert!(!one.is_same_as(&open("other", &other)).unwrap(), "{at}");
        }
        assert!(!one.is_same_as(&open("short", &long[1..])).unwrap());
        assert!(open("empty", b"").is_same_as(&open("empty too", b"")).unwrap());
    }

    #[test]
    fn folders_fifos_and_sockets_are_refused_without_blocking() {
        let dir = folder();
        let fifo = dir.path().join("f");
        rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, Mode::from_raw_mode(0o600)).unwrap();
        let socket = dir.path().join("s");
        let _keep = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        for path in [dir.path(), &fifo, &socket, Path::new("/dev/null")] {
            let failure = open_read(path).unwrap_err();
            assert_eq!(failure.class, ExitClass::Environment, "{failure}");
            assert!(failure.why.contains("not a file"), "{failure}");
        }
    }

    #[test]
    fn a_missing_file_is_named() {
        let failure = open_read(Path::new("/nonexistent/x.tar")).unwrap_err();
        assert_eq!(failure.to_string(), "opening failed on /nonexistent/x.tar: no such file or folder");
    }

    #[test]
    fn partial_read_ends_at_the_end_of_the_fetched_part() {
        let (path, end) = (Path::new("mem://read/part"), 100 + AFTER_PART_BYTES);
        crate::memory_store::put(path, &vec![7; 100_000]);
        let part = open_part(path, 10..100).unwrap();
        let mut buf = vec![0; 50_000];
        assert_eq!(part.read_at(&mut buf, 10).unwrap() as u64, end - 10);
        assert_eq!(part.read_at(&mut buf, end).unwrap(), 50_000);
        assert_eq!(part.read_at(&mut buf, 90_000).unwrap(), 10_000);
    }

    #[test]
    fn whole_files_are_read_up_to_a_limit() {
        let dir = folder();
        let path = dir.path().join("a");
        assert_eq!(read_whole(&path, 10).unwrap(), None);
        put(&path, b"0123456789");
        assert_eq!(read_whole(&path, 10).unwrap().unwrap(), b"0123456789");
        assert_eq!(read_whole(&path.join("below/a/file"), 10).unwrap(), None);
        assert!(read_whole(&path, 9).unwrap_err().why.contains("limit"));
    }
}
