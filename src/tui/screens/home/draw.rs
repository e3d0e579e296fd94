//! How the home screen looks.

use super::{headline, Focus, Home, Place, State};
use crate::model::text::bytes;
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::Ui;
use crate::tui::widgets::{draw_list, draw_table, panel, text, Align, Cell, Column};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::Frame;
use std::path::Path;

/// From this width on there are two panes.
const TWO_PANES: u16 = 80;

impl Home {
    pub(super) fn draw_all(&mut self, frame: &mut Frame, area: Rect, ui: &Ui) {
        if area.width >= TWO_PANES {
            let halves = Layout::horizontal([Constraint::Percentage(58), Constraint::Percentage(42)]).split(area);
            self.draw_left(frame, halves[0], ui);
            self.draw_right(frame, halves[1], ui);
        } else if self.focus == Focus::Actions {
            self.draw_right(frame, area, ui);
        } else {
            self.draw_left(frame, area, ui);
        }
    }

    fn draw_left(&mut self, frame: &mut Frame, area: Rect, ui: &Ui) {
        let columns = usize::from(area.width).saturating_sub(6);
        let title = match &self.place {
            Place::Folder(dir) => text::fit_middle(&short(dir), columns, ui.glyphs),
            Place::Recent(_) => "Opened last".to_owned(),
        };
        let block = panel(&title, self.focus != Focus::Actions, ui);
        let inner = block.inner(area);
        frame.render_widget(block, area);
        self.areas.filter = Rect { height: inner.height.min(1), ..inner };
        self.areas.list = Rect { y: inner.y.saturating_add(1), height: inner.height.saturating_sub(1), ..inner };
        self.draw_filter(frame, ui);
        self.draw_entries(frame, ui);
    }

    fn draw_filter(&mut self, frame: &mut Frame, ui: &Ui) {
        let area = self.areas.filter;
        let focused = self.focus == Focus::Filter;
        let field = Rect { x: area.x.saturating_add(3), width: area.width.saturating_sub(4), ..area };
        if focused || !self.filter.is_empty() {
            let style = if focused { ui.theme.accent } else { ui.theme.muted };
            frame.render_widget(Line::from(Span::styled(" / ", style)), area);
            self.filter.draw(frame, field, focused, "", ui);
        } else {
            let hint = format!("({} to filter)", ui.key(Context::Home, Action::Find));
            frame.render_widget(Line::from(Span::styled(hint, ui.theme.muted)), field);
        }
    }

    fn draw_entries(&mut self, frame: &mut Frame, ui: &Ui) {
        let area = self.areas.list;
        let say = |frame: &mut Frame, text: &str, style: Style| {
            let columns = usize::from(area.width).saturating_sub(4);
            for (y, line) in (area.y..area.bottom()).zip(text::wrap(text, columns)) {
                let place = Rect { x: area.x.saturating_add(3), y, height: 1, width: area.width.saturating_sub(3) };
                frame.render_widget(Line::from(Span::styled(line, style)), place);
            }
        };
        match &self.entries {
            None => return say(frame, "reading", ui.theme.muted),
            Some(Err(reason)) => return say(frame, reason, ui.theme.error),
            Some(Ok(_)) if self.shown.is_empty() => {
                let text = match (&self.place, self.filter.is_empty()) {
                    (_, false) => "no name like that",
                    (Place::Recent(_), true) => "nothing was opened yet",
                    (Place::Folder(_), true) => "nothing here",
                };
                return say(frame, text, ui.theme.muted);
            }
            Some(Ok(_)) => {}
        }
        let wide = area.width >= 56;
        let columns = entry_columns(area.width);
        let mut list = std::mem::take(&mut self.list);
        let focused = self.focus != Focus::Actions;
        draw_table(frame.buffer_mut(), area, &mut list, &columns, focused, ui, |row| self.cells(row, wide, ui));
        self.list = list;
    }

    fn cells(&self, row: usize, wide: bool, ui: &Ui) -> Vec<Cell> {
        let Some(entry) = self.entry(row) else { return Vec::new() };
        let slash = if entry.is_folder && entry.name != "." { "/" } else { "" };
        let name = match (&self.place, entry.name.as_str()) {
            (Place::Recent(_), _) => short(&entry.path),
            (Place::Folder(_), ".") => ". (this folder)".to_owned(),
            (Place::Folder(_), name) => format!("{name}{slash}"),
        };
        let Some(seen) = self.looks.get(&entry.path) else {
            return vec![name.into(), "".into(), "".into(), "".into()];
        };
        let plain = seen.shards == 0 && seen.state == State::None;
        let kind = Cell::new(seen.title(), if plain { ui.theme.muted } else { ui.theme.accent });
        let amount = match (seen.shards, entry.is_folder) {
            (0, true) => String::new(),
            (0, false) => bytes(entry.bytes.max(seen.bytes)),
            _ if wide => seen.amount(ui.glyphs.dot),
            (_, _) => bytes(seen.bytes),
        };
        let (word, style) = match &seen.state {
            _ if self.env.jobs.is_running_on(&entry.path) => ("preparing", ui.theme.accent),
            State::Prepared => ("prepared", ui.theme.ok),
            State::Interrupted => ("interrupted", ui.theme.warn),
            state => (state.word(), ui.theme.muted),
        };
        vec![name.into(), kind, Cell::new(amount, ui.theme.muted), Cell::new(word, style)]
    }

    fn draw_right(&mut self, frame: &mut Frame, area: Rect, ui: &Ui) {
        let columns = usize::from(area.width).saturating_sub(6);
        let title = self.selected().map(|e| text::fit_middle(&short(&e.path), columns, ui.glyphs)).unwrap_or_default();
        let focused = self.focus == Focus::Actions;
        let block = panel(&title, focused, ui);
        let inner = block.inner(area);
        frame.render_widget(block, area);
        let lines = self.facts(usize::from(inner.width).saturating_sub(2), ui);
        let mut y = inner.y;
        for line in lines {
            if y >= inner.bottom() {
                break;
            }
            let place = Rect { x: inner.x.saturating_add(1), y, height: 1, width: inner.width.saturating_sub(2) };
            frame.render_widget(line, place);
            y += 1;
        }
        let top = y.saturating_add(1);
        self.areas.actions = Rect { y: top, height: inner.bottom().saturating_sub(top), ..inner };
        self.draw_actions(frame, focused, ui);
    }

    /// What is known of the selected entry.
    fn facts(&self, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
        let Some(entry) = self.selected() else { return Vec::new() };
        let Some(seen) = self.looks.get(&entry.path) else {
            return vec![Line::from(Span::styled("looking", ui.theme.muted))];
        };
        let mut lines = vec![Line::from(Span::styled(headline(seen), ui.theme.title))];
        let amount = seen.amount(ui.glyphs.dot);
        if !amount.is_empty() {
            lines.push(Line::from(text::fit_end(&amount, columns, ui.glyphs)));
        }
        let notice = match &seen.state {
            State::Interrupted => Some(format!(
                "{} A preparation was begun here and not finished. {} goes on with it.",
                ui.glyphs.warn,
                ui.key(Context::Home, Action::Resume)
            )),
            State::Locked(holder) => Some(format!("{} In use by process {holder}.", ui.glyphs.warn)),
            State::None | State::Raw | State::Prepared => None,
        };
        for line in notice.iter().flat_map(|n| text::wrap(n, columns)) {
            lines.push(Line::from(Span::styled(line, ui.theme.warn)));
        }
        lines
    }

    fn draw_actions(&mut self, frame: &mut Frame, focused: bool, ui: &Ui) {
        let possible = self.possible();
        self.actions.set_len(possible.len());
        let area = self.areas.actions;
        let mut list = std::mem::take(&mut self.actions);
        let mut shown = list.clone();
        if !focused {
            // Without focus there is nothing selected here.
            shown.selected = usize::MAX;
        }
        let row = |index: usize, columns: usize| {
            let Some(&action) = possible.get(index) else { return Line::default() };
            let key = text::pad_end(&ui.key(Context::Home, action), 2);
            let label = text::pad_end(action.label(), 13);
            let rest = columns.saturating_sub(16);
            Line::from(vec![
                Span::styled(key, ui.theme.key),
                Span::raw(format!(" {label}")),
                Span::styled(text::fit_end(action.help(), rest, ui.glyphs), ui.theme.muted),
            ])
        };
        if focused {
            draw_list(frame.buffer_mut(), area, &mut list, true, ui, row);
        } else {
            for (y, index) in (area.y..area.bottom()).zip(0..possible.len()) {
                let columns = usize::from(area.width).saturating_sub(3);
                let place = Rect { x: area.x.saturating_add(3), y, height: 1, width: area.width.saturating_sub(3) };
                frame.render_widget(row(index, columns), place);
            }
        }
        self.actions = list;
    }
}

fn entry_columns(width: u16) -> Vec<Column> {
    let column = |width, align| Column { title: "", width, align };
    if width >= 56 {
        vec![
            column(Constraint::Fill(1), Align::Name),
            column(Constraint::Length(10), Align::Text),
            column(Constraint::Length(22), Align::Number),
            column(Constraint::Length(12), Align::Text),
        ]
    } else {
        vec![
            column(Constraint::Fill(1), Align::Name),
            column(Constraint::Length(10), Align::Text),
            column(Constraint::Length(if width >= 44 { 9 } else { 0 }), Align::Number),
            column(Constraint::Length(if width >= 52 { 12 } else { 0 }), Align::Text),
        ]
    }
}

/// A path as people write it: their own folder is `~`.
fn short(path: &Path) -> String {
    let home = std::env::var_os("HOME").filter(|h| !h.is_empty());
    let below = home.and_then(|home| path.strip_prefix(home).ok().map(Path::to_owned));
    match below {
        Some(below) if below.as_os_str().is_empty() => "~".to_owned(),
        Some(below) => format!("~/{}", below.to_string_lossy()),
        None => path.to_string_lossy().into_owned(),
    }
}
