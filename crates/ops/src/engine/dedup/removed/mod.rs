//! The ranges that a run of dedup removed, or listed, stored next to its report: their positions in the original text, so that they can be
//! viewed without searching again, however large the text is.
//!
//! One file, little-endian, written from front to end:
//!
//! | part | what it holds |
//! | --- | --- |
//! | [`MAGIC`] | 8 bytes |
//! | sections | for each file of the set its blocks, then a table of them |
//! | directory | JSON: files, passages, options of the run ([`Directory`]) |
//! | end | offset and length of the directory (8 bytes each), [`MAGIC`] |
//!
//! A *block* holds consecutive documents with ranges: the offset of the line and the number of the line, each as the distance to the
//! previous document in the block; the number of ranges; for each range the distance to the end of the previous one, and its length. All of
//! these are numbers of 7 bits to a byte, the lowest first. A row of the table ([`ROW_BYTES`] bytes): the offset of the block in the section, the
//! number of documents of the file before it, the offset of the line of its first document (8 bytes each), its length and its number of
//! documents (4 bytes each). Ranges are those that were found, before they were cut to whole characters.

mod read;
#[cfg(test)]
mod tests;
mod text;
mod write;

pub use read::{Document, RemovedRanges};
pub use text::{read_text, FirstCopy, Page, Search};
pub use write::{end, RangeBlocks, Section, SectionFacts};

use gristmill_core::dedup::{Keep, Mode};
use gristmill_storage::files;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The bytes at the beginning and the end of the file.
pub const MAGIC: [u8; 8] = *b"gmranges";
/// Size of a row of the table in bytes.
pub const ROW_BYTES: usize = 32;
/// Version of the file format that is written, and the only one that is read.
const VERSION: u32 = 1;
/// Limit of ancestor folders of a file that are searched for the folder of a result.
const MAX_ANCESTORS: usize = 32;

/// The files of a set, its passages, and the options of the run whose ranges are stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Directory {
    version: u32,
    /// The field that contains the text.
    pub text_key: String,
    /// The minimum length of a repeat in bytes.
    pub min_length: u64,
    /// Which copy of a repeat is kept.
    pub keep: Keep,
    /// Whether the ranges were removed or listed.
    pub mode: Mode,
    /// Files of the earlier set, which come first and are not changed.
    pub earlier: Vec<Source>,
    /// The files of the set, in their order.
    pub files: Vec<RangesOfFile>,
    /// The most repeated passages, in descending order of their repeated bytes.
    pub passages: Vec<KnownPassage>,
}

impl Directory {
    /// Creates a directory without files.
    pub fn new(text_key: &str, min_length: u64, keep: Keep, mode: Mode) -> Self {
        let (earlier, files, passages) = (Vec::new(), Vec::new(), Vec::new());
        Self { version: VERSION, text_key: text_key.to_owned(), min_length, keep, mode, earlier, files, passages }
    }
}

/// A file in the state in which it was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The name relative to the folder; raw.
    pub name: String,
    /// The path of the file.
    pub path: PathBuf,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// Time of the last change in nanoseconds since 1970.
    pub modified_ns: i64,
}

/// A file of the set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RangesOfFile {
    /// The file and its state when it was read.
    pub source: Source,
    /// Bytes of text in the file.
    pub text_bytes: u64,
    /// Bytes of text in ranges, after they are shrunk to whole characters.
    pub removed_bytes: u64,
    /// Offset of the section of the file in bytes.
    pub at: u64,
    /// The size of the section of the file.
    pub section: SectionFacts,
}

/// A passage that repeats.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownPassage {
    /// The file of the set with a known occurrence; `None` if no occurrence is known, in which case the position is 0.
    pub file: Option<usize>,
    /// Offset of the line in that file in bytes.
    pub start: u64,
    /// Number of that line, counted from 0.
    pub line: u64,
    /// Offset in the text of the document in bytes.
    pub offset: u64,
    /// The minimum length of the passage in bytes.
    pub length: u64,
    /// Number of occurrences.
    pub count: u64,
    /// The beginning of the passage; raw.
    pub text: String,
}

/// Finds the ranges of the run that wrote `path`: those of `path` itself, or of its nearest ancestor folder that has any. Returns the file
/// of ranges, and `path` relative to that folder.
pub fn companion(path: &Path) -> Option<(PathBuf, String)> {
    let path = files::absolute(path).ok()?;
    path.ancestors().take(MAX_ANCESTORS).find_map(|folder| {
        let ranges = gristmill_storage::run_folder::RunFolder::for_output(folder).ranges();
        let name = path.strip_prefix(folder).ok()?.to_string_lossy().into_owned();
        (folder.file_name().is_some() && files::is_file(&ranges)).then_some((ranges, name))
    })
}
