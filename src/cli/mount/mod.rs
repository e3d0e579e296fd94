//! `mount`: mounts a data set as folders and files.
//!
//! The command serves the mount until it is unmounted; with `--detach` it starts itself again in the background. A hidden command runs in
//! the process that unmounts if the server is killed.

#[cfg(all(feature = "mount", target_os = "linux"))]
mod detach;
#[cfg(all(feature = "mount", target_os = "linux"))]
mod point;
#[cfg(all(feature = "mount", target_os = "linux"))]
mod serve;
#[cfg(all(feature = "mount", target_os = "linux"))]
mod shell;

#[cfg(all(feature = "mount", target_os = "linux"))]
pub use serve::{guard, serve};

use super::context::Context;
use super::exit::CommandResult;
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

/// What `mount` takes.
#[derive(Args, Clone, Debug)]
pub struct MountArgs {
    /// Prepared data set, folder of tar shards, one .tar, .jsonl file, Parquet, Arrow, CSV or TSV (a file or a folder), packed tokens, or folder of media
    pub path: PathBuf,
    /// Where to: an empty folder, or one that is made and removed at the end
    pub dir: PathBuf,
    /// How samples are arranged
    #[arg(long, value_enum, value_name = "LAYOUT", default_value = "tree")]
    pub layout: LayoutArg,
    /// Show only the samples of this split that are not excluded
    #[arg(long, value_name = "NAME")]
    pub split: Option<String>,
    /// Of packed tokens: show the text of each document as N.txt, too
    #[arg(long)]
    pub decode: bool,
    /// With --decode: the tokenizer, in place of the one that the metadata of the tokens name
    #[arg(long, requires = "decode", value_name = "FILE")]
    pub tokenizer: Option<String>,
    /// Return once it is mounted; `umount DIR` ends it
    #[arg(short, long, conflicts_with = "shell")]
    pub detach: bool,
    /// Let other users see it
    #[arg(long)]
    pub allow_other: bool,
    /// Mount over a folder that holds something
    #[arg(long)]
    pub nonempty: bool,
    /// Mount without rights, for one shell or COMMAND only
    #[arg(long)]
    pub shell: bool,
    /// With --shell: what to run
    #[arg(last = true, requires = "shell", value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// A layout, as typed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LayoutArg {
    /// Entries under their own names; slashes in keys are folders, lines and documents are in folders of 10,000
    #[default]
    Tree,
    /// One folder of KEY.PART
    Flat,
    /// A folder for each sample
    Folders,
    /// The tree, and shards, splits and excluded samples next to it
    All,
}

/// What the hidden command that watches over a mount takes.
#[derive(Args, Clone, Debug)]
pub struct GuardArgs {
    /// Where it is mounted
    pub at: PathBuf,
    /// Folders that were made for it, the inner ones first
    pub made: Vec<PathBuf>,
}

/// The command that mounts, which affects the mount point and signals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MountCaller {
    /// The command of this program.
    #[default]
    Own,
    /// The drop-in command: parents of the mount point are created, and ending by a signal is a success.
    DropIn,
}

/// Mounts a data set.
pub fn run(args: &MountArgs, context: &Context) -> CommandResult {
    serve(args, MountCaller::Own, context)
}

#[cfg(not(all(feature = "mount", target_os = "linux")))]
mod unsupported {
    use super::{CommandResult, Context, GuardArgs, MountArgs, MountCaller};
    use gristmill_core::{Failure, Subject};

    /// Returns the failure that mounts are not supported, with the reason.
    pub fn serve(args: &MountArgs, _: MountCaller, _: &Context) -> CommandResult {
        let why = match cfg!(target_os = "linux") {
            true => "this build is without the feature 'mount'",
            false => "mounts are supported on Linux only",
        };
        Err(Failure::environment("mounting", why).on(Subject::path(&args.path)).into())
    }

    /// Does nothing, because there are no mounts.
    pub fn guard(_: &GuardArgs) -> CommandResult {
        super::super::success_without_fields()
    }
}

#[cfg(not(all(feature = "mount", target_os = "linux")))]
pub use unsupported::{guard, serve};
