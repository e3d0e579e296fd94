//! The only kind of pickle that the formats need: a list of pairs of non-negative numbers (docs/formats/modalities.md §1).
//!
//! [`IndexWriter`] writes it as CPython 3.8 to 3.13 does, byte for byte. [`IndexReader`] reads it in pieces and refuses everything else: a
//! pickle is a program, and no part of it is ever executed.

mod read;
#[cfg(test)]
mod tests;
mod write;

pub use read::IndexReader;
pub use write::{write_index, IndexWriter};

/// `PROTO`, the first byte of every accepted pickle; the protocol number follows.
pub const PROTO: u8 = 0x80;
/// `STOP`: the last byte of every pickle.
pub const STOP: u8 = b'.';
