//! Publishes new shards, and prepares them with the index spools that were written with them.

use super::divide::PlannedShard;
use super::examples::PartTally;
use super::layout::{OutputLayout, Recorded};
use super::planned::{PlannedRun, PlannedSet};
use super::report::ShardReport;
use super::write::WorkFolders;
use super::ADDING;
use crate::engine::dataset;
use crate::engine::index::SpooledShard;
use crate::engine::mix::author::render_member;
use crate::engine::plan::file::typed_to_yaml;
use crate::engine::plan::{inherited, resolve_in, validate};
use crate::job::exclusive_output::folder_of;
use crate::job::jsonl;
use crate::job::prepare::{hand_over, run_prepare};
use crate::job::publish::{make_folder, stage_report, FinishedFile, Folders, RECORD_MODE};
use crate::job::record::{RecordedInput, RecordedOutput};
use crate::job::task::TaskContext;
use crate::job::Phase;
use gristmill_core::mix::{MixAux, MixMember};
use gristmill_core::plan::SplitPattern;
use gristmill_core::sample_type::CRUDE_CLASS;
use gristmill_core::text::{count, display_safe, shell_quote};
use gristmill_core::{
    DatasetFacts, ExitClass, Failure, Mutex, Outcome, PreparePlan, Problem, ProblemKind, ProblemSink as _, Rerun,
    SampleMapping, Severity, Shard, ShardFacts, ShardId, ShardPlan, SplitPlan, Subject,
};
use gristmill_data::formats::energon::info::Info;
use gristmill_data::formats::energon::jsonl_idx::index_path;
use gristmill_data::formats::energon::layout as meta;
use gristmill_data::source::kind::{folder_kind, NamesBelow};
use gristmill_storage::files;
use gristmill_storage::location::{hint_for, is_remote};
use gristmill_storage::lock::DatasetLock;
use gristmill_storage::publish::{write_file, Publication};
use gristmill_storage::read::stamp_at;
use gristmill_storage::run_folder::RunFolder;
use gristmill_storage::waiting::map_at_once;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The activity of shard plans, as plan files name it.
pub(crate) const PLAN_OF: &str = "writing shards";

/// Name of the step in errors.
const ACTIVITY: &str = "writing shards";
/// Name of the media in a metadataset.
const MEDIA: &str = "media";
/// Kinds of problems that preparation would report and that are known before shards are written.
const PREPARATION_KINDS: [ProblemKind; 3] =
    [ProblemKind::EmptySplit, ProblemKind::NoSuchPart, ProblemKind::SampleLacksPart];
/// Permission bits of created parent folders of outputs.
const FOLDER_MODE: u32 = 0o755;

/// Locks of the new sets, by the positions of the sets; `None` for a set that its preparation locks.
pub(super) type SetLocks = Vec<Option<Arc<DatasetLock>>>;

/// Takes the locks of the sets in stores, all at once. A set with an interrupted preparation is locked by its preparation, which finishes
/// that one first, and so is a set that another process has locked, which the preparation reports.
fn lock_sets(context: &TaskContext, run: &PlannedRun) -> SetLocks {
    let lock = |set: &PlannedSet| {
        let own = RunFolder::for_webdataset(&set.output);
        let is_free = is_remote(&set.output) && !files::exists(own.renames());
        let lock = || DatasetLock::acquire(&*context.fs, &own, context.options.break_lock);
        Ok(is_free.then(lock).and_then(Result::ok).map(Arc::new))
    };
    map_at_once(&run.sets, lock).unwrap_or_default()
}

/// Publishes all shards with the plan and the report. Returns the locks of the sets in stores that will be prepared.
pub(super) fn publish(
    context: &TaskContext,
    layout: &OutputLayout,
    run: &PlannedRun,
    (report, lock): (&ShardReport, &DatasetLock),
) -> Outcome<SetLocks> {
    let fs = &*context.fs;
    let first_input = run.files.first().map(|file| file.path.as_path());
    let inputs = run.files.iter().map(|file| {
        let (path, stamp) = file.of_input();
        RecordedInput { path: path.to_owned(), stamp }
    });
    let mut recorded =
        Recorded { plan_hash: layout.hash(), plan: layout.plan.clone(), inputs: inputs.collect(), outputs: Vec::new() };
    Folders::with(fs, first_input, |folders| {
        let shards: usize = run.sets.iter().map(|set| set.planned.shards.len()).sum();
        let publication = Publication::begin(fs, layout.root(), &layout.run_folder)?.with_lock(lock, ACTIVITY);
        let (locks, is_prepared) = (Mutex::default(), !layout.plan.preparation.no_prepare);
        let take_locks = || {
            let taken = if is_prepared { lock_sets(context, run) } else { SetLocks::new() };
            *locks.lock() = taken;
        };
        let publication = publication.with_work(take_locks).with_listing(&layout.output);
        // The two additional files are the plan and the report.
        let mut publication = publication.counting(&context.progress, shards as u64 + 2);
        let mut records = Vec::new();
        for (number, set) in run.sets.iter().enumerate() {
            let work = WorkFolders::of(&layout.run_folder.work_folder(), number);
            for (position, shard) in set.planned.shards.iter().enumerate() {
                context.cancel.check()?;
                let target = set.output.join(&shard.name);
                if layout.plan.append && files::try_is_taken(&target)? {
                    let failure = Failure::data("making the shards visible", "a file of that name appeared meanwhile");
                    return Err(failure.on(Subject::path(target)).with_hint("run the same command again"));
                }
                let record = work.record(position);
                if files::is_file(&record) {
                    recorded.outputs.push(RecordedOutput { path: target.clone(), bytes: shard.archive_bytes });
                    publication.stage_upload(&target, &record)?;
                    records.push(record);
                    continue;
                }
                let file = FinishedFile::of(work.shard(position), target)?;
                folders.stage(&file, &mut publication, &mut recorded)?;
            }
        }
        if let Some(target) = &layout.lines {
            let file = FinishedFile::of(lines_path(layout), target.clone())?;
            folders.stage(&file, &mut publication, &mut recorded)?;
        }
        let yaml = typed_to_yaml(PLAN_OF, "shard", &layout.plan)?;
        publication.stage_bytes(&layout.run_folder.plan(), yaml.as_bytes(), RECORD_MODE)?;
        stage_report(&mut publication, &layout.run_folder, &recorded, report)?;
        context.cancel.check()?;
        publication.commit(&layout.run_folder.report())?;
        // The uploads of these records are published, so the records are obsolete. A record that cannot be removed does no harm.
        records.iter().for_each(|record| _ = fs.remove_file(record));
        Ok(locks.into_inner())
    })
}

/// Returns the path of the text lines before they are published.
pub(super) fn lines_path(layout: &OutputLayout) -> PathBuf {
    layout.run_folder.work_folder().join("lines.jsonl")
}

/// Whether all files exist that are written after the shards are published.
pub(super) fn are_prepared(layout: &OutputLayout) -> bool {
    if layout.plan.append {
        return has_indexed_shards(layout);
    }
    let is_prepared = |output: &Path| files::is_file(meta::in_nv_meta(output, meta::INFO_JSON));
    // A set without shards has no folder.
    let sets = layout.sets.iter().all(|(_, output)| !files::is_dir(output) || is_prepared(output));
    let index = layout.lines.as_ref().is_none_or(|lines| files::is_file(index_path(lines)));
    (layout.plan.preparation.no_prepare || sets && index) && layout.metadataset.as_ref().is_none_or(files::is_file)
}

/// Whether the index of an extended set has the appended shards.
fn has_indexed_shards(layout: &OutputLayout) -> bool {
    matches!(Recorded::read(&layout.run_folder), Ok(Some(recorded)) if unindexed(layout, &recorded).is_ok_and(|names| names.is_empty()))
}

/// Returns the published shards of an earlier run that the index of the set does not have.
fn unindexed(layout: &OutputLayout, recorded: &Recorded) -> Outcome<Vec<String>> {
    let info = Info::read(&layout.output)?.unwrap_or_default();
    let known: HashSet<&str> = info.shard_counts.iter().map(|(name, _)| name.as_str()).collect();
    let there = recorded.outputs.iter().filter(|output| files::is_file(&output.path));
    let names = there.filter_map(|output| output.path.strip_prefix(&layout.output).ok()?.to_str());
    Ok(names.filter(|name| !known.contains(name)).map(str::to_owned).collect())
}

/// Returns the record of an earlier `--append` run that was killed before its shards were indexed, and the names of these shards. Its plan
/// may differ from this one.
fn interrupted(layout: &OutputLayout) -> Outcome<Option<(Recorded, Vec<String>)>> {
    let recorded = Recorded::read(&layout.run_folder)?.filter(|recorded| layout.plan.append && recorded.plan.append);
    let Some(recorded) = recorded else { return Ok(None) };
    let names = unindexed(layout, &recorded)?;
    Ok(Some((recorded, names)).filter(|(_, names)| !names.is_empty()))
}

fn report_interrupted(context: &TaskContext, layout: &OutputLayout, names: &[String], when: &str) -> Outcome<()> {
    let Some(first) = names.first() else { return Ok(()) };
    let left = count(names.len() as u64, "shard");
    let why = format!("an interrupted run left {left} that no index has, {} first: {when}", display_safe(first));
    context.problems.report(Problem::note(ProblemKind::Other, Subject::path(&layout.output), why))
}

/// With `--append`: reports shards of an interrupted run, which the next run will index.
pub(super) fn note_interrupted(context: &TaskContext, layout: &OutputLayout) -> Outcome<()> {
    let names = interrupted(layout)?.map(|(_, names)| names).unwrap_or_default();
    report_interrupted(context, layout, &names, "indexed by the next run")
}

/// With `--append`: indexes the shards of an interrupted run with the plan of that run, so that their keys are known. Returns whether there
/// were any.
pub(super) fn index_interrupted(context: &TaskContext, layout: &OutputLayout) -> Outcome<bool> {
    let Some((recorded, mut names)) = interrupted(layout)? else { return Ok(false) };
    context.phase(Phase::Tables, "preparing");
    prepare_published(context, &OutputLayout::of(&recorded.plan)?)?;
    // Shards that the plan of the set omits remain without an index.
    let left_out = unindexed(layout, &recorded)?;
    names.retain(|name| !left_out.contains(name));
    report_interrupted(context, layout, &names, "indexed now")?;
    Ok(!names.is_empty())
}

/// Writes the files that need the prepared sets: the index of the text lines, and the metadataset.
pub(super) fn complete(context: &TaskContext, layout: &OutputLayout) -> Outcome<()> {
    if let Some(lines) = layout.lines.as_ref().filter(|_| !layout.plan.preparation.no_prepare) {
        let plan = PreparePlan::new(lines.to_string_lossy());
        context.run_part(jsonl::start(&plan, false, context.options.clone(), Arc::clone(&context.fs))?)?;
    }
    let Some(path) = &layout.metadataset else { return Ok(()) };
    let splits = published_splits(layout)?;
    let mut made = Vec::new();
    make_folder(&*context.fs, folder_of(path), FOLDER_MODE, &mut made)?;
    write_file(&*context.fs, path, metadataset_of(layout, path, &splits)?.as_bytes(), RECORD_MODE)
}

/// Returns the names of the splits of published shards; empty if there is only one split.
fn published_splits(layout: &OutputLayout) -> Outcome<Vec<String>> {
    let Some(recorded) = Recorded::read(&layout.run_folder)? else { return Ok(Vec::new()) };
    let folders = recorded.outputs.iter().filter_map(|output| {
        let below = layout.sets.iter().find_map(|(_, set)| output.path.strip_prefix(set).ok());
        below?.parent()?.to_str()
    });
    let mut splits: Vec<String> = folders.filter(|name| !name.is_empty()).map(str::to_owned).collect();
    splits.sort();
    splits.dedup();
    Ok(splits)
}

/// Returns a metadataset of the set or lines without media, with the media set as an aux source.
fn metadataset_of(layout: &OutputLayout, path: &Path, splits: &[String]) -> Outcome<String> {
    let (Some((_, media)), Some(rest)) = (layout.sets.last(), layout.lines.as_ref().or(layout.plan.output.as_ref()))
    else {
        return Err(Failure::internal("writing the metadataset", "there are no media apart"));
    };
    // Text lines have no splits.
    let splits = match splits {
        splits if layout.lines.is_some() || splits.is_empty() => vec!["train".to_owned()],
        splits => splits.to_vec(),
    };
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let aux = MixAux { is_relative: true, ..MixAux::new(MEDIA, text(media)) };
    let member = MixMember { is_relative: true, aux: vec![aux], ..MixMember::new(text(rest), 1.0) };
    render_member(path, &member, &splits)
}

/// Checks that all new sets can be prepared, as far as this is known before they are written. Returns the problems that preparation will
/// report for splits and the field map.
///
/// # Errors
/// Preparation would be refused.
pub(super) fn check_preparation(plan: &ShardPlan, run: &PlannedRun) -> Outcome<Vec<Problem>> {
    let mut found = Vec::new();
    for set in run.sets.iter().filter(|_| !plan.preparation.no_prepare) {
        found.extend(check_set(plan, set, run.written_parts.as_ref())?);
    }
    Ok(found)
}

fn check_set(plan: &ShardPlan, set: &PlannedSet, parts: Option<&PartTally>) -> Outcome<Vec<Problem>> {
    let shards = set.planned.shards.iter();
    let shard =
        |shard: &PlannedShard| ShardFacts { name: shard.name.clone(), samples: shard.samples, ..ShardFacts::default() };
    let shards: Vec<ShardFacts> = shards.map(shard).collect();
    if plan.append {
        return check_new_splits(plan, set, shards).map(|()| Vec::new());
    }
    let names = || NamesBelow { has_shard: true, has_media: false, tables: None };
    let mut facts = DatasetFacts::new(set.output.clone(), folder_kind(&set.output, names));
    facts.opened = true;
    facts.shards = shards;
    if let Some(parts) = parts {
        facts.parts = parts.facts();
        (facts.samples_seen, facts.scan_complete) = (parts.samples(), true);
    }
    let problems = validate(&prepare_plan(plan, &set.output, &set.splits()), &facts);
    let Some(refusal) = problems.iter().find(|problem| problem.severity == Severity::Refusal).cloned() else {
        let is_known = |problem: &Problem| PREPARATION_KINDS.contains(&problem.kind);
        return Ok(problems.into_iter().filter(is_known).collect());
    };
    Err({
        let is_of_pattern = matches!(refusal.kind, ProblemKind::EmptySplit | ProblemKind::MatchesNothing);
        let mut failure = refusal.into_failure();
        "checking how the new set is prepared".clone_into(&mut failure.what);
        // The hint of `prepare` names a flag for empty splits that `shard` does not have.
        match is_of_pattern {
            true => failure
                .with_hint("patterns are regular expressions, matched at the start of the names of the new shards"),
            false => failure,
        }
    })
}

/// With `--append`: fails if a new shard would be in no split, by the plan or by the recorded split patterns, or without `--new-to` in
/// another split than its samples.
fn check_new_splits(plan: &ShardPlan, set: &PlannedSet, new: Vec<ShardFacts>) -> Outcome<()> {
    let mut facts = dataset::open(&set.output)?.facts;
    let Some(prepared) = facts.prepared.as_ref().filter(|prepared| !prepared.splits.is_empty()) else { return Ok(()) };
    let splits: Vec<&str> = prepared.splits.iter().map(|(name, _)| name.as_str()).collect();
    let hint = format!("--new-to NAME names the split of the new shards; there are {}", splits.join(", "));
    let first = facts.shards.len();
    facts.shards.extend(new);
    let resolved = resolve_in(&inherited(&prepare_plan(plan, &set.output, &[]), facts.prepared.as_ref()), &facts);
    if let Some(refusal) = resolved.problems.into_iter().find(|problem| problem.severity == Severity::Refusal) {
        let mut failure = refusal.into_failure();
        ADDING.clone_into(&mut failure.what);
        return Err(failure);
    }
    let new_index = |id: &ShardId| (id.0 as usize).checked_sub(first);
    let unassigned = resolved.unassigned.iter().filter_map(new_index).count() as u64;
    if unassigned > 0 {
        let why = format!("the recorded splits have no place for {}", count(unassigned, "new shard"));
        let failure = Failure::usage(ADDING, why).on(Subject::field("--new-to"));
        return Err(failure.of_kind(ProblemKind::UnassignedShards).with_hint(hint));
    }
    if plan.new_to.is_some() {
        return Ok(());
    }
    for (split, shards) in &resolved.splits {
        let new = shards.iter().filter_map(new_index).filter_map(|index| set.planned.shards.get(index));
        let mut others = new.filter(|shard| !shard.split.is_empty() && shard.split != *split);
        if let Some(shard) = others.next() {
            let own = &shard.split;
            let why = format!("its samples are in split {own}, and the recorded splits of the set add it to {split}");
            let hint = format!("add one split after the other: --split {own} --new-to NAME; --one-split adds all");
            return Err(Failure::usage(ADDING, why).on(Subject::path(set.output.join(&shard.name))).with_hint(hint));
        }
    }
    Ok(())
}

/// Prepares a set whose shards are published. Shards without an index spool are scanned.
pub(super) fn prepare(
    context: &TaskContext,
    layout: &OutputLayout,
    (set, lock): (&PlannedSet, Option<Arc<DatasetLock>>),
    spools: Vec<SpooledShard>,
) -> Outcome<()> {
    let mut shards = Vec::with_capacity(spools.len());
    if set.output != layout.output {
        files::fetch_listing(&set.output);
    }
    for (shard, mut spool) in set.planned.shards.iter().zip(spools) {
        let path = set.output.join(&shard.name);
        let info = files::metadata(&path).map_err(|error| Failure::io("preparing", &path, &error))?;
        spool.scan.stamp = stamp_at(&path)?;
        let shard = Shard { name: shard.name.clone(), path, stamp: spool.scan.stamp, mode: info.mode, is_tgz: false };
        shards.push((shard, spool));
    }
    let plan = prepare_plan(&layout.plan, &set.output, &set.splits());
    hand_over(&*context.fs, &plan, shards)?;
    prepare_by(context, &plan, lock)
}

/// Prepares sets whose shards were published by a killed run. Shards are scanned unless that run passed on their index spools.
pub(super) fn prepare_published(context: &TaskContext, layout: &OutputLayout) -> Outcome<()> {
    let splits = published_splits(layout)?;
    let is_prepared = |output: &Path| files::is_file(meta::in_nv_meta(output, meta::INFO_JSON));
    let is_open = |output: &Path| files::is_dir(output) && (layout.plan.append || !is_prepared(output));
    for (_, output) in layout.sets.iter().filter(|(_, output)| !layout.plan.preparation.no_prepare && is_open(output)) {
        let names = splits.iter().map(String::as_str).filter(|split| files::is_dir(output.join(split)));
        prepare_by(context, &prepare_plan(&layout.plan, output, &names.collect::<Vec<_>>()), None)?;
    }
    complete(context, layout)
}

/// Runs a plan of `prepare`, and reports its problems and notes.
fn prepare_by(context: &TaskContext, plan: &PreparePlan, lock: Option<Arc<DatasetLock>>) -> Outcome<()> {
    let report = run_prepare(context, plan, lock).map_err(|failure| {
        // Fields are tried on samples, which exist only after the shards are written, so the data are the cause.
        let (failure, command) = match failure.kind {
            Some(ProblemKind::FieldFails) => {
                let what = "preparing the new set".to_owned();
                (Failure { class: ExitClass::Data, what, ..failure }, crude_command(plan))
            }
            _ if plan.rerun == Rerun::Update => (failure, "gristmill prepare PATH --update".to_owned()),
            _ => (failure, "gristmill prepare PATH".to_owned()),
        };
        let command = hint_for(Path::new(&plan.path), &command);
        let prepares = format!("the shards are in place: {command} prepares them");
        let hint = failure.hint.clone().map_or(prepares.clone(), |hint| format!("{hint}; {prepares}"));
        failure.with_hint(hint)
    })?;
    let listed = report.problems.len();
    for problem in report.problems {
        context.problems.report(problem)?;
    }
    let counted: u64 = report.counts.iter().map(|(_, _, number)| number).sum();
    if counted > listed as u64 {
        context.log(format!("{} more findings of prepare are in its report", counted - listed as u64));
    }
    Ok(())
}

/// Returns the command that prepares a set for any samples, with the splits of a plan.
fn crude_command(plan: &PreparePlan) -> String {
    let splits = match &plan.splits {
        SplitPlan::Ratio(ratio) => format!("--split-ratio {}", shell_quote(ratio)),
        SplitPlan::Patterns(patterns) => {
            let flag = |split: &SplitPattern| {
                format!("--split-parts {}", shell_quote(&format!("{}:{}", split.name, split.pattern)))
            };
            patterns.iter().map(flag).collect::<Vec<_>>().join(" ")
        }
        SplitPlan::Unset | SplitPlan::Listed(_) => "--splits-from FILE".to_owned(),
    };
    format!("gristmill prepare PATH {splits} --sample-type {CRUDE_CLASS}")
}

/// Returns the plan for preparing a new set.
fn prepare_plan(plan: &ShardPlan, output: &Path, splits: &[&str]) -> PreparePlan {
    let preparation = &plan.preparation;
    if plan.append {
        let (media, new_to) = (preparation.media.clone(), plan.new_to.clone());
        return PreparePlan { rerun: Rerun::Update, new_to, media, ..PreparePlan::new(output.to_string_lossy()) };
    }
    let pattern = |split: &&str| SplitPattern { name: (*split).to_owned(), pattern: format!("{}/.*", literal(split)) };
    PreparePlan {
        splits: match &preparation.splits {
            SplitPlan::Unset if splits.is_empty() => SplitPlan::Ratio("1,0,0".into()),
            SplitPlan::Unset => SplitPlan::Patterns(splits.iter().map(pattern).collect()),
            given => given.clone(),
        },
        loading: match &preparation.loading {
            SampleMapping::Unset => SampleMapping::Crude { cooker: false },
            given => given.clone(),
        },
        dataset_yaml_name: preparation.dataset_yaml_name.clone(),
        media: preparation.media.clone(),
        ..PreparePlan::new(output.to_string_lossy())
    }
}

/// Returns a regular expression, without braces, that matches this text literally.
fn literal(text: &str) -> String {
    let mut pattern = String::new();
    for character in text.chars() {
        match character {
            '{' => pattern.push_str(r"\x7b"),
            '}' => pattern.push_str(r"\x7d"),
            ',' => pattern.push_str(r"\x2c"),
            '_' | '-' | '/' => pattern.push(character),
            other if other.is_alphanumeric() || !other.is_ascii() => pattern.push(other),
            other => pattern.extend(['[', other, ']']),
        }
    }
    pattern.replace("[^]", r"\^").replace(r"[\]", r"\\").replace("[]]", r"\]")
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_pycompat::pattern::Pattern;

    #[test]
    fn split_names_are_matched_literally() {
        for name in ["train", "a.b", "a{1,2}", "[x]", "^a\\b$", "ü ö"] {
            let pattern = Pattern::compile(&literal(name)).unwrap();
            assert!(pattern.is_found(name), "{name}");
            assert!(!literal(name).contains(['{', '}', ',']));
        }
        assert!(!Pattern::compile(&literal("a.b")).unwrap().is_found("axb"));
    }
}
