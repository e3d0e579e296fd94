//! Rules by which each program accepts, skips or refuses a line.

use super::extract::{Document, Text};
use super::{DocumentRules, TextFile};

/// JSON extensions in a line that Python's `json` accepts and strict parsers refuse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Quirks(u8);

impl Quirks {
    /// No extension.
    pub const NONE: Self = Self(0);
    /// `NaN`, `Infinity` or `-Infinity`.
    pub const NON_FINITE: Self = Self(1);
    /// A number beyond the range of a float.
    pub const OVERFLOW: Self = Self(1 << 1);
    /// A byte-order mark at the beginning.
    pub const BOM: Self = Self(1 << 2);
    /// An escaped unpaired surrogate (`\ud800`) in the text itself.
    pub const SURROGATE_IN_TEXT: Self = Self(1 << 3);
    /// An escaped unpaired surrogate anywhere else.
    pub const SURROGATE_IN_OTHER_FIELD: Self = Self(1 << 4);
    /// Unpaired second surrogates (`\udc00`) without unpaired first ones in the text itself; jq reads them as U+FFFD.
    pub const SECOND_HALF_IN_TEXT: Self = Self(1 << 6);
    /// More than 1,000 nested objects and arrays.
    pub const DEEP: Self = Self(1 << 5);

    /// Returns the union of both.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    /// Whether any of the extensions in `other` is included.
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
    /// Whether there are no extensions.
    pub fn is_none(self) -> bool {
        self.0 == 0
    }

    /// Whether a program with these rules cannot tokenize the line because of one of the extensions.
    pub fn is_refused_by(self, rules: DocumentRules) -> bool {
        self.has(rules.refused)
    }

    /// Returns the reason, for the user, of the first extension that a program with these rules refuses.
    pub fn why(self, rules: DocumentRules) -> Option<&'static str> {
        let reasons = [
            (Self::NON_FINITE, "a number that is not finite, as NaN, is no JSON for this target"),
            (Self::OVERFLOW, "a number is too large for a float"),
            (Self::BOM, BYTE_ORDER_MARK),
            (Self::SURROGATE_IN_TEXT, SURROGATE_MESSAGE),
            (Self::SECOND_HALF_IN_TEXT, SURROGATE_MESSAGE),
            (Self::SURROGATE_IN_OTHER_FIELD, "it contains a lone surrogate"),
            (Self::DEEP, "objects and arrays are nested more than 1,000 deep"),
        ];
        let refused = Self(self.0 & rules.refused.0);
        reasons.iter().find(|(quirk, _)| refused.has(*quirk)).map(|(_, why)| *why)
    }
}

/// Message for a line that starts with a byte-order mark.
pub const BYTE_ORDER_MARK: &str = "it starts with a byte-order mark, which is not part of JSON";

/// Returns how to remove the byte-order mark of a line that begins at offset `start` of its file.
pub fn mark_hint(file: &TextFile, start: u64) -> String {
    let remove = match start {
        0 => "tail -c +4",
        _ => r"LC_ALL=C sed 's/^\xEF\xBB\xBF//'",
    };
    match file.packing.filter() {
        None => format!("remove the mark: {remove} FILE > NEW.jsonl"),
        Some(filter) => format!("remove the mark: {filter} < FILE | {remove} > NEW.jsonl"),
    }
}

/// Decision of a program on a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentVerdict<'a> {
    /// The document is used; its text may be empty if the program accepts that.
    Take(&'a str),
    /// The program leaves the document out by design, which is a note with this reason.
    Skip(&'static str),
    /// The program would abort or lose data, which is a problem with this reason.
    Refuse(&'static str),
}

/// Message for a document without a text.
pub(super) const NO_TEXT: &str = "it has no text";
/// Message for a document whose text is `null`.
pub(super) const NULL_TEXT: &str = "its text is null";
/// Message for a text with an unpaired surrogate.
pub(super) const SURROGATE_MESSAGE: &str = "the text contains a lone surrogate";
/// Message for a document whose text is `""`.
pub const EMPTY: &str = "its text is empty";

impl<'a> Document<'a> {
    /// Returns the text if most formats accept it, otherwise the reason. The text of a blank line is empty.
    pub fn usable_text(&self) -> Result<&'a str, &'static str> {
        match self.text {
            Text::Blank => Ok(""),
            _ => match self.verdict(DocumentRules::PYTHON_TEXT) {
                DocumentVerdict::Take(text) => Ok(text),
                DocumentVerdict::Skip(why) | DocumentVerdict::Refuse(why) => Err(why),
            },
        }
    }

    /// Returns the decision of a program with these rules on the document.
    pub fn verdict(&self, rules: DocumentRules) -> DocumentVerdict<'a> {
        let lacking = |why| if rules.skips_missing { DocumentVerdict::Skip(why) } else { DocumentVerdict::Refuse(why) };
        match self.text {
            Text::Blank => return lacking("the line is blank"),
            Text::Invalid { why, .. } | Text::Unreadable(why) => return DocumentVerdict::Refuse(why),
            _ => {}
        }
        if let Some(why) = self.quirks.why(rules) {
            return DocumentVerdict::Refuse(why);
        }
        match self.text {
            Text::Is("") if rules.skips_empty => DocumentVerdict::Skip(EMPTY),
            Text::Is("") if !rules.takes_empty => DocumentVerdict::Refuse(EMPTY),
            Text::Is(text) => DocumentVerdict::Take(text),
            Text::Missing => lacking(NO_TEXT),
            Text::Null => lacking(NULL_TEXT),
            Text::Falsy(why) => lacking(why),
            Text::NotText(why)
            | Text::NotObject(why)
            | Text::Fails(why)
            | Text::Invalid { why, .. }
            | Text::Unreadable(why) => DocumentVerdict::Refuse(why),
            Text::Blank => lacking("the line is blank"),
        }
    }
}
