//! What a page of ranges is filled from ([`Ranges`]), and the words that both speak.

use crate::tui::keymap::Action;
use crate::tui::screen::Effect;
use gristmill_core::Failure;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// What is listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListKind {
    /// Documents that have ranges.
    #[default]
    Documents,
    /// The passages that repeat most.
    Passages,
    /// Files, before and after.
    Files,
}

/// A row of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row<'a> {
    /// A document: the name of its file, raw, its line, counted from 1, and the bytes in its ranges.
    Document(&'a str, u64, u64),
    /// A passage: how often it occurs, its length in bytes, and how it begins, raw.
    Passage(u64, u64, &'a str),
    /// A file: its name, raw, the bytes of text in it, and of those in ranges.
    File(&'a str, u64, u64),
}

/// What is told in place of lists.
#[derive(Clone, Debug, PartialEq)]
pub enum Instead<'a> {
    /// They are worked out: what is being done.
    Waits(String),
    /// They cannot be had.
    Fails(&'a Failure),
    /// There is nothing to be listed, and what could not be read, raw.
    Nothing(String, &'a [String]),
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePlace<'a> {
    /// The name of the file in its set, raw.
    pub name: &'a str,
    /// Where the file is.
    pub path: PathBuf,
    /// The line, counted from 1.
    pub line: u64,
}

/// A copy of a passage that is shown in place of a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyShown {
    /// Where it begins in the text, in bytes.
    pub from: usize,
    /// The text that it is a copy of; empty where only the length is known.
    pub of: Arc<str>,
    /// Its length, at most, in bytes.
    pub length: usize,
    /// What it is.
    pub what: &'static str,
}

impl CopyShown {
    /// Its bytes in a text: as far as both are the same, cut to whole characters.
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

/// What is shown of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownRange<At> {
    /// The document.
    pub at: At,
    /// Which of its ranges one is at; one that is not there stands for the last.
    pub range: usize,
    /// A copy that is shown in place of a range.
    pub copy: Option<CopyShown>,
}

impl<At> ShownRange<At> {
    /// A document, at its first range.
    pub fn of(at: At) -> Self {
        Self { at, range: 0, copy: None }
    }
}

/// The text of a document, raw, and its ranges, which lie between characters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text<'a> {
    /// The text.
    pub text: &'a str,
    /// In order.
    pub ranges: Vec<Range<usize>>,
}

/// What came since one looked last.
pub enum News<At> {
    /// The lists; they may be other ones than before.
    Lists,
    /// Rows of the list of documents.
    Rows,
    /// The document that was to be read.
    Text,
    /// Where the copy begins that was looked for: its document, and the byte of its text; or why there is none.
    Copy(Result<(At, usize), String>),
}

/// What a page of ranges is filled from. All of it answers at once: what is not known yet is had worked out meanwhile, and
/// [`tick`](Self::tick) tells that it came.
pub trait Ranges {
    /// How a document is named.
    type At: Copy + PartialEq;
    /// What the place is that [`copy_of`](Self::copy_of) gives.
    const COPY: &'static str;

    /// What is told in place of the lists; `None` once they are there.
    fn instead(&self) -> Option<Instead<'_>>;
    /// What one range is called in a count.
    fn range_word(&self) -> &'static str;

    /// Rows of a list.
    fn len(&self, listed: ListKind) -> usize;
    /// A row of a list, once it is known.
    fn row(&self, listed: ListKind, row: usize) -> Option<Row<'_>>;
    /// What a row of a list shows of the text, if anything.
    fn spot(&self, listed: ListKind, row: usize) -> Option<ShownRange<Self::At>>;
    /// What one came for: a document, and the row of its file.
    fn first(&self) -> Option<(Self::At, usize)>;
    /// The row of a document, or of the next one with ranges; `None` where neither is known.
    fn row_of(&self, at: Self::At) -> Option<usize>;
    /// Where a document is, once that is known.
    fn place(&self, at: Self::At) -> Option<FilePlace<'_>>;
    /// Its text, or why it cannot be read; `None` while it is read.
    fn text(&self, at: Self::At) -> Option<Result<Text<'_>, &Failure>>;
    /// Where the copy of a range begins that stays: its document, and the byte of its text. `None` where that is looked for now.
    ///
    /// # Errors
    /// Why there is none.
    fn copy_of(&mut self, at: Self::At, range: usize) -> Result<Option<(Self::At, usize)>, &'static str>;

    /// These rows of documents are in view.
    fn need(&mut self, _rows: Range<usize>) {}
    /// This document is shown from now on.
    fn read(&mut self, _at: Self::At) {}
    /// Nobody waits for a copy any more. Whether one was looked for.
    fn stop(&mut self) -> bool {
        false
    }
    /// Does what a key means that changes what is looked at. What is shown is forgotten where documents will have other names.
    fn act(&mut self, action: Action, spot: &mut Option<ShownRange<Self::At>>) -> Vec<Effect>;
    /// What came.
    fn tick(&mut self, effects: &mut Vec<Effect>) -> Vec<News<Self::At>>;
    /// Whether something is worked out.
    fn is_busy(&self) -> bool;

    /// What is looked at, as a path that people read; raw.
    fn title(&self) -> String;
    /// What was found in all, and how; or what is being done.
    fn status(&self) -> Option<String>;
    /// What a key is called here, where that is not the usual.
    fn label(&self, action: Action) -> Option<&'static str>;
    /// Why a key does nothing here.
    fn why_disabled(&self, action: Action) -> Option<&'static str>;
}
