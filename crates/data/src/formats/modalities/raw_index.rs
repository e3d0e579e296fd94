//! Raw indexes: the offset and length of each line of a JSONL file (docs/formats/modalities.md §2).

use super::{with_suffix, INDEX_SUFFIX};
use gristmill_pycompat::pickle::IndexReader;
use gristmill_storage::read::ReadFile;
use std::path::{Path, PathBuf};

/// Returns the default path of the index of a file: in the same folder, with its last suffix replaced.
pub fn default_path(source: &Path) -> PathBuf {
    with_suffix(source, INDEX_SUFFIX)
}

/// Returns the `(offset, length)` of each line, in bytes of the source, without the line's end. Written by
/// [`write_index`](gristmill_pycompat::pickle::write_index).
pub fn lines(index: &ReadFile) -> IndexReader<'_> {
    IndexReader::new(index, 0..index.len())
}
