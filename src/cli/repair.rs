//! `repair`: corrects files that another program is known to write wrongly. Each format defines its repairs.

use super::context::Context;
use super::exit::{fields, CommandResult, CommandSuccess};
use super::paths;
use super::printer::{paint, Tone};
use super::task::{print_findings, run_with_progress};
use gristmill_core::text::{bytes, count, display_safe, duration, grouped};
use gristmill_core::Severity;
use gristmill_ops::datasets::Dataset;
use gristmill_ops::job::repair::RepairReport;
use gristmill_ops::job::report::counts_value;
use serde_json::{json, Map};
use std::path::Path;

/// Repairs the data set at a path, or prints the command that does.
pub fn run(path: &Path, context: &Context) -> CommandResult {
    let path = &*paths::local_or_writable(path)?;
    let dry = context.globals.dry_run;
    let task = Dataset::find(Path::new(path))?.repair(dry, context.run_options())?;
    let report = run_with_progress(task, Some("repairing"), context)?;
    print_findings(&report.findings.problems, &report.findings.counts, context);
    let line = repaired(path, &report, dry);
    match dry {
        true => context.printer.line(line),
        false => context.printer.print_status(line),
    }
    let mut result: Map<_, _> = fields(&report);
    result.insert("counts".into(), counts_value(&report.findings.counts));
    result.insert("dry_run".into(), json!(dry));
    result.insert("nothing_to_do".into(), json!(report.repaired == 0));
    let findings = report.findings.counts.iter().map(|(severity, kind, _)| (*severity, *kind));
    Ok(CommandSuccess::with_findings(result, findings.filter(|(severity, _)| *severity > Severity::Note)))
}

fn repaired(path: &str, report: &RepairReport, dry: bool) -> String {
    let name = display_safe(path);
    let (what, unit) = report.what;
    let documents = count(report.documents, unit);
    if report.repaired == 0 {
        let done = paint(Tone::Success, "Nothing to do.");
        return format!("{done} The index of {name} is correct: {documents}. Nothing was written.");
    }
    let places = format!("{} of {documents}, from {unit} {} on", grouped(report.repaired), report.first);
    if dry {
        return format!("Would repair the {what} of {places}, and keep a backup of the old file. Nothing was written.");
    }
    let size = report.files.first().map_or_else(String::new, |file| bytes(file.bytes));
    let backup =
        report.backup.as_deref().map_or_else(String::new, |backup| format!(" Backup: {}.", display_safe(backup)));
    let done = paint(Tone::Success, &format!("Repaired {name}"));
    format!("{done}: {what} of {places}; {size} in {}.{backup}", duration(report.findings.elapsed))
}
