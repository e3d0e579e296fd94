//! Reads rewritten files with the crate `parquet` and with this crate.

use super::{EditRow, Rewriter, CREATED_BY};
use crate::tests::{open, open_bytes, write};
use crate::{ParquetFile, Value};
use arrow_array::cast::AsArray as _;
use arrow_array::types::Int32Type;
use arrow_array::{
    Array as _, ArrayRef, BinaryArray, DictionaryArray, Int64Array, ListArray, RecordBatch, StringArray,
    StringViewArray, StructArray,
};
use arrow_schema::{Field, Fields, Schema};
use bytes::Bytes;
use gristmill_core::{ExitClass, Outcome};
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::basic::Compression;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, SortingColumn};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder, WriterVersion};
use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Number of rows in a row group of the test files.
const GROUP_ROWS: usize = 700;

/// Returns the text of a row; some are null, empty, long, or repeated.
fn text(row: usize) -> Option<String> {
    match row % 11 {
        0 => None,
        1 => Some(String::new()),
        2 => Some("a text that repeats".to_owned()),
        3 => Some(format!("é{row}").repeat(40)),
        _ => Some(format!("row {row} of the text")),
    }
}

/// Returns the ranges of a text: the second and the third character, and the whole of a short text.
fn ranges_of(text: &str) -> Vec<Range<usize>> {
    let at = |number: usize| text.char_indices().nth(number).map_or(text.len(), |(at, _)| at);
    match text.len() {
        0 => Vec::new(),
        1..=12 => std::iter::once(0..text.len()).collect(),
        _ if text.starts_with('a') => Vec::new(),
        _ => vec![at(1)..at(3), at(5)..at(6)],
    }
}

fn without(text: &str) -> String {
    let ranges = ranges_of(text);
    text.char_indices().filter(|(at, _)| !ranges.iter().any(|range| range.contains(at))).map(|(_, c)| c).collect()
}

fn edit(_: u64, value: Value<'_>, ranges: &mut Vec<Range<usize>>) -> Outcome<()> {
    if let Value::Text(text) = value {
        ranges.extend(ranges_of(text));
    }
    Ok(())
}

fn rewrite(file: &ParquetFile, key: &str, ranges: Option<&str>) -> Vec<u8> {
    let (mut bytes, mut edit) = (Vec::new(), edit);
    let edit: &mut EditRow<'_> = &mut edit;
    let column = file.column(key).unwrap();
    let mut write = |part: &[u8]| {
        bytes.extend_from_slice(part);
        Ok(())
    };
    Rewriter::new(file, &column, ranges, &[]).unwrap().write(edit, &mut write).unwrap();
    bytes
}

/// Reads a whole file with every index and checksum.
fn read(bytes: &[u8]) -> (RecordBatch, Arc<ParquetMetaData>) {
    let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Optional);
    let builder =
        ParquetRecordBatchReaderBuilder::try_new_with_options(Bytes::copy_from_slice(bytes), options).unwrap();
    let (schema, metadata) = (Arc::clone(builder.schema()), Arc::clone(builder.metadata()));
    let batches: Vec<RecordBatch> = builder.with_batch_size(1 << 20).build().unwrap().map(Result::unwrap).collect();
    assert_eq!(batches.len(), 1);
    (RecordBatch::try_new(schema, batches[0].columns().to_vec()).unwrap(), metadata)
}

/// Returns a table with a text column between other columns, and a text inside structs.
fn table(rows: usize) -> RecordBatch {
    let texts: Vec<Option<String>> = (0..rows).map(text).collect();
    let strings: ArrayRef = Arc::new(StringArray::from(texts.clone()));
    let inner: ArrayRef = Arc::new(StringViewArray::from_iter(texts.clone()));
    let deep = StructArray::try_new(
        Fields::from(vec![Field::new("deep", inner.data_type().clone(), true)]),
        vec![inner],
        Some((0..rows).map(|row| row % 5 != 0).collect::<Vec<bool>>().into()),
    );
    let labels: DictionaryArray<Int32Type> = texts.iter().map(|text| text.as_deref().map(|text| &text[..0])).collect();
    let lists = ListArray::from_iter_primitive::<arrow_array::types::Int64Type, _, _>(
        (0..rows as i64).map(|row| (row % 3 > 0).then(|| (0..row % 4).map(Some))),
    );
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows as i64));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("number", numbers),
        ("text", strings),
        ("list", Arc::new(lists)),
        ("meta", Arc::new(deep.unwrap())),
        ("label", Arc::new(labels)),
    ];
    let fields: Vec<Field> = columns
        .iter()
        .enumerate()
        .map(|(index, (name, array))| {
            let id = HashMap::from([("PARQUET:field_id".to_owned(), (index + 7).to_string())]);
            Field::new(*name, array.data_type().clone(), *name != "number").with_metadata(id)
        })
        .collect();
    let metadata = HashMap::from([("huggingface".to_owned(), "{\"info\": 1}".to_owned())]);
    let schema = Schema::new_with_metadata(fields, metadata);
    RecordBatch::try_new(Arc::new(schema), columns.into_iter().map(|(_, array)| array).collect()).unwrap()
}

fn properties() -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_data_page_row_count_limit(150)
        .set_write_batch_size(50)
}

/// Returns the formats of the files that are tested.
fn kinds() -> Vec<WriterProperties> {
    let mut all = Vec::new();
    for codec in [Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::ZSTD(Default::default())] {
        for (version, dictionary) in [
            (WriterVersion::PARQUET_1_0, true),
            (WriterVersion::PARQUET_2_0, true),
            (WriterVersion::PARQUET_2_0, false),
        ] {
            let properties = properties().set_compression(codec).set_writer_version(version);
            all.push(properties.set_dictionary_enabled(dictionary).set_bloom_filter_enabled(dictionary).build());
        }
    }
    for codec in [Compression::GZIP(Default::default()), Compression::BROTLI(Default::default()), Compression::LZ4_RAW]
    {
        all.push(properties().set_compression(codec).set_statistics_enabled(EnabledStatistics::None).build());
    }
    all
}

#[test]
fn rewrite_changes_only_the_texts() {
    let dir = tempfile::tempdir().unwrap();
    let rows = 3 * GROUP_ROWS + 17;
    let table = table(rows);
    for properties in kinds() {
        let bytes = write(std::slice::from_ref(&table), properties);
        let (before, old) = read(&bytes);
        let file = open_bytes(dir.path(), &bytes).unwrap();
        for key in ["text", "meta.deep"] {
            let written = rewrite(&file, key, None);
            let (after, new) = read(&written);
            assert_eq!(after.schema(), before.schema());
            assert_eq!(new.file_metadata().schema(), old.file_metadata().schema());
            assert_eq!(new.file_metadata().key_value_metadata(), old.file_metadata().key_value_metadata());
            assert_eq!(new.file_metadata().created_by(), Some(CREATED_BY));
            for (column, field) in before.schema().fields().iter().enumerate() {
                let is_edited = key.starts_with(field.name().as_str());
                assert_eq!(is_edited, before.column(column) != after.column(column), "{key} {}", field.name());
            }
            assert_same_groups(&old, &new);
            let texts: Vec<Option<String>> = match key {
                "text" => after["text"].as_string::<i32>().iter().map(|text| text.map(str::to_owned)).collect(),
                _ => after["meta"]
                    .as_struct()
                    .column(0)
                    .as_string_view()
                    .iter()
                    .map(|text| text.map(str::to_owned))
                    .collect(),
            };
            for (row, found) in texts.into_iter().enumerate() {
                let is_null = key != "text" && row % 5 == 0;
                assert_eq!(found, text(row).filter(|_| !is_null).map(|text| without(&text)), "{key} {row}");
            }
        }
    }
}

/// Compares everything that does not depend on the pages of texts.
fn assert_same_groups(old: &ParquetMetaData, new: &ParquetMetaData) {
    assert_eq!(new.num_row_groups(), old.num_row_groups());
    for (old_group, new_group) in old.row_groups().iter().zip(new.row_groups()) {
        assert_eq!(new_group.num_rows(), old_group.num_rows());
        for (old_column, new_column) in old_group.columns().iter().zip(new_group.columns()) {
            assert_eq!(new_column.compression(), old_column.compression());
            assert_eq!(new_column.num_values(), old_column.num_values());
            assert_eq!(new_column.statistics().is_some(), old_column.statistics().is_some());
            assert_eq!(new_column.offset_index_range().is_some(), old_column.offset_index_range().is_some());
            assert_eq!(new_column.column_index_range().is_some(), old_column.column_index_range().is_some());
            if old_column.column_path().string().ends_with('r') {
                assert_eq!(new_column.statistics(), old_column.statistics());
                assert_eq!(new_column.bloom_filter_length(), old_column.bloom_filter_length());
            }
        }
    }
}

#[test]
fn rewrite_adds_ranges_as_a_column() {
    let dir = tempfile::tempdir().unwrap();
    let table = table(2 * GROUP_ROWS + 5);
    for properties in kinds() {
        let bytes = write(std::slice::from_ref(&table), properties);
        let file = open_bytes(dir.path(), &bytes).unwrap();
        let (before, old) = read(&bytes);
        let (after, new) = read(&rewrite(&file, "text", Some("ranges")));
        assert_eq!(after.columns()[..5], before.columns()[..]);
        assert_eq!(after.schema().metadata(), before.schema().metadata());
        assert_same_groups(&old, &new);
        let lists = after["ranges"].as_list::<i32>();
        for row in 0..after.num_rows() {
            let expected = text(row).map(|text| ranges_of(&text));
            let found = (!lists.is_null(row)).then(|| {
                let list = lists.value(row);
                let numbers = |index: usize| {
                    list.as_struct().column(index).as_primitive::<arrow_array::types::UInt64Type>().values().to_vec()
                };
                numbers(0).into_iter().zip(numbers(1)).map(|(start, end)| start as usize..end as usize).collect()
            });
            assert_eq!(found, expected, "{row}");
        }
        let refused = Rewriter::new(&file, &file.column("text").unwrap(), Some("label"), &[]).unwrap_err();
        assert_eq!(refused.class, ExitClass::Data);
    }
}

#[test]
fn values_that_are_not_text_are_copied() {
    let dir = tempfile::tempdir().unwrap();
    let values: [Option<&[u8]>; 4] = [Some(b"\xff\xfe"), None, Some(b"some text that is long"), Some(b"")];
    let column: ArrayRef = Arc::new(BinaryArray::from_iter(values));
    let batch = crate::tests::batch(vec![("text", column)]);
    let file = open_bytes(dir.path(), &write(&[batch], WriterProperties::default())).unwrap();
    let (after, _) = read(&rewrite(&file, "text", None));
    let found: Vec<Option<&[u8]>> = after["text"].as_binary::<i32>().iter().collect();
    assert_eq!(found[..2], values[..2]);
    assert_eq!(found[2], Some(without("some text that is long").as_bytes()));
}

#[test]
fn rewrite_drops_the_sorting_by_changed_texts() {
    let dir = tempfile::tempdir().unwrap();
    let order = |leaf: i32| SortingColumn { column_idx: leaf, descending: false, nulls_first: true };
    for (before, after) in [
        (vec![order(0), order(1), order(2)], Some(vec![order(0)])),
        (vec![order(1)], None),
        (vec![order(2), order(0)], Some(vec![order(2), order(0)])),
    ] {
        let properties = properties().set_sorting_columns(Some(before)).build();
        let file = open_bytes(dir.path(), &write(&[table(30)], properties)).unwrap();
        let (_, metadata) = read(&rewrite(&file, "text", None));
        assert_eq!(metadata.row_group(0).sorting_columns(), after.as_ref());
    }
}

#[test]
fn rewrite_of_files_of_other_programs_keeps_their_content() {
    let dir = tempfile::tempdir().unwrap();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")];
    let mut count = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(file) = open(&path) {
                count += file.text_columns().iter().filter(|key| is_same_again(&file, key, dir.path())).count();
            }
        }
    }
    assert!(count > 20, "{count}");
}

/// Rewrites a file without changes, and returns whether its column can be read. Panics if the new column differs.
fn is_same_again(file: &ParquetFile, key: &str, folder: &Path) -> bool {
    let column = file.column(key).unwrap();
    let expected = crate::tests::read_from(file, &column, 0, 1 << 20);
    // Rewriting is refused if another column is encrypted.
    let Ok(rewriter) = Rewriter::new(file, &column, None, &[]) else { return false };
    if expected.2.is_some() {
        return false;
    }
    let mut bytes = Vec::new();
    let keep: &mut EditRow<'_> = &mut |_, _, _| Ok(());
    let mut write = |part: &[u8]| {
        bytes.extend_from_slice(part);
        Ok(())
    };
    rewriter.write(keep, &mut write).unwrap();
    let again = open_bytes(folder, &bytes).unwrap();
    let column = again.column(key).unwrap();
    assert_eq!(crate::tests::read_from(&again, &column, 0, 1 << 20).0, expected.0, "{key}");
    true
}
