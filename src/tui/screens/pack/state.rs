//! The answers of the guided pack and where in them one is. Pure: what is known of the data comes from [`super::workers`].

use super::seen::Seen;
use super::step::{Field, Kind, Step};
use crate::engine::plan::pack::{open_questions, refusals};
use crate::engine::plan::CommandLine;
use crate::model::pack::{SampleSize, TextField};
use crate::model::{PackPlan, Problem, Severity};
use crate::tui::keymap::Action;
use crate::tui::widgets::{ListState, Places, TextField as Input};
use std::collections::BTreeMap;
use std::time::Duration;

/// Samples of Forager are this many tokens until another size is chosen.
pub(super) const FIRST_SAMPLE_SIZE: u64 = 4_096;

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
pub struct PackState {
    /// The answers.
    pub plan: PackPlan,
    /// The step on the screen.
    pub step: Step,
    /// The step that the cursor is on in the list of steps, when it has the keys.
    pub rail: Option<Step>,
    /// Steps that were left by going on.
    pub answered: [bool; 5],
    /// Everything is shown, not only what matters most.
    pub advanced: bool,
    /// What is typed.
    pub inputs: BTreeMap<Field, Input>,
    /// What is wrong with what is typed.
    pub troubles: BTreeMap<Field, String>,
    /// The keys of real documents, and behind them the program.
    pub keys: ListState,
    /// Tokenizers that were found.
    pub found: ListState,
    /// First line in view of what is below the fields.
    pub offset: usize,
    /// What is known of the data.
    pub seen: Seen,
    /// Where things were drawn last.
    pub places: Places<Place>,
    /// How old the draft is whose answers these are.
    pub draft: Option<Duration>,
    focus: usize,
    /// The end token and the output are still what was proposed.
    pub(super) proposes_end: bool,
    pub(super) proposes_output: bool,
}

impl PackState {
    /// The answers of a plan, which may be open.
    pub fn new(mut plan: PackPlan) -> Self {
        // A command line leaves the size of a sample open by 0.
        if let Some(target) = plan.forager.as_mut().filter(|target| target.sample_size == SampleSize::Fixed(0)) {
            target.sample_size = SampleSize::Fixed(FIRST_SAMPLE_SIZE);
        }
        let mut state = Self {
            proposes_end: plan.end.is_none(),
            proposes_output: plan.output.is_empty(),
            plan,
            step: Step::Source,
            rail: None,
            answered: [false; 5],
            advanced: false,
            inputs: BTreeMap::new(),
            troubles: BTreeMap::new(),
            keys: ListState::new(0),
            found: ListState::new(0),
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
            Step::Source => matches!(field, Field::Glob),
            Step::Text => matches!(field, Field::Keys | Field::Jq),
            Step::Tokenizer => matches!(field, Field::Tokenizer | Field::End),
            Step::Targets => *field >= Field::Output,
            Step::Review => false,
        };
        if let Some((_, why)) = self.troubles.iter().find(|(field, _)| is_of(field)) {
            return Some(why.clone());
        }
        match step {
            Step::Source => {
                self.seen.files.as_ref().and_then(|found| found.as_ref().as_ref().err()).map(ToString::to_string)
            }
            Step::Text => self.seen.text_blocker(),
            Step::Tokenizer if self.plan.tokenizer.is_empty() => Some("a tokenizer is needed".into()),
            Step::Tokenizer => self.seen.tokenizer_blocker(&self.plan.tokenizer),
            Step::Targets if self.plan.formats().is_empty() => Some("choose at least one format".into()),
            Step::Targets => self.refused().first().map(|problem| problem.message.clone()),
            Step::Review => None,
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
            let found = self.preview_now()?.as_ref();
            let why = match found {
                Err(failure) => Some(failure.to_string()),
                Ok(preview) => {
                    let refusal = preview.problems.iter().find(|problem| problem.severity == Severity::Refusal);
                    refusal.map(|problem| problem.message.clone())
                }
            };
            why.map(|why| (Step::Review, why))
        })
    }

    /// What a run would do, when that was found out for these answers.
    pub fn preview_now(&self) -> Option<&crate::model::Outcome<crate::job::pack::PackPreview>> {
        self.seen.preview.as_ref().filter(|(plan, _)| *plan == self.plan).map(|(_, found)| found.as_ref())
    }

    /// The same as a command, quoted for a shell.
    pub fn command(&self) -> String {
        CommandLine::of_pack(&self.plan).text()
    }

    /// Takes the key, or the program, that the cursor is on.
    fn choose_key(&mut self) {
        let row = self.keys.selected;
        match self.seen.keys.get(row) {
            Some(key) => self.plan.text = TextField::Key(key.name.clone()),
            None => {
                let program = self.inputs.get(&Field::Jq).map(|input| input.value().to_owned()).unwrap_or_default();
                self.plan.text = TextField::Jq(program);
            }
        }
    }

    /// Says how many rows the lists have, and puts the cursors on what is chosen.
    pub fn settle_lists(&mut self) {
        self.keys.set_len(self.seen.keys.len() + 1);
        let row = match &self.plan.text {
            TextField::Key(name) => self.seen.keys.iter().position(|key| key.name == *name),
            TextField::Jq(_) => Some(self.seen.keys.len()),
        };
        if let Some(row) = row {
            self.keys.select(row);
        }
        self.found.set_len(self.seen.tokenizers.len());
    }

    /// The tokenizer that the cursor is on, taken into its field. `false` when it is there already.
    pub fn take_found(&mut self) -> bool {
        let Some(named) = self.found.get().and_then(|row| self.seen.tokenizers.get(row)).cloned() else { return false };
        if named == self.plan.tokenizer {
            return false;
        }
        self.inputs.insert(Field::Tokenizer, Input::new(&named));
        self.typed(Field::Tokenizer);
        true
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
            (Some(Field::Keys), action) => {
                let before = self.keys.selected;
                let is_last = before + 1 >= self.keys.len;
                match action {
                    Action::Down if is_last => self.step_focus_within(true),
                    Action::Up if before == 0 => {}
                    action => {
                        self.keys.act(action);
                    }
                }
                if self.keys.selected != before || action == Action::Toggle {
                    self.choose_key();
                }
            }
            (Some(Field::Found), Action::Toggle) => {
                self.take_found();
            }
            (Some(Field::Found), Action::Down) if self.found.selected + 1 >= self.found.len => {
                self.step_focus_within(true);
            }
            (Some(Field::Found), Action::Up) if self.found.selected == 0 => self.step_focus_within(false),
            (Some(Field::Found), action) => {
                self.found.act(action);
            }
            (Some(Field::Files), Action::Up) if self.offset > 0 => self.offset -= 1,
            (Some(Field::Files), Action::Up) => self.focus_on(Field::Glob),
            (Some(Field::Files), Action::Down) => self.offset = self.offset.saturating_add(1),
            (Some(Field::Files), Action::First) => self.offset = 0,
            (Some(Field::Files), Action::Last) => self.offset = usize::MAX,
            // It stands above the files.
            (Some(Field::Glob), Action::Up) => {}
            (Some(Field::Glob), Action::Down) => self.focus_on(Field::Files),
            (None, Action::Up) => self.offset = self.offset.saturating_sub(1),
            (None, Action::Down) => self.offset = self.offset.saturating_add(1),
            (None, Action::First) => self.offset = 0,
            (None, Action::Last) => self.offset = usize::MAX,
            (Some(Field::TokenType), Action::Left | Action::Right | Action::Toggle) => {
                self.step_type(action != Action::Left);
            }
            (Some(field), Action::Toggle) if field.kind() == Kind::Switch => self.toggle(field),
            (Some(field), Action::DropRow) if field.kind() == Kind::Text => {
                self.inputs.insert(field, Input::default());
                self.typed(field);
            }
            (_, Action::Up) => self.step_focus_within(false),
            (_, Action::Down) => self.step_focus_within(true),
            _ => {}
        }
    }

    /// To the field above or below, and no further.
    fn step_focus_within(&mut self, forward: bool) {
        let last = self.fields().len().saturating_sub(1);
        self.focus = if forward { (self.focus + 1).min(last) } else { self.focus.min(last).saturating_sub(1) };
    }
}
