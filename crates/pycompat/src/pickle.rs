//! The only kind of pickle that the formats need: a list of pairs of non-negative numbers (docs/formats/modalities.md §1).
//!
//! [`IndexWriter`] writes it as CPython 3.8 to 3.13 does, to the byte. [`IndexReader`] walks through one piece by piece and refuses
//! everything that is not a list of such pairs: a pickle is a program, and no part of it is ever run here.

mod read;
#[cfg(test)]
mod tests;
mod write;

pub use read::IndexReader;
pub use write::{write_index, IndexWriter};

/// `PROTO`, followed by the protocol: the first byte of every pickle that is accepted.
pub const PROTO: u8 = 0x80;
/// `STOP`: the last byte of every pickle.
pub const STOP: u8 = b'.';
