//! What is known of a data set so far: the input of every question and of `validate`.

use super::apple_double::AppleDouble;
use super::problem::Problem;
use super::sample::SampleSketch;
use super::shard::FileStamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What a path is. See docs/formats/energon.md §1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DatasetKind {
    /// A folder with `.nv-meta/.info.json` (or `.info.yaml`): prepared.
    PreparedWebDataset,
    /// A folder with tar shards that is not prepared.
    RawWebDataset,
    /// A folder with `.nv-meta/index.sqlite` only: media metadata, or a failed run of another program.
    Filesystem,
    /// A `.jsonl` file.
    Jsonl,
    /// A metadataset `.yaml` file.
    Metadataset,
    /// A `.pbin` file: tokens packed for Modalities.
    PackedTokens,
    /// A folder of nothing but `.pbin` files: tokens packed for Modalities, one file for each input.
    PackedFolder,
    /// A folder with `.ds` files directly in it: tokens for Nanosets.
    TokenFolder,
    /// A folder with `index/sample_locations.bin`: samples, tokens or lines, indexed for Forager.
    ForagerSamples,
    /// A folder with a folder for each of several formats: tokens packed in several formats.
    PackedFormats,
    /// A folder with the two files of a mixture of token folders.
    MixtureIndex,
    /// A folder without shards.
    PlainFolder,
    /// Any other file.
    OtherFile,
}

impl DatasetKind {
    /// In a user's words, for lists and titles.
    pub fn title(self) -> &'static str {
        match self {
            Self::PreparedWebDataset | Self::RawWebDataset => "WebDataset",
            Self::Filesystem => "media folder",
            Self::Jsonl => "JSONL",
            Self::Metadataset => "metadataset",
            Self::PackedTokens | Self::PackedFolder => "Modalities",
            Self::TokenFolder => "Nanosets",
            Self::ForagerSamples => "Forager",
            Self::PackedFormats => "packed formats",
            Self::MixtureIndex => "mixture index",
            Self::PlainFolder => "folder",
            Self::OtherFile => "file",
        }
    }

    /// Why it has no splits and excludes; `None` where it has.
    pub fn why_no_splits(self) -> Option<&'static str> {
        Some(match self {
            Self::PreparedWebDataset => return None,
            Self::RawWebDataset => "it is not prepared, so it has no splits yet",
            Self::Jsonl => "a JSONL file has no splits",
            Self::Metadataset => "a metadataset names its splits itself",
            Self::Filesystem | Self::PlainFolder => "a folder without tar shards has no splits",
            Self::PackedTokens
            | Self::PackedFolder
            | Self::TokenFolder
            | Self::PackedFormats
            | Self::MixtureIndex
            | Self::ForagerSamples => "packed tokens have no splits",
            Self::OtherFile => "it is not a prepared data set",
        })
    }

    /// Whether it holds token ids, made by `pack` or by a framework's own tool.
    pub fn is_tokens(self) -> bool {
        matches!(self, Self::PackedTokens | Self::PackedFolder | Self::TokenFolder | Self::ForagerSamples)
    }
}

/// How far the scan of one shard is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShardState {
    /// Not begun.
    #[default]
    Waiting,
    /// Being read now.
    Scanning,
    /// Read to its end.
    Scanned,
    /// Could not be read; the reason is among the findings.
    Failed,
}

/// One shard as the screens see it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ShardFacts {
    /// Relative name.
    pub name: String,
    /// Size, time, inode.
    pub stamp: FileStamp,
    /// A `.tgz`: never in a split.
    pub is_tgz: bool,
    /// Left out of the splits for another reason (its name cannot be written so that the loader finds it).
    pub unusable: bool,
    /// How far its scan is.
    pub state: ShardState,
    /// Samples counted; final once `state` is `Scanned`.
    pub samples: u64,
    /// AppleDouble entries among its samples, once it was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub apple_double: Option<AppleDouble>,
}

/// How many of the scanned samples have a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartFacts {
    /// Samples with this part.
    pub samples: u64,
    /// Content bytes in all.
    pub bytes: u64,
}

/// Sets of part names that are kept with their numbers of samples, per shard.
const SETS_KEPT: usize = 16;
/// Sets with more names than this are not kept.
const SET_NAMES: usize = 32;

/// Which parts samples have together: distinct sets of part names, each with the number of samples that have exactly these.
///
/// Data sets have a few; of more only the first ones are kept, so that all shares are those of the samples that are counted here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartSets(Vec<(Vec<String>, u64)>);

impl PartSets {
    /// Counts samples that have exactly these parts; their order does not matter.
    pub fn add(&mut self, names: &[&str], samples: u64) {
        if samples == 0 || names.len() > SET_NAMES {
            return;
        }
        let mut names = names.to_vec();
        names.sort_unstable();
        if let Some((_, number)) = self.0.iter_mut().find(|(known, _)| *known == names) {
            *number += samples;
        } else if self.0.len() < SETS_KEPT {
            self.0.push((names.into_iter().map(str::to_owned).collect(), samples));
        }
    }

    /// Adds the sets of another shard.
    pub fn merge(&mut self, other: &Self) {
        for (names, samples) in &other.0 {
            self.add(&names.iter().map(String::as_str).collect::<Vec<_>>(), *samples);
        }
    }

    /// Mean of `worth` over the samples, each judged by the names of its parts; `None` where no sample is counted.
    pub fn mean(&self, worth: impl Fn(&[String]) -> f64) -> Option<f64> {
        let samples: u64 = self.0.iter().map(|(_, number)| number).sum();
        let sum: f64 = self.0.iter().map(|(names, number)| worth(names) * *number as f64).sum();
        (samples > 0).then(|| sum / samples as f64)
    }
}

/// Part names kept with their figures, per shard and for a whole data set; a data set has a handful, a hostile one millions.
/// More are dropped from the statistics, never from the rows.
pub const PART_NAMES_KEPT: usize = 256;

/// What an earlier preparation left behind.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PreparedFacts {
    /// `energon_version` of `.info.json`.
    pub version: Option<String>,
    /// Shard name → sample count, in index order.
    pub shard_counts: Vec<(String, u64)>,
    /// Our own plan is there (`.nv-meta/gristmill/plan.yaml`).
    pub by_gristmill: bool,
    /// That plan, when it can be read.
    pub plan: Option<Box<super::plan::PreparePlan>>,
    /// Splits and their shards, brace-expanded, as `split.yaml` has them. Empty when it cannot be read.
    pub splits: Vec<(String, Vec<String>)>,
    /// Exclude items as they stand in `split.yaml`.
    pub excludes: Vec<String>,
    /// Shards found on disk that the index does not have.
    pub new_shards: Vec<String>,
    /// Shards whose size or time differ from the last run (only known when it was ours).
    pub changed_shards: Vec<String>,
    /// Those of them that have the recorded size: the time alone may differ. Empty once their headers were compared.
    pub retimed_shards: Vec<String>,
    /// Shards in the index that are gone from the disk.
    pub missing_shards: Vec<String>,
}

/// Keys that name several samples, all in the same shards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DuplicateKeys {
    /// Positions in [`DatasetFacts::shards`], ascending, one for each sample of a key: a shard may be there more than once.
    pub shards: Vec<u32>,
    /// One of the keys.
    pub key: String,
    /// How many keys.
    pub keys: u64,
}

/// Everything known of a data set right now; grows while the scan runs.
#[derive(Clone, Debug, Serialize)]
pub struct DatasetFacts {
    /// The folder or file that was opened.
    pub root: PathBuf,
    /// What it is.
    pub kind: DatasetKind,
    /// The folder was walked: `shards` and `prepared` are complete.
    pub opened: bool,
    /// Shards in index order (`--exclude` not yet applied).
    pub shards: Vec<ShardFacts>,
    /// Part name → share of the samples seen so far.
    pub parts: BTreeMap<String, PartFacts>,
    /// Which parts the samples seen so far have together.
    #[serde(skip)]
    pub part_sets: PartSets,
    /// Samples seen so far.
    pub samples_seen: u64,
    /// Every shard was read to its end (or failed).
    pub scan_complete: bool,
    /// The first few samples of the data set, for questions and field maps.
    pub sketches: Vec<SampleSketch>,
    /// Keys that name several samples; known once every shard was read, and only where a scan looked for them.
    pub same_keys: Vec<DuplicateKeys>,
    /// Those of them whose samples are pieces of one: no part in common. Known as `same_keys` is.
    pub scattered: Vec<DuplicateKeys>,
    /// Odd things found so far.
    pub findings: Vec<Problem>,
    /// An earlier preparation, if there is one.
    pub prepared: Option<PreparedFacts>,
}

impl DatasetFacts {
    /// Facts of a path of which only the kind is known.
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
    /// Total size of all shards, in bytes.
    pub fn total_bytes(&self) -> u64 {
        self.shards.iter().map(|s| s.stamp.bytes).sum()
    }
    /// Whether `parts` has every part of the samples seen so far.
    pub fn lists_all_parts(&self) -> bool {
        self.parts.len() < PART_NAMES_KEPT
    }
    /// Share of the samples seen so far that have `part`, from 0 to 1.
    pub fn part_share(&self, part: &str) -> f64 {
        let with = self.parts.get(part).map_or(0, |p| p.samples);
        if self.samples_seen == 0 {
            0.0
        } else {
            with as f64 / self.samples_seen as f64
        }
    }
}
