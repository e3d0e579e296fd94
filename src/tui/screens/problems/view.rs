//! Draws the list of problems, and the selected one below it.

use super::table::ProblemTable;
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::Ui;
use crate::tui::widgets::layout::{draw_lines, problem_lines, severity_sign, stack, Section};
use crate::tui::widgets::list::draw_list;
use crate::tui::widgets::text;
use gristmill_core::text::grouped;
use gristmill_core::{Problem, ProblemKind};
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::Frame;

impl ProblemTable {
    /// Draws the list. `acts` is whether its keys work, that is, whether the run has ended.
    pub fn draw(&mut self, frame: &mut Frame, area: Rect, focused: bool, acts: bool, ui: &Ui) {
        self.area = Rect::default();
        self.write_key = ui.key(Context::Problems, Action::Write);
        if self.is_empty() {
            let words = format!("{} no problems", ui.glyphs.check);
            return draw_lines(frame.buffer_mut(), area, [Line::from(Span::styled(words, ui.theme.ok))]);
        }
        let sections = [Section::growing(2, self.list.len, 2), Section::growing(3, 6, 1)];
        let places = stack(area, &sections);
        self.area = places[0];
        let mut list = std::mem::take(&mut self.list);
        draw_list(frame.buffer_mut(), places[0], &mut list, focused, ui, |row, columns| self.line(row, columns, ui));
        self.list = list;
        if let Some(problem) = self.selected() {
            let columns = usize::from(area.width);
            let mut lines = problem_lines(&problem, columns, ui);
            lines.push(self.kind_line(&problem, columns, acts, ui));
            draw_lines(frame.buffer_mut(), places[1], lines);
        }
    }

    fn line(&self, row: usize, columns: usize, ui: &Ui) -> Line<'static> {
        let Some((severity, words)) = self.rows().text(row) else { return Line::default() };
        let (sign, style) = severity_sign(severity, ui);
        let room = columns.saturating_sub(4);
        let words = text::pad_end(&text::fit_end(&words, room, ui.glyphs), room);
        let mark = if self.is_row_excluded(row) { " x" } else { "  " };
        Line::from(vec![Span::styled(format!("{sign} "), style), Span::raw(words), Span::styled(mark, ui.theme.warn)])
    }

    /// Returns the line with the effect of `X` and the kind of the selected problem. The kind is last, so that it is cut first.
    fn kind_line(&self, problem: &Problem, columns: usize, acts: bool, ui: &Ui) -> Line<'static> {
        let (known, all) = self.of_kind(problem.kind);
        let key = ui.key(Context::Problems, Action::ExcludeKind);
        let can = acts && !key.is_empty() && self.disabled_reason(Action::ExcludeProblem).is_none();
        let kind = match problem.kind {
            ProblemKind::Other => String::new(),
            kind => format!(": {}", kind.title()),
        };
        let words = match (can && known > 1, known == all) {
            (true, true) => format!("{key} excludes all {} of this kind{kind}", grouped(all)),
            (true, false) => format!("{key} excludes {} of {}{kind}", grouped(known), grouped(all)),
            (false, _) => format!("{} of this kind{kind}", grouped(all)),
        };
        Line::from(Span::styled(text::fit_end(&format!("  {words}"), columns, ui.glyphs), ui.theme.muted))
    }
}
