//! Tests that damaged, encrypted and foreign files lead to a failure or to texts, never to a panic.

use super::{batch, data, open, open_bytes, read_from, texts, write};
use crate::{ColumnProblem, PageCounts, ParquetFile};
use arrow_array::{ArrayRef, Int32Array, StringArray};
use gristmill_core::{ExitClass, Outcome};
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::{WriterProperties, WriterVersion};
use std::sync::Arc;

fn values(rows: usize) -> Vec<Option<String>> {
    (0..rows).map(|row| (row % 5 != 2).then(|| format!("text {} of this file", row % 40))).collect()
}

/// Returns a file for each pair of codec and encoding.
pub(crate) fn files() -> Vec<Vec<u8>> {
    let codecs = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::ZSTD(Default::default()),
        Compression::GZIP(Default::default()),
        Compression::LZ4_RAW,
        Compression::BROTLI(Default::default()),
        Compression::LZ4,
    ];
    let encodings =
        [None, Some(Encoding::PLAIN), Some(Encoding::DELTA_LENGTH_BYTE_ARRAY), Some(Encoding::DELTA_BYTE_ARRAY)];
    let mut files = Vec::new();
    for (number, codec) in codecs.into_iter().enumerate() {
        for encoding in encodings {
            let version = if number % 2 == 0 { WriterVersion::PARQUET_1_0 } else { WriterVersion::PARQUET_2_0 };
            let mut properties = WriterProperties::builder()
                .set_compression(codec)
                .set_writer_version(version)
                .set_data_page_row_count_limit(40)
                .set_write_batch_size(10)
                .set_max_row_group_row_count(Some(100))
                .set_dictionary_enabled(encoding.is_none());
            if let Some(encoding) = encoding {
                properties = properties.set_encoding(encoding);
            }
            let text: ArrayRef = Arc::new(StringArray::from(values(150)));
            files.push(write(&[batch(vec![("text", text)])], properties.build()));
        }
    }
    files
}

/// Small random numbers that depend only on the seed.
struct RandomNumbers(u64);

impl RandomNumbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

#[test]
fn changed_parquet_bytes_give_a_failure_or_texts() {
    let folder = tempfile::tempdir().unwrap();
    let seed = 0x9E37_79B9_7F4A_7C15;
    println!("seed {seed:#x}");
    let mut random = RandomNumbers(seed);
    let files = files();
    let (mut opened, mut failed) = (0, 0);
    for _ in 0..4000 {
        let mut bytes = files[random.below(files.len())].clone();
        // Damages the footer in half of the cases.
        let begin = if random.below(2) == 0 { bytes.len() - 500.min(bytes.len()) } else { 0 };
        for _ in 0..=random.below(3) {
            let at = begin + random.below(bytes.len() - begin);
            bytes[at] = match random.below(3) {
                0 => bytes[at] ^ (1 << random.below(8)),
                1 => 0xFF,
                _ => random.below(256) as u8,
            };
        }
        let Ok(file) = open_bytes(folder.path(), &bytes) else {
            failed += 1;
            continue;
        };
        assert!(file.summarize_columns().len() < 10 && file.codecs().len() < 10);
        check_all(&file).err().into_iter().for_each(|failure| assert_eq!(failure.class, ExitClass::Data));
        let Ok(column) = file.column("text") else { continue };
        opened += 1;
        let from = random.below(150) as u64;
        for (from, block_bytes) in [(0, 1), (0, 1 << 20), (from, 700)] {
            if file.rows() < 1_000_000 {
                failed += usize::from(read_from(&file, &column, from, block_bytes).2.is_some());
            }
        }
    }
    assert!(opened > 1000 && failed > 500, "{opened} {failed}");
}

/// Checks all pages, and returns their counts.
fn check_all(file: &ParquetFile) -> Outcome<PageCounts> {
    let mut counts = PageCounts::default();
    for row_group in 0..file.row_groups() {
        for leaf in 0..file.leaf_columns() {
            counts.add(file.check_pages(row_group, leaf)?);
        }
    }
    Ok(counts)
}

#[test]
fn every_page_is_checked_and_columns_are_summarized() {
    let file = open(&data("p02/6-zstd.parquet")).unwrap();
    let counts = check_all(&file).unwrap();
    assert!(counts.pages > 9 && counts.without_checksum == 0, "{counts:?}");
    assert!(check_all(&open(&data("p02/1-snappy.parquet")).unwrap()).unwrap().without_checksum > 0);
    let types = |file: &ParquetFile| {
        file.summarize_columns().into_iter().map(|column| (column.name, column.type_name)).collect::<Vec<_>>()
    };
    let named = |name: &str, type_name: &str| (name.to_owned(), type_name.to_owned());
    assert_eq!(types(&file), [named("text", "string"), named("id", "string"), named("n", "int32")]);
    assert_eq!(
        types(&open(&data("p12/a.parquet")).unwrap())[0],
        named("messages", "list<struct<role: string, content: string>>")
    );
}

#[test]
fn files_cut_at_any_byte_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = &files()[4];
    for end in 0..bytes.len() {
        let failure = open_bytes(folder.path(), &bytes[..end]).unwrap_err();
        assert_eq!(failure.class, ExitClass::Data);
        assert!(failure.hint.is_some());
        let reason = if end == 0 {
            "0 bytes"
        } else if end < 4 {
            "not a Parquet file"
        } else {
            "cut short"
        };
        assert!(failure.why.contains(reason), "{end}: {failure}");
    }
}

#[test]
fn refusal_of_parquet_file_names_its_actual_format() {
    let folder = tempfile::tempdir().unwrap();
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:7777\nsize 12345\n";
    for (bytes, reason) in [
        (&b"\n<!DOCTYPE html><title>Login</title>"[..], "HTML"),
        (b"<html></html>", "HTML"),
        (b"PARE1234PARE", "encrypted"),
        (b"PAR1\0\0\0\0\0\0\0\0PARE", "encrypted"),
        (pointer.as_bytes(), "Git LFS"),
        (b"{\"text\": \"a\"}\n", "not a Parquet file"),
        (b"PAR1\xFF\xFF\xFF\x7FPAR1", "larger than the file"),
        (b"PAR1\0\0\0\0PAR1", "footer"),
        (b"PAR1", "cut short"),
    ] {
        let failure = open_bytes(folder.path(), bytes).unwrap_err();
        assert!(failure.why.contains(reason) && failure.hint.is_some(), "{failure}");
    }
}

#[test]
fn checksums_are_verified() {
    let folder = tempfile::tempdir().unwrap();
    for encoding in [None, Some(Encoding::PLAIN)] {
        let text: ArrayRef = Arc::new(StringArray::from(vec!["some text to change"; 50]));
        let mut properties = WriterProperties::builder().set_dictionary_enabled(encoding.is_none());
        properties = properties.set_encoding(encoding.unwrap_or(Encoding::PLAIN));
        let bytes = write(&[batch(vec![("text", text)])], properties.build());
        // The first occurrences are in the statistics of the page header.
        let find = |bytes: &[u8]| {
            let mut places = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(b"to change"));
            places.nth(if encoding.is_none() { 0 } else { 10 }).unwrap()
        };
        let at = find(&bytes);
        let mut checked =
            std::fs::read(data(if encoding.is_none() { "checksums_dictionary.parquet" } else { "checksums.parquet" }))
                .unwrap();
        let in_checked = find(&checked);
        for (bytes, at, has_checksum) in [(&mut bytes.clone(), at, false), (&mut checked, in_checked, true)] {
            bytes[at] = b'T';
            let file = open_bytes(folder.path(), bytes).unwrap();
            let failure = read_from(&file, &file.column("text").unwrap(), 0, 1000).2;
            assert_eq!(failure.is_some(), has_checksum);
            assert!(failure.is_none_or(|failure| failure.why.contains("checksum does not match")));
        }
    }
}

#[test]
fn row_groups_before_damage_are_returned() {
    let folder = tempfile::tempdir().unwrap();
    let text: ArrayRef = Arc::new(StringArray::from(values(300)));
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(Default::default()))
        .set_max_row_group_row_count(Some(100))
        .set_dictionary_enabled(false);
    let mut bytes = write(&[batch(vec![("text", text)])], properties.build());
    let pristine = open_bytes(folder.path(), &bytes).unwrap();
    let offset = pristine.metadata().row_group(1).column(0).data_page_offset() as usize;
    let frame = bytes[offset..].windows(4).position(|part| part == [0x28, 0xB5, 0x2F, 0xFD]).unwrap();
    bytes[offset + frame] = 0;
    let file = open_bytes(folder.path(), &bytes).unwrap();
    let (before, _, failure) = read_from(&file, &file.column("text").unwrap(), 0, 1 << 20);
    assert_eq!(before, texts(values(300))[..100]);
    let failure = failure.unwrap();
    assert_eq!(failure.class, ExitClass::Data);
    assert!(failure.why.starts_with("row group 1, page: "), "{failure}");
    assert_eq!(failure.subject.byte_offset, Some(offset as u64));
    assert_eq!(failure.subject.field.as_deref(), Some("text"));
}

#[test]
fn missing_and_non_text_columns_are_described() {
    let folder = tempfile::tempdir().unwrap();
    let number: ArrayRef = Arc::new(Int32Array::from(vec![1]));
    let text: ArrayRef = Arc::new(StringArray::from(vec!["a"]));
    let bytes = write(&[batch(vec![("n", number), ("t", text)])], WriterProperties::default());
    let file = open_bytes(folder.path(), &bytes).unwrap();
    assert_eq!(file.column("n"), Err(ColumnProblem::NotText { described: "a number".to_owned() }));
    assert_eq!(file.column("x"), Err(ColumnProblem::Missing));
    assert_eq!((file.text_columns(), file.rows()), (vec!["t".to_owned()], 1));
}

#[test]
fn an_encrypted_column_is_refused_when_it_is_read() {
    let file = open(&data("encrypted_column.parquet")).unwrap();
    assert_eq!(file.readable_columns(), (vec!["open".to_owned()], vec!["text".to_owned()]));
    assert_eq!(read_from(&file, &file.column("open").unwrap(), 0, 1000).2, None);
    let column = file.column("text").unwrap();
    let failure = read_from(&file, &column, 0, 1000).2.unwrap();
    assert!(failure.why.contains("row group 0: the column is encrypted"), "{failure}");
    assert_eq!(failure.subject.field.as_deref(), Some("text"));
    assert!(open(&data("encrypted_footer.parquet")).unwrap_err().why.contains("encrypted"));
}
