//! `prepare META.yaml`, which needs no questions.

use super::super::context::Context;
use super::super::exit::CommandResult;
use super::super::operation::finish;
use super::super::prepare::{without_meaningless_flags, MetadatasetResult};
use super::super::task::run_with_progress;
use gristmill_core::PreparePlan;
use gristmill_ops::job::metadataset::{start, start_dry};
use gristmill_ops::operations::{erase, Prepare};
use std::path::Path;

/// Writes the join indexes of the metadataset of a plan.
pub fn prepare(plan: &PreparePlan, context: &Context) -> CommandResult {
    let plan = without_meaningless_flags(plan, "a metadataset", context)?;
    let (path, options) = (Path::new(&plan.path), context.run_options());
    let task = match context.globals.dry_run {
        true => start_dry(path, plan.compat, options)?,
        false => start(path, plan.compat, options)?,
    };
    let result = MetadatasetResult { path: plan.path.clone(), report: run_with_progress(task, None, context)? };
    finish(&*erase::<Prepare>(plan), &result, None, context)
}
