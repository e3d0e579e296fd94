//! The result of a plan: saves the plan, and prints the report of its run or preview.

use super::context::Context;
use super::exit::{fields, CommandFailure, CommandResult, CommandSuccess};
use super::printer::{paint, Tone};
use super::report;
use super::task::{print_findings, report_earlier_problems};
use gristmill_core::options::Answer;
use gristmill_core::text::display_safe;
use gristmill_core::{Failure, Outcome, Problem, Severity};
use gristmill_ops::job::report::{counts_value, Report};
use gristmill_ops::operations::{write_plan, AnyPlan};
use serde_json::{json, Map, Value};
use std::collections::BTreeMap;

/// Prints the report of a run or preview, with its findings, and returns the result.
pub fn finish(
    plan: &dyn AnyPlan,
    report: &dyn Report,
    notes: Option<Vec<Problem>>,
    context: &Context,
) -> CommandResult {
    let is_preview = context.globals.dry_run;
    let (problems, counts) = report.findings();
    let mut result = match context.printer.is_json() {
        // Created for JSON only: for very many files it would need more memory than the run.
        true => result_of(plan, report, notes, context),
        false => Map::new(),
    };
    let refusals: Vec<Problem> = problems.iter().filter(|p| p.severity == Severity::Refusal).cloned().collect();
    if is_preview && !refusals.is_empty() {
        let others: Vec<Problem> = problems.iter().filter(|p| p.severity != Severity::Refusal).cloned().collect();
        print_findings(&others, &[], context);
        return Err(CommandFailure { failures: refusals.into_iter().map(refused_plan).collect(), result });
    }
    print_findings(problems, counts, context);
    print_report(plan, report, is_preview, context);
    if !is_preview && report.is_nothing_to_do() {
        report_earlier_problems(problems, counts, context, &mut result);
    }
    let of_problems = problems.iter().map(|problem| (problem.severity, problem.kind));
    if !report.failures().is_empty() {
        return Err(CommandFailure { failures: report.failures().to_vec(), result });
    }
    let findings = counts.iter().map(|(severity, kind, _)| (*severity, *kind)).chain(of_problems);
    Ok(CommandSuccess::with_findings(result, findings))
}

/// Returns the failure for a plan that is refused before the run.
pub fn refused_plan(problem: Problem) -> Failure {
    Failure { what: "checking the plan".to_owned(), ..problem.into_failure() }
}

/// Writes the plan to the file of `--save-plan`, if the flag is given.
pub fn save_plan(plan: &dyn AnyPlan, context: &Context) -> Outcome<()> {
    let Some(path) = &context.globals.save_plan else { return Ok(()) };
    write_plan(path, &plan.to_yaml()?)?;
    context.printer.print_status(format!("Plan written to {}.", report::quoted(path)));
    Ok(())
}

/// Returns the equivalent command. A preview needs fewer answers than a run, so placeholders for missing required flags are appended.
fn runnable_command(plan: &dyn AnyPlan) -> String {
    let options = plan.operation().options().into_iter();
    let open = options.filter(|row| row.info.is_required && plan.get(row.info.name) == Answer::Unset);
    std::iter::once(plan.command_line().text()).chain(open.map(|row| row.info.usage())).collect::<Vec<_>>().join(" ")
}

fn print_report(plan: &dyn AnyPlan, report: &dyn Report, is_preview: bool, context: &Context) {
    // The report of a dry run is the result of the command, so `--quiet` does not suppress it.
    let print = |line: String| match is_preview {
        true => context.printer.line(line),
        false => context.printer.print_status(line),
    };
    for line in report.lines(is_preview) {
        print(report::painted(if context.globals.ascii { line.in_ascii() } else { line }));
    }
    if plan.is_expressible() {
        print(String::new());
        let command = if is_preview { runnable_command(plan) } else { plan.command_after_run() };
        let flags = context.globals.store_flags();
        print(format!("{} {command}{flags}", paint(Tone::Strong, "Equivalent command:")));
        for (name, _) in plan.command_line().files.iter().filter(|_| is_preview) {
            let rest = "contains the lists of this plan; --save-plan FILE writes all of it, for gristmill run FILE";
            print(format!("  {} {rest}", display_safe(name)));
        }
    }
    if let (false, Some(next)) = (is_preview, report.next_command()) {
        print(format!("{} {next}{}", paint(Tone::Strong, "Next:"), context.globals.store_flags()));
    }
}

fn result_of(
    plan: &dyn AnyPlan,
    report: &dyn Report,
    notes: Option<Vec<Problem>>,
    context: &Context,
) -> Map<String, Value> {
    let mut result = fields(report.to_json());
    result.insert("plan".into(), plan.to_json());
    if plan.is_expressible() {
        let line = plan.command_line();
        let command = if context.globals.dry_run { line.text() } else { plan.command_after_run() };
        result.insert("equivalent_command".into(), json!(command));
        if context.globals.dry_run && !line.files.is_empty() {
            result.insert("equivalent_files".into(), json!(line.files.into_iter().collect::<BTreeMap<_, _>>()));
        }
    }
    result.insert("counts".into(), counts_value(report.findings().1));
    if let Some(notes) = notes {
        result.insert("notes".into(), json!(notes));
    }
    if context.globals.dry_run {
        result.insert("dry_run".into(), json!(true));
    }
    result
}
