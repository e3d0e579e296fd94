//! The range of a file that is read.

use crate::source::documents::Position;

/// A range of lines in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DocumentRange {
    /// Position of the first line.
    pub from: Position,
    /// Offset in the decompressed file before which the last line begins. Reading may continue beyond it.
    pub to: u64,
}

impl From<Position> for DocumentRange {
    fn from(from: Position) -> Self {
        Self { from, to: u64::MAX }
    }
}
