//! The most frequent passages, for display.

/// A passage and its number of occurrences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Position of one of its occurrences.
    pub at: u64,
    /// Length in bytes.
    pub len: u64,
    /// Approximate number of occurrences.
    pub count: u64,
}

impl Passage {
    /// Returns the number of bytes of all its occurrences except one.
    pub fn weight(&self) -> u64 {
        self.len.saturating_mul(self.count.saturating_sub(1))
    }
}

/// Maximum number of stored pieces. Pieces of one passage are joined by [`Passages::heaviest`].
const MAX_KEPT_PIECES: usize = 1024;

/// Maximum number of pieces of other passages between two pieces of one passage.
const MAX_PIECES_BETWEEN: usize = 8;

/// Collects passages and stores those with the greatest weight.
#[derive(Clone, Debug, Default)]
pub struct Passages {
    kept: Vec<Passage>,
    /// Passages that are not heavier than this are ignored.
    least: u64,
}

impl Passages {
    /// Adds a passage.
    #[inline]
    pub fn add(&mut self, passage: Passage) {
        if passage.weight() > self.least {
            self.kept.push(passage);
            if self.kept.len() >= 2 * MAX_KEPT_PIECES {
                self.keep_heaviest();
            }
        }
    }

    /// Returns the same passages with their positions increased by `bytes`.
    #[must_use]
    pub fn moved(&self, bytes: u64) -> Self {
        let kept = self.kept.iter().map(|passage| Passage { at: passage.at + bytes, ..*passage }).collect();
        Self { kept, least: self.least }
    }

    /// Adds the passages of another collection.
    pub fn join(&mut self, other: &Self) {
        for passage in &other.kept {
            self.add(*passage);
        }
    }

    fn keep_heaviest(&mut self) {
        self.kept.sort_unstable_by_key(|passage| (std::cmp::Reverse(passage.weight()), passage.at));
        self.kept.truncate(MAX_KEPT_PIECES);
        self.least = self.kept.last().map_or(0, Passage::weight);
    }

    /// Returns at most `most` passages, heaviest first. Overlapping pieces with similar counts form one passage.
    pub fn heaviest(&self, most: usize) -> Vec<Passage> {
        let mut pieces = self.kept.clone();
        pieces.sort_unstable_by_key(|passage| (passage.at, passage.len));
        let mut joined: Vec<Passage> = Vec::new();
        for piece in pieces {
            let goes_on = |last: &&mut Passage| piece.at < last.at + last.len && are_alike(piece.count, last.count);
            match joined.iter_mut().rev().take(MAX_PIECES_BETWEEN).find(goes_on) {
                Some(last) => {
                    last.len = last.len.max(piece.at + piece.len - last.at);
                    last.count = last.count.max(piece.count);
                }
                None => joined.push(piece),
            }
        }
        joined.sort_by_key(|passage| (std::cmp::Reverse(passage.weight()), passage.at));
        joined.truncate(most);
        joined
    }

    /// Like [`heaviest`](Self::heaviest), for display. Passages shorter than `least` are the periods of periodic text; of those with the
    /// same length, only the heaviest is shown.
    pub fn shown(&self, most: usize, least: u64) -> Vec<Passage> {
        let mut periods = Vec::new();
        let mut shown = self.heaviest(usize::MAX);
        shown.retain(|passage| {
            let is_other = passage.len >= least || !periods.contains(&passage.len);
            if passage.len < least {
                periods.push(passage.len);
            }
            is_other
        });
        shown.truncate(most);
        shown
    }
}

/// Whether two counts may belong to the same passage: they differ by at most a fifth of the larger one.
fn are_alike(a: u64, b: u64) -> bool {
    a.abs_diff(b) <= a.max(b) / 5
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passage_pieces_are_joined_and_sorted_by_weight() {
        let mut passages = Passages::default();
        for at in 0..5000 {
            passages.add(Passage { at: 1_000_000 + at * 1000, len: 600, count: 2 });
        }
        let mut other = Passages::default();
        other.add(Passage { at: 300, len: 500, count: 900 });
        other.add(Passage { at: 100, len: 500, count: 1000 });
        other.add(Passage { at: 200, len: 500, count: 10 });
        passages.join(&other);
        let heaviest = passages.heaviest(2);
        assert_eq!(heaviest.first(), Some(&Passage { at: 100, len: 700, count: 1000 }));
        assert_eq!(passages.heaviest(3).len(), 3);
        assert!(passages.kept.len() < 2 * MAX_KEPT_PIECES);
        for at in 0..50 {
            passages.add(Passage { at: 10_000_000 + at * 300_000, len: 1, count: 200_000 - at % 2 });
        }
        let shown = passages.shown(3, 500);
        assert_eq!(
            shown.iter().map(|passage| (passage.len, passage.count)).collect::<Vec<_>>(),
            [(700, 1000), (1, 200_000), (500, 10)]
        );
    }
}
