//! Recorded counts of shards: unchanged shards of an earlier preparation are not scanned before the run.

use gristmill_core::{DatasetFacts, ShardState};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Returns the facts with recorded counts for unchanged shards that have not been scanned.
pub fn with_recorded_counts(facts: Arc<DatasetFacts>) -> Arc<DatasetFacts> {
    let Some(prepared) = &facts.prepared else { return facts };
    let waits = |state| state == ShardState::Waiting;
    if !facts.shards.iter().any(|s| waits(s.state)) {
        return facts;
    }
    let counts: HashMap<&str, u64> = prepared.shard_counts.iter().map(|(name, n)| (name.as_str(), *n)).collect();
    let changed: HashSet<&str> = prepared.changed_shards.iter().map(String::as_str).collect();
    let mut filled = (*facts).clone();
    for shard in filled.shards.iter_mut().filter(|s| waits(s.state) && !changed.contains(s.name.as_str())) {
        if let Some(samples) = counts.get(shard.name.as_str()) {
            shard.samples = *samples;
            shard.state = ShardState::Scanned;
        }
    }
    Arc::new(filled)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::facts_prepared;
    use super::*;

    #[test]
    fn unchanged_shards_have_recorded_counts_and_other_shards_wait() {
        let mut facts = facts_prepared();
        for shard in &mut facts.shards {
            shard.state = ShardState::Waiting;
            shard.samples = 0;
        }
        if let Some(prepared) = &mut facts.prepared {
            prepared.changed_shards = vec!["shard_0003.tar".into()];
        }
        let filled = with_recorded_counts(Arc::new(facts));
        let state = |at: usize| (filled.shards[at].state, filled.shards[at].samples);
        assert_eq!(state(0), (ShardState::Scanned, 10_000));
        assert_eq!(state(3), (ShardState::Waiting, 0));
        assert_eq!(state(19), (ShardState::Waiting, 0));
    }

    #[test]
    fn facts_of_unprepared_data_set_are_not_changed() {
        let facts = Arc::new(super::super::fixture::facts_half_scanned());
        assert!(Arc::ptr_eq(&facts, &with_recorded_counts(Arc::clone(&facts))));
    }
}
