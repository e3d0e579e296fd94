//! The mixture of token folders: weights changed by keys, and what becomes of each data set by them.

mod screen;
mod state;
#[cfg(test)]
mod tests;
mod view;

use crate::tui::screen::{Screen, UiEnv};
use gristmill_ops::engine::nanosets::mixture::{Member, MixtureIndexPlan};
use gristmill_ops::operations::Plan as _;
use std::path::PathBuf;

/// The mixture of the token folders in a folder, `chosen` among them chosen. Nothing is read on this thread.
pub fn open(folder: PathBuf, chosen: Vec<PathBuf>, env: UiEnv) -> Box<dyn Screen> {
    let members = chosen.into_iter().map(Member::Folder).collect();
    open_with(folder, MixtureIndexPlan { members, ..MixtureIndexPlan::blank() }, env)
}

/// The mixture with the answers that are given already; `folder` is where others may be found.
pub fn open_with(folder: PathBuf, given: MixtureIndexPlan, env: UiEnv) -> Box<dyn Screen> {
    let folder = std::path::absolute(&folder).unwrap_or(folder);
    Box::new(screen::MixtureScreen::new(folder, given, env))
}
