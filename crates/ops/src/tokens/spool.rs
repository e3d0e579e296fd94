//! Files that grow during a run. Their length and hash are recorded, so that a stopped run can be resumed.

use gristmill_core::{Failure, Outcome};
use gristmill_storage::files;
use gristmill_storage::fs::{Fs, WriteFile};
use gristmill_storage::read::{open_read, ReadFile};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::Xxh3;

/// Number of bytes that are read at a time.
const READ_BYTES: usize = 1 << 20;

/// The length and hash of a spool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mark {
    /// Length in bytes, including the reserved header.
    pub(crate) bytes: u64,
    /// XXH3 (64 bits) of the bytes after the header.
    pub(crate) xxh3: u64,
}

/// A file that is appended to. Space is reserved for its header, whose content is known only at the end. The file is open only while it is
/// written.
pub(crate) struct Spool {
    path: PathBuf,
    file: Option<Box<dyn WriteFile>>,
    bytes: u64,
    hasher: Xxh3,
    is_reread: bool,
}

/// An earlier state of a spool, which can be restored.
#[derive(Clone)]
pub(crate) struct Snapshot {
    bytes: u64,
    hasher: Xxh3,
}

impl Snapshot {
    /// Returns the snapshot of a spool without a header at an earlier length.
    pub(crate) fn of(path: &Path, bytes: u64) -> Outcome<Self> {
        let mut hasher = Xxh3::new();
        each_chunk(path, 0, bytes, &mut |bytes| {
            hasher.update(bytes);
            Ok(())
        })?;
        Ok(Self { bytes, hasher })
    }
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Spool {
    /// Creates a new spool. Replaces a spool of a stopped run.
    pub(crate) fn create(fs: &dyn Fs, path: &Path, head: usize) -> Outcome<Self> {
        fs.remove_file(path)?;
        let mut file = fs.create_file(path)?;
        if head > 0 {
            file.write_all(&vec![0; head])?;
        }
        Ok(Self { path: path.to_owned(), file: Some(file), bytes: head as u64, hasher: Xxh3::new(), is_reread: false })
    }

    /// Opens the spool of a stopped run and truncates it to its mark. Returns `None` if the content does not match the mark.
    pub(crate) fn resume(path: &Path, mark: Mark, head: usize) -> Outcome<Option<Self>> {
        let hasher = verify(path, mark, head)?;
        Ok(hasher.map(|hasher| Self { path: path.to_owned(), file: None, bytes: mark.bytes, hasher, is_reread: false }))
    }

    /// Sets whether this run reads the spool again. Such a spool stays in the page cache ([`WriteFile::keep_in_page_cache`]).
    pub(crate) fn with_reread(mut self, is_read_again: bool) -> Self {
        self.is_reread = is_read_again;
        if let Some(file) = self.file.as_mut().filter(|_| is_read_again) {
            file.keep_in_page_cache();
        }
        self
    }

    pub(crate) fn append(&mut self, fs: &dyn Fs, bytes: &[u8]) -> Outcome<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) => file,
            None => {
                let file = self.file.insert(fs.reopen_file(&self.path, self.bytes)?);
                if self.is_reread {
                    file.keep_in_page_cache();
                }
                file
            }
        };
        file.write_all(bytes)?;
        self.hasher.update(bytes);
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark { bytes: self.bytes, xxh3: self.hasher.digest() }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot { bytes: self.bytes, hasher: self.hasher.clone() }
    }

    /// Discards all bytes appended since the snapshot.
    pub(crate) fn rewind_to(&mut self, to: Snapshot) -> Outcome<()> {
        self.rest()?;
        self.bytes = to.bytes;
        self.hasher = to.hasher;
        Ok(())
    }

    /// Closes the file until the next append.
    pub(crate) fn rest(&mut self) -> Outcome<()> {
        self.file.take().map_or(Ok(()), |file| file.close().map(drop))
    }
}

/// Reads and hashes the bytes that a mark covers. Returns `None` if they are missing or changed.
pub(crate) fn verify(path: &Path, mark: Mark, head: usize) -> Outcome<Option<Xxh3>> {
    // A second hard link means that the file is published, so it must not be changed.
    let is_ours = files::symlink_metadata(path)
        .is_ok_and(|facts| facts.is_file() && facts.links == 1 && facts.len() >= mark.bytes);
    if !is_ours {
        return Ok(None);
    }
    let mut hasher = Xxh3::new();
    each_chunk(path, head as u64, mark.bytes, &mut |bytes| {
        hasher.update(bytes);
        Ok(())
    })?;
    Ok((hasher.digest() == mark.xxh3).then_some(hasher))
}

/// Passes the bytes of a file from `from` to `to` to a callback, in chunks.
pub(crate) fn each_chunk(path: &Path, from: u64, to: u64, take: &mut dyn FnMut(&[u8]) -> Outcome<()>) -> Outcome<()> {
    each_chunk_of(&open_read(path)?, from, to, take)
}

/// Like [`each_chunk`], for an open file.
pub(crate) fn each_chunk_of(
    file: &ReadFile,
    from: u64,
    to: u64,
    take: &mut dyn FnMut(&[u8]) -> Outcome<()>,
) -> Outcome<()> {
    let mut buffer = vec![0; READ_BYTES.min(usize::try_from(to.saturating_sub(from)).unwrap_or(READ_BYTES))];
    let mut at = from;
    while at < to {
        let wanted = usize::try_from(to - at).unwrap_or(usize::MAX).min(buffer.len());
        let piece = buffer.get_mut(..wanted).unwrap_or_default();
        file.read_exact_at(piece, at).map_err(|error| Failure::io("reading the spool", file.path(), &error))?;
        take(piece)?;
        at += wanted as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_storage::fs::fault::{Fault, FaultFs};
    use gristmill_storage::fs::RealFs;

    fn put(path: &Path, bytes: &[u8]) {
        gristmill_storage::publish::write_file(&RealFs, path, bytes, 0o600).unwrap();
    }

    #[test]
    fn spool_resumes_only_at_its_mark() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        let mut spool = Spool::create(&RealFs, &path, 4).unwrap();
        spool.append(&RealFs, b"hello ").unwrap();
        let mark = spool.mark();
        spool.append(&RealFs, b"lost").unwrap();
        drop(spool);
        let mut spool = Spool::resume(&path, mark, 4).unwrap().unwrap();
        assert_eq!(spool.bytes(), 10);
        let before = spool.snapshot();
        spool.append(&RealFs, b"nothing").unwrap();
        spool.rewind_to(before).unwrap();
        spool.append(&RealFs, b"wor").unwrap();
        spool.rest().unwrap();
        spool.append(&RealFs, b"ld").unwrap();
        let end = spool.mark();
        drop(spool);
        assert_eq!(std::fs::read(&path).unwrap(), b"\0\0\0\0hello world");
        assert!(verify(&path, end, 4).unwrap().is_some());
        // Changes in the header are ignored; any other change is detected.
        put(&path, b"headhello world");
        assert!(verify(&path, end, 4).unwrap().is_some());
        put(&path, b"headhallo world");
        assert!(Spool::resume(&path, end, 4).unwrap().is_none());
        put(&path, b"head");
        assert!(Spool::resume(&path, mark, 4).unwrap().is_none());
        put(&path, b"headhello ");
        std::fs::hard_link(&path, dir.path().join("published")).unwrap();
        assert!(Spool::resume(&path, mark, 4).unwrap().is_none());
    }

    #[test]
    fn spool_that_is_read_again_is_not_released_from_the_page_cache() {
        let dir = tempfile::tempdir().unwrap();
        for (name, is_read_again) in [("made", false), ("again", true)] {
            let fs = FaultFs::new(Fault::Nothing);
            let path = dir.path().join(name);
            let mut spool = Spool::create(&fs, &path, 0).unwrap().with_reread(is_read_again);
            spool.append(&fs, &vec![1; 20 << 20]).unwrap();
            spool.rest().unwrap();
            spool.append(&fs, &vec![2; 20 << 20]).unwrap();
            spool.rest().unwrap();
            assert_eq!(fs.released_ranges().is_empty(), is_read_again);
            let mark = spool.mark();
            let mut resumed = Spool::resume(&path, mark, 0).unwrap().unwrap().with_reread(is_read_again);
            let before = fs.released_ranges().len();
            resumed.append(&fs, &vec![3; 20 << 20]).unwrap();
            assert_eq!(fs.released_ranges().len() == before, is_read_again);
        }
    }
}
