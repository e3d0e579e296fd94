//! What a screen is to the frame around it: the [`Screen`] trait, what goes in ([`Input`]) and what comes out ([`Effect`]).
//!
//! The frame draws the title line and the bottom bar, turns keys into actions by the key table, keeps the stack of
//! screens, and carries out effects. A screen owns its state, draws it, and never waits for anything: slow work goes to a
//! [`Latest`](super::work::Latest) worker or a job, and [`Screen::tick`] picks up what came back.

use super::config::PICTURES;
use super::jobs::{JobId, Jobs};
use super::keymap::{Action, Context, Keymap};
use super::theme::{ColourMode, Glyphs, Theme};
use super::widgets::Toast;
use super::work::Wake;
use gristmill_core::RunOptions;
use ratatui::crossterm::event::{KeyEvent, MouseEvent};
use ratatui::layout::Rect;
use ratatui::Frame;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What drawing needs besides a screen's own state.
#[derive(Clone, Copy)]
pub struct Ui<'a> {
    /// Styles by role.
    pub theme: &'a Theme,
    /// Characters by role.
    pub glyphs: &'a Glyphs,
    /// Which key does what, for hints inside screens.
    pub keymap: &'a Keymap,
    /// Grows by one with every tick (ten per second) while something runs; drives spinners.
    pub frame_count: u64,
}

impl Ui<'_> {
    /// The turning sign of something that runs.
    pub fn spinner(&self) -> &'static str {
        let frames = self.glyphs.spinner;
        // Slower than the ticks: a quarter turn in 0.2 s is calm to look at.
        frames[(self.frame_count / 2) as usize % frames.len()]
    }
    /// The key that does `action` in `context`, as it is shown: `Ctrl-d`.
    pub fn key(&self, context: Context, action: Action) -> String {
        self.keymap.key_for(context, action).map(|k| k.label_in(self.glyphs.ascii)).unwrap_or_default()
    }
}

/// What the whole terminal UI is given; cheap to clone, shared by all screens.
#[derive(Clone)]
pub struct UiEnv {
    /// How to run jobs.
    pub options: RunOptions,
    /// Only ASCII signs.
    pub ascii: bool,
    /// Colours or none.
    pub colour: ColourMode,
    /// The theme, unless there are to be no colours; the default where there is none.
    pub theme: Option<Arc<Theme>>,
    /// The keys in force.
    pub keymap: Arc<Keymap>,
    /// Whether the mouse is listened to.
    pub mouse: bool,
    /// How pictures are shown, by a person's wish: a value of `GRISTMILL_PICTURES`.
    pub pictures: Option<&'static str>,
    /// Where pictures of the screen are saved.
    pub save_dir: PathBuf,
    /// Variables that count in place of the environment's, by name.
    pub variables: Vec<(String, String)>,
    /// What is wrong with the settings, each with its way out; shown at the start.
    pub mistakes: Vec<(String, Option<String>)>,
    /// Whether the title of the terminal's window says what runs.
    pub title: bool,
    /// Whether the terminal's bell rings when a job ends.
    pub bell: bool,
    /// Whether spinners turn.
    pub animate: bool,
    /// The person's own folder, written as `~`.
    pub home: Option<PathBuf>,
    /// Where recent data sets and drafts are kept.
    pub state_dir: PathBuf,
    /// Jobs of this process.
    pub jobs: Jobs,
    /// Wakes the frame from another thread.
    pub wake: Wake,
    /// Bytes of memory that deduplicating may take: more than other jobs, unless somebody has said how much.
    pub dedup_memory: u64,
}

impl UiEnv {
    /// The surroundings of a UI with default looks.
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
}

impl UiEnv {
    /// How to run a dedup.
    pub fn dedup_options(&self) -> RunOptions {
        RunOptions { memory_bytes: self.dedup_memory, ..self.options.clone() }
    }

    /// An environment variable; where `GRISTMILL_PICTURES` is not set, or to what nobody knows, the settings speak for it.
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

    /// The key that does `action` in `context`, as it is shown: for sentences that are made before they are drawn.
    pub fn key(&self, context: Context, action: Action) -> String {
        self.keymap.key_for(context, action).map(|k| k.label_in(self.ascii)).unwrap_or_default()
    }

    /// A path as people write it: their own folder is `~`. Still to be made safe.
    pub fn short_path(&self, path: &Path) -> String {
        let below = self.home.as_ref().and_then(|home| path.strip_prefix(home).ok());
        match below {
            Some(below) if below.as_os_str().is_empty() => "~".to_owned(),
            Some(below) => format!("~/{}", below.to_string_lossy()),
            None => path.to_string_lossy().into_owned(),
        }
    }
}

/// What a person did, as a screen gets it.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// A key that means something in the screen's context, or an item run from `?` or `:`.
    Action(Action),
    /// A key without a meaning in the table; in a text field ([`Screen::wants_text`]) every key that types or edits.
    Key(KeyEvent),
    /// A pasted text, as it came.
    Paste(String),
    /// The mouse, in screen coordinates; a screen compares with the areas it drew last.
    Mouse(MouseEvent),
}

/// A program to run in the terminal, the UI out of the way meanwhile. No shell is involved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TerminalProgram {
    /// Program and arguments.
    pub argv: Vec<OsString>,
}

/// What a screen asks of the frame.
pub enum Effect {
    /// Puts a screen on top; it has the input until it is popped.
    Push(Box<dyn Screen>),
    /// Puts a screen in the place of this one.
    Replace(Box<dyn Screen>),
    /// Takes this screen away.
    Pop,
    /// Takes this screen away and does the action on the one below: how `?` and `:` run an item.
    PopAndDo(Action),
    /// Opens the guided prepare on a data set, and remembers it as recent.
    OpenPath(PathBuf),
    /// Opens the guided prepare with the answers of an interrupted run, and remembers the data set as recent.
    ResumePath(PathBuf),
    /// Takes this screen away and gives the number to the one below.
    PopAndNumber(u64),
    /// Shows a short notice.
    Toast(Toast),
    /// Leaves the screen to another program (an editor), then comes back and calls [`Screen::resumed`].
    RunInTerminal(TerminalProgram),
    /// Does what the key for `action` does.
    Do(Action),
    /// Puts a text of our own into the clipboard, by the terminal (OSC 52). Never text from the data as it came.
    Copy(String),
    /// Lets jobs finish without the UI, then ends it with exit code 0.
    LeaveJobsAndQuit,
    /// Ends the UI with exit code 0, no question asked.
    Quit,
}

impl Effect {
    /// A notice of a failure.
    pub fn failure(failure: &gristmill_core::Failure) -> Self {
        Self::Toast(Toast::failure(failure))
    }
}

/// A full screen or a popup.
pub trait Screen {
    /// Where keys are pressed now: may change with the focus inside the screen.
    fn context(&self) -> Context;

    /// The title line after the program's name: `["prepare", "coco"]`. May come from the data: the frame makes it safe.
    /// Popups have none.
    fn title(&self) -> Vec<String> {
        Vec::new()
    }

    /// Draws the state into `area`; decides nothing.
    fn draw(&mut self, frame: &mut Frame, area: Rect, ui: &Ui);

    /// Changes the state.
    fn handle(&mut self, input: Input) -> Vec<Effect>;

    /// Picks up what workers and jobs brought: called when a worker woke the frame, and ten times a second while
    /// [`is_busy`](Self::is_busy) or a job runs. Returns whether something to be drawn changed.
    fn tick(&mut self, effects: &mut Vec<Effect>) -> bool {
        let _ = effects;
        false
    }

    /// Whether something runs whose progress wants to be drawn ten times a second.
    fn is_busy(&self) -> bool {
        false
    }

    /// Whether a text field has the focus: letters type, and keys of the table work only where they type nothing.
    fn wants_text(&self) -> bool {
        false
    }

    /// The right end of the title line: progress, counts.
    fn status_right(&self) -> Option<String> {
        None
    }

    /// The right end of the bottom bar: the equivalent flags.
    fn bar_right(&self) -> Option<String> {
        None
    }

    /// The word for an action in the bottom bar, where this screen has a better one than the table.
    fn label(&self, action: Action) -> &'static str {
        action.label()
    }

    /// What a number typed after `:` does here: `go to sample`. `None` where it does nothing.
    fn number_label(&self) -> Option<&'static str> {
        None
    }

    /// Takes a number that was typed after `:`.
    fn take_number(&mut self, number: u64) -> Vec<Effect> {
        let _ = number;
        Vec::new()
    }

    /// Why an action of the context cannot be done now; `None` when it can. Help shows the reason.
    fn why_disabled(&self, action: Action) -> Option<String> {
        let _ = action;
        None
    }

    /// What would be left undone if the UI ended now, as one sentence; asked before it ends. What is kept anyway is said, too.
    fn unwritten(&self) -> Option<String> {
        None
    }

    /// Ctrl-C: stops the job in focus, if there is one. Returns whether something was stopped.
    fn interrupt(&mut self) -> bool {
        false
    }

    /// Whether it shows the state of this job: no notice announces its end then.
    fn shows_job(&self, id: JobId) -> bool {
        let _ = id;
        false
    }

    /// Whether it is drawn over the screen below, not in its place.
    fn is_popup(&self) -> bool {
        false
    }

    /// Called after another program had the terminal, and when the screen comes to the top again.
    fn resumed(&mut self) {}

    /// Called before the UI ends, in whatever way but a crash: the place to save a draft.
    fn closing(&mut self) {}
}
