//! Conditions of a filter on documents: their numbers, and their number of tokens.

use gristmill_core::problem::Subject;
use gristmill_core::{Failure, Outcome};

/// The conditions for keeping a document; all must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeepConditions {
    /// Numbers of documents, counted from 0, as inclusive ranges in ascending order that do not touch; `None` accepts all numbers.
    pub documents: Option<Vec<(u64, u64)>>,
    /// Minimum number of tokens, including the end token.
    pub least_tokens: Option<u64>,
    /// Maximum number of tokens, including the end token.
    pub most_tokens: Option<u64>,
}

impl KeepConditions {
    /// Whether a document meets the conditions.
    pub fn keeps(&self, document: u64, tokens: u64) -> bool {
        let is_listed = self.documents.as_ref().is_none_or(|ranges| {
            let at = ranges.partition_point(|(_, last)| *last < document);
            ranges.get(at).is_some_and(|(first, _)| *first <= document)
        });
        is_listed
            && self.least_tokens.is_none_or(|least| tokens >= least)
            && self.most_tokens.is_none_or(|most| tokens <= most)
    }

    /// Whether every document meets the conditions.
    pub fn is_everything(&self) -> bool {
        *self == Self::default()
    }
}

/// Parses numbers and ranges, separated by commas or white space: `0-99,200, 300-`. Ranges include their ends.
pub fn ranges(text: &str) -> Outcome<Vec<(u64, u64)>> {
    let wrong = |word: &str, why: &str| {
        Err(Failure::usage("reading the documents to keep", format!("'{word}': {why}"))
            .on(Subject::field("--documents"))
            .with_hint("numbers from 0 and ranges with both ends: 0-99,200,300-"))
    };
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for word in text.split(|c: char| c == ',' || c.is_whitespace()).filter(|word| !word.is_empty()) {
        let (first, last) = match word.split_once('-') {
            None => (word.parse(), word.parse()),
            Some((first, "")) => (first.parse(), Ok(u64::MAX)),
            Some((first, last)) => (first.parse(), last.parse()),
        };
        match (first, last) {
            (Ok(first), Ok(last)) if first <= last => ranges.push((first, last)),
            (Ok(_), Ok(_)) => return wrong(word, "the range ends before it begins"),
            _ => return wrong(word, "a number is needed"),
        }
    }
    ranges.sort_unstable();
    let mut joined: Vec<(u64, u64)> = Vec::with_capacity(ranges.len());
    for (first, last) in ranges {
        match joined.last_mut() {
            Some(before) if first <= before.1.saturating_add(1) => before.1 = before.1.max(last),
            _ => joined.push((first, last)),
        }
    }
    Ok(joined)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_sorted_and_joined() {
        assert_eq!(ranges("5-7, 0,1\n6-9 20-").unwrap(), [(0, 1), (5, 9), (20, u64::MAX)]);
        assert_eq!(ranges("").unwrap(), []);
        for wrong in ["a", "3-1", "-3", "1-2-3", "99999999999999999999"] {
            assert!(ranges(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn document_is_kept_if_it_meets_every_condition() {
        let keep =
            KeepConditions { documents: Some(ranges("1-3,7").unwrap()), least_tokens: Some(2), most_tokens: Some(5) };
        let kept: Vec<u64> = (0..9).filter(|document| keep.keeps(*document, 3)).collect();
        assert_eq!(kept, [1, 2, 3, 7]);
        assert!(!keep.keeps(1, 1) && keep.keeps(1, 2) && keep.keeps(1, 5) && !keep.keeps(1, 6));
        assert!(KeepConditions::default().keeps(8, 0) && KeepConditions::default().is_everything());
    }
}
