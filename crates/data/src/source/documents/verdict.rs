//! Rules by which each program accepts, skips or refuses a line.

use super::extract::Document;
use super::text::{Text, NO_TEXT, NULL_TEXT};
use super::{DocumentRules, TextFile};

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
        if let Some(why) = self.quirks.why(rules.refused) {
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
