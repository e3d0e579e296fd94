//! Drafts of a guided form: the answers that were left, kept in the state folder until they are run.

use super::words::Step;
use crate::tui::drafts;
use gristmill_core::Outcome;
use gristmill_ops::engine::plan::file::{read, PlanFile};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use drafts::forget;

/// A larger draft was not written by us.
const MAX_BYTES: u64 = 1 << 20;

/// The plan of a guided command, as a form keeps and hands it on.
pub trait FormPlan: Clone + PartialEq {
    /// The command; drafts and saved plans are named by it.
    const COMMAND: &'static str;

    /// What it is about, with nothing answered.
    fn bare(&self) -> Self;
    /// Whether anything is answered but where the result goes, which a command line may propose.
    fn has_answers(&self) -> bool;
    /// Where the result goes.
    fn output_mut(&mut self) -> &mut String;
    /// What it is about: the paths that a draft is found by.
    fn sources(&self) -> Vec<PathBuf>;
    /// The text of a plan file.
    fn to_yaml(&self) -> Outcome<String>;
    /// The plan of a plan file, if it is one of this kind.
    fn of_file(file: PlanFile) -> Option<Self>;
}

/// A draft that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft<P, S> {
    /// Its answers.
    pub plan: P,
    /// The step that was on the screen.
    pub step: S,
    /// How long ago it was saved.
    pub age: Duration,
}

/// Where the draft for what a plan is about is kept.
pub fn place<P: FormPlan>(state_dir: &Path, plan: &P) -> PathBuf {
    drafts::place(state_dir, &format!("{}-", P::COMMAND), plan.sources().iter().map(PathBuf::as_path))
}

/// The draft at a place, if there is one that can be read.
pub fn load<P: FormPlan, S: Step>(place: &Path) -> Option<Draft<P, S>> {
    let kept = drafts::load(place, MAX_BYTES)?;
    let step = S::ALL.iter().copied().find(|step| step.id() == kept.step)?;
    let plan = P::of_file(read(&kept.answers).ok()?)?;
    Some(Draft { plan, step, age: kept.age })
}

/// Keeps a draft.
pub fn save<P: FormPlan, S: Step>(place: &Path, plan: &P, step: S) -> Outcome<()> {
    drafts::save(place, step.id(), &plan.to_yaml()?)
}
