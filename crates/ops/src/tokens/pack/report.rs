//! What a run of `pack` did, or would do.

use crate::job::report::OutputFile;
use gristmill_core::{text, Problem, ProblemKind, Severity};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Result of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PackReport {
    /// Input files that were read; a file read for two formats counts once.
    pub files: u64,
    /// Documents whose text became tokens, of the format with most of them.
    pub documents: u64,
    /// Tokens of these texts, without those added by formats; with them if only some documents were selected.
    pub tokens: u64,
    /// Bytes of uncompressed text read.
    pub bytes: u64,
    /// One entry per format, in the order of the plan.
    pub targets: Vec<TargetReport>,
    /// Everything existed already and nothing was written. The figures are those of the run that made it.
    pub nothing_to_do: bool,
    /// Bytes of text that an earlier, stopped run had already done.
    pub resumed_bytes: u64,
    /// Why the reference tokenizer was used instead of the fast one; `None` if the two did not differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switched_to_reference: Option<String>,
    /// Problems and notes, the first 1,000 of each severity.
    pub problems: Vec<Problem>,
    /// Counts of all problems and notes.
    pub counts: Vec<(Severity, ProblemKind, u64)>,
    /// Wall time.
    #[serde(rename = "elapsed_seconds", serialize_with = "crate::job::as_seconds", skip_deserializing)]
    pub elapsed: Duration,
}

/// Result for one format.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TargetReport {
    /// The name of the format.
    pub format: String,
    /// The path that readers open: a folder, or the file if there is a single one.
    pub path: String,
    /// Files as written, with the paths that readers open.
    pub outputs: Vec<OutputFile>,
    /// Items of the format in them: documents or samples.
    pub documents: u64,
    /// Tokens in them, including end tokens and other added tokens.
    pub tokens: u64,
    /// Tokens that filled no sample or chunk.
    pub dropped_tokens: u64,
    /// Size of a token in bytes.
    pub token_bytes: u8,
    /// The `vocab_size` that the training configuration needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vocab_size: Option<u64>,
    /// Documents that were left out, by reason.
    pub skipped: Vec<Skipped>,
}

/// Documents that a format leaves out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// The reason, worded for users.
    pub reason: String,
    /// Whether the reference program also leaves them out, so that it is no problem.
    pub is_by_design: bool,
    /// Number of documents.
    pub documents: u64,
}

/// What a run would do.
#[derive(Clone, Debug, Serialize)]
pub struct PackPreview {
    /// The first 1,000 input files, in the order of the first format.
    #[serde(rename = "inputs")]
    pub files: Vec<InputFile>,
    /// Number of all input files; named as in the report of a run.
    #[serde(rename = "files")]
    pub file_count: u64,
    /// Size of all of them on disk, in bytes.
    pub bytes: u64,
    /// The sample that was read and encoded for the estimate.
    pub sample: PackSample,
    /// One entry per format.
    pub targets: Vec<TargetPreview>,
    /// Approximate number of documents with text.
    pub documents: u64,
    /// Approximate number of tokens in their texts.
    pub tokens: u64,
    /// Approximate time of a run with the requested threads.
    #[serde(rename = "estimated_seconds", serialize_with = "crate::job::as_seconds")]
    pub estimated: Duration,
    /// Approximate space needed next to the output during the run, in bytes: the output itself and what is sorted.
    pub needed_bytes: u64,
    /// Free space there, in bytes.
    pub free_bytes: u64,
    /// Warnings about the tokenizer file.
    pub warnings: Vec<String>,
    /// Bytes of text done by a stopped run that will be resumed; 0 if there is none.
    pub resumable_bytes: u64,
    /// Whether the same plan has already run on the same files.
    pub nothing_to_do: bool,
    /// What prevents a run, and problems found in the sample.
    pub problems: Vec<Problem>,
}

/// One input file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InputFile {
    /// Path relative to the given folder.
    pub name: String,
    /// Size on disk, in bytes.
    pub bytes: u64,
    /// Its compression, worded for users.
    pub packing: &'static str,
}

/// Documents that were encoded to estimate a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct PackSample {
    /// Number of lines and rows read.
    pub lines: u64,
    /// Number of them that are rows of tables.
    #[serde(skip)]
    pub rows: u64,
    /// Number of them that have text.
    pub documents: u64,
    /// Bytes of these lines.
    pub bytes: u64,
    /// Tokens of their texts.
    pub tokens: u64,
    /// Bytes of text per second and thread.
    pub bytes_per_second: f64,
}

impl PackSample {
    /// Returns what was read, in the singular: rows if the files are tables.
    pub fn unit(&self) -> &'static str {
        if self.rows > 0 && self.rows == self.lines {
            "row"
        } else {
            "line"
        }
    }
}

/// Estimate for one format.
#[derive(Clone, Debug, Serialize)]
pub struct TargetPreview {
    /// The name of the format.
    pub format: String,
    /// The path that readers open: a folder, or the file if there is a single one.
    pub path: String,
    /// Files that would be written with approximate sizes; the first 1,000 of them.
    pub outputs: Vec<OutputFile>,
    /// Approximate items of the format in them: documents or samples.
    pub documents: u64,
    /// Approximate tokens in them.
    pub tokens: u64,
    /// Their approximate size, in bytes.
    pub bytes: u64,
    /// Size of a token in bytes.
    pub token_bytes: u8,
    /// Documents of the sample that would be left out, by reason.
    pub skipped: Vec<Skipped>,
}

impl PackPreview {
    /// Returns the size and the time of a run, in one line.
    pub fn estimate_line(&self) -> String {
        format!(
            "{}, {}: about {} and {}, in about {}",
            text::count(self.file_count, "file"),
            text::bytes(self.bytes),
            text::count(self.documents, "document"),
            text::count(self.tokens, "token"),
            text::duration(self.estimated)
        )
    }
}
