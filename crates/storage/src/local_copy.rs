//! Copies of objects for programs that can only read local files, such as SQLite: in the cache folder, by address and version.

use super::cache::{folder_of, make_room};
use super::files::metadata;
use super::fs::{Fs, RealFs, PRIVATE_FOLDER};
use super::identity::unique;
use super::location::is_remote;
use super::publish;
use super::read::open_read;
use super::scratch::Scratch;
use super::space::{free_bytes, may_write};
use gristmill_core::{text, Failure, FileStamp, Mutex, Outcome, Subject};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Number of bytes copied at a time.
const CHUNK_BYTES: usize = 8 << 20;

/// Returns a local file with the content of a path: the path itself, or a copy of the object. An existing copy of the same version is
/// reused. The least recently used copies are removed.
///
/// # Errors
/// The object cannot be read, or there is no space for it.
pub fn local_copy(path: &Path) -> Outcome<Cow<'_, Path>> {
    match is_remote(path) {
        true => copy_into(&folder_of(path), path).map(Cow::Owned),
        false => Ok(Cow::Borrowed(path)),
    }
}

/// Returns the local file that [`local_copy`] has for a version of an object, or the path itself if it is a local file.
pub fn copy_of_version(path: &Path, stamp: FileStamp) -> Option<Cow<'_, Path>> {
    if !is_remote(path) {
        return Some(Cow::Borrowed(path));
    }
    let copy = folder_of(path).join(name_of(path, stamp));
    is_whole(&copy, stamp).then_some(Cow::Owned(copy))
}

fn name_of(path: &Path, stamp: FileStamp) -> String {
    let version = format!("{} {} {} {}", path.display(), stamp.bytes, stamp.modified_ns, stamp.inode);
    format!("{:032x}", xxhash_rust::xxh3::xxh3_128(version.as_bytes()))
}

fn is_whole(copy: &Path, stamp: FileStamp) -> bool {
    let is_whole = metadata(copy).is_ok_and(|info| info.is_file() && info.len() == stamp.bytes);
    if is_whole {
        // The least recently used copy is removed first.
        _ = std::fs::File::open(copy).and_then(|file| file.set_modified(SystemTime::now()));
    }
    is_whole
}

fn copy_into(folder: &Path, path: &Path) -> Outcome<PathBuf> {
    let failure = |error| Failure::io("opening", path, &error);
    // Opening the object would read its beginning.
    let stamp = metadata(path).map_err(failure)?.stamp;
    let copy = folder.join(name_of(path, stamp));
    if is_whole(&copy, stamp) {
        return Ok(copy);
    }
    let object = open_read(path)?;
    let stamp = object.stamp().map_err(failure)?;
    let copy = folder.join(name_of(path, stamp));
    // One thread copies; the others use its copy.
    static COPY_LOCK: Mutex<()> = Mutex::new(());
    let _copying = COPY_LOCK.lock();
    if is_whole(&copy, stamp) {
        return Ok(copy);
    }
    let (folder, copy) = match begin_in(folder, stamp.bytes) {
        Ok(()) => (folder.to_owned(), copy),
        Err(failure) => {
            let other = temporary_folder().ok_or(failure)?;
            let copy = other.join(name_of(path, stamp));
            (other, copy)
        }
    };
    if is_whole(&copy, stamp) {
        return Ok(copy);
    }
    let draft = folder.join(format!("{}{}", publish::TEMPORARY, unique()));
    let fill = || {
        let mut file = RealFs.create_file(&draft)?;
        let (mut buffer, mut at) = (vec![0; CHUNK_BYTES], 0);
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

/// Prepares the cache folder for a file of this size.
fn begin_in(folder: &Path, bytes: u64) -> Outcome<()> {
    RealFs.create_folders(folder, PRIVATE_FOLDER)?;
    may_write(folder).map_err(|error| Failure::io("writing into the cache folder", folder, &error))?;
    make_room(folder, bytes)?;
    let free = free_bytes(folder)?;
    if bytes <= free {
        return Ok(());
    }
    let why = format!("{} are needed, and {} are free", text::bytes(bytes), text::bytes(free));
    Err(Failure::environment("writing into the cache folder", why)
        .on(Subject::path(folder))
        .with_hint("set XDG_CACHE_HOME to another folder"))
}

/// Folder of copies that the cache folder cannot have, such as that of a read-only home folder.
static TEMPORARY_FOLDER: Mutex<Option<Scratch>> = Mutex::new(None);

fn temporary_folder() -> Option<PathBuf> {
    let mut folder = TEMPORARY_FOLDER.lock();
    if folder.is_none() {
        *folder = Scratch::create(None).ok();
    }
    folder.as_ref().map(|folder| folder.path().to_owned())
}

/// Removes the copies of this process that are not in the cache folder.
pub fn remove_temporary_copies() {
    drop(TEMPORARY_FOLDER.lock().take());
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
    fn copy_is_temporary_if_the_cache_folder_cannot_be_written() {
        let path = Path::new("mem://copies/without-cache");
        put(path, b"content");
        let copy = copy_into(Path::new("/proc/none/remote"), path).unwrap();
        assert_eq!(std::fs::read(&copy).unwrap(), b"content");
        assert_eq!(copy_into(Path::new("/proc/none/remote"), path).unwrap(), copy, "it is used again");
        remove_temporary_copies();
        assert!(!copy.exists());
    }
}
