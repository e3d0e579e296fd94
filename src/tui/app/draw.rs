//! Draws the frame's own parts: title line, bottom bar and notice; if the terminal is too small, a single sentence instead.

use super::App;
use crate::tui::keymap::{Action, Chord, Context, KeymapEntry};
use crate::tui::screen::{Screen, Ui};
use crate::tui::widgets::{text, MouseAreas};
use gristmill_core::text::count;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::Frame;

/// The minimum width, in columns, at which screens are drawn.
pub const MIN_COLUMNS: u16 = 40;
/// The minimum height, in rows, at which screens are drawn.
pub const MIN_ROWS: u16 = 10;

impl App {
    /// Draws everything.
    pub fn draw(&mut self, frame: &mut Frame) {
        let area = frame.area();
        // The background of a theme applies to the whole screen.
        frame.buffer_mut().set_style(area, self.theme.text);
        if area.width < MIN_COLUMNS || area.height < MIN_ROWS {
            return draw_too_small(frame, area);
        }
        let head = Rect { height: 1, ..area };
        let foot = Rect { y: area.bottom() - 1, height: 1, ..area };
        let body = Rect { y: area.y + 1, height: area.height - 2, ..area };
        let mut stack = std::mem::take(&mut self.stack);
        let ui = self.ui();
        let base = stack.iter().rposition(|s| !s.is_popup()).unwrap_or(0);
        for screen in stack.iter_mut().skip(base) {
            screen.draw(frame, body, &ui);
        }
        if let Some(screen) = stack.get(base) {
            self.draw_head(frame, head, screen.as_ref(), &ui);
        }
        // A notice takes its space from the bottom bar.
        let notice = self.notice(stack.last().map(AsRef::as_ref), usize::from(foot.width), &ui);
        let taken = notice.as_ref().map_or(0, |toast| toast.columns(foot, &ui));
        let place = Rect { width: foot.width - taken, ..foot };
        let bar = stack.last().map(|screen| draw_bar(frame, place, screen.as_ref(), &ui)).unwrap_or_default();
        if let Some(toast) = &notice {
            toast.draw(frame, foot, &ui);
        }
        self.stack = stack;
        self.bar = bar;
        if std::mem::take(&mut self.wants_picture) {
            self.save(frame.buffer_mut().clone());
        }
    }

    fn draw_head(&self, frame: &mut Frame, area: Rect, screen: &dyn Screen, ui: &Ui) {
        let running = self.env.jobs.running();
        let status = screen
            .status_right()
            .or_else(|| (running > 0).then(|| format!("{} {} running", ui.spinner(), count(running as u64, "job"))));
        let columns = usize::from(area.width);
        let status: Vec<String> = self.meter.text().map(str::to_owned).into_iter().chain(status).collect();
        let status =
            text::fit_end(&status.join(&format!(" {} ", ui.glyphs.dot)), columns.saturating_sub(14), ui.glyphs);
        let right = if status.is_empty() { 0 } else { text::width(&status) + 2 };
        let crumbs: String = screen.title().iter().map(|c| format!(" {} {}", ui.glyphs.crumb, text::safe(c))).collect();
        let crumbs = text::fit_middle(&crumbs, columns.saturating_sub(10 + right), ui.glyphs);
        let line = Line::from(vec![Span::styled(" gristmill", ui.theme.title), Span::styled(crumbs, ui.theme.muted)]);
        frame.render_widget(line, area);
        if right > 0 {
            let x = area.right().saturating_sub(u16::try_from(right).unwrap_or(0)) + 1;
            let place = Rect { x, width: area.right().saturating_sub(x), ..area };
            frame.render_widget(Line::from(Span::styled(status, ui.theme.muted)), place);
        }
    }
}

fn draw_too_small(frame: &mut Frame, area: Rect) {
    let sentence = format!(
        "gristmill needs {MIN_COLUMNS} columns and {MIN_ROWS} rows; this terminal has {} and {}.",
        area.width, area.height
    );
    let lines = text::wrap(&sentence, usize::from(area.width.max(1)));
    for (y, line) in (area.y..area.bottom()).zip(lines) {
        frame.render_widget(Line::from(line), Rect { y, height: 1, ..area });
    }
}

/// An item of the bottom bar: an action with its key and label.
struct BarItem {
    action: Action,
    key: String,
    label: &'static str,
    columns: usize,
    /// Whether the item is shown even if there is little space.
    keep: bool,
}

fn bar_items(screen: &dyn Screen, ui: &Ui) -> Vec<BarItem> {
    let typing = screen.wants_text();
    // In a text field, the key of the jobs panel is omitted: the bar needs the space for the equivalent flags, and the notice of an ended
    // job shows the key.
    let is_spared = |action| typing && action == Action::Jobs;
    let hidden = |entry: &KeymapEntry| {
        !entry.in_bar || is_spared(entry.action) || screen.disabled_reason(entry.action).is_some()
    };
    let mut seen: Vec<Action> = Vec::new();
    let mut items = Vec::new();
    // A key bound in an inner context hides its bindings in outer ones.
    let mut taken: Vec<(Context, Chord)> = Vec::new();
    for entry in ui.keymap.entries(screen.context()) {
        let is_taken = |k: &Chord| taken.iter().any(|(context, key)| *context != entry.context && key == k);
        let types = |k: &Chord| typing && k.types_text();
        let key = entry.keys.iter().find(|k| !types(k) && !is_taken(k)).cloned();
        taken.extend(entry.keys.iter().map(|k| (entry.context, k.clone())));
        if hidden(entry) || seen.contains(&entry.action) {
            continue;
        }
        seen.push(entry.action);
        let Some(key) = key.map(|k| k.label_in(ui.glyphs.ascii)) else { continue };
        let label = screen.label(entry.action);
        let columns = text::width(&key) + 1 + text::width(label);
        items.push(BarItem {
            action: entry.action,
            key,
            label,
            columns,
            keep: matches!(entry.action, Action::Help | Action::Quit),
        });
    }
    items
}

/// Draws the bar, and returns the positions of its items.
fn draw_bar(frame: &mut Frame, area: Rect, screen: &dyn Screen, ui: &Ui) -> MouseAreas<Action> {
    let columns = usize::from(area.width);
    let mut items = bar_items(screen, ui);
    let needed = |items: &[BarItem]| 1 + items.iter().map(|i| i.columns + 3).sum::<usize>();
    while needed(&items) > columns + 2 {
        // Later items are less important, and help lists all of them. Next to a notice there may be no space for any item.
        let least = items.iter().rposition(|i| !i.keep).or_else(|| items.len().checked_sub(1));
        let Some(least) = least else { break };
        items.remove(least);
    }
    let mut places = MouseAreas::default();
    let mut x = area.x.saturating_add(1);
    let mut spans = vec![Span::raw(" ")];
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            spans.push(Span::styled(format!(" {} ", ui.glyphs.dot), ui.theme.muted));
        }
        let width = u16::try_from(item.columns).unwrap_or(u16::MAX);
        places.add(Rect { x, width, ..area }.intersection(area), item.action);
        x = x.saturating_add(width.saturating_add(3));
        spans.push(Span::styled(item.key.clone(), ui.theme.key));
        spans.push(Span::styled(format!(" {}", item.label), ui.theme.muted));
    }
    let used: usize = spans.iter().map(Span::width).sum();
    frame.render_widget(Line::from(spans), area);
    let room = columns.saturating_sub(used + 3);
    if let Some(right) = screen.bar_right().filter(|_| room > 8) {
        let shown = text::fit_end(&right, room, ui.glyphs);
        let x = area.right().saturating_sub(u16::try_from(text::width(&shown) + 1).unwrap_or(0));
        let place = Rect { x, width: area.right().saturating_sub(x), ..area };
        frame.render_widget(Line::from(Span::styled(shown, ui.theme.muted)), place);
    }
    places
}
