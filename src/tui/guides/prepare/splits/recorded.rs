//! The records of an earlier preparation for an update: its splits, its rule, and the new shards.

use super::super::step::Answers;
use gristmill_core::SplitPlan;
use std::collections::HashSet;

/// Whether an update finds shards that the earlier preparation does not have.
pub(in crate::tui::guides::prepare) fn has_new_shards(answers: &Answers) -> bool {
    answers.facts.prepared.as_ref().is_some_and(|p| !p.new_shards.is_empty())
}

/// Returns the recorded division, which determines the splits of new shards in an update.
pub(in crate::tui::guides::prepare) fn recorded_rule(answers: &Answers) -> Option<&SplitPlan> {
    let plan = answers.facts.prepared.as_ref().and_then(|p| p.plan.as_ref());
    plan.map(|p| &p.splits).filter(|s| **s != SplitPlan::Unset)
}

/// Whether the recorded division determines the splits of new shards. Manual splits do not apply to shards that they do not name.
pub(in crate::tui::guides::prepare) fn has_rule(answers: &Answers) -> bool {
    let Some(SplitPlan::Listed(lists)) = recorded_rule(answers) else { return recorded_rule(answers).is_some() };
    let named: HashSet<String> = lists.iter().flat_map(|l| super::super::derive::expand_all(&l.shards)).collect();
    let new = answers.facts.prepared.iter().flat_map(|p| &p.new_shards);
    new.into_iter().all(|name| named.contains(name))
}

/// Returns the names of the splits of the earlier preparation.
pub(in crate::tui::guides::prepare) fn recorded_splits(answers: &Answers) -> Vec<String> {
    answers.facts.prepared.as_ref().map(|p| p.splits.iter().map(|(n, _)| n.clone()).collect()).unwrap_or_default()
}
