//! How `--format megatron` encodes documents.

use super::Megatron;
use crate::tokens::encode::{end_id, EncodingSpec, End, IdSource, Kind, SequenceRules};
use crate::tokens::TokenFormat as _;
use gristmill_core::pack::{EmptyTexts, MegatronTarget, TextField, TokenType};
use gristmill_core::{Outcome, PackPlan};
use gristmill_data::source::documents::DocumentRules;
use gristmill_tokenizer::{Template, Tokenizer};

/// Vocabularies with at least this many entries have tokens of four bytes (docs/formats/megatron.md §2).
const LARGE_VOCABULARY: u64 = 65_500;

/// Returns the encoding of a plan: sequences with the template, and the end token after each document that has tokens.
pub(super) fn encoding(plan: &PackPlan, target: &MegatronTarget, tokenizer: &Tokenizer) -> Outcome<EncodingSpec> {
    let end = match (&target.eod_token, &plan.end) {
        (Some(token), _) => Some(tokenizer.expect_id(token)?),
        (None, Some(end)) => Some(end_id(tokenizer, end)?),
        (None, None) => None,
    };
    let is_sequence = target.empty_texts == EmptyTexts::Sequence;
    let end = match end {
        None => End::Never,
        Some(id) if is_sequence => End::Always(id),
        Some(id) => End::AfterTokens(id),
    };
    let keys = match &plan.text {
        _ if !target.keys.is_empty() => target.keys.clone(),
        TextField::Key(key) => vec![key.clone()],
        TextField::Jq(_) => Vec::new(),
    };
    let is_plan_text = target.keys.is_empty();
    let sequences = SequenceRules { keys, is_plan_text, takes_lists: !is_sequence, keeps_empty: is_sequence };
    let template = if target.special_tokens { tokenizer.template()? } else { Template::default() };
    let token = target.token_type.unwrap_or(token_type(tokenizer.full_size()));
    let rules = match target.empty_texts {
        EmptyTexts::LeaveOut => Megatron.document_rules(),
        _ => DocumentRules { skips_empty: false, takes_empty: true, ..Megatron.document_rules() },
    };
    let spec = EncodingSpec {
        end,
        kind: Kind::Sequences(sequences),
        // Partitions are assigned by line number.
        ids: if target.partitions.is_some() { IdSource::Line } else { IdSource::Unused },
        is_length_planned: true,
        ..EncodingSpec::new((Megatron.name(), rules), template, token, tokenizer)
    };
    spec.checked().map_err(|failure| match failure.subject.field.as_deref() {
        Some("--eos-token" | "--bos-token") => failure.with_hint("--dtype i32 has room for it"),
        _ => failure,
    })
}

/// Returns the token type for a vocabulary with this many entries, including added tokens.
fn token_type(entries: u64) -> TokenType {
    if entries < LARGE_VOCABULARY {
        TokenType::U16
    } else {
        TokenType::I32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vocabulary_decides_the_token_type_as_in_the_reference() {
        assert_eq!([0, 65_499, 65_500, 200_000].map(token_type).map(TokenType::bytes), [2, 2, 4, 4]);
    }
}
