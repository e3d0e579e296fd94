//! Texts as items and keys are written.

use gristmill_pycompat::yaml_write::on_one_line;

/// How a scalar stands in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Quote {
    #[default]
    Plain,
    Single,
    Double,
    /// `|` or `>`.
    Block,
}

/// Where a scalar is to stand, as far as it decides how it is written.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ScalarContext {
    /// Between brackets, where commas and braces mean something.
    pub(super) in_flow: bool,
    /// The file has letters beyond ASCII, so they need not be escaped.
    pub(super) unicode: bool,
    /// How the text was written that this one replaces.
    pub(super) quote: Quote,
}

/// The text on one line, quoted where it must be, and as the text it replaces was quoted.
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
