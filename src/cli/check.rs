//! Runs a check with progress, and prints its findings.

use super::context::Context;
use super::exit::{CommandResult, CommandSuccess};
use super::printer::{paint, Tone};
use super::progress::ProgressView;
use super::report;
use super::task::print_findings;
use gristmill_core::text::{bytes, count};
use gristmill_core::{Handles, Outcome, ProblemLog, Progress, Severity};
use gristmill_ops::engine::check::tokens::Vocabulary;
use gristmill_ops::engine::check::{CheckReport, CheckTexts};
use gristmill_ops::job::report::counts_value;
use gristmill_ops::job::{poll, JobState, JobStatus, Phase};
use gristmill_tokenizer::Tokenizer;
use serde_json::json;
use std::time::{Duration, Instant};

/// Returns the vocabulary of a tokenizer, with which ids are compared.
pub fn vocabulary(name: &str) -> Outcome<Vocabulary> {
    let facts = Tokenizer::load_unproven(name)?.facts();
    Ok(Vocabulary { name: name.to_owned(), greatest: facts.greatest_id })
}

/// Runs a check with progress, and prints its findings.
pub fn checked(
    context: &Context,
    words: CheckTexts,
    work: impl FnOnce(&Handles<'_>) -> Outcome<CheckReport> + Send,
) -> CommandResult {
    let cancel = context.signals.cancel_on_signal();
    let (progress, log) = (Progress::default(), ProblemLog::new(context.globals.strict));
    let handles = Handles { progress: &progress, cancel: &cancel, problems: &log };
    let mut view = ProgressView::named(context, "checking");
    let start = Instant::now();
    // Some checks read the files several times; the progress must not decrease.
    let mut most = 0.0_f64;
    let look = || {
        let mut status = status(&progress, words.item, start);
        most = status.share.map_or(most, |share| share.max(most));
        status.share = status.share.map(|_| most);
        view.update(&status);
    };
    let result = poll::watched(|| work(&handles), look);
    view.finish();
    let mut problems = log.to_vec();
    // Shards are checked in parallel; the order of the list must not depend on timing.
    problems.sort_by(|a, b| {
        (&a.subject.shard, a.subject.byte_offset, &a.subject.path).cmp(&(
            &b.subject.shard,
            b.subject.byte_offset,
            &b.subject.path,
        ))
    });
    let counts = log.counts();
    for line in result.iter().flat_map(|report| report.lines.iter().cloned()) {
        context.printer.line(report::painted(if context.globals.ascii { line.in_ascii() } else { line }));
    }
    print_findings(&problems, &counts, context);
    let CheckReport { checked, covered, mut result, .. } = result?;
    let covered = covered.unwrap_or_else(|| {
        let shards = words.shards.map(|word| count(checked.shards, word));
        let size = (checked.bytes > 0).then(|| bytes(checked.bytes));
        [shards, Some(count(checked.samples, words.counted)), size].into_iter().flatten().collect::<Vec<_>>().join(", ")
    });
    let of = |least: Severity| counts.iter().filter(|(severity, ..)| *severity >= least).map(|(.., n)| n).sum::<u64>();
    let verdict = match (of(Severity::Refusal), of(Severity::Problem)) {
        (0, 0) => paint(Tone::Success, "No problem found"),
        (0, problems) => paint(Tone::Warning, &format!("{} found", count(problems, "problem"))),
        (places, _) => paint(Tone::Warning, &format!("The loader stops at {}", count(places, "place"))),
    };
    context.printer.line(format!("{verdict} in {covered}."));
    for line in report::problem_table(&counts) {
        context.printer.print_status(line);
    }
    result.insert("problems".into(), json!(problems));
    result.insert("counts".into(), counts_value(&counts));
    result.insert("elapsed_seconds".into(), json!(start.elapsed().as_secs_f64()));
    Ok(CommandSuccess::with_findings(result, counts.iter().map(|(severity, kind, _)| (*severity, *kind))))
}

fn status(progress: &Progress, item: &'static str, start: Instant) -> JobStatus {
    let reading = progress.read();
    let elapsed = start.elapsed();
    let rate = reading.bytes_done as f64 / elapsed.as_secs_f64().max(0.001);
    let left = reading.bytes_total.saturating_sub(reading.bytes_done) as f64 / rate.max(1.0);
    let is_shown = elapsed > Duration::from_secs(3) && reading.bytes_done > 0 && left < 1e9;
    JobStatus {
        item,
        phase: Phase::Scan,
        progress: reading,
        elapsed,
        share: reading.fraction().map(|share| share.min(0.999)),
        remaining: is_shown.then(|| Duration::from_secs_f64(left)),
        bytes_per_second: rate,
        ..JobStatus::ended(JobState::Running)
    }
}
