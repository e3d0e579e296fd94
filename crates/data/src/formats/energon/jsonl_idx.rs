//! `<file>.jsonl.idx`: the offset of each sample of a JSONL file, then the file's size (docs/formats/energon.md §11).
//!
//! The layout is that of `.tar.idx`: u64 values, little-endian. Value 0 is always 0, so blank lines at the beginning belong to the first
//! sample; blank lines anywhere else belong to the sample before them.

pub use super::tar_idx::{TarIdx as JsonlIdx, TarIdxWriter as JsonlIdxWriter, WORD_BYTES};

use gristmill_core::{ExitClass, Outcome};
use gristmill_storage::files;
use gristmill_storage::location::is_remote;
use gristmill_storage::read::{open_read, stamp_at, ReadFile};
use std::path::{Path, PathBuf};

/// Suffix of a data file's name.
pub const JSONL: &str = ".jsonl";

/// Returns the path of the index of a JSONL file: the last suffix is replaced. `one.v2.jsonl` → `one.v2.jsonl.idx`.
pub fn index_path(path: &Path) -> PathBuf {
    path.with_extension("jsonl.idx")
}

/// State of the index of a JSONL file.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum IndexState {
    /// The index is missing.
    Missing,
    /// The index matches the size of the file, which is all that the loader checks.
    Fits {
        /// Number of samples in the index.
        samples: u64,
    },
    /// The index cannot belong to the current file.
    OutOfDate {
        /// Reason, for the user.
        why: String,
    },
}

impl IndexState {
    /// Returns a short label for lists, such as `indexed`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Missing => "not indexed",
            Self::Fits { .. } => "indexed",
            Self::OutOfDate { .. } => "index out of date",
        }
    }
}

/// Opens the index of a JSONL file; `None` if there is none.
pub fn open_file(path: &Path) -> Outcome<Option<ReadFile>> {
    let index = index_path(path);
    let looked_up = files::try_is_taken(&index);
    if let Ok(false) = looked_up {
        return Ok(None);
    }
    match open_read(&index) {
        // Data in a store may be readable, but not permitted to be listed. A missing object is then refused like one that may not be read.
        Err(failure) if looked_up.is_err() && (failure.is_missing() || failure.kind.is_some()) => Ok(None),
        opened => opened.map(Some),
    }
}

/// Checks the index of a JSONL file: its length, its first and its last value, and the times of both files. Two small reads, regardless of
/// the file size.
pub fn state_of(path: &Path) -> Outcome<IndexState> {
    let data = stamp_at(path)?;
    let idx_path = index_path(path);
    let opened = match open_file(path) {
        Ok(None) => return Ok(IndexState::Missing),
        Ok(Some(file)) => JsonlIdx::of(file).and_then(|idx| Ok((idx.samples(), idx.end()?))),
        Err(failure) if is_remote(path) && failure.kind.is_none() && failure.class == ExitClass::Environment => {
            return Err(failure);
        }
        Err(failure) => Err(failure),
    };
    let (samples, end) = match opened {
        Ok(found) => found,
        Err(failure) => return Ok(IndexState::OutOfDate { why: failure.why }),
    };
    if end != data.bytes {
        let why = format!(
            "it was made for a file of {}, and the file has {}",
            gristmill_core::text::count(end, "byte"),
            data.bytes
        );
        return Ok(IndexState::OutOfDate { why });
    }
    if stamp_at(&idx_path).is_ok_and(|idx| idx.modified_ns < data.modified_ns) {
        return Ok(IndexState::OutOfDate { why: "the file was changed after it was indexed".to_owned() });
    }
    Ok(IndexState::Fits { samples })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::energon::tar_idx::encode;
    use gristmill_storage::fs::RealFs;
    use gristmill_storage::publish::write_file;

    fn put(path: &Path, bytes: &[u8]) {
        write_file(&RealFs, path, bytes, 0o644).unwrap();
    }

    #[test]
    fn index_path_appends_idx_to_the_jsonl_file_name() {
        for (name, index) in [
            ("a.jsonl", "a.jsonl.idx"),
            ("one.v2.jsonl", "one.v2.jsonl.idx"),
            ("/d.x/a.b.jsonl", "/d.x/a.b.jsonl.idx"),
            (".hidden.jsonl", ".hidden.jsonl.idx"),
        ] {
            assert_eq!(index_path(Path::new(name)), Path::new(index));
        }
    }

    #[test]
    fn jsonl_index_is_out_of_date_unless_its_last_value_is_the_file_size() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.jsonl");
        let idx = dir.path().join("a.jsonl.idx");
        put(&path, b"{}\n{}\n");
        assert_eq!(state_of(&path).unwrap(), IndexState::Missing);
        put(&idx, &encode(&[0, 3], 6));
        assert_eq!(state_of(&path).unwrap(), IndexState::Fits { samples: 2 });
        for broken in [encode(&[0, 3], 7), encode(&[0], 3), b"1234567".to_vec(), Vec::new()] {
            put(&idx, &broken);
            let state = state_of(&path).unwrap();
            assert!(matches!(state, IndexState::OutOfDate { .. }), "{state:?}");
            assert_eq!(state.word(), "index out of date");
        }
        assert!(state_of(&dir.path().join("none.jsonl")).is_err());
    }

    #[test]
    fn index_is_missing_if_its_store_does_not_permit_listing() {
        let path = Path::new("mem://hides-all/a.jsonl");
        gristmill_storage::memory_store::put(path, b"{}\n");
        assert!(open_file(path).unwrap().is_none());
    }

    #[test]
    fn jsonl_file_modified_after_indexing_makes_its_index_out_of_date() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.jsonl");
        put(&path, b"{}\n");
        put(&dir.path().join("a.jsonl.idx"), &encode(&[0], 3));
        let later = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
        std::fs::File::options().append(true).open(&path).unwrap().set_modified(later).unwrap();
        let IndexState::OutOfDate { why } = state_of(&path).unwrap() else { panic!("it fits") };
        assert!(why.contains("changed after"), "{why}");
    }
}
