//! Figures of a run: the splits with their shards and samples, and the report of a run that had nothing to do.

use super::collect::Selection;
use super::excludes::whole_shards;
use super::{Context, PrepareReport};
use crate::engine::plan::ResolvedSplits;
use crate::engine::splits::SplitSummary;
use gristmill_core::{DatasetFacts, ShardFacts, ShardId};
use std::collections::{HashMap, HashSet};

/// Returns the facts with only the shards of the plan.
pub(super) fn selected_facts(facts: &DatasetFacts, shards: Vec<ShardFacts>) -> DatasetFacts {
    DatasetFacts { shards, prepared: facts.prepared.clone(), ..DatasetFacts::new(facts.root.clone(), facts.kind) }
}

/// Returns the splits with the names of their shards, in the order in which they are written.
pub(super) fn shard_names(resolved: &ResolvedSplits, shards: &[ShardFacts]) -> Vec<(String, Vec<String>)> {
    let name = |id: &ShardId| shards.get(id.0 as usize).map(|shard| shard.name.clone());
    resolved.splits.iter().map(|(split, ids)| (split.clone(), ids.iter().filter_map(name).collect())).collect()
}

/// Returns the figures of the splits as `info` counts them, without excluded shards.
pub(super) fn summaries(
    named: &[(String, Vec<String>)],
    shards: &[ShardFacts],
    excludes: &[String],
) -> Vec<SplitSummary> {
    let samples = shards.iter().map(|shard| (shard.name.as_str(), shard.samples)).collect();
    summarize(named, &samples, &whole_shards(excludes, shards))
}

fn summarize(
    named: &[(String, Vec<String>)],
    samples: &HashMap<&str, u64>,
    excluded: &HashSet<String>,
) -> Vec<SplitSummary> {
    let summary = |(name, members): &(String, Vec<String>)| {
        let left = || members.iter().filter(|member| !excluded.contains(*member));
        SplitSummary {
            name: name.as_str().into(),
            shards: left().count() as u64,
            samples: left().filter_map(|member| samples.get(member.as_str())).sum(),
        }
    };
    named.iter().map(summary).collect()
}

pub(super) fn report_nothing(context: &Context, selection: &Selection) -> PrepareReport {
    let facts = context.shared.facts_now();
    let counts = facts.prepared.as_ref().map(|p| p.shard_counts.as_slice()).unwrap_or_default();
    let by_name = counts.iter().map(|(name, samples)| (name.as_str(), *samples)).collect();
    let shards: Vec<&ShardFacts> = selection.positions.iter().filter_map(|&p| facts.shards.get(p)).collect();
    let excludes = facts.prepared.as_ref().map(|p| p.excludes.as_slice()).unwrap_or_default();
    let splits = facts.prepared.as_ref().map(|p| p.splits.as_slice()).unwrap_or_default();
    PrepareReport {
        shards: shards.len() as u64,
        samples: counts.iter().map(|(_, samples)| samples).sum(),
        parts: None,
        bytes: shards.iter().map(|shard| shard.stamp.bytes).sum(),
        splits: summarize(splits, &by_name, &whole_shards(excludes, &facts.shards)),
        excludes: excludes.len() as u64,
        media: None,
        files: Vec::new(),
        nothing_to_do: true,
        problems: context.shared.problems.to_vec(),
        counts: context.shared.problems.counts(),
        elapsed: context.task.elapsed(),
    }
}
