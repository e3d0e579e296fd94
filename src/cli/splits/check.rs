//! `splits check`: checks for errors in the file, and for leaks between the splits.

use super::super::context::Context;
use super::super::exit::{fields, CommandResult, CommandSuccess};
use super::super::printer::{paint, Tone};
use super::super::report;
use super::super::task::{print_findings, run_with_progress};
use super::args::CheckArgs;
use super::exclude::has_sample_tables;
use super::open;
use gristmill_core::table::{Align, Table};
use gristmill_core::text::shell_quote;
use gristmill_core::text::{agree, bytes, count, display_safe, grouped};
use gristmill_core::{Failure, Outcome, Problem, ProblemKind, Severity, Subject};
use gristmill_ops::engine::leaks::{Leak, LeakKind, LeakLocation, LeakOptions, LeakRepair, SplitLayout};
use gristmill_ops::engine::splits::{check_items, SplitEditor};
use gristmill_ops::job::leaks::{start, LeakReport};
use gristmill_storage::files;
use gristmill_storage::fs::RealFs;
use gristmill_storage::publish::write_file;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;

/// Maximum number of listed leaks per kind without `-v`.
const MAX_LISTED_LEAKS: usize = 10;
/// Maximum number of listed places of a leak.
const MAX_LISTED_PLACES: usize = 4;

/// Checks the splits and prints the findings.
pub(super) fn run(args: &CheckArgs, context: &Context) -> CommandResult {
    let mut editor = open(&args.path)?;
    if let Some(path) = &args.excludes_to {
        refuse_existing(path)?;
    }
    if !editor.unchecked_items().is_empty() && has_sample_tables(editor.root())? {
        let checked = check_items(editor.root(), &editor.unchecked_items(), &context.signals.cancel_on_signal())?;
        editor.take_checked(checked);
    }
    let problems = editor.problems();
    let options = LeakOptions {
        content: args.content,
        parts: args.part.clone(),
        smallest_part: args.smallest_part.unwrap_or(LeakOptions::default().smallest_part),
    };
    let task = start(editor.root(), SplitLayout::of(&editor), options, context.run_options(), Arc::new(RealFs))?;
    let report = run_with_progress(task, Some("comparing"), context)?;
    for problem in report::select_printed_problems(&problems, context.printer.is_verbose()) {
        context.printer.problem(problem);
    }
    for note in problems.iter().filter(|problem| problem.severity == Severity::Note) {
        context.printer.note(note);
    }
    print_findings(&report.findings.problems, &report.findings.counts, context);
    for line in lines(&editor, &report, context) {
        context.printer.line(line);
    }
    let mut result = fields(&report);
    let all: Vec<&Problem> = problems.iter().chain(&report.findings.problems).collect();
    if let Some(path) = &args.excludes_to {
        let items = items(&report);
        if items.is_empty() {
            context.printer.print_status(nothing_written(path));
        } else {
            write_items(path, &items)?;
            context.printer.print_status(written(&editor, path, items.len()));
        }
        result.insert("excludes_written".into(), json!(items.len()));
    }
    result.insert("path".into(), json!(editor.root()));
    result.insert("problems".into(), json!(all));
    let leaks = (report.found.certain_count() > 0).then_some((Severity::Problem, ProblemKind::Leak));
    let found = all.iter().map(|problem| (problem.severity, problem.kind));
    let counted = report.findings.counts.iter().map(|(severity, kind, _)| (*severity, *kind));
    Ok(CommandSuccess::with_findings(result, found.chain(counted).chain(leaks).collect::<Vec<_>>()))
}

fn lines(editor: &SplitEditor, report: &LeakReport, context: &Context) -> Vec<String> {
    let mut lines = Vec::new();
    let most = if context.printer.is_verbose() { usize::MAX } else { MAX_LISTED_LEAKS };
    for count in &report.found.counts {
        lines.push(heading(count.kind, count.leaks));
        let listed = report.found.leaks.iter().filter(|leak| leak.kind == count.kind).take(most);
        let before = lines.len();
        lines.extend(listed.map(leak_line));
        let more = count.leaks - (lines.len() - before) as u64;
        if more > 0 {
            lines.push(format!("  and {} more", grouped(more)));
        }
    }
    if report.found.common_names > 0 {
        let look = agree(report.found.common_names, "looks like a number and was", "look like numbers and were");
        let names = count(report.found.common_names, "name");
        lines.push(format!("{names} that many folders share {look} ignored."));
    }
    if !report.found.between.is_empty() {
        let mut table = Table::new(&[("between", Align::Left), ("", Align::Left), ("leaks", Align::Right)]);
        for pair in &report.found.between {
            let [a, b] = &pair.splits;
            table.row([display_safe(a).into_owned(), display_safe(b).into_owned(), grouped(pair.leaks)]);
        }
        lines.extend(table.lines());
    }
    if let Some(line) = repair_line(editor, report) {
        lines.push(line);
    }
    lines.push(verdict(report));
    lines
}

fn heading(kind: LeakKind, leaks: u64) -> String {
    let number = grouped(leaks);
    match kind {
        LeakKind::Name => {
            format!("{}: {number}, in different folders; the contents may differ", paint(Tone::Strong, kind.title()))
        }
        _ => format!("{} in two splits: {number}", paint(Tone::Warning, kind.title())),
    }
}

fn leak_line(leak: &Leak) -> String {
    let places: Vec<String> = leak.places.iter().take(MAX_LISTED_PLACES).map(place).collect();
    let more = leak.more + leak.places.len().saturating_sub(MAX_LISTED_PLACES) as u64;
    let more = if more > 0 { format!(" and {} more", grouped(more)) } else { String::new() };
    format!("  {}{more}", places.join(" = "))
}

fn place(place: &LeakLocation) -> String {
    let mut text = place.shard.to_string();
    if let Some(key) = &place.key {
        text.push_str(&format!("/{key}"));
    }
    if let Some(part) = &place.part {
        text.push_str(&format!(" ({part})"));
    }
    format!("{} [{}]", display_safe(&text), display_safe(&place.split))
}

fn verdict(report: &LeakReport) -> String {
    let of = format!("{} of {}", count(report.compared.samples, "sample"), count(report.compared.shards, "shard"));
    let how = match report.content {
        true if report.compared.contents == 0 => "names compared, contents not".to_owned(),
        true => format!("{} compared, {} read", count(report.compared.contents, "content"), bytes(report.bytes)),
        false => "names compared; --content compares what is in them".to_owned(),
    };
    let found = match report.found.certain_count() {
        0 => paint(Tone::Success, "No leak found"),
        n => paint(Tone::Warning, &format!("{} found", count(n, "leak"))),
    };
    format!("{found} in {of} ({how}).")
}

/// Returns a line with the command that ends the first leak.
fn repair_line(editor: &SplitEditor, report: &LeakReport) -> Option<String> {
    let path = shell_quote(&editor.root().to_string_lossy());
    let repair = report.found.leaks.iter().filter(|leak| leak.kind.is_sure()).find_map(|leak| leak.repairs.first())?;
    let command = match repair {
        LeakRepair::Exclude { items, .. } => {
            let items: Vec<String> = items.iter().map(|item| shell_quote(item)).collect();
            format!("exclude {path} {}", items.join(" "))
        }
        LeakRepair::Move { shard, to } => format!("move {path} {} --to {}", shell_quote(shard), shell_quote(to)),
    };
    let next = paint(Tone::Strong, "To end the first:");
    Some(format!("{next} gristmill splits {command}\n  for all of them --excludes-to FILE writes a list for splits exclude --from"))
}

/// Returns the exclude items that end each certain leak by keeping it in its largest split.
fn items(report: &LeakReport) -> Vec<&str> {
    let sure = report.found.leaks.iter().filter(|leak| leak.kind.is_sure());
    let mut items: Vec<&str> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for leak in sure {
        let first = leak.repairs.iter().find_map(|repair| match repair {
            LeakRepair::Exclude { items, .. } => Some(items),
            LeakRepair::Move { .. } => None,
        });
        items.extend(first.into_iter().flatten().map(String::as_str).filter(|item| seen.insert(*item)));
    }
    items
}

fn refuse_existing(path: &Path) -> Outcome<()> {
    if files::try_is_taken(path)? {
        return Err(Failure::usage("writing the excludes", "the file exists already")
            .on(Subject::path(path))
            .with_hint("give the name of a new file"));
    }
    Ok(())
}

fn write_items(path: &Path, items: &[&str]) -> Outcome<()> {
    let mut text = String::from("# excludes that end the leaks found by gristmill splits check\n");
    for item in items.iter().filter(|item| !item.contains(['\n', '\r'])) {
        text.push_str(item);
        text.push('\n');
    }
    write_file(&RealFs, path, text.as_bytes(), 0o644)
}

fn nothing_written(path: &Path) -> String {
    let path = path.to_string_lossy();
    format!("{} is not written: no leak that was found ends by an exclude.", display_safe(&path))
}

fn written(editor: &SplitEditor, path: &Path, items: usize) -> String {
    let (root, file) = (editor.root().to_string_lossy(), path.to_string_lossy());
    format!(
        "{} written to {}. {} gristmill splits exclude {} --from {}",
        count(items as u64, "exclude"),
        display_safe(&file),
        paint(Tone::Strong, "Next:"),
        shell_quote(&root),
        shell_quote(&file)
    )
}
