//! Groups of equal records: whether they are a leak, of what kind, and how to repair it.

use super::{LeakCount, LeakKind, LeakLocation, LeakRepair, SplitPairLeaks, LISTED_LEAKS, MAX_LISTED_PLACES};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// Maximum number of splits of one leak that are counted in the table of pairs.
const PAIRED_SPLITS: usize = 8;
/// Maximum number of proposed repairs of one leak.
const MAX_REPAIRS: usize = 4;
/// Number of bits for the number of a part's name.
const NAME_BITS: u32 = 13;

/// The part of a sample that a record describes: the number of its name (0 for the whole sample), and its position among the compared
/// parts, which are sorted by hash so that it is the same in a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PartRef {
    pub(super) name: u64,
    pub(super) ordinal: u64,
}

impl PartRef {
    pub(super) fn packed(self) -> u64 {
        self.ordinal << NAME_BITS | self.name
    }
    pub(super) fn unpacked(number: u64) -> Self {
        Self { name: number & ((1 << NAME_BITS) - 1), ordinal: number >> NAME_BITS }
    }
}

/// The position of a sample in a split, as numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SamplePosition {
    pub(super) split: u32,
    pub(super) shard: u32,
    pub(super) sample: u64,
    /// Number of the part's name; 0 for the whole sample.
    pub(super) part: u64,
}

impl SamplePosition {
    fn sample(self) -> (u32, u64) {
        (self.shard, self.sample)
    }
}

/// A group of equal records.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    /// The first positions in each split.
    places: Vec<SamplePosition>,
    /// Total number of samples in each split.
    counts: Vec<(u32, u64)>,
    last: Option<SamplePosition>,
    /// Shard and number of the sample of the first record.
    first: Option<(u32, u64)>,
    /// Whether the records belong to more than one sample.
    has_others: bool,
    /// The tag of the sample of the first record.
    tag: Option<u64>,
    has_other_tags: bool,
    ordinal: u64,
}

impl Group {
    /// Adds a record: the numbers of split, shard and sample, the part, and the tag of the whole sample.
    pub(super) fn add(&mut self, [split, shard, sample]: [u64; 3], which: PartRef, tag: u64) {
        let place = SamplePosition { split: split as u32, shard: shard as u32, sample, part: which.name };
        self.ordinal = if self.first.is_none() { which.ordinal } else { self.ordinal.min(which.ordinal) };
        self.has_others |= *self.first.get_or_insert(place.sample()) != place.sample();
        self.has_other_tags |= *self.tag.get_or_insert(tag) != tag;
        let is_again = self.last.is_some_and(|last| last.split == place.split && last.sample() == place.sample());
        self.last = Some(place);
        if is_again {
            return;
        }
        let at = match self.counts.iter().position(|(known, _)| *known == place.split) {
            Some(at) => at,
            None => {
                self.counts.push((place.split, 0));
                self.counts.len() - 1
            }
        };
        if let Some((_, count)) = self.counts.get_mut(at) {
            if *count < MAX_LISTED_PLACES as u64 {
                self.places.push(place);
            }
            *count += 1;
        }
    }

    /// Clears the group for the next records.
    pub(super) fn clear(&mut self) {
        self.places.clear();
        self.counts.clear();
        (self.last, self.first, self.tag) = (None, None, None);
        (self.has_others, self.has_other_tags) = (false, false);
    }

    /// Whether at least two splits have different samples in this group.
    pub(super) fn is_leak(&self) -> bool {
        self.has_others && self.counts.len() > 1
    }

    /// Returns the listed positions, by split.
    pub(super) fn places(&self) -> impl Iterator<Item = SamplePosition> + '_ {
        self.places.iter().copied()
    }

    /// Returns the number of positions that are not listed.
    pub(super) fn unlisted(&self) -> u64 {
        let all: u64 = self.counts.iter().map(|(_, count)| count).sum();
        all.saturating_sub(self.places.len() as u64)
    }
}

/// Decides which records are equal, and handles groups of equal records.
pub(super) trait Matcher<const N: usize> {
    /// Whether a record belongs to the same group as the record `before`.
    fn is_same(&self, before: &[u8], text: &[u8]) -> bool;
    /// Adds a record to the current group.
    fn add(&mut self, group: &mut Group, text: &[u8], numbers: [u64; N], found: &mut LeakGroups);
    /// Ends a group of equal records.
    fn end(&mut self, group: &Group, found: &mut LeakGroups);
}

/// Groups records with equal hashes.
pub(super) struct Contents;

impl Matcher<5> for Contents {
    fn is_same(&self, before: &[u8], text: &[u8]) -> bool {
        before == text
    }

    fn add(
        &mut self,
        group: &mut Group,
        _text: &[u8],
        [split, shard, sample, which, tag]: [u64; 5],
        _found: &mut LeakGroups,
    ) {
        group.add([split, shard, sample], PartRef::unpacked(which), tag);
    }

    fn end(&mut self, group: &Group, found: &mut LeakGroups) {
        if !group.is_leak() {
            return;
        }
        if group.has_other_tags {
            found.keep(LeakKind::Part, group);
        } else if group.ordinal == 0 {
            // Samples that are equal as a whole are found once per part, and only recorded for the first part.
            found.keep(LeakKind::Sample, group);
        }
    }
}

/// The leaks found: the count of all, and the first of each kind.
#[derive(Default)]
pub(super) struct LeakGroups {
    kept: BTreeMap<LeakKind, Vec<Group>>,
    counts: BTreeMap<LeakKind, u64>,
    /// Number of leaks between two splits, by their numbers, the lower one first.
    pair_counts: BTreeMap<(u32, u32), u64>,
    pub(super) common_names: u64,
}

impl LeakGroups {
    pub(super) fn keep(&mut self, kind: LeakKind, group: &Group) {
        *self.counts.entry(kind).or_default() += 1;
        if kind.is_sure() {
            let mut splits: Vec<u32> = group.counts.iter().map(|(split, _)| *split).take(PAIRED_SPLITS).collect();
            splits.sort_unstable();
            for (n, &a) in splits.iter().enumerate() {
                for &b in splits.iter().skip(n + 1) {
                    *self.pair_counts.entry((a, b)).or_default() += 1;
                }
            }
        }
        let kept = self.kept.entry(kind).or_default();
        if kept.len() < LISTED_LEAKS {
            let mut group = group.clone();
            group.places.sort_by_key(|place| (place.split, place.shard, place.sample));
            kept.push(group);
        }
    }

    /// Returns the recorded leaks, ordered by kind and first position.
    pub(super) fn groups(&self) -> Vec<(LeakKind, &Group)> {
        let mut all: Vec<(LeakKind, &Group)> =
            self.kept.iter().flat_map(|(kind, groups)| groups.iter().map(|group| (*kind, group))).collect();
        let first = |group: &Group| group.places.first().map(|place| (place.shard, place.sample, group.ordinal));
        all.sort_by_key(|(kind, group)| (*kind, first(group)));
        all
    }

    pub(super) fn counts(&self) -> Vec<LeakCount> {
        self.counts.iter().map(|(&kind, &leaks)| LeakCount { kind, leaks }).collect()
    }

    pub(super) fn pair_counts(&self, names: &[Arc<str>]) -> Vec<SplitPairLeaks> {
        let name = |number: u32| names.get(number as usize).cloned();
        let pair =
            |(&(a, b), &leaks): (&(u32, u32), &u64)| Some(SplitPairLeaks { splits: [name(a)?, name(b)?], leaks });
        self.pair_counts.iter().filter_map(pair).collect()
    }
}

/// Returns the repairs of a leak, best first: those that keep the copies in the larger split, because excluding a few samples of a smaller
/// split costs little.
pub(super) fn repairs(kind: LeakKind, places: &[LeakLocation], sizes: &HashMap<Arc<str>, u64>) -> Vec<LeakRepair> {
    let mut splits: Vec<&Arc<str>> = Vec::new();
    for place in places {
        if !splits.contains(&&place.split) {
            splits.push(&place.split);
        }
    }
    splits.sort_by_key(|split| std::cmp::Reverse(sizes.get(*split).copied().unwrap_or(0)));
    if kind == LeakKind::Shard {
        return whole_shard(places, &splits);
    }
    let mut repairs: Vec<LeakRepair> =
        splits.iter().take(MAX_REPAIRS - 1).filter_map(|keep| exclude(places, keep)).collect();
    if let [large, small] = splits.as_slice() {
        repairs.extend(moved(places, large, small));
    }
    repairs
}

fn whole_shard(places: &[LeakLocation], splits: &[&Arc<str>]) -> Vec<LeakRepair> {
    let Some(place) = places.first() else { return Vec::new() };
    let stay = |keep: &&Arc<str>| LeakRepair::Move { shard: Arc::clone(&place.shard), to: Arc::clone(keep) };
    splits.iter().take(MAX_REPAIRS).map(stay).collect()
}

/// Returns the repair that excludes every copy except those of the split `keep`.
fn exclude(places: &[LeakLocation], keep: &Arc<str>) -> Option<LeakRepair> {
    let item = |place: &LeakLocation| place.exclude_item();
    // A sample in a shard that is in two splits cannot be excluded from only one of them.
    let kept: HashSet<String> = places.iter().filter(|place| place.split == *keep).filter_map(item).collect();
    let mut items: Vec<String> = Vec::new();
    for item in places.iter().filter(|place| place.split != *keep).filter_map(item) {
        if !kept.contains(&item) && !items.contains(&item) {
            items.push(item);
        }
    }
    (!items.is_empty()).then(|| LeakRepair::Exclude { keep: Arc::clone(keep), items })
}

/// Returns the repair that moves the shard of the smaller split to the larger one, if it is the only shard of the smaller split with
/// copies.
fn moved(places: &[LeakLocation], large: &Arc<str>, small: &Arc<str>) -> Option<LeakRepair> {
    let mut theirs = places.iter().filter(|place| place.split == *small).map(|place| &place.shard);
    let shard = theirs.next()?;
    let stays = |place: &LeakLocation| place.split == *large && place.shard == *shard;
    let alone = theirs.all(|other| other == shard) && !places.iter().any(stays);
    alone.then(|| LeakRepair::Move { shard: Arc::clone(shard), to: Arc::clone(large) })
}
