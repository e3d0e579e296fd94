//! Walks through folders, and through the keys below a prefix.

use super::files::{
    invalid_key, is_symlink, metadata, notice_invalid_keys, remote_entries, FileInfo, FileKind, InvalidKey,
};
use super::folder::OpenFolder;
use super::location::{Location, RemoteUrl};
use super::run_folder::is_next_to_output;
use super::space::is_on_pseudo_file_system;
use gristmill_core::{Failure, Problem, ProblemKind, Subject};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of entries in local folders that all walks have visited.
static WALKED_ENTRIES: AtomicU64 = AtomicU64::new(0);

/// Returns the number of entries in local folders that all walks of this process have visited.
pub fn walked_entries() -> u64 {
    WALKED_ENTRIES.load(Ordering::Relaxed)
}

/// Walks everything below a root except hidden entries and own folders next to outputs, following links; errors are yielded as items.
pub fn walk(root: &Path, depth: usize) -> impl Iterator<Item = Result<WalkEntry, WalkError>> {
    walk_shown(root, depth, |_| ())
}

/// Like [`walk`], but lists at most `most` objects of a store.
pub fn walk_first(root: &Path, depth: usize, most: usize) -> impl Iterator<Item = Result<WalkEntry, WalkError>> {
    Walk::new(root).max_depth(depth).most_objects(most).filter_entry(is_shown(|_| ()))
}

/// Like [`walk`], and calls `hidden` with each hidden entry that is skipped; entries below it are not visited.
pub fn walk_shown<'a>(
    root: &Path,
    depth: usize,
    hidden: impl FnMut(&WalkEntry) + 'a,
) -> impl Iterator<Item = Result<WalkEntry, WalkError>> + 'a {
    Walk::new(root).max_depth(depth).filter_entry(is_shown(hidden))
}

/// Returns whether an entry is shown; `hidden` is called with hidden ones.
fn is_shown<'a>(mut hidden: impl FnMut(&WalkEntry) + 'a) -> impl FnMut(&WalkEntry) -> bool + 'a {
    move |entry: &WalkEntry| {
        if entry.depth() == 0 {
            return true;
        }
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            hidden(entry);
            return false;
        }
        !(entry.kind().is_dir() && is_next_to_output(entry.path()))
    }
}

/// A walk through everything below a root, and the root itself, in no particular order except that a folder comes before its entries.
/// Symbolic links are followed.
#[derive(Clone, Debug)]
pub struct Walk {
    root: PathBuf,
    follows_links: bool,
    max_depth: usize,
    most_objects: usize,
    is_sorted: bool,
    reports_invalid_keys: bool,
}

impl Walk {
    /// Creates a walk below `root`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            follows_links: true,
            max_depth: usize::MAX,
            most_objects: usize::MAX,
            is_sorted: false,
            reports_invalid_keys: false,
        }
    }

    /// Returns symbolic links as entries instead of following them.
    #[must_use]
    pub fn keep_links(self) -> Self {
        Self { follows_links: false, ..self }
    }

    /// Returns entries down to this number of levels below the root, which has depth 0.
    #[must_use]
    pub fn max_depth(self, max_depth: usize) -> Self {
        Self { max_depth, ..self }
    }

    /// Lists at most this number of objects of a store.
    #[must_use]
    pub fn most_objects(self, most_objects: usize) -> Self {
        Self { most_objects, ..self }
    }

    /// Returns the entries of each folder in the order of their names.
    #[must_use]
    pub fn sorted(self) -> Self {
        Self { is_sorted: true, ..self }
    }

    /// Returns an error for each key of a store that cannot be a path, at the end. Otherwise such keys are skipped, and reported by
    /// [`notices`](super::notices).
    #[must_use]
    pub fn report_invalid_keys(self) -> Self {
        Self { reports_invalid_keys: true, ..self }
    }

    /// Starts the walk. It skips entries for which the function returns `false`, and the content of such folders.
    pub fn filter_entry<'a>(self, is_seen: impl FnMut(&WalkEntry) -> bool + 'a) -> WalkEntries<'a> {
        let entries = match Location::of(&self.root) {
            Location::Local(root) => {
                let walk = walkdir::WalkDir::new(root).follow_links(self.follows_links).max_depth(self.max_depth);
                let walk = if self.is_sorted { walk.sort_by_file_name() } else { walk };
                Entries::Local { entries: Box::new(walk.into_iter()), root: root.canonicalize().ok() }
            }
            Location::Remote(url) => {
                let mut invalid = Vec::new();
                let mut entries = objects(&self, &url, &mut invalid);
                match self.reports_invalid_keys {
                    true if invalid.is_empty() => {}
                    true => {
                        let errors: Vec<_> = invalid.iter().map(|key| Err(WalkError::of_key(&url, key))).collect();
                        entries = Box::new(entries.chain(errors));
                    }
                    false => notice_invalid_keys(&url, &invalid),
                }
                Entries::Remote { entries, left_out: None }
            }
        };
        WalkEntries { entries, is_listed: Box::new(is_seen) }
    }
}

impl IntoIterator for Walk {
    type Item = Result<WalkEntry, WalkError>;
    type IntoIter = WalkEntries<'static>;

    fn into_iter(self) -> Self::IntoIter {
        self.filter_entry(|_| true)
    }
}

/// A file or folder that a walk finds.
#[derive(Clone, Debug)]
pub struct WalkEntry(Entry);

#[derive(Clone, Debug)]
enum Entry {
    Local(walkdir::DirEntry),
    Remote { path: PathBuf, depth: usize, info: FileInfo },
}

impl WalkEntry {
    /// Returns the path, which begins with the root.
    pub fn path(&self) -> &Path {
        match &self.0 {
            Entry::Local(entry) => entry.path(),
            Entry::Remote { path, .. } => path,
        }
    }

    /// Returns the path.
    pub fn into_path(self) -> PathBuf {
        match self.0 {
            Entry::Local(entry) => entry.into_path(),
            Entry::Remote { path, .. } => path,
        }
    }

    /// Returns the name.
    pub fn file_name(&self) -> &OsStr {
        match &self.0 {
            Entry::Local(entry) => entry.file_name(),
            Entry::Remote { path, .. } => path.file_name().unwrap_or_default(),
        }
    }

    /// Returns the number of levels below the root.
    pub fn depth(&self) -> usize {
        match &self.0 {
            Entry::Local(entry) => entry.depth(),
            Entry::Remote { depth, .. } => *depth,
        }
    }

    /// Returns the kind; for a link that is followed, the kind of its target.
    pub fn kind(&self) -> FileKind {
        match &self.0 {
            Entry::Local(entry) => FileKind::of(entry.file_type()),
            Entry::Remote { info, .. } => info.kind,
        }
    }

    /// Whether the entry itself is a symbolic link.
    pub fn path_is_symlink(&self) -> bool {
        match &self.0 {
            Entry::Local(entry) => entry.path_is_symlink(),
            Entry::Remote { .. } => false,
        }
    }

    /// Returns kind, size and version; for a link that is followed, those of its target.
    pub fn metadata(&self) -> Result<FileInfo, WalkError> {
        match &self.0 {
            Entry::Local(entry) => entry.metadata().map(|info| FileInfo::of(&info)).map_err(WalkError::of),
            Entry::Remote { info, .. } => Ok(*info),
        }
    }

    /// Like [`metadata`](Self::metadata) for an entry that is not a link or was followed, looked up in its open folder. Fails if this
    /// process may not read the file.
    pub fn metadata_in(&self, folder: &mut OpenFolder) -> Result<FileInfo, WalkError> {
        match &self.0 {
            Entry::Local(entry) => {
                let failed = |error| WalkError { path: Some(entry.path().to_owned()), loop_ancestor: None, error };
                folder.readable_info(entry.path()).map_err(failed)
            }
            Entry::Remote { info, .. } => Ok(*info),
        }
    }
}

/// Why an entry of a walk could not be read.
#[derive(Debug)]
pub struct WalkError {
    path: Option<PathBuf>,
    loop_ancestor: Option<PathBuf>,
    error: io::Error,
}

impl WalkError {
    fn of(error: walkdir::Error) -> Self {
        let (path, loop_ancestor) = (error.path().map(Path::to_owned), error.loop_ancestor().map(Path::to_owned));
        // A loop of links is the only case without an error of the system.
        let text = error.to_string();
        let error = error.into_io_error().unwrap_or_else(|| io::Error::other(text));
        Self { path, loop_ancestor, error }
    }

    fn of_key(url: &RemoteUrl<'_>, key: &InvalidKey) -> Self {
        let failure = invalid_key(url, key);
        Self { path: failure.subject.path.clone().map(PathBuf::from), loop_ancestor: None, error: failure.into_io() }
    }

    /// Returns the path of the entry, if it is known.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Returns the note on a link to a folder above it, if that is the reason.
    pub fn loop_note(&self) -> Option<Problem> {
        let (ancestor, path) = (self.loop_ancestor.as_deref()?, self.path()?);
        let message = format!("it leads back to {}, and is not followed", ancestor.to_string_lossy());
        Some(Problem::note(ProblemKind::Other, Subject::path(path), message))
    }

    /// Whether the entry is a link to something that does not exist.
    pub fn is_broken_link(&self) -> bool {
        self.error.kind() == io::ErrorKind::NotFound && self.path().is_some_and(is_symlink)
    }

    /// Returns the failure of an operation, with the error of the store or of the system. If the path of the entry is unknown, `root` is
    /// named.
    pub fn failure(&self, what: &str, root: &Path) -> Failure {
        Failure::io(what, self.path().unwrap_or(root), &self.error)
    }
}

impl fmt::Display for WalkError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(formatter)
    }
}

impl std::error::Error for WalkError {}

/// The entries of a walk.
pub struct WalkEntries<'a> {
    entries: Entries,
    is_listed: Box<dyn FnMut(&WalkEntry) -> bool + 'a>,
}

/// Entries of a walk through a store.
type ObjectEntries = Box<dyn Iterator<Item = Result<WalkEntry, WalkError>>>;

enum Entries {
    Local {
        entries: Box<walkdir::IntoIter>,
        /// The canonical path of the root; `None` if it cannot be found.
        root: Option<PathBuf>,
    },
    Remote {
        entries: ObjectEntries,
        /// A folder that is not entered.
        left_out: Option<PathBuf>,
    },
}

impl WalkEntries<'_> {
    /// Skips the content of a folder, which is the last entry that was returned.
    pub fn skip_folder(&mut self, folder: &WalkEntry) {
        match &mut self.entries {
            Entries::Local { entries, .. } => entries.skip_current_dir(),
            Entries::Remote { left_out, .. } => *left_out = Some(folder.path().to_owned()),
        }
    }

    /// Returns the target of a link if it is a folder above the link or above the root. A walk through it would read folders twice, and
    /// folders that are not below the root.
    fn folder_above(&self, entry: &WalkEntry) -> Option<PathBuf> {
        let Entries::Local { root, .. } = &self.entries else { return None };
        if entry.depth() == 0 || !entry.path_is_symlink() || !entry.kind().is_dir() {
            return None;
        }
        let target = entry.path().canonicalize().ok()?;
        let is_below = |folder: &Path| folder.starts_with(&target);
        let is_above = root.as_deref().is_some_and(is_below) || is_below(&entry.path().parent()?.canonicalize().ok()?);
        is_above.then_some(target)
    }
}

impl Iterator for WalkEntries<'_> {
    type Item = Result<WalkEntry, WalkError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            WALKED_ENTRIES.fetch_add(u64::from(matches!(self.entries, Entries::Local { .. })), Ordering::Relaxed);
            let entry = match &mut self.entries {
                Entries::Local { entries, .. } => match entries.next()? {
                    Ok(entry) if is_pseudo_folder(&entry) => {
                        entries.skip_current_dir();
                        let error = io::Error::other("it is of a file system of the kernel, which holds no data");
                        return Some(Err(WalkError { path: Some(entry.into_path()), loop_ancestor: None, error }));
                    }
                    Ok(entry) => WalkEntry(Entry::Local(entry)),
                    Err(error) => return Some(Err(WalkError::of(error))),
                },
                Entries::Remote { entries, left_out } => match entries.next()? {
                    Ok(entry) if left_out.as_ref().is_some_and(|folder| entry.path().starts_with(folder)) => continue,
                    Ok(entry) => entry,
                    Err(error) => return Some(Err(error)),
                },
            };
            let is_listed = (self.is_listed)(&entry);
            let above = if is_listed { self.folder_above(&entry) } else { None };
            if entry.kind().is_dir() && (above.is_some() || !is_listed) {
                self.skip_folder(&entry);
            }
            if above.is_some() {
                let error = io::Error::other("it is a link to a folder above");
                return Some(Err(WalkError { path: Some(entry.into_path()), loop_ancestor: above, error }));
            }
            if is_listed {
                return Some(Ok(entry));
            }
        }
    }
}

/// Whether a folder is of a file system of the kernel, such as `/proc`. Of those below the root, links and folders with the usual names are
/// examined.
fn is_pseudo_folder(entry: &walkdir::DirEntry) -> bool {
    let is_examined =
        entry.depth() == 0 || entry.path_is_symlink() || ["proc", "sys"].iter().any(|name| entry.file_name() == *name);
    is_examined && entry.file_type().is_dir() && is_on_pseudo_file_system(entry.path())
}

/// Returns the objects below an address with the folders between, in the order of a sorted walk.
fn objects(walk: &Walk, url: &RemoteUrl<'_>, invalid: &mut Vec<InvalidKey>) -> ObjectEntries {
    let (root, max_depth) = (walk.root.as_path(), walk.max_depth);
    let one = |entry| -> ObjectEntries { Box::new(std::iter::once(entry)) };
    let failed = |error| one(Err(WalkError { path: Some(root.to_owned()), loop_ancestor: None, error }));
    let found = match metadata(root) {
        Ok(info) if !info.is_dir() => {
            return one(Ok(WalkEntry(Entry::Remote { path: root.to_owned(), depth: 0, info })));
        }
        Ok(_) => remote_entries(url, (max_depth > 1, walk.most_objects), invalid),
        Err(error) => Err(error),
    };
    let found = match found {
        Ok(found) => found,
        Err(error) => return failed(error),
    };
    // Each path is stored once, in the memory of the listing, because there may be millions.
    let is_usual = root.as_os_str() == url.to_path().as_os_str();
    let found = found.into_iter().filter_map(|entry| {
        let (info, below) = (entry.metadata().ok()?, entry.path().strip_prefix(root).ok()?);
        let path = if is_usual { None } else { Some(root.join(below)) };
        Some((path.unwrap_or_else(|| entry.into_path()), info))
    });
    let mut entries: Vec<(PathBuf, FileInfo)> = found.collect();
    let mut folders = BTreeSet::from([root.to_owned()]);
    for (path, _) in &entries {
        for folder in path.ancestors().skip(1) {
            if folders.contains(folder) {
                break;
            }
            folders.insert(folder.to_owned());
        }
    }
    entries.extend(folders.into_iter().map(|folder| (folder, FileInfo::of_prefix())));
    // Paths are in the order of their names, level by level, so a folder comes before its content. Of an object and a folder of one name,
    // the object remains, which precedes the folder.
    entries.sort_by(|(one, _), (other, _)| one.cmp(other));
    entries.dedup_by(|(later, _), (first, _)| later == first);
    let root_depth = root.components().count();
    let with_depth = entries.into_iter().map(move |(path, info)| (path.components().count() - root_depth, path, info));
    let seen = with_depth.filter(move |(depth, ..)| *depth <= max_depth);
    Box::new(seen.map(|(depth, path, info)| Ok(WalkEntry(Entry::Remote { path, depth, info }))))
}
