//! Writes SQLite database files from rows that arrive in order: every b-tree is built from its leaves upwards, pages are written one after
//! another, and nothing is read back.
//!
//! The result is an ordinary database for any version of SQLite. The SQLite library would need about ten times the processor time, because
//! it sorts each index again although the rows are in order, and its own file handling would bypass `storage`. The bytes of the file depend
//! only on the rows.
//!
//! [`DatabasePages`] reads single rows of a database, of any page size, without reading the whole file.
//!
//! Limits of the writer: the page size is 4,096, auto-vacuum is off, and rows and index entries must be pushed in ascending order.

mod index_tree;
mod page;
mod pages;
mod record;
mod table_tree;
#[cfg(test)]
mod tests;

pub use index_tree::IndexTree;
pub use page::{PageWriter, PAGE_BYTES};
pub use pages::{DatabasePages, StoredSchema};
pub use record::{Field, Fields, Record, Value};
pub use table_tree::TableTree;

use gristmill_core::{Failure, Outcome};
use page::PageBuffer;

/// One row of `sqlite_schema`.
#[derive(Clone, Copy, Debug)]
pub struct SchemaEntry<'a> {
    /// `table` or `index`.
    pub kind: &'a str,
    /// Name of the table or index.
    pub name: &'a str,
    /// Table that it belongs to.
    pub table: &'a str,
    /// Page number of the root.
    pub root: u32,
    /// Statement that created it; `None` for an automatic index.
    pub sql: Option<&'a str>,
}

/// SQLite version in the header; readers only display it.
const WRITER_VERSION: u32 = 3_045_000;
/// Size in bytes of the database header, which precedes the header of the first page.
const HEADER_BYTES: usize = 100;

/// Returns the first page: the database header and the schema. Fails when the schema does not fit one page.
fn first_page(schema: &[SchemaEntry<'_>], pages: u32) -> Outcome<[u8; PAGE_BYTES]> {
    let mut page = PageBuffer::table_leaf_after(HEADER_BYTES);
    let mut record = Record::default();
    for (row, entry) in (1..).zip(schema) {
        let sql = entry.sql.map_or(Value::Null, |sql| Value::Text(sql.as_bytes()));
        let values = [
            Value::Text(entry.kind.as_bytes()),
            Value::Text(entry.name.as_bytes()),
            Value::Text(entry.table.as_bytes()),
            Value::Int(i64::from(entry.root)),
            sql,
        ];
        let payload = record.encode(&values);
        let mut cell = Vec::with_capacity(payload.len() + 12);
        record::push_varint(&mut cell, payload.len() as u64);
        record::push_varint(&mut cell, row);
        cell.extend_from_slice(payload);
        if !page.has_space_for(cell.len()) {
            return Err(Failure::environment("building the database", "its schema does not fit one page"));
        }
        page.push(&cell);
    }
    let mut bytes = *page.finish(0);
    bytes[..16].copy_from_slice(b"SQLite format 3\0");
    bytes[16..18].copy_from_slice(&(PAGE_BYTES as u16).to_be_bytes());
    // File format version 1 for reading and writing (rollback journal), no reserved bytes, the fixed payload fractions.
    bytes[18..24].copy_from_slice(&[1, 1, 0, 64, 32, 32]);
    let mut word = |at: usize, value: u32| bytes[at..at + 4].copy_from_slice(&value.to_be_bytes());
    word(24, 1); // change counter
    word(28, pages);
    word(40, 1); // schema cookie
    word(44, 4); // schema format
    word(56, 1); // UTF-8
    word(92, 1); // the change counter that the page count is valid for
    word(96, WRITER_VERSION);
    Ok(bytes)
}
