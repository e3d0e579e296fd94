//! `gristmill modalities data …`: the arguments of the `modalities data` program (docs/formats/modalities.md §2, §4, §5).

mod rewrite;

use super::super::context::Context;
use super::super::exit::{CommandResult, CommandSuccess, Status};
use super::super::globals::Globals;
use super::super::{operation, paths};
use clap::{Args, Subcommand, ValueEnum};
use gristmill_core::text::shell_quote;
use gristmill_core::{ExitClass, Failure, Outcome, ProblemKind, Subject};
use gristmill_ops::operations::{erase, Index, IndexFormat, IndexPlan, Pack, Plan as _};
use gristmill_ops::tokens::formats::modalities::engine::chunk::{files_of_list, Chunk};
use gristmill_ops::tokens::formats::modalities::engine::config::{self, configured_threads};
use gristmill_ops::tokens::formats::modalities::job::ExistingFile;
use gristmill_ops::tokens::formats::modalities::job::{ExistingOutput, Rewrite, RewritePlan};
use gristmill_ops::tokens::formats::modalities::operations::{InstructionPlan, ModalitiesInstruction};
use gristmill_pycompat::random::Seed;
use gristmill_storage::files;
use serde_json::{json, Map, Value};
use std::path::{Path, PathBuf};

/// Permission bits of created parent folders.
const FOLDER_MODE: u32 = 0o755;

/// Which of the other program's commands.
#[derive(Args, Clone, Debug)]
#[command(args_override_self = true)]
pub struct DataArgs {
    #[command(subcommand)]
    command: DataCommand,
}

#[derive(Clone, Debug, Subcommand)]
#[command(rename_all = "snake_case")]
enum DataCommand {
    /// Note where each line of a .jsonl file begins
    CreateRawIndex(IndexArgs),
    /// Turn text into tokens, as a configuration says
    PackEncodedData(PackArgs),
    /// Put packed files one after the other into one
    MergePackedData(MergeArgs),
    /// Put the documents of a packed file into a random order
    ShuffleTokenizedData(ShuffleTokenizedArgs),
    /// Put the lines of a .jsonl file into a random order
    ShuffleJsonlData(ShuffleJsonlArgs),
    /// Take one part of each packed file and shuffle all parts together
    CreateShuffledDatasetChunk(ChunkArgs),
    /// Take one part of each .jsonl file and shuffle all parts together
    CreateShuffledJsonlChunk(ChunkArgs),
    /// Put conversations through a chat template, deal them to train, val and test, and pack each
    PrepareInstructionTuningData(InstructionArgs),
}

impl From<OverwritePolicy> for ExistingFile {
    fn from(policy: OverwritePolicy) -> Self {
        match policy {
            OverwritePolicy::Error => Self::Error,
            OverwritePolicy::Skip => Self::Skip,
            OverwritePolicy::Override => Self::Override,
        }
    }
}

/// What happens to an output that is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OverwritePolicy {
    /// It stays, and the run fails
    #[default]
    Error,
    /// It stays, and nothing is done
    Skip,
    /// It is replaced
    Override,
}

#[derive(Args, Clone, Copy, Debug)]
struct PolicyArg {
    /// What happens to a file that is there
    #[arg(
        long = "file_existence_policy",
        alias = "file-existence-policy",
        value_name = "POLICY",
        default_value = "error"
    )]
    policy: OverwritePolicy,
}

#[derive(Args, Clone, Debug)]
#[command(args_override_self = true)]
struct IndexArgs {
    /// Text, one JSON value a line
    source: PathBuf,
    /// File to write [default: next to the text, its last suffix replaced by .idx]
    #[arg(long = "index_path", value_name = "FILE")]
    index: Option<PathBuf>,
    #[command(flatten)]
    existing: PolicyArg,
}

#[derive(Args, Clone, Debug)]
#[command(args_override_self = true)]
struct PackArgs {
    /// Configuration (.yaml)
    config: PathBuf,
    #[command(flatten)]
    existing: PolicyArg,
}

#[derive(Args, Clone, Debug)]
#[command(args_override_self = true)]
struct InstructionArgs {
    /// Configuration (.yaml)
    #[arg(long = "config_file_path", value_name = "FILE")]
    config: PathBuf,
}

#[derive(Args, Clone, Debug)]
struct MergeArgs {
    /// Packed files or folders, and last the file to write
    #[arg(required = true, num_args = 2.., value_names = ["SOURCE", "TARGET"])]
    paths: Vec<PathBuf>,
}

#[derive(Args, Clone, Debug)]
#[command(args_override_self = true, rename_all = "snake_case")]
struct ShuffleTokenizedArgs {
    #[command(flatten)]
    files: InOutArgs,
    /// Accepted; changes nothing
    #[arg(long, value_name = "N", default_value_t = 100)]
    batch_size: u64,
}

#[derive(Args, Clone, Debug)]
#[command(args_override_self = true)]
struct ShuffleJsonlArgs {
    #[command(flatten)]
    files: InOutArgs,
}

#[derive(Args, Clone, Debug)]
struct InOutArgs {
    /// File to shuffle
    #[arg(long = "input_data_path", value_name = "FILE")]
    input: PathBuf,
    /// File to write
    #[arg(long = "output_data_path", value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    existing: PolicyArg,
    /// Seed [default: another one each time]
    #[arg(long, value_name = "N", value_parser = seed_of, allow_hyphen_values = true)]
    seed: Option<Seed>,
}

#[derive(Args, Clone, Debug)]
#[command(args_override_self = true)]
struct ChunkArgs {
    /// Text with one relative path a line; the suffix of each is replaced
    #[arg(long = "input_file_list_path", value_name = "FILE")]
    list: PathBuf,
    /// Folder that the paths are relative to
    #[arg(long = "input_data_root_path", value_name = "DIR")]
    root: PathBuf,
    /// File to write
    #[arg(long = "output_chunk_file_path", value_name = "FILE")]
    output: PathBuf,
    /// Which chunk, counted from 0
    #[arg(long = "chunk_id", value_name = "I")]
    id: u64,
    /// How many chunks there are
    #[arg(long = "num_chunks", value_name = "N")]
    of: u64,
    #[command(flatten)]
    existing: PolicyArg,
    /// One seed for all chunks [default: another one each time]
    #[arg(long = "global_seed", value_name = "N", value_parser = gristmill_pycompat::random::digits, allow_hyphen_values = true)]
    seed: Option<String>,
}

impl DataArgs {
    /// Whether the command has a plan, which `--save-plan` writes.
    pub fn has_plan(&self) -> bool {
        use DataCommand as C;
        matches!(self.command, C::CreateRawIndex(_) | C::PackEncodedData(_) | C::PrepareInstructionTuningData(_))
    }
}

/// Runs a command of `modalities data`.
pub fn run(args: DataArgs, context: &Context) -> CommandResult {
    match args.command {
        DataCommand::CreateRawIndex(args) => create_index(args, context),
        DataCommand::PackEncodedData(args) => pack_by(&args, context),
        DataCommand::PrepareInstructionTuningData(args) => {
            let (config, compat) = (paths::local_or_readable(&args.config)?.into(), context.globals.compat);
            let plan = InstructionPlan { config, compat, unknown_end: true, ..InstructionPlan::blank() };
            let mut done = operation::execute(&*erase::<ModalitiesInstruction>(plan), context)?;
            ignore_findings(&mut done);
            Ok(done)
        }
        DataCommand::MergePackedData(args) => merge(args.paths, context),
        DataCommand::ShuffleTokenizedData(args) => shuffle(args.files, Rewrite::ShufflePacked, context),
        DataCommand::ShuffleJsonlData(args) => shuffle(args.files, Rewrite::ShuffleLines, context),
        DataCommand::CreateShuffledDatasetChunk(args) => chunk(&args, ".pbin", Rewrite::ChunkPacked, context),
        DataCommand::CreateShuffledJsonlChunk(args) => chunk(&args, ".jsonl", Rewrite::ChunkLines, context),
    }
}

fn create_index(args: IndexArgs, context: &Context) -> CommandResult {
    let plan = IndexPlan {
        paths: vec![paths::local_or_readable(&args.source)?.into()],
        format: Some(IndexFormat::Modalities),
        index_path: args.index.map(|path| paths::local_or_writable(&path).map(PathBuf::from)).transpose()?,
        file_existence_policy: args.existing.policy.into(),
        compat: context.globals.compat,
        ..IndexPlan::blank()
    };
    operation::execute(&*erase::<Index>(plan), context)
}

/// Packs as a configuration file specifies. All errors in the file are reported before the work starts.
fn pack_by(args: &PackArgs, context: &Context) -> CommandResult {
    let config = config::read(&args.config)?;
    for (path, check) in [
        (&config.source, paths::local_or_readable as fn(&Path) -> _),
        (&config.index, paths::local_or_readable),
        (&config.output, paths::local_or_writable),
    ] {
        check(path)?;
    }
    let Some(existing) = decide(args.existing.policy, &config.output)? else {
        return Ok(skipped(&config.output, context));
    };
    if !files::is_file(&config.source) {
        return Err(Failure::environment("packing", "there is no such text file")
            .on(Subject::path(&config.source))
            .into());
    }
    if !files::is_file(&config.index) {
        let source = shell_quote(&config.source.to_string_lossy());
        let index = shell_quote(&config.index.to_string_lossy());
        return Err(Failure::data("packing", "the text has no raw index")
            .on(Subject::path(&config.index))
            .with_hint(format!("gristmill modalities data create_raw_index {source} --index_path {index}"))
            .into());
    }
    let mut plan = config.plan(context.globals.compat)?;
    let note = config::use_unknown_as_end_token(&mut plan)?;
    note.iter().for_each(|note| context.printer.note(note));
    plan.overwrite = existing == ExistingOutput::Replace;
    if let Some(folder) = config.output.parent().and_then(Path::to_str).filter(|folder| !folder.is_empty()) {
        paths::make_folder(Path::new(folder), FOLDER_MODE)?;
    }
    let mut done = operation::execute(&*erase::<Pack>(plan), context)?;
    if let (Some(note), Some(Value::Array(notes))) = (note, done.result.get_mut("notes")) {
        notes.push(json!(note));
    }
    ignore_findings(&mut done);
    Ok(done)
}

/// Sets the status to `Ok` if `modalities` would succeed: it only warns about unusable documents, and ignores documents that are missing
/// from an outdated index.
fn ignore_findings(done: &mut CommandSuccess) {
    let is_warning = |kind: &ProblemKind| {
        use ProblemKind as K;
        matches!(
            kind,
            K::NoText
                | K::BadDocument
                | K::BadJson
                | K::OddJson
                | K::BadLine
                | K::BadConversation
                | K::BlankLine
                | K::CompatLoss
                | K::IndexMismatch
        )
    };
    if done.status == Status::Problems && done.kinds.iter().all(is_warning) {
        done.status = Status::Ok;
    }
}

/// Applies the number of threads of a configuration. Errors in the configuration are reported when the command runs.
pub fn adjust(args: &DataArgs, globals: &mut Globals) {
    globals.drop_in = true;
    if let DataCommand::PackEncodedData(args) = &args.command {
        globals.threads = globals.threads.or_else(|| configured_threads(&args.config));
    }
}

fn merge(mut paths: Vec<PathBuf>, context: &Context) -> CommandResult {
    let Some(output) = paths.pop() else {
        return Err(Failure::usage("merging", "no output file is given").into());
    };
    let existing = ExistingOutput::Refuse(ExitClass::Usage);
    let plan = RewritePlan { what: Rewrite::Merge(paths), output, existing, compat: context.globals.compat };
    rewrite::run(plan, None, context)
}

fn shuffle(files: InOutArgs, what: fn(PathBuf, Seed) -> Rewrite, context: &Context) -> CommandResult {
    let Some(existing) = decide(files.existing.policy, &files.output)? else {
        return Ok(skipped(&files.output, context));
    };
    let random = files.seed.is_none().then(some_seed);
    let seed = files.seed.unwrap_or_else(|| Seed::from(random.unwrap_or_default()));
    let plan =
        RewritePlan { what: what(files.input, seed), output: files.output, existing, compat: context.globals.compat };
    rewrite::run(plan, random.map(|seed| seed.to_string()), context)
}

fn chunk(
    args: &ChunkArgs,
    suffix: &str,
    what: fn(Vec<PathBuf>, Chunk, u64) -> Rewrite,
    context: &Context,
) -> CommandResult {
    let chunk = Chunk::new(args.id, args.of)?;
    let Some(existing) = decide(args.existing.policy, &args.output)? else { return Ok(skipped(&args.output, context)) };
    let files = files_of_list(&args.list, &args.root, suffix)?;
    // A generated seed is reported, so that the user can repeat the same order.
    let random = args.seed.is_none().then(|| some_seed().to_string());
    let seed = chunk.seed(args.seed.as_ref().or(random.as_ref()).map_or("0", String::as_str));
    let what = what(files, chunk, seed);
    let plan = RewritePlan { what, output: args.output.clone(), existing, compat: context.globals.compat };
    rewrite::run(plan, random, context)
}

/// Parses a seed of any size.
fn seed_of(text: &str) -> Result<Seed, String> {
    Seed::parse(text).ok_or_else(|| "expected a whole number".to_owned())
}

/// Returns a seed for commands for which `modalities` uses a random one: below 2³¹, so that it is short.
fn some_seed() -> u64 {
    (uuid::Uuid::new_v4().as_u128() & 0x7fff_ffff) as u64
}

/// Returns how to handle an existing output; `None` means to skip the run and keep the existing file.
pub fn decide(policy: OverwritePolicy, output: &Path) -> Outcome<Option<ExistingOutput>> {
    let is_there = files::try_is_taken(output)?;
    match policy {
        OverwritePolicy::Skip if is_there => Ok(None),
        OverwritePolicy::Override => Ok(Some(ExistingOutput::Replace)),
        OverwritePolicy::Error if is_there => Err(Failure::data("writing the output", "the file exists already")
            .on(Subject::path(output))
            .with_hint("--file_existence_policy override replaces it, skip leaves it")),
        _ => Ok(Some(ExistingOutput::Refuse(ExitClass::Data))),
    }
}

/// Returns a successful result for a run that was skipped.
pub fn skipped(output: &Path, context: &Context) -> CommandSuccess {
    let text = format!("{} exists already; nothing was done", output.display());
    context.printer.warning(&text, None);
    CommandSuccess::ok(Map::from_iter([("nothing_to_do".to_owned(), json!(true))]))
}
