//! Single files: at any moment, either the complete old file or the complete new one exists.

use super::{parent_of, TEMPORARY};
use crate::files::FileInfo;
use crate::files_ahead::forget;
use crate::fs::{rename_here, Fs};
use crate::identity::unique;
use crate::location::{is_remote, RemoteUrl};
use crate::lock::check_before_release;
use crate::read::open_any;
use crate::run_folder::RunFolder;
use crate::store::{Condition, Content};
use crate::stores::store_of;
use crate::waiting::do_during;
use gristmill_core::problem::Subject;
use gristmill_core::{Failure, Outcome};
use std::path::{Path, PathBuf};

/// Permission bits of a new file.
const NEW_MODE: u32 = 0o644;

/// Writes a single file such that at any moment either the complete old file or the complete new one exists.
pub fn write_file(fs: &dyn Fs, path: &Path, bytes: &[u8], mode: u32) -> Outcome<()> {
    if let Some(url) = RemoteUrl::parse(path) {
        return put(path, &url, Content::Bytes(bytes));
    }
    let beside = hidden_sibling(path, "new");
    let result = write_new(fs, &beside, bytes, mode).and_then(|()| fs.rename(&beside, path));
    if let Err(mut failure) = result {
        // The failure that is being returned is more useful than one of the cleanup.
        let _ = fs.remove_file(&beside);
        // The hidden name means nothing to the user.
        if failure.subject == Subject::path(&beside) {
            failure.subject = Subject::path(path);
        }
        return Err(failure);
    }
    fs.sync_dir(parent_of(path))
}

/// Puts an object, replacing an existing one.
pub(super) fn put(path: &Path, url: &RemoteUrl<'_>, content: Content<'_>) -> Outcome<()> {
    put_if(path, url, content, Condition::Always).map(drop)
}

pub(super) fn put_if(path: &Path, url: &RemoteUrl<'_>, content: Content<'_>, condition: Condition) -> Outcome<bool> {
    if url.key.is_empty() {
        return Err(Failure::usage("writing", "it is a bucket: name an object in it").on(Subject::path(path)));
    }
    forget(&url.to_path());
    let put = store_of(url).and_then(|store| store.put(url, content, condition));
    put.map_err(|error| Failure::io("writing", path, &error))
}

/// Returns the condition that the object at an address has not changed.
fn unchanged(old: Option<FileInfo>) -> Condition {
    old.map_or(Condition::IfAbsent, |old| Condition::IfStamp(old.stamp))
}

/// Writes a new file durably, with its final mode.
fn write_new(fs: &dyn Fs, path: &Path, bytes: &[u8], mode: u32) -> Outcome<()> {
    let mut file = fs.create_file(path)?;
    file.write_all(bytes)?;
    file.set_mode(mode)?;
    file.finish()?;
    Ok(())
}

/// Returns a hidden, unique name in the same folder.
fn hidden_sibling(path: &Path, word: &str) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.{word}", unique()));
    path.with_file_name(name)
}

/// Writes a single file like [`write_file`], but creates the unfinished one in the own folder: a killed process leaves no file next to the
/// data.
pub fn replace_file(fs: &dyn Fs, own: &RunFolder, path: &Path, bytes: &[u8], mode: u32) -> Outcome<()> {
    if is_remote(path) {
        return write_file(fs, path, bytes, mode);
    }
    own.create(fs)?;
    let draft = own.path().join(format!("{TEMPORARY}{}", unique()));
    let result = write_new(fs, &draft, bytes, mode).and_then(|()| rename_here(fs, &draft, path));
    if !matches!(result, Ok(true)) {
        let _ = fs.remove_file(&draft);
    }
    if result? {
        fs.sync_dir(parent_of(path))
    } else {
        write_file(fs, path, bytes, mode)
    }
}

/// Replaces a file like [`replace_file`], with its previous mode. Returns whether it was still `old`; if not, nothing was written. Only
/// stores compare at the moment of writing; on this machine, the caller must hold the lock of the data set.
pub fn replace_version(
    fs: &dyn Fs,
    own: &RunFolder,
    path: &Path,
    bytes: &[u8],
    old: Option<FileInfo>,
) -> Outcome<bool> {
    match RemoteUrl::parse(path) {
        Some(url) => {
            do_during(|| check_before_release(own), || put_if(path, &url, Content::Bytes(bytes), unchanged(old)))
        }
        None => replace_file(fs, own, path, bytes, old.map_or(NEW_MODE, |old| old.mode)).map(|()| true),
    }
}

/// Moves a finished file of the own folder to `path`: at any moment either the complete old file or the complete new one exists.
///
/// A symbolic link at `path` is replaced, not followed. After an error the old file is unchanged.
pub fn place_file(fs: &dyn Fs, written: &Path, path: &Path, mode: u32) -> Outcome<()> {
    if let Some(url) = RemoteUrl::parse(path) {
        put(path, &url, Content::File(&open_any(written)?))?;
        return fs.remove_file(written);
    }
    fs.set_mode(written, mode)?;
    fs.sync_file(written)?;
    if rename_here(fs, written, path)? {
        return fs.sync_dir(parent_of(path));
    }
    let beside = hidden_sibling(path, "new");
    let result = fs.copy_file(written, &beside).and_then(|()| fs.rename(&beside, path));
    if result.is_err() {
        let _ = fs.remove_file(&beside);
    }
    result?;
    fs.sync_dir(parent_of(path))
}

/// Moves a finished file like [`place_file`] if the file at `path` is still `old`, and returns whether it is; see [`replace_version`].
pub fn place_version(fs: &dyn Fs, written: &Path, path: &Path, mode: u32, old: Option<FileInfo>) -> Outcome<bool> {
    let Some(url) = RemoteUrl::parse(path) else { return place_file(fs, written, path, mode).map(|()| true) };
    let is_put = put_if(path, &url, Content::File(&open_any(written)?), unchanged(old))?;
    if is_put {
        fs.remove_file(written)?;
    }
    Ok(is_put)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::{metadata, read};
    use crate::fs::RealFs;

    #[test]
    fn concurrent_writers_of_one_object_lose_no_writes() {
        let path = Path::new("mem://versions/a");
        let own = RunFolder::for_output(path);
        let append = |byte: u8| loop {
            let old = metadata(path).ok();
            let mut bytes = old.map(|_| read(path).unwrap()).unwrap_or_default();
            bytes.push(byte);
            if replace_version(&RealFs, &own, path, &bytes, old).unwrap() {
                break;
            }
        };
        std::thread::scope(|scope| (0..8).for_each(|byte| _ = scope.spawn(move || append(byte))));
        let mut bytes = read(path).unwrap();
        bytes.sort_unstable();
        assert_eq!(bytes, [0, 1, 2, 3, 4, 5, 6, 7]);
        assert!(!replace_version(&RealFs, &own, path, b"new", None).unwrap());
        let old = metadata(path).ok();
        assert!(replace_version(&RealFs, &own, path, b"new", old).unwrap());
        assert!(!replace_version(&RealFs, &own, path, b"other", old).unwrap());
        let failure = write_file(&RealFs, Path::new("mem://versions"), b"x", 0o644).unwrap_err();
        assert_eq!((failure.class.code(), &*failure.why), (2, "it is a bucket: name an object in it"));
        assert_eq!(read(path).unwrap(), b"new");
    }
}
