//! Distributions of lengths, for the facts view.

use serde::Serialize;

/// A distribution of lengths: exact minimum, maximum and mean, and buckets by powers of two.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Lengths {
    /// Number of lengths.
    pub count: u64,
    /// The smallest length.
    pub min: u64,
    /// The largest length.
    pub max: u64,
    /// Sum of all lengths.
    pub total: u64,
    /// Number of lengths by their highest bit: `buckets[0]` counts the length 0, `buckets[1]` the length 1, `buckets[2]` the lengths 2 and
    /// 3, `buckets[i]` the lengths whose highest bit is bit `i - 1`.
    pub buckets: Vec<u64>,
}

impl Lengths {
    /// Adds one length.
    pub fn add(&mut self, length: u64) {
        self.min = if self.count == 0 { length } else { self.min.min(length) };
        self.max = self.max.max(length);
        self.count += 1;
        self.total = self.total.saturating_add(length);
        let bucket = (u64::BITS - length.leading_zeros()) as usize;
        if self.buckets.len() <= bucket {
            self.buckets.resize(bucket + 1, 0);
        }
        if let Some(number) = self.buckets.get_mut(bucket) {
            *number += 1;
        }
    }

    /// Returns the mean; 0 if there are no lengths.
    pub fn mean(&self) -> f64 {
        if self.count == 0 {
            0.0
        } else {
            self.total as f64 / self.count as f64
        }
    }

    /// Returns the smallest length of each bucket and its count, for a bar chart. Empty buckets before the first and after the last
    /// non-empty one are omitted.
    pub fn bars(&self) -> Vec<(u64, u64)> {
        let lower = |bucket: usize| if bucket == 0 { 0 } else { 1_u64 << (bucket - 1).min(63) };
        let first = self.buckets.iter().position(|number| *number > 0).unwrap_or(0);
        self.buckets.iter().enumerate().skip(first).map(|(bucket, number)| (lower(bucket), *number)).collect()
    }

    /// Returns a length that about `share` (0 to 1) of all lengths do not exceed, accurate to a power of two.
    pub fn quantile(&self, share: f64) -> u64 {
        let wanted = (share.clamp(0.0, 1.0) * self.count as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (bucket, number) in self.buckets.iter().enumerate() {
            seen += number;
            if seen >= wanted {
                let upper = if bucket == 0 { 0 } else { u64::MAX >> (64 - bucket.min(64)) };
                return upper.clamp(self.min, self.max);
            }
        }
        self.max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_counted_by_powers_of_two() {
        let mut lengths = Lengths::default();
        for length in [1, 2, 3, 4, 7, 8, 1000] {
            lengths.add(length);
        }
        assert_eq!((lengths.count, lengths.min, lengths.max, lengths.total), (7, 1, 1000, 1025));
        let filled: Vec<_> = lengths.bars().into_iter().filter(|(_, number)| *number > 0).collect();
        assert_eq!(filled, [(1, 1), (2, 2), (4, 2), (8, 1), (512, 1)]);
        assert_eq!(lengths.quantile(0.5), 7);
        assert_eq!(lengths.quantile(1.0), 1000);
        assert_eq!(lengths.quantile(0.0), 1);
    }

    #[test]
    fn empty_and_extreme_lengths_have_quantiles() {
        let mut lengths = Lengths::default();
        assert_eq!((lengths.mean(), lengths.quantile(0.5), lengths.bars()), (0.0, 0, Vec::new()));
        lengths.add(0);
        lengths.add(u64::MAX);
        assert_eq!((lengths.quantile(0.5), lengths.quantile(0.9)), (0, u64::MAX));
        assert_eq!(lengths.bars().last(), Some(&(1 << 63, 1)));
    }
}
