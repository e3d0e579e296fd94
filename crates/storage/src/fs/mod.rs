//! Changes to file systems: every create, write, sync, rename and removal of the program.
//!
//! Two layers. [`Disk`] has the bare operations with the system's own errors; [`RealFs`] executes them, `FaultFs` makes them fail in tests.
//! [`Fs`] is what the program uses: the same operations with interrupted calls repeated, short writes continued, and a [`Failure`] that
//! names the path. Every [`Disk`] is an [`Fs`].

mod buffered;
#[cfg(any(test, feature = "testing"))]
pub mod fault;
mod real;
#[cfg(any(test, feature = "testing"))]
mod volatile;

pub use buffered::BufferedFile;
pub use real::RealFs;

use super::files::missing_folders;
use super::files_ahead::forget;
use super::location::{is_remote, RemoteUrl};
use super::store::{Condition, Content};
use super::stores::store_of;
use gristmill_core::{Failure, Outcome, Subject};
use std::io;
use std::path::{Component, Path, PathBuf};

/// Permission bits of a new file until its final mode is set.
pub const PRIVATE_FILE: u32 = 0o600;
/// Permission bits of a folder that only its owner may enter.
pub const PRIVATE_FOLDER: u32 = 0o700;
/// Number of bytes copied at a time.
const COPY_CHUNK: usize = 1 << 20;
/// A written file is released from the page cache in steps of `WRITEBACK_BYTES` bytes; its last 64 MiB stay in memory.
const WRITEBACK_BYTES: u64 = 8 << 20;
const WRITEBACK_DISTANCE: u64 = 64 << 20;

/// An open file with the bare operations of the system.
pub trait DiskFile: Send {
    /// Writes some of the bytes and returns how many.
    fn raw_write(&mut self, bytes: &[u8]) -> io::Result<usize>;
    /// Overwrites some of the bytes at `offset` and returns how many; the append position does not change.
    fn raw_write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<usize>;
    /// Makes the content durable.
    fn raw_sync(&mut self) -> io::Result<()>;
    /// Makes the system start to write out buffered data; does not wait and cannot fail.
    fn raw_start_sync(&mut self) {}
    /// Declares that these bytes will not be read soon: the system starts to write out those that are not on disk yet, and reclaims the
    /// memory of the others. Does not wait and cannot fail.
    fn raw_release_range(&mut self, from: u64, length: u64);
    /// Sets the permission bits.
    fn raw_set_mode(&mut self, mode: u32) -> io::Result<()>;
    /// Closes the file and returns the error that the system reports, if any.
    fn raw_close(self: Box<Self>) -> io::Result<()>;
}

/// The bare operations that change a file system. None of them follows a symbolic link in the last component.
pub trait Disk: Send + Sync {
    /// Creates a file for writing, private to its owner. It is an error if the file exists.
    fn raw_create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>>;
    /// Opens a file for appending and creates it if missing. Also returns its size in bytes.
    fn raw_append(&self, path: &Path) -> io::Result<(Box<dyn DiskFile>, u64)>;
    /// Opens an existing file, truncates it to `length` bytes and continues from there. A shorter file is an error.
    fn raw_reopen(&self, path: &Path, length: u64) -> io::Result<Box<dyn DiskFile>>;
    /// Makes an existing file's content durable.
    fn raw_sync_file(&self, path: &Path) -> io::Result<()>;
    /// Makes a folder's entries durable.
    fn raw_sync_dir(&self, path: &Path) -> io::Result<()>;
    /// Renames, replacing what is at `to`.
    fn raw_rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Creates a hard link to a file.
    fn raw_link(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Creates a symbolic link with this target as its content. It is an error if `at` exists.
    fn raw_symlink(&self, target: &Path, at: &Path) -> io::Result<()>;
    /// Removes a file or symbolic link.
    fn raw_unlink(&self, path: &Path) -> io::Result<()>;
    /// Creates a folder.
    fn raw_mkdir(&self, path: &Path, mode: u32) -> io::Result<()>;
    /// Removes an empty folder.
    fn raw_rmdir(&self, path: &Path) -> io::Result<()>;
    /// Sets permission bits.
    fn raw_chmod(&self, path: &Path, mode: u32) -> io::Result<()>;
}

/// A file being written. Nothing is buffered: every byte is passed to the system at once (see [`BufferedFile`]).
///
/// The file is released from the page cache as it grows: the system starts to write it out, and the memory of written pages is freed. A
/// large file thus neither evicts everything else from memory nor defers all writing to its end. Its last 64 MiB stay in memory.
pub trait WriteFile: Send {
    /// Appends all bytes.
    fn write_all(&mut self, bytes: &[u8]) -> Outcome<()>;
    /// Overwrites bytes that were written before, from `offset` onwards: for a header that is known last.
    fn overwrite(&mut self, bytes: &[u8], offset: u64) -> Outcome<()>;
    /// Starts to make everything durable without waiting: for many small files whose [`sync`](Self::sync) is called later.
    fn start_sync(&mut self);
    /// Stops releasing the file from the page cache: for a file that this run will read again.
    fn keep_in_page_cache(&mut self);
    /// Makes everything written so far durable.
    fn sync(&mut self) -> Outcome<()>;
    /// Sets the permission bits.
    fn set_mode(&mut self, mode: u32) -> Outcome<()>;
    /// Returns the size in bytes.
    fn len(&self) -> u64;
    /// Whether nothing was written yet.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Returns the path of the file.
    fn path(&self) -> &Path;
    /// Makes the content durable, closes the file and returns its size in bytes.
    fn finish(self: Box<Self>) -> Outcome<u64>;
    /// Closes the file without waiting for the disk and returns its size in bytes: for spools that are checked before they are used again.
    fn close(self: Box<Self>) -> Outcome<u64>;
}

/// A file system to write to.
pub trait Fs: Disk {
    /// Creates a file, readable only by its owner until a mode is set. It is an error if the file exists.
    fn create_file(&self, path: &Path) -> Outcome<Box<dyn WriteFile>> {
        let raw = named("creating the file", path, || self.raw_create(path))?;
        Ok(Box::new(NamedFile::new(path, raw, 0)))
    }
    /// Opens a file for appending and creates it if missing.
    fn append_file(&self, path: &Path) -> Outcome<Box<dyn WriteFile>> {
        let (raw, written) = named("opening the file for writing", path, || self.raw_append(path))?;
        Ok(Box::new(NamedFile::new(path, raw, written)))
    }
    /// Opens an existing file to continue after its first `length` bytes; any bytes after them are cut off. A shorter file is an error.
    fn reopen_file(&self, path: &Path, length: u64) -> Outcome<Box<dyn WriteFile>> {
        let raw = named("opening the file for writing", path, || self.raw_reopen(path, length))?;
        Ok(Box::new(NamedFile::new(path, raw, length)))
    }
    /// Makes an existing file's content durable.
    fn sync_file(&self, path: &Path) -> Outcome<()> {
        named("making the file durable", path, || self.raw_sync_file(path))
    }
    /// Makes a folder's entries durable. File systems that do not support this for folders are assumed to be durable.
    fn sync_dir(&self, path: &Path) -> Outcome<()> {
        if is_remote(path) {
            return Ok(());
        }
        match repeat(|| self.raw_sync_dir(path)) {
            Err(error) if is_unsupported_sync(&error) => Ok(()),
            other => other.map_err(|error| Failure::io("making the folder durable", path, &error)),
        }
    }
    /// Renames, replacing what is at `to`. Both must be on one file system.
    fn rename(&self, from: &Path, to: &Path) -> Outcome<()> {
        named("renaming", to, || self.raw_rename(from, to))
    }
    /// Creates a hard link to a file, or copies it if the file system has no hard links. `to` must not exist.
    fn hard_link_or_copy(&self, from: &Path, to: &Path) -> Outcome<()> {
        if is_remote(from) || is_remote(to) {
            return self.copy_file(from, to);
        }
        match repeat(|| self.raw_link(from, to)) {
            Ok(()) => Ok(()),
            Err(error) if is_link_refused(&error) => self.copy_file(from, to),
            Err(error) => Err(Failure::io("linking", to, &error)),
        }
    }
    /// Copies a regular file's content and mode to a new file and makes it durable.
    fn copy_file(&self, from: &Path, to: &Path) -> Outcome<()> {
        self.copy_file_watched(from, to, &mut |_| Ok(()))
    }
    /// Like [`copy_file`](Self::copy_file) for large files: `watch` receives the number of bytes copied in each step, and may end the copy.
    fn copy_file_watched(&self, from: &Path, to: &Path, watch: &mut dyn FnMut(u64) -> Outcome<()>) -> Outcome<()> {
        let source = super::read::open_read(from)?;
        if let Some(url) = RemoteUrl::parse(to) {
            forget(&url.to_path());
            let put = store_of(&url).and_then(|store| store.put(&url, Content::File(&source), Condition::IfAbsent));
            return match put.map_err(|error| Failure::io("copying", to, &error))? {
                true => watch(source.len()),
                false => Err(Failure::io("copying", to, &io::ErrorKind::AlreadyExists.into())),
            };
        }
        let target = self.create_file(to)?;
        let result = fill(&source, target, watch);
        if result.is_err() {
            let _ = self.remove_file(to);
        }
        result
    }
    /// Removes a file, symbolic link or object. A missing one is not an error.
    fn remove_file(&self, path: &Path) -> Outcome<()> {
        if let Some(url) = RemoteUrl::parse(path) {
            forget(&url.to_path());
            let removed = store_of(&url).and_then(|store| store.remove(&url));
            return removed.map_err(|error| Failure::io("removing", path, &error));
        }
        match repeat(|| self.raw_unlink(path)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other.map_err(|error| Failure::io("removing", path, &error)),
        }
    }
    /// Removes a folder and everything in it, without following symbolic links. A missing one is not an error.
    fn remove_dir_all(&self, path: &Path) -> Outcome<()> {
        remove_tree(self, path)
    }
    /// Creates a folder with these permission bits, regardless of the umask. An existing folder is not an error and keeps its mode. Has no
    /// effect for a store, which has no folders.
    ///
    /// A path that ends in `..` is refused. It occurs when the missing parents of an output are created and the output contains `new/..`,
    /// where `new` does not exist: the output was checked before, and there was nothing, but once `new` exists, the same path leads to
    /// other existing files.
    fn create_dir(&self, path: &Path, mode: u32) -> Outcome<()> {
        if path.components().next_back() == Some(Component::ParentDir) {
            return Err(Failure::usage("creating the folder", "`..` follows a folder that does not exist")
                .on(Subject::path(path))
                .with_hint("give the path without it"));
        }
        if is_remote(path) {
            return Ok(());
        }
        // Another run may remove the folder between the two checks; the loop then creates it.
        let mut races = 8;
        loop {
            match repeat(|| self.raw_mkdir(path, mode)) {
                Ok(()) => return self.set_mode(path, mode),
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(Failure::io("creating the folder", path, &error));
                }
                Err(_) if path.is_dir() => return Ok(()),
                Err(_) if races > 0 && path.symlink_metadata().is_err() => races -= 1,
                Err(error) => return Err(Failure::io("creating the folder", path, &error)),
            }
        }
    }

    /// Creates a folder and its missing parents.
    fn create_folders(&self, folder: &Path, mode: u32) -> Outcome<()> {
        missing_folders(folder).into_iter().try_for_each(|folder| self.create_dir(folder, mode))
    }
    /// Sets permission bits. Objects have none.
    fn set_mode(&self, path: &Path, mode: u32) -> Outcome<()> {
        if is_remote(path) {
            return Ok(());
        }
        named("setting the permissions", path, || self.raw_chmod(path, mode))
    }
}

impl<D: Disk> Fs for D {}

struct NamedFile {
    path: PathBuf,
    raw: Box<dyn DiskFile>,
    written: u64,
    writeback: Option<WritebackWindow>,
}

/// How far a file has been released from the page cache, in whole steps.
struct WritebackWindow {
    /// Offset of the first byte that is released; earlier bytes were not written here.
    first: u64,
    /// Offset up to which write-out has started.
    begun: u64,
}

impl NamedFile {
    /// Wraps an open file that has `written` bytes.
    fn new(path: &Path, raw: Box<dyn DiskFile>, written: u64) -> Self {
        let first = written.next_multiple_of(WRITEBACK_BYTES);
        Self { path: path.to_owned(), raw, written, writeback: Some(WritebackWindow { first, begun: first }) }
    }
    /// Releases the bytes that are far enough before the end from the page cache.
    fn release_written_pages(&mut self) {
        let Some(WritebackWindow { first, begun }) = &mut self.writeback else { return };
        while self.written >= *begun + WRITEBACK_BYTES {
            self.raw.raw_release_range(*begun, WRITEBACK_BYTES);
            // These bytes are on disk by now, so their memory is reclaimed.
            if let Some(behind) = begun.checked_sub(WRITEBACK_DISTANCE).filter(|behind| behind >= first) {
                self.raw.raw_release_range(behind, WRITEBACK_BYTES);
            }
            *begun += WRITEBACK_BYTES;
        }
    }
}

impl WriteFile for NamedFile {
    fn write_all(&mut self, mut bytes: &[u8]) -> Outcome<()> {
        while !bytes.is_empty() {
            let count = named("writing", &self.path, || self.raw.raw_write(bytes))?;
            if count == 0 {
                let error = io::Error::from(io::ErrorKind::WriteZero);
                return Err(Failure::io("writing", &self.path, &error));
            }
            self.written += count as u64;
            bytes = bytes.get(count..).unwrap_or_default();
        }
        self.release_written_pages();
        Ok(())
    }
    fn overwrite(&mut self, mut bytes: &[u8], mut offset: u64) -> Outcome<()> {
        while !bytes.is_empty() {
            let count = named("writing", &self.path, || self.raw.raw_write_at(bytes, offset))?;
            if count == 0 {
                let error = io::Error::from(io::ErrorKind::WriteZero);
                return Err(Failure::io("writing", &self.path, &error));
            }
            offset += count as u64;
            bytes = bytes.get(count..).unwrap_or_default();
        }
        Ok(())
    }
    fn start_sync(&mut self) {
        self.raw.raw_start_sync();
    }
    fn keep_in_page_cache(&mut self) {
        self.writeback = None;
    }
    fn sync(&mut self) -> Outcome<()> {
        named("making the file durable", &self.path, || self.raw.raw_sync())
    }
    fn set_mode(&mut self, mode: u32) -> Outcome<()> {
        named("setting the permissions", &self.path, || self.raw.raw_set_mode(mode))
    }
    fn len(&self) -> u64 {
        self.written
    }
    fn path(&self) -> &Path {
        &self.path
    }
    fn finish(mut self: Box<Self>) -> Outcome<u64> {
        self.sync()?;
        self.close()
    }
    fn close(self: Box<Self>) -> Outcome<u64> {
        let Self { path, raw, written, .. } = *self;
        match raw.raw_close() {
            // An interrupted close has closed the file.
            Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(Failure::io("closing", path, &error)),
            _ => Ok(written),
        }
    }
}

fn fill(
    source: &super::read::ReadFile,
    mut target: Box<dyn WriteFile>,
    watch: &mut dyn FnMut(u64) -> Outcome<()>,
) -> Outcome<()> {
    let mut buffer = vec![0; COPY_CHUNK];
    let mut offset = 0;
    loop {
        let count =
            source.read_at(&mut buffer, offset).map_err(|error| Failure::io("reading", source.path(), &error))?;
        let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else { break };
        target.write_all(bytes)?;
        offset += count as u64;
        watch(count as u64)?;
    }
    target.set_mode(source.mode())?;
    target.finish()?;
    Ok(())
}

/// Repeats an operation while a signal interrupts it.
fn repeat<T>(mut operation: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match operation() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

fn named<T>(what: &str, path: &Path, operation: impl FnMut() -> io::Result<T>) -> Outcome<T> {
    repeat(operation).map_err(|error| Failure::io(what, path, &error))
}

fn is_unsupported_sync(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let ignored = [Errno::INVAL, Errno::NOTSUP, Errno::OPNOTSUPP, Errno::NOSYS];
    error.raw_os_error().is_some_and(|code| ignored.iter().any(|e| e.raw_os_error() == code))
}

/// Whether the error means that the file system has no hard links, or permits none for this file.
fn is_link_refused(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let refused =
        [Errno::XDEV, Errno::PERM, Errno::ACCESS, Errno::MLINK, Errno::NOTSUP, Errno::OPNOTSUPP, Errno::NOSYS];
    error.raw_os_error().is_some_and(|code| refused.iter().any(|e| e.raw_os_error() == code))
}

/// Whether an operation failed because its two paths are on different file systems.
pub(crate) fn is_cross_device(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::XDEV.raw_os_error())
}

/// Renames; returns `Ok(false)` if the two paths are on different file systems.
pub(crate) fn rename_here(fs: &dyn Fs, from: &Path, to: &Path) -> Outcome<bool> {
    match repeat(|| fs.raw_rename(from, to)) {
        Ok(()) => Ok(true),
        Err(error) if is_cross_device(&error) => Ok(false),
        Err(error) => Err(Failure::io("renaming", to, &error)),
    }
}

fn remove_tree<F: Fs + ?Sized>(fs: &F, path: &Path) -> Outcome<()> {
    let entries = match std::fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other.map_err(|error| Failure::io("reading the folder", path, &error))?,
    };
    for entry in entries {
        let entry = entry.map_err(|error| Failure::io("reading the folder", path, &error))?;
        let kind = entry.file_type().map_err(|error| Failure::io("reading the folder", path, &error))?;
        if kind.is_dir() {
            remove_tree(fs, &entry.path())?;
        } else {
            fs.remove_file(&entry.path())?;
        }
    }
    match repeat(|| fs.raw_rmdir(path)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other.map_err(|error| Failure::io("removing the folder", path, &error)),
    }
}

#[cfg(test)]
mod tests;
