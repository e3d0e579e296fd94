//! The output of an input, as stored in the journal.

use super::spill_buffer::Mark;
use super::Figures;
use crate::engine::dedup::removed::SectionFacts;
use serde::{Deserialize, Serialize};

/// The line that contains a position in the text of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PlaceInLine {
    /// The position.
    pub(super) at: u64,
    /// The output file.
    pub(super) file: String,
    /// Line number, counted from 1.
    pub(super) line: u64,
    /// Offset of the line in the uncompressed file.
    pub(super) start: u64,
    /// Offset in the text of the document.
    pub(super) offset: u64,
}

/// An output file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct WrittenFile {
    pub(super) name: String,
    pub(super) input_bytes: u64,
    /// `None` for a file without documents.
    pub(super) mark: Option<Mark>,
    pub(super) figures: Figures,
}

/// The recorded ranges of a file, for viewing removed text.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct WrittenRanges {
    pub(super) section: SectionFacts,
    /// `None` if there are no ranges.
    pub(super) mark: Option<Mark>,
}

/// Output of one input: one file, or for a shard of an index, all original files in it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct WrittenParts {
    pub(super) files: Vec<WrittenFile>,
    pub(super) lines: Vec<PlaceInLine>,
    pub(super) ranges: WrittenRanges,
    #[serde(skip)]
    pub(super) is_resumed: bool,
}
