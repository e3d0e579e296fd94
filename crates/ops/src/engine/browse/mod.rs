//! Browsing of data sets: catalogs that know the location of every sample without storing it, and the operations on them (find, filter,
//! marks, problems, offsets, the loader's view).
//!
//! A catalog lists groups (shards, files, folders) and fetches windows of samples on demand, so that a list of 10⁷ samples takes as little
//! memory as a list of ten. Everything that a file claims about itself (counts, offsets, sizes, names) is treated as unverified.

mod bytes;
pub mod filter;
pub(crate) mod folder;
mod groups;
mod headers;
pub(crate) mod jsonl;
mod key_list;
pub mod loader;
mod marks;
mod matches;
pub mod offsets;
mod packed;
pub mod places;
pub(crate) mod prepared;
pub mod problems;
mod query;
pub mod random;
pub(crate) mod raw;
mod repeated_keys;
mod rows;
mod state;
pub(crate) mod tables;
pub mod tokens;

pub use filter::{SampleFilter, SplitChoice};
pub use folder::TOP_FOLDER;
pub use groups::{Group, Groups};
pub use key_list::write_key_list;
pub(crate) use key_list::{find_list, keep_for_run};
pub use marks::Marks;
pub use matches::Matches;
pub use places::SubjectLocation;
pub(crate) use prepared::shard_named;
pub use problems::{ProblemList, SampleProblem};
pub use query::KeyQuery;
pub use tokens::{TokenBrowser, TokenView};

use gristmill_core::{Cancel, DatasetKind, Failure, FileStamp, Outcome, Problem, Shard, Subject};
use gristmill_data::source::contents;
use gristmill_storage::cache::open_cached;
use gristmill_storage::read::ReadFile;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Maximum length of a key or part name, in bytes; a longer name is cut.
pub const MAX_NAME_BYTES: usize = 4096;
/// Maximum number of samples in one window.
const MAX_ROWS: usize = 20_000;
/// Maximum number of listed parts of one sample.
pub const MAX_PARTS: usize = 4096;

/// The location of a sample: group and position in it, both from 0, in the order of the data set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SampleAt {
    /// Position of the group in [`Groups::groups`].
    pub group: u32,
    /// Position in the group.
    pub index: u64,
}

/// One part of a sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrowsePart {
    /// Name of the part; raw, so the caller must escape it for display.
    pub name: Arc<str>,
    /// Offset of the content in the (decompressed) shard, or in the file, in bytes.
    pub byte_offset: u64,
    /// Length of the content in bytes, as the index or header claims.
    pub byte_size: u64,
}

/// One row of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrowseSample {
    /// The location of the sample.
    pub at: SampleAt,
    /// Key of the sample; raw, so the caller must escape it for display.
    pub key: Arc<str>,
    /// Offset in the (decompressed) shard, or in the file, in bytes.
    pub byte_offset: u64,
    /// Bytes from the beginning of the sample to the next sample.
    pub byte_size: u64,
    /// The parts in the order of the archive, at most [`MAX_PARTS`].
    pub parts: Vec<BrowsePart>,
    /// A defect of the sample that was found when it was listed.
    pub defect: Option<Arc<str>>,
}

impl BrowseSample {
    /// Creates a row for a sample of which only the defect is known.
    fn broken(at: SampleAt, why: impl Into<Arc<str>>) -> Self {
        Self { at, key: Arc::from(""), byte_offset: 0, byte_size: 0, parts: Vec::new(), defect: Some(why.into()) }
    }
    /// Sets the defect, unless the row already has one.
    fn set_defect(&mut self, why: impl Into<Arc<str>>) {
        self.defect.get_or_insert_with(|| why.into());
    }
}

/// The fields that a visit of all samples of a group fills; with fewer fields, the visit is faster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VisitFields {
    /// Fill [`VisitedSample::key`].
    pub keys: bool,
    /// Fill [`VisitedSample::byte_size`].
    pub sizes: bool,
    /// Fill [`VisitedSample::parts`].
    pub parts: bool,
}

/// One sample of a visit; fields that were not requested may be empty.
#[derive(Clone, Copy, Debug)]
pub struct VisitedSample<'a> {
    /// Position in the group.
    pub index: u64,
    /// Key of the sample.
    pub key: &'a str,
    /// Bytes from the beginning of the sample to the next sample.
    pub byte_size: u64,
    /// Names of the sample's parts.
    pub parts: &'a [&'a str],
}

/// Callback that receives the samples of a visit until it returns false.
pub type Visitor<'a> = &'a mut dyn FnMut(VisitedSample<'_>) -> bool;

/// A file with samples.
#[derive(Clone, Debug)]
pub struct SamplesFile {
    /// Path of the file.
    pub path: PathBuf,
    /// Whether parts are ranges of the bytes of the file; otherwise they are decoded from it.
    pub is_plain: bool,
    /// The index file next to it with the locations of the samples.
    pub index: Option<PathBuf>,
}

/// What a data set is called.
#[derive(Clone, Copy, Debug)]
pub struct CatalogHead<'a> {
    /// The kind of data set.
    pub kind: DatasetKind,
    /// The path of the data set: a folder or a file.
    pub root: &'a Path,
    /// The noun for a group: `shard`, `file` or `folder`.
    pub group_word: &'static str,
}

/// A data set that can be browsed. Methods may read from storage and must run on a worker, except [`head`](Self::head),
/// [`groups`](Self::groups), and those documented as never waiting.
pub trait Catalog: Send + Sync {
    /// Returns the kind of data set, its path, and the noun for its groups. Never waits.
    fn head(&self) -> CatalogHead<'_>;

    /// Returns the kind of data set.
    fn kind(&self) -> DatasetKind {
        self.head().kind
    }

    /// Returns the path of the data set.
    fn root(&self) -> &Path {
        self.head().root
    }

    /// Returns the noun for a group.
    fn group_word(&self) -> &'static str {
        self.head().group_word
    }

    /// Returns the groups known so far. Never waits.
    fn groups(&self) -> Arc<Groups>;

    /// Makes the scan continue with this group. Never waits.
    fn prefer(&self, _group: u32) {}

    /// Allows the scan of all groups, including those far from the samples in view. Never waits.
    fn scan_all(&self) {}

    /// Whether the scan continues only when a group is [preferred](Self::prefer). Never waits.
    fn is_idle(&self) -> bool {
        false
    }

    /// Returns up to `count` samples from `from` on, across groups. Returns fewer at the end of the data set, or at the position that the
    /// scan has reached. Every counted sample has a row; a sample that cannot be read has a row with a defect.
    fn samples(&self, from: SampleAt, count: usize, cancel: &Cancel) -> Outcome<Vec<BrowseSample>>;

    /// Returns up to `limit` bytes of a part from `from` on; empty after its end. Never allocates more memory than the size of the file.
    fn read(&self, sample: &BrowseSample, part: usize, from: u64, limit: usize) -> Outcome<Vec<u8>>;

    /// Passes samples with a matching key to `found` until it returns false. With an index of keys, samples that match a prefix are found
    /// at once and in the order of their keys; otherwise in the order of the data set.
    fn find(&self, query: &KeyQuery, cancel: &Cancel, found: &mut dyn FnMut(SampleAt) -> bool) -> Outcome<()> {
        find_by_visits(self, query, cancel, found)
    }

    /// Returns the sample with exactly this key, in the group with this name if one is given; `None` if there is no such sample.
    fn locate(&self, group: Option<&str>, key: &str, cancel: &Cancel) -> Outcome<Option<SampleAt>> {
        locate_by_visits(self, group, key, cancel)
    }

    /// Whether [`keys_from`](Self::keys_from) can list the keys. Never waits.
    fn has_key_order(&self) -> bool {
        false
    }

    /// Passes samples with their whole keys to `take` until it returns false, in the byte order of the keys, starting at the first key that
    /// is at least `from`. Passes no samples if the keys have no index.
    fn keys_from(&self, _from: &str, _cancel: &Cancel, _take: &mut dyn FnMut(&str, SampleAt) -> bool) -> Outcome<()> {
        Ok(())
    }

    /// Whether the index of keys guarantees that no two samples have the same key.
    fn has_unique_keys(&self, _cancel: &Cancel) -> Outcome<bool> {
        Ok(false)
    }

    /// Returns the offset of a line, counted from 1, in a file of lines; `None` if the data set is no such file, or has fewer lines.
    fn line_start(&self, _line: u64, _cancel: &Cancel) -> Outcome<Option<u64>> {
        Ok(None)
    }

    /// Returns the samples with problems that a scan has found so far. Never waits.
    fn problems(&self) -> Arc<ProblemList> {
        Arc::default()
    }

    /// Returns the rows of tables that cannot be shown. Files that do not describe their rows are read again for this.
    fn row_problems(&self, _cancel: &Cancel) -> Outcome<Vec<Problem>> {
        Ok(Vec::new())
    }

    /// Returns the row of a sample in the index of the data set; `None` if there is no row or no index.
    fn indexed(&self, _at: SampleAt, _cancel: &Cancel) -> Outcome<Option<BrowseSample>> {
        Ok(None)
    }

    /// Returns the data set as packed tokens; `None` for data sets of other kinds.
    fn tokens(&self) -> Option<&tokens::TokenSet> {
        None
    }

    /// Returns the shard of a group, as it was found or by its name; `None` if groups are not shards.
    fn shard(&self, _group: u32) -> Outcome<Option<Shard>> {
        Ok(None)
    }

    /// Returns the file that contains the samples of a group; `None` if each sample is a separate file.
    fn file_of(&self, group: u32) -> Outcome<Option<SamplesFile>> {
        Ok(self.shard(group)?.map(|shard| SamplesFile { path: shard.path, is_plain: !shard.is_tgz, index: None }))
    }

    /// Describes how the file of a group, whose current state is `now`, differs from the file whose samples are listed; `None` if that is
    /// unknown.
    fn change_of(&self, _group: u32, _now: FileStamp) -> Option<String> {
        None
    }

    /// Visits all samples of a group in order until `take` returns false.
    fn visit(&self, group: u32, wanted: VisitFields, cancel: &Cancel, take: Visitor<'_>) -> Outcome<()>;
}

/// Work that fills a catalog while it is viewed. It ends when it is complete, when it is cancelled, or when the catalog is dropped.
pub type Background = Box<dyn FnOnce(&Cancel) + Send>;

/// A new catalog, and its background work.
pub struct OpenedCatalog {
    /// The catalog, usable at once.
    pub catalog: Arc<dyn Catalog>,
    /// Stops the background work; cancelled when the catalog is dropped.
    pub stop: Cancel,
    /// Tasks that the caller must run on threads.
    pub background: Vec<Background>,
}

/// Note on a compressed shard.
const COMPRESSED_NOTE: &str = "compressed: it can be read, slowly, and the loader cannot read it";

/// Collects a window across groups. `fetch` returns rows of one group, given the first position and the count.
fn over_groups(
    groups: &Groups,
    from: SampleAt,
    count: usize,
    mut fetch: impl FnMut(u32, u64, u64) -> Outcome<Vec<BrowseSample>>,
) -> Outcome<Vec<BrowseSample>> {
    let mut window = Vec::new();
    let mut index = from.index;
    for group in from.group..=u32::MAX {
        let left = count.saturating_sub(window.len()) as u64;
        let Some(known) = groups.group(group).filter(|_| left > 0) else { break };
        let here = known.samples.saturating_sub(index).min(left);
        if here > 0 {
            window.append(&mut fetch(group, index, here)?);
        }
        index = 0;
    }
    Ok(window)
}

/// Returns the rows; for a shard that cannot be read, rows with that defect, so that the list continues after it.
fn or_defects(window: Outcome<Vec<BrowseSample>>, group: u32, first: u64, count: u64) -> Outcome<Vec<BrowseSample>> {
    match window {
        Err(failure) if !failure.is_cancelled() => {
            let why: Arc<str> = Arc::from(failure.why);
            let row = |index| BrowseSample::broken(SampleAt { group, index }, Arc::clone(&why));
            Ok((first..first.saturating_add(count)).map(row).collect())
        }
        other => other,
    }
}

/// Returns the number that a key is, if keys are the numbers of rows.
fn row_number(key: &str) -> Option<u64> {
    key.parse().ok().filter(|number: &u64| number.to_string() == key)
}

/// Implements [`Catalog::find`] without an index of keys. A group that cannot be read is skipped.
fn find_by_visits<C: Catalog + ?Sized>(
    catalog: &C,
    query: &KeyQuery,
    cancel: &Cancel,
    found: &mut dyn FnMut(SampleAt) -> bool,
) -> Outcome<()> {
    let mut goes_on = true;
    let mut group = 0;
    while goes_on && catalog.groups().group(group).is_some() {
        cancel.check()?;
        let wanted = VisitFields { keys: true, ..VisitFields::default() };
        let visited = catalog.visit(group, wanted, cancel, &mut |sample| {
            if query.matches(sample.key) {
                goes_on = found(SampleAt { group, index: sample.index });
            }
            goes_on
        });
        match visited {
            Err(failure) if failure.is_cancelled() => return Err(failure),
            _ => group += 1,
        }
    }
    Ok(())
}

/// Implements [`Catalog::locate`] without an index of keys.
fn locate_by_visits<C: Catalog + ?Sized>(
    catalog: &C,
    group: Option<&str>,
    key: &str,
    cancel: &Cancel,
) -> Outcome<Option<SampleAt>> {
    let groups = catalog.groups();
    let range = match group.map(|name| groups.named(name)) {
        None => 0..u32::try_from(groups.groups.len()).unwrap_or(u32::MAX),
        Some(Some(group)) => group..group.saturating_add(1),
        Some(None) => return Ok(None),
    };
    let mut found = None;
    for group in range {
        cancel.check()?;
        let wanted = VisitFields { keys: true, ..VisitFields::default() };
        let visited = catalog.visit(group, wanted, cancel, &mut |sample| {
            if sample.key == key {
                found = Some(SampleAt { group, index: sample.index });
            }
            found.is_none()
        });
        match visited {
            Err(failure) if failure.is_cancelled() => return Err(failure),
            _ if found.is_some() => break,
            _ => {}
        }
    }
    Ok(found)
}

/// Implements [`Catalog::visit`] for `total` rows whose keys are their numbers. `sizes` returns the sizes of up to `step` rows, given the
/// first row and their number.
fn visit_numbered(
    (total, step): (u64, usize),
    parts: &[&str],
    wanted: VisitFields,
    cancel: &Cancel,
    mut sizes: impl FnMut(u64, usize) -> Outcome<Vec<u64>>,
    take: Visitor<'_>,
) -> Outcome<()> {
    let (mut index, mut key) = (0_u64, String::new());
    while index < total {
        cancel.check()?;
        let here = step.min(usize::try_from(total - index).unwrap_or(step));
        let sizes = if wanted.sizes { sizes(index, here)? } else { vec![0; here] };
        if sizes.is_empty() {
            break;
        }
        for byte_size in sizes {
            key.clear();
            if wanted.keys {
                let _ = write!(key, "{index}");
            }
            if !take(VisitedSample { index, key: &key, byte_size, parts }) {
                return Ok(());
            }
            index += 1;
        }
    }
    Ok(())
}

/// Guard that ends the background work of a catalog when the catalog is dropped.
struct StopOnDrop(Cancel);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Returns bytes of a part that is a whole file, or a line of a file. The size of the file is checked before memory is allocated.
fn read_in_file(path: &Path, offset: u64, size: u64, from: u64, limit: usize) -> Outcome<Vec<u8>> {
    read_in(&open_cached(path)?, offset, size, from, limit)
}

/// Like [`read_in_file`], for an open file.
fn read_in(file: &ReadFile, offset: u64, size: u64, from: u64, limit: usize) -> Outcome<Vec<u8>> {
    let begin = offset.saturating_add(from);
    let left = size.saturating_sub(from).min(file.len().saturating_sub(begin));
    let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(limit);
    let mut bytes = vec![0; wanted];
    let mut filled = 0;
    while let Some(space) = bytes.get_mut(filled..).filter(|space| !space.is_empty()) {
        match file.read_at(space, begin.saturating_add(filled as u64)) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) => return Err(Failure::io("reading a part", file.path(), &error)),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// Returns bytes of a part in a shard. The offset and the size are unverified, so the size of the file is checked before memory is
/// allocated.
fn read_in_shard(shard: &Shard, part: Option<&BrowsePart>, from: u64, limit: usize) -> Outcome<Vec<u8>> {
    let Some(part) = part else {
        return Err(Failure::usage("reading a part", "the sample has no such part").on(Subject::shard(&shard.name)));
    };
    let left = part.byte_size.saturating_sub(from);
    if left == 0 {
        return Ok(Vec::new());
    }
    contents::read_part(shard, part.byte_offset.saturating_add(from), left, limit)
}

/// Returns the beginning of a name up to the length limit, without cutting a character.
fn clipped(name: &str) -> &str {
    if name.len() <= MAX_NAME_BYTES {
        return name;
    }
    let end = (0..=MAX_NAME_BYTES).rev().find(|&end| name.is_char_boundary(end)).unwrap_or(0);
    name.get(..end).unwrap_or_default()
}
