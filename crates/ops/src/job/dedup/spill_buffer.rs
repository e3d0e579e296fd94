//! Spill buffers: bytes that are appended, and read by position. They are held in memory as long as the budget lasts, and are written to a
//! scratch file after that.

use super::budget::{Budget, Chunk, CHUNK_BYTES};
use gristmill_core::{Failure, Mutex, Outcome};
use gristmill_storage::files;
use gristmill_storage::fs::{Fs, WriteFile};
use gristmill_storage::read::{open_read, ReadFile};
use prefetch_index::prefetch_index;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use xxhash_rust::xxh3::Xxh3;

/// Bytes of a scratch file that are read at a time when it is checked.
const READ_BYTES: usize = 1 << 20;
/// Limit of scratch files open for reading. Together with the files that threads read and write, the number stays well below 256.
const MAX_OPEN_FILES: usize = 96;

/// Length and hash of a scratch file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Mark {
    pub(super) bytes: u64,
    /// XXH3 (64 bits) over the whole file.
    pub(super) xxh3: u64,
}

impl Mark {
    /// Whether a file is unchanged since the mark was made. Reads the whole file.
    pub(super) fn is_unchanged(self, path: &Path) -> Outcome<bool> {
        // A second hard link means that the file was published.
        let is_ours = files::symlink_metadata(path)
            .is_ok_and(|facts| facts.is_file() && facts.links == 1 && facts.len() == self.bytes);
        if !is_ours {
            return Ok(false);
        }
        let file = open_read(path)?;
        let mut hasher = Xxh3::new();
        let mut buffer = vec![0; READ_BYTES];
        let mut at = 0;
        loop {
            let count = file.read_at(&mut buffer, at).map_err(|error| Failure::io("reading", path, &error))?;
            let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else { break };
            hasher.update(bytes);
            at += count as u64;
        }
        Ok(at == self.bytes && hasher.digest() == self.xxh3)
    }
}

/// A spill buffer that is being filled.
pub(super) struct SpillBuffer<'a> {
    fs: &'a dyn Fs,
    path: PathBuf,
    budget: Arc<Budget>,
    chunks: Vec<Chunk>,
    file: Option<Box<dyn WriteFile>>,
    hasher: Xxh3,
    bytes: u64,
    spilled: bool,
}

impl<'a> SpillBuffer<'a> {
    /// Creates an empty buffer with its file at `path`; a file left there by a stopped run is removed.
    pub(super) fn new(fs: &'a dyn Fs, path: PathBuf, budget: &Arc<Budget>) -> Self {
        let budget = Arc::clone(budget);
        Self { fs, path, budget, chunks: Vec::new(), file: None, hasher: Xxh3::new(), bytes: 0, spilled: false }
    }

    /// Returns the number of bytes.
    pub(super) fn len(&self) -> u64 {
        self.bytes
    }

    /// Whether content was written to the file.
    pub(super) fn is_spilled(&self) -> bool {
        self.spilled
    }

    /// Appends bytes.
    pub(super) fn append(&mut self, mut bytes: &[u8]) -> Outcome<()> {
        self.bytes += bytes.len() as u64;
        while !bytes.is_empty() {
            let room = match self.chunks.last_mut() {
                Some(chunk) if !chunk.is_full() => chunk,
                _ => match self.next_chunk()? {
                    Some(chunk) => chunk,
                    None => return self.write(bytes),
                },
            };
            bytes = room.fill(bytes);
        }
        Ok(())
    }

    /// Returns a chunk with free space; `None` if there is no memory and the bytes must go directly to the file.
    fn next_chunk(&mut self) -> Outcome<Option<&mut Chunk>> {
        if !self.spilled {
            match self.budget.take() {
                Some(chunk) => self.chunks.push(chunk),
                None => self.spill()?,
            }
        }
        if self.spilled {
            // One chunk remains as the write buffer of the file; it is part of the memory of a thread.
            self.hand_over()?;
            if self.chunks.is_empty() {
                self.chunks.extend(Chunk::new());
            }
        }
        Ok(self.chunks.last_mut())
    }

    fn write(&mut self, bytes: &[u8]) -> Outcome<()> {
        self.hasher.update(bytes);
        match &mut self.file {
            Some(file) => file.write_all(bytes),
            None => Ok(()),
        }
    }

    /// Writes the existing content to the file; later content is also written there.
    pub(super) fn spill(&mut self) -> Outcome<()> {
        if self.spilled {
            return Ok(());
        }
        self.fs.remove_file(&self.path)?;
        let file = self.file.insert(self.fs.create_file(&self.path)?);
        file.keep_in_page_cache();
        self.spilled = true;
        for chunk in std::mem::take(&mut self.chunks) {
            let written = self.write(chunk.bytes());
            self.budget.return_chunk(chunk);
            written?;
        }
        Ok(())
    }

    fn hand_over(&mut self) -> Outcome<()> {
        let Some(mut chunk) = self.chunks.pop() else { return Ok(()) };
        self.write(chunk.bytes())?;
        chunk.clear();
        self.chunks.push(chunk);
        Ok(())
    }

    /// Ends writing; the buffer can then be read.
    pub(super) fn finish(mut self) -> Outcome<FinishedSpill> {
        if self.spilled {
            self.hand_over()?;
            self.chunks.clear();
        }
        let bytes = self.bytes;
        let mark = Mark { bytes, xxh3: self.hasher.digest() };
        Ok(match self.file.take() {
            Some(file) => {
                file.close()?;
                FinishedSpill::of_file(std::mem::take(&mut self.path), mark)
            }
            None => FinishedSpill::Memory {
                chunks: std::mem::take(&mut self.chunks),
                bytes,
                budget: Arc::clone(&self.budget),
            },
        })
    }
}

impl Drop for SpillBuffer<'_> {
    fn drop(&mut self) {
        if !self.spilled {
            self.chunks.drain(..).for_each(|chunk| self.budget.return_chunk(chunk));
        }
    }
}

/// A finished spill buffer.
pub(super) enum FinishedSpill {
    /// The content is in memory.
    Memory {
        /// All chunks but the last are full.
        chunks: Vec<Chunk>,
        bytes: u64,
        budget: Arc<Budget>,
    },
    /// The content is in a file.
    File {
        path: PathBuf,
        mark: Mark,
        /// Number of the file among the scratch files of this process.
        number: usize,
    },
}

impl Drop for FinishedSpill {
    fn drop(&mut self) {
        if let Self::Memory { chunks, budget, .. } = self {
            chunks.drain(..).for_each(|chunk| budget.return_chunk(chunk));
        }
    }
}

impl FinishedSpill {
    /// Opens an existing scratch file.
    pub(super) fn of_file(path: PathBuf, mark: Mark) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        Self::File { path, mark, number: NEXT.fetch_add(1, Ordering::Relaxed) }
    }

    /// Returns the number of bytes.
    pub(super) fn len(&self) -> u64 {
        match self {
            Self::Memory { bytes, .. } => *bytes,
            Self::File { mark, .. } => mark.bytes,
        }
    }

    /// Returns the mark of the file, with which a later run can use it; `None` if the content is in memory.
    pub(super) fn mark(&self) -> Option<Mark> {
        match self {
            Self::Memory { .. } => None,
            Self::File { mark, .. } => Some(*mark),
        }
    }

    /// Prefetches the byte at `at` into the processor's cache if the content is in memory.
    #[inline]
    pub(super) fn prefetch(&self, at: u64) {
        if let Self::Memory { chunks, .. } = self {
            let place = usize::try_from(at).unwrap_or(usize::MAX);
            if let Some(chunk) = chunks.get(place / CHUNK_BYTES) {
                prefetch_index(chunk.bytes(), place % CHUNK_BYTES);
            }
        }
    }

    /// Returns `len` bytes from `at`, fewer only at the end. `spare` is a buffer for bytes that are not contiguous in memory.
    pub(super) fn read<'a>(
        &'a self,
        at: u64,
        len: usize,
        spare: &'a mut Vec<u8>,
        open: &OpenFiles,
    ) -> Outcome<&'a [u8]> {
        let left = usize::try_from(self.len().saturating_sub(at)).unwrap_or(usize::MAX);
        let len = len.min(left);
        match self {
            Self::Memory { chunks, .. } => {
                let place = usize::try_from(at).unwrap_or(usize::MAX);
                let (chunk, start) = (place / CHUNK_BYTES, place % CHUNK_BYTES);
                if let Some(bytes) = chunks.get(chunk).and_then(|chunk| chunk.bytes().get(start..start + len)) {
                    return Ok(bytes);
                }
                spare.clear();
                let mut start = start;
                for chunk in chunks.iter().skip(chunk) {
                    let rest = chunk.bytes().get(start..).unwrap_or_default();
                    spare.extend_from_slice(rest.get(..len - spare.len()).unwrap_or(rest));
                    start = 0;
                    if spare.len() == len {
                        break;
                    }
                }
                Ok(spare)
            }
            Self::File { path, number, .. } => {
                spare.resize(len, 0);
                let file = open.get(path, *number)?;
                file.read_exact_at(spare, at).map_err(|error| Failure::io("reading the scratch file", path, &error))?;
                Ok(spare)
            }
        }
    }
}

/// A limited number of scratch files open for reading. The number of a file determines its slot, which holds the file opened last.
pub(super) struct OpenFiles(Vec<OpenPlace>);

/// A file with its number.
type OpenPlace = Mutex<Option<(usize, Arc<ReadFile>)>>;

impl Default for OpenFiles {
    fn default() -> Self {
        Self((0..MAX_OPEN_FILES).map(|_| Mutex::new(None)).collect())
    }
}

impl OpenFiles {
    /// Returns a file, opening it if necessary.
    fn get(&self, path: &Path, number: usize) -> Outcome<Arc<ReadFile>> {
        let Some(place) = self.0.get(number % MAX_OPEN_FILES) else { return open_read(path).map(Arc::new) };
        let mut place = place.lock();
        match &*place {
            Some((known, file)) if *known == number => Ok(Arc::clone(file)),
            _ => {
                let file = Arc::new(open_read(path)?);
                file.hint_random_access();
                *place = Some((number, Arc::clone(&file)));
                Ok(file)
            }
        }
    }

    /// Closes all files before they are removed.
    pub(super) fn close(&self) {
        for place in &self.0 {
            *place.lock() = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_storage::fs::RealFs;
    use gristmill_storage::publish::write_file;

    fn pattern(len: usize) -> Vec<u8> {
        (0..len).map(|at| (at * 7 + at / 251) as u8).collect()
    }

    fn fill(dir: &Path, bytes: &[u8], budget: &Arc<Budget>) -> FinishedSpill {
        let mut pile = SpillBuffer::new(&RealFs, dir.join("pile"), budget);
        for (number, piece) in bytes.chunks(100_003).enumerate() {
            pile.append(piece).unwrap();
            if number == 3 {
                pile.append(&[]).unwrap();
            }
        }
        assert_eq!(pile.len(), bytes.len() as u64);
        pile.finish().unwrap()
    }

    #[test]
    fn reads_back_spilled_and_buffered_bytes() {
        let dir = tempfile::tempdir().unwrap();
        let bytes = pattern(5 * CHUNK_BYTES / 2);
        for chunks in [0, 1, 2, 3, 9] {
            let budget = Budget::new(chunks * CHUNK_BYTES as u64);
            let stored = fill(dir.path(), &bytes, &budget);
            assert_eq!(stored.mark().is_some(), chunks < 3);
            assert_eq!(dir.path().join("pile").exists(), chunks < 3);
            let (mut spare, open) = (Vec::new(), OpenFiles::default());
            for (at, len) in [
                (0, 10),
                (CHUNK_BYTES - 3, 10),
                (CHUNK_BYTES - 3, 2 * CHUNK_BYTES),
                (bytes.len() - 5, 100),
                (bytes.len(), 1),
            ] {
                let wanted = &bytes[at..bytes.len().min(at + len)];
                stored.prefetch(at as u64);
                assert_eq!(stored.read(at as u64, len, &mut spare, &open).unwrap(), wanted, "{chunks} {at} {len}");
            }
            if let Some(mark) = stored.mark() {
                let path = dir.path().join("pile");
                assert!(mark.is_unchanged(&path).unwrap());
                write_file(&RealFs, &path, &bytes[1..], 0o600).unwrap();
                assert!(!mark.is_unchanged(&path).unwrap());
                std::fs::remove_file(&path).unwrap();
                assert!(!mark.is_unchanged(&path).unwrap());
            }
            drop(stored);
            let taken: Vec<Chunk> = std::iter::from_fn(|| budget.take()).collect();
            assert_eq!(taken.len() as u64, chunks, "all of it was given back");
            assert!(taken.iter().all(|chunk| chunk.bytes().is_empty()));
        }
    }

    #[test]
    fn few_scratch_files_are_open_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let open = OpenFiles::default();
        for number in 0..3 * MAX_OPEN_FILES {
            let path = dir.path().join(number.to_string());
            write_file(&RealFs, &path, number.to_string().as_bytes(), 0o600).unwrap();
            assert_eq!(open.get(&path, number).unwrap().path(), path);
        }
        let last = open.0.iter().filter_map(|place| place.lock().clone()).map(|(number, _)| number).min();
        assert_eq!(last, Some(2 * MAX_OPEN_FILES));
        let kept = open.get(&dir.path().join("0"), 0).unwrap();
        open.close();
        assert_eq!(kept.len(), 1);
    }
}
