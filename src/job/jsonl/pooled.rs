//! Ranges of a file scanned by several threads and put together in order, as soon as all before are done.

use crate::engine::jsonl::{index_unit, units, Counts, Merge};
use crate::job::pool::run_units;
use crate::model::{Cancel, Failure, Handles, Outcome, ProblemKind, RunOptions, Subject};
use crate::source::jsonl::{Unit, UnitLines};
use crate::storage::read::{stamp_at, ReadFile};
use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often a thread that waits for its turn looks whether it was asked to stop.
const LOOK: Duration = Duration::from_millis(50);

/// Scans a file and hands the bytes of its index to `sink`, in order. A file that changed meanwhile is a failure.
pub(super) fn scan(
    file: &ReadFile,
    options: &RunOptions,
    handles: &Handles<'_>,
    sink: impl FnMut(&[u8]) -> Outcome<()> + Send,
) -> Outcome<Counts> {
    scan_counted(file, options, handles, sink).map(|(counts, _)| counts)
}

/// [`scan`], and how many line ends come before each of the [`units`].
pub(super) fn scan_counted(
    file: &ReadFile,
    options: &RunOptions,
    handles: &Handles<'_>,
    sink: impl FnMut(&[u8]) -> Outcome<()> + Send,
) -> Outcome<(Counts, Vec<u64>)> {
    scan_ranges(file, units(file.len(), options.threads, options.memory_bytes), options.threads, handles, sink)
}

pub(super) fn scan_ranges(
    file: &ReadFile,
    ranges: Vec<Unit>,
    threads: usize,
    handles: &Handles<'_>,
    sink: impl FnMut(&[u8]) -> Outcome<()> + Send,
) -> Outcome<(Counts, Vec<u64>)> {
    let failed = |error: &std::io::Error| Failure::io("opening", file.path(), error);
    let before = file.stamp().map_err(|error| failed(&error))?;
    let line = Line {
        inner: Mutex::new(Waiting { merge: Merge::new(sink), next: 0, early: BTreeMap::new(), line_ends: Vec::new() }),
        moved: Condvar::new(),
        room: threads.max(1) + 1,
    };
    let numbered: Vec<(usize, Unit)> = ranges.into_iter().enumerate().collect();
    run_units(&numbered, threads, handles.cancel, |(number, unit)| {
        line.wait_for_room(*number, handles.cancel)?;
        let lines = index_unit(file, *unit, &mut Vec::new(), handles.progress, handles.cancel)?;
        line.hand_in(*number, lines)
    })?;
    let Waiting { merge, line_ends, .. } = line.inner.into_inner().unwrap_or_else(PoisonError::into_inner);
    let counts = merge.finish(file.len())?;
    handles.progress.add(1, 0);
    let now = file.stamp().map_err(|error| failed(&error))?;
    let there = stamp_at(file.path());
    let why = match there {
        _ if now != before || now.bytes != file.len() => "it was written to while it was read",
        Err(_) => "it vanished while it was read",
        Ok(there) if there.inode != now.inode => "another file took its place while it was read",
        Ok(_) => return Ok((counts, line_ends)),
    };
    let problem = crate::model::Problem::problem(ProblemKind::ChangedDuringScan, Subject::path(file.path()), why);
    let problem = problem.with_hint("wait until nobody writes to it, then run again");
    let mut failure = problem.clone().into_failure();
    "reading the lines".clone_into(&mut failure.what);
    handles.problems.report(problem)?;
    Err(failure)
}

/// Where finished ranges stand in line.
struct Line<S> {
    inner: Mutex<Waiting<S>>,
    moved: Condvar,
    /// How many ranges may be begun or waiting at once.
    room: usize,
}

struct Waiting<S> {
    merge: Merge<S>,
    /// The range whose turn it is.
    next: usize,
    early: BTreeMap<usize, UnitLines>,
    /// Before each range taken so far.
    line_ends: Vec<u64>,
}

impl<S: FnMut(&[u8]) -> Outcome<()>> Line<S> {
    fn inner(&self) -> MutexGuard<'_, Waiting<S>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until few enough ranges stand in line. The one whose turn it is never waits, so the line always moves.
    fn wait_for_room(&self, number: usize, cancel: &Cancel) -> Outcome<()> {
        let mut inner = self.inner();
        while number >= inner.next + self.room {
            cancel.check()?;
            inner = self.moved.wait_timeout(inner, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(())
    }

    /// Puts a range in line, and takes out all whose turn has come.
    fn hand_in(&self, number: usize, lines: UnitLines) -> Outcome<()> {
        let mut inner = self.inner();
        inner.early.insert(number, lines);
        loop {
            let next = inner.next;
            let Some(lines) = inner.early.remove(&next) else { break };
            let before = inner.merge.line_ends();
            inner.line_ends.push(before);
            inner.merge.take(&lines)?;
            inner.next += 1;
        }
        drop(inner);
        self.moved.notify_all();
        Ok(())
    }
}
