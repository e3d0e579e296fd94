//! Whether two plans produce the same bytes, and which of their answers differ.

use crate::engine::plan::compare::differing_answers;
use gristmill_core::PackPlan;
use xxhash_rust::xxh3::xxh3_128;

/// Incremented when the same plan produces other bytes, or when the meaning of the files of a stopped run changes.
const GENERATION: u32 = 1;

/// Returns a short fingerprint of all answers that determine the bytes of the result. It ignores the output path and includes the content
/// of the tokenizer file (`tokenizer_hash`).
pub fn plan_hash(plan: &PackPlan, tokenizer_hash: &str) -> String {
    let same = PackPlan { output: String::new(), overwrite: false, ..plan.clone() };
    let plan = serde_json::to_string(&same).unwrap_or_else(|_| format!("{same:?}"));
    format!("{:032x}", xxh3_128(format!("{GENERATION}\n{tokenizer_hash}\n{plan}").as_bytes()))
}

/// Returns the answers that differ, one line each: `tokenizer: "a" → "b"`. Empty if both plans produce the same files.
pub fn differences(old: &PackPlan, new: &PackPlan) -> Vec<String> {
    differing_answers(old, new, &["output", "overwrite", "version"])
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_core::pack::{NanosetsTarget, SpecialToken};

    #[test]
    fn pack_plan_hash_covers_answers_that_change_the_output() {
        let old = PackPlan::new(vec!["a".into()], "t.json", "out");
        let same = PackPlan { output: "elsewhere".into(), overwrite: true, ..old.clone() };
        assert_eq!(plan_hash(&old, "h"), plan_hash(&same, "h"));
        assert!(differences(&old, &same).is_empty());
        assert_ne!(plan_hash(&old, "h"), plan_hash(&old, "i"));
        let other = PackPlan {
            end: Some(SpecialToken::Id(0)),
            nanosets: Some(NanosetsTarget { tasks: Some(2), ..NanosetsTarget::default() }),
            seed: 7,
            ..old.clone()
        };
        assert_ne!(plan_hash(&old, "h"), plan_hash(&other, "h"));
        let lines = differences(&old, &other);
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(
            lines.contains(&"seed: 42 → 7".to_owned()) && lines.contains(&"nanosets: not given → given".to_owned())
        );
        let third = PackPlan { nanosets: Some(NanosetsTarget::default()), ..other.clone() };
        assert_eq!(differences(&other, &third), ["nanosets tasks: 2 → not given"]);
    }
}
