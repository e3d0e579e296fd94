//! `kept_in_the_middle_lengths.txt` (docs/formats/bsade.md §5).

use super::Range;
use gristmill_core::Outcome;
use std::collections::BTreeMap;
use std::io::Write as _;

/// Number of occurrences of each length of the text between two removed ranges of a document. The memory grows with the number of distinct
/// lengths, at most about √(2 N) for N bytes of text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptLengths(BTreeMap<u64, u64>);

impl KeptLengths {
    /// Adds the lengths between the ranges of one document; the ranges must be cut to whole characters.
    pub fn add_document(&mut self, shortened: &[Range]) {
        for pair in shortened.windows(2) {
            if let [before, after] = pair {
                *self.0.entry(after.start.saturating_sub(before.end)).or_default() += 1;
            }
        }
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (length, count) in &other.0 {
            *self.0.entry(*length).or_default() += count;
        }
    }

    /// Returns the lengths in ascending order, each with its count.
    pub fn counts(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter().map(|(length, count)| (*length, *count))
    }

    /// Adds `count` occurrences of one length, as returned by [`counts`](Self::counts).
    pub fn add(&mut self, length: u64, count: u64) {
        *self.0.entry(length).or_default() += count;
    }

    /// Passes the content of the file to `take` in pieces: one length per line, ascending.
    pub fn write(&self, mut take: impl FnMut(&[u8]) -> Outcome<()>) -> Outcome<()> {
        let mut buffer = Vec::new();
        for (length, count) in self.counts() {
            for _ in 0..count {
                // Writing to memory cannot fail.
                let _ = writeln!(buffer, "{length}");
                if buffer.len() >= 64 << 10 {
                    take(&buffer)?;
                    buffer.clear();
                }
            }
        }
        match buffer.is_empty() {
            true => Ok(()),
            false => take(&buffer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_lengths_are_written_in_document_order() {
        let mut kept = KeptLengths::default();
        let ranges = |pairs: &[(u64, u64)]| pairs.iter().map(|(a, b)| Range::new(*a, *b)).collect::<Vec<_>>();
        kept.add_document(&ranges(&[(5, 10), (40, 50), (53, 60)]));
        kept.add_document(&ranges(&[(0, 1)]));
        kept.add_document(&[]);
        let mut other = KeptLengths::default();
        other.add_document(&ranges(&[(0, 1), (4, 4), (4, 9)]));
        kept.merge(&other);
        let mut out = Vec::new();
        kept.write(|bytes| {
            out.extend_from_slice(bytes);
            Ok(())
        })
        .unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "0\n3\n3\n30\n");
    }
}
