//! Lists shards for the browser: a row is a sample.

use super::set::{self, ListedShard};
use super::shard::WORD;
use crate::engine::browse::tokens::{Listing, RowSpan, SpanTable, Table, TokenFile};
use crate::engine::browse::TokenBrowser;
use gristmill_core::{Failure, Outcome, Subject};
use gristmill_data::preview::tokens::TokenCode;
use gristmill_storage::read::{open_read, ReadFile};
use std::path::Path;
use std::sync::Arc;

const WHAT: &str = "looking at the tokens";

/// Lists the shards of a set.
pub(super) struct ShardsBrowser;

impl TokenBrowser for ShardsBrowser {
    fn files(&self, listing: &mut Listing<'_>) -> Outcome<Vec<TokenFile>> {
        let shards = set::read(listing.path)?;
        if let Some(shard) = shards.iter().find(|shard| !shard.config.is_tokens()) {
            let columns: Vec<&str> = shard.config.columns.iter().map(|column| column.encoding.as_str()).collect();
            let why = format!("its samples are not tokens; the encodings of their columns are {}", columns.join(", "));
            return Err(Failure::usage(WHAT, why).on(Subject::path(listing.path)));
        }
        Ok(shards.iter().map(|shard| file(listing.path, shard)).collect())
    }
}

fn file(folder: &Path, listed: &ListedShard) -> TokenFile {
    let path = folder.join(&listed.file().basename);
    let bytes = std::fs::metadata(&path).map_or(0, |facts| facts.len());
    let samples = match listed.zip {
        Some(_) => Err("it is compressed; only shards without compression are shown".to_owned()),
        None => Samples::open(&path, listed),
    };
    let (table, trouble) = match samples {
        Ok(samples) => (Table::Spans(Arc::new(samples)), None),
        Err(why) => (Table::Whole, Some(Arc::from(why))),
    };
    TokenFile {
        name: Arc::from(listed.file().basename.as_str()),
        path,
        bytes,
        data_from: 0,
        data_bytes: if trouble.is_some() { 0 } else { bytes },
        code: TokenCode::little(4),
        table,
        loss: None,
        holds_text: false,
        trouble,
    }
}

/// The samples of an open shard.
struct Samples {
    file: ReadFile,
    samples: u64,
    /// Bytes that precede the tokens of a sample.
    head_bytes: u64,
    /// Size of the first sample in bytes.
    sample_bytes: u64,
}

impl Samples {
    fn open(path: &Path, listed: &ListedShard) -> Result<Self, String> {
        let file = open_read(path).map_err(|failure| failure.why)?;
        if file.len() != listed.raw.bytes {
            return Err(format!("it has {} bytes, and index.json has {}", file.len(), listed.raw.bytes));
        }
        let mut samples = Self { file, samples: listed.samples, head_bytes: 0, sample_bytes: 0 };
        if samples.word(0).map_err(|failure| failure.why)? != samples.samples {
            return Err("it has another number of samples than index.json".to_owned());
        }
        if samples.samples > 0 {
            let (start, end) = (samples.word(WORD), samples.word(2 * WORD));
            let (start, end) = (start.map_err(|failure| failure.why)?, end.map_err(|failure| failure.why)?);
            let mut code = [0];
            samples.file.read_exact_at(&mut code, start.saturating_add(WORD)).map_err(|error| error.to_string())?;
            samples.head_bytes = WORD + 1 + (1 << (code[0] & 3));
            samples.sample_bytes = end.saturating_sub(start);
        }
        Ok(samples)
    }

    fn word(&self, at: u64) -> Outcome<u64> {
        let mut bytes = [0; WORD as usize];
        self.file.read_exact_at(&mut bytes, at).map_err(|error| Failure::io(WHAT, self.file.path(), &error))?;
        Ok(u64::from(u32::from_le_bytes(bytes)))
    }
}

impl SpanTable for Samples {
    fn rows(&self) -> u64 {
        self.samples
    }

    fn spans(&self, first: u64, count: usize) -> Outcome<Vec<RowSpan>> {
        let count = (count as u64).min(self.samples.saturating_sub(first));
        if count == 0 {
            return Ok(Vec::new());
        }
        let mut bytes = vec![0; usize::try_from((count + 1) * WORD).unwrap_or_default()];
        let at = (first + 1) * WORD;
        self.file.read_exact_at(&mut bytes, at).map_err(|error| Failure::io(WHAT, self.file.path(), &error))?;
        let offsets: Vec<u64> = bytes.as_chunks().0.iter().map(|word| u64::from(u32::from_le_bytes(*word))).collect();
        let span = |pair: &[u64]| {
            let [start, end] = pair else { return RowSpan::default() };
            let is_other = end.checked_sub(*start) != Some(self.sample_bytes);
            let defect = is_other.then(|| Arc::from("it does not have the size of the first sample"));
            RowSpan { from: start.saturating_add(self.head_bytes), to: *end, defect }
        };
        Ok(offsets.windows(2).map(span).collect())
    }
}

#[cfg(test)]
#[path = "browser_tests.rs"]
mod tests;
