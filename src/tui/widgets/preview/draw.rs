//! Draws the content of a preview.

use super::rows::{piece_indent, RowContent};
use super::{Pixels, PreviewState};
use crate::tui::ui::Ui;
use crate::tui::widgets::layout::{below, draw_lines};
use crate::tui::widgets::{draw_selection, text};
use gristmill_data::preview::cells::{fitted_cells, Depth};
use gristmill_data::preview::hex::HexView;
use gristmill_data::preview::tokens::{TokenText, TokenTone};
use gristmill_data::preview::tree::{LineKind, TreeLine};
use gristmill_data::preview::waveform::Waveform;
use gristmill_data::preview::{text as wrapping, tree, Drawable, PartPreview};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use std::ops::Range;
use std::sync::Arc;

/// Values for drawing a preview, in addition to its state.
#[derive(Clone, Copy)]
pub struct PreviewOptions<'a> {
    /// Styles and glyphs.
    pub ui: &'a Ui<'a>,
    /// The colour depth of pictures drawn as cells.
    pub depth: Depth,
}

/// Maximum number of lines of notes above the body.
const NOTE_LINES: usize = 3;
/// Maximum number of lines below the body: facts, or the full selected line of a tree.
const BELOW_LINES: usize = 4;

/// Maximum height of a waveform in rows.
const WAVEFORM_LINES: u16 = 11;

/// Draws as much of a content as fits, without scrolling. Pictures are drawn by [`Pixels::draw`].
pub fn draw_short(buffer: &mut Buffer, area: Rect, drawable: &Drawable, ui: &Ui) {
    let (columns, rows) = (usize::from(area.width), usize::from(area.height));
    match drawable {
        Drawable::Picture(_) => {}
        Drawable::Text(words) if words.is_empty() => {
            draw_lines(buffer, area, [Line::from(Span::styled("(empty)", ui.theme.muted))]);
        }
        Drawable::Text(words) | Drawable::Fact(words) => {
            draw_lines(buffer, area, wrapping::wrap(words, columns, rows).into_iter().map(Line::from));
        }
        Drawable::Tokens(tokens) => {
            let ranges = wrapping::wrap_ranges(&tokens.text, columns);
            draw_lines(buffer, area, ranges.into_iter().take(rows).map(|range| token_line(tokens, range, &[], ui)));
        }
        Drawable::Tree(tree) => {
            let lines = tree.iter().map(|l| Line::from(text::fit_end(&tree::tree_line(l), columns, ui.glyphs)));
            draw_lines(buffer, area, lines);
        }
        Drawable::Reading(page) => {
            draw_lines(buffer, area, wrapping::wrap(&page.text, columns, rows).into_iter().map(Line::from));
        }
        Drawable::Hex(view) => {
            let row_bytes = HexView::row_bytes(columns);
            let lines =
                (0..rows).map_while(|row| hex_line(view, row, row_bytes, ui.theme.muted, &[], ui.theme.matched));
            draw_lines(buffer, area, lines);
        }
        Drawable::Tensors(views) => {
            let lines = views.iter().flat_map(|view| view.lines(columns, ui.glyphs.ascii)).take(rows);
            draw_lines(buffer, area, lines.map(|l| Line::from(text::fit_end(&l, columns, ui.glyphs))));
        }
        Drawable::Waveform(wave) => draw_waveform(buffer, area, wave, ui),
    }
}

impl PreviewState {
    /// Returns the title of the pane: kind, dimensions and size. Empty if no part is shown.
    pub fn title(&self, ui: &Ui) -> String {
        self.preview().map(|p| with_glyphs(p.title.clone(), ui)).unwrap_or_default()
    }

    /// Draws notes, the body and facts; the caller draws the title of the pane. Returns the area of the body, for the mouse.
    pub fn draw(
        &mut self,
        buffer: &mut Buffer,
        area: Rect,
        focused: bool,
        pixels: &mut Pixels,
        look: &PreviewOptions,
    ) -> Rect {
        let Some(preview) = self.preview.clone().filter(|_| !area.is_empty()) else { return area };
        let ui = look.ui;
        let columns = usize::from(area.width);
        let notes = note_lines(&preview, columns, usize::from(area.height) / 3, ui);
        let top = u16::try_from(notes.len()).unwrap_or(0);
        draw_lines(buffer, area, notes);
        let area = below(area, top);
        self.rows.prepare(&preview.body, &self.folded, columns, ui.glyphs.ascii);
        let mut foot = match &preview.body {
            Drawable::Tree(_) if focused => self.selected_lines(columns, ui),
            _ => fact_lines(&preview, columns, ui),
        };
        foot.truncate(BELOW_LINES.min(usize::from(area.height) / 4));
        let foot_rows = u16::try_from(foot.len()).unwrap_or(0);
        let mut body = Rect { height: area.height - foot_rows, ..area };
        if let Drawable::Picture(picture) = &preview.body {
            // Facts are drawn right below the picture, not at the bottom of the pane.
            body.height = body.height.min(fitted_cells(picture, body.width, body.height).1);
        }
        if matches!(preview.body, Drawable::Waveform(_)) {
            body.height = body.height.min(WAVEFORM_LINES);
        }
        draw_lines(buffer, Rect { y: body.bottom(), height: foot_rows, ..area }, foot);
        self.draw_body(buffer, body, &preview, focused, pixels, look);
        body
    }

    fn draw_body(
        &mut self,
        buffer: &mut Buffer,
        area: Rect,
        preview: &PartPreview,
        focused: bool,
        pixels: &mut Pixels,
        look: &PreviewOptions,
    ) {
        let ui = look.ui;
        self.height = usize::from(area.height);
        self.clamp_view();
        let rows = self.offset..self.offset + self.height;
        match &preview.body {
            Drawable::Picture(picture) => {
                pixels.draw(buffer, area, picture, look.depth);
            }
            Drawable::Text(words) | Drawable::Fact(words) => {
                let lines = rows
                    .map_while(|row| self.rows.text_range(row))
                    .map(|range| self.text_line(words, range, Style::new(), ui));
                draw_lines(buffer, area, lines);
            }
            Drawable::Reading(page) => {
                let lines = rows.map_while(|row| self.rows.text_range(row)).map(|range| {
                    let at = page.headings.partition_point(|heading| heading.end < range.end);
                    let is_heading = page.headings.get(at).is_some_and(|heading| heading.start <= range.start);
                    let style = if is_heading { ui.theme.title } else { ui.theme.text };
                    self.text_line(&page.text, range, style, ui)
                });
                draw_lines(buffer, area, lines);
            }
            Drawable::Tokens(tokens) => {
                let lines = rows.map_while(|row| self.rows.text_range(row)).map(|range| {
                    let found = self.search.as_ref().map(|s| s.within(&range)).unwrap_or_default();
                    token_line(tokens, range, found, ui)
                });
                draw_lines(buffer, area, lines);
            }
            Drawable::Tree(lines) => self.draw_tree(buffer, area, lines, focused, ui),
            Drawable::Waveform(wave) => draw_waveform(buffer, area, wave, ui),
            Drawable::Tensors(_) => {
                let columns = usize::from(area.width);
                let lines = rows.map_while(|row| self.rows.line(row)).map(|line| {
                    let found = self.search.as_ref().map(|s| s.in_line(line)).unwrap_or_default();
                    let line = with_glyphs(text::fit_end(line, columns, ui.glyphs), ui);
                    Line::from(marked(&line, &found, Style::new(), ui.theme.matched))
                });
                draw_lines(buffer, area, lines);
            }
            Drawable::Hex(view) => {
                let row_bytes = self.rows.row_bytes();
                let lines = rows.map_while(|row| {
                    let range = row * row_bytes..(row + 1) * row_bytes;
                    let found = self.search.as_ref().map(|s| s.within(&range)).unwrap_or_default();
                    hex_line(view, row, row_bytes, ui.theme.muted, found, ui.theme.matched)
                });
                draw_lines(buffer, area, lines);
            }
        }
        self.draw_more(buffer, area, preview, ui);
    }

    /// Scrolls to the requested start. Lines above the text of a tree stay visible if they take less than half of the rows.
    fn begin_view(&mut self) {
        let Some(row) = self.begin.take().and_then(|begin| self.rows.row_at(begin)) else { return };
        if self.tree().is_none() {
            let above = if self.search.is_some() { self.height / 3 } else { 0 };
            self.offset = row.saturating_sub(above);
        } else if row >= self.height / 2 {
            (self.offset, self.selected) = (row, row);
        }
    }

    /// Limits the scroll position to the body, and the selection to the visible rows.
    fn clamp_view(&mut self) {
        self.begin_view();
        let (count, height) = (self.rows.len(), self.height.max(1));
        self.selected = self.selected.min(count.saturating_sub(1));
        if self.tree().is_some() {
            if self.offset == usize::MAX {
                self.selected = count.saturating_sub(1);
            }
            self.offset = self.offset.min(self.selected).max((self.selected + 1).saturating_sub(height));
        }
        self.offset = self.offset.min(count.saturating_sub(height));
    }

    fn text_line(&self, words: &str, range: Range<usize>, style: Style, ui: &Ui) -> Line<'static> {
        let found = self.search.as_ref().map(|s| s.within(&range)).unwrap_or_default();
        let start = range.start;
        let line = words.get(range).unwrap_or_default();
        let found: Vec<_> = found.iter().map(|f| f.start.saturating_sub(start)..f.end - start).collect();
        Line::from(marked(line, &found, style, ui.theme.matched))
    }

    fn draw_tree(&self, buffer: &mut Buffer, area: Rect, lines: &[TreeLine], focused: bool, ui: &Ui) {
        let columns = usize::from(area.width);
        for (y, row) in (area.y..area.bottom()).zip(self.offset..) {
            let Some((shown, line)) = self.rows.tree_row(row).and_then(|row| Some((row, lines.get(row.line)?))) else {
                break;
            };
            let place = Rect { y, height: 1, ..area };
            let drawn = match &shown.shows {
                RowContent::Piece(piece) => self.piece_row(line, piece, columns, ui),
                shows => self.tree_row(shown.line, lines, *shows == RowContent::Whole, columns, ui),
            };
            draw_lines(buffer, place, [drawn]);
            if row == self.selected && focused {
                draw_selection(buffer, place, ui.theme.selected, ui);
            }
        }
    }

    /// Returns one row of a value that has several rows.
    fn piece_row(&self, line: &TreeLine, piece: &Range<usize>, columns: usize, ui: &Ui) -> Line<'static> {
        let words = with_glyphs(line.value.get(piece.clone()).unwrap_or_default().to_owned(), ui);
        let found = self.search.as_ref().map(|s| s.in_line(&words)).unwrap_or_default();
        let mut spans = vec![Span::raw(" ".repeat(piece_indent(line, columns)))];
        spans.extend(marked(&words, &found, ui.theme.text, ui.theme.matched));
        Line::from(spans)
    }

    fn tree_row(&self, at: usize, lines: &[TreeLine], with_value: bool, columns: usize, ui: &Ui) -> Line<'static> {
        let Some(line) = lines.get(at) else { return Line::default() };
        let is_folded = self.folded.contains(&at);
        let sign = match (line.inside > 0, is_folded) {
            (true, true) => ui.glyphs.closed,
            (true, false) => ui.glyphs.open,
            (false, _) => " ",
        };
        // Indentation must not take more than half of the width: deeper levels are shown as a number.
        let indent = usize::from(line.depth) * 2;
        let lead = match indent + 2 > columns / 2 {
            true => format!("{}{} ", line.depth, ui.glyphs.ellipsis),
            false => " ".repeat(indent),
        };
        let value = match line.inside {
            0 => line.value.clone(),
            // A folded message shows the beginning of its text.
            inside => lines
                .get(at + 1..=at + inside as usize)
                .and_then(|inside| inside.iter().find(|line| line.is_bare))
                .map_or_else(|| line.summary(), |text| text.value.clone()),
        };
        let has_value = with_value && (line.inside == 0 || is_folded);
        let name = if line.title.is_empty() { &line.label } else { &line.title };
        let label = match (name.is_empty(), has_value) {
            (true, _) => String::new(),
            (false, true) => format!("{name}: "),
            (false, false) if !line.title.is_empty() => name.clone(),
            (false, false) => format!("{name}:"),
        };
        let lead = format!("{lead}{sign} ");
        let room = columns.saturating_sub(text::width(&lead));
        let label = text::fit_end(&label, room, ui.glyphs);
        let room = room.saturating_sub(text::width(&label));
        let value_style = match line.kind {
            LineKind::Scalar => Style::new(),
            _ => ui.theme.muted,
        };
        let label_style = if !line.title.is_empty() {
            ui.theme.title
        } else if line.is_index {
            ui.theme.muted
        } else {
            ui.theme.accent
        };
        let mut spans = vec![Span::styled(lead, ui.theme.muted)];
        let found = |words: &str| self.search.as_ref().map(|s| s.in_line(words)).unwrap_or_default();
        spans.extend(marked(&label, &found(&label), label_style, ui.theme.matched));
        if has_value {
            let value = text::fit_end(&value, room, ui.glyphs);
            spans.extend(marked(&value, &found(&value), value_style, ui.theme.matched));
        }
        Line::from(spans)
    }

    /// Returns the full selected line of a tree: its path, and its value if that is too long for its row.
    fn selected_lines(&self, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
        let Some(path) = self.selected_path() else { return Vec::new() };
        let mut out = vec![Line::from(Span::styled(text::fit_middle(&path, columns, ui.glyphs), ui.theme.muted))];
        let row = self.rows.tree_row(self.selected).filter(|row| row.shows == RowContent::Whole);
        let line = row.and_then(|row| self.tree()?.get(row.line));
        if let Some(line) = line.filter(|l| l.inside == 0) {
            let indent = usize::from(line.depth) * 2 + 4;
            if indent + text::width(&line.label) + text::width(&line.value) > columns {
                let lines = wrapping::wrap(&line.value, columns, BELOW_LINES - 1);
                out.extend(lines.into_iter().map(|l| Line::from(with_glyphs(l, ui))));
            }
        }
        out
    }

    /// Draws arrows on the right edge if there are rows above or below the visible ones, and the number of bytes on later pages.
    fn draw_more(&self, buffer: &mut Buffer, area: Rect, preview: &PartPreview, ui: &Ui) {
        if area.width < 4 || area.height == 0 || self.rows.len() == 0 {
            return;
        }
        let last = area.bottom() - 1;
        let at_end = self.offset + self.height >= self.rows.len();
        let page = preview.page;
        if self.offset > 0 || page.from > 0 {
            buffer.set_string(area.right() - 1, area.y, ui.glyphs.more_up, ui.theme.muted);
        }
        if !at_end || page.has_more() {
            buffer.set_string(area.right() - 1, last, ui.glyphs.more_down, ui.theme.muted);
        }
        if at_end && page.has_more() {
            let more = gristmill_core::text::bytes(page.of - page.to);
            let words = format!(" {} {more} more ", ui.glyphs.ellipsis);
            let width = u16::try_from(text::width(&words)).unwrap_or(0).min(area.width - 1);
            let place = Rect { x: area.right() - 1 - width, y: last, width, height: 1 };
            draw_lines(buffer, place, [Line::from(Span::styled(words, ui.theme.muted))]);
        }
    }
}

/// Draws the waveform of a sound, with positive values above the middle and negative ones below.
fn draw_waveform(buffer: &mut Buffer, area: Rect, wave: &Waveform, ui: &Ui) {
    if area.is_empty() {
        return;
    }
    // Quiet sounds are scaled to full height; the facts contain the loudness.
    let scale = wave.loudest().max(0.001);
    let halves = f32::from(area.height) * 2.0;
    for (x, (low, high)) in (area.x..area.right()).zip(wave.columns(usize::from(area.width))) {
        let top = halves / 2.0 * (1.0 - high / scale);
        let bottom = halves / 2.0 * (1.0 - low / scale);
        for y in area.y..area.bottom() {
            let row = f32::from(y - area.y) * 2.0;
            // A half cell is filled if the curve passes through it; silence is a thin line in the middle.
            let is_on = |from: f32| bottom > from + 0.05 && top < from + 0.95;
            let symbol = match (is_on(row), is_on(row + 1.0), ui.glyphs.ascii) {
                (true, true, false) => "█",
                (true, false, false) => "▀",
                (false, true, false) => "▄",
                (false, false, _) if y == area.y + area.height / 2 => ui.glyphs.dash,
                (false, false, _) => continue,
                (_, _, true) => "#",
            };
            buffer.set_string(x, y, symbol, ui.theme.accent);
        }
    }
}

/// Returns the style of a run of tokens. Without colours, tokens are alternately bold and plain.
fn token_style(tone: TokenTone, ui: &Ui) -> Style {
    match tone {
        TokenTone::Even => ui.theme.text,
        TokenTone::Odd => ui.theme.accent,
        TokenTone::Special => ui.theme.key,
        TokenTone::Masked => ui.theme.disabled,
        TokenTone::Boundary => ui.theme.title,
        TokenTone::Waste => ui.theme.warn,
        TokenTone::Number => ui.theme.muted,
    }
}

/// Returns a line of tokens, with search matches marked.
pub fn token_line(tokens: &TokenText, range: Range<usize>, found: &[Range<usize>], ui: &Ui) -> Line<'static> {
    let mut spans = Vec::new();
    for (mark, tone) in tokens.within(&range) {
        let piece = mark.start.max(range.start)..mark.end.min(range.end);
        let Some(words) = tokens.text.get(piece.clone()) else { continue };
        let words = words.trim_end_matches('\n').to_owned();
        let places: Vec<_> = found
            .iter()
            .filter(|place| place.start < piece.end && place.end > piece.start)
            .map(|place| place.start.saturating_sub(piece.start)..place.end - piece.start)
            .collect();
        let pieces = marked(&words, &places, token_style(*tone, ui), ui.theme.matched);
        // The sign for a line break has one column in both character sets.
        spans.extend(pieces.into_iter().map(|span| match ui.glyphs.ascii {
            true => Span::styled(span.content.replace('↵', "$"), span.style),
            false => span,
        }));
    }
    Line::from(spans)
}

/// Returns text with ranges marked in it.
fn marked(line: &str, found: &[Range<usize>], style: Style, mark: Style) -> Vec<Span<'static>> {
    let mut spans = Vec::new();
    let mut at = 0;
    for place in found {
        let (start, end) = (place.start.min(line.len()).max(at), place.end.min(line.len()));
        let (Some(before), Some(words)) = (line.get(at..start), line.get(start..end)) else { continue };
        spans.push(Span::styled(before.to_owned(), style));
        spans.push(Span::styled(words.to_owned(), mark));
        at = end;
    }
    spans.push(Span::styled(line.get(at..).unwrap_or_default().to_owned(), style));
    spans
}

fn hex_line(
    view: &Arc<HexView>,
    row: usize,
    row_bytes: usize,
    muted: Style,
    found: &[Range<usize>],
    mark: Style,
) -> Option<Line<'static>> {
    let (offset, digits, characters) = view.row(row, row_bytes)?;
    let start = row * row_bytes;
    let mut in_digits = Vec::new();
    let mut in_characters = Vec::new();
    for place in found {
        let (from, to) = (place.start.saturating_sub(start), (place.end - start).min(row_bytes));
        let column = |at: usize| at * 3 + at / 8;
        in_digits.push(column(from)..(column(to.saturating_sub(1)) + 2));
        in_characters.push(from..to);
    }
    let mut spans = vec![Span::styled(format!("{offset}  "), muted)];
    spans.extend(marked(&digits, &in_digits, Style::new(), mark));
    spans.push(Span::raw(" "));
    spans.extend(marked(&characters, &in_characters, muted, mark));
    Some(Line::from(spans))
}

fn note_lines(preview: &PartPreview, columns: usize, room: usize, ui: &Ui) -> Vec<Line<'static>> {
    let mut out = Vec::new();
    for note in &preview.notes {
        for (at, words) in text::wrap(note, columns.saturating_sub(2)).into_iter().enumerate() {
            let sign = if at == 0 { ui.glyphs.warn } else { " " };
            out.push(Line::from(Span::styled(with_glyphs(format!("{sign} {words}"), ui), ui.theme.warn)));
        }
    }
    out.truncate(NOTE_LINES.min(room.max(1)));
    out
}

fn fact_lines(preview: &PartPreview, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let facts: Vec<String> = preview.facts.iter().map(|(name, value)| format!("{name} {value}")).collect();
    if facts.is_empty() {
        return Vec::new();
    }
    let words = facts.join(&format!(" {} ", ui.glyphs.dot));
    text::wrap(&words, columns)
        .into_iter()
        .map(|l| Line::from(Span::styled(with_glyphs(l, ui), ui.theme.muted)))
        .collect()
}

/// Replaces the program's own signs by ASCII ones, in ASCII mode.
fn with_glyphs(words: String, ui: &Ui) -> String {
    if ui.glyphs.ascii {
        words.replace('×', "x").replace('…', "...")
    } else {
        words
    }
}
