//! The screen of the mix form, and its workers.

use super::state::{quoted, MixState, Place, Stop, Worked};
use super::view;
use crate::tui::keymap::{Action, Context};
use crate::tui::path_completer::PathCompleter;
use crate::tui::screen::{Effect, Input, Screen, Ui, UiEnv};
use crate::tui::widgets::{Gesture, Level, Toast};
use crate::tui::work::{Latest, Stoppable};
use gristmill_core::mix::MixPlan;
use gristmill_core::{Cancel, Handles, Outcome, ProblemLog, Progress};
use gristmill_ops::engine::mix::author::{facts_of_plan, find_members, render, FoundMember};
use gristmill_ops::job::mix::MixReport;
use gristmill_ops::job::report::Report;
use gristmill_ops::operations::{erase, MixNew};
use ratatui::crossterm::event::{KeyCode, KeyEvent};
use ratatui::layout::Rect;
use ratatui::Frame;
use std::path::{Path, PathBuf};
use std::sync::Arc;

type Answer = (MixPlan, Arc<Outcome<Worked>>);

/// The mix form on a folder, with one data set chosen already. Nothing is read on this thread.
pub fn open(folder: PathBuf, chosen: Option<PathBuf>, env: UiEnv) -> Box<MixScreen> {
    let mut search = Latest::start("members", env.wake.clone(), |folder: PathBuf| find_members(&folder));
    search.ask(folder.clone());
    let work = Stoppable::start("mixture", env.wake.clone(), |plan: MixPlan, cancel| {
        let worked = work_out(&plan, cancel);
        (plan, Arc::new(worked))
    });
    let options = env.options.clone();
    let writer = Latest::start("mix", env.wake.clone(), move |plan: MixPlan| {
        erase::<MixNew>(plan).start(false, options.clone())?.wait()
    });
    let state = MixState::new(folder, chosen, std::env::current_dir().unwrap_or_default());
    let paths = PathCompleter::start(&env);
    Box::new(MixScreen { env, state, search, work, writer, paths, asked: None })
}

fn work_out(plan: &MixPlan, cancel: &Cancel) -> Outcome<Worked> {
    let (progress, problems) = (Progress::default(), ProblemLog::default());
    let handles = Handles { progress: &progress, cancel, problems: &problems };
    Ok(Worked { text: render(plan)?, facts: facts_of_plan(plan, handles)? })
}

/// The screen.
pub struct MixScreen {
    env: UiEnv,
    pub(super) state: MixState,
    search: Latest<PathBuf, Outcome<Vec<FoundMember>>>,
    work: Stoppable<MixPlan, Answer>,
    writer: Latest<MixPlan, Outcome<Box<dyn Report>>>,
    paths: PathCompleter,
    asked: Option<MixPlan>,
}

impl MixScreen {
    fn ask(&mut self) {
        let Some(plan) = self.state.plan() else { return };
        if self.asked.as_ref() == Some(&plan) {
            return;
        }
        self.asked = Some(plan.clone());
        self.work.ask(plan);
    }

    /// Enter: shows the file, then writes it.
    fn accept(&mut self) -> Vec<Effect> {
        let say = |level, words: String| vec![Effect::Toast(Toast::new(level, words))];
        if self.state.written.is_some() {
            return vec![Effect::Pop];
        }
        if self.state.aux.is_some() {
            return match self.state.take_aux() {
                Some(why) => say(Level::Warn, why),
                None => Vec::new(),
            };
        }
        if let Some(why) = self.state.refusal() {
            return say(Level::Warn, why);
        }
        if !self.state.is_reviewing {
            self.state.is_reviewing = true;
            self.state.offset = 0;
            return Vec::new();
        }
        if let Some(plan) = self.state.plan() {
            self.writer.ask(plan);
        }
        Vec::new()
    }

    fn close(&mut self) -> Vec<Effect> {
        if self.state.aux.take().is_some() {
            return Vec::new();
        }
        if self.state.is_reviewing && self.state.written.is_none() {
            self.state.is_reviewing = false;
            return Vec::new();
        }
        vec![Effect::Pop]
    }

    fn ask_for_path(&mut self) {
        let Self { paths, state, .. } = self;
        if let Some(field) = state.path_field() {
            paths.ask(Path::new(""), field);
        }
    }

    fn key(&mut self, key: KeyEvent) {
        if let Some(field) = self.state.field() {
            field.key(key);
        } else {
            match key.code {
                KeyCode::Char(c) => self.state.type_amount(c),
                KeyCode::Backspace => self.state.erase_amount(),
                _ => {}
            }
        }
    }

    fn take_written(&mut self, effects: &mut Vec<Effect>) -> bool {
        match self.writer.take() {
            Some(Ok(report)) => {
                let Some(report) = report.typed::<MixReport>() else { return true };
                let text = match report.needs_prepare {
                    true => format!("written; now: gristmill prepare {}", quoted(&report.path)),
                    false => "written".to_owned(),
                };
                effects.push(Effect::Toast(Toast::new(Level::Ok, text)));
                self.state.written = Some(report.path.clone());
                true
            }
            Some(Err(failure)) => {
                effects.push(Effect::failure(&failure));
                self.state.is_reviewing = false;
                true
            }
            None => false,
        }
    }
}

impl Screen for MixScreen {
    fn context(&self) -> Context {
        match self.state.is_typing() {
            true => Context::FormText,
            false => Context::Form,
        }
    }

    fn title(&self) -> Vec<String> {
        vec!["mix".to_owned(), self.env.short_path(&self.state.folder)]
    }

    fn handle(&mut self, input: Input) -> Vec<Effect> {
        let effects = match input {
            Input::Action(Action::Close) => self.close(),
            Input::Action(Action::Run | Action::Accept) => self.accept(),
            Input::Action(Action::Copy) => {
                let copied = Effect::Toast(Toast::new(Level::Ok, "copied"));
                vec![Effect::Copy(self.state.command()), copied]
            }
            Input::Action(action) => {
                self.state.act(action);
                Vec::new()
            }
            Input::Key(key) => {
                self.key(key);
                self.ask_for_path();
                Vec::new()
            }
            Input::Paste(words) => {
                if let Some(field) = self.state.field() {
                    field.paste(&words);
                }
                self.ask_for_path();
                Vec::new()
            }
            Input::Mouse(mouse) => match self.state.places.gesture(mouse) {
                Some(Gesture::Click { on: Place::Aux(true), .. }) => self.accept(),
                Some(Gesture::Click { on: Place::Aux(false), .. }) => self.close(),
                Some(gesture) => {
                    self.state.point(gesture);
                    Vec::new()
                }
                None => Vec::new(),
            },
        };
        self.ask();
        effects
    }

    fn tick(&mut self, effects: &mut Vec<Effect>) -> bool {
        let mut changed = false;
        if let Some(found) = self.search.take() {
            self.state.take_found(found);
            changed = true;
        }
        if let Some(worked) = self.work.take() {
            self.state.worked = Some(worked);
            changed = true;
        }
        changed |= self.take_written(effects) | self.paths.take(self.state.path_field());
        self.ask();
        changed
    }

    fn is_busy(&self) -> bool {
        self.search.is_waiting() || self.work.is_waiting() || self.writer.is_waiting()
    }

    fn wants_text(&self) -> bool {
        self.state.is_typing()
    }

    fn label(&self, action: Action) -> &'static str {
        match (action, self.state.is_reviewing, self.state.written.is_some()) {
            (Action::Run, _, true) => "done",
            (Action::Run, true, _) => "write it",
            (Action::Run, false, _) if self.state.aux.is_some() => "add",
            (Action::Run, false, _) => "show the file",
            (Action::Left, ..) => "less",
            (Action::Right, ..) => "more",
            (action, ..) => action.label(),
        }
    }

    fn why_disabled(&self, action: Action) -> Option<String> {
        let on_members = self.state.stop() == Stop::Members && !self.state.is_reviewing;
        match action {
            Action::AddAux if !on_members => Some("go to the data sets first".into()),
            Action::AddAux => self.state.why_no_aux(),
            Action::Left | Action::Right if !on_members => Some("no data set is selected".into()),
            Action::Toggle | Action::NextField if self.state.is_reviewing => Some("the file is shown".into()),
            Action::SavePlan => Some("the file itself can be edited and replayed".into()),
            Action::Copy if self.state.plan().is_none() => self.state.blocker(),
            _ => None,
        }
    }

    fn draw(&mut self, frame: &mut Frame, area: Rect, ui: &Ui) {
        view::draw(&mut self.state, frame, area, ui);
    }
}
