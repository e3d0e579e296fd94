//! The answers to `pack --format nanosets`.

use super::DocumentShuffle;
use serde::{Deserialize, Serialize};

/// How input is distributed among tasks (docs/formats/huggingface.md §3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskShare {
    /// File I belongs to task I modulo the number of tasks.
    #[default]
    Files,
    /// Row I belongs to task I modulo the number of tasks.
    Rows,
    /// Each task has a contiguous block of rows, all of equal size.
    Blocks,
}

impl TaskShare {
    /// Whether files are distributed, which is the default.
    pub fn is_files(&self) -> bool {
        *self == Self::Files
    }
}

/// How shuffled token files are named (docs/formats/nanosets.md §1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NameProfile {
    /// Names of datatrove 0.10.1.
    #[default]
    Modern,
    /// Names of datatrove 0.4.0.
    Classic,
}

/// Options of the Nanosets output: a folder of `.ds` files (docs/formats/nanosets.md §1 to §4).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct NanosetsTarget {
    /// Number of tasks among which the input is distributed; `None` means one per file, at most 64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks: Option<u32>,
    /// The only task to run, counted from 0; `None` means all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// How input is distributed among tasks.
    #[serde(default, skip_serializing_if = "TaskShare::is_files")]
    pub deal: TaskShare,
    /// Whether documents are shuffled.
    #[serde(default)]
    pub shuffle: DocumentShuffle,
    /// Divides the tokens into chunks of this many tokens and shuffles the chunks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk_size: Option<u64>,
    /// Closes a shuffled file once it has more tokens than this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens_per_file: Option<u64>,
    /// Whether to write `.ds.loss` files.
    #[serde(default)]
    pub loss_masks: bool,
    /// Prefix of every file name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// How shuffled files are named.
    #[serde(default)]
    pub names: NameProfile,
    /// Number of usable documents to skip at the start of each task.
    #[serde(default)]
    pub skip: u64,
    /// Maximum number of usable documents per task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Folder for `executor.json`, `logs/`, `stats/` and `completions/`; `None` means that none of them is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logging_dir: Option<String>,
}

impl NanosetsTarget {
    /// Whether documents or chunks are shuffled.
    pub fn is_shuffled(&self) -> bool {
        self.shuffle == DocumentShuffle::Documents || self.chunk_size.is_some()
    }
}
