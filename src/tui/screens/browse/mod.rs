//! The browser: shards, samples and their contents next to each other.
//!
//! The list of samples covers the whole data set at any size: [`rows`] holds the visible rows, [`workers`] fetch them, and a row that is
//! not fetched yet is drawn as its number. [`state`] is pure; no code of the browser waits for storage.

mod act;
mod begin;
mod columns;
mod contact_sheet;
mod detail;
mod edits;
mod filter;
mod leads;
mod listing;
mod pages;
mod prompt;
mod rows;
mod sample_set;
mod sample_view;
mod screen;
mod state;
mod view;
mod workers;

#[cfg(test)]
mod tests;

pub use workers::locate;

use crate::tui::screen::{Screen, UiEnv};
use crate::tui::screens::repeats;
use crate::tui::screens::splits::SplitSession;
use gristmill_core::Subject;
use gristmill_ops::engine::browse::TokenView;
use gristmill_storage::files;
use gristmill_storage::location::is_remote;
use std::path::PathBuf;

/// Where the browser starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum BrowseStart {
    /// At the first sample.
    #[default]
    First,
    /// At the sample of this number, counted from 0.
    Number(u64),
    /// At the sample of this key; `shard/key` also names its shard.
    Key(String),
    /// At the sample that contains the subject of a problem, or the nearest one.
    Subject(Box<Subject>),
}

/// Opens the browser on a data set. The only read on this thread checks whether a dedup run wrote its ranges next to a folder.
pub fn open(path: PathBuf, env: UiEnv) -> Box<dyn Screen> {
    open_at(path, BrowseStart::First, env)
}

/// Opens the browser on a data set, at a sample.
pub fn open_at(path: PathBuf, start: BrowseStart, env: UiEnv) -> Box<dyn Screen> {
    open_tokens(path, start, TokenView::default(), env)
}

/// Opens the browser on a data set whose splits another screen may already edit; both screens then share the changes.
pub fn open_shared(path: PathBuf, start: BrowseStart, session: Option<SplitSession>, env: &UiEnv) -> Box<dyn Screen> {
    match session {
        None => open_at(path, start, env.clone()),
        session => {
            let screen = screen::BrowseScreen::new(path, start, TokenView::default(), env.clone());
            Box::new(screen.with_session(session))
        }
    }
}

/// Opens the browser on packed tokens with the given view. For the output of a dedup run, opens the screen that shows what the run removed.
pub fn open_tokens(path: PathBuf, start: BrowseStart, view: TokenView, env: UiEnv) -> Box<dyn Screen> {
    // For a store, this thread, which draws, would wait for a request.
    if start == BrowseStart::First && !is_remote(&path) && files::is_dir(&path) {
        if let Some(screen) = repeats::open_whole_run(&path, &env) {
            return screen;
        }
    }
    Box::new(screen::BrowseScreen::new(path, start, view, env))
}
