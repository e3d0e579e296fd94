//! Samples of the inputs, before a byte of a part is copied: what sources list, and what everything after them works on.
//!
//! A source reads names, sizes and manifests only. Where the bytes of a part are is its [`Origin`].

use super::keeper::ReadKeeper;
use gristmill_core::{FileStamp, Handles, Outcome, RunOptions, ShardPlan};
use gristmill_media::kind::type_by_extension;
use gristmill_storage::fs::Fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::Arc;

/// Number of a file that many parts are in; see [`SampleSink::add_file`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceFile(pub u32);

/// Where the bytes of a part are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A whole file.
    File {
        /// Its path.
        path: PathBuf,
        /// Its size, time and inode when it was listed: it must be the same when it is copied.
        stamp: FileStamp,
    },
    /// A byte range of a file that contains many parts, such as a shard.
    Range {
        /// The file.
        file: SourceFile,
        /// Offset of the first byte.
        offset: u64,
    },
    /// An entry of a tar that is stored with a map of its holes.
    Sparse {
        /// The tar.
        file: SourceFile,
        /// Offset of its first header.
        offset: u64,
    },
    /// Bytes that the source made, such as the text of a row.
    Bytes(Vec<u8>),
}

impl Origin {
    /// Returns the file that many parts are in.
    pub fn file(&self) -> Option<SourceFile> {
        match self {
            Self::Range { file, .. } | Self::Sparse { file, .. } => Some(*file),
            Self::File { .. } | Self::Bytes(_) => None,
        }
    }

    /// Sets the file that many parts are in, where there is one.
    pub fn set_file(&mut self, number: SourceFile) {
        if let Self::Range { file, .. } | Self::Sparse { file, .. } = self {
            *file = number;
        }
    }
}

/// A part of a sample to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Everything after the dot that ends the key; may be empty, and need not be UTF-8.
    pub name: Vec<u8>,
    /// Length in bytes.
    pub bytes: u64,
    /// Where its bytes are.
    pub origin: Origin,
}

impl Part {
    /// Whether it is media by its last extension.
    pub fn is_media(&self) -> bool {
        std::str::from_utf8(&self.name).is_ok_and(is_media)
    }
}

/// Whether parts of this name are media by its last extension.
pub fn is_media(name: &str) -> bool {
    type_by_extension(&format!("x.{name}")).is_some()
}

/// A sample to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Its key; need not be UTF-8 if it comes from a shard.
    pub key: Vec<u8>,
    /// The split it belongs to, where the input decides that.
    pub split: Option<String>,
    /// Name of the shard it comes from, below the input; empty for files and rows.
    pub shard: String,
    /// Its parts, in the order of the input. Of each name there is one.
    pub parts: Vec<Part>,
    /// Whether `split.yaml` of the input excludes it. Used for counting only.
    pub is_excluded: bool,
}

/// Where the row of a sample is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceRow {
    /// The file.
    pub file: Arc<str>,
    /// What a row is called there, such as `line`.
    pub item: &'static str,
    /// Number of the row in the file, as messages have it.
    pub number: u64,
}

/// Receives what a source lists, in its order.
pub trait SampleSink {
    /// Registers a file that parts are in. Its number is valid for this sink.
    fn add_file(&mut self, path: &Path, stamp: FileStamp) -> Outcome<SourceFile>;
    /// Registers a copy that was unpacked of a file; the run depends on that file.
    fn add_unpacked(&mut self, path: &Path, stamp: FileStamp, _original: (&Path, FileStamp)) -> Outcome<SourceFile> {
        self.add_file(path, stamp)
    }
    /// Names the row that the next sample is from.
    fn set_row(&mut self, _row: SourceRow) {}
    /// Adds a sample.
    fn add_sample(&mut self, sample: Sample) -> Outcome<()>;
    /// Counts samples that the input excludes.
    fn count_excluded(&mut self, samples: u64);
}

/// What a source needs besides the plan.
pub struct SourceContext<'a> {
    /// The plan.
    pub plan: &'a ShardPlan,
    /// Progress, cancellation and problems.
    pub handles: Handles<'a>,
    /// Writes files in `scratch`.
    pub fs: &'a dyn Fs,
    /// Folder for sorting.
    pub scratch: &'a Path,
    /// Memory that a source may use, in bytes.
    pub memory: usize,
    /// Threads that a source may use, and what it does about damage.
    pub options: &'a RunOptions,
    /// Keeps what is read of files in stores; `None` if nothing is read again.
    pub keeper: Option<&'a ReadKeeper>,
    /// Number of the next row: it goes on from one input to the next, so that rows without a key differ.
    pub next_row: &'a AtomicU64,
}
