//! `pack`: flags → plan → job → summary.

mod args;
mod config;
mod plan;
mod summary;
#[cfg(test)]
mod tests;

pub use args::PackArgs;
pub use config::{adjust, threads_of};

use super::context::Context;
use super::exit::{fields, Done, Finished, Stopped};
use super::{prepare, task};
use crate::prompt;
use crate::tui::{recent, Start};
use gristmill_core::text::display_safe;
use gristmill_core::{Failure, Outcome, PackPlan, Problem, ProblemKind, Severity};
use gristmill_ops::engine::plan::pack::{missing_or_wrong, notes, open_questions};
use gristmill_ops::engine::plan::{file, CommandLine};
use gristmill_ops::job::index::{start_raw, RawIndexPlan};
use gristmill_ops::job::pack::{preview, settled, start, PackReport};
use gristmill_ops::job::pool::together;
use gristmill_storage::xdg;
use gristmill_tokenizer::Tokenizer;
use serde_json::{json, Map, Value};
use std::mem::ManuallyDrop;
use std::path::Path;

/// Packs by the flags; if they are incomplete and questions are allowed, asks first.
pub fn run(args: &PackArgs, context: &Context) -> Finished {
    let plan = plan::from_args(args, context.globals.compat)?;
    if !open_questions(&plan).is_empty() && context.may_ask() && !context.globals.dry_run {
        return guided(plan, context);
    }
    execute(&plan, context)
}

/// Asks the open questions of a plan, then runs it.
fn guided(plan: PackPlan, context: &Context) -> Finished {
    if !context.prefers_prompts() {
        // The first screen lists the inputs, so it needs at least one.
        let plan = if plan.inputs.is_empty() { prompt::pack_inputs(plan, &context.run_options())? } else { plan };
        return prepare::screen(Start::Pack(Box::new(plan)), context);
    }
    let Some(plan) = prompt::pack(plan, &context.run_options())? else {
        context.printer.line("Nothing was written.");
        return Ok(Done::ok(Map::new()));
    };
    execute(&plan, context)
}

/// Runs the plan with the global flags, and prints the summary.
pub fn execute(plan: &PackPlan, context: &Context) -> Finished {
    refuse_wrong(plan)?;
    // Kept until the end so that the job need not load it again; the job is what validates it. Never dropped: freeing hundreds of
    // thousands of token strings one by one would only delay the end of the process.
    let tokenizer = ManuallyDrop::new(Tokenizer::load_with_special(&plan.tokenizer, &plan.special_tokens, &together)?);
    let told = notes(plan, &tokenizer);
    if let Some(path) = &context.globals.save_plan {
        save_plan(plan, path)?;
        context.printer.say(format!("Plan written to {}.", prepare::summary::quoted(path)));
    }
    told.iter().for_each(|note| context.printer.note(note));
    if context.globals.dry_run {
        return dry_run(plan, &told, context);
    }
    make_index(plan, context)?;
    let packing = start(plan.clone(), context.run_options())?;
    recent::remember_now(&xdg::state_dir(), Path::new(&plan.output));
    let report = task::follow(packing, Some("packing"), context)?;
    task::print_findings(&report.problems, &report.counts, context);
    for line in summary::of_report(plan, &report) {
        context.printer.say(line);
    }
    let mut result = result(plan, &report, &told);
    if report.nothing_to_do {
        task::report_earlier_problems(&report.problems, &report.counts, context, &mut result);
    }
    let findings = report.counts.iter().map(|(severity, kind, _)| (*severity, *kind));
    Ok(Done::with_findings(result, findings))
}

/// Writes the raw index of `--index` if it does not exist. Without the flag the lines themselves are read.
fn make_index(plan: &PackPlan, context: &Context) -> Result<(), Stopped> {
    let Some(target) = &plan.modalities else { return Ok(()) };
    let (Some(index), [input]) = (&target.index, plan.inputs.as_slice()) else { return Ok(()) };
    if Path::new(index).exists() || Path::new(input).is_dir() {
        return Ok(());
    }
    let raw =
        RawIndexPlan { index: Some(index.into()), skip_bad_lines: target.skip_bad_lines, ..RawIndexPlan::new(input) };
    let report = task::follow(start_raw(raw, context.run_options())?, Some("indexing"), context)?;
    task::print_findings(&report.problems, &report.counts, context);
    context.printer.say(format!("Index written to {}.", display_safe(index)));
    Ok(())
}

/// Whether the reference programs for token folders skip a finding and succeed.
pub fn peer_skips(kind: ProblemKind) -> bool {
    use ProblemKind as K;
    matches!(kind, K::BlankLine | K::BadJson | K::OddJson | K::NoText | K::StoredTruncation | K::StoredPadding)
}

/// Refuses a plan with open questions, naming the flag of each, or with invalid answers.
fn refuse_wrong(plan: &PackPlan) -> Result<(), Stopped> {
    let refused: Vec<Failure> = missing_or_wrong(plan).into_iter().map(Problem::into_failure).collect();
    if refused.is_empty() {
        Ok(())
    } else {
        Err(refused.into())
    }
}

/// Writes a plan for `gristmill run` with absolute paths, since it may be run from another folder. The tokenizer name in metadata
/// files stays as it was given.
fn save_plan(plan: &PackPlan, path: &Path) -> Outcome<()> {
    prepare::write_plan(path, &file::pack_to_yaml(&settled(plan))?)
}

fn dry_run(plan: &PackPlan, told: &[Problem], context: &Context) -> Finished {
    let preview = preview(plan, &context.run_options(), &context.signals.listen())?;
    let (refused, others): (Vec<Problem>, Vec<Problem>) =
        preview.problems.iter().cloned().partition(|problem| problem.severity == Severity::Refusal);
    for problem in prepare::summary::worth_a_line(&others, context.printer.is_verbose()) {
        context.printer.problem(problem);
    }
    let mut result = fields(&preview);
    result.insert("dry_run".into(), json!(true));
    result.insert("notes".into(), json!(told));
    add_plan(plan, &mut result);
    if !refused.is_empty() {
        return Err(Stopped { failures: refused.into_iter().map(Problem::into_failure).collect(), result });
    }
    for line in summary::of_preview(plan, &preview) {
        context.printer.line(line);
    }
    Ok(Done::with_findings(result, others.iter().map(|p| (p.severity, p.kind))))
}

fn result(plan: &PackPlan, report: &PackReport, told: &[Problem]) -> Map<String, Value> {
    let mut result = fields(report);
    result.insert("counts".into(), prepare::summary::counts_value(&report.counts));
    result.insert("notes".into(), json!(told));
    add_plan(plan, &mut result);
    result
}

fn add_plan(plan: &PackPlan, result: &mut Map<String, Value>) {
    result.insert("plan".into(), serde_json::to_value(plan).unwrap_or(Value::Null));
    result.insert("equivalent_command".into(), json!(CommandLine::of_pack(plan).text()));
}
