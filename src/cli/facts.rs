//! Prints the facts about a data set: its name, one fact per line, the findings.

use super::context::Context;
use super::exit::CommandSuccess;
use super::printer::{paint, Tone};
use super::report::painted;
use super::task::print_findings;
use gristmill_core::text::{display_safe, grouped};
use gristmill_core::{DatasetKind, Problem, ProblemKind, Severity};
use gristmill_ops::engine::check::DatasetInfo;
use gristmill_storage::files;
use serde_json::{json, Map, Value};
use std::collections::BTreeMap;
use std::path::Path;

/// Maximum number of files listed individually.
pub const MAX_LISTED: usize = 50;

/// Returns the line of one fact.
pub fn item(name: &str, value: &str) -> String {
    format!("- {}: {}", paint(Tone::Strong, &display_safe(name)), display_safe(value))
}

/// Returns the title line.
pub fn title(name: &str) -> String {
    paint(Tone::Strong, &format!("# {}", display_safe(name)))
}

/// Returns the first lines about a path.
pub fn head(path: &str, kind: &str) -> Vec<String> {
    vec![title(&name_of(path)), String::new(), item("path", path), item("kind", kind)]
}

/// Returns the last component of a path.
pub fn name_of(path: &str) -> String {
    let named = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let path = Path::new(path);
    named(path)
        .or_else(|| named(&files::canonicalize(path).ok()?))
        .unwrap_or_else(|| path.to_string_lossy().into_owned())
}

/// Returns the line that states how many entries of a list were omitted; `None` for 0.
pub fn unlisted_line(unlisted: u64) -> Option<String> {
    (unlisted > 0).then(|| format!("  … and {} more", grouped(unlisted)))
}

/// Prints the description of a data set.
pub fn print_info((path, kind): (&str, DatasetKind), info: DatasetInfo, context: &Context) -> CommandSuccess {
    let mut lines = head(path, kind.title());
    lines.extend(info.facts.iter().map(|(name, value)| item(name, value)));
    for list in info.lists.iter().filter(|list| !list.is_long && !list.rows.is_empty()) {
        lines.push(format!("- {}:", paint(Tone::Strong, &display_safe(&list.title))));
        lines.extend(list.rows.iter().map(|(name, value)| format!("  {}", item(name, value))));
        lines.extend(unlisted_line(list.unlisted));
    }
    let tree = info.tree.iter().cloned();
    lines.extend(tree.map(|line| painted(if context.globals.ascii { line.in_ascii() } else { line })));
    lines.extend(info.table.lines());
    lines.extend(unlisted_line(info.unlisted()));
    print_facts((path, kind), lines, &info.problems, info.result, context)
}

/// Prints facts and findings. The fields of the result object are those of `facts`, with path, kind and findings.
pub fn print_facts(
    (path, kind): (&str, DatasetKind),
    lines: Vec<String>,
    problems: &[Problem],
    mut result: Map<String, Value>,
    context: &Context,
) -> CommandSuccess {
    for line in lines {
        context.printer.line(line);
    }
    let mut counts: BTreeMap<(Severity, ProblemKind), u64> = BTreeMap::new();
    problems.iter().for_each(|problem| *counts.entry((problem.severity, problem.kind)).or_default() += 1);
    let counts: Vec<_> = counts.into_iter().map(|((severity, kind), number)| (severity, kind, number)).collect();
    match context.globals.json {
        true => problems.iter().for_each(|problem| context.printer.problem(problem)),
        false => print_findings(problems, &counts, context),
    }
    result.entry("name").or_insert_with(|| json!(name_of(path)));
    result.insert("path".into(), json!(path));
    result.insert("kind".into(), json!(kind));
    result.insert("problems".into(), json!(problems));
    CommandSuccess::with_findings(result, problems.iter().map(|problem| (problem.severity, problem.kind)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unlisted_rows_are_counted_in_last_line() {
        assert_eq!(unlisted_line(0), None);
        assert_eq!(unlisted_line(1_200).as_deref(), Some("  … and 1,200 more"));
    }
}
