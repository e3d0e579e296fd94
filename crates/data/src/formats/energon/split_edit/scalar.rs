//! Spelling of texts as YAML scalars: items and keys.

use gristmill_pycompat::yaml_write::on_one_line;

/// Style of a scalar in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Quote {
    #[default]
    Plain,
    Single,
    Double,
    /// `|` or `>`.
    Block,
}

/// Context of a scalar that affects its spelling.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ScalarContext {
    /// Whether it is between brackets, where commas and braces have a meaning.
    pub(super) in_flow: bool,
    /// Whether the file has non-ASCII letters, so they need not be escaped.
    pub(super) unicode: bool,
    /// Style of the replaced text.
    pub(super) quote: Quote,
}

/// Returns the text as a scalar on one line, in the style of the text that it replaces if possible, and quoted where necessary.
pub(super) fn written(text: &str, manner: ScalarContext) -> String {
    let is_letter = |c: char| !c.is_ascii() && c.is_alphanumeric();
    let has_letters = text.chars().any(is_letter);
    let ascii: String = text.chars().map(|c| if is_letter(c) { 'x' } else { c }).collect();
    let as_ascii = on_one_line(&ascii);
    if as_ascii.starts_with('"') || (has_letters && !manner.unicode) {
        return on_one_line(text);
    }
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "_./-+=@ ".contains(c);
    let needs_quotes = as_ascii.starts_with('\'') || (manner.in_flow && !ascii.chars().all(is_safe));
    match manner.quote {
        Quote::Double if !text.contains(['"', '\\']) => format!("\"{text}\""),
        Quote::Single => format!("'{}'", text.replace('\'', "''")),
        _ if needs_quotes => format!("'{}'", text.replace('\'', "''")),
        _ => text.to_owned(),
    }
}
