//! Reading documents for dedup: files in the global order, lines of any length, the text of each (docs/formats/bsade.md §1).
//!
//! A line up to [`HELD_LINE`] bytes is held in memory. A longer one is read piece by piece and noted where it lies, in its own file when
//! that is plain, else in a [`Spool`]; whoever wants its text gets it in pieces of whole characters.

mod documents;
mod lines;
mod list;
mod long;
mod memory;
mod record;
mod tracker;

pub use crate::source::text::{Damage, Listing, Position, TextFile};
pub use documents::Documents;
pub use lines::{line_around, line_from, lines_before};
pub use list::list;
pub use long::{LongLine, Spool};
pub use memory::reading_memory;
pub use record::{blank_note, Body, Kind, Record, SkippedLine};

/// The longest line that is held in memory, in bytes.
pub const HELD_LINE: usize = 8 << 20;
/// The largest object or array in a field of a longer line, in bytes: with a larger one the line is passed through.
pub const LARGEST_NESTED: u64 = 64 << 20;
/// Bytes of keys that a longer line may have in all.
pub const MAX_KEY_BYTES: usize = 4 << 20;

#[cfg(test)]
mod tests;
