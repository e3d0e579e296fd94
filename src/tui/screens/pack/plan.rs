//! The plan of a pack as the form keeps it.

use crate::tui::form::FormPlan;
use gristmill_core::{Outcome, PackPlan};
use gristmill_ops::engine::plan::file::{pack_to_yaml, PlanFile};
use std::path::PathBuf;

impl FormPlan for PackPlan {
    const COMMAND: &'static str = "pack";

    fn bare(&self) -> Self {
        Self::new(self.inputs.clone(), "", "")
    }

    fn has_answers(&self) -> bool {
        *self != Self { output: self.output.clone(), ..self.bare() }
    }

    fn output_mut(&mut self) -> &mut String {
        &mut self.output
    }

    fn sources(&self) -> Vec<PathBuf> {
        self.inputs.iter().map(PathBuf::from).collect()
    }

    fn to_yaml(&self) -> Outcome<String> {
        pack_to_yaml(self)
    }

    fn of_file(file: PlanFile) -> Option<Self> {
        match file {
            PlanFile::Pack(plan) => Some(*plan),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::step::Step;
    use super::*;
    use crate::tui::form::{forget, load, place, save};
    use gristmill_core::pack::{NanosetsTarget, TextField};

    #[test]
    fn a_draft_comes_back_as_it_was_left() {
        let folder = tempfile::tempdir().unwrap();
        let mut plan = PackPlan::new(vec!["/data/corpus.jsonl".into()], "", "");
        let place = place(folder.path(), &plan);
        plan.text = TextField::Jq(".a | [".into());
        plan.nanosets = Some(NanosetsTarget::default());
        save(&place, &plan, Step::Targets).unwrap();
        let draft = load::<PackPlan, Step>(&place).unwrap();
        assert_eq!((draft.plan, draft.step), (plan, Step::Targets));
        forget(&place);
        assert!(load::<PackPlan, Step>(&place).is_none());
    }
}
