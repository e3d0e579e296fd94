//! A shard: one tar file of a data set.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Index of a shard in the sorted list of the data set; equals `tar_file_id` in the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ShardId(pub u32);

/// Identifies the state of a file without reading it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FileStamp {
    /// Size in bytes.
    pub bytes: u64,
    /// Modification time, in nanoseconds since 1970.
    pub modified_ns: i64,
    /// Inode number; for an object in a store, a hash of its version with the bit [`OBJECT_INODE`].
    pub inode: u64,
}

/// Bit of [`FileStamp::inode`] that distinguishes objects of stores from files.
pub const OBJECT_INODE: u64 = 1 << 63;

impl FileStamp {
    /// Whether the stamp belongs to an object in a store.
    pub fn is_of_object(&self) -> bool {
        self.inode & OBJECT_INODE != 0
    }
}

/// A tar shard found on disk. See docs/formats/energon.md §2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Path relative to the data set's root, with `/` separators; always valid UTF-8.
    pub name: String,
    /// Path of the file; symbolic links are not resolved.
    pub path: PathBuf,
    /// Size, modification time and inode when the file was found.
    pub stamp: FileStamp,
    /// Permission bits of the file (`mode & 0o7777`).
    pub mode: u32,
    /// Whether the name ends with `.tgz`. Such a shard is indexed, but the loader cannot read it.
    pub is_tgz: bool,
}

impl Shard {
    /// Returns the relative name of its `.tar.idx` file, which replaces the last suffix: `a.v2.tar` → `a.v2.tar.idx`, `z.tgz` →
    /// `z.tar.idx`.
    pub fn index_name(&self) -> String {
        index_name(&self.name)
    }
}

/// Returns the path of the index of a shard, relative to the root: `a/b.tar` and `a/b.tgz` have `a/b.tar.idx`.
pub fn index_name(shard: &str) -> String {
    let stem = shard.rsplit_once('.').map_or(shard, |(stem, _)| stem);
    format!("{stem}.tar.idx")
}
