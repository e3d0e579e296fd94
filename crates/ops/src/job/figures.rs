//! The figures of a data set: the distribution of its samples, parts, media and texts. The same values that the facts view draws, as
//! numbers.

use super::scan::LiveScan;
use crate::engine::browse;
use crate::engine::jsonl::{self, JsonlFacts};
use crate::engine::media::{self, MediaSpread};
use crate::engine::spread::{spread_of, DatasetSpread};
use crate::engine::texts::{text_lengths, TextLengths};
use gristmill_core::{Cancel, DatasetKind, Failure, Outcome, RunOptions, Subject};
use gristmill_data::source::kind::kind_of;
use serde::Serialize;
use std::path::Path;
use std::time::Duration;

/// Limit of records read from a JSONL file.
pub const MAX_JSONL_RECORDS: u64 = 100_000;
/// Interval at which a scan is checked for its end.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A part of shards that are not prepared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PartFigures {
    /// Name of the part, raw.
    pub name: String,
    /// Samples that have the part.
    pub samples: u64,
    /// Bytes of the part in all samples.
    pub bytes: u64,
}

/// Counts from a scan of shards that are not prepared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ScanFigures {
    /// Number of shards.
    pub shards: u64,
    /// Samples in all shards.
    pub samples: u64,
    /// Parts, ordered by descending number of samples.
    pub parts: Vec<PartFigures>,
}

/// The figures of a data set; a figure that its kind does not have is `None`.
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

/// Returns the figures of the data set at a path. Reads indexes and some texts, and all headers of shards that are not prepared.
///
/// # Errors
/// The path is of another kind, the data set cannot be read, or the job is cancelled.
pub fn figures_of(path: &Path, options: &RunOptions, cancel: &Cancel) -> Outcome<Figures> {
    let kind = kind_of(path)?;
    let mut figures = Figures { kind, jsonl: None, samples: None, scan: None, media: None, texts: None };
    match kind {
        DatasetKind::Jsonl => {
            let facts = jsonl::facts_of(path, MAX_JSONL_RECORDS)?;
            figures.jsonl = Some(JsonlFacts { records: Vec::new(), ..facts });
        }
        DatasetKind::PreparedWebDataset => {
            figures.samples = Some(spread_of(path, cancel)?);
            figures.media = media::facts_until(path, cancel)?;
            figures.texts = Some(texts_of(path, cancel)?);
        }
        DatasetKind::RawWebDataset => {
            figures.scan = Some(scan(path, options, cancel)?);
            figures.texts = Some(texts_of(path, cancel)?);
        }
        DatasetKind::Table(_) | DatasetKind::TableFolder(_) => figures.texts = Some(texts_of(path, cancel)?),
        DatasetKind::Filesystem => figures.media = media::facts_until(path, cancel)?,
        DatasetKind::PlainFolder => {
            return Err(Failure::usage("gathering figures", "nothing is recorded of these files yet")
                .on(Subject::path(path))
                .with_hint("`gristmill prepare-media PATH` describes them"));
        }
        _ => {
            return Err(Failure::usage("gathering figures", "this kind of data has no figures")
                .on(Subject::path(path))
                .with_hint("`gristmill info PATH` says what it is"));
        }
    }
    Ok(figures)
}

fn texts_of(path: &Path, cancel: &Cancel) -> Outcome<TextLengths> {
    let opening = browse::open_samples(path)?;
    opening.background.into_iter().for_each(|work| work(cancel));
    text_lengths(opening.catalog.as_ref(), cancel)
}

fn scan(path: &Path, options: &RunOptions, cancel: &Cancel) -> Outcome<ScanFigures> {
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
    Ok(ScanFigures { shards: facts.shards.len() as u64, samples: facts.samples_seen, parts })
}
