//! How `--format nanosets` encodes documents.

use super::Nanosets;
use crate::tokens::encode::{end_id, EncodingSpec, IdSource, Kind};
use crate::tokens::TokenFormat as _;
use gristmill_core::pack::{NanosetsTarget, TokenType};
use gristmill_core::{Failure, Outcome, PackPlan};
use gristmill_data::formats::nanosets::TokenSize;
use gristmill_tokenizer::{Template, Tokenizer};

pub(super) fn encoding(plan: &PackPlan, target: &NanosetsTarget, tokenizer: &Tokenizer) -> Outcome<EncodingSpec> {
    // An end token replaces the whole template.
    let template = match &plan.end {
        Some(end) => Template { prefix: Vec::new(), suffix: vec![end_id(tokenizer, end)?] },
        None => tokenizer.template()?,
    };
    let token = match TokenSize::of_vocabulary(tokenizer.full_size()) {
        TokenSize::Two => TokenType::U16,
        TokenSize::Four => TokenType::U32,
    };
    if target.loss_masks && tokenizer.padding().is_some() {
        return Err(Failure::usage("loss masks", "the tokenizer file fills texts up, and masks say nothing of that")
            .with_hint("take the padding out of the tokenizer file: set \"padding\" to null"));
    }
    let spec = EncodingSpec {
        truncation: tokenizer.truncation(),
        kind: if target.loss_masks { Kind::LossMask } else { Kind::Plain },
        ids: if target.deal.is_files() { IdSource::Unused } else { IdSource::Line },
        wants_chars: target.logging_dir.is_some(),
        ..EncodingSpec::new(Nanosets.identity(), template, token, tokenizer)
    };
    spec.checked()
}
