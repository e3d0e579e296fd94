//! `prepare FILE.jsonl`: no question is open, so none is asked.

use super::super::context::Context;
use super::super::end::Finished;
use super::super::prepare::direct::{begin, end, Told};
use super::super::prepare::summary;
use super::super::printer::{paint, Look};
use super::super::task::follow;
use super::flags::given;
use crate::engine::plan::shell_quote;
use crate::job::jsonl::{start, start_dry, JsonlReport};
use crate::model::text::{bytes, count, display_safe, duration};
use crate::model::{Failure, Outcome, PreparePlan, Subject};
use std::path::Path;

/// Indexes the file that a plan names. Under a drop-in name flags that mean nothing are noted, else they are refused.
pub fn prepare(plan: &PreparePlan, context: &Context) -> Finished {
    begin(plan, "a JSONL file", context)?;
    let path = Path::new(&plan.path);
    let dry = context.globals.dry_run;
    let options = context.run_options();
    let task = if dry { start_dry(path, options)? } else { start(path, options)? };
    let report = follow(task, None, context)?;
    let lines = lines(plan, &report, dry);
    let told = Told {
        problems: &report.problems,
        counts: &report.counts,
        is_idle: report.nothing_to_do,
        lines,
        command: command(plan),
    };
    Ok(end(plan, &report, told, context))
}

/// Refuses flags that mean nothing for `what`; under a drop-in name they are noted.
pub fn refuse_flags(plan: &PreparePlan, what: &str, context: &Context) -> Outcome<()> {
    let given = given(plan);
    let refuse = |flag: &str, why: &str| {
        let failure = match context.globals.drop_in {
            true => Failure::data("preparing", why),
            false => Failure::usage("preparing", why),
        };
        Err(failure.on(Subject::field(flag)).with_hint(format!("leave it out: {}", command(plan))))
    };
    if let Some(flag) = given.media.first() {
        return refuse(flag, &format!("{what} has no media metadata"));
    }
    match given.others.first() {
        None => Ok(()),
        Some(flag) if !context.globals.drop_in => refuse(flag, &format!("it means nothing for {what}")),
        Some(_) => {
            let verb = if given.others.len() == 1 { "changes" } else { "change" };
            let text = format!("{} {verb} nothing for {what}", given.others.join(", "));
            context.printer.warning(&text, None);
            Ok(())
        }
    }
}

fn command(plan: &PreparePlan) -> String {
    format!("gristmill prepare {}", shell_quote(&plan.path))
}

fn lines(plan: &PreparePlan, report: &JsonlReport, dry: bool) -> Vec<String> {
    let next = format!("{} gristmill info {}", paint(Look::Strong, "Next:"), shell_quote(&plan.path));
    let path = display_safe(&plan.path);
    let (samples, size) = (count(report.samples, "sample"), bytes(report.bytes));
    if report.nothing_to_do {
        let done = paint(Look::Good, "Nothing to do.");
        return vec![
            format!("{done} The index of {path} is there and right: {samples}, {size}. Nothing was written."),
            next,
        ];
    }
    let file = report.files.first().map_or_else(String::new, |file| {
        let how = if file.replaces { ", replacing an older one" } else { "" };
        format!("{} ({}{how})", display_safe(&file.name), bytes(file.bytes))
    });
    if dry {
        return vec![
            format!("Would index {path}: {samples}, {size}. Nothing was written."),
            format!("Would be written: {file}"),
            format!("{} {}", paint(Look::Strong, "The same by flags:"), command(plan)),
        ];
    }
    let done = paint(Look::Good, &format!("Indexed {path}"));
    let mut lines =
        vec![format!("{done}: {samples}, {size} in {}.", duration(report.elapsed)), format!("Written: {file}")];
    lines.extend(summary::count_lines(&report.counts));
    lines.push(next);
    lines
}
