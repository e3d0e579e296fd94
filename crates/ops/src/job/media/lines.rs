//! The printed lines of `prepare-media`, and the lines about media in other commands.

use super::{MediaPreview, MediaReport};
use crate::engine::media::MediaForecast;
use crate::job::prepare::MediaSummary;
use crate::job::report::{file_lines, problem_table, Report, ReportLine};
use gristmill_core::table::{Align, Table};
use gristmill_core::text::shell_quote;
use gristmill_core::text::{count, display_safe, duration, grouped};
use gristmill_core::{MediaType, Problem, ProblemKind, Severity};
use gristmill_data::formats::energon::media_json::to_json;

impl Report for MediaReport {
    fn lines(&self, _: bool) -> Vec<ReportLine> {
        let rest = format!(
            ": {} of {} in {}.",
            described(self.images, self.av),
            examined(self.entries),
            duration(self.elapsed)
        );
        let mut lines = vec![
            ReportLine::success(format!("Described media of {}", display_safe(&self.path)), rest),
            rows(self.rows_written, self.rows_in_all, self.stale).into(),
        ];
        if self.pruned > 0 {
            lines.push(format!("{} of entries that no longer exist removed.", count(self.pruned, "row")).into());
        }
        lines.extend(file_lines("Written", &self.files));
        lines.extend(problem_table(&self.counts));
        lines
    }

    crate::run_report!();

    fn next_command(&self) -> Option<String> {
        Some(format!("gristmill info {}", shell_quote(&self.path)))
    }
}

impl Report for MediaPreview {
    fn lines(&self, _: bool) -> Vec<ReportLine> {
        let first = format!("Would describe media of {}. Nothing was written.", display_safe(&self.path));
        let mut lines = vec![first.into()];
        lines.extend(outlook_lines(&self.outlook));
        if self.rows_before > 0 {
            let rows = count(self.rows_before, "row");
            lines.push(format!("{rows} there already; rows of the same entries are replaced.").into());
        }
        lines.extend(file_lines("Would be written", &self.files));
        lines
    }

    fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    fn findings(&self) -> (&[Problem], &[(Severity, ProblemKind, u64)]) {
        (&self.problems, &[])
    }
}

/// Returns the line about media in the report of `prepare`.
pub fn summary_line(media: &MediaSummary) -> String {
    let described = described(media.images, media.av);
    let rows = rows(media.rows_written, media.rows_in_all, media.stale);
    format!("Media: {described} of {}. {rows}", examined(media.entries))
}

/// Returns the lines about the entries that a filter would select.
pub fn outlook_lines(outlook: &MediaForecast) -> Vec<ReportLine> {
    let mut table = Table::new(&[("", Align::Right), ("", Align::Left), ("", Align::Left)]);
    for (name, media_type, entries) in &outlook.by_type {
        let what = match media_type {
            MediaType::Image => "picture",
            MediaType::Av => "sound or video",
        };
        table.row([grouped(*entries), display_safe(name).into_owned(), what.to_owned()]);
    }
    let heading = format!("{} would be looked at:", count(outlook.candidates, "entry"));
    let probed = outlook.probed.iter().map(|(name, result)| {
        let facts = match result {
            Ok(facts) => to_json(facts),
            Err(why) => format!("no row: {why}"),
        };
        ReportLine::plain(format!("  {}: {}", display_safe(name), display_safe(&facts)))
    });
    let head = [ReportLine::default(), ReportLine::heading(heading)];
    head.into_iter().chain(table.lines().into_iter().map(ReportLine::from)).chain(probed).collect()
}

fn described(images: u64, av: u64) -> String {
    format!(
        "{}, {}",
        count(images, "picture"),
        count(av, "sound or video").replace("sound or videos", "sounds or videos")
    )
}

fn examined(entries: u64) -> String {
    format!("{} looked at", count(entries, "entry"))
}

fn rows(written: u64, in_all: u64, stale: u64) -> String {
    let gone = if stale > 0 { format!(", {} of entries that no longer exist", grouped(stale)) } else { String::new() };
    format!("{} written; the database has {}{gone}.", count(written, "row"), grouped(in_all))
}
