//! The cached rows of the sample list: the visible ones and some around them, fetched in blocks.
//!
//! A row that is not fetched yet is drawn as its number; drawing never waits for it. Blocks have fixed boundaries, so that scrolling causes
//! few requests, and the block that is being fetched when the list scrolls is not read twice.

use super::listing::Listing;
use gristmill_core::Outcome;
use gristmill_ops::engine::browse::{BrowseSample, Groups, SampleAt};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

const ROWS_PER_BLOCK: u64 = 32;
/// Number of cached rows above which those far from the visible ones are dropped.
const MAX_KEPT_ROWS: usize = 4_096;

/// The state of a fetched row.
#[derive(Clone, Debug)]
pub enum Row {
    /// The sample.
    Ready(Arc<BrowseSample>),
    /// The row cannot be read; holds the reason, not escaped.
    Failed(Arc<str>),
}

/// Consecutive samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first sample.
    pub from: SampleAt,
    /// Number of samples, across group boundaries.
    pub count: usize,
}

/// A request for samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowRequest {
    /// Incremented when all rows are to be read again.
    pub round: u64,
    /// The samples to fetch.
    pub spans: Vec<Span>,
}

/// The result of a request.
pub struct FetchedRows {
    /// The request that this answers.
    pub piece: RowRequest,
    /// The samples of each span, as many as there are.
    pub spans: Vec<Outcome<Vec<BrowseSample>>>,
}

/// The rows fetched so far.
#[derive(Default)]
pub struct Rows {
    known: HashMap<SampleAt, Row>,
    requests: Vec<RowRequest>,
    round: u64,
    /// The first round whose results are valid; results of earlier rounds are dropped.
    valid_from: u64,
}

impl Rows {
    /// Returns the state of a sample's row; `None` if it is not fetched.
    pub fn get(&self, at: SampleAt) -> Option<&Row> {
        self.known.get(&at)
    }

    /// Returns the sample if it is fetched.
    pub fn sample(&self, at: SampleAt) -> Option<&Arc<BrowseSample>> {
        match self.known.get(&at) {
            Some(Row::Ready(sample)) => Some(sample),
            _ => None,
        }
    }

    /// Returns the fetched samples in no particular order.
    pub fn samples(&self) -> impl Iterator<Item = &Arc<BrowseSample>> {
        self.known.values().filter_map(|row| match row {
            Row::Ready(sample) => Some(sample),
            Row::Failed(_) => None,
        })
    }

    /// Drops the rows that could not be read, because they may be readable now.
    pub fn forget_failed(&mut self) {
        self.known.retain(|_, row| matches!(row, Row::Ready(_)));
        self.requests.clear();
        self.round += 1;
    }

    /// Whether a sample could not be read.
    pub fn has_failed(&self, at: SampleAt) -> bool {
        matches!(self.known.get(&at), Some(Row::Failed(_)))
    }

    /// Drops all rows and the results of pending requests.
    pub fn forget_all(&mut self) {
        self.known.clear();
        self.requests.clear();
        self.round += 1;
        self.valid_from = self.round;
    }

    /// Returns the requests for the rows that are missing in the view, most urgent first; `None` if they equal the last requests.
    pub fn missing_rows(&mut self, view: Range<u64>, listing: &Listing, groups: &Groups) -> Option<Vec<RowRequest>> {
        self.drop_far(&view, listing, groups);
        let len = listing.len(groups);
        let height = view.end.saturating_sub(view.start).max(1);
        let around = view.start.saturating_sub(height)..view.end.saturating_add(height).min(len);
        let mut pieces: Vec<u64> = (around.start / ROWS_PER_BLOCK..around.end.div_ceil(ROWS_PER_BLOCK)).collect();
        let middle = (view.start + view.end) / 2 / ROWS_PER_BLOCK;
        let in_view = |piece: u64| piece * ROWS_PER_BLOCK < view.end && (piece + 1) * ROWS_PER_BLOCK > view.start;
        pieces.sort_by_key(|&piece| (!in_view(piece), piece.abs_diff(middle)));
        let round = self.round;
        let wanted: Vec<RowRequest> = pieces
            .into_iter()
            .filter_map(|piece| {
                let rows = piece * ROWS_PER_BLOCK..((piece + 1) * ROWS_PER_BLOCK).min(len);
                let spans = self.missing(rows, listing, groups);
                (!spans.is_empty()).then_some(RowRequest { round, spans })
            })
            .collect();
        if wanted == self.requests {
            return None;
        }
        self.requests.clone_from(&wanted);
        Some(wanted)
    }

    /// Returns the missing samples of these rows as spans.
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

    /// Adds the result of a request. Returns whether the screen must be redrawn.
    pub fn add_fetched(&mut self, fetched: FetchedRows, groups: &Groups) -> bool {
        if fetched.piece.round < self.valid_from {
            return false;
        }
        // In the result of an earlier round, a missing sample may exist by now; it is requested again instead of marked as failed.
        let is_current = fetched.piece.round == self.round;
        for (span, result) in fetched.piece.spans.iter().zip(fetched.spans) {
            let reason: Arc<str> = match result {
                Ok(samples) => {
                    for sample in samples {
                        let at = sample.at;
                        let row = match &sample.defect {
                            // Nothing is known of this sample except the reason of the failure.
                            Some(why) if sample.key.is_empty() && sample.parts.is_empty() => {
                                Row::Failed(Arc::clone(why))
                            }
                            _ => Row::Ready(Arc::new(sample)),
                        };
                        self.known.insert(at, row);
                    }
                    "it no longer exists; F5 reloads".into()
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
        // A new round makes it possible to request dropped rows again by an otherwise equal request.
        self.round += 1;
    }
}
