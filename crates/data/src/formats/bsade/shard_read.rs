//! Reading a shard at arbitrary offsets (docs/formats/bsade.md §3).

use super::{METADATA, METAOFF, OFFSET, TABLE, TOKENIZED};
use gristmill_core::{Cancel, Failure, Outcome, Subject};
use gristmill_storage::read::{open_read, ReadFile};
use std::path::{Path, PathBuf};

/// Number of offsets in one read.
const NUMBERS_PER_READ: usize = 8 << 10;

/// The open files of one shard, four or five.
#[derive(Debug)]
pub struct Shard {
    folder: PathBuf,
    tokenized: ReadFile,
    offset: ReadFile,
    metadata: ReadFile,
    metaoff: ReadFile,
    table: Option<ReadFile>,
}

/// Location of one document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DocumentLocation {
    /// Document number in the shard, from 0.
    pub number: u64,
    /// Offset of the separator in `tokenized`, in bytes.
    pub start: u64,
    /// End of the text in `tokenized`, exclusive.
    pub end: u64,
    /// Offset of the line in `metadata`, in bytes.
    pub meta_start: u64,
    /// End of the line in `metadata`, after its `\n`.
    pub meta_end: u64,
}

impl DocumentLocation {
    /// Returns the length of the text in bytes.
    pub fn text_bytes(&self) -> u64 {
        self.end - self.start - 1
    }
}

impl Shard {
    /// Opens the files of a shard. The table is optional; inconsistent file sizes are refused.
    pub fn open(folder: &Path) -> Outcome<Self> {
        let open = |name: &str| open_read(&folder.join(name));
        let table = match open(TABLE) {
            Ok(table) => Some(table),
            Err(failure) if failure.is_missing() => None,
            Err(failure) => return Err(failure),
        };
        let shard = Self {
            folder: folder.to_owned(),
            tokenized: open(TOKENIZED)?,
            offset: open(OFFSET)?,
            metadata: open(METADATA)?,
            metaoff: open(METAOFF)?,
            table,
        };
        let refused = |file: &ReadFile, why: String| Err(refusal(why).on(Subject::path(file.path())));
        for file in [&shard.offset, &shard.metaoff] {
            if !file.len().is_multiple_of(8) {
                return refused(
                    file,
                    format!("its size of {} is not a multiple of 8", gristmill_core::text::count(file.len(), "byte")),
                );
            }
        }
        if shard.offset.len() != shard.metaoff.len() {
            let (documents, lines) = (shard.offset.len() / 8, shard.metaoff.len() / 8);
            return refused(&shard.metaoff, format!("it has {lines} entries for {documents} documents"));
        }
        if shard.tokenized.is_empty() != shard.offset.is_empty() {
            return refused(&shard.tokenized, "text and documents do not fit: one of them is empty".to_owned());
        }
        Ok(shard)
    }

    /// Returns the folder of the shard.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
    /// Returns the number of documents.
    pub fn documents(&self) -> u64 {
        self.offset.len() / 8
    }
    /// Returns the file of the text with its separators.
    pub fn tokenized(&self) -> &ReadFile {
        &self.tokenized
    }
    /// Returns the file of the lines of metadata.
    pub fn metadata(&self) -> &ReadFile {
        &self.metadata
    }
    /// Returns the file of the suffix array, if there is one.
    pub fn table(&self) -> Option<&ReadFile> {
        self.table.as_ref()
    }

    /// Returns the locations of all documents, in order.
    pub fn places(&self) -> DocumentLocations<'_> {
        DocumentLocations { shard: self, next: 0, offsets: Vec::new(), metaoffs: Vec::new(), first: 0 }
    }

    fn numbers(&self, file: &ReadFile, from: u64, out: &mut Vec<u64>) -> Outcome<()> {
        let count = usize::try_from(self.documents() - from).unwrap_or(NUMBERS_PER_READ).min(NUMBERS_PER_READ);
        let mut bytes = vec![0; count * 8];
        file.read_exact_at(&mut bytes, from * 8)
            .map_err(|error| Failure::io("reading the index", file.path(), &error))?;
        out.clear();
        out.extend(bytes.chunks_exact(8).map(|number| u64::from_le_bytes(number.try_into().unwrap_or_default())));
        Ok(())
    }
}

fn refusal(why: impl Into<String>) -> Failure {
    Failure::data("reading the index", why)
}

/// Iterates over the locations of documents; see [`Shard::places`].
#[derive(Debug)]
pub struct DocumentLocations<'a> {
    shard: &'a Shard,
    /// Number of the next document.
    next: u64,
    /// Offsets of the documents from `first` on.
    offsets: Vec<u64>,
    metaoffs: Vec<u64>,
    first: u64,
}

impl DocumentLocations<'_> {
    /// Returns the next document; `None` after the last one. Offsets that are not ascending, or beyond the end of the files, are refused.
    pub fn next(&mut self, cancel: &Cancel) -> Outcome<Option<DocumentLocation>> {
        let number = self.next;
        if number >= self.shard.documents() {
            return Ok(None);
        }
        let (start, meta_start) = self.at(number, cancel)?;
        let is_last = number + 1 == self.shard.documents();
        let (end, meta_end) = match is_last {
            true => (self.shard.tokenized.len(), self.shard.metadata.len()),
            false => self.at(number + 1, cancel)?,
        };
        let refused = |file: &ReadFile| {
            let why = format!("the entry of document {number} is out of order or beyond the end");
            refusal(why).on(Subject::path(file.path()).at(number * 8))
        };
        if start >= end || end > self.shard.tokenized.len() || number == 0 && start > 0 {
            return Err(refused(&self.shard.offset));
        }
        if meta_start >= meta_end || meta_end > self.shard.metadata.len() || number == 0 && meta_start > 0 {
            return Err(refused(&self.shard.metaoff));
        }
        self.next += 1;
        Ok(Some(DocumentLocation { number, start, end, meta_start, meta_end }))
    }

    fn at(&mut self, number: u64, cancel: &Cancel) -> Outcome<(u64, u64)> {
        let place = |first: u64| usize::try_from(number.wrapping_sub(first)).unwrap_or(usize::MAX);
        if place(self.first) >= self.offsets.len() {
            cancel.check()?;
            self.shard.numbers(&self.shard.offset, number, &mut self.offsets)?;
            self.shard.numbers(&self.shard.metaoff, number, &mut self.metaoffs)?;
            self.first = number;
        }
        let at = |numbers: &[u64]| numbers.get(place(self.first)).copied().unwrap_or_default();
        Ok((at(&self.offsets), at(&self.metaoffs)))
    }
}
