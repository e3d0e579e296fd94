//! Two sliders for the maximum size of a shard: in samples, and in bytes.

use super::inputs::plan_of;
use crate::tui::form::Form;
use crate::tui::screen::Ui;
use crate::tui::widgets::layout::heading;
use crate::tui::widgets::{range_bar, split_bar, text};
use gristmill_core::text::{bytes, count, exact_size, grouped};
use gristmill_core::ShardPlan;
use gristmill_ops::shard::{ranges_of, ShardReport};
use ratatui::text::{Line, Span};

/// Values of the sliders.
const COUNTS: [u64; 13] =
    [100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000];
const MIB: u64 = 1 << 20;
const SIZES: [u64; 11] = [
    16 * MIB,
    32 * MIB,
    64 * MIB,
    128 * MIB,
    256 * MIB,
    512 * MIB,
    1_024 * MIB,
    2_048 * MIB,
    4_096 * MIB,
    8_192 * MIB,
    16_384 * MIB,
];
/// Number of shards above which file systems and stores become slow.
const MANY_SHARDS: u64 = 10_000;
/// Width of the name of a slider, in columns; the next constants are the width of its value and the maximum width of its bar.
const NAME_COLUMNS: usize = 9;
const VALUE_COLUMNS: usize = 11;
const MAX_SLIDER_COLUMNS: usize = 24;

/// The limit that a slider sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slider {
    /// Maximum number of samples of a shard.
    Count,
    /// Maximum number of bytes of a shard.
    Size,
}

impl Slider {
    /// Returns the sliders that apply to a plan.
    pub(super) fn of_plan(plan: &ShardPlan) -> Vec<Self> {
        let division = &plan.division;
        match (division.shards, division.even) {
            (Some(_), _) => Vec::new(),
            (None, true) => vec![Self::Count],
            (None, false) => vec![Self::Count, Self::Size],
        }
    }

    fn values(self) -> &'static [u64] {
        match self {
            Self::Count => &COUNTS,
            Self::Size => &SIZES,
        }
    }

    fn value(self, plan: &ShardPlan) -> u64 {
        match self {
            Self::Count => plan.division.max_count,
            Self::Size => plan.division.max_size,
        }
    }

    /// Moves the slider to the next or previous value.
    pub(super) fn step(self, form: &mut Form, is_next: bool) {
        let (values, now) = (self.values(), self.value(&plan_of(form)));
        let next = match is_next {
            true => values.iter().find(|value| **value > now),
            false => values.iter().rev().find(|value| **value < now),
        };
        let Some(next) = next.copied() else { return };
        let text = if self == Self::Count { next.to_string() } else { exact_size(next) };
        form.type_into(self.option(), &text);
    }

    /// Returns the option that it sets.
    pub(super) fn option(self) -> &'static str {
        match self {
            Self::Count => "max-count",
            Self::Size => "max-size",
        }
    }

    /// Returns the slider as a line.
    pub(super) fn line(self, plan: &ShardPlan, columns: usize, ui: &Ui) -> Line<'static> {
        let (values, now) = (self.values(), self.value(plan));
        let position = values.partition_point(|value| *value < now);
        let share = position as f64 / (values.len() - 1).max(1) as f64;
        let (name, value) = match self {
            Self::Count => ("samples", grouped(now)),
            Self::Size => ("bytes", gristmill_core::text::bytes(now)),
        };
        let room = columns.saturating_sub(NAME_COLUMNS + VALUE_COLUMNS + 1).min(MAX_SLIDER_COLUMNS);
        Line::from(vec![
            Span::raw(text::pad_end(name, NAME_COLUMNS)),
            Span::styled(range_bar(share, Some(1.0), room, ui.glyphs), ui.theme.bar(0)),
            Span::raw(text::pad_start(&value, VALUE_COLUMNS)),
        ])
    }
}

/// Returns the approximate number of shards as text, from the samples and bytes of the last preview.
pub(super) fn estimate(plan: &ShardPlan, samples: u64, bytes: u64) -> String {
    let division = &plan.division;
    let by_count = samples.div_ceil(division.max_count.max(1));
    let by_size = if division.even { 0 } else { bytes.div_ceil(division.max_size.max(1)) };
    format!("about {}", count(division.shards.unwrap_or(by_count.max(by_size)), "shard"))
}

/// Returns the number of shards, a histogram of their sizes, and a line about too many.
pub(super) fn shard_lines(report: &ShardReport, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let amount = format!("{} of {}", count(report.shards, "shard"), bytes(report.bytes));
    let mut lines = vec![heading(&amount, ui)];
    for range in ranges_of(report.files.iter().map(|file| file.bytes)) {
        let share = range.count as f64 / report.shards.max(1) as f64;
        let (from, to) = (bytes(range.from), bytes(range.to));
        let words = if from == to { from } else { format!("{from} to {to}") };
        let words = text::pad_start(&words, 24);
        let room = columns.saturating_sub(24 + 10);
        lines.push(Line::from(vec![
            Span::raw(format!("{words} ")),
            Span::styled(split_bar(share, room, ui.glyphs), ui.theme.bar(0)),
            Span::raw(text::pad_start(&grouped(range.count), 8)),
        ]));
    }
    let (share, words, style) = match report.shards > MANY_SHARDS {
        true => (1.0, "more than 10,000 shards are slow".to_owned(), ui.theme.warn),
        false => {
            let words = format!("{} of at most 10,000 shards", grouped(report.shards));
            (report.shards as f64 / MANY_SHARDS as f64, words, ui.theme.muted)
        }
    };
    let bar = split_bar(share, columns.saturating_sub(34).min(12), ui.glyphs);
    lines.push(Line::from(vec![Span::styled(bar, style), Span::raw(" "), Span::styled(words, style)]));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_shards_follows_the_smaller_limit() {
        let mut plan = ShardPlan::default();
        assert_eq!(estimate(&plan, 200_000, 1_000_000_000), "about 20 shards");
        assert_eq!(estimate(&plan, 200_000, 90_000_000_000), "about 30 shards");
        plan.division.even = true;
        assert_eq!(estimate(&plan, 200_000, 90_000_000_000), "about 20 shards");
        plan.division.shards = Some(7);
        assert_eq!(estimate(&plan, 200_000, 90_000_000_000), "about 7 shards");
        assert!(Slider::of_plan(&plan).is_empty());
    }
}
