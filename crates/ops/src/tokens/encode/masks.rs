//! Loss masks: of documents with ranges that training ignores (docs/formats/nanosets.md §2), and of documents in parts
//! (docs/formats/forager.md §3.4).

use super::encoding_spec::EncodingSpec;
use super::packed::{shape, EncodedBlock};
use gristmill_core::pack::MaskedParts;
use gristmill_core::Outcome;
use gristmill_data::source::documents::{value_of, Document, Text};
use gristmill_tokenizer::{token_at_char, Encoder, SpecialTokenFinder, TokenSpan};
use memchr::memmem;
use serde_json::Value;

/// The key of the ranges of a document that training ignores.
const RANGES: &str = "no_loss_ranges";
const BAD_RANGES: &str = "its no_loss_ranges are not a list of [start, end]";

/// Adds a document with its loss mask. Only documents with ranges need the offsets of their tokens.
pub(super) fn loss(
    spec: &EncodingSpec,
    text: &str,
    line: &[u8],
    ids: &[u32],
    encoder: &mut Encoder,
    encoded: &mut EncodedBlock,
    whole: &mut Vec<u32>,
) -> Outcome<Result<(), &'static str>> {
    let ranges = match ranges_of(line) {
        Ok(ranges) => ranges,
        Err(reason) => return Ok(Err(reason)),
    };
    if ranges.is_empty() {
        let before = encoded.lengths.len();
        let added = encoded.add(spec, ids, whole)?;
        let tokens: u64 = encoded.lengths.iter().skip(before).sum();
        encoded.mask.resize(encoded.mask.len() + usize::try_from(tokens).unwrap_or(0), 1);
        return Ok(added);
    }
    let spans = spans(spec, text, encoder)?;
    let mask = mask(&spans, &ranges);
    whole.clear();
    whole.extend(spans.iter().map(|span| span.id));
    whole.truncate(mask.len());
    Ok(encoded.add_masked(spec, whole, &mask, spec.length_change(ids.len())))
}

/// Returns the ranges of a document, at its top level or in its `metadata`; empty if it has none.
fn ranges_of(line: &[u8]) -> Result<Vec<(usize, usize)>, &'static str> {
    // A key may be spelled with escapes; such a line is parsed too.
    if memmem::find(line, RANGES.as_bytes()).is_none() && memmem::find(line, b"\\u00").is_none() {
        return Ok(Vec::new());
    }
    let found = value_of(line, &[RANGES]).or_else(|| value_of(line, &["metadata", RANGES]));
    let list = match found {
        None | Some(Value::Null | Value::Bool(false)) => return Ok(Vec::new()),
        Some(Value::Array(list)) => list,
        Some(_) => return Err(BAD_RANGES),
    };
    let number = |value: &Value| value.as_u64().and_then(|number| usize::try_from(number).ok());
    list.iter()
        .map(|pair| match pair.as_array().map(Vec::as_slice) {
            Some([start, end]) => number(start).zip(number(end)).ok_or(BAD_RANGES),
            _ => Err(BAD_RANGES),
        })
        .collect()
}

/// Returns all tokens of a document, after template and truncation.
fn spans(spec: &EncodingSpec, text: &str, encoder: &mut Encoder) -> Outcome<Vec<TokenSpan>> {
    let is_own_template = spec.template.suffix.is_empty() || !spec.template.prefix.is_empty();
    if spec.truncation.is_none() && is_own_template && !spec.template.is_empty() {
        return encoder.encode_spans_with_template(text);
    }
    let mut spans = encoder.encode_spans(text)?;
    if let Some(truncation) = &spec.truncation {
        let ids: Vec<u32> = spans.iter().map(|span| span.id).collect();
        let around = spec.template.prefix.len() + spec.template.suffix.len();
        let kept = truncation.truncate(&ids, around)?.len();
        match truncation.side {
            gristmill_tokenizer::Side::Left => drop(spans.drain(..ids.len() - kept)),
            gristmill_tokenizer::Side::Right => spans.truncate(kept),
        }
    }
    let added = |id: &u32| TokenSpan { id: *id, chars: 0..0, bytes: 0..0, is_template: true };
    spans.splice(..0, spec.template.prefix.iter().map(added));
    spans.extend(spec.template.suffix.iter().map(added));
    Ok(spans)
}

/// Returns the mask that datatrove computes from the ranges. Slices work as in Python, where a missing token means the start or the end.
fn mask(spans: &[TokenSpan], ranges: &[(usize, usize)]) -> Vec<u8> {
    let mut mask = vec![1; spans.len()];
    for (start, end) in ranges {
        let first = token_at_char(spans, *start);
        let last = token_at_char(spans, *end);
        let from = first.unwrap_or(0).min(mask.len());
        let to = last.unwrap_or(mask.len()).min(mask.len());
        if let Some(slice) = mask.get_mut(from..to) {
            slice.fill(0);
        }
        if last.is_none_or(|last| last >= spans.len()) {
            mask.truncate(first.unwrap_or(mask.len()));
        }
    }
    mask
}

const NO_PARTS: &str = r#"it has no list of parts: {"parts":[{"type":"prompt","text":"…"},…]}"#;
const BAD_PART: &str = r#"one of its parts has no type or no text: {"parts":[{"type":"prompt","text":"…"},…]}"#;

/// Counts of the texts of a document in parts.
pub(super) struct PartTokens {
    /// Number of tokens of the texts.
    pub(super) tokens: u64,
    /// Special tokens written in the texts, each listed once.
    pub(super) special: Vec<u32>,
}

/// Adds a document that is a list of parts.
pub(super) fn parts(
    spec: &EncodingSpec,
    masked: &MaskedParts,
    line: &[u8],
    document: &Document<'_>,
    (encoder, finder): (&mut Encoder, &SpecialTokenFinder),
    encoded: Option<&mut EncodedBlock>,
) -> Outcome<Result<PartTokens, &'static str>> {
    match document.text {
        Text::Blank => return Ok(Err("the line is blank")),
        Text::Invalid { why, .. } | Text::NotObject(why) | Text::Unreadable(why) => return Ok(Err(why)),
        _ => {}
    }
    let Some(Value::Array(parts)) = value_of(line, &["parts"]) else {
        return Ok(Err(NO_PARTS));
    };
    let (mut ids, mut mask, mut whole) = (Vec::new(), Vec::new(), Vec::new());
    let mut raw = Vec::new();
    let mut found = PartTokens { tokens: 0, special: Vec::new() };
    let mut changed = (0, 0);
    for part in &parts {
        let text_of = |key: &str| part.get(key).and_then(Value::as_str);
        let (Some(kind), Some(text)) = (text_of("type"), text_of("text")) else {
            return Ok(Err(BAD_PART));
        };
        raw.clear();
        encoder.encode(text, &mut raw)?;
        let (lost, filled) = spec.length_change(raw.len());
        changed = (changed.0 + lost, changed.1 + filled);
        found.tokens += raw.len() as u64;
        for id in finder.find(text, &raw) {
            if !found.special.contains(&id) {
                found.special.push(id);
            }
        }
        let shaped = shape(spec, &raw, &mut whole)?;
        let is_masked = masked.parts.iter().any(|masked| masked == kind);
        shaped.iter().for_each(|part| ids.extend_from_slice(part));
        mask.resize(ids.len(), u8::from(is_masked));
    }
    if let Some(id) = spec.end.after(ids.last().copied()) {
        ids.push(id);
        mask.push(u8::from(masked.mask_end));
    }
    Ok(match encoded {
        Some(encoded) => encoded.add_masked(spec, &ids, &mask, changed).map(|()| found),
        None => Ok(found),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(ranges: &[(usize, usize)]) -> Vec<TokenSpan> {
        let span = |(start, end): &(usize, usize)| TokenSpan {
            id: 7,
            chars: *start..*end,
            bytes: *start..*end,
            is_template: start == end,
        };
        ranges.iter().map(span).collect()
    }

    #[test]
    fn masked_ranges_are_python_slices_of_characters() {
        // Three tokens of two characters with a gap before the last one, and an end token.
        let tokens = spans(&[(0, 2), (2, 4), (5, 7), (0, 0)]);
        assert_eq!(mask(&tokens, &[]), [1, 1, 1, 1]);
        assert_eq!(mask(&tokens, &[(0, 2)]), [0, 1, 1, 1]);
        assert_eq!(mask(&tokens, &[(3, 6)]), [1, 0, 1, 1]);
        // The range ends after the text: all later tokens, including the end token, are removed.
        assert_eq!(mask(&tokens, &[(2, 7)]), [1]);
        assert_eq!(mask(&tokens, &[(0, 99)]), [0_u8; 0]);
        // A start that is in no token means the beginning of the text.
        assert_eq!(mask(&tokens, &[(4, 5)]), [0, 0, 1, 1]);
        // An end that is in no token removes everything after the first token.
        assert_eq!(mask(&tokens, &[(2, 4)]), [1]);
        assert_eq!(mask(&tokens, &[(4, 4)]), [0, 0, 0, 0]);
        // Later ranges do not restore removed tokens.
        assert_eq!(mask(&tokens, &[(2, 99), (5, 6)]), [1]);
    }

    #[test]
    fn mask_ranges_at_the_top_level_take_precedence_over_metadata() {
        assert_eq!(ranges_of(br#"{"text": "x"}"#), Ok(vec![]));
        assert_eq!(ranges_of(br#"{"no_loss_ranges": [[1, 2], [3, 4]]}"#), Ok(vec![(1, 2), (3, 4)]));
        assert_eq!(ranges_of(br#"{"metadata": {"no_loss_ranges": [[1, 2]]}}"#), Ok(vec![(1, 2)]));
        let both = br#"{"metadata": {"no_loss_ranges": [[1, 2]]}, "no_loss_ranges": [[5, 6]]}"#;
        assert_eq!(ranges_of(both), Ok(vec![(5, 6)]));
        for bad in ["7", "[1, 2]", "[[1]]", "[[-1, 2]]", "[[\"a\", 2]]", "{}"] {
            assert_eq!(ranges_of(format!("{{\"no_loss_ranges\": {bad}}}").as_bytes()), Err(BAD_RANGES), "{bad}");
        }
    }
}
