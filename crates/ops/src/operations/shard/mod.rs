//! `shard`: writes files, rows and shards as the shards of a new, prepared WebDataset.

mod options;
mod preparation;

use super::{missing, Operation, Plan};
use crate::job::task::TaskContext;
use crate::shard::{preview_shards, refusals, run_shard, ShardReport};
use gristmill_core::options::{Group, Step};
use gristmill_core::{Outcome, Problem, ShardPlan};
use std::path::PathBuf;

/// The `shard` operation.
pub struct WriteShards;

impl Plan for ShardPlan {
    fn blank() -> Self {
        Self::default()
    }
}

impl Operation for WriteShards {
    type Plan = ShardPlan;
    type Preview = ShardReport;
    type Report = ShardReport;
    const NAME: &'static str = "shard";
    const ALIASES: &'static [&'static str] = &["reshard"];
    const ABOUT: &'static str =
        "Write shards of loose files, of rows with media, or of other shards, prepared in the same pass";
    const ACTIVITY: &'static str = "writing shards";
    const PLAN_OF: &'static str = crate::shard::PLAN_OF;
    const STEPS: &'static [Step] = options::STEPS;
    const GROUPS: &'static [Group<Self::Plan>] = options::GROUPS;
    const SHOWS_PHASES: bool = true;

    fn check(plan: &ShardPlan, _: bool) -> Vec<Problem> {
        // Text lines can be the only output.
        let is_missing = |problem: &Problem| plan.apart.text_to.is_none() || !problem.message.starts_with("--output");
        missing::<Self>(plan).into_iter().filter(is_missing).chain(refusals(plan)).collect()
    }

    fn recent(plan: &ShardPlan) -> Option<PathBuf> {
        plan.output.clone().or_else(|| plan.apart.text_to.clone())
    }

    fn preview(plan: &ShardPlan, context: &TaskContext) -> Outcome<ShardReport> {
        preview_shards(context, plan)
    }

    fn run(plan: &ShardPlan, context: &TaskContext) -> Outcome<ShardReport> {
        run_shard(context, plan)
    }
}
