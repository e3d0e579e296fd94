//! `gristmill nanotron preprocess_data …`: the arguments of nanotron's `tools/preprocess_data.py` (docs/formats/nanosets.md §9).

use super::super::context::Context;
use super::super::exit::{CommandResult, CommandSuccess, Status};
use super::super::{operation, paths};
use clap::{Args, Subcommand};
use gristmill_core::pack::{NameProfile, NanosetsTarget, SpecialToken, TaskShare, TextField};
use gristmill_core::{utc, Failure, Outcome, PackPlan, ProblemKind, Subject};
use gristmill_ops::operations::{erase, Pack};
use gristmill_storage::address_secrets::refuse_secrets;
use gristmill_storage::files;
use gristmill_storage::remote::{is_hub_url, RepositoryUrl};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Which of the other program's tools.
#[derive(Args, Debug)]
#[command(arg_required_else_help = true)]
pub struct NanotronArgs {
    #[command(subcommand)]
    command: NanotronCommand,
}

#[derive(Debug, Subcommand)]
enum NanotronCommand {
    /// Turn text into a folder of tokens
    #[command(name = "preprocess_data", alias = "preprocess-data", infer_long_args = true)]
    PreprocessData(PreprocessArgs),
}

/// The flags of `preprocess_data.py`; each given twice counts the last time, as there.
#[derive(Args, Debug)]
#[command(args_override_self = true)]
struct PreprocessArgs {
    /// tokenizer.json, or a name in the local hub cache
    #[arg(long, value_name = "NAME")]
    tokenizer_name_or_path: String,
    /// Token that ends each document [default: none]
    #[arg(long, value_name = "TEXT")]
    eos_token: Option<String>,
    /// Folder for the tokens
    #[arg(long, value_name = "DIR")]
    output_folder: PathBuf,
    /// Folder for executor.json, logs/, stats/ and completions/ [default: a new one under logs/]
    #[arg(long, value_name = "DIR")]
    logging_dir: Option<PathBuf>,
    /// Tasks that the files or rows are dealt to
    #[arg(long, value_name = "N", default_value_t = 8)]
    n_tasks: u32,
    #[command(subcommand)]
    source: Source,
}

/// Where the documents come from.
#[derive(Debug, Subcommand)]
enum Source {
    /// JSONL files
    #[command(infer_long_args = true)]
    Jsonl(JsonlArgs),
    /// A data set: a folder of Parquet, JSONL, CSV, text and other files, or what save_to_disk wrote
    #[command(infer_long_args = true)]
    Hf(DatasetArgs),
}

/// The flags after `jsonl`.
#[derive(Args, Debug)]
#[command(args_override_self = true)]
struct JsonlArgs {
    /// File, or folder of files
    #[arg(long, value_name = "PATH")]
    dataset: PathBuf,
    /// Key of the text
    #[arg(long, value_name = "KEY", default_value = "text")]
    column: String,
    /// Only files whose relative path fits
    #[arg(long, value_name = "GLOB")]
    glob_pattern: Option<String>,
}

/// The flags after `hf`.
#[derive(Args, Debug)]
#[command(args_override_self = true)]
struct DatasetArgs {
    /// Folder, or a file
    #[arg(long, value_name = "PATH")]
    dataset: PathBuf,
    /// Column of the text
    #[arg(long, value_name = "NAME", default_value = "text")]
    column: String,
    /// Split whose rows are dealt to the tasks, or parts of splits, as in train[:10%]+test
    #[arg(long, value_name = "NAME", default_value = "train")]
    split: String,
    /// Subset, if not the default one
    #[arg(long, value_name = "NAME")]
    subset: Option<String>,
}

/// Runs the tool.
pub fn run(args: NanotronArgs, context: &Context) -> CommandResult {
    let NanotronCommand::PreprocessData(args) = args.command;
    let plan = plan(&args, context.globals.compat, SystemTime::now())?;
    let mut done = operation::execute(&*erase::<Pack>(plan), context)?;
    ignore_findings(&mut done);
    Ok(done)
}

/// Whether the tool skips the finding and succeeds: lines without text, and files that differ in kind from most files of a split.
fn is_skipped(kind: ProblemKind) -> bool {
    use ProblemKind as K;
    matches!(
        kind,
        K::FileLeftOut | K::BlankLine | K::BadJson | K::OddJson | K::NoText | K::StoredTruncation | K::StoredPadding
    )
}

/// Sets the status to `Ok` if all findings are lines that the tool skips with a warning.
fn ignore_findings(done: &mut CommandSuccess) {
    if done.status == Status::Problems && done.kinds.iter().all(|kind| is_skipped(*kind)) {
        done.status = Status::Ok;
    }
}

/// Returns the address of a data set in the hub if `dataset` is the name of one; `None` for an existing path.
fn address(dataset: &Path) -> Outcome<Option<String>> {
    let name = dataset.to_string_lossy();
    if is_hub_url(&name) {
        refuse_secrets(&name)?;
        return RepositoryUrl::parse(&name).map(|_| Some(name.into_owned()));
    }
    if files::exists(dataset) {
        return Ok(None);
    }
    let address = format!("hf://datasets/{name}");
    match RepositoryUrl::parse(&address) {
        Ok(url) if name.contains('/') && url.path.is_empty() => Ok(Some(address)),
        _ => Err(Failure::usage("preprocess_data", "there is no such folder or file")
            .on(Subject::path(dataset))
            .with_hint("name a folder, a file, or a data set of the hub: OWNER/NAME")),
    }
}

fn plan(args: &PreprocessArgs, compat: bool, now: SystemTime) -> Outcome<PackPlan> {
    let output = paths::local_or_writable(&args.output_folder)?;
    let mut plan = PackPlan::new(Vec::new(), args.tokenizer_name_or_path.clone(), output);
    let mut hub_address = None;
    let (dataset, column, deal) = match &args.source {
        Source::Jsonl(source) => {
            plan.glob.clone_from(&source.glob_pattern);
            (&source.dataset, &source.column, TaskShare::Files)
        }
        Source::Hf(source) => {
            hub_address = address(&source.dataset)?;
            plan.split = Some(source.split.clone());
            plan.subset.clone_from(&source.subset);
            (&source.dataset, &source.column, TaskShare::Blocks)
        }
    };
    plan.inputs = vec![hub_address.map_or_else(|| paths::local_or_readable(dataset), Ok)?];
    plan.text = TextField::Key(column.clone());
    plan.end = args.eos_token.clone().map(SpecialToken::Text);
    // The tool overwrites existing files without asking.
    plan.overwrite = true;
    plan.compat = compat;
    let logs = match &args.logging_dir {
        Some(folder) => paths::local_or_writable(folder)?,
        None => log_folder(now),
    };
    plan.nanosets = Some(NanosetsTarget {
        tasks: Some(args.n_tasks),
        names: NameProfile::Classic,
        deal,
        logging_dir: Some(logs),
        ..NanosetsTarget::default()
    });
    Ok(plan)
}

/// Returns the name for a new log folder: `logs/2024-02-29_12-34-56_abcde`.
fn log_folder(now: SystemTime) -> String {
    let stamp = utc::log_stamp(now);
    let noise = now.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.subsec_nanos());
    let mut seed = u64::from(noise) ^ u64::from(std::process::id()) << 32;
    loop {
        let mut letters = String::new();
        for _ in 0..5 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            letters.push(char::from(b'a' + ((seed >> 33) % 26) as u8));
        }
        let folder = format!("logs/{stamp}_{letters}");
        if !files::exists(&folder) {
            return folder;
        }
    }
}
