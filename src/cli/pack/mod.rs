//! `pack`: flags → plan → job → summary.

mod args;
mod plan;
#[cfg(test)]
mod tests;

pub use args::PackArgs;

use super::context::Context;
use super::end::{Finished, Stopped};
use crate::engine::plan::pack::{open_questions, refusals};
use crate::model::{Failure, PackPlan, Problem};

/// Packs what the flags say.
pub fn run(args: &PackArgs, context: &Context) -> Finished {
    let plan = plan::from_args(args, context.globals.compat)?;
    execute(&plan, context)
}

/// Does what the plan says, with the flags that hold everywhere; prints the summary.
pub fn execute(plan: &PackPlan, context: &Context) -> Finished {
    refuse_open(plan)?;
    let _ = context;
    Err(Failure::usage("packing", "it is not supported yet").into())
}

/// Refuses a plan with open questions, naming the flag of each, or with answers that cannot be right.
fn refuse_open(plan: &PackPlan) -> Result<(), Stopped> {
    let mut refused = open_questions(plan);
    refused.extend(refusals(plan));
    if refused.is_empty() {
        return Ok(());
    }
    Err(refused.into_iter().map(Problem::into_failure).collect::<Vec<_>>().into())
}
