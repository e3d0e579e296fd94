//! The text of a document, or the reason why there is none.

/// Message for a document without a text.
pub(super) const NO_TEXT: &str = "it has no text";
/// Message for a document whose text is `null`.
pub(super) const NULL_TEXT: &str = "its text is null";

/// Result of looking for the text of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text<'a> {
    /// A string, possibly empty.
    Is(&'a str),
    /// The key is missing, or the program has no output.
    Missing,
    /// `null`.
    Null,
    /// `0`, `false`, `[]` or `{}`, which Python treats as false; holds a description of the value.
    Falsy(&'static str),
    /// Another value; holds a description of it.
    NotText(&'static str),
    /// The line, or a value on the path, is not an object; holds a description of it.
    NotObject(&'static str),
    /// The jq program ends in an error, or takes too long.
    Fails(&'static str),
    /// The line is not JSON.
    Invalid {
        /// Offset of the mistake from the beginning of the line, in bytes.
        at: usize,
        /// Reason.
        why: &'static str,
    },
    /// A value of the row cannot be read, so that the row is not used; holds the reason.
    Unreadable(&'static str),
    /// The line holds only white space.
    Blank,
}

impl<'a> Text<'a> {
    /// Returns the string, or an empty one if there is none.
    pub fn as_str(self) -> &'a str {
        match self {
            Self::Is(text) => text,
            _ => "",
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum TextLocation<'a> {
    /// In the line, or there is no text.
    Line(Text<'a>),
    /// In `texts` of the extractor, as start and end in bytes.
    Own(usize, usize),
}
