//! Assigns samples to the sets that are written: one set of all parts, or one set of the media and one of the other parts.

use super::divide::{Divider, PlannedShards};
use super::lines::{LineList, PlannedLines};
use super::record::ListedSample;
use super::sample::Part;
use gristmill_core::Outcome;
use std::collections::BTreeMap;

/// The parts that a set gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartKind {
    All,
    Media,
    Rest,
}

impl PartKind {
    fn has(self, part: &Part) -> bool {
        match self {
            Self::All => true,
            Self::Media => part.is_media(),
            Self::Rest => !part.is_media(),
        }
    }
}

/// Number of samples of each split, for each set.
pub(super) type SplitCounts = Vec<BTreeMap<String, u64>>;

/// All sets of a run.
pub(super) struct SetWriters<'a> {
    sets: Vec<(PartKind, Divider<'a>)>,
    /// Samples that become text lines.
    lines: Option<LineList>,
    record: Vec<u8>,
}

impl<'a> SetWriters<'a> {
    pub(super) fn new(sets: Vec<(PartKind, Divider<'a>)>, lines: Option<LineList>) -> Self {
        Self { sets, lines, record: Vec::new() }
    }

    /// Counts a sample for each set that gets parts of it.
    pub(super) fn count(&self, split: &str, listed: &ListedSample, counts: &mut SplitCounts) {
        counts.resize_with(self.sets.len(), BTreeMap::new);
        for ((kind, _), counts) in self.sets.iter().zip(counts) {
            if listed.sample.parts.iter().any(|part| kind.has(part)) {
                match counts.get_mut(split) {
                    Some(count) => *count += 1,
                    None => _ = counts.insert(split.to_owned(), 1),
                }
            }
        }
    }

    /// Sets the number of samples of each split.
    pub(super) fn expect(&mut self, counts: &SplitCounts) {
        self.sets.iter_mut().zip(counts).for_each(|((_, divider), counts)| divider.expect(counts));
    }

    /// Adds the next sample; `record` is its encoded form.
    pub(super) fn push(&mut self, split: &str, listed: &ListedSample, record: &[u8]) -> Outcome<()> {
        if let Some(lines) = &mut self.lines {
            lines.push(record)?;
        }
        for (kind, divider) in &mut self.sets {
            if *kind == PartKind::All {
                divider.push(split, listed, record)?;
                continue;
            }
            let mut of_set = listed.clone();
            of_set.sample.parts.retain(|part| kind.has(part));
            if !of_set.sample.parts.is_empty() {
                self.record.clear();
                of_set.encode(&mut self.record);
                divider.push(split, &of_set, &self.record)?;
            }
        }
        Ok(())
    }

    /// Returns the shards of each set, and the samples that become lines.
    pub(super) fn finish(self) -> Outcome<(Vec<PlannedShards>, Option<PlannedLines>)> {
        let sets = self.sets.into_iter().map(|(_, divider)| divider.finish()).collect::<Outcome<_>>()?;
        Ok((sets, self.lines.map(LineList::finish).transpose()?))
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::Origin;
    use super::*;

    #[test]
    fn media_are_recognized_by_their_last_extension() {
        let part = |name: &[u8]| Part { name: name.to_vec(), bytes: 0, origin: Origin::Bytes(Vec::new()) };
        for (name, expected) in [
            (&b"jpg"[..], true),
            (b"left.PNG", true),
            (b"mp4", true),
            (b"json", false),
            (b"png.txt", false),
            (b"", false),
            (b"\xff", false),
        ] {
            assert_eq!(part(name).is_media(), expected, "{name:?}");
            assert_ne!(PartKind::Media.has(&part(name)), PartKind::Rest.has(&part(name)));
            assert!(PartKind::All.has(&part(name)));
        }
    }
}
