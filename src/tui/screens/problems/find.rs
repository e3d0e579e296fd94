//! Finds the targets of the problems of a run. Reads files, so it runs on a worker.

use super::rows::{is_about_whole_shard, no_place, no_sample_there, ExcludeTarget, OpenTarget, ProblemTarget};
use super::table::{note, NotedTarget};
use gristmill_core::handles::problems_of_lines;
use gristmill_core::{Cancel, DatasetKind, Outcome, Problem, ProblemKind, UnlistedProblems};
use gristmill_data::source::kind::kind_of;
use gristmill_ops::browse::{can_open, open};
use gristmill_ops::engine::browse::places::{place_of, SubjectLocation};
use gristmill_ops::engine::browse::{Catalog, Groups};
use gristmill_storage::files;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The result of a search.
pub struct ProblemTargets {
    /// The target of each problem, in the order of the input.
    pub targets: Vec<ProblemTarget>,
    /// The shards of the data set, if it supports excludes; otherwise the reason why not.
    pub edit: Result<Arc<Groups>, Arc<str>>,
}

/// Looks up each problem in the data set at `root`, which the run processed.
pub fn find(root: &Path, problems: &[Problem], cancel: &Cancel) -> ProblemTargets {
    let kind = kind_of(root);
    let catalog = match &kind {
        Ok(kind) if kind.has_splits() => open(root).map(Some),
        _ => Ok(None),
    };
    let (catalog, edit) = match (kind, catalog) {
        (_, Ok(Some(catalog))) => {
            let groups = catalog.groups();
            (Some(catalog), Ok(groups))
        }
        (_, Err(failure)) | (Err(failure), _) => (None, Err(Arc::from(format!("{}: {}", root.display(), failure.why)))),
        (Ok(kind), Ok(None)) => (None, Err(why_no_edit(kind))),
    };
    let mut finder = Finder { root, catalog, edit: &edit, cancel, openable: HashMap::new() };
    let targets = problems.iter().map(|problem| finder.problem_target(problem)).collect();
    ProblemTargets { targets, edit }
}

/// Returns the targets of the unlisted problems of a kind: each sample or shard once, in the prepared data set at `root`.
pub fn find_unlisted(
    root: &Path,
    kind: ProblemKind,
    unlisted: &UnlistedProblems,
    cancel: &Cancel,
) -> Outcome<Vec<NotedTarget>> {
    let catalog = open(root)?;
    let edit = Ok(catalog.groups());
    let finder = Finder { root, catalog: Some(catalog), edit: &edit, cancel, openable: HashMap::new() };
    let (mut targets, mut seen) = (Vec::new(), HashSet::new());
    for problem in problems_of_lines(&unlisted.lines()).filter(|problem| problem.kind == kind) {
        cancel.check()?;
        if let Ok(target) = finder.target(&problem)? {
            if seen.insert(target.clone()) {
                targets.push(NotedTarget { target, note: note(&problem) });
            }
        }
    }
    Ok(targets)
}

fn why_no_edit(kind: DatasetKind) -> Arc<str> {
    let why = kind.info().why_no_splits.unwrap_or("it has no splits");
    Arc::from(match kind.is_web_dataset() {
        true => why.to_owned(),
        false => format!("{why}, so nothing of it can be excluded"),
    })
}

struct Finder<'a> {
    root: &'a Path,
    catalog: Option<Arc<dyn Catalog>>,
    edit: &'a Result<Arc<Groups>, Arc<str>>,
    cancel: &'a Cancel,
    /// Whether paths can be browsed, cached because many problems have the same path.
    openable: HashMap<PathBuf, Result<(), Arc<str>>>,
}

impl Finder<'_> {
    fn problem_target(&mut self, problem: &Problem) -> ProblemTarget {
        let subject = Box::new(problem.subject.clone());
        let open = self.path_of(problem).map(|path| OpenTarget::Data { path, subject });
        let exclude = self.target(problem).unwrap_or_else(|failure| Err(Arc::from(failure.why)));
        ProblemTarget { open, exclude }
    }

    /// Returns the data set or file to open.
    fn path_of(&mut self, problem: &Problem) -> Result<PathBuf, Arc<str>> {
        let subject = &problem.subject;
        if subject.shard.is_some() || subject.key.is_some() && subject.path.is_none() {
            let root = self.root.to_owned();
            return self.can_open(&root).map(|()| root);
        }
        let path = PathBuf::from(subject.path.as_deref().ok_or_else(|| no_place(subject))?);
        let Err(why) = self.can_open(&path) else { return Ok(path) };
        // A media file is shown in its folder, if that is the data set.
        match files::absolute_or_same(&path).starts_with(files::absolute_or_same(self.root))
            && self.is_folder()
            && files::is_file(&path)
        {
            true => Ok(self.root.to_owned()),
            false => Err(why),
        }
    }

    /// Whether the data set is a folder of loose files.
    fn is_folder(&self) -> bool {
        kind_of(self.root).is_ok_and(DatasetKind::has_loose_files)
    }

    fn can_open(&mut self, path: &Path) -> Result<(), Arc<str>> {
        if let Some(known) = self.openable.get(path) {
            return known.clone();
        }
        let known = can_open(path).map_err(|failure| Arc::from(format!("{}: {}", path.display(), failure.why)));
        self.openable.insert(path.to_owned(), known.clone());
        known
    }

    fn target(&self, problem: &Problem) -> Outcome<Result<ExcludeTarget, Arc<str>>> {
        let subject = &problem.subject;
        let (catalog, groups) = match (&self.catalog, self.edit) {
            (Some(catalog), Ok(groups)) => (catalog, groups),
            (_, Err(why)) => return Ok(Err(Arc::clone(why))),
            (None, Ok(_)) => return Ok(Err(no_place(subject))),
        };
        let name = |group: u32| groups.group(group).map(|group| Arc::clone(&group.name)).unwrap_or_default();
        Ok(match place_of(&**catalog, subject, self.cancel)? {
            SubjectLocation::Sample { at, key } => {
                Ok(ExcludeTarget { group: at.group, shard: name(at.group), key: Some(key) })
            }
            SubjectLocation::Group(group) if is_about_whole_shard(problem) => {
                Ok(ExcludeTarget { group, shard: name(group), key: None })
            }
            SubjectLocation::Group(group) => Err(no_sample_there(&name(group))),
            SubjectLocation::Near(at) => Err(no_sample_there(&name(at.group))),
            SubjectLocation::Unknown => Err(no_place(subject)),
        })
    }
}
