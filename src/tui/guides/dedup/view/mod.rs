//! Draws the review of the form of dedup, and those of its steps that do not consist only of fields.

mod review;
mod steps;

pub(super) use review::review_lines;
pub(super) use steps::{draw_length, draw_source, mode_foot};

use crate::tui::screen::Ui;
use crate::tui::widgets::text;
use gristmill_core::text::{count, grouped};
use gristmill_ops::job::dedup::RepeatedPassage;
use ratatui::text::{Line, Span};

/// Returns the most repeated passages, one line each: number of copies, length, and beginning.
pub(in crate::tui) fn passage_lines(
    passages: &[RepeatedPassage],
    most: usize,
    columns: usize,
    ui: &Ui,
) -> Vec<Line<'static>> {
    let shown: Vec<(String, String)> = passages
        .iter()
        .take(most)
        .map(|passage| (format!("{} times", grouped(passage.count)), count(passage.length, "byte")))
        .collect();
    let widest = |pick: fn(&(String, String)) -> &String| shown.iter().map(|s| text::width(pick(s))).max().unwrap_or(0);
    let (times, sizes) = (widest(|s| &s.0), widest(|s| &s.1));
    let room = columns.saturating_sub(times + sizes + 6);
    let line = |(passage, (often, size)): (&RepeatedPassage, &(String, String))| {
        let words: Vec<&str> = passage.text.split_whitespace().collect();
        Line::from(vec![
            Span::raw(format!("  {}  ", text::pad_start(often, times))),
            Span::styled(format!("{}  ", text::pad_start(size, sizes)), ui.theme.muted),
            Span::styled(text::fit_end(&words.join(" "), room, ui.glyphs), ui.theme.accent),
        ])
    };
    passages.iter().zip(&shown).map(line).collect()
}
