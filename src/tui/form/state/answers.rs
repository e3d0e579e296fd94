//! The effects of suggestions, typing, switches and selections on the answers of a form.

use super::super::field::{Field, FieldKind};
use super::Form;
use crate::tui::widgets::TextField;
use gristmill_core::options::{Answer, OptionRow, ValueKind};
use gristmill_ops::operations::paths::checked_answer;
use std::collections::BTreeSet;

impl Form {
    /// Returns whether the user has answered an option.
    pub fn is_given(&self, option: &str) -> bool {
        self.answered_options.contains(option)
    }

    /// Disables suggestions: options without an answer keep their defaults.
    pub fn disable_suggestions(&mut self) {
        self.proposes = false;
    }

    /// Sets the answer to an option, unless the user has given one.
    pub fn propose(&mut self, option: &'static str, answer: Answer) {
        if self.proposes && !self.is_given(option) && self.plan.get(option) != answer {
            self.set(option, &answer);
            // No field is being typed into, so all of them are updated: a number is shown as it is in the plan.
            self.update_inputs(None);
        }
    }

    /// Sets the user's answer to an option.
    pub fn answer(&mut self, option: &'static str, answer: &Answer) {
        self.answered_options.insert(option);
        self.set(option, answer);
    }

    pub(super) fn set(&mut self, option: &'static str, answer: &Answer) {
        let field = Field::Option(option);
        self.mistakes.remove(&field);
        let before = self.applying();
        let accepted = self.accepted(option, answer).and_then(|answer| self.plan.set(option, &answer));
        if let Err(why) = accepted {
            self.mistakes.insert(field, format!("{}: {why}", self.table.label(field)));
            return;
        }
        self.reapply(&before);
        self.update_inputs(Some(field));
    }

    /// Returns an answer with its paths in the form that the command line accepts, or the reason why the answer is invalid.
    pub fn accepted(&self, option: &str, answer: &Answer) -> Result<Answer, String> {
        let rows = self.plan.operation().options();
        let Some(row) = rows.iter().find(|row| row.info.name == option) else { return Ok(answer.clone()) };
        checked_answer(row, answer).map_err(|failure| match failure.hint {
            Some(hint) => format!("{}: {hint}", failure.why),
            None => failure.why,
        })
    }

    fn applying(&self) -> BTreeSet<&'static str> {
        let names = self.table.rows().iter().map(|row| row.info.name);
        names.filter(|name| self.plan.applies(name)).collect()
    }

    /// Sets the typed answers of options that apply again after an answer was changed. `before` are the options that applied before.
    fn reapply(&mut self, before: &BTreeSet<&'static str>) {
        for row in self.table.rows().to_vec() {
            let text = self.value(Field::Option(row.info.name));
            let is_back = !before.contains(row.info.name) && self.plan.applies(row.info.name);
            if !is_back || text.is_empty() {
                continue;
            }
            let answer = self.accepted(row.info.name, &row.answer(&text));
            if answer.and_then(|answer| self.plan.set(row.info.name, &answer)).is_err() {
                self.inputs.remove(&Field::Option(row.info.name));
            }
        }
    }

    /// Writes the answers of the plan into the text fields, except the field that is being typed into.
    pub(super) fn update_inputs(&mut self, typed: Option<Field>) {
        for row in self.table.rows().to_vec() {
            let field = Field::Option(row.info.name);
            let is_text = self.kind(field) == FieldKind::Text;
            if !is_text || !self.plan.applies(row.info.name) || self.mistakes.contains_key(&field) {
                continue;
            }
            let text = row.text(&self.plan.get(row.info.name));
            if typed == Some(field) && (text.is_empty() || self.is_same_answer(&row, &text)) {
                continue;
            }
            if self.value(field) != text {
                self.inputs.insert(field, TextField::new(&text));
            }
        }
    }

    fn is_same_answer(&self, row: &OptionRow, text: &str) -> bool {
        let typed = self.value(Field::Option(row.info.name));
        let accepted = |text: &str| self.accepted(row.info.name, &self.typed_answer(row.info.name, text));
        accepted(&typed) == accepted(text) || matches!(row.kind, ValueKind::Number(..))
    }

    fn typed_answer(&self, option: &str, text: &str) -> Answer {
        self.table.row(option).map_or(Answer::Unset, |row| row.answer(text))
    }

    /// Applies the typed text of a field to the plan.
    pub fn apply_typed(&mut self, field: Field) {
        match field {
            Field::Option(option) => {
                let answer = self.typed_answer(option, &self.value(field));
                self.answer(option, &answer);
            }
            // The path is checked again when it is used, so its old mistake is removed.
            _ => _ = self.mistakes.remove(&field),
        }
    }

    /// Writes a text into a field and applies it.
    pub fn type_into(&mut self, option: &'static str, text: &str) {
        self.inputs.insert(Field::Option(option), TextField::new(text));
        self.apply_typed(Field::Option(option));
    }

    /// Returns whether a switch is on.
    pub fn is_on(&self, field: Field) -> bool {
        match field {
            Field::Option(name) => self.plan.get(name) == Answer::On,
            Field::Choice(name, value) => self.chosen(name).iter().any(|chosen| chosen == value),
            Field::List(_) | Field::Page(_) | Field::Path(_) | Field::FocusStop(_) => false,
        }
    }

    fn chosen(&self, option: &str) -> Vec<String> {
        match self.plan.get(option) {
            Answer::List(values) => values,
            _ => Vec::new(),
        }
    }

    pub(super) fn toggle(&mut self, field: Field) {
        let is_on = self.is_on(field);
        match field {
            // An exclusive switch is turned off by turning on another one.
            Field::Option(_) if is_on && self.table.is_exclusive(field) => {}
            Field::Option(name) => self.answer(name, if is_on { &Answer::Unset } else { &Answer::On }),
            Field::Choice(name, value) => {
                let mut chosen = self.chosen(name);
                match is_on {
                    true => chosen.retain(|known| known != value),
                    false => chosen.push(value.to_owned()),
                }
                self.answer(name, &Answer::List(chosen));
            }
            Field::List(_) | Field::Page(_) | Field::Path(_) | Field::FocusStop(_) => {}
        }
    }

    /// Returns the selected value of a choice and its meaning. If none is selected, returns an empty value and the list of all values.
    pub fn choice(&self, field: Field) -> (&'static str, String) {
        let (choices, chosen) = self.choices(field);
        match chosen.and_then(|chosen| choices.get(chosen)) {
            Some(choice) => (choice.name, choice.help.to_owned()),
            None => {
                let names: Vec<&str> = choices.iter().map(|choice| choice.name).collect();
                ("", format!("one of {}", names.join(", ")))
            }
        }
    }

    fn choices(&self, field: Field) -> (&'static [gristmill_core::options::Choice], Option<usize>) {
        let Field::Option(name) = field else { return (&[], None) };
        let Some((ValueKind::Choice(choices), info)) = self.table.row(name).map(|row| (row.kind, row.info)) else {
            return (&[], None);
        };
        let chosen = match self.plan.get(name) {
            Answer::Text(value) => choices.iter().position(|choice| choice.name == value),
            _ => (!info.is_required).then_some(0),
        };
        (choices, chosen)
    }

    pub(super) fn step_choice(&mut self, field: Field, is_forward: bool) {
        let (choices, chosen) = self.choices(field);
        let last = choices.len().saturating_sub(1);
        let next = match (chosen, is_forward) {
            (None, true) => 0,
            (Some(chosen), true) if chosen < last => chosen + 1,
            (Some(_), true) => 0,
            (None | Some(0), false) => last,
            (Some(chosen), false) => chosen - 1,
        };
        let next = choices.get(next);
        if let (Field::Option(name), Some(next)) = (field, next) {
            self.answer(name, &Answer::Text(next.name.to_owned()));
        }
    }

    pub(super) fn clear(&mut self, field: Field) {
        self.inputs.insert(field, TextField::default());
        self.apply_typed(field);
    }
}
