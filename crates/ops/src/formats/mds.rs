//! How sets of MDS shards are recognized (docs/formats/mds.md).

use super::files_in;
use gristmill_core::TokenKind;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Bytes at the beginning of an index that name its first key.
const HEAD_BYTES: u64 = 64;

/// A folder with the `index.json` of MDS.
pub static SHARDS: TokenKind = TokenKind {
    id: "mds-shards",
    title: "MDS",
    format: "mds",
    item: "sample",
    is_file: false,
    is_mixable: false,
    window: |length| (length + 1, length + 1),
    detect: |path| has_index(path).unwrap_or(false),
    files,
    defect: |_| None,
};

fn has_index(path: &Path) -> Option<bool> {
    let path = path.join("index.json");
    let mut head = Vec::new();
    // A named pipe must not be opened.
    let file = path.is_file().then(|| std::fs::File::open(path).ok()).flatten()?;
    file.take(HEAD_BYTES).read_to_end(&mut head).ok()?;
    Some(memchr::memmem::find(&head, b"\"shards\"").is_some())
}

fn files(path: &Path) -> Vec<PathBuf> {
    files_in(path, |name| name.starts_with(b"shard.") && memchr::memmem::find(name, b".mds").is_some()).collect()
}
