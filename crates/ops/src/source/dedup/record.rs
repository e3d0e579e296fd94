//! One line, and what it is for dedup.

use super::long::LongLine;
use crate::source::text::{mark_hint, TextFile, BYTE_ORDER_MARK};
use gristmill_core::text::count_verb;
use gristmill_core::{Outcome, Problem, ProblemKind, Subject};
use gristmill_pycompat::json_fields::{Field, Fields, Shape};
use gristmill_pycompat::json_text::unescape;
use gristmill_pycompat::json_walk::Kind as JsonKind;

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A document: its text takes part.
    Document,
    /// Copied byte for byte; it has no windows and no place in an index. A problem.
    Passed(SkippedLine),
    /// Only white space: left out, a note.
    Blank,
}

/// Why a line takes no part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkippedLine {
    /// It is no JSON for Python.
    Invalid {
        /// Where, in bytes from the beginning of the line.
        at: u64,
        /// Why.
        why: &'static str,
    },
    /// It has no usable text; why.
    NoText(&'static str),
    /// It is more than is read; why.
    TooMuch(&'static str),
}

/// Where the line is.
#[derive(Clone, Copy, Debug)]
pub enum Body<'a> {
    /// In memory, without its `\n`.
    Held(&'a [u8]),
    /// To be read in pieces.
    Long(&'a LongLine),
}

/// One line of a file.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Its number in the file, counted from 0, blank lines counted.
    pub line: u64,
    /// Where it begins in the unpacked text, in bytes.
    pub start: u64,
    /// Its length without the `\n`, in bytes.
    pub bytes: u64,
    /// What it is.
    pub kind: Kind,
    /// Where it is.
    pub body: Body<'a>,
    /// A line that is held and valid, as text.
    pub(super) text: &'a str,
    pub(super) fields: &'a Fields,
}

impl<'a> Record<'a> {
    /// The text of a document whose line is held: out of the line where nothing in it is escaped, else in `spare`. `None` for others.
    pub fn text<'t>(&self, spare: &'t mut String) -> Option<&'t str>
    where
        'a: 't,
    {
        let (Kind::Document, Body::Held(_)) = (self.kind, self.body) else { return None };
        let field = self.fields.found()?;
        let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
        let raw = self.text.get(place(field.from + 1)..place(field.to.saturating_sub(1)))?;
        if !field.has_escapes {
            return Some(raw);
        }
        spare.clear();
        unescape(raw, spare);
        Some(spare)
    }

    /// Hands out the text of a document in pieces of whole characters, and returns its length in bytes. `spare` is memory that is used
    /// again. A line that takes no part has none.
    pub fn each_piece(&self, spare: &mut String, take: &mut dyn FnMut(&str) -> Outcome<()>) -> Outcome<u64> {
        match (self.kind, self.body) {
            (Kind::Document, Body::Long(line)) => match self.fields.found() {
                Some(field) => line.each_piece(field, spare, take),
                None => Ok(0),
            },
            _ => match self.text(spare) {
                Some(text) => take(text).map(|()| text.len() as u64),
                None => Ok(0),
            },
        }
    }

    /// The fields of its object.
    pub fn fields(&self) -> &'a Fields {
        self.fields
    }

    /// The field that holds the text of a document.
    pub fn text_field(&self) -> Option<&'a Field> {
        self.fields.found()
    }

    /// The finding of a line that takes no part; `None` for a document and a blank line.
    pub fn problem(&self, file: &TextFile) -> Option<Problem> {
        let Kind::Passed(passed) = self.kind else { return None };
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

/// The note on the blank lines of a file, which are left out; `None` when there are none.
pub fn blank_note(file: &TextFile, count: u64) -> Option<Problem> {
    let message = format!("{} left out", count_verb(count, "blank line", "is", "are"));
    (count > 0).then(|| Problem::note(ProblemKind::BlankLine, Subject::path(&file.path), message))
}

/// What a line that is JSON is, by its fields. Halves of characters are for the caller to look for.
pub(super) fn judged(fields: &Fields) -> Kind {
    let why = match (fields.shape(), fields.found()) {
        (Shape::TooMany, _) => return Kind::Passed(SkippedLine::TooMuch("its object has more than 65,536 fields")),
        (Shape::Other(kind), _) => outermost(kind),
        (Shape::Object, None) => "it has no text",
        (Shape::Object, Some(field)) => match field.kind {
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

/// What is said of half a character in the text.
pub(super) const HALF: Kind =
    Kind::Passed(SkippedLine::NoText("half of a character (a lone surrogate) is in its text"));
