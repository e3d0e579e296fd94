//! The b-tree of an index, built from entries in ascending order. Unlike in a table, interior pages contain entries.

use super::page::{begin_cell, PageBuffer, PageWriter, INDEX_INTERIOR, INDEX_LEAF, INDEX_LOCAL_MAX};
use gristmill_core::Outcome;

/// Collects entries into leaves, and the entries between leaves into interior pages.
pub struct IndexTree {
    levels: Vec<Level>,
    cell: Vec<u8>,
}

/// Pages of one level, with leaves at depth 0: the page being filled, and the previous page with the entry between the two. Writing the
/// previous page is delayed so that the last page of a level can receive an entry from it and is never empty.
struct Level {
    pending: Option<PendingPage>,
    current: PageBuffer,
}

struct PendingPage {
    page: PageBuffer,
    /// Last child; 0 for a leaf.
    right: u32,
    /// Entry after this page, without a child.
    divider: Vec<u8>,
}

impl Default for IndexTree {
    fn default() -> Self {
        Self { levels: vec![Level::new(0)], cell: Vec::new() }
    }
}

impl Level {
    fn new(depth: usize) -> Self {
        Self { pending: None, current: PageBuffer::new(if depth == 0 { INDEX_LEAF } else { INDEX_INTERIOR }) }
    }
}

impl IndexTree {
    /// Adds an entry; entries must ascend in the index's order.
    pub fn push(&mut self, pages: &mut PageWriter, payload: &[u8]) -> Outcome<()> {
        begin_cell(&mut self.cell, payload, None);
        pages.push_payload(&mut self.cell, payload, INDEX_LOCAL_MAX)?;
        let leaf = &mut self.levels[0].current;
        if leaf.has_space_for(self.cell.len()) {
            leaf.push(&self.cell);
            return Ok(());
        }
        let divider = self.cell.clone();
        self.close_page(pages, 0, 0, divider)
    }

    /// Closes the current page of a level; `divider` is the entry between it and the next page.
    fn close_page(&mut self, pages: &mut PageWriter, depth: usize, right: u32, divider: Vec<u8>) -> Outcome<()> {
        let level = &mut self.levels[depth];
        let page = std::mem::replace(&mut level.current, Level::new(depth).current);
        match level.pending.replace(PendingPage { page, right, divider }) {
            Some(before) => self.flush(pages, depth, before),
            None => Ok(()),
        }
    }

    fn flush(&mut self, pages: &mut PageWriter, depth: usize, mut before: PendingPage) -> Outcome<()> {
        let child = pages.append(before.page.finish(before.right))?;
        self.push_child(pages, depth + 1, child, before.divider)
    }

    /// Adds a child and the entry after it to an interior level.
    fn push_child(&mut self, pages: &mut PageWriter, depth: usize, child: u32, divider: Vec<u8>) -> Outcome<()> {
        if self.levels.len() == depth {
            self.levels.push(Level::new(depth));
        }
        let page = &mut self.levels[depth].current;
        if page.has_space_for(4 + divider.len()) {
            page.push(&interior_cell(child, &divider));
            return Ok(());
        }
        self.close_page(pages, depth, child, divider)
    }

    /// Writes the remaining pages and returns the root's page number. An index without entries is one empty leaf.
    pub fn finish(mut self, pages: &mut PageWriter) -> Outcome<u32> {
        let mut last_child = 0;
        let mut depth = 0;
        while depth < self.levels.len() {
            let level = std::mem::replace(&mut self.levels[depth], Level::new(depth));
            let mut page = level.current;
            if let Some(mut before) = level.pending {
                if page.is_empty() {
                    before.move_divider_to(&mut page, depth);
                }
                self.flush(pages, depth, before)?;
            }
            last_child = pages.append(page.finish(last_child))?;
            depth += 1;
        }
        Ok(last_child)
    }
}

impl PendingPage {
    /// Makes the divider the first entry of the empty page after it; the last entry of this page becomes the divider.
    fn move_divider_to(&mut self, page: &mut PageBuffer, depth: usize) {
        let mut last = self.page.pop();
        if depth == 0 {
            page.push(&std::mem::replace(&mut self.divider, last));
            return;
        }
        page.push(&interior_cell(self.right, &self.divider));
        let divider = last.split_off(4);
        self.right = last.try_into().map_or(0, u32::from_be_bytes);
        self.divider = divider;
    }
}

fn interior_cell(child: u32, entry: &[u8]) -> Vec<u8> {
    let mut cell = Vec::with_capacity(4 + entry.len());
    cell.extend_from_slice(&child.to_be_bytes());
    cell.extend_from_slice(entry);
    cell
}
