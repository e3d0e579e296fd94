//! The rows of a preview's body at the available width.

use gristmill_data::preview::hex::HexView;
use gristmill_data::preview::tensor::TensorView;
use gristmill_data::preview::tree::TreeLine;
use gristmill_data::preview::{text, Drawable};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use unicode_width::UnicodeWidthStr;

/// The rows of a body, computed when it is first drawn or drawn with another width.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    /// The width and the content.
    built_for: Option<(usize, RowKind)>,
    width: usize,
    ascii: bool,
}

#[derive(Clone, Debug)]
enum RowKind {
    /// Rows of a text, as byte ranges.
    Text(Arc<[Range<usize>]>),
    /// Lines of a tree that no fold hides, with long values wrapped.
    Tree(Arc<[TreeRow]>),
    /// Rows of a hex view: bytes per row, and number of rows.
    Hex(usize, usize),
    /// Lines formatted for the width.
    Lines(Arc<[String]>),
    /// A single body that fills the available area.
    Whole,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TreeRow {
    /// The line of the tree.
    pub(super) line: usize,
    /// The displayed part of the line.
    pub(super) shows: RowContent,
}

/// The part of a tree line that a row shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RowContent {
    Whole,
    /// The label of the line, if its value is in the rows below.
    Label,
    /// A piece of its value, as a byte range.
    Piece(Range<usize>),
}

/// Maximum number of bytes of wrapped values in one tree; after them, each long value has one row.
const MAX_WRAPPED_BYTES: usize = 256 << 10;

impl Rows {
    /// Computes the rows for a width of `columns`, unless they are already computed.
    pub(super) fn prepare(&mut self, body: &Drawable, folded: &BTreeSet<usize>, width: usize, ascii: bool) {
        (self.width, self.ascii) = (width, ascii);
        if self.built_for.as_ref().is_some_and(|(made_for, _)| *made_for == width) {
            return;
        }
        let kind = match body {
            Drawable::Text(words) | Drawable::Fact(words) => RowKind::Text(text::wrap_ranges(words, width).into()),
            Drawable::Tokens(tokens) => RowKind::Text(text::wrap_ranges(&tokens.text, width).into()),
            Drawable::Tree(lines) => RowKind::Tree(tree_rows(lines, folded, width).into()),
            Drawable::Reading(page) => RowKind::Text(text::wrap_ranges(&page.text, width).into()),
            Drawable::Hex(view) => {
                let row = HexView::row_bytes(width);
                RowKind::Hex(row, view.rows(row))
            }
            Drawable::Tensors(views) => RowKind::Lines(tensor_lines(views, width, ascii).into()),
            Drawable::Picture(_) | Drawable::Waveform(_) => RowKind::Whole,
        };
        self.built_for = Some((width, kind));
    }

    /// Computes the rows for the last width.
    pub(super) fn prepare_as_before(&mut self, body: &Drawable, folded: &BTreeSet<usize>) {
        self.prepare(body, folded, if self.width == 0 { 80 } else { self.width }, self.ascii);
    }

    /// Discards the rows, because the folds changed.
    pub(super) fn clear(&mut self) {
        self.built_for = None;
    }

    fn kind(&self) -> Option<&RowKind> {
        self.built_for.as_ref().map(|(_, kind)| kind)
    }

    /// Returns the number of rows.
    pub(super) fn len(&self) -> usize {
        match self.kind() {
            Some(RowKind::Text(ranges)) => ranges.len(),
            Some(RowKind::Tree(lines)) => lines.len(),
            Some(RowKind::Hex(_, rows)) => *rows,
            Some(RowKind::Lines(lines)) => lines.len(),
            Some(RowKind::Whole) | None => 0,
        }
    }

    /// Returns the text of a row as a range of the whole text.
    pub(super) fn text_range(&self, row: usize) -> Option<Range<usize>> {
        match self.kind()? {
            RowKind::Text(ranges) => ranges.get(row).cloned(),
            _ => None,
        }
    }

    pub(super) fn tree_line(&self, row: usize) -> Option<usize> {
        match self.kind()? {
            RowKind::Tree(rows) => rows.get(row).map(|row| row.line),
            _ => None,
        }
    }

    pub(super) fn tree_row(&self, row: usize) -> Option<&TreeRow> {
        match self.kind()? {
            RowKind::Tree(rows) => rows.get(row),
            _ => None,
        }
    }

    /// Returns the first row of a tree line, unless a fold hides it.
    pub(super) fn row_of_line(&self, line: usize) -> Option<usize> {
        match self.kind()? {
            RowKind::Tree(rows) => {
                let at = rows.partition_point(|row| row.line < line);
                rows.get(at).filter(|row| row.line == line).map(|_| at)
            }
            _ => None,
        }
    }

    /// Returns the number of bytes per row of a hex view.
    pub(super) fn row_bytes(&self) -> usize {
        match self.kind() {
            Some(RowKind::Hex(bytes, _)) => *bytes,
            _ => gristmill_data::preview::hex::BYTES_PER_ROW,
        }
    }

    /// Returns the start of a row: a byte of a text or of binary data, or a line of a tree.
    pub(super) fn position(&self, row: usize) -> usize {
        match self.kind() {
            Some(RowKind::Text(ranges)) => ranges.get(row).map_or(0, |r| r.start),
            Some(RowKind::Tree(rows)) => rows.get(row).map_or(0, |row| row.line),
            Some(RowKind::Hex(bytes, _)) => row.saturating_mul(*bytes),
            Some(RowKind::Lines(_)) => row,
            Some(RowKind::Whole) | None => 0,
        }
    }

    /// Returns the row that contains a position.
    pub(super) fn row_at(&self, position: usize) -> Option<usize> {
        match self.kind()? {
            RowKind::Text(ranges) => ranges.partition_point(|r| r.start <= position).checked_sub(1),
            RowKind::Tree(_) => self.row_of_line(position),
            RowKind::Hex(bytes, _) => Some(position / (*bytes).max(1)),
            RowKind::Lines(lines) => Some(position.min(lines.len().saturating_sub(1))),
            RowKind::Whole => None,
        }
    }

    /// Returns a row formatted for the width.
    pub(super) fn line(&self, row: usize) -> Option<&str> {
        match self.kind()? {
            RowKind::Lines(lines) => lines.get(row).map(String::as_str),
            _ => None,
        }
    }

    /// Returns all rows formatted for the width.
    pub(super) fn lines(&self) -> &[String] {
        match self.kind() {
            Some(RowKind::Lines(lines)) => lines,
            _ => &[],
        }
    }
}

fn tensor_lines(views: &[TensorView], width: usize, ascii: bool) -> Vec<String> {
    let mut out = Vec::new();
    for view in views {
        if !out.is_empty() {
            out.push(String::new());
        }
        out.extend(view.lines(width, ascii));
    }
    out
}

/// Returns the column at which the pieces of a value begin.
pub(super) fn piece_indent(line: &TreeLine, width: usize) -> usize {
    let indent = usize::from(line.depth) * 2 + if line.is_bare { 2 } else { 4 };
    if indent > width / 2 {
        2
    } else {
        indent
    }
}

fn tree_rows(lines: &[TreeLine], folded: &BTreeSet<usize>, width: usize) -> Vec<TreeRow> {
    let mut out = Vec::new();
    let (mut at, mut left) = (0, MAX_WRAPPED_BYTES);
    while let Some(line) = lines.get(at) {
        if !line.is_hidden {
            push_rows(at, line, width, &mut left, &mut out);
        }
        at += 1 + if folded.contains(&at) { line.inside as usize } else { 0 };
    }
    out
}

fn push_rows(at: usize, line: &TreeLine, width: usize, left: &mut usize, out: &mut Vec<TreeRow>) {
    let before = usize::from(line.depth) * 2 + 4 + line.label.width();
    let is_short = !line.is_bare && !line.value.contains('\n') && before + line.value.width() <= width;
    if line.inside > 0 || is_short || line.value.len() > *left {
        return out.push(TreeRow { line: at, shows: RowContent::Whole });
    }
    *left -= line.value.len();
    if !line.is_bare {
        out.push(TreeRow { line: at, shows: RowContent::Label });
    }
    let pieces = text::wrap_ranges(&line.value, width.saturating_sub(piece_indent(line, width)));
    out.extend(pieces.into_iter().map(|piece| TreeRow { line: at, shows: RowContent::Piece(piece) }));
}
