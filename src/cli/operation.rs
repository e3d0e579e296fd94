//! Runs a plan of any operation, and prints the result.

use super::arguments::GivenPlan;
use super::context::Context;
use super::exit::{CommandResult, CommandSuccess};
use super::globals::Globals;
use super::plan_result::{finish, refused_plan, save_plan};
use super::prepare::{self, Confirmation};
use super::screen;
use super::task::run_with_progress;
use crate::prompt;
use crate::tui::{recent, FirstScreen};
use gristmill_core::options::Answer;
use gristmill_core::{Failure, PreparePlan, ProblemKind, RunOptions};
use gristmill_ops::operations::AnyPlan;
use gristmill_ops::tokens::formats::configured_threads;
use gristmill_storage::files_ahead::FilesAhead;
use gristmill_storage::memory::usual_memory;
use gristmill_storage::xdg;
use serde_json::Map;

/// Applies the number of threads in a configuration of Modalities, unless a flag sets it. Mistakes in the file are reported when the plan
/// is read.
pub fn adjust(given: &GivenPlan, globals: &mut Globals) {
    if let (Some(path), None) = (given.path("config").filter(|_| given.name() == "pack"), globals.threads) {
        globals.threads = configured_threads(path);
    }
}

/// Runs the plan of a command line. If it is incomplete and questions may be asked, opens the form.
pub fn run(given: &GivenPlan, context: &Context) -> CommandResult {
    let plan = given.plan(context.globals.compat)?;
    if let Some(plan) = plan.typed::<PreparePlan>() {
        return prepare::run(plan.clone(), Confirmation::ByFlag, context);
    }
    let is_open = plan.check(false).iter().any(|problem| problem.kind == ProblemKind::MissingAnswer);
    if !is_open || !context.may_prompt() || context.globals.dry_run {
        return execute(&*plan, context);
    }
    // The form lists the files of a folder; an index has no files.
    if !context.prefers_prompts() && plan.get("from-index") == Answer::Unset {
        return screen::screen(FirstScreen::Form(plan), context);
    }
    let options = run_options(&*plan, context);
    match prompt::plan(plan, &options)? {
        Some(plan) => execute(&*plan, context),
        None => {
            context.printer.line("Nothing was written.");
            Ok(CommandSuccess::ok(Map::new()))
        }
    }
}

/// Saves the plan if requested, then previews or runs it.
pub fn execute(plan: &dyn AnyPlan, context: &Context) -> CommandResult {
    if let Some(plan) = plan.typed::<PreparePlan>() {
        return prepare::run(plan.clone(), Confirmation::Confirmed, context);
    }
    // While this exists, the preview, the questions and the run use the same list of files.
    let _files = FilesAhead::keep();
    let is_preview = context.globals.dry_run;
    let refused: Vec<Failure> = plan.check(is_preview).into_iter().map(refused_plan).collect();
    if !refused.is_empty() {
        return Err(refused.into());
    }
    let notes = plan.notes()?;
    save_plan(plan, context)?;
    notes.iter().flatten().for_each(|note| context.printer.note(note));
    let options = run_options(plan, context);
    if !is_preview {
        if let Some(line) = plan.announcement(&options, &context.signals.cancel_on_signal())? {
            context.printer.progress_line(line);
        }
        plan.recent().iter().for_each(|path| recent::remember_now(&xdg::state_dir(), path));
    }
    let operation = plan.operation();
    let doing = (!operation.shows_phases()).then(|| operation.doing());
    let report = run_with_progress(plan.start(is_preview, options)?, doing, context)?;
    finish(plan, &*report, notes, context)
}

fn run_options(plan: &dyn AnyPlan, context: &Context) -> RunOptions {
    let options = context.run_options();
    match context.globals.memory {
        None if plan.operation().uses_spare_memory() => RunOptions { memory_bytes: usual_memory(), ..options },
        _ => options,
    }
}
