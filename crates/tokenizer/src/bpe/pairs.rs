//! The merges: pairs of tokens, their products, and their ranks.

use super::hash::folded_product;
use prefetch_index::prefetch_index;
use std::hint::select_unpredictable;

/// The rank of a pair that is never merged.
pub(super) const NOT_JOINED: u32 = (1 << RANK_BITS) - 1;

/// Number of bits for a rank and for an id. An entry consists of a rank and two ids.
pub(super) const RANK_BITS: u32 = 22;
const ID_BITS: u32 = 21;

const _: () = assert!(RANK_BITS + 2 * ID_BITS == u64::BITS, "an entry is full");

/// Exclusive limit of ids in an entry.
pub(super) const IDS: u32 = 1 << ID_BITS;

/// Average number of pairs that share a pilot.
const BUCKET: usize = 3;

/// An empty entry. Every pair that is compared with it counts as never merged.
const EMPTY: u64 = u64::MAX;

/// A hash table of the pairs that are merged.
///
/// Each pair has one possible slot, so a lookup reads one entry and has no branch to predict. Pairs are assigned to buckets by their hash,
/// and each bucket has a pilot: a number for which the slots of all its pairs are free.
#[derive(Debug)]
pub(super) struct Pairs {
    bucket_pilots: Vec<u16>,
    /// Pairs, each with its rank in the lower bits.
    entries: Vec<u64>,
    products: PairProducts,
}

/// The products of pairs, by rank.
#[derive(Debug)]
enum PairProducts {
    /// Ids are consecutive in the order of ranks, starting with this id, as in most trained vocabularies. No table is needed.
    From(u32),
    Listed(Vec<u32>),
}

/// A pair of tokens and its product.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Merge {
    pub(crate) left: u32,
    pub(crate) right: u32,
    pub(crate) product: u32,
}

/// A pair that is being looked up.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PairLookup {
    pair: u64,
    hash: u64,
}

/// A pair whose slot is known.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PairSlot {
    place: usize,
    pair: u64,
}

impl Pairs {
    /// Builds the table from merges in the order of ranks. If a pair is repeated, the last one counts. Fails if there are too many merges,
    /// or ids are too large.
    pub(super) fn new(merges: &[Merge]) -> Result<Self, String> {
        if merges.len() >= NOT_JOINED as usize {
            return Err("it has too many merges".into());
        }
        if merges.iter().any(|merge| merge.left.max(merge.right).max(merge.product) >= IDS) {
            return Err("its ids are too large".into());
        }
        let buckets = merges.len() / BUCKET + 1;
        let mut pairs = Self {
            bucket_pilots: vec![0; buckets],
            entries: vec![EMPTY; merges.len() + merges.len() / 8 + 8],
            products: PairProducts::new(merges),
        };
        // Each pair with its hash, in the form of an entry, grouped by bucket.
        let entries = || {
            merges.iter().zip(0_u64..).map(|(merge, rank)| {
                let pair = packed(merge.left, merge.right);
                (hash(pair), pair << RANK_BITS | rank)
            })
        };
        let mut ends = vec![0_u32; buckets + 1];
        entries().for_each(|(hash, _)| ends[reduce(hash, buckets) + 1] += 1);
        (0..buckets).for_each(|bucket| ends[bucket + 1] += ends[bucket]);
        let mut all = vec![(0, 0); merges.len()];
        for entry in entries() {
            // `ends` has the end of the previous bucket, where this bucket starts; each entry advances it to the end of its own bucket.
            let end = &mut ends[reduce(entry.0, buckets)];
            all[*end as usize] = entry;
            *end += 1;
        }
        let (mut rest, mut done) = (all.as_mut_slice(), 0);
        let mut parts = Vec::with_capacity(buckets);
        for end in ends.iter().take(buckets) {
            let (part, remainder) = rest.split_at_mut((*end - done) as usize);
            (rest, done) = (remainder, *end);
            // Entries of equal pairs become adjacent, in the order of ranks.
            part.sort_unstable_by_key(|(_, entry)| *entry);
            parts.push(last_of_equals(part));
        }
        let mut room = OccupancyBits::new(pairs.entries.len());
        // The fullest buckets are placed first, while most slots are free.
        parts.sort_by_key(|part| std::cmp::Reverse(part.len()));
        for part in parts.into_iter().take_while(|part| !part.is_empty()) {
            pairs.find_displacement(part, &mut room).ok_or("its merges do not spread")?;
        }
        Ok(pairs)
    }

    /// Finds the pilot of a bucket.
    fn find_displacement(&mut self, part: &[(u64, u64)], room: &mut OccupancyBits) -> Option<()> {
        let count = self.entries.len();
        let pilot = (0..u16::MAX).find(|pilot| {
            room.chosen.clear();
            part.iter().all(|(hash, _)| room.reserve(place(*hash, *pilot, count)))
        })?;
        let bucket = reduce(part.first()?.0, self.bucket_pilots.len());
        *self.bucket_pilots.get_mut(bucket)? = pilot;
        for (place, (_, entry)) in room.occupy_chosen().zip(part) {
            *self.entries.get_mut(place)? = *entry;
        }
        Some(())
    }

    /// Starts the lookup of a pair, to be followed by [`place`](Self::place) and [`answer`](Self::answer). Each step prefetches the data of
    /// the next, so that a caller with other work between the steps does not wait.
    #[inline]
    pub(super) fn start_lookup(&self, left: u32, right: u32) -> PairLookup {
        let pair = packed(left, right);
        let hash = hash(pair);
        prefetch_index(self.bucket_pilots.as_slice(), reduce(hash, self.bucket_pilots.len()));
        PairLookup { pair, hash }
    }

    /// Returns the only slot in which the pair may be.
    #[inline]
    pub(super) fn place(&self, PairLookup { pair, hash }: PairLookup) -> PairSlot {
        let pilot = self.bucket_pilots.get(reduce(hash, self.bucket_pilots.len())).copied().unwrap_or_default();
        let place = place(hash, pilot, self.entries.len());
        prefetch_index(self.entries.as_slice(), place);
        PairSlot { place, pair }
    }

    /// Returns the rank of the pair; [`NOT_JOINED`] if it is never merged.
    #[inline]
    pub(super) fn answer(&self, PairSlot { place, pair }: PairSlot) -> u32 {
        let entry = self.entries.get(place).copied().unwrap_or(EMPTY) ^ pair << RANK_BITS;
        select_unpredictable(entry >> RANK_BITS == 0, entry as u32 & NOT_JOINED, NOT_JOINED)
    }

    /// Performs all three steps of a lookup.
    #[inline]
    pub(super) fn rank(&self, left: u32, right: u32) -> u32 {
        self.answer(self.place(self.start_lookup(left, right)))
    }

    /// Prefetches the data that [`product`](Self::product) reads.
    #[inline]
    pub(super) fn fetch(&self, rank: u32) {
        if let PairProducts::Listed(products) = &self.products {
            prefetch_index(products.as_slice(), rank as usize);
        }
    }

    /// Returns the product of the pair with this rank.
    #[inline]
    pub(super) fn product(&self, rank: u32) -> u32 {
        match &self.products {
            PairProducts::From(first) => first.wrapping_add(rank),
            PairProducts::Listed(products) => products.get(rank as usize).copied().unwrap_or_default(),
        }
    }
}

impl PairProducts {
    fn new(merges: &[Merge]) -> Self {
        let first = merges.first().map_or(0, |merge| merge.product);
        if merges.iter().zip(first..).all(|(merge, next)| merge.product == next) {
            Self::From(first)
        } else {
            Self::Listed(merges.iter().map(|merge| merge.product).collect())
        }
    }
}

/// One bit for each slot: whether it is occupied. Most of the millions of tried slots are occupied, and the bits fit into the processor
/// cache.
struct OccupancyBits {
    taken: Vec<u64>,
    /// The slots of a bucket with the pilot that is being tried.
    chosen: Vec<usize>,
}

impl OccupancyBits {
    fn new(places: usize) -> Self {
        Self { taken: vec![0; places.div_ceil(64)], chosen: Vec::new() }
    }

    /// Reserves a slot if it is free. Returns whether it was free.
    #[inline]
    fn reserve(&mut self, place: usize) -> bool {
        let is_free = self.taken.get(place / 64).is_some_and(|word| word >> (place % 64) & 1 == 0);
        let is_new = is_free && !self.chosen.contains(&place);
        if is_new {
            self.chosen.push(place);
        }
        is_new
    }

    /// Marks the reserved slots as occupied and returns them.
    fn occupy_chosen(&mut self) -> impl Iterator<Item = usize> + '_ {
        for place in &self.chosen {
            if let Some(word) = self.taken.get_mut(place / 64) {
                *word |= 1 << (place % 64);
            }
        }
        self.chosen.iter().copied()
    }
}

/// Moves the last of each group of equal pairs to the front, and returns them.
fn last_of_equals(part: &mut [(u64, u64)]) -> &[(u64, u64)] {
    let mut kept = 0;
    for at in 0..part.len() {
        if part.get(at + 1).is_none_or(|next| next.1 >> RANK_BITS != part[at].1 >> RANK_BITS) {
            part.swap(kept, at);
            kept += 1;
        }
    }
    part.get(..kept).unwrap_or_default()
}

#[inline]
fn packed(left: u32, right: u32) -> u64 {
    u64::from(left) << ID_BITS | u64::from(right)
}

#[inline]
fn hash(pair: u64) -> u64 {
    folded_product(pair ^ 0x51_7c_c1_b7_27_22_0a_95, 0x9E37_79B9_7F4A_7C15)
}

/// Maps a hash to a number below `count`, using its high bits.
#[inline]
fn reduce(hash: u64, count: usize) -> usize {
    ((u128::from(hash) * count as u128) >> 64) as usize
}

/// Returns the slot of a hash with this pilot, below `count`.
#[inline]
fn place(hash: u64, pilot: u16, count: usize) -> usize {
    reduce((hash ^ u64::from(pilot).wrapping_mul(0xD6E8_FEB8_6659_FD93)).wrapping_mul(0x2545_F491_4F6C_DD1D), count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_give_the_rank_of_their_last_merge() {
        let merge = |left, right, product| Merge { left, right, product };
        let mut merges: Vec<Merge> = (0..50_000).map(|n| merge(n % 977, n / 977, n + 1)).collect();
        for is_listed in [false, true] {
            if is_listed {
                merges.push(merge(0, 0, 7));
            }
            let pairs = Pairs::new(&merges).unwrap();
            assert_eq!(matches!(pairs.products, PairProducts::Listed(_)), is_listed);
            for (rank, merge) in merges.iter().enumerate().skip(1) {
                let found = pairs.rank(merge.left, merge.right);
                assert_eq!((found, pairs.product(found)), (rank as u32, merge.product));
            }
            assert_eq!(pairs.rank(0, 0), if is_listed { 50_000 } else { 0 });
            assert_eq!((pairs.rank(978, 0), pairs.rank(0, 52)), (NOT_JOINED, NOT_JOINED));
            assert!((1_000..100_000).all(|left| pairs.rank(left, 3) == NOT_JOINED));
        }
        assert_eq!(Pairs::new(&[]).unwrap().rank(IDS - 1, IDS - 1), NOT_JOINED);
        assert_eq!(Pairs::new(&[merge(IDS - 1, IDS - 1, 0)]).unwrap().rank(IDS - 1, IDS - 1), 0);
        assert!(Pairs::new(&[merge(IDS, 0, 1)]).is_err());
    }
}
