//! The command line: the flags of every command, and one variant per command.

use super::arguments::GivenPlan;
use super::browse::BrowseArgs;
use super::dropin::energon::EnergonArgs;
use super::dropin::nanotron::NanotronArgs;
use super::mix::MixArgs;
use super::modalities::ModalitiesArgs;
use super::nanosets::NanosetsArgs;
use super::splits::SplitsArgs;
use clap::builder::styling::{AnsiColor, Effects, Styles};
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Cyan.on_default().effects(Effects::BOLD))
    .usage(AnsiColor::Cyan.on_default().effects(Effects::BOLD))
    .literal(AnsiColor::Green.on_default())
    .placeholder(AnsiColor::White.on_default().effects(Effects::DIMMED));

const AFTER_HELP: &str = "\
Exit codes:
  0         done; notes are possible
  1         done with problems, or refused because of the data (--problems-ok turns the first into 0)
  2         usage: unknown flag, missing answer, pattern that matches nothing
  3         environment: cannot read, disk full, permission, locked by another process
  130, 143  interrupted; nothing half-written is visible, run again to go on

Without a command the home screen opens: recent data sets, open a folder, jobs.";

/// Turn raw training data into what training frameworks read: WebDatasets, tokens, mixtures, text without repeats.
#[derive(Debug, Parser)]
#[command(name = "gristmill", version, styles = STYLES, after_help = AFTER_HELP, max_term_width = 120)]
#[command(disable_help_subcommand = true, disable_help_flag = true, subcommand_help_heading = "Commands")]
pub struct Cli {
    /// Flags that hold for every command.
    #[command(flatten)]
    pub globals: Globals,
    /// What to do; without one the home screen opens.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Every command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Commands that are defined by a table.
    #[command(flatten)]
    Operation(GivenPlan),
    /// Do what a saved plan says
    Run {
        /// A file written by --save-plan, or .nv-meta/gristmill/plan.yaml
        plan: PathBuf,
        /// Redo everything and replace what is there, whatever the plan says
        #[arg(long)]
        force_overwrite: bool,
    },
    /// Print what prepared data, packed tokens or an index hold
    Info {
        /// Prepared data set, single .tar, folder of described media, .jsonl file, metadataset .yaml, tokens (.pbin, .ds or Forager folder) or raw index (.idx)
        path: PathBuf,
        /// Of a folder of .ds files: count the windows of this many tokens, and one more, that nanotron reads
        #[arg(long, value_name = "N")]
        sequence_length: Option<u64>,
    },
    /// Print how samples, parts, media and texts are spread: the figures of the facts view
    Facts {
        /// Prepared data set, folder of tar shards, folder of described media, or .jsonl file
        path: PathBuf,
    },
    /// Check prepared data, packed tokens or an index against themselves, in seconds
    Lint {
        /// Prepared data set, single .tar, folder of described media, .jsonl file, metadataset .yaml, tokens (.pbin, .ds or Forager folder) or raw index (.idx)
        path: PathBuf,
        /// Check every picture that has media metadata whole
        #[arg(long)]
        decode: bool,
    },
    /// Read everything again and compare: prepared data, packed tokens, indexes
    Verify {
        /// Prepared data set, folder of described media, .jsonl file, metadataset .yaml, tokens (.pbin, .ds or Forager folder), raw index (.idx) or index of dedup
        path: PathBuf,
        /// Of packed tokens: check that every id is one of this tokenizer
        #[arg(long, value_name = "FILE")]
        tokenizer: Option<String>,
        /// Of a raw index: the file that it is of [default: the .jsonl next to it]
        #[arg(long, value_name = "FILE")]
        source: Option<PathBuf>,
    },
    /// Repair what a program is known to have written wrongly; the old file is kept
    Repair {
        /// Packed file (.pbin)
        path: PathBuf,
    },
    /// Look at shards, samples, text and packed tokens; without a full screen, print a few
    Browse(BrowseArgs),
    /// Edit splits and excludes (an editor in a terminal), and look for samples that two splits share
    Splits(SplitsArgs),
    /// Write and check metadatasets (blends and joins of prepared data sets); make the index of a Nanoset mixture
    Mix(MixArgs),
    /// Merge, shuffle, cut, filter files of Modalities; `data` has the names of the `modalities` program
    Modalities(ModalitiesArgs),
    /// Merge the .ds files of a folder, or shuffle windows of them
    Nanosets(NanosetsArgs),
    /// Write a small data set to try everything on, and prepare it
    Demo {
        /// Where to [default: ./gristmill-demo]
        dir: Option<PathBuf>,
    },
    /// List running and interrupted jobs
    Jobs {
        /// Data sets to inspect, in addition to recent ones
        paths: Vec<PathBuf>,
    },
    /// Print which key does what
    Keys,
    /// Check terminal, disk space and limits, and the state of a data set
    Doctor {
        /// A data set to inspect too
        path: Option<PathBuf>,
    },
    /// Print versions and terminal capabilities for a bug report; no data
    BugReport,
    /// Print a completion script for a shell
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page of the program or of one command
    Man {
        /// Command, with the names of its subcommands (splits move)
        command: Vec<String>,
    },
    /// Print the help of the program or of one command
    Help {
        /// Command, with the names of its subcommands (splits move)
        command: Vec<String>,
    },
    /// The arguments of the `energon` program, for scripts that exist
    Energon(EnergonArgs),
    /// The arguments of nanotron's tools, for scripts that exist
    Nanotron(NanotronArgs),
}

impl Command {
    /// Whether it follows a plan, which `--save-plan` writes.
    pub fn has_plan(&self) -> bool {
        match self {
            Self::Run { .. } | Self::Operation(_) | Self::Nanosets(_) | Self::Nanotron(_) | Self::Demo { .. } => true,
            Self::Mix(args) => args.name() != "mix check",
            Self::Modalities(args) => args.has_plan(),
            Self::Energon(args) => matches!(args.name(), "energon prepare" | "energon prepare-media"),
            Self::Info { .. } | Self::Lint { .. } | Self::Verify { .. } | Self::Repair { .. } | Self::Browse(_) => {
                false
            }
            Self::Facts { .. }
            | Self::Splits(_)
            | Self::Jobs { .. }
            | Self::Keys
            | Self::Doctor { .. }
            | Self::BugReport => false,
            Self::Completions { .. } | Self::Man { .. } | Self::Help { .. } => false,
        }
    }

    /// Returns the typed name, for the result object.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Run { .. } => "run",
            Self::Info { .. } => "info",
            Self::Facts { .. } => "facts",
            Self::Lint { .. } => "lint",
            Self::Verify { .. } => "verify",
            Self::Repair { .. } => "repair",
            Self::Browse(_) => "browse",
            Self::Splits(args) => args.name(),
            Self::Mix(args) => args.name(),
            Self::Modalities(args) => args.name(),
            Self::Nanosets(args) => args.command.plan().name(),
            Self::Operation(given) => given.name(),
            Self::Demo { .. } => "demo",
            Self::Jobs { .. } => "jobs",
            Self::Keys => "keys",
            Self::Doctor { .. } => "doctor",
            Self::BugReport => "bug-report",
            Self::Completions { .. } => "completions",
            Self::Man { .. } => "man",
            Self::Help { .. } => "help",
            Self::Energon(args) => args.name(),
            Self::Nanotron(args) => args.name(),
        }
    }
}

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
    #[arg(long, global = true, value_name = "SIZE", value_parser = super::paths::size)]
    pub memory: Option<u64>,
    /// Folder for temporary files [default: $TMPDIR, else the cache folder, else /tmp]
    #[arg(long, global = true, value_name = "DIR")]
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
    /// Print help
    #[arg(short, long, global = true, action = ArgAction::HelpShort)]
    help: Option<bool>,
    /// A drop-in name was used: its model's ways count.
    #[arg(skip)]
    pub drop_in: bool,
    /// Whether a drop-in command has a flag that hides progress.
    #[arg(skip)]
    pub no_progress: bool,
}

fn threads(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(0) => Err("at least 1 is needed".into()),
        Ok(n) if n > 1024 => Err("at most 1024".into()),
        Ok(n) => Ok(n),
        Err(_) => Err("a whole number is needed".into()),
    }
}
