//! Ends of jobs that were not announced yet.

use super::{settle, JobId, Jobs};
use gristmill_core::Severity;
use gristmill_ops::job::JobState;

/// The end of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedJob {
    /// Its number.
    pub id: JobId,
    /// In the person's words: `pack tokens`. May come from the data.
    pub title: String,
    /// How it ended.
    pub state: JobState,
    /// What it found that is more than a note.
    pub problems: u64,
}

impl Jobs {
    /// The jobs that ended since the last call, oldest first.
    pub fn take_ended(&self) -> Vec<EndedJob> {
        let mut ended = Vec::new();
        for entry in self.lock().iter_mut().filter(|entry| !entry.is_announced) {
            settle(entry);
            let Some(last) = entry.last.as_ref().filter(|_| entry.running.is_none()) else { continue };
            entry.is_announced = true;
            let grave = last.counts.iter().filter(|(severity, ..)| *severity >= Severity::Problem);
            ended.push(EndedJob {
                id: entry.id,
                title: entry.title.clone(),
                state: last.state,
                problems: grave.map(|(.., count)| count).sum(),
            });
        }
        ended
    }
}
