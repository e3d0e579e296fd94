//! Pages: the page being filled, and the file to which finished pages are appended.

use super::{first_page, record, SchemaEntry};
use gristmill_core::{Failure, Outcome};
use gristmill_storage::fs::{Fs, WriteFile};
use std::path::Path;

/// Bytes of a page.
pub const PAGE_BYTES: usize = 4096;
/// Bytes of an overflow page that hold payload.
const OVERFLOW_BYTES: usize = PAGE_BYTES - 4;
/// Number of the page with the byte at 1 GiB, which SQLite locks; this page never contains data.
const LOCK_PAGE: u32 = (1 << 30) / PAGE_BYTES as u32 + 1;
/// Maximum number of pages: SQLite counts pages in 32 bits and reserves the last two numbers.
const MAX_PAGES: u32 = u32::MAX - 1;
/// Size of the write buffer in bytes.
const WRITE_BYTES: usize = 256 * 1024;

/// Kinds of b-tree pages.
pub(super) const TABLE_LEAF: u8 = 13;
pub(super) const TABLE_INTERIOR: u8 = 5;
pub(super) const INDEX_LEAF: u8 = 10;
pub(super) const INDEX_INTERIOR: u8 = 2;

/// Maximum payload bytes that a cell of a table leaf stores in its page; then that of a cell of an index page.
pub(super) const TABLE_LOCAL_MAX: usize = PAGE_BYTES - 35;
pub(super) const INDEX_LOCAL_MAX: usize = (PAGE_BYTES - 12) * 64 / 255 - 23;
const LOCAL_MIN: usize = (PAGE_BYTES - 12) * 32 / 255 - 23;

/// A b-tree page being filled: cell pointers grow from the front, cells from the back.
#[derive(Debug)]
pub(super) struct PageBuffer {
    bytes: Box<[u8; PAGE_BYTES]>,
    /// Offset of the header in the page.
    start: usize,
    kind: u8,
    /// Offset of the first cell pointer.
    pointers: usize,
    /// Number of cells.
    cells: u16,
    /// Offset of the cell added last: cells occupy the rest of the page.
    content: usize,
}

impl PageBuffer {
    pub(super) fn new(kind: u8) -> Self {
        Self::starting_at(kind, 0)
    }

    /// Creates a table leaf whose first `start` bytes are reserved for other data.
    pub(super) fn table_leaf_after(start: usize) -> Self {
        Self::starting_at(TABLE_LEAF, start)
    }

    fn starting_at(kind: u8, start: usize) -> Self {
        let header = if matches!(kind, TABLE_INTERIOR | INDEX_INTERIOR) { 12 } else { 8 };
        let pointers = start + header;
        Self { bytes: Box::new([0; PAGE_BYTES]), start, kind, pointers, cells: 0, content: PAGE_BYTES }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.cells == 0
    }

    /// Whether a further cell of `cell` bytes fits.
    pub(super) fn has_space_for(&self, cell: usize) -> bool {
        self.pointers + 2 * (usize::from(self.cells) + 1) + cell <= self.content
    }

    /// Adds a cell after the others; the caller must check [`has_space_for`](Self::has_space_for) first.
    pub(super) fn push(&mut self, cell: &[u8]) {
        self.content -= cell.len();
        self.bytes[self.content..self.content + cell.len()].copy_from_slice(cell);
        let pointer = self.pointers + 2 * usize::from(self.cells);
        self.bytes[pointer..pointer + 2].copy_from_slice(&(self.content as u16).to_be_bytes());
        self.cells += 1;
    }

    /// Removes and returns the last cell.
    pub(super) fn pop(&mut self) -> Vec<u8> {
        let Some(left) = self.cells.checked_sub(1) else { return Vec::new() };
        let end = if left == 0 {
            PAGE_BYTES
        } else {
            let pointer = self.pointers + 2 * (usize::from(left) - 1);
            usize::from(u16::from_be_bytes([self.bytes[pointer], self.bytes[pointer + 1]]))
        };
        let cell = self.bytes[self.content..end].to_vec();
        // Unused bytes remain zero, so that the bytes of a file depend only on its rows.
        self.bytes[self.content..end].fill(0);
        let pointer = self.pointers + 2 * usize::from(left);
        self.bytes[pointer..pointer + 2].fill(0);
        self.content = end;
        self.cells = left;
        cell
    }

    /// Returns the page's bytes; `right` is the number of the last child of an interior page.
    pub(super) fn finish(&mut self, right: u32) -> &[u8; PAGE_BYTES] {
        let start = self.start;
        self.bytes[start] = self.kind;
        self.bytes[start + 3..start + 5].copy_from_slice(&self.cells.to_be_bytes());
        self.bytes[start + 5..start + 7].copy_from_slice(&(self.content as u16).to_be_bytes());
        if self.pointers - start == 12 {
            self.bytes[start + 8..start + 12].copy_from_slice(&right.to_be_bytes());
        }
        &self.bytes
    }

    /// Empties the page for reuse.
    pub(super) fn reset(&mut self) {
        self.bytes.fill(0);
        self.cells = 0;
        self.content = PAGE_BYTES;
    }
}

/// Writer of a database file: pages are numbered from 2 in the order in which they are appended; page 1 is written at the end.
pub struct PageWriter {
    file: Box<dyn WriteFile>,
    buffer: Vec<u8>,
    next: u32,
}

impl PageWriter {
    /// Creates the file; until [`finish`](Self::finish) SQLite does not recognise it as a database.
    pub fn create(fs: &dyn Fs, path: &Path) -> Outcome<Self> {
        let file = fs.create_file(path)?;
        let mut buffer = Vec::with_capacity(WRITE_BYTES + PAGE_BYTES);
        buffer.resize(PAGE_BYTES, 0);
        Ok(Self { file, buffer, next: 2 })
    }

    /// Returns the size of the pages so far, in bytes.
    pub fn bytes(&self) -> u64 {
        u64::from(self.next - 1) * PAGE_BYTES as u64
    }

    /// Appends a page and returns its number.
    pub(super) fn append(&mut self, page: &[u8; PAGE_BYTES]) -> Outcome<u32> {
        let number = self.next_number();
        if number > self.next {
            self.put(&[0; PAGE_BYTES])?;
        }
        self.put(page)?;
        Ok(number)
    }

    /// Returns the number of the next page.
    fn next_number(&self) -> u32 {
        after_lock_page(self.next)
    }

    fn put(&mut self, page: &[u8; PAGE_BYTES]) -> Outcome<()> {
        if self.next >= MAX_PAGES {
            return Err(Failure::data(
                "building the database",
                "it would grow beyond 16 TiB, the most SQLite can hold",
            ));
        }
        self.buffer.extend_from_slice(page);
        self.next += 1;
        if self.buffer.len() >= WRITE_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Outcome<()> {
        self.file.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    /// Writes the schema, and syncs everything to the disk. Returns the length of the file in bytes.
    pub fn finish(mut self, schema: &[SchemaEntry<'_>]) -> Outcome<u64> {
        self.flush()?;
        let page = first_page(schema, self.next - 1)?;
        self.file.overwrite(&page, 0)?;
        self.file.finish()
    }

    /// Appends a payload to `cell`: all of it, or its beginning and the number of the first overflow page.
    pub(super) fn push_payload(&mut self, cell: &mut Vec<u8>, payload: &[u8], local_max: usize) -> Outcome<()> {
        if payload.len() <= local_max {
            cell.extend_from_slice(payload);
            return Ok(());
        }
        let wanted = LOCAL_MIN + (payload.len() - LOCAL_MIN) % OVERFLOW_BYTES;
        let local = if wanted <= local_max { wanted } else { LOCAL_MIN };
        let (head, tail) = payload.split_at(local);
        cell.extend_from_slice(head);
        cell.extend_from_slice(&self.next_number().to_be_bytes());
        let mut chunks = tail.chunks(OVERFLOW_BYTES).peekable();
        while let Some(chunk) = chunks.next() {
            let mut page = [0; PAGE_BYTES];
            if chunks.peek().is_some() {
                page[..4].copy_from_slice(&after_lock_page(self.next_number() + 1).to_be_bytes());
            }
            page[4..4 + chunk.len()].copy_from_slice(chunk);
            self.append(&page)?;
        }
        Ok(())
    }
}

fn after_lock_page(number: u32) -> u32 {
    if number == LOCK_PAGE {
        number + 1
    } else {
        number
    }
}

/// Starts a cell: the payload's length, then for a table the row number.
pub(super) fn begin_cell(cell: &mut Vec<u8>, payload: &[u8], rowid: Option<i64>) {
    cell.clear();
    record::push_varint(cell, payload.len() as u64);
    if let Some(rowid) = rowid {
        record::push_varint(cell, rowid as u64);
    }
}
