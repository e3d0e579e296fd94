//! The description of a data set as lines of the page, with the same facts as the `info` command.

use crate::tui::screens::page::{PageLine, Tone};
use gristmill_core::report_line::LineTone;
use gristmill_core::text::grouped;
use gristmill_core::{Problem, Severity};
use gristmill_ops::engine::check::DatasetInfo;

/// Minimum width in columns of the names of facts.
const NAME_COLUMNS: usize = 16;

/// Returns the lines of a description.
pub fn lines(info: &DatasetInfo, is_ascii: bool) -> Vec<PageLine> {
    let mut lines = rows(info.facts.iter().map(|(name, value)| (*name, value.as_str())));
    // Problems come before lists and trees, which may be long.
    problems(&info.problems, &mut lines);
    for list in info.lists.iter().filter(|list| !list.rows.is_empty()) {
        heading(&mut lines, capitalized(&list.title));
        lines.extend(rows(list.rows.iter().map(|(name, value)| (name.as_str(), value.as_str()))));
        push_unlisted(list.unlisted, &mut lines);
    }
    for line in &info.tree {
        let line = if is_ascii { line.clone().in_ascii() } else { line.clone() };
        match line.tone {
            LineTone::Plain => lines.push(PageLine::new(Tone::Plain, line.lead + &line.rest)),
            LineTone::Success | LineTone::Strong => heading(&mut lines, line.lead + &line.rest),
        }
    }
    if !info.table.is_empty() {
        heading(&mut lines, "Contents");
        lines.extend(info.table.lines().into_iter().map(|line| PageLine::new(Tone::Plain, line)));
        push_unlisted(info.unlisted(), &mut lines);
    }
    lines
}

fn rows<'a>(rows: impl Iterator<Item = (&'a str, &'a str)> + Clone) -> Vec<PageLine> {
    let width = rows.clone().map(|(name, _)| name.chars().count() + 2).max().unwrap_or_default().max(NAME_COLUMNS);
    rows.map(|(name, value)| PageLine::labelled(Tone::Plain, format!("{name:<width$}"), value)).collect()
}

fn heading(lines: &mut Vec<PageLine>, text: impl Into<String>) {
    lines.push(PageLine::new(Tone::Plain, ""));
    lines.push(PageLine::new(Tone::Heading, text));
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn push_unlisted(unlisted: u64, lines: &mut Vec<PageLine>) {
    if unlisted > 0 {
        lines.push(PageLine::new(Tone::Muted, format!("and {} more", grouped(unlisted))));
    }
}

fn problems(problems: &[Problem], lines: &mut Vec<PageLine>) {
    if problems.is_empty() {
        return;
    }
    heading(lines, "Problems");
    for problem in problems {
        let tone = match problem.severity {
            Severity::Refusal => Tone::Error,
            Severity::Problem => Tone::Warn,
            Severity::Note => Tone::Muted,
        };
        lines.push(PageLine::new(tone, format!("! {problem}")));
        lines.extend(problem.hint.as_ref().map(|hint| PageLine::new(Tone::Muted, format!("  hint: {hint}"))));
    }
}
