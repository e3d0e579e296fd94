//! Facts about a data set that are known so far. Prompts and `validate` use them.

use super::apple_double::AppleDouble;
use super::problem::{Problem, ProblemKind};
use super::sample::SampleSketch;
use super::shard::FileStamp;
use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The kind of data set at a path. See docs/formats/energon.md §1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatasetKind {
    /// A folder with `.nv-meta/.info.json` (or `.info.yaml`): prepared.
    PreparedWebDataset,
    /// A folder with tar shards that is not prepared.
    RawWebDataset,
    /// A folder with only `.nv-meta/index.sqlite`: media metadata, or the rest of a failed run of another program.
    Filesystem,
    /// A `.jsonl` file.
    Jsonl,
    /// A metadataset `.yaml` file.
    Metadataset,
    /// Files of token ids, written by `pack` or by a framework's own tool.
    Tokens(&'static TokenKind),
    /// A folder with tokens in several formats, one subfolder for each format.
    PackedFormats,
    /// A folder with the two index files of a mixture of token folders.
    MixtureIndex,
    /// A file whose documents are rows of a table.
    Table(&'static TableKind),
    /// A folder with such files, but without shards and media.
    TableFolder(&'static TableKind),
    /// A folder of pictures, sounds or videos without media metadata.
    LooseMedia,
    /// A folder with an index of duplicates, one subfolder for each shard of the index.
    DedupIndex,
    /// Any other folder.
    PlainFolder,
    /// One tar shard.
    SingleShard,
    /// A compressed JSONL file.
    PackedJsonl,
    /// A raw index of Modalities.
    RawIndex,
    /// Any other file.
    OtherFile,
}

/// A kind of table files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableKind {
    /// Name of the kind in results.
    pub id: &'static str,
    /// Name of the kind in results, for a folder of such files.
    pub folder_id: &'static str,
    /// The user-facing name.
    pub title: &'static str,
}

/// A layout of token files, with the facts that are known without reading any.
#[derive(Clone, Copy, Debug)]
pub struct TokenKind {
    /// Name of the layout in results, such as `token-folder`.
    pub id: &'static str,
    /// The user-facing name of the framework.
    pub title: &'static str,
    /// The value of `--format`, which is also the name of the subfolder in an output with several formats.
    pub format: &'static str,
    /// The noun, in the singular, for an item of the files.
    pub item: &'static str,
    /// Whether the layout is a single file.
    pub is_file: bool,
    /// Whether `mix index` supports the layout.
    pub is_mixable: bool,
    /// Returns the number of tokens of a training window with this sequence length, and the distance between the starts of windows.
    pub window: fn(u64) -> (u64, u64),
    /// Whether an existing path has this layout. The path must be a file or a folder according to `is_file`. Opens at most one file.
    pub detect: fn(&Path) -> bool,
    /// Whether a folder of no other kind has files with the names of this layout and a missing or damaged index or table.
    pub detect_damaged: fn(&Path) -> bool,
    /// Returns the token files of a folder, without indexes and metadata.
    pub files: fn(&Path) -> Vec<PathBuf>,
    /// Returns the reason why a path with a name of this layout is unusable.
    pub defect: fn(&Path) -> Option<&'static str>,
}

impl PartialEq for TokenKind {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for TokenKind {}

impl Serialize for DatasetKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}

impl DatasetKind {
    /// Returns the name of the kind in results.
    pub fn id(self) -> &'static str {
        match self {
            Self::Tokens(kind) => kind.id,
            Self::Table(kind) => kind.id,
            Self::TableFolder(kind) => kind.folder_id,
            kind => kind.info().id,
        }
    }

    /// Returns the user-facing name, for lists and titles.
    pub fn title(self) -> &'static str {
        match self {
            Self::Tokens(kind) => kind.title,
            Self::Table(kind) | Self::TableFolder(kind) => kind.title,
            kind => kind.info().title,
        }
    }

    /// Whether the data set is a folder of tar shards.
    pub fn is_web_dataset(self) -> bool {
        matches!(self, Self::PreparedWebDataset | Self::RawWebDataset)
    }

    /// Whether the data set is a folder of tar shards that is not prepared.
    pub fn is_raw_web_dataset(self) -> bool {
        self.is_web_dataset() && !self.has_splits()
    }

    /// Whether the data set has splits and excludes.
    pub fn has_splits(self) -> bool {
        self.info().why_no_splits.is_none()
    }

    /// Whether the data set is a folder whose files are browsed individually.
    pub fn has_loose_files(self) -> bool {
        matches!(self, Self::PlainFolder | Self::LooseMedia | Self::Filesystem)
    }

    /// Whether the data set is a single file that is prepared without prompts.
    pub fn is_prepared_without_questions(self) -> bool {
        matches!(self, Self::Jsonl | Self::Metadataset)
    }

    /// Whether the data set is a single file of documents.
    pub fn is_document_file(self) -> bool {
        matches!(self, Self::Jsonl | Self::Table(_) | Self::PackedJsonl)
    }

    /// Returns the kind of its table files; `None` if it has none.
    pub fn table(self) -> Option<&'static TableKind> {
        match self {
            Self::Table(kind) | Self::TableFolder(kind) => Some(kind),
            _ => None,
        }
    }

    /// Whether the data set consists of token ids.
    pub fn is_tokens(self) -> bool {
        self.tokens().is_some()
    }

    /// Returns the layout of its token files; `None` if it has none.
    pub fn tokens(self) -> Option<&'static TokenKind> {
        match self {
            Self::Tokens(kind) => Some(kind),
            _ => None,
        }
    }
}

/// Progress of the scan of one shard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShardState {
    /// Not started.
    #[default]
    Waiting,
    /// Being read.
    Scanning,
    /// Read to its end.
    Scanned,
    /// Could not be read; the reason is one of the findings.
    Failed,
}

/// Facts about one shard, for display.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ShardFacts {
    /// Name relative to the root of the data set.
    pub name: String,
    /// Size, modification time and inode.
    pub stamp: FileStamp,
    /// Whether the shard is a `.tgz` file, which is never in a split.
    pub is_tgz: bool,
    /// Whether the shard is omitted from the splits for another reason: its name cannot be written in a form that the loader finds.
    pub unusable: bool,
    /// Progress of the scan of the shard.
    pub state: ShardState,
    /// Samples counted so far; final once `state` is `Scanned`.
    pub samples: u64,
    /// AppleDouble entries among its samples; `None` before the shard has been read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub apple_double: Option<AppleDouble>,
}

/// Number and size of the parts with one name, in the scanned samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartFacts {
    /// Number of samples with this part.
    pub samples: u64,
    /// Total size of the contents, in bytes.
    pub bytes: u64,
}

/// Adds the facts of parts of a shard to those of other shards.
pub fn add_parts(into: &mut BTreeMap<String, PartFacts>, from: &BTreeMap<String, PartFacts>) {
    for (name, part) in from {
        if into.len() >= MAX_PART_NAMES && !into.contains_key(name) {
            continue;
        }
        let sum = into.entry(name.clone()).or_default();
        sum.samples += part.samples;
        sum.bytes += part.bytes;
    }
}

/// Maximum number of distinct sets of part names that are counted, for a shard and for a whole data set.
const MAX_PART_SETS: usize = 16;
/// Maximum number of names in a counted set.
const SET_NAMES: usize = 32;

/// Counts which parts occur together: distinct sets of part names, and the number of samples with exactly these parts.
///
/// Data sets have few such sets. Only the first `MAX_PART_SETS` are counted, so shares refer to the samples counted here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartSets(Vec<(Vec<String>, u64)>);

impl PartSets {
    /// Counts samples that have exactly these parts, in any order.
    pub fn add(&mut self, names: &[&str], samples: u64) {
        if samples == 0 || names.len() > SET_NAMES {
            return;
        }
        let mut names = names.to_vec();
        names.sort_unstable();
        if let Some((_, number)) = self.0.iter_mut().find(|(known, _)| *known == names) {
            *number += samples;
        } else if self.0.len() < MAX_PART_SETS {
            self.0.push((names.into_iter().map(str::to_owned).collect(), samples));
        }
    }

    /// Adds the sets of another shard.
    pub fn merge(&mut self, other: &Self) {
        for (names, samples) in &other.0 {
            self.add(&names.iter().map(String::as_str).collect::<Vec<_>>(), *samples);
        }
    }

    /// Returns the mean of `worth` over the counted samples, where `worth` is called with the part names of a sample; `None` if no samples
    /// are counted.
    pub fn mean(&self, worth: impl Fn(&[String]) -> f64) -> Option<f64> {
        let samples: u64 = self.0.iter().map(|(_, number)| number).sum();
        let sum: f64 = self.0.iter().map(|(names, number)| worth(names) * *number as f64).sum();
        (samples > 0).then(|| sum / samples as f64)
    }
}

/// Maximum number of part names with facts, per shard and for a whole data set. Ordinary data sets have a handful, malicious ones millions.
/// Names beyond the limit are missing from statistics, but never from the rows of the index.
pub const MAX_PART_NAMES: usize = 256;

/// Results of an earlier preparation.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PreparedFacts {
    /// `energon_version` of `.info.json`.
    pub version: Option<String>,
    /// Shard name and sample count, in index order.
    pub shard_counts: Vec<(String, u64)>,
    /// Whether the folder has a plan of Gristmill (`.nv-meta/gristmill/plan.yaml`).
    pub by_gristmill: bool,
    /// This plan; `None` if it cannot be read.
    pub plan: Option<Box<super::plan::PreparePlan>>,
    /// Splits and their shards, brace-expanded, as in `split.yaml`. Empty if the file cannot be read.
    pub splits: Vec<(String, Vec<String>)>,
    /// Excluded items, exactly as written in `split.yaml`.
    pub excludes: Vec<String>,
    /// Items excluded by the user that the last run would also have excluded.
    #[serde(skip)]
    pub user_excludes: Vec<String>,
    /// Stamp of the `split.yaml` that was read.
    #[serde(skip)]
    pub split_version: Option<FileStamp>,
    /// Shards on disk that are not in the index.
    pub new_shards: Vec<String>,
    /// Shards whose size or modification time differs from the last run. Known only if Gristmill made that run.
    pub changed_shards: Vec<String>,
    /// Changed shards whose size equals the recorded size, so that possibly only the time differs. Empty after their headers have been
    /// compared.
    pub retimed_shards: Vec<String>,
    /// Shards in the index that no longer exist on disk.
    pub missing_shards: Vec<String>,
}

/// Keys that several samples share, all of them in the same shards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DuplicateKeys {
    /// Ascending indexes in [`DatasetFacts::shards`], one for each sample of a key; a shard may occur more than once.
    pub shards: Vec<u32>,
    /// An example of these keys.
    pub key: String,
    /// Number of keys.
    pub keys: u64,
}

/// All facts about a data set that are known so far. They grow during the scan.
#[derive(Clone, Debug, Serialize)]
pub struct DatasetFacts {
    /// The folder or file that was opened.
    pub root: PathBuf,
    /// Kind of the data set.
    pub kind: DatasetKind,
    /// Whether the folder has been listed, so that `shards` and `prepared` are complete.
    pub opened: bool,
    /// Shards in index order (`--exclude` not yet applied).
    pub shards: Vec<ShardFacts>,
    /// Part names with their facts, for the samples scanned so far.
    pub parts: BTreeMap<String, PartFacts>,
    /// Which parts occur together in the samples scanned so far.
    #[serde(skip)]
    pub part_sets: PartSets,
    /// Number of samples scanned so far whose parts are known.
    pub samples_seen: u64,
    /// Whether every shard has been read to its end (or failed).
    pub scan_complete: bool,
    /// The first few samples of the data set, for questions and field maps.
    pub sketches: Vec<SampleSketch>,
    /// Keys that several samples share. Set when every shard has been read, and only if the scan searched for them.
    pub same_keys: Vec<DuplicateKeys>,
    /// Entries of `same_keys` whose samples are pieces of one sample, because they have no part in common. Set at the same time.
    pub scattered: Vec<DuplicateKeys>,
    /// Problems found so far.
    pub findings: Vec<Problem>,
    /// An earlier preparation, if any.
    pub prepared: Option<PreparedFacts>,
}

impl DatasetFacts {
    /// Creates the facts of a path when only its kind is known.
    pub fn new(root: PathBuf, kind: DatasetKind) -> Self {
        Self {
            root,
            kind,
            opened: false,
            shards: Vec::new(),
            parts: BTreeMap::new(),
            part_sets: PartSets::default(),
            samples_seen: 0,
            scan_complete: false,
            sketches: Vec::new(),
            same_keys: Vec::new(),
            scattered: Vec::new(),
            findings: Vec::new(),
            prepared: None,
        }
    }
    /// Whether a header of a shard was found to be damaged.
    pub fn is_damaged(&self, shard: &ShardFacts) -> bool {
        let is_of_it = |found: &Problem| found.subject.shard.as_deref() == Some(&shard.name);
        self.findings.iter().any(|found| found.kind == ProblemKind::DamagedHeader && is_of_it(found))
    }
    /// Returns the total size of all shards, in bytes.
    pub fn total_bytes(&self) -> u64 {
        self.shards.iter().map(|s| s.stamp.bytes).sum()
    }
    /// Whether `parts` has every part name of the samples scanned so far.
    pub fn lists_all_parts(&self) -> bool {
        self.parts.len() < MAX_PART_NAMES
    }
    /// Returns the share of the samples scanned so far that have `part`, from 0 to 1.
    pub fn part_share(&self, part: &str) -> f64 {
        let with = self.parts.get(part).map_or(0, |p| p.samples);
        if self.samples_seen == 0 {
            0.0
        } else {
            with as f64 / self.samples_seen as f64
        }
    }
}
