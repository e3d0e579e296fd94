//! `verify`: every shard is scanned afresh and held against the index, row by row and bit by bit.

use super::compare::compare_shard;
use super::media::Depth;
use super::sample_checks::Watch;
use super::{Checked, Prepared, Remembering};
use crate::engine::index;
use crate::formats::energon::layout;
use gristmill_core::{Duplicates, Failure, Handles, Outcome, Problem, ProblemKind, ShardId, Subject};
use std::collections::HashSet;
use std::path::Path;

/// Verifies a whole data set, one shard after the other. Findings go to the handles.
///
/// Whoever has threads calls [`begin`], then [`verify_shard`] for each shard in any order.
pub fn verify(root: &Path, handles: &Handles<'_>) -> Outcome<Checked> {
    let prepared = begin(root, handles)?;
    handles.progress.restart(u64::from(prepared.shard_count()), prepared.bytes());
    let mut checked = Checked::default();
    for id in 0..prepared.shard_count() {
        checked.add(verify_shard(&prepared, ShardId(id), handles)?);
    }
    Ok(checked)
}

/// Opens the data set and checks what concerns no shard of its own: the database as a whole, an interrupted publish.
pub fn begin(root: &Path, handles: &Handles<'_>) -> Outcome<Prepared> {
    let mut prepared = Prepared::open(root)?;
    super::lint::interrupted(&prepared, handles.problems)?;
    super::lint::files::check(&prepared, handles.problems)?;
    // What a loader stumbles over before it comes to a sample is as wrong as a row.
    super::lint::dataset_yaml(&prepared, layout::DATASET_YAML, handles.problems)?;
    super::lint::splits::check(&prepared, handles.problems)?;
    super::lint::database::check(&mut prepared, handles)?;
    super::media::check_rows(&prepared, handles)?;
    unmatched_excludes(&prepared, handles)?;
    Ok(prepared)
}

/// Excludes whose sample is not there, as far as the tables tell. Those that name no shard were told with the splits.
fn unmatched_excludes(prepared: &Prepared, handles: &Handles<'_>) -> Outcome<()> {
    let Some(file) = prepared.splits.as_ref().filter(|_| prepared.has_tables) else { return Ok(()) };
    let names: Vec<String> = prepared.info.shard_counts.iter().map(|(name, _)| name.clone()).collect();
    // Of a key that is there twice only one has a row, so any place will do.
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

/// Verifies one shard: the unit of work. A shard that is gone or unreadable is a finding, not a failure.
pub fn verify_shard(prepared: &Prepared, id: ShardId, handles: &Handles<'_>) -> Outcome<Checked> {
    let Some((name, count)) = prepared.entry(id) else { return Ok(Checked::default()) };
    one_shard(name, handles, |handles| {
        let shard = prepared.shard(id)?;
        super::lint::shard::empty(name, count, handles.problems)?;
        super::lint::shard::index_length(prepared, id, &shard, handles.problems)?;
        let checked = compare_shard(prepared, id, &shard, &mut Watch::nothing(name), None, handles)?;
        super::media::check_shard(prepared, id, Depth::Probe, handles)?;
        Ok(checked)
    })
}

/// Checks one shard so that what goes wrong with it is told and the others are still checked. Only a cancellation, and a
/// finding that is to end the run (`--strict`), are handed on.
pub(super) fn one_shard(
    name: &str,
    handles: &Handles<'_>,
    check: impl FnOnce(&Handles<'_>) -> Outcome<Checked>,
) -> Outcome<Checked> {
    handles.cancel.check()?;
    let sink = Remembering::new(handles.problems);
    match check(&Handles { problems: &sink, ..*handles }) {
        Err(failure) if !failure.is_cancelled() && !sink.has_ended() => {
            unreadable(name, failure, handles)?;
            Ok(Checked::default())
        }
        other => other,
    }
}

/// A shard that cannot be checked is told like any other finding, so that the others still are.
fn unreadable(shard: &str, failure: Failure, handles: &Handles<'_>) -> Outcome<()> {
    handles.progress.add(1, 0);
    let missing = failure.class == gristmill_core::ExitClass::Environment;
    let kind = if missing { ProblemKind::Unreadable } else { ProblemKind::BadFile };
    let mut problem = Problem::problem(kind, Subject::shard(shard), format!("it cannot be checked: {}", failure.why));
    if failure.subject.shard.is_none() && !failure.subject.is_empty() {
        problem.message = format!("it cannot be checked: {} ({})", failure.why, failure.subject);
    }
    problem.hint = failure.hint;
    handles.problems.report(problem)
}
