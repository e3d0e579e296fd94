//! `info`, `lint`, `verify` and `repair` of raw indexes.

use super::super::check::checked;
use super::super::context::Context;
use super::super::exit::{fields, Done, Finished};
use super::super::facts::{head, item};
use gristmill_core::text::shell_quote;
use gristmill_core::text::{grouped, size};
use gristmill_core::{Failure, Handles, ProblemLog, Progress, Subject};
use gristmill_data::formats::modalities::with_suffix;
use gristmill_ops::engine::check::CheckTexts;
use gristmill_ops::engine::modalities::check::{lint_index, verify_index};
use serde_json::json;
use std::path::Path;

/// What is counted, in addition to the size.
const LINES: CheckTexts = CheckTexts { shards: None, item: "line" };

/// Prints the content of a raw index.
pub fn info(path: &str, context: &Context) -> Finished {
    let (progress, cancel, log) = (Progress::default(), context.signals.listen(), ProblemLog::default());
    let handles = Handles { progress: &progress, cancel: &cancel, problems: &log };
    let lines = lint_index(Path::new(path), &handles)?;
    let facts = [item("lines", &grouped(lines.samples)), item("size", &size(lines.bytes))];
    for line in head(path, "raw index of Modalities").into_iter().chain(facts) {
        context.printer.line(line);
    }
    let result = json!({ "path": path, "kind": "raw-index", "lines": lines.samples, "bytes": lines.bytes });
    Ok(Done::ok(fields(result)))
}

/// Checks that lines do not overlap.
pub fn lint(path: &str, context: &Context) -> Finished {
    checked(context, LINES, |handles| lint_index(Path::new(path), handles))
}

/// Compares a raw index with its file, which is `source` or the `.jsonl` next to it.
pub fn verify(path: &str, source: Option<&Path>, context: &Context) -> Finished {
    let at = Path::new(path);
    let source = source.map_or_else(|| with_suffix(at, ".jsonl"), Path::to_path_buf);
    if !source.exists() {
        return Err(Failure::usage("comparing the index", "the file that it is of is not next to it")
            .on(Subject::path(source))
            .with_hint("--source FILE names it")
            .into());
    }
    checked(context, LINES, |handles| verify_index(at, &source, handles))
}

/// Refuses to repair a raw index.
pub fn repair(path: &str) -> Finished {
    let source = with_suffix(Path::new(path), ".jsonl");
    let hint = format!("make it anew: gristmill index {} --format modalities", shell_quote(&source.to_string_lossy()));
    Err(Failure::usage("repairing", "a raw index is not repaired").on(Subject::path(path)).with_hint(hint).into())
}
