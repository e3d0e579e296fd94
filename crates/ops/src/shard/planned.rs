//! Plans the shards of a run from its inputs, without reading the bytes of parts.

use super::append::SetKeys;
use super::choose::{Chooser, LeftOut};
use super::divide::{Divider, PlannedShards};
use super::examples::{InputExample, PartTally};
use super::keeper::ReadKeeper;
use super::layout::OutputLayout;
use super::lines::{LineList, PlannedLines};
use super::list::{InputFile, Lister, Listing};
use super::order::{Arranger, SplitSource};
use super::pattern::NamePattern;
use super::record::SpoolContext;
use super::repeats::{apply_key_rule, TakeSample};
use super::sample::SourceContext;
use super::set_writers::SetWriters;
use super::source;
use super::unindexed::check_indexed;
use crate::job::job_progress::Forecast;
use crate::job::task::TaskContext;
use crate::job::Phase;
use gristmill_core::shard_plan::InputKind;
use gristmill_core::text::{count, display_safe, grouped};
use gristmill_core::{Failure, Outcome, Problem, ProblemKind, ProblemSink as _, RunOptions, ShardPlan, Subject};
use gristmill_data::formats::energon::info::Info;
use gristmill_storage::files::is_dir;
use gristmill_storage::kept::ReadCache;
use gristmill_storage::location::{is_remote, threads_for};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use xxhash_rust::xxh3::Xxh3;

/// Estimated time of all steps after listing, as a multiple of the time of listing.
const COPY_SHARE: f64 = 4.0;
/// Divisor of the memory limit that gives the memory of one sort.
const SORT_SHARE: u64 = 4;
/// Divisor of that memory for problems that the report does not list. A manifest may have a problem in every row.
const UNLISTED_SHARE: usize = 4;

/// A set of shards that will be written.
pub(super) struct PlannedSet {
    pub(super) output: PathBuf,
    pub(super) planned: PlannedShards,
}

impl PlannedSet {
    /// Returns the names of the splits in order; empty if there is only one split.
    pub(super) fn splits(&self) -> Vec<&str> {
        let mut splits: Vec<&str> = self.planned.shards.iter().map(|shard| shard.split.as_str()).collect();
        splits.dedup();
        splits.retain(|split| !split.is_empty());
        splits
    }
}

/// All output of a run: sets and lines.
pub(super) struct PlannedRun {
    /// Sets with at least one shard.
    pub(super) sets: Vec<PlannedSet>,
    /// Samples that become text lines.
    pub(super) lines: Option<PlannedLines>,
    /// Files that contain parts.
    pub(super) files: Vec<InputFile>,
    /// The kind and size of each input.
    pub(super) inputs: Vec<InputExample>,
    /// Counts of the parts of all samples.
    pub(super) parts: PartTally,
    /// Counts of the parts of the written samples; `None` unless a field map names parts.
    pub(super) written_parts: Option<PartTally>,
    pub(super) left_out: LeftOut,
    /// Number of chosen samples that `split.yaml` of the input excludes.
    pub(super) kept_excluded: u64,
    /// Cached data of files in stores. Dropping it deletes the cache.
    _kept: Vec<ReadCache>,
}

/// The purpose of a plan, which decides whether reads are cached.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Shards will be written, so reads of files in stores are cached.
    Writing,
    /// The contents will not be read.
    Preview,
}

/// Lists the samples of all inputs and divides them into shards.
pub(super) fn plan_shards(
    context: &TaskContext,
    layout: &OutputLayout,
    scratch: &Path,
    purpose: Purpose,
) -> Outcome<PlannedRun> {
    let known = layout.plan.append.then(|| SetKeys::open(&layout.output)).transpose()?;
    known.iter().try_for_each(|known| check_indexed(layout, known.shards()))?;
    plan_with(context, layout, (scratch, purpose), known)
}

/// Returns a hash of the inputs and outputs of a run, for the current inputs and independent of existing output.
pub(super) fn listing_hash(context: &TaskContext, layout: &OutputLayout, scratch: &Path) -> Outcome<String> {
    plan_with(context, layout, (scratch, Purpose::Preview), None)?.hash()
}

fn plan_with(
    context: &TaskContext,
    layout: &OutputLayout,
    (scratch, purpose): (&Path, Purpose),
    mut known: Option<SetKeys>,
) -> Outcome<PlannedRun> {
    let plan = &layout.plan;
    // The amount to copy is known only after listing.
    context.stage(Phase::Open, "shard", Forecast::new(1.0, COPY_SHARE), "looking for samples");
    let memory = usize::try_from(context.options.memory_bytes / SORT_SHARE).unwrap_or(usize::MAX);
    context.problems.unlisted().set_limit(memory / UNLISTED_SHARE);
    let spools = SpoolContext { fs: &*context.fs, folder: scratch, cancel: &context.cancel, memory };
    let pattern = NamePattern::parse(&plan.division.pattern).map_err(|why| Failure::usage("reading --pattern", why))?;
    let keeper = ReadKeeper::new(scratch, plan)?;
    let keeps = keeper.as_ref().filter(|_| purpose == Purpose::Writing);
    let ListedInputs { mut listing, inputs, has_named_folders } = list_inputs(context, plan, spools, keeps)?;
    // If there are only rows, their source numbers them, so that the numbers do not change when rows are omitted.
    let has_other_than_rows = inputs.iter().any(|input| input.kind != InputKind::Rows);
    let is_numbered = has_other_than_rows && plan.key.as_deref() == Some(source::NUMBER);
    context.log(format!("listed {}", listing.amount()));
    let excluded = listing.excluded;
    if listing.samples == 0 {
        return Err(nothing_found(plan, excluded));
    }
    note_random_order(context, plan, &listing.files, keeper.as_ref())?;
    let splits = split_source(plan, listing.has_splits, listing.has_split_folders && has_named_folders);
    let files = std::mem::take(&mut listing.files);
    let mut chooser = Chooser::new(plan, is_numbered, &*context.problems, layout.run_folder.path(), &context.cancel)?;
    let mut arranger = Arranger::new(plan, splits, spools);
    let mut dividers = Vec::new();
    for (number, (kind, _)) in layout.sets.iter().enumerate() {
        let pattern = (plan, pattern.clone());
        dividers.push((*kind, Divider::create(pattern, &files, &*context.problems, &spools, number)?));
    }
    let lines = layout.lines.is_some().then(|| LineList::create(&spools)).transpose()?;
    let mut dealer = SetWriters::new(dividers, lines);
    let take: TakeSample<'_> = &mut |listed| {
        let Some(chosen) = chooser.choose(listed)? else { return Ok(()) };
        if let Some(known) = &mut known {
            known.check(&chosen.sample, &context.handles())?;
        }
        arranger.push(&chosen, &mut dealer)
    };
    apply_key_rule((plan, is_numbered), listing, spools, &*context.problems, take)?;
    chooser.finish()?;
    known.iter().try_for_each(SetKeys::finish)?;
    check_lines(layout, arranger.splits())?;
    arranger.finish(&mut dealer)?;
    let (planned, lines) = dealer.finish()?;
    let sets = layout.sets.iter().zip(planned);
    let sets = sets.map(|((_, output), planned)| PlannedSet { output: output.clone(), planned });
    let sets: Vec<PlannedSet> = sets.filter(|set| !set.planned.shards.is_empty()).collect();
    check_metadataset(layout, &sets)?;
    let left_out = LeftOut { excluded, ..chooser.left_out };
    let kept_excluded = chooser.kept_excluded;
    if sets.is_empty() {
        return Err(nothing_left(plan, &left_out, lines.as_ref()));
    }
    let kept = keeper.map(ReadKeeper::into_kept).unwrap_or_default();
    // With several sets, each set has only some of the parts.
    let written_parts = chooser.written.filter(|_| layout.sets.len() == 1);
    let parts = chooser.listed;
    Ok(PlannedRun { sets, lines, files, inputs, parts, written_parts, left_out, kept_excluded, _kept: kept })
}

/// The listed samples of all inputs, and the inputs.
struct ListedInputs<'a> {
    listing: Listing<'a>,
    inputs: Vec<InputExample>,
    /// Whether folders with the names of splits become splits.
    has_named_folders: bool,
}

fn list_inputs<'a>(
    context: &'a TaskContext,
    plan: &ShardPlan,
    spools: SpoolContext<'a>,
    keeper: Option<&ReadKeeper>,
) -> Outcome<ListedInputs<'a>> {
    let mut lister = Lister::create(spools, &*context.problems)?;
    let (mut inputs, mut has_named_folders) = (Vec::new(), true);
    let next_row = &AtomicU64::new(0);
    let kinds = source::kinds_of(plan, &*context.problems)?;
    for (number, (input, kind)) in (0..).zip(plan.inputs.iter().zip(kinds)) {
        // Prepared inputs and rows define their splits themselves.
        has_named_folders &= kind == InputKind::Files || kind == InputKind::Tars && !is_prepared(input)?;
        lister.begin_input(number);
        let item = match kind {
            InputKind::Files => "file",
            InputKind::Rows => "row",
            InputKind::Auto | InputKind::Tars => "shard",
        };
        context.rename(Phase::Open, item, format!("listing {}", display_safe(&input.to_string_lossy())));
        let options = &RunOptions { threads: threads_for(input, context.options.threads), ..context.options.clone() };
        let (handles, fs, scratch, memory) = (context.handles(), spools.fs, spools.folder, spools.memory);
        let source = SourceContext { plan, handles, fs, scratch, memory, options, keeper, next_row };
        let before = lister.samples();
        source::list(input, kind, &source, &mut lister)?;
        inputs.push(InputExample { kind, samples: lister.samples() - before });
    }
    Ok(ListedInputs { listing: lister.finish()?, inputs, has_named_folders })
}

/// Reports a note that random order is slow for files in stores, unless the cache has space for the listed data.
fn note_random_order(
    context: &TaskContext,
    plan: &ShardPlan,
    files: &[InputFile],
    keeper: Option<&ReadKeeper>,
) -> Outcome<()> {
    let in_stores = || files.iter().filter(|file| is_remote(&file.path));
    let bytes: u64 = in_stores().map(|file| file.stamp.bytes).sum();
    let has_room = keeper.is_some_and(|keeper| bytes <= keeper.limit());
    let Some(first) = in_stores().next().filter(|_| plan.shuffle && !has_room) else { return Ok(()) };
    let why = "in random order, nearly every part in a store is a request of its own";
    let note = Problem::note(ProblemKind::Other, Subject::path(&first.path), why);
    context
        .problems
        .report(note.with_hint("--scratch with more space, or gristmill cp, which copies the input to a disk"))
}

fn split_source(plan: &ShardPlan, has_splits: bool, has_folders: bool) -> SplitSource {
    match (plan.choice.one_split, has_splits) {
        (true, _) => SplitSource::None,
        _ if plan.division.splits_by_folder => SplitSource::Folder,
        (_, true) => SplitSource::Sample,
        _ if has_folders => SplitSource::Folder,
        _ => SplitSource::None,
    }
}

/// Refuses a metadataset if one of its sets has no samples.
fn check_metadataset(layout: &OutputLayout, sets: &[PlannedSet]) -> Outcome<()> {
    let apart = &layout.plan.apart;
    if apart.metadataset.is_none() || sets.len() == layout.sets.len() {
        return Ok(());
    }
    let is_media = sets.iter().any(|set| Some(&set.output) == apart.media_to.as_ref());
    let why = if is_media { "all parts are media" } else { "no part is media" };
    let why = format!("{why}, so that one of its two sets would be missing");
    let failure = Failure::data("planning the metadataset", why).on(Subject::field("--metadataset"));
    let failure = failure.of_kind(ProblemKind::EmptyResult);
    Err(failure.with_hint("leave out --metadataset, or leave out --media-to to write one set"))
}

/// Refuses text lines with several splits: a file of lines has no splits, so validation data would be used for training.
fn check_lines<'n>(layout: &OutputLayout, splits: impl Iterator<Item = &'n String>) -> Outcome<()> {
    let names: Vec<&str> = splits.map(String::as_str).collect();
    if layout.lines.is_none() || names.len() < 2 {
        return Ok(());
    }
    let why = format!("a file of lines has no splits, and the samples are in {}", display_safe(&names.join(", ")));
    let failure = Failure::usage("planning the lines of text", why).on(Subject::field("--text-to"));
    Err(failure.with_hint("--split NAME takes the samples of one split; --one-split writes those of all"))
}

fn is_prepared(input: &Path) -> Outcome<bool> {
    Ok(is_dir(input) && Info::read(input)?.is_some())
}

impl PlannedRun {
    /// Returns a hash of the written entries, their sources and the states of the inputs. It does not depend on shard names.
    pub(super) fn hash(&self) -> Outcome<String> {
        let mut hash = Xxh3::new();
        for file in &self.files {
            let (path, stamp) = file.of_input();
            hash.update(path.as_os_str().as_encoded_bytes());
            [stamp.bytes, stamp.modified_ns as u64, stamp.inode].iter().for_each(|n| hash.update(&n.to_le_bytes()));
        }
        for shard in self.sets.iter().flat_map(|set| &set.planned.shards) {
            hash.update(shard.split.as_bytes());
            hash.update(&shard.hash.to_le_bytes());
        }
        if let Some(lines) = &self.lines {
            let mut records = lines.records.open()?;
            while let Some(record) = records.next_record()? {
                hash.update(record);
            }
        }
        Ok(format!("{:032x}", hash.digest128()))
    }
}

/// Returns the failure for inputs without samples. `excluded` is the number of excluded samples.
fn nothing_found(plan: &ShardPlan, excluded: u64) -> Failure {
    let splits = plan.choice.splits.join(", ");
    let (why, hint) = match (excluded, plan.choice.splits.is_empty()) {
        (0, true) => {
            let inputs = if plan.inputs.len() > 1 { ", in this input and in the others" } else { "" };
            (
                format!("no sample was found{inputs}"),
                "gristmill info PATH says what is there; --as decides how it is read",
            )
        }
        (0, false) => {
            (format!("no sample was found in {}", display_safe(&splits)), "leave out --split, or name other splits")
        }
        (excluded, _) => {
            let why = format!("no sample was found that is not excluded: split.yaml excludes {}", grouped(excluded));
            (why, "--keep-excluded writes them, too")
        }
    };
    no_sample(plan, why).with_hint(hint)
}

/// Returns the failure for choices after which no sample remains for shards.
fn nothing_left(plan: &ShardPlan, left_out: &LeftOut, lines: Option<&PlannedLines>) -> Failure {
    if lines.is_some_and(|lines| lines.samples > 0) {
        let failure = no_sample(plan, "no part is media, and nothing is left for shards".to_owned());
        return failure.with_hint("leave out --media-to and --text-to to write shards");
    }
    let reasons = left_out.reasons().into_iter().filter(|(samples, _, _)| *samples > 0);
    let (whys, flags): (Vec<String>, Vec<&str>) =
        reasons.map(|(samples, why, flags)| (format!("{} {why}", count(samples, "sample")), flags)).unzip();
    match whys.is_empty() {
        true => no_sample(plan, "no sample is left to write".to_owned()),
        false => no_sample(plan, format!("no sample is left to write: {} left out", whys.join(", ")))
            .with_hint(format!("change {}", flags.join(" or "))),
    }
}

fn no_sample(plan: &ShardPlan, why: String) -> Failure {
    let input = plan.inputs.first().cloned().unwrap_or_default();
    Failure::data("looking for samples", why).on(Subject::path(input)).of_kind(ProblemKind::EmptyResult)
}
