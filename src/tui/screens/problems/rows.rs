//! The rows of a list of problems: those that a run reported, or those of the data set in the browser.

use gristmill_core::{Problem, ProblemKind, Severity, Subject};
use gristmill_ops::engine::browse::{Groups, ProblemList, SampleAt};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

/// The target of Enter.
#[derive(Clone, Debug, PartialEq)]
pub enum OpenTarget {
    /// The place of a problem in a data set or file, opened in the browser.
    Data {
        /// The data set or file.
        path: PathBuf,
        /// The subject of the problem.
        subject: Box<Subject>,
    },
    /// A sample of the data set that the browser already shows.
    Sample(SampleAt),
}

/// The target of `x`: a sample, or a whole shard.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ExcludeTarget {
    /// The index of the shard in the data set.
    pub group: u32,
    /// The name of the shard.
    pub shard: Arc<str>,
    /// The key of the sample; `None` for the whole shard.
    pub key: Option<Arc<str>>,
}

/// The targets of a problem, or the reasons why it has none.
#[derive(Clone, Debug, PartialEq)]
pub struct ProblemTarget {
    /// The target of Enter.
    pub open: Result<OpenTarget, Arc<str>>,
    /// The target of `x`.
    pub exclude: Result<ExcludeTarget, Arc<str>>,
}

/// The problems of a run, worst first.
#[derive(Clone, Debug, Default)]
pub struct ReportedProblems {
    problems: Vec<Problem>,
    texts: Vec<String>,
    /// The target of each problem; empty until they have been looked up.
    targets: Vec<ProblemTarget>,
    /// Length in bytes of the folder path with which all texts begin.
    shared: usize,
}

/// The problems of the data set in the browser. Rows are created on demand, because there may be very many.
#[derive(Clone, Debug, Default)]
pub struct DatasetProblems {
    list: Arc<ProblemList>,
    order: Vec<SampleAt>,
    groups: Arc<Groups>,
    /// Shards, files or folders that could not be read, and that no other problem names.
    unread: Vec<Arc<Problem>>,
}

/// The rows of a list of problems.
#[derive(Clone, Debug)]
pub enum ProblemRows {
    /// The problems that a run reported.
    Reported(ReportedProblems),
    /// The problems of the data set in the browser.
    Known(DatasetProblems),
}

impl Default for ProblemRows {
    fn default() -> Self {
        Self::Reported(ReportedProblems::default())
    }
}

impl ReportedProblems {
    /// Sorts the problems of a run by descending severity, then by place, because workers find them in any order.
    pub fn new(mut problems: Vec<Problem>) -> Self {
        problems.sort_by_cached_key(|p| {
            let Subject { path, shard, line, byte_offset, .. } = p.subject.clone();
            (Reverse(p.severity), path, shard, line, byte_offset, p.to_string())
        });
        let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
        let shared = shared_folder(&texts);
        Self { problems, texts, targets: Vec::new(), shared }
    }
}

impl DatasetProblems {
    /// Creates the rows for the problems of a data set with these groups.
    pub fn new(list: Arc<ProblemList>, groups: Arc<Groups>) -> Self {
        let order = list.iter().map(|(at, _)| at).collect();
        let unread = unread_groups(&list, &groups).collect();
        Self { list, order, groups, unread }
    }

    fn other(&self, row: usize) -> Option<&Arc<Problem>> {
        let row = row.checked_sub(self.order.len())?;
        self.list.others().get(row).or_else(|| self.unread.get(row.checked_sub(self.list.others().len())?))
    }

    fn problem(&self, row: usize) -> Option<Problem> {
        let Some(&at) = self.order.get(row) else { return self.other(row).map(|problem| Problem::clone(problem)) };
        let known = self.list.problem_of(at)?;
        let shard = self.groups.group(at.group).map(|group| group.name.to_string());
        let number = || format!("#{}", self.groups.number(at));
        let key = known.key.as_ref().map_or_else(number, ToString::to_string);
        let subject = Subject { shard, key: Some(key), ..Subject::default() };
        Some(Problem::problem(known.kind, subject, known.why.to_string()))
    }

    fn target(&self, row: usize) -> Option<ProblemTarget> {
        if let Some(&at) = self.order.get(row) {
            let key = self.list.problem_of(at)?.key.clone();
            let shard = self.groups.group(at.group).map(|group| Arc::clone(&group.name));
            let target = shard.zip(key).map(|(shard, key)| ExcludeTarget { group: at.group, shard, key: Some(key) });
            return Some(ProblemTarget {
                open: Ok(OpenTarget::Sample(at)),
                exclude: target.ok_or_else(|| Arc::from("its key cannot be read")),
            });
        }
        let problem = self.other(row)?;
        let named = problem.subject.shard.as_deref().and_then(|shard| self.groups.named(shard));
        let Some(group) = named.and_then(|at| self.groups.group(at).map(|group| (at, group))) else {
            let why = no_place(&problem.subject);
            return Some(ProblemTarget { open: Err(Arc::clone(&why)), exclude: Err(why) });
        };
        let (at, group) = group;
        let open = match group.samples {
            0 => Err(Arc::from(format!("{} has no sample", group.name))),
            _ => Ok(OpenTarget::Sample(SampleAt { group: at, index: 0 })),
        };
        let exclude = match is_about_whole_shard(problem) {
            true => Ok(ExcludeTarget { group: at, shard: Arc::clone(&group.name), key: None }),
            false => Err(no_sample_there(&group.name)),
        };
        Some(ProblemTarget { open, exclude })
    }
}

/// Returns the problem of each group that could not be read, and that no other problem names.
fn unread_groups<'g>(list: &'g ProblemList, groups: &'g Groups) -> impl Iterator<Item = Arc<Problem>> + 'g {
    let failed = groups.groups.iter().filter_map(|group| Some((&group.name, group.failure.as_ref()?)));
    let named: HashSet<&str> = list.others().iter().filter_map(|problem| problem.subject.shard.as_deref()).collect();
    failed.filter(move |(name, _)| !named.contains(&***name)).map(|(name, why)| {
        Arc::new(Problem::problem(ProblemKind::Unreadable, Subject::shard(&**name), why.to_string()))
    })
}

/// Returns the number of problems that are known of a data set.
pub fn count_known(list: &ProblemList, groups: &Groups) -> u64 {
    (list.len() + list.others().len() + unread_groups(list, groups).count()) as u64
}

impl ProblemRows {
    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Reported(rows) => rows.problems.len(),
            Self::Known(rows) => rows.order.len() + rows.list.others().len() + rows.unread.len(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the problem of a row.
    pub fn problem(&self, row: usize) -> Option<Problem> {
        match self {
            Self::Reported(rows) => rows.problems.get(row).cloned(),
            Self::Known(rows) => rows.problem(row),
        }
    }

    /// Returns the kind of the problem of a row.
    pub fn kind(&self, row: usize) -> Option<ProblemKind> {
        match self {
            Self::Reported(rows) => rows.problems.get(row).map(|problem| problem.kind),
            Self::Known(rows) => match rows.order.get(row) {
                Some(at) => rows.list.problem_of(*at).map(|known| known.kind),
                None => rows.other(row).map(|problem| problem.kind),
            },
        }
    }

    /// Returns the target of the problem of a row; `None` while it is being looked up.
    pub fn target(&self, row: usize) -> Option<ProblemTarget> {
        match self {
            Self::Reported(rows) => rows.targets.get(row).cloned(),
            Self::Known(rows) => rows.target(row),
        }
    }

    /// Returns the severity and the text of a row, without the folder path that all rows share.
    pub(super) fn text(&self, row: usize) -> Option<(Severity, String)> {
        match self {
            Self::Reported(rows) => {
                let (problem, text) = (rows.problems.get(row)?, rows.texts.get(row)?);
                Some((problem.severity, text.get(rows.shared..).unwrap_or(text).to_owned()))
            }
            Self::Known(rows) => rows.problem(row).map(|problem| (problem.severity, problem.to_string())),
        }
    }

    /// Returns the problems of a run in row order; empty for problems of the browser.
    pub(super) fn reported(&self) -> &[Problem] {
        match self {
            Self::Reported(rows) => &rows.problems,
            Self::Known(_) => &[],
        }
    }

    /// Sets the targets of the problems of a run.
    pub(super) fn take_targets(&mut self, targets: Vec<ProblemTarget>) {
        if let Self::Reported(rows) = self {
            if targets.len() == rows.problems.len() {
                rows.targets = targets;
            }
        }
    }

    /// Whether there are more problems than rows.
    pub(super) fn is_cut(&self) -> bool {
        matches!(self, Self::Known(rows) if rows.list.is_cut())
    }

    /// Returns the number of rows of each kind.
    pub(super) fn kinds(&self) -> BTreeMap<ProblemKind, u64> {
        let mut kinds = BTreeMap::new();
        for kind in (0..self.len()).filter_map(|row| self.kind(row)) {
            *kinds.entry(kind).or_insert(0) += 1;
        }
        kinds
    }
}

/// Whether a problem concerns a whole shard, that is, has no place in it. A duplicate key is no reason to exclude a shard.
pub(super) fn is_about_whole_shard(problem: &Problem) -> bool {
    let Subject { shard, key, byte_offset, .. } = &problem.subject;
    shard.is_some() && key.is_none() && byte_offset.is_none() && problem.kind != ProblemKind::DuplicateKey
}

/// Returns the reason why damage between samples cannot be excluded.
pub(super) fn no_sample_there(shard: &str) -> Arc<str> {
    Arc::from(format!("no sample of {shard} holds that place; the list of shards in the browser excludes whole shards"))
}

/// Returns the reason why a problem without a place has no target.
pub(super) fn no_place(subject: &Subject) -> Arc<str> {
    Arc::from(match (&subject.shard, &subject.path, &subject.field) {
        (Some(shard), ..) => format!("{shard} is not in the data set"),
        (None, Some(path), _) => format!("{path} is not in the data set"),
        (None, None, Some(field)) => format!("the problem is about '{field}', not about a place in the data"),
        (None, None, None) => "the problem is about no place in the data".to_owned(),
    })
}

/// Returns the length in bytes of the folder path with which all rows begin, which the list omits; 0 if there is none.
fn shared_folder(rows: &[String]) -> usize {
    let Some((first, others)) =
        rows.split_first().filter(|(first, others)| first.starts_with('/') && !others.is_empty())
    else {
        return 0;
    };
    let path_end = first.find(": ").unwrap_or(first.len());
    let shared = others
        .iter()
        .fold(path_end, |end, row| first.bytes().take(end).zip(row.bytes()).take_while(|(a, b)| a == b).count());
    // Compared as bytes, because the common prefix may end inside a character.
    let path = first.as_bytes().get(..shared).unwrap_or_default();
    path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_folder_of_all_problems_is_omitted() {
        let rows = |texts: &[&str]| texts.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>();
        assert_eq!(shared_folder(&rows(&["/d/av/a.mp4: cut", "/d/av/b.mp4: cut"])), "/d/av/".len());
        assert_eq!(shared_folder(&rows(&["/d/av/a.mp4: cut", "/d/b.mp4: see a/b"])), "/d/".len());
        assert_eq!(shared_folder(&rows(&["/d/a: b/c", "/d/a: b/d"])), "/d/".len(), "what is said is no path");
        assert_eq!(shared_folder(&rows(&["/d/a.mp4: cut"])), 0, "one row shares nothing");
        assert_eq!(shared_folder(&rows(&["s_0.tar: cut", "s_1.tar: cut"])), 0);
        assert_eq!(shared_folder(&rows(&["/d/é: x", "/d/è: x"])), "/d/".len());
        assert_eq!(shared_folder(&[]), 0);
    }
}
