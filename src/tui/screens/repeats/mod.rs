//! What repeats, drawn on the text of the documents: as a finished run found it ([`open_run`]), or found for looking only, in memory
//! ([`open`]). Nothing is written.
//!
//! One page of lists and text ([`RangesPage`](state::RangesPage): where one is, its keys, its drawing) over what it is filled from
//! ([`Ranges`](ranges::Ranges)): [`Found`](found::Found) has all in memory, [`RunRanges`](run::RunRanges) asks workers that read.

mod found;
mod ranges;
mod run;
mod screen;
mod shown;
mod state;
#[cfg(test)]
mod tests;
mod view;

use crate::tui::screen::{Screen, UiEnv};
use gristmill_core::DedupPlan;
use gristmill_ops::engine::dedup::removed;
use state::RangesPage;
use std::path::{Path, PathBuf};

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
    Box::new(RangesPage::new(found::Found::new(target, plan, env)))
}

/// What the run removed that made the folder of this path, or the folder in which it lies; `None` where no run left its ranges there.
pub fn open_run(path: &Path, env: &UiEnv) -> Option<Box<dyn Screen>> {
    let (ranges, name) = removed::beside(path)?;
    Some(Box::new(RangesPage::new(run::RunRanges::new(ranges, name, env.clone()))))
}

/// The same of a folder that a run made as a whole.
pub fn open_whole_run(folder: &Path, env: &UiEnv) -> Option<Box<dyn Screen>> {
    removed::beside(folder).filter(|(_, name)| name.is_empty())?;
    open_run(folder, env)
}
