//! The parts of the samples, by which some are chosen: how many samples have each, and its bytes.

use crate::tui::screen::Ui;
use crate::tui::widgets::layout::heading;
use crate::tui::widgets::{split_bar, text};
use gristmill_core::text::{bytes, count, display_safe};
use gristmill_ops::shard::examples::{PartShare, PartTally};
use ratatui::text::{Line, Span};

/// Parts that are shown.
const SHOWN_PARTS: usize = 8;
/// Columns of the figures of a part, and of its bar.
const FIGURE_COLUMNS: usize = 20;
const BAR_COLUMNS: usize = 10;

/// Returns the parts as lines, those that most samples have first.
pub(super) fn part_lines(tally: &PartTally, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let shares = tally.shares();
    if shares.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![heading(&format!("Parts of {}", count(tally.samples(), "sample")), ui)];
    let shown = shares.iter().take(SHOWN_PARTS);
    let widest = shown.clone().map(|share| text::width(&display_safe(&share.name))).max().unwrap_or_default();
    let room = columns.saturating_sub(FIGURE_COLUMNS + BAR_COLUMNS + 2).min(widest.max(4));
    lines.extend(shown.map(|share| part_line(share, tally.samples(), room, ui)));
    let more = shares.len().saturating_sub(SHOWN_PARTS) as u64 + tally.unlisted();
    if more > 0 {
        lines.push(Line::from(Span::styled(format!(" and {}", count(more, "more part")), ui.theme.muted)));
    }
    lines
}

fn part_line(part: &PartShare, samples: u64, room: usize, ui: &Ui) -> Line<'static> {
    let share = part.samples as f64 / samples.max(1) as f64;
    let name = text::pad_end(&text::fit_end(&display_safe(&part.name), room, ui.glyphs), room);
    let figures = format!(" {} {:>11} ", percent(part.samples, samples), bytes(part.bytes));
    Line::from(vec![
        Span::raw(format!(" {name}{figures}")),
        Span::styled(split_bar(share, BAR_COLUMNS, ui.glyphs), ui.theme.bar(0)),
    ])
}

/// Returns a share in percent, which is 100 and 0 of all and none only.
fn percent(part: u64, all: u64) -> String {
    let tenths = (part as f64 * 1_000.0 / all.max(1) as f64).round();
    match part {
        0 => format!("{:>7}", "0 %"),
        part if part == all => format!("{:>7}", "100 %"),
        _ => format!("{:>5.1} %", tenths.clamp(1.0, 999.0) / 10.0),
    }
}

#[cfg(test)]
mod tests {
    use super::percent;

    #[test]
    fn only_all_are_a_hundred_percent() {
        let shown = |part, all| percent(part, all).trim().to_owned();
        assert_eq!(shown(3, 3), "100 %");
        assert_eq!(shown(99_999, 100_000), "99.9 %");
        assert_eq!(shown(1, 100_000), "0.1 %");
        assert_eq!(shown(1, 2), "50.0 %");
    }
}
