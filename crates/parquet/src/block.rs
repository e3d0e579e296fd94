//! A block: pages of a text column that one decoder processes.

use crate::dictionary::Dictionary;
use crate::page_header::{DataPage, PageHeader};
use crate::place::ChunkLocation;
use gristmill_core::Failure;
use parquet::basic::CompressionCodec;
use std::ops::Range;
use std::sync::Arc;

/// Maximum number of rows in a block.
pub(crate) const MAX_BLOCK_ROWS: u64 = 1 << 20;

/// Consecutive rows of a text column, not decoded yet.
#[derive(Debug)]
pub struct TextBlock {
    /// Number of the first row in the file.
    pub first_row: u64,
    /// Number of rows.
    pub rows: u64,
    /// Number of the row group that all rows are in.
    pub row_group: usize,
    pub(crate) context: Arc<BlockContext>,
    pub(crate) pages: Vec<RawPage>,
    pub(crate) bytes: Vec<u8>,
    pub(crate) dictionary: Option<Arc<Dictionary>>,
}

/// Data shared by all blocks of a row group.
#[derive(Debug)]
pub(crate) struct BlockContext {
    pub(crate) place: ChunkLocation,
    pub(crate) codec: CompressionCodec,
    /// Definition level of a value that is not null.
    pub(crate) max_definition: u32,
}

/// A data page, and the range of its rows that belong to the block.
#[derive(Clone, Debug)]
pub(crate) struct RawPage {
    /// Position of the header in the file.
    pub(crate) offset: u64,
    pub(crate) header: PageHeader,
    pub(crate) page: DataPage,
    pub(crate) body: PageBody,
    pub(crate) rows: Range<u32>,
}

/// The content of a page.
#[derive(Clone, Debug)]
pub(crate) enum PageBody {
    /// Stored as in the file: a range of the bytes of the block.
    Stored(Range<usize>),
    /// Decompressed, because several blocks have rows of it.
    Unpacked(Arc<UnpackedPage>),
}

/// A decompressed page.
#[derive(Debug, Default)]
pub(crate) struct UnpackedPage {
    /// Levels that are stored separately from the values.
    pub(crate) levels: Vec<u8>,
    pub(crate) content: Vec<u8>,
}

impl TextBlock {
    /// Returns the path of the column, with dots.
    pub fn column(&self) -> &str {
        &self.context.place.column
    }

    /// Returns the size of the memory in use in bytes, without data that blocks share.
    pub fn memory_bytes(&self) -> usize {
        self.bytes.capacity()
    }

    /// Returns the memory of the block, to be passed to [`TextBlocks::next`](crate::TextBlocks::next).
    pub fn into_spare(self) -> Vec<u8> {
        self.bytes
    }

    pub(crate) fn damage(&self, page: &RawPage, why: &str) -> Failure {
        self.context.place.damage(Some(page.offset), why)
    }
}
