//! The mixture of token folders: weights changed by keys, and what becomes of each data set by them.

mod screen;
mod state;
#[cfg(test)]
mod tests;
mod view;

use crate::tui::screen::{Screen, UiEnv};
use std::path::PathBuf;

/// The mixture of the token folders in a folder, `chosen` among them chosen. Nothing is read on this thread.
pub fn open(folder: PathBuf, chosen: Vec<PathBuf>, env: UiEnv) -> Box<dyn Screen> {
    Box::new(screen::MixtureScreen::new(folder, chosen, env))
}
