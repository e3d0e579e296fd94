//! Writes rows of Arrow arrays as JSON.

mod cells;
mod format;

pub use cells::{dictionary_keys, ByteValues, Cell, LeafContent};
