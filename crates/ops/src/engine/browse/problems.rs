//! Samples with problems, in the order of the data set: problems in the report of the last run, problems found by the scan, and problems
//! found while browsing.

use super::places::{place_of, SubjectLocation};
use super::{BrowseSample, Catalog, SampleAt};
use gristmill_core::{Cancel, DatasetKind, Outcome, Problem, ProblemKind, Severity, Subject};
use gristmill_storage::cache::read_whole_cached;
use gristmill_storage::read::read_whole;
use gristmill_storage::run_folder::RunFolder;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Limit of the size of a report, in bytes.
const MAX_REPORT_BYTES: u64 = 1 << 28;
/// Limit of recorded problems.
pub const MAX_PROBLEMS: usize = 1_000_000;

/// The problem of one sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampleProblem {
    /// The kind of problem.
    pub kind: ProblemKind,
    /// The key of the sample, raw; `None` if it was unknown when the problem was found.
    pub key: Option<Arc<str>>,
    /// The problem's message. Raw.
    pub why: Arc<str>,
}

impl SampleProblem {
    /// Creates a problem of a sample whose key is unknown.
    pub fn new(kind: ProblemKind, why: impl Into<Arc<str>>) -> Self {
        Self { kind, key: None, why: why.into() }
    }

    /// Whether the problem is that an earlier sample has the key.
    pub(crate) fn is_repeat(&self) -> bool {
        matches!(self.kind, ProblemKind::DuplicateKey | ProblemKind::ScatteredSample)
    }
}

/// The samples with problems; for each sample, the first problem that was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProblemList {
    places: BTreeMap<SampleAt, SampleProblem>,
    /// Reported problems that concern a whole shard or the plan instead of a sample.
    others: Vec<Arc<Problem>>,
    /// Whether some problems were discarded because of the limit.
    is_cut: bool,
}

impl ProblemList {
    /// Returns the number of samples with a problem.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether no sample has a problem.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Adds a problem that does not concern a sample, up to the limit.
    pub(super) fn add_other(&mut self, problem: Problem) {
        match self.others.len() < MAX_PROBLEMS {
            true => self.others.push(Arc::new(problem)),
            false => self.is_cut = true,
        }
    }

    /// Returns the message of a sample's problem.
    pub fn get(&self, at: SampleAt) -> Option<&Arc<str>> {
        self.problem_of(at).map(|known| &known.why)
    }

    /// Returns the problem of a sample.
    pub fn problem_of(&self, at: SampleAt) -> Option<&SampleProblem> {
        self.places.get(&at)
    }

    /// Returns all samples with a problem.
    pub fn iter(&self) -> impl Iterator<Item = (SampleAt, &SampleProblem)> {
        self.places.iter().map(|(at, known)| (*at, known))
    }

    /// Returns the reported problems that do not concern a sample.
    pub fn others(&self) -> &[Arc<Problem>] {
        &self.others
    }

    /// Whether some problems were discarded because of the limit.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Returns the next sample with a problem after `at`.
    pub fn after(&self, at: SampleAt) -> Option<SampleAt> {
        let later = (std::ops::Bound::Excluded(at), std::ops::Bound::Unbounded);
        self.places.range(later).next().map(|(at, _)| *at)
    }

    /// Returns the previous sample with a problem before `at`.
    pub fn before(&self, at: SampleAt) -> Option<SampleAt> {
        self.places.range(..at).next_back().map(|(at, _)| *at)
    }

    /// Adds a problem; returns whether it is new.
    pub fn add(&mut self, at: SampleAt, known: SampleProblem) -> bool {
        if let Some(here) = self.places.get_mut(&at) {
            // A repeated key is reported for a sample without other problems, regardless of what is found first.
            let is_first = here.is_repeat() && !known.is_repeat();
            if is_first {
                *here = known;
            }
            return is_first;
        }
        if self.places.len() >= MAX_PROBLEMS {
            self.is_cut = true;
            return false;
        }
        self.places.insert(at, known);
        true
    }

    /// Adds the problem of a sample whose key an earlier sample has, or replaces the one that names another sample.
    pub(super) fn set_repeat(&mut self, at: SampleAt, known: SampleProblem) {
        match self.places.get_mut(&at) {
            Some(here) if here.is_repeat() => *here = known,
            _ => {
                self.add(at, known);
            }
        }
    }

    /// Adds the defects of a window of a data set of this kind; returns whether any of them is new.
    pub fn add_defects(&mut self, window: &[BrowseSample], kind: DatasetKind) -> bool {
        let kind = match kind {
            kind if kind.has_loose_files() => ProblemKind::Unreadable,
            kind if kind.table().is_some() => ProblemKind::BadFile,
            kind if kind.is_raw_web_dataset() => ProblemKind::Other,
            _ => ProblemKind::IndexMismatch,
        };
        let mut is_new = false;
        for sample in window {
            if let Some(defect) = &sample.defect {
                let key = Some(&sample.key).filter(|key| !key.is_empty()).map(Arc::clone);
                is_new |= self.add(sample.at, SampleProblem { kind, key, why: Arc::clone(defect) });
            }
        }
        is_new
    }

    /// Adds the problems of another list.
    pub fn merge(&mut self, other: &Self) {
        for (at, known) in other.iter() {
            // Copies a key that became known in the meantime.
            match self.places.get_mut(&at) {
                Some(here) if here.key.is_none() => here.key.clone_from(&known.key),
                // The sample that the problem names may have changed.
                Some(here) if here.is_repeat() => here.clone_from(known),
                Some(_) => {}
                None => {
                    self.add(at, known.clone());
                }
            }
        }
        // These problems have one source, which only adds problems.
        if self.others.len() < other.others.len() {
            self.others.clone_from(&other.others);
        }
        self.is_cut |= other.is_cut;
    }
}

/// The fields of a report that are read.
#[derive(Deserialize)]
struct Report {
    #[serde(default)]
    result: ReportedResult,
}

#[derive(Default, Deserialize)]
struct ReportedResult {
    #[serde(default)]
    problems: Vec<Reported>,
}

#[derive(Deserialize)]
struct Reported {
    #[serde(default)]
    severity: String,
    /// Not parsed further: an unknown kind of a newer version must not make the report unreadable.
    #[serde(default)]
    kind: serde_json::Value,
    #[serde(default)]
    message: String,
    #[serde(default)]
    hint: Option<String>,
    #[serde(default)]
    subject: Subject,
}

/// Returns the problems of the last run, without notes: those listed in its report, and those stored next to it. Returns none if the report
/// is missing or cannot be parsed.
pub fn reported(catalog: &dyn Catalog, cancel: &Cancel) -> Outcome<ProblemList> {
    let mut list = ProblemList::default();
    let own = RunFolder::for_webdataset(catalog.root());
    let Some(bytes) = read_whole_cached(&own.report(), MAX_REPORT_BYTES)? else { return Ok(list) };
    let Ok(report) = serde_json::from_slice::<Report>(&bytes) else { return Ok(list) };
    let unlisted = read_whole(&own.unlisted_problems(), MAX_REPORT_BYTES)?.unwrap_or_default();
    let unlisted = unlisted.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok());
    for problem in report.result.problems.into_iter().chain(unlisted).filter(|problem| problem.severity != "note") {
        cancel.check()?;
        add_reported(&mut list, problem, catalog, cancel)?;
    }
    Ok(list)
}

fn add_reported(list: &mut ProblemList, problem: Reported, catalog: &dyn Catalog, cancel: &Cancel) -> Outcome<()> {
    let kind = serde_json::from_value(problem.kind).unwrap_or(ProblemKind::Other);
    let Reported { message, hint, subject, .. } = problem;
    match place_of(catalog, &subject, cancel)? {
        SubjectLocation::Sample { at, key } => {
            list.add(at, SampleProblem { kind, key: Some(key), why: Arc::from(message) });
        }
        SubjectLocation::Near(_) | SubjectLocation::Group(_) | SubjectLocation::Unknown => {
            list.add_other(Problem { subject, kind, severity: Severity::Problem, message, hint });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problem_list_is_walked_in_both_directions_and_keeps_first_reasons() {
        let at = |group, index| SampleAt { group, index };
        let mut list = ProblemList::default();
        let known = |why: &str| SampleProblem::new(ProblemKind::Other, why);
        assert!(list.add(at(1, 5), known("a")) && list.add(at(0, 9), known("b")));
        assert!(!list.add(at(1, 5), known("c")));
        assert_eq!(list.get(at(1, 5)).map(|why| &**why), Some("a"));
        assert_eq!(list.after(at(0, 0)), Some(at(0, 9)));
        assert_eq!(list.after(at(0, 9)), Some(at(1, 5)));
        assert_eq!(list.after(at(1, 5)), None);
        assert_eq!(list.before(at(1, 5)), Some(at(0, 9)));
        assert_eq!(list.before(at(0, 9)), None);
        let mut all = ProblemList::default();
        all.merge(&list);
        assert_eq!(all, list);
    }

    #[test]
    fn keeps_limited_problems_and_marks_overflow() {
        let mut list = ProblemList::default();
        for index in 0..=MAX_PROBLEMS as u64 {
            list.add(SampleAt { group: 0, index }, SampleProblem::new(ProblemKind::BadLine, Arc::from("")));
        }
        assert_eq!((list.len(), list.is_cut()), (MAX_PROBLEMS, true));
    }
}
