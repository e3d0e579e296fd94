//! When two plans make the same bytes, and what they answer differently.

use super::super::compare::differing_answers;
use gristmill_core::DedupPlan;
use xxhash_rust::xxh3::xxh3_128;

/// Counts up when the same plan makes other bytes, or when what a stopped run leaves changes its meaning.
const GENERATION: u32 = 1;

/// A short fingerprint of every answer that decides the bytes of the result; where it goes is left out.
pub fn plan_hash(plan: &DedupPlan) -> String {
    let same = DedupPlan { output: String::new(), overwrite: false, ..plan.clone() };
    let plan = serde_json::to_string(&same).unwrap_or_else(|_| format!("{same:?}"));
    format!("{:032x}", xxh3_128(format!("{GENERATION}\n{plan}").as_bytes()))
}

/// The answers that differ, one line each: `min-length: 50 → 100`. Empty when both make the same files.
pub fn differences(old: &DedupPlan, new: &DedupPlan) -> Vec<String> {
    differing_answers(old, new, &["output", "overwrite", "version"])
}
