//! Step Field map: the parts that fill each field, with the results on real samples.

pub mod complete;
pub mod samples;
pub(super) mod view;

use super::step::{Answers, StepState};
use crate::tui::keymap::{Action, Context};
use crate::tui::widgets::preview::Pixels;
use crate::tui::widgets::{TextField, Toast};
use gristmill_core::plan::FieldExpr;
use gristmill_core::sample_type;
use gristmill_core::{PreparePlan, Problem, ProblemKind, SampleMapping, Severity};
use ratatui::crossterm::event::KeyEvent;
use samples::SampleResults;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A field of the sample type.
#[derive(Clone, Debug, Default)]
pub struct FieldRow {
    /// Name of the field; typed by the user for a user-defined class.
    pub name: TextField,
    /// Expression of the field.
    pub expr: TextField,
    /// Python type of the field in the class; empty if not known.
    pub python: &'static str,
    /// For an optional field, the text of its default.
    pub default: Option<&'static str>,
}

/// The candidates of a completion, which Tab cycles through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompletionCycle {
    /// The candidates, as whole expressions.
    pub candidates: Vec<String>,
    /// The index of the candidate in the field.
    pub at: usize,
}

/// Answers of the step.
#[derive(Clone, Debug, Default)]
pub struct FieldMapStep {
    /// Rows in the order of the class; for a user-defined class, the last row is empty, for another field.
    pub rows: Vec<FieldRow>,
    /// The class the rows belong to.
    pub class: String,
    /// Whether the class is user-defined, so that the names of fields are typed, too.
    pub is_own: bool,
    /// The newest results; may be for an older text.
    pub results: Arc<SampleResults>,
    /// Pictures as pixels, if the terminal can show them.
    pub pixels: Pixels,
    /// The completion in progress.
    pub cycle: Option<CompletionCycle>,
    /// Typed texts by class and field, restored when a class is selected again.
    memory: BTreeMap<(String, String), String>,
    /// Class and name of each field whose expression the user changed.
    touched: BTreeSet<(String, String)>,
    focus: usize,
}

impl FieldMapStep {
    /// Whether the focused text field is a name.
    fn on_name(&self) -> bool {
        self.is_own && self.focus.is_multiple_of(2)
    }

    /// Returns the focused row.
    pub fn row_at_focus(&self) -> usize {
        let row = if self.is_own { self.focus / 2 } else { self.focus };
        row.min(self.rows.len().saturating_sub(1))
    }

    /// Whether the name of a row has the focus, rather than its expression.
    pub fn name_has_focus(&self, row: usize) -> bool {
        self.on_name() && self.row_at_focus() == row
    }

    fn field(&mut self) -> Option<&mut TextField> {
        let (row, on_name) = (self.row_at_focus(), self.on_name());
        self.rows.get_mut(row).map(|r| if on_name { &mut r.name } else { &mut r.expr })
    }

    /// Returns field and expression of every row that is not empty.
    pub fn expressions(&self) -> Vec<FieldExpr> {
        let full = self.rows.iter().filter(|r| !r.expr.is_empty() && !r.name.is_empty());
        full.map(|r| FieldExpr { field: r.name.value().trim().to_owned(), expr: r.expr.value().trim().to_owned() })
            .collect()
    }

    fn store_expressions(&mut self) {
        for row in &self.rows {
            self.memory.insert((self.class.clone(), row.name.value().to_owned()), row.expr.value().to_owned());
        }
    }

    /// Creates the rows for the selected class, with the texts that were typed for it before.
    fn follow_class(&mut self, answers: &Answers) {
        let class = match &answers.plan.loading {
            SampleMapping::FieldMap { sample_type, .. } => sample_type.clone(),
            _ => return,
        };
        let known = sample_type::find(&class);
        if class == self.class && !self.rows.is_empty() {
            return;
        }
        let keeps_names = self.is_own && known.is_none();
        self.store_expressions();
        self.class.clone_from(&class);
        self.cycle = None;
        if keeps_names {
            // Another user-defined class: the typed rows most likely still apply.
            return;
        }
        self.focus = 0;
        self.is_own = known.is_none();
        let names: Vec<String> = match known {
            Some(known) => known.fields.iter().map(|f| f.name.to_owned()).collect(),
            None => self.memory.keys().filter(|(c, _)| *c == class).map(|(_, f)| f.clone()).collect(),
        };
        self.rows = names.iter().map(|name| self.row_for(&class, name)).collect();
        self.grow_rows();
    }

    fn row_for(&self, class: &str, name: &str) -> FieldRow {
        let field = sample_type::find(class).and_then(|t| t.fields.iter().find(|f| f.name == name));
        let typed = self.memory.get(&(class.to_owned(), name.to_owned()));
        FieldRow {
            name: TextField::new(name),
            expr: TextField::new(typed.map_or("", String::as_str)),
            python: field.map_or("", |f| f.field_type.python()),
            default: field.and_then(|f| f.default),
        }
    }

    fn grow_rows(&mut self) {
        let last_is_full = self.rows.last().is_none_or(|r| !r.name.is_empty() || !r.expr.is_empty());
        if self.is_own && last_is_full {
            self.rows.push(FieldRow::default());
        }
    }

    fn take_suggestion(&mut self, answers: &Answers) {
        let class = self.class.clone();
        let derived = &answers.derived;
        let of_type = derived.suggested_types.iter().find(|s| s.class == class).map(|s| &s.fields);
        let offers = of_type.unwrap_or(&derived.suggested_fields);
        for row in &mut self.rows {
            let key = (class.clone(), row.name.value().to_owned());
            let offered = offers.iter().find(|f| f.field == row.name.value());
            if let Some(offered) = offered.filter(|_| !self.touched.contains(&key)) {
                if row.expr.value() != offered.expr {
                    row.expr.set(&offered.expr);
                }
            }
        }
    }

    fn edited(&mut self) {
        let row = self.row_at_focus();
        if let Some(row) = self.rows.get(row) {
            self.touched.insert((self.class.clone(), row.name.value().to_owned()));
        }
        self.grow_rows();
    }

    fn complete(&mut self, answers: &Answers) {
        if self.on_name() {
            self.focus_next(answers);
            return;
        }
        let row = self.row_at_focus();
        let Some(typed) = self.rows.get(row).map(|r| r.expr.value().to_owned()) else { return };
        let next = match self.cycle.take() {
            Some(mut cycle) if cycle.candidates.get(cycle.at) == Some(&typed) && cycle.candidates.len() > 1 => {
                cycle.at = (cycle.at + 1) % cycle.candidates.len();
                Some(cycle)
            }
            _ => {
                let parts = answers.derived.parts_by_share(&answers.facts);
                let known = complete::CompletionSource { parts: &parts, json: &self.results.json };
                let candidates = complete::candidates(&typed, &known);
                (!candidates.is_empty()).then_some(CompletionCycle { candidates, at: 0 })
            }
        };
        match next {
            Some(cycle) => {
                if let (Some(row), Some(text)) = (self.rows.get_mut(row), cycle.candidates.get(cycle.at)) {
                    row.expr.set(text);
                }
                self.cycle = Some(cycle);
                self.edited();
            }
            // Without completions, Tab moves to the next field.
            None => self.focus_next(answers),
        }
    }

    /// Returns the most severe problem of a row. The expression of an optional field may be empty.
    pub fn row_problem(&self, row: usize, answers: &Answers) -> Option<Problem> {
        let row_state = self.rows.get(row)?;
        let name = row_state.name.value().trim();
        if row_state.expr.is_empty() {
            let is_required = row_state.default.is_none() && !self.is_own;
            return is_required.then(|| {
                let message = format!("{name} is required; give it a part, such as jpg or json[caption]");
                Problem::refusal(ProblemKind::MissingField, gristmill_core::Subject::field(name), message)
            });
        }
        let of_plan = answers.derived.field_problems().filter(|p| p.subject.field.as_deref() == Some(name));
        let of_samples = self.results.problems.iter().filter(|p| p.subject.field.as_deref() == Some(name));
        of_plan.chain(of_samples).max_by_key(|p| p.severity).cloned()
    }
}

impl StepState for FieldMapStep {
    fn focus_count(&self, _: &Answers) -> usize {
        (self.rows.len() * if self.is_own { 2 } else { 1 }).max(1)
    }

    fn focus(&self) -> usize {
        self.focus
    }

    fn set_focus(&mut self, stop: usize) {
        self.focus = stop;
        self.cycle = None;
    }

    fn context(&self, answers: &Answers) -> Context {
        if self.rows.is_empty() || !matches!(answers.plan.loading, SampleMapping::FieldMap { .. }) {
            return Context::Prepare;
        }
        if self.on_name() {
            Context::PrepareText
        } else {
            Context::PrepareExpression
        }
    }

    fn handle_action(&mut self, action: Action, answers: &Answers) -> Option<Toast> {
        let step = if self.is_own { 2 } else { 1 };
        match action {
            Action::Complete => self.complete(answers),
            Action::Up => {
                let at = self.focus.checked_sub(step).unwrap_or(self.focus);
                self.set_focus(at);
            }
            Action::Down => {
                let at = self.focus + step;
                if at < self.focus_count(answers) {
                    self.set_focus(at);
                }
            }
            Action::DropRow => {
                if let Some(field) = self.field() {
                    field.clear();
                }
                self.edited();
            }
            _ => {}
        }
        None
    }

    fn key(&mut self, key: KeyEvent, _: &Answers) {
        self.cycle = None;
        if self.field().is_some_and(|f| f.key(key)) {
            self.edited();
        }
    }

    fn paste(&mut self, text: &str, _: &Answers) {
        self.cycle = None;
        if self.field().is_some_and(|f| f.paste(text)) {
            self.edited();
        }
    }

    fn refresh(&mut self, answers: &Answers) {
        self.follow_class(answers);
        self.take_suggestion(answers);
        self.focus = self.focus.min(self.focus_count(answers).saturating_sub(1));
    }

    fn accept(&mut self) {
        let class = &self.class;
        self.touched.extend(self.rows.iter().map(|row| (class.clone(), row.name.value().to_owned())));
    }

    fn write(&self, _: &Answers, plan: &mut PreparePlan) {
        let expressions = self.expressions();
        if let SampleMapping::FieldMap { sample_type, fields } = &mut plan.loading {
            if *sample_type == self.class {
                *fields = expressions;
            }
        }
    }

    fn adopt(&mut self, plan: &PreparePlan, answers: &Answers) {
        let SampleMapping::FieldMap { sample_type, fields } = &plan.loading else { return };
        for field in fields {
            let key = (sample_type.clone(), field.field.clone());
            self.memory.insert(key.clone(), field.expr.clone());
            self.touched.insert(key);
        }
        // Fields that were left empty on purpose stay empty; a map without fields is not an answer.
        let known = sample_type::find(sample_type).filter(|_| !fields.is_empty());
        for known in known.map_or(&[][..], |t| t.fields) {
            self.touched.insert((sample_type.clone(), known.name.to_owned()));
        }
        self.class.clear();
        self.rows.clear();
        let with_plan = Answers { plan: plan.clone(), ..answers.clone() };
        self.follow_class(&with_plan);
    }

    fn blocking_reason(&self, answers: &Answers) -> Option<String> {
        if !matches!(answers.plan.loading, SampleMapping::FieldMap { .. }) {
            return None;
        }
        if self.is_own && self.expressions().is_empty() {
            return Some("name at least one field of your class and the part that fills it".into());
        }
        (0..self.rows.len())
            .filter_map(|row| self.row_problem(row, answers))
            .find(|p| p.severity == Severity::Refusal)
            .map(|p| p.message)
    }
}

#[cfg(test)]
mod tests;
