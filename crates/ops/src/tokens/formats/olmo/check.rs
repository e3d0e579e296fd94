//! Checks of the answers to `--format olmo`.

use crate::tokens::format::{missing_answer, note, wrong_answer};
use gristmill_core::pack::{DocumentId, OlmoTarget, TokenType};
use gristmill_core::{PackPlan, Problem};
use gristmill_tokenizer::Tokenizer;

/// Returns one refusal for each required option of the format without an answer.
pub(super) fn open_questions(plan: &PackPlan) -> Vec<Problem> {
    if plan.begin.is_some() || plan.end.is_some() {
        return Vec::new();
    }
    let why = "no token begins or ends a document, and OLMo needs one of them";
    vec![missing_answer(why, "--eos-token TEXT, or --bos-token TEXT")]
}

/// Returns one refusal for each wrong answer to the options of the format.
pub(super) fn refusals(target: &OlmoTarget) -> Vec<Problem> {
    let mut wrong_ones = Vec::new();
    if matches!(&target.id, DocumentId::Key(path) if path.split('.').any(str::is_empty)) {
        let why = "it has to be keys with a dot between each two";
        wrong_ones.push(wrong_answer("--id-key", why).with_hint("for example --id-key metadata.id, or --id-key none"));
    }
    if matches!(target.token_type, Some(TokenType::I32 | TokenType::I64 | TokenType::U64)) {
        let why = "tokens of OLMo are u8, u16 or u32";
        wrong_ones.push(wrong_answer("--dtype", why).with_hint("without it the vocabulary decides"));
    }
    if target.max_tokens_per_file == Some(0) {
        wrong_ones.push(wrong_answer("--max-tokens-per-file", "at least 1 is needed"));
    }
    wrong_ones
}

/// Returns notes on readers that need an end token, and on tokens of the tokenizer's template that are ignored.
pub(super) fn notes(plan: &PackPlan, tokenizer: &Tokenizer) -> Vec<Problem> {
    let mut notes = Vec::new();
    if plan.end.is_none() {
        let why = "no token ends a document: OLMo-core finds the borders of documents in local files by it";
        notes.push(note("olmo", why).with_hint("--eos-token TEXT adds one"));
    }
    if tokenizer.template().is_ok_and(|template| !template.is_empty()) {
        let why = "the special tokens of the tokenizer's template are left out";
        notes.push(note("olmo", why).with_hint("--bos-token and --eos-token add tokens"));
    }
    notes
}
