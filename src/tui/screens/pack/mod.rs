//! The guided pack: text becomes tokens for one or several frameworks, each answer checked against real documents.
//!
//! The state is pure ([`state::PackState`]); [`workers`] find out what is known ([`seen::Seen`]) and [`guide`] brings both into the form.

mod answers;
mod fields;
mod guide;
mod look;
mod plan;
mod seen;
mod state;
mod step;
#[cfg(test)]
mod tests;
mod view;
mod workers;

use crate::tui::form::FormScreen;
use crate::tui::screen::{Screen, UiEnv};
use gristmill_core::PackPlan;
use std::path::PathBuf;

/// The guided pack with the answers of a plan, which may be open: no tokenizer, no output, no format. Nothing is read on this thread.
pub fn open(plan: PackPlan, env: UiEnv) -> Box<dyn Screen> {
    Box::new(FormScreen::<guide::PackGuide>::new(plan, env))
}

/// The guided pack at the review of a run that was stopped, which goes on from there. Its scratch is where it was.
pub fn going_on(plan: PackPlan, scratch: Option<PathBuf>, env: &UiEnv) -> Box<dyn Screen> {
    Box::new(FormScreen::<guide::PackGuide>::going_on(plan, scratch, env))
}
