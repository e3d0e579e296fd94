//! Tables, whose documents are rows: the checks before the run, and how a table is written.

use super::inputs::Inputs;
use crate::job::pool::run_units;
use gristmill_core::dedup::{Mode, Variant, ANNOTATE_KEY, FIELD_OF_VARIANT_B};
use gristmill_core::{Cancel, DedupPlan, Failure, Outcome, Problem, ProblemKind, Subject};
use gristmill_data::source::dedup::{text_field, TextFile};
use gristmill_data::source::documents::{Layout, TextEdits};

/// Name of this step in errors.
const ACTIVITY: &str = "deduplicating";

/// Returns the changes that a plan makes in tables. Annotated ranges are written to a column at the top level.
pub(super) fn edits_of(plan: &DedupPlan) -> Outcome<TextEdits<'_>> {
    let ranges_key = match (plan.mode, plan.variant) {
        (Mode::Remove, _) => None,
        (Mode::Annotate, Variant::B) => Some(FIELD_OF_VARIANT_B),
        (Mode::Annotate, Variant::A) if plan.annotate_key == ANNOTATE_KEY => Some(FIELD_OF_VARIANT_B),
        (Mode::Annotate, Variant::A) if plan.annotate_key.contains('.') => {
            let why = format!(
                "the ranges of a table are listed in a column at its top level, not in `{}`",
                plan.annotate_key
            );
            let hint = "give a name without dots, or leave the flag out";
            return Err(Failure::usage(ACTIVITY, why).on(Subject::field("--annotate-key")).with_hint(hint));
        }
        (Mode::Annotate, Variant::A) => Some(plan.annotate_key.as_str()),
    };
    Ok(TextEdits { text_key: &plan.text_key, ranges_key })
}

/// Checks all tables. Returns a problem for each table without the text column, whose rows are copied unchanged. Fails if no file has the
/// column, or if a table cannot be written.
pub(super) fn check(plan: &DedupPlan, inputs: &Inputs, threads: usize, cancel: &Cancel) -> Outcome<Vec<Problem>> {
    let files = inputs.line_files();
    let tables: Vec<(usize, &TextFile)> =
        files.iter().copied().enumerate().filter(|(_, file)| file.source.is_table()).collect();
    let Some((_, first)) = tables.first() else { return Ok(Vec::new()) };
    if plan.export_index.is_some() {
        let why = format!("an index holds lines of JSON, and files of {} have rows", first.source.name());
        let hint = "leave --export-index out, or convert the files to JSONL";
        return Err(Failure::usage(ACTIVITY, why).on(Subject::path(&first.path)).with_hint(hint));
    }
    let (edits, fields) = (edits_of(plan)?, text_field(&plan.text_key));
    let layouts = run_units(&tables, threads, cancel, |(number, file)| {
        if let Some(rewriter) = file.source.rewriter().filter(|_| *number >= inputs.earlier_count) {
            rewriter.check(file, &edits)?;
        }
        file.source.layout(file, &fields, cancel)
    })?;
    let has_text = tables.len() < files.len() || layouts.iter().any(|layout| matches!(layout, Layout::Rows));
    let mut problems = Vec::new();
    for ((_, file), layout) in tables.iter().zip(layouts) {
        let Layout::NoText { why, hint } = layout else { continue };
        let subject = Subject::path(&file.path);
        if !has_text {
            return Err(Failure::usage(ACTIVITY, why).on(subject).with_hint(hint));
        }
        let message = format!("its rows stay as they are: {why}");
        problems.push(Problem::problem(ProblemKind::NoText, subject, message).with_hint(hint));
    }
    Ok(problems)
}
