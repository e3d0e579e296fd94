//! Draws one sample: its location, its parts, and its content in the selected mode.

use super::detail::{DetailBody, DetailRequest};
use super::rows::Row;
use super::screen::{BrowseScreen, ScreenArea};
use super::state::{Mode, Pane};
use crate::tui::screen::Ui;
use crate::tui::screens::page::PageLine;
use crate::tui::widgets::layout::{below, draw_lines, row};
use crate::tui::widgets::preview::PreviewOptions;
use crate::tui::widgets::{draw_panel, padded, text};
use gristmill_core::text::{bytes, grouped};
use gristmill_ops::engine::browse::BrowseSample;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::Frame;

/// Maximum number of rows for the beginning of a part other than the shown one.
const MAX_PEEK_ROWS: usize = 4;

impl BrowseScreen {
    pub(super) fn draw_detail(&mut self, frame: &mut Frame, area: Rect, ui: &Ui) {
        let focused = self.state.pane == Pane::Detail;
        let sample = self.state.sample().cloned();
        let title = match (&sample, self.state.at) {
            (Some(sample), _) => text::fit_middle(&sample.key, usize::from(area.width).saturating_sub(6), ui.glyphs),
            (None, Some(at)) => format!("#{}", grouped(self.state.groups.number(at))),
            (None, None) => "Sample".to_owned(),
        };
        let inner = draw_panel(frame, area, &title, focused, ui);
        self.mouse_areas.add(area, ScreenArea::Pane(Pane::Detail));
        let inner = padded(inner);
        if inner.is_empty() {
            return;
        }
        let Some(sample) = sample else {
            return draw_lines(frame.buffer_mut(), inner, self.without_sample(usize::from(inner.width), ui));
        };
        let head = self.head_lines(&sample, usize::from(inner.width), ui);
        let rows = u16::try_from(head.len()).unwrap_or(u16::MAX);
        draw_lines(frame.buffer_mut(), inner, head);
        self.draw_body(frame, below(inner, rows), &sample, ui);
    }

    /// Returns the message shown if no sample can be shown.
    fn without_sample(&self, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
        let (words, style) = match self.state.at.and_then(|at| self.state.rows.get(at)) {
            Some(Row::Failed(why)) => {
                let group = self.state.group().map_or("", |group| &group.name);
                (format!("{} {}: {why}", ui.glyphs.warn, text::safe(group)), ui.theme.warn)
            }
            _ if self.state.at.is_some() => (format!("{} reading", ui.spinner()), ui.theme.muted),
            _ => match self.state.group().and_then(|group| group.failure.clone()) {
                Some(why) => (format!("{} {why}", ui.glyphs.warn), ui.theme.warn),
                None if !self.state.groups.is_complete => ("not scanned yet".to_owned(), ui.theme.muted),
                None if self.state.listing.is_filtered() => {
                    ("the filter leaves nothing here".to_owned(), ui.theme.muted)
                }
                None => (format!("this {} holds no samples", self.group_word()), ui.theme.muted),
            },
        };
        text::wrap(&words, columns).into_iter().map(|line| Line::from(Span::styled(line, style))).collect()
    }

    /// Returns number, file, split, size and location of a sample. Numbers are omitted rather than shortened; the file name is shortened to
    /// make space for them.
    fn where_line(&self, sample: &BrowseSample, columns: usize, ui: &Ui) -> String {
        /// Minimum width in columns of a shortened file name.
        const MIN_NAME_COLUMNS: usize = 8;
        let dot = format!(" {} ", ui.glyphs.dot);
        let mut facts = vec![format!("#{}", grouped(self.state.groups.number(sample.at))), bytes(sample.byte_size)];
        let width = |facts: &[String]| text::width(&facts.join(&dot));
        let name = self.state.groups.group(sample.at.group).filter(|_| !self.state.is_drawn(Pane::Groups));
        let name = name.map(|group| text::safe(&group.name));
        let split = self.marks.split_of(sample.at.group).map(|name| text::safe(name));
        let place = format!("at byte {}", grouped(sample.byte_offset));
        let wanted = |words: &Option<String>| words.as_ref().map_or(0, |words| text::width(words) + text::width(&dot));
        // The location in the shard is shown only if there is space, because the offset view shows it, too.
        let rest = columns.saturating_sub(width(&facts) + wanted(&name));
        if self.state.has_offsets && text::width(&place) + text::width(&dot) + wanted(&split) <= rest {
            facts.push(place);
        }
        if let Some(split) = split.filter(|split| width(&facts) + text::width(&dot) + text::width(split) <= columns) {
            facts.insert(1, split);
        }
        let room = columns.saturating_sub(width(&facts) + text::width(&dot));
        if let Some(name) = name.filter(|name| room >= MIN_NAME_COLUMNS.min(text::width(name))) {
            facts.insert(1, text::fit_middle(&name, room, ui.glyphs));
        }
        text::fit_end(&facts.join(&dot), columns, ui.glyphs)
    }

    /// Returns lines with the location of the sample, its defects and its parts.
    fn head_lines(&self, sample: &BrowseSample, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
        let mut lines = vec![Line::from(Span::styled(self.where_line(sample, columns, ui), ui.theme.muted))];
        if self.is_excluded(sample) {
            let whole = self.marks.is_shard_excluded(sample.at.group);
            let words = if whole { "x excluded with its whole shard" } else { "x excluded" };
            lines.push(Line::from(Span::styled(text::fit_end(words, columns, ui.glyphs), ui.theme.warn)));
        }
        if let Some(defect) = &sample.defect {
            let words = text::wrap(&format!("{} {defect}", ui.glyphs.warn), columns);
            lines.extend(words.into_iter().map(|line| Line::from(Span::styled(line, ui.theme.warn))));
        }
        let known = self.problems.get(sample.at).filter(|why| Some(*why) != sample.defect.as_ref());
        if let Some(why) = known {
            let words = text::wrap(&format!("{} {why}", ui.glyphs.warn), columns);
            lines.extend(words.into_iter().map(|line| Line::from(Span::styled(line, ui.theme.warn))));
        }
        let heading = match self.state.mode {
            Mode::Parts => None,
            Mode::Loader => Some("As the loader gets it"),
            Mode::Offsets => Some("Location"),
        };
        lines.extend(heading.map(|words| Line::from(Span::styled(words, ui.theme.accent))));
        if self.state.mode == Mode::Parts && sample.parts.len() > 1 {
            lines.push(self.tab_line(sample, columns, ui));
        }
        lines
    }

    /// Returns the names of the parts, with the shown one marked.
    fn tab_line(&self, sample: &BrowseSample, columns: usize, ui: &Ui) -> Line<'static> {
        let shown = self.state.part_index(sample);
        let mut spans: Vec<Span> = Vec::new();
        let mut used = 0;
        // Scroll so that the name of the shown part is visible.
        let name =
            |index: usize| sample.parts.get(index).map_or(String::new(), |p| text::fit_end(&p.name, 24, ui.glyphs));
        let mut from = shown;
        let mut width = text::width(&name(shown)) + 3;
        while from > 0 && width + text::width(&name(from - 1)) + 3 <= columns / 2 {
            from -= 1;
            width += text::width(&name(from)) + 3;
        }
        for index in from..sample.parts.len() {
            let label = format!(" {} ", name(index));
            if used + text::width(&label) + 1 > columns {
                break;
            }
            used += text::width(&label) + 1;
            spans.push(Span::styled(label, if index == shown { ui.theme.selected } else { ui.theme.muted }));
            spans.push(Span::raw(" "));
        }
        Line::from(spans)
    }

    fn draw_body(&mut self, frame: &mut Frame, area: Rect, sample: &BrowseSample, ui: &Ui) {
        if area.is_empty() {
            return;
        }
        let part = if self.state.mode == Mode::Parts { self.state.part_index(sample) } else { 0 };
        let is_reading = self.state.is_reading && self.state.mode == Mode::Parts;
        let request = DetailRequest { at: sample.at, mode: self.state.mode, part, is_reading };
        let Some(detail) = self.detail.as_ref().filter(|detail| detail.request == request) else {
            let line = Line::from(Span::styled(format!("{} reading", ui.spinner()), ui.theme.muted));
            return frame.render_widget(line, row(area, 0));
        };
        match &detail.body {
            DetailBody::Part { peeks, .. } => {
                let room = area.height / 3;
                let others = peek_lines(sample, part, peeks, (usize::from(area.width), room), ui);
                let rows = u16::try_from(others.len()).unwrap_or(u16::MAX).min(room);
                // An empty line between the shown part and the others.
                let gap = u16::from(rows > 0);
                let body = Rect { height: area.height.saturating_sub(rows + gap), ..area };
                let title = text::fit_end(&self.preview.title(ui), usize::from(area.width), ui.glyphs);
                frame.render_widget(Line::from(Span::styled(title, ui.theme.accent)), row(body, 0));
                let focused = self.state.pane == Pane::Detail;
                let options = PreviewOptions { ui, depth: self.depth };
                let drawn = self.preview.draw(frame.buffer_mut(), below(body, 1), focused, &mut self.pixels, &options);
                self.mouse_areas.add(drawn, ScreenArea::Preview);
                draw_lines(frame.buffer_mut(), below(area, body.height + gap), others);
            }
            DetailBody::Page(page) => {
                let columns = usize::from(area.width);
                let styled = |line: &PageLine| {
                    let style = line.tone.style(ui);
                    line.rows(columns).into_iter().map(move |row| Line::from(Span::styled(row, style)))
                };
                let lines: Vec<Line> = page.iter().flat_map(styled).collect();
                self.page.set_size(lines.len(), usize::from(area.height));
                let (top, has_more) = (self.page.top, self.page.top + usize::from(area.height) < lines.len());
                draw_lines(frame.buffer_mut(), area, lines.into_iter().skip(top));
                let right = area.right();
                if top > 0 {
                    frame.buffer_mut().set_string(right, area.y, ui.glyphs.more_up, ui.theme.accent);
                }
                if has_more {
                    frame.buffer_mut().set_string(right, area.bottom() - 1, ui.glyphs.more_down, ui.theme.accent);
                }
            }
        }
    }
}

/// Returns the beginnings of the other parts: one line each, or more lines for texts if `rows` are free.
fn peek_lines(
    sample: &BrowseSample,
    shown: usize,
    peeks: &[String],
    (columns, rows): (usize, u16),
    ui: &Ui,
) -> Vec<Line<'static>> {
    let others = || sample.parts.iter().zip(peeks).enumerate().filter(|(index, _)| *index != shown);
    let names = others().map(|(_, (part, _))| text::width(&text::safe(&part.name))).max().unwrap_or(0).min(columns / 3);
    let room = columns.saturating_sub(names + 2);
    let mut left = usize::from(rows).saturating_sub(others().count());
    let mut lines = Vec::new();
    for (_, (part, peek)) in others() {
        let most = 1 + left.min(MAX_PEEK_ROWS - 1);
        let mut wrapped = text::wrap(peek, room);
        if wrapped.len() > most {
            let rest = wrapped.split_off(most - 1).join(" ");
            wrapped.push(text::fit_end(&rest, room, ui.glyphs));
        }
        left = left.saturating_sub(wrapped.len().saturating_sub(1));
        let name = text::pad_end(&text::fit_end(&part.name, names, ui.glyphs), names);
        for (at, words) in wrapped.into_iter().enumerate() {
            let name = if at == 0 { name.clone() } else { " ".repeat(names) };
            lines.push(Line::from(vec![Span::styled(name, ui.theme.title), Span::raw("  "), Span::raw(words)]));
        }
    }
    lines
}
