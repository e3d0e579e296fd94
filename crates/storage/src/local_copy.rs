//! Copies of objects for programs that read paths only, such as SQLite: in the cache folder, by address and version.

use super::files::{metadata, missing_folders, read_dir};
use super::fs::{Fs, RealFs, PRIVATE_FOLDER};
use super::location::is_remote;
use super::read::open_read;
use super::{publish, space, xdg};
use gristmill_core::{Failure, Outcome};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Folder of the copies in the cache folder.
const FOLDER: &str = "remote";
/// Maximum size of all copies, in bytes, and divisor of the free space that they may take if that is less.
const MAX_BYTES: u64 = 4 << 30;
const SHARE: u64 = 10;
/// Time after its last change from which on a draft is that of a process that was killed.
const DRAFT_AGE: Duration = Duration::from_secs(3600);
/// Bytes that are copied at a time.
const CHUNK: usize = 8 << 20;

/// Returns a local file with the content that a path leads to: the path itself, or a copy of the object. A copy of the same version that is
/// there is used again. The copies that were not used for longest are removed.
///
/// # Errors
/// The object cannot be read, or there is no space for it.
pub fn local_copy(path: &Path) -> Outcome<Cow<'_, Path>> {
    match is_remote(path) {
        true => copy_into(&xdg::cache_dir_of(path).join(FOLDER), path).map(Cow::Owned),
        false => Ok(Cow::Borrowed(path)),
    }
}

fn copy_into(folder: &Path, path: &Path) -> Outcome<PathBuf> {
    let object = open_read(path)?;
    let stamp = object.stamp().map_err(|error| Failure::io("opening", path, &error))?;
    let version = format!("{} {} {} {}", path.display(), stamp.bytes, stamp.modified_ns, stamp.inode);
    let copy = folder.join(format!("{:032x}", xxhash_rust::xxh3::xxh3_128(version.as_bytes())));
    if metadata(&copy).is_ok_and(|info| info.is_file() && info.len() == stamp.bytes) {
        return Ok(copy);
    }
    missing_folders(folder).into_iter().try_for_each(|folder| RealFs.create_dir(folder, PRIVATE_FOLDER))?;
    make_room(folder, stamp.bytes)?;
    let draft = folder.join(format!("{}{}", publish::TEMPORARY, publish::unique()));
    let fill = || {
        let mut file = RealFs.create_file(&draft)?;
        let (mut buffer, mut at) = (vec![0; CHUNK], 0);
        loop {
            let count = object.read_at(&mut buffer, at).map_err(|error| Failure::io("reading", path, &error))?;
            let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else { break };
            file.write_all(bytes)?;
            at += count as u64;
        }
        file.close()?;
        RealFs.rename(&draft, &copy)
    };
    if let Err(failure) = fill() {
        let _ = RealFs.remove_file(&draft);
        return Err(failure);
    }
    Ok(copy)
}

/// Removes the oldest copies until the others, with `bytes` more, are within the limit.
fn make_room(folder: &Path, bytes: u64) -> Outcome<()> {
    let limit = MAX_BYTES.min(space::free_bytes(folder)? / SHARE);
    let entries = read_dir(folder).map_err(|error| Failure::io("reading the folder", folder, &error))?;
    let mut copies: Vec<(SystemTime, u64, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| entry.metadata().ok().map(|info| (info.modified(), info.len(), entry.into_path())))
        .collect();
    copies.sort();
    let mut total = bytes + copies.iter().map(|(_, bytes, _)| bytes).sum::<u64>();
    let now = SystemTime::now();
    for (modified, bytes, path) in copies {
        if total <= limit {
            break;
        }
        let is_draft =
            path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(publish::TEMPORARY.as_bytes()));
        // Another process may be writing it.
        if is_draft && now.duration_since(modified).map_or(true, |age| age < DRAFT_AGE) {
            continue;
        }
        // Another process may use it: its open file stays readable.
        RealFs.remove_file(&path)?;
        total -= bytes;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory_store::put;

    #[test]
    fn an_object_is_copied_once_for_each_version() {
        let (dir, path) = (tempfile::tempdir().unwrap(), Path::new("mem://copies/a"));
        let folder = dir.path().join("cache/remote");
        put(path, b"first");
        let first = copy_into(&folder, path).unwrap();
        assert_eq!(std::fs::read(&first).unwrap(), b"first");
        assert_eq!(copy_into(&folder, path).unwrap(), first);
        put(path, b"other");
        let second = copy_into(&folder, path).unwrap();
        assert_ne!(first, second);
        assert_eq!(std::fs::read(&second).unwrap(), b"other");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2, "no draft is left");
        assert!(copy_into(&folder, Path::new("mem://copies/none")).unwrap_err().is_missing());
        assert_eq!(local_copy(dir.path()).unwrap(), dir.path());
    }

    #[test]
    fn old_copies_make_room() {
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
}
