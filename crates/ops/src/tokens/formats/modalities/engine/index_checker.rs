//! Checks whether an index is correct: documents must be consecutive and fill the tokens. The merge of the reference program places
//! documents of the second and later files a multiple of twelve bytes too early (docs/formats/modalities.md §5.1).

use gristmill_core::text::{agree, count};
use gristmill_core::{Cancel, Outcome};
use gristmill_data::formats::modalities::packed::{PackedReader, HEADER_BYTES};

/// Items between two checks of the cancel flag.
const CANCEL_CHECK_EVERY: u64 = 1 << 16;

/// The result of checking an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexVerdict {
    /// Documents are consecutive and fill the tokens.
    Right,
    /// Written by the merge of the reference program. The index is correct if each offset is replaced by the sum of the previous lengths.
    WronglyMerged {
        /// Number of documents placed too early.
        documents: u64,
        /// The first such document, counted from 0.
        first: u64,
    },
    /// The index has any other error.
    Wrong {
        /// The first wrong document, counted from 0.
        document: u64,
        /// Description of the error.
        why: String,
    },
}

/// Checks the items of an index in order.
#[derive(Debug)]
pub struct IndexChecker {
    data_bytes: u64,
    token_bytes: u64,
    /// Expected offset of the next document, in bytes.
    expected: u64,
    documents: u64,
    /// Number of documents placed a multiple of twelve bytes too early, and the first such document.
    shifted: u64,
    first_early: Option<u64>,
    /// The first error that the merge of the reference program does not explain.
    wrong: Option<(u64, String)>,
}

impl IndexChecker {
    /// Returns a checker for a file with `data_bytes` bytes of tokens.
    pub fn new(data_bytes: u64, token_bytes: u8) -> Self {
        let token_bytes = u64::from(token_bytes.max(1));
        Self { data_bytes, token_bytes, expected: 0, documents: 0, shifted: 0, first_early: None, wrong: None }
    }

    /// Checks the next item. Returns the correct offset of the document if it is within the tokens.
    pub fn check_item(&mut self, offset: u64, length: u64) -> Option<u64> {
        let (document, expected) = (self.documents, self.expected);
        self.documents += 1;
        // The reference program writes negative offsets when it merges files smaller than a header.
        let offset = i128::from(offset.cast_signed());
        let early = i128::from(expected) - offset;
        let end = expected.checked_add(length);
        let fits = end.is_some_and(|end| end <= self.data_bytes);
        if length == 0 {
            self.set_reason(document, "it has no token, not even an end token");
        } else if !length.is_multiple_of(self.token_bytes) {
            self.set_reason(document, "its length is no multiple of the size of a token");
        } else if !fits {
            self.set_reason(document, "it ends after the last token");
        } else if early < 0 {
            self.set_reason(
                document,
                &format!("it begins at byte {offset}, but the one before it ends at byte {expected}"),
            );
        } else if early % i128::from(HEADER_BYTES) != 0 {
            self.set_reason(
                document,
                &format!("it begins at byte {offset}, inside of one that ends at byte {expected}"),
            );
        } else if early > 0 {
            self.shifted += 1;
            self.first_early = self.first_early.or(Some(document));
        }
        self.expected = end.unwrap_or(u64::MAX);
        fits.then_some(expected)
    }

    fn set_reason(&mut self, document: u64, why: &str) {
        if self.wrong.is_none() {
            self.wrong = Some((document, why.to_owned()));
        }
    }

    /// Returns the result for all items.
    pub fn verdict(self) -> IndexVerdict {
        if let Some((document, why)) = self.wrong {
            return IndexVerdict::Wrong { document, why };
        }
        if self.expected != self.data_bytes {
            let left = self.data_bytes.saturating_sub(self.expected);
            let why =
                format!("{} of tokens {} the last document", count(left, "byte"), agree(left, "follows", "follow"));
            return IndexVerdict::Wrong { document: self.documents.saturating_sub(1), why };
        }
        match self.first_early {
            Some(first) => IndexVerdict::WronglyMerged { documents: self.shifted, first },
            None => IndexVerdict::Right,
        }
    }
}

/// Checks the index of a file with a fixed amount of memory.
pub fn check_index(packed: &PackedReader, cancel: &Cancel) -> Outcome<IndexVerdict> {
    let mut checker = IndexChecker::new(packed.data_bytes(), packed.layout().token_bytes);
    let mut items = packed.items();
    while let Some((offset, length)) = items.next_item()? {
        checker.check_item(offset, length);
        if checker.documents.is_multiple_of(CANCEL_CHECK_EVERY) {
            cancel.check()?;
        }
    }
    Ok(checker.verdict())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(data_bytes: u64, items: &[(u64, u64)]) -> IndexVerdict {
        let mut checker = IndexChecker::new(data_bytes, 2);
        for (offset, length) in items {
            checker.check_item(*offset, *length);
        }
        checker.verdict()
    }

    #[test]
    fn packed_index_whose_documents_fill_the_data_is_right() {
        assert_eq!(verdict(0, &[]), IndexVerdict::Right);
        assert_eq!(verdict(36, &[(0, 20), (20, 16)]), IndexVerdict::Right);
    }

    #[test]
    fn wrongly_merged_index_is_recognized_after_any_number_of_merges() {
        let early = |documents, first| IndexVerdict::WronglyMerged { documents, first };
        assert_eq!(verdict(60, &[(0, 20), (20, 10), (18, 30)]), early(1, 2));
        assert_eq!(verdict(80, &[(0, 20), (8, 20), (16, 20), (36, 20)]), early(3, 1));
        let before = |bytes: i64| bytes.cast_unsigned();
        assert_eq!(verdict(30, &[(0, 6), (before(-6), 4), (before(-14), 20)]), early(2, 1));
    }

    #[test]
    fn invalid_packed_index_is_reported_with_the_document() {
        for (data_bytes, items, document, part) in [
            (60, vec![(0, 20), (22, 38)], 1, "begins at byte 22"),
            (60, vec![(0, 20), (10, 40)], 1, "inside of one"),
            (60, vec![(0, 20), (20, 42)], 1, "after the last token"),
            (60, vec![(0, 20), (20, 7)], 1, "multiple"),
            (60, vec![(0, 20), (20, 0)], 1, "no token"),
            (60, vec![(0, 20), (20, 20)], 1, "follow the last"),
            (60, vec![(0, u64::MAX - 1), (4, 10)], 0, "after the last token"),
            (60, vec![(0, 20), (u64::MAX, 40)], 1, "begins at byte -1"),
            (2, vec![], 0, "follow the last"),
        ] {
            match verdict(data_bytes, &items) {
                IndexVerdict::Wrong { document: at, why } => {
                    assert!(at == document && why.contains(part), "{items:?}: {at} {why}");
                }
                other => panic!("{items:?}: {other:?}"),
            }
        }
    }
}
