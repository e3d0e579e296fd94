//! Parts of objects that are opened before they are read, so that their first bytes are on their way meanwhile.

use super::location::is_remote;
use super::read::{open_part, ReadFile};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Maximum number of parts that are open and not read yet.
const MAX_PARTS: usize = 64;

struct Begun {
    owner: u64,
    path: PathBuf,
    part: Range<u64>,
    file: ReadFile,
}

#[derive(Default)]
struct AllBegun {
    owners: u64,
    parts: Vec<Begun>,
}

static BEGUN: Mutex<AllBegun> = Mutex::new(AllBegun { owners: 0, parts: Vec::new() });

/// Parts of files that one run opens before it reads them. Those that are not read are closed when it is dropped.
#[derive(Debug)]
pub struct BegunParts {
    owner: u64,
}

fn all() -> MutexGuard<'static, AllBegun> {
    BEGUN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl BegunParts {
    /// Begins without parts.
    #[must_use]
    pub fn begin() -> Self {
        let mut all = all();
        all.owners += 1;
        Self { owner: all.owners }
    }

    /// Opens a part of an object, which the next call of [`open_part`] for it returns. Has no effect for a local file, and for an object that cannot
    /// be opened: who reads it finds that out.
    pub fn open(&self, path: &Path, part: Range<u64>) {
        // What begins a file is opened by those who look at it first.
        if !is_remote(path) || part.start == 0 || all().parts.len() >= MAX_PARTS {
            return;
        }
        if let Ok(file) = open_part(path, part.clone()) {
            all().parts.push(Begun { owner: self.owner, path: path.to_owned(), part, file });
        }
    }
}

impl Drop for BegunParts {
    fn drop(&mut self) {
        let mut all = all();
        let (own, others) = std::mem::take(&mut all.parts).into_iter().partition(|begun| begun.owner == self.owner);
        all.parts = others;
        // Closing a file may take time.
        drop::<MutexGuard<'_, AllBegun>>(all);
        drop::<Vec<Begun>>(own);
    }
}

/// Returns a part that was opened before.
pub(super) fn take(path: &Path, part: &Range<u64>) -> Option<ReadFile> {
    let mut all = all();
    let at = all.parts.iter().position(|begun| begun.path == path && begun.part == *part)?;
    Some(all.parts.swap_remove(at).file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory_store::put;

    #[test]
    fn a_part_is_taken_once_and_ends_with_its_owner() {
        let path = Path::new("mem://begun/a");
        put(path, b"0123456789");
        let (one, other) = (BegunParts::begin(), BegunParts::begin());
        one.open(path, 3..5);
        other.open(path, 5..7);
        one.open(path, 0..3);
        one.open(Path::new("mem://begun/missing"), 1..2);
        assert!(take(path, &(3..6)).is_none() && take(path, &(0..3)).is_none());
        assert_eq!(take(path, &(3..5)).unwrap().len(), 10);
        assert!(take(path, &(3..5)).is_none());
        one.open(path, 3..5);
        drop(one);
        assert!(take(path, &(3..5)).is_none() && take(path, &(5..7)).is_some());
        drop(other);
    }
}
