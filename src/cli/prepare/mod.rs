//! `prepare`: flags → plan → job → summary.

mod args;
mod plan;

pub use args::PrepareArgs;

use super::context::Context;
use super::end::Finished;
use crate::model::Failure;

/// Prepares a data set.
pub fn run(args: Box<PrepareArgs>, context: &Context) -> Finished {
    let plan = plan::from_args(&args, &context.globals)?;
    let _ = plan;
    Err(Failure::usage("prepare", "not there yet").into())
}
