//! The leak check: workers examine every shard of a split, then their results are merged.

#[cfg(test)]
mod tests;

use super::pool::run_units;
use super::report::{Report, RunFindings};
use super::task::{Task, TaskContext};
use super::Phase;
use crate::engine::leaks::{LeakOptions, LeakSearch, Leaks, RecordBuffer, ShardTotals, SplitLayout};
use gristmill_core::text::{display_safe, hint_for};
use gristmill_core::{Failure, Mutex, Outcome, Problem, ProblemKind, ProblemSink as _, RunOptions, Subject};
use gristmill_storage::fs::Fs;
use gristmill_storage::scratch::Scratch;
use serde::Serialize;
use std::path::Path;
use std::sync::Arc;

/// Result of a check. The leaks are its result, not problems of the run; see [`Leaks::certain_count`].
#[derive(Clone, Debug, Serialize)]
pub struct LeakReport {
    /// Whether contents were compared, in addition to names.
    pub content: bool,
    /// Counts of the compared shards, samples and contents.
    #[serde(flatten)]
    pub compared: ShardTotals,
    /// Bytes that were read.
    pub bytes: u64,
    /// The leaks found.
    #[serde(flatten)]
    pub found: Leaks,
    /// Problems, notes and time of the run.
    #[serde(flatten)]
    pub findings: RunFindings,
}

impl Report for LeakReport {
    crate::run_report!(; findings);
}

/// Searches for leaks in the background. `layout` contains the splits of the shards and the excludes, so that unwritten edits can be
/// checked. Only writes scratch files, through `fs`.
pub fn start(
    root: &Path,
    layout: SplitLayout,
    leaks: LeakOptions,
    options: RunOptions,
    fs: Arc<dyn Fs>,
) -> Outcome<Task<LeakReport>> {
    let root = root.to_path_buf();
    Task::start("leaks", options, fs, move |context| run(&root, &layout, leaks, context))
}

/// Fails if nothing was compared, because the data must not be reported as free of leaks.
fn check_compared(root: &Path, compared: &ShardTotals, parts: &[String], context: &TaskContext) -> Outcome<()> {
    let missing: Vec<String> = compared.missing(parts).map(|part| format!("`{}`", display_safe(part))).collect();
    if !missing.is_empty() {
        let why = format!("no sample has a part {}", missing.join(" or "));
        let failure = Failure::usage("comparing contents", why).on(Subject::path(root));
        return Err(failure.with_hint(hint_for(root, "gristmill info PATH lists the parts")));
    }
    if compared.contents == 0 {
        let message = "no part is large enough to be compared on its own, so that only names were compared";
        let problem = Problem::note(ProblemKind::MatchesNothing, Subject::path(root), message);
        context.problems.report(problem.with_hint("--smallest-part 1 compares every part"))?;
    }
    Ok(())
}

fn run(root: &Path, layout: &SplitLayout, leaks: LeakOptions, context: &TaskContext) -> Outcome<LeakReport> {
    context.phase(Phase::Open, "opening the data set");
    super::recover::recover_interrupted(root, &*context.problems)?;
    let (content, parts) = (leaks.content, leaks.parts.clone());
    let search = LeakSearch::open(root, layout, leaks)?;
    let (units, bytes) = (search.units(), search.bytes());
    let scratch = Scratch::create(context.options.scratch.as_deref())?;
    let threads = context.options.threads.max(1).min(units.len().max(1));
    let memory = usize::try_from(context.options.memory_bytes).unwrap_or(usize::MAX) / threads;
    let new_buffer = |number| search.buffer(Arc::clone(&context.fs), scratch.path(), number, memory);
    // A worker takes a buffer for each shard and returns it, so there are no more buffers than workers.
    let buffers: Mutex<Vec<RecordBuffer>> = Mutex::new((0..threads).map(new_buffer).collect());
    let taking = if content { "reading the shards" } else { "reading the names" };
    context.phase_of(Phase::Scan, "shard", taking);
    context.progress.expect(units.len() as u64, bytes);
    let taken = run_units(&units, threads, &context.cancel, |unit| {
        let free = buffers.lock().pop();
        let mut buffer = free.ok_or_else(|| {
            gristmill_core::Failure::environment("comparing the splits", "a worker of it panicked")
                .with_hint("please report it with the output of `gristmill bug-report`")
        })?;
        let taken = search.add_shard(*unit, &mut buffer, &context.handles());
        buffers.lock().push(buffer);
        taken
    })?;
    let mut compared = ShardTotals::default();
    taken.into_iter().for_each(|shard| compared.add(shard));
    if content && compared.samples > 0 {
        check_compared(root, &compared, &parts, context)?;
    }
    let bytes = context.progress.read().bytes_done;
    context.phase_of(Phase::Tables, "record", "comparing the splits");
    let mut buffers = buffers.into_inner();
    buffers.sort_by_key(RecordBuffer::number);
    let found = search.finish(buffers, &*context.fs, scratch.path(), &context.options, &context.handles())?;
    Ok(LeakReport { content, compared, bytes, found, findings: context.run_findings() })
}
