//! The steps of the guided prepare, and their common interface, the trait [`StepState`].

use super::click_targets::{ClickTarget, ListGesture};
use super::derive::PlanFindings;
use crate::tui::keymap::{Action, Context};
use crate::tui::widgets::{Gesture, Toast};
use gristmill_core::{DatasetFacts, PreparePlan, Problem, ProblemKind, Rerun, ShardFacts, ShardState};
use ratatui::crossterm::event::KeyEvent;
use std::sync::Arc;

/// A step of the guided prepare, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// The shards, and which of them are left out.
    Source,
    /// The division of shards into splits.
    Splits,
    /// The class of samples in the training code.
    SampleType,
    /// The parts that fill each field.
    FieldMap,
    /// The pictures, sound and video whose metadata are recorded.
    Media,
    /// The preview of the run.
    Review,
}

impl Step {
    /// All steps, in order.
    pub const ALL: [Self; 6] =
        [Self::Source, Self::Splits, Self::SampleType, Self::FieldMap, Self::Media, Self::Review];

    /// Returns its number in the form, from 0.
    pub fn index(self) -> usize {
        self as usize
    }

    /// Returns the step with this number in the form.
    pub fn at(number: usize) -> Self {
        Self::ALL.get(number).copied().unwrap_or(Self::Review)
    }
}

/// The data that every step can read: the plan of all answers, the facts of the data set, and the plan applied to them.
#[derive(Clone, Debug)]
pub struct Answers {
    /// The plan with the answers of all steps.
    pub plan: PreparePlan,
    /// The facts of the data set so far.
    pub facts: Arc<DatasetFacts>,
    /// The results of checking the plan against the data, with a delay after typing.
    pub derived: Arc<PlanFindings>,
    /// The plan of the last run if this program made it: the default of unchanged answers.
    pub earlier: Option<Arc<PreparePlan>>,
}

impl Answers {
    /// Whether only new and changed shards are scanned, and recorded answers stay.
    pub fn is_update(&self) -> bool {
        self.plan.rerun == Rerun::Update && self.facts.prepared.is_some()
    }

    /// Whether samples are still being counted: all numbers of samples are then preliminary.
    pub fn is_counting(&self) -> bool {
        let settled = |s: &ShardFacts| matches!(s.state, ShardState::Scanned | ShardState::Failed);
        !self.facts.scan_complete && !self.facts.shards.iter().all(settled)
    }

    /// Returns the step with the answer that a problem of the plan refers to.
    pub fn step_of(&self, problem: &Problem) -> Step {
        use ProblemKind as K;
        if self.derived.resolved.problems.contains(problem) {
            return Step::Splits;
        }
        let flag = problem.subject.field.as_deref();
        if flag.is_some_and(|f| f.starts_with("--media-metadata") || f == "--decode") {
            return Step::Media;
        }
        match problem.kind {
            K::BadRatio | K::EmptySplit | K::RoundedAway | K::UnassignedShards | K::ShardInTwoSplits => Step::Splits,
            K::MissingAnswer if matches!(flag, Some("--split-ratio" | "--new-to")) => Step::Splits,
            K::UnknownField | K::MissingField | K::FieldFails | K::NoSuchPart => Step::FieldMap,
            K::MissingAnswer if flag == Some("--reset-excludes") => Step::Source,
            K::MissingAnswer | K::UnknownSampleType | K::BadName => Step::SampleType,
            _ => Step::Source,
        }
    }
}

/// The answers and the focus of one step. Pure: no terminal, no files, no threads.
pub trait StepState {
    /// Returns the number of fields that can have the focus.
    fn focus_count(&self, answers: &Answers) -> usize;
    /// Returns the number of the focused field.
    fn focus(&self) -> usize;
    /// Moves the focus.
    fn set_focus(&mut self, stop: usize);
    /// Returns the key context.
    fn context(&self, answers: &Answers) -> Context;
    /// Handles a key in this step. Returns a notice for the user.
    fn handle_action(&mut self, action: Action, answers: &Answers) -> Option<Toast>;
    /// Types into the focused field.
    fn key(&mut self, _key: KeyEvent, _answers: &Answers) {}
    /// Pastes into the focused field.
    fn paste(&mut self, _text: &str, _answers: &Answers) {}
    /// Updates the step for new facts and findings.
    fn refresh(&mut self, answers: &Answers);
    /// Accepts the shown answer: it is not changed by later findings.
    fn accept(&mut self) {}
    /// Writes the answers of the step into the plan.
    fn write(&self, answers: &Answers, plan: &mut PreparePlan);
    /// Sets the answers of the step to those of a plan: a draft, or the plan of the last run.
    fn adopt(&mut self, plan: &PreparePlan, answers: &Answers);
    /// Returns why the step cannot be completed, in one sentence.
    fn blocking_reason(&self, answers: &Answers) -> Option<String>;
    /// Handles a click on an option or a row of a list, or the wheel over a list. The focus is already on the clicked field.
    fn point(&mut self, _spot: ClickTarget, _list_gesture: ListGesture, _answers: &Answers) {}
    /// Whether the step shows a dialog, which receives every action, including Enter and Esc.
    fn has_inner(&self) -> bool {
        false
    }

    /// Moves the focus to the next field, unless it is on the last.
    fn focus_next(&mut self, answers: &Answers) {
        let next = self.focus() + 1;
        if next < self.focus_count(answers) {
            self.set_focus(next);
        }
    }
    /// Moves the focus to the previous field, unless it is on the first.
    fn focus_previous(&mut self) {
        self.set_focus(self.focus().saturating_sub(1));
    }
}

/// Handles a mouse event in a step.
pub fn point(state: &mut dyn StepState, answers: &Answers, gesture: Gesture<ClickTarget>) {
    let (spot, list_gesture) = match gesture {
        Gesture::Click { on, line, .. } | Gesture::DoubleClick { on, line, .. } => (on, ListGesture::Line(line)),
        Gesture::Wheel { on, rows } => (on, ListGesture::Wheel(rows)),
    };
    match (spot, list_gesture) {
        (ClickTarget::Rows(..), ListGesture::Wheel(_)) => state.point(spot, list_gesture, answers),
        (ClickTarget::Page, ListGesture::Wheel(rows)) => {
            let action = if rows < 0 { Action::Up } else { Action::Down };
            for _ in 0..rows.unsigned_abs() {
                // The action moves the cursor and causes no notice.
                let _ = state.handle_action(action, answers);
            }
        }
        (ClickTarget::Page, _) | (_, ListGesture::Wheel(_)) => {}
        (ClickTarget::Field(stop), _) => state.set_focus(stop),
        (ClickTarget::Switch(stop), _) => {
            state.set_focus(stop);
            // The action toggles a switch and causes no notice.
            let _ = state.handle_action(Action::Toggle, answers);
        }
        (ClickTarget::Choice(stop, _) | ClickTarget::Rows(stop, _), _) => {
            state.set_focus(stop);
            state.point(spot, list_gesture, answers);
        }
    }
}
