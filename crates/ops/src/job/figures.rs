//! The figures of a data set: how its samples, parts, media and texts are spread. What the facts view draws, as numbers.

use super::scan::LiveScan;
use crate::engine::browse;
use crate::engine::jsonl::{self, JsonlFacts};
use crate::engine::media::{self, MediaSpread};
use crate::engine::spread::{spread_of, DatasetSpread};
use crate::engine::texts::{text_lengths, TextLengths};
use crate::source::kind::kind_of;
use gristmill_core::{Cancel, DatasetKind, Failure, Outcome, RunOptions, Subject};
use serde::Serialize;
use std::path::Path;
use std::time::Duration;

/// Records of a JSONL file that are read, at most.
pub const MAX_JSONL_RECORDS: u64 = 100_000;
/// How often a scan is asked whether it has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Part of the shards that are not prepared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PartFigures {
    /// Its name. Raw.
    pub name: String,
    /// Samples that have it.
    pub samples: u64,
    /// Bytes of all of them.
    pub bytes: u64,
}

/// What a scan of shards counts that are not prepared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ScanFigures {
    /// Shards.
    pub shards: u64,
    /// Samples in all of them.
    pub samples: u64,
    /// Parts, those of the most samples first.
    pub parts: Vec<PartFigures>,
}

/// The figures of a data set; of each kind those that it has.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// What the path is.
    pub kind: DatasetKind,
    /// Of a JSONL file: its lines, keys and texts. The records themselves are left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jsonl: Option<JsonlFacts>,
    /// Of a prepared WebDataset: its samples and parts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<DatasetSpread>,
    /// Of shards that are not prepared: their samples and parts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scan: Option<ScanFigures>,
    /// Of a data set with media metadata: pictures, sound and video.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media: Option<MediaSpread>,
    /// Of a WebDataset: the lengths of its texts, of samples that are evenly spread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub texts: Option<TextLengths>,
}

/// Gathers the figures of what is at a path. Reads indexes, and some texts; of shards that are not prepared all headers.
///
/// # Errors
/// A path of another kind; a data set that cannot be read; when it is cancelled.
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
        DatasetKind::Filesystem => figures.media = media::facts_until(path, cancel)?,
        DatasetKind::PlainFolder => {
            return Err(Failure::usage("gathering figures", "nothing is recorded of these files yet")
                .on(Subject::path(path))
                .with_hint("`gristmill prepare-media PATH` describes them"));
        }
        _ => {
            return Err(Failure::usage("gathering figures", "there are none of this kind of data")
                .on(Subject::path(path))
                .with_hint("`gristmill info PATH` says what it is"));
        }
    }
    Ok(figures)
}

fn texts_of(path: &Path, cancel: &Cancel) -> Outcome<TextLengths> {
    let opening = browse::open(path, &browse::TokenView::default())?;
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
