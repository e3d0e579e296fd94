//! What the steps draw alike: the frame with the list of steps, and how old a draft is.

use super::spots::{Spot, Spots};
use super::state::Wizard;
use super::step::Step;
use super::{field_map, media, review, run, sample_type, source, splits};
use crate::model::text as words;
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::Ui;
use crate::tui::widgets::layout::below;
use crate::tui::widgets::{panel, text};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;
use ratatui::Frame;

/// Below this width the list of steps makes room.
const RAIL_FROM: u16 = 72;
const RAIL_WIDTH: u16 = 18;

/// What drawing needs besides the state.
#[derive(Clone, Copy)]
pub struct Look<'a> {
    /// Styles, glyphs, keys.
    pub ui: &'a Ui<'a>,
    /// The step has the focus, not the list of steps.
    pub focused: bool,
    /// Shards are being read at this moment.
    pub is_scanning: bool,
    /// How pictures become cells.
    pub depth: crate::preview::cells::Depth,
    /// Where fields are drawn, for the mouse.
    pub spots: &'a Spots,
}

/// Draws the whole guided prepare. Returns where the list of steps is, for the mouse.
pub fn draw(wizard: &mut Wizard, frame: &mut Frame, area: Rect, look: &Look) -> Rect {
    let ui = look.ui;
    let has_rail = area.width >= RAIL_FROM;
    let rail = Rect { width: if has_rail { RAIL_WIDTH } else { 0 }, ..area };
    let pane = Rect { x: area.x + rail.width, width: area.width - rail.width, ..area };
    if has_rail {
        draw_rail(wizard, frame.buffer_mut(), rail, ui);
    }
    let look = Look { focused: wizard.rail.is_none(), is_scanning: wizard.is_scanning, ..*look };
    let title = match has_rail {
        true => wizard.step.title().to_owned(),
        false => {
            let shown = wizard.rail.unwrap_or(wizard.step);
            let key = ui.key(Context::PrepareRail, Action::Accept);
            let arrow = if wizard.rail.is_some() { format!("{key}: go to ") } else { String::new() };
            format!("{arrow}{} ({} of {})", shown.title(), shown.index() + 1, Step::ALL.len())
        }
    };
    let block = panel(&title, look.focused, ui);
    let inner = block.inner(pane);
    frame.render_widget(block, pane);
    let mut inner = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
    if let Some(line) = draft_line(wizard, ui) {
        line.render(Rect { height: 1, ..inner }.intersection(inner), frame.buffer_mut());
        inner = below(inner, 1);
    }
    look.spots.clear();
    if matches!(wizard.step, Step::Review | Step::Run) {
        look.spots.put(inner, Spot::Page);
    }
    match wizard.step {
        Step::Source => source::view::draw(&mut wizard.source, frame, inner, &wizard.answers, &look),
        Step::Splits => splits::view::draw(&mut wizard.splits, frame, inner, &wizard.answers, &look),
        Step::SampleType => sample_type::view::draw(&mut wizard.sample_type, frame, inner, &wizard.answers, &look),
        Step::FieldMap => field_map::view::draw(&mut wizard.field_map, frame, inner, &wizard.answers, &look),
        Step::Media => media::view::draw(&mut wizard.media, frame, inner, &wizard.answers, &look),
        Step::Review => review::view::draw(&mut wizard.review, frame, inner, &wizard.answers, &look),
        Step::Run => run::view::draw(&mut wizard.run, frame, inner, &wizard.answers, &look),
    }
    rail
}

fn draft_line(wizard: &Wizard, ui: &Ui) -> Option<Line<'static>> {
    if let Some(words) = wizard.continues().filter(|_| wizard.step != Step::Run) {
        return Some(Line::from(vec![
            Span::styled(format!("{} ", ui.glyphs.arrow), ui.theme.accent),
            Span::raw(words),
        ]));
    }
    let draft = wizard.draft.as_ref().filter(|_| !wizard.is_dirty && wizard.step != Step::Run)?;
    Some(Line::from(vec![
        Span::styled(format!("{} ", ui.glyphs.arrow), ui.theme.accent),
        Span::raw(format!("draft from {} found: your answers are back. ", age(draft.age))),
        Span::styled(ui.key(Context::Prepare, Action::StartAfresh), ui.theme.key),
        Span::styled(" starts afresh", ui.theme.muted),
    ]))
}

/// `just now`, `5 minutes ago`, `3 hours ago`, `2 days ago`.
pub fn age(time: std::time::Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => "just now".into(),
        60..3600 => format!("{} ago", words::count(seconds / 60, "minute")),
        3600..86_400 => format!("{} ago", words::count(seconds / 3600, "hour")),
        _ => format!("{} ago", words::count(seconds / 86_400, "day")),
    }
}

fn draw_rail(wizard: &Wizard, buffer: &mut Buffer, area: Rect, ui: &Ui) {
    let focused = wizard.rail.is_some();
    let block = panel("Steps", focused, ui);
    let inner = block.inner(area);
    block.render(area, buffer);
    for (y, step) in (inner.y..inner.bottom()).zip(Step::ALL) {
        let row = Rect { y, height: 1, ..inner };
        let skipped = wizard.is_skipped(step);
        let broken = wizard.is_broken(step);
        let (glyph, style) = if step == wizard.step {
            (ui.glyphs.marker, ui.theme.accent)
        } else if skipped {
            (ui.glyphs.dash, ui.theme.muted)
        } else if broken {
            (ui.glyphs.cross, ui.theme.error)
        } else if wizard.answered[step.index()] {
            (ui.glyphs.check, ui.theme.ok)
        } else {
            (" ", ui.theme.text)
        };
        let name_style = match (step == wizard.step, wizard.why_not(step).is_some()) {
            (true, _) => ui.theme.title,
            (false, true) => ui.theme.disabled,
            (false, false) => ui.theme.text,
        };
        // The step on the screen keeps its marker and has the cross behind it.
        let (sign, second) = match broken && step == wizard.step {
            true => (glyph.to_owned(), format!("{} ", ui.glyphs.cross)),
            false => (format!(" {glyph} "), String::new()),
        };
        let line = Line::from(vec![
            Span::styled(sign, style),
            Span::styled(second, ui.theme.error),
            Span::styled(text::fit_end(step.title(), usize::from(row.width).saturating_sub(3), ui.glyphs), name_style),
        ]);
        line.render(row, buffer);
        if wizard.rail == Some(step) {
            buffer.set_style(row, ui.theme.selected);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_told_in_words() {
        let of = |s| age(std::time::Duration::from_secs(s));
        assert_eq!([of(5), of(60), of(7200), of(100_000)], ["just now", "1 minute ago", "2 hours ago", "1 day ago"]);
    }
}
