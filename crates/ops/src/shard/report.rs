//! The result or preview of a run.

use super::choose::LeftOut;
use super::examples::Examples;
use super::planned::{PlannedRun, PlannedSet};
use super::sample_types::{input_mapping, lost_type};
use super::stores::{StoreEstimate, StoredContent};
use crate::job::report::{problem_table, Report, ReportLine, RunFindings};
use crate::job::task::TaskContext;
use gristmill_core::sample_type::CRUDE_CLASS;
use gristmill_core::table::{Align, Table};
use gristmill_core::text::{agree, bytes, count, display_safe, grouped, percent, shell_quote};
use gristmill_core::{Problem, ProblemKind, Severity, ShardPlan};
use gristmill_storage::location::is_remote;
use gristmill_storage::traffic::Traffic;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Number of shards below which a preview has a note: loaders distribute shards among workers.
const FEW_SHARDS: u64 = 16;
/// Maximum number of ranges of a histogram.
const RANGES: usize = 8;

/// The shards of a split.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedSplit {
    /// Name of the split; empty if there is only one.
    pub name: String,
    /// Number of shards.
    pub shards: u64,
    /// Number of samples.
    pub samples: u64,
}

/// A shard that was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrittenShard {
    /// Path of the shard.
    pub path: PathBuf,
    /// Number of samples.
    pub samples: u64,
    /// Size of the archive, in bytes.
    pub bytes: u64,
    /// With `--checksums`: SHA-256 of the archive, in hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// A set of new shards.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrittenSet {
    /// Folder of the set.
    pub output: PathBuf,
    /// Number of shards.
    pub shards: u64,
    /// Number of samples.
    pub samples: u64,
    /// Number of parts.
    pub parts: u64,
    /// Size of all shards, in bytes.
    pub bytes: u64,
    /// The splits, in order.
    pub splits: Vec<PlannedSplit>,
}

impl WrittenSet {
    fn of(set: &PlannedSet) -> Self {
        let mut written = Self { output: set.output.clone(), ..Self::default() };
        for shard in &set.planned.shards {
            written.shards += 1;
            written.samples += shard.samples;
            written.parts += shard.parts;
            written.bytes = written.bytes.saturating_add(shard.archive_bytes);
            match written.splits.last_mut().filter(|split| split.name == shard.split) {
                Some(split) => (split.shards, split.samples) = (split.shards + 1, split.samples + shard.samples),
                None => {
                    let (name, samples) = (shard.split.clone(), shard.samples);
                    written.splits.push(PlannedSplit { name, shards: 1, samples });
                }
            }
        }
        written
    }

    /// Returns the number of samples, parts and shards in words.
    fn amount(&self) -> String {
        let (samples, parts, shards) =
            (count(self.samples, "sample"), count(self.parts, "part"), count(self.shards, "shard"));
        let amount = format!("{samples} ({parts}) to {shards} of {}", bytes(self.bytes));
        // A form previews samples before it has an output.
        match self.output.as_os_str().is_empty() {
            true => amount,
            false => format!("{amount} in {}", display_safe(&self.output.to_string_lossy())),
        }
    }

    fn split_lines(&self) -> impl Iterator<Item = ReportLine> + '_ {
        self.splits.iter().filter(|split| !split.name.is_empty()).map(|split| {
            let name = display_safe(&split.name);
            ReportLine::plain(format!("{name}: {}, {}", count(split.samples, "sample"), count(split.shards, "shard")))
        })
    }
}

/// The result of writing shards.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ShardReport {
    /// Folder of the set.
    pub output: PathBuf,
    /// Number of shards of all sets.
    pub shards: u64,
    /// Number of samples of the set with the most samples. Other sets have other parts of the same samples.
    pub samples: u64,
    /// Number of parts of all sets.
    pub parts: u64,
    /// Size of all shards, in bytes.
    pub bytes: u64,
    /// The splits of the first of [`sets`](Self::sets), in order.
    pub splits: Vec<PlannedSplit>,
    /// All sets of new shards.
    #[serde(default)]
    pub sets: Vec<WrittenSet>,
    /// With `--text-to`: number of lines of text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<u64>,
    /// Samples that the plan omits.
    pub left_out: LeftOut,
    /// Number of chosen samples that `split.yaml` of the input excludes.
    #[serde(default)]
    pub kept_excluded: u64,
    /// All shards that were written.
    pub files: Vec<WrittenShard>,
    /// Number of shards that a stopped run had finished.
    pub resumed_shards: u64,
    /// Sample type of the input, if the new set is crude instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_type: Option<String>,
    /// Whether the same plan has already run and nothing was written.
    pub nothing_to_do: bool,
    /// Hash of the inputs as they were listed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub listing: String,
    /// In a preview: free space at the output in bytes, unless it is in a store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_bytes: Option<u64>,
    /// In a preview: estimated time of copying, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// In a preview: data that is read from stores and written to them.
    #[serde(skip)]
    pub stores: StoreEstimate,
    /// In a preview: examples of the samples.
    #[serde(skip)]
    pub examples: Examples,
    /// Problems and notes, the first 1,000 of each severity.
    pub problems: Vec<Problem>,
    /// Number of problems and notes, by severity and kind.
    pub counts: Vec<(Severity, ProblemKind, u64)>,
    /// Wall-clock time of the run.
    #[serde(rename = "elapsed_seconds", serialize_with = "crate::job::as_seconds", skip_deserializing)]
    pub elapsed: Duration,
}

impl ShardReport {
    /// Returns a report with the counts of a run, without problems and notes.
    pub(super) fn of(plan: &ShardPlan, run: &PlannedRun, output: &Path) -> Self {
        let lines = run.lines.as_ref().map(|lines| lines.samples);
        let (left_out, kept_excluded) = (run.left_out, run.kept_excluded);
        let mut report = Self { output: output.to_owned(), left_out, kept_excluded, lines, ..Self::default() };
        for set in &run.sets {
            let written = WrittenSet::of(set);
            report.shards += written.shards;
            report.samples = report.samples.max(written.samples);
            report.parts += written.parts;
            report.bytes = report.bytes.saturating_add(written.bytes);
            report.sets.push(written);
            report.files.extend(set.planned.shards.iter().map(|shard| WrittenShard {
                path: set.output.join(&shard.name),
                samples: shard.samples,
                bytes: shard.archive_bytes,
                sha256: None,
            }));
        }
        report.splits = report.sets.first().map(|set| set.splits.clone()).unwrap_or_default();
        report.lost_type = lost_type(plan, input_mapping(plan).as_ref());
        report
    }

    /// Returns the report of a preview, with the traffic of listing and with examples of samples.
    pub(super) fn of_preview(plan: &ShardPlan, run: PlannedRun, output: &Path, listed: Traffic) -> Self {
        let report = Self::of(plan, &run, output);
        let stored = run.sets.iter().map(|set| set.planned.stored).fold(StoredContent::default(), StoredContent::merge);
        let stores = match is_remote(output) {
            true => StoreEstimate::default().with_output(report.files.iter().map(|file| file.bytes)),
            false => StoreEstimate::default(),
        };
        let mut examples = run.sets.into_iter().next().map(|set| set.planned.examples).unwrap_or_default();
        (examples.inputs, examples.parts) = (run.inputs, run.parts);
        examples.input_mapping = input_mapping(plan);
        Self { examples, stores: stores.with_input(stored, listed), ..report }
    }

    /// Copies the problems and notes of the run.
    pub(super) fn take_findings(&mut self, context: &TaskContext) {
        RunFindings { problems: self.problems, counts: self.counts, elapsed: self.elapsed } = context.run_findings();
    }

    fn left_out_lines(&self) -> Vec<ReportLine> {
        let reasons = self.left_out.reasons().into_iter().filter(|(number, _, _)| *number > 0);
        let line = |number, why| ReportLine::plain(format!("Left out: {} {why}.", count(number, "sample")));
        let left_out = reasons.map(|(number, why, _)| line(number, why));
        let kept = (self.kept_excluded > 0).then(|| {
            let (number, are) = (grouped(self.kept_excluded), agree(self.kept_excluded, "is", "are"));
            let why = "excluded by split.yaml, and written because of --keep-excluded";
            ReportLine::plain(format!("Of the chosen samples, {number} {are} {why}."))
        });
        left_out.chain(kept).collect()
    }

    fn preview_lines(&self) -> Vec<ReportLine> {
        let mut lines = Vec::new();
        let largest = self.files.iter().map(|file| file.samples).max();
        if let (Some(last), Some(largest), true) = (self.files.last(), largest, self.files.len() > 1) {
            lines.extend(histogram("Sizes of shards:", self.files.iter().map(|file| file.bytes), bytes));
            lines.extend(histogram("Samples of shards:", self.files.iter().map(|file| file.samples), grouped));
            let share = percent(last.samples as f64 / largest.max(1) as f64);
            lines.push(ReportLine::plain(format!("The last shard has {share} of the samples of the largest one.")));
        }
        if self.shards < FEW_SHARDS {
            let few = count(self.shards, "shard");
            let line = format!("Loaders assign shards to workers: with more workers than {few}, some have no shard.");
            lines.push(ReportLine::plain(line));
        }
        if let Some(seconds) = self.seconds {
            let time = gristmill_core::text::about(Duration::from_secs_f64(seconds));
            lines.push(ReportLine::plain(match self.free_bytes {
                Some(free) => format!("{} are free at the output; the copy takes {time}.", bytes(free)),
                None => format!("The copy takes {time}."),
            }));
        }
        lines.extend(self.stores.lines());
        lines
    }
}

/// A range of values, and the number of values in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueRange {
    /// The smallest value.
    pub from: u64,
    /// The largest value.
    pub to: u64,
    /// Number of values.
    pub count: u64,
}

/// Divides values into at most eight ranges of equal width. Each result spans from the smallest to the largest value in the range; empty
/// ranges are omitted.
pub fn ranges_of(values: impl Iterator<Item = u64> + Clone) -> Vec<ValueRange> {
    let (Some(least), Some(most)) = (values.clone().min(), values.clone().max()) else { return Vec::new() };
    let width = ((most - least) / RANGES as u64 + 1).max(1);
    let mut ranges: [Option<ValueRange>; RANGES] = [None; RANGES];
    for value in values {
        let number = usize::try_from((value - least) / width).unwrap_or(usize::MAX);
        if let Some(place) = ranges.get_mut(number) {
            let range = place.get_or_insert(ValueRange { from: value, to: value, count: 0 });
            (range.from, range.to) = (range.from.min(value), range.to.max(value));
            range.count += 1;
        }
    }
    ranges.into_iter().flatten().collect()
}

/// Returns a table with the number of shards in each range of values.
fn histogram(title: &str, values: impl Iterator<Item = u64> + Clone, shown: impl Fn(u64) -> String) -> Vec<ReportLine> {
    let mut table = Table::new(&[("", Align::Right), ("", Align::Left), ("", Align::Right), ("", Align::Right)]);
    for range in ranges_of(values) {
        let (from, to) = (shown(range.from), shown(range.to));
        // If all values of a range are equal, only one is shown.
        let (to_word, to) = if from == to { Default::default() } else { ("to".to_owned(), to) };
        table.row([from, to_word, to, count(range.count, "shard")]);
    }
    crate::job::report::section(title, table.lines())
}

impl Report for ShardReport {
    fn lines(&self, is_preview: bool) -> Vec<ReportLine> {
        if self.nothing_to_do {
            let place = display_safe(&self.output.to_string_lossy()).into_owned();
            let (shards, samples) = (count(self.shards, "shard"), count(self.samples, "sample"));
            return vec![ReportLine::success(
                "Nothing to do:",
                format!(" {place} was made by this plan: {samples}, {shards}."),
            )];
        }
        let mut lines = Vec::new();
        let mut push = |amount: String, splits: Vec<ReportLine>| {
            lines.push(match is_preview {
                true => ReportLine::plain(format!("Would write {amount}. Nothing was written.")),
                false => ReportLine::success("Wrote", format!(" {amount}.")),
            });
            lines.extend(splits);
        };
        if let Some(number) = self.lines {
            // These lines replace the lines about the output.
            push(format!("{} to {}", count(number, "line"), display_safe(&self.output.to_string_lossy())), Vec::new());
        }
        self.sets.iter().for_each(|set| push(set.amount(), set.split_lines().collect()));
        lines.extend(self.left_out_lines());
        if let Some(lost) = &self.lost_type {
            let lost = display_safe(lost);
            let way = "--sample-type and --field-map set another sample type";
            lines.push(ReportLine::plain(format!("The input is {lost}, the new set is {CRUDE_CLASS}: {way}.")));
        }
        if self.resumed_shards > 0 {
            let resumed = count(self.resumed_shards, "shard");
            lines.push(ReportLine::plain(format!("Of these, an interrupted run had written {resumed}.")));
        }
        if is_preview {
            lines.extend(self.preview_lines());
        }
        lines.extend(problem_table(&self.counts));
        lines
    }

    crate::job_report!();

    fn next_command(&self) -> Option<String> {
        Some(format!("gristmill browse {}", shell_quote(&self.output.to_string_lossy())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_ranges_group_nearby_values() {
        let range = |from, to, count| ValueRange { from, to, count };
        assert_eq!(ranges_of([8, 10].into_iter()), [range(8, 8, 1), range(10, 10, 1)]);
        let values = [0, 3, 80, 85, 88, 800].into_iter();
        assert_eq!(ranges_of(values), [range(0, 88, 5), range(800, 800, 1)]);
        assert_eq!(ranges_of([u64::MAX, 0].into_iter()).len(), 2);
        assert!(ranges_of(std::iter::empty()).is_empty());
    }
}
