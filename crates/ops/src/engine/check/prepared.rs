//! A prepared data set opened for checking, with its small files read.

use crate::engine::browse::shard_named;
use crate::engine::dataset::{fetch_small_files, has_only_splits, UPDATE_HINT};
use crate::engine::recorded::Recorded;
use gristmill_core::{Failure, FileStamp, Outcome, Shard, ShardId, Subject};
use gristmill_data::formats::energon::info::Info;
use gristmill_data::formats::energon::layout;
use gristmill_data::formats::energon::split_yaml::SplitFile;
use gristmill_data::formats::energon::tables::{has_only_media, local_database, Tables};
use gristmill_data::source::kind::kind_of;
use gristmill_storage::files;
use gristmill_storage::files_ahead::NamesAhead;
use gristmill_storage::listing::stamps_below;
use gristmill_storage::location::hint_for;
use gristmill_storage::publish;
use gristmill_storage::read::stamp_at;
use gristmill_storage::run_folder::RunFolder;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// The state shared by the checks of one data set.
#[derive(Clone, Debug)]
pub struct PreparedDataset {
    /// The folder of the data set.
    pub root: PathBuf,
    /// Shard names and sample counts, in index order.
    pub info: Info,
    /// Splits and excludes as written; `None` if the file is missing or cannot be read, which `lint` reports.
    pub splits: Option<SplitFile>,
    /// The failure to read the splits.
    pub splits_failure: Option<Failure>,
    /// Whether the sample tables exist.
    pub has_tables: bool,
    /// Size, time and inode of each shard when it was indexed; empty if another program indexed the data set.
    pub stamps: HashMap<String, FileStamp>,
    /// The files of an interrupted publication, if there is one.
    pub pending: Option<Vec<String>>,
    /// The file from which the tables are read; set when they are first opened.
    local_database: OnceLock<PathBuf>,
    /// The exclude items of the splits, braces expanded; set when they are first used.
    expanded_excludes: OnceLock<HashSet<String>>,
    _fetched: Arc<NamesAhead>,
}

impl PreparedDataset {
    /// Opens a data set. For a data set that is not prepared, the failure has a hint.
    pub fn open(root: &Path) -> Outcome<Self> {
        Self::open_with(root, None)
    }

    /// Like [`open`](Self::open), with another file instead of `split.yaml`, relative to `.nv-meta`.
    pub fn open_with(root: &Path, split_config: Option<&str>) -> Outcome<Self> {
        let own = RunFolder::for_webdataset(root);
        let fetched = Arc::new(fetch_small_files(root));
        let pending = publish::pending(&own)?;
        let Some(info) = Info::read(root)? else {
            return Err(not_prepared(root, pending.is_some()));
        };
        let splits = match split_config {
            Some(name) => SplitFile::read_file(&layout::in_nv_meta(root, name)),
            None => SplitFile::read(root),
        };
        let (splits, splits_failure) = match splits {
            Ok(splits) => (splits, None),
            Err(failure) => (None, Some(failure)),
        };
        let recorded = Recorded::read(&own)?;
        let stamps = recorded.map(|r| r.inputs.into_iter().map(|i| (i.name, i.stamp)).collect()).unwrap_or_default();
        let database = layout::in_nv_meta(root, layout::INDEX_SQLITE);
        let has_tables = files::exists(&database) && !has_only_media(&database);
        Ok(Self {
            root: root.to_owned(),
            info,
            splits,
            splits_failure,
            has_tables,
            stamps,
            pending,
            local_database: OnceLock::new(),
            expanded_excludes: OnceLock::new(),
            _fetched: fetched,
        })
    }

    /// Whether the splits exclude a shard, or the sample of it with this key.
    pub(super) fn excludes(&self, shard: &str, key: Option<&str>) -> bool {
        let expanded = || self.splits.iter().flat_map(|file| file.expanded_excludes().0).collect();
        let items = self.expanded_excludes.get_or_init(expanded);
        items.contains(shard) || key.is_some_and(|key| items.contains(&format!("{shard}/{key}")))
    }

    /// Returns the number of shards in the index.
    pub fn shard_count(&self) -> u32 {
        u32::try_from(self.info.shard_counts.len()).unwrap_or(u32::MAX)
    }

    /// Returns name and sample count of a shard in the index.
    pub fn entry(&self, id: ShardId) -> Option<(&str, u64)> {
        self.info.shard_counts.get(id.0 as usize).map(|(name, count)| (name.as_str(), *count))
    }

    /// Returns a shard of the index in its current state on disk. Fails if it is missing.
    pub fn shard(&self, id: ShardId) -> Outcome<Shard> {
        let shard = self.shard_named(self.entry(id).map_or("", |(name, _)| name))?;
        Ok(Shard { stamp: stamp_at(&shard.path)?, ..shard })
    }

    /// Returns a shard without reading its state.
    fn shard_named(&self, name: &str) -> Outcome<Shard> {
        let hint = "correct .nv-meta/.info.json, or prepare the data set again";
        shard_named(&self.root, name).map_err(|failure| failure.with_hint(hint))
    }

    /// Returns all shards of the index, each in its current state or with the failure to read it.
    pub fn shards(&self) -> Vec<(&str, Outcome<Shard>)> {
        let names = self.info.shard_counts.iter().map(|(name, _)| name.as_str());
        let named: Vec<(&str, Outcome<Shard>)> = names.map(|name| (name, self.shard_named(name))).collect();
        let paths: Vec<PathBuf> = named.iter().flat_map(|(_, shard)| shard).map(|shard| shard.path.clone()).collect();
        let mut stamps = stamps_below(&self.root, &paths).into_iter();
        let mut with_stamp = |shard: Shard| match stamps.next() {
            Some(stamp) => Ok(Shard { stamp: stamp?, ..shard }),
            None => Ok(shard),
        };
        named.into_iter().map(|(name, shard)| (name, shard.and_then(&mut with_stamp))).collect()
    }

    /// Opens the sample tables; `None` when the data set has none.
    pub fn tables(&self) -> Outcome<Option<Tables>> {
        if !self.has_tables {
            return Ok(None);
        }
        let database = self.database();
        if self.local_database.get().is_none() {
            let _ = self.local_database.set(local_database(&database)?.into_owned());
        }
        let local = self.local_database.get().map_or(&*database, PathBuf::as_path);
        Tables::open_local(&database, local).map(Some)
    }

    /// Returns the path of the sample tables.
    pub fn database(&self) -> PathBuf {
        layout::in_nv_meta(&self.root, layout::INDEX_SQLITE)
    }

    /// Returns the bytes of all existing shards.
    pub fn bytes(&self) -> u64 {
        self.shards().into_iter().filter_map(|(_, shard)| shard.ok()).map(|shard| shard.stamp.bytes).sum()
    }
}

/// Whether a folder directly contains a JSONL file, compressed or not.
fn has_jsonl(root: &Path) -> bool {
    let is_jsonl = |name: &str| name.ends_with(".jsonl") || name.contains(".jsonl.") && !name.ends_with(".idx");
    let mut entries = files::read_dir(root).into_iter().flatten().flatten().take(10_000);
    entries.any(|entry| entry.file_name().to_str().is_some_and(is_jsonl))
}

fn not_prepared(root: &Path, interrupted: bool) -> Failure {
    let subject = Subject::path(root);
    if interrupted {
        return Failure::data("looking at the data set", "a preparation was interrupted while it was being published")
            .on(subject)
            .with_hint("run gristmill prepare on it again: that finishes it");
    }
    if !files::exists(root) {
        return Failure::environment("looking at the data set", "no such file or folder").on(subject);
    }
    if let Some(kind) = kind_of(root).ok().filter(|kind| kind.has_loose_files()) {
        let (what, hint) = match has_jsonl(root) {
            true => (
                "folder of text files",
                "info, lint and verify take one of its .jsonl files; pack and dedup take the folder",
            ),
            false => (kind.title(), "no tar shard is in it; gristmill prepare-media PATH describes loose media"),
        };
        let why = format!("it is a {what}, not a data set");
        return Failure::usage("looking at the data set", why).on(subject).with_hint(hint_for(root, hint));
    }
    let hint = match has_only_splits(root) {
        true => UPDATE_HINT,
        false => "gristmill prepare PATH prepares it, and shows with --dry-run what it would write; gristmill facts reads its shards",
    };
    let hint = hint_for(root, hint);
    Failure::data("looking at the data set", "it is not prepared: .nv-meta/.info.json is missing")
        .on(subject)
        .with_hint(hint)
}
