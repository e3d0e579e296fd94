//! The context of every command: the global flags, the printer, and the stop signals.

use super::globals::{Color, Globals};
use super::locale::is_other_than_utf8;
use super::printer::Printer;
use super::signals::Signals;
use crate::tui::config::{self, Settings};
use crate::tui::theme::{ColourMode, Theme};
use crate::tui::UiEnv;
use gristmill_core::{Failure, Outcome, RunOptions, Subject};
use gristmill_data::preview::cells::Depth;
use gristmill_storage::memory::usual_memory;
use gristmill_storage::{scratch, xdg};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

/// Maximum number of threads by default.
const MAX_THREADS: usize = 16;

/// The context of every command.
pub struct Context {
    /// Global flags.
    pub globals: Globals,
    /// The only access to stdout and stderr.
    pub printer: Printer,
    /// Stop requests by signal; signals are caught only after a command requests it.
    pub signals: Signals,
    /// Whether the full screen is open.
    has_screen: AtomicBool,
}

impl Context {
    /// Returns a context without starting any work. Sets the default scratch folder to that of `--scratch`.
    pub fn new(globals: Globals, printer: Printer) -> Self {
        globals.scratch.iter().cloned().for_each(scratch::name_folder);
        Self { globals, printer, signals: Signals::default(), has_screen: AtomicBool::new(false) }
    }

    /// Returns the run options for the flags. The default number of threads is that of the CPUs allowed by affinity and cgroup, at most 16.
    pub fn run_options(&self) -> RunOptions {
        let g = &self.globals;
        let defaults = RunOptions::default();
        RunOptions {
            threads: g.threads.unwrap_or_else(default_threads),
            scratch: g.scratch.clone(),
            memory_bytes: g.memory.unwrap_or(defaults.memory_bytes),
            strict: g.strict,
            omits_damage: g.problems_ok,
            restart: g.restart,
            break_lock: g.break_lock,
        }
    }

    /// Records that the full screen is open from now on.
    pub fn set_screen(&self) {
        self.has_screen.store(true, Ordering::Relaxed);
    }

    /// Whether the full screen is open.
    pub fn has_screen(&self) -> bool {
        self.has_screen.load(Ordering::Relaxed)
    }

    /// Whether questions may be asked: stdin and stderr are terminals, and neither `--yes` nor `--json` is given.
    pub fn may_prompt(&self) -> bool {
        !self.globals.yes && !self.globals.json && std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
    }

    /// Whether the terminal supports full screens, and the flags allow them.
    pub fn has_full_screen(&self) -> bool {
        self.may_prompt() && !self.prefers_prompts()
    }

    /// Whether questions are asked by plain prompts: because of a flag, or because the terminal does not support full screens.
    pub fn prefers_prompts(&self) -> bool {
        self.globals.plain
            || self.globals.drop_in
            || !std::io::stdout().is_terminal()
            || std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb")
    }
}

impl Context {
    /// Whether colours are off: `--color never`, `NO_COLOR`, or a terminal without colours.
    pub fn has_no_colour(&self) -> bool {
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        match self.globals.color {
            Color::Always => false,
            Color::Never => true,
            Color::Auto => set("NO_COLOR") || std::env::var_os("TERM").is_some_and(|term| term == "dumb"),
        }
    }
}

impl Context {
    /// Returns the user's settings, with the mistakes in them.
    pub fn settings(&self) -> Settings {
        config::load(&xdg::config_dir()).with_picture_protocol(std::env::var("GRISTMILL_PICTURES").ok().as_deref())
    }

    /// Returns the environment of the full-screen program from the flags and the settings. A theme given by `--theme` must exist.
    pub fn ui_env(&self) -> Outcome<UiEnv> {
        let settings = self.settings();
        let mut env = UiEnv::new(self.run_options(), xdg::state_dir());
        env.dedup_memory = self.globals.memory.unwrap_or_else(usual_memory);
        env.mistakes = settings.notices();
        env.ascii = self.globals.ascii || settings.config.ascii.unwrap_or_else(is_other_than_utf8);
        env.mouse = settings.config.mouse.unwrap_or(true);
        env.title = settings.config.title.unwrap_or(true);
        env.bell = settings.config.bell.unwrap_or(false);
        env.pictures = settings.config.pictures;
        env.keymap = Arc::new(settings.config.keymap);
        let theme = match &self.globals.theme {
            Some(name) => Some(named_theme(name)?),
            None => settings.theme,
        };
        let is_colourless = |theme: &Theme| *theme == Theme::new(ColourMode::None);
        if self.has_no_colour() || theme.as_ref().is_some_and(is_colourless) {
            env.colour = ColourMode::None;
        }
        let variable = |name| std::env::var(name).ok();
        let depth = Depth::detect(true, false, variable("TERM").as_deref(), variable("COLORTERM").as_deref());
        env.theme = theme.map(|theme| Arc::new(theme.for_depth(depth)));
        Ok(env)
    }
}

/// Loads a theme by name; a missing theme, or one with a mistake, is a failure.
fn named_theme(name: &str) -> Outcome<Theme> {
    let refuse = |why: String, hint: Option<String>| {
        let mut failure = Failure::usage("choosing the theme", why).on(Subject::field("--theme"));
        failure.hint = hint;
        failure
    };
    let (theme, mistakes) = config::theme(name, &xdg::config_dir()).map_err(|(why, hint)| refuse(why, hint))?;
    match mistakes.into_iter().next() {
        None => Ok(theme),
        Some((_, m)) => Err(refuse(format!("line {}, column {}: {}", m.at.line, m.at.column, m.message), m.hint)),
    }
}

fn default_threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(MAX_THREADS)
}
