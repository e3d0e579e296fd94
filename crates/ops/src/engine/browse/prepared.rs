//! A prepared WebDataset: counts from `.info.json`, rows from `index.sqlite`; for a sample without a row, from `.tar.idx` and the headers
//! of the tar.

use super::rows::TableQuery;
use super::{
    headers, Background, BrowsePart, BrowseSample, Catalog, CatalogHead, Group, Groups, KeyQuery, OpenedCatalog,
    SampleAt, StopOnDrop, VisitFields, Visitor,
};
use crate::engine::recorded::{update_command, IndexedShards, MAX_REPORT_BYTES};
use gristmill_core::{Cancel, DatasetKind, ExitClass, Failure, FileStamp, Mutex, Outcome, Shard, Subject};
use gristmill_data::formats::energon::info::Info;
use gristmill_data::formats::energon::key_pages::{KeyLocation, KeyPages};
use gristmill_data::formats::energon::layout;
use gristmill_data::formats::energon::tables::Tables;
use gristmill_data::formats::energon::tar_idx::TarIdx;
use gristmill_data::source::contents;
use gristmill_data::source::tar::{may_be_header_of, BLOCK};
use gristmill_storage::cache::open_cached;
use gristmill_storage::listing::stamps_below;
use gristmill_storage::local_copy::copy_of_version;
use gristmill_storage::location::is_remote;
use gristmill_storage::read::{pause, stamp_at};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};

const ACTIVITY: &str = "looking at the data set";
/// Limit of idle connections in the pool.
const MAX_KEPT_CONNECTIONS: usize = 4;
/// Size of a database in a store, in bytes, up to which opening waits for its copy, and up to which it is copied although no operation needs
/// it yet.
const MAX_AWAITED_BYTES: u64 = if cfg!(test) { 16 << 10 } else { 4 << 20 };
const MAX_EAGER_BYTES: u64 = 256 << 20;

/// Opens the small files; the shards are checked in the background.
pub(crate) fn open(root: &Path) -> Outcome<OpenedCatalog> {
    let Some(info) = Info::read_cached(root)? else {
        return Err(Failure::data(ACTIVITY, "it is no longer prepared").on(Subject::path(root)));
    };
    let group = |(name, samples): (String, u64)| Group {
        name: Arc::from(name),
        samples,
        is_counted: true,
        bytes: 0,
        failure: None,
    };
    let groups = info.shard_counts.into_iter().map(group).collect();
    let database = layout::in_nv_meta(root, layout::INDEX_SQLITE);
    let database_stamp = stamp_at(&database).ok();
    let stop = Cancel::default();
    let state = Arc::new(Mutex::new(Arc::new(Groups::new(0, groups, true))));
    let is_there =
        database_stamp.map_or(TableLocation::NotOpen, |stamp| match copy_of_version(&database, stamp).is_some() {
            false if stamp.bytes > MAX_AWAITED_BYTES => TableLocation::Store,
            _ => TableLocation::Hand,
        });
    let catalog = Arc::new(PreparedCatalog {
        root: root.to_owned(),
        groups: Arc::clone(&state),
        database,
        database_stamp,
        tables_at: AtomicU8::new(is_there as u8),
        pool: Mutex::new(Vec::new()),
        indexed: OnceLock::new(),
        pages: OnceLock::new(),
        _stop: StopOnDrop(stop.clone()),
    });
    let root = root.to_owned();
    let mut background: Vec<Background> = vec![Box::new(move |cancel| measure_shards(&root, &state, cancel))];
    match is_there {
        TableLocation::Hand => catalog.fetch_tables(),
        TableLocation::Store if database_stamp.is_some_and(|stamp| stamp.bytes <= MAX_EAGER_BYTES) => {
            let catalog = Arc::downgrade(&catalog);
            background.push(Box::new(move |_| _ = catalog.upgrade().map(|catalog| catalog.fetch_tables())));
        }
        TableLocation::Store | TableLocation::NotOpen => {}
    }
    Ok(OpenedCatalog { catalog, stop, background })
}

/// Location of the tables of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum TableLocation {
    /// There are no tables, so samples are read from the shards.
    NotOpen,
    /// The tables are on this machine.
    Hand,
    /// The tables are in a store: windows are read from the shards, and keys are looked up page by page. Operations that need all rows copy
    /// the tables.
    Store,
}

/// The catalog of a prepared WebDataset.
struct PreparedCatalog {
    root: PathBuf,
    groups: Arc<Mutex<Arc<Groups>>>,
    database: PathBuf,
    database_stamp: Option<FileStamp>,
    /// The location of the tables, as the number of a [`TableLocation`].
    tables_at: AtomicU8,
    pool: Mutex<Vec<Tables>>,
    /// The states of the shards when they were indexed, loaded on first use.
    indexed: OnceLock<IndexedShards>,
    /// The pages of the tables while they are in a store; `None` if only SQLite can read the tables.
    pages: OnceLock<Option<KeyPages>>,
    _stop: StopOnDrop,
}

/// Determines the size of every shard, and which shards cannot be read or have changed.
fn measure_shards(root: &Path, state: &Mutex<Arc<Groups>>, cancel: &Cancel) {
    let current = || Arc::clone(&state.lock());
    let indexed = IndexedShards::read(root, MAX_REPORT_BYTES);
    let mut groups = current().groups.clone();
    let at_once = if is_remote(root) { groups.len() } else { 1 };
    for groups in groups.chunks_mut(at_once.max(1)) {
        if cancel.is_cancelled() {
            return;
        }
        let shards: Vec<Outcome<Shard>> = groups.iter().map(|group| shard_named(root, &group.name)).collect();
        let paths: Vec<PathBuf> = shards.iter().flatten().map(|shard| shard.path.clone()).collect();
        let mut stamps = stamps_below(root, &paths).into_iter();
        for (group, shard) in groups.iter_mut().zip(shards) {
            match shard.and_then(|shard| stamps.next().unwrap_or(Ok(shard.stamp))) {
                Ok(stamp) => {
                    group.bytes = stamp.bytes;
                    let slow = || group.name.ends_with(".tgz").then(|| super::COMPRESSED_NOTE.to_owned());
                    group.failure = indexed.describe_change(&group.name, stamp.bytes).or_else(slow).map(Arc::from);
                }
                Err(failure) => group.failure = Some(Arc::from(failure.why)),
            }
        }
    }
    let next = Groups::new(current().version + 1, groups, true);
    *state.lock() = Arc::new(next);
}

/// Returns a shard by its relative name. The name may come from a file, so a name that leads out of the data set is refused.
pub(crate) fn shard_named(root: &Path, name: &str) -> Outcome<Shard> {
    let inside = |c| matches!(c, Component::Normal(_));
    if name.is_empty() || !Path::new(name).components().all(inside) {
        return Err(Failure::data(ACTIVITY, "the name of the shard leads out of the data set").on(Subject::shard(name)));
    }
    let stamp = FileStamp::default();
    Ok(Shard { name: name.to_owned(), path: root.join(name), stamp, mode: 0, is_tgz: name.ends_with(".tgz") })
}

impl PreparedCatalog {
    fn tables_at(&self) -> TableLocation {
        match self.tables_at.load(Ordering::Relaxed) {
            at if at == TableLocation::Hand as u8 => TableLocation::Hand,
            at if at == TableLocation::Store as u8 => TableLocation::Store,
            _ => TableLocation::NotOpen,
        }
    }

    fn has_tables(&self) -> bool {
        self.tables_at() != TableLocation::NotOpen
    }

    /// Opens the tables; tables in a store are copied first. A database without tables of samples contains only media metadata.
    fn fetch_tables(&self) {
        let at = match self.check_out(&Cancel::default()) {
            Ok(tables) => {
                self.return_tables(tables);
                TableLocation::Hand
            }
            // The database has only media metadata.
            Err(failure) if failure.class == ExitClass::Data || !is_remote(&self.database) => TableLocation::NotOpen,
            // The next query tries again, and reports the failure.
            Err(_) => return,
        };
        self.tables_at.store(at as u8, Ordering::Relaxed);
    }

    /// Takes a connection for one query from the pool, or opens one.
    fn check_out(&self, cancel: &Cancel) -> Outcome<Tables> {
        let kept = self.pool.lock().pop();
        let mut tables = match kept {
            Some(tables) => tables,
            None => {
                self.check_unchanged()?;
                match self.database_stamp {
                    Some(version) => Tables::open_version(&self.database, version)?,
                    None => Tables::open(&self.database)?,
                }
            }
        };
        tables.stop_with(cancel)?;
        Ok(tables)
    }

    fn check_unchanged(&self) -> Outcome<()> {
        if stamp_at(&self.database).ok() == self.database_stamp {
            return Ok(());
        }
        let failure = Failure::data(ACTIVITY, "its index was replaced since it was opened");
        Err(failure.on(Subject::path(&self.database)).with_hint("open the data set again"))
    }

    /// If the tables are in a store and can be read page by page, passes keys from a given key on, with their locations, to `take` until it
    /// returns false. Returns whether the tables can be read this way.
    fn keys_by_pages(
        &self,
        from: &str,
        cancel: &Cancel,
        take: &mut dyn FnMut(&[u8], SampleAt) -> bool,
    ) -> Outcome<bool> {
        if self.tables_at() != TableLocation::Store {
            return Ok(false);
        }
        let _waits = cancel.begin_wait_scope();
        let pages = match self.pages.get() {
            Some(pages) => pages,
            None => {
                self.check_unchanged()?;
                let opened = match KeyPages::open(&self.database) {
                    // Damage is reported by SQLite, which reads the tables instead.
                    Err(failure) if failure.class == ExitClass::Data => None,
                    opened => opened?,
                };
                self.pages.get_or_init(|| opened)
            }
        };
        let Some(pages) = pages else { return Ok(false) };
        pages.from(from, &mut |place: KeyLocation<'_>| {
            cancel.check()?;
            Ok(take(place.key, SampleAt { group: place.tar_file_id, index: place.sample_index }))
        })?;
        Ok(true)
    }

    fn return_tables(&self, tables: Tables) {
        let mut pool = self.pool.lock();
        if pool.len() < MAX_KEPT_CONNECTIONS {
            pool.push(tables);
        }
    }

    fn query<T>(&self, cancel: &Cancel, question: impl FnOnce(&TableQuery<'_>) -> Outcome<T>) -> Outcome<T> {
        cancel.check()?;
        let tables = self.check_out(cancel)?;
        pause();
        self.tables_at.store(TableLocation::Hand as u8, Ordering::Relaxed);
        let answer = question(&TableQuery { tables: &tables, path: &self.database, cancel });
        self.return_tables(tables);
        answer
    }

    fn shard_of(&self, group: u32) -> Outcome<Shard> {
        let groups = self.groups();
        let name = groups.group(group).map(|group| Arc::clone(&group.name)).unwrap_or_default();
        shard_named(&self.root, &name)
    }

    /// Reads the beginning of a part together with the header before it.
    ///
    /// # Errors
    /// The header does not belong to the part.
    fn read_with_header(
        &self,
        shard: &Shard,
        sample: &BrowseSample,
        part: &BrowsePart,
        limit: usize,
    ) -> Outcome<Vec<u8>> {
        let changed = || {
            let why = "the header before it is not that of this part; was the shard changed since it was indexed?";
            let failure = Failure::data("reading a part", why).on(Subject::shard(&shard.name).at(part.byte_offset));
            failure.with_hint(update_command(&self.root))
        };
        let begin = part.byte_offset.checked_sub(BLOCK as u64).ok_or_else(changed)?;
        let size = part.byte_size.saturating_add(BLOCK as u64);
        let mut bytes = contents::read_part(shard, begin, size, limit.saturating_add(BLOCK))?;
        let name = format!("{}.{}", sample.key, part.name);
        match bytes.first_chunk() {
            Some(header) if may_be_header_of(header, name.as_bytes(), part.byte_size) => Ok(bytes.split_off(BLOCK)),
            _ => Err(changed()),
        }
    }

    /// Returns rows of one shard. Samples without a row are read from the headers at the offsets in `.tar.idx`.
    fn window(&self, group: u32, first: u64, count: u64, cancel: &Cancel) -> Outcome<Vec<BrowseSample>> {
        let rows = match self.tables_at() == TableLocation::Hand {
            true => self.query(cancel, |asking| asking.window(group, first, count))?,
            false => std::iter::repeat_with(|| None).take(usize::try_from(count).unwrap_or(0)).collect(),
        };
        let lacking = |row: &(u64, Option<BrowseSample>)| row.1.is_none();
        let mut rows: Vec<(u64, Option<BrowseSample>)> =
            rows.into_iter().zip(first..).map(|(row, index)| (index, row)).collect();
        for run in rows.chunk_by_mut(|a, b| lacking(a) == lacking(b)).filter(|run| run.first().is_some_and(lacking)) {
            let Some(&(start, _)) = run.first() else { continue };
            let found = self.header_window(group, start, run.len(), cancel);
            let found = super::or_defects(found, group, start, run.len() as u64)?;
            run.iter_mut().zip(found).for_each(|((_, slot), row)| *slot = Some(row));
        }
        let nowhere =
            |index| BrowseSample::broken(SampleAt { group, index }, "no index of the shard lists this sample");
        Ok(rows.into_iter().map(|(index, row)| row.unwrap_or_else(|| nowhere(index))).collect())
    }

    fn header_window(&self, group: u32, first: u64, count: usize, cancel: &Cancel) -> Outcome<Vec<BrowseSample>> {
        let shard = self.shard_of(group)?;
        let idx = TarIdx::of(open_cached(&self.root.join(shard.index_name()))?)?;
        let mut spans = idx.spans(first, count)?;
        // The loader assumes that the first sample begins at byte 0, whatever offset the file contains.
        if let (0, Some(span)) = (first, spans.first_mut()) {
            span.0 = 0;
        }
        headers::window(&shard, group, first, &spans, cancel)
    }
}

impl Catalog for PreparedCatalog {
    fn head(&self) -> CatalogHead<'_> {
        CatalogHead { kind: DatasetKind::PreparedWebDataset, root: &self.root, group_word: "shard" }
    }

    fn groups(&self) -> Arc<Groups> {
        Arc::clone(&self.groups.lock())
    }

    fn samples(&self, from: SampleAt, count: usize, cancel: &Cancel) -> Outcome<Vec<BrowseSample>> {
        let groups = self.groups();
        super::over_groups(&groups, from, count.min(super::MAX_ROWS), |group, first, count| {
            self.window(group, first, count, cancel)
        })
    }

    fn read(&self, sample: &BrowseSample, part: usize, from: u64, limit: usize) -> Outcome<Vec<u8>> {
        let shard = self.shard_of(sample.at.group)?;
        match sample.parts.get(part) {
            Some(found) if from == 0 && found.byte_size > 0 => self.read_with_header(&shard, sample, found, limit),
            found => super::read_in_shard(&shard, found, from, limit),
        }
    }

    fn find(&self, query: &KeyQuery, cancel: &Cancel, found: &mut dyn FnMut(SampleAt) -> bool) -> Outcome<()> {
        if !self.has_tables() {
            return super::find_by_visits(self, query, cancel, found);
        }
        let groups = self.groups();
        let mut known =
            |at: SampleAt| groups.group(at.group).is_none_or(|group| at.index >= group.samples) || found(at);
        self.query(cancel, |asking| asking.find(query, &mut known))
    }

    fn locate(&self, group: Option<&str>, key: &str, cancel: &Cancel) -> Outcome<Option<SampleAt>> {
        if !self.has_tables() {
            return super::locate_by_visits(self, group, key, cancel);
        }
        let group = match group {
            Some(name) => match self.groups().named(name) {
                Some(group) => Some(group),
                None => return Ok(None),
            },
            None => None,
        };
        let mut found = None;
        let mut take = |known: &[u8], at: SampleAt| {
            found = (known == key.as_bytes() && group.is_none_or(|group| at.group == group)).then_some(at);
            false
        };
        if self.keys_by_pages(key, cancel, &mut take)? {
            return Ok(found);
        }
        self.query(cancel, |asking| asking.locate(group, key))
    }

    fn has_key_order(&self) -> bool {
        self.has_tables()
    }

    fn has_unique_keys(&self, cancel: &Cancel) -> Outcome<bool> {
        self.query(cancel, |asking| asking.has_unique_keys())
    }

    fn keys_from(&self, from: &str, cancel: &Cancel, take: &mut dyn FnMut(&str, SampleAt) -> bool) -> Outcome<()> {
        let mut take_text = |key: &[u8], at| std::str::from_utf8(key).map_or(true, |key| take(key, at));
        if self.keys_by_pages(from, cancel, &mut take_text)? {
            return Ok(());
        }
        match self.has_tables() {
            true => self.query(cancel, |asking| asking.keys_from(from, take)),
            false => {
                Err(Failure::data(ACTIVITY, "its index has no tables of samples").on(Subject::path(&self.database)))
            }
        }
    }

    fn indexed(&self, at: SampleAt, cancel: &Cancel) -> Outcome<Option<BrowseSample>> {
        if !self.has_tables() {
            return Ok(None);
        }
        Ok(self.query(cancel, |asking| asking.window(at.group, at.index, 1))?.pop().flatten())
    }

    fn shard(&self, group: u32) -> Outcome<Option<Shard>> {
        self.shard_of(group).map(Some)
    }

    fn change_of(&self, group: u32, now: FileStamp) -> Option<String> {
        let indexed = self.indexed.get_or_init(|| IndexedShards::read(&self.root, MAX_REPORT_BYTES));
        indexed.describe_change(&self.groups().group(group)?.name, now.bytes)
    }

    fn visit(&self, group: u32, wanted: VisitFields, cancel: &Cancel, take: Visitor<'_>) -> Outcome<()> {
        if !self.has_tables() {
            return super::raw::visit_shard(&self.shard_of(group)?, wanted, cancel, take);
        }
        self.query(cancel, |asking| asking.visit(group, wanted, take))
    }
}
