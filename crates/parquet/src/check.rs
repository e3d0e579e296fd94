//! Checks every page of a file: headers, checksums, compression, numbers of values.

use crate::file::ParquetFile;
use crate::json::ChunkPages;
use gristmill_core::Outcome;

/// Number of pages that were read, and of pages without a checksum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageCounts {
    /// Pages with values or a dictionary.
    pub pages: u64,
    /// Pages without a checksum, in which damage may remain unnoticed.
    pub without_checksum: u64,
}

impl PageCounts {
    /// Adds the counts of other pages.
    pub fn add(&mut self, other: Self) {
        self.pages += other.pages;
        self.without_checksum += other.without_checksum;
    }
}

impl ParquetFile {
    /// Returns the number of leaf columns.
    pub fn leaf_columns(&self) -> usize {
        self.metadata().file_metadata().schema_descr().num_columns()
    }

    /// Reads all pages of a leaf column in a row group; checks headers, checksums, sizes after decompression, and the number of values.
    ///
    /// # Errors
    /// The first damaged page, with row group, column and offset; or a failure to read the file.
    pub fn check_pages(&self, row_group: usize, leaf: usize) -> Outcome<PageCounts> {
        let rows = self.rows_of(row_group);
        if rows.is_empty() && self.values_of(row_group, leaf) == 0 {
            return Ok(PageCounts::default());
        }
        let place = self.chunk_location(row_group, leaf);
        let chunk = self.chunk(row_group, leaf, &place)?;
        ChunkPages::check(self, place, &chunk, self.values_of(row_group, leaf))
    }
}
