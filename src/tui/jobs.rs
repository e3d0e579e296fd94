//! The jobs of this process, as the screens see them: started here, sampled here, cancelled here.

use crate::job::prepare::{PrepareJob, PrepareReport};
use crate::job::scan::LiveScan;
use crate::job::{JobState, JobStatus};
use crate::model::{DatasetFacts, Outcome, PreparePlan, RunOptions};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Number of a job in this process, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JobId(pub u32);

/// What the panel and other screens see of one job.
#[derive(Clone, Debug)]
pub struct JobView {
    /// Its number.
    pub id: JobId,
    /// In the person's words: `prepare coco`. May come from the data.
    pub title: String,
    /// The data set.
    pub path: PathBuf,
    /// How it stands.
    pub status: JobStatus,
}

/// Something that runs and can be asked how it stands. [`PrepareJob`] is one; tests have their own.
pub trait RunningJob: Send {
    /// One reading.
    fn status(&self) -> JobStatus;
    /// What is known of the data set by now.
    fn facts(&self) -> Option<Arc<DatasetFacts>>;
    /// Asks it to stop.
    fn cancel(&self);
    /// Whether it ended.
    fn is_finished(&self) -> bool;
    /// The result of an ended job.
    fn finish(self: Box<Self>) -> Outcome<PrepareReport>;
}

impl RunningJob for PrepareJob {
    fn status(&self) -> JobStatus {
        PrepareJob::status(self)
    }
    fn facts(&self) -> Option<Arc<DatasetFacts>> {
        Some(PrepareJob::facts(self))
    }
    fn cancel(&self) {
        PrepareJob::cancel(self);
    }
    fn is_finished(&self) -> bool {
        PrepareJob::is_finished(self)
    }
    fn finish(self: Box<Self>) -> Outcome<PrepareReport> {
        self.wait()
    }
}

struct Entry {
    id: JobId,
    title: String,
    path: PathBuf,
    running: Option<Box<dyn RunningJob>>,
    last: Option<JobStatus>,
    facts: Option<Arc<DatasetFacts>>,
    result: Option<Arc<Outcome<PrepareReport>>>,
}

/// All jobs started by this process, oldest first. Clones share the list.
#[derive(Clone, Default)]
pub struct Jobs {
    entries: Arc<Mutex<Vec<Entry>>>,
}

impl Jobs {
    fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a prepare; a scan that runs already is taken over.
    pub fn start_prepare(&self, plan: PreparePlan, options: RunOptions, scan: Option<LiveScan>) -> Outcome<JobId> {
        let path = PathBuf::from(&plan.path);
        let name = path.file_name().map_or_else(|| plan.path.clone(), |n| n.to_string_lossy().into_owned());
        let job = PrepareJob::start(plan, options, scan)?;
        Ok(self.add(format!("prepare {name}"), path, Box::new(job)))
    }

    /// Puts a job that runs already on the list.
    pub fn add(&self, title: String, path: PathBuf, job: Box<dyn RunningJob>) -> JobId {
        let mut entries = self.lock();
        let id = JobId(entries.last().map_or(1, |e| e.id.0 + 1));
        entries.push(Entry { id, title, path, running: Some(job), last: None, facts: None, result: None });
        id
    }

    /// Every job with a fresh reading, oldest first.
    pub fn views(&self) -> Vec<JobView> {
        self.lock().iter_mut().map(view).collect()
    }

    /// One job with a fresh reading.
    pub fn view(&self, id: JobId) -> Option<JobView> {
        self.lock().iter_mut().find(|e| e.id == id).map(view)
    }

    /// What is known of a job's data set.
    pub fn facts(&self, id: JobId) -> Option<Arc<DatasetFacts>> {
        let entries = self.lock();
        let entry = entries.iter().find(|e| e.id == id)?;
        entry.running.as_ref().map_or_else(|| entry.facts.clone(), |job| job.facts())
    }

    /// The result of a job that ended.
    pub fn result(&self, id: JobId) -> Option<Arc<Outcome<PrepareReport>>> {
        let mut entries = self.lock();
        let entry = entries.iter_mut().find(|e| e.id == id)?;
        settle(entry);
        entry.result.clone()
    }

    /// Asks a job to stop. Returns whether it was running.
    pub fn cancel(&self, id: JobId) -> bool {
        let entries = self.lock();
        match entries.iter().find(|e| e.id == id).and_then(|e| e.running.as_ref()) {
            Some(job) if !job.is_finished() => {
                job.cancel();
                true
            }
            _ => false,
        }
    }

    /// Asks all jobs to stop.
    pub fn cancel_all(&self) {
        for job in self.lock().iter().filter_map(|e| e.running.as_ref()) {
            job.cancel();
        }
    }

    /// Whether every running job can go on without the UI.
    pub fn can_leave_all(&self) -> bool {
        false
    }

    /// Stops every job at a safe point and starts the same plans again without a terminal; they go on from their journals.
    pub fn leave_all(&self, state_dir: &std::path::Path) -> Outcome<()> {
        let _ = state_dir;
        Ok(())
    }

    /// How many run.
    pub fn running(&self) -> usize {
        self.lock().iter().filter_map(|e| e.running.as_ref()).filter(|job| !job.is_finished()).count()
    }

    /// Whether a job of this process works on that data set.
    pub fn is_running_on(&self, path: &std::path::Path) -> bool {
        self.lock().iter().any(|e| e.path == path && e.running.as_ref().is_some_and(|job| !job.is_finished()))
    }

    /// Takes ended jobs off the list.
    pub fn clear_finished(&self) {
        let mut entries = self.lock();
        entries.iter_mut().for_each(settle);
        entries.retain(|e| e.running.is_some());
    }

    /// Waits until every job ended or the time is over. Returns whether all ended.
    pub fn wait_all(&self, at_most: std::time::Duration) -> bool {
        let end = std::time::Instant::now() + at_most;
        while self.running() > 0 {
            if std::time::Instant::now() >= end {
                return false;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        true
    }
}

fn view(entry: &mut Entry) -> JobView {
    settle(entry);
    let status = match (&entry.running, &entry.last) {
        (Some(job), _) => job.status(),
        (None, Some(last)) => last.clone(),
        (None, None) => JobStatus::ended(JobState::Failed),
    };
    JobView { id: entry.id, title: entry.title.clone(), path: entry.path.clone(), status }
}

/// Takes the result of a job that ended; its last reading and facts stay.
fn settle(entry: &mut Entry) {
    if entry.running.as_ref().is_some_and(|job| job.is_finished()) {
        if let Some(job) = entry.running.take() {
            entry.last = Some(job.status());
            entry.facts = job.facts();
            entry.result = Some(Arc::new(job.finish()));
        }
    }
}
