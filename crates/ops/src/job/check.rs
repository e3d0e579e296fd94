//! Runs `lint` and `verify` with several threads, one unit per shard.

use super::pool::run_units;
use super::times;
use crate::engine::check::media::{self, Depth};
use crate::engine::check::single::{single_shard_info, SingleShardInfo};
use crate::engine::check::tables::{CheckUnit, TableCheck};
use crate::engine::check::{lint, verify, CheckCounts, LintOptions};
use gristmill_core::{Handles, Outcome, Problem, ProblemKind, ProblemSink, RunOptions, Severity, ShardId};
use gristmill_data::source::documents::table_files;
use gristmill_storage::fs::RealFs;
use gristmill_storage::location::threads_for;
use gristmill_storage::scratch::Scratch;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Runs `lint`. Findings are reported to the handles, in no fixed order among shards. Fails if the data set is not prepared.
pub fn run_lint(root: &Path, options: &LintOptions, threads: usize, handles: &Handles<'_>) -> Outcome<CheckCounts> {
    let context = lint::begin(root, options, handles)?;
    let prepared = &context.prepared;
    let bytes = if options.headers { prepared.bytes() } else { 0 };
    let checked = each_shard(prepared.shard_count(), bytes, threads_for(root, threads), handles, |id| {
        lint::lint_shard(&context, id, handles)
    })?;
    lint::finish(&context, handles)?;
    Ok(checked)
}

/// Checks a file or a folder of tables. With `is_deep`, decodes all rows as well. Findings are reported to the handles.
pub fn run_tables(path: &Path, is_deep: bool, threads: usize, handles: &Handles<'_>) -> Outcome<CheckCounts> {
    let check = TableCheck::new(is_deep);
    let units = TableCheck::units(path, handles)?;
    let bytes = units.iter().map(CheckUnit::bytes).sum();
    let done = each_unit(&units, (units.len() as u64, bytes), threads, handles, |unit| {
        let done = check.run(unit, handles);
        handles.progress.add(1, 0);
        done
    })?;
    check.finish(path, handles)?;
    Ok(CheckCounts { shards: table_files(path)?.len() as u64, ..done })
}

/// Scans a single shard. Returns `None` if the path is not a shard. Findings are reported to the handles.
pub fn run_single_shard(path: &Path, options: &RunOptions, handles: &Handles<'_>) -> Outcome<Option<SingleShardInfo>> {
    let scratch = Scratch::create(options.scratch.as_deref())?;
    let memory = usize::try_from(options.memory_bytes / 4).unwrap_or(usize::MAX);
    single_shard_info(path, &RealFs, scratch.path(), memory, handles)
}

/// Runs `verify`. Findings are reported to the handles, in no fixed order among shards. Fails if the data set is not prepared.
pub fn run_verify(root: &Path, threads: usize, handles: &Handles<'_>) -> Outcome<CheckCounts> {
    let sink = FindingCounter { inner: handles.problems, any: AtomicBool::new(false) };
    let handles = &Handles { problems: &sink, ..*handles };
    let prepared = verify::begin(root, handles)?;
    let states = times::states(&prepared);
    let threads = threads_for(root, threads);
    let checked = each_shard(prepared.shard_count(), prepared.bytes(), threads, handles, |id| {
        verify::verify_shard(&prepared, id, handles)
    })?;
    if !sink.any.load(Ordering::Relaxed) {
        times::record(root, states, handles.problems)?;
    }
    Ok(checked)
}

/// Passes problems on and records whether any of them is more severe than a note.
struct FindingCounter<'a> {
    inner: &'a dyn ProblemSink,
    any: AtomicBool,
}

impl ProblemSink for FindingCounter<'_> {
    fn report(&self, problem: Problem) -> Outcome<()> {
        if problem.severity > Severity::Note {
            self.any.store(true, Ordering::Relaxed);
        }
        self.inner.report(problem)
    }
    fn count_more(&self, severity: Severity, kind: ProblemKind, number: u64) {
        if severity > Severity::Note {
            self.any.store(true, Ordering::Relaxed);
        }
        self.inner.count_more(severity, kind, number);
    }
}

/// Checks the rows of a folder of media, in slices.
pub fn run_media(root: &Path, depth: Depth, threads: usize, handles: &Handles<'_>) -> Outcome<CheckCounts> {
    let slices = media::folder_slices(root, handles)?;
    handles.progress.restart(slices.iter().map(|slice| slice.rows).sum(), 0);
    let done = run_units(&slices, threads, handles.cancel, |slice| media::check_files(root, slice, depth, handles))?;
    Ok(CheckCounts { samples: done.into_iter().sum(), ..CheckCounts::default() })
}

fn each_shard(
    shards: u32,
    bytes: u64,
    threads: usize,
    handles: &Handles<'_>,
    check: impl Fn(ShardId) -> Outcome<CheckCounts> + Sync,
) -> Outcome<CheckCounts> {
    let ids: Vec<ShardId> = (0..shards).map(ShardId).collect();
    each_unit(&ids, (u64::from(shards), bytes), threads, handles, |id| check(*id))
}

/// Checks all units. `items` and `bytes` are the totals of the progress.
pub(crate) fn each_unit<T: Sync>(
    units: &[T],
    (items, bytes): (u64, u64),
    threads: usize,
    handles: &Handles<'_>,
    check: impl Fn(&T) -> Outcome<CheckCounts> + Sync,
) -> Outcome<CheckCounts> {
    handles.progress.restart(items, bytes);
    let done = run_units(units, threads, handles.cancel, check)?;
    let mut all = CheckCounts::default();
    done.into_iter().for_each(|checked| all.add(checked));
    Ok(all)
}
