//! Objects that are fetched before they are read, several at once, and cached while they may be read again.
//!
//! Without it, a reader of a list of files would wait for the store at each file. The files of the list are fetched in its order; opening
//! one of the files uses the fetched bytes, or waits for them. Must not know how objects are fetched and opened.

use super::file_info::FileInfo;
use super::kept::{open_once, OpenObject, OpenedObject};
use super::memory::run_memory;
use super::range_read::{read_each, RangeRead};
use super::waiting::WAITING_THREADS;
use gristmill_core::{Cancel, Failure, FileStamp, Mutex};
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Divisor of the memory of the run for fetched and requested bytes, within these limits in bytes.
const TOTAL_SHARE: u64 = 16;
const MIN_TOTAL_BYTES: u64 = 32 << 20;
const MAX_TOTAL_BYTES: u64 = 128 << 20;
/// Minimum number of threads of a list, even if other lists use all threads.
const MIN_THREADS: usize = 2;
/// Interval between checks whether a wait has ended.
const WAIT_INTERVAL: Duration = Duration::from_millis(20);

static FILES: Mutex<FetchedFiles> = Mutex::new(FetchedFiles::new());
/// Notified when a file has arrived or memory is free.
static ARRIVED: Condvar = Condvar::new();
static HAS_ROOM: Condvar = Condvar::new();

fn wait(files: MutexGuard<'static, FetchedFiles>, until: &Condvar) -> MutexGuard<'static, FetchedFiles> {
    until.wait_timeout(files, WAIT_INTERVAL).unwrap_or_else(PoisonError::into_inner).0
}

/// Returns the maximum number of fetched and requested bytes.
pub(super) fn total_limit() -> u64 {
    (run_memory() / TOTAL_SHARE).clamp(MIN_TOTAL_BYTES, MAX_TOTAL_BYTES)
}

/// The first bytes of an object.
#[derive(Clone, Copy, Debug)]
pub(super) struct FirstBytes {
    /// The version that was listed.
    pub(super) stamp: FileStamp,
    /// Number of bytes, at most the size of the object.
    pub(super) bytes: u64,
    /// Fetches the bytes; returns `None` if the object has another version.
    pub(super) fetch: fn(&Path, Self) -> io::Result<Option<Vec<u8>>>,
}

/// The objects of all lists, by their paths.
struct FetchedFiles {
    /// Number of [`FilesAhead`]; without any, no bytes are cached.
    owners: usize,
    /// Number of threads of all lists.
    threads: usize,
    /// Number of fetched and requested bytes.
    bytes: u64,
    files: BTreeMap<PathBuf, FetchedFile>,
    /// The last assigned position, and the positions of the objects in memory.
    turns: u64,
    ready: BTreeMap<u64, PathBuf>,
}

/// An object of a list.
struct FetchedFile {
    first: FirstBytes,
    content: Content,
    /// Its position in the order of reads, over all lists. Objects that were read follow all others.
    turn: u64,
}

/// First position of objects that were read.
const READ_TURN: u64 = 1 << 63;

enum Content {
    /// Not requested yet.
    Wanted,
    /// Requested, but not complete yet.
    Pending,
    Ready(Arc<Vec<u8>>),
    /// The error, which the next open returns.
    Failed(io::Error),
}

impl FetchedFiles {
    const fn new() -> Self {
        Self { owners: 0, threads: 0, bytes: 0, files: BTreeMap::new(), turns: 0, ready: BTreeMap::new() }
    }

    fn remove(&mut self, path: &Path) -> Option<FetchedFile> {
        let file = self.files.remove(path)?;
        self.ready.remove(&file.turn);
        if matches!(file.content, Content::Pending | Content::Ready(_)) {
            self.bytes -= file.first.bytes;
        }
        Some(file)
    }

    /// Adds an object that will be read after all objects added before. Bytes of this version that are already fetched or requested are
    /// used, if there are enough.
    fn request(&mut self, path: &Path, first: FirstBytes) {
        let is_enough = |file: &FetchedFile| {
            file.first.stamp == first.stamp
                && file.first.bytes >= first.bytes
                && !matches!(file.content, Content::Failed(_))
        };
        if !self.files.get(path).is_some_and(is_enough) {
            self.remove(path);
            self.files.insert(path.to_owned(), FetchedFile { first, content: Content::Wanted, turn: 0 });
        }
        self.assign_position(path, 0);
    }

    /// Assigns an object the next position after `from`.
    fn assign_position(&mut self, path: &Path, from: u64) {
        self.turns += 1;
        let Some(file) = self.files.get_mut(path) else { return };
        let before = std::mem::replace(&mut file.turn, from + self.turns);
        if self.ready.remove(&before).is_some() {
            self.ready.insert(file.turn, path.to_owned());
        }
    }

    /// Starts to fetch an object, if there is room for it. Objects that are read later, or were already read, are removed for it, last one
    /// first.
    fn begin(&mut self, path: &Path, bytes: u64) -> bool {
        let Some(turn) = self.files.get(path).map(|file| file.turn) else { return false };
        while self.bytes.saturating_add(bytes) > total_limit() {
            let Some((&last, other)) = self.ready.last_key_value().filter(|(last, _)| **last > turn) else {
                return false;
            };
            let other = other.clone();
            if let Some(file) = self.remove(&other).filter(|_| last < READ_TURN) {
                self.files.insert(other, FetchedFile { content: Content::Wanted, ..file });
            }
        }
        if let Some(file) = self.files.get_mut(path) {
            file.content = Content::Pending;
            self.bytes += bytes;
        }
        true
    }

    /// Stores the fetched bytes.
    fn finish(&mut self, path: &Path, first: FirstBytes, fetched: Option<io::Result<Vec<u8>>>) {
        let is_pending = |file: &&mut FetchedFile| {
            matches!(file.content, Content::Pending)
                && (file.first.stamp, file.first.bytes) == (first.stamp, first.bytes)
        };
        let Some(file) = self.files.get_mut(path).filter(is_pending) else { return };
        match fetched {
            Some(Ok(bytes)) => {
                file.content = Content::Ready(Arc::new(bytes));
                self.ready.insert(file.turn, path.to_owned());
            }
            Some(Err(error)) => {
                file.content = Content::Failed(error);
                self.bytes -= first.bytes;
            }
            // The next open requests the object again.
            None => _ = self.remove(path),
        }
    }
}

/// Files that are read one after another and fetched ahead. Fetched bytes are cached until the last value of this type is dropped, as far
/// as there is room.
#[derive(Debug)]
pub struct FilesAhead {
    end: Cancel,
    threads: Vec<JoinHandle<()>>,
}

impl FilesAhead {
    /// Keeps the bytes fetched by other values of this type until it is dropped, for later reads of the same files.
    #[must_use]
    pub fn keep() -> Self {
        FILES.lock().owners += 1;
        Self { end: Cancel::default(), threads: Vec::new() }
    }

    /// Starts to fetch objects, given in the order in which they are read.
    pub(super) fn begin(list: Vec<(PathBuf, FirstBytes)>) -> Self {
        let mut ahead = Self::keep();
        if list.len() > 1 {
            let mut kept = FILES.lock();
            list.iter().for_each(|(path, first)| kept.request(path, *first));
            drop(kept);
            ahead.start(list);
        }
        ahead
    }

    fn start(&mut self, list: Vec<(PathBuf, FirstBytes)>) {
        let mut kept = FILES.lock();
        let count = WAITING_THREADS.saturating_sub(kept.threads).max(MIN_THREADS).min(list.len());
        let shared = Arc::new((list, AtomicUsize::new(0)));
        for _ in 0..count {
            let (shared, end) = (Arc::clone(&shared), self.end.clone());
            let work = move || {
                let _waits = end.begin_wait_scope();
                while let Some((path, first)) = next(&shared.0, &shared.1, &end) {
                    fetch(path, first);
                }
            };
            // Without a thread, opening an object fetches it.
            let Ok(thread) = std::thread::Builder::new().name("files".to_owned()).spawn(work) else { break };
            self.threads.push(thread);
        }
        kept.threads += self.threads.len();
    }
}

impl Drop for FilesAhead {
    fn drop(&mut self) {
        self.end.cancel();
        HAS_ROOM.notify_all();
        let threads = self.threads.len();
        for thread in self.threads.drain(..) {
            // A thread that ended early has fetched less.
            let _ = thread.join();
        }
        let mut kept = FILES.lock();
        kept.owners -= 1;
        kept.threads -= threads;
        if kept.owners == 0 {
            *kept = FetchedFiles::new();
        }
    }
}

/// Files that are fetched together. They are forgotten when the last value with them is dropped, or a lock is taken.
#[derive(Debug)]
pub struct NamesAhead {
    paths: Vec<PathBuf>,
    _files: FilesAhead,
}

/// The files of all values of [`NamesAhead`].
static NAMES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

impl NamesAhead {
    pub(super) fn new(paths: Vec<PathBuf>, files: FilesAhead) -> Self {
        NAMES.lock().extend_from_slice(&paths);
        Self { paths, _files: files }
    }
}

impl Drop for NamesAhead {
    fn drop(&mut self) {
        let mut names = NAMES.lock();
        for path in &self.paths {
            let at = names.iter().position(|name| name == path);
            at.map(|at| names.swap_remove(at));
            // Another value may still keep it.
            if !names.contains(path) {
                forget(path);
            }
        }
    }
}

/// Drops the files of all values of [`NamesAhead`], as another process may have written them.
pub(super) fn forget_names() {
    NAMES.lock().iter().for_each(|path| forget(path));
}

/// Claims the next object of a list, once there is room for it; `None` after the last one.
fn next<'a>(list: &'a [(PathBuf, FirstBytes)], at: &AtomicUsize, end: &Cancel) -> Option<(&'a Path, FirstBytes)> {
    let mut kept = FILES.lock();
    while !end.is_cancelled() {
        // Only the holder of the lock changes the position.
        let (path, first) = list.get(at.load(Ordering::Relaxed))?;
        let is_wanted = |file: &FetchedFile| {
            matches!(file.content, Content::Wanted)
                && (file.first.stamp, file.first.bytes) == (first.stamp, first.bytes)
        };
        if !kept.files.get(path).is_some_and(is_wanted) {
            at.fetch_add(1, Ordering::Relaxed);
        } else if kept.begin(path, first.bytes) {
            at.fetch_add(1, Ordering::Relaxed);
            return Some((path, *first));
        } else {
            kept = wait(kept, &HAS_ROOM);
        }
    }
    None
}

/// Fetches a claimed object.
fn fetch(path: &Path, first: FirstBytes) {
    let fetched = (first.fetch)(path, first).transpose();
    // The end of this list must not end the fetches of another one.
    let fetched = fetched.filter(|fetched| fetched.is_ok() || !Cancel::of_thread().is_cancelled());
    FILES.lock().finish(path, first, fetched);
    ARRIVED.notify_all();
}

/// Opens an object with its fetched or requested bytes, or else in its store.
pub(super) fn open(path: &Path, open: OpenObject) -> io::Result<OpenedObject> {
    let mut kept = FILES.lock();
    while let Some(file) = kept.files.get(path) {
        let first = file.first;
        match &file.content {
            Content::Ready(bytes) => {
                let bytes = Arc::clone(bytes);
                kept.assign_position(path, READ_TURN);
                drop(kept);
                HAS_ROOM.notify_one();
                let info = FileInfo::of_object_stamp(first.stamp);
                let object = BegunObject { path: path.to_owned(), info, bytes, open, rest: OnceLock::new() };
                return Ok((info, Box::new(object)));
            }
            Content::Pending if Cancel::of_thread().is_cancelled() => return Err(Failure::cancelled().into_io()),
            Content::Pending => kept = wait(kept, &ARRIVED),
            Content::Wanted => {
                if kept.begin(path, first.bytes) {
                    drop(kept);
                    fetch(path, first);
                    kept = FILES.lock();
                } else {
                    kept.remove(path);
                }
            }
            Content::Failed(_) => {
                if let Some(FetchedFile { content: Content::Failed(error), .. }) = kept.remove(path) {
                    return Err(error);
                }
            }
        }
    }
    drop(kept);
    open()
}

/// Removes the bytes of an object that is overwritten, or not read again.
pub(super) fn forget(path: &Path) {
    FILES.lock().remove(path);
}

/// An object whose first bytes are in memory. The rest is read from its store.
struct BegunObject {
    path: PathBuf,
    info: FileInfo,
    bytes: Arc<Vec<u8>>,
    open: OpenObject,
    rest: OnceLock<Box<dyn RangeRead>>,
}

impl BegunObject {
    fn is_whole(&self) -> bool {
        self.bytes.len() as u64 == self.info.len()
    }

    fn rest(&self) -> io::Result<&dyn RangeRead> {
        open_once(&self.rest, &self.open, &self.path, Some(self.info.stamp))
    }

    /// Reads a range; `fetch` reads the bytes that are not in memory.
    fn read(
        &self,
        buffer: &mut [u8],
        offset: u64,
        fetch: impl FnOnce(&dyn RangeRead, &mut [u8], u64) -> io::Result<()>,
    ) -> io::Result<()> {
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        let there = self.bytes.get(from..).unwrap_or_default();
        let (first, others) = buffer.split_at_mut(there.len().min(buffer.len()));
        first.copy_from_slice(there.get(..first.len()).unwrap_or_default());
        if others.is_empty() {
            return Ok(());
        }
        fetch(self.rest()?, others, offset + first.len() as u64)
    }
}

impl RangeRead for BegunObject {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.read(buffer, offset, |rest, buffer, offset| rest.read_exact_at(buffer, offset))
    }

    fn read_at_directly(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.read(buffer, offset, |rest, buffer, offset| rest.read_at_directly(buffer, offset))
    }

    fn read_ranges_directly(&self, ranges: &[Range<u64>]) -> Vec<io::Result<Vec<u8>>> {
        if let (false, Ok(rest)) = (self.is_whole(), self.rest()) {
            return rest.read_ranges_directly(ranges);
        }
        read_each(ranges, |buffer, offset| self.read_at_directly(buffer, offset))
    }

    fn bytes_worth_a_jump(&self) -> u64 {
        match self.is_whole() {
            // All bytes are in memory: no gap is worth a jump.
            true => self.info.len(),
            false => self.rest().map_or(0, RangeRead::bytes_worth_a_jump),
        }
    }
}

#[cfg(test)]
mod tests;
