//! Makes the lines of a tree while a document is read from its beginning to its end, without recursion.

use super::chat;
use super::text::safe_lines;
use super::tree::{LineKind, TextSpan, TreeLine};
use gristmill_core::text::{count, display_safe};
use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

/// Deeper documents are refused.
pub const MAX_DEPTH: usize = 1_000;
/// Lines that are made at most; one line says how much there is besides.
pub const MAX_TREE_LINES: usize = 100_000;
/// Characters of one name or value that are kept; what is left out is counted.
pub const MAX_VALUE_CHARACTERS: usize = 16_000;
/// Characters of all names and values together that are kept.
const MAX_KEPT: usize = 16 << 20;
/// Keys of one object that are looked at for repetitions.
const MAX_KEYS: usize = 10_000;
/// Remarks that are kept.
const MAX_NOTES: usize = 3;

/// An object or array as lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// The top itself is no line; `kind` and `children` tell what it is.
    pub lines: Vec<TreeLine>,
    /// Object or array.
    pub kind: LineKind,
    /// Keys or items at the top, as far as the document was read.
    pub children: u64,
    /// What a reader should know: keys that come twice, a document that was read in part.
    pub notes: Vec<String>,
}

/// An object or array that is being read.
struct Open {
    is_object: bool,
    /// Its line; none for the top, and for what lies beyond the lines that are kept.
    line: Option<usize>,
    children: u64,
    keys: HashSet<u64>,
}

/// Takes values in the order of the document.
pub struct Builder {
    lines: Vec<TreeLine>,
    open: Vec<Open>,
    kind: LineKind,
    children: u64,
    notes: Vec<String>,
    left_out: u64,
    kept: usize,
    hasher: RandomState,
}

impl Builder {
    /// For a document whose top is an object or an array.
    pub fn new(is_object: bool) -> Self {
        let top = Open { is_object, line: None, children: 0, keys: HashSet::new() };
        let kind = if is_object { LineKind::Object } else { LineKind::Array };
        Self {
            lines: Vec::new(),
            open: vec![top],
            kind,
            children: 0,
            notes: Vec::new(),
            left_out: 0,
            kept: 0,
            hasher: RandomState::new(),
        }
    }

    /// How many objects and arrays are open.
    pub fn depth(&self) -> usize {
        self.open.len()
    }

    /// Whether the innermost one is an object, and whether nothing is in it yet; `None` after the end of the top.
    pub fn innermost(&self) -> Option<(bool, bool)> {
        self.open.last().map(|open| (open.is_object, open.children == 0))
    }

    /// How many characters the next text may keep.
    pub fn room(&self) -> usize {
        if self.lines.len() >= MAX_TREE_LINES || self.kept >= MAX_KEPT {
            0
        } else {
            MAX_VALUE_CHARACTERS
        }
    }

    /// Remembers a key, raw, to tell when it comes again.
    pub fn note_key(&mut self, raw: &str) {
        let hash = self.hasher.hash_one(raw);
        let Some(open) = self.open.last_mut() else { return };
        if open.keys.len() < MAX_KEYS && !open.keys.insert(hash) && self.notes.len() < MAX_NOTES && raw.len() < 200 {
            self.notes.push(format!("the key '{}' comes twice; readers take the last", display_safe(raw)));
        }
    }

    /// A remark of the reader's own.
    pub fn note(&mut self, words: &str) {
        self.notes.push(words.to_owned());
    }

    /// A line for the next value of what is open; `None` beyond the lines that are kept. A label is raw; without one the
    /// place counts.
    fn line(&mut self, label: Option<String>) -> Option<TreeLine> {
        let depth = self.open.len().saturating_sub(1);
        let open = self.open.last_mut()?;
        let index = open.children;
        open.children += 1;
        if self.lines.len() >= MAX_TREE_LINES {
            self.left_out += 1;
            return None;
        }
        let is_index = label.is_none();
        let label = label.map_or_else(|| index.to_string(), |raw| display_safe(&raw).into_owned());
        self.kept = self.kept.saturating_add(label.len());
        Some(TreeLine { depth: u16::try_from(depth).unwrap_or(u16::MAX), is_index, label, ..TreeLine::default() })
    }

    /// A value without parts; safe to show.
    pub fn scalar(&mut self, label: Option<String>, value: String) {
        self.kept = self.kept.saturating_add(value.len());
        if let Some(line) = self.line(label) {
            self.lines.push(TreeLine { value, ..line });
        }
    }

    /// A text, raw, and where it is in the part.
    pub fn text(&mut self, label: Option<String>, raw: &str, span: TextSpan) {
        let value = safe_lines(raw, usize::MAX);
        self.kept = self.kept.saturating_add(value.len());
        if let Some(line) = self.line(label) {
            self.lines.push(TreeLine { value, text: Some(span), ..line });
        }
    }

    /// An object or array begins.
    pub fn begin(&mut self, label: Option<String>, is_object: bool) {
        let kind = if is_object { LineKind::Object } else { LineKind::Array };
        let line = self.line(label).map(|line| {
            self.lines.push(TreeLine { kind, ..line });
            self.lines.len() - 1
        });
        self.open.push(Open { is_object, line, children: 0, keys: HashSet::new() });
    }

    /// The innermost object or array ends.
    pub fn close(&mut self) {
        let Some(open) = self.open.pop() else { return };
        let end = self.lines.len();
        let Some(at) = open.line else {
            if self.open.is_empty() {
                self.children = open.children;
            }
            return;
        };
        let Some(line) = self.lines.get_mut(at) else { return };
        line.children = open.children;
        line.inside = u32::try_from(end - at - 1).unwrap_or(u32::MAX);
        if open.children == 0 {
            line.value = if open.is_object { "{}".into() } else { "[]".into() };
        } else if line.inside == 0 {
            // Its inside lies beyond the lines that are kept.
            line.value = line.summary();
        }
    }

    /// The tree, whatever is still open closed.
    pub fn finish(mut self) -> Tree {
        while !self.open.is_empty() {
            self.close();
        }
        if self.left_out > 0 {
            let value = format!("… {} more", count(self.left_out, "value"));
            self.lines.push(TreeLine { kind: LineKind::Note, value, ..TreeLine::default() });
        }
        chat::title_messages(&mut self.lines, self.kind == LineKind::Array);
        Tree { lines: self.lines, kind: self.kind, children: self.children, notes: self.notes }
    }
}
