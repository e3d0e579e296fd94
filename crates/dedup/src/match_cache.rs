//! Caches repeats found around an anchor for adjacent anchors, whose contexts then need not be read and compared again.
//!
//! Cached repeats were compared byte by byte, so they give the same result as a comparison. Repeats that do not fit are dropped.

use super::window_hash::mix;
use std::sync::atomic::{fence, AtomicU64, Ordering};

/// Size of a block of text whose repeats share a set, as a binary logarithm of bytes.
const BLOCK: u32 = 12;
/// Number of repeats per set. Together with its version, a set fills one cache line.
const ENTRIES_PER_SET: usize = 3;
/// Number of bits of positions and distances.
const PLACE_BITS: u32 = 48;
const LENGTH_BITS: u32 = 14;

/// A range `[start, end)` of the text that equals the range `distance` bytes earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Repeat {
    pub start: u64,
    pub end: u64,
    pub distance: u64,
    /// The byte before `start`, if it is known to differ from the byte `distance` bytes earlier.
    pub before: Option<u8>,
    /// The byte at `end`, if it is known to differ from the byte `distance` bytes earlier.
    pub after: Option<u8>,
}

/// A repeat in 16 bytes. 0 means none, because `distance` is never 0.
#[derive(Clone, Copy, Debug, Default)]
struct PackedRepeat(u128);

impl PackedRepeat {
    /// Packs a repeat; `None` if it is too long or its distance too large.
    fn pack(repeat: &Repeat) -> Option<Self> {
        let Repeat { start, end, distance: back, before, after } = *repeat;
        let len = end.checked_sub(start).filter(|len| len >> LENGTH_BITS == 0)?;
        if (start | back) >> PLACE_BITS != 0 || back == 0 {
            return None;
        }
        let fields = [
            (u64::from(after.unwrap_or_default()), 8),
            (u64::from(before.unwrap_or_default()), 8),
            (u64::from(after.is_some()), 1),
            (u64::from(before.is_some()), 1),
            (len, LENGTH_BITS),
            (back, PLACE_BITS),
            (start, PLACE_BITS),
        ];
        Some(Self(fields.into_iter().fold(0, |all, (field, bits)| all << bits | u128::from(field))))
    }

    fn unpack(self) -> Option<Repeat> {
        let mut rest = self.0;
        let mut next = |bits: u32| {
            let field = (rest & ((1 << bits) - 1)) as u64;
            rest >>= bits;
            field
        };
        let (start, back, len) = (next(PLACE_BITS), next(PLACE_BITS), next(LENGTH_BITS));
        let (is_before, is_after) = (next(1) == 1, next(1) == 1);
        let (before, after) = (next(8) as u8, next(8) as u8);
        let byte = |is_known: bool, byte: u8| is_known.then_some(byte);
        let (before, after) = (byte(is_before, before), byte(is_after, after));
        (back > 0).then_some(Repeat { start, end: start + len, distance: back, before, after })
    }
}

/// The repeats of a block. Readers never wait for writers: a set that is being written counts as empty.
#[derive(Default)]
#[repr(align(64))]
struct Set {
    /// Odd while a thread writes.
    version: AtomicU64,
    words: [[AtomicU64; 2]; ENTRIES_PER_SET],
}

impl Set {
    fn get(&self) -> [PackedRepeat; ENTRIES_PER_SET] {
        let version = self.version.load(Ordering::Acquire);
        let mut all = [PackedRepeat::default(); ENTRIES_PER_SET];
        for (kept, words) in all.iter_mut().zip(&self.words) {
            let [low, high] = words.each_ref().map(|word| word.load(Ordering::Relaxed));
            *kept = PackedRepeat(u128::from(low) | u128::from(high) << 64);
        }
        // Orders the loads of the words before the second load of the version.
        fence(Ordering::Acquire);
        match version.is_multiple_of(2) && self.version.load(Ordering::Relaxed) == version {
            true => all,
            false => Default::default(),
        }
    }

    /// Calls `act` with the repeats, unless another thread is writing.
    fn change(&self, act: impl FnOnce(&mut [PackedRepeat; ENTRIES_PER_SET])) {
        let version = self.version.load(Ordering::Relaxed);
        let is_free = version.is_multiple_of(2)
            && self.version.compare_exchange(version, version + 1, Ordering::Acquire, Ordering::Relaxed).is_ok();
        if !is_free {
            return;
        }
        // Orders the change of the version before the stores of the words.
        fence(Ordering::Release);
        let mut all = self.words.each_ref().map(|words| {
            let [low, high] = words.each_ref().map(|word| word.load(Ordering::Relaxed));
            PackedRepeat(u128::from(low) | u128::from(high) << 64)
        });
        act(&mut all);
        for (PackedRepeat(bits), words) in all.into_iter().zip(&self.words) {
            let [low, high] = words;
            low.store(bits as u64, Ordering::Relaxed);
            high.store((bits >> 64) as u64, Ordering::Relaxed);
        }
        self.version.store(version + 2, Ordering::Release);
    }
}

/// A cache of repeats, shared by all threads.
pub struct MatchCache(Vec<Set>);

impl MatchCache {
    /// Returns a cache that uses at most `bytes` bytes of memory; `None` if they are too few for one set.
    pub fn new(bytes: u64) -> Option<Self> {
        let sets = usize::try_from(bytes).unwrap_or(usize::MAX) / size_of::<Set>();
        (sets > 0).then(|| Self((0..sets).map(|_| Set::default()).collect()))
    }

    fn set(&self, block: u64) -> Option<&Set> {
        let place = (u128::from(mix(block)) * self.0.len() as u128) >> 64;
        self.0.get(place as usize)
    }

    /// Prefetches the set for `at`, which will be read soon.
    pub fn prefetch(&self, at: u64) {
        // A load without use of the value.
        std::hint::black_box(self.set(at >> BLOCK).map(|set| set.version.load(Ordering::Relaxed)));
    }

    pub(super) fn add(&self, repeat: &Repeat) {
        let Some(kept) = PackedRepeat::pack(repeat) else { return };
        let blocks = repeat.start >> BLOCK..=repeat.end >> BLOCK;
        blocks.filter_map(|block| self.set(block)).for_each(|set| set.change(|all| note(all, kept, repeat)));
    }

    /// Returns the repeats that may contain the byte at `at`, in no particular order.
    #[inline]
    pub(super) fn around(&self, at: u64) -> impl Iterator<Item = Repeat> {
        let all = self.set(at >> BLOCK).map(Set::get).unwrap_or_default();
        all.into_iter().filter_map(PackedRepeat::unpack).filter(move |repeat| repeat.start <= at && at <= repeat.end)
    }
}

/// Adds a repeat to a set. Joins it with an adjacent or overlapping repeat of the same distance, or else replaces the oldest repeat.
fn note(all: &mut [PackedRepeat; ENTRIES_PER_SET], kept: PackedRepeat, repeat: &Repeat) {
    for place in all.iter_mut() {
        let Some(there) = place.unpack() else { continue };
        if there.distance == repeat.distance && there.start <= repeat.end && repeat.start <= there.end {
            *place = PackedRepeat::pack(&joined(&there, repeat)).unwrap_or(kept);
            return;
        }
    }
    all.rotate_right(1);
    if let Some(first) = all.first_mut() {
        *first = kept;
    }
}

/// Joins two adjacent or overlapping repeats of the same distance.
fn joined(one: &Repeat, other: &Repeat) -> Repeat {
    let (start, end) = (one.start.min(other.start), one.end.max(other.end));
    let both = [one, other];
    let before = both.iter().filter(|repeat| repeat.start == start).find_map(|repeat| repeat.before);
    let after = both.iter().filter(|repeat| repeat.end == end).find_map(|repeat| repeat.after);
    Repeat { start, end, distance: one.distance, before, after }
}

/// The number of bytes on one side of their anchors in which a context equals a pivot, and the first byte of the context that differs; 0 if
/// none differs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Agreement {
    pub same_bytes: u32,
    pub byte: u8,
}

/// Known facts about one side of a context, which extends `own` bytes from its anchor, and about an earlier context.
#[derive(Clone, Copy)]
pub(super) struct KnownAgreement {
    pub own: u32,
    /// Number of bytes to which the earlier context extends, and its agreement with the pivot.
    pub other: u32,
    pub agrees: Agreement,
    /// Number of bytes to which the pivot extends.
    pub pivot: u32,
}

impl KnownAgreement {
    /// Returns the agreement of the context with the pivot, if `same` of its bytes equal those of the earlier context, and `next` is the
    /// first byte that does not. Returns `None` if the agreement does not follow.
    pub(super) fn side(&self, same: u32, next: Option<u8>) -> Option<Agreement> {
        let Self { own, other, agrees, pivot } = *self;
        let (same, agreed) = (same.min(own), agrees.same_bytes);
        if agreed < same && agreed < other {
            // The earlier context differs from the pivot, or the pivot ends, within the bytes that are equal in both contexts.
            return Some(agrees);
        }
        if same == own {
            return (agreed >= own).then_some(Agreement { same_bytes: same, byte: 0 });
        }
        // This context differs from the earlier one where the earlier one agrees with the pivot, or where the pivot ends.
        let byte = next.filter(|_| agreed > same || (agreed == same && agreed == pivot))?;
        Some(Agreement { same_bytes: same, byte })
    }
}

#[cfg(test)]
mod tests {
    use super::super::bytes::common_prefix;
    use super::*;
    use proptest::prelude::*;

    fn repeat(start: u64, end: u64, back: u64) -> Repeat {
        Repeat { start, end, distance: back, before: Some(b'a'), after: None }
    }

    #[test]
    fn packed_repeat_is_unpacked_unchanged() {
        let far = (1 << PLACE_BITS) - 1;
        for (before, after) in [(None, None), (Some(0), None), (None, Some(255)), (Some(255), Some(7))] {
            for (start, len, back) in [(0, 1, 1), (far, (1 << LENGTH_BITS) - 1, far), (77, 500, 70)] {
                let repeat = Repeat { start, end: start + len, distance: back, before, after };
                assert_eq!(PackedRepeat::pack(&repeat).unwrap().unpack(), Some(repeat));
            }
        }
        assert!(PackedRepeat::default().unpack().is_none());
        for wrong in [repeat(1 << PLACE_BITS, 1 << PLACE_BITS, 1), repeat(0, 1 << LENGTH_BITS, 1), repeat(1, 2, 0)] {
            assert!(PackedRepeat::pack(&wrong).is_none());
        }
    }

    #[test]
    fn joins_adjacent_matches_and_evicts_beyond_limit() {
        assert!(MatchCache::new(60).is_none());
        let known = MatchCache::new(1 << 14).unwrap();
        known.add(&repeat(1_000, 1_600, 900));
        known.add(&Repeat { before: None, after: Some(b'z'), ..repeat(1_500, 2_100, 900) });
        known.add(&repeat(1_500, 2_000, 901));
        let mut found: Vec<Repeat> = known.around(1_550).collect();
        found.sort_by_key(|repeat| repeat.distance);
        assert_eq!(found, [Repeat { after: Some(b'z'), ..repeat(1_000, 2_100, 900) }, repeat(1_500, 2_000, 901)]);
        assert_eq!(known.around(1_200).count(), 1);
        assert_eq!(known.around(2_101).count() + known.around(999).count(), 0);
        // The repeat is found from each block that it overlaps.
        known.add(&repeat(8_000, 16_500, 5));
        assert!([8_000, 8_300, 12_288, 16_384].iter().all(|at| known.around(*at).count() == 1));
        (0..100).for_each(|back| known.add(&repeat(20_000, 20_500, 10 + back)));
        assert_eq!(known.around(20_001).count(), ENTRIES_PER_SET);
        // Longer than a packed repeat can store.
        known.add(&repeat(30_000, 40_000, 3));
        known.add(&repeat(39_000, 49_000, 3));
        assert_eq!(known.around(39_500).collect::<Vec<_>>(), [repeat(39_000, 49_000, 3)]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]
        #[test]
        fn derived_match_agrees_with_direct_comparison(
            (pivot, other, own) in ("[ab]{0,9}", "[ab]{0,9}", "[ab]{0,9}"),
            reaches in [0_usize..10, 0..10, 0..10],
            (cut, is_reported) in (0_usize..10, any::<bool>()),
            alike in 0_usize..10,
        ) {
            // Texts that often have equal parts.
            let other = format!("{}{other}", pivot.get(..alike).unwrap_or(&pivot));
            let own = format!("{}{own}", other.get(..alike / 2 + 2).unwrap_or(&other));
            let reach = |text: &str, reach: usize| reach.min(text.len());
            let [to_pivot, to_other, to_own] = [reach(&pivot, reaches[0]), reach(&other, reaches[1]), reach(&own, reaches[2])];
            let compare = |text: &str, reach: usize| {
                let same = common_prefix(&text.as_bytes()[..reach], &pivot.as_bytes()[..to_pivot]);
                Agreement { same_bytes: same as u32, byte: text.as_bytes()[..reach].get(same).copied().unwrap_or_default() }
            };
            let agrees = compare(&other, to_other);
            let whole = common_prefix(own.as_bytes(), other.as_bytes());
            let differs = own.as_bytes().get(whole).copied().filter(|_| is_reported && whole < other.len());
            let (same, next) = if is_reported { (whole, differs) } else { (whole.min(cut), None) };
            let compared = KnownAgreement { own: to_own as u32, other: to_other as u32, agrees, pivot: to_pivot as u32 };
            let wanted = compare(&own, to_own);
            if let Some(side) = compared.side(same as u32, next) {
                prop_assert_eq!(side, wanted, "{} {} {} {:?} {}", pivot, other, own, reaches, same);
            } else if is_reported && differs.is_some() {
                // Both differ at the same position, or the earlier context ends.
                prop_assert!(agrees.same_bytes as usize == whole || agrees.same_bytes as usize == to_other.min(to_pivot), "{own}");
            }
        }
    }
}
