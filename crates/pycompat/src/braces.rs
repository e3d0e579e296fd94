//! Brace expressions with the syntax of Python's `braceexpand`: `{a,b}`, nested, `{1..10}`, `{001..010}`, `{a..e}`, `{0..10..2}`, `\{`.
//!
//! The number of results is computed before the first one is built, so a small text cannot exhaust memory.

use std::fmt::Write as _;

/// Maximum number of results that callers request.
pub const MAX_RESULTS: usize = 1_000_000;
/// Maximum nesting depth; deeper expressions are refused.
const MAX_DEPTH: usize = 100;
/// Upper limit of the number of results times the length of the expression in bytes.
const MAX_BYTES: u128 = 1 << 28;

/// The reason why a brace expression cannot be expanded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BraceError {
    /// A brace without its counterpart.
    #[error("a brace has no partner; write \\{{ or \\}} for a brace that is part of the name")]
    Unbalanced,
    /// The expression has more results than the caller permits.
    #[error("the braces expand to more than {limit} names")]
    TooMany {
        /// Number of results that the caller permits.
        limit: usize,
    },
    /// Braces nested more than 100 deep.
    #[error("the braces are nested more than {MAX_DEPTH} deep")]
    TooDeep,
    /// A range over digits of a script other than ASCII.
    #[error("a range uses digits other than 0-9")]
    ForeignDigits,
    /// A range over numbers that are too long to enumerate.
    #[error("a range uses numbers of more than 38 digits that differ in length or in their first digits")]
    NumberTooLong,
}

/// Returns all names of the expression, in the order of `braceexpand`. Fails if there are more than `limit` names.
pub fn expand(text: &str, limit: usize) -> Result<Vec<String>, BraceError> {
    expand_with(text, limit, if text.contains('\\') { Escapes::Remove } else { Escapes::Keep })
}

/// Like [`expand`], but preserves backslashes, for regular expressions with escapes such as `\d`.
pub fn expand_keeping_escapes(text: &str, limit: usize) -> Result<Vec<String>, BraceError> {
    expand_with(text, limit, Escapes::Keep)
}

fn expand_with(text: &str, limit: usize, escapes: Escapes) -> Result<Vec<String>, BraceError> {
    if limit == 0 {
        return Err(BraceError::TooMany { limit });
    }
    if !text.contains(['{', '}']) {
        return Ok(vec![escapes.applied(text.to_owned())]);
    }
    let parts = parse_pattern(text, 0)?;
    let count = count_product(&parts);
    if count > limit as u128 || count.saturating_mul(text.len() as u128) > MAX_BYTES {
        return Err(BraceError::TooMany { limit });
    }
    Ok(product(&parts, escapes))
}

/// How backslashes are handled. The reference removes them once per level of nesting.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Escapes {
    Keep,
    Remove,
}

impl Escapes {
    fn applied(self, text: String) -> String {
        if self == Self::Remove && text.contains('\\') {
            without_escapes(&text)
        } else {
            text
        }
    }
}

/// Returns the number of names that the expression expands to.
pub fn count(text: &str) -> Result<u128, BraceError> {
    Ok(count_product(&parse_pattern(text, 0)?))
}

/// Escapes a name so that [`expand`] returns only that name.
pub fn escape(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        if matches!(c, '\\' | '{' | '}') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Whether [`expand`] returns exactly this name.
pub fn is_literal(name: &str) -> bool {
    !name.contains(['\\', '{', '}']) || expand(name, 1).is_ok_and(|names| names == [name])
}

enum Part {
    Literal(String),
    Numbers {
        start: i128,
        end: i128,
        step: u128,
        width: usize,
        prefix: String,
    },
    Letters(Vec<char>),
    /// Each alternative is a sequence of parts.
    Alternatives(Vec<Vec<Part>>),
}

/// Returns the offset after the escape that begins at `at`.
fn after_escape(text: &str, at: usize) -> usize {
    let next = text[at + 1..].chars().next().map_or(1, char::len_utf8);
    at + 1 + next
}

fn parse_pattern(text: &str, depth: usize) -> Result<Vec<Part>, BraceError> {
    if depth > MAX_DEPTH {
        return Err(BraceError::TooDeep);
    }
    let bytes = text.as_bytes();
    let (mut start, mut at, mut open) = (0usize, 0usize, 0i64);
    let mut parts = Vec::new();
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => {
                at = after_escape(text, at);
                continue;
            }
            b'{' => {
                if open == 0 && at > start {
                    parts.push(Part::Literal(text[start..at].to_owned()));
                    start = at;
                }
                open += 1;
            }
            b'}' => {
                open -= 1;
                if open == 0 {
                    push_expression(&mut parts, &text[start + 1..at], depth)?;
                    start = at + 1;
                }
            }
            _ => {}
        }
        at += 1;
    }
    if open != 0 {
        return Err(BraceError::Unbalanced);
    }
    if start < bytes.len() {
        parts.push(Part::Literal(text[start..].to_owned()));
    }
    Ok(parts)
}

fn push_expression(parts: &mut Vec<Part>, inner: &str, depth: usize) -> Result<(), BraceError> {
    if let Some(range) = parse_range(inner)? {
        parts.push(range);
    } else if let Some(alternatives) = parse_alternatives(inner, depth)? {
        parts.push(Part::Alternatives(alternatives));
    } else {
        parts.push(Part::Literal("{".to_owned()));
        parts.push(Part::Alternatives(vec![parse_pattern(inner, depth + 1)?]));
        parts.push(Part::Literal("}".to_owned()));
    }
    Ok(())
}

fn parse_alternatives(text: &str, depth: usize) -> Result<Option<Vec<Vec<Part>>>, BraceError> {
    let bytes = text.as_bytes();
    let (mut start, mut at, mut open) = (0usize, 0usize, 0i64);
    let mut alternatives = Vec::new();
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => {
                at = after_escape(text, at);
                continue;
            }
            b'{' => open += 1,
            b'}' => open -= 1,
            b',' if open == 0 => {
                alternatives.push(parse_pattern(&text[start..at], depth + 1)?);
                start = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    if open != 0 || alternatives.is_empty() {
        return Ok(None);
    }
    alternatives.push(parse_pattern(&text[start..], depth + 1)?);
    Ok(Some(alternatives))
}

fn parse_range(text: &str) -> Result<Option<Part>, BraceError> {
    // The reference's `$` also matches before a final line end.
    let text = text.strip_suffix('\n').unwrap_or(text);
    let mut pieces = text.split("..");
    let (Some(start), Some(end), step, None) = (pieces.next(), pieces.next(), pieces.next(), pieces.next()) else {
        return Ok(None);
    };
    let step_digits = step.map(|step| step.strip_prefix('-').unwrap_or(step));
    if [Some(start), Some(end), step_digits].into_iter().flatten().any(is_foreign_number) {
        return Err(BraceError::ForeignDigits);
    }
    if step_digits.is_some_and(|step| !is_digits(step)) {
        return Ok(None);
    }
    let step = step_digits.map_or(1, |step| step.parse::<u128>().unwrap_or(u128::MAX)).max(1);
    if is_number(start) && is_number(end) {
        return number_range(start, end, step).map(Some);
    }
    match (single_letter(start), single_letter(end)) {
        (Some(start), Some(end)) => Ok(Some(Part::Letters(letter_range(start, end, step)))),
        _ => Ok(None),
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

fn is_number(text: &str) -> bool {
    is_digits(text.strip_prefix('-').unwrap_or(text))
}

fn is_foreign_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && !digits.is_ascii() && digits.chars().all(char::is_numeric)
}

fn number_range(start: &str, end: &str, step: u128) -> Result<Part, BraceError> {
    let padded = |text: &str| text != "0" && text != "-0" && (text.starts_with('0') || text.starts_with("-0"));
    let width = if padded(start) || padded(end) { start.len().max(end.len()) } else { 0 };
    if let (Ok(start), Ok(end)) = (start.parse(), end.parse()) {
        return Ok(Part::Numbers { start, end, step, width, prefix: String::new() });
    }
    // The numbers are too long to enumerate, unless they have a common prefix that leaves short numbers.
    let shared = start.bytes().zip(end.bytes()).take_while(|(a, b)| a == b).count();
    let shared = shared.min(start.len().saturating_sub(1));
    if start.len() != end.len() || start.starts_with('-') || end.starts_with('-') {
        return Err(BraceError::NumberTooLong);
    }
    match (start[shared..].parse(), end[shared..].parse()) {
        (Ok(first), Ok(last)) => Ok(Part::Numbers {
            start: first,
            end: last,
            step,
            width: start.len() - shared,
            prefix: start[..shared].to_owned(),
        }),
        _ => Err(BraceError::NumberTooLong),
    }
}

const LETTERS: &[u8; 52] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

fn single_letter(text: &str) -> Option<usize> {
    match text.as_bytes() {
        [letter] => LETTERS.iter().position(|l| l == letter),
        _ => None,
    }
}

fn letter_range(start: usize, end: usize, step: u128) -> Vec<char> {
    let step = usize::try_from(step).unwrap_or(usize::MAX);
    let letter = |at: usize| char::from(LETTERS[at]);
    if start < end {
        (start..=end).step_by(step).map(letter).collect()
    } else {
        (end..=start).rev().step_by(step).map(letter).collect()
    }
}

fn count_part(part: &Part) -> u128 {
    match part {
        Part::Literal(_) => 1,
        Part::Numbers { start, end, step, .. } => (start.abs_diff(*end) / step).saturating_add(1),
        Part::Letters(letters) => letters.len() as u128,
        Part::Alternatives(all) => all.iter().map(|parts| count_product(parts)).fold(0, u128::saturating_add),
    }
}

fn count_product(parts: &[Part]) -> u128 {
    parts.iter().map(count_part).fold(1, u128::saturating_mul)
}

/// Returns every combination of one value per part, with the last part changing fastest. The caller must check their number first.
fn product(parts: &[Part], escapes: Escapes) -> Vec<String> {
    let mut names = vec![String::new()];
    for part in parts {
        match values(part, escapes) {
            Values::One(text) => names.iter_mut().for_each(|name| name.push_str(text)),
            Values::Many(values) => {
                let mut longer = Vec::with_capacity(names.len() * values.len());
                for name in &names {
                    longer.extend(values.iter().map(|value| format!("{name}{value}")));
                }
                names = longer;
            }
        }
    }
    names.into_iter().map(|name| escapes.applied(name)).collect()
}

enum Values<'a> {
    One(&'a str),
    Many(Vec<String>),
}

fn values(part: &Part, escapes: Escapes) -> Values<'_> {
    match part {
        Part::Literal(text) => Values::One(text),
        Part::Letters(letters) => Values::Many(letters.iter().map(char::to_string).collect()),
        Part::Alternatives(all) => Values::Many(all.iter().flat_map(|parts| product(parts, escapes)).collect()),
        Part::Numbers { start, end, step, width, prefix } => {
            let count = count_part(part);
            let step = i128::try_from(*step).unwrap_or(i128::MAX);
            let step = if start <= end { step } else { -step };
            let mut all = Vec::new();
            let mut value = *start;
            for left in (0..count).rev() {
                let mut text = prefix.clone();
                let _ = write!(text, "{value:0width$}");
                all.push(text);
                if left > 0 {
                    value += step;
                }
            }
            Values::Many(all)
        }
    }
}

/// Removes backslashes from escapes. A backslash before a line end or at the end of the text remains.
fn without_escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('\n') => out.push_str("\\\n"),
            Some(escaped) => out.push(escaped),
            None => out.push('\\'),
        }
    }
    out
}

#[cfg(test)]
#[path = "braces_tests.rs"]
mod tests;
