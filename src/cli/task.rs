//! Runs a job to its end: shows progress, handles stop requests, and prints its findings.

use super::context::Context;
use super::exit::CommandFailure;
use super::printer::{paint, Tone};
use super::progress::ProgressView;
use super::report;
use gristmill_core::text::count;
use gristmill_core::{ExitClass, Failure, Problem, ProblemKind, Severity};
use gristmill_ops::job::report::counts_value;
use gristmill_ops::job::task::Task;
use serde_json::{json, Map, Value};
use std::time::Duration;

/// Interval between two readings of the progress.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Runs a job to its end and shows its progress. If it failed, its findings are printed and added to the result.
pub fn run_with_progress<R: Send + 'static>(
    task: Task<R>,
    verb: Option<&'static str>,
    context: &Context,
) -> Result<R, CommandFailure> {
    show_progress(&task, verb, context);
    let (problems, counts) = task.findings();
    task.wait().map_err(|failure| with_findings(failure, &problems, &counts, context))
}

/// Shows the progress of a job until it ends, and cancels it on request.
pub fn show_progress<R: Send + 'static>(task: &Task<R>, verb: Option<&'static str>, context: &Context) {
    let stop = context.signals.cancel_on_signal();
    let mut view = match verb {
        Some(verb) => ProgressView::named(context, verb),
        None => ProgressView::new(context),
    };
    let mut asked = false;
    view.update(&task.status());
    while !task.ends_within(POLL_INTERVAL) {
        if stop.is_cancelled() && !asked {
            asked = true;
            task.cancel();
            context.printer.progress_line("stopping; press Ctrl-C again to end immediately");
        }
        view.update(&task.status());
    }
    view.finish();
}

/// Reports the findings of the run that made the output if this run has nothing to do: they also determine its exit code.
pub fn report_earlier_problems(
    problems: &[Problem],
    counts: &[(Severity, ProblemKind, u64)],
    context: &Context,
    result: &mut Map<String, Value>,
) {
    const HINT: &str = "with --problems-ok such a run ends with exit code 0";
    let all = counts.iter().filter(|(severity, ..)| *severity > Severity::Note).map(|(.., number)| number).sum();
    let Some(first) = problems.iter().find(|problem| problem.severity > Severity::Note) else { return };
    context.printer.print_status(format!("{} found; the first: {first}", count(all, "problem")));
    let mut earlier = json!({ "count": all, "first": first });
    if !context.globals.problems_ok && !context.globals.drop_in {
        context.printer.print_status(format!("{} {HINT}", paint(Tone::Strong, "hint:")));
        earlier["hint"] = json!(HINT);
    }
    result.insert("earlier_problems".into(), earlier);
}

fn with_findings(
    failure: Failure,
    problems: &[Problem],
    counts: &[(Severity, ProblemKind, u64)],
    context: &Context,
) -> CommandFailure {
    let (refusals, others): (Vec<Problem>, Vec<Problem>) =
        problems.iter().cloned().partition(|problem| problem.severity == Severity::Refusal);
    // A failure that only summarizes refusals is replaced by the refusals.
    let each = |problem: Problem| Failure {
        kind: Some(problem.kind),
        class: failure.class,
        what: failure.what.clone(),
        subject: problem.subject,
        why: problem.message,
        hint: problem.hint,
    };
    let mut stopped = match refusals.is_empty() || failure.class != ExitClass::Data {
        true => CommandFailure::from(failure),
        false => CommandFailure::from(refusals.into_iter().map(each).collect::<Vec<_>>()),
    };
    if !counts.is_empty() {
        // Refusals are printed as errors, so they are not printed as findings.
        let of_others: Vec<_> = counts.iter().copied().filter(|(s, ..)| *s != Severity::Refusal).collect();
        print_findings(&others, if stopped.failures.len() > 1 { &of_others } else { counts }, context);
        stopped.result.insert("problems".into(), json!(problems));
        stopped.result.insert("counts".into(), counts_value(counts));
    }
    stopped
}

/// Prints findings: the first few of each kind, and the number of the others.
pub fn print_findings(problems: &[Problem], counts: &[(Severity, ProblemKind, u64)], context: &Context) {
    let verbose = context.printer.is_verbose();
    for problem in report::select_printed_problems(problems, verbose) {
        context.printer.problem(problem);
    }
    if let Some(more) = report::format_unprinted_count(problems, counts, verbose) {
        context.printer.progress_line(more);
    }
    let (notes, more) = report::shown_notes(problems);
    notes.into_iter().for_each(|note| context.printer.note(note));
    if let Some(more) = more {
        context.printer.progress_line(more);
    }
}
