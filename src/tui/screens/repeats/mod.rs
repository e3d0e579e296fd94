//! What repeats, drawn on the text of the documents: found for looking only, in memory, and nothing is written.
//!
//! The state is pure ([`state::RepeatsState`]); [`screen`] has the documents read by a worker and carries the answer.

mod screen;
mod shown;
mod state;
#[cfg(test)]
mod tests;
mod view;

pub use screen::RepeatsScreen;

use crate::model::DedupPlan;
use crate::tui::screen::{Screen, UiEnv};
use std::path::PathBuf;

/// What is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// All files below a folder, in the order in which dedup reads them.
    Folder(PathBuf),
    /// One file, and the byte at which the line begins that is shown first.
    File(PathBuf, u64),
}

/// The documents of a target with what repeats in them by the rules of a plan; without a minimum length by the usual one.
pub fn open(target: Target, plan: &DedupPlan, env: UiEnv) -> Box<dyn Screen> {
    Box::new(RepeatsScreen::new(target, plan, env))
}
