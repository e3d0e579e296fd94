//! The answers of the guided dedup. Pure: what is known of the data comes from [`super::workers`].

use super::seen::Seen;
use super::step::{Field, Step, LENGTHS};
use crate::tui::form::{Answers, Form};
use crate::tui::keymap::Action;
use crate::tui::widgets::ListState;
use gristmill_core::dedup::USUAL_MIN_LENGTH;
use gristmill_core::{DedupPlan, Failure, Outcome, Problem};
use gristmill_ops::engine::plan::dedup::{missing_or_wrong, refusals};
use gristmill_ops::engine::plan::setting::{Kind, Setting as _};
use gristmill_ops::engine::plan::CommandLine;
use gristmill_ops::job::dedup::DedupEstimate;

/// See the module.
pub struct DedupState {
    /// The answers.
    pub plan: DedupPlan,
    /// Where one is, and what is typed.
    pub form: Form<Field>,
    /// The lengths that are offered, and behind them one's own.
    pub lengths: ListState,
    /// The length is typed.
    pub is_own: bool,
    /// What is known of the data.
    pub seen: Seen,
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
            form: Form::new(Step::Source),
            lengths,
            is_own: row.is_none(),
            seen: Seen::default(),
        };
        state.fill_inputs();
        state.propose();
        state
    }

    /// Writes the answers of the plan into the fields; what is as usual stays empty.
    fn fill_inputs(&mut self) {
        for field in Field::ALL.iter().filter(|field| field.kind() == Kind::Text) {
            let is_left_empty = *field == Field::Own && !self.is_own;
            self.form.set(*field, &if is_left_empty { String::new() } else { field.words(&self.plan) });
        }
    }

    /// What a run would do, when that was found out for these answers.
    pub fn review_now(&self) -> Option<&Outcome<DedupEstimate>> {
        self.seen.review.as_ref().filter(|(plan, _)| *plan == self.plan).map(|(_, found)| found.as_ref())
    }

    /// Lengths that are to be estimated, the chosen one first.
    pub fn wanted_lengths(&self) -> Vec<u64> {
        let chosen = self.plan.min_length;
        let others = LENGTHS.into_iter().rev().filter(|length| Some(*length) != chosen);
        chosen.into_iter().chain(others).collect()
    }
}

impl Answers for DedupState {
    type Field = Field;
    type Plan = DedupPlan;
    const OVERWRITE: Field = Field::Overwrite;

    fn plan(&self) -> &DedupPlan {
        &self.plan
    }

    fn form(&self) -> &Form<Field> {
        &self.form
    }

    fn form_mut(&mut self) -> &mut Form<Field> {
        &mut self.form
    }

    fn shows(&self, field: Field) -> bool {
        match field {
            Field::Own => self.is_own,
            Field::Variant | Field::AnnotateKey => field.is_there(&self.plan),
            Field::Against => self.form.advanced || self.plan.against.is_some(),
            field => self.form.advanced || !crate::tui::form::Field::is_advanced(field),
        }
    }

    fn typed(&mut self, field: Field) {
        self.take_typed(field);
    }

    fn is_on(&self, field: Field) -> bool {
        field.is_on(&self.plan)
    }

    fn toggle(&mut self, field: Field) {
        match field {
            Field::Overwrite => self.plan.overwrite ^= true,
            choice => self.take_other(choice),
        }
    }

    fn choice(&self, field: Field) -> (String, &'static str) {
        let (choices, chosen) = field.choices(&self.plan);
        choices.into_iter().nth(chosen).unwrap_or_default()
    }

    /// There are two of each.
    fn step_choice(&mut self, field: Field, _: bool) {
        self.take_other(field);
    }

    fn list(&mut self, field: Field) -> Option<&mut ListState> {
        (field == Field::Lengths).then_some(&mut self.lengths)
    }

    fn act_in(&mut self, field: Field, action: Action) -> bool {
        if field == Field::Lengths && self.move_in_list(field, action) {
            self.choose_length();
        }
        field == Field::Lengths
    }

    fn wanting(&self, step: Step) -> Option<String> {
        match step {
            Step::Source => self.seen.files_blocker(),
            Step::Length if self.plan.min_length.is_none() => Some("a minimum length is needed".into()),
            Step::Mode if self.plan.output.is_empty() => Some("say where the result goes".into()),
            Step::Mode => refusals(&self.plan).first().map(|problem| problem.message.clone()),
            Step::Length | Step::Review => None,
        }
    }

    fn refused(&self) -> Vec<Problem> {
        missing_or_wrong(&self.plan)
    }

    fn outlook(&self) -> Option<Result<&[Problem], &Failure>> {
        self.review_now().map(|found| found.as_ref().map(|found| found.problems.as_slice()))
    }

    fn command(&self) -> String {
        CommandLine::of_dedup(&self.plan).text()
    }
}
