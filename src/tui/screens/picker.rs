//! `?` and `:`: a list of actions. Typing filters it, and Enter runs the selected action. Both lists are derived from the key table.

use crate::tui::keymap::{Action, Context, Keymap};
use crate::tui::screen::{Effect, Input, Screen, Ui};
use crate::tui::widgets::toast::Level;
use crate::tui::widgets::{draw_list, popup, text, Gesture, ListState, MouseAreas, TextField, Toast};
use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use ratatui::crossterm::event::MouseEvent;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::Frame;

/// An entry of the list.
#[derive(Clone, Debug)]
struct PickerItem {
    action: Action,
    /// Label of the action on the screen below.
    label: &'static str,
    /// Description of the action on the screen below.
    help: &'static str,
    keys: String,
    /// The reason why the action cannot be run now; `None` if it can.
    disabled: Option<String>,
}

/// The kind of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PickerKind {
    Help,
    Palette,
}

/// The popup of `?` or `:`.
pub struct Picker {
    kind: PickerKind,
    items: Vec<PickerItem>,
    field: TextField,
    /// Indices of the matching items, best match first.
    shown: Vec<usize>,
    list: ListState,
    mouse_areas: MouseAreas<()>,
    matcher: Matcher,
    /// The description of what a typed number does on the screen below.
    number_label: Option<&'static str>,
}

impl Picker {
    /// Creates the list of actions in the context of `screen`, the innermost layer first.
    pub fn help(keymap: &Keymap, screen: &dyn Screen, ascii: bool) -> Self {
        Self::new(PickerKind::Help, items_here(keymap, screen, ascii))
    }

    /// Creates the list of all actions; actions of other contexts show the name of their context.
    pub fn palette(keymap: &Keymap, screen: &dyn Screen, ascii: bool) -> Self {
        let mut items = items_here(keymap, screen, ascii);
        for &action in Action::ALL {
            if items.iter().any(|item| item.action == action) {
                continue;
            }
            let is_bound = |c: &&Context| keymap.entries(**c).any(|e| e.context == **c && e.action == action);
            let contexts: Vec<&str> = Context::ALL.iter().filter(is_bound).map(|context| context.title()).collect();
            if contexts.is_empty() {
                continue;
            }
            let disabled = Some(format!("on: {}", contexts.join(", ")));
            items.push(PickerItem {
                action,
                label: action.label(),
                help: action.help(),
                keys: String::new(),
                disabled,
            });
        }
        Self { number_label: screen.number_label(), ..Self::new(PickerKind::Palette, items) }
    }

    fn new(kind: PickerKind, items: Vec<PickerItem>) -> Self {
        let shown: Vec<usize> = (0..items.len()).collect();
        let list = ListState::new(shown.len());
        let matcher = Matcher::new(Config::DEFAULT);
        Self {
            kind,
            items,
            field: TextField::default(),
            shown,
            list,
            mouse_areas: MouseAreas::default(),
            matcher,
            number_label: None,
        }
    }

    fn filter(&mut self) {
        let pattern = Pattern::parse(self.field.value(), CaseMatching::Smart, Normalization::Smart);
        let typed = self.field.value().to_lowercase().replace('-', " ");
        let mut scored = Vec::new();
        let mut buffer = Vec::new();
        for (index, item) in self.items.iter().enumerate() {
            let name = format!("{} {} {}", item.name(), item.action.id(), item.keys);
            // A match in the name weighs twice as much as one in the help sentence.
            let by_name = pattern.score(Utf32Str::new(&name, &mut buffer), &mut self.matcher).map(|s| s * 2);
            let by_help = contains_words(item.help, self.field.value()).then_some(1);
            if let Some(score) = by_name.max(by_help) {
                let is_start = item.name().starts_with(&typed);
                // What can be run comes before what cannot, and a short name before a longer one.
                let length = std::cmp::Reverse(item.name().len());
                scored.push(((is_start, item.disabled.is_none(), score, length), index));
            }
        }
        if !self.field.is_empty() {
            scored.sort_by_key(|&(rank, index)| (std::cmp::Reverse(rank), index));
        }
        self.shown = scored.into_iter().map(|(_, index)| index).collect();
        self.list = ListState::new(self.shown.len());
    }

    /// Returns the typed number and its label, if the screen below accepts a number.
    fn number(&self) -> Option<(u64, &'static str)> {
        let digits: String = self.field.value().chars().filter(|c| !matches!(c, ',' | '_')).collect();
        Some((digits.parse().ok()?, self.number_label?))
    }

    fn run(&self) -> Vec<Effect> {
        if let Some((number, _)) = self.number() {
            return vec![Effect::PopAndNumber(number)];
        }
        let Some(item) = self.selected() else { return Vec::new() };
        match &item.disabled {
            Some(why) => {
                vec![Effect::Toast(Toast::new(Level::Warn, format!("{}: {why}", item.label)))]
            }
            None => vec![Effect::PopAndDo(item.action)],
        }
    }

    fn selected(&self) -> Option<&PickerItem> {
        self.list.get().and_then(|row| self.shown.get(row)).and_then(|&index| self.items.get(index))
    }

    /// Draws the full help sentence of the selected item on the last lines, if there is room. Returns the remaining area.
    fn draw_sentence(&self, frame: &mut Frame, inner: Rect, ui: &Ui) -> Rect {
        const LINES: u16 = 2;
        let Some(item) = self.selected().filter(|_| inner.height >= 10) else { return inner };
        let why = item.disabled.as_ref().map(|why| format!(" Not available: {why}.")).unwrap_or_default();
        let sentence = format!("{}{why}", item.help);
        let lines = text::wrap(&sentence, usize::from(inner.width).saturating_sub(4));
        let top = inner.bottom() - LINES;
        let rule = ui.glyphs.border.horizontal_top.repeat(usize::from(inner.width));
        frame.render_widget(Line::from(Span::styled(rule, ui.theme.border)), Rect { y: top - 1, height: 1, ..inner });
        for (y, line) in (top..inner.bottom()).zip(lines) {
            let place = Rect { x: inner.x + 3, y, width: inner.width.saturating_sub(4), height: 1 };
            frame.render_widget(Line::from(line), place);
        }
        Rect { height: inner.height - LINES - 1, ..inner }
    }

    fn mouse(&mut self, mouse: MouseEvent) -> Vec<Effect> {
        match self.mouse_areas.gesture(mouse) {
            Some(Gesture::Wheel { rows, .. }) => self.list.scroll(rows),
            Some(Gesture::Click { line, .. }) => {
                let row = self.list.row_at(line).unwrap_or(self.list.selected);
                self.list.select(row);
            }
            Some(Gesture::DoubleClick { line, .. }) if self.list.row_at(line).is_some() => return self.run(),
            Some(Gesture::DoubleClick { .. }) | None => {}
        }
        Vec::new()
    }
}

impl PickerItem {
    /// Returns the name of the action, which is unique.
    fn name(&self) -> String {
        self.action.id().replace('-', " ")
    }
}

fn contains_words(sentence: &str, typed: &str) -> bool {
    let sentence = sentence.to_lowercase();
    typed.split_whitespace().all(|word| sentence.contains(&word.to_lowercase()))
}

fn items_here(keymap: &Keymap, screen: &dyn Screen, ascii: bool) -> Vec<PickerItem> {
    let context = screen.context();
    let typing = screen.wants_text();
    let mut items: Vec<PickerItem> = Vec::new();
    for entry in keymap.entries(context) {
        if matches!(entry.action, Action::Help | Action::Palette) || items.iter().any(|i| i.action == entry.action) {
            continue;
        }
        let usable = entry.keys.iter().filter(|k| !(typing && k.types_text()));
        let keys: Vec<String> = usable.map(|k| k.label_in(ascii)).collect();
        if typing && keys.is_empty() && entry.context != Context::Global {
            continue;
        }
        let disabled = screen.disabled_reason(entry.action);
        let (label, help) = (screen.label(entry.action), screen.help(entry.action));
        items.push(PickerItem { action: entry.action, label, help, keys: keys.join(" "), disabled });
    }
    items
}

impl Screen for Picker {
    fn context(&self) -> Context {
        Context::Picker
    }
    fn is_popup(&self) -> bool {
        true
    }
    fn wants_text(&self) -> bool {
        true
    }
    fn disabled_reason(&self, action: Action) -> Option<String> {
        matches!(action, Action::Help | Action::Palette | Action::Jobs).then(|| "close this list first".to_owned())
    }

    fn handle(&mut self, input: Input) -> Vec<Effect> {
        match input {
            Input::Action(Action::Close) => return vec![Effect::Pop],
            Input::Action(Action::Accept) => return self.run(),
            Input::Action(action) => {
                self.list.handle_action(action);
            }
            Input::Key(key) => {
                if self.field.key(key) {
                    self.filter();
                }
            }
            Input::Paste(pasted) => {
                self.field.paste(&pasted);
                self.filter();
            }
            Input::Mouse(mouse) => return self.mouse(mouse),
        }
        Vec::new()
    }

    fn draw(&mut self, frame: &mut Frame, area: Rect, ui: &Ui) {
        let title = match self.kind {
            PickerKind::Help => "Help: what works here",
            PickerKind::Palette => "Commands",
        };
        let height = area.height.saturating_sub(if area.height > 20 { 4 } else { 0 });
        let inner = popup(frame, area, 98, height, title, ui);
        if inner.height < 2 || inner.width < 8 {
            return;
        }
        let prompt = if self.kind == PickerKind::Palette { ":" } else { "/" };
        frame.render_widget(
            Line::from(Span::styled(format!(" {prompt} "), ui.theme.accent)),
            Rect { height: 1, ..inner },
        );
        let field = Rect { x: inner.x + 3, width: inner.width - 4, height: 1, ..inner };
        self.field.draw(frame, field, true, "type to filter", ui);
        let inner = self.draw_sentence(frame, inner, ui);
        let area = Rect { y: inner.y + 1, height: inner.height - 1, ..inner };
        self.mouse_areas.clear();
        self.mouse_areas.add(area, ());
        if let Some((number, label)) = self.number() {
            let words = format!("   Enter: {label} {}", gristmill_core::text::grouped(number));
            let line = Line::from(Span::styled(words, ui.theme.accent));
            frame.render_widget(line, Rect { y: inner.y + 1, height: 1, ..inner });
            return;
        }
        if self.shown.is_empty() {
            let line = Line::from(Span::styled("   no match", ui.theme.muted));
            frame.render_widget(line, Rect { height: 1, ..area });
            return;
        }
        let (items, shown, kind) = (&self.items, &self.shown, self.kind);
        draw_list(frame.buffer_mut(), area, &mut self.list, true, ui, |row, columns| {
            item_line(&items[shown[row]], kind, columns, ui)
        });
    }
}

/// Returns `key  name  sentence` as a line, or the reason why the action is disabled.
fn item_line(item: &PickerItem, kind: PickerKind, columns: usize, ui: &Ui) -> Line<'static> {
    let (keys, name) = (16.min(columns / 4), 18.min(columns / 3));
    let rest = columns.saturating_sub(keys + name + 3);
    let style = if item.disabled.is_some() { ui.theme.disabled } else { ui.theme.text };
    let shown_name = match kind {
        PickerKind::Help => item.label.to_owned(),
        PickerKind::Palette => item.name(),
    };
    let cell = |text: &str, width: usize| text::pad_end(&text::fit_end(text, width, ui.glyphs), width);
    let sentence = match &item.disabled {
        Some(why) => format!("({why})"),
        None => item.help.to_owned(),
    };
    Line::from(vec![
        Span::styled(cell(&item.keys, keys), if item.disabled.is_some() { style } else { ui.theme.key }),
        Span::raw(" "),
        Span::styled(cell(&shown_name, name), style),
        Span::raw(" "),
        Span::styled(text::fit_end(&sentence, rest, ui.glyphs), ui.theme.muted),
    ])
}
