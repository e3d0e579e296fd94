//! A scrollable page of text lines: logs, facts, long messages.

use crate::tui::keymap::{Action, Context};
use crate::tui::screen::{Effect, Input, Screen, Ui};
use crate::tui::widgets::mouse::wheel;
use crate::tui::widgets::{draw_panel, padded, text, Scroll};
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::Frame;

/// The meaning of a line, which selects its style.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// Ordinary text.
    #[default]
    Plain,
    /// A heading.
    Heading,
    /// Secondary text.
    Muted,
    /// Success.
    Ok,
    /// A warning.
    Warn,
    /// A failure.
    Error,
}

impl Tone {
    /// Returns the style the tone is drawn with.
    pub fn style(self, ui: &Ui) -> Style {
        match self {
            Self::Plain => ui.theme.text,
            Self::Heading => ui.theme.title,
            Self::Muted => ui.theme.muted,
            Self::Ok => ui.theme.ok,
            Self::Warn => ui.theme.warn,
            Self::Error => ui.theme.error,
        }
    }
}

/// One line of a page, wrapped when drawn. Its text may come from the data: it is escaped before drawing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageLine {
    /// The meaning of the line.
    pub tone: Tone,
    /// Text before [`text`](Self::text) that is not wrapped; wrapped lines are indented by its width. Often empty.
    pub label: String,
    /// The text.
    pub text: String,
}

impl PageLine {
    /// Creates a line without a label.
    pub fn new(tone: Tone, text: impl Into<String>) -> Self {
        Self { tone, label: String::new(), text: text.into() }
    }

    /// Creates a table line: a label, padded by the caller, and its text.
    pub fn labelled(tone: Tone, label: impl Into<String>, text: impl Into<String>) -> Self {
        Self { tone, label: label.into(), text: text.into() }
    }

    /// Wraps the line at a width of `columns`, and returns its rows.
    pub(super) fn rows(&self, columns: usize) -> Vec<String> {
        let label = text::safe(&self.label);
        let indent = text::width(&label);
        if indent > columns / 2 {
            return text::wrap(&format!("{label}{}", self.text), columns);
        }
        let mut rows = text::wrap(&self.text, columns - indent);
        for (at, row) in rows.iter_mut().enumerate() {
            let before = if at == 0 { label.clone() } else { " ".repeat(indent) };
            row.insert_str(0, &before);
        }
        rows
    }
}

/// A screen with text that scrolls.
pub struct Page {
    crumbs: Vec<String>,
    lines: Vec<PageLine>,
    scroll: Scroll,
}

impl Page {
    /// Creates a page with its title line.
    pub fn new(crumbs: Vec<String>, lines: Vec<PageLine>) -> Self {
        Self { crumbs, lines, scroll: Scroll::default() }
    }

    /// Replaces the lines.
    pub fn set_lines(&mut self, lines: Vec<PageLine>) {
        self.lines = lines;
    }
}

impl Screen for Page {
    fn context(&self) -> Context {
        Context::Page
    }
    fn title(&self) -> Vec<String> {
        self.crumbs.clone()
    }

    fn help(&self, action: Action) -> &'static str {
        match action {
            Action::Close => "Closes the page.",
            action => action.help(),
        }
    }

    fn handle(&mut self, input: Input) -> Vec<Effect> {
        match input {
            Input::Action(Action::Close) => return vec![Effect::Pop],
            Input::Action(action) => self.scroll.handle_action(action),
            Input::Mouse(mouse) => self.scroll.scroll(wheel(mouse).unwrap_or(0)),
            _ => {}
        }
        Vec::new()
    }

    fn draw(&mut self, frame: &mut Frame, area: Rect, ui: &Ui) {
        let inner = padded(draw_panel(frame, area, self.crumbs.last().map_or("", String::as_str), true, ui));
        let columns = usize::from(inner.width);
        let mut wrapped: Vec<Line> = Vec::new();
        for line in &self.lines {
            let style = line.tone.style(ui);
            wrapped.extend(line.rows(columns).into_iter().map(|l| Line::from(Span::styled(l, style))));
        }
        self.scroll.set_size(wrapped.len(), usize::from(inner.height));
        for (y, line) in (inner.y..inner.bottom()).zip(wrapped.into_iter().skip(self.scroll.top)) {
            frame.render_widget(line, Rect { y, height: 1, ..inner });
        }
        self.scroll.draw_marks(frame, inner, ui);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn continued_rows_are_indented_below_label_text_if_space_allows() {
        let line = PageLine::labelled(Tone::Plain, "keys    ", "one two three four");
        assert_eq!(line.rows(18), ["keys    one two", "        three four"]);
        assert_eq!(line.rows(12).first().map(String::as_str), Some("keys    one"));
        assert_eq!(PageLine::new(Tone::Plain, "").rows(20), [""], "an empty line takes a row");
    }
}
