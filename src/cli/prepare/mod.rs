//! `prepare`: plan → questions → job → summary.

mod execute;
mod fields;
mod file;
mod flags;
mod guided;

pub use execute::execute;
pub use guided::guided;

use super::context::Context;
use super::exit::{CommandFailure, CommandResult};
use super::plan_result::refused_plan;
use super::{kinds, paths};
use gristmill_core::{DatasetKind, Failure, PreparePlan, ProblemKind};
use gristmill_data::source::kind::kind_of;
use gristmill_ops::operations::{prepare::wrong_answers, Operation, Prepare};
use std::path::Path;

/// How the user confirms that a plan may run without questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmation {
    /// The user confirms by `--yes` or `--dry-run`.
    ByFlag,
    /// The command itself is the confirmation.
    Confirmed,
}

/// Prepares a data set. Asks questions if they are allowed and the plan is not confirmed; otherwise runs the plan as it is.
pub fn run(mut plan: PreparePlan, confirmation: Confirmation, context: &Context) -> CommandResult {
    let wrong: Vec<Failure> = wrong_answers(&plan).into_iter().map(refused_plan).collect();
    if !wrong.is_empty() {
        return Err(wrong.into());
    }
    plan.path = paths::local_or_writable(Path::new(&plan.path))?;
    if let Ok(kind @ (DatasetKind::Jsonl | DatasetKind::Metadataset)) = kind_of(Path::new(&plan.path)) {
        return file::run(&plan, kind, context);
    }
    kinds::only_folders(&plan.path)?;
    if confirmation == Confirmation::ByFlag && context.may_prompt() && !context.globals.dry_run {
        return guided(plan, context);
    }
    refuse_missing(&plan, confirmation, context)?;
    execute(plan, None, context)
}

/// Refuses a plan with missing answers, with the flag of each; with [`Confirmation::ByFlag`], a missing `--yes` is one of them.
fn refuse_missing(plan: &PreparePlan, confirmation: Confirmation, context: &Context) -> Result<(), CommandFailure> {
    let open = Prepare::check(plan, context.globals.dry_run);
    let is_prepared = open.iter().any(|problem| problem.kind == ProblemKind::AlreadyPrepared);
    let mut failures: Vec<Failure> = open.into_iter().map(refused_plan).collect();
    if !is_prepared && confirmation == Confirmation::ByFlag && !context.globals.yes && !context.globals.dry_run {
        failures.push(Failure::usage("asking questions", "this is not a terminal").with_hint(
            "add --yes (or --non-interactive) to run without questions, or --dry-run to see what would be done",
        ));
    }
    match failures.is_empty() {
        true => Ok(()),
        false => Err(failures.into()),
    }
}
