//! `mix check`, and `info`, `lint` and `verify` of a metadataset.

use super::super::context::Context;
use super::super::exit::{fields, Done, Finished};
use super::super::printer::{paint, Tone};
use super::super::report;
use super::super::task::{follow, print_findings};
use gristmill_core::text::{count, display_safe};
use gristmill_core::{Handles, ProblemLog, Progress, Severity};
use gristmill_ops::engine::mix;
use gristmill_ops::job::metadataset::start_verify;
use gristmill_ops::job::mix::tree;
use gristmill_ops::job::report::counts_value;
use std::path::Path;

/// Opens every member and prints the resolved content of the file.
pub fn check(path: &str, context: &Context) -> Finished {
    let cancel = context.signals.listen();
    let (progress, log) = (Progress::default(), ProblemLog::default());
    let facts = mix::check(Path::new(path), Handles { progress: &progress, cancel: &cancel, problems: &log })?;
    for line in tree::lines(&facts) {
        context.printer.line(report::painted(if context.globals.ascii { line.in_ascii() } else { line }));
    }
    let shown = report::worth_a_line(&facts.problems, context.printer.is_verbose());
    for problem in shown {
        context.printer.problem(problem);
    }
    for note in facts.problems.iter().filter(|problem| problem.severity == Severity::Note) {
        context.printer.note(note);
    }
    let of = |severity: Severity| facts.problems.iter().filter(|problem| problem.severity == severity).count() as u64;
    let shown = display_safe(path);
    let verdict = match (of(Severity::Refusal), of(Severity::Problem)) {
        (0, 0) => format!("{} in {shown}, version {}.", paint(Tone::Good, "No problem found"), facts.version),
        (0, n) => format!(
            "{} in {shown}; the loader opens it.",
            paint(Tone::Warning, &format!("{} found", count(n, "problem")))
        ),
        (n, _) => {
            format!("{} in {shown}.", paint(Tone::Warning, &format!("The loader stops at {}", count(n, "place"))))
        }
    };
    context.printer.line(verdict);
    let findings: Vec<_> = facts.problems.iter().map(|problem| (problem.severity, problem.kind)).collect();
    Ok(Done::with_findings(fields(&facts), findings))
}

/// Computes the index of every join again and compares it.
pub fn verify(path: &str, context: &Context) -> Finished {
    let task = start_verify(Path::new(path), context.globals.compat, context.run_options())?;
    let report = follow(task, Some("checking"), context)?;
    print_findings(&report.problems, &report.counts, context);
    let grave: u64 = report.counts.iter().filter(|(severity, ..)| *severity > Severity::Note).map(|(.., n)| n).sum();
    let verdict = match grave {
        0 => paint(Tone::Good, "No problem found"),
        n => paint(Tone::Warning, &format!("{} found", count(n, "problem"))),
    };
    let rows: u64 = report.joins.iter().map(|join| join.rows).sum();
    context.printer.line(format!(
        "{verdict} in {}, {}.",
        count(report.joins.len() as u64, "join"),
        count(rows, "joined sample")
    ));
    let mut result = fields(&report);
    result.insert("counts".into(), counts_value(&report.counts));
    Ok(Done::with_findings(result, report.counts.iter().map(|(severity, kind, _)| (*severity, *kind))))
}
