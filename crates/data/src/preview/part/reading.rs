//! Pages of the texts of a part, in order: for the reader of the browser, and for the beginning of a text in lists.
//!
//! A page is decoded from the bytes it covers, so the cost of a page does not depend on the length of the text.

use super::text;
use super::{unpack, Page, PartBytes, PartPreview, PAGE_BYTES};
use crate::preview::chat::lines_inside;
use crate::preview::text::safe_byte_lines;
use crate::preview::tree::{self, TextSpan, TreeLine};
use crate::preview::{json, Drawable, ReadingText};
use crate::source::decode::{part_class, PartClass};
use gristmill_core::text::display_safe;
use gristmill_core::{Cancel, Outcome};
use std::ops::Range;
use std::sync::Arc;

/// Keys of records whose text counts as prose, regardless of its length.
const TEXT_KEYS: [&str; 18] = [
    "text",
    "content",
    "body",
    "prompt",
    "completion",
    "response",
    "instruction",
    "input",
    "output",
    "question",
    "answer",
    "caption",
    "summary",
    "article",
    "document",
    "code",
    "chosen",
    "rejected",
];
/// Minimum size in bytes of a text with spaces that counts as prose under any other key.
const PROSE_BYTES: usize = 60;
/// Bytes of a part from which [`lead`] is made.
pub const LEAD_BYTES: usize = 8 << 10;
/// Maximum characters of a lead.
const LEAD_CHARACTERS: usize = 200;
/// Minimum space on a page, in bytes, for another text to begin on it.
const MIN_TEXT_BYTES: usize = 1 << 10;
/// Maximum size in bytes of values other than texts that are shown together.
const MAX_LITERAL_BYTES: usize = 32 << 10;

/// Selects the page to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadFrom {
    /// The page that begins at this position: 0, or the end of another page.
    Page(u64),
    /// The page before the one that begins at this position.
    Before(u64),
    /// The page with the text of this line of the tree.
    Line(usize),
    /// The nearest page that contains the words; the search continues from the other end, and the page that begins at `page` is returned
    /// only if no other page contains them.
    Find {
        /// Words to find, ignoring case.
        words: String,
        /// Start of the current page.
        page: u64,
        /// Whether to search towards the end.
        is_forward: bool,
    },
}

/// Returns a page of the texts of a part. A part without text is shown as [`page`](super::page) shows it.
pub fn read(name: &str, bytes: &dyn PartBytes, from: &ReadFrom, cancel: &Cancel) -> PartPreview {
    if let Some(inner) = name.strip_suffix(".gz") {
        if let Ok(unpacked) = unpack(bytes) {
            return read(inner, &unpacked.content, from, cancel);
        }
    }
    let mut out = super::page(name, bytes, 0, cancel);
    let Some(text) = RunningText::of(name, bytes, &out.body) else { return out };
    let is_open = |segment: &Segment| matches!(&segment.source, Source::Span(span) if span.to == u64::MAX);
    match text.read(from, cancel) {
        Ok((reading, page)) => {
            if text.segments.last().is_some_and(is_open) {
                // Only the tree is truncated; the pages extend to the end of the text.
                out.notes.clear();
            }
            out.body = Drawable::Reading(Arc::new(reading));
            out.page = page;
        }
        Err(failure) => {
            out.notes.insert(0, failure.to_string());
            out.body = Drawable::fact("it could not be shown");
        }
    }
    out
}

/// Returns the beginning of the text of a part, as one line that is safe to show, given the first bytes of the part.
pub fn lead(name: &str, first: &[u8]) -> String {
    let words = |text: &str| {
        let start: String = text.chars().take(4 * LEAD_CHARACTERS).collect();
        let line = start.split_whitespace().collect::<Vec<_>>().join(" ");
        display_safe(&line).chars().take(LEAD_CHARACTERS).collect::<String>()
    };
    if part_class(name) == PartClass::Json {
        match json::parse(first, false) {
            Ok(json::Document::Tree(tree)) => return words(&lead_of(&tree.lines)),
            Ok(json::Document::Text(text) | json::Document::Scalar(text)) => return words(&text),
            Err(_) => {}
        }
    }
    words(&String::from_utf8_lossy(first))
}

fn lead_of(lines: &[TreeLine]) -> String {
    let texts = || lines.iter().filter(|line| line.text.is_some() && !line.is_hidden && !line.value.trim().is_empty());
    let asked = messages(lines)
        .filter(|(_, line)| matches!(line.title.as_str(), "user" | "human"))
        .find_map(|(at, _)| lines.get(lines_inside(lines, at))?.iter().find(|line| line.is_bare));
    let text = asked
        .or_else(|| texts().find(|line| line.is_bare))
        .or_else(|| texts().find(|line| TEXT_KEYS.contains(&line.label.as_str())))
        .or_else(|| texts().find(|line| is_prose(line)))
        .or_else(|| texts().next());
    match text {
        Some(line) => line.value.clone(),
        None => lines.iter().take(8).map(tree_words).collect::<Vec<_>>().join("  "),
    }
}

fn tree_words(line: &TreeLine) -> String {
    match line.label.is_empty() {
        true => line.summary(),
        false => format!("{}: {}", line.label, if line.inside > 0 { line.summary() } else { line.value.clone() }),
    }
}

/// Returns the messages of chats, with their line numbers.
fn messages(lines: &[TreeLine]) -> impl Iterator<Item = (usize, &TreeLine)> {
    lines.iter().enumerate().filter(|(_, line)| !line.title.is_empty())
}

/// Whether a line holds a text that counts as prose.
pub fn is_prose(line: &TreeLine) -> bool {
    let Some(_) = line.text.filter(|_| !line.is_hidden && !line.value.trim().is_empty()) else { return false };
    let is_spaced = |text: &str| text.contains([' ', '\n']) || !text.is_ascii();
    line.is_bare
        || TEXT_KEYS.contains(&line.label.as_str())
        || line.value.contains('\n')
        || (line.value.len() >= PROSE_BYTES && is_spaced(&line.value))
}

enum Source {
    Literal(String),
    Span(TextSpan),
}

struct Segment {
    /// Line above the text; empty if there is none.
    heading: String,
    source: Source,
    /// Number of the tree line to which the segment belongs.
    line: usize,
}

/// All texts of a part as one sequence. A position in it is a number that grows with the offset in the part; the heading of each segment
/// takes one position.
struct RunningText<'a> {
    bytes: &'a dyn PartBytes,
    segments: Vec<Segment>,
}

impl<'a> RunningText<'a> {
    fn of(name: &str, bytes: &'a dyn PartBytes, body: &Drawable) -> Option<Self> {
        let segments = match body {
            Drawable::Tree(lines) => segments_of(lines),
            Drawable::Text(_) => {
                vec![Segment { heading: String::new(), source: Source::Span(whole_text(name, bytes)), line: 0 }]
            }
            _ => return None,
        };
        Some(Self { bytes, segments })
    }

    /// Returns the length of a segment, without its heading.
    fn length(&self, segment: &Segment) -> u64 {
        match &segment.source {
            Source::Literal(text) => text.len() as u64,
            Source::Span(span) => span.to.min(self.bytes.len()).saturating_sub(span.from),
        }
    }

    fn total(&self) -> u64 {
        self.segments.iter().map(|segment| 1 + self.length(segment)).sum()
    }

    /// Returns the position at which the text of a tree line begins; for a line without text, that of the segment before it.
    fn place_of(&self, line: usize) -> u64 {
        let count = self.segments.partition_point(|segment| segment.line <= line).saturating_sub(1);
        self.segments.iter().take(count).map(|segment| 1 + self.length(segment)).sum()
    }

    fn read(&self, from: &ReadFrom, cancel: &Cancel) -> Outcome<(ReadingText, Page)> {
        match from {
            ReadFrom::Page(from) => self.page(*from, PAGE_BYTES, None),
            ReadFrom::Before(to) => {
                let from = self.boundary(to.saturating_sub(PAGE_BYTES as u64))?.min(*to);
                let room = usize::try_from(to - from).unwrap_or(PAGE_BYTES);
                self.page(from, room, None)
            }
            ReadFrom::Line(line) => {
                let place = self.place_of(*line);
                let is_near = place < PAGE_BYTES as u64 / 2;
                self.page(if is_near { 0 } else { place }, PAGE_BYTES, is_near.then_some(place))
            }
            ReadFrom::Find { words, page, is_forward } => self.find(words, *page, *is_forward, cancel),
        }
    }

    /// Returns a position at or after `from` at which a page may begin: after a line or a word, otherwise at a character.
    fn boundary(&self, from: u64) -> Outcome<u64> {
        let mut begin = 0;
        for segment in &self.segments {
            let end = begin + 1 + self.length(segment);
            if from < end {
                let Source::Span(span) = &segment.source else { return Ok(begin) };
                if from <= begin + 1 {
                    return Ok(begin);
                }
                let at = from - begin - 1;
                let limit = usize::try_from((end - from).min(1 << 10)).unwrap_or(1 << 10);
                let near = self.bytes.read(span.from + at, limit)?;
                return Ok(from + find_page_start(&near, span.is_escaped) as u64);
            }
            begin = end;
        }
        Ok(from)
    }

    /// Returns the page of about `room` bytes that begins at `from`; `start` is the position to display first.
    fn page(&self, from: u64, room: usize, start: Option<u64>) -> Outcome<(ReadingText, Page)> {
        let of = self.total();
        let from = if from < of { from } else { 0 };
        let mut out = ReadingText::default();
        let (mut begin, mut left, mut to) = (0u64, room, from);
        for segment in &self.segments {
            let length = self.length(segment);
            let end = begin + 1 + length;
            if end > from && (left == room || left >= MIN_TEXT_BYTES) {
                let offset = from.saturating_sub(begin);
                if !out.text.is_empty() {
                    out.text.push_str("\n\n");
                }
                if start == Some(begin) {
                    out.start = Some(out.text.len());
                }
                if offset == 0 && !segment.heading.is_empty() {
                    let at = out.text.len();
                    out.text.push_str(&segment.heading);
                    out.headings.push(at..out.text.len());
                    out.text.push('\n');
                }
                let done = offset.saturating_sub(1);
                let (text, used) = self.piece(segment, done, length, left)?;
                out.text.push_str(&text);
                let used = used.max(u64::from(done < length)).min(length - done.min(length));
                to = begin + 1 + done + used;
                left = left.saturating_sub(usize::try_from(used).unwrap_or(usize::MAX).max(1));
                if done + used < length {
                    break;
                }
            }
            begin = end;
        }
        Ok((out, Page { from, to: to.min(of), of }))
    }

    /// Returns the text of a segment from its byte `at` on, at most `room` bytes, and the number of bytes that it takes in the part.
    fn piece(&self, segment: &Segment, at: u64, length: u64, room: usize) -> Outcome<(String, u64)> {
        let span = match &segment.source {
            Source::Literal(text) => {
                let rest = usize::try_from(at).ok().and_then(|at| text.get(at..)).unwrap_or_default();
                return Ok((rest.to_owned(), length - at.min(length)));
            }
            Source::Span(span) => span,
        };
        let left = length.saturating_sub(at);
        let limit = usize::try_from(left).unwrap_or(usize::MAX).min(room);
        let mut raw = self.bytes.read(span.from + at, limit)?;
        let is_end = raw.len() as u64 >= left;
        if !span.is_escaped {
            if !is_end {
                raw.truncate(text::page_end(&raw));
            }
            return Ok((safe_byte_lines(&raw), raw.len() as u64));
        }
        let (content, used, is_closed) = unescape(&raw, is_end);
        Ok((safe_byte_lines(&content), if is_closed { left } else { used as u64 }))
    }

    /// Returns the page of [`ReadFrom::Find`].
    fn find(&self, words: &str, here: u64, is_forward: bool, cancel: &Cancel) -> Outcome<(ReadingText, Page)> {
        let (mut current, page) = self.page(here, PAGE_BYTES, None)?;
        let Ok(pattern) = regex::RegexBuilder::new(&regex::escape(words)).case_insensitive(true).build() else {
            return Ok((current, page));
        };
        let search = Search { pattern, is_forward };
        let (before, after) = (0..here, page.to..page.of);
        let [first, second] = if is_forward { [after, before] } else { [before, after] };
        for range in [first, second] {
            if let Some(found) = self.find_in(&search, range, cancel)? {
                return Ok(found);
            }
        }
        current.start = search.hit(&current.text);
        Ok((current, page))
    }

    /// Returns the first page that begins in a range and contains a hit; the last such page when searching backwards.
    fn find_in(&self, search: &Search, range: Range<u64>, cancel: &Cancel) -> Outcome<Option<(ReadingText, Page)>> {
        let (mut from, mut last) = (range.start, None);
        while from < range.end {
            cancel.check()?;
            let (mut reading, page) = self.page(from, PAGE_BYTES, None)?;
            reading.start = search.hit(&reading.text);
            from = page.to.max(from + 1);
            if reading.start.is_some() {
                last = Some((reading, page));
                if search.is_forward {
                    break;
                }
            }
        }
        Ok(last)
    }
}

/// A search for words.
struct Search {
    pattern: regex::Regex,
    is_forward: bool,
}

impl Search {
    /// Returns the offset of the first hit in a text; of the last hit when searching backwards.
    fn hit(&self, text: &str) -> Option<usize> {
        let hit = if self.is_forward { self.pattern.find(text) } else { self.pattern.find_iter(text).last() };
        hit.map(|hit| hit.start())
    }
}

/// Returns the span of the text in a part that consists of a single text.
fn whole_text(name: &str, bytes: &dyn PartBytes) -> TextSpan {
    if part_class(name) == PartClass::Json {
        let first = bytes.read(0, 1 << 10).unwrap_or_default();
        let begin = first.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
        if let Some(at) = begin.filter(|at| first.get(*at) == Some(&b'"')) {
            return TextSpan { from: at as u64 + 1, to: u64::MAX, is_escaped: true };
        }
    }
    TextSpan { from: 0, to: u64::MAX, is_escaped: false }
}

fn segments_of(lines: &[TreeLine]) -> Vec<Segment> {
    let mut out = Vec::new();
    let mut at = 0;
    let is_chat = messages(lines).next().is_some();
    let several = lines.iter().filter(|line| is_prose(line)).count() > 1;
    while let Some(line) = lines.get(at) {
        if !line.title.is_empty() {
            message_segments(lines, at, &mut out);
            at = lines_inside(lines, at).end;
            continue;
        }
        if let Some(span) = line.text.filter(|_| is_prose(line)) {
            let heading = if several || is_chat { path_words(lines, at) } else { String::new() };
            out.push(Segment { heading, source: Source::Span(span), line: at });
        }
        at += 1;
    }
    if out.is_empty() {
        let source = Source::Literal(literal(lines, 0..lines.len()).unwrap_or_default());
        out.push(Segment { heading: String::new(), source, line: 0 });
    }
    out
}

/// Appends the segments of a message: its role, its texts, and its other values.
fn message_segments(lines: &[TreeLine], message: usize, out: &mut Vec<Segment>) {
    let mut title = lines.get(message).map(|line| line.title.clone()).unwrap_or_default();
    let range = lines_inside(lines, message);
    let mut rest = range.start;
    for at in range.clone() {
        let Some((line, span)) = lines.get(at).and_then(|line| Some((line, line.text?))) else { continue };
        if !is_prose(line) {
            continue;
        }
        if let Some(text) = literal(lines, rest..at) {
            out.push(Segment { heading: std::mem::take(&mut title), source: Source::Literal(text), line: rest });
        }
        let mut heading = std::mem::take(&mut title);
        if heading.is_empty() && !line.is_bare {
            heading.clone_from(&line.label);
        }
        out.push(Segment { heading, source: Source::Span(span), line: at });
        rest = at + 1;
    }
    let text = literal(lines, rest..range.end);
    if text.is_some() || !title.is_empty() {
        out.push(Segment { heading: title, source: Source::Literal(text.unwrap_or_default()), line: rest });
    }
}

/// Formats values other than texts, one per line; `None` if there are none.
fn literal(lines: &[TreeLine], range: Range<usize>) -> Option<String> {
    let mut text = String::new();
    for at in range {
        let Some(line) = lines.get(at).filter(|line| line.inside == 0 && !line.is_hidden) else { continue };
        if text.len() > MAX_LITERAL_BYTES {
            text.push_str("\n…");
            break;
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&format!("{}: {}", path_words(lines, at), line.value));
    }
    (!text.is_empty()).then_some(text)
}

/// Returns the path of a line as its keys joined by dots: `meta.title`.
fn path_words(lines: &[TreeLine], at: usize) -> String {
    let path = tree::path("", lines, at);
    path.trim_start_matches('[').trim_end_matches(']').replace("][", ".")
}

/// Returns the offset in `near` at which a page may begin: after a line or a word, otherwise at an escape or a character.
fn find_page_start(near: &[u8], is_escaped: bool) -> usize {
    let escape = |at: usize, name: u8| is_escaped && near.get(at..at + 2) == Some(&[b'\\', name]);
    // The second surrogate of a pair does not begin a character.
    let is_unit = |at: usize| {
        escape(at, b'u') && !matches!(near.get(at + 2..at + 4), Some([b'd' | b'D', b'c'..=b'f' | b'C'..=b'F']))
    };
    let line = (0..near.len()).find_map(|at| match near.get(at) {
        Some(b'\n') => Some(at + 1),
        _ => escape(at, b'n').then_some(at + 2),
    });
    line.or_else(|| memchr::memchr(b' ', near).map(|at| at + 1))
        .or_else(|| (0..near.len()).find(|&at| is_unit(at)))
        .or_else(|| near.iter().take(4).position(|byte| byte & 0xc0 != 0x80))
        .unwrap_or(0)
}

/// Resolves the escapes of the content of a JSON text. Returns the content, the number of bytes read, and whether a quote closed the text
/// before the end of `raw`. If more bytes follow (`is_end` is false), the content ends after a line or a word if one ends near the end.
fn unescape(raw: &[u8], is_end: bool) -> (Vec<u8>, usize, bool) {
    let mut out = Vec::with_capacity(raw.len());
    let near = raw.len().saturating_sub(8 << 10);
    let (mut at, mut line, mut word) = (0, None, None);
    while let Some(byte) = raw.get(at) {
        match byte {
            b'"' => return (out, at, true),
            b'\\' => {
                let Some(taken) = json::take_escape(raw.get(at..).unwrap_or_default(), is_end, &mut out) else { break };
                let is_line = raw.get(at + 1) == Some(&b'n');
                at += taken;
                if is_line {
                    line = Some((at, out.len()));
                }
            }
            _ => {
                out.push(*byte);
                at += 1;
                if *byte == b' ' {
                    word = Some((at, out.len()));
                }
            }
        }
    }
    if is_end {
        return (out, raw.len(), false);
    }
    let cut = line.filter(|(at, _)| *at > near).or(word.filter(|(at, _)| *at > near));
    let (at, length) = cut.unwrap_or_else(|| {
        let left = text::cut_character(&out);
        (at - left, out.len() - left)
    });
    out.truncate(length);
    (out, at, false)
}

#[cfg(test)]
mod tests;
