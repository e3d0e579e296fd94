//! `prepare-media`: flags → plan → job → summary.

mod args;
mod facts;
mod summary;

pub use args::{filter, no_way, MediaArgs, PrepareMediaArgs};
pub use facts::spread_lines;
pub use summary::{outlook_lines, summary_line};

use super::context::Context;
use super::exit::{fields, Done, Finished};
use super::{paths, prepare, task};
use crate::tui::{recent, Start};
use gristmill_core::plan::PLAN_VERSION;
use gristmill_core::{MediaFilter, MediaPlan, Outcome, PrepareMediaPlan};
use gristmill_ops::engine::plan::{file, CommandLine};
use gristmill_ops::job::media::{preview, start, MediaReport};
use gristmill_storage::xdg;
use serde_json::{json, Map, Value};
use std::path::Path;

/// Describes the media of a data set or folder: by questions if they are allowed and no way is given, otherwise by the flags.
pub fn run(args: &PrepareMediaArgs, context: &Context) -> Finished {
    let path = paths::local(&args.path)?;
    let (filter, decode) = args.media.open_plan()?;
    let plan = |filter: MediaFilter| PrepareMediaPlan {
        version: PLAN_VERSION,
        path: path.clone(),
        media: MediaPlan { filter, decode },
        prune: args.prune,
        compat: context.globals.compat,
    };
    match filter {
        Some(filter) => execute(&plan(filter), context),
        None if context.may_ask() && !context.globals.dry_run => guided(&plan(MediaFilter::Extension), context),
        None => Err(no_way().into()),
    }
}

/// Asks how media are selected, on the full screen if the terminal supports it, otherwise by plain prompts; then runs the plan.
fn guided(plan: &PrepareMediaPlan, context: &Context) -> Finished {
    if !context.prefers_prompts() {
        return prepare::screen(Start::Media(Box::new(plan.clone())), context);
    }
    let Some(plan) = crate::prompt::media(plan, &context.run_options())? else {
        context.printer.line("Nothing was written.");
        return Ok(Done::ok(Map::new()));
    };
    execute(&plan, context)
}

/// Runs the plan with the global flags, and prints the summary.
pub fn execute(plan: &PrepareMediaPlan, context: &Context) -> Finished {
    if let Some(path) = &context.globals.save_plan {
        save_plan(plan, path)?;
        context.printer.say(format!("Plan written to {}.", prepare::summary::quoted(path)));
    }
    if context.globals.dry_run {
        return dry_run(plan, context);
    }
    recent::remember_now(&xdg::state_dir(), Path::new(&plan.path));
    let report = task::follow(start(plan.clone(), context.run_options())?, None, context)?;
    task::print_findings(&report.problems, &report.counts, context);
    for line in summary::of_report(plan, &report) {
        context.printer.say(line);
    }
    let findings = report.counts.iter().map(|(severity, kind, _)| (*severity, *kind));
    Ok(Done::with_findings(result(plan, &report), findings))
}

fn save_plan(plan: &PrepareMediaPlan, path: &Path) -> Outcome<()> {
    // The plan may be run from another folder.
    let mut plan = plan.clone();
    plan.path = prepare::absolute(&plan.path)?;
    prepare::write_plan(path, &file::media_to_yaml(&plan)?)
}

fn dry_run(plan: &PrepareMediaPlan, context: &Context) -> Finished {
    let preview = preview(plan, &context.run_options(), &context.signals.listen())?;
    for problem in prepare::summary::worth_a_line(&preview.problems, context.printer.is_verbose()) {
        context.printer.problem(problem);
    }
    for line in summary::of_preview(plan, &preview) {
        context.printer.line(line);
    }
    let mut result = fields(&preview);
    result.insert("dry_run".into(), json!(true));
    add_plan(plan, &mut result);
    Ok(Done::with_findings(result, preview.problems.iter().map(|p| (p.severity, p.kind))))
}

fn result(plan: &PrepareMediaPlan, report: &MediaReport) -> Map<String, Value> {
    let mut result = fields(report);
    result.insert("counts".into(), prepare::summary::counts_value(&report.counts));
    add_plan(plan, &mut result);
    result
}

fn add_plan(plan: &PrepareMediaPlan, result: &mut Map<String, Value>) {
    result.insert("plan".into(), serde_json::to_value(plan).unwrap_or(Value::Null));
    result.insert("equivalent_command".into(), json!(CommandLine::of_media(plan).text()));
}
