//! `prepare META.yaml`, which needs no questions.

use super::super::context::Context;
use super::super::exit::CommandResult;
use super::super::operation::finish;
use super::super::prepare::without_meaningless_flags;
use super::super::task::run_with_progress;
use gristmill_core::PreparePlan;
use gristmill_ops::job::metadataset::{start, IndexAction};
use gristmill_ops::operations::prepare::MetadatasetResult;
use gristmill_ops::operations::{erase, Prepare};
use gristmill_storage::fs::RealFs;
use std::path::Path;
use std::sync::Arc;

/// Writes the join indexes of the metadataset of a plan.
pub fn prepare(plan: &PreparePlan, context: &Context) -> CommandResult {
    let plan = without_meaningless_flags(plan, "a metadataset", context)?;
    let action = if context.globals.dry_run { IndexAction::Preview } else { IndexAction::Publish };
    let task = start(Path::new(&plan.path), plan.compat, action, context.run_options(), Arc::new(RealFs))?;
    let result = MetadatasetResult { path: plan.path.clone(), report: run_with_progress(task, None, context)? };
    finish(&*erase::<Prepare>(plan), &result, None, context)
}
