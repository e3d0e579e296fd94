//! Compares files that pyarrow wrote with the reader of the crate `parquet`.

use super::{data, open, read, texts};
use crate::ColumnProblem;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fs::File;
use std::path::Path;

fn strings(array: &ArrayRef) -> Vec<Option<String>> {
    let owned = |text: Option<&str>| text.map(str::to_owned);
    match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().iter().map(owned).collect(),
        DataType::LargeUtf8 => array.as_string::<i64>().iter().map(owned).collect(),
        DataType::Utf8View => array.as_string_view().iter().map(owned).collect(),
        DataType::Null => vec![None; array.len()],
        DataType::Dictionary(..) => {
            let keyed = array.as_any_dictionary();
            let values = strings(keyed.values());
            let keys = keyed.normalized_keys();
            (0..array.len()).map(|row| array.is_valid(row).then(|| values[keys[row]].clone()).flatten()).collect()
        }
        other => panic!("{other}"),
    }
}

fn expected(path: &Path, column: &str) -> Vec<Option<String>> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap().build().unwrap();
    reader.flat_map(|batch| strings(batch.unwrap().column_by_name(column).unwrap())).collect()
}

fn files(folder: &str) -> Vec<std::path::PathBuf> {
    let mut paths: Vec<_> = std::fs::read_dir(data(folder)).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

#[test]
fn texts_match_the_parquet_crate() {
    let mut count = 0;
    for folder in ["p01", "p02", "p03", "p08"] {
        for path in files(folder) {
            let file = open(&path).unwrap();
            for block_bytes in [1, 300, 1 << 20] {
                assert_eq!(read(&file, "text", block_bytes), texts(expected(&path, "text")), "{}", path.display());
            }
            count += 1;
        }
    }
    assert_eq!(count, 21);
}

#[test]
fn text_is_read_through_a_path_of_structs() {
    let path = data("p12/a.parquet");
    let file = open(&path).unwrap();
    let found = read(&file, "meta.deep.x", 1000);
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(&path).unwrap()).unwrap().build().unwrap();
    let inner = |batch: RecordBatch| {
        let meta = batch.column_by_name("meta").unwrap().as_struct().clone();
        let deep = meta.column_by_name("deep").unwrap().as_struct().clone();
        let texts = strings(deep.column_by_name("x").unwrap());
        let is_valid = move |row: usize| meta.is_valid(row) && deep.is_valid(row);
        texts.into_iter().enumerate().map(move |(row, text)| text.filter(|_| is_valid(row)))
    };
    assert_eq!(found, texts(reader.flat_map(|batch| inner(batch.unwrap()))));
    assert!(matches!(file.column("meta.deep"), Err(ColumnProblem::NotText { described }) if described == "a struct"));
    assert_eq!(file.column("meta.deep.y.z"), Err(ColumnProblem::Missing));
}

#[test]
fn column_name_with_a_dot_takes_precedence_over_a_path() {
    let path = data("p13/a.parquet");
    let file = open(&path).unwrap();
    let name = file.text_columns().into_iter().find(|name| name.contains('.')).unwrap();
    assert_eq!(read(&file, &name, 1000), texts(expected(&path, &name)));
}

#[test]
fn lfs_pointers_and_cut_files_are_refused_with_a_hint() {
    assert!(open(&data("p19/a.parquet")).is_ok());
    let failure = open(&data("p19/b.parquet")).unwrap_err();
    assert!(failure.why.contains("Git LFS") && failure.hint.unwrap().contains("git lfs pull"));
    assert!(open(&data("p20/a.parquet")).is_ok());
    let failure = open(&data("p20/b.parquet")).unwrap_err();
    assert!(failure.why.contains("cut short"), "{failure}");
}
