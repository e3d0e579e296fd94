//! What an entry of a folder is, found out from names and the first sample's headers, within a budget: a folder walker must
//! never wait for a walk through a whole file system.

use crate::model::text::{bytes, count};
use crate::model::{
    Cancel, DatasetKind, Failure, FileStamp, Handles, HiddenSample, Outcome, PartRow, ProblemLog, Progress, SampleRow,
    Shard,
};
use crate::source::kind::kind_of;
use crate::source::tar::{scan_shard, ScanSink};
use crate::storage::lock::DatasetLock;
use crate::storage::own::OwnFolder;
use std::ffi::OsStr;
use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Names looked at below one folder, at most.
const MAX_NAMES: usize = 20_000;
/// Levels of folders below the one that is looked at.
const MAX_DEPTH: usize = 2;
/// Time for one folder.
const MAX_TIME: Duration = Duration::from_millis(700);

/// One entry of a folder, as the folder itself tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Where it is.
    pub path: PathBuf,
    /// Its name, made valid UTF-8; still to be made safe.
    pub name: String,
    /// A folder, or a link to one.
    pub is_folder: bool,
    /// Size of a file in bytes.
    pub bytes: u64,
}

/// What an entry is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// Its kind.
    pub kind: DatasetKind,
    /// A shard of a data set: one tar file.
    pub is_shard: bool,
    /// How far its preparation is.
    pub state: State,
    /// Shards seen.
    pub shards: u64,
    /// Bytes of the shards seen, or of the file.
    pub bytes: u64,
    /// There may be more than was looked at.
    pub more: bool,
    /// Part names of the first sample, in archive order.
    pub parts: Vec<String>,
}

/// How far the preparation of a data set is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// It is not something that is prepared.
    #[default]
    None,
    /// Not prepared.
    Raw,
    /// Prepared.
    Prepared,
    /// A preparation was begun and not finished, and nobody works on it.
    Interrupted,
    /// Somebody works on it; who.
    Locked(String),
}

impl State {
    /// One word for the list.
    pub fn word(&self) -> &'static str {
        match self {
            Self::None => "",
            Self::Raw => "not prepared",
            Self::Prepared => "prepared",
            Self::Interrupted => "interrupted",
            Self::Locked(_) => "in use",
        }
    }
}

impl Look {
    fn of(kind: DatasetKind) -> Self {
        Self { kind, is_shard: false, state: State::None, shards: 0, bytes: 0, more: false, parts: Vec::new() }
    }

    /// Whether the guided prepare can be opened on it.
    pub fn can_prepare(&self) -> bool {
        self.shards > 0 || self.kind == DatasetKind::PreparedWebDataset
    }

    /// Kind in a person's words.
    pub fn title(&self) -> &'static str {
        if self.is_shard {
            "shard"
        } else {
            self.kind.title()
        }
    }

    /// Shards and size in a person's words: `20 shards · 4.3 GiB`.
    pub fn amount(&self, dot: &str) -> String {
        let plus = if self.more { "+" } else { "" };
        match (self.shards, self.bytes) {
            (0, 0) => String::new(),
            (0, size) => bytes(size),
            (shards, size) => format!("{}{plus} {dot} {}{plus}", count(shards, "shard"), bytes(size)),
        }
    }
}

/// The entries of a folder, in a person's order. Unreadable entries are listed too.
pub fn read_folder(dir: &Path) -> std::io::Result<Vec<Entry>> {
    let mut entries: Vec<Entry> = fs::read_dir(dir)?.filter_map(Result::ok).map(|e| entry_of(&e)).collect();
    entries.sort_by_cached_key(|e| (e.name.to_lowercase(), e.name.clone()));
    Ok(entries)
}

fn entry_of(entry: &DirEntry) -> Entry {
    // Links are followed: a link to a folder of shards is walked into like a folder.
    let facts = fs::metadata(entry.path()).ok();
    Entry {
        path: entry.path(),
        name: name_of(&entry.file_name()),
        is_folder: facts.as_ref().is_some_and(fs::Metadata::is_dir),
        bytes: facts.filter(fs::Metadata::is_file).map_or(0, |f| f.len()),
    }
}

/// A name as text. Bytes that are not UTF-8 are written as `\xNN`.
pub fn name_of(name: &OsStr) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    match name.to_str() {
        Some(text) => text.to_owned(),
        None => crate::model::text::display_safe_bytes(name.as_bytes()),
    }
}

/// Finds out what an entry is. Of files it reads at most the first headers of one shard.
pub fn look(path: &Path) -> Look {
    match fs::metadata(path) {
        Ok(facts) if facts.is_dir() => look_at_folder(path),
        Ok(facts) => look_at_file(path, facts.len()),
        Err(_) => Look::of(DatasetKind::OtherFile),
    }
}

fn look_at_file(path: &Path, size: u64) -> Look {
    let kind = kind_of(path).unwrap_or(DatasetKind::OtherFile);
    Look { is_shard: is_shard_name(path), bytes: size, ..Look::of(kind) }
}

fn is_shard_name(path: &Path) -> bool {
    matches!(path.extension().and_then(OsStr::to_str), Some("tar" | "tgz"))
}

fn look_at_folder(path: &Path) -> Look {
    let mut walk = Walk::new();
    walk.folder(path, 0);
    let meta = path.join(".nv-meta");
    let prepared = [".info.json", ".info.yaml"].iter().any(|name| meta.join(name).is_file());
    let kind = if prepared {
        DatasetKind::PreparedWebDataset
    } else if walk.shards > 0 {
        DatasetKind::RawWebDataset
    } else if meta.join("index.sqlite").is_file() {
        DatasetKind::Filesystem
    } else {
        DatasetKind::PlainFolder
    };
    let state = if prepared || walk.shards > 0 { state_of(path, prepared) } else { State::None };
    let parts = walk.first.as_deref().map(first_parts).unwrap_or_default();
    let more = walk.more && walk.shards > 0;
    Look { kind, is_shard: false, state, shards: walk.shards, bytes: walk.bytes, more, parts }
}

fn state_of(path: &Path, prepared: bool) -> State {
    let own = OwnFolder::for_webdataset(path);
    if own.exists() {
        if let Ok(Some(holder)) = DatasetLock::holder(&own) {
            return State::Locked(format!("{} on {}", holder.process.pid, holder.process.host));
        }
        if own.journal().is_file() || own.renames().is_file() {
            return State::Interrupted;
        }
    }
    if prepared {
        State::Prepared
    } else {
        State::Raw
    }
}

/// Counts shards below a folder until the budget is used up.
struct Walk {
    names: usize,
    until: Instant,
    shards: u64,
    bytes: u64,
    more: bool,
    /// The first plain shard by name.
    first: Option<PathBuf>,
}

impl Walk {
    fn new() -> Self {
        Self { names: 0, until: Instant::now() + MAX_TIME, shards: 0, bytes: 0, more: false, first: None }
    }

    fn folder(&mut self, dir: &Path, depth: usize) {
        let Ok(entries) = fs::read_dir(dir) else { return };
        let mut folders = Vec::new();
        for entry in entries.filter_map(Result::ok) {
            self.names += 1;
            if self.names > MAX_NAMES || (self.names.is_multiple_of(64) && Instant::now() > self.until) {
                self.more = true;
                return;
            }
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let path = entry.path();
            let is_link = entry.file_type().is_ok_and(|t| t.is_symlink());
            if is_shard_name(&path) {
                if let Ok(facts) = fs::metadata(&path) {
                    if facts.is_file() {
                        self.shards += 1;
                        self.bytes += facts.len();
                        let is_plain = path.extension().is_some_and(|e| e == "tar");
                        if is_plain && self.first.as_ref().is_none_or(|first| path < *first) {
                            self.first = Some(path);
                        }
                        continue;
                    }
                }
            }
            // Links to folders may lead anywhere, in circles too: the walker does not follow them.
            if !is_link && entry.file_type().is_ok_and(|t| t.is_dir()) {
                folders.push(path);
            }
        }
        if depth >= MAX_DEPTH {
            self.more |= !folders.is_empty();
            return;
        }
        for folder in folders {
            self.folder(&folder, depth + 1);
        }
    }
}

/// The part names of a shard's first sample; empty when there is none.
fn first_parts(path: &Path) -> Vec<String> {
    let shard =
        Shard { name: String::new(), path: path.to_owned(), stamp: FileStamp::default(), mode: 0, is_tgz: false };
    let mut sink = FirstSample::default();
    let (progress, cancel, problems) = (Progress::default(), Cancel::default(), ProblemLog::default());
    let handles = Handles { progress: &progress, cancel: &cancel, problems: &problems };
    // It ends with the error that the sink stops it with, or with the shard.
    let _ = scan_shard(&shard, &mut sink, &handles);
    sink.parts
}

/// Names of parts that are kept.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::fs::RealFs;
    use crate::storage::publish::write_file;

    fn put(path: &Path, text: &[u8]) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        write_file(&RealFs, path, text, 0o644).unwrap();
    }

    #[test]
    fn a_folder_is_what_its_names_say() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        put(&root.join("raw/a.tar"), b"12345");
        put(&root.join("raw/train/b.tar"), b"12345");
        put(&root.join("done/a.tar"), b"1");
        put(&root.join("done/.nv-meta/.info.json"), b"{}");
        put(&root.join("media/.nv-meta/index.sqlite"), b"");
        put(&root.join("plain/readme.txt"), b"x");
        put(&root.join("text.jsonl"), b"{}");
        let raw = look(&root.join("raw"));
        assert_eq!((raw.kind, raw.shards, raw.bytes), (DatasetKind::RawWebDataset, 2, 10));
        assert_eq!(raw.state, State::Raw);
        assert!(raw.can_prepare());
        let done = look(&root.join("done"));
        assert_eq!((done.kind, done.state), (DatasetKind::PreparedWebDataset, State::Prepared));
        assert_eq!(look(&root.join("media")).kind, DatasetKind::Filesystem);
        let plain = look(&root.join("plain"));
        assert_eq!(plain.kind, DatasetKind::PlainFolder);
        assert!(!plain.can_prepare());
        assert_eq!(look(&root.join("text.jsonl")).kind, DatasetKind::Jsonl);
        assert!(look(&root.join("raw/a.tar")).is_shard);
        assert_eq!(look(&root.join("nothing")).kind, DatasetKind::OtherFile);
    }

    #[test]
    fn a_journal_without_a_holder_is_an_interrupted_preparation() {
        let dir = tempfile::tempdir().unwrap();
        put(&dir.path().join("a.tar"), b"1");
        put(&dir.path().join(".nv-meta/gristmill/journal"), b"");
        assert_eq!(look(dir.path()).state, State::Interrupted);
    }

    #[test]
    fn a_link_in_a_circle_ends() {
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(dir.path(), dir.path().join("loop")).unwrap();
        put(&dir.path().join("a.tar"), b"1");
        assert_eq!(look(dir.path()).shards, 1);
        assert_eq!(read_folder(dir.path()).unwrap().len(), 2);
    }

    #[test]
    fn names_are_in_a_persons_order() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["Beta", "alpha", "gamma"] {
            put(&dir.path().join(name), b"");
        }
        let names: Vec<String> = read_folder(dir.path()).unwrap().into_iter().map(|e| e.name).collect();
        assert_eq!(names, ["alpha", "Beta", "gamma"]);
    }
}
