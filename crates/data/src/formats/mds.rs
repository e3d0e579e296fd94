//! How sets of MDS shards are recognized (docs/formats/mds.md).

use super::{files_in, head_of};
use gristmill_core::TokenKind;
use std::path::{Path, PathBuf};

/// Name of the index of a set, which is written last.
pub const INDEX: &str = "index.json";
/// Number of bytes at the beginning of an index that are searched for its first key.
const HEAD_BYTES: usize = 64;

/// A folder with the `index.json` of MDS.
pub static SHARDS: TokenKind = TokenKind {
    id: "mds-shards",
    title: "MDS",
    format: "mds",
    item: "sample",
    is_file: false,
    is_mixable: false,
    window: |length| (length + 1, length + 1),
    detect: has_index,
    detect_damaged: |path| shards(path).next().is_some(),
    files: |path| shards(path).collect(),
    defect: |_| None,
};

fn has_index(path: &Path) -> bool {
    memchr::memmem::find(&head_of(&path.join(INDEX), HEAD_BYTES), b"\"shards\"").is_some()
}

fn shards(path: &Path) -> impl Iterator<Item = PathBuf> {
    files_in(path, |name| name.starts_with(b"shard.") && memchr::memmem::find(name, b".mds").is_some())
}
