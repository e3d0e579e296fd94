//! Draws the home screen.

use super::{headline, unfinished_runs, Focus, Home, HomeEntry, PaneContent, PreparationState};
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::Ui;
use crate::tui::widgets::{draw_panel, draw_table, text, Align, Cell, Column};
use gristmill_core::text::bytes;
use gristmill_storage::location::is_remote;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::Frame;
use std::path::Path;

/// The sign of an entry that another process uses.
const LOCKED: &str = "*";
/// Minimum width in columns for two panes.
const TWO_PANES: u16 = 80;

impl Home {
    pub(super) fn draw_all(&mut self, frame: &mut Frame, area: Rect, ui: &Ui) {
        self.mouse_areas.clear();
        if area.width >= TWO_PANES {
            let halves = Layout::horizontal([Constraint::Percentage(60), Constraint::Percentage(40)]).split(area);
            self.draw_left(frame, halves[0], ui);
            self.draw_right(frame, halves[1], ui);
        } else if self.is_in_actions() {
            self.draw_right(frame, area, ui);
        } else {
            self.draw_left(frame, area, ui);
        }
    }

    fn draw_left(&mut self, frame: &mut Frame, area: Rect, ui: &Ui) {
        let columns = usize::from(area.width).saturating_sub(6);
        let title = match &self.place {
            PaneContent::Folder(dir) => text::fit_middle(&self.env.short_path(dir), columns, ui.glyphs),
            PaneContent::Recent(_) => "Opened last".to_owned(),
        };
        let inner = draw_panel(frame, area, &title, self.focus != Focus::Actions, ui);
        self.areas.filter = Rect { height: inner.height.min(1), ..inner };
        self.areas.list = Rect { y: inner.y.saturating_add(1), height: inner.height.saturating_sub(1), ..inner };
        self.mouse_areas.add(self.areas.filter, Focus::Filter);
        self.mouse_areas.add(self.areas.list, Focus::List);
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
            let hint = format!("({} to filter; s3:// lists stores)", ui.key(Context::Home, Action::Find));
            let hint = text::fit_end(&hint, usize::from(field.width), ui.glyphs);
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
            Some(Ok(_)) if is_remote(Path::new(self.filter.value().trim())) => {
                let key = ui.key(Context::HomeFilter, Action::Accept);
                return say(frame, &format!("{key} lists this folder of a store"), ui.theme.muted);
            }
            Some(Ok(_)) if self.shown.is_empty() => {
                let text = match (&self.place, self.filter.is_empty()) {
                    (_, false) => "no name like that",
                    (PaneContent::Recent(_), true) => "nothing was opened yet",
                    (PaneContent::Folder(_), true) => {
                        let key = ui.key(Context::Home, Action::Reload);
                        return say(frame, &format!("nothing here; {key} reads the folder again"), ui.theme.muted);
                    }
                };
                return say(frame, text, ui.theme.muted);
            }
            Some(Ok(_)) => {}
        }
        let looks = EntryDetails::for_width(area.width, |room| self.has_long_names(room));
        let columns = looks.columns();
        let mut list = std::mem::take(&mut self.list);
        let focused = self.focus != Focus::Actions;
        draw_table(frame.buffer_mut(), area, &mut list, &columns, focused, ui, |row| self.cells(row, looks, ui));
        self.list = list;
    }

    /// Whether most names are wider than `columns`; measures the first [`MAX_MEASURED_NAMES`] names.
    fn has_long_names(&self, columns: usize) -> bool {
        let rows = self.shown.len().min(MAX_MEASURED_NAMES);
        let is_long = |row: &usize| self.entry(*row).is_some_and(|entry| text::width(&self.name(entry)) > columns);
        2 * (0..rows).filter(is_long).count() > rows
    }

    fn name(&self, entry: &HomeEntry) -> String {
        let slash = if entry.is_folder && entry.name != "." { "/" } else { "" };
        match (&self.place, entry.name.as_str()) {
            (PaneContent::Recent(_), _) => self.env.short_path(&entry.path),
            (PaneContent::Folder(_), ".") => ". (here)".to_owned(),
            (PaneContent::Folder(_), name) => format!("{name}{slash}"),
        }
    }

    fn cells(&self, row: usize, looks: EntryDetails, ui: &Ui) -> Vec<Cell> {
        let Some(entry) = self.entry(row) else { return Vec::new() };
        let name = self.name(entry);
        let Some(seen) = self.entry_facts.get(&entry.path) else {
            return vec![name.into(), "".into(), "".into(), "".into()];
        };
        let plain = seen.state == PreparationState::None;
        let kind = Cell::new(seen.title(), if plain { ui.theme.muted } else { ui.theme.accent });
        let is_of_texts = seen.kind.has_loose_files() || seen.kind.table().is_some();
        let only_texts = is_of_texts && seen.media == 0 && seen.texts > 0;
        let is_packed = seen.kind.is_tokens() && seen.files > 0;
        let holds_something = seen.shards > 0 || seen.media > 0 || only_texts || is_packed;
        let amount = match (holds_something, entry.is_folder) {
            _ if seen.is_begun => String::new(),
            (false, true) => String::new(),
            _ if looks.amounts && seen.mixture.is_none() => seen.amount(ui.glyphs.dot),
            (false, false) => bytes(entry.bytes.max(seen.bytes)),
            (true, _) => bytes(if only_texts { seen.text_bytes } else { seen.bytes }),
        };
        let (glyph, style) = match &seen.state {
            _ if self.env.jobs.is_running_on(&entry.path) => (ui.spinner(), ui.theme.accent),
            PreparationState::None => ("", ui.theme.muted),
            PreparationState::Raw => (ui.glyphs.dash, ui.theme.muted),
            PreparationState::Prepared => (ui.glyphs.check, ui.theme.ok),
            PreparationState::Interrupted | PreparationState::Stale(_) => (ui.glyphs.warn, ui.theme.warn),
            PreparationState::Broken(_) => (ui.glyphs.cross, ui.theme.error),
            PreparationState::Locked(_) => (LOCKED, ui.theme.warn),
        };
        let word = if self.env.jobs.is_running_on(&entry.path) { "running" } else { seen.word() };
        let state = if looks.words { format!("{glyph} {word}") } else { glyph.to_owned() };
        vec![name.into(), kind, Cell::new(amount, ui.theme.muted), Cell::new(state, style)]
    }

    fn draw_right(&mut self, frame: &mut Frame, area: Rect, ui: &Ui) {
        let columns = usize::from(area.width).saturating_sub(6);
        let title = self
            .selected()
            .map(|e| text::fit_middle(&self.env.short_path(&e.path), columns, ui.glyphs))
            .unwrap_or_default();
        let focused = self.focus == Focus::Actions;
        let inner = draw_panel(frame, area, &title, focused, ui);
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
        self.mouse_areas.add(self.areas.actions, Focus::Actions);
        self.draw_actions(frame, focused, ui);
    }

    /// Returns lines with the facts about the selected entry.
    fn facts(&self, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
        let Some(entry) = self.selected() else { return Vec::new() };
        let Some(seen) = self.entry_facts.get(&entry.path) else {
            return vec![Line::from(Span::styled("looking", ui.theme.muted))];
        };
        let mut lines = vec![Line::from(Span::styled(headline(seen), ui.theme.title))];
        let amount = seen.amount(ui.glyphs.dot);
        if !amount.is_empty() {
            lines.push(Line::from(text::fit_end(&amount, columns, ui.glyphs)));
        }
        if !seen.parts.is_empty() {
            let parts = format!("parts: {}", seen.parts.join(" "));
            lines.push(Line::from(Span::styled(text::fit_end(&parts, columns, ui.glyphs), ui.theme.muted)));
        }
        let (notice, style) = match &seen.state {
            PreparationState::Interrupted => {
                let key = ui.key(Context::Home, Action::Resume);
                let goes_on = match self.disabled_reason(Action::Resume) {
                    None => format!("{key} resumes it."),
                    Some(_) => "Running the same plan with the same output resumes it.".to_owned(),
                };
                (Some(format!("{} {} {goes_on}", ui.glyphs.warn, unfinished_runs::state_text(seen))), ui.theme.warn)
            }
            PreparationState::Locked(holder) => (Some(format!("{LOCKED} In use by {holder}.")), ui.theme.warn),
            PreparationState::Stale(why) => (Some(format!("{} Out of date: {why}.", ui.glyphs.warn)), ui.theme.warn),
            PreparationState::Broken(why) => (Some(format!("{} {why}", ui.glyphs.cross)), ui.theme.error),
            PreparationState::None | PreparationState::Raw | PreparationState::Prepared => (None, ui.theme.text),
        };
        for line in notice.iter().flat_map(|n| text::wrap(n, columns)) {
            lines.push(Line::from(Span::styled(line, style)));
        }
        lines
    }

    /// Draws one line per action, each with its description below it; if not all descriptions fit, only that of the selected action.
    fn draw_actions(&mut self, frame: &mut Frame, focused: bool, ui: &Ui) {
        let possible = self.available_actions();
        self.actions.set_len(possible.len());
        let area = self.areas.actions;
        let columns = usize::from(area.width);
        let sentences: Vec<Vec<String>> =
            possible.iter().map(|a| text::wrap(self.sentence_for(*a), columns.saturating_sub(9))).collect();
        let rows = sentences.iter().map(|sentence| sentence.len() + 1).sum::<usize>();
        let fits_all = columns > 24 && rows <= usize::from(area.height);
        let widest = possible.iter().map(|a| text::width(&ui.key(Context::Home, *a))).max().unwrap_or(0);
        let keys = (widest + 1).max(3);
        self.action_rows.clear();
        let mut lines: Vec<Line> = Vec::new();
        for (index, (&action, sentence)) in possible.iter().zip(sentences).enumerate() {
            let selected = focused && self.actions.selected == index;
            let marker = if selected { ui.glyphs.marker } else { " " };
            let key = text::pad_end(&ui.key(Context::Home, action), keys);
            let label = text::pad_end(self.word_for(action), columns.saturating_sub(keys + 5));
            let key_style = if selected { ui.theme.selected } else { ui.theme.key };
            let label_style = if selected { ui.theme.selected } else { ui.theme.text };
            lines.push(Line::from(vec![
                Span::styled(format!(" {marker} "), label_style),
                Span::styled(key, key_style),
                Span::styled(label, label_style),
            ]));
            self.action_rows.push(action);
            let is_described = fits_all || columns > 24 && self.actions.selected == index;
            for line in sentence.into_iter().filter(|_| is_described) {
                lines.push(Line::from(Span::styled(format!("      {line}"), ui.theme.muted)));
                self.action_rows.push(action);
            }
        }
        for (y, line) in (area.y..area.bottom()).zip(lines) {
            frame.render_widget(line, Rect { y, height: 1, ..area });
        }
    }
}

/// Columns of a narrow list that are not available for the name: sign, kind, size, state and gaps.
const COLUMNS_WITHOUT_NAME: usize = 29;
/// Maximum number of names that are measured.
const MAX_MEASURED_NAMES: usize = 2_000;

/// The columns that the list shows of an entry.
#[derive(Clone, Copy)]
struct EntryDetails {
    /// Whether shards and size are shown, rather than the size alone.
    amounts: bool,
    /// Whether the state is shown as a word, rather than a sign alone.
    words: bool,
    /// Whether the size is shown.
    size: bool,
}

impl EntryDetails {
    /// Returns the columns for a list of this width. In a narrow list, long names take precedence over the size, which is also shown next
    /// to the list.
    fn for_width(width: u16, has_long_names: impl Fn(usize) -> bool) -> Self {
        let is_narrow = width < 62;
        let room = usize::from(width).saturating_sub(COLUMNS_WITHOUT_NAME);
        let size = width >= 42 && !(is_narrow && has_long_names(room));
        Self { amounts: width >= 76, words: !is_narrow, size }
    }

    fn columns(self) -> Vec<Column> {
        let column = |width, align| Column { title: "", width: Constraint::Length(width), align };
        let size = match (self.amounts, self.size) {
            (true, _) => 24,
            (false, true) => 9,
            (false, false) => 0,
        };
        vec![
            Column { title: "", width: Constraint::Fill(1), align: Align::Name },
            // The pane on the right shows the whole kind.
            column(if self.words { 12 } else { 11 }, Align::Text),
            column(size, Align::Number),
            column(if self.words { 14 } else { 1 }, Align::Text),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_shows_sizes_unless_long_names_need_their_columns() {
        let columns = |width, is_long: bool| {
            let details = EntryDetails::for_width(width, |_| is_long);
            (details.size, details.amounts, details.words)
        };
        assert_eq!(columns(41, false), (false, false, false));
        assert_eq!(columns(42, false), (true, false, false));
        assert_eq!(columns(61, true), (false, false, false));
        assert_eq!(columns(62, true), (true, false, true));
        assert_eq!(columns(76, true), (true, true, true));
        EntryDetails::for_width(50, |room| {
            assert_eq!(room, 21, "the columns that a name can have");
            false
        });
    }
}
