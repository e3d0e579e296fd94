//! `dedup`: flags → plan → job → summary.

mod args;
pub mod check;
mod plan;
mod summary;
#[cfg(test)]
mod tests;

pub use args::DedupArgs;

use super::context::Context;
use super::exit::{fields, Done, Finished, Stopped};
use super::{prepare, task};
use crate::prompt;
use crate::tui::{recent, Start};
use gristmill_core::text::bytes;
use gristmill_core::{DedupPlan, Failure, Outcome, Problem, RunOptions, Severity};
use gristmill_ops::engine::plan::dedup::{open_questions, refusals};
use gristmill_ops::engine::plan::{file, CommandLine};
use gristmill_ops::job::dedup::{estimate, needs, start, SampleBudget};
use gristmill_storage::memory::usual_memory;
use gristmill_storage::xdg;
use serde_json::{json, Map, Value};
use std::path::Path;

/// Deduplicates by the flags; if they are incomplete and questions are allowed, asks first.
pub fn run(args: &DedupArgs, context: &Context) -> Finished {
    let plan = plan::from_args(args, context.globals.compat)?;
    if !open_questions(&plan).is_empty() && context.may_ask() && !context.globals.dry_run {
        return guided(plan, context);
    }
    execute(&plan, context)
}

/// Asks the open questions of a plan, then runs it.
fn guided(plan: DedupPlan, context: &Context) -> Finished {
    // The first screen lists the files of a folder, and does not support an index.
    if !context.prefers_prompts() && plan.from_index.is_none() {
        let plan = if plan.input.is_empty() { prompt::dedup_input(plan, &run_options(context))? } else { plan };
        return prepare::screen(Start::Dedup(Box::new(plan)), context);
    }
    let Some(plan) = prompt::dedup(plan, &run_options(context))? else {
        context.printer.line("Nothing was written.");
        return Ok(Done::ok(Map::new()));
    };
    execute(&plan, context)
}

/// Returns the run options; the default memory limit is [`usual_memory`].
fn run_options(context: &Context) -> RunOptions {
    let memory = context.globals.memory.unwrap_or_else(usual_memory);
    RunOptions { memory_bytes: memory, ..context.run_options() }
}

/// Runs the plan with the global flags, and prints the summary.
pub fn execute(plan: &DedupPlan, context: &Context) -> Finished {
    refuse_wrong(plan, context)?;
    if let Some(path) = &context.globals.save_plan {
        save_plan(plan, path)?;
        context.printer.say(format!("Plan written to {}.", prepare::summary::quoted(path)));
    }
    if context.globals.dry_run {
        return dry_run(plan, context);
    }
    announce(plan, context)?;
    recent::remember_now(&xdg::state_dir(), Path::new(&plan.visible_output()));
    let report = task::follow(start(plan.clone(), run_options(context))?, None, context)?;
    task::print_findings(&report.problems, &report.counts, context);
    for line in summary::of_report(plan, &report) {
        context.printer.say(line);
    }
    let mut result = Map::new();
    let mut earlier = Map::new();
    if report.nothing_to_do {
        task::report_earlier_problems(&report.problems, &report.counts, context, &mut earlier);
    }
    // Built for JSON only: with very many files it would need more memory than the run.
    if context.printer.is_json() {
        result = fields(&report);
        result.insert("counts".into(), prepare::summary::counts_value(&report.counts));
        add_plan(plan, &mut result);
        result.extend(earlier);
    }
    let findings = report.counts.iter().map(|(severity, kind, _)| (*severity, *kind));
    Ok(Done::with_findings(result, findings))
}

/// Reports the size and location of the scratch space before the run starts.
fn announce(plan: &DedupPlan, context: &Context) -> Result<(), Stopped> {
    let needs = needs(plan, &run_options(context), &context.signals.listen())?;
    if needs.scratch_bytes > 0 {
        context.printer.progress_line(format!(
            "Scratch: about {} in {}, where {} are free.",
            bytes(needs.scratch_bytes),
            prepare::summary::quoted(&needs.scratch),
            bytes(needs.scratch_free_bytes)
        ));
    }
    Ok(())
}

/// Refuses a plan with open questions, naming the flag of each, or with invalid answers. A dry run writes nothing, so it needs no
/// output.
fn refuse_wrong(plan: &DedupPlan, context: &Context) -> Result<(), Stopped> {
    let asked = match context.globals.dry_run && plan.output.is_empty() {
        true => {
            DedupPlan { output: std::env::temp_dir().join("gristmill").to_string_lossy().into_owned(), ..plan.clone() }
        }
        false => plan.clone(),
    };
    let refused: Vec<Failure> =
        open_questions(&asked).into_iter().chain(refusals(plan)).map(Problem::into_failure).collect();
    if refused.is_empty() {
        Ok(())
    } else {
        Err(refused.into())
    }
}

/// Writes a plan for `gristmill run` with absolute paths.
fn save_plan(plan: &DedupPlan, path: &Path) -> Outcome<()> {
    let plan = plan::with_absolute_paths(plan, prepare::absolute)?;
    prepare::write_plan(path, &file::dedup_to_yaml(&plan)?)
}

fn dry_run(plan: &DedupPlan, context: &Context) -> Finished {
    let found = estimate(plan, &run_options(context), SampleBudget::default(), &context.signals.listen())?;
    let (refused, others): (Vec<Problem>, Vec<Problem>) =
        found.problems.iter().cloned().partition(|problem| problem.severity == Severity::Refusal);
    for problem in prepare::summary::worth_a_line(&others, context.printer.is_verbose()) {
        context.printer.problem(problem);
    }
    let mut result = fields(&found);
    result.insert("dry_run".into(), json!(true));
    add_plan(plan, &mut result);
    if !refused.is_empty() {
        return Err(Stopped { failures: refused.into_iter().map(Problem::into_failure).collect(), result });
    }
    for line in summary::of_estimate(plan, &found) {
        context.printer.line(line);
    }
    Ok(Done::with_findings(result, others.iter().map(|p| (p.severity, p.kind))))
}

fn add_plan(plan: &DedupPlan, result: &mut Map<String, Value>) {
    result.insert("plan".into(), serde_json::to_value(plan).unwrap_or(Value::Null));
    result.insert("equivalent_command".into(), json!(CommandLine::of_dedup(plan).text()));
}
