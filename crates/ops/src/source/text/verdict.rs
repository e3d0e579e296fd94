//! What each program makes of a line.

use super::extract::{Document, Text};
use super::TextFile;
use gristmill_core::PackFormat;

/// What strict readers refuse in a line that Python's `json` takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Quirks(u8);

impl Quirks {
    /// Nothing odd.
    pub const NONE: Self = Self(0);
    /// `NaN`, `Infinity` or `-Infinity`.
    pub const NON_FINITE: Self = Self(1);
    /// A number beyond what a float holds.
    pub const OVERFLOW: Self = Self(1 << 1);
    /// A byte-order mark at the beginning.
    pub const BOM: Self = Self(1 << 2);
    /// Half a character as an escape (`\ud800`), in the text itself.
    pub const SURROGATE_IN_TEXT: Self = Self(1 << 3);
    /// The same anywhere else.
    pub const SURROGATE_ELSEWHERE: Self = Self(1 << 4);
    /// Second halves of characters alone (`\udc00`), in the text itself and nowhere a first one: what jq reads as U+FFFD.
    pub const SECOND_HALF_IN_TEXT: Self = Self(1 << 6);
    /// More than 1,000 objects and arrays in each other.
    pub const DEEP: Self = Self(1 << 5);

    /// Both together.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    /// Whether any of `other` is among them.
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
    /// Whether there is none.
    pub fn is_none(self) -> bool {
        self.0 == 0
    }

    /// What a program refuses.
    fn refused(format: PackFormat) -> Self {
        match format {
            // Its jq takes NaN and a byte-order mark.
            PackFormat::Modalities => Self::SURROGATE_IN_TEXT.with(Self::DEEP),
            PackFormat::Forager => {
                Self::SURROGATE_IN_TEXT.with(Self::SECOND_HALF_IN_TEXT).with(Self::DEEP).with(Self::BOM)
            }
            PackFormat::Nanosets => Self::NON_FINITE
                .with(Self::OVERFLOW)
                .with(Self::BOM)
                .with(Self::SURROGATE_IN_TEXT)
                .with(Self::SECOND_HALF_IN_TEXT)
                .with(Self::SURROGATE_ELSEWHERE),
        }
    }

    /// Whether a program cannot make tokens of a line because of one of them.
    pub fn is_refused_by(self, format: PackFormat) -> bool {
        self.has(Self::refused(format))
    }

    /// In a user's words, the first that this program refuses.
    pub fn why(self, format: PackFormat) -> Option<&'static str> {
        let told = [
            (Self::NON_FINITE, "a number that is not finite, as NaN, is no JSON for this target"),
            (Self::OVERFLOW, "a number is beyond what a float holds"),
            (Self::BOM, BYTE_ORDER_MARK),
            (Self::SURROGATE_IN_TEXT, "half of a character (a lone surrogate) is in the text"),
            (Self::SECOND_HALF_IN_TEXT, "half of a character (a lone surrogate) is in the text"),
            (Self::SURROGATE_ELSEWHERE, "half of a character (a lone surrogate) is in it"),
            (Self::DEEP, "more than 1,000 objects and arrays are in each other"),
        ];
        let refused = Self(self.0 & Self::refused(format).0);
        told.iter().find(|(quirk, _)| refused.has(*quirk)).map(|(_, why)| *why)
    }
}

/// What is said of a line that starts with a byte-order mark.
pub const BYTE_ORDER_MARK: &str = "it starts with a byte-order mark, which is not part of JSON";

/// How to remove the byte-order mark of a line, by where the line begins in its file.
pub fn mark_hint(file: &TextFile, start: u64) -> String {
    let remove = match start {
        0 => "tail -c +4",
        _ => r"LC_ALL=C sed 's/^\xEF\xBB\xBF//'",
    };
    match file.packing.unpack_command() {
        None => format!("remove the mark: {remove} FILE > NEW.jsonl"),
        Some(unpack) => format!("remove the mark: {unpack} FILE | {remove} > NEW.jsonl"),
    }
}

/// What becomes of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict<'a> {
    /// It is taken; its text may be empty where the program takes that.
    Take(&'a str),
    /// The program leaves it out by design: a note; why.
    Skip(&'static str),
    /// The program would end or lose data here: a problem; why.
    Refuse(&'static str),
}

/// The reason of a document whose text is `""`.
const EMPTY: &str = "its text is empty";

impl<'a> Document<'a> {
    /// The text, where it has one that some format takes; else why not. A blank line has an empty one.
    pub fn usable_text(&self) -> Result<&'a str, &'static str> {
        match self.text {
            Text::Blank => Ok(""),
            _ => match self.verdict(PackFormat::Modalities) {
                Verdict::Take(text) => Ok(text),
                Verdict::Skip(why) | Verdict::Refuse(why) => Err(why),
            },
        }
    }

    /// What `format` makes of it.
    pub fn verdict(&self, format: PackFormat) -> Verdict<'a> {
        let skips = format == PackFormat::Nanosets;
        let lacking = |why| if skips { Verdict::Skip(why) } else { Verdict::Refuse(why) };
        match self.text {
            Text::Blank => return lacking("the line is blank"),
            Text::Invalid { why, .. } => return Verdict::Refuse(why),
            _ => {}
        }
        if let Some(why) = self.quirks.why(format) {
            return Verdict::Refuse(why);
        }
        match self.text {
            Text::Is("") if format != PackFormat::Forager => lacking(EMPTY),
            Text::Is(text) => Verdict::Take(text),
            Text::Missing => lacking("it has no text"),
            Text::Null => lacking("its text is null"),
            Text::Falsy(why) => lacking(why),
            Text::NotText(why) | Text::NotObject(why) | Text::Fails(why) | Text::Invalid { why, .. } => {
                Verdict::Refuse(why)
            }
            Text::Blank => lacking("the line is blank"),
        }
    }
}
