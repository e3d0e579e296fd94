//! The answers of a form, the position in it, and what keys do. Pure.

use super::field::{Field, FieldKind, FieldTable};
use crate::tui::keymap::Action;
use crate::tui::widgets::{Places, TextField};
use gristmill_core::options::{one_of_groups, Answer, OptionRow, Step, ValueKind};
use gristmill_ops::operations::AnyPlan;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Lines that a page key scrolls.
const PAGE_LINES: isize = 5;
/// The last step, which shows the preview.
const REVIEW: Step = Step { id: "review", title: "Review" };

/// A place of the screen that the mouse can point at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MouseTarget {
    /// A field; of a list its first row in view.
    Field(Field),
    /// The text below the fields.
    Below,
    /// The list of steps.
    Rail,
}

/// A plan, the typed answers, and the position in the form.
pub struct Form {
    plan: Box<dyn AnyPlan>,
    /// The options as fields.
    pub table: FieldTable,
    steps: Vec<Step>,
    /// The step on the screen.
    pub step: usize,
    /// The step that the cursor is on in the list of steps, when it has the focus.
    pub rail: Option<usize>,
    /// Whether all settings are shown, and not only the main ones.
    pub advanced: bool,
    /// Typed answers.
    pub inputs: BTreeMap<Field, TextField>,
    /// What is wrong with typed answers.
    pub mistakes: BTreeMap<Field, String>,
    /// First line in view of the text below the fields.
    pub offset: usize,
    /// Where parts of the form were drawn last.
    pub places: Places<MouseTarget>,
    /// Age of the draft that the answers come from.
    pub draft: Option<Duration>,
    /// Command of the stopped run that the answers resume.
    pub stopped: Option<String>,
    /// Steps without a question for these answers, and why.
    pub skipped: BTreeMap<usize, &'static str>,
    answered: BTreeSet<usize>,
    /// Options with an answer of the user, for which nothing is proposed.
    given: BTreeSet<&'static str>,
    proposes: bool,
    fields: Vec<Field>,
    focus: usize,
}

impl Form {
    /// Creates a form with the answers of a plan, which may be incomplete.
    pub fn new(plan: Box<dyn AnyPlan>) -> Self {
        let table = FieldTable::of(&*plan);
        let names = table.rows().iter().map(|row| row.info.name);
        let given = names.filter(|name| plan.get(name) != Answer::Unset).collect();
        let steps = plan.operation().steps().iter().copied().chain([REVIEW]).collect();
        let mut form = Self {
            plan,
            table,
            steps,
            step: 0,
            rail: None,
            advanced: false,
            inputs: BTreeMap::new(),
            mistakes: BTreeMap::new(),
            offset: 0,
            places: Places::default(),
            draft: None,
            stopped: None,
            skipped: BTreeMap::new(),
            answered: BTreeSet::new(),
            given,
            proposes: true,
            fields: Vec::new(),
            focus: 0,
        };
        form.update_inputs(None);
        form.propose_one_of_groups();
        form
    }

    /// Switches on the first option of each group of which one is needed and none is given.
    fn propose_one_of_groups(&mut self) {
        for group in one_of_groups(self.table.rows()) {
            let is_open = group.iter().all(|row| self.plan.get(row.info.name) == Answer::Unset);
            if let Some(first) = group.first().filter(|first| is_open && first.kind == ValueKind::Switch) {
                self.set(first.info.name, &Answer::On);
            }
        }
    }

    /// Returns the plan.
    pub fn plan(&self) -> &dyn AnyPlan {
        &*self.plan
    }

    /// Replaces the plan by one that the guide has made of answers of its own.
    pub fn set_plan(&mut self, plan: Box<dyn AnyPlan>) {
        self.plan = plan;
    }

    /// Returns the plan with its type, which the guide of its operation knows.
    pub fn plan_of<P: 'static>(&self) -> Option<&P> {
        self.plan.typed()
    }

    /// Returns the equivalent command, quoted for a shell.
    pub fn command(&self) -> String {
        self.plan.command_line().text()
    }

    /// Returns the steps, the review last.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Returns the name of the step on the screen.
    pub fn step_id(&self) -> &'static str {
        self.steps.get(self.step).map_or(REVIEW.id, |step| step.id)
    }

    /// Returns the number of the last step.
    pub fn review(&self) -> usize {
        self.steps.len() - 1
    }

    /// Returns whether the review is on the screen.
    pub fn is_review(&self) -> bool {
        self.step == self.review()
    }

    /// Returns whether a step was completed.
    pub fn is_answered(&self, step: usize) -> bool {
        self.answered.contains(&step)
    }

    /// Returns the step of a field.
    pub fn step_of(&self, field: Field) -> Option<usize> {
        let id = self.table.step(field)?;
        self.steps.iter().position(|step| step.id == id)
    }

    /// Counts a step as completed, so that the list of steps shows whether its answers are wrong.
    pub fn mark_tried(&mut self, step: usize) {
        self.answered.insert(step);
    }

    /// Returns the options of the step on the screen as fields.
    pub fn option_fields(&self) -> Vec<Field> {
        self.table.of_step(self.step_id(), &*self.plan, self.advanced)
    }

    /// Returns the fields of the step on the screen.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Sets the fields of the step on the screen; the focus stays on its field.
    pub fn set_fields(&mut self, fields: Vec<Field>) {
        let focused = self.field();
        self.fields = fields;
        if let Some(index) = focused.and_then(|field| self.fields.iter().position(|known| *known == field)) {
            self.focus = index;
        }
    }

    /// Returns the focused field.
    pub fn field(&self) -> Option<Field> {
        self.fields.get(self.focus).or(self.fields.last()).copied()
    }

    /// Returns how a field is answered.
    pub fn kind(&self, field: Field) -> FieldKind {
        self.table.kind(field)
    }

    /// Returns whether a field has the focus, and not the list of steps.
    pub fn is_focused(&self, field: Field) -> bool {
        self.rail.is_none() && self.field() == Some(field)
    }

    /// Returns whether letters are typed.
    pub fn wants_text(&self) -> bool {
        self.rail.is_none() && self.field().is_some_and(|field| self.kind(field) == FieldKind::Text)
    }

    /// Returns the typed text of a field, without surrounding blanks.
    pub fn value(&self, field: Field) -> String {
        self.inputs.get(&field).map(|input| input.value().trim().to_owned()).unwrap_or_default()
    }

    /// Returns whether the user has answered an option.
    pub fn is_given(&self, option: &str) -> bool {
        self.given.contains(option)
    }

    /// Stops proposals: an option without an answer is meant to have its default.
    pub fn keep_as_given(&mut self) {
        self.proposes = false;
    }

    /// Sets the answer to an option, unless the user has given one.
    pub fn propose(&mut self, option: &'static str, answer: Answer) {
        if self.proposes && !self.is_given(option) && self.plan.get(option) != answer {
            self.set(option, &answer);
            // Nothing is being typed: a number is shown as the plan has it.
            self.update_inputs(None);
        }
    }

    /// Sets an answer of the user.
    pub fn answer(&mut self, option: &'static str, answer: &Answer) {
        self.given.insert(option);
        self.set(option, answer);
    }

    fn set(&mut self, option: &'static str, answer: &Answer) {
        let field = Field::Option(option);
        self.mistakes.remove(&field);
        let before = self.applying();
        if let Err(why) = self.plan.set(option, answer) {
            self.mistakes.insert(field, format!("{}: {why}", self.table.label(field)));
            return;
        }
        self.apply_again(&before);
        self.update_inputs(Some(field));
    }

    fn applying(&self) -> BTreeSet<&'static str> {
        let names = self.table.rows().iter().map(|row| row.info.name);
        names.filter(|name| self.plan.applies(name)).collect()
    }

    /// Sets the typed answers of options that have a meaning again.
    fn apply_again(&mut self, before: &BTreeSet<&'static str>) {
        for row in self.table.rows().to_vec() {
            let text = self.value(Field::Option(row.info.name));
            let is_back = !before.contains(row.info.name) && self.plan.applies(row.info.name);
            if is_back && !text.is_empty() && self.plan.set(row.info.name, &row.answer(&text)).is_err() {
                self.inputs.remove(&Field::Option(row.info.name));
            }
        }
    }

    /// Writes the answers of the plan into the text fields, except the one that is being typed into.
    fn update_inputs(&mut self, typed: Option<Field>) {
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
        self.typed_answer(row.info.name, &typed) == self.typed_answer(row.info.name, text)
            || matches!(row.kind, ValueKind::Number(..))
    }

    fn typed_answer(&self, option: &str, text: &str) -> Answer {
        self.table.row(option).map_or(Answer::Unset, |row| row.answer(text))
    }

    /// Applies the typed text of a field to the plan.
    pub fn apply_typed(&mut self, field: Field) {
        if let Field::Option(option) = field {
            let answer = self.typed_answer(option, &self.value(field));
            self.answer(option, &answer);
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

    fn toggle(&mut self, field: Field) {
        let is_on = self.is_on(field);
        match field {
            // The way to switch it off is to select another one.
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

    /// Returns the selected value of a choice and its meaning. If a value is required and none is selected, an empty one and all values.
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

    fn step_choice(&mut self, field: Field, is_forward: bool) {
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

    fn clear(&mut self, field: Field) {
        self.inputs.insert(field, TextField::default());
        self.apply_typed(field);
    }

    /// Focuses a field of the step on the screen.
    pub fn focus_on(&mut self, field: Field) {
        if let Some(index) = self.fields.iter().position(|known| *known == field) {
            (self.focus, self.rail) = (index, None);
        }
    }

    /// Moves to the next or previous field; the list of steps follows the last one.
    fn step_focus(&mut self, is_forward: bool) {
        let last = self.fields.len().saturating_sub(1);
        match (self.rail, is_forward) {
            (Some(_), true) => (self.rail, self.focus) = (None, 0),
            (Some(_), false) => (self.rail, self.focus) = (None, last),
            (None, true) if self.focus >= last => self.rail = Some(self.step),
            (None, false) if self.focus == 0 => self.rail = Some(self.step),
            (None, true) => self.focus += 1,
            (None, false) => self.focus = self.focus.min(last) - 1,
        }
    }

    /// Moves to the field above or below; stops at the ends.
    pub fn step_focus_within(&mut self, is_forward: bool) {
        let last = self.fields.len().saturating_sub(1);
        self.focus = match is_forward {
            true => (self.focus + 1).min(last),
            false => self.focus.min(last).saturating_sub(1),
        };
    }

    /// Goes to a step; earlier ones count as answered if it comes later.
    pub fn go(&mut self, step: usize) {
        let step = step.min(self.review());
        if step > self.step {
            self.answered.extend(0..step);
        }
        (self.step, self.focus, self.offset, self.rail) = (step, 0, 0, None);
    }

    /// Returns the next step with questions, or the previous one.
    pub fn neighbour(&self, is_forward: bool) -> Option<usize> {
        let is_asked = |step: &usize| !self.skipped.contains_key(step);
        match is_forward {
            true => (self.step + 1..self.steps.len()).find(is_asked),
            false => (0..self.step).rfind(is_asked),
        }
    }

    /// Goes to the step of this name.
    pub fn go_to(&mut self, id: &str) {
        if let Some(step) = self.steps.iter().position(|step| step.id == id) {
            self.go(step);
        }
    }

    fn scroll(&mut self, lines: isize) {
        self.offset = self.offset.saturating_add_signed(lines);
    }

    fn act_on_page(&mut self, action: Action) {
        match action {
            Action::Up => self.scroll(-1),
            Action::Down => self.scroll(1),
            Action::First => self.offset = 0,
            Action::Last => self.offset = usize::MAX,
            _ => {}
        }
    }

    /// Does what a key means in a step.
    pub fn act(&mut self, action: Action) {
        if let Some(rail) = self.rail {
            match action {
                Action::Up => self.rail = Some(rail.saturating_sub(1)),
                Action::Down => self.rail = Some((rail + 1).min(self.review())),
                Action::First => self.rail = Some(0),
                Action::Last => self.rail = Some(self.review()),
                Action::NextField | Action::NextPane => self.step_focus(true),
                Action::PreviousField | Action::PreviousPane => self.step_focus(false),
                _ => {}
            }
            return;
        }
        match action {
            Action::NextField | Action::NextPane => self.step_focus(true),
            Action::PreviousField | Action::PreviousPane => self.step_focus(false),
            Action::PageDown | Action::HalfDown => self.scroll(PAGE_LINES),
            Action::PageUp | Action::HalfUp => self.scroll(-PAGE_LINES),
            Action::Advanced => self.advanced = !self.advanced,
            action => match self.field() {
                None => self.act_on_page(action),
                Some(field) => self.act_on_field(field, action),
            },
        }
    }

    fn act_on_field(&mut self, field: Field, action: Action) {
        match (self.kind(field), action) {
            (FieldKind::Page, action) => self.act_on_page(action),
            (FieldKind::Choice, Action::Left) => self.step_choice(field, false),
            (FieldKind::Choice, Action::Right) => self.step_choice(field, true),
            (FieldKind::Switch, Action::Toggle) => self.toggle(field),
            (FieldKind::Text, Action::DropRow) => self.clear(field),
            (_, Action::Up) => self.step_focus_within(false),
            (_, Action::Down) => self.step_focus_within(true),
            _ => {}
        }
    }

    /// Does what a click on a place means; rows of lists are the guide's.
    pub fn click(&mut self, on: MouseTarget, line: usize) {
        match on {
            MouseTarget::Below => {}
            MouseTarget::Rail if line < self.steps.len() && !self.skipped.contains_key(&line) => self.go(line),
            MouseTarget::Rail => {}
            MouseTarget::Field(field) => {
                self.focus_on(field);
                match self.kind(field) {
                    FieldKind::Switch => self.toggle(field),
                    FieldKind::Choice => self.step_choice(field, true),
                    FieldKind::Text | FieldKind::List | FieldKind::Page | FieldKind::FocusStop => {}
                }
            }
        }
    }

    /// Scrolls the text below the fields by the wheel.
    pub fn wheel(&mut self, on: MouseTarget, lines: isize) {
        if on == MouseTarget::Below {
            self.scroll(lines);
        }
    }

    /// Returns why a step cannot be completed, by its own answers: a mistake, or a required answer that is missing.
    pub fn blocker(&self, step: usize) -> Option<String> {
        let id = self.steps.get(step)?.id;
        let is_here = |field: &Field| self.table.step(*field) == Some(id);
        if let Some((_, why)) = self.mistakes.iter().find(|(field, _)| is_here(field)) {
            return Some(why.clone());
        }
        let mut open = self.table.rows().iter().filter(|row| row.step == id && row.info.is_required);
        let open = open.find(|row| self.plan.get(row.info.name) == Answer::Unset)?;
        Some(format!("{} is needed", open.info.label()))
    }
}
