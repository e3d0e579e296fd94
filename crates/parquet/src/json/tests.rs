//! Compares rows as JSON with the values that pyarrow and Python's json module produce.

use crate::tests::{batch, data, open, open_bytes, write};
use crate::{AppendedRows, BadRow, BadText, ParquetFile, MAX_TEXT_BYTES};
use arrow_array::{ArrayRef, BinaryArray, Int64Array, RecordBatch, StringArray};
use gristmill_core::ExitClass;
use parquet::basic::{Compression, Encoding};
use parquet::data_type::{ByteArray, ByteArrayType, FixedLenByteArray, FixedLenByteArrayType, Int96, Int96Type};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use serde_json::{json, Value};
use std::ops::Range;
use std::sync::Arc;

fn rows_of(file: &ParquetFile, columns: Option<&[&str]>, rows: Range<u64>) -> Vec<Value> {
    let names: Option<Vec<String>> = columns.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
    let mut out = b"before".to_vec();
    assert_eq!(file.json_rows(names.as_deref(), rows, usize::MAX, &mut out).unwrap().bad_rows, []);
    let text = std::str::from_utf8(&out).unwrap().strip_prefix("before").unwrap();
    assert!(text.is_empty() || text.ends_with('\n'));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn json_of_every_parquet_type_matches_the_expected_rows() {
    let expected = std::fs::read_to_string(data("types.jsonl")).unwrap();
    let expected: Vec<Value> = expected.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for name in ["types.parquet", "types_2.parquet"] {
        let file = open(&data(name)).unwrap();
        let found = rows_of(&file, None, 0..3);
        for (found, expected) in found.iter().zip(&expected) {
            for (key, value) in expected.as_object().unwrap() {
                assert_eq!(&found[key], value, "{name} {key}");
            }
            let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
            assert_eq!(keys(found), keys(expected));
        }
        assert_eq!(found.len(), 3);
    }
}

#[test]
fn json_rows_contain_only_the_chosen_columns_and_rows() {
    let file = open(&data("types_2.parquet")).unwrap();
    let found = rows_of(&file, Some(&["struct", "int8", "absent"]), 1..3);
    let expected = [json!({"int8": null, "struct": {"a.b": null, "deep": null}}), json!({"int8": 127, "struct": null})];
    assert_eq!(found, expected);
    assert_eq!(rows_of(&file, Some(&[]), 0..3), [json!({}), json!({}), json!({})]);
    assert_eq!(rows_of(&file, Some(&["int8"]), 2..900), [json!({"int8": 127})]);
    assert_eq!(rows_of(&file, Some(&["int8"]), 3..9), [] as [Value; 0]);
}

#[test]
fn ranges_cover_all_rows_once_and_give_the_same_rows() {
    let folder = tempfile::tempdir().unwrap();
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..5000));
    let text: ArrayRef = Arc::new(StringArray::from_iter_values((0..5000).map(|row| "x".repeat(row % 90))));
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(1700));
    let bytes = write(&[batch(vec![("id", ids), ("text", text)])], properties.build());
    let file = open_bytes(folder.path(), &bytes).unwrap();
    let columns = ["id".to_owned()];
    for (columns, block_bytes) in [(None, 1 << 30), (None, 10_000), (None, 1), (Some(&columns[..]), 10_000), (None, 0)]
    {
        let ranges: Vec<_> = file.row_ranges(columns, block_bytes).collect();
        let mut next = 0;
        for range in &ranges {
            assert_eq!(range.start, next);
            assert_eq!(file.row_group_of(range.start), file.row_group_of(range.end - 1));
            next = range.end;
        }
        assert_eq!(next, 5000);
        assert_eq!(ranges.len() == 3, block_bytes == 1 << 30, "{block_bytes} {}", ranges.len());
        assert_eq!(ranges.len() == 5000, block_bytes <= 1);
    }
    let rows: Vec<_> = file.row_ranges(None, 9000).flat_map(|range| rows_of(&file, None, range)).collect();
    assert!(rows.iter().enumerate().all(|(row, value)| value["id"] == row && value["text"] == "x".repeat(row % 90)));
    assert_eq!(rows_of(&file, None, 1600..1800), rows[1600..1800]);
}

#[test]
fn rows_with_invalid_utf8_are_returned() {
    let folder = tempfile::tempdir().unwrap();
    let schema = "message m { required binary text (UTF8); }";
    let bytes = write_column::<ByteArrayType>(schema, &[ByteArray::from("fine"), ByteArray::from(b"a\xFFb".to_vec())]);
    let file = open_bytes(folder.path(), &bytes).unwrap();
    let mut out = Vec::new();
    let bad = BadRow { row: 1, bad: BadText::NotUtf8, column: Some("text".to_owned()) };
    assert_eq!(file.json_rows(None, 0..2, usize::MAX, &mut out).unwrap().bad_rows, [bad]);
    assert_eq!(String::from_utf8(out).unwrap(), "{\"text\":\"fine\"}\n{\"text\":\"a\u{FFFD}b\"}\n");
}

#[test]
fn rows_with_too_long_texts_are_returned() {
    let folder = tempfile::tempdir().unwrap();
    let long = "x".repeat(MAX_TEXT_BYTES as usize + 1);
    let texts = ["a", &long, "b", &long[1..], "c"];
    for is_dictionary in [false, true] {
        let text: ArrayRef = Arc::new(StringArray::from(texts.to_vec()));
        let properties = WriterProperties::builder()
            .set_dictionary_enabled(is_dictionary)
            .set_dictionary_page_size_limit(1 << 30)
            .set_statistics_enabled(EnabledStatistics::None)
            .set_max_row_group_row_count(Some(4));
        let file = open_bytes(folder.path(), &write(&[batch(vec![("text", text)])], properties.build())).unwrap();
        let mut out = Vec::new();
        let appended = file.json_rows(None, 0..3, usize::MAX, &mut out).unwrap();
        // Pages with a dictionary are read without the name of their column.
        let column = (!is_dictionary).then(|| "text".into());
        let bad = BadRow { row: 1, bad: BadText::TooLong, column };
        assert_eq!(appended, AppendedRows { rows: 3, bad_rows: vec![bad] }, "{is_dictionary}");
        let lines: Vec<_> = out.split(|byte| *byte == b'\n').collect();
        assert_eq!([lines[0], lines[2]], [b"{\"text\":\"a\"}", b"{\"text\":\"b\"}"]);
        assert!(lines[1].len() < 20);
        out.clear();
        let appended = file.json_rows(None, 3..5, usize::MAX, &mut out).unwrap();
        assert_eq!(appended, AppendedRows { rows: 2, bad_rows: vec![] }, "{is_dictionary}");
        assert!(out.len() > MAX_TEXT_BYTES as usize);
    }
}

#[test]
fn damaged_page_is_named_with_its_column() {
    let folder = tempfile::tempdir().unwrap();
    let columns = || {
        let numbers: ArrayRef = Arc::new(Int64Array::from((0..9).collect::<Vec<_>>()));
        let text: ArrayRef = Arc::new(StringArray::from(vec!["needle"; 9]));
        vec![("n", numbers), ("text", text)]
    };
    let properties = WriterProperties::builder().set_dictionary_enabled(false);
    let properties = properties.set_statistics_enabled(EnabledStatistics::None);
    let mut bytes = write(&[batch(columns())], properties.build());
    let length = b"\x06\0\0\0needle";
    let at = (0..bytes.len()).rfind(|at| bytes[*at..].starts_with(length)).unwrap();
    bytes[at + 1] = 9;
    let file = open_bytes(folder.path(), &bytes).unwrap();
    let failure = file.json_rows(None, 0..9, usize::MAX, &mut Vec::new()).unwrap_err();
    assert_eq!(failure.subject.field.as_deref(), Some("text"), "{failure}");
    assert!(failure.subject.byte_offset.is_some() && !failure.why.contains("Parquet argument"), "{failure}");
}

#[test]
fn legacy_parquet_types_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let interval = [14_u32, 3, 1_001].map(u32::to_le_bytes).concat();
    let schema = "message m { required fixed_len_byte_array(12) i (INTERVAL); }";
    let bytes = write_column::<FixedLenByteArrayType>(schema, &[FixedLenByteArray::from(interval)]);
    assert_eq!(rows_of(&open_bytes(folder.path(), &bytes).unwrap(), None, 0..1), [json!({"i": "P14M3DT1.001S"})]);
    let mut stamp = Int96::new();
    stamp.set_data(1_500_000_000, 0, 2_440_589);
    let bytes = write_column::<Int96Type>("message m { required int96 t; }", &[stamp]);
    assert_eq!(
        rows_of(&open_bytes(folder.path(), &bytes).unwrap(), None, 0..1),
        [json!({"t": "1970-01-02T00:00:01.500"})]
    );
}

fn write_column<T: parquet::data_type::DataType>(schema: &str, values: &[T::T]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<T>().write_batch(values, None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    bytes
}

#[test]
fn many_references_to_one_large_text_are_read_in_small_batches() {
    let folder = tempfile::tempdir().unwrap();
    let large = "x".repeat(1 << 20);
    let rows = || Arc::new(StringArray::from_iter_values(std::iter::repeat_n(&large, 100))) as ArrayRef;
    let batches: Vec<RecordBatch> = (0..3).map(|_| batch(vec![("text", rows())])).collect();
    let properties = WriterProperties::builder().set_dictionary_page_size_limit(4 << 20).build();
    let file = open_bytes(folder.path(), &write(&batches, properties)).unwrap();
    assert_eq!(file.batch_rows(0, &[0]), 63);
    let found = rows_of(&file, None, 250..252);
    assert_eq!(found, [json!({"text": large}), json!({"text": large})]);
}

#[test]
fn changed_parquet_bytes_give_failures_or_rows() {
    let folder = tempfile::tempdir().unwrap();
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    println!("seed {state:#x}");
    let mut below = |limit: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % limit as u64) as usize
    };
    let binary: ArrayRef = Arc::new(BinaryArray::from_iter_values((0..200_u8).map(|row| [row; 3])));
    let own = write(&[batch(vec![("b", binary)])], WriterProperties::default());
    let mut files = crate::tests::damage::files();
    for name in ["types.parquet", "types_2.parquet"] {
        files.extend(std::iter::repeat_n(std::fs::read(data(name)).unwrap(), 10));
    }
    files.push(own);
    let (mut read, mut failed) = (0, 0);
    for _ in 0..3000 {
        let mut bytes = files[below(files.len())].clone();
        for _ in 0..=below(3) {
            let at = below(bytes.len());
            bytes[at] = below(256) as u8;
        }
        let Ok(file) = open_bytes(folder.path(), &bytes) else { continue };
        let mut out = Vec::new();
        match file.json_rows(None, 0..file.rows().min(300), usize::MAX, &mut out) {
            Ok(_) => read += 1,
            Err(failure) => {
                assert_eq!((failure.class, out.len()), (ExitClass::Data, 0), "{failure}");
                failed += 1;
            }
        }
    }
    assert!(read > 100 && failed > 100, "{read} {failed}");
}

#[test]
fn length_counts_are_checked_before_allocation() {
    let folder = tempfile::tempdir().unwrap();
    for encoding in [Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BYTE_ARRAY] {
        let properties = WriterProperties::builder().set_dictionary_enabled(false).set_encoding(encoding);
        let text: ArrayRef = Arc::new(StringArray::from(vec!["a"; 9]));
        let mut bytes = write(&[batch(vec![("text", text)])], properties.build());
        // Changes the header of the lengths (blocks of 128 values in four groups, 9 values) to 2^40 values in blocks of groups without
        // bits.
        let at = bytes.windows(4).position(|part| part == [0x80, 0x01, 0x04, 9]).unwrap();
        bytes[at + 3..at + 9].copy_from_slice(&[0x80, 0x80, 0x80, 0x80, 0x80, 0x20]);
        let file = open_bytes(folder.path(), &bytes).unwrap();
        let failure = file.json_rows(None, 0..9, usize::MAX, &mut Vec::new()).unwrap_err();
        assert!(failure.why.contains("lengths are damaged"), "{failure}");
    }
}

#[test]
fn repeated_long_dictionary_entry_does_not_exhaust_memory() {
    let folder = tempfile::tempdir().unwrap();
    let text: ArrayRef = Arc::new(StringArray::from(vec!["a".repeat(1 << 20); 200]));
    let properties = WriterProperties::builder().set_dictionary_page_size_limit(4 << 20);
    let bytes = write(&[batch(vec![("text", text)])], properties.build());
    assert!(bytes.len() < 4 << 20);
    let file = open_bytes(folder.path(), &bytes).unwrap();
    let (mut out, mut rows) = (Vec::new(), 0);
    while rows < 200 {
        out.clear();
        let appended = file.json_rows(None, rows..200, 4 << 20, &mut out).unwrap();
        assert!((1..=5).contains(&appended.rows) && out.capacity() < 32 << 20, "{appended:?}");
        assert_eq!(out.iter().filter(|byte| **byte == b'\n').count() as u64, appended.rows);
        rows += appended.rows;
    }
    assert_eq!(file.json_rows(None, 7..9, 0, &mut out).unwrap().rows, 1, "at least one");
}

#[test]
fn texts_of_a_large_dictionary_match_the_column() {
    let folder = tempfile::tempdir().unwrap();
    let text = |number: usize| format!("{number} {}", "ä".repeat((1 << 19) + number));
    // Each text once, then some texts again; every third row is null.
    let values: Vec<Option<String>> =
        (0..54).map(|row| (row % 3 > 0).then(|| text(row))).chain([Some(text(7)), None, Some(text(1))]).collect();
    let count = values.len() as u64;
    let texts: ArrayRef = Arc::new(StringArray::from(values.clone()));
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..values.len() as i64));
    for compression in [Compression::UNCOMPRESSED, Compression::SNAPPY] {
        let properties = WriterProperties::builder()
            .set_compression(compression)
            .set_dictionary_page_size_limit(256 << 20)
            .set_data_page_row_count_limit(10)
            .set_write_batch_size(10);
        let columns = vec![("id", Arc::clone(&ids)), ("text", Arc::clone(&texts))];
        let file = open_bytes(folder.path(), &write(&[batch(columns)], properties.build())).unwrap();
        assert!(file.dictionary_bytes(0, 1) > 32 << 20, "{compression:?}");
        for first in [0, 1, 10, 35, count - 1] {
            let found = rows_of(&file, None, first..count);
            assert_eq!(found.len() as u64, count - first);
            for (row, (found, expected)) in (first..).zip(found.iter().zip(&values[first as usize..])) {
                assert!(*found == json!({"id": row, "text": expected}), "{compression:?} {row}");
            }
        }
    }
}
