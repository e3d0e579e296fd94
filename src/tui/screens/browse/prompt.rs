//! The input line of the browser.

use crate::tui::screen::Ui;
use crate::tui::widgets::{text, TextField};
use gristmill_ops::operations::paths::path_below_home;
use gristmill_storage::files;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::Frame;
use std::path::{Path, PathBuf};

/// The kind of input of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptKind {
    /// A key to search for.
    Key,
    /// The number of a sample.
    Number,
    /// Words to find in the shown part.
    Words,
    /// The sequence length of training, in tokens.
    Length,
    /// A tokenizer.
    Tokenizer,
    /// Text or ids to find in packed tokens.
    Tokens,
}

/// The state of the input line.
pub struct Prompt {
    /// The kind of input.
    pub kind: PromptKind,
    /// The text field.
    pub field: TextField,
    /// The error in the input. Not escaped.
    pub mistake: Option<String>,
}

impl Prompt {
    /// Creates a prompt with `text` in its field.
    pub fn new(asked: PromptKind, text: &str) -> Self {
        Self { kind: asked, field: TextField::new(text), mistake: None }
    }

    fn texts(&self) -> (&'static str, &'static str) {
        match self.kind {
            PromptKind::Key => (" find key ", "text, ^beginning, or /regular expression/"),
            PromptKind::Number => (" go to number ", "counted from 0"),
            PromptKind::Length => (" sequence length ", "tokens of one window; nothing shows documents"),
            PromptKind::Tokenizer => {
                (" tokenizer ", "tokenizer.json, its folder, a .model, or a name in the hub's cache")
            }
            PromptKind::Tokens => (" find ", "text, /regular expression/, or ids: 464 2068"),
            PromptKind::Words => (" find text ", "words, whatever their case"),
        }
    }

    /// Draws the prompt over the first row of `area`.
    pub fn draw(&self, frame: &mut Frame, area: Rect, ui: &Ui) {
        let area = Rect { height: area.height.min(1), ..area };
        let (label, placeholder) = self.texts();
        let columns = u16::try_from(text::width(label)).unwrap_or(0).min(area.width);
        frame.render_widget(Line::from(Span::styled(label, ui.theme.accent)), area);
        let trouble = self.mistake.as_ref().map(|why| text::fit_end(why, usize::from(area.width) / 2, ui.glyphs));
        let right = trouble.as_ref().map_or(0, |why| u16::try_from(text::width(why) + 2).unwrap_or(0));
        let width = area.width.saturating_sub(columns + right + 1);
        self.field.draw(frame, Rect { x: area.x + columns, width, ..area }, true, placeholder, ui);
        if let Some(why) = trouble {
            let place = Rect { x: area.right().saturating_sub(right), width: right, ..area };
            frame.render_widget(Line::from(Span::styled(format!(" {why}"), ui.theme.error)), place);
        }
    }
}

/// Parses a number with or without separators.
pub fn number(typed: &str) -> Option<u64> {
    let digits: String = typed.trim().chars().filter(|c| !matches!(c, ',' | '_' | '\'' | ' ')).collect();
    digits.parse().ok()
}

/// Returns the folder for a typed path, with `~` replaced by the home folder.
pub fn folder_of(typed: &str, home: Option<&Path>) -> Option<PathBuf> {
    let typed = typed.trim();
    let path = path_below_home(typed, home).unwrap_or_else(|| PathBuf::from(typed));
    (!typed.is_empty()).then(|| files::absolute(&path).unwrap_or(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_with_and_without_separators() {
        assert_eq!(number("1,234,567"), Some(1_234_567));
        assert_eq!(number(" 12_000 "), Some(12_000));
        assert_eq!(number("12a"), None);
        assert_eq!(number(""), None);
        assert_eq!(number("99999999999999999999"), None);
    }

    #[test]
    fn tilde_in_export_folder_is_expanded() {
        let home = Some(Path::new("/home/me"));
        assert_eq!(folder_of(" ~/out ", home), Some("/home/me/out".into()));
        assert_eq!(folder_of("~", home), Some("/home/me".into()));
        assert_eq!(folder_of("/a/b", home), Some("/a/b".into()));
        assert!(folder_of("~you/x", home).unwrap().ends_with("~you/x"));
        assert_eq!(folder_of("  ", home), None);
    }
}
