//! What a run of `pack` did, and what one would do.

use crate::job::prepare::OutputFile;
use gristmill_core::{text, PackFormat, Problem, ProblemKind, Severity};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What a run did.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PackReport {
    /// Input files that were read; one that was read for two formats counts once.
    pub files: u64,
    /// Documents whose text became tokens of the format that has most of them.
    pub documents: u64,
    /// Tokens of these texts, without what formats put around them; with it where only some documents were wanted.
    pub tokens: u64,
    /// Bytes of text read, unpacked.
    pub bytes: u64,
    /// One for each format, in the order of [`PackPlan::formats`](gristmill_core::PackPlan::formats).
    pub targets: Vec<TargetReport>,
    /// Everything was there already; nothing was written. The figures are those of the run that made it.
    pub nothing_to_do: bool,
    /// Bytes of text that an earlier run that was stopped had done already.
    pub resumed_bytes: u64,
    /// Why the reference tokenizer was used in place of the fast one, where the two differed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switched_to_reference: Option<String>,
    /// Problems and notes, the first 1,000 of each severity.
    pub problems: Vec<Problem>,
    /// All problems and notes, counted.
    pub counts: Vec<(Severity, ProblemKind, u64)>,
    /// Wall time.
    #[serde(rename = "elapsed_seconds", serialize_with = "crate::job::as_seconds", skip_deserializing)]
    pub elapsed: Duration,
}

/// What was made for one format.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TargetReport {
    /// The format.
    pub format: PackFormat,
    /// The folder, or with a single `.pbin` the file, that readers open.
    pub path: String,
    /// Files as written, paths as they are opened.
    pub outputs: Vec<OutputFile>,
    /// Documents in them; of Forager, samples.
    pub documents: u64,
    /// Tokens in them, end tokens and whatever else was added included.
    pub tokens: u64,
    /// Forager: tokens at the end that filled no sample. Nanosets: tokens that filled no chunk.
    pub dropped_tokens: u64,
    /// Bytes of one token.
    pub token_bytes: u8,
    /// Nanosets: tokens of the tokenizer, those added included. nanotron requires this number as the `vocab_size` of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vocab_size: Option<u64>,
    /// Documents that are not in them, by reason.
    pub skipped: Vec<Skipped>,
}

/// Documents that a format does without.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// Why, in a user's words.
    pub reason: String,
    /// The reference program passes over them too, so that nothing is wrong.
    pub is_by_design: bool,
    /// How many.
    pub documents: u64,
}

/// What a run would do.
#[derive(Clone, Debug, Serialize)]
pub struct PackPreview {
    /// Input files in the order of the first format, the first 1,000 of them.
    #[serde(rename = "inputs")]
    pub files: Vec<InputFile>,
    /// How many there are; called as in the report of a run.
    #[serde(rename = "files")]
    pub file_count: u64,
    /// Size of all of them on disk, in bytes.
    pub bytes: u64,
    /// What was read and encoded to tell the rest.
    pub sample: PackSample,
    /// One for each format.
    pub targets: Vec<TargetPreview>,
    /// Documents with text, about.
    pub documents: u64,
    /// Tokens of their texts, about.
    pub tokens: u64,
    /// Time that a run takes with the threads that were asked for, about.
    #[serde(rename = "estimated_seconds", serialize_with = "crate::job::as_seconds")]
    pub estimated: Duration,
    /// Space needed beside the output while it is made, in bytes, about; it is the output itself and what is sorted.
    pub needed_bytes: u64,
    /// Space that is free there, in bytes.
    pub free_bytes: u64,
    /// What a tokenizer file says that one should know.
    pub warnings: Vec<String>,
    /// A run that was stopped is there and will be gone on with: bytes of text it has done.
    pub resumable_bytes: u64,
    /// The same plan has run on the same files already.
    pub nothing_to_do: bool,
    /// What stands in the way, and what was found in the sample.
    pub problems: Vec<Problem>,
}

/// One input file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InputFile {
    /// Relative to the folder that was given.
    pub name: String,
    /// Size on disk, in bytes.
    pub bytes: u64,
    /// How it is packed, in a user's words.
    pub packing: &'static str,
}

/// Documents that were encoded to estimate a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct PackSample {
    /// How many lines were looked at.
    pub lines: u64,
    /// How many of them have text.
    pub documents: u64,
    /// Bytes of these lines.
    pub bytes: u64,
    /// Tokens of their texts.
    pub tokens: u64,
    /// Bytes of text a second and thread.
    pub bytes_per_second: f64,
}

/// What would be made for one format.
#[derive(Clone, Debug, Serialize)]
pub struct TargetPreview {
    /// The format.
    pub format: PackFormat,
    /// The folder, or with a single `.pbin` the file, that readers open.
    pub path: String,
    /// Files that would be written with their sizes, about; the first 1,000 of them.
    pub outputs: Vec<OutputFile>,
    /// Documents in them, about; of Forager, samples.
    pub documents: u64,
    /// Tokens in them, about.
    pub tokens: u64,
    /// Their size, about, in bytes.
    pub bytes: u64,
    /// Bytes of one token.
    pub token_bytes: u8,
    /// Documents of the sample that it would do without, by reason.
    pub skipped: Vec<Skipped>,
}

impl PackPreview {
    /// How much it is and how long it takes, in a line.
    pub fn outlook(&self) -> String {
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
