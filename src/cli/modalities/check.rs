//! `info`, `lint`, `verify` and `repair` of packed files and raw indexes.

use super::super::context::Context;
use super::super::exit::{fields, Done, Finished};
use super::super::facts::{head, item, print_facts, size};
use super::super::lint::{checked, vocabulary, LintTexts};
use super::super::printer::{paint, Tone};
use super::super::task::{follow, print_findings};
use gristmill_core::text::{bytes, count, display_safe, duration, grouped};
use gristmill_core::{DatasetKind, Failure, Handles, ProblemLog, Progress, Severity, Subject};
use gristmill_ops::engine::check::Checked;
use gristmill_ops::engine::modalities::check::{self as engine, is_raw_index, PackedFacts};
use gristmill_ops::engine::plan::shell_quote;
use gristmill_ops::formats::modalities::with_suffix;
use gristmill_ops::job::modalities::{start_repair, RepairReport};
use gristmill_ops::job::report::counts_value;
use gristmill_ops::source::kind::kind_of;
use serde_json::{json, Map};
use std::path::{Path, PathBuf};

/// What is counted of packed files, in addition to the size.
const DOCUMENTS: LintTexts = LintTexts { shards: None, item: "document" };
/// What is counted of raw indexes, in addition to the size.
const LINES: LintTexts = LintTexts { shards: None, item: "line" };

/// Whether a path is an existing packed file or raw index.
pub fn is_ours(path: &str) -> bool {
    is_packed(path) || is_raw_index(Path::new(path))
}

fn is_packed(path: &str) -> bool {
    kind_of(Path::new(path)).is_ok_and(|kind| kind == DatasetKind::PackedTokens)
}

/// What `verify` compares with, in addition to the path.
#[derive(Clone, Debug, Default)]
pub struct Against {
    /// A tokenizer: no id may exceed its highest.
    pub tokenizer: Option<String>,
    /// The file that a raw index belongs to, if it is not the `.jsonl` next to it.
    pub source: Option<PathBuf>,
}

/// Prints the content of a packed file or a raw index.
pub fn info(path: &str, context: &Context) -> Finished {
    let (progress, cancel, log) = (Progress::default(), context.signals.listen(), ProblemLog::default());
    let handles = Handles { progress: &progress, cancel: &cancel, problems: &log };
    if !is_packed(path) {
        let lines = engine::lint_index(Path::new(path), &handles)?;
        return Ok(index_info(path, lines, context));
    }
    let facts = engine::facts_of(Path::new(path), &handles)?;
    Ok(print_facts((path, DatasetKind::PackedTokens), lines(path, &facts), &facts.problems, fields(&facts), context))
}

fn index_info(path: &str, lines: Checked, context: &Context) -> Done {
    let facts = [item("lines", &grouped(lines.samples)), item("size", &size(lines.bytes))];
    for line in head(path, "raw index of Modalities").into_iter().chain(facts) {
        context.printer.line(line);
    }
    let result = json!({ "path": path, "kind": "raw-index", "lines": lines.samples, "bytes": lines.bytes });
    Done::ok(fields(result))
}

fn lines(path: &str, facts: &PackedFacts) -> Vec<String> {
    let layout = &facts.layout;
    let order = if layout.is_big_endian { ", big-endian" } else { "" };
    let mut lines = head(path, DatasetKind::PackedTokens.title());
    lines.extend([
        item("documents", &grouped(facts.documents)),
        item("tokens", &grouped(facts.tokens)),
        item("bytes a token", &format!("{}{order}", layout.token_bytes)),
        item("size", &size(facts.bytes)),
        item("layout", facts.era),
    ]);
    if facts.documents > 0 {
        let mean = grouped((facts.tokens as f64 / facts.documents as f64).round() as u64);
        let ends = format!("{} to {}, {mean} on average", grouped(facts.shortest), grouped(facts.longest));
        lines.push(item("tokens a document", &ends));
    }
    if let Some(token) = facts.end_token {
        lines.push(item("first document ends with", &format!("the token {token}")));
    }
    lines
}

/// Checks header and index.
pub fn lint(path: &str, context: &Context) -> Finished {
    let at = Path::new(path);
    match is_packed(path) {
        true => checked(context, DOCUMENTS, |handles| engine::lint(at, handles)),
        false => checked(context, LINES, |handles| engine::lint_index(at, handles)),
    }
}

/// Reads every token of a packed file, or compares a raw index with its file.
pub fn verify(path: &str, against: &Against, context: &Context) -> Finished {
    let at = Path::new(path);
    if !is_packed(path) {
        let source = against.source.clone().unwrap_or_else(|| with_suffix(at, ".jsonl"));
        if !source.exists() {
            return Err(Failure::usage("comparing the index", "the file that it is of is not next to it")
                .on(Subject::path(source))
                .with_hint("--source FILE names it")
                .into());
        }
        return checked(context, LINES, |handles| engine::verify_index(at, &source, handles));
    }
    let vocabulary = against.tokenizer.as_deref().map(vocabulary).transpose()?;
    checked(context, DOCUMENTS, |handles| engine::verify(at, vocabulary.as_ref(), handles))
}

/// Repairs an index that was merged incorrectly.
pub fn repair(path: &str, context: &Context) -> Finished {
    if !is_packed(path) {
        let source = with_suffix(Path::new(path), ".jsonl");
        let hint =
            format!("make it anew: gristmill index {} --format modalities", shell_quote(&source.to_string_lossy()));
        return Err(Failure::usage("repairing", "a raw index is not repaired")
            .on(Subject::path(path))
            .with_hint(hint)
            .into());
    }
    let dry = context.globals.dry_run;
    let report = follow(start_repair(Path::new(path), dry, context.run_options())?, Some("repairing"), context)?;
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
    let documents = count(report.documents, "document");
    if report.repaired == 0 {
        let done = paint(Tone::Good, "Nothing to do.");
        return format!("{done} The index of {name} is right: {documents}. Nothing was written.");
    }
    let places = format!("{} of {documents}, from document {} on", grouped(report.repaired), report.first);
    if dry {
        return format!(
            "Would repair the positions of {places}, and keep the old file under another name. Nothing was written."
        );
    }
    let size = report.files.first().map_or_else(String::new, |file| bytes(file.bytes));
    let backup =
        report.backup.as_deref().map_or_else(String::new, |backup| format!(" The old file: {}.", display_safe(backup)));
    let done = paint(Tone::Good, &format!("Repaired {name}"));
    format!("{done}: positions of {places}; {size} in {}.{backup}", duration(report.elapsed))
}
