//! The sequence of a run, from opening the file to the last sync.

use super::{IndexAction, JoinReport, MetadatasetReport};
use crate::engine::mix::join::{build, steps, JoinCounts, JoinWork};
use crate::engine::mix::join_plan::{cache_folder, JoinPlan};
use crate::engine::mix::{joins, unreadable_rows, Joins};
use crate::job::exclusive_output::ExclusiveOutput;
use crate::job::job_progress::{cost, Forecast};
use crate::job::report::OutputFile;
use crate::job::task::TaskContext;
use crate::job::Phase;
use gristmill_core::text::count;
use gristmill_core::{Failure, Outcome, Problem, ProblemKind, ProblemSink, Severity, Subject};
use gristmill_data::formats::energon::join_idx::JoinIdx;
use gristmill_storage::files::{self, FolderEntry};
use gristmill_storage::publish::Publication;
use gristmill_storage::read::stamp_at;
use gristmill_storage::scratch::Scratch;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

/// Builds the indexes and performs the action. For `compat`, see [`start`](super::start).
pub(crate) fn run_prepare(
    path: &Path,
    compat: bool,
    aim: IndexAction,
    context: &TaskContext,
) -> Outcome<MetadatasetReport> {
    context.phase_of(Phase::Open, "member", "opening the members");
    let found = joins(path, context.handles())?;
    report_problems(path, &found, context)?;
    let mut report = MetadatasetReport { splits: found.splits, nothing_to_do: true, ..MetadatasetReport::default() };
    let scratch = Scratch::create(context.options.scratch.as_deref())?;
    let samples = found.plans.iter().map(steps).sum();
    let forecast = Forecast::new(cost::rows(samples), cost::publishing(found.plans.len() as u64));
    context.stage(Phase::Tables, "sample", forecast, "looking at the joins");
    context.progress.expect(samples, 0);
    // Grouped by file, because each file has its own cache and lock. The outermost file is included even without joins, so that stale
    // indexes in its cache are removed.
    let mut by_file: BTreeMap<&Path, Vec<&JoinPlan>> =
        found.files.iter().map(|file| (file.as_path(), Vec::new())).collect();
    for plan in &found.plans {
        let plans = by_file.entry(&plan.file).or_default();
        if plans.iter().all(|known| known.index() != plan.index()) {
            plans.push(plan);
        }
    }
    for (file, plans) in by_file {
        let keep: HashSet<&Path> = found
            .named
            .iter()
            .filter(|plan| plan.file == file)
            .flat_map(|plan| plan.names.iter())
            .map(PathBuf::as_path)
            .collect();
        let mut work = FileJoins { file, compat, context, scratch: scratch.path(), report: &mut report };
        match aim {
            IndexAction::Publish => work.publish(&plans, &keep)?,
            IndexAction::Preview => work.preview(&plans)?,
            IndexAction::Compare => work.compare(&plans)?,
        }
    }
    report.findings = context.run_findings();
    Ok(report)
}

/// Reports problems. Fails if the loader would refuse the metadataset.
fn report_problems(path: &Path, found: &Joins, context: &TaskContext) -> Outcome<()> {
    let refusals: Vec<&Problem> =
        found.problems.iter().filter(|problem| problem.severity == Severity::Refusal).collect();
    // A single refusal is returned as the failure, so it is not reported, too.
    let is_reported = |problem: &Problem| refusals.len() == 1 && problem.severity == Severity::Refusal;
    for problem in found.problems.iter().filter(|problem| !is_reported(problem)) {
        context.problems.report(problem.clone())?;
    }
    let Some(first) = refusals.first() else { return Ok(()) };
    let why = match refusals.len() {
        1 => first.message.clone(),
        n => format!("the loader would stop at {}; the first: {}", count(n as u64, "place"), first.message),
    };
    let mut failure = Failure::data("preparing the metadataset", why);
    failure.subject = if first.subject.is_empty() { Subject::path(path) } else { first.subject.clone() };
    failure.hint = first.hint.clone();
    Err(failure)
}

struct FileJoins<'a> {
    file: &'a Path,
    compat: bool,
    context: &'a TaskContext,
    scratch: &'a Path,
    report: &'a mut MetadatasetReport,
}

impl FileJoins<'_> {
    fn build(&self, plan: &JoinPlan, path: &Path) -> Outcome<JoinCounts> {
        let split = gristmill_core::text::display_safe(&plan.split);
        // The progress covers all files, so it is not restarted.
        self.context.rename(Phase::Tables, "sample", format!("joining split {split}"));
        let memory = usize::try_from(self.context.options.memory_bytes).unwrap_or(usize::MAX);
        let work = JoinWork { fs: &*self.context.fs, scratch: self.scratch, memory, compat: self.compat };
        let counts = build(plan, path, &work, &self.context.handles())?;
        for (input, &elsewhere) in plan.inputs.iter().zip(&counts.in_other_splits).filter(|(_, n)| **n > 0) {
            let message = format!(
                "{} of '{}' match only in another split or an excluded shard of it, and count as missing",
                count(elsewhere, "sample"),
                input.label
            );
            self.context.problems.report(Problem::note(
                ProblemKind::BadMember,
                Subject::path(&plan.shown).line(plan.at.line.into()),
                message,
            ))?;
        }
        if let Some((message, hint)) = unreadable_rows(counts.rows_with_nothing) {
            let subject = Subject::path(&plan.shown).line(plan.at.line.into());
            let note = Problem::note(ProblemKind::BadMetadataset, subject, message);
            self.context.problems.report(Problem { hint, ..note })?;
        }
        Ok(counts)
    }

    fn note(&mut self, plan: &JoinPlan, counts: &JoinCounts) {
        let filled = plan.inputs.iter().zip(&counts.filled).filter(|(_, n)| **n > 0);
        self.report.joins.push(JoinReport {
            file: plan.file.clone(),
            split: plan.split.clone(),
            samples: counts.samples,
            rows: counts.rows,
            skipped: counts.skipped,
            filled: filled.map(|(input, n)| (input.label.clone(), *n)).collect(),
            bytes: counts.bytes,
        });
    }

    /// Returns a path relative to the folder of the outermost file.
    fn name(&self, path: &Path) -> String {
        let folder = self.file.parent().unwrap_or(Path::new("/"));
        path.strip_prefix(folder).unwrap_or(path).to_string_lossy().into_owned()
    }

    /// Builds the indexes in the work folder, publishes those that differ, and removes stale ones.
    fn publish(&mut self, plans: &[&JoinPlan], keep: &HashSet<&Path>) -> Outcome<()> {
        let cache = cache_folder(self.file);
        if plans.is_empty() && stale(&cache, keep).is_empty() && !has_own_folder(self.file) {
            return Ok(());
        }
        let fs = &*self.context.fs;
        let place = ExclusiveOutput::create(fs, self.file, &self.context.options)?;
        let mut made: Vec<(&JoinPlan, PathBuf)> = Vec::new();
        for (number, plan) in plans.iter().enumerate() {
            let draft = place.draft(number);
            let counts = self.build(plan, &draft)?;
            self.note(plan, &counts);
            made.push((plan, draft));
        }
        self.context.rename(Phase::Publish, "sample", "writing the join indexes");
        self.context.cancel.check()?;
        let facts = files::metadata(self.file).map_err(|error| Failure::io("opening", self.file, &error))?;
        let mode = (facts.mode & 0o777) | 0o600;
        let is_new_folder = !plans.is_empty() && !files::is_dir(&cache);
        if is_new_folder {
            let folder = self.file.parent().unwrap_or(Path::new("/"));
            let model = files::metadata(folder).map_err(|error| Failure::io("opening", folder, &error))?;
            fs.create_dir(&cache, (model.mode & 0o2777) | 0o700)?;
            fs.sync_dir(folder)?;
        }
        let done = self.write_file(&place, &made, &cache, keep, mode);
        if done.is_err() && is_new_folder {
            // This only succeeds if the folder is empty.
            let _ = fs.raw_rmdir(&cache);
        }
        done
    }

    fn write_file(
        &mut self,
        place: &ExclusiveOutput<'_>,
        made: &[(&JoinPlan, PathBuf)],
        cache: &Path,
        keep: &HashSet<&Path>,
        mode: u32,
    ) -> Outcome<()> {
        let fs = &*self.context.fs;
        let folder = self.file.parent().unwrap_or(Path::new("/"));
        let mut publication = Publication::begin(fs, folder, &place.run_folder)?;
        let mut first: Option<&Path> = None;
        for (plan, draft) in made {
            for target in &plan.names {
                if is_same(draft, target, self.context)? {
                    continue;
                }
                publication.stage_file(target, draft.clone(), mode)?;
                let bytes = stamp_at(draft)?.bytes;
                let replaces = files::is_taken(target);
                self.report.files.push(OutputFile { name: self.name(target), bytes, replaces });
                first.get_or_insert(target);
            }
        }
        let stale = stale(cache, keep);
        for path in &stale {
            self.report.removed.push(self.name(path));
        }
        self.report.nothing_to_do &= first.is_none() && stale.is_empty();
        match first {
            Some(first) => {
                for path in &stale {
                    publication.remove(path)?;
                }
                publication.commit(first)
            }
            None => {
                drop(publication);
                stale.iter().try_for_each(|path| fs.remove_file(path))
            }
        }
    }

    fn preview(&mut self, plans: &[&JoinPlan]) -> Outcome<()> {
        for plan in plans {
            let draft = self.scratch.join("index");
            let counts = self.build(plan, &draft)?;
            self.note(plan, &counts);
            for target in &plan.names {
                if !is_same(&draft, target, self.context)? {
                    let replaces = files::is_taken(target);
                    self.report.files.push(OutputFile { name: self.name(target), bytes: counts.bytes, replaces });
                    self.report.nothing_to_do = false;
                }
            }
            self.context.fs.remove_file(&draft)?;
        }
        Ok(())
    }

    fn compare(&mut self, plans: &[&JoinPlan]) -> Outcome<()> {
        for plan in plans {
            let draft = self.scratch.join("index");
            let counts = self.build(plan, &draft)?;
            self.note(plan, &counts);
            let right = JoinIdx::open(&draft)?;
            for target in &plan.names {
                let found = match JoinIdx::open(target) {
                    Err(_) if !files::is_taken(target) => {
                        Some((ProblemKind::MissingFile, "the index of the join is not there".to_owned()))
                    }
                    Err(failure) => Some((ProblemKind::BadFile, failure.why)),
                    Ok(there) => there.first_difference(&right, &self.context.cancel)?.map(|row| {
                        let rows = (there.rows(), right.rows());
                        let why = match there.columns() == right.columns() {
                            false => format!(
                                "it joins {}, and the join has {}",
                                count(there.columns() as u64, "member"),
                                right.columns()
                            ),
                            true => format!(
                                "row {row} differs from what the members say now ({}, should be {})",
                                count(rows.0, "row"),
                                rows.1
                            ),
                        };
                        (ProblemKind::IndexMismatch, why)
                    }),
                };
                if let Some((kind, why)) = found {
                    let hint = "gristmill prepare of the metadataset makes it again";
                    self.context.problems.report(Problem::problem(kind, Subject::path(target), why).with_hint(hint))?;
                }
            }
            self.context.fs.remove_file(&draft)?;
        }
        Ok(())
    }
}

fn has_own_folder(file: &Path) -> bool {
    gristmill_storage::run_folder::RunFolder::for_output(file).exists()
}

/// Whether an identical index already exists.
fn is_same(draft: &Path, target: &Path, context: &TaskContext) -> Outcome<bool> {
    let is_file = files::symlink_metadata(target).is_ok_and(|facts| facts.is_file());
    // An index that cannot be read is replaced.
    let Some(old) = is_file.then(|| JoinIdx::open(target).ok()).flatten() else { return Ok(false) };
    Ok(JoinIdx::open(draft)?.first_difference(&old, &context.cancel)?.is_none())
}

/// Returns the indexes in the cache of a file that belong to none of its joins.
fn stale(cache: &Path, keep: &HashSet<&Path>) -> Vec<PathBuf> {
    let entries = files::read_dir(cache).into_iter().flatten().flatten();
    let mut stale: Vec<PathBuf> = entries
        .filter(|entry| {
            let name = entry.file_name().to_string_lossy();
            name.starts_with("join_index_") && name.ends_with(".bin") && !keep.contains(entry.path())
        })
        .map(FolderEntry::into_path)
        .collect();
    stale.sort();
    stale
}
