//! Text that is small enough to be searched as a run would search it, for an estimate.

use super::source::Line;
use crate::engine::dedup::find::{find_with, Estimate, Interval, Passage, Rule};
use crate::engine::dedup::write_back::Pieces as _;
use crate::model::{Cancel, Outcome};

/// Text that is searched, each document behind a separator, with where these are in it and among all places.
#[derive(Default)]
pub(super) struct Held {
    text: Vec<u8>,
    documents: Vec<(u64, u64)>,
}

impl Held {
    /// Adds what another one holds, behind it.
    pub(super) fn join(&mut self, other: Self) {
        let base = self.text.len() as u64;
        self.documents.extend(other.documents.iter().map(|(start, place)| (base + start, *place)));
        self.text.extend_from_slice(&other.text);
    }

    /// What a rule would remove of the documents from the place `own` on.
    pub(super) fn estimate(&self, rule: &Rule, own: u64, most: usize, cancel: &Cancel) -> Outcome<Estimate> {
        let found = find_with(&self.text, rule, cancel)?;
        let first = self.documents.partition_point(|document| document.1 < own);
        let start = self.documents.get(first).map_or(u64::MAX, |document| document.0);
        let counted = found.intervals.iter().filter(|interval| interval.start >= start);
        let place = |passage: Passage| {
            let number = self.documents.partition_point(|document| document.0 <= passage.at).saturating_sub(1);
            let (start, place) = self.documents.get(number).copied().unwrap_or_default();
            Passage { at: place + passage.at.saturating_sub(start + 1), ..passage }
        };
        let removable = counted.map(|Interval { start, end, .. }| end - start).sum();
        Ok(Estimate {
            bytes: self.text.len() as u64 - self.documents.len() as u64,
            removable,
            margin: 0,
            least: removable,
            most: Some(removable),
            sampled: self.text.len() as u64,
            passages: found.passages.shown(most, rule.min_length).into_iter().map(place).collect(),
        })
    }
}

/// Keeps the text of a document; returns the bytes of it.
pub(super) fn hold(line: &Line<'_>, place: u64, held: &mut Held, spare: &mut String) -> Outcome<u64> {
    held.documents.push((held.text.len() as u64, place));
    held.text.push(0xff);
    line.each_piece(spare, &mut |piece| {
        held.text.extend_from_slice(piece.as_bytes());
        Ok(())
    })
}
