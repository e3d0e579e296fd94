//! Distributions, drawn as bars.

use super::{split_bar, text};
use crate::tui::ui::Ui;
use gristmill_core::text::{bytes, grouped, percent};
use gristmill_ops::engine::jsonl::Lengths;
use gristmill_ops::engine::media::OTHERS;
use ratatui::text::{Line, Span};

/// Maximum number of length classes.
const MAX_CLASSES: usize = 9;

/// One class of a distribution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bar {
    /// The name of the class, not escaped.
    pub label: String,
    /// Number of items in the class.
    pub count: u64,
}

/// A distribution.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chart {
    /// The name of the counted items.
    pub title: String,
    /// A few figures, shown after the title, not escaped.
    pub note: String,
    /// Classes, in drawing order.
    pub bars: Vec<Bar>,
    /// The count of a full bar; 0 means that of the largest class.
    pub full_count: u64,
}

impl Chart {
    /// Returns a chart of names and counts; `None` if there are none.
    pub fn of(title: &str, counts: &[(String, u64)]) -> Option<Self> {
        let bars: Vec<Bar> = counts.iter().map(|(label, count)| Bar { label: label.clone(), count: *count }).collect();
        (!bars.is_empty()).then(|| Self { title: title.to_owned(), bars, ..Self::default() })
    }

    /// Returns a chart of lengths by powers of two; `None` if there are none. `unit` formats a length.
    pub fn of_lengths(title: &str, lengths: &Lengths, unit: Unit) -> Option<Self> {
        if lengths.count == 0 {
            return None;
        }
        let classes = lengths.bars();
        let (few, kept) = classes.split_at(classes.len().saturating_sub(MAX_CLASSES));
        let mut bars: Vec<Bar> = Vec::with_capacity(kept.len() + 1);
        if let (Some((low, _)), false) = (kept.first(), few.is_empty()) {
            // The shortest classes are combined: they are seldom frequent, and the others are more informative.
            let count = few.iter().map(|(_, count)| count).sum();
            bars.push(Bar { label: format!("under {}", unit.write(*low).replace(".0 ", " ")), count });
        }
        bars.extend(kept.iter().map(|(low, count)| Bar { label: unit.class(*low), count: *count }));
        let figures = [
            format!("{} to {}", unit.write(lengths.min), unit.write(lengths.max)),
            format!("mean {}", unit.write(lengths.mean().round() as u64)),
        ];
        Some(Self { title: title.to_owned(), note: figures.join(", "), bars, full_count: 0 })
    }

    /// Returns a chart of shares of `whole`: the fraction of all items that have each property.
    pub fn of_shares(title: &str, counts: &[(String, u64)], whole: u64) -> Option<Self> {
        Self::of(title, counts).map(|chart| Self { full_count: whole, ..chart })
    }

    /// Returns the chart as lines of at most `columns` columns: at most `most` classes, and a total for the rest.
    pub fn lines(&self, columns: usize, most: usize, style: usize, ui: &Ui) -> Vec<Line<'static>> {
        let title = Span::styled(text::fit_end(&self.title, columns, ui.glyphs), ui.theme.title);
        let note = |columns| {
            Span::styled(format!("  {}", text::fit_end(&plain(&self.note, ui), columns, ui.glyphs)), ui.theme.muted)
        };
        let room = columns.saturating_sub(title.width() + 2);
        let mut lines = match text::width(&text::safe(&self.note)) {
            needed if needed <= room => vec![Line::from(vec![title, note(room)])],
            _ => vec![Line::from(title), Line::from(note(columns.saturating_sub(2)))],
        };
        let all: u64 = self.bars.iter().map(|b| b.count).sum();
        let full =
            if self.full_count > 0 { self.full_count } else { self.bars.iter().map(|b| b.count).max().unwrap_or(0) };
        let base = if self.full_count > 0 { self.full_count } else { all };
        let shown = &self.bars[..self.bars.len().min(most)];
        let names: Vec<String> = shown.iter().map(|b| plain(&b.label, ui)).collect();
        let labels = names.iter().map(|n| text::width(n)).max().unwrap_or(0).min(columns / 3);
        let numbers = shown.iter().map(|b| grouped(b.count).len()).max().unwrap_or(1);
        let bar_columns = columns.saturating_sub(labels + numbers + 12);
        for (bar, name) in shown.iter().zip(&names) {
            let label = text::pad_end(&text::fit_middle(name, labels, ui.glyphs), labels);
            let drawn = split_bar(share(bar.count, full), bar_columns, ui.glyphs);
            let percent = percent(share(bar.count, base));
            lines.push(Line::from(vec![
                Span::raw(format!("  {label} ")),
                Span::styled(drawn, ui.theme.bar(style)),
                Span::raw(format!(" {}", text::pad_start(&grouped(bar.count), numbers))),
                Span::styled(text::pad_start(&percent, 8), ui.theme.muted),
            ]));
        }
        let rest = &self.bars[shown.len()..];
        if !rest.is_empty() {
            let counted: u64 = rest.iter().map(|b| b.count).sum();
            // The number of classes combined in `OTHERS` is unknown.
            let words = match rest.iter().any(|bar| bar.label == OTHERS) {
                true => format!("  and others: {}", grouped(counted)),
                false => format!("  and {} more: {}", grouped(rest.len() as u64), grouped(counted)),
            };
            lines.push(Line::from(Span::styled(text::fit_end(&words, columns, ui.glyphs), ui.theme.muted)));
        }
        lines
    }
}

/// Escapes a label or note; in ASCII mode also replaces the characters of sizes and ranges.
fn plain(label: &str, ui: &Ui) -> String {
    let label = text::safe(label);
    match ui.glyphs.ascii {
        true => label.replace('×', "x").replace('–', "-"),
        false => label,
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

/// The unit of lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Lengths in bytes.
    Bytes,
    /// Lengths in characters.
    Characters,
}

impl Unit {
    fn write(self, length: u64) -> String {
        match self {
            Self::Bytes => bytes(length),
            Self::Characters => grouped(length),
        }
    }

    /// Returns the label of the class of lengths from `low` up to twice that length.
    fn class(self, low: u64) -> String {
        let high = low.saturating_mul(2).saturating_sub(1);
        match (self, low) {
            (Self::Characters, 0 | 1) => low.to_string(),
            (Self::Characters, _) => format!("{}–{}", grouped(low), grouped(high)),
            (Self::Bytes, 0 | 1) => format!("{low} B"),
            (Self::Bytes, 2..512) => format!("{low}–{high} B"),
            // In the unit of the upper bound: `0.5–1 KiB`, `1–2 KiB`.
            (Self::Bytes, _) => {
                let end = bytes(high.saturating_add(1)).replace(".0 ", " ");
                let half = match end.split_once(' ') {
                    Some(("1", _)) => "0.5".to_owned(),
                    Some((number, _)) => number.parse::<u64>().map_or_else(|_| "?".to_owned(), |n| (n / 2).to_string()),
                    None => String::new(),
                };
                format!("{half}–{end}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::keymap::Keymap;
    use crate::tui::theme::{ColourMode, Glyphs, Theme};

    fn drawn(chart: &Chart, columns: usize, most: usize) -> Vec<String> {
        let (theme, glyphs, keymap) = (Theme::new(ColourMode::None), Glyphs::new(true), Keymap::default());
        let ui = Ui { theme: &theme, glyphs: &glyphs, keymap: &keymap, frame_count: 0 };
        chart.lines(columns, most, 0, &ui).iter().map(|l| l.to_string().trim_end().to_owned()).collect()
    }

    #[test]
    fn chart_shows_largest_classes_and_counts_the_rest() {
        let counts = [("JPEG", 75), ("PNG", 20), ("GIF", 4), ("BMP", 1)].map(|(n, c)| (n.to_owned(), c));
        let chart = Chart::of("formats", &counts).unwrap();
        let lines = drawn(&chart, 40, 2);
        assert_eq!(lines.len(), 4);
        assert!(lines[1].starts_with("  JPEG ####") && lines[1].ends_with("75  75.0 %"), "{lines:?}");
        assert!(lines[3].contains("and 2 more: 5"), "{lines:?}");
        let counts = [("1×1", 3), ("2×2", 2), ("others", 40)].map(|(n, c)| (n.to_owned(), c));
        let lines = drawn(&Chart::of("sizes", &counts).unwrap(), 40, 1);
        assert!(lines[2].contains("and others: 42"), "{lines:?}");
        assert_eq!(Chart::of("none", &[]), None);
    }

    #[test]
    fn chart_shares_are_of_the_total_and_lengths_have_class_labels() {
        let chart = Chart::of_shares("parts", &[("jpg".to_owned(), 50)], 100).unwrap();
        assert!(drawn(&chart, 60, 9)[1].ends_with("50  50.0 %"));
        let mut lengths = Lengths::default();
        [0, 1, 5, 900, 3000].into_iter().for_each(|n| lengths.add(n));
        let bytes = Chart::of_lengths("bytes", &lengths, Unit::Bytes).unwrap();
        let labels: Vec<&str> = bytes.bars.iter().filter(|b| b.count > 0).map(|b| b.label.as_str()).collect();
        assert_eq!(labels, ["under 8 B", "0.5–1 KiB", "2–4 KiB"]);
        assert_eq!(bytes.bars[0].count, 3);
        let text = Chart::of_lengths("text", &lengths, Unit::Characters).unwrap();
        assert!(text.bars.iter().any(|b| b.label == "2,048–4,095"));
        assert_eq!(text.note, "0 to 3,000, mean 781");
    }

    #[test]
    fn chart_draws_at_any_width_and_escapes_labels() {
        let chart = Chart::of("t", &[("a\u{1b}[31m".to_owned(), u64::MAX), ("b".to_owned(), 0)]).unwrap();
        for columns in 0..60 {
            assert!(drawn(&chart, columns, 5).iter().all(|l| !l.contains('\u{1b}')));
        }
    }
}
