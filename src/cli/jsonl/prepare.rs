//! `prepare FILE.jsonl`, which needs no questions.

use super::super::context::Context;
use super::super::exit::CommandResult;
use super::super::operation::finish;
use super::super::prepare::without_meaningless_flags;
use super::super::task::run_with_progress;
use crate::prompt::confirm;
use gristmill_core::text::display_safe;
use gristmill_core::{Failure, Outcome, PreparePlan, ProblemKind};
use gristmill_ops::job::jsonl::{clean_path, start};
use gristmill_ops::operations::prepare::JsonlResult;
use gristmill_ops::operations::{erase, Prepare};
use gristmill_storage::fs::RealFs;
use std::path::Path;
use std::sync::Arc;

/// Indexes the JSONL file of a plan. Flags without effect are noted if the command is a drop-in, and refused otherwise.
pub fn prepare(plan: &PreparePlan, context: &Context) -> CommandResult {
    let plan = without_meaningless_flags(plan, "a JSONL file", context)?;
    let task = start(&plan, context.globals.dry_run, context.run_options(), Arc::new(RealFs))?;
    let report = match run_with_progress(task, None, context) {
        Err(stopped) if confirm_skipping_bad_lines(&plan, &stopped.failures, context)? => {
            return prepare(&PreparePlan { skip_bad_lines: true, ..plan }, context);
        }
        result => result?,
    };
    let result = JsonlResult { path: plan.path.clone(), report };
    finish(&*erase::<Prepare>(plan), &result, None, context)
}

/// If questions are allowed, asks whether to index a copy without the bad lines for which a run was refused.
fn confirm_skipping_bad_lines(plan: &PreparePlan, failures: &[Failure], context: &Context) -> Outcome<bool> {
    // A file that is no text is refused with the same kind, and without a line.
    let has_line = |failure: &&Failure| failure.subject.line.is_some();
    let is_refusal = |failure: &&Failure| failure.kind == Some(ProblemKind::BadLine) && has_line(failure);
    let Some(failure) = failures.iter().find(is_refusal) else { return Ok(false) };
    if plan.skip_bad_lines
        || context.globals.strict
        || context.globals.drop_in
        || context.globals.dry_run
        || !context.may_prompt()
    {
        return Ok(false);
    }
    let copy = clean_path(Path::new(&plan.path));
    let why = display_safe(&failure.why).into_owned();
    confirm(&format!("{why}. Index a copy without them, {}?", display_safe(&copy.to_string_lossy())), false)
}
