//! Writes rows of Arrow arrays as JSON.

mod cells;
mod format;

pub use cells::{dictionary_keys, ByteValues, Cell, LeafContent};
pub use format::{BadText, MAX_TEXT_BYTES};
