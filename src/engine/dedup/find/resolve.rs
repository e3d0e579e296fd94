//! Anchors with equal keys -> removable windows, by comparing bytes.
//!
//! A group of contexts (an anchor with the text of all windows it owns) is compared with one of them, the pivot: how many bytes agree to
//! the left and to the right of the anchor. That settles all windows that equal one of the pivot's. What remains of a context lies
//! beyond the first byte that differs, on the left or on the right, and can only equal windows of contexts that differ from the pivot at the
//! same place, by the same byte. So contexts fall into smaller groups, which agree on more bytes each time, until they are alone.
//! No window is in two groups, so the work cannot grow beyond the windows there are, and no hash is trusted.

use super::anchor::{Anchor, Record};
use super::bytes::{common_prefix, common_suffix};
use super::class::{Classes, Part};
use super::filter;
use super::interval::Interval;
use super::passages::{Passage, Passages};
use super::{Rule, TextAt};
use crate::model::{Cancel, Failure, Outcome};

/// From this depth on the pivot is taken from the middle, so that contexts which differ step by step from the first are halved.
const DEEP: u32 = 3;
/// Contexts whose text is fetched ahead of the one that is compared.
const AHEAD: usize = 16;
/// Contexts between two looks at whether the run was cancelled.
const BREATH: usize = 4096;

/// Resolves partitions, one after the other. It may take any number of them; each holds all records of its keys.
pub struct Resolver {
    rule: Rule,
    passages: Passages,
    cells: Vec<u64>,
    work: Work,
}

/// Windows of one member of a group: those at distances `near` to `far`.
#[derive(Clone, Copy)]
struct Entry {
    member: u32,
    near: u32,
    far: u32,
}

/// Contexts that may have equal windows; they are the last entries of [`Work::entries`].
#[derive(Clone, Copy)]
struct Node {
    start: usize,
    /// Bytes on which all agree, as far as they reach.
    left: u32,
    right: u32,
    depth: u32,
}

/// What differs from the pivot: on the right or on the left, behind how many bytes, by which byte.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Branch {
    on_left: bool,
    behind: u32,
    byte: u8,
}

#[derive(Default)]
struct Work {
    members: Vec<Part>,
    entries: Vec<Entry>,
    nodes: Vec<Node>,
    taken: Vec<Entry>,
    parts: Vec<Part>,
    branches: Vec<(Branch, Entry)>,
    classes: Classes,
    spares: [Vec<u8>; 2],
}

impl Resolver {
    /// A resolver for one rule.
    pub fn new(rule: &Rule) -> Self {
        Self { rule: *rule, passages: Passages::default(), cells: Vec::new(), work: Work::default() }
    }

    /// Compares all anchors of one partition, which come in any order and are used up. What is removable goes to `found`, in no order
    /// and overlapping. Memory beside the records: a byte or two for each, and the repeated ones once more.
    ///
    /// # Errors
    /// Those of `text` and `found`; text that is shorter than the records say; cancellation.
    pub fn resolve<R, T, F>(&mut self, records: &mut Vec<R>, text: &T, found: &mut F, cancel: &Cancel) -> Outcome<()>
    where
        R: Record,
        T: TextAt + ?Sized,
        F: FnMut(Interval) -> Outcome<()>,
    {
        cancel.check()?;
        filter::keep_repeated(records, &mut self.cells);
        filter::group(records);
        let (mut seen, mut start, mut touched) = (0, 0, 0);
        for group in records.chunk_by(|a, b| a.key() == b.key()) {
            seen += 1;
            if seen % BREATH == 0 {
                cancel.check()?;
            }
            start += group.len();
            if touched < start + AHEAD && !self.rule.is_tiny() {
                let near = touched.max(start)..start + 2 * AHEAD;
                touched = near.end;
                records.iter().take(near.end).skip(near.start).for_each(|record| text.touch(record.at()));
            }
            if self.rule.is_tiny() {
                settle_tiny(group, self.rule.min_length, found)?;
            } else if group.len() > 1 || group.iter().any(|record| record.unpack().copies > 1) {
                self.work.start(group);
                while let Some(node) = self.work.nodes.pop() {
                    self.work.compare(node, &self.rule, text, found, &mut self.passages, cancel)?;
                }
            }
        }
        records.clear();
        Ok(())
    }

    /// Notes a passage that was found on another way.
    pub(super) fn note(&mut self, passage: Passage) {
        self.passages.add(passage);
    }

    /// The most repeated passages so far.
    pub fn passages(&self) -> &Passages {
        &self.passages
    }
}

/// Equal windows, each a record: all but the first are removable.
fn settle_tiny<R, F>(group: &[R], length: u64, found: &mut F) -> Outcome<()>
where
    R: Record,
    F: FnMut(Interval) -> Outcome<()>,
{
    let Some((first, others)) = group.split_first() else { return Ok(()) };
    let first = first.at();
    others.iter().try_for_each(|one| found(Interval { start: one.at(), end: one.at() + length, first }))
}

impl Work {
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

    /// Settles all windows that equal one of a pivot, and makes groups of the others.
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
        T: TextAt + ?Sized,
        F: FnMut(Interval) -> Outcome<()>,
    {
        let mut entries = std::mem::take(&mut self.taken);
        entries.clear();
        entries.extend(self.entries.drain(node.start..));
        let chosen = if node.depth < DEEP { 0 } else { entries.len() / 2 };
        let Some(&pivot) = entries.get(chosen) else { return Ok(()) };
        let pivot_at = self.at(pivot);
        let [spare, other_spare] = &mut self.spares;
        let pivot_text = context(text, pivot_at, pivot, rule, spare)?;
        // Behind the pivot, each repeated window is removable where nothing is counted.
        let at_once = rule.is_plain() && chosen == 0;
        let mut common = Passage { at: 0, len: 0, count: 1 };
        let (mut near, mut far) = (pivot.near, pivot.far);
        self.parts.clear();
        self.branches.clear();
        for (number, entry) in entries.iter().enumerate() {
            if number % BREATH == BREATH - 1 {
                cancel.check()?;
            }
            if number % AHEAD == 0 {
                for near in entries.iter().skip(number + 1).take(AHEAD) {
                    let at = self.members.get(near.member as usize).map_or(0, |part| part.at);
                    text.touch(at + u64::from(node.right));
                    text.touch(at.saturating_sub(u64::from(node.left) + 1));
                }
            }
            let Some(part) = self.members.get(entry.member as usize) else { continue };
            if number == chosen {
                self.parts.push(Part { near: entry.near, far: entry.far, ..*part });
                continue;
            }
            let own = context(text, part.at, *entry, rule, other_spare)?;
            let left = agreed(node.left, own.left.len(), pivot_text.left.len(), |known| {
                common_suffix(own.left_beyond(known), pivot_text.left_beyond(known))
            });
            let right = agreed(node.right, own.right.len(), pivot_text.right.len(), |known| {
                common_prefix(own.right_beyond(known), pivot_text.right_beyond(known))
            });
            // A window at a distance needs so many bytes to the left, and the rest of its length to the right.
            let least = (rule.min_length - right as u64) as u32;
            let most = left as u32;
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
                let branch = Branch { on_left: true, behind: most, byte: own.left_at(left) };
                self.branches.push((branch, Entry { near: entry.near.max(most + 1), ..*entry }));
            }
            if least > entry.near && most >= entry.near {
                let branch = Branch { on_left: false, behind: right as u32, byte: own.right_at(right) };
                self.branches.push((branch, Entry { far: entry.far.min(most).min(least - 1), ..*entry }));
            }
        }
        common.at = pivot_at - u64::from(far);
        common.len = u64::from(far - near) + rule.min_length;
        passages.add(common);
        self.taken = entries;
        if !at_once {
            self.classes.settle(&self.parts, rule, found)?;
        }
        self.branch(node);
        Ok(())
    }

    fn at(&self, entry: Entry) -> u64 {
        self.members.get(entry.member as usize).map_or(0, |part| part.at)
    }

    /// Contexts that differ from the pivot in the same way are compared among each other.
    fn branch(&mut self, node: Node) {
        if self.branches.len() > 1 {
            self.branches.sort_unstable_by_key(|(branch, entry)| (*branch, entry.member));
        }
        for alike in self.branches.chunk_by(|a, b| a.0 == b.0) {
            let Some((branch, first)) = alike.first() else { continue };
            let copies = self.members.get(first.member as usize).map_or(1, |part| part.copies);
            if alike.len() < 2 && copies < 2 {
                continue;
            }
            let depth = node.depth + 1;
            let start = self.entries.len();
            self.entries.extend(alike.iter().map(|(_, entry)| *entry));
            self.nodes.push(match branch.on_left {
                true => Node { start, left: branch.behind + 1, depth, ..node },
                false => Node { start, right: branch.behind + 1, depth, ..node },
            });
        }
    }
}

/// The text of all windows of an entry.
struct Context<'a> {
    left: &'a [u8],
    right: &'a [u8],
}

impl<'a> Context<'a> {
    fn left_beyond(&self, known: usize) -> &'a [u8] {
        &self.left[..self.left.len().saturating_sub(known)]
    }
    fn right_beyond(&self, known: usize) -> &'a [u8] {
        &self.right[known.min(self.right.len())..]
    }
    /// The byte behind `behind` others, away from the anchor.
    fn left_at(&self, behind: usize) -> u8 {
        self.left.iter().rev().nth(behind).copied().unwrap_or(0)
    }
    fn right_at(&self, behind: usize) -> u8 {
        self.right.get(behind).copied().unwrap_or(0)
    }
}

/// On how many bytes two contexts agree, knowing that the first `known` do as far as they are there.
#[inline]
fn agreed(known: u32, own: usize, other: usize, further: impl FnOnce(usize) -> usize) -> usize {
    let (known, most) = (known as usize, own.min(other));
    match known < most {
        true => known + further(known),
        false => most,
    }
}

fn context<'a, T: TextAt + ?Sized>(
    text: &'a T,
    at: u64,
    entry: Entry,
    rule: &Rule,
    spare: &'a mut Vec<u8>,
) -> Outcome<Context<'a>> {
    let Entry { near, far, .. } = entry;
    let anchor = Anchor { key: 0, at, near, far, copies: 1, period: 0 };
    let (left, right) = context_bytes(text, &anchor, rule, spare)?.split_at(far as usize);
    Ok(Context { left, right })
}

/// The text of all windows of an anchor, of which the first `far` bytes lie before it.
#[inline]
pub(super) fn context_bytes<'a, T: TextAt + ?Sized>(
    text: &'a T,
    anchor: &Anchor,
    rule: &Rule,
    spare: &'a mut Vec<u8>,
) -> Outcome<&'a [u8]> {
    let wanted = anchor.far as usize + (rule.min_length - u64::from(anchor.near)) as usize;
    let bytes = text.read(anchor.at.saturating_sub(u64::from(anchor.far)), wanted, spare)?;
    match bytes.len() == wanted {
        true => Ok(bytes),
        false => Err(Failure::data("reading text back", "it is shorter than it was when it was searched")),
    }
}
