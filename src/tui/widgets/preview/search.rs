//! Searches for words in a preview, ignoring case.

use gristmill_data::preview::Drawable;
use std::ops::Range;
use std::sync::Arc;

/// Maximum number of matches.
const MAX_PLACES: usize = 10_000;

/// A search and its matches.
#[derive(Clone, Debug)]
pub(super) struct Search {
    words: String,
    /// Byte ranges of a text or of binary data; in trees, the start is the number of the line.
    places: Vec<Range<usize>>,
    current: Option<usize>,
}

impl Search {
    /// Searches for `words` in a body.
    pub(super) fn new(words: &str, body: Option<&Drawable>) -> Self {
        let places = body.map(|body| places(words, body)).unwrap_or_default();
        Self { words: words.to_owned(), places, current: None }
    }

    /// Searches in rows as displayed.
    pub(super) fn in_rows(&mut self, rows: &[String]) {
        let Some(pattern) = pattern(&self.words) else { return };
        let hits = rows.iter().enumerate().filter(|(_, row)| pattern.is_match(row));
        self.places = hits.take(MAX_PLACES).map(|(at, _)| at..at + 1).collect();
    }

    pub(super) fn words(&self) -> &str {
        &self.words
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Makes the first match at or after a position the current one, or else the first of all.
    pub(super) fn go_from(&mut self, position: usize) {
        let next = self.places.partition_point(|p| p.start < position);
        self.current = match self.places.len() {
            0 => None,
            count => Some(next % count),
        };
    }

    /// Moves to the next or previous match, wrapping around. Returns its number, counted from 1, and the number of matches.
    pub(super) fn advance(&mut self, forward: bool) -> Option<(usize, usize)> {
        let count = self.places.len();
        if count == 0 {
            return None;
        }
        let next = match self.current {
            None if forward => 0,
            None => count - 1,
            Some(at) if forward => (at + 1) % count,
            Some(at) => (at + count - 1) % count,
        };
        self.current = Some(next);
        Some((next + 1, count))
    }

    /// Whether the current match is the last one, or with `forward` false the first one.
    pub(super) fn is_last(&self, forward: bool) -> bool {
        match self.current {
            _ if self.places.is_empty() => true,
            Some(at) if forward => at + 1 >= self.places.len(),
            Some(at) => at == 0,
            None => false,
        }
    }

    /// Returns the start of the current match.
    pub(super) fn position(&self) -> Option<usize> {
        self.places.get(self.current?).map(|p| p.start)
    }

    /// Returns the matches that overlap a range of a text or of binary data.
    pub(super) fn within(&self, range: &Range<usize>) -> &[Range<usize>] {
        let from = self.places.partition_point(|p| p.end <= range.start);
        let to = self.places.partition_point(|p| p.start < range.end);
        self.places.get(from..to).unwrap_or_default()
    }

    /// Returns the ranges of the words in a displayed line of a tree.
    pub(super) fn in_line(&self, line: &str) -> Vec<Range<usize>> {
        pattern(&self.words).map(|p| p.find_iter(line).map(|m| m.range()).collect()).unwrap_or_default()
    }
}

fn pattern(words: &str) -> Option<regex::Regex> {
    regex::RegexBuilder::new(&regex::escape(words)).case_insensitive(true).build().ok()
}

fn places(words: &str, body: &Drawable) -> Vec<Range<usize>> {
    match body {
        Drawable::Tokens(tokens) => places(words, &Drawable::Text(Arc::clone(&tokens.text))),
        Drawable::Reading(page) => {
            let found = pattern(words).map(|p| p.find_iter(&page.text).take(MAX_PLACES).map(|m| m.range()).collect());
            found.unwrap_or_default()
        }
        Drawable::Text(text) | Drawable::Fact(text) => {
            let found = pattern(words).map(|p| p.find_iter(text).take(MAX_PLACES).map(|m| m.range()).collect());
            found.unwrap_or_default()
        }
        Drawable::Tree(lines) => {
            let Some(pattern) = pattern(words) else { return Vec::new() };
            let hits = lines
                .iter()
                .enumerate()
                .filter(|(_, l)| !l.is_hidden)
                .filter(|(_, l)| pattern.is_match(&l.label) || pattern.is_match(&l.value));
            hits.take(MAX_PLACES).map(|(at, _)| at..at + 1).collect()
        }
        Drawable::Hex(view) => bytes_of(words)
            .and_then(|p| regex::bytes::RegexBuilder::new(&p).unicode(false).case_insensitive(true).build().ok())
            .map(|p| p.find_iter(&view.bytes).take(MAX_PLACES).map(|m| m.range()).collect())
            .unwrap_or_default(),
        // Arrays are searched as displayed; see `in_rows`.
        Drawable::Tensors(_) | Drawable::Picture(_) | Drawable::Waveform(_) => Vec::new(),
    }
}

/// Returns the pattern for words in binary data: the words themselves, and for pairs of hex digits separated by spaces (`ff d8`) also these
/// bytes.
fn bytes_of(words: &str) -> Option<String> {
    let pairs: Vec<&str> = words.split(' ').collect();
    let is_pair = |p: &&str| p.len() == 2 && p.bytes().all(|b| b.is_ascii_hexdigit());
    let text = words.is_ascii().then(|| regex::escape(words));
    if pairs.iter().all(is_pair) {
        let bytes: String = pairs.iter().map(|p| format!("\\x{p}")).collect();
        return Some(format!("(?-i:{bytes})|{}", text.unwrap_or_default()));
    }
    text
}
