//! The screen of the guided dedup: carries out what the state asks for, and brings results back to it.

use super::draft::{self, Draft};
use super::seen::relevant;
use super::state::{DedupState, Place};
use super::step::{Field, Kind, Step};
use super::view;
use super::workers::Workers;
use crate::engine::plan::file::dedup_to_yaml;
use crate::model::DedupPlan;
use crate::storage::fs::RealFs;
use crate::storage::publish::write_file;
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::{Effect, Input, Screen, Ui, UiEnv};
use crate::tui::screens::repeats;
use crate::tui::screens::run::{orders, RunScreen};
use crate::tui::widgets::{Gesture, Level, Toast};
use ratatui::crossterm::event::MouseEvent;
use ratatui::layout::Rect;
use ratatui::Frame;
use std::path::{Path, PathBuf};

/// The screen.
pub struct DedupScreen {
    env: UiEnv,
    state: DedupState,
    workers: Workers,
    /// What the review was asked for last.
    asked: Option<DedupPlan>,
    draft: PathBuf,
    /// The answers as they were given, before a draft took their place.
    given: DedupPlan,
    /// The answers were run as they are: there is nothing to keep.
    was_run: bool,
}

impl DedupScreen {
    /// The guided dedup with answers that are given already; a draft for the same input goes on where it was left.
    pub fn new(plan: DedupPlan, env: UiEnv) -> Self {
        let place = draft::place(&env.state_dir, plan.source());
        let has_answers = plan != DedupPlan::new(plan.input.clone(), plan.output.clone());
        let found = if has_answers { None } else { draft::load(&place) };
        let mut workers = Workers::start(&env);
        workers.files(PathBuf::from(plan.source()));
        let given = DedupState::new(plan.clone()).plan;
        let state = match found {
            Some(Draft { plan, step, age }) => {
                let mut state = DedupState::new(plan);
                state.go(step);
                state.draft = Some(age);
                state
            }
            None => DedupState::new(plan),
        };
        let mut screen = Self { env, state, workers, asked: None, draft: place, given, was_run: false };
        screen.ask();
        screen
    }

    /// Asks the workers whatever is not answered for the present state.
    fn ask(&mut self) {
        let plan = relevant(&self.state.plan);
        let estimates = &mut self.state.seen.estimates;
        if estimates.of.as_ref() != Some(&plan) {
            *estimates = super::seen::Estimates { of: Some(plan), ..Default::default() };
            self.workers.stop();
        }
        // What would be read has to be right first; and nobody waits for figures that are not looked at.
        let is_wanted = self.state.step >= Step::Length && self.state.blocker(Step::Source).is_none();
        if is_wanted && self.state.seen.files.is_some() && !self.state.seen.estimates.is_stopped {
            let mut wanted = self.state.wanted_lengths();
            wanted.retain(|length| !self.state.seen.estimates.by_length.contains_key(length));
            self.workers.lengths(&self.state.plan, &wanted);
        }
        let is_ready =
            self.state.step == Step::Review && Step::ALL.iter().all(|step| self.state.blocker(*step).is_none());
        if is_ready && self.asked.as_ref() != Some(&self.state.plan) {
            self.asked = Some(self.state.plan.clone());
            self.workers.review(self.state.plan.clone());
        }
    }

    /// Takes whatever the workers brought.
    fn take_answers(&mut self) -> bool {
        let mut changed = false;
        if let Some(files) = self.workers.take_files() {
            self.state.seen.files = Some(files);
            changed = true;
        }
        for (length, found) in self.workers.take_lengths() {
            self.state.seen.estimates.by_length.insert(length, found);
            changed = true;
        }
        if let Some(review) = self.workers.take_review() {
            self.state.seen.review = Some(review);
            changed = true;
        }
        changed
    }

    fn go_on(&mut self) -> Vec<Effect> {
        if let Some(step) = self.state.rail {
            self.state.go(step);
            return Vec::new();
        }
        match self.state.blocker(self.state.step) {
            Some(why) => vec![Effect::Toast(Toast::new(Level::Warn, why))],
            None => {
                self.state.go(self.state.step.next());
                Vec::new()
            }
        }
    }

    fn run(&mut self) -> Vec<Effect> {
        if self.state.rail.is_some() {
            return self.go_on();
        }
        if let Some((step, why)) = self.state.first_blocker() {
            if step != self.state.step {
                self.state.go(step);
            }
            return vec![Effect::Toast(Toast::new(Level::Warn, why))];
        }
        if let Some(first) = self.state.refused().first() {
            return vec![Effect::Toast(Toast::new(Level::Warn, first.message.clone()))];
        }
        self.was_run = true;
        self.workers.stop();
        self.state.seen.estimates.is_stopped = true;
        draft::forget(&self.draft);
        let order = orders::dedup(self.state.plan.clone(), self.state.command());
        vec![Effect::Push(Box::new(RunScreen::new(order, self.env.clone())))]
    }

    /// What repeats, drawn on the documents.
    fn repeats(&self) -> Vec<Effect> {
        let target = repeats::Target::Folder(PathBuf::from(self.state.plan.source()));
        vec![Effect::Push(repeats::open(target, &self.state.plan, self.env.clone()))]
    }

    /// Saves the plan into the current folder, under a name that is free.
    fn save_plan(&self) -> Vec<Effect> {
        let name = |number: u32| match number {
            1 => self.env.save_dir.join("dedup-plan.yaml"),
            number => self.env.save_dir.join(format!("dedup-plan-{number}.yaml")),
        };
        let path = (1..1_000).map(name).find(|path| !path.exists()).unwrap_or_else(|| name(1_000));
        let saved = dedup_to_yaml(&self.state.plan).and_then(|text| write_file(&RealFs, &path, text.as_bytes(), 0o644));
        vec![match saved {
            Ok(()) => Effect::Toast(Toast::new(Level::Ok, format!("saved as {}", self.env.short_path(&path)))),
            Err(failure) => Effect::failure(&failure),
        }]
    }

    fn close(&mut self) -> Vec<Effect> {
        if self.state.rail.take().is_some() {
            return Vec::new();
        }
        match self.state.step.previous() {
            Some(step) => {
                self.state.go(step);
                Vec::new()
            }
            None => {
                self.keep_draft();
                vec![Effect::Pop]
            }
        }
    }

    /// Keeps the answers, unless nothing was answered or they were run.
    fn keep_draft(&mut self) {
        let is_first = self.state.step == Step::Source && !self.state.answered[0];
        let is_untouched = self.state.plan == self.given || is_first;
        if self.was_run || is_untouched && self.state.draft.is_none() {
            return;
        }
        if let Err(failure) = draft::save(&self.draft, &self.state.plan, self.state.step) {
            tracing::warn!(%failure, "the draft could not be kept");
        }
    }

    fn start_afresh(&mut self) {
        draft::forget(&self.draft);
        let files = self.state.seen.files.take();
        self.state = DedupState::new(DedupPlan::new(self.given.input.clone(), ""));
        self.state.seen.files = files;
    }

    /// Stops the estimates, or begins them again.
    fn stop_or_go_on(&mut self, goes_on: bool) {
        if !goes_on {
            self.workers.stop();
        }
        let estimates = &mut self.state.seen.estimates;
        estimates.is_stopped = !goes_on;
        if goes_on {
            estimates.by_length.clear();
        }
    }

    fn act(&mut self, action: Action) -> Vec<Effect> {
        self.was_run = false;
        match action {
            Action::Next | Action::Accept => return self.go_on(),
            Action::Run => return self.run(),
            Action::Close => return self.close(),
            Action::SavePlan => return self.save_plan(),
            Action::Copy => {
                let copied = Effect::Toast(Toast::new(Level::Ok, "copied"));
                return vec![Effect::Copy(self.state.command()), copied];
            }
            Action::Repeats => return self.repeats(),
            Action::StartAfresh => self.start_afresh(),
            Action::CancelJob => self.stop_or_go_on(false),
            Action::Reload => self.stop_or_go_on(true),
            Action::GoSource => self.state.go(Step::Source),
            Action::GoLength => self.state.go(Step::Length),
            Action::GoMode => self.state.go(Step::Mode),
            Action::GoReview => self.state.go(Step::Review),
            action => self.state.act(action),
        }
        Vec::new()
    }

    fn mouse(&mut self, mouse: MouseEvent) {
        match self.state.places.gesture(mouse) {
            Some(Gesture::Wheel { rows, on: Place::Below }) => {
                self.state.offset = self.state.offset.saturating_add_signed(rows);
            }
            Some(Gesture::Wheel { .. }) | None => {}
            Some(Gesture::Click { on, line, .. } | Gesture::DoubleClick { on, line, .. }) => self.click(on, line),
        }
    }

    fn click(&mut self, on: Place, line: usize) {
        match on {
            Place::Rail => {
                if let Some(step) = Step::ALL.get(line) {
                    self.state.go(*step);
                }
            }
            Place::Below => {}
            Place::Field(field) => {
                self.state.focus_on(field);
                if field == Field::Lengths {
                    if let Some(row) = self.state.lengths.row_at(line) {
                        self.state.lengths.select(row);
                        self.state.act(Action::Toggle);
                    }
                } else if field.kind() != Kind::Text {
                    self.state.toggle(field);
                }
            }
        }
    }
}

impl Screen for DedupScreen {
    fn context(&self) -> Context {
        match () {
            () if self.state.rail.is_some() => Context::DedupRail,
            () if self.state.step == Step::Review => Context::DedupReview,
            () if self.state.wants_text() => Context::DedupText,
            () => Context::Dedup,
        }
    }

    fn title(&self) -> Vec<String> {
        vec!["dedup".to_owned(), self.env.short_path(Path::new(self.state.plan.source()))]
    }

    fn handle(&mut self, input: Input) -> Vec<Effect> {
        let mut effects = Vec::new();
        match input {
            Input::Action(action) => effects = self.act(action),
            Input::Key(key) => {
                if let Some(field) = self.state.field().filter(|_| self.state.wants_text()) {
                    if self.state.inputs.entry(field).or_default().key(key) {
                        self.was_run = false;
                        self.state.typed(field);
                    }
                }
            }
            Input::Paste(words) => {
                if let Some(field) = self.state.field().filter(|_| self.state.wants_text()) {
                    self.state.inputs.entry(field).or_default().paste(&words);
                    self.state.typed(field);
                }
            }
            Input::Mouse(mouse) => self.mouse(mouse),
        }
        self.ask();
        effects
    }

    fn tick(&mut self, _: &mut Vec<Effect>) -> bool {
        let changed = self.take_answers();
        if changed {
            self.ask();
        }
        changed
    }

    fn is_busy(&self) -> bool {
        self.workers.is_busy()
    }

    fn wants_text(&self) -> bool {
        self.state.wants_text()
    }

    fn status_right(&self) -> Option<String> {
        match () {
            () if self.workers.is_listing() => Some("looking for files".to_owned()),
            () if self.workers.is_busy() => Some("estimating".to_owned()),
            () => None,
        }
    }

    fn bar_right(&self) -> Option<String> {
        let command = self.state.command();
        Some(command.strip_prefix("gristmill dedup ").map(str::to_owned).unwrap_or(command))
    }

    fn label(&self, action: Action) -> &'static str {
        match action {
            Action::Run => "run",
            Action::Advanced if self.state.advanced => "fewer settings",
            Action::Accept if self.state.rail.is_some() => "go to",
            Action::CancelJob => "stop estimating",
            Action::Reload => "estimate again",
            action => action.label(),
        }
    }

    fn why_disabled(&self, action: Action) -> Option<String> {
        let field = self.state.field().filter(|_| self.state.rail.is_none());
        match action {
            Action::Toggle if !field.is_some_and(|field| field.kind() != Kind::Text) => {
                Some("there is nothing to choose here".into())
            }
            Action::Left | Action::Right
                if self.state.rail.is_none() && !field.is_some_and(|field| field.kind() == Kind::Choice) =>
            {
                Some("there is nothing to step through here".into())
            }
            Action::Advanced if !matches!(self.state.step, Step::Source | Step::Mode) => {
                Some("everything is shown here".into())
            }
            Action::CancelJob if !self.workers.is_estimating() => Some("nothing is being estimated".into()),
            Action::Repeats => self.state.blocker(Step::Source),
            Action::Next if self.state.step == Step::Review => Some("this is the last step".into()),
            Action::StartAfresh if self.state.draft.is_none() => Some("there is no draft".into()),
            _ => None,
        }
    }

    fn closing(&mut self) {
        self.keep_draft();
    }

    fn resumed(&mut self) {
        // A run may have changed what is there.
        self.asked = None;
        self.state.seen.review = None;
        self.state.seen.estimates.is_stopped = false;
        self.ask();
    }

    fn draw(&mut self, frame: &mut Frame, area: Rect, ui: &Ui) {
        view::draw(&mut self.state, frame, area, ui);
    }
}
