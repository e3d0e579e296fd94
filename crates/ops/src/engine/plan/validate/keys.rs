//! Checks for duplicate keys, and for samples whose parts are separated by other entries of a shard.

use crate::engine::plan::splits;
use gristmill_core::shard_plan::RepeatedKeys;
use gristmill_core::{
    text, AppleDouble, DatasetFacts, DuplicateKeys, Duplicates, PreparePlan, Problem, ProblemKind, Scope, Severity,
    Subject,
};
use std::path::Path;

/// Refuses unusable samples, and duplicate keys unless the plan has an answer for them.
pub(super) fn check(plan: &PreparePlan, facts: &DatasetFacts, problems: &mut Vec<Problem>) {
    problems.extend(key_refusals(plan, facts));
}

/// Returns the refusals of samples that cannot be used and of duplicate keys, as far as scans have found them.
pub fn key_refusals(plan: &PreparePlan, facts: &DatasetFacts) -> Vec<Problem> {
    let unusable = unusable_samples(plan, facts);
    let same = copies(plan, facts).filter(|_| plan.duplicates == Duplicates::Fail);
    let hint = match unusable {
        Some(_) => prefix_and_merge_hint(&facts.root),
        None => {
            format!("--duplicates keep-first, --exclude a shard, --skip-sample-tables, or {}", prefix_hint(&facts.root))
        }
    };
    let problems = unusable.into_iter().chain(same.map(|same| same.with_hint(hint)));
    problems.map(|problem| Problem { severity: Severity::Refusal, ..problem }).collect()
}

/// Returns the hint for a data set that has both samples in several pieces and keys of several samples.
fn prefix_and_merge_hint(root: &Path) -> String {
    let root = text::shell_quote(&root.to_string_lossy());
    format!(
        "gristmill shard {root} --output NEW --duplicates prefix brings the parts of each sample together and puts the name of \
         its shard before each key; samples that share a key and a part within one shard must be renamed first"
    )
}

/// Returns a hint with the two ways to make keys in several shards different.
pub fn prefix_hint(root: &Path) -> String {
    let root = text::shell_quote(&root.to_string_lossy());
    format!(
        "put the name of its shard before each key: gristmill shard {root} --output NEW --duplicates prefix writes new shards, \
         gristmill energon prepare {root} --fix-duplicates replaces these"
    )
}

/// Returns the problem of samples that cannot be used with any answer, if a scan has found some in the shards of a plan. These shards must
/// be packed again.
pub fn unusable_samples(plan: &PreparePlan, facts: &DatasetFacts) -> Option<Problem> {
    apple_double(plan, facts).or_else(|| {
        let (keys, (one, other, key)) = count_repeated(plan, facts, &facts.scattered)?;
        let problem = scattered_problem(&facts.root, keys, key, (one, other));
        Some(match keys_in_new_shards(plan, facts) {
            Some(RepeatedKeys::Prefix) => problem.with_hint(prefix_and_merge_hint(&facts.root)),
            _ => problem,
        })
    })
}

/// Returns the treatment of repeated keys by which `shard` writes new shards that can be prepared, as the hints of these problems say.
/// `None` without such a problem, and for AppleDouble entries, where other steps are needed.
pub fn keys_in_new_shards(plan: &PreparePlan, facts: &DatasetFacts) -> Option<RepeatedKeys> {
    let is_scattered = count_repeated(plan, facts, &facts.scattered).is_some();
    let is_repeated = copies(plan, facts).is_some();
    match apple_double(plan, facts) {
        Some(_) => None,
        None if is_repeated => Some(RepeatedKeys::Prefix),
        None if !is_scattered => None,
        None if facts.scattered.iter().any(is_in_other_shards_too) => Some(RepeatedKeys::Prefix),
        None => Some(RepeatedKeys::Merge),
    }
}

/// Whether a key is in several pieces of one shard, and in another shard: these are different samples, which are not merged.
fn is_in_other_shards_too(group: &DuplicateKeys) -> bool {
    let mut shards = group.shards.clone();
    shards.sort_unstable();
    shards.dedup();
    (2..group.shards.len()).contains(&shards.len())
}

/// Returns the problem of AppleDouble entries that separate the parts of samples.
fn apple_double(plan: &PreparePlan, facts: &DatasetFacts) -> Option<Problem> {
    let is_refused = |entries: &&AppleDouble| entries.is_refused();
    if !facts.shards.iter().any(|shard| shard.apple_double.as_ref().filter(is_refused).is_some()) {
        return None;
    }
    let excluded = splits::excluded(&plan.exclude_shards, &facts.shards);
    let left = facts.shards.iter().zip(excluded).filter(|(_, is_excluded)| !is_excluded).map(|(shard, _)| shard);
    let mut refused = left.filter_map(|shard| Some((shard, shard.apple_double.as_ref().filter(is_refused)?)));
    let (shard, entries) = refused.next()?;
    let mut problem = entries.problem(&shard.name);
    let more = refused.count() as u64;
    if more > 0 {
        problem.message.push_str(&format!("; so it is in {}", text::count(more, "more shard")));
    }
    Some(problem)
}

/// Returns the problem of samples whose parts are in several places. `one` and `other` are the shards of the first two places.
pub fn scattered_problem(root: &Path, samples: u64, key: &str, (one, other): (&str, &str)) -> Problem {
    let places = match one == other {
        true => format!("'{key}' is in {one} in more than one piece"),
        false => format!("'{key}' is partly in {one} and partly in {other}"),
    };
    let message = format!("the parts of {} are not next to each other: {places}", text::count(samples, "sample"));
    let root = text::shell_quote(&root.to_string_lossy());
    let hint = format!(
        "gristmill shard {root} --output NEW --duplicates merge brings the parts of each sample together in new shards; or \
         pack the shards again, sorted by name: tar --sort=name -cf SHARD.tar -C FOLDER ."
    );
    Problem::problem(ProblemKind::ScatteredSample, Subject::shard(other).key(key), message).with_hint(hint)
}

/// Returns the problem of duplicate keys, where a scan has found any among the shards of a plan; with `keep-first` it is not a refusal.
/// `None` while there are [`unusable_samples`], which need new shards.
pub fn same_keys(plan: &PreparePlan, facts: &DatasetFacts) -> Option<Problem> {
    copies(plan, facts).filter(|_| unusable_samples(plan, facts).is_none())
}

/// [`same_keys`], also where there are [`unusable_samples`].
fn copies(plan: &PreparePlan, facts: &DatasetFacts) -> Option<Problem> {
    if plan.scope == Scope::WithoutSampleTables {
        return None;
    }
    let (keys, (one, other, key)) = count_repeated(plan, facts, &facts.same_keys)?;
    let verb = text::agree(keys, "names", "name");
    let places = match one == other {
        true => format!("'{key}' is in {one} twice"),
        false => format!("'{key}' is in {one} and again in {other}"),
    };
    let message = format!("{} {verb} more than one sample; {places}", text::count(keys, "key"));
    let problem = Problem::problem(ProblemKind::DuplicateKey, Subject::shard(other).key(key), message);
    Some(problem.with_hint("later copies are left out of the tables"))
}

/// Returns the number of keys that occur at least twice in the shards of a plan, with two shards and the key of the first one.
fn count_repeated<'f>(
    plan: &PreparePlan,
    facts: &'f DatasetFacts,
    groups: &'f [DuplicateKeys],
) -> Option<(u64, (&'f str, &'f str, &'f str))> {
    if groups.is_empty() {
        return None;
    }
    let excluded = splits::excluded(&plan.exclude_shards, &facts.shards);
    let name = |at: u32| facts.shards.get(at as usize).map_or("", |shard| shard.name.as_str());
    let mut keys = 0;
    let mut first = None;
    for group in groups {
        let mut taken = group.shards.iter().copied().filter(|at| excluded.get(*at as usize) == Some(&false));
        if let (Some(one), Some(other)) = (taken.next(), taken.next()) {
            keys += group.keys;
            first = first.or(Some((name(one), name(other), group.key.as_str())));
        }
    }
    Some((keys, first?))
}
