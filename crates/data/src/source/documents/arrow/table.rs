//! Arrow files as data sets of their own.

use super::super::columns::TOO_LONG;
use super::super::table::{row_not_shown, Table, TableColumn, TableFindings, TableFormat, TableSummary, TableUnit};
use super::batch::{Batch, BatchReader};
use super::file::ArrowFile;
use super::rows::decode_json;
use crate::source::documents::{Row, Text};
use arrow_schema::{DataType, Fields};
use gristmill_core::{Cancel, ExitClass, Failure, Mutex, Outcome, Problem, ProblemKind, Subject, TableKind};
use gristmill_storage::read::open_any;
use std::fmt::Write as _;
use std::ops::Range;
use std::path::Path;

/// The format in the registry of tables.
pub(super) const FORMAT: &dyn TableFormat = &ArrowFormat;

static KIND: TableKind = TableKind { id: "arrow", folder_id: "arrow-folder", title: "Arrow" };

/// Maximum length in bytes of a type name; nested types may have many fields.
const MAX_TYPE_BYTES: usize = 400;
/// Rows between two checks for cancellation.
const CANCEL_CHECK_EVERY: u64 = 1024;
/// Maximum number of rows of a record batch that are reported individually.
const MAX_REPORTED_ROWS: u64 = 20;

/// Callback for a row, and the reason why one of its texts cannot be read.
type TakeRow<'t> = dyn FnMut(&Row<'_>, Option<&'static str>) -> Outcome<()> + 't;

#[derive(Debug)]
struct ArrowFormat;

impl TableFormat for ArrowFormat {
    fn kind(&self) -> &'static TableKind {
        &KIND
    }

    fn open(&self, path: &Path) -> Outcome<Box<dyn Table>> {
        let file = ArrowFile::open(open_any(path)?, &Cancel::default())?;
        Ok(Box::new(ArrowTable { file, idle: Mutex::default() }))
    }
}

/// An open file, and readers of its record batches for later checks, which need not read the dictionaries again.
#[derive(Debug)]
struct ArrowTable {
    file: ArrowFile,
    idle: Mutex<Vec<BatchReader>>,
}

impl ArrowTable {
    /// Returns a new reader of all columns.
    fn reader(&self) -> BatchReader {
        BatchReader::new(&self.file, self.file.schema().columns(None))
    }
}

/// Takes a reader that can read a record batch.
fn take_reader(idle: &mut Vec<BatchReader>, number: usize) -> Option<BatchReader> {
    let at = idle.iter().position(|reader| reader.can_read(number))?;
    Some(idle.swap_remove(at))
}

impl Table for ArrowTable {
    fn rows(&self) -> u64 {
        self.file.rows()
    }

    fn row_bytes(&self) -> u64 {
        self.file.file().len() / self.file.rows().max(1)
    }

    fn group_of(&self, row: u64) -> Range<u64> {
        self.file.batch(self.file.batch_of(row)).map_or(row..row, |(batch, first)| first..batch.row_end)
    }

    fn summary(&self) -> TableSummary {
        let column = |(name, data_type): (&str, &DataType)| {
            let mut type_name = String::new();
            write_type(data_type, &mut type_name);
            TableColumn { name: name.to_owned(), type_name, bytes: None, unpacked_bytes: None }
        };
        TableSummary {
            rows: self.file.rows(),
            row_groups: self.file.batches() as u64,
            columns: self.file.schema().fields().map(column).collect(),
            ..TableSummary::default()
        }
    }

    fn loss(&self) -> Option<Problem> {
        self.file.loss()
    }

    fn json_rows(&self, rows: Range<u64>, most_bytes: usize, out: &mut Vec<u8>) -> Outcome<u64> {
        let (begin, mut next, mut is_full) = (out.len(), rows.start, false);
        let mut reader = self.reader();
        while next < rows.end.min(self.file.rows()) && !is_full {
            let Some(batch) = reader.read(self.file.batch_of(next))? else { break };
            let end = rows.end.min(batch.first_row + batch.rows as u64);
            let appended = each_row(&self.file, &batch, next..end, &mut |row, why| {
                if why == Some(TOO_LONG) {
                    // The rows before it are returned.
                    is_full = row.number > rows.start;
                    return Err(row_not_shown(self.file.file().path(), row.number, TOO_LONG));
                }
                out.extend_from_slice(row.line);
                out.push(b'\n');
                next += 1;
                is_full = out.len() - begin >= most_bytes;
                // Cancelling ends the iteration over the rows.
                if is_full {
                    Err(Failure::cancelled())
                } else {
                    Ok(())
                }
            });
            if let Err(failure) = appended {
                if !is_full {
                    out.truncate(begin);
                    return Err(failure);
                }
            }
        }
        Ok(next - rows.start)
    }

    fn check_units(&self) -> Vec<TableUnit> {
        let unit = |number| {
            let bytes = self.file.batch(number).map_or(0, |(batch, _)| batch.end - batch.at);
            TableUnit { row_group: number, bytes }
        };
        (0..self.file.batches()).map(unit).collect()
    }

    fn check(&self, unit: &TableUnit, _: bool, cancel: &Cancel) -> Outcome<TableFindings> {
        cancel.check()?;
        let mut findings = TableFindings::default();
        let idle = || self.idle.lock();
        let found = take_reader(&mut idle(), unit.row_group);
        let mut reader = found.unwrap_or_else(|| self.reader());
        let read = reader.read(unit.row_group).and_then(|batch| {
            let Some(batch) = batch else { return Ok(()) };
            let rows = batch.first_row..batch.first_row + batch.rows as u64;
            findings.rows = rows.end - rows.start;
            let mut bad = 0;
            each_row(&self.file, &batch, rows, &mut |row, why| {
                if let Some(why) = why {
                    bad += 1;
                    report(&self.file, (row.number, &row.with_column(why)), bad, &mut findings.problems);
                }
                if row.number.is_multiple_of(CANCEL_CHECK_EVERY) {
                    cancel.check()?;
                }
                Ok(())
            })
        });
        match read {
            Ok(()) => {
                match unit.row_group + 1 < self.file.batches() {
                    true => idle().push(reader),
                    // Releases the dictionaries.
                    false => idle().clear(),
                }
                Ok(findings)
            }
            Err(failure) if failure.class == ExitClass::Data => {
                findings.problems.push(damage(failure));
                Ok(findings)
            }
            Err(failure) => Err(failure),
        }
    }
}

/// Passes rows to `take`.
fn each_row(file: &ArrowFile, batch: &Batch, rows: Range<u64>, take: &mut TakeRow<'_>) -> Outcome<()> {
    let contents = file.schema().contents(&file.schema().columns(None));
    let in_batch = |row: u64| usize::try_from(row.saturating_sub(batch.first_row)).unwrap_or(usize::MAX);
    let range = in_batch(rows.start)..in_batch(rows.end).min(batch.rows);
    decode_json(batch, batch.decode()?, &contents, range, &mut |rows| {
        rows.iter().try_for_each(|row| match row.text {
            Some(Text::Unreadable(why)) => take(row, Some(why)),
            _ => take(row, None),
        })
    })
}

fn report(file: &ArrowFile, (row, why): (u64, &str), bad: u64, problems: &mut Vec<Problem>) {
    let message = match bad {
        ..=MAX_REPORTED_ROWS => format!("row {row}: {why}"),
        bad if bad == MAX_REPORTED_ROWS + 1 => format!("row {row}, and maybe more of its record batch: {why}"),
        _ => return,
    };
    problems.push(Problem::problem(ProblemKind::NoText, Subject::path(file.file().path()), message));
}

fn damage(failure: Failure) -> Problem {
    Problem::of_failure(ProblemKind::BadFile, failure)
}

fn write_type(data_type: &DataType, out: &mut String) {
    if out.len() > MAX_TYPE_BYTES {
        if !out.ends_with('…') {
            out.push('…');
        }
        return;
    }
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => out.push_str("string"),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => out.push_str("binary"),
        DataType::Dictionary(_, entries) => write_type(entries, out),
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            out.push_str("list<");
            write_type(item.data_type(), out);
            out.push('>');
        }
        DataType::Struct(fields) => write_fields("struct<", fields, out),
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) => write_fields("map<", fields, out),
            _ => out.push_str("map"),
        },
        other => {
            let _ = write!(out, "{}", format!("{other}").to_lowercase());
        }
    }
}

fn write_fields(open: &str, fields: &Fields, out: &mut String) {
    out.push_str(open);
    for (number, field) in fields.iter().enumerate() {
        if number > 0 {
            out.push_str(", ");
        }
        if out.len() > MAX_TYPE_BYTES {
            out.push('…');
            break;
        }
        let _ = write!(out, "{}: ", field.name());
        write_type(field.data_type(), out);
    }
    out.push('>');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dictionaries_are_read_once_for_checks_in_order() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/arrow/layouts");
        for name in ["deltas.arrow", "deltas_file.arrow", "zstd.arrow"] {
            let open = || {
                let file = ArrowFile::open(open_any(&folder.join(name)).unwrap(), &Cancel::default()).unwrap();
                ArrowTable { file, idle: Mutex::default() }
            };
            let check = |table: &ArrowTable, units: &[TableUnit]| {
                let checks = units.iter().map(|unit| table.check(unit, true, &Cancel::default()).unwrap());
                checks.for_each(|found| assert!(found.problems.is_empty(), "{name} {found:?}"));
            };
            let table = open();
            let mut units = table.check_units();
            let idle = || table.idle.lock().len();
            check(&table, &units[..2]);
            assert!(idle() == 1 && units.len() > 2, "{name}");
            check(&table, &units[2..]);
            assert_eq!(idle(), 0, "{name}");
            units.reverse();
            check(&open(), &units);
        }
    }
}
