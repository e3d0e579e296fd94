//! The printed summary of `prepare-media`, and the lines about media of other commands.

use crate::cli::prepare::summary::{count_lines, file_lines};
use crate::cli::printer::{paint, Tone};
use gristmill_core::table::{Align, Table};
use gristmill_core::text::{count, display_safe, duration, grouped};
use gristmill_core::{MediaType, PrepareMediaPlan};
use gristmill_ops::engine::media::MediaOutlook;
use gristmill_ops::engine::plan::{shell_quote, CommandLine};
use gristmill_ops::formats::energon::media_json::to_json;
use gristmill_ops::job::media::{MediaPreview, MediaReport};
use gristmill_ops::job::prepare::MediaSummary;

/// Returns the lines after a run.
pub fn of_report(plan: &PrepareMediaPlan, report: &MediaReport) -> Vec<String> {
    let done = format!("Described media of {}", display_safe(&plan.path));
    let mut lines = vec![format!(
        "{}: {} of {} in {}.",
        paint(Tone::Good, &done),
        described(report.images, report.av),
        looked_at(report.entries),
        duration(report.elapsed)
    )];
    lines.push(rows(report.rows_written, report.rows_in_all, report.stale));
    if report.pruned > 0 {
        lines.push(format!("{} of entries that are gone removed.", count(report.pruned, "row")));
    }
    lines.extend(file_lines("Written", &report.files));
    lines.extend(count_lines(&report.counts));
    lines.push(String::new());
    lines.push(same_by_flags(plan));
    lines.push(format!("{} gristmill info {}", paint(Tone::Strong, "Next:"), shell_quote(&plan.path)));
    lines
}

/// Returns the line of `prepare` about media.
pub fn summary_line(media: &MediaSummary) -> String {
    let described = described(media.images, media.av);
    let rows = rows(media.rows_written, media.rows_in_all, media.stale);
    format!("Media: {described} of {}. {rows}", looked_at(media.entries))
}

fn described(images: u64, av: u64) -> String {
    format!(
        "{}, {}",
        count(images, "picture"),
        count(av, "sound or video").replace("sound or videos", "sounds or videos")
    )
}

fn looked_at(entries: u64) -> String {
    format!("{} looked at", count(entries, "entry"))
}

fn rows(written: u64, in_all: u64, stale: u64) -> String {
    let gone = if stale > 0 { format!(", {} of entries that are gone", grouped(stale)) } else { String::new() };
    format!("{} written; the database has {}{gone}.", count(written, "row"), grouped(in_all))
}

/// Returns the lines of a dry run.
pub fn of_preview(plan: &PrepareMediaPlan, preview: &MediaPreview) -> Vec<String> {
    let mut lines = vec![format!("Would describe media of {}. Nothing was written.", display_safe(&plan.path))];
    lines.extend(outlook_lines(&preview.outlook));
    if preview.rows_before > 0 {
        lines.push(format!(
            "{} there already; rows of the same entries are replaced.",
            count(preview.rows_before, "row")
        ));
    }
    lines.extend(file_lines("Would be written", &preview.files));
    lines.push(String::new());
    lines.push(same_by_flags(plan));
    lines
}

fn same_by_flags(plan: &PrepareMediaPlan) -> String {
    format!("{} {}", paint(Tone::Strong, "The same by flags:"), CommandLine::of_media(plan).text())
}

/// Returns what a filter would select.
pub fn outlook_lines(outlook: &MediaOutlook) -> Vec<String> {
    let mut table = Table::new(&[("", Align::Right), ("", Align::Left), ("", Align::Left)]);
    for (name, media_type, entries) in &outlook.by_type {
        let what = match media_type {
            MediaType::Image => "picture",
            MediaType::Av => "sound or video",
        };
        table.row([grouped(*entries), display_safe(name).into_owned(), what.to_owned()]);
    }
    let heading = format!("{} would be looked at:", count(outlook.candidates, "entry"));
    let mut lines = vec![String::new(), paint(Tone::Strong, &heading)];
    lines.extend(table.lines());
    for (name, result) in &outlook.probed {
        let told = match result {
            Ok(facts) => to_json(facts),
            Err(why) => format!("no row: {why}"),
        };
        lines.push(format!("  {}: {}", display_safe(name), display_safe(&told)));
    }
    lines
}
