//! Reading documents for dedup: files in the global order, lines of any length, the text of each (docs/formats/bsade.md §1).
//!
//! A line up to [`MAX_BUFFERED_LINE_BYTES`] bytes is held in memory. A longer one is read in pieces, and its location is recorded: in its own file if
//! that is plain, else in a [`Spool`]; its text is supplied in pieces of whole characters.

mod document_range;
mod documents;
mod line_documents;
mod lines;
mod list;
mod long;
mod memory;
mod record;
mod row_documents;

pub use crate::source::documents::{Damage, Listing, Position, TextFile};
pub use document_range::DocumentRange;
pub use documents::Documents;
pub use lines::{line_around, line_from, lines_before};
pub use list::{known_file, list, HUB_RULES};
pub use long::{LongLine, Spool};
pub use memory::reading_memory;
pub use record::{blank_note, Body, Kind, Record, SkippedLine};
pub use row_documents::{offset_after, row_kind, row_record, text_field};

/// The longest line that is held in memory, in bytes.
pub const MAX_BUFFERED_LINE_BYTES: usize = 8 << 20;
/// Maximum size of an object or array in a field of a longer line, in bytes: a line with a larger one is passed through unchanged.
pub const MAX_NESTED_BYTES: u64 = 64 << 20;

#[cfg(test)]
mod tests;
