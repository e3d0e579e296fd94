//! CSV and TSV files as data sets. The format has no index of its rows, so opening a file reads all of it once.

use super::columns::Columns;
use super::rows::{LineRows, RowFields};
use super::{CellKinds, Delimited, Header};
use crate::source::documents::table::{
    row_not_shown, Table, TableColumn, TableFindings, TableFormat, TableSummary, TableUnit,
};
use crate::source::documents::{list::text_file, Block, Blocks, Position, Text, TextFile};
use gristmill_core::{Cancel, Failure, Mutex, Outcome, Problem, ProblemKind, Subject, TableKind};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Size in bytes of the blocks of rows whose positions are recorded.
const BLOCK_BYTES: usize = 1 << 20;
/// Number of rows between two checks for cancellation.
const ROWS_BETWEEN_CHECKS: u64 = 1_024;
/// Maximum number of rows that are reported individually.
const MAX_REPORTED_ROWS: usize = 20;

/// Opens files of a format with a delimiter.
#[derive(Debug)]
pub(super) struct DelimitedTables {
    source: &'static Delimited,
    kind: TableKind,
}

pub(super) static CSV: DelimitedTables =
    DelimitedTables { source: &super::CSV, kind: TableKind { id: "csv", folder_id: "csv-folder", title: "CSV" } };
pub(super) static TSV: DelimitedTables =
    DelimitedTables { source: &super::TSV, kind: TableKind { id: "tsv", folder_id: "tsv-folder", title: "TSV" } };

impl TableFormat for DelimitedTables {
    fn kind(&self) -> &'static TableKind {
        match self.source.delimiter {
            Some(b'\t') => &TSV.kind,
            _ => &CSV.kind,
        }
    }

    fn open(&self, path: &Path) -> Outcome<Box<dyn Table>> {
        let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let (file, cancel) = (text_file(path.to_owned(), name, true)?, Cancel::default());
        let columns = match self.source.header(&file, &cancel)? {
            Header::Columns(columns) => columns,
            Header::None => Columns { delimiter: self.source.delimiter, names: Vec::new() },
            Header::Unreadable { why, hint } => {
                return Err(Failure::data("reading the header", why).on(Subject::path(path)).with_hint(hint));
            }
        };
        let kinds = self.source.examine(&file, &columns, None, &cancel)?.kinds;
        let mut blocks = self.source.blocks(&file, Position::default(), BLOCK_BYTES, &cancel)?;
        let (mut starts, mut spare) = (vec![blocks.position()], Vec::new());
        while let Some(block) = blocks.next(spare)? {
            starts.push(blocks.position());
            spare = block.bytes;
        }
        let loss = blocks.damage().map(|damage| damage.problem(&file)).or_else(|| blocks.form_damage(&file));
        let fields = Arc::new(RowFields::all(&columns));
        let (source, columns, last) = (self.source, Arc::new(columns), Mutex::default());
        Ok(Box::new(DelimitedTable { source, file, columns, fields, kinds, starts, loss, last }))
    }
}

/// An open file.
#[derive(Debug)]
struct DelimitedTable {
    source: &'static Delimited,
    file: TextFile,
    columns: Arc<Columns>,
    /// Fields for all columns.
    fields: Arc<RowFields>,
    kinds: Vec<CellKinds>,
    /// Position of each block, and of the end.
    starts: Vec<Position>,
    loss: Option<Problem>,
    /// The reader of the last block that was read, and this block.
    last: Mutex<Option<Cursor>>,
}

struct Cursor {
    blocks: Blocks,
    /// Number of `block`.
    number: usize,
    block: Arc<LineRows>,
}

impl std::fmt::Debug for Cursor {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Cursor").field("number", &self.number).finish_non_exhaustive()
    }
}

impl DelimitedTable {
    /// Returns the number of the block that contains a row.
    fn block_of(&self, row: u64) -> usize {
        self.starts.partition_point(|start| start.line <= row).saturating_sub(1)
    }

    /// Reads a block. A reader that is directly before the block continues, so that a compressed file is not decompressed again.
    fn block(&self, number: usize) -> Outcome<Arc<LineRows>> {
        let mut last = self.last.lock();
        if let Some(cursor) = last.as_ref().filter(|cursor| cursor.number == number) {
            return Ok(Arc::clone(&cursor.block));
        }
        let changed = || {
            Failure::data("reading the rows", "the file changed while it was read").on(Subject::path(&self.file.path))
        };
        let start = *self.starts.get(number).ok_or_else(changed)?;
        let mut blocks = match last.take().filter(|cursor| cursor.number + 1 == number) {
            Some(cursor) => cursor.blocks,
            None => self.source.blocks(&self.file, start, BLOCK_BYTES, &Cancel::default())?,
        };
        let block: Block = blocks.next(Vec::new())?.ok_or_else(changed)?;
        let rows = LineRows { block, columns: Arc::clone(&self.columns), fields: Arc::clone(&self.fields) };
        let block = Arc::new(rows);
        *last = Some(Cursor { blocks, number, block: Arc::clone(&block) });
        Ok(block)
    }

    /// Returns the problem of a row that is left out.
    fn problem(&self, row: u64, why: &str) -> Problem {
        Problem::problem(ProblemKind::NoText, Subject::path(&self.file.path), format!("row {row}: {why}"))
    }
}

impl Table for DelimitedTable {
    fn rows(&self) -> u64 {
        self.starts.last().map_or(0, |end| end.line)
    }

    fn row_bytes(&self) -> u64 {
        self.starts.last().map_or(0, |end| end.offset) / self.rows().max(1)
    }

    fn group_of(&self, row: u64) -> Range<u64> {
        let number = self.block_of(row);
        let line = |number: usize| self.starts.get(number).map_or(row, |start| start.line);
        line(number)..line(number + 1)
    }

    fn summary(&self) -> TableSummary {
        let column = |(name, kind): (&String, &CellKinds)| TableColumn {
            name: name.clone(),
            type_name: kind.not_text().unwrap_or("string").to_owned(),
            bytes: None,
            unpacked_bytes: None,
        };
        let columns = self.columns.names.iter().zip(&self.kinds).map(column).collect();
        let codecs = if self.file.packing.is_plain() { Vec::new() } else { vec![self.file.packing.title().to_owned()] };
        TableSummary { rows: self.rows(), columns, codecs, ..TableSummary::default() }
    }

    fn loss(&self) -> Option<Problem> {
        self.loss.clone()
    }

    fn row_problems(&self, cancel: &Cancel) -> Outcome<Vec<Problem>> {
        let units = self.check_units();
        units.first().map_or(Ok(Vec::new()), |unit| Ok(self.check(unit, false, cancel)?.problems))
    }

    fn json_rows(&self, rows: Range<u64>, most_bytes: usize, out: &mut Vec<u8>) -> Outcome<u64> {
        let (begin, mut next) = (out.len(), rows.start);
        while next < rows.end.min(self.rows()) && (out.len() - begin < most_bytes || next == rows.start) {
            let before = next;
            let read = self.block(self.block_of(next)).and_then(|block| {
                block.decode_rows(next..rows.end, &mut |found| {
                    for row in found {
                        if next > rows.start && out.len() - begin >= most_bytes {
                            break;
                        }
                        match row.text {
                            Some(Text::Unreadable(why)) => {
                                return Err(row_not_shown(&self.file.path, row.number, why));
                            }
                            _ => out.extend_from_slice(row.line),
                        }
                        out.push(b'\n');
                        next = row.number + 1;
                    }
                    Ok(())
                })
            });
            // Rows before a row that cannot be shown are returned.
            if next == before {
                if next > rows.start {
                    break;
                }
                out.truncate(begin);
                read?;
                return Ok(0);
            }
        }
        Ok(next - rows.start)
    }

    fn check_units(&self) -> Vec<TableUnit> {
        let unit = TableUnit { row_group: 0, bytes: self.file.bytes };
        if self.rows() > 0 {
            vec![unit]
        } else {
            Vec::new()
        }
    }

    fn check(&self, _: &TableUnit, _: bool, cancel: &Cancel) -> Outcome<TableFindings> {
        let mut findings = TableFindings::default();
        for number in 0..self.starts.len().saturating_sub(1) {
            cancel.check()?;
            self.block(number)?.check(&mut |row, why| {
                findings.rows += 1;
                if row.is_multiple_of(ROWS_BETWEEN_CHECKS) {
                    cancel.check()?;
                }
                match (why, findings.problems.len()) {
                    (Some(why), ..MAX_REPORTED_ROWS) => findings.problems.push(self.problem(row, &why)),
                    (Some(why), MAX_REPORTED_ROWS) => {
                        let why = format!("{why}; more rows may be left out");
                        findings.problems.push(self.problem(row, &why));
                    }
                    _ => {}
                }
                Ok(())
            })?;
        }
        Ok(findings)
    }
}
