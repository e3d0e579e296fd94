//! Kind, size and version of files and folders, on this machine and in stores.
//!
//! Most functions have the names and errors of their counterparts in `std::fs`.

pub use super::file_info::{FileInfo, FileKind};
use super::location::{is_above_buckets, is_plain_key, is_remote, Location, RemoteUrl};
use super::notices;
use super::read_file::pause;
use super::store::unlisted_buckets;
use super::stores::{self, store_of};
use super::waiting::do_during;
use gristmill_core::{Failure, Outcome, Problem, ProblemKind, Subject};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

/// Returns kind, size and version of the file or folder at a path; symbolic links are followed.
pub fn metadata(path: impl AsRef<Path>) -> io::Result<FileInfo> {
    match Location::of(path.as_ref()) {
        Location::Local(path) => std::fs::metadata(path).map(|metadata| FileInfo::of(&metadata)),
        Location::Remote(url) => remote_metadata(&url),
    }
}

/// Returns kind, size and version of the file or folder at a path; a symbolic link is not followed.
pub fn symlink_metadata(path: impl AsRef<Path>) -> io::Result<FileInfo> {
    match Location::of(path.as_ref()) {
        Location::Local(path) => std::fs::symlink_metadata(path).map(|metadata| FileInfo::of(&metadata)),
        Location::Remote(url) => remote_metadata(&url),
    }
}

fn remote_metadata(url: &RemoteUrl<'_>) -> io::Result<FileInfo> {
    pause();
    if url.bucket.is_empty() && url.key.is_empty() {
        return Ok(FileInfo::of_prefix());
    }
    store_of(url)?.info(url)?.ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Like [`metadata`], for callers that then query entries below the path: a folder of a store is listed at the same time.
pub fn metadata_and_listing(path: &Path) -> io::Result<FileInfo> {
    match Location::of(path) {
        Location::Remote(url) if !url.key.is_empty() => {
            pause();
            store_of(&url)?.info_and_listing(&url)?.ok_or_else(|| io::ErrorKind::NotFound.into())
        }
        _ => metadata(path),
    }
}

/// Lists the objects of a store below a path, so that later queries for them need no requests. Errors are ignored: the later queries report
/// them.
pub fn fetch_listing(path: impl AsRef<Path>) {
    if let Location::Remote(url) = Location::of(path.as_ref()) {
        // A whole bucket may have too many objects.
        if !url.key.is_empty() {
            _ = store_of(&url).and_then(|store| store.fetch_listing(&url));
        }
    }
}

/// Runs some work while [`fetch_listing`] waits for the store of a path, if it is in one.
pub fn fetch_listing_during<T>(path: &Path, work: impl FnOnce() -> T) -> T {
    if !is_remote(path) {
        return work();
    }
    // If no thread can start, each path is requested separately.
    do_during(|| fetch_listing(path), work)
}

/// Whether a path exists; links are followed.
pub fn exists(path: impl AsRef<Path>) -> bool {
    metadata(path).is_ok()
}

/// Whether anything exists at a path, including a broken link. `true` if a store does not answer, so that nothing is replaced.
pub fn is_taken(path: impl AsRef<Path>) -> bool {
    match symlink_metadata(&path) {
        Ok(_) => true,
        Err(error) => is_remote(path.as_ref()) && error.kind() != io::ErrorKind::NotFound,
    }
}

/// Whether anything exists at a path, including a broken link; for outputs that must not be replaced.
///
/// # Errors
/// A store does not answer.
pub fn try_is_taken(path: impl AsRef<Path>) -> Outcome<bool> {
    match symlink_metadata(&path) {
        Err(error) if is_remote(path.as_ref()) && error.kind() != io::ErrorKind::NotFound => {
            Err(Failure::io("looking for files", path, &error))
        }
        found => Ok(found.is_ok()),
    }
}

/// Whether a path exists; links are followed.
///
/// # Errors
/// It cannot be determined.
pub fn try_exists(path: impl AsRef<Path>) -> io::Result<bool> {
    if_any(path).map(|info| info.is_some())
}

/// Whether a path leads to a regular file; links are followed.
///
/// # Errors
/// It cannot be determined.
pub fn try_is_file(path: impl AsRef<Path>) -> io::Result<bool> {
    if_any(path).map(|info| info.is_some_and(|info| info.is_file()))
}

/// Returns kind, size and version of the file or folder at a path; `None` if there is none.
pub(crate) fn if_any(path: impl AsRef<Path>) -> io::Result<Option<FileInfo>> {
    match metadata(path) {
        Ok(info) => Ok(Some(info)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether a path leads to a regular file; links are followed.
pub fn is_file(path: impl AsRef<Path>) -> bool {
    metadata(path).is_ok_and(|info| info.is_file())
}

/// Whether a path leads to a folder; links are followed.
pub fn is_dir(path: impl AsRef<Path>) -> bool {
    metadata(path).is_ok_and(|info| info.is_dir())
}

/// Whether a path is a symbolic link.
pub fn is_symlink(path: impl AsRef<Path>) -> bool {
    symlink_metadata(path).is_ok_and(|info| info.is_symlink())
}

/// Returns the absolute path without links and `..`. A location in a store is returned unchanged if it exists.
pub fn canonicalize(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    match Location::of(path.as_ref()) {
        Location::Local(path) => std::fs::canonicalize(path),
        Location::Remote(url) => remote_metadata(&url).map(|_| url.to_path()),
    }
}

/// Returns the path from the root. Only the part before `..` is looked up: it is replaced by the folder to which it leads, if it exists.
/// That of a location in a store is itself.
pub fn absolute(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    match Location::of(path.as_ref()) {
        Location::Local(path) => {
            let whole = std::path::absolute(path)?;
            let last = whole.ancestors().find(|above| above.components().next_back() == Some(Component::ParentDir));
            let Some((above, folder)) = last.and_then(|above| Some((above, std::fs::canonicalize(above).ok()?))) else {
                return Ok(whole);
            };
            // A slash at the end is kept.
            let below = whole.as_os_str().as_bytes().get(above.as_os_str().len()..).unwrap_or_default();
            let mut place = if folder == Path::new("/") && !below.is_empty() { OsString::new() } else { folder.into() };
            place.push(OsStr::from_bytes(below));
            Ok(place.into())
        }
        Location::Remote(url) => Ok(url.to_path()),
    }
}

/// Returns the path from the root, or the path itself if the current folder does not exist.
pub fn absolute_or_same(path: impl AsRef<Path>) -> PathBuf {
    absolute(&path).unwrap_or_else(|_| path.as_ref().to_owned())
}

/// Returns a path that is the same for all addresses of one object or prefix, for comparisons. A local path is returned unchanged. Makes no
/// request.
pub fn unique_path(path: &Path) -> PathBuf {
    let Location::Remote(url) = Location::of(path) else { return path.to_owned() };
    // Addresses of a store that cannot be opened need no comparison: every access fails.
    let Ok(store) = store_of(&url) else { return url.to_path() };
    let service = store.service(&url).unwrap_or_default();
    PathBuf::from(format!("{service} {}", store.usual_address(&url)))
}

/// Returns a path without repeated slashes and without a trailing slash.
pub fn without_slash(path: &Path) -> PathBuf {
    match Location::of(path) {
        Location::Local(path) => path.components().collect(),
        Location::Remote(url) => url.to_path(),
    }
}

/// Returns a folder and its parent folders that do not exist, outermost first. Empty for a store, which has no folders.
pub fn missing_folders(folder: &Path) -> Vec<&Path> {
    let missing = folder.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && !exists(folder));
    let is_in_store = is_remote(folder) || is_above_buckets(folder);
    let mut missing: Vec<&Path> = if is_in_store { Vec::new() } else { missing.collect() };
    missing.reverse();
    missing
}

/// Whether a path does not depend on the current folder.
pub fn is_absolute(path: impl AsRef<Path>) -> bool {
    match Location::of(path.as_ref()) {
        Location::Local(path) => path.is_absolute(),
        Location::Remote(_) => true,
    }
}

/// Returns the MD5 of the content of an object, in hexadecimal, if its store knows it; `None` for a local file.
pub fn stored_md5(path: impl AsRef<Path>) -> io::Result<Option<String>> {
    match Location::of(path.as_ref()) {
        Location::Local(_) => Ok(None),
        Location::Remote(url) => store_of(&url)?.md5(&url),
    }
}

/// Whether a path is a whole bucket of a store, or all of its buckets: nothing above it can be listed.
pub fn is_store_root(path: impl AsRef<Path>) -> bool {
    match Location::of(path.as_ref()) {
        Location::Local(_) => false,
        Location::Remote(url) if url.bucket.is_empty() => url.key.is_empty(),
        // If the store cannot be opened, only the address is known.
        Location::Remote(url) => store_of(&url).map_or(url.key.is_empty(), |store| store.is_root(&url)),
    }
}

/// Returns the problems of reading what is below a path: data that its store lacks or does not permit to list.
pub fn losses(path: impl AsRef<Path>) -> io::Result<Vec<Problem>> {
    match Location::of(path.as_ref()) {
        Location::Local(_) => Ok(Vec::new()),
        Location::Remote(url) => store_of(&url)?.losses(&url),
    }
}

/// Reads a whole file that is known to be small; [`read_whole`](super::read::read_whole) takes a limit.
pub fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    match Location::of(path.as_ref()) {
        Location::Local(path) => std::fs::read(path),
        Location::Remote(url) => {
            let (info, file) = store_of(&url)?.open(&url)?;
            let mut bytes = vec![0; usize::try_from(info.len()).map_err(io::Error::other)?];
            file.read_exact_at(&mut bytes, 0)?;
            Ok(bytes)
        }
    }
}

/// Reads a whole text file like [`read`].
pub fn read_to_string(path: impl AsRef<Path>) -> io::Result<String> {
    String::from_utf8(read(path)?).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not valid UTF-8"))
}

/// An entry of a folder.
#[derive(Clone, Debug)]
pub struct FolderEntry {
    path: PathBuf,
    kind: FileKind,
    /// Set for objects, whose listing contains it.
    info: Option<FileInfo>,
}

impl FolderEntry {
    /// Returns the path: the path of the folder and the name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path.
    pub fn into_path(self) -> PathBuf {
        self.path
    }

    /// Returns the name.
    pub fn file_name(&self) -> &OsStr {
        self.path.file_name().unwrap_or_default()
    }

    /// Returns the kind; links are not followed.
    pub fn kind(&self) -> FileKind {
        self.kind
    }

    /// Whether it is a file, or a link to one.
    pub fn is_file(&self) -> bool {
        match self.kind {
            FileKind::Link => is_file(&self.path),
            kind => kind.is_file(),
        }
    }

    /// Returns kind, size and version; links are not followed.
    pub fn metadata(&self) -> io::Result<FileInfo> {
        match self.info {
            Some(info) => Ok(info),
            None => symlink_metadata(&self.path),
        }
    }
}

/// Lists a folder, in no particular order; for `SCHEME://`, the buckets. Objects whose key cannot be a path are skipped and reported by
/// [`notices`](super::notices).
pub fn read_dir(folder: impl AsRef<Path>) -> io::Result<Box<dyn Iterator<Item = io::Result<FolderEntry>>>> {
    match Location::of(folder.as_ref()) {
        Location::Local(folder) => {
            let entries = std::fs::read_dir(folder)?.map(|entry| {
                let entry = entry?;
                Ok(FolderEntry { path: entry.path(), kind: FileKind::of(entry.file_type()?), info: None })
            });
            Ok(Box::new(entries))
        }
        Location::Remote(url) => {
            let mut invalid = Vec::new();
            let entries = remote_entries(&url, (false, usize::MAX), &mut invalid)?;
            notice_invalid_keys(&url, &invalid);
            Ok(Box::new(entries.into_iter().map(Ok)))
        }
    }
}

/// Lists the buckets of a store.
fn buckets(url: &RemoteUrl<'_>) -> io::Result<Vec<FolderEntry>> {
    if !url.scheme.lists_buckets {
        return Err(unlisted_buckets().on(Subject::path(url.to_path())).into_io());
    }
    let (root, info) = (url.to_path(), FileInfo::of_prefix());
    let names = stores::buckets(url.scheme)?.into_iter().filter(|name| is_plain_key(name) && !name.contains('/'));
    Ok(names.map(|name| FolderEntry { path: root.join(name), kind: info.kind, info: Some(info) }).collect())
}

/// Returns the first entries of a folder, in no particular order.
pub fn first_entries(folder: impl AsRef<Path>, most: usize) -> io::Result<Vec<FolderEntry>> {
    match Location::of(folder.as_ref()) {
        Location::Remote(url) if !url.bucket.is_empty() => {
            let mut entries = Vec::new();
            store_of(&url)?.list(&url, false, &mut |entry| {
                if is_plain_key(&entry.key) {
                    let path = url.with_key(&entry.key);
                    entries.push(FolderEntry { path, kind: entry.info.kind, info: Some(entry.info) });
                }
                Ok(entries.len() < most)
            })?;
            Ok(entries)
        }
        _ => Ok(read_dir(folder)?.take(most).flatten().collect()),
    }
}

/// Reports that keys which cannot be a path are skipped.
pub(crate) fn notice_invalid_keys(url: &RemoteUrl<'_>, keys: &[InvalidKey]) {
    for key in keys {
        let problem = Problem::of_failure(ProblemKind::Unreadable, invalid_key(url, key));
        notices::add(Problem { message: format!("{}, so it is left out", problem.message), ..problem });
    }
}

/// A key that cannot be a path.
pub(crate) struct InvalidKey {
    key: String,
    /// Whether the key is a common prefix of keys, up to a slash.
    is_prefix: bool,
}

/// Returns the failure of a key that cannot be a path.
pub(crate) fn invalid_key(url: &RemoteUrl<'_>, key: &InvalidKey) -> Failure {
    let why =
        if key.is_prefix { notices::NO_PATHS_BELOW } else { "its key is no path: a part of it is empty, '.' or '..'" };
    let failure = Failure::data("listing", why).on(Subject::path(url.with_key(&key.key)));
    failure.with_hint("copy it to another key with the tools of the store")
}

/// Lists the entries below a prefix, on the next level or on all, up to a number of entries. Keys that cannot be a path are added to
/// `invalid`.
///
/// # Errors
/// Nothing exists at the address, or it is an object.
pub(crate) fn remote_entries(
    url: &RemoteUrl<'_>,
    (recursive, most): (bool, usize),
    invalid: &mut Vec<InvalidKey>,
) -> io::Result<Vec<FolderEntry>> {
    pause();
    let mut entries = Vec::new();
    if url.bucket.is_empty() && url.key.is_empty() {
        return buckets(url);
    }
    let store = store_of(url)?;
    store.list(url, recursive, &mut |entry| {
        match is_plain_key(&entry.key) {
            true => {
                let path = url.with_key(&entry.key);
                entries.push(FolderEntry { path, kind: entry.info.kind, info: Some(entry.info) });
            }
            false => invalid.push(InvalidKey { key: entry.key, is_prefix: entry.info.is_dir() }),
        }
        Ok(entries.len() < most)
    })?;
    if entries.is_empty() && invalid.is_empty() && !url.key.is_empty() {
        return match store.info(url)? {
            Some(info) if info.is_dir() => Ok(entries),
            Some(_) => Err(io::ErrorKind::NotADirectory.into()),
            None => Err(io::ErrorKind::NotFound.into()),
        };
    }
    Ok(entries)
}

#[cfg(test)]
mod tests;
