//! Global flags, which every command accepts.

use clap::{ArgAction, Args, ValueEnum};
use gristmill_storage::location::is_remote;
use std::path::{Path, PathBuf};

/// When to use colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On terminals, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// How much goes to the log file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogLevel {
    /// Only failures.
    Error,
    /// Failures and warnings.
    Warn,
    /// Also the steps of a run.
    Info,
    /// Also the reasons for them.
    Debug,
    /// Also every single operation.
    Trace,
}

/// Flags that every command accepts. A switch may be given twice, so that flags can be appended to an existing command.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Everywhere")]
pub struct Globals {
    /// Do not ask questions; a missing answer is an error that names its flag
    #[arg(long, global = true, visible_alias = "non-interactive", overrides_with = "yes")]
    pub yes: bool,
    /// Ask by plain prompts instead of a full screen: no boxes, no spinner
    #[arg(long, global = true, overrides_with = "plain")]
    pub plain: bool,
    /// Print what would be done, write nothing
    #[arg(long, global = true, overrides_with = "dry_run")]
    pub dry_run: bool,
    /// Print one result object on stdout, and progress as JSON lines on stderr
    #[arg(long, global = true, overrides_with = "json")]
    pub json: bool,
    /// Write the plan to FILE, for `gristmill run`
    #[arg(long, global = true, value_name = "FILE")]
    pub save_plan: Option<PathBuf>,
    /// Reproduce the reference program's bytes even where they lose data
    #[arg(long, global = true, overrides_with = "compat")]
    pub compat: bool,
    /// Stop at the first problem
    #[arg(long, global = true, overrides_with = "strict")]
    pub strict: bool,
    /// Exit with 0 if the work was done with problems; leave out damaged tables and row groups, found by decoding tables before the run
    #[arg(long, global = true, overrides_with = "problems_ok")]
    pub problems_ok: bool,
    /// Worker threads [default: the CPUs allowed, at most 16]
    #[arg(long, global = true, value_name = "N", visible_alias = "num-workers", value_parser = threads)]
    pub threads: Option<usize>,
    /// Memory limit for all buffers, such as 256MiB or 1G
    #[arg(long, global = true, value_name = "SIZE", value_parser = gristmill_core::text::parse_size)]
    pub memory: Option<u64>,
    /// Folder for temporary files [default: $TMPDIR, else the cache folder, else /tmp]
    #[arg(long, global = true, value_name = "DIR", value_parser = scratch)]
    pub scratch: Option<PathBuf>,
    /// Discard the work of an interrupted run
    #[arg(long, global = true, overrides_with = "restart")]
    pub restart: bool,
    /// Remove the lock of another process first
    #[arg(long, global = true, overrides_with = "break_lock")]
    pub break_lock: bool,
    /// Write a log file of this detail into the state folder
    #[arg(long, global = true, value_name = "LEVEL")]
    pub log_level: Option<LogLevel>,
    /// When to use colour
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", hide_default_value = true)]
    pub color: Color,
    /// Theme of the screens: 16-colour, dark, light, high-contrast, no-colour, or the name or path of a file
    #[arg(long, global = true, value_name = "NAME")]
    pub theme: Option<String>,
    /// Draw screens with ASCII characters only
    #[arg(long, global = true, overrides_with = "ascii")]
    pub ascii: bool,
    /// Print no progress and no summary
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Print every note
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub verbose: u8,
    /// Settings of stores.
    #[cfg(feature = "remote")]
    #[command(flatten)]
    pub stores: super::store_flags::StoreFlags,
    /// Print help
    #[arg(short, long, global = true, action = ArgAction::HelpShort, help_heading = "Everywhere")]
    help: Option<bool>,
    /// Whether a drop-in command is used, which behaves as its reference program.
    #[arg(skip)]
    pub drop_in: bool,
    /// Whether a drop-in command has a flag that hides progress.
    #[arg(skip)]
    pub no_progress: bool,
}

impl Globals {
    /// Returns the given flags for stores, for printed commands: their addresses may need these flags.
    pub fn store_flags(&self) -> String {
        #[cfg(feature = "remote")]
        return self.stores.text();
        #[cfg(not(feature = "remote"))]
        String::new()
    }
}

fn scratch(text: &str) -> Result<PathBuf, String> {
    match is_remote(Path::new(text)) {
        true => Err("expected a local folder".into()),
        false => Ok(text.into()),
    }
}

fn threads(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(0) => Err("expected a number of 1 or more".into()),
        Ok(n) if n > 1024 => Err("at most 1024".into()),
        Ok(n) => Ok(n),
        Err(_) => Err("expected a whole number".into()),
    }
}
