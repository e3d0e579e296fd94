//! Copies files, several at once, within a share of the memory.

use super::sources::OWN_NAME;
use super::{CopyItem, Target, FILES_AT_ONCE, WHAT};
use crate::job::exclusive_output::{folder_of, ExclusiveOutput};
use crate::job::overall::{cost, Forecast};
use crate::job::pool::run_units;
use crate::job::task::TaskContext;
use crate::job::Phase;
use gristmill_core::{Failure, Outcome, Problem, ProblemKind, ProblemSink as _};
use gristmill_storage::files::missing_folders;
use gristmill_storage::location::is_remote;
use gristmill_storage::run_folder::RunFolder;
use gristmill_storage::store::WatchBytes;
use gristmill_storage::transfer::{copy_file, copy_in_store, copy_memory, CopyFailure};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Share of the memory that copies may take: one of this many parts.
const MEMORY_SHARE: u64 = 4;
/// Permission bits of new folders.
const FOLDER_MODE: u32 = 0o755;

/// A file that was copied.
pub(super) struct CopiedFile {
    pub(super) bytes: u64,
    /// Whether the store copied it itself.
    pub(super) is_by_store: bool,
}

/// Copies files; returns those that were copied. Files that cannot be read are problems.
pub(super) fn copy_items(target: &Target, items: &[CopyItem], context: &TaskContext) -> Outcome<Vec<CopiedFile>> {
    let bytes = items.iter().map(|item| item.info.len()).sum();
    let files = items.len() as u64;
    let forecast = Forecast::new(cost::copying(bytes) + files as f64 * cost::FILE_PUBLISHED, 0.0);
    context.stage(Phase::Write, "file", forecast, WHAT);
    context.progress.restart(files, bytes);
    let own = own_output(target, items);
    // What a killed run left is removed, even if there is nothing to copy.
    if items.is_empty() && (is_remote(&own) || !RunFolder::for_output(&own).exists()) {
        return Ok(Vec::new());
    }
    let output = match is_remote(&own) {
        true => None,
        false => Some(make_folders(&own, items, context)?),
    };
    let is_store = items.iter().any(|item| is_remote(&item.from) || is_remote(&item.to));
    let threads = if is_store { FILES_AT_ONCE } else { context.options.threads };
    let budget = MemoryBudget::new(context.options.memory_bytes / MEMORY_SHARE);
    let numbered: Vec<(usize, &CopyItem)> = items.iter().enumerate().collect();
    let copied = run_units(&numbered, threads, &context.cancel, |(number, item)| {
        let draft = output.as_ref().map(|output| output.draft(*number)).unwrap_or_default();
        copy_item(item, &draft, &budget, context)
    })?;
    Ok(copied.into_iter().flatten().collect())
}

/// Returns the output next to which unfinished files are: a single file itself, otherwise one in the folder that files are copied into.
fn own_output(target: &Target, items: &[CopyItem]) -> PathBuf {
    match items {
        [item] if target.is_of_one_file => item.to.clone(),
        _ => target.path.join(OWN_NAME),
    }
}

/// Creates the folders of the targets, and the locked folder of the unfinished files.
fn make_folders<'a>(own: &Path, items: &[CopyItem], context: &'a TaskContext) -> Outcome<ExclusiveOutput<'a>> {
    let folders: HashSet<&Path> = items.iter().map(|item| folder_of(&item.to)).collect();
    let make = |folder: &Path| {
        missing_folders(folder).into_iter().try_for_each(|folder| context.fs.create_dir(folder, FOLDER_MODE))
    };
    make(folder_of(own))?;
    let output = ExclusiveOutput::take(&*context.fs, own, &context.options)?;
    folders.into_iter().try_for_each(make)?;
    Ok(output)
}

fn copy_item(
    item: &CopyItem,
    draft: &Path,
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
            let _share = budget.take(copy_memory(&item.from, &item.to, item.info.len()));
            copy_file(&*context.fs, &item.from, &item.to, draft, &watch)?;
        }
        Ok(CopiedFile { bytes: item.info.len(), is_by_store })
    });
    context.progress.add(1, 0);
    match copied {
        Ok(copied) => Ok(Some(copied)),
        Err(CopyFailure::AllFiles(failure)) => context.cancel.check().and(Err(failure)),
        Err(CopyFailure::ThisFile(failure)) => {
            let kind = failure.kind.unwrap_or(ProblemKind::Unreadable);
            let problem = Problem::problem(kind, failure.subject, format!("{}, so it is not copied", failure.why));
            context.problems.report(match failure.hint {
                Some(hint) => problem.with_hint(hint),
                None => problem,
            })?;
            Ok(None)
        }
    }
}

/// Memory that copies share.
struct MemoryBudget {
    total: u64,
    left: Mutex<u64>,
    returned: Condvar,
}

/// A part of the memory, which is given back at the end.
struct MemoryShare<'a> {
    budget: &'a MemoryBudget,
    bytes: u64,
}

impl MemoryBudget {
    fn new(total: u64) -> Self {
        Self { total, left: Mutex::new(total), returned: Condvar::new() }
    }

    /// Waits until there is as much memory, or all of it if that is less.
    fn take(&self, bytes: u64) -> MemoryShare<'_> {
        let bytes = bytes.min(self.total);
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let is_short = |left: &mut u64| *left < bytes;
        let mut left = self.returned.wait_while(left, is_short).unwrap_or_else(PoisonError::into_inner);
        *left -= bytes;
        MemoryShare { budget: self, bytes }
    }
}

impl Drop for MemoryShare<'_> {
    fn drop(&mut self) {
        *self.budget.left.lock().unwrap_or_else(PoisonError::into_inner) += self.bytes;
        self.budget.returned.notify_all();
    }
}
