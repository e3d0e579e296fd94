//! The output files of `--format nanosets`.

use super::files::{is_done, spool, TokenFolder};
use super::writer::Writer;
use super::{logs, target};
use crate::job::task::TaskContext;
use crate::tokens::encode::{Kind, RowAssignment, RowOrder};
use crate::tokens::format::{
    AssignedFiles, FileAssignmentRequest, FileEstimate, ReadingOrder, TokenOutput, TokenWriter,
};
use crate::tokens::spools::{SpoolOptions, SpoolRules};
use gristmill_core::pack::{DocumentShuffle, TaskShare};
use gristmill_core::{Failure, Outcome, Subject};
use gristmill_data::formats::nanosets::{index_path, loss_path, metadata_path};
use gristmill_data::source::documents::TextFile;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Maximum number of tasks by default.
const MAX_TASKS: usize = 64;
/// Maximum number of files per task in a preview.
const MAX_SHOWN_FILES: u64 = 1_000;
/// Size of an entry of the index, in bytes.
const INDEX_ITEM_BYTES: u64 = 8;

/// Assigns files or rows to tasks, and returns those of the tasks of this run.
pub(super) fn assign_files(request: FileAssignmentRequest<'_>) -> Outcome<AssignedFiles> {
    let FileAssignmentRequest { plan, spec, place, files } = request;
    let target = target(plan);
    let usual = files.len().clamp(1, MAX_TASKS);
    let tasks = target.tasks.unwrap_or(u32::try_from(usual).unwrap_or(1)).max(1);
    if let Some(rank) = target.rank.filter(|rank| *rank >= tasks) {
        let tasks = gristmill_core::text::count_verb(u64::from(tasks), "task", "is", "are");
        let why = format!("there is no task {rank}: {tasks} numbered from 0");
        return Err(Failure::usage("packing for nanosets", why).on(Subject::field("--rank")));
    }
    let wanted = (0..tasks).filter(|rank| target.rank.is_none_or(|only| only == *rank));
    let ranks: Vec<u32> = wanted.filter(|rank| !is_done(plan, *rank)).collect();
    let order = match target.deal {
        TaskShare::Files => None,
        TaskShare::Rows => Some(RowOrder::InTurn),
        TaskShare::Blocks => Some(RowOrder::Blocks),
    };
    let TaskFiles { files, slots, file_names, row_filter: deal } = match order {
        Some(order) => assign_rows(order, tasks, &ranks, files),
        None => assign_whole_files(tasks, &ranks, files),
    };
    let output = TokenFolder {
        plan: plan.clone(),
        target,
        place: place.path,
        ranks,
        tasks,
        file_names,
        token_bytes: spec.token.bytes(),
        has_loss: spec.kind == Kind::LossMask,
        row_filter: deal,
    };
    logs::check_tasks(plan, tasks)?;
    Ok(AssignedFiles { files, slots, order: ReadingOrder::PerSlot, index: None, output: Box::new(output) })
}

/// The files of the tasks of a run.
struct TaskFiles {
    files: Vec<TextFile>,
    slots: Vec<usize>,
    /// Names of the input files of each task.
    file_names: Vec<Vec<String>>,
    row_filter: Option<Arc<RowAssignment>>,
}

/// Assigns file I to task I modulo the number of tasks.
fn assign_whole_files(tasks: u32, ranks: &[u32], files: Vec<TextFile>) -> TaskFiles {
    let mut dealt =
        TaskFiles { files: Vec::new(), slots: Vec::new(), file_names: vec![Vec::new(); ranks.len()], row_filter: None };
    for (at, file) in files.into_iter().enumerate() {
        let rank = u32::try_from(at % usize::try_from(tasks).unwrap_or(1)).unwrap_or(0);
        let Ok(slot) = ranks.binary_search(&rank) else { continue };
        if let Some(names) = dealt.file_names.get_mut(slot) {
            names.push(file.name.clone());
        }
        dealt.slots.push(slot);
        dealt.files.push(file);
    }
    dealt
}

fn assign_rows(order: RowOrder, tasks: u32, ranks: &[u32], files: Vec<TextFile>) -> TaskFiles {
    let (deal, files) = RowAssignment::new(order, tasks, ranks.to_vec(), files);
    let mut file_names = vec![Vec::new(); ranks.len()];
    for (number, file) in files.iter().enumerate() {
        for slot in deal.slots(number) {
            file_names.get_mut(slot).into_iter().for_each(|names| names.push(file.name.clone()));
        }
    }
    TaskFiles { slots: vec![0; files.len()], files, file_names, row_filter: Some(Arc::new(deal)) }
}

impl SpoolRules for TokenFolder {
    fn spool_options(&self, spool: &str) -> SpoolOptions {
        SpoolOptions { head_bytes: 0, is_reread: !spool.ends_with(".ds") || self.target.is_shuffled() }
    }

    fn is_growing(&self, _: &str, _: Option<usize>) -> bool {
        true
    }
}

impl TokenOutput for TokenFolder {
    fn slots(&self) -> usize {
        self.ranks.len()
    }

    fn row_assignment(&self) -> Option<Arc<RowAssignment>> {
        self.row_filter.clone()
    }

    fn path(&self) -> PathBuf {
        self.place.clone()
    }

    /// Lists only the first file of a shuffled task, because the number of its files is known at the end of the task.
    fn files(&self) -> Vec<(String, PathBuf)> {
        let of_rank = |rank: &u32| {
            let data = self.first_data(*rank);
            let mut files = vec![("ds", data.clone()), ("index", index_path(&data))];
            files.extend(self.has_loss.then(|| ("loss", loss_path(&data))));
            files.push(("metadata", metadata_path(&data)));
            files.into_iter().map(|(end, path)| (spool(*rank, end), path)).collect::<Vec<_>>()
        };
        self.ranks.iter().flat_map(of_rank).collect()
    }

    /// A task without a completion file is processed again, even if its files exist.
    fn occupied(&self, is_foreign: &dyn Fn(&Path) -> bool) -> Option<PathBuf> {
        if self.target.logging_dir.is_some() {
            return None;
        }
        let is_shuffled = self.target.shuffle == DocumentShuffle::Documents || self.target.chunk_size.is_some();
        let of_rank = |rank: &u32| {
            let shuffled = is_shuffled.then(|| self.data(*rank, 0));
            std::iter::once(self.unshuffled(*rank)).chain(shuffled).collect::<Vec<_>>()
        };
        self.ranks.iter().flat_map(of_rank).find(|path| is_foreign(path))
    }

    fn packed_documents(&self, documents: u64) -> u64 {
        // Each file has rows for all tasks.
        let documents = match self.target.deal {
            TaskShare::Rows => documents * self.ranks.len() as u64 / u64::from(self.tasks.max(1)),
            TaskShare::Files | TaskShare::Blocks => documents,
        };
        if self.target.skip == 0 && self.target.limit.is_none() {
            return documents;
        }
        let tasks = (self.ranks.len() as u64).max(1);
        let each = (documents / tasks).saturating_sub(self.target.skip).min(self.target.limit.unwrap_or(u64::MAX));
        each.saturating_mul(tasks)
    }

    fn estimate(&self, documents: u64, tokens: u64) -> FileEstimate {
        let each = tokens / (self.ranks.len().max(1) as u64);
        let files = match self.target.max_tokens_per_file {
            Some(most) if self.target.is_shuffled() => each.div_ceil(most.max(1)).clamp(1, MAX_SHOWN_FILES),
            _ => 1,
        };
        let of_rank = |rank: &u32| match self.has_rows(*rank) {
            true => (0..files).map(|number| self.data(*rank, number)).collect(),
            false => vec![self.unshuffled(*rank)],
        };
        FileEstimate {
            items: documents,
            extra_bytes: documents * INDEX_ITEM_BYTES,
            files: self.ranks.iter().map(of_rank).collect(),
            ..FileEstimate::default()
        }
    }

    fn scratch_bytes(&self, bytes: u64, _: u64) -> u64 {
        bytes * u64::from(self.target.is_shuffled())
    }

    fn writer(&self) -> Box<dyn TokenWriter + '_> {
        Box::new(Writer::new(self))
    }

    fn begin_run(&self, context: &TaskContext) -> Outcome<()> {
        logs::Logs::new(context, self).begin()
    }

    fn record_failure(&self, context: &TaskContext, failure: &Failure) {
        logs::Logs::new(context, self).failed(failure);
    }
}
