//! Draws step Media.

use super::super::click_targets::{ClickTarget, DrawContext, StepOption};
use super::super::step::Answers;
use super::{FocusStop, MediaStep};
use crate::tui::guides::media::form::Strategy;
use crate::tui::guides::media::tally::{count_lines, probed_lines};
use crate::tui::widgets::layout::{draw_lines, heading, row, stack, Section};
use crate::tui::widgets::text;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::Frame;

/// Height of the heading in rows.
const HEADING_ROWS: usize = 2;

/// Draws the step.
pub fn draw(step: &mut MediaStep, frame: &mut Frame, area: Rect, answers: &Answers, context: &DrawContext) {
    let columns = usize::from(area.width);
    let counts = counts(step, answers, columns, context);
    let probed = probed(step, columns, usize::from(area.height), context);
    let options = option_rows(step);
    let sections = [
        Section::fixed(HEADING_ROWS, 1),
        Section::fixed(options, Section::FOCUS),
        Section::fixed(1, 0),
        Section::growing(u16::try_from(counts.len().min(2)).unwrap_or(2), counts.len(), 4),
        Section::fixed(usize::from(!probed.is_empty()), 0),
        Section::growing(u16::try_from(probed.len().min(2)).unwrap_or(2), probed.len(), 3),
    ];
    let places = stack(area, &sections);
    let about = "sizes and durations, which the loader then need not read";
    let about = Line::from(Span::styled(text::fit_end(about, columns, context.ui.glyphs), context.ui.theme.muted));
    let title = heading("Record facts about pictures, sound and video?", context.ui);
    draw_lines(frame.buffer_mut(), places[0], [title, about]);
    draw_options(step, frame, places[1], context);
    draw_lines(frame.buffer_mut(), places[3], counts);
    draw_lines(frame.buffer_mut(), places[5], probed);
}

fn option_rows(step: &MediaStep) -> usize {
    Strategy::ALL.len() + step.stop_list().len() - 1
}

fn draw_options(step: &MediaStep, frame: &mut Frame, area: Rect, context: &DrawContext) {
    let at = step.stop();
    let mut line = 0;
    for (option, strategy) in Strategy::ALL.into_iter().enumerate() {
        let (target, is_on) = (ClickTarget::Choice(0, option), step.form.strategy == strategy);
        let (label, note, is_focused) = (strategy.label(), strategy.note(), is_on && at == FocusStop::Strategy);
        let option = StepOption { target, is_on, label, note, is_focused, label_columns: 13 };
        context.draw_option(frame.buffer_mut(), row(area, line), option);
        line += 1;
        if strategy == Strategy::Glob && is_on {
            context.click_targets.add(row(area, line), ClickTarget::Field(1));
            draw_patterns(step, frame, row(area, line), context);
            line += 1;
        }
    }
    if step.form.strategy == Strategy::None {
        return;
    }
    let target = ClickTarget::Switch(step.stop_list().len().saturating_sub(1));
    let (note, is_on, is_focused) = ("read pictures whole: finds damage", step.form.decode, at == FocusStop::Decode);
    let option = StepOption { target, is_on, label: "decode", note, is_focused, label_columns: 13 };
    context.draw_option(frame.buffer_mut(), row(area, line), option);
}

fn draw_patterns(step: &MediaStep, frame: &mut Frame, place: Rect, context: &DrawContext) {
    let typing = context.focused && step.stop() == FocusStop::Patterns;
    let style = if typing { context.ui.theme.accent } else { context.ui.theme.muted };
    draw_lines(frame.buffer_mut(), place, [Line::from(Span::styled("     patterns", style))]);
    let field = Rect { x: place.x.saturating_add(20), width: place.width.saturating_sub(21), ..place };
    step.form.patterns.draw(frame, field.intersection(place), typing, "*.jpg,*.png", context.ui);
}

/// Returns lines with the numbers of entries that would be inspected, or that could be.
fn counts(step: &MediaStep, answers: &Answers, columns: usize, context: &DrawContext) -> Vec<Line<'static>> {
    let ui = context.ui;
    let muted = |words: &str| Line::from(Span::styled(text::fit_end(words, columns, ui.glyphs), ui.theme.muted));
    if step.form.strategy == Strategy::None {
        let mut lines = match step.proposal(answers) {
            Some(words) => {
                let wrapped = text::wrap(&format!("{} {words}", ui.glyphs.arrow), columns).into_iter();
                wrapped.map(|l| Line::from(Span::styled(l, ui.theme.accent))).collect()
            }
            None => vec![muted("no part seen is a picture, a sound or a video by its name")],
        };
        if answers.is_update() {
            lines.push(muted("an update keeps what was recorded before"));
        }
        return lines;
    }
    if let Some(why) = step.form.blocking_reason() {
        return vec![muted(&why)];
    }
    let Some(seen) = step.current_tally() else { return vec![muted("looking")] };
    if step.matches_nothing(answers) {
        let words = format!("{} no entry seen is picked like this: no row would be recorded", ui.glyphs.warn);
        return text::wrap(&words, columns).into_iter().map(|l| Line::from(Span::styled(l, ui.theme.warn))).collect();
    }
    count_lines(seen, columns, ui)
}

fn probed(step: &MediaStep, columns: usize, height: usize, context: &DrawContext) -> Vec<Line<'static>> {
    match step.current_tally() {
        Some(seen) => probed_lines(seen, columns, height > 24, context.ui),
        None => Vec::new(),
    }
}
