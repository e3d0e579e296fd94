//! `dedup`: writes the files of a folder of JSONL or Parquet without repeated text.

mod advice;
pub mod lines;
mod options;

pub use advice::proposed_output;

use super::{Advice, Operation, Plan};
use crate::engine::plan::dedup::{open_questions, refusals};
use crate::job::dedup::{needs, preview, run_dedup, DedupEstimate, DedupReport};
use crate::job::task::TaskContext;
use gristmill_core::options::{Group, Step};
use gristmill_core::text::{bytes, display_safe};
use gristmill_core::{Cancel, DedupPlan, Outcome, Problem, RunOptions};
use gristmill_storage::remote::is_hub_url;
use lines::PlannedResult;
use std::path::PathBuf;

/// The `dedup` operation.
pub struct Dedup;

impl Plan for DedupPlan {
    fn blank() -> Self {
        Self::new("", "")
    }
}

impl Operation for Dedup {
    type Plan = DedupPlan;
    type Preview = PlannedResult<DedupEstimate>;
    type Report = PlannedResult<DedupReport>;
    const NAME: &'static str = "dedup";
    const ABOUT: &'static str = "Remove repeated text, except where it is first, and write the same files without it";
    const ACTIVITY: &'static str = "deduplicating";
    const PLAN_OF: &'static str = "removing repeated text";
    const STEPS: &'static [Step] = &[
        Step { id: "source", title: "Source" },
        Step { id: "length", title: "Min. length" },
        Step { id: "mode", title: "Mode" },
    ];
    const GROUPS: &'static [Group<Self::Plan>] = options::GROUPS;
    const USES_SPARE_MEMORY: bool = true;
    const SHOWS_PHASES: bool = true;

    /// A preview writes nothing, so it needs no output.
    fn check(plan: &DedupPlan, is_preview: bool) -> Vec<Problem> {
        let named = match is_preview && plan.output.is_empty() {
            true => DedupPlan {
                output: std::env::temp_dir().join("gristmill").to_string_lossy().into_owned(),
                ..plan.clone()
            },
            false => plan.clone(),
        };
        open_questions(&named).into_iter().chain(refusals(plan)).collect()
    }

    fn recent(plan: &DedupPlan) -> Option<PathBuf> {
        Some(PathBuf::from(plan.visible_output()))
    }

    fn announcement(plan: &DedupPlan, options: &RunOptions, cancel: &Cancel) -> Outcome<Option<String>> {
        // The size of a hub data set is known only after the run has listed it.
        if is_hub_url(&plan.input) {
            return Ok(None);
        }
        let needs = needs(plan, options, cancel)?;
        let line = || {
            format!(
                "Scratch: about {} in {}, where {} are free.",
                bytes(needs.scratch_bytes),
                display_safe(&needs.scratch.to_string_lossy()),
                bytes(needs.scratch_free_bytes)
            )
        };
        Ok((needs.scratch_bytes > 0).then(line))
    }

    fn advice(options: &RunOptions) -> Box<dyn Advice> {
        Box::new(advice::DedupAdvice { options: options.clone() })
    }

    fn preview(plan: &DedupPlan, context: &TaskContext) -> Outcome<Self::Preview> {
        Ok(PlannedResult { plan: plan.clone(), report: preview(plan, context)? })
    }

    fn run(plan: &DedupPlan, context: &TaskContext) -> Outcome<Self::Report> {
        Ok(PlannedResult { plan: plan.clone(), report: run_dedup(context, plan)? })
    }
}
