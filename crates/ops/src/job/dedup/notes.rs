//! Notes of lines, kept in memory between the read and the write stage as long as the budget lasts.

use super::budget::{Budget, Chunk, CHUNK_BYTES};
use crate::engine::dedup::line_notes::LineNote;
use std::sync::Arc;

const NOTES_PER_CHUNK: usize = CHUNK_BYTES / LineNote::BYTES;

/// Notes of the lines of a unit, in order.
#[derive(Debug)]
pub(super) struct Notes {
    /// All chunks but the last are full.
    chunks: Vec<Chunk>,
    budget: Arc<Budget>,
}

impl Notes {
    /// Creates an empty list.
    pub(super) fn new(budget: &Arc<Budget>) -> Self {
        Self { chunks: Vec::new(), budget: Arc::clone(budget) }
    }

    /// Adds the note of the next line; returns false if there is no memory for it.
    pub(super) fn add(&mut self, note: LineNote) -> bool {
        if self.chunks.last().is_none_or(Chunk::is_full) {
            match self.budget.take() {
                Some(chunk) => self.chunks.push(chunk),
                None => return false,
            }
        }
        // The size of a chunk is a multiple of the size of a note.
        self.chunks.last_mut().is_some_and(|chunk| chunk.fill(&note.to_bytes()).is_empty())
    }

    /// Returns the notes from line number `from` on.
    pub(super) fn from(&self, from: usize) -> impl Iterator<Item = LineNote> + '_ {
        let (first, within) = (from / NOTES_PER_CHUNK, from % NOTES_PER_CHUNK);
        let notes = self.chunks.iter().skip(first).flat_map(|chunk| chunk.bytes().as_chunks().0);
        notes.skip(within).map(LineNote::of_bytes)
    }
}

impl Drop for Notes {
    fn drop(&mut self) {
        self.chunks.drain(..).for_each(|chunk| self.budget.return_chunk(chunk));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_notes_use_the_budget_and_return_it() {
        let budget = Budget::new(2 * CHUNK_BYTES as u64);
        let note = |number: usize| LineNote::of_bytes(&(number as u128).to_le_bytes());
        let mut notes = Notes::new(&budget);
        let count = (0..).take_while(|number| notes.add(note(*number))).count();
        assert_eq!(count, 2 * NOTES_PER_CHUNK);
        for from in
            [0, 1, NOTES_PER_CHUNK - 1, NOTES_PER_CHUNK, NOTES_PER_CHUNK + 7, count - 1, count, count + 1, 9 * count]
        {
            assert!(notes.from(from).eq((from..count).map(note)), "{from}");
        }
        assert!(budget.take().is_none());
        drop(notes);
        assert!(budget.take().is_some());
    }
}
