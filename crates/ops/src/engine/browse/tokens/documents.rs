//! Locations of the documents of a `.pbin`, in a few bytes per document.

use super::super::packed::PackedOffsets;

/// Limit of documents that do not begin at the end of the previous one; a file that was merged wrongly contains a few.
const MAX_BREAKS: usize = 1 << 20;

/// Offsets and lengths in the order of the index.
pub(crate) struct DocumentList {
    /// Begin and end of each document, computed as if there were no gaps between documents.
    sums: PackedOffsets,
    sum: u64,
    /// Pairs (document, shift): from this document on, offsets are the sums plus the shift. The addition wraps, so offsets may also be less
    /// than the sums.
    breaks: Vec<(u64, u64)>,
}

impl DocumentList {
    pub(super) fn new() -> Self {
        Self { sums: PackedOffsets::new(1), sum: 0, breaks: Vec::new() }
    }

    pub(super) fn len(&self) -> u64 {
        self.sums.len()
    }

    /// Adds the next document. Returns `false` if the offsets are too irregular to be stored.
    pub(super) fn push(&mut self, offset: u64, length: u64) -> bool {
        let shift = offset.wrapping_sub(self.sum);
        if self.breaks.last().map_or(0, |last| last.1) != shift {
            if self.breaks.len() >= MAX_BREAKS {
                return false;
            }
            self.breaks.push((self.sums.len(), shift));
        }
        let Some(end) = self.sum.checked_add(length) else { return false };
        self.sums.push(self.sum, end);
        self.sum = end;
        true
    }

    pub(super) fn shrink(&mut self) {
        self.sums.shrink();
    }

    /// Whether every document begins where the previous one ended.
    pub(super) fn is_regular(&self) -> bool {
        self.breaks.is_empty()
    }

    fn shift(&self, index: u64) -> u64 {
        let at = self.breaks.partition_point(|(from, _)| *from <= index);
        at.checked_sub(1).and_then(|at| self.breaks.get(at)).map_or(0, |(_, shift)| *shift)
    }

    /// Returns begin and end of documents, in bytes of the data.
    pub(super) fn spans(&self, first: u64, count: usize) -> Vec<(u64, u64)> {
        let moved = |((from, to), index): ((u64, u64), u64)| {
            let begin = from.wrapping_add(self.shift(index));
            (begin, begin.saturating_add(to - from))
        };
        self.sums.spans(first, count).into_iter().zip(first..).map(moved).collect()
    }

    /// Returns the document that contains a byte; `None` if there are gaps or overlaps between documents.
    pub(super) fn holding(&self, offset: u64) -> Option<u64> {
        self.sums.holding(offset).filter(|_| self.is_regular())
    }

    /// Returns the ends of documents from `first` on that are before `to`, at most `most`; none if there are gaps or overlaps between
    /// documents.
    pub(super) fn ends(&self, first: u64, to: u64, most: usize) -> Vec<u64> {
        let mut ends = Vec::new();
        if self.is_regular() {
            self.sums.for_each(first, |_, end| {
                let is_within = end < to && ends.len() < most;
                if is_within {
                    ends.push(end);
                }
                is_within
            });
        }
        ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn document_list_follows_the_index_even_if_it_was_merged_wrongly() {
        let mut list = DocumentList::new();
        // The offsets of a second file that was merged are 12 bytes too small.
        for (offset, length) in [(0, 10), (10, 20), (18, 6), (24, 2)] {
            assert!(list.push(offset, length));
        }
        assert_eq!(list.spans(1, 9), [(10, 30), (18, 24), (24, 26)]);
        assert!(!list.is_regular() && list.holding(11).is_none());
        let mut list = DocumentList::new();
        (0..200).for_each(|at| assert!(list.push(at * 4, 4)));
        assert_eq!((list.len(), list.holding(401), list.ends(2, 21, 9)), (200, Some(100), vec![12, 16, 20]));
    }

    #[test]
    fn huge_document_offsets_are_kept_and_overflow_is_refused() {
        let mut list = DocumentList::new();
        assert!(list.push(u64::MAX, 3));
        assert_eq!(list.spans(0, 1), [(u64::MAX, u64::MAX)]);
        assert!(!list.push(0, u64::MAX));
    }
}
