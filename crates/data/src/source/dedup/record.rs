//! One line with its kind, as dedup uses it.

use super::long::LongLine;
use crate::source::documents::{mark_hint, TextFile, BYTE_ORDER_MARK};
use gristmill_core::text::{count_verb, display_safe};
use gristmill_core::{Outcome, Problem, ProblemKind, Subject};
use gristmill_pycompat::json_fields::{Field, Fields, LineShape};
use gristmill_pycompat::json_text::unescape;
use gristmill_pycompat::json_walk::Kind as JsonKind;

/// Kind of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A document: its text takes part in dedup.
    Document,
    /// The line is copied unchanged; it has no windows and no entry in an index. Reported as a problem.
    Passed(SkippedLine),
    /// The line has only white space; it is left out, with a note.
    Blank,
    /// A row without a value, which is copied, with a note.
    Null,
}

/// Reason why a line takes no part in dedup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkippedLine {
    /// Python's parser does not accept it as JSON.
    Invalid {
        /// Offset of the mistake from the beginning of the line, in bytes.
        at: u64,
        /// Reason.
        why: &'static str,
    },
    /// It has no usable text; holds the reason.
    NoText(&'static str),
    /// It exceeds a limit; holds the reason.
    TooMuch(&'static str),
}

/// Location of a line.
#[derive(Clone, Copy, Debug)]
pub enum Body<'a> {
    /// In memory, without its `\n`.
    Buffered(&'a [u8]),
    /// To be read in pieces.
    Long(&'a LongLine),
}

/// One line of a file.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Line number in the file, counted from 0, including blank lines.
    pub line: u64,
    /// Offset in the decompressed text, in bytes.
    pub start: u64,
    /// Length without the `\n`, in bytes.
    pub bytes: u64,
    /// Kind of the line.
    pub kind: Kind,
    /// Location of the bytes.
    pub body: Body<'a>,
    /// The line as text, if it is valid and in memory; for a row, its text.
    pub(super) text: &'a str,
    /// Number of the row group of a row; `None` for a line.
    pub(super) group: Option<u64>,
    pub(super) fields: &'a Fields,
}

impl<'a> Record<'a> {
    /// Returns the text of a document whose line is in memory: borrowed from the line if it has no escapes, otherwise from `spare`. Returns
    /// `None` for other lines.
    pub fn text<'t>(&self, spare: &'t mut String) -> Option<&'t str>
    where
        'a: 't,
    {
        let (Kind::Document, Body::Buffered(_)) = (self.kind, self.body) else { return None };
        if self.group.is_some() {
            return Some(self.text);
        }
        let field = self.fields.requested()?;
        let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
        let raw = self.text.get(place(field.from + 1)..place(field.to.saturating_sub(1)))?;
        if !field.has_escapes {
            return Some(raw);
        }
        spare.clear();
        unescape(raw, spare);
        Some(spare)
    }

    /// Passes the text of a document to `take` in pieces of whole characters, and returns its length in bytes. `spare` is reused memory. A
    /// line that takes no part in dedup has no text.
    pub fn each_piece(&self, spare: &mut String, take: &mut dyn FnMut(&str) -> Outcome<()>) -> Outcome<u64> {
        match (self.kind, self.body) {
            (Kind::Document, Body::Long(line)) => match self.fields.requested() {
                Some(field) => line.each_piece(field, spare, take),
                None => Ok(0),
            },
            _ => match self.text(spare) {
                Some(text) => take(text).map(|()| text.len() as u64),
                None => Ok(0),
            },
        }
    }

    /// Returns the fields of the line's object.
    pub fn fields(&self) -> &'a Fields {
        self.fields
    }

    /// Returns the field that holds the text of a document.
    pub fn text_field(&self) -> Option<&'a Field> {
        self.fields.requested()
    }

    /// Returns the problem of a document with a repeated key, of which only the last value is written.
    pub fn repeated_key(&self, file: &TextFile) -> Option<Problem> {
        let keys = match (self.kind, self.body) {
            (Kind::Document, Body::Buffered(line)) if self.group.is_none() => line,
            (Kind::Document, Body::Long(line)) => line.keys(),
            _ => return None,
        };
        let key = String::from_utf8_lossy(self.fields.repeated(keys)?).into_owned();
        let message = format!("the key '{}' is in it more than once; only its last value is used", display_safe(&key));
        Some(Problem::problem(ProblemKind::BadJson, Subject::path(&file.path).line(self.line + 1), message))
    }

    /// Returns the problem of a line that takes no part in dedup; `None` for a document or a blank line.
    pub fn problem(&self, file: &TextFile) -> Option<Problem> {
        let Kind::Passed(passed) = self.kind else { return None };
        if let (Some(group), SkippedLine::NoText(why)) = (self.group, passed) {
            let message = format!("row {} (in row group {group}) is copied as it is: {why}", self.line);
            return Some(Problem::problem(ProblemKind::NoText, Subject::path(&file.path), message));
        }
        let subject = Subject::path(&file.path).line(self.line + 1);
        let (kind, why) = match passed {
            SkippedLine::Invalid { at, why } => {
                let message = format!("{why} (byte {at} of the line); the line is copied as it is");
                let hint = (why == BYTE_ORDER_MARK).then(|| mark_hint(file, self.start));
                return Some(Problem { hint, ..Problem::problem(ProblemKind::BadJson, subject, message) });
            }
            SkippedLine::NoText(why) => (ProblemKind::NoText, why),
            SkippedLine::TooMuch(why) => (ProblemKind::BadDocument, why),
        };
        Some(Problem::problem(kind, subject, format!("{why}; the line is copied as it is")))
    }
}

/// Returns the note on the blank lines of a file, which are left out; `None` if there are none.
pub fn blank_note(file: &TextFile, count: u64) -> Option<Problem> {
    let message = format!("{} left out", count_verb(count, "blank line", "is", "are"));
    (count > 0).then(|| Problem::note(ProblemKind::BlankLine, Subject::path(&file.path), message))
}

/// Returns the kind of a valid JSON line, given its fields. The caller must check for unpaired surrogates.
pub(super) fn field_kind(fields: &Fields) -> Kind {
    let why = match (fields.shape(), fields.requested()) {
        (LineShape::TooMany, _) => return Kind::Passed(SkippedLine::TooMuch("its object has more than 65,536 fields")),
        (LineShape::Other(kind), _) => outermost(kind),
        (LineShape::Object, None) => "it has no text",
        (LineShape::Object, Some(field)) => match field.kind {
            JsonKind::String => return Kind::Document,
            JsonKind::Null => "its text is null",
            JsonKind::True => "its text is true",
            JsonKind::False => "its text is false",
            JsonKind::Number | JsonKind::NonFinite => "its text is a number",
            JsonKind::Object | JsonKind::EmptyObject => "its text is an object",
            JsonKind::Array | JsonKind::EmptyArray => "its text is an array",
        },
    };
    Kind::Passed(SkippedLine::NoText(why))
}

fn outermost(kind: JsonKind) -> &'static str {
    match kind {
        JsonKind::String => "the line is a string, not an object",
        JsonKind::Number | JsonKind::NonFinite => "the line is a number, not an object",
        JsonKind::True | JsonKind::False => "the line is true or false, not an object",
        JsonKind::Null => "the line is null, not an object",
        _ => "the line is an array, not an object",
    }
}

/// Kind of a line with an unpaired surrogate in its text.
pub(super) const HALF: Kind = Kind::Passed(SkippedLine::NoText("its text contains a lone surrogate"));
