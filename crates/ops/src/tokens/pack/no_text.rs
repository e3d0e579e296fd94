//! Whether a plan may have a result without documents.

use super::super::formats;
use super::inputs::Inputs;
use gristmill_core::{text, PackPlan, Subject};

/// Hint for a run without text.
pub(super) const NO_TEXT_HINT: &str =
    "name files that have documents; loaders fail at the first sample of an empty set";

/// Whether all formats of a plan accept a result without documents.
pub(super) fn may_be_empty(plan: &PackPlan) -> bool {
    formats::chosen(plan).into_iter().all(|format| format.may_be_empty(plan))
}

/// Whether only some documents are selected.
pub(super) fn has_document_selection(plan: &PackPlan) -> bool {
    plan.limit_tokens.is_some() || formats::chosen(plan).into_iter().any(|format| format.selects_documents(plan))
}

/// Returns the subject and the reason if a run without lines must be refused; `None` if an empty result is accepted. It is refused if a
/// file has lost documents.
pub(super) fn no_text(plan: &PackPlan, inputs: &Inputs, has_losses: bool) -> Option<(Subject, String)> {
    let files = inputs.line_files();
    let first = files.first().filter(|_| !plan.follows_reference() && (has_losses || !may_be_empty(plan)))?;
    let why = match files.len() {
        1 => "it has no document".to_owned(),
        more => format!("none of {} has a document", text::count(more as u64, "file")),
    };
    Some((Subject::path(&first.path), why))
}
