//! Tests with whole files: written by the tests, and by other programs (`tests/data/`).

pub(crate) mod damage;
mod golden;
mod matrix;

use crate::{ParquetFile, TextBlocks, TextColumn, TextDecoder, Value};
use arrow_array::{ArrayRef, RecordBatch};
use gristmill_core::{Failure, Outcome};
use gristmill_storage::read::open_any;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A value with an owned text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OwnedValue {
    Text(String),
    Null,
    NotUtf8,
    TooLong(u64),
}

impl From<Value<'_>> for OwnedValue {
    fn from(value: Value<'_>) -> Self {
        match value {
            Value::Text(text) => Self::Text(text.to_owned()),
            Value::Null => Self::Null,
            Value::NotUtf8 => Self::NotUtf8,
            Value::TooLong(size) => Self::TooLong(size),
        }
    }
}

pub(crate) fn texts<T: Into<String>>(values: impl IntoIterator<Item = Option<T>>) -> Vec<OwnedValue> {
    values.into_iter().map(|value| value.map_or(OwnedValue::Null, |text| OwnedValue::Text(text.into()))).collect()
}

/// Returns the path of a file that another program wrote.
pub(crate) fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

pub(crate) fn open(path: &Path) -> Outcome<ParquetFile> {
    ParquetFile::open(Arc::new(open_any(path)?))
}

/// Writes a file, and opens it.
pub(crate) fn open_bytes(folder: &Path, bytes: &[u8]) -> Outcome<ParquetFile> {
    let path = folder.join("file.parquet");
    gristmill_storage::publish::write_file(&gristmill_storage::fs::RealFs, &path, bytes, 0o644).unwrap();
    open(&path)
}

pub(crate) fn write(batches: &[RecordBatch], properties: WriterProperties) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batches[0].schema(), Some(properties)).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    writer.close().unwrap();
    bytes
}

pub(crate) fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap()
}

/// Reads a column from a row on; returns the values before a failure, and the failure.
pub(crate) fn read_from(
    file: &ParquetFile,
    column: &TextColumn,
    from_row: u64,
    block_bytes: usize,
) -> (Vec<OwnedValue>, Vec<u64>, Option<Failure>) {
    let mut blocks = TextBlocks::open(file, column, from_row, block_bytes).unwrap();
    let mut decoder = TextDecoder::new();
    let (mut values, mut starts, mut spare) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        let block = match blocks.next(std::mem::take(&mut spare)) {
            Ok(Some(block)) => block,
            Ok(None) => return (values, starts, None),
            Err(failure) => return (values, starts, Some(failure)),
        };
        assert_eq!(block.first_row, from_row + values.len() as u64);
        assert!(file.rows_of(block.row_group).contains(&(block.first_row + block.rows - 1)));
        match decoder.decode(&block) {
            Ok(rows) => {
                assert_eq!(rows.len() as u64, block.rows);
                for (row, value) in rows {
                    assert_eq!(row, from_row + values.len() as u64);
                    values.push(value.into());
                }
            }
            Err(failure) => return (values, starts, Some(failure)),
        }
        starts.push(block.first_row);
        spare = block.into_spare();
    }
}

/// Reads a whole column.
pub(crate) fn read(file: &ParquetFile, key: &str, block_bytes: usize) -> Vec<OwnedValue> {
    let column = file.column(key).unwrap();
    let (values, _, failure) = read_from(file, &column, 0, block_bytes);
    assert_eq!(failure, None);
    assert_eq!(values.len() as u64, file.rows());
    values
}
