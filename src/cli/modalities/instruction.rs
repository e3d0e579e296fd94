//! Preparation of instruction data on the command line.

use super::super::context::Context;
use super::super::exit::{fields, Done, Finished};
use super::super::prepare::summary;
use super::super::printer::{paint, Tone};
use super::super::task::{follow, print_findings};
use gristmill_core::text::{count, display_safe, duration};
use gristmill_ops::engine::modalities::instruction::Settings;
use gristmill_ops::job::modalities::start_instruction;
use gristmill_ops::job::report::counts_value;
use serde_json::json;
use std::path::Path;

/// Prepares data by a configuration file.
pub fn run(config: &Path, context: &Context) -> Finished {
    if context.globals.dry_run {
        return dry(config, context);
    }
    let task = start_instruction(config, context.globals.compat, context.globals.drop_in, context.run_options())?;
    let report = follow(task, Some("preparing"), context)?;
    print_findings(&report.problems, &report.counts, context);
    let done = paint(Tone::Good, &format!("Prepared {}", display_safe(&report.folder)));
    context.printer.say(format!("{done} in {}.", duration(report.elapsed)));
    for partition in &report.partitions {
        let (lines, tokens) = (count(partition.lines, "line"), count(partition.tokens, "token"));
        let packed = display_safe(&partition.packed);
        context.printer.say(format!("- {}: {lines}, {tokens}: {packed}", paint(Tone::Strong, partition.name)));
    }
    for line in summary::count_lines(&report.counts) {
        context.printer.say(line);
    }
    let mut result = fields(&report);
    result.insert("counts".into(), counts_value(&report.counts));
    Ok(Done::with_findings(result, report.counts.iter().map(|(severity, kind, _)| (*severity, *kind))))
}

/// Reports what would be written.
fn dry(config: &Path, context: &Context) -> Finished {
    let settings = Settings::read(config)?;
    let files: Vec<String> =
        settings.partitions().into_iter().map(|partition| settings.lines(partition).display().to_string()).collect();
    context
        .printer
        .line("Would be written, each with its index, its packed file and its configuration. Nothing was written.");
    for file in &files {
        context.printer.line(format!("- {}", display_safe(file)));
    }
    Ok(Done::ok(fields(json!({ "dry_run": true, "folder": settings.folder(), "files": files }))))
}
