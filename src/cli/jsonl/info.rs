//! `info` of a JSONL file.

use super::super::context::Context;
use super::super::exit::{fields, Done, Finished};
use super::super::facts::{head, item, name_of};
use super::super::printer::{paint, Tone};
use gristmill_core::text::shell_quote;
use gristmill_core::text::{bytes, count, display_safe, grouped, size};
use gristmill_core::{DatasetKind, Problem, ProblemKind, Severity, Subject};
use gristmill_data::formats::energon::jsonl_idx::{index_path, IndexState};
use gristmill_ops::engine::jsonl::{facts_of, JsonlFacts, KeyFacts, Lengths};
use serde_json::{json, Map, Value};
use std::path::Path;

/// Number of records that are examined.
const LOOKED_AT: u64 = 1_000;
/// Maximum number of keys that are listed.
const MAX_LISTED_KEYS: usize = 20;

/// Prints the content of a JSONL file, from its index and its first records.
pub fn info(path: &str, context: &Context) -> Finished {
    let facts = facts_of(Path::new(path), LOOKED_AT)?;
    for line in lines(path, &facts) {
        context.printer.line(line);
    }
    let mut problems = facts.problems.clone();
    if let IndexState::OutOfDate { why } = &facts.index {
        let problem = Problem::problem(ProblemKind::IndexMismatch, Subject::path(index_path(Path::new(path))), why);
        problems.push(problem.with_hint(format!("gristmill prepare {} makes it again", shell_quote(path))));
    }
    for problem in problems.iter().filter(|problem| problem.severity > Severity::Note) {
        context.printer.problem(problem);
    }
    let findings: Vec<_> = problems.iter().map(|problem| (problem.severity, problem.kind)).collect();
    Ok(Done::with_findings(result(path, &facts, &problems), findings))
}

fn result(path: &str, facts: &JsonlFacts, problems: &[Problem]) -> Map<String, Value> {
    let mut result = fields(facts);
    // The first records are data, and long; the result has only their keys and lengths.
    result.remove("records");
    result.insert("name".into(), json!(name_of(path)));
    result.insert("path".into(), json!(path));
    result.insert("kind".into(), json!(DatasetKind::Jsonl));
    result.insert("problems".into(), json!(problems));
    result
}

fn lines(path: &str, facts: &JsonlFacts) -> Vec<String> {
    let samples = match facts.samples {
        Some(number) => grouped(number),
        None if facts.bytes == 0 => grouped(0),
        None => format!("not known before it is indexed: gristmill prepare {}", shell_quote(path)),
    };
    let index = match &facts.index {
        IndexState::Fits { samples } => format!("fits ({})", bytes((samples + 1) * 8)),
        IndexState::Missing => "none".to_owned(),
        IndexState::OutOfDate { why } => format!("out of date: {why}"),
    };
    let mut lines = head(path, DatasetKind::Jsonl.title());
    lines.extend([item("samples", &samples), item("size", &size(facts.bytes)), item("index", &index)]);
    if facts.line_bytes.count > 0 {
        lines.push(item("bytes a sample", &spread(&facts.line_bytes)));
    }
    if !facts.keys.is_empty() {
        lines.push(format!("- {} (of {}):", paint(Tone::Strong, "keys"), count(facts.looked_at, "record")));
        lines.extend(facts.keys.iter().take(MAX_LISTED_KEYS).map(|key| key_line(key, facts.looked_at)));
        if let Some(more) = facts.keys.len().checked_sub(MAX_LISTED_KEYS).filter(|more| *more > 0) {
            lines.push(format!("  - … and {more} more"));
        }
    }
    if facts.unparsed > 0 {
        lines.push(item("not parsed", &format!("{}; gristmill lint reports why", count(facts.unparsed, "record"))));
    }
    lines
}

fn spread(lengths: &Lengths) -> String {
    if lengths.min == lengths.max {
        return grouped(lengths.min);
    }
    let mean = grouped(lengths.mean().round() as u64);
    let ends = format!("{} to {}, {mean} on average", grouped(lengths.min), grouped(lengths.max));
    match lengths.count {
        0..10 => ends,
        _ => format!("{ends}, half of them up to about {}", grouped(lengths.quantile(0.5))),
    }
}

fn key_line(key: &KeyFacts, records: u64) -> String {
    let kinds: Vec<&str> = key.kinds.iter().map(|(kind, _)| *kind).collect();
    let mut line = format!("  - {}: {}", paint(Tone::Strong, &display_safe(&key.name)), kinds.join(" or "));
    if key.seen < records {
        line.push_str(&format!(", in {} of {}", grouped(key.seen), grouped(records)));
    }
    if key.text.count > 0 {
        let (mean, longest) = (count(key.text.mean().round() as u64, "character"), grouped(key.text.max));
        line.push_str(&format!(", {mean} on average, {longest} at most"));
    }
    line
}
