//! The plan of `dedup`: all answers that determine the bytes of the deduplicated files. Forms, prompts, flags and `plan.yaml` set its
//! values.

use super::plan::PLAN_VERSION;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Default key under which annotate mode writes the ranges.
pub const ANNOTATE_KEY: &str = "metadata.sa_remove_ranges";
/// Field that variant B writes; B is the older variant.
pub const FIELD_OF_VARIANT_B: &str = "sa_remove_ranges";
/// Default name of the text field.
pub const TEXT_KEY: &str = "text";
/// Smallest number of occurrences that makes a passage a repeat.
pub const LEAST_COUNT: u64 = 2;
/// Minimum length that guided modes propose, in bytes.
pub const PROPOSED_MIN_LENGTH: u64 = 500;
/// Minimum lengths that guided modes offer, in bytes. An estimate for any other length is shown together with these.
pub const SHOWN_LENGTHS: [u64; 5] = [50, 100, 200, 500, 1_000];

/// Which occurrences of a repeated passage are kept (docs/formats/bsade.md §4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Keep {
    /// The first occurrence in document order.
    #[default]
    First,
    /// No occurrence.
    None,
}

/// How the ranges that are found are handled (docs/formats/bsade.md §6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// The ranges are cut out of the text.
    #[default]
    Remove,
    /// The text is unchanged; the ranges are listed in the record.
    Annotate,
}

/// Where annotate mode lists the ranges (docs/formats/bsade.md §6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// Under a dotted key, by default [`ANNOTATE_KEY`].
    #[default]
    A,
    /// In [`FIELD_OF_VARIANT_B`], right after the text.
    B,
}

/// The inputs, options and output of a deduplication.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DedupPlan {
    /// Version of the plan, see [`PLAN_VERSION`].
    pub version: u32,
    /// The folder or file of documents, or the address of a data set of the hub, as given by the user; empty with
    /// [`from_index`](Self::from_index).
    #[serde(default)]
    pub input: String,
    /// The output folder, which gets the same tree of files.
    pub output: String,
    /// Length of the shortest repeat that is removed, in bytes of text (`--minlen`); `None` means not answered yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_length: Option<u64>,
    /// How the ranges that are found are handled.
    #[serde(default)]
    pub mode: Mode,
    /// Where annotate mode lists the ranges.
    #[serde(default)]
    pub variant: Variant,
    /// The dotted key of variant A.
    #[serde(default = "default_annotate_key")]
    pub annotate_key: String,
    /// The name of the text field.
    #[serde(default = "default_text_key")]
    pub text_key: String,
    /// Which occurrences are kept.
    #[serde(default)]
    pub keep: Keep,
    /// Only passages with at least this many occurrences in total are removed; at least [`LEAST_COUNT`].
    #[serde(default = "default_count")]
    pub min_count: u64,
    /// An earlier data set. It comes before the input in document order, and is not changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
    /// Path of the index to export in the format of the reference program (docs/formats/bsade.md §3), including the ranges.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub export_index: Option<String>,
    /// Path of the ranges to export without an index (docs/formats/bsade.md §5).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub export_ranges: Option<String>,
    /// Number of shards of the export.
    #[serde(default = "default_shards")]
    pub shards: u32,
    /// Whether to export the suffix table too.
    #[serde(default)]
    pub table: bool,
    /// An index from which texts and records are read instead of the input folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_index: Option<String>,
    /// Whether to replace an existing output. Otherwise it is refused, unless the same plan wrote it: such a run resumes or does nothing.
    #[serde(default)]
    pub overwrite: bool,
    /// Whether to name the output as the reference program does: with variant B, `_annotated` is appended to the name of annotated output.
    #[serde(default)]
    pub compat: bool,
}

fn default_annotate_key() -> String {
    ANNOTATE_KEY.into()
}

fn default_text_key() -> String {
    TEXT_KEY.into()
}

fn default_count() -> u64 {
    LEAST_COUNT
}

fn default_shards() -> u32 {
    1
}

impl DedupPlan {
    /// Creates a plan with only the input and the output set.
    pub fn new(input: impl Into<String>, output: impl Into<String>) -> Self {
        Self {
            version: PLAN_VERSION,
            input: input.into(),
            output: output.into(),
            annotate_key: default_annotate_key(),
            text_key: default_text_key(),
            min_count: LEAST_COUNT,
            shards: default_shards(),
            ..Self::default()
        }
    }

    /// Returns the path from which the text is read: the input folder or the index.
    pub fn source(&self) -> &str {
        self.from_index.as_deref().unwrap_or(&self.input)
    }

    /// Returns the proposed name of the output, derived from the source; `None` if the source has no name.
    pub fn proposed_name(&self) -> Option<String> {
        let name = Path::new(self.source()).file_name()?.to_string_lossy().into_owned();
        // `a.jsonl.gz` and `a.jsonl` both give the name `a`.
        let end = name.to_ascii_lowercase().find(".json").filter(|at| *at > 0).unwrap_or(name.len());
        Some(format!("{}-dedup", name.get(..end).unwrap_or(&name)))
    }

    /// Returns the path at which the output is published: the output path, with `_annotated` appended if the reference program does.
    pub fn visible_output(&self) -> String {
        let output = self.output.as_str();
        if self.compat && self.mode == Mode::Annotate && self.variant == Variant::B {
            let trimmed = output.trim_end_matches('/');
            return format!("{}_annotated", if trimmed.is_empty() { output } else { trimmed });
        }
        output.to_owned()
    }
}
