//! The local cache of objects, in the user's cache folder: copies of objects for programs that can only read local files
//! ([`local_copy`](super::local_copy)), and blocks of objects that are read at random ([`open_cached`]).
//!
//! Owns the size limit and the order of removal. The name of each file contains the version of its object, so that no entry is ever
//! out of date.

mod blocks;

pub use blocks::{open_cached, read_whole_cached};

use super::files::{read_dir, FileInfo, FolderEntry};
use super::fs::{Fs, RealFs};
use super::{publish, space, xdg};
use gristmill_core::{Failure, Outcome};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

/// Name of the folder in the user's cache folder.
const FOLDER: &str = "remote";
/// Default of the maximum size of all files, in bytes.
pub const DEFAULT_CACHE_BYTES: u64 = 4 << 30;
/// Divisor of the free space: the cache uses at most this share of it.
const FREE_SPACE_DIVISOR: u64 = 10;
/// Age after which an unfinished file is assumed to be from a killed process.
const DRAFT_AGE: Duration = Duration::from_secs(3600);

static LIMIT: OnceLock<u64> = OnceLock::new();

/// Sets the maximum size of all files in bytes; with 0, only files in use remain. Has no effect after the first call or use.
pub fn set_cache_bytes(bytes: u64) {
    _ = LIMIT.set(bytes);
}

/// Returns the folder for cached data of a path.
pub(super) fn folder_of(path: &Path) -> PathBuf {
    xdg::cache_dir_of(path).join(FOLDER)
}

/// Returns the maximum size of all files, in bytes.
fn limit(folder: &Path) -> Outcome<u64> {
    let limit = *LIMIT.get_or_init(|| DEFAULT_CACHE_BYTES);
    Ok(limit.min(space::free_bytes(folder)? / FREE_SPACE_DIVISOR))
}

/// Number and size of the cached files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheUsage {
    /// The folder.
    pub folder: PathBuf,
    /// Number of files.
    pub files: u64,
    /// Their size in bytes.
    pub bytes: u64,
}

/// Returns the number and size of the cached files.
///
/// # Errors
/// The folder cannot be read.
pub fn cache_usage() -> Outcome<CacheUsage> {
    usage_of(xdg::cache_dir().join(FOLDER))
}

fn usage_of(folder: PathBuf) -> Outcome<CacheUsage> {
    let files = files(&folder)?;
    let bytes = files.iter().map(|file| file.bytes).sum();
    Ok(CacheUsage { files: files.len() as u64, bytes, folder })
}

/// Removes cached data of stores; other processes continue to read open files. Returns what was removed.
///
/// # Errors
/// The folder cannot be read, or a file cannot be removed.
pub fn clear_cache() -> Outcome<CacheUsage> {
    clear(xdg::cache_dir().join(FOLDER))
}

fn clear(folder: PathBuf) -> Outcome<CacheUsage> {
    let mut removed = CacheUsage { folder, ..CacheUsage::default() };
    for file in files(&removed.folder)?.into_iter().filter(|file| !file.is_being_written()) {
        RealFs.remove_file(&file.path)?;
        removed.files += 1;
        removed.bytes += file.bytes;
    }
    Ok(removed)
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct CacheFile {
    modified: SystemTime,
    bytes: u64,
    path: PathBuf,
}

impl CacheFile {
    /// Whether another process may be writing the file.
    fn is_being_written(&self) -> bool {
        let name = self.path.file_name().map_or(&b""[..], |name| name.as_encoded_bytes());
        let age = SystemTime::now().duration_since(self.modified);
        name.starts_with(publish::TEMPORARY.as_bytes()) && age.map_or(true, |age| age < DRAFT_AGE)
    }
}

fn files(folder: &Path) -> Outcome<Vec<CacheFile>> {
    let entries = match read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(|error| Failure::io("reading the folder", folder, &error))?,
    };
    let file = |entry: FolderEntry| {
        let info = entry.metadata().ok().filter(FileInfo::is_file)?;
        Some(CacheFile { modified: info.modified(), bytes: info.len(), path: entry.into_path() })
    };
    Ok(entries.flatten().filter_map(file).collect())
}

/// Removes the least recently used files until the others, with `bytes` more, are within the limit.
pub(super) fn make_room(folder: &Path, bytes: u64) -> Outcome<()> {
    let limit = limit(folder)?;
    let mut files = files(folder)?;
    files.sort();
    let mut total = files.iter().map(|file| file.bytes).sum::<u64>();
    for file in files {
        if total + bytes <= limit {
            break;
        }
        if !file.is_being_written() {
            // A process that uses the file can still read it.
            RealFs.remove_file(&file.path)?;
            total -= file.bytes;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_cache_files_are_removed_and_drafts_kept() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a", "b"] {
            std::fs::write(dir.path().join(name), b"12345").unwrap();
        }
        make_room(dir.path(), 1).unwrap();
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2);
        std::fs::write(dir.path().join("tmp-draft"), b"12345").unwrap();
        make_room(dir.path(), u64::MAX >> 1).unwrap();
        let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["tmp-draft"], "another process may be writing it");
    }

    #[test]
    fn cache_usage_is_counted_and_cache_is_cleared() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("remote");
        assert_eq!(usage_of(folder.clone()).unwrap(), CacheUsage { folder: folder.clone(), files: 0, bytes: 0 });
        std::fs::create_dir(&folder).unwrap();
        for name in ["a", "b", "tmp-draft"] {
            std::fs::write(folder.join(name), b"12345").unwrap();
        }
        assert_eq!(usage_of(folder.clone()).unwrap().bytes, 15);
        assert_eq!(clear(folder.clone()).unwrap(), CacheUsage { folder: folder.clone(), files: 2, bytes: 10 });
        assert_eq!(usage_of(folder).unwrap().files, 1);
    }
}
