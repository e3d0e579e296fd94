//! Stores bytes of objects that a run reads more than once in a local file, so that each byte is fetched once.

use super::file_info::FileInfo;
use super::range_read::{buffer_for, RangeRead};
use gristmill_core::{Failure, FileStamp, Mutex, Outcome, Subject};
use rustix::fs::{Mode, OFlags};
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};

/// Permission bits of the file.
const MODE: Mode = Mode::RUSR.union(Mode::WUSR);

/// Maximum number of bytes that are read to determine the kind of an object. A reader that has read no more can be reused.
const MAX_CACHED_READ_BYTES: u64 = 4 << 10;

/// The objects whose bytes are cached, by their paths.
static CACHED_OBJECTS: LazyLock<Mutex<HashMap<PathBuf, Arc<CachedObjectFile>>>> = LazyLock::new(Mutex::default);

/// While a value of this type exists, bytes read from its objects are cached and later read locally.
#[derive(Debug, Default)]
pub struct ReadCache(Vec<(PathBuf, Arc<CachedObjectFile>)>);

/// An object whose bytes are cached.
#[derive(Debug)]
struct CachedObjectFile {
    /// The file with the bytes of all objects. It has no name.
    file: Arc<File>,
    /// Offset of the object in the file, and its size when it was listed, in bytes.
    base: u64,
    bytes: u64,
    /// The version that was opened first; only its bytes are cached.
    info: OnceLock<FileInfo>,
    /// Start and end of the cached ranges.
    ranges: Mutex<BTreeMap<u64, u64>>,
    /// Number of bytes whose transfer takes as long as a request, from the last reader that was asked; 0 if none was.
    worth_a_jump: AtomicU64,
    /// Whether caching of further reads has stopped.
    is_closed: AtomicBool,
    /// A reader that has read at most the beginning of the object; the next open reuses it.
    spare: SpareReader,
}

/// A reader of an object in its store, if there is one.
#[derive(Default)]
struct SpareReader(Mutex<Option<Box<dyn RangeRead>>>);

impl SpareReader {
    fn swap_reader(&self, reader: Option<Box<dyn RangeRead>>) -> Option<Box<dyn RangeRead>> {
        std::mem::replace(&mut *self.0.lock(), reader)
    }
}

impl std::fmt::Debug for SpareReader {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Spare")
    }
}

impl ReadCache {
    /// Starts to cache reads of objects, given by path and size in bytes, in a file in `folder`. Objects beyond a total of `limit` bytes
    /// are not cached.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn begin<'a>(folder: &Path, limit: u64, files: impl Iterator<Item = (&'a Path, u64)>) -> Outcome<Self> {
        let mut files = files.filter(|(_, bytes)| *bytes > 0).peekable();
        if files.peek().is_none() {
            return Ok(Self::default());
        }
        let file = Arc::new(create(folder)?);
        let (mut kept, mut base) = (Vec::new(), 0_u64);
        let mut all = CACHED_OBJECTS.lock();
        for (path, bytes) in files {
            if base.saturating_add(bytes) > limit || all.contains_key(path) {
                continue;
            }
            let (info, ranges) = (OnceLock::new(), Mutex::default());
            let (file, is_closed) = (Arc::clone(&file), AtomicBool::new(false));
            let (spare, worth_a_jump) = (SpareReader::default(), AtomicU64::new(0));
            let object = CachedObjectFile { file, base, bytes, info, ranges, worth_a_jump, is_closed, spare };
            let object = Arc::new(object);
            all.insert(path.to_owned(), Arc::clone(&object));
            kept.push((path.to_owned(), object));
            base += bytes;
        }
        Ok(Self(kept))
    }

    /// Returns the size of the objects, in bytes.
    pub fn bytes(&self) -> u64 {
        self.0.iter().map(|(_, object)| object.bytes).sum()
    }

    /// Stops caching further bytes; cached bytes stay available.
    pub fn close(&self) {
        for (_, object) in &self.0 {
            object.is_closed.store(true, Ordering::Relaxed);
            object.spare.swap_reader(None);
        }
    }
}

impl Drop for ReadCache {
    fn drop(&mut self) {
        let mut all = CACHED_OBJECTS.lock();
        self.0.iter().for_each(|(path, _)| _ = all.remove(path));
    }
}

/// Creates a file without a name: its space is freed when the process ends, even if it is killed.
fn create(folder: &Path) -> Outcome<File> {
    let path = folder.join(format!("kept-{}", uuid::Uuid::new_v4().simple()));
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let file = rustix::fs::open(&path, flags, MODE).map_err(|error| Failure::io("creating", &path, &error.into()))?;
    rustix::fs::unlink(&path).map_err(|error| Failure::io("removing", &path, &error.into()))?;
    Ok(file.into())
}

/// Opens an object in its store.
pub(super) type OpenObject = Box<dyn Fn() -> io::Result<OpenedObject> + Send + Sync>;

/// Kind, size and version of an opened object, and its reader.
pub(super) type OpenedObject = (FileInfo, Box<dyn RangeRead>);

/// Opens an object, with its cached bytes if possible. `part` is the range that is read in order, if known.
pub(super) fn open_with_read_cache(
    path: &Path,
    part: Option<Range<u64>>,
    open: OpenObject,
) -> io::Result<OpenedObject> {
    let object = CACHED_OBJECTS.lock().get(path).map(Arc::clone);
    let Some(object) = object else { return open() };
    let path = path.to_owned();
    let spare = if part.is_none() { object.spare.swap_reader(None) } else { None };
    if let (Some(info), Some(remote)) = (object.info.get(), spare) {
        let info = *info;
        return Ok((info, Box::new(CachedRead::new(object, path, open, OnceLock::from(remote)))));
    }
    // If the beginning is cached, the cache may contain everything the reader needs; otherwise the object is opened later.
    let wanted = part.unwrap_or(0..1);
    // Once the cache is closed, most bytes are cached; the first request for others compares the version.
    let is_kept = |info: &&FileInfo| {
        object.is_closed.load(Ordering::Relaxed) || object.has(&(wanted.start..wanted.end.min(info.len())))
    };
    if let Some(info) = object.info.get().filter(is_kept) {
        let info = *info;
        return Ok((info, Box::new(CachedRead::new(object, path, open, OnceLock::new()))));
    }
    let (info, remote) = open()?;
    if info.len() != object.bytes {
        // The object has grown beyond the space reserved for it.
        return Ok((info, remote));
    }
    Ok(match *object.info.get_or_init(|| info) == info {
        true => (info, Box::new(CachedRead::new(object, path, open, OnceLock::from(remote)))),
        // The object was replaced: readers detect this by its version.
        false => (info, remote),
    })
}

impl CachedObjectFile {
    fn has(&self, range: &Range<u64>) -> bool {
        let ranges = self.ranges.lock();
        let before = ranges.range(..=range.start).next_back();
        range.is_empty() || before.is_some_and(|(_, end)| *end >= range.end)
    }

    /// Caches bytes of the object. A full disk is not an error: the bytes are fetched again.
    fn keep(&self, bytes: &[u8], offset: u64) {
        if self.is_closed.load(Ordering::Relaxed) || self.file.write_all_at(bytes, self.base + offset).is_err() {
            return;
        }
        let (mut start, mut end) = (offset, offset + bytes.len() as u64);
        let mut ranges = self.ranges.lock();
        while let Some((&from, &to)) = ranges.range(..=end).next_back().filter(|(_, to)| **to >= start) {
            ranges.remove(&from);
            (start, end) = (start.min(from), end.max(to));
        }
        ranges.insert(start, end);
    }
}

/// Opens an object unless it is open already.
///
/// # Errors
/// It cannot be opened, or its stamp is not `stamp`.
pub(super) fn open_once<'a>(
    opened: &'a OnceLock<Box<dyn RangeRead>>,
    open: &OpenObject,
    path: &Path,
    stamp: Option<FileStamp>,
) -> io::Result<&'a dyn RangeRead> {
    if let Some(object) = opened.get() {
        return Ok(&**object);
    }
    let (info, object) = open()?;
    if stamp != Some(info.stamp) {
        return Err(Failure::data("reading", "it changed while it was read")
            .on(Subject::path(path))
            .with_hint("wait until no program writes to it, then run the same command again")
            .into_io());
    }
    Ok(&**opened.get_or_init(|| object))
}

/// Reads cached bytes of an object locally, and others from its store.
struct CachedRead {
    object: Arc<CachedObjectFile>,
    path: PathBuf,
    open: OpenObject,
    remote: OnceLock<Box<dyn RangeRead>>,
    /// End of the last read in order; `u64::MAX` before the first.
    next: AtomicU64,
}

impl CachedRead {
    fn new(
        object: Arc<CachedObjectFile>,
        path: PathBuf,
        open: OpenObject,
        remote: OnceLock<Box<dyn RangeRead>>,
    ) -> Self {
        Self { object, path, open, remote, next: AtomicU64::new(u64::MAX) }
    }

    /// Returns the object in its store; opens it when the first uncached byte is read.
    fn remote(&self) -> io::Result<&dyn RangeRead> {
        let stamp = self.object.info.get().map(|info| info.stamp);
        open_once(&self.remote, &self.open, &self.path, stamp)
    }

    fn read(
        &self,
        buffer: &mut [u8],
        offset: u64,
        fetch: impl FnOnce(&dyn RangeRead, &mut [u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        if self.object.has(&(offset..offset + buffer.len() as u64)) {
            return self.object.file.read_exact_at(buffer, self.object.base + offset);
        }
        fetch(self.remote()?, buffer)?;
        self.object.keep(buffer, offset);
        Ok(())
    }

    /// Caches a small gap that a sequential reader skips before an offset, since it is fetched with the rest.
    fn keep_gap(&self, offset: u64) {
        let start = self.next.load(Ordering::Relaxed);
        let is_kept = start >= offset || self.object.is_closed.load(Ordering::Relaxed);
        let Some(remote) = self.remote.get().filter(|_| !is_kept) else { return };
        if offset - start > remote.bytes_worth_a_jump() {
            return;
        }
        let Ok(mut gap) = buffer_for(&(start..offset)) else { return };
        if remote.read_exact_at(&mut gap, start).is_ok() {
            self.object.keep(&gap, start);
        }
    }
}

impl Drop for CachedRead {
    fn drop(&mut self) {
        let is_begun = self.next.load(Ordering::Relaxed) > MAX_CACHED_READ_BYTES;
        if !is_begun && !self.object.is_closed.load(Ordering::Relaxed) {
            self.object.spare.swap_reader(self.remote.take());
        }
    }
}

impl RangeRead for CachedRead {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.keep_gap(offset);
        self.next.store(offset + buffer.len() as u64, Ordering::Relaxed);
        self.read(buffer, offset, |remote, buffer| remote.read_exact_at(buffer, offset))
    }

    fn read_at_directly(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.read(buffer, offset, |remote, buffer| remote.read_at_directly(buffer, offset))
    }

    fn read_ranges_directly(&self, ranges: &[Range<u64>]) -> Vec<io::Result<Vec<u8>>> {
        let has_some = ranges.iter().any(|range| self.object.has(range));
        if let (false, Ok(remote)) = (has_some, self.remote()) {
            let read = remote.read_ranges_directly(ranges);
            let keep = |range: &Range<u64>, bytes: &io::Result<Vec<u8>>| {
                bytes.iter().for_each(|bytes| self.object.keep(bytes, range.start))
            };
            ranges.iter().zip(&read).for_each(|(range, bytes)| keep(range, bytes));
            return read;
        }
        let read = |range: &Range<u64>| {
            let mut bytes = buffer_for(range)?;
            self.read_at_directly(&mut bytes, range.start)?;
            Ok(bytes)
        };
        ranges.iter().map(read).collect()
    }

    fn bytes_worth_a_jump(&self) -> u64 {
        let known = self.object.worth_a_jump.load(Ordering::Relaxed);
        if known > 0 && self.remote.get().is_none() {
            // The object is not opened for this number alone: all bytes that are read may be cached.
            return known;
        }
        let bytes = self.remote().map_or(0, RangeRead::bytes_worth_a_jump);
        self.object.worth_a_jump.store(bytes, Ordering::Relaxed);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory_store::put;
    use crate::read::{open_part, open_read};

    #[test]
    fn read_cache_returns_read_ranges_without_the_store() {
        let (dir, path) = (tempfile::tempdir().unwrap(), Path::new("mem://kept/a"));
        let content: Vec<u8> = (0..=255).cycle().take(10_000).collect();
        put(path, &content);
        let kept = ReadCache::begin(dir.path(), 20_000, [(path, 10_000)].into_iter()).unwrap();
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "the file has no name");
        let read = |file: &crate::read::ReadFile, range: Range<usize>| {
            let mut bytes = vec![0; range.len()];
            file.read_exact_at(&mut bytes, range.start as u64).map(|()| bytes == content[range])
        };
        let file = open_part(path, 1_000..3_000).unwrap();
        // A gap that is not worth a jump is fetched and cached, too.
        assert!(read(&file, 1_000..2_000).unwrap() && read(&file, 2_500..4_000).unwrap());
        assert_eq!(kept.0[0].1.ranges.lock().iter().collect::<Vec<_>>(), [(&1_000, &4_000)]);
        kept.close();
        assert_eq!((kept.bytes(), open_read(path).unwrap().len()), (10_000, 10_000));
        assert!(read(&file, 0..10).unwrap());
        assert_eq!(kept.0[0].1.ranges.lock().len(), 1, "what is read later is not kept");
        // The store has another version, but these bytes are not fetched from it.
        put(path, b"replaced");
        let again = open_part(path, 1_500..4_000).unwrap();
        assert_eq!(again.len(), 10_000);
        assert!(read(&again, 1_500..4_000).unwrap());
        let error = read(&again, 0..10).unwrap_err();
        assert!(error.to_string().contains("changed"), "{error}");
        let error = read(&open_read(path).unwrap(), 0..10).unwrap_err();
        assert!(error.to_string().contains("changed"), "{error}");
        drop(kept);
        assert_eq!(open_part(path, 1_500..4_000).unwrap().len(), 8);
    }

    /// A store that counts how often an object is opened.
    struct Zeros;

    impl RangeRead for Zeros {
        fn read_exact_at(&self, buffer: &mut [u8], _: u64) -> io::Result<()> {
            buffer.fill(0);
            Ok(())
        }

        fn bytes_worth_a_jump(&self) -> u64 {
            7
        }
    }

    #[test]
    fn object_whose_beginning_was_read_is_not_opened_again() {
        let (dir, path) = (tempfile::tempdir().unwrap(), Path::new("mem://kept/spare"));
        let kept = ReadCache::begin(dir.path(), 20_000, [(path, 10_000)].into_iter()).unwrap();
        let opened = Arc::new(AtomicU64::new(0));
        let open = || {
            let opened = Arc::clone(&opened);
            let open = move || {
                opened.fetch_add(1, Ordering::Relaxed);
                let reader: Box<dyn RangeRead> = Box::new(Zeros);
                Ok((FileInfo::of_object(10_000, 0, "tag"), reader))
            };
            open_with_read_cache(path, None, Box::new(open)).unwrap().1
        };
        let read = |file: &dyn RangeRead, bytes: usize| file.read_exact_at(&mut vec![0; bytes], 0).unwrap();
        read(&*open(), 8);
        let file = open();
        read(&*file, 8_000);
        assert_eq!((opened.load(Ordering::Relaxed), file.bytes_worth_a_jump()), (1, 7));
        drop(file);
        assert_eq!(open().bytes_worth_a_jump(), 7);
        assert_eq!(opened.load(Ordering::Relaxed), 1, "its beginning is kept");
        read(&*open(), 9_000);
        assert_eq!(opened.load(Ordering::Relaxed), 2, "that one was read, and is over");
        kept.close();
        assert!(kept.0[0].1.spare.swap_reader(None).is_none());
    }
}
