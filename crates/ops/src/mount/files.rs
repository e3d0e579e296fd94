//! The files that hold the parts: opened when needed, some at a time, and never read once they have changed.

use crate::engine::browse::tokens::TokenSet;
use crate::engine::browse::{BrowsePart, Catalog, Groups, SamplesFile};
use gristmill_core::{Failure, FileStamp, Outcome, Subject};
use gristmill_storage::read::{open_read, stamp_at, ReadFile};
use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The most files that are open at a time.
const MAX_OPEN_FILES: usize = 256;
const WHAT: &str = "reading a part";

/// A file with parts.
struct PartsFile {
    file: SamplesFile,
    /// Its state when the data set was opened; `None` if it cannot be examined.
    stamp: OnceLock<Option<FileStamp>>,
    /// The state of its index at that time.
    index_stamp: OnceLock<Option<FileStamp>>,
}

impl PartsFile {
    fn index_stamp(&self) -> Option<FileStamp> {
        let index = self.file.index.as_ref()?;
        *self.index_stamp.get_or_init(|| stamp_at(index).ok())
    }

    /// Refuses an index that is not in the state in which it was mounted: the parts would be others.
    fn check_index(&self) -> Outcome<()> {
        match &self.file.index {
            Some(index) => check_unchanged(index, self.index_stamp(), stamp_at(index).ok()),
            None => Ok(()),
        }
    }
}

/// The file of each group; `None` where each part is a file of its own.
pub(super) struct PartsFiles {
    files: Vec<Option<PartsFile>>,
    /// Open files by group, the last used one at the end.
    opened: Mutex<VecDeque<(u32, Arc<ReadFile>)>>,
}

impl PartsFiles {
    /// Finds the files of a catalog; opens none.
    pub(super) fn of(catalog: &dyn Catalog, groups: &Groups) -> Self {
        let files = (0u32..).zip(&groups.groups).map(|(group, _)| {
            // A shard whose name leads out of the data set has no file.
            let file = catalog.file_of(group).ok().flatten()?;
            Some(PartsFile { file, stamp: OnceLock::new(), index_stamp: OnceLock::new() })
        });
        Self { files: files.collect(), opened: Mutex::default() }
    }

    fn file(&self, group: u32) -> Option<&PartsFile> {
        self.files.get(group as usize)?.as_ref()
    }

    /// Returns the state that a group's file had at the beginning.
    pub(super) fn stamp(&self, group: u32) -> Option<FileStamp> {
        let file = self.file(group)?;
        *file.stamp.get_or_init(|| stamp_at(&file.file.path).ok())
    }

    /// Returns the bytes of all files.
    pub(super) fn bytes(&self) -> u64 {
        (0u32..).zip(&self.files).filter_map(|(group, _)| self.stamp(group)).map(|stamp| stamp.bytes).sum()
    }

    /// Examines all files, so that later changes are noticed.
    pub(super) fn examine(&self) {
        for (group, file) in (0u32..).zip(&self.files) {
            self.stamp(group);
            file.as_ref().and_then(PartsFile::index_stamp);
        }
    }

    /// Returns bytes of a part: a range of the group's file, or what `decode` returns. A part that the file is too short for is an error,
    /// and so is a file that has changed.
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
        if !file.file.is_plain {
            let bytes = decode();
            // Afterwards: a change during the read is noticed, too.
            check_unchanged(path, self.stamp(group), stamp_at(path).ok())?;
            return bytes.and_then(|bytes| file.check_index().map(|()| bytes));
        }
        let stamp = self.stamp(group);
        let bytes = read_unchanged(&*self.open(group, file)?, stamp, part, from, count)?;
        file.check_index().map(|()| bytes)
    }

    /// Returns bytes of ids of a file of tokens.
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

    fn open(&self, group: u32, file: &PartsFile) -> Outcome<Arc<ReadFile>> {
        let lock = || self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let mut opened = lock();
        if let Some(at) = opened.iter().rposition(|(known, _)| *known == group) {
            let Some(found) = opened.remove(at) else { return Err(Failure::internal(WHAT, "an open file was lost")) };
            let known = Arc::clone(&found.1);
            opened.push_back(found);
            return Ok(known);
        }
        drop(opened);
        let new = Arc::new(open_read(&file.file.path)?);
        let mut opened = lock();
        opened.push_back((group, Arc::clone(&new)));
        if opened.len() > MAX_OPEN_FILES {
            opened.pop_front();
        }
        Ok(new)
    }
}

/// Returns bytes of a part that is a range of a file in a state. A part that the file is too short for is an error.
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
        return Err(Failure::data(WHAT, why).on(Subject::path(file.path())));
    }
    let mut bytes = vec![0; wanted];
    let read = file.read_exact_at(&mut bytes, begin);
    // Afterwards: a change during the read is noticed, too.
    check_unchanged(file.path(), state, file.stamp().ok())?;
    read.map_err(|error| Failure::io(WHAT, file.path(), &error))?;
    Ok(bytes)
}

/// Refuses a file that is not in the state in which it was mounted.
fn check_unchanged(path: &Path, before: Option<FileStamp>, now: Option<FileStamp>) -> Outcome<()> {
    let is_same = |(a, b): (FileStamp, FileStamp)| (a.bytes, a.modified_ns) == (b.bytes, b.modified_ns);
    match before.zip(now).is_some_and(is_same) {
        true => Ok(()),
        false => Err(Failure::data(WHAT, "the file was changed since it was mounted")
            .on(Subject::path(path))
            .with_hint("mount the data set again")),
    }
}
