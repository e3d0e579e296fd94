//! The content of a mount: folders and files by inode number.

use gristmill_core::{Failure, Outcome};
use std::time::SystemTime;

/// Kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A folder.
    Folder,
    /// A file.
    File,
    /// A file whose size is not final: that of a text until it has been read to its end, and of data that cannot be read now.
    Stream,
    /// A mark without content: a block device that cannot be opened.
    Mark,
}

/// A file or folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its inode number, which is also its position in a listing.
    pub inode: u64,
    /// Kind of the entry.
    pub kind: EntryKind,
    /// Size in bytes.
    pub bytes: u64,
    /// Time of its last change.
    pub time: SystemTime,
}

/// Why a request failed.
#[derive(Clone, Debug)]
pub enum Refusal {
    /// There is no such entry.
    Missing,
    /// The data cannot be read, or have changed since they were mounted.
    Failed(Box<Failure>),
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Self::Failed(Box::new(failure))
    }
}

/// The size of the mounted data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Bytes of the files with the data.
    pub bytes: u64,
    /// Number of samples.
    pub samples: u64,
}

/// The content of a mount. Several threads send requests. The meaning of an inode number never changes while the mount exists.
pub trait Tree: Send + Sync + 'static {
    /// Returns the entry of an inode number.
    fn entry(&self, inode: u64) -> Result<Entry, Refusal>;

    /// Returns the entry of a folder with exactly this name.
    fn find(&self, folder: u64, name: &str) -> Result<Entry, Refusal>;

    /// Passes the entries of a folder after the entry `after` (0: all) to `add`, until it returns `false`.
    fn list(&self, folder: u64, after: u64, add: &mut dyn FnMut(&Entry, &str) -> bool) -> Result<(), Refusal>;

    /// Returns up to `count` bytes of a file; fewer only at its end.
    fn read(&self, inode: u64, offset: u64, count: usize) -> Result<Vec<u8>, Refusal>;

    /// Whether there are entries of the kind [`EntryKind::Stream`]. Without them, opening a file needs no request.
    fn has_streams(&self) -> bool;

    /// Whether there are many folders with few entries. The kernel then receives the attributes of all entries with their names, because
    /// programs that list such a folder usually use them.
    fn has_small_folders(&self) -> bool;

    /// Returns the extended attributes of an entry.
    fn attributes(&self, inode: u64) -> Result<Vec<(&'static str, String)>, Refusal>;

    /// Returns the size of the mounted data.
    fn totals(&self) -> Totals;

    /// Reads the settings that determine the entries again, and passes the names in the root that may have changed to `stale`.
    fn reload(&self, stale: &mut dyn FnMut(&str)) -> Outcome<()>;
}
