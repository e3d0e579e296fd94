//! The interface between a screen and the frame: the [`Screen`] trait, its input ([`Input`]) and its output ([`Effect`]).
//!
//! The frame draws the title line and the bottom bar, maps keys to actions by the key table, owns the stack of screens, and applies
//! effects. A screen owns its state, draws it, and never blocks: slow work runs in a [`LatestWorker`](super::work::LatestWorker) or a job,
//! and [`Screen::tick`] takes the results.

use super::config::PICTURES;
use super::jobs::{JobId, Jobs};
use super::keymap::{Action, Context, Keymap};
use super::theme::{ColourMode, Theme};
use super::widgets::Toast;
use super::work::Wake;
use gristmill_core::{Failure, RunOptions};
use gristmill_storage::remote::address_of;
use ratatui::crossterm::event::{KeyEvent, MouseEvent};
use ratatui::layout::Rect;
use ratatui::Frame;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use super::ui::Ui;

/// The environment of the terminal UI; cheap to clone, shared by all screens.
#[derive(Clone)]
pub struct UiEnv {
    /// The options for running jobs.
    pub options: RunOptions,
    /// Whether only ASCII characters are used.
    pub ascii: bool,
    /// Whether colours are used.
    pub colour: ColourMode,
    /// The theme, ignored if colours are off; `None` means the default.
    pub theme: Option<Arc<Theme>>,
    /// The key bindings, with those of the settings file.
    pub keymap: Arc<Keymap>,
    /// Whether mouse events are enabled.
    pub mouse: bool,
    /// The picture protocol of the settings file: a value of `GRISTMILL_PICTURES`.
    pub pictures: Option<&'static str>,
    /// The folder in which pictures of the screen are saved.
    pub save_dir: PathBuf,
    /// Variables that take precedence over the environment, by name.
    pub variables: Vec<(String, String)>,
    /// Errors in the settings, each with a hint; shown at the start of the UI.
    pub mistakes: Vec<(String, Option<String>)>,
    /// Whether the title of the terminal's window shows the running jobs.
    pub title: bool,
    /// Whether the terminal's bell rings when a job ends.
    pub bell: bool,
    /// Whether spinners are animated.
    pub animate: bool,
    /// The user's home folder, displayed as `~`.
    pub home: Option<PathBuf>,
    /// The folder of the list of recent data sets and of drafts.
    pub state_dir: PathBuf,
    /// The jobs of this process.
    pub jobs: Jobs,
    /// Wakes the frame from other threads.
    pub wake: Wake,
    /// Memory limit of deduplication, in bytes: higher than that of other jobs, unless the user has set a limit.
    pub dedup_memory: u64,
}

impl UiEnv {
    /// Returns an environment with default theme, keys and settings.
    pub fn new(options: RunOptions, state_dir: PathBuf) -> Self {
        Self {
            dedup_memory: options.memory_bytes,
            options,
            ascii: false,
            colour: ColourMode::default(),
            theme: None,
            keymap: Arc::default(),
            mouse: true,
            pictures: None,
            save_dir: PathBuf::from("."),
            variables: Vec::new(),
            mistakes: Vec::new(),
            title: true,
            bell: false,
            animate: true,
            home: std::env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from),
            state_dir,
            jobs: Jobs::default(),
            wake: Wake::default(),
        }
    }

    /// Returns the options for running a dedup.
    pub fn dedup_options(&self) -> RunOptions {
        RunOptions { memory_bytes: self.dedup_memory, ..self.options.clone() }
    }

    /// Returns an environment variable. If `GRISTMILL_PICTURES` is unset or has an unknown value, returns the setting instead.
    pub fn variable(&self, name: &str) -> Option<String> {
        let given = self.variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        let set = given.or_else(|| std::env::var(name).ok());
        match name {
            "GRISTMILL_PICTURES" => {
                set.filter(|way| PICTURES.contains(&way.as_str())).or_else(|| self.pictures.map(str::to_owned))
            }
            _ => set,
        }
    }

    /// Returns the display form of the key for `action` in `context`, for texts that are composed before drawing.
    pub fn key(&self, context: Context, action: Action) -> String {
        self.keymap.key_for(context, action).map(|k| k.label_in(self.ascii)).unwrap_or_default()
    }

    /// Returns a path with the home folder shortened to `~`, or the address of a path in the cache of the hub. The caller must escape it.
    pub fn short_path(&self, path: &Path) -> String {
        if let Some(address) = address_of(path) {
            return address;
        }
        let below = self.home.as_ref().and_then(|home| path.strip_prefix(home).ok());
        match below {
            Some(below) if below.as_os_str().is_empty() => "~".to_owned(),
            Some(below) => format!("~/{}", below.to_string_lossy()),
            None => path.to_string_lossy().into_owned(),
        }
    }
}

/// User input, as passed to a screen.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// A key that is bound in the screen's context, or an item run from `?` or `:`.
    Action(Action),
    /// A key that has no binding; in a text field ([`Screen::wants_text`]), every key that types or edits.
    Key(KeyEvent),
    /// A pasted text, unchanged.
    Paste(String),
    /// The mouse, in terminal coordinates; a screen compares them with the areas that it drew last.
    Mouse(MouseEvent),
}

/// A program to run in the terminal while the UI is hidden. No shell is involved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TerminalProgram {
    /// Program and arguments.
    pub argv: Vec<OsString>,
}

/// A request from a screen to the frame.
pub enum Effect {
    /// Push a screen on top; it has the input until it is popped.
    Push(Box<dyn Screen>),
    /// Replace this screen by another.
    Replace(Box<dyn Screen>),
    /// Pop this screen.
    Pop,
    /// Pop this screen and run the action on the one below: used by `?` and `:`.
    PopAndDo(Action),
    /// Open the guided prepare on a data set, and add it to the list of recent ones.
    OpenPath(PathBuf),
    /// Open the guided prepare with the answers of an interrupted run, and add the data set to the list of recent ones.
    ResumePath(PathBuf),
    /// Pop this screen and pass the number to the one below.
    PopAndNumber(u64),
    /// Show a short notice.
    Toast(Toast),
    /// Hand the terminal to another program (an editor), then return and call [`Screen::resumed`].
    RunInTerminal(TerminalProgram),
    /// Run the action as if its key had been pressed.
    Do(Action),
    /// Put a text of this program into the clipboard, by the terminal (OSC 52). Must not contain unescaped text from the data.
    Copy(String),
    /// Let the jobs continue without the UI, and end the UI with exit code 0.
    LeaveJobsAndQuit,
    /// End the UI with exit code 0, without confirmation.
    Quit,
}

impl Effect {
    /// Returns the effect that shows a notice about a failure.
    pub fn failure(failure: &Failure) -> Self {
        Self::Toast(Toast::failure(failure))
    }
}

/// A full screen or a popup.
pub trait Screen {
    /// Returns the key context, which may change with the focus inside the screen.
    fn context(&self) -> Context;

    /// Returns the title line after the program's name, such as `["prepare", "coco"]`. It may contain text from the data: the frame escapes
    /// it. Popups have none.
    fn title(&self) -> Vec<String> {
        Vec::new()
    }

    /// Draws the state into `area`, without changing the state except for mouse areas.
    fn draw(&mut self, frame: &mut Frame, area: Rect, ui: &Ui);

    /// Handles input, and returns effects for the frame.
    fn handle(&mut self, input: Input) -> Vec<Effect>;

    /// Takes the results of workers and jobs. Called when a worker woke the frame, and ten times a second while [`is_busy`](Self::is_busy)
    /// or while a job runs. Returns whether the screen must be redrawn.
    fn tick(&mut self, _effects: &mut Vec<Effect>) -> bool {
        false
    }
    /// Like [`tick`](Self::tick), but called only while the screen is on top, so that effects which close or replace a screen apply to this
    /// one.
    fn tick_on_top(&mut self, _: &mut Vec<Effect>) -> bool {
        false
    }

    /// Whether work is in progress whose display must be redrawn ten times a second.
    fn is_busy(&self) -> bool {
        false
    }

    /// Whether a text field has the focus: letters are typed, and only bindings of keys that type nothing apply.
    fn wants_text(&self) -> bool {
        false
    }

    /// Returns the text at the right end of the title line, such as progress or counts.
    fn status_right(&self) -> Option<String> {
        None
    }

    /// Returns the text at the right end of the bottom bar: the equivalent flags.
    fn bar_right(&self) -> Option<String> {
        None
    }

    /// Returns the label of an action in the bottom bar: that of the action, unless the screen has a more specific one.
    fn label(&self, action: Action) -> &'static str {
        action.label()
    }

    /// Returns the description of an action in help: that of the action, unless the screen has a more specific one.
    fn help(&self, action: Action) -> &'static str {
        action.help()
    }

    /// Returns the description of what a number typed after `:` does, such as `go to sample`. `None` if numbers have no meaning.
    fn number_label(&self) -> Option<&'static str> {
        None
    }

    /// Handles a number typed after `:`.
    fn take_number(&mut self, _number: u64) -> Vec<Effect> {
        Vec::new()
    }

    /// Returns why an action of the context is unavailable; `None` if it is available. Help shows the reason.
    fn disabled_reason(&self, _action: Action) -> Option<String> {
        None
    }

    /// Returns one sentence for the confirmation of quitting about changes that would be lost, and those that would not; `None` if there
    /// are none.
    fn unwritten(&self) -> Option<String> {
        None
    }

    /// Returns the failure because of which the screen could not show its data.
    fn failure(&self) -> Option<&Failure> {
        None
    }

    /// Handles Ctrl-C: stops the focused job, if there is one. Returns whether a job was stopped.
    fn interrupt(&mut self) -> bool {
        false
    }

    /// Whether the screen shows the state of this job, so that its end needs no notice.
    fn shows_job(&self, _id: JobId) -> bool {
        false
    }

    /// Whether the screen is drawn over the screen below instead of replacing it.
    fn is_popup(&self) -> bool {
        false
    }

    /// Called after another program used the terminal, and when the screen becomes the top one again.
    fn resumed(&mut self) {}

    /// Called before the UI ends, except after a panic: the place to save a draft.
    fn closing(&mut self) {}
}
