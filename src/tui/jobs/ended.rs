//! Ended jobs that have not been announced.

use super::{take_result, JobId, Jobs};
use gristmill_core::Severity;
use gristmill_ops::job::JobState;

/// The end of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedJob {
    /// The identifier of the job.
    pub id: JobId,
    /// The title, such as `pack tokens`. May contain text from the data.
    pub title: String,
    /// The final state.
    pub state: JobState,
    /// The number of problems, without notes.
    pub problems: u64,
}

impl Jobs {
    /// Returns the jobs that ended since the last call, oldest first.
    pub fn take_ended(&self) -> Vec<EndedJob> {
        let mut ended = Vec::new();
        for entry in self.entries.lock().iter_mut().filter(|entry| !entry.is_announced) {
            take_result(entry);
            let Some(last) = entry.last.as_ref().filter(|_| entry.running.is_none()) else { continue };
            entry.is_announced = true;
            let severe = last.counts.iter().filter(|(severity, ..)| *severity >= Severity::Problem);
            ended.push(EndedJob {
                id: entry.id,
                title: entry.title.clone(),
                state: last.state,
                problems: severe.map(|(.., count)| count).sum(),
            });
        }
        ended
    }
}
