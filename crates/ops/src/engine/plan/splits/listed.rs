//! Division by lists: shards by name, as in `split.yaml`.

use super::{check_split_names, last_wins, Candidates, LeftOutReason};
use crate::engine::plan::nearest;
use gristmill_core::plan::SplitList;
use gristmill_core::text::{agree, count};
use gristmill_core::{PreparePlan, Problem, ProblemKind, ShardId, Subject};
use gristmill_pycompat::braces;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Limit of names in one message; further names are counted.
const MAX_NAMED_SHARDS: usize = 3;

pub(super) fn divide(
    plan: &PreparePlan,
    lists: &[SplitList],
    candidates: &Candidates<'_>,
    problems: &mut Vec<Problem>,
) -> Vec<(String, Vec<ShardId>)> {
    check_split_names(lists.iter().map(|l| l.name.as_str()), problems);
    let by_name = candidates.by_name();
    let left_out: HashMap<&str, LeftOutReason> = candidates
        .left_out
        .iter()
        .filter_map(|l| candidates.facts(l.shard).map(|s| (s.name.as_str(), l.reason)))
        .collect();
    let mut splits = Vec::new();
    for (split, items) in last_wins(lists.iter().map(|l| (l.name.as_str(), l.shards.as_slice()))) {
        let shards = resolve_items(plan, split, items, &by_name, &left_out, problems);
        if shards.is_empty() {
            let message = format!("split '{split}' has no shard");
            problems.push(Problem::note(ProblemKind::EmptySplit, Subject::field(split), message));
        }
        splits.push((split.to_owned(), shards));
    }
    note_shared(&splits, candidates, problems);
    splits
}

fn resolve_items(
    plan: &PreparePlan,
    split: &str,
    items: &[String],
    by_name: &HashMap<Cow<'_, str>, ShardId>,
    left_out: &HashMap<&str, LeftOutReason>,
    problems: &mut Vec<Problem>,
) -> Vec<ShardId> {
    let (mut shards, mut seen) = (Vec::new(), HashSet::new());
    let (mut unknown, mut unusable, mut twice) = (Vec::new(), BTreeMap::new(), Vec::new());
    for item in items {
        let names = match braces::expand(item, braces::MAX_RESULTS) {
            Ok(names) => names,
            Err(e) => {
                let message = format!("'{item}' of split '{split}': {e}");
                problems.push(Problem::refusal(ProblemKind::BadBraces, Subject::field(split), message));
                continue;
            }
        };
        for name in names {
            match (by_name.get(name.as_str()), left_out.get(name.as_str())) {
                (Some(&id), _) if seen.insert(id) => shards.push(id),
                (Some(_), _) => twice.push(name),
                (None, Some(reason)) => unusable.entry(reason.title()).or_insert_with(Vec::new).push(name),
                (None, None) => unknown.push(name),
            }
        }
    }
    if !unknown.is_empty() {
        problems.push(unknown_shards(plan, split, &unknown, by_name));
    }
    for (why, names) in unusable {
        let message = format!(
            "{} of split '{split}' left out: {} ({why})",
            count(names.len() as u64, "shard"),
            list_names(&names)
        );
        problems.push(Problem::note(ProblemKind::UnassignedShards, Subject::field(split), message));
    }
    if !twice.is_empty() {
        let message = format!(
            "split '{split}' lists {} more than once; used once: {}",
            count(twice.len() as u64, "shard"),
            list_names(&twice)
        );
        problems.push(Problem::note(ProblemKind::Other, Subject::field(split), message));
    }
    shards
}

/// Returns the problem of names in a split that belong to no shard, which prevents the loader from starting.
fn unknown_shards(
    plan: &PreparePlan,
    split: &str,
    unknown: &[String],
    by_name: &HashMap<Cow<'_, str>, ShardId>,
) -> Problem {
    let shards = count(unknown.len() as u64, "shard");
    let message = format!("split '{split}' names {shards} that the data set does not have: {}", list_names(unknown));
    let problem = Problem::refusal(ProblemKind::MatchesNothing, Subject::field(split), message);
    let mut known: Vec<&str> = by_name.keys().map(AsRef::as_ref).collect();
    known.sort_unstable();
    match nearest(&unknown[0], known.iter().copied().take(10_000)) {
        Some(near) => problem.with_hint(format!("did you mean '{near}'?")),
        None if plan.splits == gristmill_core::SplitPlan::Unset => problem,
        None => {
            problem.with_hint(format!("names are relative to {}; correct the list, or use --split-ratio", plan.path))
        }
    }
}

/// Adds notes on shards in two splits, which is allowed but probably a mistake.
pub(super) fn note_shared(splits: &[(String, Vec<ShardId>)], candidates: &Candidates<'_>, problems: &mut Vec<Problem>) {
    let mut first: HashMap<ShardId, &str> = HashMap::new();
    let mut shared: BTreeMap<(&str, &str), Vec<ShardId>> = BTreeMap::new();
    for (split, shards) in splits {
        for &id in shards {
            match first.get(&id) {
                Some(&other) => shared.entry((other, split)).or_default().push(id),
                None => {
                    first.insert(id, split);
                }
            }
        }
    }
    for ((a, b), ids) in shared {
        let verb = agree(ids.len() as u64, "is", "are");
        let example = ids.first().map(|&id| candidates.name(id).into_owned()).unwrap_or_default();
        let shards = count(ids.len() as u64, "shard");
        let message = format!("{shards} {verb} in both '{a}' and '{b}', e.g. {example}");
        problems.push(Problem::note(ProblemKind::ShardInTwoSplits, Subject::field(b), message));
    }
}

/// Returns the first names, and the number of further ones.
pub(super) fn list_names(names: &[String]) -> String {
    let shown = names.iter().take(MAX_NAMED_SHARDS).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MAX_NAMED_SHARDS) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
