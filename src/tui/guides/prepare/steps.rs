//! The answers of all steps of the guided prepare over one plan. Pure.

use super::derive::PlanFindings;
use super::field_map::FieldMapStep;
use super::media::MediaStep;
use super::sample_type::TypeStep;
use super::source::SourceStep;
use super::splits::{Alternatives, SplitsStep};
use super::step::{Answers, Step, StepState};
use gristmill_core::{DatasetFacts, PreparePlan, ProblemKind, Rerun, SampleMapping, Severity};
use std::sync::Arc;

/// The answers of all steps.
#[derive(Clone, Debug)]
pub struct PrepareSteps {
    /// The plan, the data, and the result of applying the plan to the data.
    pub answers: Answers,
    /// Step Source.
    pub source: SourceStep,
    /// Step Splits.
    pub splits: SplitsStep,
    /// Step Sample type.
    pub sample_type: TypeStep,
    /// Step Field map.
    pub field_map: FieldMapStep,
    /// Step Media.
    pub media: MediaStep,
    /// Whether shards are being scanned.
    pub is_scanning: bool,
    /// Whether the user has changed an answer.
    pub is_dirty: bool,
}

impl PrepareSteps {
    /// Creates the steps for a path without answers, with the first facts.
    pub fn new(path: &str, facts: Arc<DatasetFacts>) -> Self {
        let answers =
            Answers { plan: PreparePlan::new(path), facts, derived: Arc::new(PlanFindings::default()), earlier: None };
        let mut steps = Self {
            answers,
            source: SourceStep::default(),
            splits: SplitsStep::default(),
            sample_type: TypeStep::default(),
            field_map: FieldMapStep::default(),
            media: MediaStep::default(),
            is_scanning: false,
            is_dirty: false,
        };
        steps.refresh();
        steps
    }

    /// Sets the answers to those of a plan: a draft, or the plan of the last run.
    pub fn adopt(&mut self, plan: &PreparePlan) {
        let rerun = plan.rerun.clone();
        self.source.adopt(plan, &self.answers);
        // Later steps depend on whether this is an update.
        self.answers.plan.rerun = rerun;
        self.splits.adopt(plan, &self.answers);
        self.sample_type.adopt(plan, &self.answers);
        self.field_map.adopt(plan, &self.answers);
        self.media.adopt(plan, &self.answers);
        self.answers.plan.excludes.clone_from(&plan.excludes);
        self.answers.plan.dataset_yaml_name.clone_from(&plan.dataset_yaml_name);
        self.answers.plan.compat = plan.compat;
        self.answers.plan.scope = plan.scope;
        self.refresh();
    }

    /// Makes the plan of the last run the default of unchanged answers.
    pub fn remember_earlier(&mut self, plan: PreparePlan) {
        let mut plan = plan;
        // Every run asks how to handle an earlier preparation, so the old answer is not restored.
        plan.rerun = Rerun::Refuse;
        plan.new_to = None;
        self.adopt(&plan);
        if plan.loading != SampleMapping::Unset {
            self.sample_type.only_propose();
        }
        self.answers.earlier = Some(Arc::new(plan));
        self.refresh();
    }

    /// Restores the typed answers of the modes of the step Splits that are not selected.
    pub fn restore_alternatives(&mut self, kept: &Alternatives) {
        self.splits.restore_alternatives(kept, &self.answers);
        self.refresh();
    }

    /// Sets new facts.
    pub fn set_facts(&mut self, facts: Arc<DatasetFacts>) {
        self.answers.facts = facts;
        self.refresh();
    }

    /// Sets the findings of the worker.
    pub fn set_findings(&mut self, derived: Arc<PlanFindings>) {
        self.answers.derived = derived;
        self.refresh();
    }

    /// Updates every step for the answers of the others, and rebuilds the plan.
    fn refresh(&mut self) {
        // Each step reads the plan with the answers of the steps before it.
        self.source.refresh(&self.answers);
        self.rebuild_plan();
        self.splits.refresh(&self.answers);
        self.sample_type.refresh(&self.answers);
        self.rebuild_plan();
        self.field_map.refresh(&self.answers);
        self.media.refresh(&self.answers);
        self.rebuild_plan();
    }

    fn rebuild_plan(&mut self) {
        let mut plan = self.answers.plan.clone();
        self.source.write(&self.answers, &mut plan);
        self.answers.plan.rerun = plan.rerun.clone();
        self.splits.write(&self.answers, &mut plan);
        self.sample_type.write(&self.answers, &mut plan);
        self.field_map.write(&self.answers, &mut plan);
        self.media.write(&self.answers, &mut plan);
        self.answers.plan = plan;
    }

    /// Removes all answers, and starts with the suggestions. Facts and samples stay.
    pub fn clear(&mut self) {
        let answers = self.answers.clone();
        let is_scanning = self.is_scanning;
        let (pixels, results) = (std::mem::take(&mut self.field_map.pixels), Arc::clone(&self.field_map.results));
        *self = Self::new(&answers.plan.path, Arc::clone(&answers.facts));
        self.field_map.pixels = pixels;
        self.field_map.results = results;
        self.is_scanning = is_scanning;
        self.answers.derived = answers.derived;
        if let Some(earlier) = answers.earlier {
            self.remember_earlier((*earlier).clone());
        }
        self.refresh();
    }

    /// Returns the state of a step; `None` for the review.
    pub fn state(&self, step: Step) -> Option<&dyn StepState> {
        Some(match step {
            Step::Source => &self.source,
            Step::Splits => &self.splits,
            Step::SampleType => &self.sample_type,
            Step::FieldMap => &self.field_map,
            Step::Media => &self.media,
            Step::Review => return None,
        })
    }

    /// Returns the state of a step, and the answers; `None` for the review.
    pub fn state_mut(&mut self, step: Step) -> Option<(&mut dyn StepState, &Answers)> {
        let state: &mut dyn StepState = match step {
            Step::Source => &mut self.source,
            Step::Splits => &mut self.splits,
            Step::SampleType => &mut self.sample_type,
            Step::FieldMap => &mut self.field_map,
            Step::Media => &mut self.media,
            Step::Review => return None,
        };
        Some((state, &self.answers))
    }

    /// Returns why a step has no question for these answers.
    pub fn skip_reason(&self, step: Step) -> Option<&'static str> {
        let is_skipped = step == Step::FieldMap && !self.sample_type.wants_field_map();
        is_skipped.then_some("the sample type chosen needs no field map")
    }

    /// Returns why the plan cannot be run, if an answer of this step is the reason.
    pub fn refusal(&self, step: Step) -> Option<String> {
        let is_here = |problem: &&gristmill_core::Problem| {
            problem.severity == Severity::Refusal && self.answers.step_of(problem) == step
        };
        self.answers.derived.problems.iter().find(is_here).map(|problem| problem.message.clone())
    }

    /// Updates the plan after an action of the user. Returns whether it was changed.
    pub fn update_plan(&mut self, before: &PreparePlan) -> bool {
        self.refresh();
        let is_changed = self.answers.plan != *before;
        self.is_dirty |= is_changed;
        is_changed
    }

    /// Accepts the answers of all steps before a run, so that a resumed run has the same answers.
    pub fn accept_all(&mut self) {
        for step in Step::ALL {
            if let Some((state, _)) = self.state_mut(step) {
                state.accept();
            }
        }
    }

    /// Applies the counts of problems that a failed run found. Returns whether duplicate keys are among them, which are a question of the
    /// first step.
    pub fn learn_from_run(&mut self, counts: &[(Severity, ProblemKind, u64)]) -> bool {
        self.source.has_duplicates |= counts.iter().any(|(_, kind, _)| *kind == ProblemKind::DuplicateKey);
        self.refresh();
        self.source.has_duplicates
    }
}

#[cfg(test)]
mod tests;
