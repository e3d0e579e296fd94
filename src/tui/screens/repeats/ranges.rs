//! The data source of a page of ranges ([`Ranges`]) and the types it shares with the page.

use crate::tui::keymap::Action;
use crate::tui::screen::Effect;
use gristmill_core::Failure;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// The kind of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListKind {
    /// Documents that have ranges.
    #[default]
    Documents,
    /// The passages that repeat most often.
    Passages,
    /// Files, with sizes before and after deduplication.
    Files,
}

/// A row of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row<'a> {
    /// A document: the name of its file (not escaped), its line, counted from 1, and the number of bytes in its ranges.
    Document(&'a str, u64, u64),
    /// A passage: the number of its occurrences, its length in bytes, and its beginning (not escaped).
    Passage(u64, u64, &'a str),
    /// A file: its name (not escaped), the number of bytes of text in it, and the number of those in ranges.
    File(&'a str, u64, u64),
}

/// The message that replaces the lists.
#[derive(Clone, Debug, PartialEq)]
pub enum ListPlaceholder<'a> {
    /// The lists are being computed: a description of the current step.
    Waits(String),
    /// The lists cannot be computed.
    Fails(&'a Failure),
    /// The lists are empty: a message, and the problems of reading (not escaped).
    Nothing(String, &'a [String]),
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileLine<'a> {
    /// The name of the file in its set, not escaped.
    pub name: &'a str,
    /// The path of the file.
    pub path: PathBuf,
    /// The line, counted from 1.
    pub line: u64,
}

/// A copy of a passage, shown instead of a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DisplayedCopy {
    /// The byte offset in the text at which the copy begins.
    pub from: usize,
    /// The text that it is a copy of; empty if only the length is known.
    pub of: Arc<str>,
    /// Maximum length of the copy in bytes.
    pub length: usize,
    /// A description of the copy.
    pub what: &'static str,
}

impl DisplayedCopy {
    /// Returns the byte range of the copy in `text`: as far as both texts are equal, limited to whole characters.
    pub fn range(&self, text: &str) -> Range<usize> {
        let mut from = self.from.min(text.len());
        while !text.is_char_boundary(from) {
            from += 1;
        }
        let rest = text.get(from..).unwrap_or_default();
        let same = match self.of.is_empty() {
            true => self.length.min(rest.len()),
            false => rest.bytes().zip(self.of.bytes()).take_while(|(a, b)| a == b).count(),
        };
        let mut to = from + same;
        while !text.is_char_boundary(to) {
            to -= 1;
        }
        from..to.max(from)
    }
}

/// The displayed document and range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DisplayedRange<At> {
    /// The document.
    pub at: At,
    /// The index of the current range; an index out of bounds means the last range.
    pub range: usize,
    /// The copy shown instead of a range, if any.
    pub copy: Option<DisplayedCopy>,
}

impl<At> DisplayedRange<At> {
    /// Returns the first range of a document.
    pub fn of(at: At) -> Self {
        Self { at, range: 0, copy: None }
    }
}

/// The text of a document (not escaped) and its ranges, whose ends are on character boundaries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocumentText<'a> {
    pub text: &'a str,
    /// The ranges, in order.
    pub ranges: Vec<Range<usize>>,
}

/// An update since the last call.
pub enum RangesUpdate<At> {
    /// The lists; they may differ from the previous ones.
    Lists,
    /// Further rows of the list of documents.
    Rows,
    /// The document that was being read.
    Text,
    /// The start of the requested copy: its document and the byte offset in its text, or the reason why there is none.
    Copy(Result<(At, usize), String>),
}

/// The data source of a page of ranges. No call blocks: missing data are computed in the background, and [`tick`](Self::tick) reports them
/// once they are available.
pub trait Ranges {
    /// The identifier of a document.
    type At: Copy + PartialEq;
    /// A description of the copy that [`copy_of`](Self::copy_of) returns.
    const COPY: &'static str;

    /// Returns the message that replaces the lists; `None` once the lists are available.
    fn placeholder(&self) -> Option<ListPlaceholder<'_>>;
    /// Returns the noun for one range in counts.
    fn range_word(&self) -> &'static str;

    /// Returns the number of rows of a list.
    fn len(&self, listed: ListKind) -> usize;
    /// Returns a row of a list; `None` if it is not available yet.
    fn row(&self, listed: ListKind, row: usize) -> Option<Row<'_>>;
    /// Returns the document and range that the page shows for a row of a list, if any.
    fn displayed_range(&self, listed: ListKind, row: usize) -> Option<DisplayedRange<Self::At>>;
    /// Returns the document to open first, and the row of its file.
    fn first(&self) -> Option<(Self::At, usize)>;
    /// Returns the row of a document, or of the next document with ranges; `None` if neither is known.
    fn row_of(&self, at: Self::At) -> Option<usize>;
    /// Returns the file and line of a document; `None` while they are not known.
    fn place(&self, at: Self::At) -> Option<FileLine<'_>>;
    /// Returns the text of a document, or the reason why it cannot be read; `None` while it is being read.
    fn text(&self, at: Self::At) -> Option<Result<DocumentText<'_>, &Failure>>;
    /// Returns the document and byte offset at which the kept copy of a range begins; `None` while the search for it runs.
    ///
    /// # Errors
    /// Returns the reason if there is no such copy.
    fn copy_of(&mut self, at: Self::At, range: usize) -> Result<Option<(Self::At, usize)>, &'static str>;

    /// Called when these rows of the list of documents become visible.
    fn need(&mut self, _rows: Range<usize>) {}
    /// Called when the page shows this document.
    fn read(&mut self, _at: Self::At) {}
    /// Cancels the search for a copy. Returns whether it was running.
    fn stop(&mut self) -> bool {
        false
    }
    /// Runs an action that changes the examined files or settings. Sets `displayed_range` to `None` if the documents get other identifiers.
    fn handle_action(&mut self, action: Action, spot: &mut Option<DisplayedRange<Self::At>>) -> Vec<Effect>;
    /// Returns the results of the background work.
    fn tick(&mut self, effects: &mut Vec<Effect>) -> Vec<RangesUpdate<Self::At>>;
    /// Whether background work is running.
    fn is_busy(&self) -> bool;

    /// Returns the examined path for display, not escaped.
    fn title(&self) -> String;
    /// Returns a summary of the result and its settings, or the current step.
    fn status(&self) -> Option<String>;
    /// Returns the label of an action on this page, if it differs from the usual one.
    fn label(&self, action: Action) -> Option<&'static str>;
    /// Returns why an action is unavailable.
    fn why_disabled(&self, action: Action) -> Option<&'static str>;
}
