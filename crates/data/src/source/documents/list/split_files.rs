//! Finds the files of splits: in saved data sets, and in folders whose data set card or file names define splits.

use super::super::saved;
use super::super::splits::{
    find_splits, listed, no_such_split, parse_split, subset_names, FolderListing, MissingShards, Split, SplitPart,
    Splits,
};
use super::super::{FileRows, TextFile};
use super::{bare_name, read_named_ahead, text_file, HubSnapshot, Listing, Selection};
use gristmill_core::text::{count, count_verb, display_safe, display_safe_bytes};
use gristmill_core::{Cancel, ExitClass, Failure, Outcome, Problem, ProblemKind, Severity, Subject};
use gristmill_storage::files;
use gristmill_storage::read::read_whole;
use gristmill_storage::run_folder::is_next_to_output;
use gristmill_storage::walk::{Walk, WalkEntry};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Name of this step in failures.
const ACTIVITY: &str = "looking for splits";
/// Maximum size of `README.md` and `.huggingface.yaml`, in bytes.
const MAX_CARD_BYTES: u64 = 16 << 20;
/// Name of the split of files that the user names individually.
const TRAIN: &str = "train";
/// Name that selects all splits.
const ALL: &str = "all";

/// A split with the paths and names of its files.
struct NamedFiles {
    name: String,
    files: Vec<(PathBuf, String)>,
}

/// Lists the files of the splits of a selection; `None` if the selection has no split and no input is a saved data set.
///
/// # Errors
/// The inputs are several folders; the split or subset does not exist; a saved data set has several splits, and none is chosen; a file or
/// card cannot be read.
pub(super) fn list_splits(inputs: &[PathBuf], selection: Selection<'_>, cancel: &Cancel) -> Outcome<Option<Listing>> {
    let is_chosen = selection.split.is_some() || selection.subset.is_some();
    let mut listing = Listing::default();
    let files_of = |input: &PathBuf| {
        let snapshot = selection.snapshot_of(input);
        match snapshot.and_then(|snapshot| Some((snapshot, snapshot.files.first()?))) {
            Some((snapshot, (name, _))) => (snapshot.folder.join(name), name.clone()),
            None => (input.clone(), bare_name(input)),
        }
    };
    let snapshot = match inputs {
        [input] => selection.snapshot_of(input),
        _ => None,
    };
    let is_folder = |input: &PathBuf| selection.snapshot_of(input).is_none() && files::is_dir(input);
    let found = snapshot.map(|snapshot| snapshot.splits(selection)).transpose()?.flatten();
    let splits = match (inputs, found) {
        (_, Some(found)) => choose(snapshot.map_or(Path::new(""), |it| &it.folder), found, selection, &mut listing)?,
        ([folder], None) if is_folder(folder) => match saved::splits(folder)? {
            Some(saved) if selection.glob.is_none() => saved_splits(folder, saved, selection)?,
            _ if is_chosen => {
                let found = folder_splits(folder, selection.subset, &mut listing.problems, cancel)?;
                choose(folder, found, selection, &mut listing)?
            }
            _ => return Ok(None),
        },
        _ if !is_chosen => return Ok(None),
        (files, None) if selection.subset.is_none() && !files.iter().any(is_folder) => {
            vec![NamedFiles { name: TRAIN.to_owned(), files: files.iter().map(files_of).collect() }]
        }
        _ => {
            return Err(Failure::usage(ACTIVITY, "--split and --subset need a single folder, or files")
                .on(Subject::field(if selection.split.is_some() { "--split" } else { "--subset" }))
                .with_hint("name one folder"));
        }
    };
    for part in chosen_parts(&splits, selection)? {
        let split = splits.iter().find(|split| split.name == part.name);
        let split = split.ok_or_else(|| no_such_split(&part.name, splits.iter().map(|split| split.name.as_str())))?;
        let paths: Vec<PathBuf> = split.files.iter().map(|(path, _)| path.clone()).collect();
        let folder =
            inputs.first().filter(|_| inputs.len() == 1).or(paths.first()).map_or(Path::new(""), PathBuf::as_path);
        let _ahead = read_named_ahead(folder, &paths);
        let files = split.files.iter().map(|(path, name)| {
            cancel.check()?;
            text_file(path.clone(), name.clone(), true)
        });
        let files = files.collect::<Outcome<Vec<TextFile>>>()?;
        let files = if part.is_whole() { files } else { slice(files, &part, &mut listing.problems, cancel)? };
        listing.files.extend(files);
    }
    if listing.files.is_empty() {
        if let Some(loss) = listing.problems.iter().find(|problem| problem.severity > Severity::Note) {
            return Err(loss.clone().into_failure());
        }
        let subject = inputs.first().map_or_else(Subject::default, Subject::path);
        return Err(Failure::usage(ACTIVITY, "the selected splits have no rows")
            .on(subject)
            .with_hint("choose others by --split"));
    }
    Ok(Some(listing))
}

/// Returns the parts of splits that are read.
fn chosen_parts(splits: &[NamedFiles], selection: Selection<'_>) -> Outcome<Vec<SplitPart>> {
    let all = || splits.iter().map(|split| SplitPart::whole(&*split.name)).collect();
    match selection.split {
        None => Ok(all()),
        Some(text) if splits.iter().any(|split| split.name == text) => Ok(vec![SplitPart::whole(text)]),
        Some(ALL) => Ok(all()),
        Some(text) => parse_split(text),
    }
}

/// Restricts files to the rows of a part of their split, and reports the rows that are lost.
fn slice(
    files: Vec<TextFile>,
    part: &SplitPart,
    problems: &mut Vec<Problem>,
    cancel: &Cancel,
) -> Outcome<Vec<TextFile>> {
    let mut counts = Vec::with_capacity(files.len());
    for file in &files {
        let (rows, loss) = file.source.count_rows(file, cancel)?;
        counts.push(rows);
        problems.extend(loss);
    }
    let rows = part.rows(counts.iter().fold(0_u64, |sum, rows| sum.saturating_add(*rows)));
    let (mut before, mut kept) = (0_u64, Vec::new());
    for (file, all) in files.into_iter().zip(counts) {
        let after = before.saturating_add(all);
        let range = rows.start.clamp(before, after) - before..rows.end.clamp(before, after) - before;
        if !range.is_empty() {
            kept.push(TextFile { rows: Some(FileRows { range, all }), ..file });
        }
        before = after;
    }
    Ok(kept)
}

fn saved_splits(folder: &Path, saved: Vec<saved::SavedSplit>, selection: Selection<'_>) -> Outcome<Vec<NamedFiles>> {
    if selection.subset.is_some() {
        return Err(Failure::usage(ACTIVITY, "a saved data set has no subsets")
            .on(Subject::field("--subset"))
            .with_hint("leave out --subset"));
    }
    if selection.split.is_none() && !selection.all_splits && saved.len() > 1 {
        let names = listed(saved.iter().filter_map(|split| split.name.as_deref()));
        return Err(Failure::usage(ACTIVITY, "the saved data set has several splits")
            .on(Subject::path(folder))
            .with_hint(format!("name one of them, or `all`: --split {names}")));
    }
    let named = |path: PathBuf| (folder.join(&path), path.to_string_lossy().into_owned());
    let split = |split: saved::SavedSplit| NamedFiles {
        name: split.name.unwrap_or_else(|| TRAIN.to_owned()),
        files: split.files.into_iter().map(named).collect(),
    };
    Ok(saved.into_iter().map(split).collect())
}

fn chosen_names(found: &Splits, selection: Selection<'_>) -> Outcome<Vec<String>> {
    Ok(match selection.split {
        Some(text) if text != ALL && found.names().all(|name| name != text) => {
            parse_split(text)?.into_iter().map(|part| part.name).collect()
        }
        Some(text) if text != ALL => vec![text.to_owned()],
        _ => found.names().map(str::to_owned).collect(),
    })
}

impl HubSnapshot {
    /// Returns the splits of the data set; `None` if the selection of files does not depend on them.
    ///
    /// # Errors
    /// There are several splits, and none is chosen; the card is invalid; the subset does not exist.
    fn splits(&self, selection: Selection<'_>) -> Outcome<Option<Splits>> {
        let is_chosen = selection.split.is_some() || selection.subset.is_some();
        if self.is_file || (selection.glob.is_some() || selection.all_splits) && !is_chosen {
            return Ok(None);
        }
        let (readme, settings) = (self.readme.as_deref(), self.settings.as_deref());
        let listing = FolderListing { files: &self.files, readme, settings };
        let on_data_set = |mut failure: Failure| {
            if failure.subject.field.is_none() {
                failure.subject = Subject::path(&self.input);
            }
            failure
        };
        let found = match find_splits(&listing, selection.subset) {
            // If no file has the format of splits, the files are selected without splits.
            Err(failure) if !is_chosen && failure.class == ExitClass::Usage && failure.subject.field.is_none() => {
                return Ok(None)
            }
            found => found.map_err(on_data_set)?,
        };
        if !is_chosen && found.splits.len() < 2 && found.outside.is_empty() {
            return Ok(None);
        }
        if selection.split.is_none() && found.splits.len() > 1 {
            return Err(Failure::usage(ACTIVITY, "the data set has several splits")
                .on(Subject::path(&self.input))
                .with_hint(format!("name one of them, or `all`: --split {}", listed(found.names()))));
        }
        Ok(Some(found))
    }

    /// Returns the files of the splits of a selection; `None` if the selection of files does not depend on splits.
    ///
    /// # Errors
    /// There are several splits, and none is chosen; the split or subset does not exist; the card is invalid.
    pub fn split_files(&self, selection: Selection<'_>) -> Outcome<Option<Vec<String>>> {
        let Some(found) = self.splits(selection)? else { return Ok(None) };
        let mut files = Vec::new();
        for name in chosen_names(&found, selection)? {
            let split = found.splits.iter().find(|split| split.name == name);
            let split = split.ok_or_else(|| no_such_split(&name, found.names()))?;
            files.extend(split.files.iter().map(|file| file.path.clone()));
        }
        Ok(Some(files))
    }
}

/// Returns the files of the selected splits, and reports their problems.
fn choose(folder: &Path, found: Splits, selection: Selection<'_>, listing: &mut Listing) -> Outcome<Vec<NamedFiles>> {
    let chosen = chosen_names(&found, selection)?;
    for split in found.splits.iter().filter(|split| chosen.contains(&split.name)) {
        add_distinct(&mut listing.problems, problems_of(folder, &found, split, selection.is_compat));
    }
    if let Some(first) = found.outside.first() {
        let outside = count_verb(found.outside.len() as u64, "file of data", "is", "are");
        let message = format!("{outside} in no split, the first is {}", display_safe(first));
        listing.problems.push(Problem::note(ProblemKind::FileLeftOut, Subject::path(folder), message));
    }
    let named = |split: Split| {
        let order = if selection.is_compat { split.read_order } else { (0..split.files.len()).collect() };
        let files = order.iter().filter_map(|place| split.files.get(*place));
        let files = files.map(|file| (folder.join(&file.path), file.path.clone())).collect();
        NamedFiles { name: split.name, files }
    };
    Ok(found.splits.into_iter().map(named).collect())
}

/// Adds problems, each leak of a file only once although every split with that file reports it.
fn add_distinct(problems: &mut Vec<Problem>, more: Vec<Problem>) {
    let known = |problems: &[Problem], new: &Problem| {
        let is_known = |old: &Problem| old.kind == ProblemKind::Leak && old.subject == new.subject;
        new.kind == ProblemKind::Leak && problems.iter().any(is_known)
    };
    for new in more {
        if !known(problems, &new) {
            problems.push(new);
        }
    }
}

/// Returns the problems of a split: lost files, and files that would be read twice.
fn problems_of(folder: &Path, found: &Splits, split: &Split, is_compat: bool) -> Vec<Problem> {
    let name = display_safe(&split.name);
    let mut problems = Vec::new();
    for (path, others) in found.leaks(split).filter(|_| !is_compat) {
        let message = format!(
            "it is in split {name} and in split {}: rows leak from one to the other",
            listed(others.into_iter())
        );
        let hint = "rename it, or name the files of each split in README.md; --compat reads it without a report";
        problems.push(Problem::problem(ProblemKind::Leak, Subject::path(folder.join(path)), message).with_hint(hint));
    }
    for path in &split.dropped {
        let message = format!("it is left out: most files of split {name} have another ending");
        let hint = "pack it in a run of its own, or move it to another folder";
        let (kind, subject) = (ProblemKind::FileLeftOut, Subject::path(folder.join(path)));
        let problem = match is_compat {
            true => Problem::note(kind, subject, message),
            false => Problem::problem(kind, subject, message),
        };
        problems.push(problem.with_hint(hint));
    }
    problems.extend(missing_files(folder, &format!(" in split {name}"), split.missing_shards()));
    let repeated: Vec<&str> = split.repeated().filter(|_| !is_compat).collect();
    if !repeated.is_empty() {
        let files = count_verb(repeated.len() as u64, "file", "matches", "match");
        let message = format!(
            "{files} several patterns of split {name}, and each is read once: {}",
            listed(repeated.into_iter())
        );
        let hint = "--compat reads them as often as load_dataset does";
        problems.push(Problem::note(ProblemKind::Other, Subject::path(folder), message).with_hint(hint));
    }
    problems
}

/// Reports missing files, inferred from the numbers in the names of the others; `place` follows the word "missing" in the message.
pub(in crate::source) fn missing_files(folder: &Path, place: &str, missing: Vec<MissingShards>) -> Vec<Problem> {
    let report = |missing: MissingShards| {
        let (files, first) = (count(missing.count, "file"), listed(missing.first.iter().map(String::as_str)));
        let message = format!("{files} of {} missing{place}: {first}", missing.all);
        let problem = Problem::problem(ProblemKind::MissingFile, Subject::path(folder), message);
        problem.with_hint("download or copy the data set again")
    };
    missing.into_iter().map(report).collect()
}

/// Finds the splits of a folder by its card and file names. Entries that cannot be examined are reported.
pub fn folder_splits(
    folder: &Path,
    subset: Option<&str>,
    problems: &mut Vec<Problem>,
    cancel: &Cancel,
) -> Outcome<Splits> {
    let found = with_listing(folder, problems, cancel, |listing| find_splits(listing, subset));
    found.map_err(|mut failure| {
        failure.subject.path = match failure.subject.path {
            Some(name) if !files::is_absolute(&name) => Some(folder.join(name).to_string_lossy().into_owned()),
            None if failure.subject.field.is_none() => Some(folder.to_string_lossy().into_owned()),
            none => none,
        };
        failure
    })
}

/// Calls `use_listing` with the files and the card of a folder. Entries that cannot be examined are reported.
fn with_listing<T>(
    folder: &Path,
    problems: &mut Vec<Problem>,
    cancel: &Cancel,
    use_listing: impl FnOnce(&FolderListing<'_>) -> Outcome<T>,
) -> Outcome<T> {
    let files = names(folder, problems, cancel)?;
    let text = |name: &str| -> Outcome<Option<String>> {
        let bytes = read_whole(&folder.join(name), MAX_CARD_BYTES)?;
        Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    };
    let (readme, settings) = (text("README.md")?, text(".huggingface.yaml")?);
    use_listing(&FolderListing { files: &files, readme: readme.as_deref(), settings: settings.as_deref() })
}

/// Splits and subsets of a data set that can be chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SplitChoices {
    /// Name and number of files of each split of the subset, in the order of the data set; names are raw.
    pub splits: Vec<(String, u64)>,
    /// Names of the subsets that the card describes; raw.
    pub subsets: Vec<String>,
}

/// Returns the splits and subsets of a data set in a folder. They are empty if the card is invalid, which is reported when files are
/// listed.
pub fn split_choices(folder: &Path, subset: Option<&str>, cancel: &Cancel) -> SplitChoices {
    if let Ok(Some(saved)) = saved::splits(folder) {
        return SplitChoices { splits: saved.into_iter().map(named_size).collect(), subsets: Vec::new() };
    }
    let choices = with_listing(folder, &mut Vec::new(), cancel, |listing| {
        let splits = find_splits(listing, subset).map(|found| found.splits).unwrap_or_default();
        let splits = splits.iter().map(|split| (split.name.clone(), split.files.len() as u64)).collect();
        Ok(SplitChoices { splits, subsets: subset_names(listing)? })
    });
    choices.unwrap_or_default()
}

/// Returns the name and the number of files of a saved split.
fn named_size(split: saved::SavedSplit) -> (String, u64) {
    (split.name.unwrap_or_else(|| TRAIN.to_owned()), split.files.len() as u64)
}

/// Summary of the splits of a folder, for a user who has not chosen one.
#[derive(Debug, Default)]
pub struct SplitSummary {
    /// Name and number of files of each split, in the order of the data set.
    pub splits: Vec<(String, u64)>,
    /// Number of data files that are in no split.
    pub outside: u64,
    /// Problems: files lost by splits, leaks between splits, and files that would be read twice.
    pub problems: Vec<Problem>,
}

/// Describes the splits of a folder; `None` if all files are in one split.
///
/// # Errors
/// The card, or a description of a saved data set, is invalid, or the card has several subsets and no default.
pub fn summarize_splits(folder: &Path, cancel: &Cancel) -> Outcome<Option<SplitSummary>> {
    if let Some(saved) = saved::splits(folder)? {
        let splits = saved.into_iter().map(named_size).collect();
        return Ok(Some(SplitSummary { splits, ..SplitSummary::default() }));
    }
    let mut problems = Vec::new();
    let found = match folder_splits(folder, None, &mut problems, cancel) {
        // There are several subsets without a default, so only the problem of subsets without files is reported.
        Err(failure) if failure.subject.field.is_some() => {
            let problems = other_subsets(folder, None, cancel)?;
            let has_problems = !problems.is_empty();
            return has_problems.then(|| Some(SplitSummary { problems, ..SplitSummary::default() })).ok_or(failure);
        }
        found => found?,
    };
    problems.extend(other_subsets(folder, Some(&found.subset), cancel)?);
    for split in &found.splits {
        add_distinct(&mut problems, problems_of(folder, &found, split, false));
    }
    let splits = found.splits.iter().map(|split| (split.name.clone(), split.files.len() as u64)).collect::<Vec<_>>();
    let summary = SplitSummary { splits, outside: found.outside.len() as u64, problems };
    let is_one = summary.splits.len() < 2 && summary.outside == 0 && summary.problems.is_empty();
    Ok((!is_one).then_some(summary))
}

/// Returns a problem for each subset of the card whose files cannot be found, other than `known`.
fn other_subsets(folder: &Path, known: Option<&str>, cancel: &Cancel) -> Outcome<Vec<Problem>> {
    with_listing(folder, &mut Vec::new(), cancel, |listing| {
        let names = subset_names(listing)?.into_iter().filter(|name| Some(name.as_str()) != known);
        let problem_of = |name: String| {
            let failure = find_splits(listing, Some(&name)).err()?;
            let effect = format!("subset {} cannot be read", display_safe(&name));
            let subject = Subject::path(folder.join("README.md"));
            Some(Problem::of_failure(ProblemKind::MissingFile, failure).on(subject).with_effect(&effect))
        };
        Ok(names.filter_map(problem_of).collect())
    })
}

/// Returns the note that a folder has several splits, all of which are read.
pub(super) fn several_splits(folder: &Path, cancel: &Cancel) -> Option<Problem> {
    let found = folder_splits(folder, None, &mut Vec::new(), cancel).ok()?;
    if found.splits.len() < 2 {
        return None;
    }
    let message = format!("it has several splits, and all files are read: {}", listed(found.names()));
    Some(Problem::note(ProblemKind::Other, Subject::path(folder), message).with_hint("--split NAME reads one of them"))
}

/// Returns the relative paths of all files below a folder, with their sizes.
fn names(folder: &Path, problems: &mut Vec<Problem>, cancel: &Cancel) -> Outcome<Vec<(String, u64)>> {
    let is_seen = |entry: &WalkEntry| entry.depth() == 0 || !(entry.kind().is_dir() && is_next_to_output(entry.path()));
    let mut names = Vec::new();
    for entry in Walk::new(folder).filter_entry(is_seen) {
        cancel.check()?;
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                problems.push(error.loop_note().unwrap_or_else(|| {
                    let subject = Subject::path(error.path().unwrap_or(folder));
                    let message = format!("it is left out: {}", display_safe(&error.to_string()));
                    Problem::problem(ProblemKind::Unreadable, subject, message)
                }));
                continue;
            }
        };
        let relative = entry.path().strip_prefix(folder).unwrap_or(entry.path());
        if !entry.kind().is_file() {
            continue;
        }
        match relative.to_str() {
            Some(name) => names.push((name.to_owned(), entry.metadata().map_or(0, |facts| facts.len()))),
            None => {
                let shown = display_safe_bytes(relative.as_os_str().as_bytes());
                let message = format!("it is left out: its name is not UTF-8 ({shown})");
                let subject = Subject::path(entry.path());
                problems.push(Problem::problem(ProblemKind::ShardNameNotUtf8, subject, message).with_hint("rename it"));
            }
        }
    }
    Ok(names)
}
