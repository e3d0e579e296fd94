//! A popup with a choice: the split to move to, or what to do about a draft or a changed file.

use crate::tui::keymap::{Action, Context};
use crate::tui::screen::{Effect, Input, Screen, Ui};
use crate::tui::widgets::mouse::{Gesture, MouseAreas};
use crate::tui::widgets::{draw_list, popup, text, Level, ListState, Toast};
use ratatui::crossterm::event::KeyCode;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::Frame;

/// One option of a choice. Its texts may come from the data: they are escaped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChoiceOption {
    /// Label of the option.
    pub label: String,
    /// Description of the option.
    pub note: String,
    /// The reason why the option is unavailable.
    pub disabled_reason: Option<String>,
}

impl ChoiceOption {
    /// Creates an available option.
    pub fn new(label: impl Into<String>, note: impl Into<String>) -> Self {
        Self { label: label.into(), note: note.into(), disabled_reason: None }
    }

    /// Disables the option if there is a reason.
    #[must_use]
    pub fn disabled_if(mut self, why_not: Option<String>) -> Self {
        self.disabled_reason = why_not;
        self
    }
}

/// Called with the index of the selected option; the popup is closed before.
type OnChosen = Box<dyn FnMut(usize) -> Vec<Effect>>;

/// The popup of a choice. Esc closes it without a choice.
pub struct Choice {
    title: String,
    lines: Vec<String>,
    offers: Vec<ChoiceOption>,
    list: ListState,
    chosen: OnChosen,
    mouse_areas: MouseAreas<()>,
}

/// Maximum width of the popup in columns, without its border.
const MAX_COLUMNS: usize = 72;

impl Choice {
    /// Creates a popup with the first option selected. `lines` are shown above the options and are wrapped.
    pub fn new(
        title: &str,
        lines: Vec<String>,
        offers: Vec<ChoiceOption>,
        chosen: impl FnMut(usize) -> Vec<Effect> + 'static,
    ) -> Self {
        let list = ListState::new(offers.len());
        let title = title.to_owned();
        Self { title, lines, offers, list, chosen: Box::new(chosen), mouse_areas: MouseAreas::default() }
    }

    /// Selects another option than the first.
    #[must_use]
    pub fn selecting(mut self, row: usize) -> Self {
        self.list.select(row);
        self
    }

    fn choose(&mut self, row: usize) -> Vec<Effect> {
        let Some(offer) = self.offers.get(row) else { return Vec::new() };
        if let Some(why) = &offer.disabled_reason {
            return vec![Effect::Toast(Toast::new(Level::Warn, why.clone()))];
        }
        let mut effects = vec![Effect::Pop];
        effects.append(&mut (self.chosen)(row));
        effects
    }

    fn line(&self, row: usize, columns: usize, label_columns: usize, ui: &Ui) -> Line<'static> {
        let Some(offer) = self.offers.get(row) else { return Line::default() };
        // Only the first nine options have a digit as their key.
        let digit = if row < 9 { format!("{} ", row + 1) } else { "  ".to_owned() };
        let label = text::pad_end(&text::fit_middle(&offer.label, label_columns, ui.glyphs), label_columns);
        let note = offer.disabled_reason.as_ref().unwrap_or(&offer.note);
        let room = columns.saturating_sub(label_columns + 4);
        let style = if offer.disabled_reason.is_some() { ui.theme.disabled } else { ui.theme.text };
        Line::from(vec![
            Span::styled(digit, ui.theme.key),
            Span::styled(label, style),
            Span::raw("  "),
            Span::styled(text::fit_end(note, room, ui.glyphs), ui.theme.muted),
        ])
    }
}

impl Screen for Choice {
    fn context(&self) -> Context {
        Context::SplitsList
    }
    fn is_popup(&self) -> bool {
        true
    }

    fn handle(&mut self, input: Input) -> Vec<Effect> {
        match input {
            Input::Action(Action::Close) => return vec![Effect::Pop],
            Input::Action(Action::Accept) => return self.choose(self.list.selected),
            Input::Action(action) => {
                self.list.handle_action(action);
            }
            Input::Key(key) => {
                if let KeyCode::Char(c @ '1'..='9') = key.code {
                    return self.choose(c as usize - '1' as usize);
                }
            }
            Input::Mouse(mouse) => match self.mouse_areas.gesture(mouse) {
                Some(Gesture::Click { line, .. }) => {
                    if let Some(row) = self.list.row_at(line) {
                        self.list.select(row);
                        return self.choose(row);
                    }
                }
                Some(Gesture::Wheel { rows, .. }) => self.list.scroll(rows),
                _ => {}
            },
            Input::Paste(_) => {}
        }
        Vec::new()
    }

    fn draw(&mut self, frame: &mut Frame, area: Rect, ui: &Ui) {
        let to_u16 = |n: usize| u16::try_from(n).unwrap_or(u16::MAX);
        let room = usize::from(area.width).saturating_sub(6).clamp(1, MAX_COLUMNS);
        let lines: Vec<String> = self.lines.iter().flat_map(|line| text::wrap(line, room)).collect();
        let widths = |f: fn(&ChoiceOption) -> &String| self.offers.iter().map(move |o| text::width(&text::safe(f(o))));
        let label_columns = widths(|o| &o.label).max().unwrap_or(0).min(room.saturating_sub(8).max(8));
        let note_columns = widths(|o| o.disabled_reason.as_ref().unwrap_or(&o.note)).max().unwrap_or(0);
        let widest = lines.iter().map(|l| text::width(l)).max().unwrap_or(0).max(label_columns + note_columns + 8);
        let width = to_u16(widest.min(room).max(28) + 4);
        let gap = usize::from(!lines.is_empty());
        let height = to_u16(lines.len() + gap + self.offers.len() + 2);
        let inner = popup(frame, area, width, height, &self.title, ui);
        let list_rows = to_u16(self.offers.len()).min(inner.height);
        let text_rows = inner.height - list_rows;
        let text_area = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), height: text_rows, ..inner };
        for (y, line) in (text_area.y..text_area.bottom()).zip(lines) {
            frame.render_widget(Line::from(line), Rect { y, height: 1, ..text_area });
        }
        let list_area = Rect { y: inner.y + text_rows, height: list_rows, ..inner };
        self.mouse_areas.clear();
        self.mouse_areas.add(list_area, ());
        let mut list = self.list.clone();
        draw_list(frame.buffer_mut(), list_area, &mut list, true, ui, |row, columns| {
            self.line(row, columns, label_columns, ui)
        });
        self.list = list;
    }
}
