//! Samples of the inputs before their bytes are copied: the output of sources, and the input of all later steps.
//!
//! Sources read only names, sizes and manifests. The location of a part's bytes is its [`Origin`].

use super::keeper::ReadKeeper;
use gristmill_core::{FileStamp, Handles, Outcome, RunOptions, ShardPlan};
use gristmill_media::kind::type_by_extension;
use gristmill_storage::fs::Fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::Arc;

/// Number of a file that contains many parts; see [`SampleSink::add_file`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceFile(pub u32);

/// Location of the bytes of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A whole file.
    File {
        /// Path of the file.
        path: PathBuf,
        /// Size, modification time and inode when the file was listed. They must be the same when it is copied.
        stamp: FileStamp,
    },
    /// A byte range of a file that contains many parts, such as a shard.
    Range {
        /// The file.
        file: SourceFile,
        /// Offset of the first byte.
        offset: u64,
    },
    /// An entry of a tar archive that is stored as a sparse file.
    Sparse {
        /// The archive.
        file: SourceFile,
        /// Offset of the first header of the entry.
        offset: u64,
    },
    /// Bytes produced by the source, such as the text of a row.
    Bytes(Vec<u8>),
}

impl Origin {
    /// Returns the file that contains this and other parts; `None` if the part has a file of its own or is in memory.
    pub fn file(&self) -> Option<SourceFile> {
        match self {
            Self::Range { file, .. } | Self::Sparse { file, .. } => Some(*file),
            Self::File { .. } | Self::Bytes(_) => None,
        }
    }

    /// Sets the file that contains this and other parts. Does nothing for other origins.
    pub fn set_file(&mut self, number: SourceFile) {
        if let Self::Range { file, .. } | Self::Sparse { file, .. } = self {
            *file = number;
        }
    }
}

/// A part of a sample that will be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The text after the dot that ends the key; may be empty, and may not be valid UTF-8.
    pub name: Vec<u8>,
    /// Length in bytes.
    pub bytes: u64,
    /// Location of the bytes.
    pub origin: Origin,
}

impl Part {
    /// Whether the last extension of the name is a media type.
    pub fn is_media(&self) -> bool {
        std::str::from_utf8(&self.name).is_ok_and(is_media)
    }
}

/// Whether the last extension of a part name is a media type.
pub fn is_media(name: &str) -> bool {
    type_by_extension(&format!("x.{name}")).is_some()
}

/// A sample that will be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The key. Keys from shards may not be valid UTF-8.
    pub key: Vec<u8>,
    /// The split of the sample, if the input defines splits.
    pub split: Option<String>,
    /// Name of the source shard, relative to the input; empty for files and rows.
    pub shard: String,
    /// The parts, in the order of the input. Part names are unique.
    pub parts: Vec<Part>,
    /// Whether `split.yaml` of the input excludes the sample. Used only for counting.
    pub is_excluded: bool,
}

/// Location of the row of a sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceRow {
    /// Path of the file.
    pub file: Arc<str>,
    /// The noun for a row of the file, such as `line`.
    pub item: &'static str,
    /// Number of the row in the file, as messages show it.
    pub number: u64,
}

/// Receives the samples of a source, in order.
pub trait SampleSink {
    /// Registers a file that contains parts. The returned number is valid only for this sink.
    fn add_file(&mut self, path: &Path, stamp: FileStamp) -> Outcome<SourceFile>;
    /// Registers a decompressed copy of `original`. Changes are detected in the original file.
    fn add_unpacked(&mut self, path: &Path, stamp: FileStamp, _original: (&Path, FileStamp)) -> Outcome<SourceFile> {
        self.add_file(path, stamp)
    }
    /// Sets the row of the next sample.
    fn set_row(&mut self, _row: SourceRow) {}
    /// Adds a sample.
    fn add_sample(&mut self, sample: Sample) -> Outcome<()>;
    /// Counts samples that the input excludes.
    fn count_excluded(&mut self, samples: u64);
}

/// The plan and resources for a source.
pub struct SourceContext<'a> {
    /// The plan.
    pub plan: &'a ShardPlan,
    /// Progress, cancellation and problems.
    pub handles: Handles<'a>,
    /// Writes files in `scratch`.
    pub fs: &'a dyn Fs,
    /// Folder for temporary files.
    pub scratch: &'a Path,
    /// Memory that a source may use, in bytes.
    pub memory: usize,
    /// Maximum number of threads, and how damage is handled.
    pub options: &'a RunOptions,
    /// Cache for data of files in stores; `None` if no data is read again.
    pub keeper: Option<&'a ReadKeeper>,
    /// Number of the next row, counted across inputs so that rows without a key get different keys.
    pub next_row: &'a AtomicU64,
}
