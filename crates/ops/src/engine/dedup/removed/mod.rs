//! The ranges that a run of dedup removed, or listed, as it leaves them beside its report: what was where in the text as it was, so that it
//! can be looked at without searching again, however large the text is.
//!
//! One file, little-endian, written from the front to the end:
//!
//! | part | what it holds |
//! | --- | --- |
//! | [`MAGIC`] | 8 bytes |
//! | sections | for each file of the set its blocks, then a table of them |
//! | directory | JSON: files, passages, how the run looked ([`Directory`]) |
//! | end | where the directory begins and how long it is (8 bytes each), [`MAGIC`] |
//!
//! A *block* holds documents with ranges, one behind the other: where its line begins and the number of the line, each as the distance to the
//! document before it in the block; how many ranges; of each the distance to the end of the one before, and its length. All
//! of these are numbers of 7 bits to a byte, the lowest first. A row of the table ([`ROW`] bytes): where the block begins in the
//! section, how many documents of the file come before it, where the line of its first document begins (8 bytes each), its length and its documents (4
//! bytes each). Ranges are those that were found, before they were cut to whole characters.

mod read;
#[cfg(test)]
mod tests;
mod text;
mod write;

pub use read::{Document, Removed};
pub use text::{read_text, FirstCopy, Page, Search};
pub use write::{end, Gathered, Section, SectionFacts};

use gristmill_core::dedup::{Keep, Mode};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// What such a file begins and ends with.
pub const MAGIC: [u8; 8] = *b"gmranges";
/// Bytes of a row of the table.
pub const ROW: usize = 32;
/// The layout that is written, and the only one that is read.
const VERSION: u32 = 1;
/// Folders above a file in which the folder of a result is looked for.
const ABOVE: usize = 32;

/// What the ranges are of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Directory {
    version: u32,
    /// The field that holds the text.
    pub text_key: String,
    /// Length of a repeat, at least, in bytes.
    pub min_length: u64,
    /// Whether the first copy stays.
    pub keep: Keep,
    /// Whether the ranges were removed or listed.
    pub mode: Mode,
    /// Files of the earlier set, which come first and stay as they are.
    pub earlier: Vec<Source>,
    /// The files of the set, in their order.
    pub files: Vec<RangesOfFile>,
    /// The passages that repeat most, those that cost most bytes first.
    pub passages: Vec<KnownPassage>,
}

impl Directory {
    /// One without files.
    pub fn new(text_key: &str, min_length: u64, keep: Keep, mode: Mode) -> Self {
        let (earlier, files, passages) = (Vec::new(), Vec::new(), Vec::new());
        Self { version: VERSION, text_key: text_key.to_owned(), min_length, keep, mode, earlier, files, passages }
    }
}

/// A file as it was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Its name relative to the folder; raw.
    pub name: String,
    /// Where it was.
    pub path: PathBuf,
    /// Its size, in bytes, and when it was changed last.
    pub bytes: u64,
    /// See `bytes`; nanoseconds since 1970.
    pub modified_ns: i64,
}

/// A file of the set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RangesOfFile {
    /// The file.
    pub source: Source,
    /// Bytes of text in it, and of those in ranges, cut to whole characters.
    pub text_bytes: u64,
    /// See `text_bytes`.
    pub removed_bytes: u64,
    /// Where its section begins.
    pub at: u64,
    /// Its section.
    pub section: SectionFacts,
}

/// A passage that repeats.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownPassage {
    /// The file of the set in which one of its places is known.
    pub file: Option<usize>,
    /// Where the line begins in that file, and its number, counted from 0.
    pub start: u64,
    /// See `start`.
    pub line: u64,
    /// Where it begins in the text of the document, in bytes.
    pub offset: u64,
    /// Its length in bytes, at least.
    pub length: u64,
    /// How often it was seen.
    pub count: u64,
    /// How it begins; raw.
    pub text: String,
}

/// The ranges of the run that made a folder, or the folder in which a file or folder lies, if they are there; with the name of what was
/// asked for in that folder.
pub fn beside(path: &Path) -> Option<(PathBuf, String)> {
    let path = std::path::absolute(path).ok()?;
    path.ancestors().take(ABOVE).find_map(|folder| {
        let ranges = gristmill_storage::run_folder::RunFolder::for_output(folder).ranges();
        let name = path.strip_prefix(folder).ok()?.to_string_lossy().into_owned();
        (folder.file_name().is_some() && ranges.is_file()).then_some((ranges, name))
    })
}
