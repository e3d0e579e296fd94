//! Where in a form one is, what is typed, and what keys mean in it. Pure.

use super::words::{Field, Kind, Setting, Step};
use crate::tui::keymap::Action;
use crate::tui::widgets::{ListState, Places, TextField};
use gristmill_core::{Failure, Problem, ProblemKind, Severity};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Lines that a page key scrolls.
const PAGE: usize = 5;

/// What lies at a place of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place<F> {
    /// A field; of a list its first row in view.
    Field(F),
    /// What is shown below the fields.
    Below,
    /// The list of steps.
    Rail,
}

/// Where in the form one is, and what is typed. The answers themselves are in the plan beside it.
pub struct Form<F: Field> {
    /// The step on the screen.
    pub step: F::Step,
    /// The step that the cursor is on in the list of steps, when it has the keys.
    pub rail: Option<F::Step>,
    /// Steps that were left by going on.
    pub answered: BTreeSet<F::Step>,
    /// Everything is shown, not only what matters most.
    pub advanced: bool,
    /// What is typed.
    pub inputs: BTreeMap<F, TextField>,
    /// What is wrong with what is typed.
    pub troubles: BTreeMap<F, String>,
    /// First line in view of what is below the fields.
    pub offset: usize,
    /// Where things were drawn last.
    pub places: Places<Place<F>>,
    /// How old the draft is whose answers these are.
    pub draft: Option<Duration>,
    /// The command of the run that was stopped and is gone on with.
    pub stopped: Option<String>,
    focus: usize,
}

impl<F: Field> Form<F> {
    /// A form at a step, with nothing typed.
    pub fn new(step: F::Step) -> Self {
        Self {
            step,
            rail: None,
            answered: BTreeSet::new(),
            advanced: false,
            inputs: BTreeMap::new(),
            troubles: BTreeMap::new(),
            offset: 0,
            places: Places::default(),
            draft: None,
            stopped: None,
            focus: 0,
        }
    }

    /// What is typed into a field, without the spaces around it.
    pub fn value(&self, field: F) -> String {
        self.inputs.get(&field).map(|input| input.value().trim().to_owned()).unwrap_or_default()
    }

    /// Writes into a field.
    pub fn set(&mut self, field: F, words: &str) {
        self.inputs.insert(field, TextField::new(words));
    }

    fn scroll(&mut self, rows: isize) {
        self.offset = self.offset.saturating_add_signed(rows);
    }

    /// Scrolls what is below the fields, where a key says so.
    fn act_on_page(&mut self, action: Action) {
        match action {
            Action::Up => self.scroll(-1),
            Action::Down => self.scroll(1),
            Action::First => self.offset = 0,
            Action::Last => self.offset = usize::MAX,
            _ => {}
        }
    }
}

/// The step type of some answers.
pub type StepOf<A> = <<A as Answers>::Field as Field>::Step;

/// The answers of a guided command, and what typing and switching do to them.
pub trait Answers {
    /// Its fields.
    type Field: Field;
    /// What the answers make.
    type Plan: Clone + PartialEq;
    /// The switch by which a run replaces what is at its output.
    const OVERWRITE: Self::Field;

    /// Proposes nothing from here on: an answer that is not given is meant like that.
    fn keep_as_given(&mut self) {}

    /// The answers as a plan.
    fn plan(&self) -> &Self::Plan;
    /// Where in the form one is.
    fn form(&self) -> &Form<Self::Field>;
    /// The same, to be changed.
    fn form_mut(&mut self) -> &mut Form<Self::Field>;

    /// Whether a field is there now.
    fn shows(&self, field: Self::Field) -> bool;
    /// Takes what was typed into the plan.
    fn typed(&mut self, field: Self::Field);
    /// Whether a switch is on.
    fn is_on(&self, field: Self::Field) -> bool;
    /// Switches a switch.
    fn toggle(&mut self, field: Self::Field);
    /// What a choice says now, and what that means.
    fn choice(&self, field: Self::Field) -> (String, &'static str);
    /// Takes the next of several choices, or the one before.
    fn step_choice(&mut self, field: Self::Field, forward: bool);
    /// The rows of a list.
    fn list(&mut self, field: Self::Field) -> Option<&mut ListState>;
    /// Does what a key means in one field alone; `false` where it means there what it means in all.
    fn act_in(&mut self, field: Self::Field, action: Action) -> bool;
    /// Whether the wheel moves the rows of a list without anything being chosen by it.
    fn wheels(&self, field: Self::Field) -> bool {
        let _ = field;
        false
    }

    /// Why a step cannot be left by going on; what is typed wrongly in it is known already.
    fn wanting(&self, step: StepOf<Self>) -> Option<String>;
    /// Answers that are missing or wrong, by the plan alone.
    fn refused(&self) -> Vec<Problem>;
    /// What a run would find, when that was found out for these answers.
    fn outlook(&self) -> Option<Result<&[Problem], &Failure>>;
    /// The same as a command, quoted for a shell.
    fn command(&self) -> String;

    /// The fields of the step that are there now, in order.
    fn fields(&self) -> Vec<Self::Field> {
        let step = self.form().step;
        Self::Field::ALL.iter().copied().filter(|field| field.step() == step && self.shows(*field)).collect()
    }

    /// The field that has the keys.
    fn field(&self) -> Option<Self::Field> {
        let fields = self.fields();
        fields.get(self.form().focus).or(fields.last()).copied()
    }

    /// Whether a field has the keys, and not the list of steps.
    fn is_focused(&self, field: Self::Field) -> bool {
        self.form().rail.is_none() && self.field() == Some(field)
    }

    /// Whether letters are typed.
    fn wants_text(&self) -> bool {
        self.form().rail.is_none() && self.field().is_some_and(|field| field.kind() == Kind::Text)
    }

    /// Puts the keys on a field.
    fn focus_on(&mut self, field: Self::Field) {
        if let Some(index) = self.fields().iter().position(|known| *known == field) {
            let form = self.form_mut();
            (form.focus, form.rail) = (index, None);
        }
    }

    /// To the next field or the one before; behind the last and before the first is the list of steps.
    fn step_focus(&mut self, forward: bool) {
        let last = self.fields().len().saturating_sub(1);
        let form = self.form_mut();
        match (form.rail, forward) {
            (Some(_), true) => (form.rail, form.focus) = (None, 0),
            (Some(_), false) => (form.rail, form.focus) = (None, last),
            (None, true) if form.focus >= last => form.rail = Some(form.step),
            (None, false) if form.focus == 0 => form.rail = Some(form.step),
            (None, true) => form.focus += 1,
            (None, false) => form.focus = form.focus.min(last) - 1,
        }
    }

    /// To the field above or below, and no further.
    fn step_focus_within(&mut self, forward: bool) {
        let last = self.fields().len().saturating_sub(1);
        let form = self.form_mut();
        form.focus = if forward { (form.focus + 1).min(last) } else { form.focus.min(last).saturating_sub(1) };
    }

    /// Goes to a step; those before it count as answered when it comes later.
    fn go(&mut self, step: StepOf<Self>) {
        let form = self.form_mut();
        if step > form.step {
            form.answered.extend(StepOf::<Self>::ALL.iter().filter(|known| **known < step));
        }
        (form.step, form.focus, form.offset, form.rail) = (step, 0, 0, None);
    }

    /// Why a step cannot be left by going on.
    fn blocker(&self, step: StepOf<Self>) -> Option<String> {
        let trouble = self.form().troubles.iter().find(|(field, _)| field.step() == step);
        trouble.map(|(_, why)| why.clone()).or_else(|| self.wanting(step))
    }

    /// Whether a step that should be in order is not.
    fn is_broken(&self, step: StepOf<Self>) -> bool {
        let form = self.form();
        (step < form.step || form.answered.contains(&step)) && self.blocker(step).is_some()
    }

    /// Whether every step can be left by going on.
    fn is_complete(&self) -> bool {
        StepOf::<Self>::ALL.iter().all(|step| self.blocker(*step).is_none())
    }

    /// The first thing that stands in the way of a run, with the step where it is put right.
    fn first_blocker(&self) -> Option<(StepOf<Self>, String)> {
        let steps = StepOf::<Self>::ALL;
        let by_step = steps.iter().find_map(|step| self.blocker(*step).map(|why| (*step, why)));
        by_step.or_else(|| {
            let why = match self.outlook()? {
                Err(failure) => Some(failure.to_string()),
                Ok(problems) => {
                    let refusal = problems.iter().find(|problem| problem.severity == Severity::Refusal);
                    refusal.map(ToString::to_string)
                }
            };
            why.zip(steps.last().copied()).map(|(why, review)| (review, why))
        })
    }

    /// What the run itself would refuse, where every step is answered.
    fn refusal(&self) -> Option<&Problem> {
        if StepOf::<Self>::ALL.iter().any(|step| self.blocker(*step).is_some()) {
            return None;
        }
        self.outlook()?.ok()?.iter().find(|problem| problem.severity == Severity::Refusal)
    }

    /// The run of another plan that was stopped at the output, where nothing else stands in the way.
    fn stopped_run(&self) -> Option<&Problem> {
        self.refusal().filter(|problem| problem.kind == ProblemKind::StoppedRun)
    }

    /// The way out of the [first thing in the way](Self::first_blocker), where the run itself would refuse; in words of the form.
    fn way_out(&self) -> Option<String> {
        if let Some(Err(failure)) = self.outlook().filter(|_| self.is_complete()) {
            return failure.hint.clone();
        }
        let problem = self.refusal()?;
        match problem.kind {
            ProblemKind::StoppedRun => Some("running it asks whether to go on with that one or to begin anew".into()),
            ProblemKind::AlreadyPrepared => {
                let (field, step) = (Self::OVERWRITE.label(), Self::OVERWRITE.step().title());
                Some(format!("{field}, among all settings of {step}, replaces it; or name another output"))
            }
            _ => problem.hint.clone(),
        }
    }

    /// Empties a field.
    fn clear(&mut self, field: Self::Field) {
        self.form_mut().set(field, "");
        self.typed(field);
    }

    /// Moves the cursor in a list; beyond its ends to the next field or the one before. Returns whether a row was chosen by it.
    fn move_in_list(&mut self, field: Self::Field, action: Action) -> bool {
        let Some(list) = self.list(field) else { return false };
        let before = list.selected;
        match action {
            Action::Down if before + 1 >= list.len => self.step_focus_within(true),
            Action::Up if before == 0 => self.step_focus_within(false),
            action => {
                return list.act(action) || action == Action::Toggle;
            }
        }
        false
    }

    /// Does what a key means in a step.
    fn act(&mut self, action: Action) {
        if let Some(rail) = self.form().rail {
            match action {
                Action::Up => self.form_mut().rail = Some(rail.previous().unwrap_or(rail)),
                Action::Down => self.form_mut().rail = Some(rail.next()),
                Action::NextField | Action::NextPane => self.step_focus(true),
                Action::PreviousField | Action::PreviousPane => self.step_focus(false),
                _ => {}
            }
            return;
        }
        let field = self.field();
        match action {
            Action::NextField | Action::NextPane => self.step_focus(true),
            Action::PreviousField | Action::PreviousPane => self.step_focus(false),
            Action::PageDown | Action::HalfDown => self.form_mut().scroll(PAGE as isize),
            Action::PageUp | Action::HalfUp => self.form_mut().scroll(-(PAGE as isize)),
            Action::Advanced => {
                self.form_mut().advanced ^= true;
                if let Some(field) = field {
                    self.focus_on(field);
                }
            }
            action => match field {
                None => self.form_mut().act_on_page(action),
                Some(field) if self.act_in(field, action) => {}
                Some(field) => self.act_on_field(field, action),
            },
        }
    }

    /// Does what a key means in every field of this kind.
    fn act_on_field(&mut self, field: Self::Field, action: Action) {
        match (field.kind(), action) {
            (Kind::Page, action) => self.form_mut().act_on_page(action),
            (Kind::Choice, Action::Left) => self.step_choice(field, false),
            (Kind::Choice, Action::Right) => self.step_choice(field, true),
            (Kind::Switch, Action::Toggle) => self.toggle(field),
            (Kind::Text, Action::DropRow) => self.clear(field),
            (_, Action::Up) => self.step_focus_within(false),
            (_, Action::Down) => self.step_focus_within(true),
            _ => {}
        }
    }

    /// Does what a click means.
    fn click(&mut self, on: Place<Self::Field>, line: usize) {
        match on {
            Place::Below => {}
            Place::Rail => {
                if let Some(step) = StepOf::<Self>::ALL.get(line) {
                    self.go(*step);
                }
            }
            Place::Field(field) => {
                self.focus_on(field);
                match field.kind() {
                    Kind::Switch => self.toggle(field),
                    Kind::Choice => self.step_choice(field, true),
                    Kind::List => {
                        let row = self.list(field).and_then(|list| list.row_at(line).map(|row| list.select(row)));
                        if row.is_some() {
                            self.act(Action::Toggle);
                        }
                    }
                    Kind::Text | Kind::Page => {}
                }
            }
        }
    }

    /// Does what the wheel means.
    fn wheel(&mut self, on: Place<Self::Field>, rows: isize) {
        match on {
            Place::Below => self.form_mut().scroll(rows),
            Place::Field(field) if self.wheels(field) => {
                if let Some(list) = self.list(field) {
                    list.scroll(rows);
                }
            }
            Place::Field(_) | Place::Rail => {}
        }
    }
}
