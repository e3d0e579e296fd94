//! Opens parts of objects before they are read, so that their first bytes are already requested.

use super::kept::OpenedObject;
use gristmill_core::Mutex;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::MutexGuard;

/// Maximum number of parts that are open and not read yet.
const MAX_PARTS: usize = 64;

struct OpenPart {
    owner: u64,
    path: PathBuf,
    part: Range<u64>,
    object: OpenedObject,
}

#[derive(Default)]
struct OpenParts {
    owners: u64,
    parts: Vec<OpenPart>,
}

static PARTS: Mutex<OpenParts> = Mutex::new(OpenParts { owners: 0, parts: Vec::new() });

/// Parts of files that one run opens before it reads them. Parts that are not read are closed when it is dropped.
#[derive(Debug)]
pub struct PartsAhead {
    owner: u64,
}

impl PartsAhead {
    /// Creates a value without parts.
    #[must_use]
    pub fn begin() -> Self {
        let mut all = PARTS.lock();
        all.owners += 1;
        Self { owner: all.owners }
    }

    /// Whether another part may be opened.
    pub(super) fn has_room(&self) -> bool {
        PARTS.lock().parts.len() < MAX_PARTS
    }

    /// Stores a part for the next [`take`].
    pub(super) fn put(&self, path: &Path, part: Range<u64>, object: OpenedObject) {
        PARTS.lock().parts.push(OpenPart { owner: self.owner, path: path.to_owned(), part, object });
    }
}

impl Drop for PartsAhead {
    fn drop(&mut self) {
        let mut all = PARTS.lock();
        let (own, others) = std::mem::take(&mut all.parts).into_iter().partition(|open| open.owner == self.owner);
        all.parts = others;
        // Closing a file may take time.
        drop::<MutexGuard<'_, OpenParts>>(all);
        drop::<Vec<OpenPart>>(own);
    }
}

/// Returns and removes a part that was opened before.
pub(super) fn take(path: &Path, part: &Range<u64>) -> Option<OpenedObject> {
    let mut all = PARTS.lock();
    let at = all.parts.iter().position(|open| open.path == path && open.part == *part)?;
    Some(all.parts.swap_remove(at).object)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory_store::put;
    use crate::read::open_part_ahead;

    #[test]
    fn part_fetched_ahead_is_taken_once_and_dropped_with_its_owner() {
        let path = Path::new("mem://ahead/a");
        put(path, b"0123456789");
        let (one, other) = (PartsAhead::begin(), PartsAhead::begin());
        open_part_ahead(path, 3..5, &one);
        open_part_ahead(path, 5..7, &other);
        open_part_ahead(path, 0..3, &one);
        open_part_ahead(Path::new("mem://ahead/missing"), 1..2, &one);
        assert!(take(path, &(3..6)).is_none() && take(path, &(0..3)).is_none());
        assert_eq!(take(path, &(3..5)).unwrap().0.len(), 10);
        assert!(take(path, &(3..5)).is_none());
        open_part_ahead(path, 3..5, &one);
        drop(one);
        assert!(take(path, &(3..5)).is_none() && take(path, &(5..7)).is_some());
        drop(other);
    }
}
