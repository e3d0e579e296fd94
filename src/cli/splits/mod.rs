//! Splits and excludes on the command line: the commands inspect `split.yaml`, or edit it in the same way as the split editor.

mod args;
mod balance;
mod change;
mod check;
mod choose;
mod diff;
mod exclude;
mod menu;
mod show;

pub use args::SplitsArgs;

use super::context::Context;
use super::exit::CommandResult;
use super::paths;
use args::{MoveArgs, SplitsCommand};
use change::PendingChange;
use clap::Subcommand;
use gristmill_core::did_you_mean::nearest;
use gristmill_core::text::hint_for;
use gristmill_core::{Failure, Outcome, ProblemLog, Subject};
use gristmill_data::source::kind::kind_of;
use gristmill_ops::engine::splits::{Edit, SplitEditor};
use gristmill_ops::job::recover::recover_interrupted;
use gristmill_storage::files;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const ACTIVITY: &str = "editing the splits";

/// Runs a command of `splits`.
pub fn run(args: SplitsArgs, context: &Context) -> CommandResult {
    match args.command {
        None => editor(args.path.as_deref().unwrap_or(Path::new(".")), context),
        Some(SplitsCommand::Show { path, shards, excludes }) => show::run(&open(&path)?, shards, excludes, context),
        Some(SplitsCommand::Move(args)) => moved(&args, context),
        Some(SplitsCommand::Exclude(args)) => exclude::exclude(&args, context),
        Some(SplitsCommand::Include { path, items }) => exclude::include(&path, &items, context),
        Some(SplitsCommand::Balance { path, ratios, new }) => balance::run(&path, &ratios, new, context),
        Some(SplitsCommand::Check(args)) => check::run(&args, context),
        Some(SplitsCommand::Diff { path, draft: true, .. }) => diff::of_draft(open(&path)?, context),
        Some(SplitsCommand::Diff { path, file, .. }) => diff::run(&open(&path)?, file.as_deref(), context),
    }
}

/// Opens the split editor, if there is a terminal.
fn editor(path: &Path, context: &Context) -> CommandResult {
    let editor = open(path).map_err(|failure| suggest_command(failure, path))?;
    if !context.may_prompt() {
        let hint =
            "gristmill splits show PATH prints them; `gristmill splits --help` lists the commands that change them";
        return Err(Failure::usage("opening the editor", "this is not a terminal")
            .on(Subject::path(editor.root()))
            .with_hint(hint_for(editor.root(), hint))
            .into());
    }
    if context.prefers_prompts() {
        return menu::run(editor, context);
    }
    super::screen::screen(crate::tui::FirstScreen::Splits(editor.root().to_path_buf()), context)
}

/// For a path that does not exist, adds a hint with the most similar command.
fn suggest_command(failure: Failure, path: &Path) -> Failure {
    let word = path.to_str().filter(|_| !files::exists(path));
    let splits = SplitsCommand::augment_subcommands(clap::Command::new("splits"));
    match word.and_then(|word| nearest(word, splits.get_subcommands().map(clap::Command::get_name))) {
        Some(near) => failure.with_hint(format!("did you mean 'gristmill splits {near}'?")),
        None => failure,
    }
}

/// Opens the splits of a data set. Fails with the reason if the data have no splits.
fn open(path: &Path) -> Outcome<SplitEditor> {
    let path = PathBuf::from(paths::local_or_writable(path)?);
    let kind = kind_of(&path)?;
    let why = match kind.info().why_no_splits {
        Some(why) if !kind.is_raw_web_dataset() => why,
        _ => {
            // Completes an interrupted publication first; its problems are not printed, because `info` and `lint` report them.
            recover_interrupted(&path, &ProblemLog::default())?;
            return SplitEditor::open(&path, None);
        }
    };
    Err(Failure::usage("opening the splits", why)
        .on(Subject::path(&path))
        .with_hint("give the folder of a prepared WebDataset"))
}

/// Runs `splits move`.
fn moved(args: &MoveArgs, context: &Context) -> CommandResult {
    moving(open(&args.path)?, args)?.finish(context)
}

/// Applies the move without writing.
fn moving(editor: SplitEditor, args: &MoveArgs) -> Outcome<PendingChange> {
    let shards = choose::shards(&editor, &args.shards, &args.range, &args.pattern)?;
    let to: Option<Arc<str>> = args.to.as_deref().map(Arc::from);
    let edit = Edit::MoveShards { shards, to: to.clone() };
    let new = to.filter(|to| args.new && !is_split(&editor, to));
    if let Some(to) = args.to.as_deref().filter(|to| !args.new && !is_split(&editor, to)) {
        return Err(no_split(&editor, to));
    }
    let mut change = PendingChange::new(editor);
    match new {
        Some(name) => {
            let title = edit.title();
            change.apply(Edit::Many { title, edits: vec![Edit::AddSplit { name: name.to_string() }, edit] })?;
        }
        None => change.apply(edit)?,
    }
    Ok(change)
}

fn is_split(editor: &SplitEditor, name: &str) -> bool {
    editor.splits().iter().any(|split| *split.name == *name)
}

fn no_split(editor: &SplitEditor, name: &str) -> Failure {
    let names = || editor.splits().iter().map(|split| &*split.name);
    let hint = match nearest(name, names()) {
        Some(near) => format!("did you mean '{near}'? --new adds a split"),
        None => format!("the splits are {}; --new adds one", names().collect::<Vec<_>>().join(", ")),
    };
    Failure::usage(ACTIVITY, "no such split").on(Subject::field(name)).with_hint(hint)
}
