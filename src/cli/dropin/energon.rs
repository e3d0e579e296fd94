//! `gristmill energon …`: the arguments of the `energon` program.

use super::super::context::Context;
use super::super::exit::{CommandResult, CommandSuccess, Status};
use super::super::globals::Globals;
use super::super::prepare::{self, Confirmation};
use super::super::{info, kinds, lint, operation, paths};
use super::media_filter::{no_filter, FilterArgs};
use super::mount::EnergonMountArgs;
use super::preview::PreviewArgs;
use clap::{Args, Subcommand};
use gristmill_core::plan::PLAN_VERSION;
use gristmill_core::{
    DatasetKind, Duplicates, Failure, MediaPlan, Outcome, PrepareMediaPlan, PreparePlan, ProblemKind, Rerun,
    SampleMapping, Scope, SplitPlan, Subject,
};
use gristmill_data::formats::energon::layout::is_prepared;
use gristmill_data::formats::energon::split_yaml::SplitFile;
use gristmill_data::source::discover::discover;
use gristmill_data::source::kind::kind_of;
use gristmill_ops::datasets::{CheckRequest, InfoRequest};
use gristmill_ops::engine::check::{InfoOptions, LintOptions};
use gristmill_ops::operations::prepare::{field_map, split_patterns, yaml_name};
use gristmill_ops::operations::{erase, PrepareMedia};
use gristmill_pycompat::pattern::Pattern;
use gristmill_storage::files;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The default splits.
const USUAL_SPLITS: &str = "train,val,test";
const VERSION: &str = concat!("(gristmill ", env!("CARGO_PKG_VERSION"), ", for data sets of generation 7.4.1)");

const NO_SHARDS: &str = "shards are files that end in .tar or .tgz, at any depth, and that --exclude does not find";

/// Which of the other program's commands.
#[derive(Args, Debug)]
#[command(version = VERSION, args_override_self = true, arg_required_else_help = true)]
pub struct EnergonArgs {
    #[command(subcommand)]
    command: EnergonCommand,
}

#[derive(Debug, Subcommand)]
enum EnergonCommand {
    /// Prepare a folder of tar shards, a .jsonl file or a metadataset
    Prepare(Box<PrepareArgs>),
    /// Print what a prepared data set holds
    Info(InfoArgs),
    /// Check a prepared data set
    Lint(LintArgs),
    /// Show samples one after the other
    Preview(PreviewArgs),
    /// Describe the media of a prepared data set or of a folder
    PrepareMedia(MediaArgs),
    /// Show a prepared data set as files
    Mount(EnergonMountArgs),
    #[command(hide = true)]
    Checkpoint(UnavailableCommand),
    #[command(hide = true)]
    AnalyzeDebug(UnavailableCommand),
}

/// A command that is known and not there yet.
#[derive(Args, Debug)]
struct UnavailableCommand {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    rest: Vec<OsString>,
}

/// The flags of `energon prepare`; each given twice counts the last time, as there.
#[derive(Args, Debug)]
#[command(args_override_self = true)]
struct PrepareArgs {
    /// Folder of tar shards, .jsonl file, or metadataset .yaml
    path: PathBuf,
    /// Show progress
    #[arg(long, overrides_with = "no_progress")]
    progress: bool,
    /// Show no progress
    #[arg(long)]
    no_progress: bool,
    /// Divide by patterns (repeat)
    #[arg(long, value_name = "NAME:REGEX")]
    split_parts: Vec<String>,
    /// Leave out shards whose name this regular expression finds
    #[arg(long, value_name = "REGEX", allow_hyphen_values = true)]
    exclude: Option<String>,
    /// Rewrite the index of the tars only
    #[arg(long)]
    tar_index_only: bool,
    /// Shuffle the shards before dividing them
    #[arg(long)]
    shuffle_tars: bool,
    #[command(flatten)]
    media: FilterArgs,
    /// If a key is in several shards, put the name of its shard before every name, in new shards at the same places
    #[arg(long)]
    fix_duplicates: bool,
    /// Divide by three numbers
    #[arg(long, value_name = "A,B,C", allow_hyphen_values = true)]
    split_ratio: Option<String>,
    /// Prepare again
    #[arg(long)]
    force_overwrite: bool,
    /// Write no dataset yaml
    #[arg(long)]
    skip_dataset_yaml: bool,
    /// Name of the dataset yaml [default: dataset.yaml]
    #[arg(long, value_name = "NAME")]
    dataset_yaml_name: Option<String>,
    /// Sample type
    #[arg(long, value_name = "NAME")]
    sample_type: Option<String>,
    /// Field map, as JSON
    #[arg(long, value_name = "JSON")]
    field_map: Option<String>,
    /// Folder for temporary files
    #[arg(long, value_name = "DIR")]
    tmp_path: Option<PathBuf>,
}

/// The flags of `energon prepare-media`.
#[derive(Args, Debug)]
#[command(args_override_self = true)]
struct MediaArgs {
    /// Prepared data set, or folder of media
    path: PathBuf,
    /// Show progress
    #[arg(long, overrides_with = "no_progress")]
    progress: bool,
    /// Show no progress
    #[arg(long)]
    no_progress: bool,
    #[command(flatten)]
    media: FilterArgs,
    /// Folder for temporary files
    #[arg(long, value_name = "DIR")]
    tmp_path: Option<PathBuf>,
}

/// The flags of `energon info`.
#[derive(Args, Debug)]
#[command(args_override_self = true)]
pub struct InfoArgs {
    /// Prepared data set
    pub path: PathBuf,
    /// Name of the split yaml
    #[arg(long, value_name = "NAME", default_value = "split.yaml")]
    pub split_config: String,
    /// Name of the dataset yaml
    #[arg(long, value_name = "NAME", default_value = "dataset.yaml")]
    pub dataset_config: String,
}

/// The flags of `energon lint`.
#[derive(Args, Debug)]
#[command(args_override_self = true)]
pub struct LintArgs {
    /// Prepared data set
    pub path: PathBuf,
    /// Which splits, separated by commas
    #[arg(long, value_name = "NAMES", default_value = USUAL_SPLITS)]
    pub split_parts: String,
    /// Name of the dataset yaml
    #[arg(long, value_name = "NAME", default_value = "dataset.yaml")]
    pub dataset_config: String,
    /// Name of the split yaml
    #[arg(long, value_name = "NAME", default_value = "split.yaml")]
    pub split_config: String,
    /// Accepted; the same as --threads
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub parallel: usize,
}

impl EnergonArgs {
    /// Whether the command has a plan, which `--save-plan` writes.
    pub fn has_plan(&self) -> bool {
        matches!(self.command, EnergonCommand::Prepare(_) | EnergonCommand::PrepareMedia(_))
    }
}

/// Applies the flags of `energon` that correspond to global flags.
pub fn adjust(args: &EnergonArgs, globals: &mut Globals) {
    globals.drop_in = true;
    match &args.command {
        EnergonCommand::Prepare(args) => {
            if globals.scratch.is_none() {
                globals.scratch.clone_from(&args.tmp_path);
            }
            globals.no_progress |= args.no_progress;
        }
        EnergonCommand::PrepareMedia(args) => {
            if globals.scratch.is_none() {
                globals.scratch.clone_from(&args.tmp_path);
            }
            globals.no_progress |= args.no_progress;
        }
        EnergonCommand::Lint(args) => globals.threads = globals.threads.or(Some(args.parallel.max(1))),
        // These commands accept any arguments, including global flags.
        EnergonCommand::Checkpoint(later) | EnergonCommand::AnalyzeDebug(later) => {
            globals.json |= later.rest.iter().any(|word| word == "--json")
        }
        _ => {}
    }
}

/// Runs a command of `energon`.
pub fn run(args: EnergonArgs, context: &Context) -> CommandResult {
    match args.command {
        EnergonCommand::Prepare(args) => prepare_dataset(&args, context),
        EnergonCommand::Info(args) => {
            let split_config = own_name(&args.split_config).map(str::to_owned);
            let options = InfoOptions { dataset_config: args.dataset_config, split_config };
            info::run(&args.path, InfoRequest { options, ..InfoRequest::default() }, context)
        }
        EnergonCommand::Lint(args) => {
            known_splits(&args)?;
            let split_config = own_name(&args.split_config).map(str::to_owned);
            let lint = LintOptions { dataset_config: args.dataset_config, split_config, ..LintOptions::default() };
            lint::run(&args.path, CheckRequest { lint, ..CheckRequest::default() }, context)
        }
        EnergonCommand::Preview(args) => super::preview::run(&args, context),
        EnergonCommand::PrepareMedia(args) => prepare_media(&args, context),
        EnergonCommand::Mount(args) => super::mount::run(args, context),
        EnergonCommand::Checkpoint(_) => refuse_command("checkpoint", "checkpoints are not data preparation"),
        EnergonCommand::AnalyzeDebug(_) => refuse_command("analyze-debug", "training logs are not data preparation"),
    }
}

/// Refuses requested splits that do not exist, with a list of the existing ones. Splits that are requested by default may be missing.
fn known_splits(args: &LintArgs) -> Outcome<()> {
    if args.split_parts == USUAL_SPLITS {
        return Ok(());
    }
    let path = args.path.join(".nv-meta").join(&args.split_config);
    let Some(file) = SplitFile::read_file(&path)? else { return Ok(()) };
    let names: Vec<&str> = file.split_parts.iter().map(|(name, _)| name.as_str()).collect();
    match args.split_parts.split(',').map(str::trim).find(|wanted| !names.contains(wanted)) {
        None => Ok(()),
        Some(lost) => Err(Failure::data("reading --split-parts", format!("there is no split '{lost}'"))
            .on(Subject::path(path))
            .with_hint(format!("the splits are {}", names.join(", ")))),
    }
}

/// Returns the name of the split file if it differs from the default.
fn own_name(name: &str) -> Option<&str> {
    (name != "split.yaml").then_some(name)
}

/// Refuses a command that only the original program has.
fn refuse_command(name: &str, why: &str) -> CommandResult {
    Err(Failure::usage("energon", why)
        .on(Subject::field(name))
        .with_hint(format!("the energon command of megatron-energon does that: energon {name}"))
        .into())
}

fn prepare_dataset(args: &PrepareArgs, context: &Context) -> CommandResult {
    match kind_of(Path::new(&paths::local_or_writable(&args.path)?)) {
        Ok(DatasetKind::Jsonl) => return prepare_file(args, "JSONL files have no media metadata", context),
        Ok(DatasetKind::Metadataset) => return prepare_file(args, "metadatasets have no media metadata", context),
        _ => {}
    }
    let mut plan = plan(args, context)?;
    if args.fix_duplicates {
        plan.duplicates = Duplicates::Prefix;
    }
    kinds::only_folders(&plan.path)?;
    let prepared = is_prepared(Path::new(&plan.path));
    if prepared && plan.rerun == Rerun::Refuse && plan.scope == Scope::Full && !context.may_prompt() {
        return Err(Failure::data("preparing", "the data set is already prepared")
            .on(Subject::path(&plan.path))
            .with_hint("--force-overwrite prepares it again")
            .into());
    }
    if plan.splits == SplitPlan::Unset && plan.scope == Scope::Full && !context.may_prompt() {
        return Err(Failure::data("dividing the shards", "neither --split-ratio nor --split-parts is given")
            .with_hint("--split-ratio 8,1,1, or --split-parts NAME:REGEX")
            .into());
    }
    if plan.scope == Scope::Full && !apply_exclude_pattern(&mut plan, context)? {
        context.printer.warning("no shard was found; nothing was written", Some(NO_SHARDS));
        return Ok(CommandSuccess::ok(serde_json::Map::from_iter([("shards".to_owned(), 0.into())])));
    }
    let confirmation = match is_complete(&plan, args, prepared) {
        true => Confirmation::Confirmed,
        false => Confirmation::ByFlag,
    };
    let mut done = prepare::run(plan, confirmation, context)?;
    ignore_findings(&mut done);
    Ok(done)
}

/// Sets the status to `Ok` if `energon` would succeed despite all findings.
fn ignore_findings(done: &mut CommandSuccess) {
    if done.status == Status::Problems && done.kinds.iter().all(|kind| is_accepted_by_energon(*kind)) {
        done.status = Status::Ok;
    }
}

fn prepare_media(args: &MediaArgs, context: &Context) -> CommandResult {
    let Some(filter) = args.media.filter()? else { return Err(no_filter().into()) };
    let plan = PrepareMediaPlan {
        version: PLAN_VERSION,
        path: paths::local_or_writable(&args.path)?,
        media: MediaPlan { filter, decode: false },
        prune: false,
        compat: context.globals.compat,
    };
    let mut done = operation::execute(&*erase::<PrepareMedia>(plan), context)?;
    ignore_findings(&mut done);
    Ok(done)
}

/// Prepares a JSONL file or a metadataset. Flags about media are refused; other flags have no effect.
fn prepare_file(args: &PrepareArgs, why: &str, context: &Context) -> CommandResult {
    prepare::run(plan_without_questions(args, why, context)?, Confirmation::Confirmed, context)
}

/// Returns a plan for data that needs no questions. Media flags are refused, other flags are accepted.
fn plan_without_questions(args: &PrepareArgs, why: &str, context: &Context) -> Outcome<PreparePlan> {
    let media = [
        (args.media.media_metadata_by_glob.is_some(), "--media-metadata-by-glob"),
        (args.media.media_metadata_by_header, "--media-metadata-by-header"),
        (args.media.media_metadata_by_extension, "--media-metadata-by-extension"),
    ];
    if let Some((_, flag)) = media.into_iter().find(|(is_given, _)| *is_given) {
        return Err(Failure::data("preparing", why).on(Subject::field(flag)));
    }
    let mut plan = plan(args, context)?;
    plan.allow_empty_splits = false;
    if !args.skip_dataset_yaml && args.sample_type.is_none() {
        plan.loading = SampleMapping::Unset;
    }
    Ok(plan)
}

/// Whether `energon` would ask no questions, so that neither a terminal nor `--yes` is needed.
fn is_complete(plan: &PreparePlan, args: &PrepareArgs, prepared: bool) -> bool {
    if plan.scope == Scope::TarIndexOnly {
        return true;
    }
    let crude = matches!(plan.loading, SampleMapping::Crude { .. });
    let loading = args.skip_dataset_yaml || args.sample_type.is_some() && (crude || args.field_map.is_some());
    plan.splits != SplitPlan::Unset && loading && (!prepared || plan.rerun == Rerun::Overwrite)
}

/// Removes an `--exclude` that matches no shard and prints a warning, because it has no effect in `energon`. Returns whether any shard is
/// left; otherwise `energon` succeeds and writes nothing. A pattern that does not compile stays in the plan and is refused by the run.
fn apply_exclude_pattern(plan: &mut PreparePlan, context: &Context) -> Outcome<bool> {
    let found = discover(Path::new(&plan.path))?;
    if found.shards.is_empty() {
        // The run reports files that are named like shards but are no archives, and a database without shards.
        let leftover = files::is_file(Path::new(&plan.path).join(".nv-meta/index.sqlite"));
        let (unread, others): (Vec<_>, Vec<_>) =
            found.findings.iter().partition(|finding| finding.kind == ProblemKind::UnreadShard);
        if !leftover && others.is_empty() {
            unread.iter().for_each(|problem| context.printer.problem(problem));
        }
        return Ok(leftover || !others.is_empty());
    }
    let Some(pattern) = plan.exclude_shards.first().and_then(|text| Pattern::compile(text).ok()) else {
        return Ok(true);
    };
    let out = found.shards.iter().filter(|shard| pattern.is_found(&shard.name)).count();
    if out == 0 {
        context.printer.warning(
            &format!("--exclude matches 0 of {}", gristmill_core::text::count(found.shards.len() as u64, "shard")),
            None,
        );
        plan.exclude_shards.clear();
    }
    Ok(out < found.shards.len())
}

/// Returns a function that makes the failure for an invalid value of a flag from the reason.
fn invalid(flag: &'static str) -> impl Fn(String) -> Failure {
    move |why| Failure::usage("reading the command line", why).on(Subject::field(flag))
}

fn plan(args: &PrepareArgs, context: &Context) -> Outcome<PreparePlan> {
    let mut plan = PreparePlan::new(paths::local_or_writable(&args.path)?);
    if args.force_overwrite {
        plan.rerun = Rerun::Overwrite;
    }
    if args.tar_index_only {
        plan.scope = Scope::TarIndexOnly;
    }
    plan.exclude_shards.extend(args.exclude.clone());
    plan.shuffle_tars = args.shuffle_tars;
    // `energon` writes an empty split for a pattern without a match.
    plan.allow_empty_splits = true;
    plan.media = args.media.filter()?.map(|filter| MediaPlan { filter, decode: false });
    plan.compat = context.globals.compat;
    if let Some(name) = &args.dataset_yaml_name {
        plan.dataset_yaml_name = yaml_name(name).map_err(invalid("--dataset-yaml-name"))?;
    }
    plan.splits = if args.split_parts.is_empty() {
        args.split_ratio.clone().map_or(SplitPlan::Unset, SplitPlan::Ratio)
    } else {
        SplitPlan::Patterns(split_patterns(&args.split_parts, true).map_err(invalid("--split-parts"))?)
    };
    plan.loading = loading(args, context)?;
    Ok(plan)
}

/// Returns the sample mapping. Without questions, a missing sample type means no `dataset.yaml`, and a missing field map means a sample
/// loader.
fn loading(args: &PrepareArgs, context: &Context) -> Outcome<SampleMapping> {
    let asks = context.may_prompt();
    if args.skip_dataset_yaml {
        return Ok(SampleMapping::NoDatasetYaml);
    }
    Ok(match (&args.sample_type, &args.field_map) {
        (None, _) if asks => SampleMapping::Unset,
        (None, _) => SampleMapping::NoDatasetYaml,
        (Some(name), _) if name == gristmill_core::sample_type::CRUDE_CLASS => SampleMapping::Crude { cooker: false },
        (Some(name), Some(json)) => {
            let fields = field_map(std::slice::from_ref(json)).map_err(invalid("--field-map"))?;
            SampleMapping::FieldMap { sample_type: name.clone(), fields }
        }
        (Some(name), None) if asks => SampleMapping::FieldMap { sample_type: name.clone(), fields: Vec::new() },
        (Some(name), None) => SampleMapping::SampleLoader { sample_type: name.clone() },
    })
}

/// Whether `energon` exits with 0 despite this finding, and the output has all files that it would have written.
fn is_accepted_by_energon(kind: ProblemKind) -> bool {
    use ProblemKind as K;
    matches!(
        kind,
        K::CompressedShard
            | K::UnreadShard
            | K::SparseEntry
            | K::LinkedPart
            | K::IndexNameCollision
            | K::RoundedAway
            | K::EmptySplit
            | K::UnassignedShards
            | K::ShardInTwoSplits
            | K::MatchesNothing
            | K::NoSuchPart
            | K::FieldFails
            | K::SampleLacksPart
            | K::LeftoverDatabase
            | K::CompatLoss
            | K::Leak
            | K::NotMedia
            | K::BrokenMedia
    )
}
