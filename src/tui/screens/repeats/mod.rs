//! Repeats, marked in the text of the documents: those of a finished run ([`open_run`]), or those of a search in memory ([`open`]). Writes
//! nothing.
//!
//! [`RangesPage`](state::RangesPage) has the lists and the text: position, keys, drawing. Its data source is a [`Ranges`](ranges::Ranges):
//! [`FoundRepeats`](found_repeats::FoundRepeats) has everything in memory, [`RunRanges`](run::RunRanges) reads with workers.

mod found_repeats;
mod highlight;
mod ranges;
mod run;
mod screen;
mod state;
#[cfg(test)]
mod tests;
mod view;

use crate::tui::screen::{Screen, UiEnv};
use gristmill_core::DedupPlan;
use gristmill_ops::engine::dedup::removed;
use state::RangesPage;
use std::path::{Path, PathBuf};

/// The files that are examined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RepeatsTarget {
    /// All files below a folder, in the order in which dedup reads them.
    Folder(PathBuf),
    /// One file, and the byte offset of the line to show first.
    File(PathBuf, u64),
}

/// Opens the documents of a target, with their repeats by the settings of a plan; a plan without a minimum length uses the default.
pub fn open(target: RepeatsTarget, plan: &DedupPlan, env: UiEnv) -> Box<dyn Screen> {
    Box::new(RangesPage::new(found_repeats::FoundRepeats::new(target, plan, env)))
}

/// Opens the ranges that a run removed which wrote the folder at `path`, or a folder that contains it; `None` if no run stored its ranges.
pub fn open_run(path: &Path, env: &UiEnv) -> Option<Box<dyn Screen>> {
    let (ranges, name) = removed::companion(path)?;
    Some(Box::new(RangesPage::new(run::RunRanges::new(ranges, name, env.clone()))))
}

/// Opens the ranges that a run removed which wrote exactly `folder`; `None` if no run stored its ranges.
pub fn open_whole_run(folder: &Path, env: &UiEnv) -> Option<Box<dyn Screen>> {
    removed::companion(folder).filter(|(_, name)| name.is_empty())?;
    open_run(folder, env)
}
