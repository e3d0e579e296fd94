//! `verify`: scans every shard again and compares it with the index row by row and bit by bit.

use super::compare::compare_shard;
use super::media::Depth;
use super::sample_checks::SampleChecker;
use super::shard_unit::one_shard;
use super::{CheckCounts, PreparedDataset};
use crate::engine::index;
use gristmill_core::{Duplicates, Handles, Outcome, Problem, ProblemKind, ShardId, Subject};
use gristmill_data::formats::energon::layout;
use std::collections::HashSet;
use std::path::Path;

/// Verifies a whole data set, one shard after the other. Findings are reported to the handles.
///
/// A caller with threads calls [`begin`], then [`verify_shard`] for each shard in any order.
pub fn verify(root: &Path, handles: &Handles<'_>) -> Outcome<CheckCounts> {
    let prepared = begin(root, handles)?;
    handles.progress.restart(u64::from(prepared.shard_count()), prepared.bytes());
    let mut checked = CheckCounts::default();
    for id in 0..prepared.shard_count() {
        checked.add(verify_shard(&prepared, ShardId(id), handles)?);
    }
    Ok(checked)
}

/// Opens the data set and checks its shared files: the database as a whole, an interrupted publication.
pub fn begin(root: &Path, handles: &Handles<'_>) -> Outcome<PreparedDataset> {
    let mut prepared = PreparedDataset::open(root)?;
    super::lint::interrupted(&prepared, handles.problems)?;
    super::lint::files::check(&prepared, handles.problems)?;
    // Errors that a loader finds before its first sample are as serious as a wrong row.
    super::lint::dataset_yaml(&prepared, layout::DATASET_YAML, handles.problems)?;
    super::lint::splits::check(&prepared, handles.problems)?;
    super::lint::database::check(&mut prepared, handles)?;
    super::media::check_rows(&prepared, handles)?;
    unmatched_excludes(&prepared, handles)?;
    Ok(prepared)
}

/// Reports excludes of samples that do not exist according to the tables. Excludes that name no shard were reported with the splits.
fn unmatched_excludes(prepared: &PreparedDataset, handles: &Handles<'_>) -> Outcome<()> {
    let Some(file) = prepared.splits.as_ref().filter(|_| prepared.has_tables) else { return Ok(()) };
    let names: Vec<String> = prepared.info.shard_counts.iter().map(|(name, _)| name.clone()).collect();
    // Only one of several samples with the same key has a row, so a match in any shard counts.
    let known: HashSet<&str> = names.iter().map(String::as_str).collect();
    let names_a_shard = |item: &str| item.match_indices('/').any(|(at, _)| known.contains(&item[..at]));
    let lost =
        index::unmatched_excludes(&prepared.database(), &names, &file.exclude, Duplicates::KeepFirst, handles.cancel)?;
    for item in lost.iter().filter(|lost| lost.lost == lost.all && names_a_shard(&lost.example)) {
        let message = "this exclude matches nothing: no such sample in its shard";
        handles.problems.report(
            Problem::problem(ProblemKind::MatchesNothing, Subject::field(item.item.as_str()), message)
                .with_hint("correct it in split.yaml, or remove it"),
        )?;
    }
    Ok(())
}

/// Verifies one shard, which is a unit of work. A shard that is missing or unreadable is a finding, not a failure.
pub fn verify_shard(prepared: &PreparedDataset, id: ShardId, handles: &Handles<'_>) -> Outcome<CheckCounts> {
    let Some((name, count)) = prepared.entry(id) else { return Ok(CheckCounts::default()) };
    one_shard(name, handles, |handles| {
        let shard = prepared.shard(id)?;
        super::lint::shard::empty(name, count, handles.problems)?;
        super::lint::shard::index_length(prepared, id, &shard, handles.problems)?;
        let checked =
            compare_shard(prepared, id, &shard, &mut SampleChecker::nothing(&prepared.root, name), None, handles)?;
        super::media::check_shard(prepared, id, Depth::Probe, handles)?;
        Ok(checked)
    })
}
