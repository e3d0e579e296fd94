//! The facts that commands print about a data set: its name, one fact per line, the findings.

use super::context::Context;
use super::exit::Done;
use super::printer::{paint, Tone};
use gristmill_core::text::{display_safe, grouped};
use gristmill_core::{DatasetKind, Problem};
use serde_json::{json, Map, Value};
use std::path::Path;

/// Maximum number of files listed individually.
pub const MAX_LISTED: usize = 50;

/// Formats one fact.
pub fn item(name: &str, value: &str) -> String {
    format!("- {}: {}", paint(Tone::Strong, name), display_safe(value))
}

/// Formats the first line.
pub fn title(name: &str) -> String {
    paint(Tone::Strong, &format!("# {}", display_safe(name)))
}

/// Returns the first lines about a path.
pub fn head(path: &str, kind: &str) -> Vec<String> {
    vec![title(&name_of(path)), String::new(), item("path", path), item("kind", kind)]
}

/// Returns the last component of a path.
pub fn name_of(path: &str) -> String {
    Path::new(path).file_name().map_or_else(|| path.to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Returns the line after a list of the first [`MAX_LISTED`] of `files` files, if there are more.
pub fn more(files: usize) -> Option<String> {
    let more = files.checked_sub(MAX_LISTED).filter(|more| *more > 0)?;
    Some(format!("  … and {} more", grouped(more as u64)))
}

/// Prints facts and findings. The result is what `facts` serializes to, with path, kind and findings.
pub fn print_facts(
    (path, kind): (&str, DatasetKind),
    lines: Vec<String>,
    problems: &[Problem],
    mut result: Map<String, Value>,
    context: &Context,
) -> Done {
    for line in lines {
        context.printer.line(line);
    }
    for problem in problems {
        context.printer.problem(problem);
    }
    result.insert("path".into(), json!(path));
    result.insert("kind".into(), json!(kind));
    result.insert("problems".into(), json!(problems));
    Done::with_findings(result, problems.iter().map(|problem| (problem.severity, problem.kind)))
}

/// Formats a size with two decimals, as the reference program does here.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.2} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_two_decimals() {
        assert_eq!(size(1023), "1023 B");
        assert_eq!(size(1024), "1.00 KiB");
        assert_eq!(size(5 << 40), "5.00 TiB");
        assert_eq!(size(1_572_864), "1.50 MiB");
    }

    #[test]
    fn what_is_not_listed_is_counted() {
        assert_eq!(more(MAX_LISTED), None);
        assert_eq!(more(MAX_LISTED + 1_200).as_deref(), Some("  … and 1,200 more"));
    }
}
