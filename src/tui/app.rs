//! The frame around the screens: maps keys to actions, owns the stack of screens, the title line, the bottom bar and the notices. Does not
//! access the terminal.
//!
//! [`App::handle`] changes state, [`App::draw`] draws it, and [`App::take_requests`] returns the operations that only the owner of the
//! terminal can perform. So tests drive it with a `TestBackend` and without threads.

use super::event::Event;
use super::jobs::Jobs;
use super::keymap::{is_for_text_field, Action, Keymap, Meaning};
use super::screen::{Effect, Input, Screen, TerminalProgram, Ui, UiEnv};
use super::screens::{JobsPanel, Picker};
use super::theme::{ColourMode, Glyphs, Theme};
use super::widgets::toast::Level;
use super::widgets::{Gesture, MouseAreas, Toast};
use gristmill_storage::traffic::{silent_host, traffic};
use ratatui::crossterm::event::{KeyEvent, KeyModifiers, MouseEvent};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

mod draw;
mod end_notices;
mod meter;
mod quit;
mod save;

use end_notices::EndNotices;
use meter::TrafficMeter;
use save::Saver;

/// An operation that only the owner of the terminal can perform.
#[derive(Debug, PartialEq, Eq)]
pub enum Request {
    /// Run a program in the terminal.
    Run(TerminalProgram),
    /// Suspend until `fg`.
    Suspend,
    /// Take the terminal again after another process stopped and continued the program.
    Retake,
    /// Redraw everything.
    Redraw,
    /// Put a text into the clipboard.
    Copy(String),
    /// Ring the terminal's bell.
    Ring,
}

/// Opens the guided prepare on a data set; a parameter of the frame, so that the frame does not depend on that screen.
pub type OpenPrepare = Box<dyn Fn(PathBuf, UiEnv) -> Box<dyn Screen>>;

/// The frame: the stack of screens, and everything around them.
pub struct App {
    env: UiEnv,
    theme: Theme,
    glyphs: Glyphs,
    keymap: Arc<Keymap>,
    stack: Vec<Box<dyn Screen>>,
    open_prepare: OpenPrepare,
    pressed: Vec<KeyEvent>,
    toast: Option<Toast>,
    /// Ended jobs that a notice announces.
    ends: EndNotices,
    /// Mouse areas of the items of the bottom bar.
    bar: MouseAreas<Action>,
    /// Whether the next frame is to be saved as a picture.
    wants_picture: bool,
    saver: Option<Saver>,
    interrupted_once: bool,
    changed: bool,
    exit: Option<u8>,
    /// Titles of the jobs that continue without the UI, with their processes.
    left_jobs: Vec<(String, u32)>,
    /// Number of screens at the bottom of the stack that the command opened.
    command_screens: usize,
    requests: Vec<Request>,
    frame_count: u64,
    /// Whether a screen or a job was busy at the last tick: the screens need one more tick to show its end.
    needs_tick: bool,
    /// Number of jobs started up to the last tick.
    known_jobs: u32,
    /// Traffic of the stores, for the title line.
    meter: TrafficMeter,
}

/// Time without an answer of a store after which the title line names its host.
const SILENT_TIME: std::time::Duration = std::time::Duration::from_secs(1);
/// Returns the theme in use: without colours, all other theme settings are ignored.
fn theme_of(env: &UiEnv) -> Theme {
    match (&env.theme, env.colour) {
        (Some(theme), ColourMode::Sixteen) => Theme::clone(theme),
        (_, colour) => Theme::new(colour),
    }
}

/// Returns the exit code of the program for a signal.
const fn signal_code(signal: i32) -> u8 {
    128_u8.saturating_add(signal as u8)
}

impl App {
    /// Returns a frame with `root` as its only screen.
    pub fn new(env: UiEnv, root: Box<dyn Screen>, open_prepare: OpenPrepare) -> Self {
        Self {
            theme: theme_of(&env),
            glyphs: Glyphs::new(env.ascii),
            keymap: Arc::clone(&env.keymap),
            env,
            stack: vec![root],
            open_prepare,
            pressed: Vec::new(),
            toast: None,
            ends: EndNotices::default(),
            bar: MouseAreas::default(),
            wants_picture: false,
            saver: None,
            interrupted_once: false,
            changed: true,
            exit: None,
            left_jobs: Vec::new(),
            command_screens: 1,
            requests: Vec::new(),
            frame_count: 0,
            needs_tick: false,
            known_jobs: 0,
            meter: TrafficMeter::new(Instant::now(), traffic()),
        }
    }

    /// Removes and returns the jobs that continue without the UI.
    pub fn take_left_jobs(&mut self) -> Vec<(String, u32)> {
        std::mem::take(&mut self.left_jobs)
    }

    /// Returns the exit code once the UI must end.
    pub fn exit_code(&self) -> Option<u8> {
        self.exit
    }

    /// Removes and returns the pending operations for the owner of the terminal.
    pub fn take_requests(&mut self) -> Vec<Request> {
        std::mem::take(&mut self.requests)
    }

    /// Whether there are no pending operations for the owner of the terminal.
    pub fn has_no_requests(&self) -> bool {
        self.requests.is_empty()
    }

    /// Whether a new frame is due.
    pub fn is_changed(&self) -> bool {
        self.changed
    }

    /// Makes a new frame due.
    pub fn request_frame(&mut self) {
        self.changed = true;
    }

    /// Whether a new frame is due; clears the flag.
    pub fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }

    /// Whether a screen or a job is busy, so that its progress must be redrawn.
    pub fn is_busy(&self) -> bool {
        self.stack.iter().any(|s| s.is_busy()) || self.env.jobs.running() > 0 || self.meter.is_active()
    }

    /// Whether the screens need another tick: something is busy, or ended (or started and ended) since the last tick.
    pub fn needs_tick(&self) -> bool {
        self.needs_tick || self.known_jobs != self.env.jobs.started() || self.is_busy()
    }

    /// Returns the jobs of this process.
    pub fn jobs(&self) -> &Jobs {
        &self.env.jobs
    }

    /// Pushes a screen on top.
    pub fn push(&mut self, screen: Box<dyn Screen>) {
        self.stack.push(screen);
        self.changed = true;
    }

    /// Notifies every screen that the UI ends.
    pub fn close(&mut self) {
        for screen in self.stack.iter_mut().rev() {
            screen.closing();
        }
    }

    /// Handles one event.
    pub fn handle(&mut self, event: Event) {
        match event {
            Event::Key(key) => self.key(key),
            Event::Paste(text) => self.input(Input::Paste(text)),
            Event::Mouse(mouse) => self.mouse(mouse),
            // Redraws everything even if the size is the same: the terminal may have been smaller in between, which cut the screen.
            Event::Resized => self.redraw(),
            Event::Woken => self.update(),
            Event::LineIsFree => {}
            Event::Signal(signal) => self.signal(signal),
            Event::InputLost(reason) => {
                tracing::warn!(reason, "the terminal can no longer be read");
                self.exit = Some(signal_code(SIGHUP));
            }
            Event::WorkerPanicked(message) => {
                let line = message.lines().last().unwrap_or_default();
                self.notify(Toast::new(Level::Error, format!("a worker ended unexpectedly: {line}")));
            }
        }
    }

    /// Advances the animation and the screens by a tenth of a second; called while something is busy.
    pub fn tick(&mut self) {
        if self.env.animate {
            self.frame_count += 1;
        }
        self.expire();
        self.changed |= self.meter.read(Instant::now(), traffic(), silent_host(SILENT_TIME));
        let had_to = self.needs_tick();
        // Read before the screens update, so that a job that ends meanwhile causes another tick.
        self.known_jobs = self.env.jobs.started();
        self.needs_tick = self.is_busy();
        self.update();
        // Rates and times change even if no screen changed.
        self.changed |= had_to;
    }

    /// Lets every screen take the results of workers and jobs.
    fn update(&mut self) {
        self.report_saved();
        let mut effects = Vec::new();
        for screen in &mut self.stack {
            self.changed |= screen.tick(&mut effects);
        }
        if let Some(top) = self.stack.last_mut() {
            self.changed |= top.tick_on_top(&mut effects);
        }
        self.run(effects);
        self.announce_ends();
    }

    /// Resumes after another program used the terminal.
    pub fn resumed(&mut self) {
        if let Some(screen) = self.stack.last_mut() {
            screen.resumed();
        }
        self.changed = true;
    }

    /// Shows a notice until the next key.
    pub fn notify(&mut self, toast: Toast) {
        self.toast = Some(toast);
        self.changed = true;
    }

    fn signal(&mut self, signal: i32) {
        match signal {
            SIGTERM | SIGHUP | SIGQUIT => self.exit = Some(signal_code(signal)),
            SIGINT => self.handle_action(Action::Interrupt),
            SIGTSTP => self.requests.push(Request::Suspend),
            SIGCONT => self.requests.push(Request::Retake),
            _ => {}
        }
    }

    fn key(&mut self, key: KeyEvent) {
        panic_on_test_key(&key);
        let Some(screen) = self.stack.last() else { return };
        if screen.wants_text() && self.pressed.is_empty() && is_for_text_field(&key) {
            self.interrupted_once = false;
            self.dismiss_by_typing();
            return self.dispatch(Input::Key(key));
        }
        self.pressed.push(key);
        match self.keymap.meaning(screen.context(), &self.pressed) {
            Meaning::More => {}
            Meaning::Do(action) => {
                self.pressed.clear();
                self.handle_action(action);
            }
            Meaning::Nothing => {
                let had_more = self.pressed.len() > 1;
                self.pressed.clear();
                if had_more {
                    // The sequence of keys has no binding: the last key is handled as a key of its own.
                    return self.key(key);
                }
                self.interrupted_once = false;
                self.input(Input::Key(key));
            }
        }
    }

    /// Handles the mouse: a click on an item of the bottom bar runs it; everything else is passed to the screen. Events with Shift are
    /// ignored, because terminals use Shift to select text.
    fn mouse(&mut self, mouse: MouseEvent) {
        if mouse.modifiers.contains(KeyModifiers::SHIFT) {
            return;
        }
        self.pressed.clear();
        match self.bar.gesture(mouse) {
            Some(Gesture::Click { on, .. } | Gesture::DoubleClick { on, .. }) if self.toast.is_none() => {
                self.handle_action(on)
            }
            _ => self.input(Input::Mouse(mouse)),
        }
    }

    fn input(&mut self, input: Input) {
        self.dismiss();
        self.dispatch(input);
    }

    fn dispatch(&mut self, input: Input) {
        self.changed = true;
        let effects = self.stack.last_mut().map(|s| s.handle(input)).unwrap_or_default();
        self.run(effects);
    }

    fn handle_action(&mut self, action: Action) {
        if action != Action::Interrupt {
            self.interrupted_once = false;
        }
        self.dismiss();
        self.changed = true;
        if let Some(why) = self.stack.last().and_then(|screen| screen.disabled_reason(action)) {
            return self.notify(Toast::new(Level::Warn, format!("{}: {why}", action.label())));
        }
        match action {
            Action::Interrupt => self.interrupt(),
            Action::Quit => self.confirm_quit(),
            Action::Suspend => self.requests.push(Request::Suspend),
            Action::Redraw => self.redraw(),
            Action::SaveScreen => self.wants_picture = true,
            Action::Help => self.open_picker(Picker::help),
            Action::Palette => self.open_picker(Picker::palette),
            Action::Jobs => self.push(Box::new(JobsPanel::new(self.env.clone()))),
            action => {
                let Some(screen) = self.stack.last_mut() else { return };
                let effects = screen.handle(Input::Action(action));
                self.run(effects);
            }
        }
    }

    fn redraw(&mut self) {
        self.changed = true;
        if !self.requests.contains(&Request::Redraw) {
            self.requests.push(Request::Redraw);
        }
    }

    fn open_picker(&mut self, make: impl Fn(&Keymap, &dyn Screen, bool) -> Picker) {
        if let Some(screen) = self.stack.last() {
            let picker = make(&self.keymap, screen.as_ref(), self.glyphs.ascii);
            self.push(Box::new(picker));
        }
    }

    /// Handles Ctrl-C: the first stops the focused job, a second one in a row ends the UI.
    fn interrupt(&mut self) {
        if self.interrupted_once {
            self.exit = Some(signal_code(SIGINT));
            return;
        }
        self.interrupted_once = true;
        let stopped = self.stack.last_mut().is_some_and(|s| s.interrupt());
        let text = if stopped { "Stopping; press Ctrl-C again to quit" } else { "Ctrl-C again leaves" };
        self.notify(Toast::new(Level::Warn, text));
    }

    fn run(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            self.changed = true;
            match effect {
                Effect::Push(screen) => self.push(screen),
                Effect::Replace(screen) => {
                    self.pop();
                    self.push(screen);
                }
                Effect::Pop => self.pop_or_quit(),
                Effect::PopAndDo(action) => {
                    self.pop_or_quit();
                    self.handle_action(action);
                }
                Effect::PopAndNumber(number) => {
                    self.pop_or_quit();
                    let effects = self.stack.last_mut().map(|s| s.take_number(number)).unwrap_or_default();
                    self.run(effects);
                }
                Effect::OpenPath(path) => {
                    super::recent::add(&self.env.state_dir, &path);
                    let screen = (self.open_prepare)(path, self.env.clone());
                    self.push(screen);
                }
                Effect::ResumePath(path) => {
                    super::recent::add(&self.env.state_dir, &path);
                    self.push(super::form::resume_prepare(path, self.env.clone()));
                }
                Effect::Toast(toast) => self.notify(toast),
                Effect::RunInTerminal(program) => self.requests.push(Request::Run(program)),
                Effect::Do(action) => self.handle_action(action),
                Effect::Copy(text) => self.requests.push(Request::Copy(text)),
                Effect::LeaveJobsAndQuit => self.leave_jobs_and_quit(),
                Effect::Quit => self.exit(),
            }
        }
    }

    fn pop(&mut self) {
        if let Some(mut screen) = self.stack.pop() {
            screen.closing();
        }
        self.pressed.clear();
        self.command_screens = self.command_screens.min(self.stack.len());
    }

    /// Pops the top screen; on the last screen, asks whether to quit.
    fn pop_or_quit(&mut self) {
        if self.stack.len() <= 1 {
            return self.confirm_quit();
        }
        self.pop();
        if let Some(screen) = self.stack.last_mut() {
            screen.resumed();
        }
    }

    fn ui(&self) -> Ui<'_> {
        Ui { theme: &self.theme, glyphs: &self.glyphs, keymap: &self.keymap, frame_count: self.frame_count }
    }
}

/// Lets the tests with a real terminal trigger a panic: a debug build panics on the key that this variable names.
#[cfg(debug_assertions)]
fn panic_on_test_key(key: &KeyEvent) {
    let asked = std::env::var("GRISTMILL_PANIC_ON_KEY").ok().and_then(|k| k.chars().next());
    if asked.is_some_and(|c| key.code == ratatui::crossterm::event::KeyCode::Char(c)) {
        panic!("asked to panic on '{}'", asked.unwrap_or_default());
    }
}

#[cfg(not(debug_assertions))]
fn panic_on_test_key(_: &KeyEvent) {}

#[cfg(test)]
mod tests;
