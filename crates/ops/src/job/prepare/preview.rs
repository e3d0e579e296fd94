//! Computes the result of a run without running it, for the review and `--dry-run`.

use super::excludes::kept_excludes;
use super::rerun;
use super::summary::{selected_facts, shard_names, summaries};
use crate::engine::dataset::facts_for_plan;
use crate::engine::outputs;
use crate::engine::plan::inherit::recorded;
use crate::engine::plan::{inherited, resolve_in, same_keys, unusable_samples, validate};
use crate::engine::select::select;
use crate::engine::splits::SplitSummary;
use crate::job::report::OutputFile;
use gristmill_core::shard::index_name;
use gristmill_core::{
    text, DatasetFacts, Duplicates, Failure, PreparePlan, Problem, ProblemKind, Rerun, Scope, Severity, ShardFacts,
    Subject,
};
use gristmill_data::formats::energon::{layout, split_yaml};
use gristmill_storage::files;
use gristmill_storage::run_folder::RunFolder;
use gristmill_storage::space;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::HashSet;
use std::path::Path;

/// The expected result of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Preview {
    /// Files that would be written, in publication order. Sizes of indexes are estimates until the shards are scanned.
    pub files: Vec<OutputFile>,
    /// Splits as they would be written.
    pub splits: Vec<SplitSummary>,
    /// Samples in all shards that would be indexed, as far as they have been counted.
    pub samples: u64,
    /// Number of items that `split.yaml` would exclude; each is a shard or a sample.
    pub excludes: u64,
    /// Refusals that prevent a run, and problems that it would report.
    pub problems: Vec<Problem>,
    /// Changes compared to an earlier preparation, one line each.
    pub differences: Vec<String>,
    /// Whether the data set is already prepared with this plan, so that a run would write nothing.
    pub nothing_to_do: bool,
}

impl Preview {
    /// Returns a sentence on the comparison of keys, which only the run performs; `None` if the preview reports equal keys or there is
    /// nothing to do.
    pub fn key_comparison(&self, duplicates: Duplicates) -> Option<String> {
        let is_reported = self.problems.iter().any(|problem| problem.kind == ProblemKind::DuplicateKey);
        let then = match duplicates {
            _ if self.nothing_to_do || is_reported => return None,
            Duplicates::Prefix => "if one is in several shards, all are replaced by copies with other names",
            Duplicates::KeepFirst => "later samples of a key are reported and left out then",
            Duplicates::Fail => "a key of two samples stops it",
        };
        Some(format!("Keys of samples are compared by the run; {then}."))
    }
}

/// Returns the expected effect of `plan` on the data set, as far as it is known.
pub fn preview(plan: &PreparePlan, facts: &DatasetFacts) -> Preview {
    // If `split.yaml` cannot be read, the run reports it.
    let facts = facts_for_plan(plan, facts).unwrap_or(Cow::Borrowed(facts));
    let facts = facts.as_ref();
    let plan = &rerun::repair_plan(plan, facts);
    let recorded = recorded(plan, facts.prepared.as_ref());
    let plan = &inherited(plan, facts.prepared.as_ref());
    let concerns = crate::engine::dataset::concerns(Some(plan));
    let mut preview = Preview {
        files: Vec::new(),
        splits: Vec::new(),
        samples: 0,
        excludes: 0,
        problems: facts.findings.iter().filter(|found| concerns(found)).cloned().collect(),
        differences: Vec::new(),
        nothing_to_do: false,
    };
    preview.problems.extend(validate(plan, facts));
    if plan.duplicates == Duplicates::KeepFirst && unusable_samples(plan, facts).is_none() {
        preview.problems.extend(same_keys(plan, facts));
    }
    let positions = match select(plan, facts) {
        Ok(selected) => {
            preview.problems.extend(selected.left_out);
            selected.positions
        }
        Err(failure) => {
            if !preview.problems.iter().any(|p| p.severity == Severity::Refusal) {
                let problem = Problem::of_failure(ProblemKind::BadPattern, failure);
                preview.problems.push(Problem { severity: Severity::Refusal, ..problem });
            }
            return preview;
        }
    };
    let shards: Vec<ShardFacts> = positions.iter().filter_map(|&p| facts.shards.get(p).cloned()).collect();
    let resolved = resolve_in(plan, &selected_facts(facts, shards.clone()));
    for problem in &resolved.problems {
        if !preview.problems.contains(problem) {
            preview.problems.push(problem.clone());
        }
    }
    let named = shard_names(&resolved, &shards);
    let chosen = shards.iter().map(|shard| shard.name.as_str()).collect();
    // If the report of the previous run cannot be read, the run handles that.
    let (unchanged, _, judged) = rerun::take_over(plan, facts, &chosen).unwrap_or_default();
    let mut excludes = kept_excludes(plan, facts, &judged);
    excludes.extend(plan.excludes.iter().cloned());
    preview.samples = shards.iter().map(|shard| shard.samples).sum();
    preview.excludes = excludes.iter().collect::<HashSet<_>>().len() as u64;
    preview.splits = summaries(&named, &shards, &excludes);
    preview.differences = rerun::differences(plan, facts, &chosen, &judged);
    preview.differences.extend(moves(&named, facts));
    preview.nothing_to_do = match &facts.prepared {
        Some(prepared) if plan.rerun == Rerun::Update => {
            rerun::update_finds_nothing((plan, &recorded), facts, prepared, &positions)
        }
        _ => preview.problems.iter().any(|problem| problem.kind == ProblemKind::NothingToDo),
    };
    match preview.nothing_to_do {
        true => {
            preview.differences.clear();
            // The run reports these findings as well, and handles a report that cannot be read.
            let own = RunFolder::for_webdataset(&facts.root);
            let mut again = rerun::earlier_findings(&own, facts, &chosen, true).unwrap_or_default();
            again.retain(|found| !preview.problems.contains(found));
            preview.problems.extend(again.problems);
        }
        false => preview.files = files(plan, facts, (&shards, &unchanged), &named, excludes),
    }
    preview.problems.extend(space_problem(&preview.files, facts));
    preview.problems.extend(size_problem(&preview.files, facts));
    if !preview.nothing_to_do {
        preview.problems.extend(no_access(facts));
    }
    preview
}

/// Returns the problem of a data set that a run cannot write to.
pub fn no_access(facts: &DatasetFacts) -> Option<Problem> {
    let meta = facts.root.join(layout::NV_META);
    let folder = if files::is_dir(&meta) { meta } else { facts.root.clone() };
    use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
    let why =
        space::may_write(&folder).err().filter(|why| matches!(why.kind(), PermissionDenied | ReadOnlyFilesystem))?;
    let failure = Failure::io("preparing", &folder, &why);
    Some(Problem::of_failure(ProblemKind::Other, failure).with_effect("this folder is not writable"))
}

/// Returns a problem if the new files are larger than the free space. All files are written completely before any file is replaced.
fn space_problem(files: &[OutputFile], facts: &DatasetFacts) -> Option<Problem> {
    let needed: u64 = files.iter().map(|file| file.bytes).sum();
    let free = space::free_bytes(&facts.root).ok().filter(|free| *free < needed)?;
    let why = format!("about {} are needed, and {} are free", text::bytes(needed), text::bytes(free));
    let hint = "free some space first; if it runs out during the run, no partial output remains";
    Some(Problem::problem(ProblemKind::Other, Subject::path(&facts.root), why).with_hint(hint))
}

/// Returns a refusal if `split.yaml` would be larger than its readers accept.
fn size_problem(files: &[OutputFile], facts: &DatasetFacts) -> Option<Problem> {
    let path = layout::in_nv_meta(&facts.root, layout::SPLIT_YAML);
    let file = files.iter().find(|file| facts.root.join(&file.name) == path)?;
    let failure = split_yaml::check_size("preparing", &path, file.bytes).err()?;
    Some(Problem { severity: Severity::Refusal, ..Problem::of_failure(ProblemKind::BadFile, failure) })
}

/// Limit of shards named individually in a line about differences.
const MAX_NAMED_SHARDS: usize = 10;

/// Describes the splits of new shards and names missing shards, one line each.
fn moves(named: &[(String, Vec<String>)], facts: &DatasetFacts) -> Vec<String> {
    let Some(prepared) = &facts.prepared else { return Vec::new() };
    let new: HashSet<&str> = prepared.new_shards.iter().map(String::as_str).collect();
    let mut lines = Vec::new();
    for (split, members) in named {
        let joined: Vec<&str> = members.iter().map(String::as_str).filter(|name| new.contains(name)).collect();
        if !joined.is_empty() {
            lines.push(format!("into {split}: {}", list_names(&joined)));
        }
    }
    if prepared.missing_shards.len() > 1 {
        let gone: Vec<&str> = prepared.missing_shards.iter().map(String::as_str).collect();
        lines.push(format!("taken out, as they no longer exist: {}", list_names(&gone)));
    }
    lines
}

fn list_names(names: &[&str]) -> String {
    let shown = names.iter().take(MAX_NAMED_SHARDS).copied().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MAX_NAMED_SHARDS) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Size of a page of a database in bytes.
const PAGE_BYTES: u64 = 4096;
const SCHEMA_PAGES: u64 = 1;
/// Approximate size, in bytes, of a row of a sample and of a part in the table and in each of its indexes, measured with keys of
/// `KEY_BYTES`.
const SAMPLE_ROW_BYTES: [u64; 3] = [27, 17, 11];
const PART_ROW_BYTES: [u64; 3] = [22, 16, 22];
const KEY_BYTES: u64 = 8;
/// Characters per item of `exclude` in addition to its text.
const ITEM_BYTES: u64 = 3;

/// Returns the approximate size of `index.sqlite`.
fn database_bytes(facts: &DatasetFacts, (samples, parts): (u64, u64)) -> u64 {
    let keys = facts.sketches.iter().map(|sketch| sketch.key.len() as u64);
    let key = keys.clone().sum::<u64>().checked_div(keys.count() as u64).unwrap_or(KEY_BYTES);
    let [table, unique, order] = SAMPLE_ROW_BYTES;
    let with_key = |bytes: u64| (bytes + key).saturating_sub(KEY_BYTES);
    let of_samples = [with_key(table), with_key(unique), order].map(|bytes| (samples, bytes));
    let trees = of_samples.into_iter().chain(PART_ROW_BYTES.map(|bytes| (parts, bytes)));
    let pages = trees.map(|(rows, bytes)| match rows.saturating_mul(bytes).div_ceil(PAGE_BYTES) {
        0 | 1 => 1,
        // A tree with several leaf pages has a root page above them.
        leaves => leaves + 1,
    });
    (SCHEMA_PAGES + pages.sum::<u64>()) * PAGE_BYTES
}

/// Returns excludes of samples whose key is also in an earlier shard. Each is an example with the number of similar excludes.
fn later_samples(facts: &DatasetFacts) -> Vec<(String, u64)> {
    let mut later = Vec::new();
    for group in &facts.same_keys {
        for at in group.shards.iter().skip(1).filter(|at| Some(*at) != group.shards.first()) {
            let shard = facts.shards.get(*at as usize).map_or("", |shard| shard.name.as_str());
            later.push((outputs::exclude_item(shard, Some(&group.key)), group.keys));
        }
    }
    later
}

/// Returns the size of `split.yaml` with these items in bytes. Of each group of similar excludes, only the example is rendered.
fn split_bytes(named: &[(String, Vec<String>)], mut excludes: Vec<String>, later: Vec<(String, u64)>) -> u64 {
    let further = later.iter().map(|(item, number)| number.saturating_sub(1) * (item.len() as u64 + ITEM_BYTES));
    let further: u64 = further.sum();
    excludes.extend(later.into_iter().map(|(item, _)| item));
    outputs::split_yaml(named, excludes).len() as u64 + further
}

fn files(
    plan: &PreparePlan,
    facts: &DatasetFacts,
    (shards, unchanged): (&[ShardFacts], &HashSet<String>),
    named: &[(String, Vec<String>)],
    excludes: Vec<String>,
) -> Vec<OutputFile> {
    let root: &Path = &facts.root;
    let mut list = Vec::new();
    let mut add = |name: String, bytes: u64| {
        let replaces = files::exists(root.join(&name));
        list.push(OutputFile { name, bytes, replaces });
    };
    // The indexes of unchanged shards are not rewritten.
    for shard in shards.iter().filter(|shard| !unchanged.contains(&shard.name)) {
        add(index_name(&shard.name), 8 * (shard.samples + 1));
    }
    let samples: u64 = shards.iter().map(|shard| shard.samples).sum();
    let parts: u64 = facts.parts.values().map(|part| part.samples).sum();
    let later = match plan.duplicates {
        Duplicates::KeepFirst => later_samples(facts),
        Duplicates::Fail | Duplicates::Prefix => Vec::new(),
    };
    let rows = samples.saturating_sub(later.iter().map(|(_, number)| number).sum());
    let in_meta = |name: &str| format!("{}/{name}", layout::NV_META);
    if plan.scope != Scope::WithoutSampleTables {
        let parts = (parts as f64 * rows as f64 / samples.max(1) as f64) as u64;
        add(in_meta(layout::INDEX_SQLITE), database_bytes(facts, (rows, parts)));
    }
    add(in_meta(layout::INDEX_UUID), 36);
    if plan.scope != Scope::TarIndexOnly {
        add(in_meta(layout::SPLIT_YAML), split_bytes(named, excludes, later));
        for text in outputs::loading(plan, facts) {
            if !(text.keep_existing && files::exists(root.join(layout::NV_META).join(&text.name))) {
                add(in_meta(&text.name), text.content.len() as u64);
            }
        }
        let counts = shards.iter().map(|shard| (shard.name.clone(), shard.samples)).collect();
        for text in outputs::info(counts, files::is_file(root.join(layout::NV_META).join(layout::INFO_YAML))) {
            add(in_meta(&text.name), text.content.len() as u64);
        }
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_file_that_no_command_could_read_is_refused() {
        let facts = DatasetFacts::new("/data".into(), gristmill_core::DatasetKind::RawWebDataset);
        let file = |bytes| [OutputFile { name: ".nv-meta/split.yaml".to_owned(), bytes, replaces: false }];
        assert_eq!(size_problem(&file(64 << 20), &facts), None);
        let problem = size_problem(&file(65 << 20), &facts).unwrap();
        assert!(problem.severity == Severity::Refusal && problem.message.contains("65.0 MiB"), "{problem}");
    }
}
