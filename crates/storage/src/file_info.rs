//! Kind, size and version of files, folders and objects.

use gristmill_core::shard::OBJECT_INODE;
use gristmill_core::FileStamp;
use rustix::fs::{FileType, RawMode, Stat};
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Permission bits reported for objects and prefixes of a store.
const OBJECT_MODE: u32 = 0o644;
const PREFIX_MODE: u32 = 0o755;
/// Nanoseconds in a second.
const SECOND_NS: i64 = 1_000_000_000;

/// Kind of an entry of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file, or an object.
    File,
    /// A folder, or a prefix of keys.
    Folder,
    /// A symbolic link that was not followed.
    Link,
    /// A fifo.
    Fifo,
    /// A socket.
    Socket,
    /// A device.
    Device,
}

impl FileKind {
    pub(crate) fn of(kind: std::fs::FileType) -> Self {
        match () {
            () if kind.is_file() => Self::File,
            () if kind.is_dir() => Self::Folder,
            () if kind.is_symlink() => Self::Link,
            () if kind.is_fifo() => Self::Fifo,
            () if kind.is_socket() => Self::Socket,
            () => Self::Device,
        }
    }

    fn of_mode(mode: RawMode) -> Self {
        match FileType::from_raw_mode(mode) {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Folder,
            FileType::Symlink => Self::Link,
            FileType::Fifo => Self::Fifo,
            FileType::Socket => Self::Socket,
            FileType::BlockDevice | FileType::CharacterDevice | FileType::Unknown => Self::Device,
        }
    }

    /// Whether it is a regular file.
    pub fn is_file(self) -> bool {
        self == Self::File
    }

    /// Whether it is a folder.
    pub fn is_dir(self) -> bool {
        self == Self::Folder
    }

    /// Whether it is a symbolic link.
    pub fn is_symlink(self) -> bool {
        self == Self::Link
    }

    /// Returns the kind with its article, as in "it is a folder".
    pub fn with_article(self) -> &'static str {
        match self {
            Self::File => "a file",
            Self::Folder => "a folder",
            Self::Link => "a link",
            Self::Fifo => "a fifo",
            Self::Socket => "a socket",
            Self::Device => "a device",
        }
    }
}

/// Kind, size and version of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileInfo {
    /// Kind of the file.
    pub kind: FileKind,
    /// Size, time and inode. For an object, the inode is a hash of its version.
    pub stamp: FileStamp,
    /// Permission bits (`mode & 0o7777`). Objects have none; `0o644` is reported for them.
    pub mode: u32,
    /// Number of hard links.
    pub links: u64,
    /// Number of the file system.
    pub device: u64,
}

impl FileInfo {
    /// Returns the information of a local file.
    pub(crate) fn of(metadata: &Metadata) -> Self {
        let modified_ns = metadata.mtime().saturating_mul(SECOND_NS).saturating_add(metadata.mtime_nsec());
        Self {
            kind: FileKind::of(metadata.file_type()),
            // The bit marks the inodes of objects.
            stamp: FileStamp { bytes: metadata.len(), modified_ns, inode: metadata.ino() & !OBJECT_INODE },
            mode: metadata.mode() & 0o7777,
            links: metadata.nlink(),
            device: metadata.dev(),
        }
    }

    /// Returns the information of a local file.
    pub(crate) fn of_stat(stat: &Stat) -> Self {
        let mode = stat.st_mode as RawMode;
        let nanoseconds = i64::try_from(stat.st_mtime_nsec).unwrap_or_default();
        Self {
            kind: FileKind::of_mode(mode),
            stamp: FileStamp {
                bytes: u64::try_from(stat.st_size).unwrap_or_default(),
                modified_ns: stat.st_mtime.saturating_mul(SECOND_NS).saturating_add(nanoseconds),
                inode: stat.st_ino & !OBJECT_INODE,
            },
            mode: mode & 0o7777,
            links: stat.st_nlink,
            device: stat.st_dev,
        }
    }

    /// Returns the information of an object. `version` identifies its version in its store.
    pub fn of_object(bytes: u64, modified_ns: i64, version: &str) -> Self {
        let inode = xxhash_rust::xxh3::xxh3_64(version.as_bytes()) | OBJECT_INODE;
        Self::of_object_stamp(FileStamp { bytes, modified_ns, inode })
    }

    /// Returns the information of an object with a stamp.
    pub(crate) fn of_object_stamp(stamp: FileStamp) -> Self {
        Self { kind: FileKind::File, stamp, mode: OBJECT_MODE, links: 1, device: 0 }
    }

    /// Returns the information of a prefix.
    pub fn of_prefix() -> Self {
        let stamp = FileStamp::default();
        Self { kind: FileKind::Folder, stamp, mode: PREFIX_MODE, links: 1, device: 0 }
    }

    /// Whether it is a regular file.
    pub fn is_file(&self) -> bool {
        self.kind.is_file()
    }

    /// Whether it is a folder.
    pub fn is_dir(&self) -> bool {
        self.kind.is_dir()
    }

    /// Whether it is a symbolic link.
    pub fn is_symlink(&self) -> bool {
        self.kind.is_symlink()
    }

    /// Returns the size in bytes.
    pub fn len(&self) -> u64 {
        self.stamp.bytes
    }

    /// Whether the size is 0.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the time of the last modification in whole seconds since 1970, because stores report no fractions.
    pub fn modified_second(&self) -> i64 {
        self.stamp.modified_ns.div_euclid(SECOND_NS)
    }

    /// Returns the time of the last modification.
    pub fn modified(&self) -> SystemTime {
        let distance = Duration::from_nanos(self.stamp.modified_ns.unsigned_abs());
        match self.stamp.modified_ns < 0 {
            true => UNIX_EPOCH - distance,
            false => UNIX_EPOCH + distance,
        }
    }
}

/// An object of a listing, or a common prefix of several keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreEntry {
    /// Key of the object, or the prefix without the slash at its end.
    pub key: String,
    /// Size, version and kind.
    pub info: FileInfo,
}

/// Callback for each entry of a listing; `false` ends the listing.
pub type TakeEntry<'a> = &'a mut dyn FnMut(StoreEntry) -> io::Result<bool>;
