//! The guided dedup: repeated text is found in a folder of JSONL files, and cut out or listed; what each minimum length comes to is
//! estimated from the data while one looks.
//!
//! The state is pure ([`state::DedupState`]); [`workers`] find out what is known ([`seen::Seen`]) and [`guide`] brings both into the form.

mod answers;
mod guide;
mod plan;
mod seen;
mod state;
mod step;
#[cfg(test)]
mod tests;
mod view;
mod workers;

pub(super) use view::passage_lines;

use crate::tui::form::FormScreen;
use crate::tui::screen::{Screen, UiEnv};
use gristmill_core::DedupPlan;
use std::path::PathBuf;

/// The guided dedup with the answers of a plan, which may be open: no minimum length, no output. Nothing is read on this thread.
pub fn open(plan: DedupPlan, env: UiEnv) -> Box<dyn Screen> {
    Box::new(FormScreen::<guide::DedupGuide>::new(plan, env))
}

/// The guided dedup at the review of a run that was stopped, which goes on from there. Its scratch is where it was.
pub fn going_on(plan: DedupPlan, scratch: Option<PathBuf>, env: &UiEnv) -> Box<dyn Screen> {
    Box::new(FormScreen::<guide::DedupGuide>::going_on(plan, scratch, env))
}
