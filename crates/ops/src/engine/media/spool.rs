//! Rows to be written to the database: one spool file per unit of work, in the order in which they were found.

use gristmill_core::{MediaFacts, MediaType, Outcome};
use gristmill_data::formats::energon::media_json;
use gristmill_storage::fs::Fs;
use gristmill_storage::read::open_read;
use gristmill_storage::sort::bytes::{push_int, push_text, SpoolFile, SpoolReader, SpoolWriter};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes of a spool read at a time.
const READ_BYTES: usize = 64 * 1024;

/// The rows found by one unit.
#[derive(Clone, Debug, Default)]
pub struct MediaRows {
    dir: PathBuf,
    file: SpoolFile,
    /// Number of entries that the filter selected and that were probed.
    pub entries: u64,
    /// Number of rows of pictures.
    pub images: u64,
    /// Number of rows of audio and video.
    pub av: u64,
}

impl MediaRows {
    /// Returns the number of rows of either type.
    pub fn rows(&self) -> u64 {
        self.images + self.av
    }
    /// Removes the file.
    pub fn remove(&self, fs: &dyn Fs) -> Outcome<()> {
        if self.file.name.is_empty() {
            return Ok(());
        }
        fs.remove_file(&self.dir.join(&self.file.name))
    }
    pub(super) fn open(&self) -> Outcome<Option<RowsReader>> {
        if self.rows() == 0 {
            return Ok(None);
        }
        let file = Arc::new(open_read(&self.dir.join(&self.file.name))?);
        Ok(Some(RowsReader { from: SpoolReader::new(file, 0, self.file.bytes, READ_BYTES), key: Vec::new() }))
    }
}

/// Writes the rows of one unit. The file is created with the first row.
pub(super) struct RowsWriter<'a> {
    fs: &'a dyn Fs,
    dir: &'a Path,
    unit: usize,
    out: Option<SpoolWriter>,
    last_key: String,
    found: MediaRows,
}

impl<'a> RowsWriter<'a> {
    /// Creates a writer. `unit` is only used in the name of the file.
    pub(super) fn new(fs: &'a dyn Fs, dir: &'a Path, unit: usize) -> Self {
        Self { fs, dir, unit, out: None, last_key: String::new(), found: MediaRows::default() }
    }

    pub(super) fn count_entry(&mut self) {
        self.found.entries += 1;
    }

    pub(super) fn row(&mut self, key: &str, facts: &MediaFacts) -> Outcome<()> {
        let out = match &mut self.out {
            Some(out) => out,
            empty => empty.insert(SpoolWriter::create(self.fs, self.dir, format!("media-{}.rows", self.unit))?),
        };
        let json = media_json::to_json(facts);
        let buffer = out.buffer();
        push_text(buffer, self.last_key.as_bytes(), key.as_bytes());
        push_int(buffer, matches!(facts.media_type(), MediaType::Av).into());
        push_int(buffer, json.len() as u64);
        buffer.extend_from_slice(json.as_bytes());
        out.check()?;
        self.last_key.clear();
        self.last_key.push_str(key);
        match facts.media_type() {
            MediaType::Image => self.found.images += 1,
            MediaType::Av => self.found.av += 1,
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Outcome<MediaRows> {
        if let Some(out) = self.out.take() {
            self.found.file = out.finish()?;
            self.found.dir = self.dir.to_owned();
        }
        Ok(self.found)
    }
}

/// A row of the media tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) key: Box<str>,
    pub(super) media_type: MediaType,
    pub(super) json: Box<str>,
}

/// Reads the rows of one unit.
pub(super) struct RowsReader {
    from: SpoolReader,
    key: Vec<u8>,
}

impl RowsReader {
    pub(super) fn next(&mut self) -> Outcome<Option<Row>> {
        if self.from.at_end() {
            return Ok(None);
        }
        self.from.text(&mut self.key)?;
        let media_type = if self.from.int()? == 0 { MediaType::Image } else { MediaType::Av };
        let mut json = Vec::new();
        let bytes = self.from.int()?;
        self.from.take(bytes, &mut json)?;
        let text = |bytes: &[u8]| std::str::from_utf8(bytes).map(Box::from).map_err(|_| self.from.damaged());
        Ok(Some(Row { key: text(&self.key)?, media_type, json: text(&json)? }))
    }
}
