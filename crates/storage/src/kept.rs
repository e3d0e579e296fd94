//! What a run reads of objects more than once: kept in a local file, so that it is fetched once.

use super::files::FileInfo;
use super::location::{is_remote, RemoteUrl};
use super::publish::{unique, TEMPORARY};
use super::store::{store_of, RangeRead};
use gristmill_core::{Failure, Outcome, Subject};
use rustix::fs::{Mode, OFlags};
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

/// Permission bits of the file.
const MODE: Mode = Mode::RUSR.union(Mode::WUSR);

/// The objects whose bytes are kept, by their paths.
static KEPT: LazyLock<Mutex<HashMap<PathBuf, Arc<KeptObject>>>> = LazyLock::new(Mutex::default);

/// While it exists, what is read of some objects is kept, and read locally when it is read again.
#[derive(Debug, Default)]
pub struct KeptReads(Vec<(PathBuf, Arc<KeptObject>)>);

/// An object whose bytes are kept.
#[derive(Debug)]
struct KeptObject {
    /// The file with the bytes of all objects. It has no name.
    file: Arc<File>,
    /// Offset of the object in the file, and its size when it was listed, in bytes.
    base: u64,
    bytes: u64,
    /// What was opened first; only its bytes are kept.
    info: OnceLock<FileInfo>,
    /// Start and end of the parts that the file has.
    ranges: Mutex<BTreeMap<u64, u64>>,
}

impl KeptReads {
    /// Begins to keep what is read of objects, given by path and size in bytes, in a file in a folder: of those for which there is space
    /// in `limit` bytes. Local files are left out.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn begin<'a>(folder: &Path, limit: u64, files: impl Iterator<Item = (&'a Path, u64)>) -> Outcome<Self> {
        let mut files = files.filter(|(path, bytes)| is_remote(path) && *bytes > 0).peekable();
        if files.peek().is_none() {
            return Ok(Self::default());
        }
        let file = Arc::new(create(folder)?);
        let (mut kept, mut base) = (Vec::new(), 0_u64);
        let mut all = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        for (path, bytes) in files {
            if base.saturating_add(bytes) > limit || all.contains_key(path) {
                continue;
            }
            let (info, ranges) = (OnceLock::new(), Mutex::default());
            let object = Arc::new(KeptObject { file: Arc::clone(&file), base, bytes, info, ranges });
            all.insert(path.to_owned(), Arc::clone(&object));
            kept.push((path.to_owned(), object));
            base += bytes;
        }
        Ok(Self(kept))
    }
}

impl Drop for KeptReads {
    fn drop(&mut self) {
        let mut all = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        self.0.iter().for_each(|(path, _)| _ = all.remove(path));
    }
}

/// Creates a file without a name: its space is free again when the process ends, however it ends.
fn create(folder: &Path) -> Outcome<File> {
    let path = folder.join(format!("{TEMPORARY}{}", unique()));
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let file = rustix::fs::open(&path, flags, MODE).map_err(|error| Failure::io("creating", &path, &error.into()))?;
    rustix::fs::unlink(&path).map_err(|error| Failure::io("removing", &path, &error.into()))?;
    Ok(file.into())
}

/// Opens an object of a path, by what is kept of it if possible. `part`: what is read in order, if that is known.
pub(super) fn open_object(
    path: &Path,
    url: &RemoteUrl<'_>,
    part: Option<Range<u64>>,
) -> io::Result<(FileInfo, Box<dyn RangeRead>)> {
    let object = KEPT.lock().unwrap_or_else(PoisonError::into_inner).get(path).map(Arc::clone);
    let Some(object) = object else { return open_in_store(url, part) };
    let path = path.to_owned();
    let wanted = part.clone().unwrap_or(0..u64::MAX);
    if let Some(info) = object.info.get().filter(|info| object.has(&(wanted.start..wanted.end.min(info.len())))) {
        let info = *info;
        return Ok((info, Box::new(KeptRead { object, path, part, remote: OnceLock::new() })));
    }
    let (info, remote) = open_in_store(url, part.clone())?;
    if info.len() != object.bytes {
        // There is no room for what it has become.
        return Ok((info, remote));
    }
    Ok(match *object.info.get_or_init(|| info) == info {
        true => (info, Box::new(KeptRead { object, path, part, remote: OnceLock::from(remote) })),
        // It was replaced. What reads it finds out by its version.
        false => (info, remote),
    })
}

fn open_in_store(url: &RemoteUrl<'_>, part: Option<Range<u64>>) -> io::Result<(FileInfo, Box<dyn RangeRead>)> {
    let store = store_of(url)?;
    match part {
        Some(part) => store.open_part(url, part),
        None => store.open(url),
    }
}

impl KeptObject {
    fn has(&self, range: &Range<u64>) -> bool {
        let ranges = self.ranges.lock().unwrap_or_else(PoisonError::into_inner);
        let before = ranges.range(..=range.start).next_back();
        range.is_empty() || before.is_some_and(|(_, end)| *end >= range.end)
    }

    /// Keeps bytes of the object. A full disk is no error: they are fetched again then.
    fn keep(&self, bytes: &[u8], offset: u64) {
        if self.file.write_all_at(bytes, self.base + offset).is_err() {
            return;
        }
        let (mut start, mut end) = (offset, offset + bytes.len() as u64);
        let mut ranges = self.ranges.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some((&from, &to)) = ranges.range(..=end).next_back().filter(|(_, to)| **to >= start) {
            ranges.remove(&from);
            (start, end) = (start.min(from), end.max(to));
        }
        ranges.insert(start, end);
    }
}

/// Reads an object by what is kept of it, and else from its store.
struct KeptRead {
    object: Arc<KeptObject>,
    path: PathBuf,
    part: Option<Range<u64>>,
    remote: OnceLock<Box<dyn RangeRead>>,
}

impl KeptRead {
    /// Returns the object in its store, which is opened when the first byte is not kept.
    fn remote(&self) -> io::Result<&dyn RangeRead> {
        if let Some(remote) = self.remote.get() {
            return Ok(&**remote);
        }
        let url = RemoteUrl::parse(&self.path).ok_or(io::ErrorKind::NotFound)?;
        let (info, remote) = open_in_store(&url, self.part.clone())?;
        if self.object.info.get() != Some(&info) {
            return Err(Failure::data("reading", "it changed while it was read")
                .on(Subject::path(&self.path))
                .with_hint("wait until no program writes to it, then run the same command again")
                .into_io());
        }
        Ok(&**self.remote.get_or_init(|| remote))
    }

    fn read(
        &self,
        buffer: &mut [u8],
        offset: u64,
        fetch: impl FnOnce(&dyn RangeRead, &mut [u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        if self.object.has(&(offset..offset + buffer.len() as u64)) {
            return self.object.file.read_exact_at(buffer, self.object.base + offset);
        }
        fetch(self.remote()?, buffer)?;
        self.object.keep(buffer, offset);
        Ok(())
    }
}

impl RangeRead for KeptRead {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.read(buffer, offset, |remote, buffer| remote.read_exact_at(buffer, offset))
    }

    fn read_alone_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.read(buffer, offset, |remote, buffer| remote.read_alone_at(buffer, offset))
    }

    fn bytes_worth_a_jump(&self) -> u64 {
        self.remote().map_or(0, RangeRead::bytes_worth_a_jump)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory_store::put;
    use crate::read::{open_part, open_read};

    #[test]
    fn what_was_read_is_read_again_without_the_store() {
        let (dir, path) = (tempfile::tempdir().unwrap(), Path::new("mem://kept/a"));
        let content: Vec<u8> = (0..=255).cycle().take(10_000).collect();
        put(path, &content);
        let kept = KeptReads::begin(dir.path(), 20_000, [(path, 10_000), (dir.path(), 5)].into_iter()).unwrap();
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "the file has no name");
        let read = |file: &crate::read::ReadFile, range: Range<usize>| {
            let mut bytes = vec![0; range.len()];
            file.read_exact_at(&mut bytes, range.start as u64).map(|()| bytes == content[range])
        };
        let file = open_part(path, 1_000..3_000).unwrap();
        assert!(read(&file, 1_000..2_500).unwrap() && read(&file, 2_000..4_000).unwrap());
        assert_eq!(kept.0[0].1.ranges.lock().unwrap().iter().collect::<Vec<_>>(), [(&1_000, &4_000)]);
        // The store has another version, but these bytes are not fetched from it.
        put(path, b"replaced");
        let again = open_part(path, 1_500..4_000).unwrap();
        assert_eq!(again.len(), 10_000);
        assert!(read(&again, 1_500..4_000).unwrap());
        let error = read(&again, 0..10).unwrap_err();
        assert!(error.to_string().contains("changed"), "{error}");
        assert_eq!(open_read(path).unwrap().len(), 8, "a new version is another object");
        drop(kept);
        assert_eq!(open_part(path, 1_500..4_000).unwrap().len(), 8);
    }
}
