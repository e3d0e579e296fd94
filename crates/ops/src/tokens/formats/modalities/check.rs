//! Checks of the answers to `--format modalities`.

use crate::tokens::format::{missing_answer, note, wrong_answer};
use crate::tokens::formats::modalities::engine::{unknown_end, unknown_end_note};
use gristmill_core::pack::{ModalitiesTarget, SpecialToken, DEFAULT_BATCH_LINES};
use gristmill_core::{PackPlan, Problem};
use gristmill_tokenizer::{Tokenizer, TokenizerKind};

/// Returns one refusal for each required option of the format without an answer.
pub(super) fn open_questions(plan: &PackPlan, target: &ModalitiesTarget) -> Vec<Problem> {
    if target.eod_token.is_some() || plan.end.is_some() {
        return Vec::new();
    }
    let hint = "--eos-token TEXT, or --eos-id N";
    vec![missing_answer("every document of a .pbin ends with an end token, and none is given", hint)]
}

/// Returns one refusal for each wrong answer to the options of the format.
pub(super) fn refusals(plan: &PackPlan, target: &ModalitiesTarget) -> Vec<Problem> {
    let mut wrong_ones = Vec::new();
    if target.batch_lines == 0 {
        wrong_ones.push(wrong_answer("--batch-lines", "at least 1 is needed"));
    }
    if target.batch_lines != DEFAULT_BATCH_LINES && !plan.compat {
        let why = "batches of lines count only with --compat";
        wrong_ones
            .push(wrong_answer("--batch-lines", why).with_hint("without --compat a bad document affects no others"));
    }
    if target.pad_to == Some(0) {
        wrong_ones.push(wrong_answer("--pad-to", "at least 1 is needed"));
    }
    if target.truncate_to == Some(0) {
        wrong_ones.push(wrong_answer("--truncate-to", "at least 1 is needed: no token of a document would be left"));
    }
    if target.pad_token.is_some() && target.pad_to.is_none() {
        wrong_ones.push(wrong_answer("--pad-token", "it needs --pad-to N"));
    }
    if target.index.is_some() && plan.inputs.len() > 1 {
        wrong_ones.push(wrong_answer("--index", "it is the index of one file, and several inputs are given"));
    }
    wrong_ones
}

/// Returns notes on the end token, and on settings of the tokenizer file that are ignored.
pub(super) fn notes(plan: &PackPlan, target: &ModalitiesTarget, tokenizer: &Tokenizer) -> Vec<Problem> {
    let end = target.eod_token.as_deref().or(match &plan.end {
        Some(SpecialToken::Text(text)) => Some(text),
        _ => None,
    });
    // Without `--compat`, an unknown end token is refused.
    let unknown = end.filter(|_| plan.compat).and_then(|token| {
        let id = unknown_end(&plan.tokenizer, tokenizer, token).ok().flatten()?;
        Some((token, id))
    });
    let mut notes: Vec<Problem> = unknown.map(|(token, id)| unknown_end_note(token, id)).into_iter().collect();
    let is_set = tokenizer.padding().is_some() || tokenizer.truncation().is_some();
    if is_set && tokenizer.kind() == TokenizerKind::Json {
        let why = "padding and truncation of the tokenizer file are left out, as Modalities does";
        notes.push(note("modalities", why).with_hint("--truncate-to N and --pad-to N set them"));
    }
    notes
}
