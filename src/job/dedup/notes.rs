//! Notes of lines, kept between reading and writing while there is memory.

use super::budget::Budget;
use crate::engine::dedup::noted::LineNote;
use std::sync::Arc;

/// Notes for which memory is taken at a time, at least.
const STEP: usize = 4_096;

/// Notes of the lines of a unit, in order.
#[derive(Debug)]
pub(super) struct Notes {
    list: Vec<LineNote>,
    /// Bytes of the budget that are taken.
    taken: u64,
    budget: Arc<Budget>,
}

impl Notes {
    /// None yet.
    pub(super) fn new(budget: &Arc<Budget>) -> Self {
        Self { list: Vec::new(), taken: 0, budget: Arc::clone(budget) }
    }

    /// Adds that of the next line; false when there is no memory for it.
    pub(super) fn add(&mut self, note: LineNote) -> bool {
        if self.list.len() == self.list.capacity() {
            let more = self.list.len().max(STEP);
            let bytes = (more * size_of::<LineNote>()) as u64;
            if !self.budget.reserve(bytes) {
                return false;
            }
            self.taken += bytes;
            self.list.reserve_exact(more);
        }
        self.list.push(note);
        true
    }

    /// Those from line number `from` on.
    pub(super) fn from(&self, from: usize) -> &[LineNote] {
        self.list.get(from..).unwrap_or_default()
    }
}

impl Drop for Notes {
    fn drop(&mut self) {
        self.budget.release(self.taken);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_take_from_the_budget_and_give_it_back() {
        let bytes = (STEP * size_of::<LineNote>()) as u64;
        let budget = Budget::new(2 * bytes);
        let mut notes = Notes::new(&budget);
        let count = (0..).take_while(|_| notes.add(LineNote::default())).count();
        assert_eq!((count, notes.from(1).len()), (2 * STEP, 2 * STEP - 1));
        assert!(notes.from(count + 1).is_empty() && !budget.reserve(1));
        drop(notes);
        assert!(budget.reserve(2 * bytes));
    }
}
