//! The part of a file that is read.

use crate::source::documents::Position;

/// The lines of a file that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DocumentRange {
    /// Where the first one begins.
    pub from: Position,
    /// Offset in the unpacked file before which the last one begins. More is read if it is wanted.
    pub to: u64,
}

impl From<Position> for DocumentRange {
    fn from(from: Position) -> Self {
        Self { from, to: u64::MAX }
    }
}
