//! How `--format olmo` encodes documents (docs/formats/olmo.md §1 and §2).

use super::super::super::format::TokenFormat;
use super::Olmo;
use crate::tokens::encode::{end_id, EncodingSpec, End, IdSource};
use gristmill_core::pack::{DocumentId, OlmoTarget, TokenType};
use gristmill_core::text::count;
use gristmill_core::{Failure, Outcome, PackPlan, Subject};
use gristmill_tokenizer::{Template, Tokenizer};

/// Returns the encoding of a plan: no template, and a begin and an end token unless the text has them.
pub(super) fn encoding(plan: &PackPlan, target: &OlmoTarget, tokenizer: &Tokenizer) -> Outcome<EncodingSpec> {
    let needed = token_type(tokenizer.full_size().max(u64::from(tokenizer.facts().greatest_id) + 1));
    let token = target.token_type.unwrap_or(needed);
    if token.bytes() < needed.bytes() {
        let entries = count(tokenizer.full_size(), "entry");
        let why = format!("the vocabulary has {entries}, and a token of {} does not hold them", bytes(token));
        return Err(Failure::usage("packing for olmo", why)
            .on(Subject::field("--dtype"))
            .with_hint("leave it out, or give a larger type"));
    }
    let end = plan.end.as_ref().map(|end| end_id(tokenizer, end)).transpose()?;
    let spec = EncodingSpec {
        begin: plan.begin.as_ref().map(|begin| end_id(tokenizer, begin)).transpose()?,
        end: end.map_or(End::Never, End::UnlessThere),
        ids: match &target.id {
            DocumentId::Key(path) => IdSource::Key(path.split('.').map(str::to_owned).collect()),
            DocumentId::Line => IdSource::Line,
        },
        is_length_planned: true,
        ..EncodingSpec::new(Olmo.identity(), Template::default(), token, tokenizer)
    };
    spec.checked()
}

/// Returns the smallest token type for a vocabulary with this many entries.
fn token_type(entries: u64) -> TokenType {
    let types = [TokenType::U8, TokenType::U16, TokenType::U32];
    types.into_iter().find(|token| entries <= token.greatest() + 1).unwrap_or(TokenType::U32)
}

fn bytes(token: TokenType) -> String {
    count(token.bytes() as u64, "byte")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vocabulary_decides_the_type_of_a_token() {
        let cases = [(1, 1), (256, 1), (257, 2), (65_536, 2), (65_537, 4), (1 << 33, 4)];
        for (entries, bytes) in cases {
            assert_eq!(token_type(entries).bytes(), bytes, "{entries}");
        }
    }
}
