//! `--update`: existing assignments by the user or an earlier run are kept; only shards that were not indexed before are assigned.

use super::listed::list_names;
use super::patterns::CompiledSplitPattern;
use super::{ratio, Candidates, ResolvedSplits};
use gristmill_core::text::{agree, count};
use gristmill_core::{PreparePlan, PreparedFacts, Problem, ProblemKind, ShardFacts, ShardId, SplitPlan, Subject};
use gristmill_data::formats::energon::ratio::PARTS;
use gristmill_pycompat::braces;
use std::collections::HashSet;

type Splits = Vec<(String, Vec<ShardId>)>;

pub(super) fn resolve(plan: &PreparePlan, shards: &[ShardFacts], prepared: &PreparedFacts) -> ResolvedSplits {
    let candidates = Candidates::new(plan, shards);
    let mut problems = Vec::new();
    let mut splits = existing(&candidates, prepared, &mut problems);
    let indexed: HashSet<&str> = prepared.shard_counts.iter().map(|(name, _)| name.as_str()).collect();
    // A shard that is already in a split keeps it, whether it was indexed or not.
    let assigned: HashSet<ShardId> = splits.iter().flat_map(|(_, shards)| shards.iter().copied()).collect();
    let is_new = |id: &ShardId| !indexed.contains(candidates.name(*id).as_ref()) && !assigned.contains(id);
    let new: Vec<ShardId> = candidates.eligible.iter().copied().filter(is_new).collect();
    if !new.is_empty() {
        join(plan, prepared, &candidates, &new, &mut splits, &mut problems);
    } else if let Some(split) = &plan.new_to {
        find_split(split, &splits, &mut problems);
    }
    super::listed::note_shared(&splits, &candidates, &mut problems);
    candidates.finish(splits, problems)
}

/// Returns the existing splits without missing shards.
fn existing(candidates: &Candidates<'_>, prepared: &PreparedFacts, problems: &mut Vec<Problem>) -> Splits {
    let by_name = candidates.by_name();
    let there: HashSet<&str> = candidates.shards.iter().map(|shard| shard.name.as_str()).collect();
    let (mut missing, mut unusable) = (Vec::new(), Vec::new());
    let mut splits = Vec::new();
    for (name, items) in &prepared.splits {
        let mut shards = Vec::with_capacity(items.len());
        for shard in items {
            match by_name.get(shard.as_str()) {
                Some(&id) => shards.push(id),
                None if there.contains(shard.as_str()) => unusable.push(shard.clone()),
                None => missing.push(shard.clone()),
            }
        }
        if shards.is_empty() && !items.is_empty() {
            let message = "it has no shards left; a trainer that requests it fails";
            problems.push(Problem::note(ProblemKind::EmptySplit, Subject::field(name), message));
        }
        splits.push((name.clone(), shards));
    }
    let message = |names: &[String], state: &str| {
        let number = count(names.len() as u64, "shard");
        format!("{number} in split.yaml {state} and will be removed: {}", list_names(names))
    };
    if !unusable.is_empty() {
        let message = message(&unusable, "can no longer be used");
        problems.push(Problem::note(ProblemKind::MissingFile, Subject::default(), message));
    }
    if !missing.is_empty() {
        let message = message(&missing, agree(missing.len() as u64, "no longer exists", "no longer exist"));
        let problem = Problem::problem(ProblemKind::MissingFile, Subject::default(), message);
        problems.push(problem.with_hint("restore them and run it again, unless they were removed on purpose"));
    }
    splits
}

fn join(
    plan: &PreparePlan,
    prepared: &PreparedFacts,
    candidates: &Candidates<'_>,
    new: &[ShardId],
    splits: &mut Splits,
    problems: &mut Vec<Problem>,
) {
    if let Some(split) = &plan.new_to {
        if let Some(place) = find_split(split, splits, problems) {
            splits[place].1.extend_from_slice(new);
        }
        return;
    }
    let recorded = prepared.plan.as_ref().map(|p| &p.splits);
    let rule = match (&plan.splits, recorded) {
        (SplitPlan::Unset, Some(recorded)) => recorded,
        (given, _) => given,
    };
    match rule {
        SplitPlan::Ratio(text) => match ratio::checked(text) {
            Ok(ratio) => by_shares(&PARTS.map(str::to_owned), &ratio, new, splits),
            Err(problem) => problems.push(problem),
        },
        SplitPlan::Patterns(patterns) => {
            for pattern in patterns {
                match CompiledSplitPattern::new(&pattern.pattern) {
                    Ok(compiled) => {
                        let matching = new.iter().copied().filter(|&id| compiled.matches(&candidates.name(id)));
                        let place = place_of(&pattern.name, splits);
                        splits[place].1.extend(matching);
                    }
                    Err(problem) => problems.push(problem),
                }
            }
        }
        SplitPlan::Listed(lists) => by_list(lists, candidates, new, splits, problems),
        SplitPlan::Unset => no_rule("the splits were not made by this program", new, splits, problems),
    }
}

/// Assigns the new shards that the lists of the plan name; other new shards need an answer.
fn by_list(
    lists: &[gristmill_core::plan::SplitList],
    candidates: &Candidates<'_>,
    new: &[ShardId],
    splits: &mut Splits,
    problems: &mut Vec<Problem>,
) {
    let mut left: HashSet<ShardId> = new.iter().copied().collect();
    let by_name = candidates.by_name();
    for list in lists {
        let names = list.shards.iter().flat_map(|i| braces::expand(i, braces::MAX_RESULTS).unwrap_or_default());
        let ids: Vec<ShardId> =
            names.filter_map(|n| by_name.get(n.as_str()).copied()).filter(|id| new.contains(id)).collect();
        let place = place_of(&list.name, splits);
        for id in ids {
            left.remove(&id);
            splits[place].1.push(id);
        }
    }
    let left: Vec<ShardId> = new.iter().copied().filter(|id| left.contains(id)).collect();
    if !left.is_empty() {
        no_rule("the splits were made by hand", &left, splits, problems);
    }
}

fn no_rule(why: &str, new: &[ShardId], splits: &Splits, problems: &mut Vec<Problem>) {
    let message = format!("{} joined, and {why}: which split do they go to?", count(new.len() as u64, "new shard"));
    let names: Vec<&str> = splits.iter().map(|(name, _)| name.as_str()).collect();
    let example = names.first().copied().unwrap_or("train");
    problems.push(
        Problem::refusal(ProblemKind::MissingAnswer, Subject::field("--new-to"), message)
            .with_hint(format!("--new-to {example} (splits: {})", names.join(", "))),
    );
}

fn find_split(split: &str, splits: &Splits, problems: &mut Vec<Problem>) -> Option<usize> {
    let place = splits.iter().position(|(name, _)| name == split);
    if place.is_none() {
        let names: Vec<&str> = splits.iter().map(|(name, _)| name.as_str()).collect();
        let message = format!("there is no split '{split}'; there are {}", names.join(", "));
        problems.push(Problem::refusal(ProblemKind::MatchesNothing, Subject::field("--new-to"), message));
    }
    place
}

fn place_of(name: &str, splits: &mut Splits) -> usize {
    splits.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
        splits.push((name.to_owned(), Vec::new()));
        splits.len() - 1
    })
}

/// Assigns consecutive new shards to each split, so that it gets as close to its share as possible and no shard is omitted.
fn by_shares(names: &[String; 3], ratio: &[f64; 3], new: &[ShardId], splits: &mut Splits) {
    let count = |name: &String| splits.iter().find(|(known, _)| known == name).map_or(0, |(_, shards)| shards.len());
    let have: Vec<usize> = names.iter().map(count).collect();
    let mut adds = [0usize; 3];
    let sum: f64 = ratio.iter().sum();
    for added in 0..new.len() {
        let total = (have.iter().sum::<usize>() + added + 1) as f64;
        let lacking = |i: usize| ratio[i] / sum * total - (have[i] + adds[i]) as f64;
        let wanting = (0..3).filter(|&i| ratio[i] > 0.0);
        let neediest = wanting.max_by(|&a, &b| lacking(a).total_cmp(&lacking(b)).then(b.cmp(&a)));
        adds[neediest.unwrap_or(0)] += 1;
    }
    let mut rest = new;
    // A split that the user removed is only created again if it receives a shard.
    for (name, &add) in names.iter().zip(&adds).filter(|(_, add)| **add > 0) {
        let (here, after) = rest.split_at(add);
        let place = place_of(name, splits);
        splits[place].1.extend_from_slice(here);
        rest = after;
    }
}
