//! A folder of loose files: each folder is a group, each file a sample with one part named by its last suffix. Names are listed in the
//! background and stored in packed form; sizes are read when a row is shown.

use super::packed::PackedNames;
use super::state::GroupsState;
use super::{
    Background, BrowsePart, BrowseSample, Catalog, CatalogHead, Groups, OpenedCatalog, SampleAt, StopOnDrop,
    VisitFields, VisitedSample, Visitor,
};
use gristmill_core::text::{agree, count, display_safe_bytes};
use gristmill_core::{Cancel, DatasetKind, Failure, Mutex, Outcome, Subject};
use gristmill_data::formats::energon::layout::NV_META;
use gristmill_storage::files::{self, FileKind};
use gristmill_storage::location::is_remote;
use gristmill_storage::read::stamp_at;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const ACTIVITY: &str = "looking into the folder";
/// Name of the group of the files directly in the root.
pub const TOP_FOLDER: &str = ".";
/// Prefix of the notes on entries that are not listed.
pub(super) const LEFT_OUT: &str = "left out: ";
/// Limit of the depth of nested folders.
const MAX_DEPTH: usize = 256;
/// Names between two checks for cancellation.
const PROGRESS_EVERY: u64 = 512;

/// Opens a folder and prepares its background scan.
pub(crate) fn open(root: &Path, kind: DatasetKind) -> Outcome<OpenedCatalog> {
    files::read_dir(root).map(drop).map_err(|error| Failure::io(ACTIVITY, root, &error))?;
    let stop = Cancel::default();
    let shared =
        Arc::new(FolderIndex { root: root.to_owned(), state: GroupsState::default(), names: Mutex::default() });
    let walker = Arc::clone(&shared);
    let background: Background = Box::new(move |cancel| walker.walk(cancel));
    Ok(OpenedCatalog {
        catalog: Arc::new(Folder { shared, kind, _stop: StopOnDrop(stop.clone()) }),
        stop,
        background: vec![background],
    })
}

struct Folder {
    shared: Arc<FolderIndex>,
    kind: DatasetKind,
    _stop: StopOnDrop,
}

struct FolderIndex {
    root: PathBuf,
    state: GroupsState,
    /// The file names of each group.
    names: Mutex<Vec<Arc<PackedNames>>>,
}

/// A folder that is not listed yet, with its ancestors.
struct PendingFolder {
    relative: PathBuf,
    ancestors: Option<Arc<AncestorFolder>>,
    depth: usize,
}

/// An ancestor of the current folder, identified by device and inode. A link to an ancestor is not followed.
struct AncestorFolder {
    identity: (u64, u64),
    next: Option<Arc<AncestorFolder>>,
}

impl AncestorFolder {
    fn contains(start: Option<&Arc<Self>>, identity: (u64, u64)) -> bool {
        let mut at = start;
        while let Some(above) = at {
            if above.identity == identity {
                return true;
            }
            at = above.next.as_ref();
        }
        false
    }
}

/// Returns the folders above a local root, because a link to one of them is not followed, either.
fn folders_above(root: &Path) -> Option<Arc<AncestorFolder>> {
    if is_remote(root) {
        return None;
    }
    let root = files::canonicalize(root).ok()?;
    root.ancestors()
        .skip(1)
        .filter_map(|folder| files::metadata(folder).ok())
        .fold(None, |next, facts| Some(Arc::new(AncestorFolder { identity: (facts.device, facts.stamp.inode), next })))
}

impl Drop for AncestorFolder {
    /// Drops the chain iteratively, so that a long chain does not overflow the stack.
    fn drop(&mut self) {
        let mut next = self.next.take();
        while let Some(above) = next.and_then(Arc::into_inner) {
            let mut above = above;
            next = above.next.take();
        }
    }
}

/// The content of one folder.
#[derive(Default)]
struct Listing {
    /// The file names in one buffer, and the end of each.
    text: Vec<u8>,
    files: Vec<(usize, u32)>,
    folders: Vec<OsString>,
    /// Devices, broken links and the like.
    no_files: SkippedEntries,
    /// Names that are not UTF-8.
    not_utf8: SkippedEntries,
}

/// Entries that are not listed for the same reason.
#[derive(Default)]
struct SkippedEntries {
    number: u64,
    first: String,
}

impl SkippedEntries {
    fn add(&mut self, name: &OsStr) {
        if self.number == 0 {
            self.first = display_safe_bytes(name.as_bytes());
        }
        self.number += 1;
    }

    /// Returns the number with the first name; `None` if there is none.
    fn summary(&self, noun: &str, (one, several): (&str, &str)) -> Option<String> {
        let why = agree(self.number, one, several);
        (self.number > 0).then(|| format!("{} {why}, such as '{}'", count(self.number, noun), self.first))
    }
}

impl FolderIndex {
    fn walk(&self, cancel: &Cancel) {
        let ancestors = folders_above(&self.root);
        let mut ahead = vec![PendingFolder { relative: PathBuf::new(), ancestors, depth: 0 }];
        while let Some(folder) = ahead.pop() {
            if cancel.is_cancelled() {
                return;
            }
            let path = self.root.join(&folder.relative);
            let Ok(facts) = files::metadata(&path) else { continue };
            let identity = (facts.device, facts.stamp.inode);
            // Folders of a store have no links and no inodes.
            if !is_remote(&path) && AncestorFolder::contains(folder.ancestors.as_ref(), identity) {
                continue;
            }
            let name: Arc<str> = Arc::from(match folder.relative.to_string_lossy() {
                name if name.is_empty() => TOP_FOLDER.into(),
                name => name,
            });
            let listing = match list(&path, cancel) {
                Ok(listing) => listing,
                Err(failure) if failure.is_cancelled() => return,
                Err(failure) => {
                    self.add(name, PackedNames::default(), Some(Arc::from(failure.why)));
                    continue;
                }
            };
            let note = listing.note();
            if !listing.files.is_empty() || note.is_some() {
                self.add(name, PackedNames::new(listing.names()), note);
            }
            if folder.depth < MAX_DEPTH {
                let above = Arc::new(AncestorFolder { identity, next: folder.ancestors });
                let below = |name: &OsString| PendingFolder {
                    relative: folder.relative.join(name),
                    ancestors: Some(Arc::clone(&above)),
                    depth: folder.depth + 1,
                };
                ahead.extend(listing.folders.iter().rev().map(below));
            }
        }
        self.state.listed();
    }

    fn add(&self, name: Arc<str>, packed: PackedNames, note: Option<Arc<str>>) {
        let count = packed.len();
        self.names.lock().push(Arc::new(packed));
        self.state.add(name, count, note);
    }

    fn packed(&self, group: u32) -> Arc<PackedNames> {
        self.names.lock().get(group as usize).cloned().unwrap_or_default()
    }

    fn path_of(&self, group: u32, name: &str) -> PathBuf {
        let groups = self.state.groups();
        let folder = groups.group(group).map(|group| Arc::clone(&group.name)).unwrap_or_default();
        let root = if &*folder == TOP_FOLDER { self.root.clone() } else { self.root.join(&*folder) };
        root.join(name)
    }
}

impl Listing {
    /// Returns the note on entries that are not listed.
    fn note(&self) -> Option<Arc<str>> {
        let no_files = self.no_files.summary("entry", ("that is no file", "that are no files"));
        let not_utf8 = self.not_utf8.summary("name", ("that is not UTF-8", "that are not UTF-8"));
        let notes: Vec<String> = no_files.into_iter().chain(not_utf8).collect();
        (!notes.is_empty()).then(|| Arc::from(format!("{LEFT_OUT}{}", notes.join("; "))))
    }

    fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.files.iter().map(|&(from, len)| self.text.get(from..from + len as usize).unwrap_or_default())
    }
}

fn list(path: &Path, cancel: &Cancel) -> Outcome<Listing> {
    let mut listing = Listing::default();
    for (number, entry) in (0u64..).zip(files::read_dir(path).map_err(|error| Failure::io(ACTIVITY, path, &error))?) {
        if number.is_multiple_of(PROGRESS_EVERY) {
            cancel.check()?;
        }
        let Ok(entry) = entry else { continue };
        let name = entry.file_name();
        let is_text = std::str::from_utf8(name.as_bytes()).is_ok();
        let kind = match entry.kind() {
            FileKind::Link => files::metadata(entry.path()).map(|facts| facts.kind),
            kind => Ok(kind),
        };
        match (kind, u32::try_from(name.len())) {
            (Ok(kind), _) if kind.is_dir() && name.as_bytes() == NV_META.as_bytes() => {}
            (Ok(kind), _) if kind.is_dir() && is_text => listing.folders.push(name.to_owned()),
            (Ok(kind), Ok(len)) if kind.is_file() && is_text => {
                listing.files.push((listing.text.len(), len));
                listing.text.extend_from_slice(name.as_bytes());
            }
            _ if is_text => listing.no_files.add(name),
            _ => listing.not_utf8.add(name),
        }
    }
    listing.folders.sort_unstable();
    let text = &listing.text;
    let name = |&(from, len): &(usize, u32)| text.get(from..from + len as usize).unwrap_or_default();
    listing.files.sort_unstable_by(|a, b| name(a).cmp(name(b)));
    Ok(listing)
}

/// Splits a file name into key and part at the last dot, unless the dot is the first or last character.
fn split(name: &str) -> (&str, &str) {
    match name.rsplit_once('.') {
        Some((key, part)) if !key.is_empty() && !part.is_empty() => (key, part),
        _ => (name, ""),
    }
}

impl Folder {
    fn row(&self, at: SampleAt, name: &str) -> BrowseSample {
        let (key, part) = split(name);
        let (size, defect) = match stamp_at(&self.shared.path_of(at.group, name)) {
            Ok(stamp) => (stamp.bytes, None),
            Err(failure) => (0, Some(Arc::from(failure.why))),
        };
        let parts = vec![BrowsePart { name: Arc::from(part), byte_offset: 0, byte_size: size }];
        BrowseSample { at, key: Arc::from(key), byte_offset: 0, byte_size: size, parts, defect }
    }
}

impl Catalog for Folder {
    fn head(&self) -> CatalogHead<'_> {
        CatalogHead { kind: self.kind, root: &self.shared.root, group_word: "folder" }
    }

    fn groups(&self) -> Arc<Groups> {
        self.shared.state.groups()
    }

    fn samples(&self, from: SampleAt, count: usize, cancel: &Cancel) -> Outcome<Vec<BrowseSample>> {
        super::over_groups(&self.groups(), from, count.min(super::MAX_ROWS), |group, first, count| {
            let mut rows = Vec::new();
            self.shared.packed(group).for_each(first, |index, name| {
                rows.push(self.row(SampleAt { group, index }, &String::from_utf8_lossy(name)));
                (rows.len() as u64) < count && !cancel.is_cancelled()
            });
            cancel.check()?;
            Ok(rows)
        })
    }

    fn read(&self, sample: &BrowseSample, part: usize, from: u64, limit: usize) -> Outcome<Vec<u8>> {
        let name = self.shared.packed(sample.at.group).get(sample.at.index).filter(|_| part == 0);
        let Some(name) = name else {
            return Err(Failure::usage("reading a part", "there is no such file").on(Subject::path(&self.shared.root)));
        };
        let path = self.shared.path_of(sample.at.group, &name);
        let size = stamp_at(&path)?.bytes;
        super::read_in_file(&path, 0, size, from, limit)
    }

    fn visit(&self, group: u32, wanted: VisitFields, cancel: &Cancel, take: Visitor<'_>) -> Outcome<()> {
        self.shared.packed(group).for_each(0, |index, name| {
            let name = String::from_utf8_lossy(name);
            let (key, part) = split(&name);
            let byte_size = match wanted.sizes {
                true => stamp_at(&self.shared.path_of(group, &name)).map_or(0, |stamp| stamp.bytes),
                false => 0,
            };
            let goes_on = take(VisitedSample { index, key, byte_size, parts: &[part] });
            goes_on && !((wanted.sizes || index.is_multiple_of(PROGRESS_EVERY)) && cancel.is_cancelled())
        });
        cancel.check()
    }
}
