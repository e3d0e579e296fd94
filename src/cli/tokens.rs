//! `info`, `lint`, `verify` and `repair` of token files, in any format.

use super::check::{checked, vocabulary};
use super::context::Context;
use super::exit::{fields, Done, Finished};
use super::facts::print_info;
use super::printer::{paint, Tone};
use super::task::{follow, print_findings};
use gristmill_core::text::shell_quote;
use gristmill_core::text::{bytes, count, display_safe, duration, grouped};
use gristmill_core::{DatasetKind, Failure, Handles, Outcome, ProblemLog, Progress, Severity, Subject, TokenKind};
use gristmill_ops::engine::nanosets::check::Depth;
use gristmill_ops::job::repair::RepairReport;
use gristmill_ops::job::report::counts_value;
use gristmill_ops::tokens::formats;
use gristmill_ops::tokens::reader::{CheckRequest, TokenReader};
use serde_json::{json, Map};
use std::path::Path;

/// Returns what reads a layout.
fn reader(kind: &TokenKind, path: &str) -> Outcome<&'static dyn TokenReader> {
    formats::reader(kind).ok_or_else(|| {
        Failure::usage("opening the tokens", format!("files of {} are not read", kind.title)).on(Subject::path(path))
    })
}

/// Prints the content; `sequence_length` determines the number of windows.
pub fn info(path: &str, kind: &'static TokenKind, sequence_length: Option<u64>, context: &Context) -> Finished {
    let reader = reader(kind, path)?;
    if sequence_length.is_some() && !reader.counts_windows() {
        return Err(no_windows(path).into());
    }
    let (progress, cancel, log) = (Progress::default(), context.signals.listen(), ProblemLog::default());
    let handles = Handles { progress: &progress, cancel: &cancel, problems: &log };
    let info = reader.info(Path::new(path), sequence_length, &handles)?;
    Ok(print_info((path, DatasetKind::Tokens(kind)), info, context))
}

/// Returns the refusal to count the windows of anything but a token folder.
pub fn no_windows(path: &str) -> Failure {
    Failure::usage("counting windows", "it is no folder of .ds files")
        .on(Subject::path(path))
        .with_hint("--sequence-length is for token folders of Nanosets")
}

/// Checks indexes and sizes, or every token; no id may exceed the largest of `tokenizer`.
pub fn check(path: &str, kind: &TokenKind, depth: Depth, tokenizer: Option<&str>, context: &Context) -> Finished {
    let reader = reader(kind, path)?;
    let vocabulary = tokenizer.map(vocabulary).transpose()?;
    let request = CheckRequest { depth, vocabulary: vocabulary.as_ref(), threads: context.run_options().threads };
    checked(context, reader.texts(), |handles| reader.check(Path::new(path), &request, handles))
}

/// Repairs what a program is known to have written wrongly.
pub fn repair(path: &str, kind: &TokenKind, context: &Context) -> Finished {
    let reader = reader(kind, path)?;
    let dry = context.globals.dry_run;
    let Some(task) = reader.repair(Path::new(path), dry, context.run_options()) else {
        let (why, hint) = reader.repair_hint(&shell_quote(path));
        return Err(Failure::usage("repairing", why).on(Subject::path(path)).with_hint(hint).into());
    };
    let report = follow(task?, Some("repairing"), context)?;
    print_findings(&report.problems, &report.counts, context);
    let line = repaired(path, &report, dry);
    match dry {
        true => context.printer.line(line),
        false => context.printer.say(line),
    }
    let mut result: Map<_, _> = fields(&report);
    result.insert("counts".into(), counts_value(&report.counts));
    result.insert("dry_run".into(), json!(dry));
    result.insert("nothing_to_do".into(), json!(report.repaired == 0));
    let findings = report.counts.iter().map(|(severity, kind, _)| (*severity, *kind));
    Ok(Done::with_findings(result, findings.filter(|(severity, _)| *severity > Severity::Note)))
}

fn repaired(path: &str, report: &RepairReport, dry: bool) -> String {
    let name = display_safe(path);
    let (what, unit) = report.what;
    let documents = count(report.documents, unit);
    if report.repaired == 0 {
        let done = paint(Tone::Good, "Nothing to do.");
        return format!("{done} The index of {name} is right: {documents}. Nothing was written.");
    }
    let places = format!("{} of {documents}, from {unit} {} on", grouped(report.repaired), report.first);
    if dry {
        return format!(
            "Would repair the {what} of {places}, and keep the old file under another name. Nothing was written."
        );
    }
    let size = report.files.first().map_or_else(String::new, |file| bytes(file.bytes));
    let backup =
        report.backup.as_deref().map_or_else(String::new, |backup| format!(" The old file: {}.", display_safe(backup)));
    let done = paint(Tone::Good, &format!("Repaired {name}"));
    format!("{done}: {what} of {places}; {size} in {}.{backup}", duration(report.elapsed))
}
