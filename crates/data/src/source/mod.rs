//! Reading of input data: kinds of data sets, shards, tar entries as samples, contents of parts.
//!
//! Everything here treats the data as hostile: names, sizes and headers may have any value. Nothing here writes, except `tgz::rewrite`,
//! which uses `storage`.

mod compressed;
pub mod contents;
pub mod decode;
pub mod dedup;
pub mod discover;
pub mod documents;
pub mod jsonl;
pub mod kind;
pub mod media_folder;
mod peek;
pub mod tar;
pub mod tgz;

pub use peek::peek_samples;

use gristmill_storage::read::ReadFile;

/// Whether a file begins like a compressed archive, so that offsets in it are meaningless. `false` for one that cannot be read.
pub fn compressed_start(file: &ReadFile) -> bool {
    matches!(compressed::Compression::of(file), Ok(Some(_)))
}
