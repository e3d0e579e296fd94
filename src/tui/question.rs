//! A popup over a screen that asks a question with a few answers.

use crate::tui::keymap::{Action, Context};
use crate::tui::screen::{Effect, Input, Screen, Ui};
use crate::tui::widgets::{padded, popup, text, Gesture, MouseAreas};
use ratatui::crossterm::event::KeyCode;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::Frame;

/// An answer of a question. Its first letter is the key that selects it.
pub struct DialogChoice {
    /// One or a few words with a unique initial: `Stop`, `Leave to finish`.
    pub label: String,
    /// The effects of the answer, run after the question is closed.
    pub effects: Vec<Effect>,
}

impl DialogChoice {
    /// Returns an answer.
    pub fn new(label: &str, effects: Vec<Effect>) -> Self {
        Self { label: label.to_owned(), effects }
    }
}

/// A popup with a question. Esc closes it without effect.
pub struct Question {
    title: String,
    lines: Vec<String>,
    answers: Vec<DialogChoice>,
    /// Returns whether the reason for the question has disappeared.
    is_obsolete: Option<Box<dyn Fn() -> bool>>,
    selected: usize,
    /// Mouse areas of the answers.
    mouse_areas: MouseAreas<usize>,
}

impl Question {
    /// Returns a question whose first answer is selected. The lines may contain text from the data, and are escaped.
    pub fn new(title: &str, lines: Vec<String>, answers: Vec<DialogChoice>) -> Self {
        Self {
            title: title.to_owned(),
            lines,
            answers,
            is_obsolete: None,
            selected: 0,
            mouse_areas: MouseAreas::default(),
        }
    }

    /// Closes the question as soon as `is_obsolete` returns true.
    #[must_use]
    pub fn until(mut self, is_obsolete: impl Fn() -> bool + 'static) -> Self {
        self.is_obsolete = Some(Box::new(is_obsolete));
        self
    }

    fn accept(&mut self, index: usize) -> Vec<Effect> {
        let mut effects = vec![Effect::Pop];
        if let Some(answer) = self.answers.get_mut(index) {
            effects.append(&mut answer.effects);
        }
        effects
    }

    fn step(&mut self, forward: bool) {
        let len = self.answers.len().max(1);
        self.selected = (self.selected + if forward { 1 } else { len - 1 }) % len;
    }

    fn key(&mut self, code: KeyCode) -> Vec<Effect> {
        if matches!(code, KeyCode::Left | KeyCode::Right) {
            self.step(code == KeyCode::Right);
            return Vec::new();
        }
        let KeyCode::Char(typed) = code else { return Vec::new() };
        let typed = typed.to_lowercase().next();
        let found =
            self.answers.iter().position(|a| a.label.chars().next().and_then(|c| c.to_lowercase().next()) == typed);
        found.map(|index| self.accept(index)).unwrap_or_default()
    }
}

impl Screen for Question {
    fn context(&self) -> Context {
        Context::Question
    }
    fn is_popup(&self) -> bool {
        true
    }
    fn tick_on_top(&mut self, effects: &mut Vec<Effect>) -> bool {
        let is_obsolete = self.is_obsolete.as_ref().is_some_and(|is_obsolete| is_obsolete());
        effects.extend(is_obsolete.then_some(Effect::Pop));
        is_obsolete
    }
    /// Letters select an answer by its initial.
    fn wants_text(&self) -> bool {
        true
    }

    fn handle(&mut self, input: Input) -> Vec<Effect> {
        match input {
            Input::Action(Action::Close) => vec![Effect::Pop],
            Input::Action(Action::Accept) => self.accept(self.selected),
            Input::Action(action @ (Action::Up | Action::Down)) => {
                self.step(action == Action::Down);
                Vec::new()
            }
            Input::Key(key) => self.key(key.code),
            // A single click selects an answer, as it does for buttons.
            Input::Mouse(mouse) => match self.mouse_areas.gesture(mouse) {
                Some(Gesture::Click { on, .. }) => self.accept(on),
                _ => Vec::new(),
            },
            _ => Vec::new(),
        }
    }

    fn draw(&mut self, frame: &mut Frame, area: Rect, ui: &Ui) {
        let columns = usize::from(area.width).saturating_sub(8).min(64);
        let lines: Vec<String> = self.lines.iter().flat_map(|line| text::wrap(line, columns)).collect();
        let buttons: usize = self.answers.iter().map(|a| text::width(&a.label) + 6).sum();
        let widest = lines.iter().map(|l| text::width(l)).max().unwrap_or(0).max(buttons).max(24);
        let to_u16 = |n: usize| u16::try_from(n).unwrap_or(u16::MAX);
        let inner = padded(popup(frame, area, to_u16(widest + 4), to_u16(lines.len() + 4), &self.title, ui));
        for (y, line) in (inner.y..inner.bottom()).zip(lines) {
            frame.render_widget(Line::from(line), Rect { y, height: 1, ..inner });
        }
        self.mouse_areas.clear();
        let mut x = inner.x;
        for (index, answer) in self.answers.iter().enumerate() {
            let label = format!(" {} ", answer.label);
            let style = if index == self.selected { ui.theme.selected } else { ui.theme.text };
            let width = to_u16(text::width(&label));
            let place = Rect { x, y: inner.bottom().saturating_sub(1), width, height: 1 }.intersection(inner);
            frame.render_widget(Line::from(Span::styled(label, style)), place);
            self.mouse_areas.add(place, index);
            x = x.saturating_add(width + 2);
        }
    }
}
