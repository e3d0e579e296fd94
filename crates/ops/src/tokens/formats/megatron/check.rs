//! Checks of the answers to `--format megatron`.

use super::files::text_keys;
use crate::tokens::format::{is_file_name, note, wrong_answer};
use gristmill_core::pack::{MegatronTarget, TextField, TokenType};
use gristmill_core::{PackPlan, Problem};
use gristmill_tokenizer::Tokenizer;

/// Returns one refusal for each wrong answer to the options of the format.
pub(super) fn refusals(plan: &PackPlan, target: &MegatronTarget) -> Vec<Problem> {
    let mut wrong_ones = Vec::new();
    if !matches!(target.token_type, None | Some(TokenType::U16 | TokenType::I32)) {
        let why = "files of Megatron have tokens of two bytes without a sign or of four bytes with one";
        wrong_ones.push(wrong_answer("--dtype", why).with_hint("--dtype u16 or --dtype i32"));
    }
    if target.max_tokens_per_file == Some(0) {
        wrong_ones.push(wrong_answer("--max-tokens-per-file", "at least 1 is needed"));
    }
    let keys = text_keys(plan, target);
    let flag = if target.keys.is_empty() { "--text-key" } else { "--json-key" };
    if !keys.iter().all(|key| is_file_name(&format!("_{key}"))) {
        let why = "it is part of the names of the files, and cannot be: it has a slash, a line break or a zero byte";
        wrong_ones.push(wrong_answer(flag, why).with_hint("--jq '.[\"KEY\"]' writes files named text"));
    }
    if keys.iter().enumerate().any(|(at, key)| keys.iter().take(at).any(|other| other == key)) {
        wrong_ones.push(wrong_answer(flag, "two pairs of the same key would have the same name"));
    }
    if !target.keys.is_empty() && matches!(plan.text, TextField::Jq(_)) {
        wrong_ones.push(wrong_answer(flag, "the texts are those of --jq").with_hint("leave out one of both"));
    }
    if target.partitions.is_some() && target.max_tokens_per_file.is_some() {
        let why = "documents are put in the order of partitions in one pair only";
        wrong_ones.push(wrong_answer("--partitions", why).with_hint("leave out --partitions or --max-tokens-per-file"));
    }
    wrong_ones
}

/// Returns notes on the end of documents, and on settings of the tokenizer file that are ignored.
pub(super) fn notes(plan: &PackPlan, target: &MegatronTarget, tokenizer: &Tokenizer) -> Vec<Problem> {
    let template = tokenizer.template().unwrap_or_default();
    let has_template_end = target.special_tokens && !template.suffix.is_empty();
    let mut notes = Vec::new();
    if target.eod_token.is_none() && plan.end.is_none() && !has_template_end {
        let why = "no token ends a document: training cannot see where a document ends";
        notes.push(
            note("megatron", why)
                .with_hint("--eos-token TEXT puts one; --append-eod, in the arguments of preprocess_data"),
        );
    }
    if let Some(partitions) = target.partitions.filter(|partitions| *partitions > 1) {
        let why = format!(
            "documents are put in another order: lines 0, {partitions}, {} and so on first",
            2 * u64::from(partitions)
        );
        let hint = "without --partitions, or with --keep-sequential-samples, they keep their order";
        notes.push(note("megatron", why).with_hint(hint));
    }
    if tokenizer.padding().is_some() || tokenizer.truncation().is_some() {
        let why = "padding and truncation of the tokenizer file are left out, as Megatron-LM does";
        notes.push(note("megatron", why));
    }
    notes
}
