//! Excludes of whole shards, and excludes kept from an earlier preparation.

use super::Context;
use crate::engine::index::{self, BuiltIndex, SpooledShard};
use crate::engine::outputs;
use gristmill_core::text::count;
use gristmill_core::text::shell_quote;
use gristmill_core::{
    DatasetFacts, Outcome, PreparePlan, Problem, ProblemKind, ProblemSink, Rerun, Scope, ShardFacts, Subject,
};
use gristmill_pycompat::braces;
use std::collections::HashSet;

/// Limit of items that are reported individually; further items are counted.
const MAX_NAMED_ITEMS: usize = 20;
/// End of the message for a later sample that the run excludes.
pub(super) const LATER_IS_EXCLUDED: &str = "the later one is excluded";

/// Returns the items that are whole shards, which the loader drops from the splits.
pub(super) fn whole_shards(items: &[String], shards: &[ShardFacts]) -> HashSet<String> {
    let names: HashSet<&str> = shards.iter().map(|shard| shard.name.as_str()).collect();
    let expanded = items.iter().flat_map(|item| braces::expand(item, braces::MAX_RESULTS).unwrap_or_default());
    expanded.filter(|name| names.contains(name.as_str())).collect()
}

/// Returns the excludes kept from an earlier preparation, without those that are decided again.
pub(super) fn kept_excludes(plan: &PreparePlan, facts: &DatasetFacts, judged: &HashSet<String>) -> Vec<String> {
    let stays = match plan.rerun {
        Rerun::Update => true,
        Rerun::Overwrite => !plan.reset_excludes,
        Rerun::Refuse => false,
    };
    let before = facts.prepared.as_ref().filter(|_| stays).map_or(&[][..], |prepared| &prepared.excludes);
    before.iter().filter(|item| !judged.contains(*item)).cloned().collect()
}

/// Reports kept excludes whose shard or sample is not in the data set. Excludes of shards that the plan omits are not reported, since such
/// a shard may be used again.
pub(super) fn report_stale(
    context: &Context,
    facts: &DatasetFacts,
    (shards, spools): (&[ShardFacts], &[SpooledShard]),
    built: &BuiltIndex,
    judged: &HashSet<String>,
) -> Outcome<()> {
    let plan = &context.plan;
    let Some(database) = built.database.as_ref().filter(|_| plan.scope == Scope::Full) else { return Ok(()) };
    // Excludes for damage and AppleDouble files are added by this run itself, even if the sample has no row. Excludes of the plan are
    // reported elsewhere.
    let damaged = spools.iter().zip(shards).flat_map(|(spool, shard)| {
        spool
            .scan
            .damaged_keys
            .iter()
            .chain(&spool.scan.apple_double_keys)
            .map(|key| outputs::exclude_item(&shard.name, Some(key)))
    });
    let told: HashSet<String> = damaged.chain(plan.excludes.iter().cloned()).collect();
    let names: Vec<String> = shards.iter().map(|shard| shard.name.clone()).collect();
    let indexed: HashSet<&str> = names.iter().map(String::as_str).collect();
    let left_out: HashSet<&str> =
        facts.shards.iter().map(|shard| shard.name.as_str()).filter(|name| !indexed.contains(name)).collect();
    let is_left_out =
        |item: &str| left_out.contains(item) || item.match_indices('/').any(|(at, _)| left_out.contains(&item[..at]));
    let mut kept = kept_excludes(plan, facts, judged);
    kept.retain(|item| !told.contains(item) && !is_left_out(item));
    let lost = index::unmatched_excludes(database, &names, &kept, plan.duplicates, &context.shared.cancel)?;
    let stale = || lost.iter().filter(|lost| lost.lost == lost.all);
    for item in stale().take(MAX_NAMED_ITEMS) {
        let make = if plan.compat { Problem::note } else { Problem::problem };
        let message = "this exclude, kept from before, matches nothing: no such shard, or no such sample in it";
        let problem = make(ProblemKind::MatchesNothing, Subject::field(item.item.as_str()), message);
        let hint = format!(
            "gristmill splits include {} {} takes it out; --force-overwrite --reset-excludes removes all of them",
            shell_quote(&plan.path),
            shell_quote(&item.item)
        );
        context.shared.problems.report(problem.with_hint(hint))?;
    }
    if let Some(more) = stale().count().checked_sub(MAX_NAMED_ITEMS).filter(|more| *more > 0) {
        let make = if plan.compat { Problem::note } else { Problem::problem };
        let message = format!("{} more kept from before match nothing", count(more as u64, "exclude"));
        context.shared.problems.report(make(ProblemKind::MatchesNothing, Subject::default(), message))?;
    }
    Ok(())
}
