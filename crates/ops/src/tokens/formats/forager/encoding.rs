//! How `--format forager` encodes documents.

use super::Forager;
use crate::tokens::encode::{end_id, no_end, DocumentPadding, EncodingSpec, End, Kind};
use crate::tokens::TokenFormat as _;
use gristmill_core::pack::{ForagerTarget, SampleSize};
use gristmill_core::{Failure, Outcome, PackPlan};
use gristmill_tokenizer::{PaddingLength, Template, Tokenizer};

pub(super) fn encoding(plan: &PackPlan, target: &ForagerTarget, tokenizer: &Tokenizer) -> Outcome<EncodingSpec> {
    let end = match (target.sample_size, &plan.end) {
        (SampleSize::Variable, _) => End::Never,
        (SampleSize::Fixed(_), Some(end)) => End::Always(end_id(tokenizer, end)?),
        (SampleSize::Fixed(_), None) => return Err(no_end("samples of a fixed length need one between documents")),
    };
    match (target.sample_size, &target.masks) {
        (SampleSize::Fixed(0), _) => return Err(Failure::usage("the sample size", "it has to be at least 1")),
        (SampleSize::Variable, Some(_)) => {
            return Err(Failure::usage("loss masks of Forager", "they need samples of a fixed length")
                .with_hint("give --sample-size"));
        }
        _ => {}
    }
    let template = if target.special_tokens { tokenizer.template()? } else { Template::default() };
    let fill = tokenizer.padding().and_then(|padding| match padding.length {
        PaddingLength::Fixed(length) => {
            let multiple = padding.multiple_of.filter(|multiple| *multiple > 0).unwrap_or(1);
            let length = length.div_ceil(multiple).saturating_mul(multiple);
            Some(DocumentPadding { length, id: padding.id, side: padding.side })
        }
        // With padding to the longest document, a single document is not padded.
        PaddingLength::Longest => None,
    });
    let spec = EncodingSpec {
        truncation: tokenizer.truncation(),
        padding: fill,
        end,
        kind: target.masks.clone().map_or(Kind::Plain, Kind::Parts),
        ..EncodingSpec::new(Forager.identity(), template, target.token_type(), tokenizer)
    };
    spec.checked()
}
