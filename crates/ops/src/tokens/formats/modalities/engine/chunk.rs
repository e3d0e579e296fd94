//! Selecting chunks of files, which are shuffled individually (docs/formats/modalities.md §5.4).

use gristmill_core::problem::Subject;
use gristmill_core::{Failure, Outcome};
use gristmill_data::formats::modalities::with_suffix;
use gristmill_storage::read::read_whole;
use sha2::{Digest as _, Sha256};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Maximum size of a list of files, in bytes.
const MAX_LIST_BYTES: u64 = 256 << 20;

/// The part of each file that is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Number of the chunk, from 0.
    pub id: u64,
    /// Total number of chunks.
    pub of: u64,
}

impl Chunk {
    /// Returns a chunk. Fails if its number is not less than the total.
    pub fn new(id: u64, of: u64) -> Outcome<Self> {
        if id < of {
            return Ok(Self { id, of });
        }
        let why = match of {
            0 => "at least one chunk is needed".to_owned(),
            _ => format!("there is no chunk {id} of {of}: they are counted from 0"),
        };
        Err(Failure::usage("choosing the chunk", why).on(Subject::field("--chunk_id")))
    }

    /// Returns the range of this chunk out of `items` items. If they cannot be divided evenly, each of the first chunks has one more.
    pub fn range(self, items: usize) -> Range<usize> {
        let (items, id, of) = (items as u64, self.id, self.of.max(1));
        let longer = items.div_ceil(of);
        let full = match items % of {
            0 => of,
            rest => rest,
        };
        let start = |id: u64| longer * id.min(full) + longer.saturating_sub(1) * id.saturating_sub(full);
        start(id) as usize..start(id + 1).min(items) as usize
    }

    /// Returns the seed of this chunk's shuffle, computed from the global seed: the hashes of the decimal digits of both numbers, added,
    /// modulo 2³²−1.
    /// `global` is in Python's decimal notation, with a sign only if it is negative.
    pub fn seed(self, global: &str) -> u64 {
        const MODULUS: u64 = u32::MAX as u64;
        let remainder = |text: &str| {
            Sha256::digest(text.as_bytes()).iter().fold(0, |sum, byte| (sum * 256 + u64::from(*byte)) % MODULUS)
        };
        (remainder(global) + remainder(&self.id.to_string())) % MODULUS
    }
}

/// Returns the files of a list, one relative path per line, each with its last suffix replaced.
pub fn files_of_list(list: &Path, root: &Path, suffix: &str) -> Outcome<Vec<PathBuf>> {
    let what = "reading the list of files";
    let Some(bytes) = read_whole(list, MAX_LIST_BYTES)? else {
        return Err(Failure::io(what, list, &std::io::ErrorKind::NotFound.into()));
    };
    let wrong = |why: String| Failure::data(what, why).on(Subject::path(list));
    let text = std::str::from_utf8(&bytes).map_err(|_| wrong("it is not text in UTF-8".into()))?;
    let mut files = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let name = Path::new(line.trim());
        if name.file_name().is_none() {
            let why = "the line names no file".to_owned();
            return Err(Failure::data(what, why).on(Subject::path(list).line(number as u64 + 1)));
        }
        files.push(with_suffix(&root.join(name), suffix));
    }
    match files.is_empty() {
        true => Err(wrong("it names no file".into())),
        false => Ok(files),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn chunk_seed_matches_the_reference() {
        assert_eq!(Chunk { id: 0, of: 4 }.seed("42"), 769_357_083);
    }

    #[test]
    fn chunk_number_beyond_the_count_is_refused() {
        assert!(Chunk::new(3, 4).is_ok());
        assert!(Chunk::new(4, 4).is_err());
        assert!(Chunk::new(0, 0).is_err());
    }

    proptest! {
        #[test]
        fn chunks_are_consecutive_and_differ_by_at_most_one_item(items in 0usize..5_000, of in 1u64..70) {
            let ranges: Vec<_> = (0..of).map(|id| Chunk { id, of }.range(items)).collect();
            prop_assert_eq!(ranges[0].start, 0);
            prop_assert_eq!(ranges[ranges.len() - 1].end, items);
            for pair in ranges.windows(2) {
                prop_assert_eq!(pair[0].end, pair[1].start);
                let (first, second) = (pair[0].len(), pair[1].len());
                prop_assert!(first == second || first == second + 1, "{} {}", first, second);
            }
        }
    }
}
