//! The files of Modalities: packed tokens (`.pbin`) and raw indexes (`.idx`) (docs/formats/modalities.md).

pub mod kind;
pub mod packed;
pub mod raw_index;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Suffix of packed files.
pub const PACKED_SUFFIX: &str = ".pbin";
/// Suffix of raw indexes.
pub const INDEX_SUFFIX: &str = ".idx";

/// Returns the size of a token in bytes for a vocabulary of this size. A vocabulary with one entry has tokens of four bytes, as in
/// Modalities.
pub fn token_bytes(vocabulary: u64) -> u8 {
    match vocabulary {
        0 | 1 => 4,
        2..=256 => 1,
        257..=65_536 => 2,
        _ => 4,
    }
}

/// Replaces or adds the last suffix of the path's name, as Python's `Path.with_suffix` does: `a.b.jsonl` → `a.b.idx`.
pub fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
    let name = path.file_name().unwrap_or_default().as_bytes();
    // A dot at either end of the name does not begin a suffix.
    let stem = match name.iter().rposition(|byte| *byte == b'.') {
        Some(dot) if dot > 0 && dot + 1 < name.len() => name.get(..dot).unwrap_or(name),
        _ => name,
    };
    let mut name = OsString::from_vec(stem.to_vec());
    name.push(suffix);
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_are_replaced_as_python_does() {
        let changed = |name: &str| with_suffix(Path::new(name), ".idx").to_string_lossy().into_owned();
        let names = ["a.b.jsonl", "d.e/a", ".hidden", "a.", "d/.x.y"].map(changed);
        assert_eq!(names, ["a.b.idx", "d.e/a.idx", ".hidden.idx", "a..idx", "d/.x.idx"]);
    }

    #[test]
    fn token_bytes_follow_the_vocabulary_size() {
        let known = [(1, 4), (2, 1), (256, 1), (257, 2), (65_536, 2), (65_537, 4), (1 << 24, 4), (1 << 33, 4)];
        for (vocabulary, bytes) in known {
            assert_eq!(token_bytes(vocabulary), bytes, "{vocabulary}");
        }
    }
}
