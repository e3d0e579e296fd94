//! `prepare` of a JSONL file or a metadataset, which needs no questions.

use super::super::context::Context;
use super::super::exit::CommandResult;
use super::super::plan_result::finish;
use super::super::task::run_with_progress;
use super::flags::without_meaningless_flags;
use crate::prompt::confirm;
use gristmill_core::text::display_safe;
use gristmill_core::{DatasetKind, Failure, Outcome, PreparePlan, ProblemKind};
use gristmill_ops::job::jsonl::clean_path;
use gristmill_ops::operations::{erase, Prepare};
use std::path::Path;

/// Runs a plan for a file of this kind. Flags without effect are noted if the command is a drop-in, and refused otherwise.
pub fn run(plan: &PreparePlan, kind: DatasetKind, context: &Context) -> CommandResult {
    let what = if kind == DatasetKind::Jsonl { "a JSONL file" } else { "a metadataset" };
    let plan = without_meaningless_flags(plan, what, context)?;
    let any_plan = erase::<Prepare>(plan.clone());
    let task = any_plan.start(context.globals.dry_run, context.run_options())?;
    let report = match run_with_progress(task, None, context) {
        Err(stopped) if confirm_skipping_bad_lines(&plan, &stopped.failures, context)? => {
            return run(&PreparePlan { skip_bad_lines: true, ..plan }, kind, context);
        }
        result => result?,
    };
    finish(&*any_plan, &*report, None, context)
}

/// If questions are allowed, asks whether to index a copy without the bad lines for which a run was refused.
fn confirm_skipping_bad_lines(plan: &PreparePlan, failures: &[Failure], context: &Context) -> Outcome<bool> {
    // A file that is no text is refused with the same kind, and without a line.
    let has_line = |failure: &&Failure| failure.subject.line.is_some();
    let is_refusal = |failure: &&Failure| failure.kind == Some(ProblemKind::BadLine) && has_line(failure);
    let Some(failure) = failures.iter().find(is_refusal) else { return Ok(false) };
    if plan.skip_bad_lines
        // A member of a metadataset may have a bad line, too.
        || !plan.path.ends_with(".jsonl")
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
