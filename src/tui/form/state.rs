//! The answers of a form, the position in it, and the effects of keys. Pure: no I/O.

use super::field::{Field, FieldKind, FieldTable};
use crate::tui::keymap::Action;
use crate::tui::widgets::{MouseAreas, TextField};
use gristmill_core::options::{one_of_groups, Answer, Step, ValueKind};
use gristmill_ops::operations::AnyPlan;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

mod answers;

/// Number of lines that a page key scrolls.
const PAGE_LINES: isize = 5;
/// The last step, which shows the preview.
const REVIEW: Step = Step { id: "review", title: "Review" };

/// A part of the form that the mouse can point at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MouseTarget {
    /// A field; for a list, its first visible row.
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
    /// The cursor in the list of steps, if the list has the focus.
    pub rail: Option<usize>,
    /// Whether advanced settings are shown, too.
    pub advanced: bool,
    /// Text fields with the typed answers.
    pub inputs: BTreeMap<Field, TextField>,
    /// The errors in typed answers.
    pub mistakes: BTreeMap<Field, String>,
    /// Number of lines by which the text below the fields is scrolled.
    pub offset: usize,
    /// Mouse areas of the parts, as drawn last.
    pub mouse_areas: MouseAreas<MouseTarget>,
    /// Age of the restored draft.
    pub draft: Option<Duration>,
    /// Command of the stopped run that the answers resume.
    pub stopped: Option<String>,
    /// Steps without a question for these answers, each with the reason.
    pub skipped: BTreeMap<usize, &'static str>,
    answered: BTreeSet<usize>,
    /// Options that the user has answered: they are not changed by suggestions.
    answered_options: BTreeSet<&'static str>,
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
            mouse_areas: MouseAreas::default(),
            draft: None,
            stopped: None,
            skipped: BTreeMap::new(),
            answered: BTreeSet::new(),
            answered_options: given,
            proposes: true,
            fields: Vec::new(),
            focus: 0,
        };
        form.update_inputs(None);
        form.propose_one_of_groups();
        form
    }

    /// For each required group of options without an answer, turns on its first option.
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

    /// Replaces the plan by one that the guide has made from its own fields.
    pub fn set_plan(&mut self, plan: Box<dyn AnyPlan>) {
        self.plan = plan;
    }

    /// Returns the plan as its own type, for the guide of its operation.
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

    /// Returns the identifier of the step on the screen.
    pub fn step_id(&self) -> &'static str {
        self.steps.get(self.step).map_or(REVIEW.id, |step| step.id)
    }

    /// Returns the number of the review, which is the last step.
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

    /// Marks a step as completed, so that the list of steps shows whether its answers are wrong.
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

    /// Sets the fields of the step on the screen; the focused field stays focused.
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

    /// Returns whether a field has the focus; `false` while the list of steps has it.
    pub fn is_focused(&self, field: Field) -> bool {
        self.rail.is_none() && self.field() == Some(field)
    }

    /// Returns whether letters are input for a text field.
    pub fn wants_text(&self) -> bool {
        self.rail.is_none() && self.field().is_some_and(|field| self.kind(field) == FieldKind::Text)
    }

    /// Returns the typed text of a field, without surrounding blanks.
    pub fn value(&self, field: Field) -> String {
        self.inputs.get(&field).map(|input| input.value().trim().to_owned()).unwrap_or_default()
    }

    /// Focuses a field of the step on the screen.
    pub fn focus_on(&mut self, field: Field) {
        if let Some(index) = self.fields.iter().position(|known| *known == field) {
            (self.focus, self.rail) = (index, None);
        }
    }

    /// Moves to the next or previous field; after the last field comes the list of steps.
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

    /// Moves to the field above or below; stops at the first and the last field.
    pub fn step_focus_within(&mut self, is_forward: bool) {
        let last = self.fields.len().saturating_sub(1);
        self.focus = match is_forward {
            true => (self.focus + 1).min(last),
            false => self.focus.min(last).saturating_sub(1),
        };
    }

    /// Goes to a step; if it comes later, the steps before it count as completed.
    pub fn select_step(&mut self, step: usize) {
        let step = step.min(self.review());
        if step > self.step {
            self.answered.extend(0..step);
        }
        (self.step, self.focus, self.offset, self.rail) = (step, 0, 0, None);
    }

    /// Returns the next or previous step that has questions.
    pub fn neighbour(&self, is_forward: bool) -> Option<usize> {
        let is_asked = |step: &usize| !self.skipped.contains_key(step);
        match is_forward {
            true => (self.step + 1..self.steps.len()).find(is_asked),
            false => (0..self.step).rfind(is_asked),
        }
    }

    /// Goes to the step with this identifier.
    pub fn go_to(&mut self, id: &str) {
        if let Some(step) = self.steps.iter().position(|step| step.id == id) {
            self.select_step(step);
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

    /// Handles a key in a step.
    pub fn handle_action(&mut self, action: Action) {
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

    /// Handles a click; the guide handles clicks on rows of lists.
    pub fn click(&mut self, on: MouseTarget, line: usize) {
        match on {
            MouseTarget::Below => {}
            MouseTarget::Rail if line < self.steps.len() && !self.skipped.contains_key(&line) => self.select_step(line),
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

    /// Scrolls the text below the fields by the mouse wheel.
    pub fn wheel(&mut self, on: MouseTarget, lines: isize) {
        if on == MouseTarget::Below {
            self.scroll(lines);
        }
    }

    /// Returns why a step cannot be completed because of its own answers: a mistake, or a missing required answer.
    pub fn blocking_reason(&self, step: usize) -> Option<String> {
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
