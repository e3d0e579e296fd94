//! What every command is given: the flags that hold everywhere, the printer, and the stop request.

use super::args::{Color, Globals};
use super::printer::Printer;
use super::signals::Signals;
use crate::model::RunOptions;
use std::io::IsTerminal;

/// Threads that are used when nobody says otherwise, at most.
const MOST_THREADS: usize = 16;

/// What every command is given.
pub struct Context {
    /// Flags that hold everywhere.
    pub globals: Globals,
    /// The only way to stdout and stderr.
    pub printer: Printer,
    /// Stop requests by signal; listens only once a command asks for it.
    pub signals: Signals,
}

impl Context {
    /// A context; starts nothing.
    pub fn new(globals: Globals, printer: Printer) -> Self {
        Self { globals, printer, signals: Signals::default() }
    }

    /// How to run, from the flags. Threads default to the CPUs that affinity and cgroup allow, at most 16.
    pub fn run_options(&self) -> RunOptions {
        let g = &self.globals;
        let defaults = RunOptions::default();
        RunOptions {
            threads: g.threads.unwrap_or_else(default_threads),
            scratch: g.scratch.clone(),
            memory_bytes: g.memory.unwrap_or(defaults.memory_bytes),
            strict: g.strict,
            restart: g.restart,
            break_lock: g.break_lock,
        }
    }

    /// Whether questions may be asked: a terminal on both sides, no `--yes`, no `--json`.
    pub fn may_ask(&self) -> bool {
        !self.globals.yes && !self.globals.json && std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
    }

    /// Whether questions are asked by plain prompts: asked for, or the terminal cannot do more.
    pub fn prefers_prompts(&self) -> bool {
        self.globals.plain
            || self.globals.drop_in
            || !std::io::stdout().is_terminal()
            || std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb")
    }
}

impl Context {
    /// Whether nothing may be coloured: `--color never`, `NO_COLOR`, or a terminal that cannot.
    pub fn has_no_colour(&self) -> bool {
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        match self.globals.color {
            Color::Always => false,
            Color::Never => true,
            Color::Auto => set("NO_COLOR") || std::env::var_os("TERM").is_some_and(|term| term == "dumb"),
        }
    }
}

fn default_threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(MOST_THREADS)
}
