//! The state of the guided prepare: all steps over one plan. Pure: what it wants done, it asks for ([`Ask`]).

use super::derive::Derived;
use super::field_map::FieldMapStep;
use super::interrupted::{self, Interrupted};
use super::media::MediaStep;
use super::review::ReviewStep;
use super::sample_type::TypeStep;
use super::source::SourceStep;
use super::splits::{Alternatives, SplitsStep};
use super::step::{Answers, Ask, Step, StepState};
use crate::tui::guided::frame::jump_of;
use crate::tui::keymap::{Action, Context, Keymap, Meaning};
use crate::tui::widgets::Level;
use gristmill_core::text::count;
use gristmill_core::{DatasetFacts, Loading, PreparePlan, ProblemKind, Rerun, Severity};
use ratatui::crossterm::event::{KeyCode, KeyEvent};
use std::sync::Arc;
use std::time::Duration;

/// Facts about a saved draft.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DraftFound {
    /// Its age.
    pub age: Duration,
}

/// The whole state.
#[derive(Clone, Debug)]
pub struct Wizard {
    /// The plan, the data, and what the one does to the other.
    pub answers: Answers,
    /// The step on the screen.
    pub step: Step,
    /// Steps that were left with an answer.
    pub answered: [bool; Step::ALL.len()],
    /// Steps that were left, or whose Enter was refused: what is wrong with them is no news any more.
    pub seen: [bool; Step::ALL.len()],
    /// The list of steps has the focus, with this step selected.
    pub rail: Option<Step>,
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
    /// Step Review.
    pub review: ReviewStep,
    /// Shards are being read at this moment.
    pub is_scanning: bool,
    /// The interrupted run that was found.
    pub interrupted: Option<Interrupted>,
    /// Whether its answers were restored on request.
    is_continued: bool,
    /// A draft was found and taken over.
    pub draft: Option<DraftFound>,
    /// Whether there were answers since the draft was saved.
    pub is_dirty: bool,
}

impl Wizard {
    /// A wizard that knows nothing but a path and what was seen there first.
    pub fn new(path: &str, facts: Arc<DatasetFacts>) -> Self {
        let answers =
            Answers { plan: PreparePlan::new(path), facts, derived: Arc::new(Derived::default()), earlier: None };
        let mut wizard = Self {
            answers,
            step: Step::Source,
            answered: [false; Step::ALL.len()],
            seen: [false; Step::ALL.len()],
            rail: None,
            source: SourceStep::default(),
            splits: SplitsStep::default(),
            sample_type: TypeStep::default(),
            field_map: FieldMapStep::default(),
            media: MediaStep::default(),
            review: ReviewStep::default(),
            is_scanning: false,
            interrupted: None,
            is_continued: false,
            draft: None,
            is_dirty: false,
        };
        wizard.refresh();
        wizard
    }

    /// Takes answers over from a plan: a draft, or the plan of the last run.
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

    /// Takes the plan of the last run as what untouched answers stay at.
    pub fn remember_earlier(&mut self, plan: PreparePlan) {
        let mut plan = plan;
        // What to do about an earlier preparation is a new question each time.
        plan.rerun = Rerun::Refuse;
        plan.new_to = None;
        self.adopt(&plan);
        if plan.loading != Loading::Unset {
            self.sample_type.only_propose();
        }
        self.answers.earlier = Some(Arc::new(plan));
        self.refresh();
    }

    /// Takes a draft over.
    pub fn take_draft(&mut self, plan: &PreparePlan, step: Step, age: Duration) {
        self.adopt(plan);
        for before in Step::ALL.iter().take(step.index()) {
            self.answered[before.index()] = true;
        }
        self.step = step;
        self.draft = Some(DraftFound { age });
        self.is_dirty = false;
    }

    /// Takes the answers of an interrupted run, so that it only has to be started.
    pub fn continue_run(&mut self, interrupted: Interrupted) {
        self.adopt(&interrupted.plan);
        for before in Step::ALL.iter().take(Step::Review.index()) {
            self.answered[before.index()] = true;
        }
        self.step = Step::Review;
        self.interrupted = Some(interrupted);
        self.is_continued = true;
        self.is_dirty = false;
    }

    /// Returns the work of the interrupted run that the next run keeps, as a message.
    pub fn continues(&self) -> Option<String> {
        let is_told = |_: &&Interrupted| self.is_continued || self.step == Step::Review;
        let interrupted = self.interrupted.as_ref().filter(is_told)?;
        let same = interrupted::hash(&self.answers.plan, self.answers.facts.prepared.as_ref()) == interrupted.hash;
        match (same, interrupted.done) {
            // If it was not requested, a notice says where it makes a difference.
            (true, 0) if !self.is_continued => None,
            (true, 1) => Some("an interrupted run is continued: 1 shard is done".into()),
            (true, done) => Some(format!("an interrupted run is continued: {} are done", count(done, "shard"))),
            (false, _) => self.is_continued.then(|| "changed since the interrupted run: it begins anew".into()),
        }
    }

    /// Brings back the ways to divide that were typed and are not chosen.
    pub fn take_alternatives(&mut self, kept: &Alternatives) {
        self.splits.take_alternatives(kept, &self.answers);
        self.refresh();
    }

    /// Forgets every answer and begins with what the data suggests.
    pub fn start_afresh(&mut self) {
        let answers = self.answers.clone();
        // What was read from the data is not an answer, and is not read again.
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

    /// Takes new facts.
    pub fn see(&mut self, facts: Arc<DatasetFacts>) {
        self.answers.facts = facts;
        self.refresh();
    }

    /// Takes what was worked out.
    pub fn learn(&mut self, derived: Arc<Derived>) {
        self.answers.derived = derived;
        self.refresh();
    }

    /// Lets every step take notice of the others and makes the plan of all answers again.
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

    /// The state of the step on the screen, and the answers.
    pub fn current(&mut self) -> (&mut dyn StepState, &Answers) {
        let state: &mut dyn StepState = match self.step {
            Step::Source => &mut self.source,
            Step::Splits => &mut self.splits,
            Step::SampleType => &mut self.sample_type,
            Step::FieldMap => &mut self.field_map,
            Step::Media => &mut self.media,
            Step::Review => &mut self.review,
        };
        (state, &self.answers)
    }

    fn state_of(&self, step: Step) -> &dyn StepState {
        match step {
            Step::Source => &self.source,
            Step::Splits => &self.splits,
            Step::SampleType => &self.sample_type,
            Step::FieldMap => &self.field_map,
            Step::Media => &self.media,
            Step::Review => &self.review,
        }
    }

    /// Returns the context of keys.
    pub fn context(&self) -> Context {
        if self.rail.is_some() {
            return Context::PrepareRail;
        }
        self.state_of(self.step).context(&self.answers)
    }

    /// How a letter typed into the ratio moves: no ratio holds it, so j and k choose another way to divide. No other letter is
    /// a command there.
    pub fn command_of(&self, key: &KeyEvent, keymap: &Keymap) -> Option<Action> {
        let in_ratio = self.step == Step::Splits && self.rail.is_none() && self.splits.is_typing_ratio(&self.answers);
        let is_letter =
            matches!(key.code, KeyCode::Char(c) if key.modifiers.is_empty() && !super::splits::is_ratio_char(c));
        if !in_ratio || !is_letter {
            return None;
        }
        match keymap.meaning(Context::Prepare, &[*key]) {
            Meaning::Do(action @ (Action::Up | Action::Down)) => Some(action),
            _ => None,
        }
    }

    /// The equivalent flags of the step on the screen.
    pub fn flags(&self) -> String {
        self.state_of(self.step).flags(&self.answers)
    }

    /// Whether a step has nothing to ask for the answers given.
    pub fn is_skipped(&self, step: Step) -> bool {
        step == Step::FieldMap && !self.sample_type.wants_field_map()
    }

    /// Whether an answer that was given in a step cannot be used.
    pub fn is_broken(&self, step: Step) -> bool {
        if step >= Step::Review || self.is_skipped(step) || !(self.seen[step.index()] || self.answered[step.index()]) {
            return false;
        }
        let answers = &self.answers;
        self.state_of(step).blocker(answers).is_some()
            || answers.derived.problems.iter().any(|p| p.severity == Severity::Refusal && answers.step_of(p) == step)
    }

    /// Why a step cannot be jumped to; `None` when it can.
    pub fn why_not(&self, step: Step) -> Option<String> {
        self.is_skipped(step).then(|| "the sample type chosen needs no field map".into())
    }

    /// Does what a key means.
    pub fn act(&mut self, action: Action) -> Vec<Ask> {
        let before = self.answers.plan.clone();
        let asks = self.act_inner(action);
        self.settle(&before);
        asks
    }

    /// Types.
    pub fn key(&mut self, key: KeyEvent) {
        // The list of steps has no text; what is typed there must not reach a field that is not in focus.
        if self.rail.is_some() {
            return;
        }
        let before = self.answers.plan.clone();
        let (state, answers) = self.current();
        state.key(key, answers);
        self.settle(&before);
    }

    /// Pastes.
    pub fn paste(&mut self, text: &str) {
        if self.rail.is_some() {
            return;
        }
        let before = self.answers.plan.clone();
        let (state, answers) = self.current();
        state.paste(text, answers);
        self.settle(&before);
    }

    pub(super) fn settle(&mut self, before: &PreparePlan) {
        self.refresh();
        if self.answers.plan != *before {
            self.is_dirty = true;
            self.review.preview = None;
            self.review.dry_run = false;
        }
    }

    fn act_inner(&mut self, action: Action) -> Vec<Ask> {
        if self.rail.is_none() && self.state_of(self.step).has_inner() {
            let (state, answers) = self.current();
            return state.act(action, answers);
        }
        if let Some(step) = Step::of_action(action) {
            return self.jump(step);
        }
        if let Some(at) = self.rail {
            return self.act_on_rail(action, at);
        }
        match action {
            Action::Next if self.step != Step::Review => self.next(),
            Action::Close => self.back(),
            Action::NextField | Action::NextPane => {
                let (state, answers) = self.current();
                if !state.focus_next(answers) {
                    self.rail = Some(self.step);
                }
                Vec::new()
            }
            Action::PreviousField | Action::PreviousPane => {
                let (state, _) = self.current();
                if !state.focus_previous() {
                    self.rail = Some(self.step);
                }
                Vec::new()
            }
            Action::SavePlan if self.step != Step::Review => {
                let asks = self.jump(Step::Review);
                if self.step == Step::Review {
                    self.review.ask_file_name(&self.answers);
                }
                asks
            }
            Action::Facts => vec![Ask::Facts],
            Action::Splits => self.divide_by_hand(),
            Action::StartAfresh => {
                self.start_afresh();
                vec![Ask::ForgetDraft, Ask::Say(Level::Info, "started afresh; nothing of the draft is kept".into())]
            }
            other => {
                let (state, answers) = self.current();
                state.act(other, answers)
            }
        }
    }

    fn act_on_rail(&mut self, action: Action, at: Step) -> Vec<Ask> {
        let place = |step: isize| {
            let index = (at.index() as isize + step).clamp(0, Step::ALL.len() as isize - 1);
            Step::ALL[index as usize]
        };
        match action {
            Action::Up => self.rail = Some(place(-1)),
            Action::Down => self.rail = Some(place(1)),
            Action::First => self.rail = Some(Step::Source),
            Action::Last => self.rail = Some(Step::Review),
            Action::Accept | Action::Next | Action::Right | Action::Toggle => return self.jump(at),
            Action::NextField | Action::NextPane => {
                self.rail = None;
                let (state, _) = self.current();
                state.set_focus(0);
            }
            Action::PreviousField | Action::PreviousPane => {
                self.rail = None;
                let (state, answers) = self.current();
                state.set_focus(state.focus_count(answers).saturating_sub(1));
            }
            Action::Close => self.rail = None,
            _ => {}
        }
        Vec::new()
    }

    /// Shards one by one: in the step Splits, or in the editor where an update leaves the recorded splits as they are.
    fn divide_by_hand(&mut self) -> Vec<Ask> {
        if self.answers.is_update() {
            return vec![Ask::Splits];
        }
        let asks = self.jump(Step::Splits);
        if self.step == Step::Splits {
            self.splits.by_hand(&self.answers);
        }
        asks
    }

    /// Goes to a step, if it can be gone to.
    fn jump(&mut self, step: Step) -> Vec<Ask> {
        if let Some(why) = self.why_not(step) {
            return vec![Ask::Say(Level::Info, why)];
        }
        self.rail = None;
        self.seen[self.step.index()] = true;
        self.step = step;
        Vec::new()
    }

    /// Accepts the answers of this step.
    fn next(&mut self) -> Vec<Ask> {
        if let Some(why) = self.state_of(self.step).blocker(&self.answers) {
            self.seen[self.step.index()] = true;
            self.answered[self.step.index()] = false;
            if self.step == Step::Source && self.source.has_fault() {
                self.source.focus_on(super::source::FocusStop::Pattern, &self.answers);
            }
            return vec![Ask::Say(Level::Warn, why)];
        }
        self.answered[self.step.index()] = true;
        self.current().0.accept();
        let later = Step::ALL.iter().copied().filter(|s| *s > self.step);
        if let Some(step) = later.into_iter().find(|s| !self.is_skipped(*s)) {
            self.step = step;
        }
        Vec::new()
    }

    /// Goes one step back; from the first step out.
    fn back(&mut self) -> Vec<Ask> {
        let earlier = Step::ALL.iter().rev().copied().filter(|s| *s < self.step);
        match earlier.into_iter().find(|s| !self.is_skipped(*s)) {
            Some(step) => {
                self.step = step;
                Vec::new()
            }
            None => vec![Ask::Leave],
        }
    }

    /// Accepts the answers of all steps before a run, so that a stopped run resumes with the same answers.
    pub fn accept_all(&mut self) {
        self.answered[Step::Review.index()] = true;
        let steps: [&mut dyn StepState; 5] =
            [&mut self.source, &mut self.splits, &mut self.sample_type, &mut self.field_map, &mut self.media];
        for step in steps {
            step.accept();
        }
    }

    /// Takes the counts of problems that a failed run found. Duplicate keys are a question of the first step, which is shown then.
    pub fn learn_from_run(&mut self, counts: &[(Severity, ProblemKind, u64)]) {
        self.source.saw_duplicates |= counts.iter().any(|(_, kind, _)| *kind == ProblemKind::DuplicateKey);
        self.refresh();
        if self.source.saw_duplicates {
            self.step = Step::Source;
            self.source.focus_on(super::source::FocusStop::Duplicates, &self.answers);
        }
    }

    /// Why an action cannot be done now.
    pub fn why_disabled(&self, action: Action) -> Option<String> {
        match action {
            Action::Next if self.rail.is_some() => Some("Enter goes to the step that is selected".into()),
            Action::Next if self.step == Step::Review && self.review.saving.is_none() => {
                Some("Enter starts the run here".into())
            }
            Action::NextField if self.step == Step::Review && self.rail.is_none() => {
                Some("there is one field here".into())
            }
            Action::Complete if self.rail.is_some() => Some("the list of steps has the focus".into()),
            Action::StartAfresh if self.draft.is_none() && !self.is_continued && !self.is_dirty => {
                Some("nothing was answered yet".into())
            }
            Action::Run | Action::DryRun => self.review.refusal_and_way(&self.answers),
            Action::Facts if self.answers.facts.samples_seen == 0 => Some("no sample was read yet".into()),
            Action::Undo | Action::Redo if self.step != Step::Splits => Some("nothing to take back here".into()),
            other => match (Step::of_action(other), jump_of(other)) {
                (Some(step), _) => self.why_not(step),
                (None, jump) => jump.map(|_| "there is no such step".into()),
            },
        }
    }
}

#[cfg(test)]
mod tests;
