//! Checks of the answers to `--format megatron`.

use super::files::text_key;
use crate::tokens::format::{is_file_name, note, wrong_answer};
use gristmill_core::pack::{MegatronTarget, TokenType};
use gristmill_core::{PackPlan, Problem};
use gristmill_tokenizer::Tokenizer;

/// Returns the wrong answers.
pub(super) fn refusals(plan: &PackPlan, target: &MegatronTarget) -> Vec<Problem> {
    let mut wrong_ones = Vec::new();
    if !matches!(target.token_type, None | Some(TokenType::U16 | TokenType::I32)) {
        let why = "files of Megatron have tokens of two bytes without a sign or of four bytes with one";
        wrong_ones.push(wrong_answer("--dtype", why).with_hint("--dtype u16 or --dtype i32"));
    }
    if target.max_tokens_per_file == Some(0) {
        wrong_ones.push(wrong_answer("--max-tokens-per-file", "at least 1 is needed"));
    }
    if !is_file_name(&format!("_{}", text_key(plan))) {
        let why = "it is part of the names of the files, and cannot be: it has a slash, a line break or a zero byte";
        wrong_ones.push(wrong_answer("--text-key", why).with_hint("--jq '.[\"KEY\"]' writes files named text"));
    }
    wrong_ones
}

/// Returns notes on what ends a document, and on what is left out of the tokenizer file.
pub(super) fn notes(plan: &PackPlan, target: &MegatronTarget, tokenizer: &Tokenizer) -> Vec<Problem> {
    let template = tokenizer.template().unwrap_or_default();
    let mut notes = Vec::new();
    if target.eod_token.is_none() && plan.end.is_none() && template.suffix.is_empty() {
        let why = "no token ends a document: training reads documents one after the other and sees no border";
        notes.push(note("megatron", why).with_hint("--eos-token TEXT puts one"));
    }
    if tokenizer.padding().is_some() || tokenizer.truncation().is_some() {
        let why = "padding and truncation of the tokenizer file are left out, as Megatron-LM does";
        notes.push(note("megatron", why));
    }
    notes
}
