//! The encoding of pairs.

use super::Megatron;
use crate::tokens::encode::{end_id, EncodingSpec, End};
use crate::tokens::TokenFormat as _;
use gristmill_core::pack::{MegatronTarget, TokenType};
use gristmill_core::{Outcome, PackPlan};
use gristmill_tokenizer::Tokenizer;

/// Vocabularies of this size and larger have tokens of four bytes (docs/formats/megatron.md §2).
const LARGE_VOCABULARY: u64 = 65_500;

/// Returns the encoding of a plan: the ids with the template, and the end token unless there is no token.
pub(super) fn encoding(plan: &PackPlan, target: &MegatronTarget, tokenizer: &Tokenizer) -> Outcome<EncodingSpec> {
    let end = match (&target.eod_token, &plan.end) {
        (Some(token), _) => Some(tokenizer.expect_id(token)?),
        (None, Some(end)) => Some(end_id(tokenizer, end)?),
        (None, None) => None,
    };
    let token = target.token_type.unwrap_or(token_type(tokenizer.full_size()));
    let spec = EncodingSpec {
        end: end.map_or(End::Never, End::AfterTokens),
        is_length_planned: true,
        ..EncodingSpec::new(Megatron.identity(), tokenizer.template()?, token, tokenizer)
    };
    spec.checked()
}

/// Returns the type of a token for a vocabulary with this many entries, added tokens included.
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
