//! Samples that a metadataset reads more than once: through several members of one split, or in several splits.
//!
//! A data set is identified independently of the path that leads to it. Joined data sets are not compared, because their samples are new
//! ones.

use super::facts::{MixNode, MixNodeKind, MixSplit};
use super::sets::{SplitView, WebSet};
use gristmill_core::text::{count, percent};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Maximum number of ranges that are compared; further members are not compared.
const MAX_RANGES: usize = 4_000_000;
/// Maximum number of locations and names in one message.
const MAX_NAMED: usize = 3;

/// A use of a data set by a member.
pub(super) struct Usage {
    /// The data set, links resolved.
    pub(super) identity: PathBuf,
    /// Position of the split in the outermost file.
    pub(super) split: usize,
    /// The path as written. Raw.
    pub(super) label: String,
    /// File and line, of a file that is written. Raw.
    pub(super) place: Option<String>,
    pub(super) is_jsonl: bool,
    /// Samples that the member reads, as ranges of positions in the data set.
    ranges: Vec<(u64, u64)>,
}

/// All uses of data sets, in the order of the tree.
#[derive(Default)]
pub(super) struct MemberUses {
    all: Vec<Usage>,
    ranges: usize,
}

/// Samples that are read more than once.
pub(super) struct Overlap {
    /// Position of the split in the outermost file; the first one if there are several.
    pub(super) split: usize,
    pub(super) message: String,
    pub(super) hint: &'static str,
    /// Whether several splits read the samples.
    pub(super) is_over_splits: bool,
}

impl MemberUses {
    /// Adds a member that reads the samples from `start` to `end` of a split of a WebDataset, without those at `excluded` positions.
    pub(super) fn add_web(
        &mut self,
        usage: Usage,
        (set, view): (&WebSet, &SplitView),
        excluded: &[u64],
        (start, end): (u64, u64),
    ) {
        let mut begins = Vec::with_capacity(set.info.shard_counts.len());
        let mut total = 0u64;
        for (_, samples) in &set.info.shard_counts {
            begins.push(total);
            total = total.saturating_add(*samples);
        }
        let (mut ranges, mut at): (Vec<(u64, u64)>, u64) = (Vec::new(), 0);
        for (shard, samples, _) in view.shards.iter().filter(|(_, _, is_excluded)| !is_excluded) {
            let (mut from, to) = (at.max(start), at.saturating_add(*samples).min(end));
            let begin = begins.get(*shard as usize).copied().unwrap_or(0);
            let first_excluded = excluded.partition_point(|position| *position < from);
            let is_in_shard = |position: &&u64| **position < to;
            for gap in excluded.iter().skip(first_excluded).take_while(is_in_shard).chain([&to]) {
                if from < *gap {
                    ranges.push((begin + (from - at), begin + (gap - at)));
                }
                from = from.max(gap.saturating_add(1));
            }
            at = at.saturating_add(*samples);
        }
        self.add(usage, ranges);
    }

    /// Adds a member that reads these ranges of positions.
    pub(super) fn add(&mut self, mut usage: Usage, mut ranges: Vec<(u64, u64)>) {
        ranges.sort_unstable();
        for (from, to) in ranges {
            match usage.ranges.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ if from < to => usage.ranges.push((from, to)),
                _ => {}
            }
        }
        self.ranges += usage.ranges.len();
        if self.ranges > MAX_RANGES {
            usage.ranges = Vec::new();
        }
        self.all.push(usage);
    }

    /// Finds the samples that are read more than once, separately for each data set.
    pub(super) fn overlaps(&self, splits: &[MixSplit]) -> Vec<Overlap> {
        let mut shares = Vec::with_capacity(self.all.len());
        splits.iter().for_each(|split| shares_of_leaves(&split.root, &mut shares));
        let mut by_set: BTreeMap<&PathBuf, Vec<usize>> = BTreeMap::new();
        for (number, usage) in self.all.iter().enumerate() {
            by_set.entry(&usage.identity).or_default().push(number);
        }
        let mut sets: Vec<Vec<usize>> = by_set.into_values().filter(|usages| usages.len() > 1).collect();
        sets.sort_unstable();
        let mut found = Vec::new();
        for usages in &sets {
            let sweep = self.sweep(usages);
            found.extend(self.within_splits(&sweep, splits, &shares));
            found.extend(self.over_splits(usages, &sweep, splits));
        }
        found
    }

    /// Finds the overlapping ranges of one data set by a sweep over their positions.
    fn sweep(&self, usages: &[usize]) -> OverlapSweep {
        let mut events: Vec<(u64, bool, usize)> = Vec::new();
        for &number in usages {
            for &(from, to) in self.all.get(number).map_or(&[][..], |usage| &usage.ranges) {
                events.extend([(from, true, number), (to, false, number)]);
            }
        }
        // At equal positions, ends of ranges sort before beginnings.
        events.sort_unstable();
        let mut sweep = OverlapSweep::default();
        let (mut open, mut last): (BTreeMap<usize, OpenMembers>, u64) = (BTreeMap::new(), 0);
        for (at, is_begin, number) in events {
            let Some(split) = self.all.get(number).map(|usage| usage.split) else { continue };
            if open.len() > 1 {
                sweep.shared += at - last;
            }
            last = at;
            if !is_begin {
                if let Some(state) = open.get_mut(&split).filter(|state| state.count > 1) {
                    state.count -= 1;
                } else {
                    open.remove(&split);
                }
                continue;
            }
            let is_new = !open.contains_key(&split);
            let state = open.entry(split).or_default();
            state.count += 1;
            state.unmarked.push(number);
            if state.count > 1 {
                sweep.repeated.entry(split).or_default().extend(state.unmarked.drain(..));
            }
            if is_new && open.len() > 1 {
                sweep.splits.extend(open.keys());
            }
        }
        sweep
    }

    fn within_splits(&self, sweep: &OverlapSweep, splits: &[MixSplit], shares: &[f64]) -> Vec<Overlap> {
        let mut found = Vec::new();
        for (&split, numbers) in sweep.repeated.iter().filter(|(_, numbers)| numbers.len() > 1) {
            let usages: Vec<&Usage> = numbers.iter().filter_map(|number| self.all.get(*number)).collect();
            let (Some(first), Some(name)) = (usages.first(), splits.get(split).map(|split| &split.name)) else {
                continue;
            };
            let share: f64 = numbers.iter().filter_map(|number| shares.get(*number)).sum();
            let ranges = match usages.iter().all(|usage| usage.ranges == first.ranges) {
                true => "",
                false => " in ranges that overlap",
            };
            let message = format!(
                "{name} contains '{}' {} times{ranges}, together {} of its samples{}",
                first.label,
                usages.len(),
                percent(share),
                places(usages.iter().filter_map(|usage| usage.place.clone())),
            );
            let hint = "the loader may return the same samples at the same time: name it once with the sum of the \
                        weights, or give each member a range of its own with 'subset'";
            found.push(Overlap { split, message, hint, is_over_splits: false });
        }
        found
    }

    fn over_splits(&self, usages: &[usize], sweep: &OverlapSweep, splits: &[MixSplit]) -> Option<Overlap> {
        let split = *sweep.splits.first()?;
        let first = usages.iter().filter_map(|number| self.all.get(*number)).find(|usage| usage.split == split)?;
        let names = sweep.splits.iter().filter_map(|split| splits.get(*split)).map(|split| split.name.clone());
        let (noun, why) = match first.is_jsonl {
            true => ("line", ": a JSONL file has no splits"),
            false => ("sample", ""),
        };
        let hint = match first.is_jsonl {
            true => "keep it in one split, or give it ranges that do not overlap with 'subset'",
            false => "use another split of it with 'split_part', or ranges that do not overlap with 'subset'",
        };
        let message = format!(
            "{} share {} of '{}'{}{why}",
            list(names),
            count(sweep.shared, noun),
            first.label,
            places(first.place.clone().into_iter())
        );
        Some(Overlap { split, message, hint, is_over_splits: true })
    }
}

impl Usage {
    pub(super) fn new(identity: PathBuf, split: usize, label: &str, place: Option<String>, is_jsonl: bool) -> Self {
        Self { identity, split, label: label.to_owned(), place, is_jsonl, ranges: Vec::new() }
    }
}

/// Members of one split whose ranges contain the current position.
#[derive(Default)]
struct OpenMembers {
    count: u32,
    /// Open members that have not overlapped with another member so far.
    unmarked: Vec<usize>,
}

/// The overlaps of the ranges of one data set.
#[derive(Default)]
struct OverlapSweep {
    /// Number of samples that more than one split reads.
    shared: u64,
    /// Splits that read shared samples.
    splits: BTreeSet<usize>,
    /// Per split: members that read samples which another member of the split also reads.
    repeated: BTreeMap<usize, BTreeSet<usize>>,
}

/// Collects the shares of the members in [`MemberUses`], in the same order.
fn shares_of_leaves(node: &MixNode, shares: &mut Vec<f64>) {
    match node.kind {
        MixNodeKind::WebDataset | MixNodeKind::Jsonl => shares.push(node.share),
        MixNodeKind::Join => {}
        _ => node.children.iter().for_each(|child| shares_of_leaves(child, shares)),
    }
}

/// Formats places in parentheses; nothing if there are none.
fn places(places: impl Iterator<Item = String>) -> String {
    match list(places) {
        places if places.is_empty() => places,
        places => format!(" ({places})"),
    }
}

/// Formats a share as percent with at most one decimal place.
/// Formats `a, b and c`; if there are many items, only the first ones and the number of the others.
pub(super) fn list(items: impl Iterator<Item = String>) -> String {
    let mut items: Vec<String> = items.collect();
    items.dedup();
    if items.len() > MAX_NAMED {
        let others = items.len() - MAX_NAMED;
        items.truncate(MAX_NAMED);
        items.push(count(others as u64, "other"));
    }
    match items.split_last() {
        Some((last, front)) if !front.is_empty() => format!("{} and {last}", front.join(", ")),
        _ => items.concat(),
    }
}
