//! The report of a run of `dedup`, and the estimate before a run.

use crate::job::report::OutputFile;
use gristmill_core::{text, Problem, ProblemKind, Severity};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// Result of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DedupReport {
    /// The folder of the result.
    pub output: PathBuf,
    /// Number of files of the result, one for each input file.
    pub files: u64,
    /// Figures of all files together: documents that were read, and text that was removed or, in annotate mode, listed.
    pub totals: Figures,
    /// Figures of each file, in the order of the documents.
    pub per_file: Vec<FileReport>,
    /// The most repeated passages, in descending order of repeated bytes.
    pub passages: Vec<RepeatedPassage>,
    /// Additional output files: an exported index, or exported ranges.
    pub exported: Vec<OutputFile>,
    /// Whether the result existed already and nothing was written. The figures are then those of the run that wrote it.
    pub nothing_to_do: bool,
    /// Units that an earlier, stopped run had finished.
    pub resumed_units: u64,
    /// Scratch space used, in bytes.
    pub scratch_bytes: u64,
    /// Problems and notes, the first 1,000 of each severity.
    pub problems: Vec<Problem>,
    /// Counts of all problems and notes.
    pub counts: Vec<(Severity, ProblemKind, u64)>,
    /// Wall time.
    #[serde(rename = "elapsed_seconds", serialize_with = "crate::job::as_seconds", skip_deserializing)]
    pub elapsed: Duration,
}

/// Documents and their repeated text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figures {
    /// Number of documents with text.
    pub documents: u64,
    /// Number of lines without usable text, which are copied unchanged.
    pub copied_lines: u64,
    /// Size of the text in bytes.
    pub text_bytes: u64,
    /// Number of repeated ranges.
    pub ranges: u64,
    /// Bytes of the ranges, before they are shrunk to whole characters.
    pub range_bytes: u64,
    /// Bytes of the ranges after each is shrunk to whole characters, which are removed or annotated.
    pub removed_bytes: u64,
    /// Number of documents with at least one range.
    pub changed_documents: u64,
    /// Number of documents whose whole text is removed, or would be.
    pub emptied_documents: u64,
}

impl Figures {
    /// Adds the figures of other documents.
    pub fn add(&mut self, other: &Self) {
        self.documents += other.documents;
        self.copied_lines += other.copied_lines;
        self.text_bytes += other.text_bytes;
        self.ranges += other.ranges;
        self.range_bytes += other.range_bytes;
        self.removed_bytes += other.removed_bytes;
        self.changed_documents += other.changed_documents;
        self.emptied_documents += other.emptied_documents;
    }

    /// Returns the removed fraction of the text, from 0 to 1.
    pub fn removed_share(&self) -> f64 {
        self.removed_bytes as f64 / self.text_bytes.max(1) as f64
    }
}

/// Result for one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileReport {
    /// Path relative to the folder, the same in input and output; raw.
    pub name: String,
    /// Size of the input, in bytes.
    pub input_bytes: u64,
    /// Size of the output, in bytes; `None` if there is none, because the input has no documents.
    pub output_bytes: Option<u64>,
    /// Whether an earlier version was replaced.
    pub replaces: bool,
    /// Figures of its documents.
    pub figures: Figures,
}

/// A repeated passage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RepeatedPassage {
    /// The file of the shown occurrence; raw.
    pub file: String,
    /// Line of the occurrence, counted from 1; 0 if unknown.
    pub line: u64,
    /// Offset in the text of that document, in bytes.
    pub offset: u64,
    /// Minimum length, in bytes.
    pub length: u64,
    /// Number of occurrences found.
    pub count: u64,
    /// Beginning of the passage, shortened to whole characters; raw.
    pub text: String,
}

/// The expected result of a run, estimated from a sample.
#[derive(Clone, Debug, Serialize)]
pub struct DedupEstimate {
    /// Number of input files.
    pub files: u64,
    /// Size of the input files on disk, in bytes.
    pub input_bytes: u64,
    /// Approximate size of the text in the input files, in bytes.
    pub text_bytes: u64,
    /// Approximate number of documents.
    pub documents: u64,
    /// Bytes on disk that were read for the estimate. If all were read, repeats between all files are counted.
    pub sampled_bytes: u64,
    /// Sampling rate of the distinct keys in the text that was read: one in this many was examined, with all of its occurrences.
    pub one_in: u64,
    /// Estimates by minimum length: one for the length of the plan, or several to compare.
    pub lengths: Vec<LengthEstimate>,
    /// The most repeated passages in the sample.
    pub passages: Vec<RepeatedPassage>,
    /// Approximate duration of a run with the requested threads.
    #[serde(rename = "estimated_seconds", serialize_with = "crate::job::as_seconds")]
    pub estimated: Duration,
    /// Maximum memory of a run, in bytes.
    pub memory_bytes: u64,
    /// Approximate scratch space of a run, in bytes; 0 if everything fits into memory.
    pub scratch_bytes: u64,
    /// Scratch folder.
    pub scratch: PathBuf,
    /// Free space in the scratch folder, in bytes.
    pub scratch_free_bytes: u64,
    /// Approximate space for the result, in bytes.
    pub output_bytes: u64,
    /// Free space at the output, in bytes.
    pub free_bytes: u64,
    /// Whether the same plan has already run on the same files.
    pub nothing_to_do: bool,
    /// Units that a stopped run has finished.
    pub resumable_units: u64,
    /// Refusals that prevent a run, and problems found in the sample.
    pub problems: Vec<Problem>,
}

/// Estimate for one minimum length.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LengthEstimate {
    /// Minimum length in bytes.
    pub min_length: u64,
    /// Approximate fraction of the text in repeated ranges of at least this length, from 0 to 1. Never higher for a longer minimum.
    pub share: f64,
    /// Approximate size of the ranges in all of the text, in bytes.
    pub removed_bytes: u64,
    /// Standard deviation of the random error, in bytes.
    pub margin_bytes: u64,
    /// Lower bound of the likely share.
    pub least_share: f64,
    /// Upper bound of the likely share, at most 0.25 above the lower one.
    pub most_share: Option<f64>,
    /// Whether all of the text was searched, so that the share equals the result of a run.
    pub is_exact: bool,
}

impl DedupEstimate {
    /// Takes the figures of a run with the same result.
    pub(super) fn take_figures(&mut self, made: &DedupReport) {
        let totals = &made.totals;
        (self.documents, self.text_bytes) = (totals.documents, totals.text_bytes);
        self.sampled_bytes = self.input_bytes;
        self.passages.clone_from(&made.passages);
        let share = totals.removed_share();
        for length in &mut self.lengths {
            *length = LengthEstimate {
                share,
                removed_bytes: totals.removed_bytes,
                margin_bytes: 0,
                least_share: share,
                most_share: Some(share),
                is_exact: true,
                ..*length
            };
        }
    }

    /// Whether the figures are those of the whole text.
    pub fn is_exact(&self) -> bool {
        self.lengths.iter().all(|length| length.is_exact)
    }

    /// Returns the size and the duration of a run, in one line.
    pub fn estimate_line(&self) -> String {
        format!(
            "{}, {}: about {} and {} of text, in about {}",
            text::count(self.files, "file"),
            text::bytes(self.input_bytes),
            text::count(self.documents, "document"),
            text::bytes(self.text_bytes),
            text::duration(self.estimated)
        )
    }

    /// Returns a sentence that explains the basis of the figures of a length and their possible error.
    pub fn basis(&self, length: &LengthEstimate) -> String {
        let (read, all) = (text::bytes(self.sampled_bytes), text::bytes(self.input_bytes));
        if length.is_exact {
            return format!("From all {all}.");
        }
        let most = text::percent(length.most_share.unwrap_or(length.share));
        let least = text::percent(length.least_share);
        match self.sampled_bytes >= self.input_bytes {
            true => format!("From samples of all {all}; likely {least} to {most}."),
            false => format!("From {read} of {all}; for all of it {least} to {most}."),
        }
    }
}
