//! A shard: one tar file of a data set.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Position of a shard in the data set's sorted list: `tar_file_id` of the index, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ShardId(pub u32);

/// Distinguishes one state of a file from another without reading it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FileStamp {
    /// Size in bytes.
    pub bytes: u64,
    /// Modification time, in nanoseconds since 1970.
    pub modified_ns: i64,
    /// Inode number; for an object of a store, a hash of its version with [`OBJECT_INODE`].
    pub inode: u64,
}

/// Bit of [`FileStamp::inode`] that distinguishes objects of stores from files.
pub const OBJECT_INODE: u64 = 1 << 63;

impl FileStamp {
    /// Whether it is of an object of a store.
    pub fn is_of_object(&self) -> bool {
        self.inode & OBJECT_INODE != 0
    }
}

/// One tar shard, as found on disk. See docs/formats/energon.md §2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Path relative to the data set's root, with `/` separators; always valid UTF-8.
    pub name: String,
    /// Path of the file; a symbolic link keeps its own path.
    pub path: PathBuf,
    /// Size, time and inode of the file when it was found.
    pub stamp: FileStamp,
    /// Permission bits of the file (`mode & 0o7777`).
    pub mode: u32,
    /// Whether it is named `*.tgz`: indexed, but the loader cannot read it.
    pub is_tgz: bool,
}

impl Shard {
    /// Returns the relative name of its `.tar.idx`: the last suffix is replaced. `a.v2.tar` → `a.v2.tar.idx`, `z.tgz` → `z.tar.idx`.
    pub fn index_name(&self) -> String {
        index_name(&self.name)
    }
}

/// Returns the path of a shard's offset file, relative to the root: `a/b.tar` and `a/b.tgz` have `a/b.tar.idx`.
pub fn index_name(shard: &str) -> String {
    let stem = shard.rsplit_once('.').map_or(shard, |(stem, _)| stem);
    format!("{stem}.tar.idx")
}
