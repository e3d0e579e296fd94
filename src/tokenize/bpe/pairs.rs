//! Which two tokens become which one, and in what order.

use super::hash::fold;
use std::hint::select_unpredictable;

/// No pair has this rank: the two stay apart.
pub(super) const APART: u32 = (1 << RANK_BITS) - 1;

/// Bits of a rank, and of an id.
pub(super) const RANK_BITS: u32 = 22;
const ID_BITS: u32 = 21;

/// Ids below this one fit.
pub(super) const IDS: u32 = 1 << ID_BITS;

/// Pairs that share a pilot, on the average.
const BUCKET: usize = 4;

/// No pair at all: its two ids are greater than any.
const EMPTY: u64 = u64::MAX;

/// Merges of the lowest ranks are most of what is joined; they have a table of their own, so small that it stays near.
const FREQUENT: usize = 1 << 14;

/// Pairs of others for each word of the filter.
const FILTERED: usize = 8;

/// Which pairs are joined.
///
/// What is far away in memory costs more than all the rest of joining a word. So a pair is looked up among the frequent ones and in a
/// filter that knows most of the pairs that are never joined, and only where these leave it open among all others.
#[derive(Debug)]
pub(super) struct Pairs {
    frequent: Table,
    filter: Vec<u64>,
    others: Table,
    /// By rank: what the two become.
    products: Vec<u32>,
}

/// Pairs without a search: each has one place where it can be.
///
/// Pairs are dealt to buckets by their hash, and each bucket has a pilot, a number with which the places of all its pairs are free.
/// So there is one entry to compare, and nothing for the processor to predict.
#[derive(Debug)]
struct Table {
    pilots: Vec<u16>,
    /// Left id, right id and rank in one number.
    entries: Vec<u64>,
}

impl Pairs {
    /// From `(left, right, product)` in the order of ranks; of two equal pairs the later counts.
    pub(super) fn new(merges: &[(u32, u32, u32)]) -> Result<Self, String> {
        if merges.len() >= APART as usize {
            return Err("it has too many merges".into());
        }
        if merges.iter().any(|(left, right, product)| *left.max(right).max(product) >= IDS) {
            return Err("its ids are too large".into());
        }
        let whole =
            |(rank, (left, right, _)): (usize, &(u32, u32, u32))| packed(*left, *right) << RANK_BITS | rank as u64;
        let mut all: Vec<u64> = merges.iter().enumerate().map(whole).collect();
        all.sort_unstable();
        // Of a pair that is there twice the entries stand together, that of the higher rank last.
        all.dedup_by(|later, kept| {
            let is_same = *later >> RANK_BITS == *kept >> RANK_BITS;
            if is_same {
                *kept = *later;
            }
            is_same
        });
        let (frequent, others): (Vec<u64>, Vec<u64>) =
            all.into_iter().partition(|entry| ((*entry as u32 & APART) as usize) < FREQUENT);
        let mut filter = vec![0; (others.len() / FILTERED).next_power_of_two()];
        for entry in &others {
            let (at, bits) = sifted(hash(entry >> RANK_BITS), filter.len());
            if let Some(word) = filter.get_mut(at) {
                *word |= bits;
            }
        }
        Ok(Self {
            frequent: Table::new(&frequent)?,
            filter,
            others: Table::new(&others)?,
            products: merges.iter().map(|(_, _, product)| *product).collect(),
        })
    }

    /// The rank of the pair, [`APART`] where the two are never joined.
    #[inline]
    pub(super) fn rank(&self, left: u32, right: u32) -> u32 {
        let pair = packed(left, right);
        let hash = hash(pair);
        let (at, bits) = sifted(hash, self.filter.len());
        let rank = self.frequent.rank(pair, hash);
        let is_open = self.filter.get(at).is_some_and(|word| word & bits == bits);
        if is_open & (rank == APART) {
            return self.others.rank(pair, hash);
        }
        rank
    }

    /// What a pair of this rank becomes.
    #[inline]
    pub(super) fn product(&self, rank: u32) -> u32 {
        self.products.get(rank as usize).copied().unwrap_or_default()
    }
}

impl Table {
    fn new(all: &[u64]) -> Result<Self, String> {
        let buckets = all.len() / BUCKET + 1;
        let mut dealt: Vec<(usize, u64)> =
            all.iter().map(|entry| (reduce(hash(entry >> RANK_BITS), buckets), *entry)).collect();
        dealt.sort_unstable();
        let mut table = Self { pilots: vec![0; buckets], entries: vec![EMPTY; all.len() + all.len() / 32 + 8] };
        let mut parts: Vec<&[(usize, u64)]> = dealt.chunk_by(|left, right| left.0 == right.0).collect();
        // The fullest while there is most room.
        parts.sort_by_key(|part| std::cmp::Reverse(part.len()));
        let mut places = Vec::new();
        for part in parts {
            table.settle(part, &mut places).ok_or("its merges do not spread")?;
        }
        Ok(table)
    }

    /// Finds the pilot of a bucket.
    fn settle(&mut self, part: &[(usize, u64)], places: &mut Vec<usize>) -> Option<()> {
        let pilot = (0..u16::MAX).find(|pilot| {
            places.clear();
            part.iter().all(|(_, entry)| {
                let place = place(hash(entry >> RANK_BITS), *pilot, self.entries.len());
                let is_free = self.entries.get(place) == Some(&EMPTY) && !places.contains(&place);
                places.push(place);
                is_free
            })
        })?;
        *self.pilots.get_mut(part.first()?.0)? = pilot;
        for (place, (_, entry)) in places.iter().zip(part) {
            *self.entries.get_mut(*place)? = *entry;
        }
        Some(())
    }

    #[inline]
    fn rank(&self, pair: u64, hash: u64) -> u32 {
        let pilot = self.pilots.get(reduce(hash, self.pilots.len())).copied().unwrap_or(0);
        let entry = self.entries.get(place(hash, pilot, self.entries.len())).copied().unwrap_or(EMPTY);
        select_unpredictable(entry >> RANK_BITS == pair, entry as u32 & APART, APART)
    }
}

/// The word of a filter in which a hash has its bits, and these.
#[inline]
fn sifted(hash: u64, words: usize) -> (usize, u64) {
    ((hash >> 12) as usize & (words - 1), 1 << (hash & 63) | 1 << (hash >> 6 & 63))
}

#[inline]
fn packed(left: u32, right: u32) -> u64 {
    u64::from(left) << ID_BITS | u64::from(right)
}

#[inline]
fn hash(pair: u64) -> u64 {
    fold(pair ^ 0x51_7c_c1_b7_27_22_0a_95, 0x9E37_79B9_7F4A_7C15)
}

/// A number below `count`, by the high bits of a hash.
#[inline]
fn reduce(hash: u64, count: usize) -> usize {
    ((u128::from(hash) * count as u128) >> 64) as usize
}

/// The place of a hash with this pilot, among so many.
#[inline]
fn place(hash: u64, pilot: u16, count: usize) -> usize {
    reduce((hash ^ u64::from(pilot).wrapping_mul(0xD6E8_FEB8_6659_FD93)).wrapping_mul(0x2545_F491_4F6C_DD1D), count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_keep_their_ranks_and_the_last_of_two_counts() {
        let mut merges: Vec<(u32, u32, u32)> = (0..50_000).map(|n| (n % 977, n / 977, n + 1)).collect();
        merges.push((0, 0, 7));
        let pairs = Pairs::new(&merges).unwrap();
        for (rank, (left, right, product)) in merges.iter().enumerate().skip(1) {
            assert_eq!((pairs.rank(*left, *right), pairs.product(rank as u32)), (rank as u32, *product));
        }
        assert_eq!(pairs.rank(0, 0), 50_000);
        assert_eq!((pairs.rank(978, 0), pairs.rank(0, 52), pairs.rank(IDS - 1, IDS - 1)), (APART, APART, APART));
        assert!(Pairs::new(&[(IDS, 0, 1)]).is_err());
    }
}
