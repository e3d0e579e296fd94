//! Reads the text of documents with known ranges from its original files, and finds the first occurrence of a passage.

use super::{Document, RemovedRanges, Source};
use crate::engine::dedup::repeats::MemorySpool;
use gristmill_core::{Cancel, Failure, Outcome, Subject};
use gristmill_data::source::dedup::{known_file, Documents, Kind, Position, TextFile};
use gristmill_storage::read::stamp_at;
use memchr::memmem::Finder;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Maximum size of a document that is shown, in bytes.
const MAX_DOCUMENT_BYTES: usize = 64 << 20;

/// A document prepared for display.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Position among all documents with ranges; `None` if it has no ranges.
    pub number: Option<u64>,
    /// Position of the file in the earlier set followed by the set.
    pub source: usize,
    /// Offset of the line in bytes.
    pub start: u64,
    /// Number of the line, counted from 0.
    pub line: u64,
    /// Text of the document; raw.
    pub text: String,
    /// The ranges, shrunk to whole characters.
    pub ranges: Vec<Range<usize>>,
}

impl Source {
    /// Opens the file for reading. Refuses a file that has changed since the run.
    fn open(&self) -> Outcome<TextFile> {
        let refuse = |why: &str| {
            Failure::data("showing what a run removed", why.to_owned())
                .on(Subject::path(&self.path))
                .with_hint("the text has changed since the run; run dedup again")
        };
        let stamp = match stamp_at(&self.path) {
            Ok(stamp) => stamp,
            Err(failure) if failure.is_missing() => return Err(refuse("the file that the run read no longer exists")),
            Err(failure) => return Err(failure),
        };
        if (stamp.bytes, stamp.modified_ns) != (self.bytes, self.modified_ns) {
            return Err(refuse("the file has changed since the run read it"));
        }
        known_file(&self.path, &self.name)
    }
}

/// Returns the text of the document whose line begins at offset `start` of a file that a run read.
///
/// # Errors
///
/// The file has changed since the run, the document is longer than 64 MiB, or the work is cancelled.
pub fn read_text(source: &Source, text_key: &str, start: u64, line: u64, cancel: &Cancel) -> Outcome<String> {
    let file = source.open()?;
    let from = Position { offset: start, line };
    let mut documents = Documents::open(&file, text_key, from, Box::new(MemorySpool::default()), cancel)?;
    let subject = || Subject::path(&source.path).line(line + 1);
    let refuse = |why: &str| Failure::data("showing what a run removed", why.to_owned()).on(subject());
    let Some(record) = documents.next()?.filter(|record| record.kind == Kind::Document) else {
        return Err(refuse("there is no document here"));
    };
    let (mut text, mut spare) = (String::new(), String::new());
    record.each_piece(&mut spare, &mut |piece| {
        if text.len() + piece.len() > MAX_DOCUMENT_BYTES {
            return Err(refuse("it is too long to be shown"));
        }
        text.push_str(piece);
        Ok(())
    })?;
    Ok(text)
}

impl RemovedRanges {
    /// Returns the document with this number among those with ranges.
    ///
    /// # Errors
    ///
    /// See [`read_text`].
    pub fn page(&self, number: u64, cancel: &Cancel) -> Outcome<Option<Page>> {
        let Some(document) = self.documents(number, 1)?.pop() else { return Ok(None) };
        let source = self.directory().earlier.len() + document.file;
        self.page_of(source, document.start, document.line, Some(document), cancel).map(Some)
    }

    /// Returns the document of a file whose line begins at offset `start`, with its ranges if it has some.
    ///
    /// # Errors
    ///
    /// See [`read_text`].
    pub fn page_at(&self, source: usize, start: u64, line: u64, cancel: &Cancel) -> Outcome<Page> {
        let own = source.checked_sub(self.directory().earlier.len());
        let document = own.map(|file| self.find(file, start)).transpose()?.flatten();
        self.page_of(source, start, line, document, cancel)
    }

    fn page_of(
        &self,
        source: usize,
        start: u64,
        line: u64,
        document: Option<Document>,
        cancel: &Cancel,
    ) -> Outcome<Page> {
        let known = self.source(source).ok_or_else(|| Failure::data("showing what a run removed", "no such file"))?;
        let text = read_text(known, &self.directory().text_key, start, line, cancel)?;
        let number = document.as_ref().map(|document| document.number);
        let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
        let ranges = document.map(|document| document.ranges).unwrap_or_default();
        let ranges = ranges.into_iter().filter_map(|range| {
            crate::engine::dedup::repeats::whole_characters(&text, place(range.start), place(range.end))
        });
        let ranges = ranges.collect();
        Ok(Page { number, source, start, line, text, ranges })
    }

    /// Returns an upper bound of the bytes on disk that must be read to reach a document.
    pub fn bytes_until(&self, source: usize, start: u64) -> u64 {
        let whole: u64 = (0..source).filter_map(|number| self.source(number)).map(|source| source.bytes).sum();
        let last = self.source(source).map_or(0, |source| source.bytes.min(start));
        whole.saturating_add(last)
    }
}

/// A search for the first occurrence of a passage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search {
    /// The text to search for: the text of a window.
    pub passage: String,
    /// The last document to search: its file, and the offset of its line.
    pub until: (usize, u64),
}

/// The first occurrence of a passage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstCopy {
    /// Position of the file in the earlier set followed by the set.
    pub source: usize,
    /// Offset of the line in bytes.
    pub start: u64,
    /// Number of the line, counted from 0.
    pub line: u64,
    /// Offset in the text of the document in bytes.
    pub from: u64,
}

impl Search {
    /// Reads the documents in order until one contains the passage; returns `None` if none does. `read` counts bytes on disk. Holds one
    /// piece of text and the passage in memory.
    ///
    /// # Errors
    ///
    /// A file has changed since the run, or the work is cancelled.
    pub fn run(&self, removed: &RemovedRanges, read: &AtomicU64, cancel: &Cancel) -> Outcome<Option<FirstCopy>> {
        let finder = Finder::new(self.passage.as_bytes());
        let kept = self.passage.len().saturating_sub(1);
        let (mut window, mut spare, mut before) = (Vec::new(), String::new(), 0_u64);
        for number in 0..=self.until.0 {
            let Some(source) = removed.source(number) else { break };
            let file = source.open()?;
            let key = &removed.directory().text_key;
            let mut documents =
                Documents::open(&file, key, Position::default(), Box::new(MemorySpool::default()), cancel)?;
            loop {
                read.store(before + documents.consumed(), Ordering::Relaxed);
                cancel.check()?;
                let Some(record) = documents.next()? else { break };
                let place = (number, record.start);
                if place > self.until {
                    return Ok(None);
                }
                if record.kind != Kind::Document || record.bytes < self.passage.len() as u64 {
                    continue;
                }
                window.clear();
                let (mut base, mut found) = (0_u64, None);
                record.each_piece(&mut spare, &mut |piece| {
                    if found.is_some() {
                        return Ok(());
                    }
                    if window.is_empty() {
                        // The piece is nearly always the whole document, which need not be copied.
                        found = finder.find(piece.as_bytes()).map(|at| base + at as u64);
                    }
                    let over = piece.len().saturating_sub(kept);
                    if window.is_empty() {
                        window.extend_from_slice(piece.as_bytes().get(over..).unwrap_or_default());
                        base += over as u64;
                        return Ok(());
                    }
                    window.extend_from_slice(piece.as_bytes());
                    found = finder.find(&window).map(|at| base + at as u64);
                    let over = window.len().saturating_sub(kept);
                    window.drain(..over);
                    base += over as u64;
                    Ok(())
                })?;
                if let Some(from) = found {
                    return Ok(Some(FirstCopy { source: number, start: record.start, line: record.line, from }));
                }
            }
            before = before.saturating_add(source.bytes);
        }
        Ok(None)
    }
}
