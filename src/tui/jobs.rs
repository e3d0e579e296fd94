//! The jobs of this process for the screens: starts, samples and cancels them.

use super::drafts;
use super::widgets::text::last_name;
use gristmill_core::options::Answer;
use gristmill_core::{DatasetFacts, Failure, Mutex, Outcome, PreparePlan, RunOptions};
use gristmill_ops::job::prepare::{LiveFacts, PrepareJob};
use gristmill_ops::job::report::Report;
use gristmill_ops::job::scan::LiveScan;
use gristmill_ops::job::task::Task;
use gristmill_ops::job::{JobState, JobStatus};
use gristmill_ops::operations::{erase, AnyPlan, Prepare};
use gristmill_storage::fs::RealFs;
use gristmill_storage::publish::write_file;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

mod ended;
mod result;

pub use ended::EndedJob;
pub use result::JobResult;

/// Time limit for jobs to stop before they are started again without the UI.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(10);

/// Number of a job in this process, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JobId(pub u32);

/// The state of one job, for the panel and other screens.
#[derive(Clone, Debug)]
pub struct JobView {
    /// Number of the job.
    pub id: JobId,
    /// The title, such as `prepare coco`. May contain text from the data.
    pub title: String,
    /// The path of the data set or output, which identifies the job.
    pub path: PathBuf,
    /// The path that its problems refer to: the input.
    pub root: PathBuf,
    /// Current status of the job.
    pub status: JobStatus,
}

/// A running job that reports its status: a [`Task`], or a job of a test.
pub trait RunningJob: Send {
    /// Returns the current status.
    fn status(&self) -> JobStatus;
    /// Requests cancellation.
    fn cancel(&self);
    /// Whether it ended.
    fn is_finished(&self) -> bool;
    /// Returns the result of an ended job.
    fn finish(self: Box<Self>) -> JobResult;
}

impl<R: Send + 'static> RunningJob for Task<R>
where
    Box<dyn Report>: From<R>,
{
    fn status(&self) -> JobStatus {
        Task::status(self)
    }
    fn cancel(&self) {
        Task::cancel(self);
    }
    fn is_finished(&self) -> bool {
        Task::is_finished(self)
    }
    fn finish(self: Box<Self>) -> JobResult {
        self.wait().into()
    }
}

/// The plan of a job and its options, from which it can be started again, in this process or in another one.
type PlannedJob = (Arc<dyn AnyPlan>, RunOptions);

struct JobEntry {
    id: JobId,
    title: String,
    path: PathBuf,
    running: Option<Box<dyn RunningJob>>,
    order: Option<PlannedJob>,
    last: Option<JobStatus>,
    facts: Option<LiveFacts>,
    result: Option<JobResult>,
    /// The draft of the form's answers, deleted once the job has succeeded.
    draft: Option<PathBuf>,
    /// Whether [`Jobs::take_ended`] has returned its end.
    is_announced: bool,
}

/// All jobs started by this process, oldest first. Clones share the list.
#[derive(Clone, Default)]
pub struct Jobs {
    entries: Arc<Mutex<Vec<JobEntry>>>,
    /// Number of jobs started. Numbers are never reused, even after the list was cleared.
    started_count: Arc<AtomicU32>,
}

impl Jobs {
    /// Starts preparing a folder of shards. The job has facts about its shards, and continues a scan that is already running.
    pub fn start_prepare(&self, plan: PreparePlan, options: RunOptions, scan: Option<LiveScan>) -> Outcome<JobId> {
        let path = PathBuf::from(&plan.path);
        let name = last_name(&path);
        let order = (Arc::from(erase::<Prepare>(plan.clone())), options.clone());
        let PrepareJob { task, facts } = PrepareJob::start(plan, options, scan)?;
        Ok(self.add_job(format!("prepare {name}"), path, Box::new(task), Some(order), Some(facts)))
    }

    /// Starts the plan of an operation in the background.
    pub fn start_plan(&self, plan: Arc<dyn AnyPlan>, options: RunOptions) -> Outcome<JobId> {
        let output = plan.recent().unwrap_or_else(|| match plan.get("output") {
            Answer::Text(path) => PathBuf::from(path),
            _ => plan.inputs().first().map(PathBuf::from).unwrap_or_default(),
        });
        let job = plan.start(false, options.clone())?;
        let title = format!("{} {}", plan.operation().name(), last_name(&output));
        Ok(self.add_job(title, output, Box::new(job), Some((plan, options)), None))
    }

    /// Starts a failed or cancelled job again, as a new job at the end of the list; it resumes from the finished units. Returns `None` if
    /// the job has not failed or been cancelled, or if its plan is unknown.
    pub fn restart(&self, id: JobId) -> Option<Outcome<JobId>> {
        let ((plan, options), draft, has_facts) = {
            let mut entries = self.entries.lock();
            let entry = entries.iter_mut().find(|entry| entry.id == id)?;
            if !can_resume_job(entry) {
                return None;
            }
            (entry.order.clone()?, entry.draft.clone(), entry.facts.is_some())
        };
        let started = match plan.typed::<PreparePlan>().filter(|_| has_facts) {
            Some(plan) => self.start_prepare(plan.clone(), options, None),
            None => self.start_plan(plan, options),
        };
        if let (Ok(started), Some(draft)) = (&started, draft) {
            self.delete_draft_when_done(*started, draft);
        }
        Some(started)
    }

    /// Whether [`restart`](Self::restart) would start the job.
    pub fn can_restart(&self, id: JobId) -> bool {
        self.entries.lock().iter_mut().any(|entry| entry.id == id && can_resume_job(entry))
    }

    /// Adds a running job to the list.
    pub fn add(&self, title: String, path: PathBuf, job: Box<dyn RunningJob>) -> JobId {
        self.add_job(title, path, job, None, None)
    }

    fn add_job(
        &self,
        title: String,
        path: PathBuf,
        job: Box<dyn RunningJob>,
        order: Option<PlannedJob>,
        facts: Option<LiveFacts>,
    ) -> JobId {
        let mut entries = self.entries.lock();
        let id = JobId(self.started_count.fetch_add(1, Ordering::AcqRel) + 1);
        entries.push(JobEntry {
            id,
            title,
            path,
            running: Some(job),
            order,
            last: None,
            facts,
            result: None,
            draft: None,
            is_announced: false,
        });
        id
    }

    /// Deletes a draft as soon as the job has succeeded, whichever screen is on top then. The draft of a failed job stays.
    pub fn delete_draft_when_done(&self, id: JobId, draft: PathBuf) {
        if let Some(entry) = self.entries.lock().iter_mut().find(|entry| entry.id == id) {
            entry.draft = Some(draft);
        }
    }

    /// Returns every job with its current status, oldest first.
    pub fn views(&self) -> Vec<JobView> {
        self.entries.lock().iter_mut().map(view).collect()
    }

    /// Returns one job with its current status.
    pub fn view(&self, id: JobId) -> Option<JobView> {
        self.entries.lock().iter_mut().find(|e| e.id == id).map(view)
    }

    /// Returns the facts about a job's data set.
    pub fn facts(&self, id: JobId) -> Option<Arc<DatasetFacts>> {
        let entries = self.entries.lock();
        entries.iter().find(|e| e.id == id)?.facts.as_ref().map(LiveFacts::read)
    }

    /// Returns the result of an ended job.
    pub fn result(&self, id: JobId) -> Option<JobResult> {
        let mut entries = self.entries.lock();
        let entry = entries.iter_mut().find(|e| e.id == id)?;
        take_result(entry);
        entry.result.clone()
    }

    /// Requests cancellation of a job. Returns whether it was running.
    pub fn cancel(&self, id: JobId) -> bool {
        let entries = self.entries.lock();
        match entries.iter().find(|e| e.id == id).and_then(|e| e.running.as_ref()) {
            Some(job) if !job.is_finished() => {
                job.cancel();
                true
            }
            _ => false,
        }
    }

    /// Requests cancellation of all jobs.
    pub fn cancel_all(&self) {
        for job in self.entries.lock().iter().filter_map(|e| e.running.as_ref()) {
            job.cancel();
        }
    }

    /// Whether every running job can continue without the UI.
    pub fn can_leave_all(&self) -> bool {
        let entries = self.entries.lock();
        let mut running = entries.iter().filter(|e| e.running.as_ref().is_some_and(|job| !job.is_finished()));
        running.all(|e| e.order.is_some())
    }

    /// Stops every running job at a safe point and starts the same plans again in processes without a terminal; these resume from the
    /// journals, and `gristmill jobs` lists them. Waits for the jobs to stop. Returns the titles of the jobs with their processes.
    pub fn leave_all(&self, state_dir: &Path) -> Outcome<Vec<(String, u32)>> {
        let orders: Vec<(String, PlannedJob, Option<PathBuf>)> = {
            let entries = self.entries.lock();
            let running = entries.iter().filter(|e| e.running.as_ref().is_some_and(|job| !job.is_finished()));
            running.filter_map(|e| Some((e.title.clone(), e.order.clone()?, e.draft.clone()))).collect()
        };
        self.cancel_all();
        if !self.wait_all(LEAVE_TIMEOUT) {
            return Err(Failure::environment("leaving the jobs", "they did not stop in time").with_hint("try again"));
        }
        // An ended job releases its lock when its result is taken.
        self.entries.lock().iter_mut().for_each(take_result);
        let folder = state_dir.join("left");
        super::recent::create_folders(&folder)?;
        let mut left = Vec::new();
        for (title, (plan, options), draft) in orders {
            left.push((title, spawn_detached(&*plan, &options, &folder)?));
            // From here on a run that can be resumed has the answers, so the draft is deleted.
            draft.iter().for_each(|draft| drafts::delete(draft));
        }
        Ok(left)
    }

    /// Returns the number of jobs started in total.
    pub fn started(&self) -> u32 {
        self.started_count.load(Ordering::Acquire)
    }

    /// Returns the number of running jobs.
    pub fn running(&self) -> usize {
        self.entries.lock().iter().filter_map(|e| e.running.as_ref()).filter(|job| !job.is_finished()).count()
    }

    /// Whether a job of this process works on the data set at this path.
    pub fn is_running_on(&self, path: &Path) -> bool {
        self.entries.lock().iter().any(|e| e.path == path && e.running.as_ref().is_some_and(|job| !job.is_finished()))
    }

    /// Removes ended jobs from the list.
    pub fn clear_finished(&self) {
        let mut entries = self.entries.lock();
        entries.iter_mut().for_each(take_result);
        entries.retain(|e| e.running.is_some());
    }

    /// Waits until all jobs have ended, or until the timeout. Returns whether all have ended.
    pub fn wait_all(&self, at_most: Duration) -> bool {
        let end = Instant::now() + at_most;
        while self.running() > 0 {
            if Instant::now() >= end {
                return false;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        true
    }
}

/// Starts a plan in a separate process, without a terminal and unaffected by this one's signals. Returns its number.
fn spawn_detached(plan: &dyn AnyPlan, options: &RunOptions, folder: &Path) -> Outcome<u32> {
    let action = "starting the job without a terminal";
    let file = folder.join(format!("{}.yaml", uuid::Uuid::new_v4()));
    write_file(&RealFs, &file, plan.to_yaml()?.as_bytes(), 0o600)?;
    let program = std::env::current_exe().map_err(|e| Failure::environment(action, e.to_string()))?;
    let mut command = Command::new(&program);
    command.arg("run").arg(&file).args(["--yes", "--quiet"]);
    command.arg(format!("--threads={}", options.threads)).arg(format!("--memory={}", options.memory_bytes));
    if let Some(scratch) = &options.scratch {
        command.arg("--scratch").arg(scratch);
    }
    if options.strict {
        command.arg("--strict");
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // A separate process group: a closing terminal only signals the foreground group.
    command.process_group(0);
    command.spawn().map(|process| process.id()).map_err(|e| Failure::io(action, &program, &e))
}

fn view(entry: &mut JobEntry) -> JobView {
    take_result(entry);
    let status = match (&entry.running, &entry.last) {
        (Some(job), _) => job.status(),
        (None, Some(last)) => last.clone(),
        (None, None) => JobStatus::ended(JobState::Failed),
    };
    let input = entry.order.as_ref().and_then(|(plan, _)| plan.inputs().into_iter().next());
    let root = input.map_or_else(|| entry.path.clone(), PathBuf::from);
    JobView { id: entry.id, title: entry.title.clone(), path: entry.path.clone(), root, status }
}

/// Whether a job ended incomplete and can be started again.
fn can_resume_job(entry: &mut JobEntry) -> bool {
    take_result(entry);
    let ended = entry.running.is_none() && entry.last.as_ref().is_some_and(|last| last.state != JobState::Done);
    ended && entry.order.is_some()
}

/// Stores the result of an ended job, with its last status and facts.
fn take_result(entry: &mut JobEntry) {
    if entry.running.as_ref().is_some_and(|job| job.is_finished()) {
        if let Some(job) = entry.running.take() {
            entry.last = Some(job.status());
            let result = job.finish();
            if let (true, Some(draft)) = (result.is_ok(), entry.draft.take()) {
                drafts::delete(&draft);
            }
            entry.result = Some(result);
        }
    }
}
