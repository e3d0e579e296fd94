//! The effects of the answers about order and media: the time of a shuffle, and the contents of each set.

use crate::tui::screen::Ui;
use crate::tui::widgets::layout::heading;
use crate::tui::widgets::page::wrapped;
use gristmill_core::text::{about, bytes, count, display_safe, grouped};
use gristmill_core::ShardPlan;
use gristmill_ops::shard::examples::{PartShare, PartTally};
use gristmill_ops::shard::sample::is_media;
use gristmill_ops::shard::sample_types::is_part_written;
use gristmill_ops::shard::ShardReport;
use ratatui::text::Line;
use std::time::Duration;

/// Measured ratio of the times of a shuffled and an ordered copy, on storage without seek times.
const SHUFFLED_FACTOR: f64 = 1.3;
/// Time of a seek on a rotating disk, in seconds.
const SECONDS_PER_SEEK: f64 = 0.008;

/// Returns lines with the times of the ordered and the shuffled copy.
pub(super) fn order_lines(report: &ShardReport, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let Some(seconds) = report.seconds else { return Vec::new() };
    let time = |seconds: f64| about(Duration::from_secs_f64(seconds));
    let seeks = time(seconds + report.samples as f64 * SECONDS_PER_SEEK);
    let samples = count(report.samples, "sample");
    let words = [
        format!("as it is: {}, each input is read from its start to its end", time(seconds)),
        format!(
            "shuffled: {}; on rotating disks, which seek for each of {samples}, {seeks}",
            time(seconds * SHUFFLED_FACTOR)
        ),
    ];
    let lines = words.iter().flat_map(|words| wrapped(words, columns, ui.theme.text));
    std::iter::once(heading("Time", ui)).chain(lines).collect()
}

/// Returns lines with the contents of both sets if media are written to a set of their own.
pub(super) fn media_lines(tally: &PartTally, plan: &ShardPlan, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let shares: Vec<PartShare> = tally.shares().into_iter().filter(|part| is_part_written(plan, &part.name)).collect();
    if shares.is_empty() {
        return Vec::new();
    }
    let set = |title: &str, wanted: bool| {
        let parts: Vec<&PartShare> = shares.iter().filter(|part| is_media(&part.name) == wanted).collect();
        let names: Vec<_> = parts.iter().map(|part| display_safe(&part.name)).collect();
        let (number, size): (u64, u64) =
            (parts.iter().map(|part| part.samples).sum(), parts.iter().map(|part| part.bytes).sum());
        match parts.is_empty() {
            true => format!("{title}: nothing"),
            false => format!("{title}: {} parts of {}, {}", grouped(number), bytes(size), names.join(" ")),
        }
    };
    let words = [set("media", true), set("the rest", false)];
    let lines = words.iter().flat_map(|words| wrapped(words, columns, ui.theme.text));
    let title = if plan.apart.media_to.is_some() { "Each set holds" } else { "With --media-to, each set would hold" };
    std::iter::once(heading(title, ui)).chain(lines).collect()
}
