//! Converts a plan of deduplicating to the equivalent command.

use super::super::flags as f;
use super::super::CommandLine;
use super::flags as d;
use gristmill_core::dedup::{Keep, Mode, Variant, ANNOTATE_KEY, LEAST_COUNT, TEXT_KEY};
use gristmill_core::DedupPlan;

impl CommandLine {
    /// Returns the command equivalent to this plan of deduplicating.
    pub fn of_dedup(plan: &DedupPlan) -> Self {
        let mut line = Self::default();
        line.push("gristmill");
        line.push("dedup");
        let is_like_a_flag = plan.input.starts_with('-');
        if !plan.input.is_empty() && !is_like_a_flag {
            line.push(&plan.input);
        }
        let given = |value: &Option<String>| value.clone().filter(|value| !value.is_empty());
        let mut maybe = |flag: &str, value: Option<String>| {
            if let Some(value) = value {
                line.value(flag, &value);
            }
        };
        maybe(d::FROM_INDEX, given(&plan.from_index));
        maybe(d::OUTPUT, Some(plan.output.clone()).filter(|output| !output.is_empty()));
        maybe(d::MINLEN, plan.min_length.map(|length| length.to_string()));
        maybe(d::MODE, (plan.mode == Mode::Annotate).then(|| "annotate".into()));
        maybe(d::VARIANT, (plan.variant == Variant::B).then(|| "b".into()));
        maybe(d::ANNOTATE_KEY, (plan.annotate_key != ANNOTATE_KEY).then(|| plan.annotate_key.clone()));
        maybe(d::TEXT_KEY, (plan.text_key != TEXT_KEY).then(|| plan.text_key.clone()));
        maybe(d::KEEP, (plan.keep == Keep::None).then(|| "none".into()));
        maybe(d::MIN_COUNT, (plan.min_count != LEAST_COUNT).then(|| plan.min_count.to_string()));
        maybe(d::AGAINST, given(&plan.against));
        maybe(d::EXPORT_INDEX, given(&plan.export_index));
        maybe(d::EXPORT_RANGES, given(&plan.export_ranges));
        maybe(d::SHARDS, (plan.shards != 1).then(|| plan.shards.to_string()));
        line.flag_if(plan.table, d::TABLE);
        line.flag_if(plan.overwrite, d::FORCE_OVERWRITE);
        line.flag_if(plan.compat, f::COMPAT);
        if is_like_a_flag {
            line.push("--");
            line.push(&plan.input);
        }
        line
    }
}
