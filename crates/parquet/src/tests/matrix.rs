//! Tests files of every codec, encoding and page version, with blocks of any size, from any row on.

use super::{batch, open_bytes, read, read_from, texts, write, OwnedValue};
use crate::{TextBlocks, TextDecoder, MAX_TEXT_BYTES};
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BinaryArray, DictionaryArray, LargeStringArray, RecordBatch, StringArray, StringViewArray,
    StructArray,
};
use arrow_schema::{DataType, Field};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterVersion};
use std::sync::Arc;

/// Returns texts of many sizes, some of them equal; every `nulls`-th is null.
fn sample(rows: usize, nulls: usize) -> Vec<Option<String>> {
    let text = |row: usize| match row % 7 {
        0 => String::new(),
        1..=3 => format!("common text {} ü", row % 5),
        _ => format!("row {row} ").repeat(row % 23) + "€",
    };
    (0..rows).map(|row| (nulls == 0 || row % nulls != 1).then(|| text(row))).collect()
}

fn nested(values: &[Option<String>]) -> (ArrayRef, Vec<Option<String>>) {
    let leaf: ArrayRef = Arc::new(StringArray::from(values.to_vec()));
    let valid: Vec<bool> = (0..values.len()).map(|row| row % 11 != 3).collect();
    let inner = StructArray::from((
        vec![(Arc::new(Field::new("x", DataType::Utf8, true)), leaf)],
        arrow_array::BooleanArray::from(valid.clone()).values().inner().clone(),
    ));
    let outer = StructArray::from(vec![(
        Arc::new(Field::new("deep", inner.data_type().clone(), true)),
        Arc::new(inner) as ArrayRef,
    )]);
    let expected = values.iter().zip(valid).map(|(value, valid)| value.clone().filter(|_| valid)).collect();
    (Arc::new(outer), expected)
}

fn codecs() -> [Compression; 8] {
    [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(Default::default()),
        Compression::BROTLI(Default::default()),
        Compression::LZ4,
        Compression::LZ4_RAW,
        Compression::ZSTD(Default::default()),
        Compression::UNCOMPRESSED,
    ]
}

#[test]
fn every_codec_encoding_and_page_version_gives_the_texts() {
    let folder = tempfile::tempdir().unwrap();
    for (number, codec) in codecs().into_iter().enumerate() {
        for encoding in
            [None, Some(Encoding::PLAIN), Some(Encoding::DELTA_LENGTH_BYTE_ARRAY), Some(Encoding::DELTA_BYTE_ARRAY)]
        {
            for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
                for nulls in [0, 2, 5] {
                    let values = sample(700, nulls);
                    let mut properties = WriterProperties::builder()
                        .set_compression(codec)
                        .set_writer_version(version)
                        .set_data_page_row_count_limit(64)
                        .set_write_batch_size(16)
                        .set_max_row_group_row_count(Some(300))
                        .set_dictionary_enabled(encoding.is_none());
                    if number == 7 {
                        // The small limit makes the writer abandon the dictionary.
                        properties = properties.set_dictionary_page_size_limit(300);
                    }
                    if let Some(encoding) = encoding {
                        properties = properties.set_encoding(encoding);
                    }
                    let (deep, expected) = nested(&values);
                    let text: ArrayRef = Arc::new(StringArray::from(values.clone()));
                    let bytes = write(&[batch(vec![("text", text), ("meta", deep)])], properties.build());
                    let file = open_bytes(folder.path(), &bytes).unwrap();
                    assert_eq!(file.row_groups(), 3);
                    assert_eq!(read(&file, "text", 2000), texts(values), "{codec:?} {encoding:?} {version:?} {nulls}");
                    assert_eq!(read(&file, "meta.deep.x", 500), texts(expected), "{codec:?} {encoding:?} {version:?}");
                }
            }
        }
    }
}

#[test]
fn any_block_size_and_any_row_give_the_same_texts() {
    let folder = tempfile::tempdir().unwrap();
    for encoding in [None, Some(Encoding::PLAIN), Some(Encoding::DELTA_BYTE_ARRAY)] {
        let values = sample(400, 3);
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_data_page_row_count_limit(50)
            .set_write_batch_size(10)
            .set_max_row_group_row_count(Some(180))
            .set_dictionary_enabled(encoding.is_none());
        if let Some(encoding) = encoding {
            properties = properties.set_encoding(encoding);
        }
        let text: ArrayRef = Arc::new(StringArray::from(values.clone()));
        let file = open_bytes(folder.path(), &write(&[batch(vec![("text", text)])], properties.build())).unwrap();
        let column = file.column("text").unwrap();
        let expected = texts(values);
        for block_bytes in [0, 1, 7, 100, 1000, 3000, 10_000, usize::MAX] {
            let (whole, starts, failure) = read_from(&file, &column, 0, block_bytes);
            assert_eq!((&whole, failure), (&expected, None), "{block_bytes}");
            for from in starts.into_iter().chain([1, 50, 179, 180, 181, 399, 400]) {
                let (rest, _, failure) = read_from(&file, &column, from, block_bytes);
                assert_eq!((&rest[..], failure), (&expected[from as usize..], None), "{block_bytes} {from}");
            }
        }
    }
}

#[test]
fn all_types_of_text_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let values = sample(100, 4);
    let keyed: DictionaryArray<Int32Type> = values.iter().map(Option::as_deref).collect();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("large", Arc::new(LargeStringArray::from(values.clone()))),
        ("view", Arc::new(StringViewArray::from_iter(values.clone()))),
        ("keyed", Arc::new(keyed)),
        ("bytes", Arc::new(BinaryArray::from_iter(values.iter().map(|value| value.as_ref().map(String::as_bytes))))),
        ("nothing", Arc::new(arrow_array::NullArray::new(100))),
    ];
    let file = open_bytes(folder.path(), &write(&[batch(columns)], WriterProperties::default())).unwrap();
    for key in ["large", "view", "keyed", "bytes"] {
        assert_eq!(read(&file, key, 1000), texts(values.clone()), "{key}");
        assert_eq!(file.column(key).unwrap().is_binary(), key == "bytes");
    }
    assert_eq!(read(&file, "nothing", 1000), vec![OwnedValue::Null; 100]);
    assert_eq!(file.text_columns(), ["large", "view", "keyed"]);
}

#[test]
fn invalid_utf8_is_reported_by_row() {
    let folder = tempfile::tempdir().unwrap();
    // One value ends with the first byte of a character, and the next begins with its last byte.
    let values: [&[u8]; 6] = [b"fine", b"\xC3", b"\xBC", b"", b"\xFF", "ü".as_bytes()];
    let expected = ["fine", "?", "?", "", "?", "ü"].map(|text| match text {
        "?" => OwnedValue::NotUtf8,
        text => OwnedValue::Text(text.to_owned()),
    });
    for count in [3, 6] {
        for is_dictionary in [false, true] {
            for encoding in [Encoding::PLAIN, Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BYTE_ARRAY] {
                let properties =
                    WriterProperties::builder().set_dictionary_enabled(is_dictionary).set_encoding(encoding);
                let array: ArrayRef = Arc::new(BinaryArray::from_iter_values(&values[..count]));
                let file = open_bytes(folder.path(), &write(&[batch(vec![("b", array)])], properties.build())).unwrap();
                assert_eq!(read(&file, "b", 1000), expected[..count], "{is_dictionary} {encoding:?}");
            }
        }
    }
}

#[test]
fn repeated_references_to_a_large_text_are_divided_into_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let large = "x".repeat(1 << 20);
    let batches: Vec<RecordBatch> = (0..21)
        .map(|_| {
            batch(vec![("text", Arc::new(StringArray::from_iter_values(std::iter::repeat_n(&large, 100))) as ArrayRef)])
        })
        .collect();
    let properties =
        WriterProperties::builder().set_compression(Compression::SNAPPY).set_dictionary_page_size_limit(4 << 20);
    let bytes = write(&batches, properties.build());
    assert!(bytes.len() < 200_000, "{}", bytes.len());
    drop(batches);
    let file = open_bytes(folder.path(), &bytes).unwrap();
    let column = file.column("text").unwrap();
    let mut blocks = TextBlocks::open(&file, &column, 0, 8 << 20).unwrap();
    let mut decoder = TextDecoder::new();
    let mut rows = 0;
    while let Some(block) = blocks.next(Vec::new()).unwrap() {
        assert!(block.rows <= 16, "{}", block.rows);
        for (row, value) in decoder.decode(&block).unwrap() {
            assert_eq!((row, OwnedValue::from(value) == OwnedValue::Text(large.clone())), (rows, true));
            rows += 1;
        }
    }
    assert_eq!(rows, 2100);
}

#[test]
fn delta_byte_array_texts_are_limited_in_size() {
    let folder = tempfile::tempdir().unwrap();
    let large = "x".repeat(1 << 20);
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_encoding(Encoding::DELTA_BYTE_ARRAY)
        .set_statistics_enabled(parquet::file::properties::EnabledStatistics::None);
    let batches: Vec<RecordBatch> = (0..6)
        .map(|_| {
            batch(vec![("text", Arc::new(StringArray::from_iter_values(std::iter::repeat_n(&large, 100))) as ArrayRef)])
        })
        .collect();
    let file = open_bytes(folder.path(), &write(&batches, properties.build())).unwrap();
    let (_, _, failure) = read_from(&file, &file.column("text").unwrap(), 0, 8 << 20);
    assert!(failure.unwrap().why.contains("512 MiB"));
}

#[test]
fn very_large_pages_are_read_in_pieces() {
    let folder = tempfile::tempdir().unwrap();
    let text = |row: usize| format!("row {row} ü ").repeat(row * 7919 % 80_000) + "€";
    let values: Vec<Option<String>> = (0..130).map(|row| (row % 7 != 3).then(|| text(row))).collect();
    let expected = texts(values.clone());
    let array: ArrayRef = Arc::new(StringArray::from(values));
    for (number, codec) in codecs().into_iter().enumerate() {
        let version = if number % 2 == 0 { WriterVersion::PARQUET_1_0 } else { WriterVersion::PARQUET_2_0 };
        let properties = WriterProperties::builder()
            .set_compression(codec)
            .set_writer_version(version)
            .set_encoding(Encoding::PLAIN)
            .set_data_page_size_limit(1 << 30)
            .set_dictionary_enabled(false);
        let bytes = write(&[batch(vec![("text", array.clone())])], properties.build());
        let file = open_bytes(folder.path(), &bytes).unwrap();
        assert!(file.unpacked_bytes(0, 0) > 40 << 20);
        let column = file.column("text").unwrap();
        let (whole, starts, failure) = read_from(&file, &column, 0, 1 << 20);
        assert!(failure.is_none() && whole == expected, "{codec:?} {failure:?}");
        // LZ4 is not read in pieces.
        assert_eq!(starts.len() > 10, !matches!(codec, Compression::LZ4 | Compression::LZ4_RAW), "{codec:?}");
        for from in [3, 4, starts[starts.len() / 2], 129] {
            let (rest, _, failure) = read_from(&file, &column, from, 100_000);
            assert!(failure.is_none() && rest[..] == expected[from as usize..], "{codec:?} {from} {failure:?}");
        }
        let mut cut = bytes;
        let begin = cut.len() / 3;
        cut[begin..begin * 3 / 2].fill(0xA5);
        if codec != Compression::UNCOMPRESSED {
            let file = open_bytes(folder.path(), &cut).unwrap();
            let failure = read_from(&file, &file.column("text").unwrap(), 0, 1 << 20).2.unwrap();
            assert!(failure.why.starts_with("row group 0, page: "), "{codec:?} {failure}");
        }
    }
}

#[test]
fn a_dictionary_that_is_too_large_for_memory_is_read_entry_by_entry() {
    let folder = tempfile::tempdir().unwrap();
    // Each text once, and some again; one exceeds the maximum size of a text.
    let mut values: Vec<Option<String>> =
        (0..36).map(|number| Some(format!("{number} {}", "ä".repeat((1 << 19) + number)))).collect();
    values.push(Some("x".repeat(MAX_TEXT_BYTES as usize + 1)));
    values.extend([Some("short".to_owned()), None, values[3].clone(), values[0].clone()]);
    let expected: Vec<OwnedValue> = texts(values.clone());
    let expected = expected.into_iter().map(|value| match value {
        OwnedValue::Text(text) if text.len() as u64 > MAX_TEXT_BYTES => OwnedValue::TooLong(text.len() as u64),
        value => value,
    });
    let expected: Vec<OwnedValue> = expected.collect();
    let text: ArrayRef = Arc::new(StringArray::from(values));
    for compression in [Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::ZSTD(ZstdLevel::default())] {
        let properties =
            WriterProperties::builder().set_compression(compression).set_dictionary_page_size_limit(256 << 20);
        let bytes = write(&[batch(vec![("text", Arc::clone(&text))])], properties.build());
        let file = open_bytes(folder.path(), &bytes).unwrap();
        let column = file.column("text").unwrap();
        for from in [0, 5, 38] {
            let (read, starts, failure) = read_from(&file, &column, from, 4 << 20);
            assert_eq!(failure, None, "{compression:?}");
            assert!(read == expected[from as usize..], "{compression:?} {from}");
            assert!(starts.len() > 1 || from == 38, "{compression:?}: {starts:?}");
        }
    }
}
