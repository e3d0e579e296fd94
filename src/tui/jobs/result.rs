//! The results of jobs of all kinds.

use gristmill_core::{Failure, Outcome, Severity};
use gristmill_ops::job::report::Report;
use std::sync::Arc;

/// The result of a job: its report, or its failure. Clones share it.
#[derive(Clone)]
pub struct JobResult(Arc<Outcome<Box<dyn Report>>>);

impl<R> From<Outcome<R>> for JobResult
where
    Box<dyn Report>: From<R>,
{
    fn from(end: Outcome<R>) -> Self {
        Self(Arc::new(end.map(Into::into)))
    }
}

impl JobResult {
    /// Returns the report, or the failure.
    pub fn report(&self) -> Result<&dyn Report, &Failure> {
        self.0.as_ref().as_ref().map(|report| &**report)
    }

    /// Returns the report, if the job succeeded and its report is of this type.
    pub fn typed<R: 'static>(&self) -> Option<&R> {
        self.report().ok()?.typed()
    }

    /// Whether the job succeeded.
    pub fn is_ok(&self) -> bool {
        self.report().is_ok()
    }

    /// Returns the failure; `None` if the job succeeded.
    pub fn failure(&self) -> Option<&Failure> {
        self.report().err()
    }

    /// Returns the number of problems, without notes, and of failed parts; 0 if the job failed.
    pub fn found(&self) -> u64 {
        let Ok(report) = self.report() else { return 0 };
        let severe = report.findings().1.iter().filter(|(severity, ..)| *severity >= Severity::Problem);
        report.failures().len() as u64 + severe.map(|(.., number)| number).sum::<u64>()
    }
}
