//! Opens and reads files and objects: opening a path never blocks, whatever kind of file it is.

use super::file_info::FileInfo;
use super::files::metadata;
use super::files_ahead;
use super::kept::{open_with_read_cache, OpenedObject};
use super::location::{Location, RemoteUrl};
use super::parts_ahead::{self, PartsAhead};
use super::range_read::{RangeRead, AFTER_PART_BYTES};
pub(crate) use super::read_file::OPEN_FLAGS;
use super::read_file::{not_regular, open_local};
pub use super::read_file::{pause, ReadFile, SequentialReader};
use super::stores::store_of;
use gristmill_core::lfs::{LFS_HINT, LFS_POINTER};
use gristmill_core::problem::Subject;
use gristmill_core::{Failure, FileStamp, Outcome};
use std::io;
use std::ops::Range;
use std::path::Path;

/// Opens a regular file, following symbolic links. A folder, fifo, device or socket is refused without blocking, and so is a Git LFS
/// pointer in place of the file.
pub fn open_read(path: &Path) -> Outcome<ReadFile> {
    not_pointer(open_any(path)?)
}

/// Returns a file; fails if it is a Git LFS pointer.
pub fn not_pointer(file: ReadFile) -> Outcome<ReadFile> {
    match file.is_lfs_pointer()? {
        true => Err(Failure::data("reading", LFS_POINTER).on(Subject::path(file.path())).with_hint(LFS_HINT)),
        false => Ok(file),
    }
}

/// Like [`open_read`], for a part that is read in order. The part may end after the file. Of an object, only this part is fetched ahead.
pub fn open_part(path: &Path, part: Range<u64>) -> Outcome<ReadFile> {
    match Location::of(path) {
        Location::Remote(url) if part != (0..u64::MAX) => {
            let fetched_to = part.end.saturating_add(AFTER_PART_BYTES);
            let object = parts_ahead::take(path, &part).map_or_else(
                || {
                    pause();
                    open_object(path, &url, Some(part))
                },
                Ok,
            );
            read_file(path, object).map(|file| file.fetched_to(fetched_to))
        }
        _ => open_read(path),
    }
}

/// Opens a part of an object for the next call of [`open_part`] with the same part. Has no effect for a local file, or for an object that
/// cannot be opened: that call reports the error.
pub fn open_part_ahead(path: &Path, part: Range<u64>, parts: &PartsAhead) {
    let Location::Remote(url) = Location::of(path) else { return };
    // The first part is opened earlier, to determine the kind of the file.
    if part.start == 0 || !parts.has_room() {
        return;
    }
    if let Ok(object) = open_object(path, &url, Some(part.clone())) {
        parts.put(path, part, object);
    }
}

/// Like [`open_read`], but also opens a Git LFS pointer.
pub fn open_any(path: &Path) -> Outcome<ReadFile> {
    pause();
    match Location::of(path) {
        Location::Local(path) => open_local(path),
        Location::Remote(url) => read_file(path, open_object(path, &url, None)),
    }
}

/// Like [`open_any`], for a file of about this size that is read in order to its end.
pub(super) fn open_in_order(path: &Path, bytes: u64) -> Outcome<ReadFile> {
    match Location::of(path) {
        Location::Remote(url) => {
            pause();
            read_file(path, open_object(path, &url, Some(0..bytes)))
        }
        Location::Local(_) => open_any(path),
    }
}

/// Opens an object, with its cached or fetched bytes if possible.
fn open_object(path: &Path, url: &RemoteUrl<'_>, part: Option<Range<u64>>) -> io::Result<OpenedObject> {
    let (url_path, wanted) = (url.to_path(), part.clone());
    let open = move || {
        let (path, wanted) = (url_path.clone(), wanted.clone());
        let open = move || {
            let url = RemoteUrl::parse(&path).ok_or(io::ErrorKind::NotFound)?;
            let store = store_of(&url)?;
            match wanted.clone() {
                Some(part) => store.open_part(&url, part),
                None => store.open(&url),
            }
        };
        files_ahead::open(&url_path, Box::new(open))
    };
    open_with_read_cache(path, part, Box::new(open))
}

/// Opens a file like [`open_read`]; `None` if it does not exist.
fn open_if_any(path: &Path) -> Outcome<Option<ReadFile>> {
    if let Location::Remote(url) = Location::of(path) {
        pause();
        // The first request for its bytes shows whether it exists.
        return match open_object(path, &url, None) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            opened => read_file(path, opened).and_then(not_pointer).map(Some),
        };
    }
    // A path below a file does not exist either.
    let is_absent = |kind| matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
    match metadata(path) {
        Err(error) if is_absent(error.kind()) => Ok(None),
        _ => open_read(path).map(Some),
    }
}

fn read_file(path: &Path, opened: io::Result<(FileInfo, Box<dyn RangeRead>)>) -> Outcome<ReadFile> {
    match opened {
        Ok((info, object)) => Ok(ReadFile::of_ranges(path, info, object)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => match metadata(path) {
            Ok(info) if info.is_dir() => Err(not_regular(path, info.kind.with_article())),
            _ => Err(Failure::io("opening", path, &error)),
        },
        Err(error) => Err(Failure::io("opening", path, &error)),
    }
}

/// Returns the stamp of a path, following symbolic links.
pub fn stamp_at(path: &Path) -> Outcome<FileStamp> {
    pause();
    metadata(path).map(|info| info.stamp).map_err(|error| Failure::io("opening", path, &error))
}

/// Reads a whole regular file of at most `limit` bytes; `None` if it does not exist.
pub fn read_whole(path: &Path, limit: u64) -> Outcome<Option<Vec<u8>>> {
    Ok(read_version(path, limit)?.map(|(_, bytes)| bytes))
}

/// Reads a whole file like [`read_whole`], and also returns its version.
pub(super) fn read_version(path: &Path, limit: u64) -> Outcome<Option<(FileStamp, Vec<u8>)>> {
    let Some(file) = open_if_any(path)? else { return Ok(None) };
    let size = file.len();
    let fits = usize::try_from(size).ok().filter(|_| size <= limit);
    let Some(size) = fits else {
        let why = format!("it is {} large, over the limit of {}", text_size(size), text_size(limit));
        return Err(Failure::environment("reading", why).on(Subject::path(path)));
    };
    let mut bytes = vec![0; size];
    file.read_exact_at(&mut bytes, 0).map_err(|error| Failure::io("reading", path, &error))?;
    Ok(Some((file.info().stamp, bytes)))
}

fn text_size(bytes: u64) -> String {
    gristmill_core::text::bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read_file::COMPARED;
    use gristmill_core::ExitClass;
    use rustix::fs::Mode;
    use std::os::unix::fs::symlink;

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    fn put(path: &Path, bytes: &[u8]) {
        crate::publish::write_file(&crate::fs::RealFs, path, bytes, 0o640).unwrap();
    }

    #[test]
    fn reads_at_positions_through_a_symbolic_link() {
        let dir = folder();
        let path = dir.path().join("a");
        put(&path, b"0123456789");
        symlink(&path, dir.path().join("l")).unwrap();
        let file = open_read(&dir.path().join("l")).unwrap();
        let mut buf = [0; 4];
        file.read_exact_at(&mut buf, 3).unwrap();
        assert_eq!(&buf, b"3456");
        assert_eq!(file.read_at(&mut buf, 8).unwrap(), 2);
        assert_eq!(file.read_at(&mut buf, 10).unwrap(), 0);
        assert_eq!(file.read_exact_at(&mut buf, 8).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert_eq!((file.len(), file.mode()), (10, 0o640));
        assert_eq!(file.stamp().unwrap(), stamp_at(&path).unwrap());
    }

    #[test]
    fn files_are_equal_only_if_every_byte_is_equal() {
        let dir = folder();
        let long: Vec<u8> = (0..COMPARED * 2 + 17).map(|at| (at % 251) as u8).collect();
        let open = |name: &str, bytes: &[u8]| {
            put(&dir.path().join(name), bytes);
            open_read(&dir.path().join(name)).unwrap()
        };
        let one = open("one", &long);
        assert!(one.is_same_as(&open("two", &long)).unwrap());
        for at in [0, COMPARED - 1, COMPARED, long.len() - 1] {
            let mut other = long.clone();
            other[at] ^= 1;
            assert!(!one.is_same_as(&open("other", &other)).unwrap(), "{at}");
        }
        assert!(!one.is_same_as(&open("short", &long[1..])).unwrap());
        assert!(open("empty", b"").is_same_as(&open("empty too", b"")).unwrap());
    }

    #[test]
    fn folders_fifos_and_sockets_are_refused_without_blocking() {
        let dir = folder();
        let fifo = dir.path().join("f");
        rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, Mode::from_raw_mode(0o600)).unwrap();
        let socket = dir.path().join("s");
        let _keep = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        for path in [dir.path(), &fifo, &socket, Path::new("/dev/null")] {
            let failure = open_read(path).unwrap_err();
            assert_eq!(failure.class, ExitClass::Environment, "{failure}");
            assert!(failure.why.contains("not a file"), "{failure}");
        }
    }

    #[test]
    fn a_missing_file_is_named() {
        let failure = open_read(Path::new("/nonexistent/x.tar")).unwrap_err();
        assert_eq!(failure.to_string(), "opening failed on /nonexistent/x.tar: no such file or folder");
    }

    #[test]
    fn partial_read_ends_at_the_end_of_the_fetched_part() {
        let (path, end) = (Path::new("mem://read/part"), 100 + AFTER_PART_BYTES);
        crate::memory_store::put(path, &vec![7; 100_000]);
        let part = open_part(path, 10..100).unwrap();
        let mut buf = vec![0; 50_000];
        assert_eq!(part.read_at(&mut buf, 10).unwrap() as u64, end - 10);
        assert_eq!(part.read_at(&mut buf, end).unwrap(), 50_000);
        assert_eq!(part.read_at(&mut buf, 90_000).unwrap(), 10_000);
    }

    #[test]
    fn whole_files_are_read_up_to_a_limit() {
        let dir = folder();
        let path = dir.path().join("a");
        assert_eq!(read_whole(&path, 10).unwrap(), None);
        put(&path, b"0123456789");
        assert_eq!(read_whole(&path, 10).unwrap().unwrap(), b"0123456789");
        assert_eq!(read_whole(&path.join("below/a/file"), 10).unwrap(), None);
        assert!(read_whole(&path, 9).unwrap_err().why.contains("limit"));
    }
}
