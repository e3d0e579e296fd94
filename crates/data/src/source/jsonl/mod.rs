//! The lines of a JSONL file as the Energon loader reads them (docs/formats/energon.md §11), in ranges that several threads share. Lines of
//! any length are streamed, because only the first and the last non-white-space byte of each are needed.

mod each;
mod json;
mod scan;
mod utf8;

pub use each::{each_line, Line, MAX_LINE_BYTES};
pub use json::{Checker, Issue};
pub use scan::{scan_unit, BadLine, LineEnds, UnitLines, MAX_UNIT_BYTES};
pub use utf8::Utf8Checker;

/// A range of bytes of a file, with arbitrary bounds. A line belongs to the range in which it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// First byte.
    pub start: u64,
    /// End, exclusive.
    pub end: u64,
}

/// Divides `len` bytes into ranges of `size` bytes; the last one is shorter.
pub fn units(len: u64, size: u64) -> Vec<Unit> {
    let size = size.clamp(1, MAX_UNIT_BYTES);
    (0..len.div_ceil(size)).map(|number| Unit { start: number * size, end: len.min((number + 1) * size) }).collect()
}

/// Whether a byte is stripped from both ends of a line: ASCII white space.
pub fn is_white(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | 0x0b | 0x0c)
}
