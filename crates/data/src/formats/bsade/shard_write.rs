//! Writing the four files of a shard (docs/formats/bsade.md §3).

use super::{METADATA, METAOFF, OFFSET, SEPARATOR, TOKENIZED};
use gristmill_core::Outcome;
use gristmill_storage::fs::{BufferedFile, Fs};
use std::path::Path;

/// Size of the write buffer of each file.
const BUFFER_BYTES: usize = 256 << 10;

/// Size of a shard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShardSize {
    /// Number of documents.
    pub documents: u64,
    /// Bytes of `tokenized`: the text, and one separator for each document.
    pub bytes: u64,
}

/// Writes the files `tokenized`, `offset`, `metadata` and `metaoff` of a shard.
///
/// For each document, the caller calls [`begin`](Self::begin), then writes its text and its line of metadata.
pub struct ShardWriter {
    tokenized: BufferedFile,
    offset: BufferedFile,
    metadata: BufferedFile,
    metaoff: BufferedFile,
    documents: u64,
}

impl ShardWriter {
    /// Creates the files in an existing folder; they must not exist yet.
    pub fn create(fs: &dyn Fs, folder: &Path) -> Outcome<Self> {
        let create = |name: &str, buffer| Ok(BufferedFile::new(fs.create_file(&folder.join(name))?, buffer));
        Ok(Self {
            tokenized: create(TOKENIZED, BUFFER_BYTES)?,
            offset: create(OFFSET, BUFFER_BYTES / 16)?,
            metadata: create(METADATA, BUFFER_BYTES)?,
            metaoff: create(METAOFF, BUFFER_BYTES / 16)?,
            documents: 0,
        })
    }

    /// Begins the next document.
    pub fn begin(&mut self) -> Outcome<()> {
        self.offset.write_all(&self.tokenized.len().to_le_bytes())?;
        self.tokenized.write_all(&[SEPARATOR])?;
        self.metaoff.write_all(&self.metadata.len().to_le_bytes())?;
        self.documents += 1;
        Ok(())
    }

    /// Appends to the document's text.
    pub fn text(&mut self, piece: &str) -> Outcome<()> {
        self.tokenized.write_all(piece.as_bytes())
    }

    /// Appends to the document's line of metadata, which ends with a `\n`.
    pub fn metadata(&mut self, piece: &[u8]) -> Outcome<()> {
        self.metadata.write_all(piece)
    }

    /// Returns the size written so far.
    pub fn size(&self) -> ShardSize {
        ShardSize { documents: self.documents, bytes: self.tokenized.len() }
    }

    /// Makes everything durable and closes the files.
    pub fn finish(self) -> Outcome<ShardSize> {
        let size = self.size();
        for file in [self.tokenized, self.offset, self.metadata, self.metaoff] {
            file.finish()?;
        }
        Ok(size)
    }
}
