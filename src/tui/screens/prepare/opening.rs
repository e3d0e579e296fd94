//! Opens the guided prepare: the mode of pictures, given answers, and the reason why a data set cannot be opened.

use crate::tui::keymap::{Action, Context};
use crate::tui::screen::Ui;
use crate::tui::widgets::text;
use gristmill_core::{Failure, PreparePlan};
use ratatui::text::{Line, Span};

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
