//! Reading of input data: kinds of data sets, shards, tar entries as samples, contents of parts.
//!
//! All data is treated as hostile: names, sizes and headers may have any value. Nothing is written, except by [`tgz::rewrite`] and
//! [`tar::write_prefixed`], which use `storage`.

mod compressed;
pub mod contents;
pub mod decode;
pub mod dedup;
pub mod discover;
pub mod documents;
pub mod file_start;
pub mod jsonl;
pub mod kind;
pub mod media_folder;
mod peek;
pub mod tar;
pub mod tgz;

pub use peek::peek_samples;

use gristmill_storage::read::ReadFile;

/// Whether a file begins like a compressed archive, so that offsets in it are meaningless. Returns `false` for a file that cannot be read.
pub fn compressed_start(file: &ReadFile) -> bool {
    matches!(compressed::shard_packing(file), Ok(Some(_)))
}
