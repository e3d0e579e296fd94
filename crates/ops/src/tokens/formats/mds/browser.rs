//! Lists shards for the browser: a row is a sample. Compressed shards are decompressed when their rows are read.

use super::compression::Compression;
use super::set::{self, ListedShard};
use super::shard::WORD_BYTES;
use super::unpacked_shards::UnpackedShards;
use crate::engine::browse::tokens::{Listing, RowSpan, SpanTable, Table, TokenFile};
use crate::engine::browse::TokenBrowser;
use gristmill_core::{Failure, Outcome, Subject};
use gristmill_data::preview::tokens::TokenCode;
use gristmill_storage::files;
use gristmill_storage::read::{open_read, ReadFile};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const ACTIVITY: &str = "looking at the tokens";

/// Lists the shards of a set.
pub(super) struct ShardsBrowser;

impl TokenBrowser for ShardsBrowser {
    fn files(&self, listing: &mut Listing<'_>) -> Outcome<Vec<TokenFile>> {
        let shards = set::read(listing.path)?;
        if let Some(shard) = shards.iter().find(|shard| !shard.config.is_tokens()) {
            let columns: Vec<&str> = shard.config.columns.iter().map(|column| column.encoding.as_str()).collect();
            let why = format!("its samples are not tokens; the encodings of their columns are {}", columns.join(", "));
            return Err(Failure::usage(ACTIVITY, why).on(Subject::path(listing.path)));
        }
        let unpacked = Arc::new(UnpackedShards::new(listing.stop.clone()));
        Ok(shards.iter().map(|shard| file(listing.path, shard, &unpacked)).collect())
    }
}

fn file(folder: &Path, listed: &ListedShard, unpacked: &Arc<UnpackedShards>) -> TokenFile {
    let path = folder.join(&listed.file().basename);
    let bytes = files::metadata(&path).map_or(0, |facts| facts.len());
    let (table, trouble) = match Samples::new(&path, listed, unpacked) {
        Ok(samples) => (Table::Spans(Arc::new(samples)), None),
        Err(why) => (Table::Whole, Some(Arc::from(why))),
    };
    TokenFile {
        name: Arc::from(listed.file().basename.as_str()),
        path,
        bytes,
        data_from: 0,
        data_bytes: if trouble.is_some() { 0 } else { listed.raw.bytes },
        code: TokenCode::little(4),
        table,
        loss: None,
        has_text: false,
        defect: trouble,
    }
}

/// The samples of a shard.
struct Samples {
    path: PathBuf,
    listed: ListedShard,
    source: ShardSource,
}

/// The file of a shard, plain or compressed.
enum ShardSource {
    Plain(Arc<ReadFile>),
    Compressed(Compression, Arc<UnpackedShards>),
}

/// The layout of the samples of a shard.
#[derive(Default)]
struct SampleLayout {
    /// Number of bytes before the tokens of a sample.
    head_bytes: u64,
    /// Size of the first sample in bytes.
    sample_bytes: u64,
}

impl Samples {
    /// Opens a shard. A compressed shard is decompressed when its samples are read.
    fn new(path: &Path, listed: &ListedShard, unpacked: &Arc<UnpackedShards>) -> Result<Self, String> {
        let source = match listed.compression()? {
            Some(compression) if files::is_file(path) => ShardSource::Compressed(compression, Arc::clone(unpacked)),
            _ => {
                let file = open_read(path).map_err(|failure| failure.why)?;
                layout(&file, listed).map_err(|failure| failure.why)?;
                ShardSource::Plain(Arc::new(file))
            }
        };
        Ok(Self { path: path.to_owned(), listed: listed.clone(), source })
    }

    /// Returns the decompressed file of the shard.
    fn file(&self) -> Outcome<Arc<ReadFile>> {
        match &self.source {
            ShardSource::Plain(file) => Ok(Arc::clone(file)),
            ShardSource::Compressed(compression, unpacked) => unpacked.open(&self.path, &self.listed, *compression),
        }
    }
}

/// Compares a shard with the index, and reads the layout of its samples.
fn layout(file: &ReadFile, listed: &ListedShard) -> Outcome<SampleLayout> {
    let differs = |why: String| Err(Failure::data(ACTIVITY, why).on(Subject::path(file.path())));
    if file.len() != listed.raw.bytes {
        return differs(format!("it has {} bytes, and index.json has {}", file.len(), listed.raw.bytes));
    }
    if read_u32s(file, 0, 1)? != [listed.samples] {
        return differs("it has another number of samples than index.json".to_owned());
    }
    if listed.samples == 0 {
        return Ok(SampleLayout::default());
    }
    let [start, end] = read_u32s(file, WORD_BYTES, 2)?[..] else { return Ok(SampleLayout::default()) };
    let mut code = [0];
    file.read_exact_at(&mut code, start.saturating_add(WORD_BYTES))
        .map_err(|error| Failure::io(ACTIVITY, file.path(), &error))?;
    Ok(SampleLayout { head_bytes: WORD_BYTES + 1 + (1 << (code[0] & 3)), sample_bytes: end.saturating_sub(start) })
}

/// Reads `count` four-byte numbers of a file.
fn read_u32s(file: &ReadFile, at: u64, count: u64) -> Outcome<Vec<u64>> {
    let mut bytes = vec![0; usize::try_from(count * WORD_BYTES).unwrap_or_default()];
    file.read_exact_at(&mut bytes, at).map_err(|error| Failure::io(ACTIVITY, file.path(), &error))?;
    Ok(bytes.as_chunks().0.iter().map(|word| u64::from(u32::from_le_bytes(*word))).collect())
}

impl SpanTable for Samples {
    fn rows(&self) -> u64 {
        self.listed.samples
    }

    fn spans(&self, first: u64, count: usize) -> Outcome<Vec<RowSpan>> {
        let count = (count as u64).min(self.rows().saturating_sub(first));
        if count == 0 {
            return Ok(Vec::new());
        }
        let file = self.file()?;
        let layout = layout(&file, &self.listed)?;
        let offsets = read_u32s(&file, (first + 1) * WORD_BYTES, count + 1)?;
        let span = |pair: &[u64]| {
            let [start, end] = pair else { return RowSpan::default() };
            let is_other = end.checked_sub(*start) != Some(layout.sample_bytes);
            let defect = is_other.then(|| Arc::from("it does not have the size of the first sample"));
            RowSpan { from: start.saturating_add(layout.head_bytes), to: *end, defect }
        };
        Ok(offsets.windows(2).map(span).collect())
    }

    fn is_packed(&self) -> bool {
        matches!(self.source, ShardSource::Compressed(..))
    }

    fn unpacked(&self) -> Outcome<Option<Arc<ReadFile>>> {
        match self.source {
            ShardSource::Plain(_) => Ok(None),
            ShardSource::Compressed(..) => self.file().map(Some),
        }
    }
}

#[cfg(test)]
#[path = "browser_tests.rs"]
mod tests;
