//! A job other than `prepare`: runs on its own thread and reports its status.

use super::job_progress::Forecast;
use super::outputs::OutputBoard;
use super::report::RunFindings;
use super::status::StatusBoard;
use super::{JobState, JobStatus, Phase};
use gristmill_core::{
    Cancel, Failure, Handles, Outcome, Problem, ProblemKind, ProblemLog, Progress, RunOptions, Severity,
};
use gristmill_storage::ahead::UploadsAhead;
use gristmill_storage::files_ahead::FilesAhead;
use gristmill_storage::fs::Fs;
use gristmill_storage::memory::set_run_memory;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// Interval at which the state of a part is read.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Context of the thread of a task.
pub struct TaskContext {
    /// Settings of the run.
    pub options: RunOptions,
    /// File system for writing.
    pub fs: Arc<dyn Fs>,
    /// Updated by workers, read by front ends.
    pub progress: Arc<Progress>,
    /// Cancel flag of the task.
    pub cancel: Cancel,
    /// Problems and notes found.
    pub problems: Arc<ProblemLog>,
    /// Files that the task writes.
    pub outputs: OutputBoard,
    /// Files that are uploaded while they are written.
    pub uploads: UploadsAhead,
    pub(super) board: StatusBoard,
}

impl TaskContext {
    pub(super) fn new(options: RunOptions, fs: Arc<dyn Fs>) -> Self {
        Self {
            progress: Arc::default(),
            cancel: Cancel::default(),
            problems: Arc::new(ProblemLog::new(options.strict)),
            outputs: OutputBoard::default(),
            uploads: UploadsAhead::default(),
            options,
            fs,
            board: StatusBoard::new(),
        }
    }
    /// Returns progress, cancellation and problems as one value.
    pub fn handles(&self) -> Handles<'_> {
        Handles { progress: &self.progress, cancel: &self.cancel, problems: &*self.problems }
    }
    /// Enters a phase with the default forecast, and adds a line to the log. The caller must then set the [expected](Progress::expect)
    /// amount of work.
    pub fn phase(&self, phase: Phase, line: impl Into<String>) {
        self.phase_of(phase, phase.item(), line);
    }
    /// Like [`phase`](Self::phase), with the noun `item` for an item, in the singular.
    pub fn phase_of(&self, phase: Phase, item: &'static str, line: impl Into<String>) {
        self.stage(phase, item, phase.forecast(), line);
    }
    /// Like [`phase_of`](Self::phase_of), with a given forecast.
    pub(crate) fn stage(&self, phase: Phase, item: &'static str, forecast: Forecast, line: impl Into<String>) {
        self.board.begin_phase(Some(&self.progress), phase, item, forecast);
        self.board.log(line);
    }
    /// Renames the current phase and adds a line to the log. The phase and its progress continue.
    pub fn rename(&self, phase: Phase, item: &'static str, line: impl Into<String>) {
        self.board.rename(phase, item);
        self.board.log(line);
    }
    /// Shows the progress of another job, which does the work of this phase.
    pub(crate) fn show(&self, status: &JobStatus) {
        self.board.show(status.share, status.item);
        self.progress.restart(status.progress.items_total, status.progress.bytes_total);
        self.progress.add(status.progress.items_done, status.progress.bytes_done);
    }
    /// Waits for another task that does a part of the work, and shows its progress. Its findings become findings of this task.
    pub(crate) fn run_part<R: Send + 'static>(&self, part: Task<R>) -> Outcome<R> {
        part.wait_with_progress(&self.handles(), |status| self.show(status))
    }
    /// Adds a line to the log.
    pub fn log(&self, line: impl Into<String>) {
        self.board.log(line);
    }
    /// Returns the time since the start.
    pub fn elapsed(&self) -> Duration {
        self.board.elapsed()
    }
    /// Returns the problems, notes and time so far, for a report.
    pub(crate) fn run_findings(&self) -> RunFindings {
        RunFindings { problems: self.problems.to_vec(), counts: self.problems.counts(), elapsed: self.elapsed() }
    }
    fn status(&self) -> JobStatus {
        JobStatus { outputs: self.outputs.read(), ..self.board.read(&self.progress, &self.problems) }
    }
}

/// A running task with a report of type `R`. Dropping it cancels the task and waits until it no longer writes.
pub struct Task<R> {
    context: Arc<TaskContext>,
    worker: Option<JoinHandle<Outcome<R>>>,
}

impl<R: Send + 'static> Task<R> {
    /// Runs `work` on a thread with the name `name`.
    pub fn start(
        name: &str,
        options: RunOptions,
        fs: Arc<dyn Fs>,
        work: impl FnOnce(&TaskContext) -> Outcome<R> + Send + 'static,
    ) -> Outcome<Self> {
        set_run_memory(options.memory_bytes);
        Self::start_in(Arc::new(TaskContext::new(options, fs)), name, move |context| {
            // The steps of a task may read the same files.
            let _files = FilesAhead::keep();
            let result = work(context).map_err(|mut failure| {
                context.problems.rename(&mut failure.subject);
                failure
            });
            context.uploads.discard();
            result
        })
    }

    /// Runs `work` in a given context.
    pub(super) fn start_in(
        context: Arc<TaskContext>,
        name: &str,
        work: impl FnOnce(&TaskContext) -> Outcome<R> + Send + 'static,
    ) -> Outcome<Self> {
        let inner = Arc::clone(&context);
        let worker = std::thread::Builder::new()
            .name(name.into())
            .spawn(move || {
                let _waits = inner.cancel.begin_wait_scope();
                let result = work(&inner);
                inner.board.end(match &result {
                    Ok(_) => JobState::Done,
                    Err(failure) if failure.is_cancelled() => JobState::Cancelled,
                    Err(failure) => {
                        inner.log(failure.to_string());
                        JobState::Failed
                    }
                });
                result
            })
            .map_err(|error| Failure::environment("starting a thread", error.to_string()))?;
        Ok(Self { context, worker: Some(worker) })
    }

    /// Returns a snapshot of the status.
    pub fn status(&self) -> JobStatus {
        self.context.status()
    }

    /// Requests that the task stop at the next safe point.
    pub fn cancel(&self) {
        self.context.cancel.cancel();
    }

    /// Whether the task has ended, successfully or not.
    pub fn is_finished(&self) -> bool {
        self.worker.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits for the end of the task, at most for this time. Returns whether the task has ended.
    pub fn ends_within(&self, most: Duration) -> bool {
        self.context.board.ends_within(most) || self.is_finished()
    }

    /// Returns the recorded problems and notes so far, and the counts of all.
    pub fn findings(&self) -> (Vec<Problem>, Vec<(Severity, ProblemKind, u64)>) {
        (self.context.problems.to_vec(), self.context.problems.counts())
    }

    /// Waits for the end of the task, and adds its progress to that of other work. Its findings become findings of that work.
    pub(crate) fn wait_with_progress_of(self, handles: &Handles<'_>) -> Outcome<R> {
        self.wait_with_progress(handles, |status| {
            handles.progress.restart(status.progress.items_total, status.progress.bytes_total);
            handles.progress.add(status.progress.items_done, status.progress.bytes_done);
        })
    }

    /// Waits for the end of the task. Its findings become findings of the waiting task.
    pub(crate) fn wait_reporting(self, handles: &Handles<'_>) -> Outcome<R> {
        self.wait_with_progress(handles, |_| {})
    }

    fn wait_with_progress(self, handles: &Handles<'_>, show: impl Fn(&JobStatus)) -> Outcome<R> {
        self.poll(handles.cancel, show);
        let (kept, counts) = self.findings();
        for (severity, kind, number) in counts {
            let is_same = |problem: &&Problem| (problem.severity, problem.kind) == (severity, kind);
            handles.problems.count_more(severity, kind, number - kept.iter().filter(is_same).count() as u64);
        }
        kept.into_iter().try_for_each(|problem| handles.problems.report(problem))?;
        self.wait()
    }

    /// Shows the status until the end of the task, which also ends if `cancel` is set.
    pub(super) fn poll(&self, cancel: &Cancel, show: impl Fn(&JobStatus)) {
        while !self.ends_within(POLL_INTERVAL) {
            if cancel.is_cancelled() {
                self.cancel();
            }
            show(&self.status());
        }
    }

    /// Waits for the end of the task and returns the result.
    pub fn wait(mut self) -> Outcome<R> {
        match self.worker.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            Some(Err(_)) => Err(Failure::environment("the run", "a worker thread panicked")
                .with_hint("nothing was published; please report it with the output of `gristmill bug-report`")),
            None => Err(Failure::cancelled()),
        }
    }
}

impl<R> Drop for Task<R> {
    fn drop(&mut self) {
        if let Some(worker) = self.worker.take() {
            self.context.cancel.cancel();
            if worker.join().is_err() {
                tracing::warn!("a task's thread panicked");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_storage::fs::RealFs;

    fn start(work: impl FnOnce(&TaskContext) -> Outcome<u32> + Send + 'static) -> Task<u32> {
        Task::start("test", RunOptions::default(), Arc::new(RealFs), work).unwrap()
    }

    #[test]
    fn a_task_reports_its_progress_and_its_result() {
        let task = start(|context| {
            context.phase(Phase::Scan, "counting");
            context.progress.expect(3, 0);
            context.progress.add(3, 0);
            Ok(7)
        });
        while !task.is_finished() {
            std::thread::yield_now();
        }
        let status = task.status();
        assert_eq!((status.state, status.phase, status.progress.items_done), (JobState::Done, Phase::Scan, 3));
        assert!(status.log[0].ends_with("counting"), "{:?}", status.log);
        assert_eq!(task.wait().unwrap(), 7);
    }

    #[test]
    fn waiting_for_a_task_ends_with_its_result_or_panic() {
        let (go, gone) = std::sync::mpsc::channel::<()>();
        let task = start(move |_| {
            let _ = gone.recv();
            Ok(1)
        });
        assert!(!task.ends_within(Duration::from_millis(1)));
        drop(go);
        assert!(task.ends_within(Duration::from_secs(600)));
        assert_eq!(task.wait().unwrap(), 1);
        let task = start(|_| panic!("as a test"));
        while !task.ends_within(Duration::from_millis(1)) {}
        assert!(task.wait().unwrap_err().why.contains("panicked"));
    }

    #[test]
    fn a_cancelled_task_never_reports_success() {
        let task = start(|context| loop {
            context.cancel.check()?;
            std::thread::yield_now();
        });
        task.cancel();
        assert!(task.wait().unwrap_err().is_cancelled());
    }
}
