//! The data source of a page of ranges ([`Ranges`]) and the types it shares with the page.

use crate::tui::keymap::Action;
use crate::tui::screen::Effect;
use gristmill_core::Failure;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// Which list is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListKind {
    /// Documents that have ranges.
    #[default]
    Documents,
    /// The passages that repeat most often.
    Passages,
    /// Files, with sizes before and after.
    Files,
}

/// A row of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row<'a> {
    /// A document: the raw name of its file, its line, counted from 1, and the number of bytes in its ranges.
    Document(&'a str, u64, u64),
    /// A passage: the number of its occurrences, its length in bytes, and its raw beginning.
    Passage(u64, u64, &'a str),
    /// A file: its raw name, the number of bytes of text in it, and the number of those in ranges.
    File(&'a str, u64, u64),
}

/// What is shown in place of the lists.
#[derive(Clone, Debug, PartialEq)]
pub enum ListPlaceholder<'a> {
    /// The lists are being computed: a description of the current step.
    Waits(String),
    /// The lists cannot be computed.
    Fails(&'a Failure),
    /// The lists are empty: a message, and the raw descriptions of what could not be read.
    Nothing(String, &'a [String]),
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileLine<'a> {
    /// The raw name of the file in its set.
    pub name: &'a str,
    /// The path of the file.
    pub path: PathBuf,
    /// The line, counted from 1.
    pub line: u64,
}

/// A copy of a passage that is shown in place of a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DisplayedCopy {
    /// The byte offset in the text at which the copy begins.
    pub from: usize,
    /// The text it is a copy of; empty where only the length is known.
    pub of: Arc<str>,
    /// Its maximum length in bytes.
    pub length: usize,
    /// A description of the copy.
    pub what: &'static str,
}

impl DisplayedCopy {
    /// Returns the byte range of the copy in `text`: as far as both texts agree, cut to whole characters.
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

/// The document and range on display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DisplayedRange<At> {
    /// The document.
    pub at: At,
    /// The index of the current range; an index out of bounds means the last range.
    pub range: usize,
    /// The copy shown in place of a range, if any.
    pub copy: Option<DisplayedCopy>,
}

impl<At> DisplayedRange<At> {
    /// Returns the first range of a document.
    pub fn of(at: At) -> Self {
        Self { at, range: 0, copy: None }
    }
}

/// The raw text of a document and its ranges, whose ends are on character boundaries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocumentText<'a> {
    pub text: &'a str,
    /// The ranges, in order.
    pub ranges: Vec<Range<usize>>,
}

/// What has become available since the last call.
pub enum RangesUpdate<At> {
    /// The lists; they may differ from the previous ones.
    Lists,
    /// Rows of the list of documents.
    Rows,
    /// The document that was being read.
    Text,
    /// The start of the requested copy: its document and the byte offset in its text; or why there is none.
    Copy(Result<(At, usize), String>),
}

/// The data source of a page of ranges. No call blocks: what is not available yet is computed in the background, and
/// [`tick`](Self::tick) reports it once it is.
pub trait Ranges {
    /// The identifier of a document.
    type At: Copy + PartialEq;
    /// A description of the place that [`copy_of`](Self::copy_of) returns.
    const COPY: &'static str;

    /// Returns what to show in place of the lists; `None` once the lists are available.
    fn placeholder(&self) -> Option<ListPlaceholder<'_>>;
    /// Returns the noun for one range in a count.
    fn range_word(&self) -> &'static str;

    /// Returns the number of rows of a list.
    fn len(&self, listed: ListKind) -> usize;
    /// Returns a row of a list; `None` if it is not available yet.
    fn row(&self, listed: ListKind, row: usize) -> Option<Row<'_>>;
    /// Returns the document and range that a row of a list shows, if any.
    fn displayed_range(&self, listed: ListKind, row: usize) -> Option<DisplayedRange<Self::At>>;
    /// Returns the document to open first and the row of its file.
    fn first(&self) -> Option<(Self::At, usize)>;
    /// Returns the row of a document, or of the next one with ranges; `None` if neither is known.
    fn row_of(&self, at: Self::At) -> Option<usize>;
    /// Returns the file and line of a document; `None` while they are not known.
    fn place(&self, at: Self::At) -> Option<FileLine<'_>>;
    /// Returns the text of a document, or why it cannot be read; `None` while it is being read.
    fn text(&self, at: Self::At) -> Option<Result<DocumentText<'_>, &Failure>>;
    /// Returns the document and byte offset at which the kept copy of a range begins; `None` while it is being searched for.
    ///
    /// # Errors
    /// The reason why there is no such copy.
    fn copy_of(&mut self, at: Self::At, range: usize) -> Result<Option<(Self::At, usize)>, &'static str>;

    /// Reports that these rows of the list of documents are in view.
    fn need(&mut self, _rows: Range<usize>) {}
    /// Reports that this document is now on display.
    fn read(&mut self, _at: Self::At) {}
    /// Cancels the search for a copy. Returns whether one was running.
    fn stop(&mut self) -> bool {
        false
    }
    /// Executes an action that changes what is examined. Sets `displayed_range` to `None` if the documents are about to get other identifiers.
    fn handle_action(&mut self, action: Action, spot: &mut Option<DisplayedRange<Self::At>>) -> Vec<Effect>;
    /// Collects the results of the background work.
    fn tick(&mut self, effects: &mut Vec<Effect>) -> Vec<RangesUpdate<Self::At>>;
    /// Whether background work is running.
    fn is_busy(&self) -> bool;

    /// Returns the raw path of what is examined, for display.
    fn title(&self) -> String;
    /// Returns a summary of the result and how it was obtained, or the current step.
    fn status(&self) -> Option<String>;
    /// Returns the label of a key on this page, if it differs from the usual one.
    fn label(&self, action: Action) -> Option<&'static str>;
    /// Returns why a key has no effect here.
    fn why_disabled(&self, action: Action) -> Option<&'static str>;
}
