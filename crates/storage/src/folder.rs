//! Reads files of one folder one after another: the folder is opened once, and names are looked up in it instead of from the root.

use super::file_info::FileInfo;
use super::location::Location;
use super::read::{open_any, pause, OPEN_FLAGS};
use gristmill_core::{Failure, FileStamp, Outcome};
use rustix::fs::{Access, AtFlags, Mode, OFlags, CWD};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

/// Permission bits that let every user read a file.
const ALL_READ: u32 = 0o444;

/// The folder of the last file. A folder that replaces it at its path is not noticed, so callers must compare the result with what they
/// expect.
#[derive(Debug, Default)]
pub struct OpenFolder {
    path: PathBuf,
    /// Opened for the second file of the folder.
    opened: Option<OwnedFd>,
}

impl OpenFolder {
    /// Returns kind, size and version of a local file, following symbolic links.
    pub fn info(&mut self, path: &Path) -> io::Result<FileInfo> {
        pause();
        let (folder, name) = self.place_of(path);
        retry(|| rustix::fs::statat(folder, name, AtFlags::empty())).map(|stat| FileInfo::of_stat(&stat))
    }

    /// Like [`info`](Self::info); fails if this process may not read the file.
    pub fn readable_info(&mut self, path: &Path) -> io::Result<FileInfo> {
        let info = self.info(path)?;
        // A file that every user may read needs no second call.
        if info.mode & ALL_READ != ALL_READ {
            let (folder, name) = self.place_of(path);
            retry(|| rustix::fs::accessat(folder, name, Access::READ_OK, AtFlags::empty()))?;
        }
        Ok(info)
    }

    /// Fills `buffer` with all bytes of a file that has this stamp. Returns `false` if the file has another stamp or has changed meanwhile.
    pub fn read_unchanged(&mut self, path: &Path, stamp: FileStamp, buffer: &mut [u8]) -> Outcome<bool> {
        if stamp.bytes != buffer.len() as u64 {
            return Ok(false);
        }
        match Location::of(path) {
            Location::Local(path) => {
                let read = self.read_local(path, stamp, buffer);
                read.map_err(|error| Failure::io("reading", path, &error))
            }
            Location::Remote(_) => {
                let file = match open_any(path) {
                    Err(failure) if failure.is_missing() => return Ok(false),
                    opened => opened?,
                };
                if file.info().stamp != stamp {
                    return Ok(false);
                }
                match file.read_exact_at(buffer, 0) {
                    Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
                    read => read.map(|()| true).map_err(|error| Failure::io("reading", path, &error)),
                }
            }
        }
    }

    fn read_local(&mut self, path: &Path, stamp: FileStamp, buffer: &mut [u8]) -> io::Result<bool> {
        pause();
        let (folder, name) = self.place_of(path);
        let file = match retry(|| rustix::fs::openat(folder, name, OPEN_FLAGS, Mode::empty())) {
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(false);
            }
            opened => std::fs::File::from(opened?),
        };
        let read = file.read_exact_at(buffer, 0);
        let info = FileInfo::of_stat(&rustix::fs::fstat(&file)?);
        match read {
            // A changed file, or a folder in its place, may cause any error.
            _ if !info.is_file() || info.stamp != stamp => Ok(false),
            Err(error) => Err(error),
            Ok(()) => Ok(true),
        }
    }

    /// Returns the folder in which a name is looked up, and the name.
    fn place_of<'a>(&'a mut self, path: &'a Path) -> (BorrowedFd<'a>, &'a Path) {
        let bytes = path.as_os_str().as_bytes();
        let slash = bytes.iter().rposition(|byte| *byte == b'/').filter(|slash| *slash + 1 < bytes.len());
        let Some((folder, name)) = slash.and_then(|slash| Some((bytes.get(..slash)?, bytes.get(slash + 1..)?))) else {
            return (CWD, path);
        };
        let name = Path::new(std::ffi::OsStr::from_bytes(name));
        if folder != self.path.as_os_str().as_bytes() || folder.is_empty() {
            self.path = PathBuf::from(std::ffi::OsStr::from_bytes(folder));
            self.opened = None;
            return (CWD, path);
        }
        if self.opened.is_none() {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            self.opened = rustix::fs::openat(CWD, &self.path, flags, Mode::empty()).ok();
        }
        match &self.opened {
            Some(opened) => (opened.as_fd(), name),
            None => (CWD, path),
        }
    }
}

fn retry<T>(mut call: impl FnMut() -> rustix::io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(rustix::io::Errno::INTR) => {}
            other => return other.map_err(io::Error::from),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::metadata;
    use std::fs;

    #[test]
    fn open_folder_reads_files_of_several_folders() {
        let dir = tempfile::tempdir().unwrap();
        let mut paths = Vec::new();
        for folder in ["", "a", "a/b"] {
            fs::create_dir_all(dir.path().join(folder)).unwrap();
            for name in ["1", "2", "3"] {
                let path = dir.path().join(folder).join(name);
                fs::write(&path, format!("{folder} {name}")).unwrap();
                paths.push(path);
            }
        }
        std::os::unix::fs::symlink("1", dir.path().join("a/4")).unwrap();
        paths.push(dir.path().join("a/4"));
        let mut folder = OpenFolder::default();
        for path in paths.iter().chain(paths.iter().rev()).chain([&paths[0], &paths[8], &paths[1]]) {
            let info = folder.info(path).unwrap();
            assert_eq!(info, metadata(path).unwrap());
            let mut bytes = vec![0; info.len() as usize];
            assert!(folder.read_unchanged(path, info.stamp, &mut bytes).unwrap());
            assert_eq!(bytes, fs::read(path).unwrap());
        }
    }

    #[test]
    fn file_with_another_stamp_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        fs::write(&path, "12345").unwrap();
        let stamp = metadata(&path).unwrap().stamp;
        let mut folder = OpenFolder::default();
        let mut read = |stamp: FileStamp| folder.read_unchanged(&path, stamp, &mut [0; 5]).unwrap();
        assert!(read(stamp));
        assert!(!read(FileStamp { modified_ns: stamp.modified_ns + 1, ..stamp }));
        assert!(!read(FileStamp { bytes: 6, ..stamp }));
        fs::write(&path, "123").unwrap();
        assert!(!read(stamp));
        fs::remove_file(&path).unwrap();
        assert!(!read(stamp));
        rustix::fs::mkfifoat(CWD, &path, Mode::from_raw_mode(0o600)).unwrap();
        assert!(!read(stamp));
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(!read(stamp));
    }
}
