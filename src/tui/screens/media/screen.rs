//! The screen of `prepare-media`: one form, and beside it what its answers would record.

use super::form::{is_typed, MediaForm, Strategy};
use super::view;
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::{Effect, Input, Screen, Ui, UiEnv};
use crate::tui::screens::run::{orders, RunScreen};
use crate::tui::widgets::{Gesture, Level, Places, Toast};
use crate::tui::work::Stoppable;
use gristmill_core::plan::PLAN_VERSION;
use gristmill_core::{MediaFilter, MediaPlan, Outcome, PrepareMediaPlan, Severity};
use gristmill_ops::job::media::{preview, MediaPreview};
use gristmill_ops::operations::{erase, PrepareMedia};
use ratatui::crossterm::event::KeyEvent;
use ratatui::layout::Rect;
use ratatui::Frame;
use std::path::PathBuf;
use std::sync::Arc;

/// A field of the form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Which entries.
    Strategy,
    /// Shell patterns.
    Patterns,
    /// Decode each picture whole.
    Decode,
    /// Remove rows of entries that are gone.
    Prune,
}

/// Answers, and what is known of what they would do. Pure.
#[derive(Clone, Debug)]
pub struct MediaState {
    /// Where the media are, as given by the person.
    pub path: String,
    /// Which entries, and how.
    pub form: MediaForm,
    /// Remove rows of entries that are gone.
    pub prune: bool,
    /// Leave broken pictures out, as the reference program does.
    pub compat: bool,
    /// What a run would do, and for which plan that was found out.
    pub preview: Option<(PrepareMediaPlan, Arc<Outcome<MediaPreview>>)>,
    focus: usize,
    /// First line in view of what is below the form.
    pub offset: usize,
    /// Where things were drawn last, for the mouse.
    pub places: Places<Place>,
}

/// What lies at a place of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// One way to pick entries.
    Strategy(Strategy),
    /// Another field.
    Field(Stop),
    /// What the answers come to.
    Outcome,
}

impl MediaState {
    /// The form of a path, with what is proposed: by extension.
    pub fn new(path: &str) -> Self {
        let form = MediaForm { strategy: Strategy::Extension, ..MediaForm::default() };
        Self {
            path: path.to_owned(),
            form,
            prune: false,
            compat: false,
            preview: None,
            focus: 0,
            offset: 0,
            places: Places::default(),
        }
    }

    /// The fields that are there now, in order.
    pub fn stop_list(&self) -> Vec<Stop> {
        match self.form.strategy {
            Strategy::Glob => vec![Stop::Strategy, Stop::Patterns, Stop::Decode, Stop::Prune],
            _ => vec![Stop::Strategy, Stop::Decode, Stop::Prune],
        }
    }

    /// The field in focus.
    pub fn stop(&self) -> Stop {
        let stops = self.stop_list();
        stops.get(self.focus).or(stops.last()).copied().unwrap_or(Stop::Strategy)
    }

    fn step_focus(&mut self, forward: bool) {
        let stops = self.stop_list().len();
        self.focus = (self.focus.min(stops - 1) + if forward { 1 } else { stops - 1 }) % stops;
    }

    /// Puts the focus where a pattern is missing.
    fn focus_patterns_if_wanted(&mut self) {
        if self.form.blocker().is_some() {
            self.focus = self.stop_list().iter().position(|s| *s == Stop::Patterns).unwrap_or(self.focus);
        }
    }

    /// Whether a key goes into the patterns. Where patterns are wanted and none is there, what is typed is one.
    fn takes(&mut self, key: &KeyEvent) -> bool {
        if self.stop() == Stop::Strategy && is_typed(key) {
            self.focus_patterns_if_wanted();
        }
        self.stop() == Stop::Patterns
    }

    /// The answers; `None` while a pattern is missing.
    pub fn plan(&self) -> Option<PrepareMediaPlan> {
        Some(PrepareMediaPlan {
            version: PLAN_VERSION,
            path: self.path.clone(),
            media: self.form.plan()?,
            prune: self.prune,
            compat: self.compat,
        })
    }

    /// The same as a command, quoted for a shell; empty while a pattern is missing.
    pub fn command(&self) -> String {
        self.plan().map(|plan| erase::<PrepareMedia>(plan).command_line().text()).unwrap_or_default()
    }

    /// What the answers would do, unless another filter was chosen since it was looked at.
    pub fn preview_now(&self) -> Option<&Outcome<MediaPreview>> {
        let plan = self.plan()?;
        self.preview.as_ref().filter(|(of, _)| of.media.filter == plan.media.filter).map(|(_, found)| found.as_ref())
    }

    /// Why it cannot be run as it is.
    pub fn blocker(&self) -> Option<String> {
        if let Some(why) = self.form.blocker() {
            return Some(why);
        }
        match self.preview_now() {
            Some(Err(failure)) => Some(failure.to_string()),
            Some(Ok(preview)) => {
                let refused = preview.problems.iter().find(|p| p.severity == Severity::Refusal);
                let nothing = preview.outlook.candidates == 0 && preview.rows_before == 0;
                refused.map(ToString::to_string).or_else(|| nothing.then(|| "nothing is picked like this".to_owned()))
            }
            // What is not looked at yet is found out by the run itself.
            None => None,
        }
    }

    /// Does what the mouse did.
    pub fn point(&mut self, gesture: Gesture<Place>) {
        match gesture {
            Gesture::Wheel { on: Place::Outcome, rows } => self.offset = self.offset.saturating_add_signed(rows),
            Gesture::Wheel { .. } => {}
            Gesture::Click { on, .. } | Gesture::DoubleClick { on, .. } => {
                let stop = match on {
                    Place::Strategy(strategy) => {
                        self.form.strategy = strategy;
                        Stop::Strategy
                    }
                    Place::Field(stop) => stop,
                    Place::Outcome => return,
                };
                self.focus = self.stop_list().iter().position(|s| *s == stop).unwrap_or(0);
                match stop {
                    Stop::Decode => self.form.decode = !self.form.decode,
                    Stop::Prune => self.prune = !self.prune,
                    Stop::Strategy | Stop::Patterns => {}
                }
            }
        }
    }

    /// Does what a key means; true when the answers may have changed.
    pub fn act(&mut self, action: Action) -> bool {
        match (self.stop(), action) {
            (_, Action::NextField | Action::NextPane) => self.step_focus(true),
            (_, Action::PreviousField | Action::PreviousPane) => self.step_focus(false),
            (Stop::Strategy, Action::Up) => {
                self.form.step(false, Strategy::Extension);
            }
            (Stop::Strategy, Action::Down) => {
                if !self.form.step(true, Strategy::Extension) {
                    self.step_focus(true);
                }
            }
            // The option at the cursor is the chosen one.
            (Stop::Strategy, Action::Toggle) => return false,
            (Stop::Decode, Action::Toggle) => self.form.decode = !self.form.decode,
            (Stop::Prune, Action::Toggle) => self.prune = !self.prune,
            (Stop::Patterns, Action::DropRow) => self.form.patterns.clear(),
            (Stop::Prune, Action::Down) => self.offset = self.offset.saturating_add(1),
            (_, Action::Up) if self.offset > 0 && self.stop() == Stop::Prune => self.offset -= 1,
            (_, Action::PageDown | Action::HalfDown) => self.offset = self.offset.saturating_add(5),
            (_, Action::PageUp | Action::HalfUp) => self.offset = self.offset.saturating_sub(5),
            (_, Action::Up) => self.step_focus(false),
            (_, Action::Down) => self.step_focus(true),
            _ => return false,
        }
        true
    }
}

type Found = (PrepareMediaPlan, Arc<Outcome<MediaPreview>>);

/// The screen.
pub struct MediaScreen {
    env: UiEnv,
    state: MediaState,
    worker: Stoppable<PrepareMediaPlan, Found>,
    asked: Option<PrepareMediaPlan>,
}

/// The screen of `prepare-media` on a folder or a prepared data set; it is looked at in the background.
pub fn open(path: PathBuf, env: UiEnv) -> Box<dyn Screen> {
    Box::new(MediaScreen::new(MediaState::new(&path.to_string_lossy()), env))
}

/// As [`open`], with answers that are given already.
pub fn open_with(plan: &PrepareMediaPlan, env: UiEnv) -> Box<dyn Screen> {
    let mut state = MediaState::new(&plan.path);
    let filter = Some(&plan.media.filter).filter(|filter| **filter != MediaFilter::UNSET);
    let filter = filter.unwrap_or(&MediaFilter::Extension).clone();
    state.form.adopt(Some(&MediaPlan { filter, decode: plan.media.decode }));
    state.prune = plan.prune;
    state.compat = plan.compat;
    Box::new(MediaScreen::new(state, env))
}

impl MediaScreen {
    fn new(state: MediaState, env: UiEnv) -> Self {
        let options = env.options.clone();
        let worker = Stoppable::start("media", env.wake.clone(), move |plan: PrepareMediaPlan, cancel| {
            let found = preview(&plan, &options, cancel);
            (plan, Arc::new(found))
        });
        let mut screen = Self { env, state, worker, asked: None };
        screen.ask();
        screen
    }

    /// Asks what the answers would do, unless that is known or only how they are read has changed.
    fn ask(&mut self) {
        let Some(plan) = self.state.plan() else { return };
        if self.asked.as_ref().is_some_and(|asked| asked.media.filter == plan.media.filter) {
            return;
        }
        self.asked = Some(plan.clone());
        self.worker.ask(plan);
    }

    fn run(&mut self) -> Vec<Effect> {
        if let Some(why) = self.state.blocker() {
            self.state.focus_patterns_if_wanted();
            return vec![Effect::Toast(Toast::new(Level::Warn, why))];
        }
        let Some(plan) = self.state.plan() else { return Vec::new() };
        // The run looks for itself.
        self.worker.stop();
        self.asked = None;
        let order = orders::media(plan, self.state.command());
        vec![Effect::Push(Box::new(RunScreen::new(order, self.env.clone())))]
    }

    fn act(&mut self, action: Action) -> Vec<Effect> {
        match action {
            Action::Close => return vec![Effect::Pop],
            Action::Run | Action::Accept => return self.run(),
            Action::Copy => {
                let copied = Effect::Toast(Toast::new(Level::Ok, "copied"));
                return vec![Effect::Copy(self.state.command()), copied];
            }
            action => {
                self.state.act(action);
                self.ask();
            }
        }
        Vec::new()
    }
}

impl Screen for MediaScreen {
    fn context(&self) -> Context {
        match self.state.stop() {
            Stop::Patterns => Context::FormText,
            _ => Context::Form,
        }
    }

    fn title(&self) -> Vec<String> {
        let path = PathBuf::from(&self.state.path);
        let name = path.file_name().map_or_else(|| path.to_string_lossy(), |n| n.to_string_lossy());
        vec!["media metadata".to_owned(), name.into_owned()]
    }

    fn handle(&mut self, input: Input) -> Vec<Effect> {
        match input {
            Input::Action(action) => return self.act(action),
            Input::Key(key) if self.state.takes(&key) => {
                self.state.form.patterns.key(key);
                self.ask();
            }
            Input::Paste(words) if self.state.stop() == Stop::Patterns => {
                self.state.form.patterns.paste(&words);
                self.ask();
            }
            Input::Mouse(mouse) => {
                if let Some(gesture) = self.state.places.gesture(mouse) {
                    self.state.point(gesture);
                    self.ask();
                }
            }
            _ => {}
        }
        Vec::new()
    }

    fn tick(&mut self, _: &mut Vec<Effect>) -> bool {
        let Some(found) = self.worker.take() else { return false };
        self.state.preview = Some(found);
        true
    }

    fn is_busy(&self) -> bool {
        self.worker.is_waiting()
    }

    fn wants_text(&self) -> bool {
        self.state.stop() == Stop::Patterns
    }

    fn bar_right(&self) -> Option<String> {
        Some(self.state.form.flags())
    }

    fn status_right(&self) -> Option<String> {
        self.worker.is_waiting().then(|| "counting".to_owned())
    }

    fn label(&self, action: Action) -> &'static str {
        match action {
            Action::Run => "run",
            action => action.label(),
        }
    }

    fn why_disabled(&self, action: Action) -> Option<String> {
        match action {
            Action::DropRow if self.state.stop() == Stop::Patterns => None,
            Action::Toggle if self.state.stop() == Stop::Patterns => Some("the field takes letters".into()),
            Action::SavePlan | Action::Left | Action::Right | Action::AddAux | Action::DropRow => {
                Some("there is nothing like that here".into())
            }
            _ => None,
        }
    }

    fn interrupt(&mut self) -> bool {
        self.worker.stop()
    }

    fn resumed(&mut self) {
        // A run may have changed what is there.
        self.asked = None;
        self.ask();
    }

    fn draw(&mut self, frame: &mut Frame, area: Rect, ui: &Ui) {
        let title = self.env.short_path(&PathBuf::from(&self.state.path));
        view::draw(&mut self.state, &title, frame, area, ui);
    }
}
