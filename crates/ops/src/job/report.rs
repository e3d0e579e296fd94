//! Result of a run, as every front end prints it.

use gristmill_core::{Problem, ProblemKind, Severity};

/// What a run did, or would do.
pub trait Report: Send + 'static {
    /// Returns the printed lines, one sentence each. `is_preview` means that nothing was done.
    fn lines(&self, is_preview: bool) -> Vec<ReportLine>;
    /// Returns the value for the result object.
    fn to_json(&self) -> serde_json::Value;
    /// Whether everything already existed.
    fn is_nothing_to_do(&self) -> bool;
    /// Returns the first problems and notes of each severity, and the counts of all.
    fn findings(&self) -> (&[Problem], &[(Severity, ProblemKind, u64)]);
}

/// A sentence of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportLine {
    /// First words, which state how the run ended; drawn in the colour of success.
    pub lead: &'static str,
    /// The rest of the sentence; safe to print.
    pub rest: String,
}

impl ReportLine {
    /// Creates a sentence without lead words.
    pub fn plain(rest: String) -> Self {
        Self { lead: "", rest }
    }
}
