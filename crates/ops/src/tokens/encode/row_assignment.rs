//! Assigns the rows of all files to the outputs of a format, and selects the rows of a file that are packed.

use gristmill_data::source::documents::{FileRows, TextFile};
use std::ops::Range;
use std::sync::Arc;

/// How rows are assigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowOrder {
    /// Row I is assigned to task I modulo the number of tasks.
    InTurn,
    /// Each task gets a contiguous block of rows. The sizes of the blocks differ by at most one; the larger blocks come first.
    Blocks,
}

/// The assignment of the rows of some files to tasks. Rows are numbered across these files.
#[derive(Clone, Debug)]
pub struct RowAssignment {
    order: RowOrder,
    tasks: u64,
    /// The tasks of this run, sorted. The index of a task in this list is the number of its output.
    ranks: Vec<u32>,
    /// Number of rows of all files.
    all: u64,
    /// For each file, the number of its first row among all rows, and its range of rows.
    files: Vec<(u64, Range<u64>)>,
}

impl RowAssignment {
    /// Assigns the rows of files. Also returns the files that have rows of `ranks`; in the order `Blocks`, their ranges are restricted to
    /// these rows.
    pub fn new(order: RowOrder, tasks: u32, ranks: Vec<u32>, files: Vec<TextFile>) -> (Self, Vec<TextFile>) {
        let range = |file: &TextFile| file.rows.as_ref().map_or(0..0, |rows| rows.range.clone());
        let all = files.iter().map(range).fold(0_u64, |sum, rows| sum.saturating_add(rows.end - rows.start));
        let mut deal = Self { order, tasks: u64::from(tasks.max(1)), ranks, all, files: Vec::new() };
        let needed = deal.needed();
        let (mut first, mut kept) = (0, Vec::new());
        for file in files {
            let rows = range(&file);
            let length = rows.end - rows.start;
            let from = needed.start.clamp(first, first + length) - first;
            let to = needed.end.clamp(first, first + length) - first;
            if from < to {
                let range = rows.start + from..rows.start + to;
                deal.files.push((first + from, range.clone()));
                kept.push(TextFile { rows: file.rows.map(|rows| FileRows { range, ..rows }), ..file });
            }
            first += length;
        }
        (deal, kept)
    }

    /// Returns the range that contains all rows of the ranks.
    fn needed(&self) -> Range<u64> {
        match (self.order, self.ranks.as_slice()) {
            (_, []) => 0..0,
            (RowOrder::InTurn, _) => 0..self.all,
            (RowOrder::Blocks, [first, .., last]) => self.block(*first).start..self.block(*last).end,
            (RowOrder::Blocks, [only]) => self.block(*only),
        }
    }

    /// Returns the rows of a task.
    fn block(&self, rank: u32) -> Range<u64> {
        let (each, more) = (self.all / self.tasks, self.all % self.tasks);
        let rank = u64::from(rank);
        let start = rank * each + rank.min(more);
        start..start + each + u64::from(rank < more)
    }

    fn rank_of(&self, number: u64) -> u64 {
        let (each, more) = (self.all / self.tasks, self.all % self.tasks);
        match self.order {
            RowOrder::InTurn => number % self.tasks,
            RowOrder::Blocks if number < more * (each + 1) => number / (each + 1),
            RowOrder::Blocks => more + (number - more * (each + 1)) / each.max(1),
        }
    }

    fn slot_of_rank(&self, rank: u64) -> Option<usize> {
        self.ranks.binary_search(&u32::try_from(rank).ok()?).ok()
    }

    /// Returns the output of a row of a file; `None` if no task of this run has the row.
    pub fn slot(&self, file: usize, row: u64) -> Option<usize> {
        let (first, rows) = self.files.get(file)?;
        rows.contains(&row).then(|| self.rank_of(first + (row - rows.start))).and_then(|rank| self.slot_of_rank(rank))
    }

    /// Returns the outputs that have rows of a file.
    pub fn slots(&self, file: usize) -> Vec<usize> {
        let Some((first, rows)) = self.files.get(file) else { return Vec::new() };
        let length = rows.end - rows.start;
        if length == 0 {
            return Vec::new();
        }
        let ranks: Vec<u64> = match self.order {
            RowOrder::InTurn => (*first..*first + length.min(self.tasks)).map(|number| number % self.tasks).collect(),
            RowOrder::Blocks => (self.rank_of(*first)..=self.rank_of(first + length - 1)).collect(),
        };
        let mut slots: Vec<usize> = ranks.into_iter().filter_map(|rank| self.slot_of_rank(rank)).collect();
        slots.sort_unstable();
        slots
    }
}

/// Selects the rows of a file that are packed.
#[derive(Clone, Debug, Default)]
pub struct RowFilter {
    range: Option<Range<u64>>,
    /// The index of the file, and the assignments of the formats; empty if a format packs all rows.
    file: usize,
    assignments: Vec<Arc<RowAssignment>>,
}

impl RowFilter {
    /// Returns the filter for the file with this index.
    pub fn new(file: usize, rows: Option<&FileRows>, deals: Vec<Arc<RowAssignment>>) -> Self {
        Self { range: rows.map(|rows| rows.range.clone()), file, assignments: deals }
    }

    /// Whether all rows are packed.
    pub fn has_all(&self) -> bool {
        self.range.is_none() && self.assignments.is_empty()
    }

    /// Whether a row is packed.
    pub fn has(&self, row: u64) -> bool {
        self.range.as_ref().is_none_or(|range| range.contains(&row))
            && (self.assignments.is_empty() || self.assignments.iter().any(|deal| deal.slot(self.file, row).is_some()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_data::source::documents::{Jsonl, Packing};

    fn file(rows: Range<u64>) -> TextFile {
        TextFile {
            path: "x".into(),
            name: "x".into(),
            bytes: 100,
            stamp: gristmill_core::FileStamp::default(),
            packing: Packing::Plain,
            source: &Jsonl,
            rows: Some(FileRows { all: rows.end, range: rows }),
            damaged: Vec::new(),
        }
    }

    /// Returns the rank of each row of all files; `-` for a row without a rank.
    fn ranks(order: RowOrder, tasks: u32, ranks: &[u32], files: &[Range<u64>]) -> String {
        let (deal, kept) = RowAssignment::new(order, tasks, ranks.to_vec(), files.iter().cloned().map(file).collect());
        let mut shown = String::new();
        for (number, file) in kept.iter().enumerate() {
            let range = file.rows.clone().unwrap().range;
            let mut slots: Vec<usize> = range.clone().filter_map(|row| deal.slot(number, row)).collect();
            let each = range.map(|row| deal.slot(number, row).map_or("-".to_owned(), |slot| ranks[slot].to_string()));
            shown.push_str(&each.collect::<String>());
            shown.push('|');
            slots.sort_unstable();
            slots.dedup();
            assert_eq!(slots, deal.slots(number), "{order:?} {files:?}");
        }
        shown
    }

    #[test]
    fn rows_are_numbered_over_all_files() {
        let files = [0..4, 0..0, 2..5];
        assert_eq!(ranks(RowOrder::InTurn, 3, &[0, 1, 2], &files), "0120|120|");
        assert_eq!(ranks(RowOrder::InTurn, 3, &[1], &files), "-1--|1--|");
        assert_eq!(ranks(RowOrder::Blocks, 3, &[0, 1, 2], &files), "0001|122|");
        assert_eq!(ranks(RowOrder::Blocks, 3, &[1], &files), "1|1|");
        assert_eq!(ranks(RowOrder::Blocks, 9, &[0, 6, 8], &files), "0---|--6|", "tasks without a row");
        assert_eq!(ranks(RowOrder::Blocks, 2, &[], &files), "");
    }
}
