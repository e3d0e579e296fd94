//! Reads single rows and index entries of a database page by page, for a database in a store of which few rows are needed.
//!
//! The file is untrusted: every number in it is checked, sizes and depths are bounded, and invalid values are reported as damage. Must not
//! depend on the meaning of the tables.

use super::page::{INDEX_INTERIOR, INDEX_LEAF, TABLE_INTERIOR, TABLE_LEAF};
use super::record::{read_varint, Field, Fields};
use super::HEADER_BYTES;
use gristmill_core::problem::Subject;
use gristmill_core::{Failure, Mutex, Outcome};
use gristmill_storage::read::ReadFile;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

const ACTIVITY: &str = "reading the index";
/// Maximum size in bytes of a row or index entry that is read.
const MAX_PAYLOAD_BYTES: u64 = 1 << 20;
/// Maximum depth of a tree; larger than in any database of the maximum size.
const MAX_DEPTH: u32 = 24;
/// Maximum number of pages in the cache.
const MAX_KEPT_PAGES: usize = 512;
/// Maximum number of tables and indexes, and of pages of the schema.
const MAX_SCHEMA_ROWS: usize = 100;

/// A database that is read page by page.
pub struct DatabasePages {
    file: ReadFile,
    page_bytes: usize,
    /// Size of a page in bytes without the space that SQLite reserves at its end.
    usable: usize,
    kept: Mutex<HashMap<u32, Arc<Vec<u8>>>>,
}

/// A table or an index, as the schema describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSchema {
    /// `table` or `index`.
    pub kind: String,
    /// Name of the table or index.
    pub name: String,
    /// Table that it belongs to.
    pub table: String,
    /// Page number of the root.
    pub root: u32,
    /// Statement that created it; empty for an automatic index.
    pub sql: String,
}

struct TreePage {
    bytes: Arc<Vec<u8>>,
    usable: usize,
    /// Offset of the header of the page.
    start: usize,
    kind: u8,
    cells: usize,
}

impl DatabasePages {
    /// Opens a database. Returns `None` if its text is not in UTF-8, because its order then differs.
    ///
    /// # Errors
    /// The file cannot be read, or is not a database.
    pub fn open(file: ReadFile) -> Outcome<Option<Self>> {
        let mut header = [0; HEADER_BYTES];
        let no_database = || Failure::data(ACTIVITY, "it is not a database").on(Subject::path(file.path()));
        if file.len() < HEADER_BYTES as u64 {
            return Err(no_database());
        }
        file.read_exact_at(&mut header, 0).map_err(|error| Failure::io("reading", file.path(), &error))?;
        let page_bytes = match u16_at(&header, 16) {
            Some(1) => 1 << 16,
            Some(bytes) => usize::from(bytes),
            None => 0,
        };
        let usable = page_bytes.saturating_sub(usize::from(header[20]));
        if !header.starts_with(b"SQLite format 3\0") || !page_bytes.is_power_of_two() || usable < 480 {
            return Err(no_database());
        }
        let is_utf8 = u32_at(&header, 56) == Some(1);
        Ok(is_utf8.then(|| Self { file, page_bytes, usable, kept: Mutex::default() }))
    }

    /// Returns the tables and indexes in the schema.
    pub fn schema(&self) -> Outcome<Vec<StoredSchema>> {
        let (mut rows, mut pages) = (Vec::new(), vec![1]);
        for _ in 0..MAX_SCHEMA_ROWS {
            let Some(number) = pages.pop() else { return Ok(rows) };
            let page = self.tree_page(number, [TABLE_LEAF, TABLE_INTERIOR])?;
            if page.cells.max(pages.len()) + rows.len() > MAX_SCHEMA_ROWS {
                break;
            }
            for at in 0..page.cells + usize::from(!page.is_leaf()) {
                match page.is_leaf() {
                    true => rows.push(schema_row(&self.payload(&page, at)?)),
                    false => pages.push(self.or_damaged(page.child(at))?),
                }
            }
        }
        Err(self.damaged())
    }

    /// Returns the row of a table with a row number; `None` if there is none.
    pub fn row(&self, root: u32, rowid: i64) -> Outcome<Option<Vec<u8>>> {
        let mut number = root;
        for _ in 0..MAX_DEPTH {
            let page = self.tree_page(number, [TABLE_LEAF, TABLE_INTERIOR])?;
            let at = page.find_first_not(|at| Ok(self.or_damaged(page.rowid(at))? < rowid))?;
            if page.is_leaf() {
                if at == page.cells || self.or_damaged(page.rowid(at))? != rowid {
                    return Ok(None);
                }
                return self.payload(&page, at).map(Some);
            }
            number = self.or_damaged(page.child(at))?;
        }
        Err(self.damaged())
    }

    /// Passes the entries of an index to `take` in order, until it returns false. The first is the first entry whose first field is a text
    /// of at least `from`, or a value that sorts after all texts.
    pub fn entries_from(&self, root: u32, from: &[u8], take: &mut dyn FnMut(&[u8]) -> Outcome<bool>) -> Outcome<()> {
        // A page belongs to one tree and occurs in it once, so more pages than the file has mean damage.
        let mut left = self.file.len() / self.page_bytes as u64;
        self.entries_below((root, 0), &mut left, from, take).map(drop)
    }

    fn entries_below(
        &self,
        (number, depth): (u32, u32),
        left: &mut u64,
        from: &[u8],
        take: &mut dyn FnMut(&[u8]) -> Outcome<bool>,
    ) -> Outcome<bool> {
        if depth > MAX_DEPTH || *left == 0 {
            return Err(self.damaged());
        }
        *left -= 1;
        let page = self.tree_page(number, [INDEX_LEAF, INDEX_INTERIOR])?;
        let is_before = |at| {
            let entry = self.payload(&page, at)?;
            Ok(match self.or_damaged(Fields::of(&entry).next())? {
                Field::Text(text) => text < from,
                Field::Null | Field::Number(_) => true,
                Field::Blob(_) => false,
            })
        };
        for at in page.find_first_not(is_before)?..=page.cells {
            if !page.is_leaf() {
                let child = self.or_damaged(page.child(at))?;
                if !self.entries_below((child, depth + 1), left, from, take)? {
                    return Ok(false);
                }
            }
            if at < page.cells && !take(&self.payload(&page, at)?)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(in crate::formats) fn damaged(&self) -> Failure {
        Failure::data(ACTIVITY, "it is damaged")
            .on(Subject::path(self.file.path()))
            .with_hint("prepare the data set again")
    }

    fn or_damaged<T>(&self, found: Option<T>) -> Outcome<T> {
        found.ok_or_else(|| self.damaged())
    }

    fn page(&self, number: u32) -> Outcome<Arc<Vec<u8>>> {
        let kept = || self.kept.lock();
        if let Some(page) = kept().get(&number) {
            return Ok(Arc::clone(page));
        }
        let offset = self.or_damaged(number.checked_sub(1))?;
        let offset = u64::from(offset) * self.page_bytes as u64;
        if offset + self.page_bytes as u64 > self.file.len() {
            return Err(self.damaged());
        }
        let mut page = vec![0; self.page_bytes];
        self.file.read_exact_at(&mut page, offset).map_err(|error| Failure::io("reading", self.file.path(), &error))?;
        let page = Arc::new(page);
        let mut kept = kept();
        if kept.len() >= MAX_KEPT_PAGES {
            kept.clear();
        }
        kept.insert(number, Arc::clone(&page));
        Ok(page)
    }

    fn tree_page(&self, number: u32, kinds: [u8; 2]) -> Outcome<TreePage> {
        let bytes = self.page(number)?;
        let start = if number == 1 { HEADER_BYTES } else { 0 };
        let kind = self.or_damaged(bytes.get(start).copied().filter(|kind| kinds.contains(kind)))?;
        let cells = usize::from(self.or_damaged(u16_at(&bytes, start + 3))?);
        let page = TreePage { bytes, usable: self.usable, start, kind, cells };
        match page.pointers() + 2 * cells > self.usable {
            true => Err(self.damaged()),
            false => Ok(page),
        }
    }

    /// Returns a row or entry, including its part on overflow pages.
    fn payload(&self, page: &TreePage, at: usize) -> Outcome<Vec<u8>> {
        let (size, inside) = self.or_damaged(page.payload(at))?;
        if size > MAX_PAYLOAD_BYTES {
            return Err(self.damaged());
        }
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        let mut payload = self.or_damaged(page.bytes.get(inside.clone()))?.to_vec();
        let mut next = if payload.len() < size { self.or_damaged(u32_at(&page.bytes, inside.end))? } else { 0 };
        while payload.len() < size {
            let overflow = self.page(next)?;
            let count = (size - payload.len()).min(self.usable - 4);
            payload.extend_from_slice(self.or_damaged(overflow.get(4..4 + count))?);
            next = self.or_damaged(u32_at(&overflow, 0))?;
        }
        Ok(payload)
    }
}

impl TreePage {
    fn is_leaf(&self) -> bool {
        [TABLE_LEAF, INDEX_LEAF].contains(&self.kind)
    }

    /// Returns the offset of the array of cell offsets.
    fn pointers(&self) -> usize {
        self.start + if self.is_leaf() { 8 } else { 12 }
    }

    /// Returns the offset of a cell.
    fn cell(&self, at: usize) -> Option<usize> {
        let offset = usize::from(u16_at(&self.bytes, self.pointers() + 2 * at)?);
        (at < self.cells && offset < self.usable).then_some(offset)
    }

    /// Returns the number of the child page whose entries sort before a cell; after the last cell, that of the rightmost child.
    fn child(&self, at: usize) -> Option<u32> {
        let offset = if at == self.cells { self.start + 8 } else { self.cell(at)? };
        u32_at(&self.bytes, offset)
    }

    /// Returns the row number of a cell; in an interior page this is the largest row number of its child.
    fn rowid(&self, at: usize) -> Option<i64> {
        let cell = self.bytes.get(self.cell(at)?..self.usable)?;
        let skipped = if self.is_leaf() { read_varint(cell)?.1 } else { 4 };
        read_varint(cell.get(skipped..)?).map(|(rowid, _)| rowid as i64)
    }

    /// Returns the size of the payload of a cell, and the range of its part that is in this page.
    fn payload(&self, at: usize) -> Option<(u64, Range<usize>)> {
        let is_table = self.kind == TABLE_LEAF;
        let cell = self.cell(at)? + if self.is_leaf() { 0 } else { 4 };
        let (size, read) = read_varint(self.bytes.get(cell..self.usable)?)?;
        let mut start = cell + read;
        if is_table {
            start += read_varint(self.bytes.get(start..self.usable)?)?.1;
        }
        let most = if is_table { self.usable - 35 } else { (self.usable - 12) * 64 / 255 - 23 };
        let least = (self.usable - 12) * 32 / 255 - 23;
        let local = match usize::try_from(size).ok()? {
            size if size <= most => size,
            size => Some(least + (size - least) % (self.usable - 4)).filter(|local| *local <= most).unwrap_or(least),
        };
        (start + local <= self.usable).then_some((size, start..start + local))
    }

    /// Returns the first cell for which `holds` is false, by binary search: it must be true for all cells before that one and false for all
    /// after.
    fn find_first_not(&self, mut holds: impl FnMut(usize) -> Outcome<bool>) -> Outcome<usize> {
        let (mut first, mut end) = (0, self.cells);
        while first < end {
            let middle = first + (end - first) / 2;
            match holds(middle)? {
                true => first = middle + 1,
                false => end = middle,
            }
        }
        Ok(first)
    }
}

fn schema_row(row: &[u8]) -> StoredSchema {
    let mut fields = Fields::of(row);
    let mut next = || fields.next().unwrap_or(Field::Null);
    let (kind, name, table) = (next().into_text(), next().into_text(), next().into_text());
    // A view has no root page.
    let root = next().number().and_then(|root| u32::try_from(root).ok()).unwrap_or_default();
    StoredSchema { kind, name, table, root, sql: next().into_text() }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|bytes| u16::from_be_bytes(*bytes))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_be_bytes(*bytes))
}
