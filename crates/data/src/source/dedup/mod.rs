//! Reading documents for dedup: files in the global order, lines of any length, and the text of each line (docs/formats/bsade.md §1).
//!
//! Lines up to [`MAX_BUFFERED_LINE_BYTES`] are read into memory. Of a longer line only the location is recorded: in its own file if that is
//! not compressed, otherwise in a [`Spool`]; its text is read in pieces of whole characters.

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

/// Maximum size in bytes of a line in memory.
pub const MAX_BUFFERED_LINE_BYTES: usize = 8 << 20;
/// Maximum size in bytes of an object or array in a field of a line that is not in memory; a line with a larger value is copied unchanged.
pub const MAX_NESTED_BYTES: u64 = 64 << 20;

#[cfg(test)]
mod tests;
