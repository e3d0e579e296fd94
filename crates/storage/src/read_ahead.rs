//! Fetches lists of small files before they are read one after another.

use super::files_ahead::{forget, total_limit, FilesAhead, FirstBytes, NamesAhead};
use super::listing::Listing;
use super::local_copy::copy_of_version;
use super::location::{is_remote, RemoteUrl};
use super::range_read::buffer_for;
use super::stores::store_of;
use gristmill_core::FileStamp;
use std::io;
use std::path::{Path, PathBuf};

/// Maximum size of an object that is fetched as a whole: fetching a larger one takes longer than waiting for the store.
const MAX_WHOLE_BYTES: u64 = 4 << 20;
/// The same if only its beginning is needed, and there is room for the first bytes of all files.
const MAX_WHOLE_HEAD_BYTES: u64 = 1 << 20;
/// Minimum and maximum number of first bytes that are fetched of other objects; between them, the available memory decides.
const MIN_HEAD_BYTES: u64 = 16 << 10;
const MAX_HEAD_BYTES: u64 = 64 << 10;

/// Starts to fetch the small objects among some files, given with their stamps in the order in which they are opened. Opening one of them
/// returns the version that was listed, if it could be fetched. Has no effect for local files.
#[must_use]
pub fn read_ahead<'a>(files: impl IntoIterator<Item = (&'a Path, FileStamp)>) -> FilesAhead {
    begin(files, |bytes| (bytes <= MAX_WHOLE_BYTES).then_some(bytes))
}

/// Like [`read_ahead`], for files of which only the beginnings may be read: only the first bytes of large ones are fetched.
#[must_use]
pub fn read_heads_ahead<'a>(files: impl IntoIterator<Item = (&'a Path, FileStamp)>) -> FilesAhead {
    let files: Vec<(&Path, FileStamp)> = files.into_iter().filter(|(path, _)| is_remote(path)).collect();
    let head = (total_limit() / files.len().max(1) as u64).clamp(MIN_HEAD_BYTES, MAX_HEAD_BYTES);
    let first_bytes = |bytes| if bytes <= MAX_WHOLE_HEAD_BYTES { bytes } else { head };
    let is_room = files.iter().map(|(_, stamp)| first_bytes(stamp.bytes)).sum::<u64>() <= total_limit();
    begin(files, |bytes| Some(if is_room { first_bytes(bytes) } else { bytes.min(head) }))
}

/// Starts to fetch the named files below a folder of a store. Missing files, large files and files with a local copy are skipped.
#[must_use]
pub fn read_names_ahead(folder: &Path, names: &[&str]) -> NamesAhead {
    // An error is reported when a file is opened.
    let listing = if is_remote(folder) { Listing::of(folder).ok() } else { None };
    let found = |name: &&str| {
        let path = folder.join(name);
        let stamp = listing.as_ref()?.info(&path).ok().flatten()?.stamp;
        copy_of_version(&path, stamp).is_none().then_some((path, stamp))
    };
    let found: Vec<(PathBuf, FileStamp)> = names.iter().filter_map(found).collect();
    let files = read_ahead(found.iter().map(|(path, stamp)| (path.as_path(), *stamp)));
    NamesAhead::new(found.into_iter().map(|(path, _)| path).collect(), files)
}

fn begin<'a>(
    files: impl IntoIterator<Item = (&'a Path, FileStamp)>,
    first_bytes: impl Fn(u64) -> Option<u64>,
) -> FilesAhead {
    let mut list = Vec::new();
    for (path, stamp) in files {
        let Some(path) = RemoteUrl::parse(path).map(RemoteUrl::to_path) else { continue };
        match first_bytes(stamp.bytes) {
            Some(0) => {}
            Some(bytes) => list.push((path, FirstBytes { stamp, bytes, fetch })),
            // A large object is read faster without first bytes in memory.
            None => forget(&path),
        }
    }
    FilesAhead::begin(list)
}

fn fetch(path: &Path, first: FirstBytes) -> io::Result<Option<Vec<u8>>> {
    let url = RemoteUrl::parse(path).ok_or(io::ErrorKind::NotFound)?;
    let (info, object) = store_of(&url)?.open_part(&url, 0..first.bytes)?;
    if info.stamp != first.stamp {
        return Ok(None);
    }
    let mut bytes = buffer_for(&(0..first.bytes))?;
    object.read_exact_at(&mut bytes, 0)?;
    Ok(Some(bytes))
}
