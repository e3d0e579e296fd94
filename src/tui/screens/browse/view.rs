//! Draws the panes, or a message if there is nothing to show.

use super::columns::{Columns, Neighbour};
use super::rows::Row;
use super::screen::{BrowseScreen, OpenStage, ScreenArea};
use super::state::{Pane, PaneCount};
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::Ui;
use crate::tui::widgets::layout::{below, draw_lines, row};
use crate::tui::widgets::{draw_list, draw_panel, text};
use gristmill_core::text::grouped;
use gristmill_ops::engine::browse::{BrowseSample, SampleAt};
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::Frame;
use std::sync::Arc;

impl BrowseScreen {
    pub(super) fn draw_all(&mut self, frame: &mut Frame, area: Rect, ui: &Ui) {
        self.mouse_areas.clear();
        self.state.breadth = PaneCount::of(area.width);
        let area = self.draw_foot(frame, area, ui);
        if let Some(lines) = self.replacement_lines(usize::from(area.width).saturating_sub(6).min(76), ui) {
            return draw_message(frame, area, &self.path.to_string_lossy(), lines, ui);
        }
        for (pane, place) in self.pane_areas(area) {
            match pane {
                Pane::Groups => self.draw_groups(frame, place, ui),
                Pane::Samples => self.draw_samples(frame, place, ui),
                Pane::Detail => self.draw_detail(frame, place, ui),
            }
        }
        if let Some(form) = &mut self.form {
            form.draw(frame, area, ui);
        }
    }

    /// Draws the last rows: the prompt, or the filter and the search. Returns the remaining area.
    fn draw_foot(&self, frame: &mut Frame, area: Rect, ui: &Ui) -> Rect {
        /// Height in rows below which the search uses the only row at the bottom.
        const MIN_ROWS_FOR_SEARCH_LINE: u16 = 9;
        let last = |rest: Rect| {
            let foot = Rect { y: rest.bottom().saturating_sub(1), height: 1.min(rest.height), ..rest };
            (foot, Rect { height: rest.height.saturating_sub(1), ..rest })
        };
        if let Some(prompt) = &self.prompt {
            let (foot, rest) = last(area);
            prompt.draw(frame, foot, ui);
            return rest;
        }
        let mut rest = area;
        let find = self.find_words();
        let is_finding = find.is_some();
        if let Some(words) = find {
            let keys = [(Action::FindNext, "next"), (Action::FindPrevious, "previous"), (Action::Close, "end")];
            let (foot, above) = last(rest);
            draw_status(frame, foot, (&words, self.is_searching()), &keys, ui);
            rest = above;
        }
        if let Some(words) = self.filter_words().filter(|_| !is_finding || area.height >= MIN_ROWS_FOR_SEARCH_LINE) {
            // The action Close ends the search before it removes the filter.
            let keys = [(Action::FilterSamples, "change"), (Action::Close, "all samples")];
            let keys = if is_finding { &keys[..1] } else { &keys[..] };
            let (foot, above) = last(rest);
            draw_status(frame, foot, (&words, self.is_filtering()), keys, ui);
            rest = above;
        }
        rest
    }

    /// Returns the message shown instead of the panes; `None` if the panes can be shown.
    fn replacement_lines(&self, columns: usize, ui: &Ui) -> Option<Vec<Line<'static>>> {
        let wrapped = |words: &str, style| -> Vec<Line<'static>> {
            text::wrap(words, columns).into_iter().map(|line| Line::from(Span::styled(line, style))).collect()
        };
        let hint = |words: String| wrapped(&words, ui.theme.muted);
        let back = ui.key(Context::Browse, Action::Close);
        let again = ui.key(Context::Browse, Action::Reload);
        match &self.stage {
            OpenStage::Opening => Some(wrapped(&format!("{} opening", ui.spinner()), ui.theme.accent)),
            OpenStage::Failed(failure) => {
                let mut lines = wrapped(&format!("{} {failure}", ui.glyphs.cross), ui.theme.error);
                lines.push(Line::default());
                lines.extend(failure.hint.iter().flat_map(|words| wrapped(words, ui.theme.text)));
                lines.extend(hint(format!("{again} tries again, {back} goes back.")));
                Some(lines)
            }
            OpenStage::Open(catalog, _) if self.state.groups.groups.is_empty() => {
                let word = catalog.group_word();
                if !self.state.groups.is_complete {
                    return Some(wrapped(&format!("{} looking for {word}s", ui.spinner()), ui.theme.accent));
                }
                let words = match word {
                    "folder" => "There is nothing to browse here: no shard, and no picture, sound or video.".to_owned(),
                    word => format!("This data set is empty: it has no {word}."),
                };
                let mut lines = wrapped(&words, ui.theme.text);
                lines.extend(hint(format!("{again} looks again, {back} goes back.")));
                Some(lines)
            }
            OpenStage::Open(..) => None,
        }
    }

    /// Returns the panes that are drawn, and their areas.
    fn pane_areas(&self, area: Rect) -> Vec<(Pane, Rect)> {
        let drawn: Vec<Pane> =
            [Pane::Groups, Pane::Samples, Pane::Detail].into_iter().filter(|pane| self.state.is_drawn(*pane)).collect();
        let width = |pane: Pane| match (pane, drawn.len()) {
            (_, 1) | (Pane::Detail, _) => 0,
            (Pane::Groups, _) => (area.width / 4).clamp(22, 34),
            (Pane::Samples, 2) if drawn.contains(&Pane::Groups) => 0,
            // A list of texts gets more width if there is no list of groups.
            (Pane::Samples, _) if self.state.is_single_list => (area.width * 2 / 5).clamp(28, 60),
            (Pane::Samples, _) => (area.width * 3 / 10).clamp(28, 46),
        };
        let fixed: u16 = drawn.iter().map(|pane| width(*pane)).sum();
        let mut x = area.x;
        drawn
            .iter()
            .map(|&pane| {
                let columns = match width(pane) {
                    0 => area.width.saturating_sub(fixed),
                    columns => columns,
                };
                let place = Rect { x, width: columns, ..area }.intersection(area);
                x = x.saturating_add(columns);
                (pane, place)
            })
            .collect()
    }

    fn draw_groups(&mut self, frame: &mut Frame, area: Rect, ui: &Ui) {
        let focused = self.state.pane == Pane::Groups;
        let title = heading(self.group_word());
        let inner = draw_panel(frame, area, &title, focused, ui);
        self.mouse_areas.add(area, ScreenArea::Pane(Pane::Groups));
        self.mouse_areas.add(inner, ScreenArea::Rows(Pane::Groups));
        let groups = Arc::clone(&self.state.groups);
        let marks = Arc::clone(&self.marks);
        let marked = self.state.marked_rows().filter(|_| focused);
        let catalog = self.catalog().map(Arc::clone);
        let windows = |group: u32| Some(catalog.as_ref()?.tokens()?.windows_of(group)?.0);
        let foot = self.split_lines(usize::from(inner.width), ui);
        let foot_rows = u16::try_from(foot.len()).unwrap_or(0).min(inner.height / 3);
        let rest = below(inner, inner.height - foot_rows);
        draw_lines(frame.buffer_mut(), rest, foot);
        let inner = Rect { height: inner.height - foot_rows, ..inner };
        draw_list(frame.buffer_mut(), inner, &mut self.state.group_list, focused, ui, |index, columns| {
            let Some(group) = groups.groups.get(index) else { return Line::default() };
            let is_excluded = u32::try_from(index).is_ok_and(|at| marks.is_shard_excluded(at));
            let is_marked = marked.as_ref().is_some_and(|rows| rows.contains(&(index as u64)));
            let (sign, style) = match (&group.failure, group.is_counted) {
                _ if is_marked => (" *".to_owned(), ui.theme.matched),
                _ if is_excluded => (" x".to_owned(), ui.theme.warn),
                (Some(_), _) => (format!(" {}", ui.glyphs.warn), ui.theme.warn),
                (None, false) => (format!(" {}", ui.glyphs.ellipsis), ui.theme.muted),
                (None, true) => (String::new(), ui.theme.muted),
            };
            let number = grouped(u32::try_from(index).ok().and_then(&windows).unwrap_or(group.samples));
            let room = columns.saturating_sub(text::width(&number) + text::width(&sign) + 2);
            Line::from(vec![
                Span::raw(text::pad_end(&text::fit_middle(&group.name, room, ui.glyphs), room)),
                Span::styled(format!(" {number}"), ui.theme.muted),
                Span::styled(sign, style),
            ])
        });
    }

    /// Returns the number of shards of each split, two splits to a line.
    fn split_lines(&self, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
        let counts = self.marks.splits().iter().map(|split| (text::safe(&split.name), split.shards));
        let mut words: Vec<String> = counts.map(|(name, shards)| format!("{name} {}", grouped(shards))).collect();
        if words.is_empty() {
            return Vec::new();
        }
        words.push(format!("none {}", grouped(self.marks.loose_shards())));
        let half = (columns.saturating_sub(2)) / 2;
        let mut lines = vec![Line::default()];
        for pair in words.chunks(2) {
            let line: String = pair
                .iter()
                .map(|word| text::pad_end(&text::fit_end(word, half.saturating_sub(1), ui.glyphs), half))
                .collect();
            lines.push(Line::from(Span::styled(format!(" {line}"), ui.theme.muted)));
        }
        lines
    }

    fn draw_samples(&mut self, frame: &mut Frame, area: Rect, ui: &Ui) {
        let focused = self.state.pane == Pane::Samples;
        let rows = heading(self.row_word());
        let title = match self.state.at {
            Some(at) => format!("{rows}  #{}", grouped(self.state.groups.number(at))),
            None => rows,
        };
        let marked = self.state.marked_rows().filter(|_| self.state.pane != Pane::Groups);
        let title = match &marked {
            Some(rows) => format!("{title}  {} marked", grouped(rows.end() - rows.start() + 1)),
            None => title,
        };
        let inner = draw_panel(frame, area, &title, focused, ui);
        self.mouse_areas.add(area, ScreenArea::Pane(Pane::Samples));
        let foot = self.single_failure(usize::from(inner.width), ui);
        let foot_rows = u16::try_from(foot.len()).unwrap_or(0).min(inner.height / 3);
        draw_lines(frame.buffer_mut(), below(inner, inner.height - foot_rows), foot);
        let inner = Rect { height: inner.height - foot_rows, ..inner };
        self.mouse_areas.add(inner, ScreenArea::Rows(Pane::Samples));
        if self.state.list.len == 0 {
            let words = match self.state.groups.is_complete && !self.is_filtering() {
                true if self.active_filter.is_some() => "the filter leaves none",
                true => "no samples",
                false => "no sample was found yet",
            };
            let line = Line::from(Span::styled(format!("   {words}"), ui.theme.muted));
            frame.render_widget(line, row(inner, 0));
            return;
        }
        let window = self.state.list.clone().window(usize::from(inner.height));
        self.view = window.start as u64..window.end as u64;
        let ats: Vec<Option<SampleAt>> =
            window.clone().map(|at| self.state.listing.at(at as u64, &self.state.groups)).collect();
        let columns = self.columns(usize::from(inner.width).saturating_sub(4), &ats, ui);
        let mut list = std::mem::take(&mut self.state.list);
        draw_list(frame.buffer_mut(), inner, &mut list, focused, ui, |index, _| {
            let at = index.checked_sub(window.start).and_then(|line| ats.get(line)).copied().flatten();
            let is_marked = marked.as_ref().is_some_and(|rows| rows.contains(&(index as u64)));
            at.map_or_else(Line::default, |at| self.sample_line(at, is_marked, &columns, ui))
        });
        self.state.list = list;
        let rows = &self.state.rows;
        self.leads.request(ats.iter().flatten().filter_map(|at| rows.sample(*at)));
    }

    /// Computes the column widths of the visible rows.
    fn columns(&self, columns: usize, ats: &[Option<SampleAt>], ui: &Ui) -> Columns {
        let samples: Vec<_> = ats.iter().flatten().filter_map(|at| self.state.rows.sample(*at)).collect();
        let keys: Vec<String> = samples.iter().map(|sample| text::safe(&sample.key)).collect();
        let mut names = samples.iter().map(|sample| self.measure(sample));
        let first = names.next().unwrap_or_default();
        let (mut widest, mut is_equal) = (text::width(&first), true);
        for name in names {
            widest = widest.max(text::width(&name));
            is_equal &= name == first;
        }
        let neighbour = match samples.iter().any(|sample| self.leads.get(sample).is_some()) {
            true => Neighbour::Text,
            false if is_equal => Neighbour::EqualNames(widest),
            false => Neighbour::Names(widest),
        };
        Columns::new(columns, &keys, neighbour, ui.glyphs)
    }

    /// Returns the failure of the only file; the list of files has space only for a sign.
    fn single_failure(&self, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
        let [group] = &*self.state.groups.groups else { return Vec::new() };
        let Some(why) = &group.failure else { return Vec::new() };
        let sign = |at: usize| if at == 0 { ui.glyphs.warn } else { " " };
        let lines = text::wrap(why, columns.saturating_sub(4)).into_iter().enumerate();
        lines.map(|(at, words)| Line::from(Span::styled(format!(" {} {words}", sign(at)), ui.theme.warn))).collect()
    }

    fn sample_line(&self, at: SampleAt, is_marked: bool, columns: &Columns, ui: &Ui) -> Line<'static> {
        match self.state.rows.get(at) {
            Some(Row::Ready(sample)) => {
                let key = text::pad_end(&columns.cut(&text::safe(&sample.key), ui.glyphs), columns.key);
                let style = if sample.defect.is_some() { ui.theme.warn } else { ui.theme.text };
                let (lead, lead_style) = match self.leads.get(sample) {
                    Some(lead) => (lead.to_owned(), ui.theme.text),
                    None => (self.measure(sample), ui.theme.muted),
                };
                let gap = if columns.neighbour > 0 { "  " } else { "" };
                let lead = text::pad_end(&text::fit_end(&lead, columns.neighbour, ui.glyphs), columns.neighbour);
                let (sign, sign_style) = if is_marked { ("*", ui.theme.matched) } else { self.sign_of(sample, ui) };
                Line::from(vec![
                    Span::styled(key, style),
                    Span::styled(format!("{gap}{lead}"), lead_style),
                    Span::styled(format!(" {sign}"), sign_style),
                ])
            }
            Some(Row::Failed(_)) => {
                let words = format!("#{} cannot be read", grouped(self.state.groups.number(at)));
                Line::from(vec![
                    Span::styled(text::fit_end(&words, columns.key + columns.neighbour, ui.glyphs), ui.theme.warn),
                    Span::styled(format!(" {}", ui.glyphs.warn), ui.theme.warn),
                ])
            }
            None => {
                let words = format!("#{} {}", grouped(self.state.groups.number(at)), ui.glyphs.ellipsis);
                Line::from(Span::styled(words, ui.theme.muted))
            }
        }
    }

    /// Returns the content next to the key of a row: the parts of the sample, or its length in tokens.
    fn measure(&self, sample: &BrowseSample) -> String {
        let tokens = self.catalog().and_then(|catalog| catalog.tokens()).and_then(|set| set.measure(sample));
        tokens.unwrap_or_else(|| part_names(sample))
    }

    /// Returns the sign at the end of a row: excluded, damaged, or found.
    fn sign_of(&self, sample: &BrowseSample, ui: &Ui) -> (&'static str, ratatui::style::Style) {
        if self.is_excluded(sample) {
            return ("x", ui.theme.warn);
        }
        if sample.defect.is_some() || self.problems.get(sample.at).is_some() {
            return (ui.glyphs.warn, ui.theme.warn);
        }
        if self.state.find.as_ref().is_some_and(|find| find.found.contains(sample.at)) {
            return ("/", ui.theme.matched);
        }
        (" ", ui.theme.text)
    }
}

/// Draws a status line: a message, whether the work is in progress, and its keys.
fn draw_status(frame: &mut Frame, foot: Rect, (words, is_running): (&str, bool), keys: &[(Action, &str)], ui: &Ui) {
    let sign = if is_running { ui.spinner() } else { "/" };
    let keys: Vec<(String, &str)> =
        keys.iter().map(|(action, word)| (ui.key(Context::Browse, *action), *word)).collect();
    let help: usize = keys.iter().map(|(key, word)| text::width(key) + text::width(word) + 3).sum();
    let room = usize::from(foot.width).saturating_sub(help + 4);
    let mut spans = vec![
        Span::styled(format!(" {sign} "), ui.theme.accent),
        Span::raw(text::pad_end(&text::fit_end(words, room, ui.glyphs), room)),
    ];
    for (key, word) in keys {
        spans.push(Span::styled(format!("  {key}"), ui.theme.key));
        spans.push(Span::styled(format!(" {word}"), ui.theme.muted));
    }
    frame.render_widget(Line::from(spans), foot);
}

/// Returns a word as a heading: `Shards` for `shard`.
fn heading(word: &str) -> String {
    let mut letters = word.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{first}{}s", letters.as_str())
}

fn part_names(sample: &BrowseSample) -> String {
    let names: Vec<String> = sample.parts.iter().take(20).map(|part| text::safe(&part.name)).collect();
    names.join(" ")
}

/// Draws a few lines in the middle of a pane.
fn draw_message(frame: &mut Frame, area: Rect, title: &str, lines: Vec<Line<'static>>, ui: &Ui) {
    let title = text::fit_middle(title, usize::from(area.width).saturating_sub(6), ui.glyphs);
    let inner = draw_panel(frame, area, &title, true, ui);
    let top = inner.height.saturating_sub(u16::try_from(lines.len()).unwrap_or(u16::MAX)) / 3;
    let widest = lines.iter().map(Line::width).max().unwrap_or(0);
    let margin = inner.width.saturating_sub(u16::try_from(widest).unwrap_or(u16::MAX)) / 2;
    let place = Rect { x: inner.x + margin, width: inner.width.saturating_sub(margin), ..below(inner, top) };
    draw_lines(frame.buffer_mut(), place, lines);
}
