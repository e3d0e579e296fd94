//! The form of an operation: a screen over its table of options.
//!
//! Steps, fields, labels, checks, drafts, the saved plan and the start of the run are derived from the table and are the same for all
//! operations. [`field`] makes fields of options, [`state`] holds answers and position and is pure, [`view`] draws. An operation whose
//! answers depend on its data has a [`Guide`] with workers and steps that draw themselves; for others, [`PreviewGuide`] shows the preview.

mod draft;
mod field;
pub mod frame;
mod guide;
mod preview_guide;
mod save;
mod screen;
mod state;
mod steps;
#[cfg(test)]
pub mod testing;
#[cfg(test)]
mod tests;
mod view;

pub use field::Field;
pub use guide::{Guide, KeyContexts};
pub use preview_guide::{draw_printed, PreviewGuide};
pub use screen::FormScreen;
pub use state::{Form, MouseTarget};
pub use view::{draw_below, draw_fields, from_row, label_columns};

use crate::tui::guides::dedup::DedupGuide;
use crate::tui::guides::media::preview::draw_preview as draw_media;
use crate::tui::guides::mix::MixGuide;
use crate::tui::guides::mixture::MixtureGuide;
use crate::tui::guides::pack::PackGuide;
use crate::tui::guides::prepare::PrepareGuide;
use crate::tui::guides::shard::ShardGuide;
use crate::tui::screen::{Screen, UiEnv};
use gristmill_core::mix::{MixKind, MixPlan};
use gristmill_core::{DedupPlan, PackPlan, PrepareMediaPlan, PreparePlan, ShardPlan};
use gristmill_ops::operations::{erase, interrupted_run, AnyPlan, MixNew, Operation, Prepare};
use gristmill_ops::tokens::formats::mixture::MixtureIndexPlan;
use gristmill_storage::run_folder::RunFolder;
use std::path::{Path, PathBuf};

/// Opens the form of a plan, which may be incomplete. Reads nothing on this thread.
pub fn open(plan: Box<dyn AnyPlan>, env: UiEnv) -> Box<dyn Screen> {
    Box::new(FormScreen::new(plan, env))
}

/// Opens the form of a plan with answers that were proposed from the data; a draft replaces them. Reads nothing on this thread.
pub fn open_proposed(plan: Box<dyn AnyPlan>, env: UiEnv) -> Box<dyn Screen> {
    Box::new(FormScreen::proposed(plan, env))
}

/// Opens the form of a blend of the prepared data sets below a folder, with `first` selected. Reads nothing on this thread.
pub fn open_mix(folder: PathBuf, first: Option<PathBuf>, env: UiEnv) -> Box<dyn Screen> {
    let guide = Box::new(MixGuide::start(folder, first, &env));
    Box::new(FormScreen::with_guide(erase::<MixNew>(MixPlan::new("", MixKind::Blend)), guide, env))
}

/// Returns the plan that writes new shards of the data at a path.
pub fn shards_of(path: &Path) -> ShardPlan {
    ShardPlan { inputs: vec![plan_path(path).into()], ..ShardPlan::default() }
}

/// Opens the guided prepare of a data set.
pub fn open_prepare(path: PathBuf, env: UiEnv) -> Box<dyn Screen> {
    open(erase::<Prepare>(PreparePlan::new(path.to_string_lossy())), env)
}

/// Opens the guided prepare of a data set whose preparation was interrupted, with the answers of that run.
pub fn resume_prepare(path: PathBuf, env: UiEnv) -> Box<dyn Screen> {
    if let Some(run) = interrupted_run(&RunFolder::for_webdataset(&path)) {
        return resume(run.plan, run.scratch, &env);
    }
    let plan = PreparePlan::new(path.to_string_lossy());
    let notice = "the answers of the interrupted run are not known: give them again; finished work that fits is reused";
    let guide = PrepareGuide::start(&plan, &env).with_notice(notice);
    Box::new(FormScreen::with_guide(erase::<Prepare>(plan), Box::new(guide), env))
}

/// Opens the form at the review of a stopped run, which the run resumes. `scratch` is the scratch folder of that run.
pub fn resume(plan: Box<dyn AnyPlan>, scratch: Option<PathBuf>, env: &UiEnv) -> Box<dyn Screen> {
    Box::new(FormScreen::resume(plan, scratch, env))
}

/// Returns a path for a plan: relative if it is below the current folder, so that data and plan can be moved together.
pub fn plan_path(path: &Path) -> String {
    let current = std::env::current_dir().unwrap_or_default();
    let below = path.strip_prefix(&current).ok().filter(|below| !below.as_os_str().is_empty());
    below.unwrap_or(path).to_string_lossy().into_owned()
}

/// Returns the guide of a plan's operation.
fn guide_of(plan: &dyn AnyPlan, env: &UiEnv) -> Box<dyn Guide> {
    if let Some(plan) = plan.typed::<PackPlan>() {
        return Box::new(PackGuide::start(plan, env));
    }
    if plan.typed::<DedupPlan>().is_some() {
        return Box::new(DedupGuide::start(env));
    }
    if plan.typed::<MixPlan>().is_some() {
        return Box::new(MixGuide::start(std::env::current_dir().unwrap_or_default(), None, env));
    }
    if let Some(plan) = plan.typed::<MixtureIndexPlan>() {
        return Box::new(MixtureGuide::start(plan, env));
    }
    if plan.typed::<ShardPlan>().is_some() {
        return Box::new(ShardGuide::start(env));
    }
    if let Some(plan) = plan.typed::<PreparePlan>().filter(|plan| Prepare::always_prompts(plan)) {
        return Box::new(PrepareGuide::start(plan, env));
    }
    let is_media = plan.typed::<PrepareMediaPlan>().is_some();
    let draw: preview_guide::Draw = if is_media { draw_media } else { draw_printed };
    Box::new(PreviewGuide::new(draw, env))
}
