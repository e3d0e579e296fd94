//! Findings that are known only after all texts are packed: documents that the tokenizer file truncates or pads, and special tokens in
//! texts.

use super::super::format::LengthChange;
use super::super::formats;
use super::journal::Totals;
use crate::tokens::encode::EncodingSpec;
use gristmill_core::text::{agree, count, count_verb, display_safe, grouped};
use gristmill_core::{PackPlan, Problem, ProblemKind, Subject};
use gristmill_tokenizer::Tokenizer;

/// Maximum number of special tokens that a note names.
const MAX_NAMED: usize = 3;

/// Returns the problems of a format whose documents the tokenizer file truncates or pads. Truncation and padding requested by the plan
/// itself are not problems.
pub(super) fn length_changes(
    plan: &PackPlan,
    spec: &EncodingSpec,
    truncated: LengthChange,
    padded: LengthChange,
) -> Vec<Problem> {
    if spec.is_length_planned {
        return Vec::new();
    }
    let of = if formats::only_format(plan).is_none() { format!(" of {}", spec.format) } else { String::new() };
    let are = |change: LengthChange| {
        format!("{}{of} {}", count(change.documents, "document"), agree(change.documents, "is", "are"))
    };
    let problem = |kind, why: String, key: &str| {
        let hint = format!("set \"{key}\" to null in the tokenizer file, then pack again");
        Problem::problem(kind, Subject::path(&plan.tokenizer), why).with_hint(hint)
    };
    let mut problems = Vec::new();
    if truncated.documents > 0 {
        let most = spec.truncation.as_ref().map_or(0, |truncation| truncation.max_length);
        let why = format!(
            "{} truncated to {} by the tokenizer file, {} lost",
            are(truncated),
            count(most as u64, "token"),
            count_verb(truncated.tokens, "token", "is", "are")
        );
        problems.push(problem(ProblemKind::StoredTruncation, why, "truncation"));
    }
    if padded.documents > 0 {
        let why = format!("{} padded with {} by the tokenizer file", are(padded), count(padded.tokens, "token"));
        problems.push(problem(ProblemKind::StoredPadding, why, "padding"));
    }
    problems
}

/// Returns a note if texts contain special tokens.
pub(super) fn special_tokens(totals: &Totals, tokenizer: &Tokenizer) -> Option<Problem> {
    let found = &totals.special;
    if found.documents == 0 {
        return None;
    }
    let finder = tokenizer.special_token_finder();
    let mut tokens: Vec<(&u32, &u64)> = found.tokens.iter().collect();
    tokens.sort_by_key(|(_, documents)| std::cmp::Reverse(**documents));
    let named = tokens.iter().take(MAX_NAMED).map(|(id, documents)| {
        let spelling = display_safe(finder.spelling(**id).unwrap_or_default());
        match tokens.len() {
            1 => format!("`{spelling}`"),
            _ => format!("`{spelling}` ({})", grouped(**documents)),
        }
    });
    let mut named = named.collect::<Vec<_>>().join(", ");
    if tokens.len() > MAX_NAMED {
        named.push_str(&format!(" and {} more", tokens.len() - MAX_NAMED));
    }
    let why = match found.documents {
        1 => format!("1 document has a special token of the tokenizer in its text: {named}"),
        many => format!(
            "{} have a special token of the tokenizer in their texts: {named}; the first is here",
            count(many, "document")
        ),
    };
    let place = Subject::path(&totals.special_file).line(found.first_line + 1);
    let hint = "models read it as the token itself: remove it from the texts where it is not meant as one";
    Some(Problem::note(ProblemKind::SpecialToken, place, why).with_hint(hint))
}
