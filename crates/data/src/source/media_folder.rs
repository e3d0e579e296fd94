//! Folders of loose media: every file below a root that a filter may select (docs/formats/energon.md §12).
//!
//! Names are stored as bytes in one allocation, so that 10⁶ files take little more than the text of their names.

use gristmill_core::text::display_safe_bytes;
use gristmill_core::{Failure, Handles, Outcome, Problem, ProblemKind, Subject};
use gristmill_storage::files;
use gristmill_storage::run_folder::is_next_to_output;
use gristmill_storage::walk::{Walk, WalkEntry, WalkError};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Name of the folder of prepared files, whose content is not data.
const META_FOLDER: &str = ".nv-meta";

/// Relative names of files, each valid UTF-8 with `/` separators.
#[derive(Clone, Debug, Default)]
pub struct FileList {
    text: String,
    /// Start and length of each name in `text`, in bytes. The names are in the order of discovery until they are sorted.
    places: Vec<(u64, u32)>,
}

impl FileList {
    /// Returns the number of names.
    pub fn len(&self) -> usize {
        self.places.len()
    }
    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }
    /// Returns the name at a position; empty beyond the end.
    pub fn name(&self, position: usize) -> &str {
        self.places.get(position).map_or("", |place| self.at(*place))
    }
    /// Returns all names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.places.iter().map(|place| self.at(*place))
    }
    /// Whether the list contains a name; the list must be [`sort`](Self::sort)ed.
    pub fn contains(&self, name: &str) -> bool {
        self.places.binary_search_by(|place| by_components(self.at(*place), name)).is_ok()
    }

    fn at(&self, (start, len): (u64, u32)) -> &str {
        let start = usize::try_from(start).unwrap_or(usize::MAX);
        self.text.get(start..start.saturating_add(len as usize)).unwrap_or_default()
    }
    fn push(&mut self, name: &str) {
        let Ok(len) = u32::try_from(name.len()) else { return };
        self.places.push((self.text.len() as u64, len));
        self.text.push_str(name);
    }
    /// Sorts by path components, which are compared by their characters. This is the order in which the reference program visits files.
    pub fn sort(&mut self) {
        let text = &self.text;
        let name = |(start, len): &(u64, u32)| {
            let start = *start as usize;
            text.get(start..start + *len as usize).unwrap_or_default()
        };
        self.places.sort_unstable_by(|a, b| by_components(name(a), name(b)));
    }
}

impl<S: AsRef<str>> FromIterator<S> for FileList {
    fn from_iter<I: IntoIterator<Item = S>>(names: I) -> Self {
        let mut list = Self::default();
        names.into_iter().for_each(|name| list.push(name.as_ref()));
        list
    }
}

/// Compares names by components: a separator ends a component, so it sorts before every other byte. UTF-8 bytes sort like characters.
fn by_components(a: &str, b: &str) -> std::cmp::Ordering {
    let key = |byte: u8| if byte == b'/' { 0 } else { byte };
    a.bytes().map(key).cmp(b.bytes().map(key))
}

/// Result of searching a root folder.
#[derive(Clone, Debug, Default)]
pub struct MediaFolder {
    /// Files selected by the filter, sorted by path components.
    pub files: FileList,
    /// Number of all files that were found.
    pub file_count: u64,
}

/// Finds every file below `root` for which `wanted`, called with its relative name, returns `true`.
///
/// Hidden files and folders are included; the contents of `.nv-meta` folders and of own folders next to outputs are not. Links are
/// followed, except a link to a folder above it, which is reported as a note. An entry that cannot be examined, is not a file, or has a
/// name that is not UTF-8, is a problem, and the walk continues. Adds one item per file to the progress. Returns an error only if the root
/// itself cannot be read.
pub fn walk(root: &Path, wanted: impl Fn(&str) -> bool, handles: &Handles<'_>) -> Outcome<MediaFolder> {
    files::read_dir(root).map(drop).map_err(|error| Failure::io("looking for media", root, &error))?;
    let mut found = MediaFolder::default();
    let is_ours = |entry: &WalkEntry| {
        entry.kind().is_dir() && (entry.file_name() == OsStr::new(META_FOLDER) || is_next_to_output(entry.path()))
    };
    let mut entries = Walk::new(root).filter_entry(|entry| entry.depth() == 0 || !is_ours(entry));
    let mut visitor = Visitor { root, handles, wanted, found: &mut found };
    while let Some(entry) = entries.next() {
        handles.cancel.check()?;
        match entry {
            Ok(entry) if entry.kind().is_dir() => {
                if entry.depth() > 0 && entry.file_name().to_str().is_none() {
                    visitor.not_utf8(entry.path(), "folder")?;
                    entries.skip_folder(&entry);
                }
            }
            Ok(entry) => visitor.file(&entry)?,
            Err(error) => visitor.error(&error)?,
        }
    }
    found.files.sort();
    Ok(found)
}

struct Visitor<'a, W> {
    root: &'a Path,
    handles: &'a Handles<'a>,
    wanted: W,
    found: &'a mut MediaFolder,
}

impl<W: Fn(&str) -> bool> Visitor<'_, W> {
    fn file(&mut self, entry: &WalkEntry) -> Outcome<()> {
        self.found.file_count += 1;
        self.handles.progress.add(1, 0);
        let relative = entry.path().strip_prefix(self.root).unwrap_or(entry.path());
        let Ok(name) = std::str::from_utf8(relative.as_os_str().as_bytes()) else {
            if (self.wanted)(&relative.to_string_lossy()) {
                self.not_utf8(entry.path(), "file")?;
            }
            return Ok(());
        };
        if !(self.wanted)(name) {
            return Ok(());
        }
        if !entry.kind().is_file() {
            let message = "it is left out: it is named like a medium, but it is a fifo, socket or device";
            let problem = Problem::problem(ProblemKind::NotAFile, Subject::path(entry.path()), message);
            return self.report(problem.with_hint("take it out of the folder, or rename it"));
        }
        self.found.files.push(name);
        Ok(())
    }

    fn not_utf8(&self, path: &Path, what: &str) -> Outcome<()> {
        let shown = path.file_name().map(|name| display_safe_bytes(name.as_bytes())).unwrap_or_default();
        let rest = if what == "folder" { " with what is in it" } else { "" };
        let message =
            format!("it is left out{rest}: the name of this {what} is not UTF-8 ({shown}), so no row can name it");
        let problem = Problem::problem(ProblemKind::EntryNameNotUtf8, Subject::path(path), message);
        self.report(problem.with_hint("rename it"))
    }

    fn error(&self, error: &WalkError) -> Outcome<()> {
        let path = error.path().unwrap_or(self.root);
        if let Some(note) = error.loop_note() {
            return self.report(note);
        }
        let failure = error.failure("looking for media", self.root);
        if path == self.root {
            return Err(failure);
        }
        let is_dangling = error.is_broken_link();
        let relative = path.strip_prefix(self.root).unwrap_or(path).to_string_lossy();
        if is_dangling && !(self.wanted)(&relative) {
            return Ok(());
        }
        let why = if is_dangling { "it is a link to something that is not there".to_owned() } else { failure.why };
        let hint = match files::is_symlink(path) {
            true => "correct the link, or remove it",
            false => "make it readable, or take it out of the folder",
        };
        let problem = Problem::problem(ProblemKind::Unreadable, Subject::path(path), format!("it is left out: {why}"));
        self.report(problem.with_hint(hint))
    }

    fn report(&self, problem: Problem) -> Outcome<()> {
        self.handles.problems.report(problem)
    }
}

#[cfg(test)]
#[path = "media_folder_tests.rs"]
mod tests;
