//! Statistics of a data set: the distribution of its samples, parts, media and texts. The same values as in the facts view, as numbers.

use super::Dataset;
use crate::engine::browse::TokenView;
use crate::engine::jsonl::JsonlFacts;
use crate::engine::media::MediaSpread;
use crate::engine::spread::DatasetSpread;
use crate::engine::texts::{text_lengths, TextLengths};
use crate::job::scan::LiveScan;
use gristmill_core::{Cancel, DatasetKind, Outcome, Problem, RunOptions, Severity};
use gristmill_data::source::discover::discover;
use gristmill_storage::kept::ReadCache;
use gristmill_storage::location::is_remote;
use gristmill_storage::scratch::Scratch;
use gristmill_storage::space::free_bytes;
use serde::Serialize;
use std::path::Path;
use std::time::Duration;

/// Maximum number of records that are read from a JSONL file.
pub(super) const MAX_JSONL_RECORDS: u64 = 100_000;
/// Share of the free space of the scratch folder in which bytes of shards are kept.
const SPACE_SHARE: u64 = 2;
/// Interval at which a scan is checked for its end.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Counts of a part in shards that are not prepared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PartFigures {
    /// Name of the part, not escaped for display.
    pub name: String,
    /// Number of samples that have the part.
    pub samples: u64,
    /// Total size of the part in all samples, in bytes.
    pub bytes: u64,
}

/// Counts from scanning shards that are not prepared.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ScanFigures {
    /// Number of shards.
    pub shards: u64,
    /// Number of samples in all shards.
    pub samples: u64,
    /// Parts, ordered by descending number of samples.
    pub parts: Vec<PartFigures>,
    /// Problems of shards that could not be read, or not completely, so that counts are missing.
    #[serde(skip)]
    pub losses: Vec<Problem>,
}

/// Statistics of a data set. Statistics that do not apply to its kind are `None`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// Kind of the data set.
    pub kind: DatasetKind,
    /// Lines, keys and texts of a JSONL file, without the records themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jsonl: Option<JsonlFacts>,
    /// Samples and parts of a prepared WebDataset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<DatasetSpread>,
    /// Samples and parts of shards that are not prepared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scan: Option<ScanFigures>,
    /// Images, audio and video of a data set with media metadata.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media: Option<MediaSpread>,
    /// Lengths of the texts of a WebDataset or of rows, from evenly spread samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub texts: Option<TextLengths>,
}

/// A group of statistics that is computed separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FigureGroup {
    /// Counts of samples, records and parts.
    Samples,
    /// Statistics of pictures, sounds and videos.
    Media,
    /// Lengths of texts, for which content must be read.
    Texts,
}

impl FigureGroup {
    /// All groups, the fastest first.
    pub const ALL: [Self; 3] = [Self::Samples, Self::Media, Self::Texts];
}

impl Figures {
    /// Returns empty statistics for a kind.
    pub(super) fn new(kind: DatasetKind) -> Self {
        Self { kind, jsonl: None, samples: None, scan: None, media: None, texts: None }
    }
}

/// Caches the bytes of unprepared shards in a store, because each group of statistics reads them.
pub(super) fn keep_shards(dataset: &Dataset, options: &RunOptions) -> Outcome<Option<(ReadCache, Scratch)>> {
    let kind = dataset.kind();
    if !kind.is_web_dataset() || kind.has_splits() || !is_remote(dataset.path()) {
        return Ok(None);
    }
    let scratch = Scratch::create(options.scratch.as_deref())?;
    let shards = discover(dataset.path())?.shards;
    let limit = free_bytes(scratch.path())? / SPACE_SHARE;
    let shards = shards.iter().map(|shard| (shard.path.as_path(), shard.stamp.bytes));
    Ok(Some((ReadCache::begin(scratch.path(), limit, shards)?, scratch)))
}

/// Returns the lengths of the texts of evenly spread samples.
pub(super) fn texts_of(dataset: &Dataset, cancel: &Cancel) -> Outcome<TextLengths> {
    let opening = dataset.catalog(&TokenView::default())?;
    opening.background.into_iter().for_each(|work| work(cancel));
    text_lengths(opening.catalog.as_ref(), cancel)
}

/// Counts the parts of shards that are not prepared.
pub(super) fn scan(path: &Path, options: &RunOptions, cancel: &Cancel) -> Outcome<ScanFigures> {
    let scan = LiveScan::start(path, options)?;
    while !scan.is_finished() {
        if let Err(failure) = cancel.check() {
            scan.cancel();
            return Err(failure);
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    let facts = scan.wait()?;
    let part = |(name, part): (&String, &gristmill_core::PartFacts)| PartFigures {
        name: name.clone(),
        samples: part.samples,
        bytes: part.bytes,
    };
    let mut parts: Vec<PartFigures> = facts.parts.iter().map(part).collect();
    parts.sort_by(|a, b| b.samples.cmp(&a.samples).then_with(|| a.name.cmp(&b.name)));
    let is_loss = |problem: &&Problem| problem.severity >= Severity::Problem;
    let losses = facts.findings.iter().filter(is_loss).cloned().collect();
    Ok(ScanFigures { shards: facts.shards.len() as u64, samples: facts.samples_seen, parts, losses })
}
