//! What is settled when the guided prepare opens: how pictures are shown, whether answers were given, why it cannot open.

use crate::model::{Failure, PreparePlan};
use crate::preview::pixels::Graphics;
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::{Ui, UiEnv};
use crate::tui::theme::ColourMode;
use crate::tui::widgets::text;
use ratatui::text::{Line, Span};

/// How the terminal shows pictures as pixels, if it does, and how large its cells are. Asks the terminal nothing.
pub fn graphics_of(env: &UiEnv) -> (Graphics, Option<(u16, u16)>) {
    if env.ascii || env.colour == ColourMode::None {
        return (Graphics::Cells, None);
    }
    let graphics = Graphics::detect(|name| env.variable(name));
    if graphics == Graphics::Cells {
        return (graphics, None);
    }
    let size = ratatui::crossterm::terminal::window_size().ok();
    let cell = size.and_then(|s| Some((s.width.checked_div(s.columns)?, s.height.checked_div(s.rows)?)));
    (graphics, cell.filter(|&(w, h)| w > 0 && h > 0))
}

/// Whether a plan from the command line answers anything but the path.
pub fn has_answers(plan: &PreparePlan) -> bool {
    *plan != PreparePlan::new(plan.path.clone())
}

/// Why the data set cannot be opened, with the way back.
pub fn failure_lines(failure: &Failure, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let words = format!("{} {failure}", ui.glyphs.cross);
    for line in text::wrap(&words, columns) {
        lines.push(Line::from(Span::styled(format!(" {line}"), ui.theme.error)));
    }
    for line in failure.hint.iter().flat_map(|h| text::wrap(h, columns)) {
        lines.push(Line::from(format!(" {line}")));
    }
    lines.push(Line::default());
    lines
        .push(Line::from(Span::styled(format!(" {} goes back", ui.key(Context::Page, Action::Close)), ui.theme.muted)));
    lines
}
