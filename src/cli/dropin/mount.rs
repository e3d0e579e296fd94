//! `gristmill energon mount`: the layouts and messages of the `energon` program.

use super::super::context::Context;
use super::super::exit::CommandResult;
use super::super::mount::{self, LayoutArg, MountArgs, MountCaller};
use super::super::paths;
use clap::Args;
use gristmill_core::text::shell_quote;
use gristmill_core::{Failure, Subject};
use gristmill_data::formats::energon::layout::is_prepared;
use gristmill_data::source::kind::kind_of;
use std::path::{Path, PathBuf};

/// The flags of `energon mount`.
#[derive(Args, Debug)]
#[command(args_override_self = true)]
pub struct EnergonMountArgs {
    /// Prepared data set
    path: PathBuf,
    /// Folder to mount it at; made with its parents
    mountpoint: PathBuf,
    /// Return once it is mounted
    #[arg(short, long)]
    detach: bool,
    /// A folder for each sample
    #[arg(short, long)]
    sample_folders: bool,
    /// Accepted: data sets of every generation are read
    #[arg(short = 'w', long)]
    allow_slow: bool,
}

/// Mounts a data set as `energon` does. Data that `energon` refuses are refused, with a hint about the command that mounts them.
pub fn run(args: EnergonMountArgs, context: &Context) -> CommandResult {
    let path = paths::local_or_readable(&args.path)?;
    let refused = |why: String| Failure::data("mounting", why).on(Subject::path(&args.path));
    let kind = kind_of(Path::new(&path)).map_err(|failure| refused(failure.why))?;
    if !kind.is_web_dataset() || !is_prepared(Path::new(&path)) {
        let quoted = |path: &Path| shell_quote(&path.to_string_lossy());
        let command = format!("gristmill mount {} {}", quoted(&args.path), quoted(&args.mountpoint));
        let why = match kind.is_web_dataset() {
            true => "it is not prepared; this command mounts prepared data sets only".to_owned(),
            false => format!("this command mounts prepared data sets only, and its kind is '{}'", kind.title()),
        };
        return Err(refused(why).with_hint(format!("{command} mounts more kinds of data")).into());
    }
    let layout = if args.sample_folders { LayoutArg::Folders } else { LayoutArg::Flat };
    let own = MountArgs {
        path: args.path,
        dir: args.mountpoint,
        layout,
        split: None,
        decode: false,
        tokenizer: None,
        detach: args.detach,
        allow_other: false,
        nonempty: true,
        shell: false,
        command: Vec::new(),
    };
    mount::serve(&own, MountCaller::DropIn, context)
}
