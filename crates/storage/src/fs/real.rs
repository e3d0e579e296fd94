//! The file system of the machine.

use super::{Disk, DiskFile, PRIVATE_FILE};
use rustix::fs::{open, Mode, OFlags};
use std::fs::{File, Permissions};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::num::NonZeroU64;
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, PermissionsExt as _};
use std::path::Path;

/// The file system of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealFs;

struct RealFile(File);

impl DiskFile for RealFile {
    fn raw_write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }
    fn raw_write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.0.write_at(bytes, offset)
    }
    fn raw_sync(&mut self) -> io::Result<()> {
        self.0.sync_all()
    }
    fn raw_start_sync(&mut self) {
        // Dropping the cached pages makes the system write the changed ones first.
        let _ = rustix::fs::fadvise(&self.0, 0, None, rustix::fs::Advice::DontNeed);
    }
    fn raw_release_range(&mut self, from: u64, length: u64) {
        let _ = rustix::fs::fadvise(&self.0, from, NonZeroU64::new(length), rustix::fs::Advice::DontNeed);
    }
    fn raw_set_mode(&mut self, mode: u32) -> io::Result<()> {
        self.0.set_permissions(Permissions::from_mode(mode & 0o7777))
    }
    fn raw_close(self: Box<Self>) -> io::Result<()> {
        // The standard library discards the error of `close`. Everything that is published was synced before, and a sync reports at least
        // the same errors.
        drop(self);
        Ok(())
    }
}

impl Disk for RealFs {
    fn raw_create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = open(path, flags, Mode::from_raw_mode(PRIVATE_FILE))?;
        Ok(Box::new(RealFile(File::from(file))))
    }
    fn raw_append(&self, path: &Path) -> io::Result<(Box<dyn DiskFile>, u64)> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(open(path, flags | OFlags::NONBLOCK, Mode::from_raw_mode(PRIVATE_FILE))?);
        let facts = file.metadata()?;
        if !facts.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        Ok((Box::new(RealFile(file)), facts.len()))
    }
    fn raw_reopen(&self, path: &Path, length: u64) -> io::Result<Box<dyn DiskFile>> {
        let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut file = File::from(open(path, flags, Mode::empty())?);
        let facts = file.metadata()?;
        if !facts.is_file() || facts.len() < length {
            return Err(io::Error::other("it is not the file that was written"));
        }
        if facts.len() > length {
            file.set_len(length)?;
        }
        file.seek(SeekFrom::Start(length))?;
        Ok(Box::new(RealFile(file)))
    }
    fn raw_sync_file(&self, path: &Path) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        File::from(open(path, flags, Mode::empty())?).sync_all()
    }
    fn raw_sync_dir(&self, path: &Path) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        File::from(open(path, flags, Mode::empty())?).sync_all()
    }
    fn raw_rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }
    fn raw_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::hard_link(from, to)
    }
    fn raw_symlink(&self, target: &Path, at: &Path) -> io::Result<()> {
        std::os::unix::fs::symlink(target, at)
    }
    fn raw_unlink(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }
    fn raw_mkdir(&self, path: &Path, mode: u32) -> io::Result<()> {
        std::fs::DirBuilder::new().mode(mode & 0o7777).create(path)
    }
    fn raw_rmdir(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_dir(path)
    }
    fn raw_chmod(&self, path: &Path, mode: u32) -> io::Result<()> {
        if std::fs::symlink_metadata(path)?.is_symlink() {
            return Err(io::Error::other("it is a symbolic link"));
        }
        std::fs::set_permissions(path, Permissions::from_mode(mode & 0o7777))
    }
}
