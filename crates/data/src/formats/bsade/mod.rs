//! The index of exact substring dedup in the layout of the reference, and the ranges found in it (docs/formats/bsade.md §2 to §6).
//!
//! An index is a folder with one folder for each shard, `0`, `1` and so on. Shards hold whole files, in the global order of documents.

mod kept;
mod ranges;
mod shard_read;
mod shard_write;
mod table;

pub use kept::KeptLengths;
pub use ranges::{shorten, Range, RangesReader, RangesWriter, Shortener, RANGE_BYTES};
pub use shard_read::{DocumentLocation, DocumentLocations, Shard};
pub use shard_write::{ShardSize, ShardWriter};
pub use table::{build_table, table_entry, table_memory, table_width, TableCheck};

use gristmill_storage::files;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Byte before each document; it never occurs in UTF-8.
pub const SEPARATOR: u8 = 0xff;
/// File of the concatenated documents, each preceded by a [`SEPARATOR`].
pub const TOKENIZED: &str = "tokenized";
/// File of the offset of each document's separator.
pub const OFFSET: &str = "offset";
/// File with a line of JSON for each document, which has its source file, its line number in that file, and its other fields.
pub const METADATA: &str = "metadata";
/// File of the offset of each line of the metadata.
pub const METAOFF: &str = "metaoff";
/// File of the suffix array.
pub const TABLE: &str = "table";
/// File of the removable ranges.
pub const REMOVE_RANGES: &str = "remove_ranges";
/// File of the lengths of the text between two ranges of a document.
pub const KEPT_LENGTHS: &str = "kept_in_the_middle_lengths.txt";

/// Returns which of `files` files, by their position in the global order, belong to a shard. Each file belongs to one shard, the files of a
/// shard are adjacent, and shards are empty if there are more shards than files.
pub fn shard_files(files: usize, shards: u32, shard: u32) -> std::ops::Range<usize> {
    let place = |shard: u32| (files as u128 * u128::from(shard) / u128::from(shards.max(1))) as usize;
    place(shard)..place(shard + 1)
}

/// Returns the folder of a shard in an index.
pub fn shard_folder(index: &Path, shard: u32) -> PathBuf {
    index.join(shard.to_string())
}

/// Whether a folder looks like an index (docs/formats/bsade.md §3): at least one of its first `limit` entries is a shard folder, of any
/// number.
pub fn is_index(folder: &Path, limit: usize) -> bool {
    let Ok(entries) = files::read_dir(folder) else { return false };
    let is_number = |name: &OsStr| !name.is_empty() && name.as_encoded_bytes().iter().all(u8::is_ascii_digit);
    let is_shard = |shard: &Path| {
        files::is_file(shard.join(TOKENIZED))
            && [OFFSET, METADATA, METAOFF].iter().any(|name| files::is_file(shard.join(name)))
    };
    let mut numbers = entries.take(limit).flatten().filter(|entry| is_number(entry.file_name()));
    numbers.any(|entry| !entry.kind().is_file() && is_shard(entry.path()))
}

/// Returns the folder of the ranges of a shard for a minimum length.
pub fn ranges_folder(index: &Path, shard: u32, min_length: u64) -> PathBuf {
    shard_folder(index, shard).join(format!("dedup_minlen{min_length}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_divide_all_files_into_consecutive_whole_files() {
        let all = |files, shards| (0..shards).map(|shard| shard_files(files, shards, shard)).collect::<Vec<_>>();
        assert_eq!(all(5, 2), [0..2, 2..5]);
        assert_eq!(all(2, 4), [0..0, 0..1, 1..1, 1..2]);
        assert_eq!(all(0, 2), [0..0, 0..0]);
    }
}
