//! Estimates the media metadata that the answers would record, from the entries read so far.

use crate::tui::screen::Ui;
use crate::tui::widgets::{split_bar, text};
use gristmill_core::media::{AvFacts, ImageFacts};
use gristmill_core::text::{count, grouped};
use gristmill_core::{DatasetFacts, MediaFacts, MediaPlan, MediaType};
use gristmill_data::formats::energon::media_json;
use gristmill_ops::engine::media::{forecast, MediaForecast};
use ratatui::text::{Line, Span};

/// Counts of the entries that would be inspected, with the facts of a few of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MediaTally {
    /// Kind (`jpg`, `by header: png`), media type, and number of entries.
    pub by_type: Vec<(String, MediaType, u64)>,
    /// Names of inspected entries, each with the facts that would be recorded, or the reason why there are none.
    pub probed: Vec<(String, Result<MediaFacts, String>)>,
    /// Number of entries that would be inspected.
    pub candidates: u64,
    /// Whether entries are still being counted.
    pub is_counting: bool,
}

impl MediaTally {
    /// Returns the tally for a WebDataset, computed from its facts and a few of its entries, which are read.
    pub fn of_facts(facts: &DatasetFacts, plan: &MediaPlan) -> Self {
        Self::of_outlook(&forecast(facts, plan), !facts.scan_complete)
    }

    /// Returns the tally for a forecast.
    pub fn of_outlook(found: &MediaForecast, is_counting: bool) -> Self {
        Self { by_type: found.by_type.clone(), probed: found.probed.clone(), candidates: found.candidates, is_counting }
    }
}

/// Returns the facts of an entry as text: `640×427 JPEG RGB`.
pub fn words_of(facts: &MediaFacts, ui: &Ui) -> String {
    let times = if ui.glyphs.ascii { "x" } else { "×" };
    match facts {
        MediaFacts::Image(ImageFacts { width, height, format, mode }) => {
            format!("{width}{times}{height} {format} {mode}")
        }
        MediaFacts::Av(av) => av_words(av, times, ui.glyphs.dot),
    }
}

fn av_words(av: &AvFacts, times: &str, dot: &str) -> String {
    let mut parts = Vec::new();
    if let (Some(width), Some(height)) = (av.video_width, av.video_height) {
        parts.push(format!("{width}{times}{height}"));
    }
    parts.extend(av.video_duration.map(|s| format!("{s:.2} s")));
    parts.extend(av.video_fps.map(|f| format!("{f:.4} fps").replace(".0000 ", " ")));
    parts.extend(av.video_num_frames.map(|n| count(n, "frame")));
    parts.extend(av.audio_duration.map(|s| format!("sound {s:.2} s")));
    parts.extend(av.audio_sample_rate.map(|r| format!("{} Hz", grouped(u64::from(r)))));
    parts.extend(av.audio_channels.map(|c| count(u64::from(c), "channel")));
    parts.join(&format!(" {dot} "))
}

/// Returns lines with the number of entries of each type, with bars.
pub fn count_lines(seen: &MediaTally, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let about = if seen.is_counting { "~" } else { "" };
    let so_far = if seen.is_counting { ", so far" } else { "" };
    let title = format!("Would be described{so_far}: {about}{}", count(seen.candidates, "entry"));
    let mut lines = vec![Line::from(Span::styled(text::fit_end(&title, columns, ui.glyphs), ui.theme.title))];
    let names = seen.by_type.iter().map(|(n, _, _)| text::width(&text::safe(n))).max().unwrap_or(0).clamp(4, 22);
    let bar_columns = columns.saturating_sub(names + 34).min(40);
    for (at, (name, media_type, rows)) in seen.by_type.iter().enumerate() {
        let share = *rows as f64 / seen.candidates.max(1) as f64;
        let kind = match media_type {
            MediaType::Image => "picture",
            MediaType::Av => "sound or video",
        };
        lines.push(Line::from(vec![
            Span::raw(format!("  {} ", text::pad_end(&text::fit_end(name, names, ui.glyphs), names))),
            Span::styled(split_bar(share, bar_columns, ui.glyphs), ui.theme.bar(at)),
            Span::raw(text::pad_start(&format!("{about}{}", grouped(*rows)), 13)),
            Span::styled(format!("  {kind}"), ui.theme.muted),
        ]));
    }
    lines
}

/// Returns lines with inspected entries, and the facts that would be recorded of each.
pub fn probed_lines(seen: &MediaTally, columns: usize, with_rows: bool, ui: &Ui) -> Vec<Line<'static>> {
    if seen.probed.is_empty() {
        return Vec::new();
    }
    let title = "Real entries, and what is recorded of them";
    let mut lines = vec![Line::from(Span::styled(title, ui.theme.title))];
    let widest = seen.probed.iter().map(|(n, _)| text::width(&text::safe(n))).max().unwrap_or(0);
    let names = widest.min(columns / 3).max(8);
    for (name, result) in &seen.probed {
        let name = text::pad_end(&text::fit_middle(name, names, ui.glyphs), names);
        let room = columns.saturating_sub(names + 4);
        let (words, style) = match result {
            Ok(facts) => (words_of(facts, ui), ui.theme.text),
            Err(why) => (format!("{} no row: {why}", ui.glyphs.cross), ui.theme.warn),
        };
        lines.push(Line::from(vec![
            Span::styled(format!("  {name}  "), ui.theme.muted),
            Span::styled(text::fit_end(&words, room, ui.glyphs), style),
        ]));
        if let (Ok(facts), true) = (result, with_rows) {
            let row = format!("    {} {}", facts.media_type().name(), media_json::to_json(facts));
            lines.push(Line::from(Span::styled(text::fit_end(&row, columns, ui.glyphs), ui.theme.muted)));
        }
    }
    lines
}
