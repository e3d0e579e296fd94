//! Flags that hold for every command.

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
    /// And warnings.
    Warn,
    /// And what was done.
    Info,
    /// And why.
    Debug,
    /// And every step.
    Trace,
}

/// Flags that hold for every command. A switch may be given twice, so that words can be added to a command that is there.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Everywhere")]
pub struct Globals {
    /// Ask nothing; what is missing is an error that names the flag
    #[arg(long, global = true, visible_alias = "non-interactive", overrides_with = "yes")]
    pub yes: bool,
    /// Ask by plain prompts instead of a full screen: no boxes, no spinner
    #[arg(long, global = true, overrides_with = "plain")]
    pub plain: bool,
    /// Print what would be done, write nothing
    #[arg(long, global = true, overrides_with = "dry_run")]
    pub dry_run: bool,
    /// One result object on stdout, progress as JSON lines on stderr
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
    /// Exit 0 when the work was done although there were problems
    #[arg(long, global = true, overrides_with = "problems_ok")]
    pub problems_ok: bool,
    /// Worker threads [default: the CPUs allowed, at most 16]
    #[arg(long, global = true, value_name = "N", visible_alias = "num-workers", value_parser = threads)]
    pub threads: Option<usize>,
    /// Memory that buffers may take together: 256MiB, 1G
    #[arg(long, global = true, value_name = "SIZE", value_parser = gristmill_core::text::parse_size)]
    pub memory: Option<u64>,
    /// Folder for temporary files [default: $TMPDIR, else the cache folder, else /tmp]
    #[arg(long, global = true, value_name = "DIR", value_parser = scratch)]
    pub scratch: Option<PathBuf>,
    /// Throw away what an interrupted run left to resume
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
    /// Colours of the screen: 16-colour, dark, light, high-contrast, or a theme of your own
    #[arg(long, global = true, value_name = "NAME")]
    pub theme: Option<String>,
    /// No box drawing and no other special characters on the screen
    #[arg(long, global = true, overrides_with = "ascii")]
    pub ascii: bool,
    /// Say less: no progress, no summary
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Say more: every note
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub verbose: u8,
    /// Settings of stores.
    #[cfg(feature = "remote")]
    #[command(flatten)]
    pub stores: super::store_flags::StoreFlags,
    /// Print help
    #[arg(short, long, global = true, action = ArgAction::HelpShort, help_heading = "Everywhere")]
    help: Option<bool>,
    /// A drop-in name was used: its model's ways count.
    #[arg(skip)]
    pub drop_in: bool,
    /// Whether a drop-in command has a flag that hides progress.
    #[arg(skip)]
    pub no_progress: bool,
}

impl Globals {
    /// Returns the flags of stores that were given, for printed commands: an address may need them.
    pub fn store_flags(&self) -> String {
        #[cfg(feature = "remote")]
        return self.stores.text();
        #[cfg(not(feature = "remote"))]
        String::new()
    }
}

fn scratch(text: &str) -> Result<PathBuf, String> {
    match is_remote(Path::new(text)) {
        true => Err("a folder of this machine is needed".into()),
        false => Ok(text.into()),
    }
}

fn threads(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(0) => Err("at least 1 is needed".into()),
        Ok(n) if n > 1024 => Err("at most 1024".into()),
        Ok(n) => Ok(n),
        Err(_) => Err("a whole number is needed".into()),
    }
}
