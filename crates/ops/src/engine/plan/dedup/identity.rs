//! Decides whether two plans produce the same bytes, and in which answers they differ.

use super::super::compare::differing_answers;
use gristmill_core::DedupPlan;
use xxhash_rust::xxh3::xxh3_128;

/// Must be increased when the same plan produces other bytes, or when the meaning of the files of a stopped run changes.
const GENERATION: u32 = 1;

/// Returns a short fingerprint of every answer that determines the bytes of the result. The output path is not included.
pub fn plan_hash(plan: &DedupPlan) -> String {
    let same = DedupPlan { output: String::new(), overwrite: false, ..plan.clone() };
    let plan = serde_json::to_string(&same).unwrap_or_else(|_| format!("{same:?}"));
    format!("{:032x}", xxh3_128(format!("{GENERATION}\n{plan}").as_bytes()))
}

/// Returns the answers that differ, one line each: `min-length: 50 → 100`. Empty if both plans produce the same files.
pub fn differences(old: &DedupPlan, new: &DedupPlan) -> Vec<String> {
    differing_answers(old, new, &["output", "overwrite", "version"])
}
