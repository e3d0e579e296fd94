//! Reads Parquet files with positional reads: the text of one column in blocks, without copying it, regardless of the size of row groups.
//! Rewrites files with changed texts.
//!
//! The crate `parquet` parses footers, and decodes rows that are read as JSON. Pages of the text column are read, decompressed and decoded
//! here, so that any content leads to texts, or to a failure that states file, row group, column and page.

// Tests create and damage files directly.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

mod bits;
mod block;
mod blocks;
mod check;
mod chunk_reader;
mod codec;
mod columns;
mod decoder;
mod delta;
mod describe;
mod dictionary;
mod dictionary_file;
mod file;
mod footer;
mod headers;
mod json;
mod json_schema;
mod large_dictionary;
mod page_header;
mod page_stream;
mod place;
mod raw_struct;
mod rewrite;
mod runs;
mod snappy;
#[cfg(test)]
mod tests;
mod thrift;
mod values;
mod window;

pub use block::TextBlock;
pub use blocks::TextBlocks;
pub use check::PageCounts;
pub use columns::{ColumnProblem, TextColumn};
pub use decoder::{TextDecoder, TextRows, Value};
pub use describe::ColumnSummary;
pub use file::{ParquetFile, ENCRYPTED_HINT};
pub use gristmill_arrow::{BadText, MAX_TEXT_BYTES};
pub use json::{AppendedRows, BadRow};
pub use rewrite::{EditRow, Rewriter};
