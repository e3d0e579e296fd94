//! Detects excludes that would have no effect.

use crate::engine::plan::{nearest, splits};
use gristmill_core::{DatasetFacts, PreparePlan, Problem, ProblemKind, Subject};
use gristmill_pycompat::{braces, pattern::Pattern};
use std::collections::HashSet;

/// Limit of items that are reported individually; further items are counted.
const MAX_NAMED_ITEMS: usize = 20;
/// Limit of shards that are compared with a name that no shard has.
const MAX_COMPARED_SHARDS: usize = 10_000;

/// Checks `--exclude`: each pattern must be usable and match at least one shard, or a file that looks like one.
pub(super) fn check_shard_patterns(plan: &PreparePlan, facts: &DatasetFacts, problems: &mut Vec<Problem>) {
    for pattern in &plan.exclude_shards {
        let matches = match splits::exclude_matches(pattern, &facts.shards) {
            Ok(matches) => matches,
            Err(problem) => {
                problems.push(problem);
                continue;
            }
        };
        if !matches.shards.is_empty() || leaves_out_unread(pattern, facts) {
            continue;
        }
        let message = format!(
            "--exclude '{pattern}' matches 0 of {}",
            gristmill_core::text::count(matches.total as u64, "shard")
        );
        if plan.compat {
            problems.push(Problem::note(ProblemKind::MatchesNothing, Subject::field(pattern), message));
            continue;
        }
        let problem = Problem::refusal(ProblemKind::MatchesNothing, Subject::field(pattern), message);
        problems.push(match matches.meant {
            Some(meant) => problem.with_hint(format!("{}; did you mean '{}'?", meant.why, meant.pattern)),
            None => problem.with_hint(
                "patterns are regular expressions on shard names, found anywhere; single samples go by --exclude-sample",
            ),
        });
    }
}

/// Whether a pattern matches a file that looks like a shard but is not read, and so is excluded on purpose.
fn leaves_out_unread(pattern: &str, facts: &DatasetFacts) -> bool {
    let Ok(pattern) = Pattern::compile(pattern) else { return false };
    let mut unread = facts.findings.iter().filter(|finding| finding.kind == ProblemKind::UnreadShard);
    unread.any(|finding| finding.subject.shard.as_deref().is_some_and(|name| pattern.is_found(name)))
}

/// Checks items for `exclude:`: each must name a shard, or a sample in a shard. Whether a key exists is only known after the scan.
pub(super) fn check_items(plan: &PreparePlan, facts: &DatasetFacts, problems: &mut Vec<Problem>) {
    if plan.excludes.is_empty() {
        return;
    }
    let names: HashSet<&str> = facts.shards.iter().map(|s| s.name.as_str()).collect();
    let all: Vec<&str> = facts.shards.iter().take(MAX_COMPARED_SHARDS).map(|shard| shard.name.as_str()).collect();
    let mut lost = 0usize;
    for item in &plan.excludes {
        // A similar name is only searched for items that are reported individually.
        let compared = if lost < MAX_NAMED_ITEMS { all.as_slice() } else { &[] };
        let Some(problem) = check_item(item, &names, compared) else { continue };
        lost += 1;
        if lost <= MAX_NAMED_ITEMS {
            problems.push(problem);
        }
    }
    if lost > MAX_NAMED_ITEMS {
        let message = format!(
            "{} no shard of this data set",
            gristmill_core::text::count_verb((lost - MAX_NAMED_ITEMS) as u64, "more exclude", "names", "name")
        );
        problems.push(Problem::refusal(ProblemKind::MatchesNothing, Subject::field("--exclude-from"), message));
    }
}

/// Checks one item. Suggests one of the `compared` names if its shard does not exist.
fn check_item(item: &str, names: &HashSet<&str>, compared: &[&str]) -> Option<Problem> {
    // Fast path: most items contain no braces, and there may be very many items.
    if !item.contains(['{', '}', '\\']) && shard_of(item, names).is_some() {
        return None;
    }
    let expanded = match braces::expand(item, braces::MAX_RESULTS) {
        Ok(expanded) => expanded,
        Err(e) => return Some(Problem::refusal(ProblemKind::BadBraces, Subject::field(item), e.to_string())),
    };
    let lost = expanded.iter().find(|name| shard_of(name, names).is_none())?;
    let message = format!("exclude '{lost}' names no shard of this data set");
    let problem = Problem::refusal(ProblemKind::MatchesNothing, Subject::field(item), message);
    let beginning = lost.split_inclusive(".tar").next().unwrap_or(lost);
    Some(match nearest(beginning, compared.iter().copied()) {
        Some(near) => problem.with_hint(format!("an item is SHARD or SHARD/KEY; did you mean '{near}'?")),
        None => problem.with_hint("an item is SHARD or SHARD/KEY, the shard as it is named in the list of shards"),
    })
}

/// Returns the shard that an expanded item refers to: the item itself, or the part before one of its slashes.
pub(crate) fn shard_of<'i>(item: &'i str, names: &HashSet<&str>) -> Option<&'i str> {
    if names.contains(item) {
        return Some(item);
    }
    item.match_indices('/').map(|(at, _)| &item[..at]).find(|shard| names.contains(shard))
}
