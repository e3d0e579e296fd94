//! `prepare META.yaml`, which needs no questions.

use super::super::context::Context;
use super::super::exit::Finished;
use super::super::prepare::direct::{begin, end, Summary};
use super::super::prepare::summary;
use super::super::printer::{paint, Tone};
use super::super::task::follow;
use gristmill_core::text::{bytes, count, display_safe, duration};
use gristmill_core::PreparePlan;
use gristmill_ops::engine::plan::shell_quote;
use gristmill_ops::job::metadataset::{start, start_dry, JoinReport, MetadatasetReport};
use std::path::Path;

/// Writes the join indexes of the metadataset of a plan.
pub fn prepare(plan: &PreparePlan, context: &Context) -> Finished {
    begin(plan, "a metadataset", context)?;
    let path = Path::new(&plan.path);
    let dry = context.globals.dry_run;
    let options = context.run_options();
    let task = if dry { start_dry(path, plan.compat, options)? } else { start(path, plan.compat, options)? };
    let report = follow(task, None, context)?;
    let lines = lines(plan, &report, dry);
    let compat = if plan.compat { " --compat" } else { "" };
    let command = format!("gristmill prepare {}{compat}", shell_quote(&plan.path));
    let told =
        Summary { problems: &report.problems, counts: &report.counts, is_idle: report.nothing_to_do, lines, command };
    Ok(end(plan, &report, told, context))
}

fn lines(plan: &PreparePlan, report: &MetadatasetReport, dry: bool) -> Vec<String> {
    let path = display_safe(&plan.path);
    let next = format!("{} gristmill mix check {}", paint(Tone::Strong, "Next:"), shell_quote(&plan.path));
    let mut lines: Vec<String> = report.joins.iter().map(join).collect();
    if report.joins.is_empty() {
        let done = paint(Tone::Good, "Nothing to do.");
        let splits = count(report.splits, "split");
        lines.push(format!("{done} {path} has {splits} and no join. All its members were opened."));
    } else if report.nothing_to_do {
        let done = paint(Tone::Good, "Nothing to do.");
        lines.push(format!("{done} The join indexes of {path} are there and right. Nothing was written."));
    } else if dry {
        lines.push("Nothing was written.".to_owned());
    } else {
        let done = paint(Tone::Good, &format!("Prepared {path}"));
        lines.push(format!("{done}: {} in {}.", count(report.joins.len() as u64, "join"), duration(report.elapsed)));
    }
    for file in &report.files {
        let how = if file.replaces { ", replacing an older one" } else { "" };
        let verb = if dry { "Would be written" } else { "Written" };
        lines.push(format!("{verb}: {} ({}{how})", display_safe(&file.name), bytes(file.bytes)));
    }
    lines.extend(report.removed.iter().map(|name| format!("Removed: {}, of no join any more", display_safe(name))));
    lines.extend(summary::count_lines(&report.counts));
    lines.push(next);
    lines
}

fn join(join: &JoinReport) -> String {
    let split = display_safe(&join.split);
    let mut line = format!("{split}: {} joined of {}", count(join.rows, "sample"), count(join.samples, "sample"));
    if join.skipped > 0 {
        line.push_str(&format!(", {} left out", count(join.skipped, "sample")));
    }
    for (member, rows) in &join.filled {
        line.push_str(&format!(", {} without {}", count(*rows, "sample"), display_safe(member)));
    }
    line
}
