//! Finds the files to copy, and determines their targets.

use super::{not_a_folder, CopyItem, CopyPlan, Target, ACTIVITY};
use crate::job::task::TaskContext;
use gristmill_core::text::display_safe;
use gristmill_core::{Failure, Outcome, Problem, ProblemKind, ProblemSink as _, Severity, Subject};
use gristmill_data::source::documents::Glob;
use gristmill_storage::files::{self, FileInfo};
use gristmill_storage::location::{is_remote, RemoteUrl};
use gristmill_storage::run_folder::{is_next_to_output, is_unfinished_run_file, RunFolder};
use gristmill_storage::walk::{Walk, WalkEntry, WalkError};
use std::collections::{HashMap, HashSet};
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

/// Maximum length of a file name, and of a key of a store, in bytes.
const MAX_NAME_BYTES: usize = 255;
const MAX_KEY_BYTES: usize = 1024;
/// Name of the run folder in a target folder.
pub(super) const OWN_NAME: &str = "cp";
/// Prefix of the name of the run folder of a single file.
pub(super) const OWN_PREFIX: &str = "cp-";

/// Finds the files that a plan copies. Files that cannot be copied are reported as problems.
///
/// # Errors
/// A source does not exist, no file matches, or two files have the same target.
pub(super) fn find_items(plan: &CopyPlan, target: &Target, context: &TaskContext) -> Outcome<Vec<CopyItem>> {
    let mut search = Search { filter: NameFilter::new(plan)?, target, context, items: Vec::new(), filtered: 0 };
    for source in &plan.sources {
        context.cancel.check()?;
        search.add_source(source)?;
    }
    if search.items.is_empty() && search.filtered > 0 {
        let failure =
            Failure::usage(ACTIVITY, "no file fits --include and --exclude").of_kind(ProblemKind::MatchesNothing);
        return Err(failure.with_hint("a pattern with a slash is compared with the path below the source"));
    }
    let items = search.items;
    refuse_equal_targets(&items)?;
    match is_remote(&target.path) {
        true => Ok(items),
        false => without_folder_names(items, context),
    }
}

struct Search<'a> {
    filter: NameFilter,
    target: &'a Target,
    context: &'a TaskContext,
    items: Vec<CopyItem>,
    /// Number of files that the patterns exclude.
    filtered: u64,
}

impl Search<'_> {
    fn add_source(&mut self, source: &Path) -> Outcome<()> {
        match files::metadata(source) {
            Ok(info) if info.is_dir() => {
                refuse_overlap(source, &self.target.path, |target, source| target.starts_with(source))?;
                self.add_folder(source, None)
            }
            Ok(info) if info.is_file() => {
                let name = PathBuf::from(source.file_name().unwrap_or_default());
                let to = match self.target.is_folder {
                    true => self.target.path.join(&name),
                    false => self.target.path.clone(),
                };
                refuse_overlap(source, &to, |target, source| target == source)?;
                self.add_file(source.to_owned(), &name, to, info)
            }
            Ok(info) => {
                let why = format!("it is {}, not a file", info.kind.with_article());
                Err(Failure::environment("opening", why).on(Subject::path(source)))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => self.add_pattern(source),
            Err(error) => Err(Failure::io("opening", source, &error)),
        }
    }

    /// Adds the files that match a pattern. Their names are relative to the part of the pattern before the first wildcard.
    fn add_pattern(&mut self, source: &Path) -> Outcome<()> {
        let missing = || Failure::io("opening", source, &ErrorKind::NotFound.into());
        let Some((base, pattern)) = split_pattern(source) else { return Err(missing()) };
        let glob = parse_glob(&pattern, &source.to_string_lossy())?;
        let before = self.items.len() as u64 + self.filtered;
        refuse_overlap(&base, &self.target.path, |target, source| target == source)?;
        if files::try_exists(&base).map_err(|error| Failure::io("opening", &base, &error))? {
            // Without `**`, a file at a greater depth cannot match.
            let depth = if pattern.contains("**") { usize::MAX } else { pattern.split('/').count() };
            self.add_folder(&base, Some((&glob, depth)))?;
        }
        match self.items.len() as u64 + self.filtered > before {
            true => Ok(()),
            false => {
                let failure = Failure::usage(ACTIVITY, "no file fits the pattern").of_kind(ProblemKind::MatchesNothing);
                let hint = "* stays within a folder: **/*.tar looks into all of them";
                Err(failure.on(Subject::path(source)).with_hint(hint))
            }
        }
    }

    /// Adds the files below a folder; with a pattern, only those that match.
    fn add_folder(&mut self, folder: &Path, pattern: Option<(&Glob, usize)>) -> Outcome<()> {
        if !self.target.is_folder && files::is_file(&self.target.path) && !is_remote(&self.target.path) {
            return Err(not_a_folder(&self.target.path));
        }
        let depth = pattern.map_or(usize::MAX, |(_, depth)| depth);
        let walk = Walk::new(folder).sorted().max_depth(depth).report_invalid_keys();
        let (mut folders, mut parents) = (Vec::new(), HashSet::new());
        for entry in walk.filter_entry(|entry| !is_own_folder(entry) && !is_unfinished_run_file(entry.path())) {
            self.context.cancel.check()?;
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    // A folder whose entry is reported is not empty.
                    parents.extend(error.path().and_then(Path::parent).map(Path::to_owned));
                    self.report_walk_error(folder, &error)?;
                    continue;
                }
            };
            parents.extend(entry.path().parent().map(Path::to_owned));
            if entry.kind().is_dir() {
                folders.push(entry.into_path());
            } else if entry.kind().is_file() {
                let name = entry.path().strip_prefix(folder).unwrap_or(entry.path()).to_owned();
                if pattern.is_none_or(|(glob, _)| glob.matches(&name.to_string_lossy())) {
                    let info = entry.metadata();
                    let info = info.map_err(|error| Failure::environment("opening", error.to_string()))?;
                    let to = self.target.path.join(&name);
                    self.add_file(entry.into_path(), &name, to, info)?;
                }
            } else if pattern.is_none() {
                let message = format!("it is {}, not a file, and is not copied", entry.kind().with_article());
                self.report(Problem::problem(ProblemKind::NotAFile, Subject::path(entry.path()), message))?;
            }
        }
        // The content of folders at the maximum depth of the pattern is not listed, so they are not reported as empty.
        let empty = folders.iter().filter(|path| pattern.is_none() && !parents.contains(*path));
        empty.into_iter().try_for_each(|path| {
            let message = "it is empty, and is left out";
            self.report(Problem::note(ProblemKind::Other, Subject::path(path), message))
        })
    }

    fn add_file(&mut self, from: PathBuf, name: &Path, to: PathBuf, info: FileInfo) -> Outcome<()> {
        if !self.filter.chooses(&name.to_string_lossy()) {
            self.filtered += 1;
            return Ok(());
        }
        match target_refusal(&self.target.path, &to) {
            Some(why) => {
                let problem =
                    Problem::problem(ProblemKind::BadName, Subject::path(&from), format!("{why}, so it is not copied"));
                self.report(problem.with_hint("copy it under another name"))
            }
            None => {
                self.items.push(CopyItem { from, to, info });
                Ok(())
            }
        }
    }

    fn report_walk_error(&self, root: &Path, error: &WalkError) -> Outcome<()> {
        let path = error.path().unwrap_or(root);
        let problem = match error.loop_note() {
            Some(note) => Problem { severity: Severity::Problem, ..note },
            // The root folder cannot be listed.
            None if path == root => return Err(error.failure("listing", root)),
            None => Problem::of_failure(ProblemKind::Unreadable, error.failure("reading", root)),
        };
        self.report(Problem { message: format!("{}, so it is not copied", problem.message), ..problem })
    }

    fn report(&self, problem: Problem) -> Outcome<()> {
        self.context.problems.report(problem)
    }
}

/// Whether an entry is the run folder of a copy.
fn is_own_folder(entry: &WalkEntry) -> bool {
    let is_own = |output: PathBuf| {
        let name = output.file_name().unwrap_or_default();
        name == OWN_NAME || name.as_encoded_bytes().starts_with(OWN_PREFIX.as_bytes())
    };
    entry.kind().is_dir() && RunFolder::output_of(entry.path()).is_some_and(is_own) && is_next_to_output(entry.path())
}

/// Returns the part of a path before the first component with a wildcard, and the rest; `None` if there is none.
fn split_pattern(path: &Path) -> Option<(PathBuf, String)> {
    let text = path.to_str()?;
    let has_wildcard = |name: &str| name.contains(['*', '?', '[']);
    // The address of a bucket is not a part of the pattern.
    let from = RemoteUrl::parse(path).map_or(0, |url| url.scheme.name.len() + "://".len() + url.bucket.len());
    let start =
        text.get(from..)?.split_inclusive('/').take_while(|name| !has_wildcard(name)).map(str::len).sum::<usize>()
            + from;
    let (base, pattern) = text.split_at_checked(start).filter(|(_, pattern)| !pattern.is_empty())?;
    let base = if base.is_empty() { Path::new(".") } else { Path::new(base) };
    Some((files::without_slash(base), pattern.to_owned()))
}

/// Parses a pattern. `shown` is its name in messages.
fn parse_glob(pattern: &str, shown: &str) -> Outcome<Glob> {
    Glob::new(pattern)
        .map_err(|failure| Failure { what: "reading the pattern".to_owned(), ..failure }.on(Subject::field(shown)))
}

/// Fails if source and target are the same, or if `is_overlap` finds one inside the other. Paths are compared with links resolved.
fn refuse_overlap(source: &Path, target: &Path, is_overlap: fn(&Path, &Path) -> bool) -> Outcome<()> {
    match is_overlap(&resolve(target), &resolve(source)) {
        true => Err(Failure::usage(ACTIVITY, "the target is the source, or is in it")
            .on(Subject::path(target))
            .with_hint("give another target")),
        false => Ok(()),
    }
}

/// Returns a path with links resolved; its last components need not exist. Different profiles may lead to the same bucket.
fn resolve(path: &Path) -> PathBuf {
    let absolute = files::absolute_or_same(path);
    if is_remote(path) {
        return files::unique_path(&absolute);
    }
    let there = absolute.ancestors().find_map(|folder| Some((folder, files::canonicalize(folder).ok()?)));
    match there {
        Some((folder, real)) => real.join(absolute.strip_prefix(folder).unwrap_or(Path::new(""))),
        None => absolute,
    }
}

/// Returns the reason why a file cannot be written to the path `to`, which is the target or below it.
fn target_refusal(root: &Path, to: &Path) -> Option<&'static str> {
    if is_remote(root) {
        // A path that is not UTF-8 cannot be an address.
        let Some(url) = RemoteUrl::parse(to) else { return Some("its name is not valid UTF-8, which keys have to be") };
        return (url.key.len() > MAX_KEY_BYTES).then_some("its key would be longer than 1,024 bytes");
    }
    let is_long = |part: Component<'_>| part.as_os_str().len() > MAX_NAME_BYTES;
    let below = to.strip_prefix(root).unwrap_or(to);
    below.components().any(is_long).then_some("a part of its key is longer than a file name may be")
}

fn refuse_equal_targets(items: &[CopyItem]) -> Outcome<()> {
    let mut sources: HashMap<&Path, &Path> = HashMap::with_capacity(items.len());
    for item in items {
        if let Some(other) = sources.insert(&item.to, &item.from) {
            let shown = |path: &Path| display_safe(&path.to_string_lossy()).into_owned();
            let why = format!("{} and {} would both become this file", shown(other), shown(&item.from));
            let failure = Failure::usage(ACTIVITY, why).on(Subject::path(&item.to));
            return Err(failure.with_hint("copy them into different folders"));
        }
    }
    Ok(())
}

/// Excludes files whose names are also folders of other files, which is possible for keys but not in file systems.
fn without_folder_names(items: Vec<CopyItem>, context: &TaskContext) -> Outcome<Vec<CopyItem>> {
    let folders: HashSet<PathBuf> =
        items.iter().flat_map(|item| item.to.ancestors().skip(1)).map(Path::to_owned).collect();
    let (bad, good): (Vec<_>, Vec<_>) = items.into_iter().partition(|item| folders.contains(&item.to));
    bad.into_iter().try_for_each(|item| {
        let message = "other keys have it as their folder, so it is not copied: here, one name is a file or a folder";
        context.problems.report(Problem::problem(ProblemKind::BadName, Subject::path(item.from), message))
    })?;
    Ok(good)
}

/// Selects files by their names below a source.
struct NameFilter {
    include: Vec<Glob>,
    exclude: Vec<Glob>,
}

impl NameFilter {
    fn new(plan: &CopyPlan) -> Outcome<Self> {
        let parse = |pattern: &String| {
            // A pattern without a slash applies to names in every folder.
            let full = if pattern.contains('/') { pattern.clone() } else { format!("**/{pattern}") };
            parse_glob(&full, pattern)
        };
        Ok(Self {
            include: plan.include.iter().map(parse).collect::<Outcome<_>>()?,
            exclude: plan.exclude.iter().map(parse).collect::<Outcome<_>>()?,
        })
    }

    fn chooses(&self, name: &str) -> bool {
        let fits = |globs: &[Glob]| globs.iter().any(|glob| glob.matches(name));
        (self.include.is_empty() || fits(&self.include)) && !fits(&self.exclude)
    }
}
