//! Step Sample type: the class of samples in the training code, and the source of its fields.

pub(super) mod view;

use super::click_targets::{ClickTarget, ListGesture};
use super::step::{Answers, StepState};
use crate::tui::keymap::{Action, Context};
use crate::tui::widgets::{ListState, TextField, Toast};
use gristmill_core::sample_type::{self, SampleType, SAMPLE_TYPES};
use gristmill_core::{PreparePlan, SampleMapping};
use ratatui::crossterm::event::KeyEvent;

/// A row of the list of sample types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// A sample type of the training framework.
    Known(&'static SampleType),
    /// Crude samples: maps of parts.
    Crude,
    /// A user-defined class.
    Own,
    /// No `dataset.yaml`.
    NoYaml,
    /// The existing `dataset.yaml` is kept; only in an update.
    Keep,
}

/// The source of the fields of a sample type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldSource {
    /// A field map in `dataset.yaml`.
    #[default]
    FieldMap,
    /// A generated `sample_loader.py`.
    Loader,
}

/// A field of this step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FocusStop {
    /// The list of types.
    List,
    /// The text field for a class: `module:Class`.
    OwnClass,
    FieldSource,
    /// Whether to write a `cooker.py`.
    Cooker,
}

/// Answers of the step.
#[derive(Clone, Debug)]
pub struct TypeStep {
    /// The selected row.
    pub choice: Choice,
    /// The text field for a user-defined class: `module:Class`.
    pub own: TextField,
    pub field_source: FieldSource,
    /// Whether to write a `cooker.py`.
    pub cooker: bool,
    /// Cursor and scroll position of the list; its selected row is the choice.
    pub list: ListState,
    /// The rows, best suggestion first.
    pub rows: Vec<Choice>,
    /// Whether the cursor was moved: the order of the rows then stays.
    touched: bool,
    /// Whether the choice was accepted: later findings may move its row, but do not change the choice.
    accepted: bool,
    /// The answer of the last run, proposed instead of the best suggestion.
    proposed: Option<Choice>,
    focus: usize,
}

impl Default for TypeStep {
    fn default() -> Self {
        Self {
            choice: Choice::Crude,
            own: TextField::default(),
            field_source: FieldSource::default(),
            cooker: true,
            list: ListState::default(),
            rows: Vec::new(),
            touched: false,
            accepted: false,
            proposed: None,
            focus: 0,
        }
    }
}

impl TypeStep {
    /// Treats the restored answer as a suggestion, which a better one replaces.
    pub fn only_propose(&mut self) {
        self.proposed = Some(self.choice);
        self.touched = false;
        self.accepted = false;
    }

    /// Returns the fields that apply to the choice, in order.
    pub fn stop_list(&self) -> Vec<FocusStop> {
        match self.choice {
            Choice::Known(_) => vec![FocusStop::List, FocusStop::FieldSource],
            Choice::Own => vec![FocusStop::List, FocusStop::OwnClass, FocusStop::FieldSource],
            Choice::Crude => vec![FocusStop::List, FocusStop::Cooker],
            Choice::NoYaml | Choice::Keep => vec![FocusStop::List],
        }
    }

    /// Returns the focused field.
    pub fn stop(&self) -> FocusStop {
        let stops = self.stop_list();
        stops.get(self.focus).or(stops.last()).copied().unwrap_or(FocusStop::List)
    }

    /// Returns the number of a field in the order of the focus.
    pub fn number_of(&self, stop: FocusStop) -> usize {
        self.stop_list().iter().position(|s| *s == stop).unwrap_or(0)
    }

    /// Returns the selected class as written in the plan; `None` if the choice has no class.
    pub fn class(&self) -> Option<String> {
        match self.choice {
            Choice::Known(t) => Some(t.class.to_owned()),
            Choice::Own => Some(self.own.value().trim().to_owned()),
            _ => None,
        }
    }

    /// Whether the next step is the field map.
    pub fn wants_field_map(&self) -> bool {
        matches!(self.choice, Choice::Known(_) | Choice::Own) && self.field_source == FieldSource::FieldMap
    }

    fn select(&mut self, choice: Choice) {
        self.choice = choice;
        if let Some(row) = self.rows.iter().position(|r| *r == choice) {
            self.list.select(row);
        }
    }

    /// Orders the rows: suggestions first, then the other types in the framework's order, then the rows that are not types.
    fn order_rows(&mut self, answers: &Answers) {
        let mut rows: Vec<Choice> = Vec::with_capacity(SAMPLE_TYPES.len() + 4);
        if answers.is_update() {
            rows.push(Choice::Keep);
        }
        for suggestion in &answers.derived.suggested_types {
            let choice = if suggestion.class == sample_type::CRUDE_CLASS {
                Some(Choice::Crude)
            } else {
                sample_type::find(&suggestion.class).map(Choice::Known)
            };
            rows.extend(choice.filter(|c| !rows.contains(c)));
        }
        let rest = SAMPLE_TYPES.iter().map(Choice::Known).chain([Choice::Crude, Choice::Own, Choice::NoYaml]);
        for choice in rest {
            if !rows.contains(&choice) {
                rows.push(choice);
            }
        }
        self.rows = rows;
        self.list.set_len(self.rows.len());
    }

    fn move_in_list(&mut self, action: Action, answers: &Answers) {
        if self.list.handle_action(action) {
            self.touched = true;
            if let Some(choice) = self.list.get().and_then(|row| self.rows.get(row)) {
                self.choice = *choice;
            }
        } else if action == Action::Down {
            self.focus_next(answers);
        }
    }
}

impl StepState for TypeStep {
    fn focus_count(&self, _: &Answers) -> usize {
        self.stop_list().len()
    }

    fn focus(&self) -> usize {
        self.focus
    }

    fn set_focus(&mut self, stop: usize) {
        self.focus = stop;
    }

    fn context(&self, _: &Answers) -> Context {
        match self.stop() {
            FocusStop::OwnClass => Context::PrepareText,
            _ => Context::Prepare,
        }
    }

    fn handle_action(&mut self, action: Action, answers: &Answers) -> Option<Toast> {
        match (self.stop(), action) {
            // The option at the cursor is already selected.
            (FocusStop::List | FocusStop::FieldSource, Action::Toggle) => self.touched = true,
            (FocusStop::List, moving) => self.move_in_list(moving, answers),
            (FocusStop::FieldSource, Action::Down) if self.field_source == FieldSource::FieldMap => {
                self.field_source = FieldSource::Loader
            }
            (FocusStop::FieldSource, Action::Up) if self.field_source == FieldSource::Loader => {
                self.field_source = FieldSource::FieldMap
            }
            (FocusStop::Cooker, Action::Toggle) => self.cooker = !self.cooker,
            (FocusStop::OwnClass, Action::DropRow) => self.own.clear(),
            (_, Action::Up) => self.focus_previous(),
            (_, Action::Down) => self.focus_next(answers),
            _ => {}
        }
        None
    }

    fn point(&mut self, spot: ClickTarget, list_gesture: ListGesture, _: &Answers) {
        match spot {
            ClickTarget::Choice(_, option) => {
                self.field_source = if option == 0 { FieldSource::FieldMap } else { FieldSource::Loader }
            }
            ClickTarget::Rows(..) if list_gesture.apply(&mut self.list) => {
                if let Some(choice) = self.list.get().and_then(|row| self.rows.get(row)).copied() {
                    self.touched |= choice != self.choice;
                    self.choice = choice;
                }
            }
            _ => {}
        }
    }

    fn key(&mut self, key: KeyEvent, _: &Answers) {
        if self.stop() == FocusStop::OwnClass {
            self.own.key(key);
        }
    }

    fn paste(&mut self, text: &str, _: &Answers) {
        if self.stop() == FocusStop::OwnClass {
            self.own.paste(text);
        }
    }

    fn refresh(&mut self, answers: &Answers) {
        let keep_row = answers.is_update() == self.rows.contains(&Choice::Keep);
        if self.touched && keep_row && !self.rows.is_empty() {
            return;
        }
        self.order_rows(answers);
        let gone = !self.rows.contains(&self.choice);
        if !(self.touched || self.accepted) || gone {
            let proposed = self.proposed.filter(|c| !answers.is_update() && self.rows.contains(c));
            if let Some(choice) = proposed.or(self.rows.first().copied()) {
                self.choice = choice;
            }
        }
        self.select(self.choice);
    }

    fn accept(&mut self) {
        self.accepted = true;
    }

    fn write(&self, _: &Answers, plan: &mut PreparePlan) {
        // The fields are added by the step Field map.
        plan.loading = match (self.choice, self.field_source) {
            (Choice::Crude, _) => SampleMapping::Crude { cooker: self.cooker },
            (Choice::NoYaml, _) => SampleMapping::NoDatasetYaml,
            (Choice::Keep, _) => SampleMapping::Unset,
            (Choice::Known(_) | Choice::Own, field_source) => {
                let sample_type = self.class().unwrap_or_default();
                match field_source {
                    FieldSource::FieldMap => SampleMapping::FieldMap { sample_type, fields: Vec::new() },
                    FieldSource::Loader => SampleMapping::SampleLoader { sample_type },
                }
            }
        };
    }

    fn adopt(&mut self, plan: &PreparePlan, answers: &Answers) {
        let class = match &plan.loading {
            SampleMapping::Unset => return,
            SampleMapping::NoDatasetYaml => None,
            SampleMapping::Crude { cooker } => {
                self.cooker = *cooker;
                None
            }
            SampleMapping::FieldMap { sample_type, .. } => {
                self.field_source = FieldSource::FieldMap;
                Some(sample_type)
            }
            SampleMapping::SampleLoader { sample_type } => {
                self.field_source = FieldSource::Loader;
                Some(sample_type)
            }
        };
        self.order_rows(answers);
        self.touched = true;
        let choice = match (class, &plan.loading) {
            (Some(class), _) => sample_type::find(class).map_or_else(
                || {
                    self.own.set(class);
                    Choice::Own
                },
                Choice::Known,
            ),
            (None, SampleMapping::NoDatasetYaml) => Choice::NoYaml,
            (None, _) => Choice::Crude,
        };
        self.select(choice);
    }

    fn blocking_reason(&self, _: &Answers) -> Option<String> {
        if self.choice == Choice::Own {
            return own_class_problem(self.own.value().trim());
        }
        None
    }
}

/// Returns why a text is not of the form `module:Class`; `None` if it is.
pub(super) fn own_class_problem(text: &str) -> Option<String> {
    let Some((module, class)) = text.split_once(':') else {
        return Some("a class of your own is written module:Class, as in my_project.samples:MySample".into());
    };
    let is_name = |t: &str| {
        !t.is_empty()
            && t.chars().all(|c| c.is_alphanumeric() || c == '_')
            && !t.starts_with(|c: char| c.is_ascii_digit())
    };
    if !module.split('.').all(is_name) {
        return Some(format!("'{module}' is not a Python module name"));
    }
    if !is_name(class) {
        return Some(format!("'{class}' is not a Python class name"));
    }
    None
}

#[cfg(test)]
mod tests;
