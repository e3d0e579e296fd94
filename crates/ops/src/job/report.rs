//! What a run did, as every front end prints it.

use gristmill_core::{Problem, ProblemKind, Severity};

/// What a run did, or would do.
pub trait Report: Send + 'static {
    /// What is printed of it, one sentence each. `is_preview` says that nothing was done.
    fn lines(&self, is_preview: bool) -> Vec<ReportLine>;
    /// As it is in the result object.
    fn to_json(&self) -> serde_json::Value;
    /// Whether everything was there already.
    fn is_nothing_to_do(&self) -> bool;
    /// Problems and notes, the first of each severity, and all of them, counted.
    fn findings(&self) -> (&[Problem], &[(Severity, ProblemKind, u64)]);
}

/// A sentence of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportLine {
    /// Its first words, which say how the run ended; drawn in the colour of success.
    pub lead: &'static str,
    /// The rest; safe to print.
    pub rest: String,
}

impl ReportLine {
    /// A sentence without such words.
    pub fn plain(rest: String) -> Self {
        Self { lead: "", rest }
    }
}
