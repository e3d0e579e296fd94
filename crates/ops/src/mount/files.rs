//! The files that contain parts. They are opened when needed, up to a maximum number, and not read after they have changed.

use crate::engine::browse::tokens::TokenSet;
use crate::engine::browse::{BrowsePart, Catalog, Groups, SamplesFile};
use gristmill_core::{Cancel, Failure, FileStamp, Mutex, Outcome, Subject};
use gristmill_storage::read::{open_read, stamp_at, ReadFile};
use gristmill_storage::waiting::lock_unless_cancelled;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Maximum number of open files of groups.
const MAX_OPEN_FILES: usize = 256;
/// Time for which the failure to open a file is cached.
const FAILURE_LIFETIME: Duration = Duration::from_secs(1);
const ACTIVITY: &str = "reading a part";

/// A file that contains parts.
struct PartsFile {
    file: SamplesFile,
    /// Its stamp when the data set was opened, or when the file could first be examined.
    stamp: OnceLock<FileStamp>,
    /// The difference at that time from the file whose samples are listed.
    change: OnceLock<Option<String>>,
    /// The stamp of its index at that time.
    index_stamp: OnceLock<FileStamp>,
}

impl PartsFile {
    fn index_stamp(&self) -> Option<FileStamp> {
        let index = self.file.index.as_ref()?;
        stamp_of(&self.index_stamp, index)
    }

    /// Refuses an index that has changed since the mount, because its parts may differ.
    fn check_index(&self) -> Outcome<()> {
        match &self.file.index {
            Some(index) => check_unchanged(index, self.index_stamp(), stamp_at(index).ok()),
            None => Ok(()),
        }
    }
}

/// Returns the first known stamp of a file; `None` while it cannot be examined.
fn stamp_of(first: &OnceLock<FileStamp>, path: &Path) -> Option<FileStamp> {
    let known = first.get().copied();
    known.or_else(|| stamp_at(path).ok().map(|stamp| *first.get_or_init(|| stamp)))
}

/// The file of each group; `None` if each part is a separate file.
pub(super) struct PartsFiles {
    catalog: Arc<dyn Catalog>,
    files: Vec<Option<PartsFile>>,
    /// Open files, by group.
    opened: OpenFiles,
}

/// The opening of a file, shared by all threads that wait for it.
#[derive(Default)]
struct PendingOpen {
    /// The result of opening the file, and the time of the result.
    result: OnceLock<(Outcome<Arc<ReadFile>>, Instant)>,
    /// Locked by the thread that opens the file.
    opener: Mutex<()>,
}

/// A cache of open files, by number.
pub(super) struct OpenFiles {
    max: usize,
    /// Time after which a failed opening is repeated. The kernel repeats a failed read immediately.
    failure_lifetime: Duration,
    /// The most recently used file is last.
    files: Mutex<VecDeque<(u64, Arc<PendingOpen>)>>,
}

impl OpenFiles {
    pub(super) fn new(max: usize) -> Self {
        Self { max, failure_lifetime: FAILURE_LIFETIME, files: Mutex::default() }
    }

    /// Returns the file with this number. If it is not open, one thread opens it for all threads that need it at this time, so that all
    /// reads of a reader use the same file.
    pub(super) fn get(&self, number: u64, open: impl Fn() -> Outcome<ReadFile>) -> Outcome<Arc<ReadFile>> {
        loop {
            let opening = self.opening(number);
            let (opened, _) = match opening.result.get() {
                Some(result) => result,
                None => {
                    let _opener = lock_unless_cancelled(&opening.opener)?;
                    opening.result.get_or_init(|| (open().map(Arc::new), Instant::now()))
                }
            };
            match opened {
                // The thread that opened the file was cancelled, but this thread was not.
                Err(failure) if failure.is_cancelled() && !Cancel::of_thread().is_cancelled() => {}
                opened => return opened.clone(),
            }
        }
    }

    fn opening(&self, number: u64) -> Arc<PendingOpen> {
        let mut files = self.files.lock();
        let known = files.iter().rposition(|(known, _)| *known == number).and_then(|at| files.remove(at));
        let is_current = |(_, opening): &(u64, Arc<PendingOpen>)| match opening.result.get() {
            Some((Err(failure), at)) => !failure.is_cancelled() && at.elapsed() < self.failure_lifetime,
            _ => true,
        };
        let opening = known.filter(is_current).map_or_else(Arc::default, |(_, opening)| opening);
        files.push_back((number, Arc::clone(&opening)));
        if files.len() > self.max {
            files.pop_front();
        }
        opening
    }
}

impl PartsFiles {
    /// Determines the files of a catalog without opening them.
    pub(super) fn of(catalog: Arc<dyn Catalog>, groups: &Groups) -> Self {
        let files = (0u32..).zip(&groups.groups).map(|(group, _)| {
            // A shard whose name leads outside the data set has no file.
            let file = catalog.file_of(group).ok().flatten()?;
            let (stamp, change, index_stamp) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
            Some(PartsFile { file, stamp, change, index_stamp })
        });
        let files = files.collect();
        Self { catalog, files, opened: OpenFiles::new(MAX_OPEN_FILES) }
    }

    fn file(&self, group: u32) -> Option<&PartsFile> {
        self.files.get(group as usize)?.as_ref()
    }

    /// Returns the first known stamp of a group's file.
    pub(super) fn stamp(&self, group: u32) -> Option<FileStamp> {
        let file = self.file(group)?;
        stamp_of(&file.stamp, &file.file.path)
    }

    /// Returns the total size of all files, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        (0u32..).zip(&self.files).filter_map(|(group, _)| self.stamp(group)).map(|stamp| stamp.bytes).sum()
    }

    /// Records the stamps of all files, to detect later changes.
    pub(super) fn examine(&self) {
        for (group, file) in (0u32..).zip(&self.files) {
            if let Err(failure) = self.check_listed(group) {
                tracing::warn!("its parts cannot be read: {failure}");
            }
            file.as_ref().and_then(PartsFile::index_stamp);
        }
    }

    /// Refuses the file of a group that was replaced after its samples were listed, because their offsets may differ.
    fn check_listed(&self, group: u32) -> Outcome<()> {
        let Some((file, stamp)) = self.file(group).zip(self.stamp(group)) else { return Ok(()) };
        match file.change.get_or_init(|| self.catalog.change_of(group, stamp)) {
            None => Ok(()),
            Some(how) => Err(Failure::data(ACTIVITY, how.as_str()).on(Subject::path(&file.file.path))),
        }
    }

    /// Returns bytes of a part: a range of the group's file, or the result of `decode`. Fails if the file is too short for the part or has
    /// changed.
    pub(super) fn read(
        &self,
        group: u32,
        part: &BrowsePart,
        from: u64,
        count: usize,
        decode: impl FnOnce() -> Outcome<Vec<u8>>,
    ) -> Outcome<Vec<u8>> {
        let Some(file) = self.file(group) else { return decode() };
        let path = &file.file.path;
        self.check_listed(group)?;
        if !file.file.is_plain {
            let bytes = decode();
            // Checked after reading, to detect changes during the read.
            check_unchanged(path, self.stamp(group), stamp_at(path).ok())?;
            return bytes.and_then(|bytes| file.check_index().map(|()| bytes));
        }
        let stamp = self.stamp(group);
        let opened = self.opened.get(u64::from(group), || open_read(path))?;
        let bytes = read_unchanged(&opened, stamp, part, from, count)?;
        file.check_index().map(|()| bytes)
    }

    /// Returns bytes of ids in a token file.
    pub(super) fn read_ids(
        &self,
        set: &TokenSet,
        group: u32,
        ids: &BrowsePart,
        from: u64,
        count: usize,
    ) -> Outcome<Vec<u8>> {
        self.read(group, ids, from, count, || set.read_part(group, ids, from, count))
    }
}

/// Returns bytes of a part that is a range of a file. Fails if the file is too short for the part, or its stamp is not `state`.
pub(super) fn read_unchanged(
    file: &ReadFile,
    state: Option<FileStamp>,
    part: &BrowsePart,
    from: u64,
    count: usize,
) -> Outcome<Vec<u8>> {
    let left = usize::try_from(part.byte_size.saturating_sub(from)).unwrap_or(usize::MAX);
    let begin = part.byte_offset.saturating_add(from);
    let wanted = left.min(count);
    let is_inside = begin.checked_add(wanted as u64).is_some_and(|end| end <= file.len());
    if !is_inside {
        check_unchanged(file.path(), state, file.stamp().ok())?;
        let why = "the file ends before the part does";
        return Err(Failure::data(ACTIVITY, why).on(Subject::path(file.path())));
    }
    let mut bytes = vec![0; wanted];
    let read = file.read_exact_at(&mut bytes, begin);
    // Checked after reading, to detect changes during the read.
    check_unchanged(file.path(), state, file.stamp().ok())?;
    read.map_err(|error| Failure::io(ACTIVITY, file.path(), &error))?;
    Ok(bytes)
}

/// Refuses a file that has changed since the mount.
fn check_unchanged(path: &Path, before: Option<FileStamp>, now: Option<FileStamp>) -> Outcome<()> {
    let is_same = |(a, b): (FileStamp, FileStamp)| (a.bytes, a.modified_ns) == (b.bytes, b.modified_ns);
    match before.zip(now).is_some_and(is_same) {
        true => Ok(()),
        false => Err(Failure::data(ACTIVITY, "the file was changed since it was mounted")
            .on(Subject::path(path))
            .with_hint("mount the data set again")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::Barrier;

    #[test]
    fn file_is_opened_once_for_concurrent_readers_and_again_after_a_failure() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        std::fs::write(&path, b"0123456789").unwrap();
        let files = OpenFiles { failure_lifetime: Duration::ZERO, ..OpenFiles::new(2) };
        let (begin, count) = (Barrier::new(8), AtomicUsize::new(0));
        let missing = dir.path().join("missing");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    begin.wait();
                    let opened = files.get(7, || {
                        count.fetch_add(1, Ordering::Relaxed);
                        open_read(&path)
                    });
                    assert_eq!(opened.unwrap().len(), 10);
                });
            }
        });
        assert_eq!(count.into_inner(), 1);
        assert!(files.get(8, || open_read(&missing)).is_err());
        assert_eq!(files.get(8, || open_read(&path)).unwrap().len(), 10);
        // Opening a third file closes the least recently used one.
        files.get(7, || unreachable!()).unwrap();
        files.get(9, || open_read(&path)).unwrap();
        files.get(7, || unreachable!()).unwrap();
        assert!(files.get(8, || open_read(&missing)).is_err());
        let files = OpenFiles { failure_lifetime: Duration::MAX, ..files };
        assert!(files.get(8, || unreachable!()).is_err());
        let cancelled = AtomicUsize::new(0);
        let opened = files.get(10, || match cancelled.fetch_add(1, Ordering::Relaxed) {
            0 => Err(Failure::cancelled()),
            _ => open_read(&path),
        });
        assert_eq!((opened.unwrap().len(), cancelled.into_inner()), (10, 2));
    }
}
