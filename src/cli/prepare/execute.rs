//! Runs a complete plan of `prepare` for a folder of shards, with progress.

use super::super::context::Context;
use super::super::exit::{CommandFailure, CommandResult};
use super::super::plan_result::{finish, refused_plan, save_plan};
use super::super::task::show_progress;
use crate::tui::recent;
use gristmill_core::{ExitClass, Failure, PreparePlan, Problem, ProblemKind, Severity};
use gristmill_ops::engine::dataset::{self, fetch_small_files};
use gristmill_ops::engine::plan::{inherited, validate};
use gristmill_ops::job::prepare::{PrepareJob, PrepareReport};
use gristmill_ops::job::scan::LiveScan;
use gristmill_ops::operations::prepare::{differences, PreparePreview, PrepareResult};
use gristmill_ops::operations::{erase, Prepare};
use gristmill_storage::xdg;
use std::path::Path;

/// Runs the plan with the global flags, and prints the result.
pub fn execute(plan: PreparePlan, scan: Option<LiveScan>, context: &Context) -> CommandResult {
    let _fetched = fetch_small_files(Path::new(&plan.path));
    if scan.is_none() {
        super::fields::try_fields(&plan, context)?;
    }
    if context.globals.save_plan.is_some() {
        refuse_answers(&plan)?;
    }
    let any_plan = erase::<Prepare>(plan.clone());
    save_plan(&*any_plan, context)?;
    if context.globals.dry_run {
        let preview = PreparePreview::scan(&plan, &context.run_options(), &context.signals.cancel_on_signal())?;
        return finish(&*any_plan, &preview, None, context);
    }
    let differences = differences(&plan, context.run_options().threads);
    let result = PrepareResult { path: plan.path.clone(), differences, report: run_job(&plan, scan, context)? };
    finish(&*any_plan, &result, None, context)
}

/// Runs the job and shows its progress until it ends.
fn run_job(plan: &PreparePlan, scan: Option<LiveScan>, context: &Context) -> Result<PrepareReport, CommandFailure> {
    recent::remember_now(&xdg::state_dir(), Path::new(&plan.path));
    let task = PrepareJob::start(plan.clone(), context.run_options(), scan)?.task;
    show_progress(&task, None, context);
    let (problems, _) = task.findings();
    task.wait().map_err(|failure| with_other_refusals(failure, problems))
}

/// Adds the refusals of other kinds to the failure that ended a run.
fn with_other_refusals(failure: Failure, problems: Vec<Problem>) -> CommandFailure {
    let is_other = |problem: &Problem| problem.severity == Severity::Refusal && Some(problem.kind) != failure.kind;
    let is_refused = failure.class == ExitClass::Data;
    let others = problems.into_iter().filter(|problem| is_refused && is_other(problem)).map(Problem::into_failure);
    let others: Vec<Failure> = others.map(|other| Failure { what: failure.what.clone(), ..other }).collect();
    CommandFailure::from(std::iter::once(failure).chain(others).collect::<Vec<_>>())
}

/// Refuses invalid answers before any shard is read, so that a plan is saved only if it can run.
fn refuse_answers(plan: &PreparePlan) -> Result<(), Vec<Failure>> {
    let opened = dataset::open(Path::new(&plan.path)).map_err(|failure| vec![failure])?;
    let facts = dataset::facts_for_plan(plan, &opened.facts).map_err(|failure| vec![failure])?;
    let plan = inherited(plan, facts.prepared.as_ref());
    let refused: Vec<Failure> = validate(&plan, &facts)
        .into_iter()
        .filter(|problem| problem.severity == Severity::Refusal && problem.kind != ProblemKind::AlreadyPrepared)
        .map(refused_plan)
        .collect();
    if refused.is_empty() {
        Ok(())
    } else {
        Err(refused)
    }
}
