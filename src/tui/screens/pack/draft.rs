//! Drafts of the guided pack: the answers that were left, kept in the state folder until they are run.

use super::step::Step;
use crate::engine::plan::file::{pack_to_yaml, read, PlanFile};
use crate::model::{Outcome, PackPlan};
use crate::tui::drafts;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use drafts::forget;

/// A larger draft was not written by us.
const MAX_BYTES: u64 = 1 << 20;

/// A draft that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// Its answers.
    pub plan: PackPlan,
    /// The step that was on the screen.
    pub step: Step,
    /// How long ago it was saved.
    pub age: Duration,
}

/// Where the draft for some inputs is kept.
pub fn place(state_dir: &Path, inputs: &[String]) -> PathBuf {
    drafts::place(state_dir, "pack-", inputs.iter().map(Path::new))
}

/// The draft at a place, if there is one that can be read.
pub fn load(place: &Path) -> Option<Draft> {
    let kept = drafts::load(place, MAX_BYTES)?;
    let step = Step::ALL.into_iter().find(|step| step.id() == kept.step)?;
    let PlanFile::Pack(plan) = read(&kept.answers).ok()? else { return None };
    Some(Draft { plan: *plan, step, age: kept.age })
}

/// Keeps a draft.
pub fn save(place: &Path, plan: &PackPlan, step: Step) -> Outcome<()> {
    drafts::save(place, step.id(), &pack_to_yaml(plan)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::pack::{NanosetsTarget, TextField};

    #[test]
    fn a_draft_comes_back_as_it_was_left() {
        let folder = tempfile::tempdir().unwrap();
        let place = place(folder.path(), &["/data/corpus.jsonl".into()]);
        let mut plan = PackPlan::new(vec!["/data/corpus.jsonl".into()], "", "");
        plan.text = TextField::Jq(".a | [".into());
        plan.nanosets = Some(NanosetsTarget::default());
        save(&place, &plan, Step::Targets).unwrap();
        let draft = load(&place).unwrap();
        assert_eq!((draft.plan, draft.step), (plan, Step::Targets));
        forget(&place);
        assert_eq!(load(&place), None);
    }
}
