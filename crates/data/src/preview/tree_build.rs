//! Builds the lines of a tree while a document is parsed from beginning to end, without recursion.

use super::chat;
use super::text::safe_lines;
use super::tree::{LineKind, TextSpan, TreeLine};
use gristmill_core::text::{count, display_safe};
use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

/// Maximum depth; deeper documents are refused.
pub const MAX_DEPTH: usize = 1_000;
/// Maximum number of lines; one more line gives the number of omitted ones.
pub const MAX_TREE_LINES: usize = 100_000;
/// Maximum number of characters of a name or value; the number of omitted ones is shown.
pub const MAX_VALUE_CHARACTERS: usize = 16_000;
/// Maximum total number of characters of all names and values.
const MAX_KEPT_CHARACTERS: usize = 16 << 20;
/// Maximum keys of one object that are checked for repetitions.
const MAX_KEYS: usize = 10_000;
/// Maximum number of remarks.
const MAX_NOTES: usize = 3;

/// An object or array as lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// Lines below the top. The top itself has no line; `kind` and `children` describe it.
    pub lines: Vec<TreeLine>,
    /// Whether the top is an object or an array.
    pub kind: LineKind,
    /// Number of keys or items at the top that were read.
    pub children: u64,
    /// Remarks for the user: repeated keys, a document that was read in part.
    pub notes: Vec<String>,
}

/// An object or array that is being read.
struct OpenNode {
    is_object: bool,
    /// Index of its line; `None` for the top, and for a line beyond the maximum number.
    line: Option<usize>,
    children: u64,
    keys: HashSet<u64>,
}

/// Receives values in the order of the document.
pub struct Builder {
    lines: Vec<TreeLine>,
    open: Vec<OpenNode>,
    kind: LineKind,
    children: u64,
    notes: Vec<String>,
    left_out: u64,
    kept: usize,
    hasher: RandomState,
}

impl Builder {
    /// Creates a builder for a document whose top is an object or an array.
    pub fn new(is_object: bool) -> Self {
        let top = OpenNode { is_object, line: None, children: 0, keys: HashSet::new() };
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

    /// Returns the number of open objects and arrays.
    pub fn depth(&self) -> usize {
        self.open.len()
    }

    /// Returns whether the innermost open value is an object, and whether it is still empty; `None` after the end of the top.
    pub fn innermost(&self) -> Option<(bool, bool)> {
        self.open.last().map(|open| (open.is_object, open.children == 0))
    }

    /// Returns the maximum number of characters of the next text.
    pub fn remaining_chars(&self) -> usize {
        if self.lines.len() >= MAX_TREE_LINES || self.kept >= MAX_KEPT_CHARACTERS {
            0
        } else {
            MAX_VALUE_CHARACTERS
        }
    }

    /// Records a raw key, to detect repeated keys.
    pub fn note_key(&mut self, raw: &str) {
        let hash = self.hasher.hash_one(raw);
        let Some(open) = self.open.last_mut() else { return };
        if open.keys.len() < MAX_KEYS && !open.keys.insert(hash) && self.notes.len() < MAX_NOTES && raw.len() < 200 {
            self.notes.push(format!("duplicate key '{}': readers use the last value", display_safe(raw)));
        }
    }

    /// Adds a remark of the reader.
    pub fn note(&mut self, words: &str) {
        self.notes.push(words.to_owned());
    }

    /// Creates a line for the next value of the innermost object or array; `None` beyond the maximum number of lines. The label is raw
    /// text; without a label, the index is used.
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

    /// Adds a value without children; safe to show.
    pub fn scalar(&mut self, label: Option<String>, value: String) {
        self.kept = self.kept.saturating_add(value.len());
        if let Some(line) = self.line(label) {
            self.lines.push(TreeLine { value, ..line });
        }
    }

    /// Adds a raw text with its location in the part.
    pub fn text(&mut self, label: Option<String>, raw: &str, span: TextSpan) {
        let value = safe_lines(raw, usize::MAX);
        self.kept = self.kept.saturating_add(value.len());
        if let Some(line) = self.line(label) {
            self.lines.push(TreeLine { value, text: Some(span), ..line });
        }
    }

    /// Begins an object or array.
    pub fn begin(&mut self, label: Option<String>, is_object: bool) {
        let kind = if is_object { LineKind::Object } else { LineKind::Array };
        let line = self.line(label).map(|line| {
            self.lines.push(TreeLine { kind, ..line });
            self.lines.len() - 1
        });
        self.open.push(OpenNode { is_object, line, children: 0, keys: HashSet::new() });
    }

    /// Ends the innermost object or array.
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
            // The content is beyond the maximum number of lines.
            line.value = line.summary();
        }
    }

    /// Closes everything that is still open, and returns the tree.
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
