//! The plan of a dedup as the form keeps it.

use crate::tui::form::FormPlan;
use gristmill_core::{DedupPlan, Outcome};
use gristmill_ops::engine::plan::file::{dedup_to_yaml, PlanFile};
use std::path::PathBuf;

impl FormPlan for DedupPlan {
    const COMMAND: &'static str = "dedup";

    fn bare(&self) -> Self {
        Self::new(self.input.clone(), "")
    }

    fn has_answers(&self) -> bool {
        *self != Self::new(self.input.clone(), self.output.clone())
    }

    fn output_mut(&mut self) -> &mut String {
        &mut self.output
    }

    fn sources(&self) -> Vec<PathBuf> {
        vec![PathBuf::from(self.source())]
    }

    fn to_yaml(&self) -> Outcome<String> {
        dedup_to_yaml(self)
    }

    fn of_file(file: PlanFile) -> Option<Self> {
        match file {
            PlanFile::Dedup(plan) => Some(*plan),
            _ => None,
        }
    }
}
