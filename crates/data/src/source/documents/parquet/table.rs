//! Parquet files as data sets.

use super::super::columns::{NOT_UTF8, TOO_LONG};
use super::super::table::{row_not_shown, Table, TableColumn, TableFindings, TableFormat, TableSummary, TableUnit};
use gristmill_core::text::{agree, display_safe};
use gristmill_core::{Cancel, ExitClass, Failure, Outcome, Problem, ProblemKind, Subject, TableKind};
use gristmill_parquet::{BadText, ColumnSummary, ParquetFile, TextBlocks, TextDecoder, Value, ENCRYPTED_HINT};
use gristmill_storage::read::open_any;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// The format in the registry of tables.
pub(super) const FORMAT: &dyn TableFormat = &ParquetFormat;

static KIND: TableKind = TableKind { id: "parquet", folder_id: "parquet-folder", title: "Parquet" };

/// Size of the blocks in which texts are checked, in bytes.
const BLOCK_BYTES: usize = 4 << 20;
/// Size of the ranges in which rows are decoded, in bytes.
const RANGE_BYTES: usize = 64 << 20;
/// Maximum number of rows of a column that are reported individually.
const MAX_REPORTED_ROWS: u64 = 20;

#[derive(Debug)]
struct ParquetFormat;

impl TableFormat for ParquetFormat {
    fn kind(&self) -> &'static TableKind {
        &KIND
    }

    fn open(&self, path: &Path) -> Outcome<Box<dyn Table>> {
        Ok(Box::new(ParquetFile::open(Arc::new(open_any(path)?))?))
    }
}

impl Table for ParquetFile {
    fn rows(&self) -> u64 {
        self.rows()
    }

    fn row_bytes(&self) -> u64 {
        let columns = self.summarize_columns();
        let bytes = columns.iter().map(|column| column.unpacked_bytes).fold(0, u64::saturating_add);
        bytes / self.rows().max(1)
    }

    fn group_of(&self, row: u64) -> Range<u64> {
        self.rows_of(self.row_group_of(row))
    }

    fn summary(&self) -> TableSummary {
        let column = |column: ColumnSummary| TableColumn {
            name: column.name,
            type_name: column.type_name,
            bytes: Some(column.bytes),
            unpacked_bytes: Some(column.unpacked_bytes),
        };
        TableSummary {
            rows: self.rows(),
            row_groups: self.row_groups() as u64,
            codecs: self.codecs(),
            writer: self.writer(),
            columns: self.summarize_columns().into_iter().map(column).collect(),
        }
    }

    fn loss(&self) -> Option<Problem> {
        let (readable, encrypted) = self.readable_columns();
        let names = encrypted.iter().map(|name| format!("`{}`", display_safe(name))).collect::<Vec<_>>();
        let (columns, are) = (agree(names.len() as u64, "column", "columns"), agree(names.len() as u64, "is", "are"));
        let message = format!("the {columns} {} {are} encrypted, and not read", names.join(", "));
        let problem = Problem::problem(ProblemKind::Unreadable, Subject::path(self.file().path()), message);
        // If all columns are encrypted, reading the file fails anyway.
        let is_shown_in_part = !encrypted.is_empty() && !readable.is_empty();
        is_shown_in_part.then(|| problem.with_hint(ENCRYPTED_HINT))
    }

    fn json_rows(&self, rows: Range<u64>, most_bytes: usize, out: &mut Vec<u8>) -> Outcome<u64> {
        let (readable, encrypted) = self.readable_columns();
        let columns = (!encrypted.is_empty() && !readable.is_empty()).then_some(readable);
        let begin = out.len();
        let appended = self.json_rows(columns.as_deref(), rows.clone(), most_bytes, out)?;
        match appended.bad_rows.iter().find(|bad| bad.bad == BadText::TooLong) {
            None => Ok(appended.rows),
            Some(bad) => {
                out.truncate(begin);
                if bad.row == rows.start {
                    return Err(row_not_shown(self.file().path(), bad.row, TOO_LONG));
                }
                Table::json_rows(self, rows.start..bad.row, most_bytes, out)
            }
        }
    }

    fn check_units(&self) -> Vec<TableUnit> {
        let unit = |row_group| TableUnit { row_group, bytes: self.row_group_bytes(row_group) };
        (0..self.row_groups()).map(unit).collect()
    }

    fn check(&self, unit: &TableUnit, is_deep: bool, cancel: &Cancel) -> Outcome<TableFindings> {
        let rows = self.rows_of(unit.row_group);
        let mut findings = TableFindings { rows: rows.end - rows.start, ..TableFindings::default() };
        for leaf in 0..self.leaf_columns() {
            cancel.check()?;
            match self.check_pages(unit.row_group, leaf) {
                Ok(counts) => {
                    findings.pages += counts.pages;
                    findings.without_checksum += counts.without_checksum;
                }
                Err(failure) => findings.problems.push(damage(failure)?),
            }
        }
        // Checking the texts of damaged pages would report the damage again.
        if !findings.problems.is_empty() {
            return Ok(findings);
        }
        for column in self.text_columns() {
            if let Err(failure) = check_texts(self, &column, rows.clone(), &mut findings, cancel) {
                findings.problems.push(damage(failure)?);
            }
        }
        if is_deep && findings.problems.is_empty() {
            let mut bytes = Vec::new();
            let mut left = rows.clone();
            while !left.is_empty() {
                cancel.check()?;
                bytes.clear();
                match self.json_rows(None, left.clone(), RANGE_BYTES, &mut bytes) {
                    Ok(appended) => left.start += appended.rows.max(1),
                    Err(failure) => {
                        findings.problems.push(damage(failure)?);
                        break;
                    }
                }
            }
        }
        Ok(findings)
    }
}

/// Reports the texts of a row group that cannot be read.
fn check_texts(
    file: &ParquetFile,
    path: &str,
    rows: Range<u64>,
    findings: &mut TableFindings,
    cancel: &Cancel,
) -> Outcome<()> {
    let Ok(column) = file.column(path) else { return Ok(()) };
    let mut blocks = TextBlocks::open(file, &column, rows.start, BLOCK_BYTES)?;
    let (mut decoder, mut spare, mut bad) = (TextDecoder::default(), Vec::new(), 0_u64);
    while let Some(block) = blocks.next(spare)?.filter(|block| block.first_row < rows.end) {
        cancel.check()?;
        for (row, value) in decoder.decode(&block)? {
            let why = match value {
                Value::Text(_) | Value::Null => continue,
                Value::NotUtf8 => NOT_UTF8,
                Value::TooLong(_) => TOO_LONG,
            };
            bad += 1;
            if bad <= MAX_REPORTED_ROWS {
                let message = format!("row {row} of column `{path}`: {why}");
                let subject = Subject::path(file.file().path());
                findings.problems.push(Problem::problem(ProblemKind::NoText, subject, message));
            }
        }
        spare = block.into_spare();
    }
    if let Some(more) = bad.checked_sub(MAX_REPORTED_ROWS).filter(|more| *more > 0) {
        let message = format!("{more} more rows of column `{path}` have no readable text");
        let subject = Subject::path(file.file().path());
        findings.problems.push(Problem::problem(ProblemKind::NoText, subject, message));
    }
    Ok(())
}

/// Converts a failure because of damage to a problem; returns any other failure, which ends the check.
fn damage(failure: Failure) -> Outcome<Problem> {
    if failure.class != ExitClass::Data {
        return Err(failure);
    }
    Ok(Problem::of_failure(ProblemKind::BadFile, failure))
}
