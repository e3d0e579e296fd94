//! Reads and validates `index.json` of a set with any columns (docs/formats/mds.md §4).

use super::compression::Compression;
use super::index::{FileInfo, INDEX};
use super::shard::{MAX_SHARD_BYTES, TOKENS_ENCODING, VERSION, WORD_BYTES};
use gristmill_core::{Failure, Outcome, Subject};
use gristmill_storage::read::read_whole;
use serde::Deserialize;
use std::path::Path;

/// Maximum size of an index, in bytes; enough for about 200,000 shards.
const MAX_INDEX_BYTES: u64 = 64 << 20;
/// Maximum size of a compressed shard, in bytes: a shard of 4 GiB in Snappy, which grows most when content is incompressible.
const MAX_COMPRESSED_BYTES: u64 = 5 << 30;
/// Maximum number of columns.
const MAX_COLUMNS: usize = 4096;
/// Maximum length of a file name, in bytes.
const MAX_NAME_BYTES: usize = 255;

/// One column of the samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) name: String,
    /// The encoding, such as `ndarray:int32`.
    pub(super) encoding: String,
    /// Bytes per value; `None` if sizes vary, in which case each sample contains the length.
    pub(super) size: Option<u32>,
}

/// The configuration of a shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ShardConfig {
    pub(super) columns: Vec<Column>,
    /// The compression as written in the index, such as `zstd:7`.
    pub(super) compression: Option<String>,
    pub(super) size_limit: Option<u64>,
}

impl ShardConfig {
    /// Parses the configuration in a shard. Ignores unknown keys.
    ///
    /// # Errors
    /// The text is not JSON, has another version or format, or its lists of columns do not match.
    pub(super) fn parse(json: &[u8]) -> Result<Self, String> {
        let fields: Fields = serde_json::from_slice(json).map_err(|error| error.to_string())?;
        fields.config()
    }

    /// Whether samples are tokens: one column of 32-bit numbers of variable length.
    pub(super) fn is_tokens(&self) -> bool {
        matches!(self.columns.as_slice(), [column] if column.encoding == TOKENS_ENCODING && column.size.is_none())
    }
}

/// The description of a shard in the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ListedShard {
    pub(super) config: ShardConfig,
    pub(super) samples: u64,
    /// The raw file. If the shard is compressed, this is the decompressed content, and the folder does not have the file.
    pub(super) raw: FileInfo,
    pub(super) zip: Option<FileInfo>,
}

impl ListedShard {
    /// Returns the file that is in the folder: the compressed one, if any.
    pub(super) fn file(&self) -> &FileInfo {
        self.zip.as_ref().unwrap_or(&self.raw)
    }

    /// Returns the compression of the file in the folder.
    ///
    /// # Errors
    /// The compression is unknown.
    pub(super) fn compression(&self) -> Result<Option<Compression>, String> {
        match (&self.zip, &self.config.compression) {
            (None, _) => Ok(None),
            (Some(_), Some(text)) => Compression::parse(text).map(Some),
            (Some(_), None) => Err("index.json names a compressed file and no compression".to_owned()),
        }
    }
}

/// Reads the index of a set.
///
/// # Errors
/// The index is missing, is damaged, has another version, or names files outside the folder.
pub(super) fn read(folder: &Path) -> Outcome<Vec<ListedShard>> {
    let path = folder.join(INDEX);
    let bytes = read_whole(&path, MAX_INDEX_BYTES)?;
    let bytes = bytes.ok_or_else(|| Failure::data("reading the index", "it is missing").on(Subject::path(&path)))?;
    parse(&bytes).map_err(|why| Failure::data("reading the index", why).on(Subject::path(path)))
}

/// Parses an `index.json`. Ignores unknown keys.
pub(super) fn parse(bytes: &[u8]) -> Result<Vec<ListedShard>, String> {
    #[derive(Deserialize)]
    struct Content {
        shards: Vec<Fields>,
        version: u64,
    }
    let content: Content = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    if content.version != VERSION {
        return Err(format!("its version is {}, and {VERSION} is read", content.version));
    }
    content.shards.into_iter().map(Fields::shard).collect()
}

/// The fields of a shard's configuration and of its description in the index.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Fields {
    column_encodings: Vec<String>,
    column_names: Vec<String>,
    column_sizes: Vec<Option<u32>>,
    compression: Option<String>,
    format: Option<String>,
    raw_data: Option<FileInfo>,
    samples: Option<u64>,
    size_limit: Option<u64>,
    version: Option<u64>,
    zip_data: Option<FileInfo>,
}

impl Fields {
    fn config(self) -> Result<ShardConfig, String> {
        if self.version != Some(VERSION) || self.format.as_deref() != Some("mds") {
            return Err(format!("a shard is not of the format mds, version {VERSION}"));
        }
        let columns = self.column_names.len();
        if !(1..=MAX_COLUMNS).contains(&columns)
            || columns != self.column_encodings.len()
            || columns != self.column_sizes.len()
        {
            let (encodings, sizes) = (self.column_encodings.len(), self.column_sizes.len());
            return Err(format!("a shard has {columns} names, {encodings} encodings and {sizes} sizes of columns"));
        }
        if self.column_sizes.contains(&Some(0)) {
            return Err("the size of a column is 0".to_owned());
        }
        let columns = self.column_names.into_iter().zip(self.column_encodings).zip(self.column_sizes);
        let columns = columns.map(|((name, encoding), size)| Column { name, encoding, size }).collect();
        Ok(ShardConfig { columns, compression: self.compression, size_limit: self.size_limit })
    }

    fn shard(mut self) -> Result<ListedShard, String> {
        let (raw, zip, samples) = (self.raw_data.take(), self.zip_data.take(), self.samples);
        let config = self.config()?;
        let (Some(raw), Some(samples)) = (raw, samples) else {
            return Err("a shard has no raw_data or no number of samples".to_owned());
        };
        check_file(&raw, MAX_SHARD_BYTES)?;
        zip.as_ref().map_or(Ok(()), |zip| check_file(zip, MAX_COMPRESSED_BYTES))?;
        // A shard contains the number of samples, the offset of each sample, and the end offset.
        if samples.saturating_add(2).saturating_mul(WORD_BYTES) > raw.bytes {
            return Err(format!("{:?} has {} bytes, too few for {samples} samples", raw.basename, raw.bytes));
        }
        Ok(ListedShard { config, samples, raw, zip })
    }
}

fn check_file(file: &FileInfo, max_bytes: u64) -> Result<(), String> {
    let name = &file.basename;
    let is_path = name.is_empty() || name == "." || name == ".." || name.contains(['/', '\\', '\0']);
    if is_path || name.len() > MAX_NAME_BYTES {
        let start: String = name.chars().take(MAX_NAME_BYTES).collect();
        return Err(format!("{start:?} is not the name of a file in the same folder"));
    }
    if file.bytes > max_bytes {
        return Err(format!("{name:?} would have {} bytes, and at most {max_bytes} are possible", file.bytes));
    }
    Ok(())
}
