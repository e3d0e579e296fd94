//! Repeated passages as stored in the journal.

use gristmill_dedup::{Passage, Passages};

/// Limit of passages per part that are recorded for a later run.
const MAX_RECORDED_PASSAGES: usize = 64;

/// Position, length and count of a passage, as stored in the journal.
pub(super) type RecordedPassage = (u64, u64, u64);

/// Returns the passages with the most repeated bytes, in the form stored in the journal.
pub(super) fn recorded_passages(passages: &Passages) -> Vec<RecordedPassage> {
    passages.heaviest(MAX_RECORDED_PASSAGES).iter().map(|passage| (passage.at, passage.len, passage.count)).collect()
}

/// Returns the passages stored in the journal.
pub(super) fn passages_of(noted: &[RecordedPassage]) -> Passages {
    let mut passages = Passages::default();
    noted.iter().for_each(|&(at, len, count)| passages.add(Passage { at, len, count }));
    passages
}
