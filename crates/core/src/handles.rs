//! The handles through which an engine communicates with its caller: progress, cancellation, and a sink for problems. Contains only atomics
//! and traits; threads that sample them belong to the front ends.

use super::failure::{Failure, Outcome};
use super::problem::{Problem, ProblemKind, Severity, Subject};
use super::sync::Mutex;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;

/// Finished and total work, in items and bytes. Workers add, front ends sample. A total of 0 means that it is unknown.
#[derive(Debug, Default)]
pub struct Progress {
    items_done: AtomicU64,
    items_resumed: AtomicU64,
    items_total: AtomicU64,
    bytes_done: AtomicU64,
    bytes_resumed: AtomicU64,
    bytes_total: AtomicU64,
    tokens_done: AtomicU64,
}

/// A snapshot of a [`Progress`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct ProgressReading {
    /// Items finished so far.
    pub items_done: u64,
    /// The part of `items_done` that an earlier run finished; excluded when the speed of this run is computed.
    #[serde(skip)]
    pub items_resumed: u64,
    /// Total items; 0 while unknown.
    pub items_total: u64,
    /// Bytes finished so far.
    pub bytes_done: u64,
    /// Like `items_resumed`, of `bytes_done`.
    #[serde(skip)]
    pub bytes_resumed: u64,
    /// Total bytes; 0 while unknown.
    pub bytes_total: u64,
    /// Tokens produced so far, if the work is counted in tokens.
    #[serde(skip_serializing_if = "is_none")]
    pub tokens_done: u64,
}

impl ProgressReading {
    /// Returns the finished share, from 0 to 1: in bytes if their total is known, otherwise in items; `None` if no total is known.
    pub fn fraction(&self) -> Option<f64> {
        let (done, total) = match self.bytes_total {
            0 => (self.items_done, self.items_total),
            total => (self.bytes_done, total),
        };
        (total > 0).then(|| (done as f64 / total as f64).min(1.0))
    }
}

fn is_none(count: &u64) -> bool {
    *count == 0
}

impl Progress {
    /// Sets the totals.
    pub fn expect(&self, items: u64, bytes: u64) {
        self.items_total.store(items, Ordering::Relaxed);
        self.bytes_total.store(bytes, Ordering::Relaxed);
    }
    /// Adds finished work.
    pub fn add(&self, items: u64, bytes: u64) {
        self.items_done.fetch_add(items, Ordering::Relaxed);
        self.bytes_done.fetch_add(bytes, Ordering::Relaxed);
    }
    /// Adds work that an earlier run finished.
    pub fn resume_from(&self, items: u64, bytes: u64) {
        self.items_resumed.fetch_add(items, Ordering::Relaxed);
        self.bytes_resumed.fetch_add(bytes, Ordering::Relaxed);
        self.add(items, bytes);
    }
    /// Adds tokens that were produced.
    pub fn add_tokens(&self, tokens: u64) {
        self.tokens_done.fetch_add(tokens, Ordering::Relaxed);
    }
    /// Starts a new phase: resets the finished work and sets the totals.
    pub fn restart(&self, items: u64, bytes: u64) {
        self.items_done.store(0, Ordering::Relaxed);
        self.bytes_done.store(0, Ordering::Relaxed);
        self.items_resumed.store(0, Ordering::Relaxed);
        self.bytes_resumed.store(0, Ordering::Relaxed);
        self.tokens_done.store(0, Ordering::Relaxed);
        self.expect(items, bytes);
    }
    /// Returns a snapshot of the progress.
    pub fn read(&self) -> ProgressReading {
        ProgressReading {
            // Read before `items_done` and `bytes_done`, so that they are never greater.
            items_resumed: self.items_resumed.load(Ordering::Relaxed),
            items_done: self.items_done.load(Ordering::Relaxed),
            items_total: self.items_total.load(Ordering::Relaxed),
            bytes_resumed: self.bytes_resumed.load(Ordering::Relaxed),
            bytes_done: self.bytes_done.load(Ordering::Relaxed),
            bytes_total: self.bytes_total.load(Ordering::Relaxed),
            tokens_done: self.tokens_done.load(Ordering::Relaxed),
        }
    }
}

/// A cancel flag that all workers of a job share. Clones share the flag.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Requests that all workers stop at the next safe point.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
    /// Whether a stop was requested.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
    /// Returns an error if a stop was requested. Call it at least once per MiB read.
    pub fn check(&self) -> Outcome<()> {
        if self.is_cancelled() {
            Err(Failure::cancelled())
        } else {
            Ok(())
        }
    }
}

thread_local! {
    /// The cancel flag that interrupts waits of the thread.
    static WAITS: RefCell<Cancel> = RefCell::default();
}

/// While it exists, its cancel flag interrupts waits of the thread. Dropping it restores the previous flag.
#[derive(Debug)]
pub struct WaitScope {
    outer: Cancel,
    /// The scope must not be sent to another thread.
    _thread: PhantomData<*const ()>,
}

impl Cancel {
    /// Makes this flag interrupt the thread's waits for stores, so that a stop does not wait for a store that does not respond. Use a new
    /// flag for work that must not be interrupted.
    pub fn begin_wait_scope(&self) -> WaitScope {
        WaitScope { outer: WAITS.replace(self.clone()), _thread: PhantomData }
    }
    /// Returns the cancel flag that interrupts waits of this thread.
    pub fn of_thread() -> Self {
        WAITS.with_borrow(Self::clone)
    }
}

impl Drop for WaitScope {
    fn drop(&mut self) {
        WAITS.set(std::mem::take(&mut self.outer));
    }
}

/// Receives problems from workers. An error from [`report`](Self::report) ends the unit of work (`--strict`).
pub trait ProblemSink: Send + Sync {
    /// Receives one problem.
    fn report(&self, problem: Problem) -> Outcome<()>;
    /// Receives the number of further findings that are not reported individually. Sinks that do not count may ignore it.
    fn count_more(&self, _severity: Severity, _kind: ProblemKind, _number: u64) {}
}

/// Ignores all problems.
#[derive(Clone, Copy, Debug, Default)]
pub struct NullProblemSink;

impl ProblemSink for NullProblemSink {
    fn report(&self, _problem: Problem) -> Outcome<()> {
        Ok(())
    }
}

/// Hint for a run that ended at the first problem.
const STRICT_HINT: &str = "without --strict the run continues and lists its problems at the end";

/// Maximum number of problems of each severity that a run lists in its report.
pub const MAX_LISTED_PROBLEMS: usize = 1_000;
/// Default memory limit for problems that are not listed, in bytes. Problems beyond it are only counted.
const MAX_UNLISTED_BYTES: usize = 256 << 20;

/// The problems of a run that it does not list: one JSON object per line, in order of arrival. Clones share the data.
#[derive(Clone, Default)]
pub struct UnlistedProblems(Arc<Mutex<UnlistedInner>>);

struct UnlistedInner {
    lines: Arc<Vec<u8>>,
    counts: BTreeMap<ProblemKind, u64>,
    max_bytes: usize,
}

impl Default for UnlistedInner {
    fn default() -> Self {
        Self { lines: Arc::default(), counts: BTreeMap::new(), max_bytes: MAX_UNLISTED_BYTES }
    }
}

impl std::fmt::Debug for UnlistedProblems {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("UnlistedProblems").field(&self.lines().len()).finish()
    }
}

impl UnlistedProblems {
    /// Returns the problems collected so far, one JSON object per line.
    pub fn lines(&self) -> Arc<Vec<u8>> {
        Arc::clone(&self.0.lock().lines)
    }

    /// Returns the number of problems of a kind.
    pub fn count(&self, kind: ProblemKind) -> u64 {
        self.0.lock().counts.get(&kind).copied().unwrap_or(0)
    }

    /// Sets the memory limit, in bytes.
    pub fn set_limit(&self, max_bytes: usize) {
        self.0.lock().max_bytes = max_bytes;
    }

    /// Adds a problem if it fits into the memory limit.
    pub fn add(&self, problem: &Problem) {
        let mut inner = self.0.lock();
        let max_bytes = inner.max_bytes;
        let lines = Arc::make_mut(&mut inner.lines);
        let start = lines.len();
        match serde_json::to_writer(&mut *lines, problem) {
            Ok(()) if lines.len() < max_bytes => {
                lines.push(b'\n');
                *inner.counts.entry(problem.kind).or_default() += 1;
            }
            _ => lines.truncate(start),
        }
    }
}

/// Parses the JSON lines of [`UnlistedProblems`]. Skips lines that are not problems.
pub fn problems_of_lines(lines: &[u8]) -> impl Iterator<Item = Problem> + '_ {
    lines.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok())
}

/// The default [`ProblemSink`]: counts all problems, lists the first [`MAX_LISTED_PROBLEMS`] of each severity, and stores the others
/// separately.
#[derive(Debug, Default)]
pub struct ProblemLog {
    strict: bool,
    inner: Mutex<LogInner>,
    unlisted: UnlistedProblems,
}

#[derive(Debug, Default, Clone)]
struct LogInner {
    kept: Vec<Problem>,
    counts: BTreeMap<(Severity, ProblemKind), u64>,
    /// Folders that are replaced by other names in messages.
    renamed: Vec<(String, String)>,
}

impl ProblemLog {
    /// Creates a log. With `strict`, the first problem that is not a note is returned as an error.
    pub fn new(strict: bool) -> Self {
        Self { strict, ..Self::default() }
    }
    /// Replaces the path of `folder` by `name` in all later problems.
    pub fn rename_folder(&self, folder: impl Into<String>, name: impl Into<String>) {
        self.inner.lock().renamed.push((folder.into(), name.into()));
    }
    /// Applies [`rename_folder`](Self::rename_folder) to a subject.
    pub fn rename(&self, subject: &mut Subject) {
        self.inner.lock().renamed.iter().for_each(|(folder, name)| subject.rename_folder(folder, name));
    }
    /// Returns the listed problems, in order of arrival.
    pub fn to_vec(&self) -> Vec<Problem> {
        self.inner.lock().kept.clone()
    }
    /// Returns the problems that are not listed.
    pub fn unlisted(&self) -> UnlistedProblems {
        self.unlisted.clone()
    }
    /// Returns the number of problems of each kind, including those not listed.
    pub fn counts(&self) -> Vec<(Severity, ProblemKind, u64)> {
        self.inner.lock().counts.iter().map(|(&(s, k), &n)| (s, k, n)).collect()
    }
    /// Returns the number of problems that are at least as severe as `severity`.
    pub fn count_from(&self, severity: Severity) -> u64 {
        self.inner.lock().counts.iter().filter(|((s, _), _)| *s >= severity).map(|(_, n)| n).sum()
    }
}

impl ProblemSink for ProblemLog {
    fn report(&self, mut problem: Problem) -> Outcome<()> {
        self.rename(&mut problem.subject);
        let mut inner = self.inner.lock();
        *inner.counts.entry((problem.severity, problem.kind)).or_default() += 1;
        let same = inner.kept.iter().filter(|p| p.severity == problem.severity).count();
        let stop = self.strict && problem.severity >= Severity::Problem;
        match same < MAX_LISTED_PROBLEMS {
            true => inner.kept.push(problem.clone()),
            false => self.unlisted.add(&problem),
        }
        if stop {
            let mut failure = problem.into_failure();
            failure.hint.get_or_insert_with(|| STRICT_HINT.to_owned());
            return Err(failure);
        }
        Ok(())
    }

    fn count_more(&self, severity: Severity, kind: ProblemKind, number: u64) {
        if number > 0 {
            *self.inner.lock().counts.entry((severity, kind)).or_default() += number;
        }
    }
}

/// Problems of one unit of work, as stored in a journal: the first ones, and the number of further ones of each kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordedProblems {
    kept: Vec<Problem>,
    more: Vec<(Severity, ProblemKind, u64)>,
}

impl RecordedProblems {
    /// Whether no problems are recorded.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty() && self.more.is_empty()
    }

    /// Adds a problem. If `max_kept` problems are stored already, only counts it.
    pub fn add(&mut self, problem: Problem, max_kept: usize) {
        match self.kept.len() < max_kept {
            true => self.kept.push(problem),
            false => self.count_more(problem.severity, problem.kind, 1),
        }
    }

    /// Adds the number of further problems of a kind.
    pub fn count_more(&mut self, severity: Severity, kind: ProblemKind, number: u64) {
        match self.more.iter_mut().find(|more| (more.0, more.1) == (severity, kind)) {
            Some(more) => more.2 += number,
            None => self.more.push((severity, kind, number)),
        }
    }

    /// Adds `lines`, the number of lines of the previous units of the file, to all line numbers.
    pub fn shift_lines(&mut self, lines: u64) {
        let numbers = self.kept.iter_mut().filter_map(|problem| problem.subject.line.as_mut());
        numbers.for_each(|line| *line += lines);
    }

    /// Reports all recorded problems to a sink.
    pub fn report_to(&self, sink: &dyn ProblemSink) -> Outcome<()> {
        self.more.iter().for_each(|&(severity, kind, number)| sink.count_more(severity, kind, number));
        self.kept.iter().try_for_each(|problem| sink.report(problem.clone()))
    }
}

/// A [`ProblemSink`] that records all problems and forwards them to another sink.
pub struct RecordingSink<'a> {
    sink: &'a dyn ProblemSink,
    recorded: Mutex<RecordedProblems>,
}

impl<'a> RecordingSink<'a> {
    /// Maximum number of problems that are recorded in full for a resumed run. It covers a shard of usual size.
    const MAX_KEPT: usize = 10_000;

    /// Creates a sink that records what it forwards to `sink`.
    pub fn new(sink: &'a dyn ProblemSink) -> Self {
        Self { sink, recorded: Mutex::default() }
    }

    /// Returns the recorded problems.
    pub fn into_recorded(self) -> RecordedProblems {
        self.recorded.into_inner()
    }
}

impl ProblemSink for RecordingSink<'_> {
    fn report(&self, problem: Problem) -> Outcome<()> {
        self.recorded.lock().add(problem.clone(), Self::MAX_KEPT);
        self.sink.report(problem)
    }

    fn count_more(&self, severity: Severity, kind: ProblemKind, number: u64) {
        if number > 0 {
            self.recorded.lock().count_more(severity, kind, number);
        }
        self.sink.count_more(severity, kind, number);
    }
}

/// The three handles that engines need.
#[derive(Clone, Copy)]
pub struct Handles<'a> {
    /// Counter of finished work.
    pub progress: &'a Progress,
    /// The cancel flag.
    pub cancel: &'a Cancel,
    /// The receiver of problems.
    pub problems: &'a dyn ProblemSink,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_beyond_the_memory_limit_are_only_counted() {
        let log = ProblemLog::new(false);
        log.unlisted().set_limit(10_000);
        for number in 0..5_000 {
            let subject = Subject::default().key(number.to_string());
            log.report(Problem::problem(ProblemKind::Unreadable, subject, "it is missing")).unwrap();
        }
        let lines = log.unlisted().lines();
        assert!((5_000..=10_000).contains(&lines.len()), "{}", lines.len());
        let kept = problems_of_lines(&lines).count() as u64;
        assert_eq!(log.unlisted().count(ProblemKind::Unreadable), kept);
        assert_eq!(log.count_from(Severity::Problem), 5_000);
        assert_eq!(log.to_vec().len(), MAX_LISTED_PROBLEMS);
    }
}
