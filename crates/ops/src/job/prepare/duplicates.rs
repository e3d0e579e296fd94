//! Keys shared by two samples: refused with both locations, or reported with the treatment of the later sample.

use super::collect::Selection;
use super::excludes::{kept_excludes, LATER_IS_EXCLUDED};
use super::summary::{selected_facts, shard_names};
use super::{rerun, Context};
use crate::engine::index::{self, BuiltIndex, DuplicateKey, SpooledShard, UnusedSamples};
use crate::engine::plan::{key_refusals, prefix_hint, resolve_in};
use gristmill_core::text::hint_for;
use gristmill_core::{
    text, Duplicates, Failure, Outcome, Problem, ProblemKind, ProblemSink, ShardFacts, ShardId, Subject,
};
use gristmill_pycompat::braces;
use std::collections::{HashMap, HashSet};

/// End of the message for a key that occurs twice in one shard. The run excludes neither sample, but a user may.
const NEITHER: &str =
    "only the first can be reached by name; an exclude would drop both, so neither is excluded for it";

const MERGE_PARTS: &str = "gristmill shard PATH --output NEW --duplicates merge";

/// Returns the failure for duplicate keys. All duplicates are listed with both locations; the first one is the failure.
pub(super) fn duplicates_refused(context: &Context, selection: &Selection, built: &BuiltIndex) -> Failure {
    let name = |place: &(ShardId, u64)| shard_name(context, selection, place.0);
    for duplicate in &built.duplicates {
        let problem = Problem::refusal(
            ProblemKind::DuplicateKey,
            Subject::shard(name(&duplicate.second)).key(&duplicate.key),
            places(duplicate, &name),
        );
        if context.shared.problems.report(problem).is_err() {
            break;
        }
    }
    let failure = match built.duplicates.first() {
        Some(first) => Failure::data(
            "preparing the data set",
            format!("{} in all; {}", text::count(built.duplicate_count, "duplicate key"), places(first, &name)),
        )
        .on(Subject::shard(name(&first.second)).key(&first.key)),
        None => Failure::data("preparing the data set", text::count(built.duplicate_count, "duplicate key")),
    };
    let are_in_one_shard = built.duplicates.first().is_some_and(|first| first.first.0 == first.second.0);
    let ways =
        "keys must be unique over the whole data set: leave a shard out with --exclude, keep the first copy with \
                --duplicates keep-first, do without access by name with --skip-sample-tables, or";
    let root = &context.shared.root;
    let hint = match are_in_one_shard {
        true => hint_for(root, &format!("{ways} bring the parts of each key together: {MERGE_PARTS}")),
        false => format!("{ways} {}", prefix_hint(root)),
    };
    failure.of_kind(ProblemKind::DuplicateKey).with_hint(hint)
}

/// Refuses samples whose parts are in several places, regardless of the plan's treatment of duplicate keys: each place would be a separate
/// sample. Where it does, keys of several samples are reported, too.
pub(super) fn refuse_scattered(context: &Context, selection: &Selection, spools: &[SpooledShard]) -> Outcome<()> {
    let shared = &context.shared;
    let numbers = selection.positions.iter().map(|position| u32::try_from(*position).unwrap_or(u32::MAX));
    let shards: Vec<(u32, &SpooledShard)> = numbers.zip(spools).collect();
    let groups = index::scattered_samples(&*shared.fs, &shards, context.scratch.path(), &shared.cancel)?;
    if groups.scattered.is_empty() {
        return Ok(());
    }
    shared.update(|state| (state.facts.same_keys, state.facts.scattered) = (groups.same, groups.scattered));
    rerun::refuse(context, key_refusals(&context.plan, &shared.facts_now()))
}

fn places(duplicate: &DuplicateKey, name: &impl Fn(&(ShardId, u64)) -> String) -> String {
    let mut both = [duplicate.first, duplicate.second];
    both.sort_unstable();
    let [early, late] = both;
    format!("the key is in {} (sample {}) and again in {} (sample {})", name(&early), early.1, name(&late), late.1)
}

/// Returns the samples that are not used in training: samples of shards that the loader cannot open, that are in no split or that are
/// excluded, and samples that are excluded by name.
pub(super) fn untrained(context: &Context, selection: &Selection, spools: &[SpooledShard]) -> UnusedSamples {
    if context.plan.duplicates != Duplicates::KeepFirst {
        return UnusedSamples::default();
    }
    let facts = context.shared.facts_now();
    let shards: Vec<ShardFacts> = selection.positions.iter().filter_map(|&p| facts.shards.get(p).cloned()).collect();
    let resolved = resolve_in(&context.plan, &selected_facts(&facts, shards.clone()));
    let in_splits: HashSet<String> = shard_names(&resolved, &shards).into_iter().flat_map(|(_, names)| names).collect();
    let mut items = kept_excludes(&context.plan, &facts, &selection.redecided);
    items.extend(context.plan.excludes.iter().cloned());
    let items: HashSet<String> =
        items.iter().flat_map(|item| braces::expand(item, braces::MAX_RESULTS).unwrap_or_default()).collect();
    let mut untrained = UnusedSamples::default();
    for ((id, shard), spool) in (0..).zip(&shards).zip(spools) {
        let is_read = !shard.unusable && !shard.is_tgz && !spool.scan.damaged_start;
        untrained.shards.push(!is_read || !in_splits.contains(&shard.name) || items.contains(&shard.name));
        untrained.keys.extend(spool.scan.damaged_keys.iter().map(|key| (id, key.clone())));
    }
    let ids: HashMap<&str, u32> = shards.iter().map(|shard| shard.name.as_str()).zip(0..).collect();
    for item in &items {
        let places = item.match_indices('/').map(|(at, _)| (&item[..at], &item[at + 1..]));
        untrained.keys.extend(places.filter_map(|(shard, key)| Some((*ids.get(shard)?, key.to_owned()))));
    }
    untrained
}

/// Returns the name of a shard by its id in the index.
pub(super) fn shard_name(context: &Context, selection: &Selection, id: ShardId) -> String {
    let state = context.shared.lock();
    let position = selection.positions.get(id.0 as usize).copied().unwrap_or(usize::MAX);
    state.shards.get(position).map_or_else(String::new, |shard| shard.name.clone())
}

pub(super) fn report_duplicates(context: &Context, selection: &Selection, built: &BuiltIndex) -> Outcome<()> {
    for duplicate in &built.duplicates {
        let name = |place: &(ShardId, u64)| shard_name(context, selection, place.0);
        let outcome = if duplicate.first.0 == duplicate.second.0 {
            NEITHER
        } else if duplicate.first > duplicate.second {
            "the earlier one is in no training, so the later one is kept"
        } else {
            LATER_IS_EXCLUDED
        };
        context.shared.problems.report(Problem::problem(
            ProblemKind::DuplicateKey,
            Subject::shard(name(&duplicate.second)).key(&duplicate.key),
            format!("{}; {outcome}", places(duplicate, &name)),
        ))?;
    }
    Ok(())
}
