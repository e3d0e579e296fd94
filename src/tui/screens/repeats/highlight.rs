//! Prepares the text of a document for drawing: escapes it, and adds brackets that make repeats visible without colours.

use crate::tui::keymap::Action;
use crate::tui::screen::Ui;
use crate::tui::widgets::layout::draw_lines;
use gristmill_data::preview::text::{safe_lines, wrap_ranges};
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::Frame;
use std::ops::Range;

/// Maximum number of bytes of a document that are prepared at a time.
const MAX_WINDOW_BYTES: usize = 64 << 10;
/// Number of bytes shown before the focused position.
const CONTEXT_BYTES: usize = 8 << 10;

/// The kind of a marked range of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    Repeat,
    /// The current range.
    Here,
    /// The copy that stays in the output, or an occurrence of a passage.
    Kept,
}

impl Mark {
    fn brackets(self, ascii: bool) -> (&'static str, &'static str) {
        match (self, ascii) {
            (Self::Kept, false) => ("⟪", "⟫"),
            (Self::Kept, true) => ("<<", ">>"),
            (_, false) => ("⟦", "⟧"),
            (_, true) => ("[[", "]]"),
        }
    }

    fn style(self, ui: &Ui) -> Style {
        match self {
            Self::Repeat => ui.theme.warn.add_modifier(Modifier::UNDERLINED),
            Self::Here => ui.theme.matched.add_modifier(Modifier::UNDERLINED | Modifier::BOLD),
            Self::Kept => ui.theme.ok.add_modifier(Modifier::UNDERLINED),
        }
    }
}

/// A text ready to be drawn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HighlightedText {
    /// The escaped text with brackets around marked ranges.
    pub text: String,
    /// The marked byte ranges of [`text`](Self::text), brackets included, in order.
    pub marks: Vec<(Range<usize>, Mark)>,
    /// The focused byte offset.
    pub focus: usize,
}

/// Prepares a text for drawing; of a long text, only the part around byte `focus`. `marks` are in order and do not overlap, except that
/// [`Mark::Kept`] takes precedence over others.
pub fn highlight(text: &str, marks: &[(Range<usize>, Mark)], focus: usize, ascii: bool) -> HighlightedText {
    let window = window(text, focus);
    let mut cuts: Vec<usize> = vec![window.start, window.end];
    cuts.extend(marks.iter().flat_map(|(range, _)| [range.start, range.end]).filter(|at| window.contains(at)));
    cuts.sort_unstable();
    cuts.dedup();
    let mut out = HighlightedText::default();
    if window.start > 0 {
        out.text.push_str(&format!("({} before)\n", gristmill_core::text::bytes(window.start as u64)));
    }
    let mark_of = |at: usize| {
        let covering =
            marks.iter().filter(|(range, _)| range.contains(&at)).map(|(range, mark)| (range.clone(), *mark));
        covering.max_by_key(|(_, mark)| *mark == Mark::Kept)
    };
    for pair in cuts.windows(2) {
        let &[from, to] = pair else { continue };
        let begin = out.text.len();
        if (from..to).contains(&focus) || focus == from {
            out.focus = begin;
        }
        let mark = mark_of(from);
        let brackets = mark.as_ref().map(|(_, mark)| mark.brackets(ascii));
        // Brackets are added only where the marked range itself begins or ends, not where another mark or the window cuts it.
        if let (Some((range, _)), Some((open, _))) = (&mark, brackets) {
            if range.start == from {
                out.text.push_str(open);
            }
        }
        out.text.push_str(&safe_lines(text.get(from..to).unwrap_or_default(), usize::MAX));
        if let (Some((range, mark)), Some((_, close))) = (mark, brackets) {
            if range.end == to {
                out.text.push_str(close);
            }
            out.marks.push((begin..out.text.len(), mark));
        }
    }
    if window.end < text.len() {
        let left = (text.len() - window.end) as u64;
        out.text.push_str(&format!("\n({} more)", gristmill_core::text::bytes(left)));
    }
    out
}

/// Returns the range of a text to draw, cut at character boundaries.
fn window(text: &str, focus: usize) -> Range<usize> {
    if text.len() <= MAX_WINDOW_BYTES {
        return 0..text.len();
    }
    let boundary = |mut at: usize| {
        at = at.min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let from = boundary(focus.saturating_sub(CONTEXT_BYTES));
    from..boundary(from + MAX_WINDOW_BYTES)
}

/// Scroll position of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scroll {
    /// The first line in view.
    pub top: usize,
    /// The number of rows in view.
    pub height: usize,
    /// Whether the next frame scrolls to the focused position.
    pub scrolls_to_focus: bool,
}

impl Scroll {
    /// Scrolls by an action.
    pub fn handle_action(&mut self, moving: Action) {
        let rows = moving.rows(self.height.max(2) - 1).unwrap_or_default();
        self.top = self.top.saturating_add_signed(rows).min(isize::MAX.unsigned_abs());
    }
}

impl HighlightedText {
    /// Draws the visible lines.
    pub fn draw(&self, scroll: &mut Scroll, frame: &mut Frame, inner: Rect, ui: &Ui) {
        let (lines, at) = self.lines(usize::from(inner.width));
        scroll.height = usize::from(inner.height);
        if std::mem::take(&mut scroll.scrolls_to_focus) {
            // Scroll so that a few lines above the focused one are visible.
            scroll.top = at.saturating_sub(scroll.height / 4);
        }
        scroll.top = scroll.top.min(lines.len().saturating_sub(scroll.height));
        let view = lines.iter().skip(scroll.top).take(scroll.height);
        draw_lines(frame.buffer_mut(), inner, view.map(|line| self.line(line.clone(), ui)));
        if scroll.top > 0 && !inner.is_empty() {
            frame.buffer_mut().set_string(inner.right(), inner.y, ui.glyphs.more_up, ui.theme.accent);
        }
        if scroll.top + scroll.height < lines.len() && !inner.is_empty() {
            frame.buffer_mut().set_string(inner.right(), inner.bottom() - 1, ui.glyphs.more_down, ui.theme.accent);
        }
    }

    /// Returns the byte ranges of the lines at a width of `columns`, and the index of the focused line.
    pub fn lines(&self, columns: usize) -> (Vec<Range<usize>>, usize) {
        let lines = wrap_ranges(&self.text, columns);
        let at = lines.partition_point(|line| line.start <= self.focus).saturating_sub(1);
        (lines, at)
    }

    /// Returns a styled line.
    pub fn line(&self, range: Range<usize>, ui: &Ui) -> Line<'static> {
        let first = self.marks.partition_point(|(mark, _)| mark.end <= range.start);
        let mut spans = Vec::new();
        let mut at = range.start;
        let mut push = |from: usize, to: usize, style: Style| {
            if let Some(words) = self.text.get(from..to).filter(|words| !words.is_empty()) {
                spans.push(Span::styled(words.to_owned(), style));
            }
        };
        for (mark, kind) in self.marks.iter().skip(first).take_while(|(mark, _)| mark.start < range.end) {
            let (from, to) = (mark.start.max(range.start), mark.end.min(range.end));
            push(at, from, ui.theme.text);
            push(from, to, kind.style(ui));
            at = to;
        }
        push(at, range.end, ui.theme.text);
        Line::from(spans)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_marks_are_bracketed_and_kept_copy_takes_precedence() {
        let text = "one two three four";
        let marks = [(0..3, Mark::Repeat), (8..13, Mark::Here), (10..18, Mark::Kept)];
        let seen = highlight(text, &marks, 8, true);
        assert_eq!(seen.text, "[[one]] two [[th<<ree four>>");
        assert_eq!(seen.text.get(seen.focus..seen.focus + 4), Some("[[th"));
        let kinds: Vec<Mark> = seen.marks.iter().map(|(_, mark)| *mark).collect();
        assert_eq!(kinds, [Mark::Repeat, Mark::Here, Mark::Kept, Mark::Kept]);
    }

    #[test]
    fn long_text_is_cut_around_the_focus() {
        let text = "ä".repeat(100_000);
        let seen = highlight(&text, &[(120_000..120_010, Mark::Here)], 120_000, false);
        assert!(seen.text.starts_with("(109.2 KiB before)\n"), "{}", &seen.text[..40]);
        assert!(seen.text.ends_with(" more)") && seen.text.contains("⟦äääää⟧"));
        assert!(seen.text.len() < 2 * MAX_WINDOW_BYTES);
        assert_eq!(highlight("", &[], 0, false), HighlightedText::default());
    }

    #[test]
    fn escapes_control_characters() {
        let seen = highlight("a\u{1b}[31mb\tc\r\nd", &[(1..6, Mark::Here)], 0, true);
        assert!(!seen.text.contains('\u{1b}') && !seen.text.contains('\t'), "{:?}", seen.text);
        assert!(seen.text.ends_with("\nd"));
    }
}
