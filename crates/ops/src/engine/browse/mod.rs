//! Data sets to look at: catalogs that know where every sample is without holding it, and what is asked of them (find, filter,
//! marks, problems, offsets, the loader's view).
//!
//! A catalog lists groups (shards, files, folders) and fetches windows of samples on demand, so that a list of 10⁷ samples costs
//! as little memory as one of ten. Everything that a file says about itself (counts, offsets, sizes, names) is taken as a claim.

mod bytes;
pub mod filter;
mod folder;
mod groups;
mod headers;
mod jsonl;
pub mod loader;
mod marks;
mod matches;
pub mod offsets;
mod packed;
pub mod places;
mod prepared;
pub mod problems;
mod query;
pub mod random;
mod raw;
mod rows;
mod state;
pub mod tokens;

pub use filter::{SampleFilter, SplitChoice};
pub use groups::{Group, Groups};
pub use marks::{Marks, SplitCount};
pub use matches::Matches;
pub use places::SubjectLocation;
pub use problems::{ProblemList, SampleProblem};
pub use query::KeyQuery;
pub use tokens::TokenView;

use crate::source::contents;
use crate::source::discover::is_shard_file;
use crate::source::kind::kind_of;
use gristmill_core::{Cancel, DatasetKind, Failure, Outcome, Shard, Subject};
use gristmill_storage::read::open_read;
use std::path::Path;
use std::sync::Arc;

/// The longest key or part name that is kept, in bytes; of a longer one the beginning is shown.
pub const LONGEST_NAME: usize = 4096;
/// Samples of one window that are fetched at most.
const MAX_ROWS: usize = 20_000;
/// Parts of one sample that are listed; of more only their first.
pub const MAX_PARTS: usize = 4096;

/// Where a sample is: group and position in it, both from 0. The order is that of the data set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SampleAt {
    /// Position of its group in [`Groups::groups`].
    pub group: u32,
    /// Position in its group.
    pub index: u64,
}

/// One part of a sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrowsePart {
    /// Its name, raw: whoever shows it makes it safe.
    pub name: Arc<str>,
    /// First byte of its content in the (decompressed) shard, or in the file.
    pub byte_offset: u64,
    /// Length of its content in bytes, as its index or header claims.
    pub byte_size: u64,
}

/// One row of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrowseSample {
    /// Where it is.
    pub at: SampleAt,
    /// Its key, raw: whoever shows it makes it safe.
    pub key: Arc<str>,
    /// First byte in the (decompressed) shard, or in the file.
    pub byte_offset: u64,
    /// Bytes up to the next sample.
    pub byte_size: u64,
    /// Its parts in the order of the archive, at most [`MAX_PARTS`].
    pub parts: Vec<BrowsePart>,
    /// What is wrong with it, as far as listing it showed.
    pub defect: Option<Arc<str>>,
}

impl BrowseSample {
    /// A row of which nothing is known but why.
    fn broken(at: SampleAt, why: impl Into<Arc<str>>) -> Self {
        Self { at, key: Arc::from(""), byte_offset: 0, byte_size: 0, parts: Vec::new(), defect: Some(why.into()) }
    }
    /// Adds a defect unless there is one.
    fn blame(&mut self, why: impl Into<Arc<str>>) {
        self.defect.get_or_insert_with(|| why.into());
    }
}

/// What a visit of all samples of a group is to be told about each; the less, the faster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VisitFields {
    /// [`Visited::key`].
    pub keys: bool,
    /// [`Visited::byte_size`].
    pub sizes: bool,
    /// [`Visited::parts`].
    pub parts: bool,
}

/// One sample of a visit; what was not wanted may be empty.
#[derive(Clone, Copy, Debug)]
pub struct Visited<'a> {
    /// Position in its group.
    pub index: u64,
    /// Its key.
    pub key: &'a str,
    /// Bytes up to the next sample.
    pub byte_size: u64,
    /// Names of its parts.
    pub parts: &'a [&'a str],
}

/// A data set to look at. Everything but [`kind`](Self::kind), [`root`](Self::root), [`group_word`](Self::group_word) and
/// [`groups`](Self::groups) may read from storage, so it belongs on a worker.
pub trait Catalog: Send + Sync {
    /// What it is.
    fn kind(&self) -> DatasetKind;

    /// The folder, or the JSONL file.
    fn root(&self) -> &Path;

    /// What a group is: `shard`, `file` or `folder`.
    fn group_word(&self) -> &'static str;

    /// The groups as far as they are known. Never waits.
    fn groups(&self) -> Arc<Groups>;

    /// Up to `count` samples from `from` on, over the borders of groups. Fewer where the data set ends, or where it is not
    /// scanned any further yet. Every sample that is counted gets a row; one that cannot be read has a defect.
    fn samples(&self, from: SampleAt, count: usize, cancel: &Cancel) -> Outcome<Vec<BrowseSample>>;

    /// Up to `limit` bytes of a part from `from` on; empty behind its end. Never takes memory that the file cannot fill.
    fn read(&self, sample: &BrowseSample, part: usize, from: u64, limit: usize) -> Outcome<Vec<u8>>;

    /// Hands out samples whose key fits until `found` says no. With an index of keys, those of a prefix come at once and in the
    /// order of their keys; else in the order of the data set.
    fn find(&self, query: &KeyQuery, cancel: &Cancel, found: &mut dyn FnMut(SampleAt) -> bool) -> Outcome<()>;

    /// The sample of exactly this key; in the group of this name, when one is given. `None` when there is none.
    fn locate(&self, group: Option<&str>, key: &str, cancel: &Cancel) -> Outcome<Option<SampleAt>>;

    /// The first byte of a line, counted from 1, in a file of lines; `None` where there are no lines, or fewer.
    fn line_start(&self, _line: u64, _cancel: &Cancel) -> Outcome<Option<u64>> {
        Ok(None)
    }

    /// Samples with problems that are known without looking: findings of a scan. Never waits.
    fn problems(&self) -> Arc<ProblemList> {
        Arc::default()
    }

    /// What the index of the data set says about a sample; `None` where it says nothing, or there is none.
    fn indexed(&self, _at: SampleAt, _cancel: &Cancel) -> Outcome<Option<BrowseSample>> {
        Ok(None)
    }

    /// The same as packed tokens; `None` where it holds none.
    fn tokens(&self) -> Option<&tokens::TokenSet> {
        None
    }

    /// The shard of a group, as it was found or is named; `None` where groups are no shards.
    fn shard(&self, _group: u32) -> Outcome<Option<Shard>> {
        Ok(None)
    }

    /// Goes through all samples of a group in order until `take` says no.
    fn visit(
        &self,
        group: u32,
        wanted: VisitFields,
        cancel: &Cancel,
        take: &mut dyn FnMut(Visited<'_>) -> bool,
    ) -> Outcome<()>;
}

/// Work that fills a catalog while it is looked at. It ends when it is done, when asked to, or when the catalog is dropped.
pub type Background = Box<dyn FnOnce(&Cancel) + Send>;

/// A catalog just opened, and what there is to do for it in the background.
pub struct Opening {
    /// It can be looked at already.
    pub catalog: Arc<dyn Catalog>,
    /// Stops the background work; cancelled by the catalog itself when nobody holds it any more.
    pub stop: Cancel,
    /// To be run on threads.
    pub background: Vec<Background>,
}

/// How a path is looked at.
enum SourceKind {
    Prepared,
    Raw,
    Jsonl,
    Tokens(DatasetKind),
    Folder(DatasetKind),
}

/// How a path is looked at, by names only; what cannot be browsed is a failure that says what can.
fn way_of(path: &Path) -> Outcome<SourceKind> {
    Ok(match kind_of(path)? {
        DatasetKind::PreparedWebDataset => SourceKind::Prepared,
        DatasetKind::RawWebDataset => SourceKind::Raw,
        DatasetKind::Jsonl => SourceKind::Jsonl,
        DatasetKind::OtherFile if is_packed_jsonl(path) => SourceKind::Jsonl,
        DatasetKind::OtherFile if is_shard_file(path) => SourceKind::Raw,
        kind if kind.is_tokens() => SourceKind::Tokens(kind),
        kind @ (DatasetKind::PlainFolder | DatasetKind::Filesystem) => SourceKind::Folder(kind),
        kind => {
            return Err(Failure::usage("opening the data set", format!("a {} cannot be browsed", kind.title()))
                .on(Subject::path(path))
                .with_hint(
                    "give a folder of tar shards, one .tar, a .jsonl file (packed or not), packed tokens, or a folder of media files",
                ))
        }
    })
}

/// Whether a path can be browsed; if not, why.
pub fn can_open(path: &Path) -> Outcome<()> {
    way_of(path).map(drop)
}

/// Opens a data set for looking at it: a WebDataset, prepared or not, a JSONL file, a folder of loose files, or packed tokens, which
/// are looked at as `view` says. Reads only small files, and of a `.pbin` its index.
///
/// What cannot be browsed is a failure that says what can.
pub fn open(path: &Path, view: &TokenView) -> Outcome<Opening> {
    match way_of(path)? {
        SourceKind::Prepared => prepared::open(path),
        SourceKind::Raw => raw::open(path),
        SourceKind::Jsonl => jsonl::open(path),
        SourceKind::Tokens(kind) => tokens::open(path, kind, view),
        SourceKind::Folder(kind) => folder::open(path, kind),
    }
}

/// Whether a name is that of a packed JSONL file: `a.jsonl.gz`, `a.jsonl.zst`.
pub fn is_packed_jsonl(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    name.contains(".jsonl.") && !crate::source::text::Packing::of_name(&name).is_plain()
}

/// What is said of a compressed shard.
const SLOW: &str = "compressed: it can be read, slowly, and the loader cannot read it";

/// Collects a window over the borders of groups. `fetch` is asked for rows of one group: first position and count.
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

/// Rows, or where a shard cannot be read rows that say so: the list goes on behind it.
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

/// [`Catalog::find`] where no index of keys is. A group that cannot be read is left out.
fn find_by_visits(
    catalog: &dyn Catalog,
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

/// [`Catalog::locate`] where no index of keys is.
fn locate_by_visits(
    catalog: &dyn Catalog,
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

/// Some bytes of a part that lies in a file of its own, or is a line of one. The file is asked before memory is taken.
fn read_in_file(path: &Path, offset: u64, size: u64, from: u64, limit: usize) -> Outcome<Vec<u8>> {
    let file = open_read(path)?;
    let begin = offset.saturating_add(from);
    let left = size.saturating_sub(from).min(file.len().saturating_sub(begin));
    let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(limit);
    let mut bytes = vec![0; wanted];
    let mut filled = 0;
    while let Some(space) = bytes.get_mut(filled..).filter(|space| !space.is_empty()) {
        match file.read_at(space, begin.saturating_add(filled as u64)) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) => return Err(Failure::io("reading a part", path, &error)),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// Some bytes of a part that lies in a shard. Offset and size are claims: the file is asked before memory is taken.
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

/// The first bytes of a name, cut between characters.
fn clipped(name: &str) -> &str {
    if name.len() <= LONGEST_NAME {
        return name;
    }
    let end = (0..=LONGEST_NAME).rev().find(|&end| name.is_char_boundary(end)).unwrap_or(0);
    name.get(..end).unwrap_or_default()
}
