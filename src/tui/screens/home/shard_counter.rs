//! Counts shards and other files below a folder within a budget of names, levels and time, and reads the first sample of a shard.

use gristmill_core::{
    Cancel, Failure, FileStamp, Handles, HiddenSample, Outcome, PartRow, ProblemLog, Progress, SampleRow, Shard,
};
use gristmill_data::source::documents::FolderTables;
use gristmill_data::source::tar::{scan_shard, ScanSink};
use gristmill_media::kind::type_by_extension;
use gristmill_storage::files::{self, FileInfo};
use gristmill_storage::location::is_remote;
use gristmill_storage::walk::{Walk, WalkEntry};
use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Maximum number of names examined below one folder.
const MAX_NAMES: usize = 20_000;
/// Maximum number of objects examined below a prefix of a store, two pages of a listing.
const MAX_OBJECTS: usize = 2000;
/// Maximum number of folder levels below the first.
const MAX_DEPTH: usize = 2;
/// Time limit for one folder.
const MAX_TIME: Duration = Duration::from_millis(700);

/// Counts shards below a folder until the budget is used up.
pub(super) struct ShardCounter {
    names: usize,
    until: Instant,
    pub(super) shards: u64,
    pub(super) bytes: u64,
    pub(super) media: u64,
    pub(super) media_bytes: u64,
    /// Number of prepared data sets and indexed JSONL files found.
    pub(super) members: u64,
    pub(super) texts: u64,
    /// The kinds of tables found.
    pub(super) tables: FolderTables,
    pub(super) text_bytes: u64,
    pub(super) is_limited: bool,
    /// The first uncompressed shard by name.
    pub(super) first: Option<PathBuf>,
}

impl ShardCounter {
    pub(super) fn new() -> Self {
        Self {
            names: 0,
            until: Instant::now() + MAX_TIME,
            shards: 0,
            bytes: 0,
            media: 0,
            media_bytes: 0,
            members: 0,
            texts: 0,
            tables: FolderTables::default(),
            text_bytes: 0,
            is_limited: false,
            first: None,
        }
    }

    /// Counts what is in a folder and below it.
    pub(super) fn count(&mut self, dir: &Path) {
        match is_remote(dir) {
            true => self.prefix(dir),
            false => self.folder(dir, 0),
        }
    }

    /// Counts what is below a prefix of a store: one listing of all levels needs fewer requests than one per folder.
    fn prefix(&mut self, dir: &Path) {
        let is_hidden = |entry: &WalkEntry| {
            entry.depth() > 0
                && entry.file_name().as_encoded_bytes().starts_with(b".")
                && entry.file_name() != ".nv-meta"
                && !is_info(entry.path())
        };
        // The files of a set are one level deeper than its shards.
        let walk = Walk::new(dir).max_depth(MAX_DEPTH + 2).most_objects(MAX_OBJECTS);
        let (mut sets, mut objects) = (HashSet::new(), 0);
        for entry in walk.filter_entry(|entry| !is_hidden(entry)).filter_map(Result::ok) {
            objects += usize::from(entry.kind().is_file());
            let meta = entry.path().ancestors().take(entry.depth()).find(|folder| folder.ends_with(".nv-meta"));
            match (meta, entry.depth()) {
                (Some(meta), 3..) if is_info(entry.path()) => _ = sets.insert(meta.to_owned()),
                (Some(_), _) => {}
                (None, depth) if depth > MAX_DEPTH + 1 => self.is_limited = true,
                (None, _) if entry.kind().is_file() => {
                    let info = || entry.metadata().ok();
                    self.count_file(entry.path(), info, info);
                }
                (None, _) => {}
            }
        }
        self.members += sets.len() as u64;
        self.is_limited |= objects >= MAX_OBJECTS;
    }

    /// Walks a folder that is `depth` levels below the first.
    fn folder(&mut self, dir: &Path, depth: usize) {
        if self.names > MAX_NAMES || Instant::now() > self.until {
            self.is_limited = true;
            return;
        }
        let Ok(entries) = files::read_dir(dir) else { return };
        let mut folders = Vec::new();
        for entry in entries.filter_map(Result::ok) {
            self.names += 1;
            if self.names > MAX_NAMES || (self.names.is_multiple_of(64) && Instant::now() > self.until) {
                self.is_limited = true;
                return;
            }
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                self.members += u64::from(depth > 0 && entry.file_name() == ".nv-meta" && is_prepared(entry.path()));
                continue;
            }
            let path = entry.path();
            self.count_file(path, || files::metadata(path).ok(), || entry.metadata().ok());
            // Links to folders are not followed: they may lead anywhere, also in circles.
            if entry.kind().is_dir() {
                folders.push(entry.into_path());
            }
        }
        if depth >= MAX_DEPTH {
            self.is_limited |= !folders.is_empty();
            return;
        }
        for folder in folders {
            self.folder(&folder, depth + 1);
        }
    }

    /// Counts a file. `info` is that of its target if it is a link, `own_info` that of the link.
    fn count_file(
        &mut self,
        path: &Path,
        info: impl Fn() -> Option<FileInfo>,
        own_info: impl Fn() -> Option<FileInfo>,
    ) {
        if let Some(info) = is_shard_name(path).then(&info).flatten().filter(FileInfo::is_file) {
            self.shards += 1;
            self.bytes += info.len();
            let is_plain = path.extension().is_some_and(|e| e == "tar");
            if is_plain && self.first.as_ref().is_none_or(|first| path < first) {
                self.first = Some(path.to_owned());
            }
            return;
        }
        let Some(name) = path.file_name().and_then(OsStr::to_str) else { return };
        self.members += u64::from(name.ends_with(".jsonl.idx"));
        let lower = name.to_ascii_lowercase();
        if self.tables.add(name) || lower.ends_with(".jsonl") || lower.contains(".jsonl.") && !lower.ends_with(".idx") {
            self.texts += 1;
            self.text_bytes += info().map_or(0, |info| info.len());
        }
        // Media files next to shards are not counted.
        if self.shards == 0 && type_by_extension(name).is_some() {
            if let Some(info) = own_info() {
                self.media += u64::from(info.is_file());
                self.media_bytes += info.len();
            }
        }
    }
}

/// Returns the part names of a shard's first sample; empty if the shard has no sample.
pub(super) fn first_parts(path: &Path) -> Vec<String> {
    let shard =
        Shard { name: String::new(), path: path.to_owned(), stamp: FileStamp::default(), mode: 0, is_tgz: false };
    let mut sink = FirstSample::default();
    let (progress, cancel, problems) = (Progress::default(), Cancel::default(), ProblemLog::default());
    let handles = Handles { progress: &progress, cancel: &cancel, problems: &problems };
    // Ends at the end of the shard, or with an error by which the sink stops the scan after the first sample.
    let _ = scan_shard(&shard, &mut sink, &handles);
    sink.parts
}

/// Maximum number of part names.
const MAX_PARTS: usize = 64;

#[derive(Default)]
struct FirstSample {
    parts: Vec<String>,
}

impl ScanSink for FirstSample {
    fn part(&mut self, row: PartRow<'_>) -> Outcome<()> {
        if self.parts.len() < MAX_PARTS {
            self.parts.push(row.part_name.to_owned());
        }
        Ok(())
    }
    fn sample(&mut self, _: SampleRow<'_>) -> Outcome<()> {
        Err(Failure::cancelled())
    }
    fn hidden_sample(&mut self, _: HiddenSample) -> Outcome<()> {
        Err(Failure::cancelled())
    }
}

/// Whether the file name is that of a shard.
pub(super) fn is_shard_name(path: &Path) -> bool {
    matches!(path.extension().and_then(OsStr::to_str), Some("tar" | "tgz"))
}

/// Names of the files in `.nv-meta` that only prepared data sets have.
const INFO_NAMES: [&str; 2] = [".info.json", ".info.yaml"];

/// Whether a `.nv-meta` folder belongs to a prepared data set.
pub(super) fn is_prepared(meta: &Path) -> bool {
    INFO_NAMES.iter().any(|name| files::is_file(meta.join(name)))
}

fn is_info(path: &Path) -> bool {
    INFO_NAMES.iter().any(|name| path.ends_with(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_storage::memory_store::put;

    fn figures(counter: &ShardCounter, root: &Path) -> (Vec<u64>, bool, Option<PathBuf>) {
        let ShardCounter { shards, bytes, media, media_bytes, members, texts, text_bytes, .. } = *counter;
        let first = counter.first.as_ref().map(|first| first.strip_prefix(root).unwrap().to_owned());
        (vec![shards, bytes, media, media_bytes, members, texts, text_bytes], counter.is_limited, first)
    }

    #[test]
    fn prefixes_of_a_store_are_counted_like_folders() {
        let dir = tempfile::tempdir().unwrap();
        let store = Path::new("mem://shard-counter/root");
        let count = |root: &Path| {
            let mut counter = ShardCounter::new();
            counter.count(root);
            figures(&counter, root)
        };
        for name in [
            "pictures/a.jpg",
            "text/a.jsonl",
            "text/a.jsonl.idx",
            "b.tar",
            "a.tgz",
            ".hidden/c.tar",
            ".nv-meta/.info.json",
            "set/.nv-meta/.info.json",
            "set/.nv-meta/.info.yaml",
            "set/.nv-meta/c.tar",
            "set/.nv-meta/gristmill/d.tar",
            "other/.nv-meta/split.yaml",
            "set/deep/c.tar",
        ] {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, name).unwrap();
            put(&store.join(name), name.as_bytes());
            assert_eq!(count(store), count(dir.path()), "{name}");
        }
        let (numbers, is_limited, first) = count(store);
        assert_eq!((numbers[0], numbers[4], is_limited), (3, 2, false));
        assert_eq!(first.as_deref(), Some(Path::new("b.tar")));
        put(&store.join("1/2/3/a.tar"), b"too deep");
        assert!(count(store).1);
    }

    #[test]
    fn no_folder_is_listed_after_the_time_limit() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a.tar"), b"x").unwrap();
        let mut counter = ShardCounter { until: Instant::now(), ..ShardCounter::new() };
        counter.count(dir.path());
        assert_eq!((counter.shards, counter.is_limited), (0, true));
    }
}
