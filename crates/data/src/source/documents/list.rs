//! Finds the files of a text data set, by the rules of each program.

mod hub_files;
mod split_files;

pub(in crate::source) use split_files::missing_files;
pub use split_files::{folder_splits, split_choices, summarize_splits, SplitChoices, SplitSummary};

use super::glob::Glob;
use super::packing::{first_bytes, is_text};
use super::set_aside::{finished_name, is_packed_already, is_set_aside, IgnoredFiles};
use super::snapshot::HubSnapshot;
use super::sources::{is_table_name, source_of, table_names};
use super::splits::missing_shards;
use super::values::leave_out_values;
use super::{member_count, InputRules, Packing, TextFile};
use gristmill_core::text::{count, count_verb, display_safe, display_safe_bytes};
use gristmill_core::{Cancel, Failure, Outcome, PackPlan, Problem, ProblemKind, Severity, Subject};
use gristmill_pycompat::natural_order;
use gristmill_storage::files;
use gristmill_storage::files_ahead::FilesAhead;
use gristmill_storage::listing::stamps_below;
use gristmill_storage::location::{has_folders, is_remote};
use gristmill_storage::read::{not_pointer, open_any, open_read, read_whole};
use gristmill_storage::read_ahead::read_heads_ahead;
use gristmill_storage::remote::address_of;
use gristmill_storage::run_folder::is_next_to_output;
use gristmill_storage::walk::{self, WalkEntry, WalkError};
use split_files::{list_splits, several_splits};
use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Name of this step in failures.
const ACTIVITY: &str = "looking for text files";
/// Maximum size in bytes of a file with a list of paths.
const PATHS_LIMIT: u64 = 256 << 20;
/// Hint on how to read files that are left out.
const CHOOSE: &str = "--glob can select such files by name; a file given by its path is always read";

/// The files of a data set in reading order.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// Files that are read.
    pub files: Vec<TextFile>,
    /// Problems of files that look like data but are left out.
    pub problems: Vec<Problem>,
    /// Ignored files: hidden copies and unfinished files.
    pub(in crate::source) set_aside: IgnoredFiles,
}

impl Listing {
    /// Whether there is neither a file nor a problem of a file that cannot be read.
    fn is_without_data(&self) -> bool {
        let is_harmless =
            |problem: &Problem| problem.severity == Severity::Note || problem.kind == ProblemKind::FileLeftOut;
        self.files.is_empty() && self.problems.iter().all(is_harmless)
    }
}

/// Selects the files of a folder that are read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Selection<'a> {
    /// Pattern for relative paths, which replaces the program's own rule.
    pub glob: Option<&'a str>,
    /// File with a list of relative paths, one per line, in reading order.
    pub paths_file: Option<&'a Path>,
    /// Whether hidden copies and unfinished files are read, if the reference program reads them.
    pub follows_reference: bool,
    /// Whether tables are read, whose rows are the documents.
    pub reads_tables: bool,
    /// Splits, or parts of splits, that are read.
    pub split: Option<&'a str>,
    /// Subset whose splits are read.
    pub subset: Option<&'a str>,
    /// Whether the files of all splits and subsets of a hub or saved data set are read if no split is chosen.
    pub all_splits: bool,
    /// Whether splits are read as by the reference program: a file is read once for each pattern that matches it, and leaks are not
    /// reported.
    pub is_compat: bool,
    /// Whether a note names the splits of a folder whose files are all read.
    pub names_splits: bool,
    /// Data sets of the Hugging Face hub among the inputs.
    pub snapshots: &'a [HubSnapshot],
}

impl<'a> Selection<'a> {
    /// Returns the selection of a plan.
    pub fn of(plan: &'a PackPlan) -> Self {
        Self {
            glob: plan.glob.as_deref(),
            paths_file: plan.paths_file.as_deref().map(Path::new),
            follows_reference: plan.follows_reference(),
            reads_tables: true,
            split: plan.split.as_deref(),
            subset: plan.subset.as_deref(),
            all_splits: false,
            is_compat: plan.compat,
            names_splits: !plan.follows_reference() && plan.glob.is_none(),
            snapshots: &[],
        }
    }

    /// Returns the data set of the hub for an input; `None` if the input is not one.
    pub(super) fn snapshot_of(&self, input: &Path) -> Option<&'a HubSnapshot> {
        self.snapshots.iter().find(|snapshot| Path::new(&snapshot.input) == input)
    }
}

/// Finds the files that `inputs` denote: files themselves, and the selected files in folders. With a file of paths, the only input must be
/// a folder.
///
/// A pattern without matches and a file that belongs to two inputs are usage errors; an entry inside a folder that cannot be examined is a
/// problem.
pub fn list(
    inputs: &[PathBuf],
    selection: Selection<'_>,
    rules: &'static InputRules,
    cancel: &Cancel,
) -> Outcome<Listing> {
    let glob = selection.glob.map(Glob::new).transpose()?;
    let mut listing = Listing::default();
    if let Some(paths_file) = selection.paths_file {
        let [folder] = inputs else {
            return Err(Failure::usage(
                ACTIVITY,
                "with --paths-file there is one input: the folder that the paths start from",
            ));
        };
        named(folder, paths_file, &mut listing, cancel)?;
        report_archives(&mut listing)?;
        return Ok(listing);
    }
    if selection.reads_tables {
        if let Some(mut listing) = list_splits(inputs, selection, cancel)? {
            report_archives(&mut listing)?;
            return Ok(listing);
        }
    }
    let mut ends = Vec::with_capacity(inputs.len());
    for input in inputs {
        cancel.check()?;
        if let Some(snapshot) = selection.snapshot_of(input) {
            snapshot.list(selection, rules, &mut listing)?;
            ends.push(listing.files.len());
            continue;
        }
        let facts = files::metadata(input).map_err(|error| missing(input, &error))?;
        if facts.is_dir() {
            let (first, first_problem) = (listing.files.len(), listing.problems.len());
            let chooser = Chooser { glob: glob.as_ref(), rules, selection };
            let wants = |name: &str| chooser.wants(name);
            let (includes_hidden, is_chosen) = (chooser.includes_hidden(), glob.is_some() && selection.reads_tables);
            Walk { folder: input, wants: &wants, includes_hidden, is_chosen, listing: &mut listing, cancel }.run()?;
            sort(listing.files.get_mut(first..).unwrap_or_default(), rules);
            let problems = listing.problems.get_mut(first_problem..).unwrap_or_default();
            problems.sort_by(|one, other| one.subject.path.cmp(&other.subject.path));
            if glob.is_none() {
                leave_out(input, first, selection, &mut listing, cancel)?;
            }
            if selection.names_splits {
                listing.problems.extend(several_splits(input, cancel));
            }
            let found = listing.files.get(first..).unwrap_or_default();
            let mut aside = std::mem::take(&mut listing.set_aside);
            let is_read = glob.is_none() && selection.follows_reference;
            found.iter().filter(|file| is_read && is_set_aside(&file.name)).for_each(|file| aside.add(&file.name));
            listing.problems.extend(aside.note(input, is_read, CHOOSE));
        } else {
            listing.files.push(text_file(input.clone(), bare_name(input), selection.reads_tables)?);
        }
        ends.push(listing.files.len());
    }
    if !selection.reads_tables {
        refuse_tables(&listing.files)?;
    }
    check_no_duplicates(&listing.files, &ends)?;
    if listing.is_without_data() {
        let subject = inputs.first().map_or_else(Subject::default, Subject::path);
        let (why, hint) = match listing.problems.iter().find(|problem| problem.hint.as_deref() == Some(CHOOSE)) {
            Some(aside) => (aside.message.as_str(), CHOOSE),
            None if glob.is_some() => {
                ("--glob fits no file", "* stays within a folder: **/*.jsonl looks into all of them")
            }
            None => (rules.nothing, rules.nothing_hint),
        };
        let tables = if glob.is_none() && selection.reads_tables { table_names() } else { String::new() };
        return Err(Failure::usage(ACTIVITY, format!("{why}{tables}")).on(subject).with_hint(hint));
    }
    remaining(listing)
}

/// Reports zip archives that are read in part; fails if every file was left out.
fn remaining(mut listing: Listing) -> Outcome<Listing> {
    if listing.files.is_empty() {
        return Err(nothing_left(listing.problems));
    }
    report_archives(&mut listing)?;
    Ok(listing)
}

/// Leaves out files of a folder that usually hold no documents, and reports files that are missing.
fn leave_out(
    folder: &Path,
    first: usize,
    selection: Selection<'_>,
    listing: &mut Listing,
    cancel: &Cancel,
) -> Outcome<()> {
    leave_out_others(folder, first, (is_text, CHOOSE), listing);
    if selection.follows_reference {
        return Ok(());
    }
    leave_out_values(folder, first, (false, CHOOSE), listing, cancel)?;
    let found = listing.files.get(first..).unwrap_or_default();
    let missing = missing_shards(found.iter().map(|file| file.name.as_str()));
    listing.problems.extend(missing_files(folder, "", missing));
    Ok(())
}

/// Returns the failure for a listing in which every file was left out.
fn nothing_left(problems: Vec<Problem>) -> Failure {
    let mut lost = problems.into_iter().filter(|problem| problem.severity > Severity::Note);
    let Some(first) = lost.next() else { return Failure::internal(ACTIVITY, "no file is left to read") };
    let more = match lost.count() as u64 {
        0 => "no other file is there".to_owned(),
        more => format!("{} left out, too, and none remains", count_verb(more, "other file", "is", "are")),
    };
    Failure { what: ACTIVITY.to_owned(), why: format!("{}; {more}", first.message), ..first.into_failure() }
}

/// Like [`list`], with the rules of JSON lines: files whose names end in `.jsonl`, unless a pattern is given.
pub fn list_jsonl(inputs: &[PathBuf], selection: Selection<'_>, cancel: &Cancel) -> Outcome<Listing> {
    list(inputs, selection, &InputRules::JSON_LINES, cancel)
}

/// Leaves out files without documents if a folder has tables, because next to tables such files are usually descriptions and settings.
/// `is_kept` decides by the name. Next to other documents, secondary tables are left out as well.
pub(in crate::source) fn leave_out_others(
    folder: &Path,
    first: usize,
    (is_kept, hint): (fn(&str) -> bool, &str),
    listing: &mut Listing,
) {
    let found = listing.files.get(first..).unwrap_or_default();
    if !found.iter().any(|file| file.source.is_table()) {
        return;
    }
    let is_main = |file: &TextFile| !file.source.is_secondary() && (file.source.is_table() || is_kept(&file.name));
    let has_main = found.iter().any(is_main);
    let (kept, others): (Vec<_>, Vec<_>) =
        listing.files.drain(first..).partition(|file| is_main(file) || !has_main && file.source.is_table());
    listing.files.extend(kept);
    let (tables, others): (Vec<_>, Vec<_>) = others.into_iter().partition(|file| file.source.is_table());
    for (files, which) in [(tables, "of tables next to other documents"), (others, "without documents")] {
        let Some(first) = files.first() else { continue };
        let (files, first) = (count(files.len() as u64, "file"), display_safe(&first.name));
        let message = format!("{files} {which} left out, the first is {first}");
        listing.problems.push(Problem::note(ProblemKind::FileLeftOut, Subject::path(folder), message).with_hint(hint));
    }
}

/// Refuses tables, for commands that do not read them.
fn refuse_tables(files: &[TextFile]) -> Outcome<()> {
    match files.iter().find(|file| file.source.is_table()) {
        Some(file) => Err(Failure::usage(ACTIVITY, format!("it is a file of {}, not of lines", file.source.name()))
            .on(Subject::path(&file.path))
            .with_hint("`gristmill pack` reads such files")),
        None => Ok(()),
    }
}

/// Reports zip archives of which only a part is read.
fn report_archives(listing: &mut Listing) -> Outcome<()> {
    for file in listing.files.iter().filter(|file| file.packing == Packing::Zip) {
        let members = member_count(&open_read(&file.path)?)?.unwrap_or(1);
        if members > 1 {
            let why = format!("it is an archive of {members} files, and only the first is read");
            let problem = Problem::problem(ProblemKind::Unreadable, Subject::path(&file.path), why);
            listing.problems.push(problem.with_hint("unpack it, and name the folder"));
        }
    }
    Ok(())
}

/// Refuses a file that belongs to two inputs, because its documents would be duplicated without a report. `ends` has, for each input, the
/// index after its last file.
fn check_no_duplicates(files: &[TextFile], ends: &[usize]) -> Outcome<()> {
    if ends.len() < 2 {
        return Ok(());
    }
    let mut seen: HashMap<(PathBuf, Option<String>), usize> = HashMap::with_capacity(files.len());
    for (at, file) in files.iter().enumerate() {
        let input = ends.partition_point(|end| *end <= at);
        if *seen.entry(identity_of(&file.path)).or_insert(input) != input {
            return Err(Failure::usage(
                ACTIVITY,
                "two of the inputs hold this file, so its documents would be read twice",
            )
            .on(Subject::path(&file.path))
            .with_hint("name each file or folder once"));
        }
    }
    Ok(())
}

/// Returns what identifies a file: its path without links; for a file in the cache of the hub, which stores files of equal content once,
/// also its path in the repository.
fn identity_of(path: &Path) -> (PathBuf, Option<String>) {
    if is_remote(path) {
        return (files::unique_path(path), None);
    }
    let real = files::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let is_blob = real.parent().is_some_and(|folder| folder.ends_with("blobs"));
    let in_repository = || {
        let own = files::canonicalize(path.parent()?).ok()?.join(path.file_name()?);
        let address = address_of(&own)?;
        let (_, at_commit) = address.split_once('@')?;
        at_commit.split_once('/').map(|(_, path)| path.to_owned())
    };
    let in_repository = is_blob.then(in_repository).flatten();
    (real, in_repository)
}

fn missing(path: &Path, error: &std::io::Error) -> Failure {
    let failure = Failure::io(ACTIVITY, path, error);
    if !failure.is_missing() {
        return failure;
    }
    let is_pattern = path.as_os_str().as_encoded_bytes().iter().any(|byte| b"*?[{".contains(byte));
    let pattern = || Failure::usage(ACTIVITY, failure.why.clone()).on(Subject::path(path));
    match is_pattern {
        true if !has_folders(path) => pattern()
            .with_hint("web servers do not list folders: name each file, or a range of numbers such as {000..099}"),
        true => pattern().with_hint("a pattern that the shell did not expand: name the folder, and give it by --glob"),
        false => failure,
    }
}

/// Returns the name of a file that is an input itself.
pub(super) fn bare_name(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// Opens a file to detect its format and its compression. `is_chosen` is whether the user named the file.
pub(in crate::source) fn text_file(path: PathBuf, name: String, is_chosen: bool) -> Outcome<TextFile> {
    let file = open_any(&path)?;
    let stamp = file.stamp().map_err(|error| Failure::io(ACTIVITY, &path, &error))?;
    let source = source_of(&name, &first_bytes(&file, ACTIVITY)?, is_chosen);
    let packing = if source.is_compressible() { Packing::of(&file)? } else { Packing::Plain };
    if !source.is_table() {
        not_pointer(file)?;
    }
    Ok(TextFile { bytes: stamp.bytes, stamp, packing, source, path, name, rows: None, damaged: Vec::new() })
}

/// Starts fetching the first bytes of files below a folder in a store, in the order in which the files will be opened.
fn read_named_ahead(folder: &Path, paths: &[PathBuf]) -> Option<FilesAhead> {
    let stamps = is_remote(folder).then(|| stamps_below(folder, paths))?;
    // A missing file is skipped here; opening it reports the failure.
    Some(read_heads_ahead(paths.iter().zip(stamps).filter_map(|(path, stamp)| Some((&**path, stamp.ok()?)))))
}

/// Lists the files whose relative paths are in a file.
fn named(folder: &Path, paths_file: &Path, listing: &mut Listing, cancel: &Cancel) -> Outcome<()> {
    let fail = |why: String, line: usize| {
        Err(Failure::usage("reading --paths-file", why).on(Subject::path(paths_file).line(line as u64 + 1)))
    };
    let bytes = read_whole(paths_file, PATHS_LIMIT)?.ok_or_else(|| {
        Failure::environment("reading --paths-file", "there is no such file").on(Subject::path(paths_file))
    })?;
    let lines = || bytes.split(|byte| *byte == b'\n').map(std::str::from_utf8);
    let names = lines().flatten().map(str::trim).filter(|name| !name.is_empty());
    let _ahead = read_named_ahead(folder, &names.map(|name| folder.join(name)).collect::<Vec<_>>());
    for (number, line) in lines().enumerate() {
        cancel.check()?;
        let Ok(line) = line else { return fail("the line is not UTF-8".into(), number) };
        let name = line.trim();
        if name.is_empty() {
            continue;
        }
        match text_file(folder.join(name), name.to_owned(), true) {
            Ok(file) => listing.files.push(file),
            Err(failure) => return fail(failure.to_string(), number),
        }
    }
    match listing.files.is_empty() {
        true => fail("it names no file".into(), 0),
        false => Ok(()),
    }
}

fn sort(found: &mut [TextFile], rules: &InputRules) {
    if !rules.has_natural_order {
        return found.sort_by(|a, b| a.name.cmp(&b.name));
    }
    // The plain path breaks ties between equal keys.
    found.sort_by_cached_key(|file| {
        let path = file.path.to_string_lossy().into_owned();
        (natural_order::key(&path), file.path.clone())
    });
}

/// Decides by name which files of a folder are selected.
struct Chooser<'a> {
    glob: Option<&'a Glob>,
    rules: &'static InputRules,
    selection: Selection<'a>,
}

impl Chooser<'_> {
    /// Whether hidden files are examined, either to read them or to report that they are left out.
    fn includes_hidden(&self) -> bool {
        match self.glob {
            Some(glob) => self.rules.reads_hidden || glob.has_hidden(),
            None => self.rules.reads_hidden || !self.selection.follows_reference,
        }
    }

    fn is_table(&self, name: &str) -> bool {
        self.selection.reads_tables && is_table_name(name)
    }

    fn wants(&self, name: &str) -> FileChoice {
        if let Some(glob) = self.glob {
            return if glob.matches(name) { FileChoice::Yes } else { FileChoice::No };
        }
        if !self.selection.follows_reference && is_set_aside(name) {
            let is_data =
                (self.rules.is_read)(name) || is_text(finished_name(name)) || self.is_table(finished_name(name));
            return if is_data { FileChoice::SetAside } else { FileChoice::No };
        }
        match (self.rules.is_read)(name) {
            _ if self.is_table(name) => FileChoice::Yes,
            true if is_packed_already(name) => FileChoice::Ours(OURS),
            true => FileChoice::Yes,
            false if is_text(name) => FileChoice::Missed(MISSED),
            false => FileChoice::No,
        }
    }
}

/// Message and hint for an output of packing or indexing.
pub(in crate::source) const OURS: (&str, &str) =
    ("it is left out: by its name it is an output of pack, not text", "give the path of the file to read it anyway");

/// Whether a file is selected, and the reason if it is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::source) enum FileChoice {
    Yes,
    No,
    /// Not selected, although the user may expect it; message and hint.
    Missed((&'static str, &'static str)),
    /// Selected, but its name is that of an output of packing; message and hint.
    Ours((&'static str, &'static str)),
    /// Ignored as a hidden copy or an unfinished file, and counted.
    SetAside,
}

/// Message and hint for text files that are not read from folders.
const MISSED: (&str, &str) = (
    "it is left out: this format only reads the .jsonl files of a folder",
    "name the file itself, or give --glob '**/*.jsonl*'",
);

/// Searches a folder and its subfolders, following links, for files selected by their relative path.
pub(in crate::source) struct Walk<'a> {
    pub(in crate::source) folder: &'a Path,
    pub(in crate::source) wants: &'a dyn Fn(&str) -> FileChoice,
    /// Whether names that begin with a dot are included.
    pub(in crate::source) includes_hidden: bool,
    /// Whether the user named the files.
    pub(in crate::source) is_chosen: bool,
    /// Receives the files in the order of the folder.
    pub(in crate::source) listing: &'a mut Listing,
    pub(in crate::source) cancel: &'a Cancel,
}

impl Walk<'_> {
    pub(in crate::source) fn run(mut self) -> Outcome<()> {
        files::read_dir(self.folder).map(drop).map_err(|error| Failure::io(ACTIVITY, self.folder, &error))?;
        let includes_hidden = self.includes_hidden;
        let is_seen = move |entry: &WalkEntry| {
            let is_shown = includes_hidden || !entry.file_name().as_bytes().starts_with(b".");
            entry.depth() == 0 || is_shown && !(entry.kind().is_dir() && is_next_to_output(entry.path()))
        };
        let mut entries: Box<dyn Iterator<Item = Result<WalkEntry, WalkError>>> =
            Box::new(walk::Walk::new(self.folder).filter_entry(is_seen));
        let mut _ahead = None;
        if is_remote(self.folder) {
            // The listing of a store already has all facts, so the first bytes are fetched ahead.
            let all: Vec<_> = entries.collect();
            let opened = all.iter().flatten().filter(|entry| self.is_opened(entry));
            _ahead =
                Some(read_heads_ahead(opened.filter_map(|entry| Some((entry.path(), entry.metadata().ok()?.stamp)))));
            entries = Box::new(all.into_iter());
        }
        for entry in entries {
            self.cancel.check()?;
            match entry {
                Ok(entry) if entry.kind().is_dir() => {}
                Ok(entry) => self.file(&entry)?,
                Err(error) => self.error(&error)?,
            }
        }
        Ok(())
    }

    /// Returns the path of an entry below the folder.
    fn relative<'a>(&self, entry: &'a WalkEntry) -> &'a Path {
        entry.path().strip_prefix(self.folder).unwrap_or(entry.path())
    }

    /// Whether an entry is a file that will be opened.
    fn is_opened(&self, entry: &WalkEntry) -> bool {
        entry.kind().is_file() && (self.wants)(&self.relative(entry).to_string_lossy()) == FileChoice::Yes
    }

    fn file(&mut self, entry: &WalkEntry) -> Outcome<()> {
        let relative = self.relative(entry);
        let name = relative.to_string_lossy();
        let subject = Subject::path(entry.path());
        match (self.wants)(&name) {
            FileChoice::Yes => {}
            FileChoice::No => return Ok(()),
            FileChoice::SetAside => {
                self.listing.set_aside.add(&name);
                return Ok(());
            }
            FileChoice::Ours((message, hint)) => {
                self.listing.problems.push(Problem::note(ProblemKind::FileLeftOut, subject, message).with_hint(hint));
                return Ok(());
            }
            FileChoice::Missed((message, hint)) => {
                let problem = Problem::problem(ProblemKind::FileLeftOut, subject, message).with_hint(hint);
                self.listing.problems.push(problem);
                return Ok(());
            }
        }
        if std::str::from_utf8(relative.as_os_str().as_bytes()).is_err() {
            let shown = display_safe_bytes(relative.as_os_str().as_bytes());
            let message = format!("it is left out: its name is not UTF-8 ({shown})");
            let problem = Problem::problem(ProblemKind::ShardNameNotUtf8, subject, message).with_hint("rename it");
            self.listing.problems.push(problem);
            return Ok(());
        }
        if !entry.kind().is_file() {
            let message = "it is left out: it is a fifo, socket or device";
            self.listing.problems.push(Problem::problem(ProblemKind::NotAFile, subject, message));
            return Ok(());
        }
        match text_file(entry.path().to_owned(), name.clone().into_owned(), self.is_chosen) {
            Ok(file) => self.listing.files.push(file),
            // Without the file, the output would lack part of the data set.
            Err(failure) if is_table_name(&name) => return Err(failure),
            Err(failure) => {
                let problem = Problem::of_failure(ProblemKind::Unreadable, failure).on(subject);
                self.listing.problems.push(problem.with_effect("it is left out"));
            }
        }
        Ok(())
    }

    fn error(&mut self, error: &WalkError) -> Outcome<()> {
        let path = error.path().unwrap_or(self.folder);
        let failure = error.failure(ACTIVITY, self.folder);
        if path == self.folder {
            return Err(failure);
        }
        let relative = path.strip_prefix(self.folder).unwrap_or(path).to_string_lossy();
        if is_set_aside(&relative) && (self.wants)(&relative) != FileChoice::Yes {
            return Ok(());
        }
        let problem = |kind, message: String| Problem::problem(kind, Subject::path(path), message);
        if let Some(note) = error.loop_note() {
            self.listing.problems.push(note);
            return Ok(());
        }
        let is_dangling = error.is_broken_link();
        if is_dangling && (self.wants)(&relative) == FileChoice::Yes {
            let message = "it is left out: it is a broken link";
            self.listing.problems.push(problem(ProblemKind::NotAFile, message.into()));
        } else if !is_dangling {
            let why = failure.why;
            self.listing.problems.push(problem(ProblemKind::Unreadable, format!("it is left out: {why}")));
        }
        Ok(())
    }
}
