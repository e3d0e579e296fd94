//! Raw indexes: the offset and length of each line of a JSONL file (docs/formats/modalities.md §2).

use super::{with_suffix, INDEX_SUFFIX};
use gristmill_pycompat::pickle::{IndexReader, PROTO};
use gristmill_storage::read::{open_read, ReadFile};
use std::path::{Path, PathBuf};

/// Returns the default path of the index of a file: in the same folder, with its last suffix replaced.
pub fn default_path(source: &Path) -> PathBuf {
    with_suffix(source, INDEX_SUFFIX)
}

/// Returns the `(offset, length)` of each line, in bytes of the source, without the line's end.
/// [`write_index`](gristmill_pycompat::pickle::write_index) writes such an index.
pub fn lines(index: &ReadFile) -> IndexReader<'_> {
    IndexReader::new(index, 0..index.len())
}

/// Whether a file looks like a raw index: its name ends in `.idx` but not in `.tar.idx`, and its content begins like a pickle.
pub fn is_raw_index(path: &Path) -> bool {
    let name = path.as_os_str().as_encoded_bytes();
    let is_named = name.ends_with(b".idx") && !name.ends_with(b".tar.idx");
    let begins = || {
        let file = open_read(path).ok()?;
        let mut first = [0; 2];
        file.read_exact_at(&mut first, 0).ok()?;
        Some(first[0] == PROTO && (2..=5).contains(&first[1]))
    };
    is_named && begins().unwrap_or(false)
}
