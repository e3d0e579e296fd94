//! Counts shards and other files below a folder within a budget of names, levels and time, and reads the first sample of a shard.

use gristmill_core::{
    Cancel, Failure, FileStamp, Handles, HiddenSample, Outcome, PartRow, ProblemLog, Progress, SampleRow, Shard,
};
use gristmill_data::source::documents::FolderTables;
use gristmill_data::source::tar::{scan_shard, ScanSink};
use gristmill_media::kind::type_by_extension;
use gristmill_storage::files::{self, FolderEntry};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Maximum number of names examined below one folder.
const MAX_NAMES: usize = 20_000;
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

    /// Walks a folder that is `depth` levels below the first.
    pub(super) fn folder(&mut self, dir: &Path, depth: usize) {
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
            if is_shard_name(path) {
                if let Ok(facts) = files::metadata(path) {
                    if facts.is_file() {
                        self.shards += 1;
                        self.bytes += facts.len();
                        let is_plain = path.extension().is_some_and(|e| e == "tar");
                        if is_plain && self.first.as_ref().is_none_or(|first| path < first) {
                            self.first = Some(path.to_owned());
                        }
                        continue;
                    }
                }
            }
            self.count_file(&entry);
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

    /// Counts a file that is not a shard.
    fn count_file(&mut self, entry: &FolderEntry) {
        let Some(name) = entry.file_name().to_str() else { return };
        self.members += u64::from(name.ends_with(".jsonl.idx"));
        if self.tables.add(name) || name.ends_with(".jsonl") || name.contains(".jsonl.") && !name.ends_with(".idx") {
            self.texts += 1;
            self.text_bytes += files::metadata(entry.path()).map_or(0, |facts| facts.len());
        }
        // Media files next to shards are not counted.
        if self.shards == 0 && type_by_extension(name).is_some() {
            if let Ok(facts) = entry.metadata() {
                self.media += u64::from(facts.is_file());
                self.media_bytes += facts.len();
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

/// Whether a `.nv-meta` folder belongs to a prepared data set.
pub(super) fn is_prepared(meta: &Path) -> bool {
    [".info.json", ".info.yaml"].iter().any(|name| files::is_file(meta.join(name)))
}
