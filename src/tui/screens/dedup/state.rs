//! The answers of the guided dedup and where in them one is. Pure: what is known of the data comes from [`super::workers`].

use super::seen::Seen;
use super::step::{Field, Kind, Step, LENGTHS};
use crate::engine::plan::dedup::{open_questions, refusals};
use crate::engine::plan::CommandLine;
use crate::job::dedup::DedupEstimate;
use crate::model::dedup::{Mode, Variant, ANNOTATE_KEY, LEAST_COUNT, TEXT_KEY, USUAL_MIN_LENGTH};
use crate::model::{DedupPlan, Outcome, Problem, Severity};
use crate::tui::keymap::Action;
use crate::tui::widgets::{ListState, Places, TextField as Input};
use std::collections::BTreeMap;
use std::time::Duration;

/// What lies at a place of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A field; of a list its first row in view.
    Field(Field),
    /// What is shown below the fields.
    Below,
    /// The list of steps.
    Rail,
}

/// See the module.
pub struct DedupState {
    /// The answers.
    pub plan: DedupPlan,
    /// The step on the screen.
    pub step: Step,
    /// The step that the cursor is on in the list of steps, when it has the keys.
    pub rail: Option<Step>,
    /// Steps that were left by going on.
    pub answered: [bool; 4],
    /// Everything is shown, not only what matters most.
    pub advanced: bool,
    /// What is typed.
    pub inputs: BTreeMap<Field, Input>,
    /// What is wrong with what is typed.
    pub troubles: BTreeMap<Field, String>,
    /// The lengths that are offered, and behind them one's own.
    pub lengths: ListState,
    /// The length is typed.
    pub is_own: bool,
    /// First line in view of what is below the fields.
    pub offset: usize,
    /// What is known of the data.
    pub seen: Seen,
    /// Where things were drawn last.
    pub places: Places<Place>,
    /// How old the draft is whose answers these are.
    pub draft: Option<Duration>,
    focus: usize,
    /// The output is still what was proposed.
    pub(super) proposes_output: bool,
}

impl DedupState {
    /// The answers of a plan, which may be open; the minimum length is then the usual one.
    pub fn new(plan: DedupPlan) -> Self {
        let length = plan.min_length.unwrap_or(USUAL_MIN_LENGTH);
        let mut lengths = ListState::new(LENGTHS.len() + 1);
        let row = LENGTHS.iter().position(|known| *known == length);
        lengths.select(row.unwrap_or(LENGTHS.len()));
        let mut state = Self {
            proposes_output: plan.output.is_empty(),
            plan: DedupPlan { min_length: Some(length), ..plan },
            step: Step::Source,
            rail: None,
            answered: [false; 4],
            advanced: false,
            inputs: BTreeMap::new(),
            troubles: BTreeMap::new(),
            lengths,
            is_own: row.is_none(),
            offset: 0,
            seen: Seen::default(),
            places: Places::default(),
            draft: None,
            focus: 0,
        };
        state.fill_inputs();
        state.propose();
        state
    }

    /// Writes the answers of the plan into the fields; what is as usual stays empty.
    fn fill_inputs(&mut self) {
        let plan = &self.plan;
        let unusual = |value: &str, usual: &str| if value == usual { String::new() } else { value.to_owned() };
        let own = plan.min_length.filter(|_| self.is_own);
        let values = [
            (Field::TextKey, unusual(&plan.text_key, TEXT_KEY)),
            (Field::Against, plan.against.clone().unwrap_or_default()),
            (Field::Own, own.map(|length| length.to_string()).unwrap_or_default()),
            (Field::AnnotateKey, unusual(&plan.annotate_key, ANNOTATE_KEY)),
            (Field::MinCount, unusual(&plan.min_count.to_string(), &LEAST_COUNT.to_string())),
            (Field::Output, plan.output.clone()),
            (Field::ExportRanges, plan.export_ranges.clone().unwrap_or_default()),
            (Field::ExportIndex, plan.export_index.clone().unwrap_or_default()),
        ];
        self.inputs = values.into_iter().map(|(field, value)| (field, Input::new(&value))).collect();
    }

    /// The fields of a step that are there now, in order.
    pub fn fields(&self) -> Vec<Field> {
        let all: &[Field] = match self.step {
            Step::Source => &[Field::TextKey, Field::Against],
            Step::Length => &[Field::Lengths, Field::Own],
            Step::Mode => &[
                Field::Mode,
                Field::Variant,
                Field::AnnotateKey,
                Field::Keep,
                Field::MinCount,
                Field::Output,
                Field::ExportRanges,
                Field::ExportIndex,
                Field::Overwrite,
            ],
            Step::Review => &[],
        };
        let is_listed = self.plan.mode == Mode::Annotate;
        let is_there = |field: &Field| match field {
            Field::Own => self.is_own,
            Field::Variant => is_listed,
            Field::AnnotateKey => is_listed && self.plan.variant == Variant::A,
            Field::Against => self.advanced || self.plan.against.is_some(),
            field => self.advanced || !field.is_advanced(),
        };
        all.iter().copied().filter(is_there).collect()
    }

    /// The field that has the keys.
    pub fn field(&self) -> Option<Field> {
        let fields = self.fields();
        fields.get(self.focus).or(fields.last()).copied()
    }

    /// Whether letters are typed.
    pub fn wants_text(&self) -> bool {
        self.rail.is_none() && self.field().is_some_and(|field| field.kind() == Kind::Text)
    }

    /// Puts the keys on a field.
    pub fn focus_on(&mut self, field: Field) {
        if let Some(index) = self.fields().iter().position(|known| *known == field) {
            self.focus = index;
            self.rail = None;
        }
    }

    fn step_focus(&mut self, forward: bool) {
        let last = self.fields().len().saturating_sub(1);
        match (self.rail, forward) {
            (Some(_), true) => (self.rail, self.focus) = (None, 0),
            (Some(_), false) => (self.rail, self.focus) = (None, last),
            (None, true) if self.focus >= last => self.rail = Some(self.step),
            (None, false) if self.focus == 0 => self.rail = Some(self.step),
            (None, true) => self.focus += 1,
            (None, false) => self.focus = self.focus.min(last) - 1,
        }
    }

    /// To the field above or below, and no further.
    fn step_focus_within(&mut self, forward: bool) {
        let last = self.fields().len().saturating_sub(1);
        self.focus = if forward { (self.focus + 1).min(last) } else { self.focus.min(last).saturating_sub(1) };
    }

    /// Goes to a step.
    pub fn go(&mut self, step: Step) {
        if step > self.step {
            for passed in Step::ALL.iter().filter(|known| **known < step) {
                if let Some(answered) = self.answered.get_mut(passed.index()) {
                    *answered = true;
                }
            }
        }
        (self.step, self.focus, self.offset, self.rail) = (step, 0, 0, None);
    }

    /// Why the step cannot be left by going on.
    pub fn blocker(&self, step: Step) -> Option<String> {
        let is_of = |field: &Field| match step {
            Step::Source => *field <= Field::Against,
            Step::Length => *field == Field::Own,
            Step::Mode => *field >= Field::Mode,
            Step::Review => false,
        };
        if let Some((_, why)) = self.troubles.iter().find(|(field, _)| is_of(field)) {
            return Some(why.clone());
        }
        match step {
            Step::Source => self.seen.files_blocker(),
            Step::Length if self.plan.min_length.is_none() => Some("a minimum length is needed".into()),
            Step::Mode if self.plan.output.is_empty() => Some("say where the result goes".into()),
            Step::Mode => refusals(&self.plan).first().map(|problem| problem.message.clone()),
            Step::Length | Step::Review => None,
        }
    }

    /// Answers that are missing or wrong, by the plan alone.
    pub fn refused(&self) -> Vec<Problem> {
        open_questions(&self.plan).into_iter().chain(refusals(&self.plan)).collect()
    }

    /// The first thing that stands in the way of a run, with the step where it is put right.
    pub fn first_blocker(&self) -> Option<(Step, String)> {
        let by_step = Step::ALL.iter().find_map(|step| self.blocker(*step).map(|why| (*step, why)));
        by_step.or_else(|| {
            let why = match self.review_now()? {
                Err(failure) => Some(failure.to_string()),
                Ok(found) => {
                    let refusal = found.problems.iter().find(|problem| problem.severity == Severity::Refusal);
                    refusal.map(|problem| problem.message.clone())
                }
            };
            why.map(|why| (Step::Review, why))
        })
    }

    /// What a run would do, when that was found out for these answers.
    pub fn review_now(&self) -> Option<&Outcome<DedupEstimate>> {
        self.seen.review.as_ref().filter(|(plan, _)| *plan == self.plan).map(|(_, found)| found.as_ref())
    }

    /// The same as a command, quoted for a shell.
    pub fn command(&self) -> String {
        CommandLine::of_dedup(&self.plan).text()
    }

    /// Lengths that are to be estimated, the chosen one first.
    pub fn wanted_lengths(&self) -> Vec<u64> {
        let chosen = self.plan.min_length;
        let others = LENGTHS.into_iter().rev().filter(|length| Some(*length) != chosen);
        chosen.into_iter().chain(others).collect()
    }

    /// Does what a key means in a step.
    pub fn act(&mut self, action: Action) {
        if let Some(rail) = self.rail {
            match action {
                Action::Up => self.rail = Some(rail.previous().unwrap_or(rail)),
                Action::Down => self.rail = Some(rail.next()),
                Action::NextField | Action::NextPane => self.step_focus(true),
                Action::PreviousField | Action::PreviousPane => self.step_focus(false),
                _ => {}
            }
            return;
        }
        let field = self.field();
        match (field, action) {
            (_, Action::NextField | Action::NextPane) => self.step_focus(true),
            (_, Action::PreviousField | Action::PreviousPane) => self.step_focus(false),
            (_, Action::PageDown | Action::HalfDown) => self.offset = self.offset.saturating_add(5),
            (_, Action::PageUp | Action::HalfUp) => self.offset = self.offset.saturating_sub(5),
            (_, Action::Advanced) => {
                self.advanced = !self.advanced;
                if let Some(field) = field {
                    self.focus_on(field);
                }
            }
            (Some(Field::Lengths), Action::Down) if self.lengths.selected + 1 >= self.lengths.len => {
                self.step_focus_within(true);
            }
            (Some(Field::Lengths), action) => {
                let before = self.lengths.selected;
                self.lengths.act(action);
                if self.lengths.selected != before || action == Action::Toggle {
                    self.choose_length();
                }
            }
            (None, Action::Up) => self.offset = self.offset.saturating_sub(1),
            (None, Action::Down) => self.offset = self.offset.saturating_add(1),
            (None, Action::First) => self.offset = 0,
            (None, Action::Last) => self.offset = usize::MAX,
            (Some(field), Action::Left | Action::Right) if field.kind() == Kind::Choice => self.toggle(field),
            (Some(field), Action::Toggle) if matches!(field.kind(), Kind::Switch | Kind::Choice) => self.toggle(field),
            (Some(field), Action::DropRow) if field.kind() == Kind::Text => {
                self.inputs.insert(field, Input::default());
                self.typed(field);
            }
            (_, Action::Up) => self.step_focus_within(false),
            (_, Action::Down) => self.step_focus_within(true),
            _ => {}
        }
    }
}
