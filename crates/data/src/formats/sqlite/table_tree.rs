//! The b-tree of a table, built from rows in ascending order of their row numbers.

use super::page::{begin_cell, PageBuffer, PageWriter, PAGE_BYTES, TABLE_INTERIOR, TABLE_LEAF, TABLE_LOCAL_MAX};
use super::record;
use gristmill_core::Outcome;

/// Collects rows into leaves and leaves into interior pages.
pub struct TableTree {
    leaf: PageBuffer,
    last_rowid: i64,
    cell: Vec<u8>,
    levels: Vec<Level>,
}

/// Pages of one interior level: the page being filled, and the previous page. Writing the previous page is delayed so that the last page of
/// a level can receive a child from it and never has only one child.
#[derive(Default)]
struct Level {
    pending: Option<Vec<Child>>,
    current: Vec<Child>,
    /// Bytes that the children in `current` take on their page.
    used: usize,
}

/// A child page and the largest row number in its subtree.
#[derive(Clone, Copy)]
struct Child {
    page: u32,
    last_rowid: i64,
}

impl Default for TableTree {
    fn default() -> Self {
        Self { leaf: PageBuffer::new(TABLE_LEAF), last_rowid: 0, cell: Vec::new(), levels: Vec::new() }
    }
}

impl TableTree {
    /// Adds a row; row numbers must ascend.
    pub fn push(&mut self, pages: &mut PageWriter, rowid: i64, payload: &[u8]) -> Outcome<()> {
        debug_assert!(rowid > self.last_rowid || self.leaf.is_empty());
        begin_cell(&mut self.cell, payload, Some(rowid));
        pages.push_payload(&mut self.cell, payload, TABLE_LOCAL_MAX)?;
        if !self.leaf.has_space_for(self.cell.len()) {
            self.flush_leaf(pages)?;
        }
        self.leaf.push(&self.cell);
        self.last_rowid = rowid;
        Ok(())
    }

    fn flush_leaf(&mut self, pages: &mut PageWriter) -> Outcome<()> {
        let page = pages.append(self.leaf.finish(0))?;
        self.leaf.reset();
        self.push_child(pages, 0, Child { page, last_rowid: self.last_rowid })
    }

    fn push_child(&mut self, pages: &mut PageWriter, depth: usize, child: Child) -> Outcome<()> {
        if self.levels.len() == depth {
            self.levels.push(Level::default());
        }
        let level = &mut self.levels[depth];
        if level.used > PAGE_BYTES - 12 {
            let full = std::mem::take(&mut level.current);
            level.used = 0;
            if let Some(before) = level.pending.replace(full) {
                let flushed = write_interior(pages, &before)?;
                self.push_child(pages, depth + 1, flushed)?;
            }
        }
        let level = &mut self.levels[depth];
        level.current.push(child);
        // Counts every child as a cell, including the last, which becomes the right pointer of the page: the page is full when the cells of
        // all other children just fit.
        level.used += 6 + record::varint_len(child.last_rowid as u64);
        Ok(())
    }

    /// Writes the remaining pages and returns the root's page number. A table without rows is one empty leaf.
    pub fn finish(mut self, pages: &mut PageWriter) -> Outcome<u32> {
        let page = pages.append(self.leaf.finish(0))?;
        if self.levels.is_empty() {
            return Ok(page);
        }
        let mut root = Child { page, last_rowid: self.last_rowid };
        let mut depth = 0;
        while depth < self.levels.len() {
            self.push_child(pages, depth, root)?;
            let level = std::mem::take(&mut self.levels[depth]);
            let mut last = level.current;
            if let Some(mut before) = level.pending {
                if last.len() == 1 {
                    last.splice(0..0, before.pop());
                }
                let flushed = write_interior(pages, &before)?;
                self.push_child(pages, depth + 1, flushed)?;
            }
            root = write_interior(pages, &last)?;
            depth += 1;
        }
        Ok(root.page)
    }
}

fn write_interior(pages: &mut PageWriter, children: &[Child]) -> Outcome<Child> {
    let mut page = PageBuffer::new(TABLE_INTERIOR);
    let mut right = Child { page: 0, last_rowid: 0 };
    if let Some((last, others)) = children.split_last() {
        let mut cell = Vec::with_capacity(13);
        for child in others {
            cell.clear();
            cell.extend_from_slice(&child.page.to_be_bytes());
            record::push_varint(&mut cell, child.last_rowid as u64);
            page.push(&cell);
        }
        right = *last;
    }
    let number = pages.append(page.finish(right.page))?;
    Ok(Child { page: number, last_rowid: right.last_rowid })
}
