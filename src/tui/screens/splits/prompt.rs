//! A popup with one text field: for the name of a split, or a note.

use super::lookup_dialog::one_field;
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::{Effect, Input, Screen, Ui};
use crate::tui::widgets::{padded, popup, text, TextField};
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::Frame;

/// Called with the text; the popup is closed before. The error is the reason why the text cannot be used; the popup then stays open.
type Accept = Box<dyn FnMut(&str) -> Result<Vec<Effect>, String>>;

/// The popup with a text field. Esc closes it without a result.
pub struct Prompt {
    title: String,
    line: String,
    placeholder: &'static str,
    field: TextField,
    accept: Accept,
    refusal: Option<String>,
}

/// Maximum width of the popup in columns.
const MAX_COLUMNS: u16 = 70;

impl Prompt {
    /// Creates a popup; `line` is shown above the field and may contain text from the data. The field starts with `value`.
    pub fn new(
        title: &str,
        line: impl Into<String>,
        value: &str,
        placeholder: &'static str,
        accept: impl FnMut(&str) -> Result<Vec<Effect>, String> + 'static,
    ) -> Self {
        Self {
            title: title.to_owned(),
            line: line.into(),
            placeholder,
            field: TextField::new(value),
            accept: Box::new(accept),
            refusal: None,
        }
    }

    fn accept(&mut self) -> Vec<Effect> {
        match (self.accept)(self.field.value()) {
            Ok(mut then) => {
                let mut effects = vec![Effect::Pop];
                effects.append(&mut then);
                effects
            }
            Err(why) => {
                self.refusal = Some(why);
                Vec::new()
            }
        }
    }
}

impl Screen for Prompt {
    fn context(&self) -> Context {
        Context::SplitsText
    }
    fn is_popup(&self) -> bool {
        true
    }
    fn wants_text(&self) -> bool {
        true
    }

    fn disabled_reason(&self, action: Action) -> Option<String> {
        one_field(action)
    }

    fn handle(&mut self, input: Input) -> Vec<Effect> {
        match input {
            Input::Action(Action::Close) => return vec![Effect::Pop],
            Input::Action(Action::Accept) => return self.accept(),
            Input::Key(key) => {
                self.field.key(key);
                self.refusal = None;
            }
            Input::Paste(words) => {
                self.field.paste(&words);
                self.refusal = None;
            }
            Input::Action(_) | Input::Mouse(_) => {}
        }
        Vec::new()
    }

    fn draw(&mut self, frame: &mut Frame, area: Rect, ui: &Ui) {
        let width = area.width.saturating_sub(2).min(MAX_COLUMNS);
        let columns = usize::from(width).saturating_sub(4);
        let mut lines = text::wrap(&self.line, columns);
        lines.truncate(4);
        let refusal = self.refusal.iter().flat_map(|why| text::wrap(why, columns)).take(2).collect::<Vec<_>>();
        let height = u16::try_from(lines.len() + 1 + refusal.len().max(1) + 2).unwrap_or(u16::MAX);
        let inner = padded(popup(frame, area, width, height, &self.title, ui));
        let row = |at: usize| {
            let y = inner.y.saturating_add(u16::try_from(at).unwrap_or(u16::MAX));
            Rect { y, height: 1, ..inner }.intersection(inner)
        };
        let count = lines.len();
        for (at, line) in lines.into_iter().enumerate() {
            frame.render_widget(Line::from(line), row(at));
        }
        self.field.draw(frame, row(count), true, self.placeholder, ui);
        for (at, line) in refusal.into_iter().enumerate() {
            frame.render_widget(Line::from(Span::styled(line, ui.theme.warn)), row(count + 1 + at));
        }
    }
}
