//! Names of the files and spools of tasks, and of the log folder.

use crate::tokens::encode::RowAssignment;
use gristmill_core::pack::NanosetsTarget;
use gristmill_core::{Failure, Outcome, PackPlan};
use gristmill_data::formats::nanosets::names;
use gristmill_storage::files;
use serde::Serialize as _;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The token folder of a run.
pub(super) struct TokenFolder {
    pub(super) plan: PackPlan,
    pub(super) target: NanosetsTarget,
    pub(super) place: PathBuf,
    /// The tasks of this run. The index of a task in this list is the number of its output.
    pub(super) ranks: Vec<u32>,
    /// Number of all tasks.
    pub(super) tasks: u32,
    /// Names of the input files of each task of this run.
    pub(super) file_names: Vec<Vec<String>>,
    pub(super) token_bytes: usize,
    pub(super) has_loss: bool,
    /// The assignment of rows to tasks; `None` if whole files are assigned.
    pub(super) row_filter: Option<Arc<RowAssignment>>,
}

/// Returns the name of a spool of a task, with this suffix.
pub(super) fn spool(rank: u32, end: &str) -> String {
    format!("{rank}.{end}")
}

impl TokenFolder {
    /// Returns the rank of the task with this output number.
    pub(super) fn rank(&self, slot: usize) -> u32 {
        self.ranks.get(slot).copied().unwrap_or_default()
    }

    /// Returns the suffixes of the spools of each task.
    pub(super) fn ends(&self) -> &'static [&'static str] {
        if self.has_loss {
            &["ds", "index", "loss"]
        } else {
            &["ds", "index"]
        }
    }

    /// Returns the path of the `.ds` file of an unshuffled task.
    pub(super) fn unshuffled(&self, rank: u32) -> PathBuf {
        self.place.join(names::unshuffled(self.target.prefix.as_deref(), rank))
    }

    /// Returns the name of a shuffled `.ds` file.
    pub(super) fn shuffled_name(&self, rank: u32, number: u64) -> String {
        let step = if self.target.chunk_size.is_some() { names::Step::Chunks } else { names::Step::Documents };
        names::shuffled(self.target.names, self.target.prefix.as_deref(), rank, number, step)
    }

    /// Whether a task has input files, or rows of them. A task without tokens is not shuffled.
    pub(super) fn has_rows(&self, rank: u32) -> bool {
        let names = self.ranks.binary_search(&rank).ok().and_then(|slot| self.file_names.get(slot));
        self.row_filter.is_some() || names.is_none_or(|names| !names.is_empty())
    }

    /// Returns the path of the first `.ds` file of a task.
    pub(super) fn first_data(&self, rank: u32) -> PathBuf {
        match self.has_rows(rank) {
            true => self.data(rank, 0),
            false => self.unshuffled(rank),
        }
    }

    /// Returns the path of a `.ds` file.
    pub(super) fn data(&self, rank: u32, number: u64) -> PathBuf {
        match self.target.is_shuffled() {
            true => self.place.join(self.shuffled_name(rank, number)),
            false => self.unshuffled(rank),
        }
    }
}

/// Returns the log folder of a plan, absolute.
pub(super) fn log_folder(plan: &PackPlan) -> Option<PathBuf> {
    let folder = plan.nanosets.as_ref()?.logging_dir.as_deref()?;
    files::absolute(folder).ok()
}

/// Whether a rank has a completion file.
pub(super) fn is_done(plan: &PackPlan, rank: u32) -> bool {
    log_folder(plan).is_some_and(|folder| files::is_file(completion(&folder, rank)))
}

/// Returns the path of the completion file of a rank.
pub(super) fn completion(folder: &Path, rank: u32) -> PathBuf {
    folder.join("completions").join(format!("{rank:05}"))
}

/// Formats JSON as Python's `json.dumps(…, indent=4)` does.
pub(super) fn to_json(value: &Value) -> Outcome<Vec<u8>> {
    let mut bytes = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(b"    ");
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    value
        .serialize(&mut serializer)
        .map_err(|error| Failure::environment("writing the statistics", error.to_string()))?;
    Ok(bytes)
}
