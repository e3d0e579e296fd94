//! Runs outside this process: those of another process, and those interrupted earlier. A worker finds them by their own folders next to
//! recently used data sets and outputs, because a disk may be slow.

use crate::tui::keymap::{Action, Context};
use crate::tui::recent;
use crate::tui::screen::{Effect, UiEnv};
use crate::tui::screens::home::go_on;
use crate::tui::widgets::text::last_name;
use crate::tui::work::LatestWorker;
use gristmill_core::text::count;
use gristmill_core::text::shell_quote;
use gristmill_ops::job::unfinished::{self, State, UnfinishedRun};
use gristmill_ops::operations::{interrupted_run, InterruptedRun};
use gristmill_storage::files;
use gristmill_storage::identity::ProcessIdentity;
use gristmill_storage::run_folder::RunFolder;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Interval between two searches for runs of other processes.
const SEARCH_INTERVAL: Duration = Duration::from_secs(2);

/// A run of another process, or an interrupted one.
#[derive(Clone, Debug)]
pub struct OtherRun {
    /// A short title, such as `pack tokens`. May contain text from the data.
    pub title: String,
    /// The path of the data set or the output.
    pub path: PathBuf,
    /// The path for display, in one line below the title.
    pub place: String,
    /// The state of the run, in whole sentences.
    pub status: Vec<String>,
    /// A hint about how to resume it.
    pub next_step: Option<String>,
    run: RunKind,
}

#[derive(Clone, Debug)]
enum RunKind {
    /// Another process is working on it.
    Works,
    /// An interrupted prepare, with its answers.
    Prepare,
    /// A prepare that was interrupted during publication: opening the data set completes it.
    Published,
    /// An interrupted run of an operation.
    Begun(Arc<InterruptedRun>),
    /// A run that cannot be resumed from here.
    Lost,
}

impl OtherRun {
    /// Whether a process is working on it.
    pub fn is_running(&self) -> bool {
        matches!(self.run, RunKind::Works)
    }

    /// Returns why the run cannot be resumed from here; `None` if it can.
    pub fn rerun_refusal(&self) -> Option<String> {
        match &self.run {
            RunKind::Works => Some("another process works on it".into()),
            RunKind::Lost => Some("its answers are not known; run the same command to start from the beginning".into()),
            RunKind::Prepare | RunKind::Published | RunKind::Begun(_) => None,
        }
    }

    /// Opens the screen that resumes the run.
    pub fn resume(&self, env: &UiEnv) -> Vec<Effect> {
        match &self.run {
            RunKind::Prepare => vec![Effect::ResumePath(self.path.clone())],
            RunKind::Published => vec![Effect::OpenPath(self.path.clone())],
            RunKind::Begun(begun) => {
                recent::add(&env.state_dir, &self.path);
                go_on(begun, env)
            }
            RunKind::Works | RunKind::Lost => Vec::new(),
        }
    }
}

/// A worker that searches for such runs periodically.
pub struct ProcessWatcher {
    worker: LatestWorker<(), Vec<OtherRun>>,
    last_poll: Instant,
    found: Vec<OtherRun>,
}

impl ProcessWatcher {
    /// Starts the search.
    pub fn start(env: &UiEnv) -> Self {
        let asker = env.clone();
        let mut worker = LatestWorker::start("jobs", env.wake.clone(), move |()| find_runs(&asker));
        worker.submit(());
        Self { worker, last_poll: Instant::now(), found: Vec::new() }
    }

    /// Applies the results, and starts the next search when it is due. Returns whether there were new results.
    pub fn update(&mut self) -> bool {
        let found = self.worker.take();
        let came = found.is_some();
        if let Some(found) = found {
            self.found = found;
        }
        if !self.worker.is_waiting() && self.last_poll.elapsed() >= SEARCH_INTERVAL {
            self.last_poll = Instant::now();
            self.worker.submit(());
        }
        came
    }

    /// Returns the runs of the last search, except those on the paths in `own`, which have jobs in this process.
    pub fn others(&self, own: &[PathBuf]) -> Vec<OtherRun> {
        self.found.iter().filter(|run| !own.contains(&files::absolute_or_same(&run.path))).cloned().collect()
    }
}

fn find_runs(env: &UiEnv) -> Vec<OtherRun> {
    let here: Vec<PathBuf> = std::env::current_dir().into_iter().collect();
    let lately = recent::load(&env.state_dir);
    // If the search fails, no runs are listed; `gristmill jobs` reports the reason.
    let found = unfinished::known(&here, &lately).unwrap_or_default();
    found.into_iter().map(|run| other_run(run, env)).collect()
}

fn other_run(run: UnfinishedRun, env: &UiEnv) -> OtherRun {
    let UnfinishedRun { path, run_folder: own, state } = run;
    let is_prepare = own == RunFolder::for_webdataset(&path);
    let begun = interrupted_run(&own);
    let verb = match begun.as_ref().map(|begun| &begun.plan) {
        Some(plan) => plan.operation().name(),
        _ => "prepare",
    };
    let name = last_name(&path);
    let stopped = match (is_prepare, begun) {
        (true, _) if matches!(state, State::Publishing(_)) => RunKind::Published,
        (true, _) => RunKind::Prepare,
        (false, Some(begun)) => RunKind::Begun(begun.into()),
        _ => RunKind::Lost,
    };
    let (status, run) = match state {
        State::Running(by) => {
            let who = format!("Process {} on {} works on it.", by.process.pid, by.process.host);
            let is_here = by.process.host == ProcessIdentity::current().host;
            let stop = is_here.then(|| format!("kill {} stops it; the same command then resumes it.", by.process.pid));
            let status = [who, "Its output becomes visible when it is done.".to_owned()].into_iter().chain(stop);
            (status.collect(), RunKind::Works)
        }
        State::Publishing(files) => {
            let waiting = count(files as u64, "file");
            (vec![format!("It was stopped while publishing its files; {waiting} left.")], stopped)
        }
        State::Interrupted => (vec!["It was stopped. Its finished work is kept.".to_owned()], stopped),
        State::Lost => (vec!["It was stopped, and no work is kept.".to_owned()], RunKind::Lost),
    };
    let next_step = match &run {
        RunKind::Works => None,
        RunKind::Lost => Some("Run the same command to start from the beginning.".to_owned()),
        RunKind::Prepare | RunKind::Published | RunKind::Begun(_) => Some(resume_hint(&own, env)),
    };
    let place = env.short_path(&path);
    OtherRun { title: format!("{verb} {name}"), path, place, status, next_step, run }
}

/// Returns a hint about how to resume a run, by key and on the command line.
fn resume_hint(own: &RunFolder, env: &UiEnv) -> String {
    let key = env.key(Context::Jobs, Action::Retry);
    let plan = own.running_plan();
    if !files::is_file(&plan) {
        return format!("{key} resumes it.");
    }
    format!("{key} resumes it; on the command line: gristmill run {}", shell_quote(&plan.to_string_lossy()))
}
