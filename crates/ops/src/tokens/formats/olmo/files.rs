//! Names of the files of a set, and of their spools.

use super::target;
use gristmill_core::PackPlan;
use std::path::PathBuf;

/// Size of the end positions of a document of a shuffled set, in bytes.
pub(super) const ENDS_BYTES: u64 = 16;

/// The token files and tables of a run.
pub(super) struct PartFiles {
    pub(super) plan: PackPlan,
    pub(super) place: PathBuf,
    pub(super) token_bytes: usize,
    /// Exclusive limit of the number of tokens per file.
    pub(super) max_tokens: u64,
}

/// Returns the name of a token file. The 0 is the number of the writer; this program has only one.
pub(super) fn tokens_name(number: u64) -> String {
    format!("part-0-{number:05}.npy")
}

/// Returns the name of the table of a token file.
pub(super) fn table_name(number: u64) -> String {
    format!("part-0-{number:05}.csv.gz")
}

/// Returns the name of the spool of a file's tokens.
pub(super) fn tokens_spool(number: u64) -> String {
    format!("{number}.npy")
}

/// Returns the name of the spool of a file's uncompressed rows.
pub(super) fn rows_spool(number: u64) -> String {
    format!("{number}.csv")
}

/// Returns the name of the spool with the end positions of the documents of a shuffled set: an index of tokens and an offset in the rows in
/// bytes, each a `u64`.
pub(super) fn ends_spool() -> String {
    "documents.ends".to_owned()
}

impl PartFiles {
    /// Whether documents are permuted in the last stage. Until then, the spools of one file contain them all.
    pub(super) fn is_shuffled(&self) -> bool {
        !target(&self.plan).shuffle.is_none()
    }

    /// Whether a file must end before a document of this length (docs/formats/olmo.md §2).
    pub(super) fn is_full(&self, tokens: u64, length: u64) -> bool {
        tokens > 0 && tokens.saturating_add(length) >= self.max_tokens
    }

    /// Returns the names of the spools of a file.
    pub(super) fn spools(&self, number: u64) -> Vec<String> {
        let ends = self.is_shuffled().then(ends_spool);
        [tokens_spool(number), rows_spool(number)].into_iter().chain(ends).collect()
    }

    /// Returns the path of a token file.
    pub(super) fn tokens(&self, number: u64) -> PathBuf {
        self.place.join(tokens_name(number))
    }

    /// Returns the path of the table of a token file.
    pub(super) fn table(&self, number: u64) -> PathBuf {
        self.place.join(table_name(number))
    }
}

/// Whether a run could have written a file of this name.
pub(super) fn is_part_name(name: &str) -> bool {
    let stem = name.strip_suffix(".npy").or_else(|| name.strip_suffix(".csv.gz"));
    let number = stem.and_then(|stem| stem.strip_prefix("part-0-"));
    number.is_some_and(|number| number.len() >= 5 && number.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn olmo_part_names_have_at_least_five_digits() {
        for number in [0, 7, 99_999, 100_000, u64::MAX] {
            assert!(is_part_name(&tokens_name(number)) && is_part_name(&table_name(number)), "{number}");
        }
        assert_eq!((tokens_name(3).as_str(), table_name(3).as_str()), ("part-0-00003.npy", "part-0-00003.csv.gz"));
        for name in ["part-0-1.npy", "part-1-00000.npy", "part-0-00000.csv", "part-0-0000a.npy", "part-0-.npy"] {
            assert!(!is_part_name(name), "{name}");
        }
    }
}
