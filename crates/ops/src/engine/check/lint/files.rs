//! Compares the files on disk with the index: finds new and missing shards, and leftover files.

use crate::engine::check::{bad_file, PreparedDataset};
use crate::engine::dataset::{self, has_indexed_tar, left_out_on_purpose};
use crate::engine::plan::many_shards;
use gristmill_core::shard::index_name;
use gristmill_core::{Outcome, PreparePlan, Problem, ProblemKind, ProblemSink, Shard, ShardId, Subject, Tgz};
use gristmill_data::formats::energon::layout;
use gristmill_data::source::discover::discover;
use gristmill_storage::files;
use gristmill_storage::location::hint_for;
use gristmill_storage::lock::DatasetLock;
use gristmill_storage::run_folder::RunFolder;
use std::collections::{BTreeSet, HashSet};
use std::path::Path;

/// Limit of shards that are named individually; further shards are counted.
const MAX_NAMED_SHARDS: usize = 20;

pub(in crate::engine::check) fn check(prepared: &PreparedDataset, problems: &dyn ProblemSink) -> Outcome<()> {
    let found = match discover(&prepared.root) {
        Ok(found) => found,
        Err(failure) => return problems.report(bad_file(failure)),
    };
    let plan = recorded_plan(prepared);
    let concerns = dataset::concerns(plan.as_ref());
    found.findings.into_iter().filter(concerns).try_for_each(|finding| problems.report(finding))?;
    shards(prepared, plan.as_ref(), &found.shards, problems)?;
    if let Some(note) = many_shards(prepared.info.shard_counts.len()) {
        problems.report(note)?;
    }
    report_leftovers(prepared, &found.shards, problems)
}

fn shards(
    prepared: &PreparedDataset,
    plan: Option<&PreparePlan>,
    found: &[Shard],
    problems: &dyn ProblemSink,
) -> Outcome<()> {
    let indexed: HashSet<&str> = prepared.info.shard_counts.iter().map(|(name, _)| name.as_str()).collect();
    let on_purpose = left_out_on_purpose(plan);
    let rewritten = plan.is_some_and(|plan| plan.tgz == Tgz::Rewrite);
    let others = found.iter().map(|s| s.name.as_str()).filter(|n| !indexed.contains(n) && !on_purpose(n));
    let (twins, new): (Vec<&str>, Vec<&str>) = others.partition(|name| has_indexed_tar(name, &indexed));
    for name in twins.iter().filter(|_| !rewritten).take(MAX_NAMED_SHARDS) {
        problems.report(with_its_tar(&prepared.root, name))?;
    }
    for name in new.iter().take(MAX_NAMED_SHARDS) {
        let message = "this shard is on disk but not in the index; no trainer sees it";
        problems.report(
            Problem::problem(ProblemKind::ShardNotIndexed, Subject::shard(*name), message)
                .with_hint(hint_for(&prepared.root, "gristmill prepare PATH --update takes it in")),
        )?;
    }
    if new.len() > MAX_NAMED_SHARDS {
        let message = format!(
            "{} on disk but not in the index",
            gristmill_core::text::count_verb((new.len() - MAX_NAMED_SHARDS) as u64, "more shard", "is", "are")
        );
        problems.report(Problem::problem(ProblemKind::ShardNotIndexed, Subject::default(), message))?;
    }
    Ok(())
}

/// Returns the plan of the last run; `None` when there is none or it cannot be parsed.
fn recorded_plan(prepared: &PreparedDataset) -> Option<PreparePlan> {
    let own = RunFolder::for_webdataset(&prepared.root);
    let bytes = gristmill_storage::read::read_whole(&own.plan(), 64 << 20).ok().flatten()?;
    crate::engine::plan::file::from_yaml(std::str::from_utf8(&bytes).ok()?).ok()
}

/// Returns the finding for a `.tgz` next to an indexed `.tar` that was not unpacked from it.
fn with_its_tar(root: &Path, name: &str) -> Problem {
    let message = "not in the index: its .tar is next to it, and both would have the same .tar.idx";
    Problem::problem(ProblemKind::IndexNameCollision, Subject::shard(name), message)
        .with_hint(hint_for(root, "remove one of the two, or rename one and run gristmill prepare PATH --update"))
}

/// Reports index files without a shard, temporary files, and work of a run that ended.
fn report_leftovers(prepared: &PreparedDataset, found: &[Shard], problems: &dyn ProblemSink) -> Outcome<()> {
    let expected: HashSet<String> = (0..prepared.shard_count())
        .filter_map(|id| prepared.entry(ShardId(id)))
        .map(|(name, _)| name)
        .chain(found.iter().map(|s| s.name.as_str()))
        .map(index_name)
        .collect();
    let mut folders: BTreeSet<&str> = found.iter().map(|s| folder_of(&s.name)).collect();
    folders.insert("");
    for folder in folders {
        let Ok(entries) = files::read_dir(prepared.root.join(folder)) else { continue };
        for entry in entries.flatten() {
            let Some(file) = entry.file_name().to_str() else { continue };
            let name = if folder.is_empty() { file.to_owned() } else { format!("{folder}/{file}") };
            let message = if name.ends_with(".tar.idx.tmp") {
                "left over from an interrupted run"
            } else if name.ends_with(".tar.idx") && !expected.contains(&name) {
                "an index file without its shard"
            } else {
                continue;
            };
            problems.report(
                Problem::note(ProblemKind::Other, Subject::path(prepared.root.join(&name)), message)
                    .with_hint("it is not used; remove it"),
            )?;
        }
    }
    own_work(prepared, problems)
}

fn own_work(prepared: &PreparedDataset, problems: &dyn ProblemSink) -> Outcome<()> {
    let own = RunFolder::for_webdataset(&prepared.root);
    let is_running = DatasetLock::holder(&own).ok().flatten().is_some();
    if !is_running && prepared.pending.is_none() && has_files(&own.work_folder()) {
        let message = "work of a run that did not finish";
        problems.report(
            Problem::note(ProblemKind::Other, Subject::path(own.work_folder()), message)
                .with_hint("the next prepare resumes it; --restart discards it"),
        )?;
    }
    let journal = layout::in_nv_meta(&prepared.root, "index.sqlite-journal");
    if files::exists(&journal) {
        let message = "an unfinished change of index.sqlite is next to it";
        problems.report(Problem::problem(ProblemKind::BadFile, Subject::path(journal), message))?;
    }
    Ok(())
}

fn has_files(folder: &Path) -> bool {
    files::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some())
}

fn folder_of(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(folder, _)| folder)
}
