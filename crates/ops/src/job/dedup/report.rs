//! What a run of `dedup` did, and what one would do.

use crate::job::prepare::OutputFile;
use gristmill_core::{text, Problem, ProblemKind, Severity};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// What a run did.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DedupReport {
    /// The folder of the result.
    pub output: PathBuf,
    /// Input files.
    pub files: u64,
    /// What was read and what of it was removed (or, in annotate mode, listed), all files together.
    pub totals: Figures,
    /// Of each file, in the order of the documents.
    pub per_file: Vec<FileReport>,
    /// The passages that repeat most, those that cost most bytes first.
    pub passages: Vec<RepeatedPassage>,
    /// Files beside the output: of an exported index, or exported ranges.
    pub exported: Vec<OutputFile>,
    /// Everything was there already; nothing was written. The figures are those of the run that made it.
    pub nothing_to_do: bool,
    /// Pieces of work that an earlier run that was stopped had done already.
    pub resumed_units: u64,
    /// Scratch space that was used, in bytes.
    pub scratch_bytes: u64,
    /// Problems and notes, the first 1,000 of each severity.
    pub problems: Vec<Problem>,
    /// All problems and notes, counted.
    pub counts: Vec<(Severity, ProblemKind, u64)>,
    /// Wall time.
    #[serde(rename = "elapsed_seconds", serialize_with = "crate::job::as_seconds", skip_deserializing)]
    pub elapsed: Duration,
}

/// Documents and what repeats in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figures {
    /// Documents with text.
    pub documents: u64,
    /// Lines without usable text, which are copied as they are.
    pub copied_lines: u64,
    /// Bytes of text.
    pub text_bytes: u64,
    /// Ranges that repeat.
    pub ranges: u64,
    /// Bytes in them, before they are cut to whole characters.
    pub range_bytes: u64,
    /// Bytes in them, cut to whole characters: what is removed, or annotated.
    pub removed_bytes: u64,
    /// Documents with at least one range.
    pub changed_documents: u64,
    /// Documents of which nothing is left, or would be.
    pub emptied_documents: u64,
}

impl Figures {
    /// Adds others.
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

    /// The part of the text that is removed, from 0 to 1.
    pub fn removed_share(&self) -> f64 {
        self.removed_bytes as f64 / self.text_bytes.max(1) as f64
    }
}

/// What became of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileReport {
    /// Relative to the folder, the same in input and output; raw.
    pub name: String,
    /// Size of the input, in bytes.
    pub input_bytes: u64,
    /// Size of the output, in bytes; `None` where there is none, since the input has no documents.
    pub output_bytes: Option<u64>,
    /// An earlier version was replaced.
    pub replaces: bool,
    /// Its documents.
    pub figures: Figures,
}

/// A passage that repeats.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RepeatedPassage {
    /// The file of the place that is shown; raw.
    pub file: String,
    /// Its line, counted from 1; 0 where it is not known.
    pub line: u64,
    /// Where it begins in the text of that document, in bytes.
    pub offset: u64,
    /// Its length in bytes, at least.
    pub length: u64,
    /// How often it was seen.
    pub count: u64,
    /// How it begins, cut to whole characters; raw.
    pub text: String,
}

/// What a run would do, from a sample.
#[derive(Clone, Debug, Serialize)]
pub struct DedupEstimate {
    /// Input files.
    pub files: u64,
    /// Their size on disk, in bytes.
    pub input_bytes: u64,
    /// Bytes of text in them, about.
    pub text_bytes: u64,
    /// Documents, about.
    pub documents: u64,
    /// Bytes on disk that were read to tell the rest; with all of them, repeats between all files are counted.
    pub sampled_bytes: u64,
    /// Of all different keys of the text that was read one in so many was looked at, with each of its places.
    pub one_in: u64,
    /// What the minimum length comes to, or several where they are shown together.
    pub lengths: Vec<LengthEstimate>,
    /// The passages that repeat most in the sample.
    pub passages: Vec<RepeatedPassage>,
    /// Time that a run takes with the threads that were asked for, about.
    #[serde(rename = "estimated_seconds", serialize_with = "crate::job::as_seconds")]
    pub estimated: Duration,
    /// Memory that a run takes, in bytes, at most.
    pub memory_bytes: u64,
    /// Scratch space that a run takes, in bytes, about; 0 where all fits into memory.
    pub scratch_bytes: u64,
    /// Where it would be.
    pub scratch: PathBuf,
    /// Space that is free there, in bytes.
    pub scratch_free_bytes: u64,
    /// Space for the result, in bytes, about.
    pub output_bytes: u64,
    /// Space that is free where it goes, in bytes.
    pub free_bytes: u64,
    /// The same plan has run on the same files already.
    pub nothing_to_do: bool,
    /// Pieces of work that a run that was stopped has done.
    pub resumable_units: u64,
    /// What stands in the way, and what was found in the sample.
    pub problems: Vec<Problem>,
}

/// What a minimum length comes to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LengthEstimate {
    /// In bytes.
    pub min_length: u64,
    /// The part of the text in ranges, from 0 to 1, about. Of a longer minimum never more.
    pub share: f64,
    /// The same of all the text, in bytes.
    pub removed_bytes: u64,
    /// How far that may be off by chance, in bytes: one standard deviation.
    pub margin_bytes: u64,
    /// The least that the share is likely to be.
    pub least_share: f64,
    /// The most that it is likely to be, at most 0.25 more than the least.
    pub most_share: Option<f64>,
    /// All of the text was searched: it is what a run would do.
    pub is_exact: bool,
}

impl DedupEstimate {
    /// Takes the figures of the run that made what a run would make.
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

    /// Whether its figures are those of all of the text.
    pub fn is_exact(&self) -> bool {
        self.lengths.iter().all(|length| length.is_exact)
    }

    /// How much it is and how long it takes, in a line.
    pub fn outlook(&self) -> String {
        format!(
            "{}, {}: about {} and {} of text, in about {}",
            text::count(self.files, "file"),
            text::bytes(self.input_bytes),
            text::count(self.documents, "document"),
            text::bytes(self.text_bytes),
            text::duration(self.estimated)
        )
    }

    /// What the figures of a length are from, and how far they may be off, as a sentence.
    pub fn basis(&self, length: &LengthEstimate) -> String {
        let (read, all) = (text::bytes(self.sampled_bytes), text::bytes(self.input_bytes));
        if length.is_exact {
            return format!("From all {all}.");
        }
        let percent = |share: f64| share * 100.0;
        let (least, most) = (percent(length.least_share), percent(length.most_share.unwrap_or(length.share)));
        match self.sampled_bytes >= self.input_bytes {
            true => format!("From samples of all {all}; likely {least:.1} to {most:.1} %."),
            false => format!("From {read} of {all}; for all of it {least:.1} to {most:.1} %."),
        }
    }
}
