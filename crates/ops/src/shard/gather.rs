//! Gathers the bytes of entries for writing. Parts of one file are read in the order of their offsets, neighbouring parts in one read.

use super::list::InputFile;
use super::sample::{Origin, Part, SourceFile};
use crate::job::task::TaskContext;
use gristmill_core::{Cancel, Failure, FileStamp, Mutex, Outcome, ProblemKind, Subject};
use gristmill_data::formats::tar_writer::padding;
use gristmill_data::source::tar::{read_sparse_map, StoredRange};
use gristmill_storage::files::fetch_listing;
use gristmill_storage::folder::OpenFolder;
use gristmill_storage::fs::WriteFile;
use gristmill_storage::listing::infos_below;
use gristmill_storage::location::is_remote;
use gristmill_storage::read::{open_any, stamp_at, ReadFile};
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Number of bytes that are gathered before a write. Small enough for them to be still in the processor cache.
const GATHERED_BYTES: usize = 1 << 20;
/// Size above which parts are copied in chunks instead of gathered, in bytes.
const LARGE_PART: u64 = 4 << 20;
/// Maximum gap between two parts that are fetched in one read, in bytes.
const MAX_GAP: u64 = 64 << 10;
/// Maximum size of a read, in bytes.
const MAX_READ: u64 = 1 << 20;
/// Maximum number of open input files.
const MAX_OPEN: usize = 128;

const ACTIVITY: &str = "copying";

/// Input files, which are opened when needed.
pub(super) struct OpenInputs<'a> {
    files: &'a [InputFile],
    open: Mutex<HashMap<SourceFile, Arc<ReadFile>>>,
}

impl<'a> OpenInputs<'a> {
    pub(super) fn new(files: &'a [InputFile]) -> Self {
        Self { files, open: Mutex::default() }
    }

    fn open(&self, file: SourceFile) -> Outcome<Arc<ReadFile>> {
        let mut open = self.open.lock();
        if let Some(known) = open.get(&file) {
            return Ok(Arc::clone(known));
        }
        let Some(input) = self.files.get(file.0 as usize) else {
            return Err(Failure::internal(ACTIVITY, "a part is in a file that no source has named"));
        };
        let opened = Arc::new(open_unchanged(&input.path, input.stamp)?);
        if open.len() >= MAX_OPEN {
            open.clear();
        }
        open.insert(file, Arc::clone(&opened));
        Ok(opened)
    }

    /// Returns the bytes of a part.
    pub(super) fn read_part(&self, part: &Part, cancel: &Cancel) -> Outcome<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(part.bytes).unwrap_or(usize::MAX)];
        match &part.origin {
            Origin::Bytes(made) => bytes.clone_from(made),
            Origin::File { path, stamp } => read(&open_unchanged(path, *stamp)?, &mut bytes, 0)?,
            Origin::Range { file, offset } => read(&*self.open(*file)?, &mut bytes, *offset)?,
            Origin::Sparse { file, offset } => {
                let file = self.open(*file)?;
                let map = read_map(&file, *offset, part.bytes, cancel)?;
                read_stored_ranges(&file, &map, &mut bytes)?;
            }
        }
        Ok(bytes)
    }

    /// Checks that no input file has changed since it was listed.
    pub(super) fn check_unchanged(&self, cancel: &Cancel) -> Outcome<()> {
        let mut in_stores: BTreeMap<&Path, Vec<(PathBuf, FileStamp)>> = BTreeMap::new();
        for input in self.files {
            cancel.check()?;
            let (path, stamp) = input.of_input();
            if let Some(folder) = path.parent().filter(|_| is_remote(path)) {
                in_stores.entry(folder).or_default().push((path.to_owned(), stamp));
            } else if !stamp_at(path).is_ok_and(|now| now == stamp) {
                return Err(changed(path));
            }
        }
        for (folder, inputs) in in_stores {
            let (paths, stamps): (Vec<PathBuf>, Vec<FileStamp>) = inputs.into_iter().unzip();
            fetch_listing(folder);
            let now = infos_below(folder, &paths).map_err(|error| Failure::io(ACTIVITY, folder, &error))?;
            let mut pairs = paths.iter().zip(stamps.iter().zip(now));
            if let Some((path, _)) = pairs.find(|(_, (stamp, now))| now.is_none_or(|now| now.stamp != **stamp)) {
                return Err(changed(path));
            }
        }
        Ok(())
    }
}

fn open_unchanged(path: &Path, stamp: FileStamp) -> Outcome<ReadFile> {
    let file = match open_any(path) {
        Err(failure) if failure.is_missing() => return Err(changed(path)),
        opened => opened?,
    };
    check_stamp(&file, stamp)?;
    Ok(file)
}

fn check_stamp(file: &ReadFile, stamp: FileStamp) -> Outcome<()> {
    let now = file.stamp().map_err(|error| Failure::io(ACTIVITY, file.path(), &error))?;
    if now == stamp {
        Ok(())
    } else {
        Err(changed(file.path()))
    }
}

fn changed(path: &Path) -> Failure {
    Failure::data(ACTIVITY, "it changed after it was listed; nothing is published")
        .on(Subject::path(path))
        .of_kind(ProblemKind::ChangedDuringScan)
        .with_hint("wait until no program writes to it, then run the same command again: finished shards are kept")
}

/// A part whose bytes have not been read yet.
struct PendingRead {
    file: SourceFile,
    offset: u64,
    bytes: usize,
    /// Offset of the part in the gathered bytes.
    at: usize,
}

/// Gathers and writes the entries of one archive in order.
pub(super) struct Gatherer<'a> {
    inputs: &'a OpenInputs<'a>,
    context: &'a TaskContext,
    out: Box<dyn WriteFile + 'a>,
    memory: GatherMemory,
    written: u64,
    /// The folder of the last loose file.
    folder: OpenFolder,
    /// Hash of all written bytes, if a checksum is requested.
    pub(super) hash: Option<Sha256>,
}

/// The buffers of a [`Gatherer`], reused for the next archive.
#[derive(Default)]
pub(super) struct GatherMemory {
    gathered: Vec<u8>,
    wanted: Vec<PendingRead>,
    read: Vec<u8>,
}

impl<'a> Gatherer<'a> {
    pub(super) fn new(
        inputs: &'a OpenInputs<'a>,
        context: &'a TaskContext,
        out: Box<dyn WriteFile + 'a>,
        memory: GatherMemory,
    ) -> Self {
        Self { inputs, context, out, memory, written: 0, folder: OpenFolder::default(), hash: None }
    }

    /// Returns the number of bytes of the archive so far.
    pub(super) fn position(&self) -> u64 {
        self.written + self.memory.gathered.len() as u64
    }

    /// Returns the buffer to which a header is appended.
    pub(super) fn header(&mut self) -> &mut Vec<u8> {
        &mut self.memory.gathered
    }

    /// Appends the content of a part and its padding.
    pub(super) fn content(&mut self, part: &Part) -> Outcome<()> {
        match &part.origin {
            Origin::Bytes(bytes) => {
                if bytes.len() as u64 != part.bytes {
                    return Err(Failure::internal(ACTIVITY, "a part has another length than was listed"));
                }
                self.memory.gathered.extend_from_slice(bytes);
            }
            Origin::File { path, stamp } if part.bytes <= LARGE_PART => {
                let at = self.memory.gathered.len();
                self.memory.gathered.resize(at + part.bytes as usize, 0);
                let bytes = self.memory.gathered.get_mut(at..).unwrap_or_default();
                if !self.folder.read_unchanged(path, *stamp, bytes)? {
                    return Err(changed(path));
                }
            }
            Origin::File { path, stamp } => {
                let file = open_unchanged(path, *stamp)?;
                if file.len() != part.bytes {
                    return Err(changed(path));
                }
                self.copy(&file, 0, part.bytes)?;
                check_stamp(&file, *stamp)?;
            }
            Origin::Range { file, offset } if part.bytes > LARGE_PART => {
                let file = self.inputs.open(*file)?;
                self.copy(&file, *offset, part.bytes)?;
            }
            Origin::Sparse { file, offset } => {
                let number = *file;
                let file = self.inputs.open(number)?;
                let mut end = 0;
                for StoredRange { at, offset, bytes } in read_map(&file, *offset, part.bytes, &self.context.cancel)? {
                    self.zeros(at - end)?;
                    match bytes > MAX_READ {
                        true => self.copy(&file, offset, bytes)?,
                        false => self.request_range(number, offset, bytes),
                    }
                    if self.memory.gathered.len() >= GATHERED_BYTES {
                        self.flush()?;
                    }
                    end = at + bytes;
                }
                self.zeros(part.bytes - end)?;
            }
            Origin::Range { file, offset } => self.request_range(*file, *offset, part.bytes),
        }
        self.memory.gathered.resize(self.memory.gathered.len() + padding(part.bytes), 0);
        if self.memory.gathered.len() >= GATHERED_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    /// Reserves space for a range of a file. All requested ranges are read before the next write.
    fn request_range(&mut self, file: SourceFile, offset: u64, bytes: u64) {
        let (at, bytes) = (self.memory.gathered.len(), bytes as usize);
        self.memory.gathered.resize(at + bytes, 0);
        self.memory.wanted.push(PendingRead { file, offset, bytes, at });
    }

    /// Copies a range of a file in chunks.
    fn copy(&mut self, file: &ReadFile, offset: u64, bytes: u64) -> Outcome<()> {
        let mut done = 0;
        while done < bytes {
            let now = (bytes - done).min(LARGE_PART) as usize;
            let at = self.memory.gathered.len();
            self.memory.gathered.resize(at + now, 0);
            read(file, self.memory.gathered.get_mut(at..).unwrap_or_default(), offset + done)?;
            done += now as u64;
            if self.memory.gathered.len() >= GATHERED_BYTES {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Appends zeros in chunks.
    fn zeros(&mut self, mut bytes: u64) -> Outcome<()> {
        while bytes > 0 {
            let now = bytes.min(GATHERED_BYTES as u64);
            self.memory.gathered.resize(self.memory.gathered.len() + now as usize, 0);
            bytes -= now;
            if self.memory.gathered.len() >= GATHERED_BYTES {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Outcome<()> {
        self.context.cancel.check()?;
        self.memory.wanted.sort_unstable_by_key(|wanted| (wanted.file, wanted.offset));
        let mut rest = self.memory.wanted.as_slice();
        while let Some(first) = rest.first() {
            let (mut count, mut end) = (1, first.offset + first.bytes as u64);
            while let Some(next) = rest.get(count) {
                let next_end = end.max(next.offset + next.bytes as u64);
                if next.file != first.file || next.offset > end + MAX_GAP || next_end - first.offset > MAX_READ {
                    break;
                }
                end = next_end;
                count += 1;
            }
            let (together, others) = rest.split_at(count);
            rest = others;
            let file = self.inputs.open(first.file)?;
            if let [alone] = together {
                read(
                    &file,
                    self.memory.gathered.get_mut(alone.at..alone.at + alone.bytes).unwrap_or_default(),
                    alone.offset,
                )?;
                continue;
            }
            self.memory.read.resize((end - first.offset) as usize, 0);
            read(&file, &mut self.memory.read, first.offset)?;
            for wanted in together {
                let from = (wanted.offset - first.offset) as usize;
                let places = (
                    self.memory.gathered.get_mut(wanted.at..wanted.at + wanted.bytes),
                    self.memory.read.get(from..from + wanted.bytes),
                );
                if let (Some(to), Some(from)) = places {
                    to.copy_from_slice(from);
                }
            }
        }
        self.memory.wanted.clear();
        self.out.write_all(&self.memory.gathered)?;
        if let Some(hash) = &mut self.hash {
            hash.update(&self.memory.gathered);
        }
        let written = self.memory.gathered.len() as u64;
        self.written += written;
        // Reports progress for each write, because a shard with one large part takes minutes.
        self.context.progress.add(0, written);
        self.memory.gathered.clear();
        Ok(())
    }

    /// Pads the archive to this size, syncs and closes it. Returns the buffers for the next archive, and the checksum.
    pub(super) fn finish(mut self, archive_bytes: u64) -> Outcome<(GatherMemory, Option<String>)> {
        let Some(zeros) = archive_bytes.checked_sub(self.position()) else {
            return Err(Failure::internal(ACTIVITY, "an archive is larger than was computed"));
        };
        self.memory.gathered.resize(self.memory.gathered.len() + zeros as usize, 0);
        self.flush()?;
        self.out.finish()?;
        let hex = |hash: Sha256| hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok((self.memory, self.hash.map(hex)))
    }
}

/// Reads the map of a sparse entry. An unusable map means that the file has changed since it was listed.
fn read_map(file: &Arc<ReadFile>, offset: u64, size: u64, cancel: &Cancel) -> Outcome<Vec<StoredRange>> {
    read_sparse_map(file, offset, size, cancel)?.map_err(|_| changed(file.path()))
}

/// Reads the stored ranges of a sparse file, which are adjacent in the archive, and moves each to its offset among zeros.
fn read_stored_ranges(file: &ReadFile, map: &[StoredRange], bytes: &mut [u8]) -> Outcome<()> {
    let Some(first) = map.first() else { return Ok(()) };
    let stored: u64 = map.iter().map(|range| range.bytes).sum();
    read(file, bytes.get_mut(..stored as usize).unwrap_or_default(), first.offset)?;
    let mut end = bytes.len();
    // Ranges only move towards the end, so moving the last one first overwrites no data.
    for range in map.iter().rev() {
        let (from, at, length) = ((range.offset - first.offset) as usize, range.at as usize, range.bytes as usize);
        bytes.copy_within(from..from + length, at);
        bytes.get_mut(at + length..end).unwrap_or_default().fill(0);
        end = at;
    }
    bytes.get_mut(..end).unwrap_or_default().fill(0);
    Ok(())
}

fn read(file: &ReadFile, buffer: &mut [u8], offset: u64) -> Outcome<()> {
    match file.read_exact_at(buffer, offset) {
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Err(changed(file.path())),
        other => other.map_err(|error| Failure::io(ACTIVITY, file.path(), &error)),
    }
}
