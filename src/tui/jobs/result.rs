//! What came of a job, whatever kind of job it was.

use gristmill_core::{Failure, Outcome, Problem, ProblemKind, Severity};
use gristmill_ops::job::dedup::DedupReport;
use gristmill_ops::job::jsonl::JsonlReport;
use gristmill_ops::job::leaks::LeakReport;
use gristmill_ops::job::media::MediaReport;
use gristmill_ops::job::metadataset::MetadatasetReport;
use gristmill_ops::job::nanosets::IndexReport;
use gristmill_ops::job::pack::PackReport;
use gristmill_ops::job::prepare::{OutputFile, PrepareReport};
use std::sync::Arc;

/// What the reports of all jobs tell alike.
pub trait Report {
    /// Files as written; none where they are told in another way.
    fn files(&self) -> &[OutputFile];
    /// Problems and notes, the first 1,000 of each severity.
    fn problems(&self) -> &[Problem];
    /// All problems and notes, counted.
    fn counts(&self) -> &[(Severity, ProblemKind, u64)];
    /// Everything was there already; nothing was written.
    fn is_idle(&self) -> bool;
}

macro_rules! reports {
    ($($(#[$doc:meta])* $variant:ident($report:ty), $idle:ident, $files:ident;)*) => {
        /// The end of a job: its report, or why there is none. Clones share it.
        #[derive(Clone, Debug)]
        pub enum JobResult {
            $($(#[$doc])* $variant(Arc<Outcome<$report>>),)*
        }
        impl JobResult {
            /// The report, or why there is none.
            pub fn report(&self) -> Result<&dyn Report, &Failure> {
                match self {
                    $(Self::$variant(end) => end.as_ref().as_ref().map(|r| r as &dyn Report),)*
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
    (@files $report:ident by_format) => { &[] };
}

reports! {
    /// Of `prepare` on a WebDataset.
    Prepare(PrepareReport), nothing_to_do, listed;
    /// Of `prepare-media`.
    Media(MediaReport), never, listed;
    /// Of `prepare` on a JSONL file.
    Jsonl(JsonlReport), nothing_to_do, listed;
    /// Of `prepare` on a metadataset.
    Metadataset(MetadatasetReport), nothing_to_do, listed;
    /// Of the leak check.
    Leaks(LeakReport), never, listed;
    /// Of `mix index`.
    Mixture(IndexReport), never, listed;
    /// Of `pack`.
    Pack(PackReport), nothing_to_do, by_format;
    /// Of `dedup`.
    Dedup(DedupReport), nothing_to_do, by_format;
}

impl JobResult {
    /// Whether it ended well.
    pub fn is_ok(&self) -> bool {
        self.report().is_ok()
    }

    /// Why there is no report.
    pub fn failure(&self) -> Option<&Failure> {
        self.report().err()
    }

    /// How many problems a run found that are more than notes; 0 where it failed.
    pub fn found(&self) -> u64 {
        let counts = self.report().map(|r| r.counts()).unwrap_or_default();
        counts.iter().filter(|(s, _, _)| *s >= Severity::Problem).map(|(_, _, n)| n).sum()
    }
}
