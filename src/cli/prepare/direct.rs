//! Prepares data that needs no questions: JSONL files and metadatasets.

use super::super::context::Context;
use super::super::exit::{fields, Done};
use super::super::jsonl::refuse_flags;
use super::super::task::{print_findings, report_earlier_problems};
use super::{save_plan, summary};
use crate::tui::recent;
use gristmill_core::{Outcome, PreparePlan, Problem, ProblemKind, Severity};
use gristmill_ops::job::report::counts_value;
use gristmill_storage::xdg;
use serde::Serialize;
use serde_json::{json, Value};
use std::path::Path;

/// Refuses flags without effect on `what`, and writes the plan if requested.
pub fn begin(plan: &PreparePlan, what: &str, context: &Context) -> Outcome<()> {
    refuse_flags(plan, what, context)?;
    if let Some(path) = &context.globals.save_plan {
        save_plan(plan, path)?;
        context.printer.say(format!("Plan written to {}.", summary::quoted(path)));
    }
    if !context.globals.dry_run {
        recent::remember_now(&xdg::state_dir(), Path::new(&plan.path));
    }
    Ok(())
}

/// What is printed and reported in addition to the fields of a report.
pub struct Summary<'a> {
    /// The findings.
    pub problems: &'a [Problem],
    /// Counts of all findings.
    pub counts: &'a [(Severity, ProblemKind, u64)],
    /// Whether everything existed already.
    pub is_idle: bool,
    /// The lines to print.
    pub lines: Vec<String>,
    /// The equivalent command line.
    pub command: String,
}

/// Prints the summary and returns the result.
pub fn end(plan: &PreparePlan, report: &impl Serialize, told: Summary<'_>, context: &Context) -> Done {
    print_findings(told.problems, told.counts, context);
    let dry = context.globals.dry_run;
    for line in told.lines {
        if dry {
            context.printer.line(line);
        } else {
            context.printer.say(line);
        }
    }
    let mut result = fields(report);
    result.insert("counts".into(), counts_value(told.counts));
    if dry {
        result.insert("dry_run".into(), json!(true));
    }
    if told.is_idle && !dry {
        report_earlier_problems(told.problems, told.counts, context, &mut result);
    }
    result.insert("plan".into(), serde_json::to_value(plan).unwrap_or(Value::Null));
    result.insert("equivalent_command".into(), json!(told.command));
    Done::with_findings(result, told.counts.iter().map(|(severity, kind, _)| (*severity, *kind)))
}
