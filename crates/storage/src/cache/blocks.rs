//! Blocks of objects that are read at random, cached on this machine.
//!
//! Owns the cached blocks. The reader of the object decides what is fetched and how far ahead; no read waits for a read of other blocks.

use super::{folder_of, limit, make_room};
use crate::file_info::FileInfo;
use crate::files::metadata;
use crate::fs::{Fs, RealFs, PRIVATE_FOLDER};
use crate::identity::unique;
use crate::location::is_remote;
use crate::publish;
use crate::range_read::RangeRead;
use crate::read::{open_part, open_read, read_whole, ReadFile};
use crate::waiting::lock_unless_cancelled;
use gristmill_core::lfs::MAX_LFS_POINTER_BYTES;
use gristmill_core::{Cancel, Failure, Mutex, Outcome, Subject};
use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, LazyLock, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

/// Size of a block, in bytes.
const BLOCK_BYTES: u64 = 256 << 10;
/// Reads of this many bytes or more are not cached.
const MAX_READ_BYTES: usize = 1 << 20;
/// Bytes of the hash at the end of a file.
const HASH_BYTES: usize = 8;
/// Bytes that the process writes to the cache between checks of its size.
const BYTES_BETWEEN_CHECKS: u64 = 64 << 20;

/// Interval at which a thread that waits for a block checks whether its work was cancelled.
const CANCEL_INTERVAL: Duration = Duration::from_millis(100);

/// Bytes written to the cache since its size was checked; initially at the limit, so that the first write checks.
static BYTES_WRITTEN: AtomicU64 = AtomicU64::new(BYTES_BETWEEN_CHECKS);

/// Cache files of the blocks that a read of this process is fetching; other reads wait for them.
static FETCHING_FILES: LazyLock<Mutex<HashSet<PathBuf>>> = LazyLock::new(Mutex::default);
/// Notified when fetches of blocks have ended.
static FETCHED: Condvar = Condvar::new();

/// Opens a file for random reads. Blocks of an object are cached on this machine and fetched only once.
///
/// # Errors
/// As [`open_read`].
pub fn open_cached(path: &Path) -> Outcome<ReadFile> {
    Ok(match cached_object(path)? {
        Some(object) => ReadFile::of_ranges(path, object.info, Box::new(object)),
        None => open_read(path)?,
    })
}

/// Reads a whole file like [`read_whole`]. Blocks of an object that are not cached are fetched and cached.
///
/// # Errors
/// As [`read_whole`].
pub fn read_whole_cached(path: &Path, most: u64) -> Outcome<Option<Vec<u8>>> {
    let object = match cached_object(path) {
        Err(failure) if failure.is_missing() => return Ok(None),
        object => object?.filter(|object| object.info.len() <= most),
    };
    let Some(object) = object else { return read_whole(path, most) };
    let mut bytes = vec![0; usize::try_from(object.info.len()).unwrap_or(usize::MAX)];
    match object.read_blocks(&mut bytes, 0) {
        Ok(()) => Ok(Some(bytes)),
        // The object may have been replaced a moment ago.
        Err(_) => read_whole(path, most),
    }
}

/// Returns the object of a path; `None` if its blocks must not be cached.
fn cached_object(path: &Path) -> Outcome<Option<CachedObject>> {
    if !is_remote(path) {
        return Ok(None);
    }
    let folder = folder_of(path);
    let is_kept =
        RealFs.create_folders(&folder, PRIVATE_FOLDER).and_then(|()| limit(&folder)).is_ok_and(|limit| limit > 0);
    let info = metadata(path).map_err(|error| Failure::io("opening", path, &error))?;
    // Git LFS pointers are reported by [`open_read`].
    let is_cached = is_kept && info.is_file() && info.len() > MAX_LFS_POINTER_BYTES;
    Ok(is_cached.then(|| CachedObject::new(path, info, folder)))
}

/// Number and bytes of a block.
type Block = (u64, Arc<Vec<u8>>);

/// One version of an object.
struct CachedObject {
    path: PathBuf,
    info: FileInfo,
    folder: PathBuf,
    /// The object in its store, once a block had to be fetched.
    source: OnceLock<ReadFile>,
    /// Held while the object is opened, so that it is opened once.
    opening: Mutex<()>,
    /// The block that was read last.
    last: Mutex<Option<Block>>,
}

/// Blocks that a read is fetching.
struct FetchingBlocks<'a>(&'a CachedObject, Range<u64>);

impl Drop for FetchingBlocks<'_> {
    fn drop(&mut self) {
        let mut fetching = FETCHING_FILES.lock();
        self.1.clone().for_each(|number| _ = fetching.remove(&self.0.file(number)));
        FETCHED.notify_all();
    }
}

impl RangeRead for CachedObject {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        if buffer.len() >= MAX_READ_BYTES {
            return self.source(offset..offset + buffer.len() as u64)?.read_exact_at(buffer, offset);
        }
        self.read_blocks(buffer, offset)
    }
}

impl CachedObject {
    fn new(path: &Path, info: FileInfo, folder: PathBuf) -> Self {
        let (source, opening) = (OnceLock::new(), Mutex::default());
        Self { path: path.to_owned(), info, folder, source, opening, last: Mutex::default() }
    }

    /// Reads bytes from the blocks that contain them.
    fn read_blocks(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let end = offset + buffer.len() as u64;
        for number in offset / BLOCK_BYTES..end.div_ceil(BLOCK_BYTES) {
            let start = number * BLOCK_BYTES;
            let block = self.block(number, end)?;
            let (from, to) = (offset.max(start), end.min(start + block.len() as u64));
            let place = |at: u64, base: u64| usize::try_from(at - base).unwrap_or(usize::MAX);
            let read = block.get(place(from, start)..place(to, start));
            let space = buffer.get_mut(place(from, offset)..place(to, offset));
            match (space, read) {
                (Some(space), Some(read)) => space.copy_from_slice(read),
                _ => return Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
        Ok(())
    }

    /// Returns a block. If it is not cached, also fetches the uncached blocks after it, up to the offset `end`.
    fn block(&self, number: u64, end: u64) -> io::Result<Arc<Vec<u8>>> {
        loop {
            if let Some((_, block)) = self.last.lock().as_ref().filter(|(known, _)| *known == number) {
                return Ok(Arc::clone(block));
            }
            let block = match self.kept(number) {
                Some(block) => Arc::new(block),
                None => match self.begin(number, end)? {
                    Some(blocks) => self.fetch(&blocks.1)?,
                    None => continue,
                },
            };
            *self.last.lock() = Some((number, Arc::clone(&block)));
            return Ok(block);
        }
    }

    /// Claims the blocks from `number` to the offset `end`, or to the first one that is cached or being fetched. If block `number` is being
    /// fetched, waits for it and returns `None`.
    fn begin(&self, number: u64, end: u64) -> io::Result<Option<FetchingBlocks<'_>>> {
        let first = self.file(number);
        let mut fetching = FETCHING_FILES.lock();
        if !fetching.contains(&first) {
            let is_missing = |number: &u64| {
                let file = self.file(*number);
                *number * BLOCK_BYTES < end && !fetching.contains(&file) && !file.exists()
            };
            let blocks = number..number + 1 + (number + 1..).take_while(is_missing).count() as u64;
            fetching.extend(blocks.clone().map(|number| self.file(number)));
            return Ok(Some(FetchingBlocks(self, blocks)));
        }
        while fetching.contains(&first) {
            let waited = FETCHED.wait_timeout(fetching, CANCEL_INTERVAL);
            fetching = waited.unwrap_or_else(PoisonError::into_inner).0;
            Cancel::of_thread().check().map_err(Failure::into_io)?;
        }
        Ok(None)
    }

    fn file(&self, number: u64) -> PathBuf {
        let stamp = self.info.stamp;
        let name = format!("{} {} {} {} {number}", self.path.display(), stamp.bytes, stamp.modified_ns, stamp.inode);
        self.folder.join(format!("{:032x}-{BLOCK_BYTES}", xxhash_rust::xxh3::xxh3_128(name.as_bytes())))
    }

    fn bytes_of(&self, number: u64) -> usize {
        usize::try_from(self.info.len().saturating_sub(number * BLOCK_BYTES).min(BLOCK_BYTES)).unwrap_or(0)
    }

    /// Returns a cached block if its file is intact.
    fn kept(&self, number: u64) -> Option<Vec<u8>> {
        let file = File::open(self.file(number)).ok()?;
        let mut block = vec![0; self.bytes_of(number) + HASH_BYTES];
        if file.metadata().ok()?.len() != block.len() as u64 {
            return None;
        }
        file.read_exact_at(&mut block, 0).ok()?;
        let hash = block.split_off(block.len() - HASH_BYTES);
        if xxhash_rust::xxh3::xxh3_64(&block).to_le_bytes() != *hash {
            return None;
        }
        // The least recently used block is removed first. A cache that cannot be written is still useful.
        let _ = file.set_modified(SystemTime::now());
        Some(block)
    }

    /// Fetches and caches blocks. Returns the first.
    fn fetch(&self, blocks: &Range<u64>) -> io::Result<Arc<Vec<u8>>> {
        let (number, start) = (blocks.start, blocks.start * BLOCK_BYTES);
        let bytes: usize = blocks.clone().map(|number| self.bytes_of(number)).sum();
        let mut fetched = vec![0; bytes];
        self.source(start..start + bytes as u64)?.read_exact_at(&mut fetched, start)?;
        let rest = fetched.split_off(self.bytes_of(number).min(bytes));
        let next = rest.chunks(usize::try_from(BLOCK_BYTES).unwrap_or(usize::MAX));
        for (block, number) in std::iter::once(fetched.as_slice()).chain(next).zip(number..) {
            // A block that cannot be cached, for lack of space, is fetched again.
            _ = self.keep(number, block);
        }
        Ok(Arc::new(fetched))
    }

    fn keep(&self, number: u64, block: &[u8]) -> Outcome<()> {
        let bytes = (block.len() + HASH_BYTES) as u64;
        if BYTES_WRITTEN.fetch_add(bytes, Ordering::Relaxed) >= BYTES_BETWEEN_CHECKS {
            BYTES_WRITTEN.store(bytes, Ordering::Relaxed);
            make_room(&self.folder, BYTES_BETWEEN_CHECKS)?;
        }
        let draft = self.folder.join(format!("{}{}", publish::TEMPORARY, unique()));
        let write = || {
            let mut file = RealFs.create_file(&draft)?;
            file.write_all(block)?;
            file.write_all(&xxhash_rust::xxh3::xxh3_64(block).to_le_bytes())?;
            file.close()?;
            RealFs.rename(&draft, &self.file(number))
        };
        write().inspect_err(|_| _ = RealFs.remove_file(&draft))
    }

    /// Returns the object; if it is not open yet, opens it for a range.
    fn source(&self, range: Range<u64>) -> io::Result<&ReadFile> {
        if let Some(source) = self.source.get() {
            return Ok(source);
        }
        let _opening = lock_unless_cancelled(&self.opening).map_err(Failure::into_io)?;
        if let Some(source) = self.source.get() {
            return Ok(source);
        }
        let opened = open_part(&self.path, range).map_err(Failure::into_io)?;
        if opened.info().stamp != self.info.stamp {
            let failure =
                Failure::data("reading", "the object was replaced while it was read").on(Subject::path(&self.path));
            return Err(failure.with_hint("open it again").into_io());
        }
        Ok(self.source.get_or_init(|| opened))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory_store::put;
    use std::sync::mpsc;

    fn content(bytes: usize) -> Vec<u8> {
        (0..bytes).map(|at| (at * 31 + at / 251) as u8).collect()
    }

    fn object(path: &Path) -> CachedObject {
        let (info, folder) = (metadata(path).unwrap(), folder_of(path));
        RealFs.create_folders(&folder, PRIVATE_FOLDER).unwrap();
        CachedObject::new(path, info, folder)
    }

    /// An object that reports each read, and blocks it until the test lets it continue.
    struct ReportedReads {
        content: Vec<u8>,
        begun: mpsc::Sender<(u64, usize)>,
        go_on: Mutex<mpsc::Receiver<()>>,
    }

    impl RangeRead for ReportedReads {
        fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
            self.begun.send((offset, buffer.len())).unwrap();
            self.go_on.lock().recv().unwrap();
            let from = offset as usize;
            buffer.copy_from_slice(&self.content[from..from + buffer.len()]);
            Ok(())
        }
    }

    fn read(file: &ReadFile, offset: usize, bytes: usize) -> Vec<u8> {
        let mut buffer = vec![0; bytes];
        file.read_exact_at(&mut buffer, offset as u64).unwrap();
        buffer
    }

    #[test]
    fn blocks_are_fetched_once_for_each_version() {
        let path = Path::new("mem://cached/a");
        let all = content(600_000);
        put(path, &all);
        for _ in 0..2 {
            let file = open_cached(path).unwrap();
            for (offset, bytes) in [(0, 10), (262_140, 10), (599_990, 10), (1, 599_999), (100, 0)] {
                assert_eq!(read(&file, offset, bytes), all[offset..offset + bytes], "{offset}");
            }
            assert!(file.read_exact_at(&mut [0; 11], 599_990).is_err());
        }
        // Cached blocks are read without the store.
        let file = open_cached(path).unwrap();
        let other = content(700_000);
        put(path, &other);
        assert_eq!(read(&file, 300_000, 10), all[300_000..300_010]);
        let file = open_cached(path).unwrap();
        assert_eq!(read(&file, 650_000, 50_000), other[650_000..]);
    }

    #[test]
    fn cached_block_is_read_while_another_block_is_fetched() {
        let path = Path::new("mem://cached/order");
        let all = content(5 << 20);
        put(path, &all);
        let object = object(path);
        let ((begun, reads), (go_on, wait)) = (mpsc::channel(), mpsc::channel());
        let noted = ReportedReads { content: all.clone(), begun, go_on: Mutex::new(wait) };
        let source = ReadFile::of_ranges(path, object.info, Box::new(noted));
        object.source.set(source).unwrap_or_else(|_| unreachable!());
        let read = |offset: u64, bytes: usize| {
            let mut buffer = vec![0; bytes];
            object.read_exact_at(&mut buffer, offset).unwrap();
            assert_eq!(buffer, all[offset as usize..offset as usize + bytes]);
        };
        let block = usize::try_from(BLOCK_BYTES).unwrap();
        go_on.send(()).unwrap();
        read(10, 100);
        assert_eq!(reads.recv().unwrap(), (0, block));
        std::thread::scope(|scope| {
            scope.spawn(|| read(3 * BLOCK_BYTES + 5, 2 * block));
            // All blocks of a read are one request, and reads of cached blocks do not wait for it.
            assert_eq!(reads.recv().unwrap(), (3 * BLOCK_BYTES, 3 * block));
            read(10, block - 10);
            scope.spawn(|| read(BLOCK_BYTES, 3 * block));
            // Reads of earlier blocks do not wait for it either.
            assert_eq!(reads.recv().unwrap(), (BLOCK_BYTES, 2 * block));
            let cancel = Cancel::default();
            let waits = cancel.begin_wait_scope();
            cancel.cancel();
            let error = object.read_exact_at(&mut [0; 10], 4 * BLOCK_BYTES).unwrap_err();
            assert!(Failure::io("reading", path, &error).is_cancelled());
            drop(waits);
            go_on.send(()).unwrap();
            go_on.send(()).unwrap();
        });
        read(4 * BLOCK_BYTES, block);
        assert!(reads.try_recv().is_err(), "all of it is kept");
    }

    #[test]
    fn damaged_blocks_are_fetched_again_and_replaced_objects_refused() {
        let path = Path::new("mem://cached/b");
        let all = content(300_000);
        put(path, &all);
        let mut buffer = vec![0; 10];
        object(path).read_exact_at(&mut buffer, 5).unwrap();
        let kept = object(path).file(0);
        let mut damaged = std::fs::read(&kept).unwrap();
        damaged[7] ^= 1;
        std::fs::write(&kept, damaged).unwrap();
        object(path).read_exact_at(&mut buffer, 5).unwrap();
        assert_eq!(buffer, all[5..15]);
        let old = object(path);
        put(path, &content(300_001));
        assert!(old.read_exact_at(&mut buffer, 290_000).is_err());
    }

    #[test]
    fn a_block_that_one_reader_fetches_is_not_fetched_by_another() {
        let path = Path::new("mem://cached/shared");
        let all = content(300_000);
        put(path, &all);
        let ((begun, reads), (go_on, wait)) = (mpsc::channel(), mpsc::channel());
        let object_with = |begun: mpsc::Sender<(u64, usize)>, wait| {
            let object = object(path);
            let noted = ReportedReads { content: all.clone(), begun, go_on: Mutex::new(wait) };
            let source = ReadFile::of_ranges(path, object.info, Box::new(noted));
            object.source.set(source).unwrap_or_else(|_| unreachable!());
            object
        };
        let first = object_with(begun, wait);
        let (begun, reads_of_second) = mpsc::channel();
        let second = object_with(begun, mpsc::channel().1);
        let read = |object: &CachedObject| {
            let mut buffer = [0; 100];
            object.read_exact_at(&mut buffer, 5).unwrap();
            assert_eq!(buffer, all[5..105]);
        };
        std::thread::scope(|scope| {
            scope.spawn(|| read(&first));
            reads.recv().unwrap();
            scope.spawn(|| read(&second));
            go_on.send(()).unwrap();
        });
        assert!(reads_of_second.try_recv().is_err());
    }

    #[test]
    fn whole_objects_are_cached_in_blocks() {
        let path = Path::new("mem://cached/whole");
        assert_eq!(read_whole_cached(path, 10).unwrap(), None);
        for size in [2 << 20, 1_500_000, 10, 0] {
            let all = content(size);
            put(path, &all);
            assert!(read_whole_cached(path, 2 << 20).unwrap().unwrap() == all);
            let kept = object(path);
            assert_eq!(kept.kept(1).is_some(), size > 1 << 20);
        }
        put(path, &content(2000));
        assert!(read_whole_cached(path, 1999).unwrap_err().why.contains("limit"));
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a"), b"123").unwrap();
        assert_eq!(read_whole_cached(&folder.path().join("a"), 10).unwrap().unwrap(), b"123");
    }
}
