//! Finds repeats for showing them in their documents. Everything is held in memory, and no file is written.

use gristmill_core::{Cancel, Failure, Outcome};
use gristmill_data::source::dedup::{Body, Documents, Kind, Position, Spool, TextFile};
use gristmill_data::source::documents::value_of;
use gristmill_dedup::{find_with, RepeatedText, Rule};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// The byte that precedes each document.
const SEPARATOR: u8 = 0xff;
/// Maximum length of a line of a compressed file, in bytes.
const MAX_LINE_BYTES: usize = 256 << 20;
/// Limit of recorded passages.
const MAX_PASSAGES: usize = 200;
/// Limit of recorded listed ranges. For further records, the ranges found by the rule are shown.
const MAX_LISTED_RANGES: usize = 1 << 22;
/// Limit of recorded errors.
const MAX_PROBLEMS: usize = 100;

/// The files to examine, and the options.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    /// The files, in the order that determines which copy is the first.
    pub files: &'a [TextFile],
    /// The field that contains the text.
    pub text_key: &'a str,
    /// Rule that determines which text is removable.
    pub rule: Rule,
    /// Dotted keys under which records may list their ranges, as `dedup` writes them in annotate mode. Listed ranges take precedence over
    /// those found by the rule.
    pub listed_under: &'a [&'a str],
    /// Limit of the bytes of text held in memory; later text is not examined.
    pub most_text: usize,
}

/// Figures of a file that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileSummary {
    /// The name relative to the folder, raw.
    pub name: String,
    /// Number of documents with text.
    pub documents: u64,
    /// Bytes of text in those documents.
    pub text_bytes: u64,
    /// Number of repeated ranges.
    pub ranges: u64,
    /// Bytes in those ranges, shrunk to whole characters.
    pub removed_bytes: u64,
}

/// A document that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DocumentSummary {
    /// Position of the document's file.
    pub file: u32,
    /// Line number of the document, counted from 1.
    pub line: u64,
    /// Offset of that line in the uncompressed file, in bytes.
    pub start: u64,
    from: usize,
    to: usize,
    first_range: usize,
    ranges: usize,
}

/// A repeated range of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangeSummary {
    /// Start in the text of the document, in bytes; always between two characters.
    pub from: usize,
    /// End in the text of the document, in bytes; always between two characters.
    pub to: usize,
    /// Start of the copy that is kept, in the concatenated text.
    kept: u64,
}

/// A repeated passage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassageSummary {
    /// Position of a document that contains the passage.
    pub document: usize,
    /// Start in that document's text, in bytes; between two characters.
    pub from: usize,
    /// Length of the passage in bytes.
    pub bytes: usize,
    /// Approximate number of occurrences.
    pub count: u64,
}

/// The repeats found, and the documents that contain them.
#[derive(Clone, Debug, Default)]
pub struct Repeats {
    /// The files that were read; the last one may be incomplete.
    pub files: Vec<FileSummary>,
    /// Positions of the documents that have ranges, in order.
    pub changed: Vec<usize>,
    /// The most repeated passages, in descending order of their repeated bytes.
    pub passages: Vec<PassageSummary>,
    /// Whether there is more text than the limit, which was not examined.
    pub is_cut: bool,
    /// Whether records list their ranges, which are then shown.
    pub is_listed: bool,
    /// Files and lines that could not be read, with the reason; raw.
    pub failures: Vec<String>,
    text: Vec<u8>,
    documents: Vec<DocumentSummary>,
    ranges: Vec<RangeSummary>,
    /// Ranges listed by records, by document, until they are assigned.
    listed: BTreeMap<usize, Vec<Range<usize>>>,
    listed_ranges: usize,
}

/// Reads the documents and finds the repeats in them. `read` counts bytes of text.
///
/// # Errors
///
/// A file cannot be opened or changes while it is read, or the work is cancelled.
pub fn find_repeats(scope: &Scope, read: &AtomicU64, cancel: &Cancel) -> Outcome<Repeats> {
    let mut seen = Repeats::default();
    for (index, file) in (0..).zip(scope.files) {
        if seen.is_cut {
            break;
        }
        seen.read(index, file, scope, read, cancel)?;
    }
    let found = find_with(&seen.text, &scope.rule, cancel)?;
    seen.assign_ranges(found, scope.rule.min_length);
    Ok(seen)
}

impl Repeats {
    fn read(&mut self, index: u32, file: &TextFile, scope: &Scope, read: &AtomicU64, cancel: &Cancel) -> Outcome<()> {
        let spool = Box::new(MemorySpool::default());
        let mut lines = Documents::open(file, scope.text_key, Position::default(), spool, cancel)?;
        let (mut spare, mut file_seen) =
            (String::new(), FileSummary { name: file.name.clone(), ..FileSummary::default() });
        while let Some(record) = lines.next()? {
            if record.kind != Kind::Document {
                if let Some(problem) = record.problem(file).filter(|_| self.failures.len() < MAX_PROBLEMS) {
                    self.failures.push(format!("{}:{}: {}", file.name, record.line + 1, problem.message));
                }
                continue;
            }
            let from = self.text.len() + 1;
            self.text.push(SEPARATOR);
            let (text, most) = (&mut self.text, scope.most_text);
            let mut fits = true;
            record.each_piece(&mut spare, &mut |piece| {
                fits &= text.len() + piece.len() <= most;
                if fits {
                    text.extend_from_slice(piece.as_bytes());
                }
                Ok(())
            })?;
            if !fits {
                self.text.truncate(from - 1);
                self.is_cut = true;
                break;
            }
            let to = self.text.len();
            let (line, start) = (record.line + 1, record.start);
            if let Body::Buffered(bytes) = record.body {
                self.note_listed(bytes, scope.listed_under, to - from);
            }
            self.documents.push(DocumentSummary { file: index, line, start, from, to, first_range: 0, ranges: 0 });
            file_seen.documents += 1;
            file_seen.text_bytes += (to - from) as u64;
            read.store(to as u64, Ordering::Relaxed);
        }
        if let Some(damage) = lines.damage() {
            self.failures.push(format!("{}: {}", file.name, damage.why));
        }
        self.files.push(file_seen);
        Ok(())
    }

    /// Stores the ranges listed in the record of the next document, if there are any.
    fn note_listed(&mut self, line: &[u8], keys: &[&str], text_bytes: usize) {
        let listed = keys.iter().find_map(|key| listed_ranges(line, key, text_bytes));
        let Some(ranges) = listed.filter(|ranges| self.listed_ranges + ranges.len() <= MAX_LISTED_RANGES) else {
            return;
        };
        self.listed_ranges += ranges.len();
        self.is_listed = true;
        self.listed.insert(self.documents.len(), ranges);
    }

    /// Assigns ranges to the documents: the listed ones if there are any, otherwise those that were found.
    fn assign_ranges(&mut self, found: RepeatedText, min_length: u64) {
        let mut listed = std::mem::take(&mut self.listed);
        let mut intervals = found.intervals.iter().peekable();
        for at in 0..self.documents.len() {
            let Some(document) = self.documents.get(at).copied() else { continue };
            let mut own: Vec<RangeSummary> = Vec::new();
            while let Some(interval) = intervals.next_if(|interval| interval.end <= document.to as u64) {
                let place = |position: u64| usize::try_from(position).ok()?.checked_sub(document.from);
                if let (Some(from), Some(to)) = (place(interval.start), place(interval.end)) {
                    own.push(RangeSummary { from, to, kept: interval.first });
                }
            }
            if let Some(ranges) = listed.remove(&at) {
                own = ranges.into_iter().map(|range| with_copy(&range, &own)).collect();
            }
            let text = text_in(&self.text, document.from..document.to);
            let first_range = self.ranges.len();
            for range in own {
                if let Some(whole) = whole_characters(text, range.from, range.to) {
                    self.ranges.push(RangeSummary { from: whole.start, to: whole.end, kept: range.kept });
                }
            }
            let ranges = self.ranges.get(first_range..).unwrap_or_default();
            if ranges.is_empty() {
                continue;
            }
            self.changed.push(at);
            if let Some(file) = self.files.get_mut(document.file as usize) {
                file.ranges += ranges.len() as u64;
                file.removed_bytes += ranges.iter().map(|range| (range.to - range.from) as u64).sum::<u64>();
            }
            let ranges = ranges.len();
            if let Some(document) = self.documents.get_mut(at) {
                (document.first_range, document.ranges) = (first_range, ranges);
            }
        }
        let heaviest = found.passages.shown(MAX_PASSAGES, min_length);
        let passage = |passage: &gristmill_dedup::Passage| {
            let (document, from) = self.locate(passage.at)?;
            let text = self.text_of(document);
            let end = from.saturating_add(usize::try_from(passage.len).ok()?).min(text.len());
            let range = whole_characters(text, from, end)?;
            Some(PassageSummary { document, from: range.start, bytes: range.len(), count: passage.count })
        };
        self.passages = heaviest.iter().filter_map(passage).collect();
    }

    /// Returns the document at a position, and the offset in its text, in bytes.
    fn locate(&self, at: u64) -> Option<(usize, usize)> {
        let at = usize::try_from(at).ok()?;
        let index = self.documents.partition_point(|document| document.from <= at).checked_sub(1)?;
        let document = self.documents.get(index).filter(|document| at < document.to)?;
        Some((index, at - document.from))
    }

    /// Returns the number of documents read.
    pub fn len(&self) -> usize {
        self.documents.len()
    }

    /// Whether there are no documents.
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// Returns a document.
    pub fn document(&self, index: usize) -> Option<&DocumentSummary> {
        self.documents.get(index)
    }

    /// Returns the name of the file of a document, raw, and its line.
    pub fn place_of(&self, index: usize) -> (&str, u64) {
        let Some(document) = self.documents.get(index) else { return ("", 0) };
        (self.files.get(document.file as usize).map_or("", |file| &file.name), document.line)
    }

    /// Returns the text of a document, raw.
    pub fn text_of(&self, index: usize) -> &str {
        self.documents.get(index).map_or("", |document| text_in(&self.text, document.from..document.to))
    }

    /// Returns the ranges of a document, in order.
    pub fn ranges_of(&self, index: usize) -> &[RangeSummary] {
        let Some(document) = self.documents.get(index) else { return &[] };
        self.ranges.get(document.first_range..document.first_range + document.ranges).unwrap_or_default()
    }

    /// Returns the repeated bytes of a document, shrunk to whole characters.
    pub fn removed_of(&self, index: usize) -> usize {
        self.ranges_of(index).iter().map(|range| range.to - range.from).sum()
    }

    /// Returns the document with the copy of a range that is kept, and the offset of that copy in its text, in bytes. Under "keep none",
    /// and at the first occurrence of a text that overlaps its own repeat, this may be the range itself.
    pub fn kept_copy(&self, range: &RangeSummary) -> Option<(usize, usize)> {
        let (document, mut from) = self.locate(range.kept)?;
        let text = self.text_of(document);
        while !text.is_char_boundary(from) {
            from += 1;
        }
        Some((document, from))
    }

    /// Returns the document whose line begins at offset `start` in the file with this name, or the next document in that file.
    pub fn find(&self, name: &str, start: u64) -> Option<usize> {
        let file = u32::try_from(self.files.iter().position(|file| file.name == name)?).ok()?;
        let index = self.documents.partition_point(|document| (document.file, document.start) < (file, start));
        self.documents.get(index).filter(|document| document.file == file).map(|_| index)
    }

    /// Returns the bytes of the text, and the bytes in ranges.
    pub fn totals(&self) -> (u64, u64) {
        let add = |(text, removed), file: &FileSummary| (text + file.text_bytes, removed + file.removed_bytes);
        self.files.iter().fold((0, 0), add)
    }
}

/// Returns a piece of the text; every document is UTF-8.
fn text_in(text: &[u8], range: Range<usize>) -> &str {
    std::str::from_utf8(text.get(range).unwrap_or_default()).unwrap_or_default()
}

/// Returns a range without the incomplete characters at its ends; `None` if nothing remains.
pub(super) fn whole_characters(text: &str, mut from: usize, mut to: usize) -> Option<Range<usize>> {
    to = to.min(text.len());
    while from < to && !text.is_char_boundary(from) {
        from += 1;
    }
    while to > from && !text.is_char_boundary(to) {
        to -= 1;
    }
    (from < to).then_some(from..to)
}

/// Returns a listed range with the start of its other copy, which is taken from the ranges found; `u64::MAX` if it is unknown.
fn with_copy(listed: &Range<usize>, found: &[RangeSummary]) -> RangeSummary {
    let overlap = found.iter().find(|known| known.from < listed.end && listed.start < known.to);
    let kept = overlap.map_or(u64::MAX, |known| {
        let (ahead, after) = (listed.start.saturating_sub(known.from), known.from.saturating_sub(listed.start));
        known.kept.saturating_add(ahead as u64).saturating_sub(after as u64)
    });
    RangeSummary { from: listed.start, to: listed.end, kept }
}

/// Returns the ranges listed in a record under a dotted key; `None` if there are none, or the value is not a list of ranges of its text.
fn listed_ranges(line: &[u8], key: &str, text_bytes: usize) -> Option<Vec<Range<usize>>> {
    let last = key.rsplit('.').next()?;
    memchr::memmem::find(line, last.as_bytes())?;
    let value = value_of(line, &key.split('.').collect::<Vec<_>>())?;
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for pair in value.as_array()? {
        let [from, to] = pair.as_array()?.as_slice() else { return None };
        let (from, to) = (usize::try_from(from.as_u64()?).ok()?, usize::try_from(to.as_u64()?).ok()?);
        if from > to || to > text_bytes || ranges.last().is_some_and(|before| from < before.end) {
            return None;
        }
        ranges.push(from..to);
    }
    Some(ranges)
}

/// Spool that holds a long line in memory, up to a maximum length.
#[derive(Default)]
pub(super) struct MemorySpool(Vec<u8>);

impl Spool for MemorySpool {
    fn clear(&mut self) -> Outcome<()> {
        self.0.clear();
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) -> Outcome<()> {
        if self.0.len() + bytes.len() > MAX_LINE_BYTES {
            let why = "a line of a compressed file is too long to be shown";
            return Err(Failure::data("reading the text", why).with_hint("dedup itself processes it"));
        }
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn read_at(&self, at: u64, buf: &mut [u8]) -> Outcome<usize> {
        Spool::read_at(&self.0, at, buf)
    }
}

#[cfg(test)]
mod tests;
