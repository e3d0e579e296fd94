//! The report and the preview of `pack`.

use crate::job::report::OutputFile;
use gristmill_core::{text, Problem, ProblemKind, Severity};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The report of a run of `pack`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PackReport {
    /// Number of input files; a file that is read for two formats counts once.
    pub files: u64,
    /// Number of documents with text, for the format that packed the most.
    pub documents: u64,
    /// Number of tokens of these texts. Tokens that formats add are included only if the plan selects some of the documents.
    pub tokens: u64,
    /// Size of the uncompressed text, in bytes.
    pub bytes: u64,
    /// The result for each format, in the order of the plan.
    pub targets: Vec<TargetReport>,
    /// Whether the output existed already and nothing was written. The counts are then those of the run that wrote it.
    pub nothing_to_do: bool,
    /// Bytes of text that an earlier, stopped run had packed.
    pub resumed_bytes: u64,
    /// The reason why the reference tokenizer replaced the fast one; `None` if it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switched_to_reference: Option<String>,
    /// Problems and notes, the first 1,000 of each severity.
    pub problems: Vec<Problem>,
    /// Number of problems and notes, by severity and kind.
    pub counts: Vec<(Severity, ProblemKind, u64)>,
    /// Wall-clock time of the run.
    #[serde(rename = "elapsed_seconds", serialize_with = "crate::job::as_seconds", skip_deserializing)]
    pub elapsed: Duration,
}

/// The result for one format.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TargetReport {
    /// The name of the format.
    pub format: String,
    /// The path that readers open: a folder, or the file if there is a single one.
    pub path: String,
    /// The written files, with the paths that readers open.
    pub outputs: Vec<OutputFile>,
    /// Number of items in the files: documents or samples.
    pub documents: u64,
    /// Number of tokens in the files, including end tokens and other added tokens.
    pub tokens: u64,
    /// Number of leftover tokens that fill no sample or chunk.
    pub dropped_tokens: u64,
    /// Size of a token in bytes.
    pub token_bytes: u8,
    /// The `vocab_size` that the training configuration needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vocab_size: Option<u64>,
    /// Omitted documents, by reason.
    pub skipped: Vec<Skipped>,
}

/// Documents that a format omits for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// The reason, worded for users.
    pub reason: String,
    /// Whether the reference program omits them too, so that they are no problem.
    pub is_by_design: bool,
    /// Number of documents.
    pub documents: u64,
}

/// The preview of a run of `pack`.
#[derive(Clone, Debug, Serialize)]
pub struct PackPreview {
    /// The first 1,000 input files, in the order of the first format.
    #[serde(rename = "inputs")]
    pub files: Vec<InputFile>,
    /// Number of all input files; has the same name as in the report of a run.
    #[serde(rename = "files")]
    pub file_count: u64,
    /// Size of all input files on disk, in bytes.
    pub bytes: u64,
    /// The sample that was read and encoded for the estimate.
    pub sample: PackSample,
    /// The estimate for each format.
    pub targets: Vec<TargetPreview>,
    /// Approximate number of documents with text.
    pub documents: u64,
    /// Approximate number of tokens in their texts.
    pub tokens: u64,
    /// Approximate time of a run with the requested threads.
    #[serde(rename = "estimated_seconds", serialize_with = "crate::job::as_seconds")]
    pub estimated: Duration,
    /// Approximate disk space that a run needs on the disk of the output, in bytes, including temporary files.
    pub needed_bytes: u64,
    /// Free space on the disk of the output, in bytes.
    pub free_bytes: u64,
    /// Warnings about the tokenizer file.
    pub warnings: Vec<String>,
    /// Notes of the formats on the tokenizer, which the command line prints before a run.
    #[serde(skip)]
    pub notes: Vec<Problem>,
    /// Bytes of text that a stopped run has packed and a run would resume from; 0 if there is no such run.
    pub resumable_bytes: u64,
    /// Whether the same plan has already run on the same files.
    pub nothing_to_do: bool,
    /// Reasons why the plan cannot run, and problems found in the sample.
    pub problems: Vec<Problem>,
}

/// One input file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InputFile {
    /// Path relative to the given folder.
    pub name: String,
    /// Size on disk, in bytes.
    pub bytes: u64,
    /// The compression of the file, in user-facing words.
    pub packing: &'static str,
}

/// The documents that were encoded for an estimate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct PackSample {
    /// Number of lines and rows read.
    pub lines: u64,
    /// Number of them that are rows of tables.
    #[serde(skip)]
    pub rows: u64,
    /// Number of lines and rows that have text.
    pub documents: u64,
    /// Number of bytes of these lines and rows.
    pub bytes: u64,
    /// Number of tokens of their texts.
    pub tokens: u64,
    /// Number of bytes of text that one thread packs per second.
    pub bytes_per_second: f64,
}

impl PackSample {
    /// Returns the noun, in the singular, for the sampled items: `row` if all files are tables.
    pub fn unit(&self) -> &'static str {
        if self.rows > 0 && self.rows == self.lines {
            "row"
        } else {
            "line"
        }
    }
}

/// The estimate for one format.
#[derive(Clone, Debug, Serialize)]
pub struct TargetPreview {
    /// The name of the format.
    pub format: String,
    /// The path that readers open: a folder, or the file if there is a single one.
    pub path: String,
    /// The files that would be written, with approximate sizes; at most 1,000 files.
    pub outputs: Vec<OutputFile>,
    /// Approximate number of items in the files: documents or samples.
    pub documents: u64,
    /// Approximate number of tokens in the files.
    pub tokens: u64,
    /// Approximate size of the files, in bytes.
    pub bytes: u64,
    /// Size of a token in bytes.
    pub token_bytes: u8,
    /// Documents of the sample that would be omitted, by reason.
    pub skipped: Vec<Skipped>,
}

impl PackPreview {
    /// Returns the size of the output and the time of a run, in one line.
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
