//! The results of jobs of all kinds.

use gristmill_core::{Failure, Outcome, Problem, ProblemKind, Severity};
use gristmill_ops::job::jsonl::JsonlReport;
use gristmill_ops::job::leaks::LeakReport;
use gristmill_ops::job::metadataset::MetadatasetReport;
use gristmill_ops::job::prepare::PrepareReport;
use gristmill_ops::job::report::{self, OutputFile};
use std::sync::Arc;

/// The report of an operation.
pub struct OperationReport(pub Box<dyn report::Report>);

impl std::fmt::Debug for OperationReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.to_json().fmt(f)
    }
}

impl Report for OperationReport {
    fn files(&self) -> &[OutputFile] {
        &[]
    }
    fn problems(&self) -> &[Problem] {
        self.0.findings().0
    }
    fn counts(&self) -> &[(Severity, ProblemKind, u64)] {
        self.0.findings().1
    }
    fn is_idle(&self) -> bool {
        self.0.is_nothing_to_do()
    }
}

impl From<Outcome<Box<dyn report::Report>>> for JobResult {
    fn from(end: Outcome<Box<dyn report::Report>>) -> Self {
        Self::Operation(Arc::new(end.map(OperationReport)))
    }
}

/// The common part of the reports of all jobs.
pub trait Report {
    /// Returns the written files; empty if the report lists them in another form.
    fn files(&self) -> &[OutputFile];
    /// Returns problems and notes, the first 1,000 of each severity.
    fn problems(&self) -> &[Problem];
    /// Returns the number of problems and notes of each severity and kind.
    fn counts(&self) -> &[(Severity, ProblemKind, u64)];
    /// Returns whether everything existed already and nothing was written.
    fn is_idle(&self) -> bool;
}

macro_rules! reports {
    ($($(#[$doc:meta])* $variant:ident($report:ty), $idle:ident, $files:ident;)*) => {
        /// The result of a job: its report, or its failure. Clones share it.
        #[derive(Clone, Debug)]
        pub enum JobResult {
            $($(#[$doc])* $variant(Arc<Outcome<$report>>),)*
            /// Report of an operation.
            Operation(Arc<Outcome<OperationReport>>),
        }
        impl JobResult {
            /// Returns the report, or the failure.
            pub fn report(&self) -> Result<&dyn Report, &Failure> {
                match self {
                    $(Self::$variant(end) => end.as_ref().as_ref().map(|r| r as &dyn Report),)*
                    Self::Operation(end) => end.as_ref().as_ref().map(|r| r as &dyn Report),
                }
            }
        }
        $(
            impl From<Outcome<$report>> for JobResult {
                fn from(end: Outcome<$report>) -> Self {
                    Self::$variant(Arc::new(end))
                }
            }
            impl Report for $report {
                fn files(&self) -> &[OutputFile] {
                    reports!(@files self $files)
                }
                fn problems(&self) -> &[Problem] {
                    &self.problems
                }
                fn counts(&self) -> &[(Severity, ProblemKind, u64)] {
                    &self.counts
                }
                fn is_idle(&self) -> bool {
                    reports!(@idle self $idle)
                }
            }
        )*
    };
    (@idle $report:ident nothing_to_do) => { $report.nothing_to_do };
    (@idle $report:ident never) => { false };
    (@files $report:ident listed) => { &$report.files };
}

reports! {
    /// Report of `prepare` on a WebDataset.
    Prepare(PrepareReport), nothing_to_do, listed;
    /// Report of `prepare` on a JSONL file.
    Jsonl(JsonlReport), nothing_to_do, listed;
    /// Report of `prepare` on a metadataset.
    Metadataset(MetadatasetReport), nothing_to_do, listed;
    /// Report of the leak check.
    Leaks(LeakReport), never, listed;
}

impl JobResult {
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
        let counts = self.report().map(|r| r.counts()).unwrap_or_default();
        let failures = match self {
            Self::Operation(end) => end.as_ref().as_ref().map_or(0, |report| report.0.failures().len() as u64),
            _ => 0,
        };
        failures + counts.iter().filter(|(s, _, _)| *s >= Severity::Problem).map(|(_, _, n)| n).sum::<u64>()
    }
}
