//! The rows of the sample list that are known: what is in view and a little around it, fetched piece by piece.
//!
//! A row that is not there yet is drawn as its number; nobody waits for it. Pieces have fixed borders, so that scrolling asks
//! for few of them, and the one that is being read when the list moves on is not read twice.

use super::listing::Listing;
use gristmill_core::Outcome;
use gristmill_ops::engine::browse::{BrowseSample, Groups, SampleAt};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Rows of one piece.
const PIECE: u64 = 32;
/// Rows that are kept, at most; those far from the view go first.
const MAX_KEPT_ROWS: usize = 4_096;

/// What is known of a row.
#[derive(Clone, Debug)]
pub enum Row {
    /// The sample.
    Ready(Arc<BrowseSample>),
    /// It cannot be read; why. Raw.
    Failed(Arc<str>),
}

/// Samples that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first.
    pub from: SampleAt,
    /// How many, over the borders of groups.
    pub count: usize,
}

/// What is fetched in one go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowRequest {
    /// Grows when everything is to be read again.
    pub round: u64,
    /// The samples.
    pub spans: Vec<Span>,
}

/// What came of fetching a piece.
pub struct Fetched {
    /// What was asked.
    pub piece: RowRequest,
    /// The samples of each span, as many as there were.
    pub spans: Vec<Outcome<Vec<BrowseSample>>>,
}

/// The rows that are known.
#[derive(Default)]
pub struct Rows {
    known: HashMap<SampleAt, Row>,
    wanted: Vec<RowRequest>,
    round: u64,
    /// What was asked in an earlier round is of no use any more.
    valid_from: u64,
}

impl Rows {
    /// What is known of a sample.
    pub fn get(&self, at: SampleAt) -> Option<&Row> {
        self.known.get(&at)
    }

    /// The sample, when it is there.
    pub fn sample(&self, at: SampleAt) -> Option<&Arc<BrowseSample>> {
        match self.known.get(&at) {
            Some(Row::Ready(sample)) => Some(sample),
            _ => None,
        }
    }

    /// The samples that are there, in no order.
    pub fn samples(&self) -> impl Iterator<Item = &Arc<BrowseSample>> {
        self.known.values().filter_map(|row| match row {
            Row::Ready(sample) => Some(sample),
            Row::Failed(_) => None,
        })
    }

    /// Forgets what could not be read: it may be there now.
    pub fn forget_failed(&mut self) {
        self.known.retain(|_, row| matches!(row, Row::Ready(_)));
        self.wanted.clear();
        self.round += 1;
    }

    /// Whether nothing is known of a sample but why.
    pub fn has_failed(&self, at: SampleAt) -> bool {
        matches!(self.known.get(&at), Some(Row::Failed(_)))
    }

    /// Forgets everything, and what is on its way.
    pub fn forget_all(&mut self) {
        self.known.clear();
        self.wanted.clear();
        self.round += 1;
        self.valid_from = self.round;
    }

    /// What is still to be fetched for the rows in view, most urgent first; `None` when that is what was asked for last.
    pub fn wanted(&mut self, view: Range<u64>, listing: &Listing, groups: &Groups) -> Option<Vec<RowRequest>> {
        self.drop_far(&view, listing, groups);
        let len = listing.len(groups);
        let height = view.end.saturating_sub(view.start).max(1);
        let around = view.start.saturating_sub(height)..view.end.saturating_add(height).min(len);
        let mut pieces: Vec<u64> = (around.start / PIECE..around.end.div_ceil(PIECE)).collect();
        let middle = (view.start + view.end) / 2 / PIECE;
        let in_view = |piece: u64| piece * PIECE < view.end && (piece + 1) * PIECE > view.start;
        pieces.sort_by_key(|&piece| (!in_view(piece), piece.abs_diff(middle)));
        let round = self.round;
        let wanted: Vec<RowRequest> = pieces
            .into_iter()
            .filter_map(|piece| {
                let rows = piece * PIECE..((piece + 1) * PIECE).min(len);
                let spans = self.missing(rows, listing, groups);
                (!spans.is_empty()).then_some(RowRequest { round, spans })
            })
            .collect();
        if wanted == self.wanted {
            return None;
        }
        self.wanted.clone_from(&wanted);
        Some(wanted)
    }

    /// The samples of some rows as spans; none when all of them are known.
    fn missing(&self, rows: Range<u64>, listing: &Listing, groups: &Groups) -> Vec<Span> {
        let mut spans: Vec<Span> = Vec::new();
        let mut is_missing = false;
        let mut next: Option<SampleAt> = None;
        for row in rows {
            let Some(at) = listing.at(row, groups) else { break };
            is_missing |= !self.known.contains_key(&at);
            match spans.last_mut() {
                Some(span) if next == Some(at) => span.count += 1,
                _ => spans.push(Span { from: at, count: 1 }),
            }
            next = groups.locate(groups.number(at) + 1);
        }
        if is_missing {
            spans
        } else {
            Vec::new()
        }
    }

    /// Takes what was fetched. Returns whether something to be drawn changed.
    pub fn take(&mut self, fetched: Fetched, groups: &Groups) -> bool {
        if fetched.piece.round < self.valid_from {
            return false;
        }
        // What was missing when it was asked for may be there by now; it is asked for again.
        let is_current = fetched.piece.round == self.round;
        for (span, result) in fetched.piece.spans.iter().zip(fetched.spans) {
            let reason: Arc<str> = match result {
                Ok(samples) => {
                    for sample in samples {
                        let at = sample.at;
                        let row = match &sample.defect {
                            // Nothing is known of it but why.
                            Some(why) if sample.key.is_empty() && sample.parts.is_empty() => {
                                Row::Failed(Arc::clone(why))
                            }
                            _ => Row::Ready(Arc::new(sample)),
                        };
                        self.known.insert(at, row);
                    }
                    "it is not there any more; F5 reads again".into()
                }
                Err(failure) if failure.is_cancelled() => continue,
                Err(failure) => failure.to_string().into(),
            };
            if !is_current {
                continue;
            }
            let first = groups.number(span.from);
            for at in (first..first + span.count as u64).filter_map(|number| groups.locate(number)) {
                self.known.entry(at).or_insert_with(|| Row::Failed(Arc::clone(&reason)));
            }
        }
        true
    }

    fn drop_far(&mut self, view: &Range<u64>, listing: &Listing, groups: &Groups) {
        if self.known.len() <= MAX_KEPT_ROWS {
            return;
        }
        let near = MAX_KEPT_ROWS as u64 / 8;
        let (low, high) = (view.start.saturating_sub(near), view.end.saturating_add(near));
        let keeps = |at: &SampleAt| (low..high).contains(&listing.row_of(*at, groups));
        self.known.retain(|at, _| keeps(at));
        // What was dropped may be asked for once more, in the same words.
        self.round += 1;
    }
}
