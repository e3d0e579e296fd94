//! The engine's facts about packed tokens as lines of the page: the same facts as the `info` command prints.

use super::lines::{heading, item, problems};
use crate::tui::screens::page::{PageLine, Tone};
use gristmill_core::text::{bytes, count, grouped};
use gristmill_core::Problem;
use gristmill_ops::engine::check::mixture_index::MixtureFacts;
use gristmill_ops::engine::check::DatasetInfo;
use gristmill_ops::tokens::packed_formats::FormatFacts;

/// Maximum number of files listed.
const MAX_FILES: usize = 50;

/// Returns the lines for tokens in one format.
pub fn of_format(info: &DatasetInfo) -> Vec<PageLine> {
    let width = info.facts.iter().map(|(name, _)| name.len() + 2).max().unwrap_or_default();
    let fact = |(name, value): &(&str, String)| PageLine::labelled(Tone::Plain, format!("{name:<width$}"), value);
    let mut lines: Vec<PageLine> = info.facts.iter().map(fact).collect();
    problems(&info.problems, &mut lines);
    if !info.table.is_empty() {
        heading(&mut lines, "Files");
        lines.extend(info.table.lines().into_iter().map(|line| PageLine::new(Tone::Plain, line)));
        push_unlisted(info.unlisted(), &mut lines);
    }
    lines
}

/// Returns the lines for tokens packed in several formats.
pub fn formats(formats: &[FormatFacts], found: &[Problem]) -> Vec<PageLine> {
    let mut lines: Vec<PageLine> = formats
        .iter()
        .map(|format| {
            let files = count(format.files, "file");
            item(format.format, format!("{files}, {}, {}", bytes(format.bytes), format.state))
        })
        .collect();
    problems(found, &mut lines);
    lines
}

/// Returns the lines for the index of a mixture.
pub fn mixture(facts: &MixtureFacts) -> Vec<PageLine> {
    let mut lines = vec![
        item("samples", grouped(facts.samples)),
        item("data sets", grouped(facts.datasets.len() as u64)),
        item("size", bytes(facts.bytes)),
    ];
    let row = |(number, samples): (&u64, &u64)| (format!("data set {number}"), count(*samples, "sample"));
    push_list(facts.datasets.iter().map(row), facts.datasets.len(), &mut lines);
    lines
}

fn push_list(files: impl Iterator<Item = (String, String)>, all: usize, lines: &mut Vec<PageLine>) {
    heading(lines, "Files");
    lines.extend(
        files.take(MAX_FILES).map(|(name, facts)| PageLine::labelled(Tone::Plain, format!("{name}  "), &facts)),
    );
    push_unlisted(all.saturating_sub(MAX_FILES) as u64, lines);
}

fn push_unlisted(unlisted: u64, lines: &mut Vec<PageLine>) {
    if unlisted > 0 {
        lines.push(PageLine::new(Tone::Muted, format!("and {} more", grouped(unlisted))));
    }
}
