//! `shard`: writes files, rows and shards as the shards of a new, prepared WebDataset.

mod options;
mod preparation;

use super::{missing, Advice, AnyPlan, Operation, Plan};
use crate::job::task::TaskContext;
use crate::shard::{preview_shards, refusals, run_shard, ShardReport};
use gristmill_core::options::{Group, Step};
use gristmill_core::{Outcome, Problem, RunOptions, ShardPlan};
use gristmill_storage::location::output_next_to;
use gristmill_storage::stores::is_bucket;
use std::path::PathBuf;

/// The `shard` operation.
pub struct WriteShards;

/// The endings of files, which are not part of the name of an output.
const FILE_ENDINGS: [&str; 6] = [".json", ".parquet", ".arrow", ".csv", ".tsv", ".tar"];

/// Returns the proposed folder for the new shards, next to the first input; `None` if that is a pattern or has no name, or if lines of
/// text are the output.
pub fn proposed_output(plan: &ShardPlan) -> Option<String> {
    let input = plan.inputs.first().filter(|input| plan.apart.text_to.is_none() && !is_bucket(input))?;
    let name = input.file_name()?.to_str().filter(|name| !name.contains(['*', '?', '[', '{']))?;
    let ends = FILE_ENDINGS.iter().filter_map(|ending| name.find(ending)).filter(|at| *at > 0);
    let stem = name.get(..ends.min().unwrap_or(name.len()))?;
    Some(output_next_to(input, &format!("{stem}-shards")).to_string_lossy().into_owned())
}

/// The advice of `shard`.
struct ShardAdvice;

impl Advice for ShardAdvice {
    fn propose(&self, plan: &dyn AnyPlan, option: &str) -> Option<String> {
        plan.typed::<ShardPlan>().filter(|_| option == "output").and_then(proposed_output)
    }
}

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

    fn advice(_: &RunOptions) -> Box<dyn Advice> {
        Box::new(ShardAdvice)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proposed_output_is_next_to_the_first_input() {
        let of = |input: &str| proposed_output(&ShardPlan { inputs: vec![input.into()], ..ShardPlan::default() });
        assert_eq!(of("/data/coco").as_deref(), Some("/data/coco-shards"));
        assert_eq!(of("s3://b/web.v2/a.jsonl.gz").as_deref(), Some("s3://b/web.v2/a-shards"));
        assert_eq!(of("https://h/web.tar").as_deref(), Some("web-shards"));
        assert_eq!((of("/data/web-{000..009}.tar"), of("/")), (None, None));
        assert_eq!(proposed_output(&ShardPlan::default()), None);
    }
}
