//! Runs a complete plan: the job, its progress, its end.

use super::super::context::Context;
use super::super::exit::{fields, Done, Finished, Stopped};
use super::super::progress::ProgressView;
use super::super::task::report_earlier_problems;
use super::summary;
use crate::tui::recent;
use gristmill_core::{Cancel, Failure, Outcome, PreparePlan, Problem, ProblemKind, Rerun, Severity, Subject};
use gristmill_ops::engine::dataset;
use gristmill_ops::engine::plan::{inherited, validate};
use gristmill_ops::job::prepare::{preview, PrepareJob, PrepareReport};
use gristmill_ops::job::report::{counts_value, Report};
use gristmill_ops::job::scan::LiveScan;
use gristmill_ops::job::times;
use gristmill_ops::operations::prepare::{
    command_line, command_line_after_run, difference_lines, PreparePreview, PrepareResult,
};
use gristmill_ops::operations::{erase, is_plan, Prepare};
use gristmill_storage::fs::RealFs;
use gristmill_storage::publish::write_file;
use gristmill_storage::read::read_whole;
use gristmill_storage::xdg;
use serde_json::{json, Map, Value};
use std::path::Path;
use std::time::Duration;

/// Interval at which the progress of the job is read.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Runs the plan with the global flags, and prints the summary.
pub fn execute(plan: PreparePlan, scan: Option<LiveScan>, context: &Context) -> Finished {
    if scan.is_none() {
        super::fields::try_fields(&plan, context)?;
    }
    if let Some(path) = &context.globals.save_plan {
        refuse_answers(&plan)?;
        save_plan(&plan, path)?;
        context.printer.say(format!("Plan written to {}.", summary::quoted(path)));
    }
    if context.globals.dry_run {
        return dry_run(&plan, context);
    }
    let differences =
        if plan.rerun == Rerun::Update { differences(&plan, context.run_options().threads) } else { Vec::new() };
    let finished = PrepareResult { path: plan.path.clone(), report: work(&plan, scan, context)? };
    let report = &finished.report;
    for problem in summary::worth_a_line(&report.problems, context.printer.is_verbose()) {
        context.printer.problem(problem);
    }
    if let Some(more) = summary::not_shown(&report.problems, &report.counts, context.printer.is_verbose()) {
        context.printer.progress_line(more);
    }
    report_notes(&report.problems, context);
    if !report.nothing_to_do {
        difference_lines(&differences).into_iter().for_each(|line| context.printer.say(summary::painted(line)));
    }
    for line in summary::of_report(&plan, &finished) {
        context.printer.say(line);
    }
    let mut result = result(&plan, &finished);
    if report.nothing_to_do {
        report_earlier_problems(&report.problems, &report.counts, context, &mut result);
    }
    let findings =
        report.counts.iter().filter(|(_, _, count)| *count > 0).map(|(severity, kind, _)| (*severity, *kind));
    Ok(Done::with_findings(result, findings))
}

/// Returns the changes an update makes, one line each, determined by names and sizes alone.
///
/// Empty if the data set cannot be opened: the run reports that, after completing an interrupted run.
fn differences(plan: &PreparePlan, threads: usize) -> Vec<String> {
    let opened = times::open(Path::new(&plan.path), threads, &Cancel::default());
    opened.map(|opened| preview(plan, &opened.facts).differences).unwrap_or_default()
}

/// Prints the notes that are shown even without `-v`.
pub fn report_notes(problems: &[Problem], context: &Context) {
    let (told, more) = summary::shown_notes(problems);
    for note in told {
        context.printer.note(note);
    }
    if let Some(more) = more {
        context.printer.progress_line(more);
    }
}

/// Runs the job and shows its progress until it ends.
pub fn work(plan: &PreparePlan, scan: Option<LiveScan>, context: &Context) -> Outcome<PrepareReport> {
    let stop = context.signals.listen();
    recent::remember_now(&xdg::state_dir(), Path::new(&plan.path));
    let job = PrepareJob::start(plan.clone(), context.run_options(), scan)?;
    let mut view = ProgressView::new(context);
    let mut asked = false;
    view.update(&job.status());
    while !job.ends_within(POLL_INTERVAL) {
        if stop.is_cancelled() && !asked {
            asked = true;
            job.cancel();
            context.printer.progress_line("stopping; once more ends at once");
        }
        view.update(&job.status());
    }
    view.finish();
    job.wait()
}

/// Refuses answers that are wrong before any shard is read, so that no plan is saved that cannot run.
fn refuse_answers(plan: &PreparePlan) -> Result<(), Vec<Failure>> {
    let facts = dataset::open(Path::new(&plan.path)).map_err(|failure| vec![failure])?.facts;
    let plan = inherited(plan, facts.prepared.as_ref());
    let refused: Vec<Failure> = validate(&plan, &facts)
        .into_iter()
        .filter(|problem| problem.severity == Severity::Refusal && problem.kind != ProblemKind::AlreadyPrepared)
        .map(Problem::into_failure)
        .collect();
    if refused.is_empty() {
        Ok(())
    } else {
        Err(refused)
    }
}

/// Writes a plan for `gristmill run` with an absolute path, since it may be run from another folder.
pub fn save_plan(plan: &PreparePlan, path: &Path) -> Outcome<()> {
    write_plan(path, &erase::<Prepare>(plan.clone()).to_yaml()?)
}

/// Maximum size in bytes of a plan file.
const MAX_PLAN_BYTES: u64 = 64 << 20;

/// Writes a plan to `path`, replacing an earlier plan. A file that is not a plan is kept, and is a usage failure.
pub fn write_plan(path: &Path, yaml: &str) -> Outcome<()> {
    let is_free = match std::fs::symlink_metadata(path) {
        Ok(facts) if facts.is_dir() => false,
        Ok(facts) if facts.len() > 0 => {
            let there = read_whole(path, MAX_PLAN_BYTES).ok().flatten().unwrap_or_default();
            std::str::from_utf8(&there).is_ok_and(is_plan)
        }
        _ => true,
    };
    if !is_free {
        let failure = Failure::usage("saving the plan", "there is something else of this name, which is no plan");
        return Err(failure.on(Subject::path(path)).with_hint("choose another name"));
    }
    write_file(&RealFs, path, yaml.as_bytes(), 0o644)
}

/// Prints what would be done.
fn dry_run(plan: &PreparePlan, context: &Context) -> Finished {
    let preview = PreparePreview::scan(plan, &context.run_options(), &context.signals.listen())?;
    let problems = preview.findings().0;
    for problem in summary::worth_a_line(problems, context.printer.is_verbose()) {
        if problem.severity < Severity::Refusal {
            context.printer.problem(problem);
        }
    }
    report_notes(problems, context);
    let result = preview_result(plan, &preview);
    let refusals: Vec<&Problem> = problems.iter().filter(|p| p.severity == Severity::Refusal).collect();
    if !refusals.is_empty() {
        let failures = refusals.into_iter().cloned().map(Problem::into_failure).collect();
        return Err(Stopped { failures, result });
    }
    for line in summary::of_preview(plan, &preview) {
        context.printer.line(line);
    }
    Ok(Done::with_findings(result, problems.iter().map(|p| (p.severity, p.kind))))
}

fn preview_result(plan: &PreparePlan, preview: &PreparePreview) -> Map<String, Value> {
    let mut result = fields(preview.to_json());
    result.insert("dry_run".into(), json!(true));
    let line = command_line(plan);
    if !line.files.is_empty() {
        let files = line.files.iter().map(|(name, text)| (name.clone(), json!(text)));
        result.insert("equivalent_files".into(), Value::Object(files.collect()));
    }
    add_plan(plan, line.text(), &mut result);
    result
}

fn result(plan: &PreparePlan, finished: &PrepareResult) -> Map<String, Value> {
    let mut result = fields(&finished.report);
    result.insert("counts".into(), counts_value(&finished.report.counts));
    add_plan(plan, command_line_after_run(plan), &mut result);
    result
}

fn add_plan(plan: &PreparePlan, command: String, result: &mut Map<String, Value>) {
    result.insert("plan".into(), serde_json::to_value(plan).unwrap_or(Value::Null));
    result.insert("equivalent_command".into(), json!(command));
}
