//! Copies files, several at the same time, with a limited share of the memory.

use super::rounds::{rounds, CopyRound};
use super::sources::{OWN_NAME, OWN_PREFIX};
use super::{threads, CopyItem, CopyPlan, Target, ACTIVITY};
use crate::job::exclusive_output::{folder_of, ExclusiveOutput};
use crate::job::job_progress::{cost, Forecast};
use crate::job::pool::run_units;
use crate::job::task::TaskContext;
use crate::job::Phase;
use gristmill_core::{Failure, Mutex, Outcome, Problem, ProblemKind, ProblemSink as _, Severity, Subject};
use gristmill_data::formats::folder_of_set;
use gristmill_storage::files::{self, FolderEntry};
use gristmill_storage::location::is_remote;
use gristmill_storage::run_folder::RunFolder;
use gristmill_storage::store::WatchBytes;
use gristmill_storage::transfer::{copy_file, copy_in_store, copy_memory, draft_prefix, CopyFailure};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, PoisonError};
use xxhash_rust::xxh3::xxh3_64;

/// Divisor of the memory that copies may use.
const MEMORY_SHARE: u64 = 4;
const RERUN_HINT: &str = "run the same command again";
/// Permission bits of new folders.
const FOLDER_MODE: u32 = 0o755;

/// A file that was copied.
pub(super) struct CopiedFile {
    pub(super) bytes: u64,
    /// Whether the file was copied within the store.
    pub(super) is_by_store: bool,
}

/// Copies files. Returns those that were copied. Files that cannot be read are problems; commit files are then not copied.
pub(super) fn copy_items(
    plan: &CopyPlan,
    target: &Target,
    items: &[CopyItem],
    context: &TaskContext,
) -> Outcome<Vec<CopiedFile>> {
    let bytes = items.iter().map(|item| item.info.len()).sum();
    let files = items.len() as u64;
    let forecast = Forecast::new(cost::copying(bytes) + files as f64 * cost::FILE_PUBLISHED, 0.0);
    context.stage(Phase::Write, "file", forecast, ACTIVITY);
    context.progress.restart(files, bytes);
    let own = own_output(plan, target);
    // Files of a killed run are removed at the end, even if there is nothing to copy.
    if items.is_empty() && (is_remote(&own) || !RunFolder::for_output(&own).exists()) {
        return Ok(Vec::new());
    }
    let mut output = match is_remote(&own) {
        true => None,
        false => Some(make_folders(&own, items, context)?),
    };
    let drafts = output.as_ref().map(ExclusiveOutput::work_folder).unwrap_or_default();
    let copied = copy_rounds(plan, items, &drafts, context);
    if let (Some(output), Err(_)) = (&mut output, &copied) {
        output.keep_work();
    }
    copied
}

fn copy_rounds(plan: &CopyPlan, items: &[CopyItem], drafts: &Path, context: &TaskContext) -> Outcome<Vec<CopiedFile>> {
    let budget = MemoryBudget::new(context.options.memory_bytes / MEMORY_SHARE);
    let copy_round = |round: CopyRound<'_>| -> Outcome<Vec<CopiedFile>> {
        let copied = run_units(&round, threads(items, context), &context.cancel, |item| {
            copy_item(plan, item, drafts, &budget, context)
        });
        let copied =
            copied.map_err(|failure| Failure { hint: failure.hint.map(|hint| rerun_hint(plan, &hint)), ..failure });
        Ok(copied?.into_iter().flatten().collect())
    };
    let [first, last] = rounds(items);
    let mut copied = copy_round(first)?;
    let gaps = UncopiedFiles::of(context);
    let (incomplete, last): (CopyRound<'_>, CopyRound<'_>) =
        last.into_iter().partition(|item| gaps.are_below(folder_of_set(&item.from)));
    copied.extend(copy_round(last)?);
    incomplete.into_iter().try_for_each(|item| report_incomplete(plan, item, context))?;
    Ok(copied)
}

/// Files that could not be copied. Entries that are not files are not included, because they belong to no set.
struct UncopiedFiles {
    paths: Vec<PathBuf>,
    /// Whether there are further files that are not known by their paths.
    has_others: bool,
}

impl UncopiedFiles {
    fn of(context: &TaskContext) -> Self {
        let is_gap =
            |severity: Severity, kind: ProblemKind| severity >= Severity::Problem && kind != ProblemKind::NotAFile;
        let counts = context.problems.counts().into_iter();
        let count: u64 = counts.filter(|(severity, kind, _)| is_gap(*severity, *kind)).map(|(.., count)| count).sum();
        let problems = context.problems.to_vec().into_iter().filter(|problem| is_gap(problem.severity, problem.kind));
        let paths: Vec<PathBuf> = problems.filter_map(|problem| problem.subject.path.map(PathBuf::from)).collect();
        Self { has_others: (paths.len() as u64) < count, paths }
    }

    fn are_below(&self, folder: &Path) -> bool {
        self.has_others || self.paths.iter().any(|path| path.starts_with(folder))
    }
}

fn report_incomplete(plan: &CopyPlan, item: &CopyItem, context: &TaskContext) -> Outcome<()> {
    let message = "it makes a set complete, and other files were not copied, so it is not copied";
    let problem = Problem::problem(ProblemKind::Other, Subject::path(&item.from), message);
    context.problems.report(problem.with_hint(rerun_hint(plan, &format!("fix the other problems, and {RERUN_HINT}"))))
}

/// Returns a hint with the flag that is needed to run the same command again.
fn rerun_hint(plan: &CopyPlan, hint: &str) -> String {
    match plan.if_changed || plan.overwrite {
        true => hint.to_owned(),
        false => hint.replace(RERUN_HINT, &format!("{RERUN_HINT} with --if-changed")),
    }
}

/// Returns the size of the unfinished files of an earlier run, in bytes.
pub(super) fn unfinished_bytes(plan: &CopyPlan, target: &Target, items: &[CopyItem]) -> u64 {
    let known = draft_prefixes(items);
    let drafts = files::read_dir(RunFolder::for_output(&own_output(plan, target)).work_folder()).into_iter().flatten();
    let of_items = drafts.flatten().filter(|draft| is_draft_of(&known, draft));
    of_items.filter_map(|draft| Some(draft.metadata().ok()?.len())).sum()
}

fn draft_prefixes(items: &[CopyItem]) -> HashSet<String> {
    items.iter().map(|item| draft_prefix(&item.from, &item.to)).collect()
}

fn is_draft_of(prefixes: &HashSet<String>, draft: &FolderEntry) -> bool {
    let name = draft.file_name().to_string_lossy();
    name.rfind('-').is_some_and(|at| prefixes.contains(&name[..=at]))
}

/// Returns the path next to which the run folder for unfinished files is created: a short name next to a single file, otherwise a name in
/// the target folder. The path is not the output of another command, whose unfinished work would be removed.
fn own_output(plan: &CopyPlan, target: &Target) -> PathBuf {
    match plan.sources.first().and_then(|source| source.file_name()).filter(|_| target.has_single_source_file) {
        Some(source) => {
            let to = if target.is_folder { target.path.join(source) } else { target.path.clone() };
            let name = to.file_name().unwrap_or_default();
            to.with_file_name(format!("{OWN_PREFIX}{:016x}", xxh3_64(name.as_encoded_bytes())))
        }
        None => target.path.join(OWN_NAME),
    }
}

/// Creates the folders of the targets, and the locked run folder for the unfinished files.
fn make_folders<'a>(own: &Path, items: &[CopyItem], context: &'a TaskContext) -> Outcome<ExclusiveOutput<'a>> {
    let folders: HashSet<&Path> = items.iter().map(|item| folder_of(&item.to)).collect();
    let journal = RunFolder::for_output(own).journal();
    if files::is_taken(&journal) {
        let failure = Failure::environment(ACTIVITY, "it is the journal of another command that was interrupted");
        return Err(failure.on(Subject::path(journal)).with_hint("finish that command, or remove its folder"));
    }
    let make = |folder: &Path| context.fs.create_folders(folder, FOLDER_MODE);
    make(folder_of(own))?;
    let output = ExclusiveOutput::take_with_work(&*context.fs, own, &context.options)?;
    let known = if context.options.restart { HashSet::new() } else { draft_prefixes(items) };
    let left = files::read_dir(output.work_folder()).into_iter().flatten().flatten();
    for draft in left.filter(|draft| !is_draft_of(&known, draft)) {
        context.fs.remove_file(draft.path())?;
    }
    folders.into_iter().try_for_each(make)?;
    Ok(output)
}

fn copy_item(
    plan: &CopyPlan,
    item: &CopyItem,
    drafts: &Path,
    budget: &MemoryBudget,
    context: &TaskContext,
) -> Outcome<Option<CopiedFile>> {
    context.cancel.check()?;
    let (cancel, progress) = (context.cancel.clone(), Arc::clone(&context.progress));
    let watch: Arc<WatchBytes> = Arc::new(move |bytes| {
        progress.add(0, bytes);
        cancel.check().map_err(Failure::into_io)
    });
    let copied = copy_in_store(&item.from, &item.to, watch.as_ref()).and_then(|is_by_store| {
        if !is_by_store {
            let bytes = item.info.len();
            let _share = budget.wait_for_memory(copy_memory(&item.from, &item.to, bytes));
            copy_file(&*context.fs, (&item.from, bytes), &item.to, drafts, &watch)?;
        }
        Ok(CopiedFile { bytes: item.info.len(), is_by_store })
    });
    context.progress.add(1, 0);
    match copied {
        Ok(copied) => Ok(Some(copied)),
        Err(CopyFailure::AllFiles(failure)) => context.cancel.check().and(Err(failure)),
        Err(CopyFailure::ThisFile(failure)) => {
            let kind = failure.kind.unwrap_or(ProblemKind::Unreadable);
            let problem = Problem::of_failure(kind, failure);
            let hint = problem.hint.as_ref().map(|hint| rerun_hint(plan, hint));
            let message = format!("{}, so it is not copied", problem.message);
            context.problems.report(Problem { message, hint, ..problem })?;
            Ok(None)
        }
    }
}

/// Memory shared by all copies.
struct MemoryBudget {
    total: u64,
    left: Mutex<u64>,
    returned: Condvar,
}

/// A share of the memory, which is returned on drop.
struct MemoryShare<'a> {
    budget: &'a MemoryBudget,
    bytes: u64,
}

impl MemoryBudget {
    fn new(total: u64) -> Self {
        Self { total, left: Mutex::new(total), returned: Condvar::new() }
    }

    /// Waits until this much memory is free, or all of it if the total is less.
    fn wait_for_memory(&self, bytes: u64) -> MemoryShare<'_> {
        let bytes = bytes.min(self.total);
        let left = self.left.lock();
        let is_short = |left: &mut u64| *left < bytes;
        let mut left = self.returned.wait_while(left, is_short).unwrap_or_else(PoisonError::into_inner);
        *left -= bytes;
        MemoryShare { budget: self, bytes }
    }
}

impl Drop for MemoryShare<'_> {
    fn drop(&mut self) {
        *self.budget.left.lock() += self.bytes;
        self.budget.returned.notify_all();
    }
}
