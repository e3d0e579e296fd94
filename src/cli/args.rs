//! The command-line arguments: the global flags, and one variant per command with its flags.

use super::arguments::GivenPlan;
use super::browse::BrowseArgs;
use super::doctor::StoreArgs;
use super::dropin::energon::EnergonArgs;
use super::dropin::nanotron::NanotronArgs;
use super::dropin::FrameworkCommand;
use super::globals::Globals;
use super::mix::{MixArgs, MixCommand};
use super::mount::{GuardArgs, MountArgs};
use super::splits::SplitsArgs;
use clap::builder::styling::{AnsiColor, Effects, Styles};
use clap::{Parser, Subcommand};
use std::path::{Path, PathBuf};

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
  129, 130, 131, 143  interrupted; no partially written file is visible, run again to resume

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
    /// Run a saved plan
    Run {
        /// A file written by --save-plan, or .nv-meta/gristmill/plan.yaml
        plan: PathBuf,
        /// Redo everything and replace existing output, regardless of the plan
        #[arg(long)]
        force_overwrite: bool,
    },
    /// Print a summary of prepared data, packed tokens or an index
    Info {
        /// Prepared data set, single .tar, folder of described media, .jsonl file, Parquet, Arrow, CSV or TSV (a file or a folder), metadataset .yaml, tokens (.pbin, a pair of Megatron, or a folder of .ds, Forager, MDS or OLMo) or raw index (.idx), or hf://datasets/OWNER/NAME
        path: PathBuf,
        /// Of a folder of .ds files: count the windows of this many tokens, and one more, that nanotron reads
        #[arg(long, value_name = "N")]
        sequence_length: Option<u64>,
    },
    /// Print the distributions of samples, parts, media and texts, as in the facts view
    Facts {
        /// Prepared data set, folder of tar shards, folder of described media, .jsonl file, or Parquet, Arrow, CSV or TSV (a file or a folder), or hf://datasets/OWNER/NAME
        path: PathBuf,
    },
    /// Check prepared data, packed tokens or an index for consistency, in seconds
    Lint {
        /// Prepared data set, single .tar, folder of described media, .jsonl file, Parquet, Arrow, CSV or TSV (a file or a folder), metadataset .yaml, tokens (.pbin, a pair of Megatron, or a folder of .ds, Forager, MDS or OLMo) or raw index (.idx), or hf://datasets/OWNER/NAME
        path: PathBuf,
        /// Decode every picture that has media metadata
        #[arg(long)]
        decode: bool,
    },
    /// Read everything again and compare: prepared data, packed tokens, indexes
    Verify {
        /// Prepared data set, folder of described media, .jsonl file, Parquet, Arrow, CSV or TSV (a file or a folder), metadataset .yaml, tokens (.pbin, a pair of Megatron, or a folder of .ds, Forager, MDS or OLMo), raw index (.idx) or index of dedup, or hf://datasets/OWNER/NAME
        path: PathBuf,
        /// Of packed tokens: check that every id is one of this tokenizer
        #[arg(long, value_name = "FILE")]
        tokenizer: Option<String>,
        /// Of a raw index: the file that it is of [default: the .jsonl next to it]
        #[arg(long, value_name = "FILE")]
        source: Option<PathBuf>,
    },
    /// Repair files that another program is known to write wrongly; keep a backup
    Repair {
        /// Packed file (.pbin), or a pair of Megatron
        path: PathBuf,
    },
    /// Browse shards, samples, text and packed tokens; without a full screen, print a few
    Browse(BrowseArgs),
    /// Show a data set as folders and files, read-only
    Mount(MountArgs),
    /// Unmount what a killed `mount` leaves
    #[command(hide = true)]
    MountGuard(GuardArgs),
    /// Edit splits and excludes (an editor in a terminal), and look for samples that two splits share
    Splits(SplitsArgs),
    /// Write and check metadatasets (blends and joins of prepared data sets); make the index of a Nanoset mixture
    Mix(MixArgs),
    /// Commands that are named after a framework.
    #[command(flatten)]
    Framework(FrameworkCommand),
    /// Write a small example data set and prepare it
    Demo {
        /// Folder of the demo [default: ./gristmill-demo]
        dir: Option<PathBuf>,
    },
    /// List running and interrupted jobs, and mounts
    Jobs {
        /// Data sets to inspect, in addition to recent ones
        paths: Vec<PathBuf>,
    },
    /// Print the key bindings
    Keys,
    /// Check terminal, disk space and limits, and the state of a data set; or the access to a store
    Doctor {
        /// Data set to inspect, or address of a store to test, such as s3://BUCKET/KEY
        path: Option<PathBuf>,
        /// Flags that concern stores.
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Print versions and terminal capabilities for a bug report; no data
    BugReport,
    /// Print a completion script for a shell
    Completions {
        /// Shell
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
    /// Drop-in commands with the arguments of the `energon` program, for existing scripts
    Energon(EnergonArgs),
    /// Drop-in commands with the arguments of nanotron's tools, for existing scripts
    Nanotron(NanotronArgs),
}

impl Command {
    /// Whether the command has a plan, which `--save-plan` writes.
    pub fn has_plan(&self) -> bool {
        match self {
            Self::Run { .. } | Self::Operation(_) | Self::Nanotron(_) | Self::Demo { .. } => true,
            Self::Mix(args) => matches!(args.command, MixCommand::Operation(_)),
            Self::Framework(command) => command.has_plan(),
            Self::Energon(args) => args.has_plan(),
            _ => false,
        }
    }

    /// Returns the path of the data set if the command only reads it; `None` for other commands.
    pub fn data_path(&self) -> Option<&Path> {
        match self {
            Self::Info { path, .. } | Self::Facts { path } | Self::Lint { path, .. } | Self::Verify { path, .. } => {
                Some(path)
            }
            Self::Browse(args) => Some(&args.path),
            // Requests to a store start threads, and a process with threads cannot enter a namespace.
            Self::Mount(args) if !args.shell => Some(&args.path),
            _ => None,
        }
    }
}
