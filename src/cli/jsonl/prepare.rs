//! `prepare FILE.jsonl`, which needs no questions.

use super::super::context::Context;
use super::super::exit::Finished;
use super::super::prepare::direct::{begin, end, Summary};
use super::super::prepare::summary;
use super::super::printer::{paint, Tone};
use super::super::task::follow;
use super::flags::given;
use crate::prompt::confirm;
use gristmill_core::text::{agree, bytes, count, display_safe, duration};
use gristmill_core::{Failure, Outcome, PreparePlan, Rerun, Subject};
use gristmill_ops::engine::plan::shell_quote;
use gristmill_ops::job::jsonl::{clean_path, look_plan, start_plan, JsonlReport};
use std::path::Path;

/// Indexes the file of a plan. Flags without effect are noted under a drop-in name, and refused otherwise.
pub fn prepare(plan: &PreparePlan, context: &Context) -> Finished {
    begin(plan, "a JSONL file", context)?;
    let dry = context.globals.dry_run;
    let options = context.run_options();
    let task = if dry { look_plan(plan, options)? } else { start_plan(plan, options)? };
    let report = match follow(task, None, context) {
        Err(stopped) if may_leave_out(plan, &stopped.failures, context)? => {
            return prepare(&PreparePlan { skip_bad_lines: true, ..plan.clone() }, context);
        }
        result => result?,
    };
    let lines = lines(plan, &report, dry);
    let told = Summary {
        problems: &report.problems,
        counts: &report.counts,
        is_idle: report.nothing_to_do,
        lines,
        command: command(plan),
    };
    Ok(end(plan, &report, told, context))
}

/// Asks, if questions are allowed, whether to skip the bad lines for which a run was refused.
fn may_leave_out(plan: &PreparePlan, failures: &[Failure], context: &Context) -> Outcome<bool> {
    let is_refusal = |failure: &&Failure| failure.hint.as_ref().is_some_and(|hint| hint.contains("--skip-bad-lines"));
    let Some(failure) = failures.iter().find(is_refusal) else { return Ok(false) };
    if plan.skip_bad_lines || context.globals.drop_in || context.globals.dry_run || !context.may_ask() {
        return Ok(false);
    }
    let copy = clean_path(Path::new(&plan.path));
    let why = display_safe(&failure.why).into_owned();
    confirm(&format!("{why}. Index a copy without them, {}?", display_safe(&copy.to_string_lossy())), false)
}

/// Refuses flags without effect on `what`; under a drop-in name they are noted.
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
            let verb = agree(given.others.len() as u64, "changes", "change");
            let text = format!("{} {verb} nothing for {what}", given.others.join(", "));
            context.printer.warning(&text, None);
            Ok(())
        }
    }
}

fn command(plan: &PreparePlan) -> String {
    let mut line = format!("gristmill prepare {}", shell_quote(&plan.path));
    if plan.skip_bad_lines {
        line = format!("{line} --skip-bad-lines");
        if plan.rerun == Rerun::Overwrite {
            line = format!("{line} --force-overwrite");
        }
    }
    line
}

fn lines(plan: &PreparePlan, report: &JsonlReport, dry: bool) -> Vec<String> {
    let indexed = match report.lines_left_out {
        0 => plan.path.clone(),
        _ => clean_path(Path::new(&plan.path)).to_string_lossy().into_owned(),
    };
    let next = format!("{} gristmill info {}", paint(Tone::Strong, "Next:"), shell_quote(&indexed));
    let path = display_safe(&indexed);
    let (samples, size) = (count(report.samples, "sample"), bytes(report.bytes));
    if report.nothing_to_do {
        let done = paint(Tone::Good, "Nothing to do.");
        return vec![
            format!("{done} The index of {path} is there and right: {samples}, {size}. Nothing was written."),
            next,
        ];
    }
    let files: Vec<String> = report
        .files
        .iter()
        .map(|file| {
            let how = if file.replaces { ", replacing an older one" } else { "" };
            format!("{} ({}{how})", display_safe(&file.name), bytes(file.bytes))
        })
        .collect();
    let file = files.join(", ");
    if dry {
        return vec![
            format!("Would index {path}: {samples}, {size}. Nothing was written."),
            format!("Would be written: {file}"),
            format!("{} {}", paint(Tone::Strong, "The same by flags:"), command(plan)),
        ];
    }
    let done = paint(Tone::Good, &format!("Indexed {path}"));
    let mut lines =
        vec![format!("{done}: {samples}, {size} in {}.", duration(report.elapsed)), format!("Written: {file}")];
    if report.lines_left_out > 0 {
        let verb = agree(report.lines_left_out, "is", "are");
        let left_out = count(report.lines_left_out, "bad line");
        lines.push(format!("{left_out} of {} {verb} left out; the file stays as it is.", display_safe(&plan.path)));
    }
    lines.extend(summary::count_lines(&report.counts));
    lines.push(next);
    lines
}
