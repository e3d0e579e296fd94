//! `prepare`: flags → plan → job → summary.

mod args;
pub mod direct;
mod execute;
mod fields;
mod guided;
mod missing;
mod plan;
pub mod summary;

pub use args::PrepareArgs;
pub use execute::{execute, report_notes, save_plan, write_plan};
pub use guided::{guided, screen};
pub use missing::{refuse_missing, Confirmation};
pub use plan::{exclude_lines, field_map, split_patterns, without_database, yaml_name};

use super::context::Context;
use super::exit::Finished;
use super::{jsonl, kinds, mix};
use gristmill_core::PreparePlan;

/// Prepares a data set: asks questions if allowed, otherwise uses the flags alone.
pub fn run(args: Box<PrepareArgs>, context: &Context) -> Finished {
    let plan = plan::from_args(&args, &context.globals)?;
    decide(plan, context)
}

/// Asks the open questions, or refuses the plan if asking is not allowed; then runs it.
pub fn decide(plan: PreparePlan, context: &Context) -> Finished {
    if jsonl::is_jsonl(&plan.path) {
        return jsonl::prepare(&plan, context);
    }
    if mix::is_metadataset(&plan.path) {
        return mix::prepare(&plan, context);
    }
    kinds::only_folders(&plan.path)?;
    if context.may_ask() && !context.globals.dry_run {
        return guided(plan, context);
    }
    refuse_missing(&plan, context, Confirmation::ByFlag)?;
    execute(plan, None, context)
}
