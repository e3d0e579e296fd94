//! The end token of documents if the named one is not in the vocabulary.

use super::config::stored_unknown;
use gristmill_core::text::display_safe;
use gristmill_core::{Outcome, Problem, ProblemKind, Subject};
use gristmill_tokenizer::{Tokenizer, TokenizerKind};

/// Returns the unknown token, which the reference program uses for an end token that is not in the vocabulary; `None` if the token exists
/// or the files of the tokenizer name no unknown token. `named` is the tokenizer of the plan.
pub fn unknown_end(named: &str, tokenizer: &Tokenizer, token: &str) -> Outcome<Option<u32>> {
    match tokenizer.kind() == TokenizerKind::Json && tokenizer.id_of(token).is_none() {
        true => stored_unknown(named, tokenizer),
        false => Ok(None),
    }
}

/// Returns the note that documents end with the unknown token `id`.
pub fn unknown_end_note(token: &str, id: u32) -> Problem {
    let token = display_safe(token);
    let why = format!(
        "the end token `{token}` is not in the tokenizer's vocabulary: the unknown token (id {id}) ends each document, as in Modalities"
    );
    Problem::note(ProblemKind::Other, Subject::field("modalities"), why)
}
