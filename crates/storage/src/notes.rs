//! Notes about the stores of this process that belong to no report, because they arise when it is written already.

use gristmill_core::Problem;
use std::sync::{Mutex, PoisonError};

/// Maximum number of notes that are kept.
const MAX_NOTES: usize = 20;

static NOTES: Mutex<Vec<Problem>> = Mutex::new(Vec::new());

/// Adds a note, which is shown when the command ends.
pub(crate) fn add_note(note: Problem) {
    let mut notes = NOTES.lock().unwrap_or_else(PoisonError::into_inner);
    if notes.len() < MAX_NOTES && !notes.contains(&note) {
        notes.push(note);
    }
}

/// Returns the notes so far, and forgets them.
pub fn take_notes() -> Vec<Problem> {
    std::mem::take(&mut *NOTES.lock().unwrap_or_else(PoisonError::into_inner))
}
