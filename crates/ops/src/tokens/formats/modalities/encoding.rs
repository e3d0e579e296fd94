//! How `--format modalities` encodes documents.

use super::Modalities;
use crate::tokens::encode::{as_length, known_id, no_end, DocumentPadding, EncodingSpec, End};
use crate::tokens::formats::modalities::engine::unknown_end;
use crate::tokens::TokenFormat as _;
use gristmill_core::pack::{ModalitiesTarget, SpecialToken, TokenType};
use gristmill_core::{Failure, Outcome, PackPlan};
use gristmill_data::formats::modalities::token_bytes;
use gristmill_tokenizer::{Side, Template, Tokenizer, TokenizerKind, Truncation};

pub(super) fn encoding(plan: &PackPlan, target: &ModalitiesTarget, tokenizer: &Tokenizer) -> Outcome<EncodingSpec> {
    let end = match (&target.eod_token, &plan.end) {
        (Some(token), _) => modalities_end(plan, tokenizer, token)?,
        (None, Some(SpecialToken::Text(token))) => modalities_end(plan, tokenizer, token)?,
        (None, Some(SpecialToken::Id(id))) => known_id(tokenizer, *id)?,
        (None, None) => return Err(no_end("every document of a .pbin ends with one")),
    };
    let fill = match target.pad_to {
        Some(length) => Some(DocumentPadding {
            length: as_length(length),
            id: match &target.pad_token {
                Some(token) => tokenizer.expect_id(token)?,
                None => tokenizer.padding().map(|padding| padding.id).ok_or_else(|| {
                    Failure::usage("filling documents up", "the tokenizer has no padding token")
                        .with_hint("name it with --pad-token, or as pad_token below special_tokens of a configuration")
                })?,
            },
            side: tokenizer.padding().map_or(Side::Right, |padding| padding.side),
        }),
        None => None,
    };
    let truncation = target.truncate_to.map(|length| Truncation {
        max_length: as_length(length),
        side: tokenizer.truncation().map_or(Side::Right, |stored| stored.side),
    });
    let token = match token_bytes(tokenizer.base_size()) {
        1 => TokenType::U8,
        2 => TokenType::U16,
        _ => TokenType::U32,
    };
    // Only a `tokenizer.json` has a template.
    let template = match tokenizer.kind() {
        TokenizerKind::SentencePiece | TokenizerKind::Numbers => Template::default(),
        TokenizerKind::Json => tokenizer.template()?,
    };
    let spec = EncodingSpec {
        truncation,
        padding: fill,
        end: End::UnlessThere(end),
        needs_tokens: true,
        wants_lines: plan.compat,
        is_length_planned: true,
        ..EncodingSpec::new(Modalities.identity(), template, token, tokenizer)
    };
    spec.checked()
}

/// Returns the end token. With `--compat`, the unknown token replaces an end token that the vocabulary does not have.
fn modalities_end(plan: &PackPlan, tokenizer: &Tokenizer, token: &str) -> Outcome<u32> {
    match (tokenizer.expect_id(token), unknown_end(&plan.tokenizer, tokenizer, token)?) {
        (Err(_), Some(id)) if plan.compat => Ok(id),
        (Err(failure), Some(id)) => {
            let near = failure.hint.as_ref().map_or_else(String::new, |near| format!("{near} "));
            let hint = format!("{near}--eos-id {id} or --compat takes the unknown token, as Modalities does");
            Err(failure.with_hint(hint))
        }
        (Ok(id), _) if tokenizer.kind() == TokenizerKind::SentencePiece && Some(id) == tokenizer.unknown() => {
            Err(Failure::usage("looking up the end token", format!("`{token}` is the unknown piece of the tokenizer")))
        }
        (found, _) => found,
    }
}
