//! The notices about changes of splits and excludes.

use crate::tui::widgets::{Level, Toast};
use gristmill_core::text::count;
use gristmill_ops::engine::splits::{EditResult, RejectedEdit};

/// Returns the notice about an applied change, or about its first problem.
pub fn done(applied: EditResult) -> Toast {
    match applied.problems.first() {
        Some(problem) => Toast::new(Level::Warn, format!("{}; {}", applied.message, problem.message)),
        None => Toast::new(Level::Ok, applied.message),
    }
}

/// Returns the notice about an undo or a redo.
pub fn stepped(is_undo: bool, title: Option<String>) -> Toast {
    let (done, nothing) = match is_undo {
        true => ("undone", "there is nothing to undo"),
        false => ("redone", "there is nothing to redo"),
    };
    let words = title.map_or_else(|| nothing.to_owned(), |title| format!("{done}: {title}"));
    Toast::new(Level::Info, words)
}

/// Returns the notice about changes that were applied again.
pub fn replayed(all: usize, pending: usize, not_applied: &[RejectedEdit]) -> Toast {
    match not_applied.first() {
        None if pending == 0 => Toast::new(Level::Info, "the file has those changes already"),
        None => Toast::new(Level::Ok, format!("{} restored", count(all as u64, "change"))),
        Some(first) => {
            let lost = count(not_applied.len() as u64, "change");
            let why = format!("{}: {}", first.edit.title(), first.failure.why);
            Toast::new(Level::Warn, format!("{lost} of {all} can no longer be applied; {why}"))
        }
    }
}
