//! Runs the rewrites of the drop-in commands of Modalities.

use super::super::super::context::Context;
use super::super::super::exit::{fields, CommandResult, CommandSuccess};
use super::super::super::report;
use super::super::super::task::{print_findings, run_with_progress};
use gristmill_ops::job::report::counts_value;
use gristmill_ops::job::report::Report as _;
use gristmill_ops::tokens::formats::modalities::job::{start, RewritePlan};
use gristmill_ops::tokens::formats::modalities::operations::RewritePreview;
use serde_json::json;

/// Runs a plan and reports the result, including the `seed` if it was generated; `None` if the user gave one.
pub fn run(plan: RewritePlan, seed: Option<String>, context: &Context) -> CommandResult {
    if context.globals.dry_run {
        let preview = RewritePreview::of(&plan)?;
        preview.lines(true).into_iter().for_each(|line| context.printer.line(report::painted(line)));
        let mut result = fields(&preview);
        result.insert("dry_run".into(), json!(true));
        return Ok(CommandSuccess::ok(result));
    }
    let report = run_with_progress(start(plan, context.run_options())?, Some("writing"), context)?;
    print_findings(&report.findings.problems, &report.findings.counts, context);
    report.lines(false).into_iter().for_each(|line| context.printer.print_status(report::painted(line)));
    if let Some(seed) = &seed {
        context.printer.print_status(format!("The seed was {seed}; --seed {seed} gives the same order again."));
    }
    let mut result = fields(&report);
    result.insert("counts".into(), counts_value(&report.findings.counts));
    if let Some(seed) = seed {
        result.insert("seed".into(), json!(seed));
    }
    Ok(CommandSuccess::with_findings(
        result,
        report.findings.counts.iter().map(|(severity, kind, _)| (*severity, *kind)),
    ))
}
