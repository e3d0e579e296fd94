//! The guided pack: text becomes tokens for one or several frameworks, each answer checked against real documents.
//!
//! The state is pure ([`state::PackState`]); [`workers`] find out what is known ([`seen::Seen`]) and [`screen`] carries both.

mod answers;
mod draft;
mod fields;
mod look;
mod screen;
mod seen;
mod state;
mod step;
#[cfg(test)]
mod tests;
mod view;
mod workers;

pub use screen::PackScreen;

use crate::model::PackPlan;
use crate::tui::screen::{Screen, UiEnv};

/// The guided pack with the answers of a plan, which may be open: no tokenizer, no output, no format. Nothing is read on this thread.
pub fn open(plan: PackPlan, env: UiEnv) -> Box<dyn Screen> {
    Box::new(PackScreen::new(plan, env))
}
