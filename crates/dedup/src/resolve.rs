//! Finds the removable windows of anchors with equal keys by comparing bytes.
//!
//! A group of contexts (an anchor with the text of all windows it owns) is compared with one of them, the pivot: the number of bytes that
//! are equal to the left and to the right of the anchor. This determines all windows that equal one of the pivot's windows. The rest of a
//! context, after the first byte that differs on the left or on the right, can only equal windows of contexts that differ from the pivot at
//! the same position by the same byte. Contexts are therefore split into smaller groups with more equal bytes, until each group has one
//! member. No window is in two groups, so the work is bounded by the number of windows, and the result does not depend on hashes.

use super::anchor::{Anchor, Record};
use super::class::{Classes, Part};
use super::context::Context;
use super::distribute::distribute_and_sort;
use super::filter;
use super::interval::Interval;
use super::match_cache::{Agreement, KnownAgreement, MatchCache};
use super::passages::{Passage, Passages};
use super::{Rule, TextReader};
use gristmill_core::{Cancel, Outcome};
use prefetch_index::prefetch_index;

/// Depth from which on the pivot is the middle context, so that contexts that differ from the first step by step are halved.
const MIDDLE_PIVOT_DEPTH: u32 = 3;
/// Number of contexts whose text is prefetched.
const PREFETCH_DISTANCE: usize = 16;
/// Number of nodes whose first entries are prefetched, and number of these entries. For the next node, the text of its entries is
/// prefetched, too.
const NODES: usize = 2;
const FIRST: usize = 4;
/// Size of a cache line, in bytes.
const LINE: usize = 64;
/// Maximum number of bytes that are prefetched on each side. Beyond that, the processor detects the sequential read itself.
const MAX_PREFETCHED_BYTES: u32 = 1 << 10;
/// Number of branches from which on they are distributed into buckets before sorting.
const MIN_BUCKETED_BRANCHES: usize = 1024;
/// Number of buckets of branches.
const BUCKETS: usize = 4096;
/// Number of contexts between two checks for cancellation.
const CANCEL_CHECK_EVERY: usize = 4096;

/// Resolves any number of partitions, one after the other. Each must have all records of its keys.
pub struct Resolver {
    rule: Rule,
    passages: Passages,
    cells: Vec<u64>,
    work: ResolverBuffers,
}

/// Windows of one member of a group, at distances `near` to `far`.
#[derive(Clone, Copy)]
struct Entry {
    member: u32,
    near: u32,
    far: u32,
}

impl Entry {
    /// Returns the agreement of the entry with itself.
    fn own_agreement(&self, rule: &Rule) -> [Agreement; 2] {
        [self.far, (rule.min_length - u64::from(self.near)) as u32].map(|same| Agreement { same_bytes: same, byte: 0 })
    }
}

/// Contexts that may have equal windows. They are the last elements of [`ResolverBuffers::entries`].
#[derive(Clone, Copy)]
struct Node {
    start: usize,
    /// Number of bytes on each side that are equal in all contexts, as far as they extend.
    left: u32,
    right: u32,
    depth: u32,
}

impl Node {
    /// Prefetches the bytes of the context at `at` that are compared if it agrees with the pivot as far as the `last` context, left and
    /// right.
    #[inline]
    fn fetch<T: TextReader + ?Sized>(&self, text: &T, at: u64, last: [u32; 2]) {
        let [left, right] = last.map(|same| same.min(MAX_PREFETCHED_BYTES));
        for right in (self.right..=right.max(self.right)).step_by(LINE) {
            text.prefetch(at + u64::from(right));
        }
        for left in (self.left..=left.max(self.left)).step_by(LINE) {
            text.prefetch(at.saturating_sub(u64::from(left) + 1));
        }
    }
}

/// The difference between a context and the pivot: the side, the number of equal bytes, and the byte that differs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Branch {
    on_left: bool,
    distance: u32,
    byte: u8,
}

impl Branch {
    /// Returns all fields packed into a number.
    fn number(self) -> u64 {
        u64::from(self.distance) << 9 | u64::from(self.on_left) << 8 | u64::from(self.byte)
    }
}

/// The rest of a context after its difference from the pivot.
#[derive(Clone, Copy)]
struct BranchContext {
    branch: Branch,
    entry: Entry,
    /// Number of bytes on the other side that equal those of the pivot.
    other: u32,
}

#[derive(Default)]
struct ResolverBuffers {
    members: Vec<Part>,
    entries: Vec<Entry>,
    nodes: Vec<Node>,
    taken: Vec<Entry>,
    parts: Vec<Part>,
    branches: Vec<BranchContext>,
    unsorted: Vec<BranchContext>,
    ends: Vec<usize>,
    /// The agreement of each compared entry with the pivot, left and right. Used only if repeats are cached.
    agreed: Vec<[Agreement; 2]>,
    classes: Classes,
    spares: [Vec<u8>; 2],
}

impl Resolver {
    /// Returns a resolver for a rule.
    pub fn new(rule: &Rule) -> Self {
        Self { rule: *rule, passages: Passages::default(), cells: Vec::new(), work: ResolverBuffers::default() }
    }

    /// Compares all anchors of one partition, in any order, and clears `records`. Passes removable ranges to `found`, in no particular
    /// order and overlapping. Needs one or two bytes of memory per record, and the size of the repeated records again.
    ///
    /// # Errors
    /// The errors of `text` and `found`; text that is shorter than the records require; cancellation.
    pub fn resolve<R, T, F>(&mut self, records: &mut Vec<R>, text: &T, found: &mut F, cancel: &Cancel) -> Outcome<()>
    where
        R: Record,
        T: TextReader + ?Sized,
        F: FnMut(Interval) -> Outcome<()>,
    {
        cancel.check()?;
        filter::keep_repeated(records, &mut self.cells);
        filter::group(records);
        let (mut seen, mut start, mut touched) = (0, 0, 0);
        for group in records.chunk_by(|a, b| a.key() == b.key()) {
            seen += 1;
            if seen % CANCEL_CHECK_EVERY == 0 {
                cancel.check()?;
            }
            start += group.len();
            if touched < start + PREFETCH_DISTANCE && !self.rule.is_tiny() {
                let near = touched.max(start)..start + 2 * PREFETCH_DISTANCE;
                touched = near.end;
                records.iter().take(near.end).skip(near.start).for_each(|record| text.prefetch(record.at()));
            }
            if self.rule.is_tiny() {
                report_equal_windows(group, self.rule.min_length, found)?;
            } else if group.len() > 1 || group.iter().any(|record| record.unpack().copies > 1) {
                self.work.start(group);
                while let Some(node) = self.work.nodes.pop() {
                    self.work.fetch_next(&node, text);
                    self.work.compare(node, &self.rule, text, found, &mut self.passages, cancel)?;
                }
            }
        }
        records.clear();
        Ok(())
    }

    /// Adds a passage that was found by other code.
    pub(super) fn note(&mut self, passage: Passage) {
        self.passages.add(passage);
    }

    /// Returns the most frequent passages so far.
    pub fn passages(&self) -> &Passages {
        &self.passages
    }
}

/// Processes a group of equal windows, one for each record: all but the first are removable.
fn report_equal_windows<R, F>(group: &[R], length: u64, found: &mut F) -> Outcome<()>
where
    R: Record,
    F: FnMut(Interval) -> Outcome<()>,
{
    let Some((first, others)) = group.split_first() else { return Ok(()) };
    let first = first.at();
    others.iter().try_for_each(|one| found(Interval { start: one.at(), end: one.at() + length, first }))
}

impl ResolverBuffers {
    fn start<R: Record>(&mut self, group: &[R]) {
        self.members.clear();
        self.members.extend(group.iter().map(|record| {
            let Anchor { at, near, far, copies, period, .. } = record.unpack();
            Part { at, near, far, copies, period }
        }));
        self.entries.clear();
        let whole = |(member, part): (u32, &Part)| Entry { member, near: part.near, far: part.far };
        self.entries.extend((0..).zip(&self.members).map(whole));
        self.nodes.clear();
        self.nodes.push(Node { start: 0, left: 0, right: 0, depth: 0 });
    }

    /// Prefetches the first data of the following nodes. Most nodes have few entries, so prefetching within a node is not enough.
    fn fetch_next<T: TextReader + ?Sized>(&self, node: &Node, text: &T) {
        let mut end = node.start;
        for (number, next) in self.nodes.iter().rev().take(NODES).enumerate() {
            let entries = self.entries.get(next.start..end).unwrap_or_default();
            for entry in entries.iter().take(FIRST) {
                match number {
                    0 => next.fetch(text, self.at(*entry), [0; 2]),
                    _ => prefetch_index(self.members.as_slice(), entry.member as usize),
                }
            }
            end = next.start;
        }
    }

    /// Processes all windows that equal one of the pivot's windows, and groups the others.
    fn compare<T, F>(
        &mut self,
        node: Node,
        rule: &Rule,
        text: &T,
        found: &mut F,
        passages: &mut Passages,
        cancel: &Cancel,
    ) -> Outcome<()>
    where
        T: TextReader + ?Sized,
        F: FnMut(Interval) -> Outcome<()>,
    {
        let mut entries = std::mem::take(&mut self.taken);
        entries.clear();
        entries.extend(self.entries.drain(node.start..));
        let chosen = if node.depth < MIDDLE_PIVOT_DEPTH { 0 } else { entries.len() / 2 };
        let Some(&pivot) = entries.get(chosen) else { return Ok(()) };
        let pivot_at = self.at(pivot);
        let [spare, other_spare] = &mut self.spares;
        let (mut spare, mut pivot_text) = (Some(spare), None);
        let known = text.match_cache();
        // If nothing is counted, each repeated window after the pivot is removable.
        let at_once = rule.is_plain() && chosen == 0;
        let mut common = Passage { at: 0, len: 0, count: 1 };
        let (mut near, mut far) = (pivot.near, pivot.far);
        // The agreement of the previous context; the next one is likely to agree as far.
        let mut last = [0; 2];
        self.parts.clear();
        self.branches.clear();
        self.agreed.clear();
        for (number, entry) in entries.iter().enumerate() {
            if number % CANCEL_CHECK_EVERY == CANCEL_CHECK_EVERY - 1 {
                cancel.check()?;
            }
            // The data of a member is prefetched before its text.
            for entry in ahead(&entries, number, 2 * PREFETCH_DISTANCE) {
                prefetch_index(self.members.as_slice(), entry.member as usize);
            }
            for entry in ahead(&entries, number, PREFETCH_DISTANCE) {
                let at = self.members.get(entry.member as usize).map_or(0, |part| part.at);
                node.fetch(text, at, last);
            }
            let Some(part) = self.members.get(entry.member as usize) else { continue };
            if number == chosen {
                self.parts.push(Part { near: entry.near, far: entry.far, ..*part });
                self.agreed.push(entry.own_agreement(rule));
                continue;
            }
            let group = Group { members: &self.members, entries: &entries, agreed: &self.agreed, pivot, rule };
            let sides = match known.and_then(|known| group.agrees(part.at, *entry, known)) {
                Some(sides) => sides,
                None => {
                    let wide = known.is_some();
                    if let Some(spare) = spare.take() {
                        let place = (pivot_at, pivot.near, pivot.far);
                        pivot_text = Some(Context::read(text, place, rule, wide, spare)?);
                    }
                    let Some(pivot_text) = &pivot_text else { continue };
                    let own = Context::read(text, (part.at, entry.near, entry.far), rule, wide, other_spare)?;
                    let (sides, repeat) = own.compare(pivot_text, (node.left, node.right));
                    if let (Some(known), Some(repeat)) = (known, repeat) {
                        if repeat.end - repeat.start >= rule.min_length {
                            known.add(&repeat);
                        }
                    }
                    if !wide {
                        last = sides.map(|side| side.same_bytes);
                    }
                    sides
                }
            };
            if known.is_some() {
                self.agreed.push(sides);
            }
            let [left, right] = sides;
            // A window at a distance needs this number of bytes on the left, and the rest of its length on the right.
            let least = (rule.min_length - u64::from(right.same_bytes)) as u32;
            let most = left.same_bytes;
            if least <= most {
                if at_once {
                    let start = part.at - u64::from(most);
                    let end = part.at - u64::from(least) + rule.min_length;
                    found(Interval { start, end, first: pivot_at - u64::from(most) })?;
                } else {
                    self.parts.push(Part { near: least, far: most, ..*part });
                }
                if near.max(least) <= far.min(most) {
                    (near, far) = (near.max(least), far.min(most));
                    common.count += u64::from(part.copies);
                }
            }
            if entry.far > most {
                let branch = Branch { on_left: true, distance: most, byte: left.byte };
                let entry = Entry { near: entry.near.max(most + 1), ..*entry };
                self.branches.push(BranchContext { branch, entry, other: right.same_bytes });
            }
            if least > entry.near && most >= entry.near {
                let branch = Branch { on_left: false, distance: right.same_bytes, byte: right.byte };
                let entry = Entry { far: entry.far.min(most).min(least - 1), ..*entry };
                self.branches.push(BranchContext { branch, entry, other: most });
            }
        }
        common.at = pivot_at - u64::from(far);
        common.len = u64::from(far - near) + rule.min_length;
        passages.add(common);
        self.taken = entries;
        if !at_once {
            self.classes.report_removable(&self.parts, rule, found)?;
        }
        self.branch(node);
        Ok(())
    }

    fn at(&self, entry: Entry) -> u64 {
        self.members.get(entry.member as usize).map_or(0, |part| part.at)
    }

    /// Groups contexts that differ from the pivot in the same way, for comparison with each other.
    fn branch(&mut self, node: Node) {
        self.group_branches();
        for alike in self.branches.chunk_by(|a, b| a.branch == b.branch) {
            let Some(BranchContext { branch, entry, .. }) = alike.first() else { continue };
            let copies = self.members.get(entry.member as usize).map_or(1, |part| part.copies);
            if alike.len() < 2 && copies < 2 {
                continue;
            }
            let depth = node.depth + 1;
            let start = self.entries.len();
            self.entries.extend(alike.iter().map(|one| one.entry));
            // All agree with the pivot to this extent on the other side, and therefore with each other.
            let other = alike.iter().map(|one| one.other).min().unwrap_or_default();
            self.nodes.push(match branch.on_left {
                true => Node { start, left: branch.distance + 1, right: node.right.max(other), depth },
                false => Node { start, left: node.left.max(other), right: branch.distance + 1, depth },
            });
        }
    }
}

impl ResolverBuffers {
    /// Groups equal branches, with the members of each in order.
    fn group_branches(&mut self) {
        let key = |one: &BranchContext| (one.branch, one.entry.member);
        if self.branches.len() < MIN_BUCKETED_BRANCHES {
            self.branches.sort_unstable_by_key(key);
            return;
        }
        // Among many branches, most are equal, and their members are already in order, so sorting a bucket is fast.
        let bucket = |one: &BranchContext| (filter::spread(one.branch.number()) >> (64 - BUCKETS.ilog2())) as usize;
        let Self { branches, unsorted, ends, .. } = self;
        distribute_and_sort(branches, unsorted, ends, BUCKETS, bucket, key);
    }
}

/// Returns the entries that enter the prefetch window at entry `number`. The window ends `reach` entries later.
fn ahead(entries: &[Entry], number: usize, reach: usize) -> &[Entry] {
    let from = if number == 0 { 1 } else { number + reach };
    entries.get(from..entries.len().min(number + reach + 1)).unwrap_or_default()
}

/// Contexts, some of which have been compared with the pivot.
struct Group<'a> {
    members: &'a [Part],
    entries: &'a [Entry],
    /// The agreement of each entry compared so far.
    agreed: &'a [[Agreement; 2]],
    pivot: Entry,
    rule: &'a Rule,
}

impl Group<'_> {
    /// Returns the agreement of the context at `at` with the pivot, if it follows from known repeats and from an earlier context.
    fn agrees(&self, at: u64, entry: Entry, known: &MatchCache) -> Option<[Agreement; 2]> {
        let place = |entry: &Entry| self.members.get(entry.member as usize).map_or(0, |part| part.at);
        known.around(at).find_map(|repeat| {
            let wanted = at.checked_sub(repeat.distance)?;
            let (other, agrees) = if wanted == place(&self.pivot) {
                (&self.pivot, self.pivot.own_agreement(self.rule))
            } else {
                let before = self.entries.get(..self.agreed.len())?;
                let number = before.binary_search_by_key(&wanted, place).ok()?;
                (before.get(number)?, *self.agreed.get(number)?)
            };
            let reach =
                |entry: &Entry, side: usize| entry.own_agreement(self.rule).get(side).map_or(0, |side| side.same_bytes);
            let side = |number: usize, same: u64, next: Option<u8>| {
                let (own, other, pivot) = (reach(&entry, number), reach(other, number), reach(&self.pivot, number));
                let agrees = *agrees.get(number)?;
                KnownAgreement { own, other, agrees, pivot }.side(u32::try_from(same).unwrap_or(u32::MAX), next)
            };
            Some([side(0, at - repeat.start, repeat.before)?, side(1, repeat.end - at, repeat.after)?])
        })
    }
}
