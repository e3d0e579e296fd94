//! The answers of the guided pack. Pure: what is known of the data comes from [`super::workers`].

use super::seen::Seen;
use super::step::{Field, Step};
use crate::tui::form::{Answers, Field as _, Form};
use crate::tui::keymap::Action;
use crate::tui::widgets::ListState;
use gristmill_core::pack::{SampleSize, TextField};
use gristmill_core::{Failure, Outcome, PackPlan, Problem, ProblemKind, Subject};
use gristmill_ops::engine::plan::pack::{missing_or_wrong, FIRST_SAMPLE_SIZE};
use gristmill_ops::engine::plan::setting::Setting as _;
use gristmill_ops::engine::plan::CommandLine;
use gristmill_ops::job::pack::PackPreview;

/// See the module.
pub struct PackState {
    /// The answers.
    pub plan: PackPlan,
    /// Where one is, and what is typed.
    pub form: Form<Field>,
    /// The keys of real documents, and behind them the program.
    pub keys: ListState,
    /// Tokenizers that were found.
    pub found: ListState,
    /// What is known of the data.
    pub seen: Seen,
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
            form: Form::new(Step::Source),
            keys: ListState::new(0),
            found: ListState::new(0),
            seen: Seen::default(),
        };
        state.fill_inputs();
        state.propose();
        state
    }

    /// What a run would do, when that was found out for these answers.
    pub fn preview_now(&self) -> Option<&Outcome<PackPreview>> {
        self.seen.preview.as_ref().filter(|(plan, _)| *plan == self.plan).map(|(_, found)| found.as_ref())
    }

    /// One of the formats that finds nothing to read, and where that is changed.
    pub fn format_without_files(&self) -> Option<Problem> {
        let formats = self.plan.formats();
        let (format, why) = formats.iter().find_map(|format| Some((*format, self.seen.files_blocker(*format)?)))?;
        let message = format!("nothing to read for {}: {why}", format.word());
        let problem = Problem::problem(ProblemKind::NothingToDo, Subject::default(), message);
        Some(problem.with_hint("'only files' in the step Source names others, as in **/*.jsonl.gz"))
    }

    /// Takes the key, or the program, that the cursor is on.
    fn choose_key(&mut self) {
        let row = self.keys.selected;
        match self.seen.keys.get(row) {
            Some(key) => self.plan.text = TextField::Key(key.name.clone()),
            None => {
                self.plan.text = TextField::Jq(self.form.value(Field::Jq));
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

    /// Whether going on takes the tokenizer that is marked: from the list of those found, and from the field where one is named as long
    /// as nothing is in it.
    pub fn offers_found(&self) -> bool {
        self.is_focused(Field::Found) || self.is_focused(Field::Tokenizer) && self.plan.tokenizer.is_empty()
    }

    /// The tokenizer that the cursor is on, taken into its field. `false` when it is there already.
    pub fn take_found(&mut self) -> bool {
        let Some(named) = self.found.get().and_then(|row| self.seen.tokenizers.get(row)).cloned() else { return false };
        if named == self.plan.tokenizer {
            return false;
        }
        self.form.set(Field::Tokenizer, &named);
        self.typed(Field::Tokenizer);
        true
    }
}

impl Answers for PackState {
    type Field = Field;
    type Plan = PackPlan;
    const OVERWRITE: Field = Field::Overwrite;

    fn keep_as_given(&mut self) {
        (self.proposes_end, self.proposes_output) = (false, false);
    }

    fn plan(&self) -> &PackPlan {
        &self.plan
    }

    fn form(&self) -> &Form<Field> {
        &self.form
    }

    fn form_mut(&mut self) -> &mut Form<Field> {
        &mut self.form
    }

    fn shows(&self, field: Field) -> bool {
        self.is_there(field) && (self.form.advanced || !field.is_advanced())
    }

    fn typed(&mut self, field: Field) {
        self.take_typed(field);
        self.propose();
    }

    fn is_on(&self, field: Field) -> bool {
        field.is_on(&self.plan)
    }

    fn toggle(&mut self, field: Field) {
        self.switch(field, !field.is_on(&self.plan));
        self.propose();
    }

    fn choice(&self, field: Field) -> (String, &'static str) {
        let (types, chosen) = field.choices(&self.plan);
        types.into_iter().nth(chosen).unwrap_or_default()
    }

    fn step_choice(&mut self, _: Field, forward: bool) {
        self.step_type(forward);
    }

    fn list(&mut self, field: Field) -> Option<&mut ListState> {
        match field {
            Field::Keys => Some(&mut self.keys),
            Field::Found => Some(&mut self.found),
            _ => None,
        }
    }

    /// The pattern of files stands above the files.
    fn act_in(&mut self, field: Field, action: Action) -> bool {
        match (field, action) {
            (Field::Keys, action) => {
                if self.move_in_list(field, action) {
                    self.choose_key();
                }
            }
            (Field::Found, action) => {
                if self.move_in_list(field, action) {
                    self.take_found();
                }
            }
            (Field::Files, Action::Up) if self.form.offset == 0 => self.focus_on(Field::Glob),
            (Field::Glob, Action::Up) => {}
            (Field::Glob, Action::Down) => self.focus_on(Field::Files),
            _ => return false,
        }
        true
    }

    fn wheels(&self, field: Field) -> bool {
        field == Field::Found
    }

    fn wanting(&self, step: Step) -> Option<String> {
        match step {
            Step::Source => {
                self.seen.files.as_ref().and_then(|found| found.as_ref().as_ref().err()).map(ToString::to_string)
            }
            Step::Text => self.seen.text_blocker(),
            Step::Tokenizer if self.plan.tokenizer.is_empty() => Some("a tokenizer is needed".into()),
            Step::Tokenizer => self.seen.tokenizer_blocker(&self.plan.tokenizer, self.plan.end.as_ref()),
            Step::Targets if self.plan.formats().is_empty() => Some("choose at least one format".into()),
            Step::Targets => {
                let refused = self.refused().first().map(|problem| problem.message.clone());
                refused.or_else(|| self.format_without_files().map(|problem| problem.message))
            }
            Step::Review => None,
        }
    }

    fn refused(&self) -> Vec<Problem> {
        missing_or_wrong(&self.plan)
    }

    fn outlook(&self) -> Option<Result<&[Problem], &Failure>> {
        self.preview_now().map(|found| found.as_ref().map(|found| found.problems.as_slice()))
    }

    fn command(&self) -> String {
        CommandLine::of_pack(&self.plan).text()
    }
}
