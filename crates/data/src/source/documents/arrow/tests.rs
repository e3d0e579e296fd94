//! Reads files that pyarrow wrote (tests/golden/arrow/layouts): whole, truncated and modified.

use super::*;
use crate::source::documents::list::text_file;
use crate::source::documents::source::{DocumentBlock, OtherFields};
use crate::source::documents::Text;
use gristmill_core::pack::TextField;
use gristmill_core::ExitClass;
use gristmill_storage::{fs::RealFs, publish::write_file};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A row: its number, its text, and the row as JSON.
type DecodedRow = (u64, Result<Option<String>, &'static str>, String);

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/arrow/layouts").join(name)
}

fn bytes_of(name: &str) -> Vec<u8> {
    std::fs::read(golden(name)).unwrap()
}

fn expected() -> Vec<Option<String>> {
    serde_json::from_slice(&bytes_of("texts.json")).unwrap()
}

fn key(name: &str) -> DocumentFields {
    DocumentFields { text: TextField::Key(name.into()), others: OtherFields::None }
}

/// Reads at most a number of rows from one row on; also returns the message of a loss.
fn read(
    path: &Path,
    fields: &DocumentFields,
    from: u64,
    block_bytes: usize,
) -> Outcome<(Vec<DecodedRow>, Option<String>)> {
    const MAX_ROWS: usize = 10_000;
    let file = text_file(path.to_owned(), "a.arrow".into(), true)?;
    assert_eq!(file.source.id(), "arrow");
    let cancel = Cancel::default();
    let mut reader = Arrow.open(&file, fields, Position { line: from, offset: 0 }, block_bytes, &cancel)?;
    let mut found: Vec<DecodedRow> = Vec::new();
    while let Some(block) = reader.next(Vec::new())? {
        let DocumentBlock::Rows(rows) = &block else { panic!("no rows") };
        rows.decode(&mut |rows| {
            for row in rows.iter().take(MAX_ROWS - found.len().min(MAX_ROWS)) {
                assert_eq!(row.number, from + found.len() as u64);
                let text = match row.text {
                    Some(Text::Is(text)) => Ok(Some(text.to_owned())),
                    Some(Text::Unreadable(why)) => Err(why),
                    _ => Ok(None),
                };
                found.push((row.number, text, String::from_utf8(row.line.to_vec()).unwrap()));
            }
            Ok(())
        })?;
        if found.len() >= MAX_ROWS {
            break;
        }
    }
    let damage = reader.damage()?;
    Ok((found, damage.map(|problem| problem.message)))
}

fn read_bytes(bytes: &[u8], fields: &DocumentFields) -> Outcome<(Vec<DecodedRow>, Option<String>)> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.arrow");
    write_file(&RealFs, &path, bytes, 0o600).unwrap();
    read(&path, fields, 0, 700)
}

fn texts(rows: Vec<DecodedRow>) -> Vec<Option<String>> {
    rows.into_iter().map(|(_, text, _)| text.unwrap()).collect()
}

#[test]
fn every_arrow_layout_gives_the_same_texts() {
    let all = [
        "string",
        "large",
        "view",
        "dictionary",
        "large dictionary",
        "binary",
        "large binary",
        "binary view",
        "meta.deep.x",
        "a.b",
    ];
    for name in [
        "plain.arrow",
        "lz4.arrow",
        "zstd.arrow",
        "file.arrow",
        "file_zstd.feather",
        "v4.arrow",
        "legacy.arrow",
        "deltas.arrow",
        "deltas_file.arrow",
    ] {
        for column in all {
            let opened = open(&text_file(golden(name), "a.arrow".into(), true).unwrap(), &Cancel::default()).unwrap();
            if opened.schema().column(column).is_err() {
                assert!(column.contains("dictionary") || name.starts_with("deltas"), "{name} {column}");
                continue;
            }
            for (from, block_bytes) in [(0, 1), (0, 1 << 20), (24, 300), (25, 900), (26, 100), (59, 1), (60, 10)] {
                let (rows, loss) = read(&golden(name), &key(column), from, block_bytes).unwrap();
                assert_eq!(texts(rows), expected()[from as usize..], "{name} {column} {from} {block_bytes}");
                assert_eq!(loss, None);
            }
        }
    }
    let (rows, _) = read(&golden("plain.arrow"), &key("null"), 0, 100).unwrap();
    assert_eq!(texts(rows), vec![None; 60]);
}

#[test]
fn arrow_rows_have_the_json_of_parquet_rows() {
    let fields = DocumentFields { text: TextField::Jq(".string | ascii_downcase".into()), others: OtherFields::All };
    let (rows, _) = read(&golden("types.arrow"), &fields, 0, 100).unwrap();
    let parse = |line: &str| serde_json::from_str::<Value>(line).unwrap();
    let found: Vec<Value> = rows.iter().map(|(_, _, line)| parse(line)).collect();
    let jsonl = String::from_utf8(bytes_of("types.jsonl")).unwrap();
    assert_eq!(found, jsonl.lines().map(parse).collect::<Vec<_>>());
    let file = text_file(golden("types.arrow"), "a.arrow".into(), true).unwrap();
    let first = Arrow.first_documents(&file, 2, &Cancel::default()).unwrap();
    assert_eq!(
        first.lines.iter().map(|(_, line)| line.to_vec()).collect::<Vec<_>>(),
        [&rows[0].2, &rows[1].2].map(|line| line.clone().into_bytes())
    );
    let named = DocumentFields { text: TextField::Key("view".into()), others: OtherFields::Named(vec!["map".into()]) };
    let (rows, _) = read(&golden("types.arrow"), &named, 2, 100).unwrap();
    assert_eq!(parse(&rows[0].2).as_object().unwrap().len(), 2);
}

#[test]
fn a_stream_cut_at_any_byte_has_its_whole_record_batches_and_a_problem() {
    for name in ["zstd.arrow", "legacy.arrow", "deltas.arrow"] {
        let bytes = bytes_of(name);
        let mut counts = std::collections::BTreeSet::new();
        for end in (1..bytes.len()).filter(|end| end % 61 == 0 || *end + 40 > bytes.len()) {
            match read_bytes(&bytes[..end], &key("string")) {
                Ok((rows, loss)) => {
                    assert!(loss.is_some_and(|loss| loss.contains("no end mark")), "{name} {end}");
                    counts.insert(rows.len());
                    assert_eq!(texts(rows), expected()[..*counts.last().unwrap()]);
                }
                Err(failure) => assert!(failure.why.contains("schema") && failure.hint.is_some(), "{end} {failure}"),
            }
        }
        assert_eq!(counts.into_iter().collect::<Vec<_>>(), [0, 25, 26, 60], "{name}");
        let (rows, loss) = read_bytes(&[&bytes[..], &bytes].concat(), &key("string")).unwrap();
        assert_eq!(rows.len(), 60);
        assert!(loss.unwrap().contains("after the end mark"), "{name}");
    }
}

#[test]
fn a_file_without_its_footer_is_refused_and_can_be_read_as_a_stream() {
    let bytes = bytes_of("file.arrow");
    for end in [6, 8, 100, bytes.len() - 9, bytes.len() - 1] {
        let failure = read_bytes(&bytes[..end], &key("string")).unwrap_err();
        assert_eq!(failure.class, ExitClass::Data);
        assert!(failure.why.contains("footer is missing") && failure.hint.unwrap().contains("tail -c +9"), "{end}");
    }
    let (rows, loss) = read_bytes(&bytes[8..bytes.len() - 1], &key("string")).unwrap();
    assert_eq!(texts(rows), expected());
    assert!(loss.is_some());
}

#[test]
fn refusal_of_arrow_file_names_its_actual_format() {
    let twice = [&bytes_of("plain.arrow")[..bytes_of("plain.arrow").len() - 8], &bytes_of("plain.arrow")].concat();
    for (bytes, reason) in [
        (&b""[..], "0 bytes"),
        (b"\n<!DOCTYPE html>", "HTML"),
        (b"FEA1abcdefgh", "Feather version 1"),
        (b"\x10\0\0\0abcd", "not an Arrow file"),
        (b"no table at all", "it is not an Arrow file"),
        (b"\x08\0\0\0random bytes", "it is not an Arrow file"),
        (b"\xFF\xFF\xFF\xFF\0\0\0\0", "no schema"),
        (b"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", "size of a message"),
        (b"ARROW1\0\0\xFF\xFF\xFF\x7FARROW1", "larger than the file"),
        (b"ARROW1\0\0abcd\x04\0\0\0ARROW1", "footer is damaged"),
        (&bytes_of("big_endian.arrow"), "big-endian"),
        (&twice, "second schema"),
    ] {
        let failure = read_bytes(bytes, &key("string")).unwrap_err();
        assert!(failure.why.contains(reason) && failure.hint.is_some(), "{reason}: {failure}");
    }
}

#[test]
fn columns_without_text_are_described() {
    let file = text_file(golden("plain.arrow"), "a.arrow".into(), true).unwrap();
    for (column, reason) in [
        ("absent", "has no column `absent`"),
        ("meta.deep", "holds a struct"),
        ("list", "holds a list"),
        ("n", "holds a number"),
        ("list.item", "has no column"),
    ] {
        let layout = Arrow.layout(&file, &key(column), &Cancel::default()).unwrap();
        let Layout::NoText { why, hint } = layout else { panic!("{layout:?}") };
        assert!(why.contains(reason), "{why}");
        assert!(hint.contains("a.b, dictionary, large, large dictionary, meta.deep.x, string, view"), "{hint}");
    }
    assert_eq!(Arrow.layout(&file, &key("a.b"), &Cancel::default()).unwrap(), Layout::Rows);
    for (column, rows) in [("n", 0), ("absent", 0), ("list", 60), ("string", 60)] {
        let fields = DocumentFields { others: OtherFields::Named(vec![column.into()]), ..key(column) };
        assert_eq!(read(&golden("plain.arrow"), &fields, 0, 700).unwrap().0.len(), rows, "{column}");
    }
}

#[test]
fn only_the_row_with_invalid_utf8_is_refused() {
    let mut bytes = bytes_of("plain.arrow");
    let text = expected()[26].clone().unwrap();
    let hits: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(text.as_bytes())).collect();
    hits.iter().for_each(|at| bytes[*at] = 0xFF);
    let (rows, _) = read_bytes(&bytes, &key("string")).unwrap();
    let bad: Vec<u64> = rows.iter().filter(|row| row.1.is_err()).map(|row| row.0).collect();
    assert_eq!(bad, [26]);
    let fields = DocumentFields { others: OtherFields::Named(vec!["n".into()]), ..key("string") };
    let (rows, _) = read_bytes(&bytes, &fields).unwrap();
    assert_eq!(rows.iter().filter(|row| row.1.is_err()).count(), 1);
}

/// Small random numbers that depend only on the seed.
struct RandomNumbers(u64);

impl RandomNumbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).unwrap()
    }
}

#[test]
fn changed_arrow_bytes_give_failures_or_rows() {
    let seed = 0x9E37_79B9_7F4A_7C15;
    println!("seed {seed:#x}");
    let mut random = RandomNumbers(seed);
    let names =
        ["plain.arrow", "lz4.arrow", "zstd.arrow", "file.arrow", "deltas.arrow", "deltas_file.arrow", "types.arrow"];
    let files = names.map(bytes_of);
    let columns = ["string", "view", "dictionary", "large binary", "meta.deep.x"];
    let everything = DocumentFields { text: TextField::Jq(".a | b".into()), others: OtherFields::All };
    let (mut read, mut failed) = (0, 0);
    for round in 0..3000 {
        let mut bytes = files[random.below(files.len())].clone();
        // Changes bytes of the metadata, because most buffers allow any bytes.
        let is_set = |at: &usize| bytes[*at..].starts_with(&CONTINUATION);
        let messages: Vec<usize> = (0..bytes.len() - 8).filter(is_set).chain([bytes.len() - 300]).collect();
        let begin = if round % 3 == 0 { 0 } else { messages[random.below(messages.len())] };
        for _ in 0..=random.below(3) {
            let at = begin + random.below(400.min(bytes.len() - begin));
            bytes[at] = match random.below(3) {
                0 => bytes[at] ^ (1 << random.below(8)),
                1 => 0xFF,
                _ => u8::try_from(random.below(256)).unwrap(),
            };
        }
        let fields = if round % 2 == 0 { everything.clone() } else { key(columns[random.below(columns.len())]) };
        match read_bytes(&bytes, &fields) {
            Ok(_) => read += 1,
            Err(failure) => {
                assert_eq!(failure.class, ExitClass::Data, "{failure}");
                failed += 1;
            }
        }
    }
    assert!(read > 500 && failed > 500, "{read} {failed}");
}

#[test]
fn repeated_long_dictionary_entries_are_read_in_small_blocks() {
    use arrow_array::{DictionaryArray, Int32Array, StringArray};
    const ROWS: usize = 300;
    let entries = StringArray::from(vec!["a".repeat(8 << 20)]);
    let column = DictionaryArray::new(Int32Array::from(vec![0; ROWS]), Arc::new(entries));
    let batch = arrow_array::RecordBatch::try_from_iter([("text", Arc::new(column) as arrow_array::ArrayRef)]).unwrap();
    let mut bytes = Vec::new();
    let mut writer = arrow_ipc::writer::StreamWriter::try_new(&mut bytes, &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    drop(writer);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.arrow");
    write_file(&RealFs, &path, &bytes, 0o644).unwrap();
    let file = text_file(path, "a.arrow".into(), false).unwrap();
    for fields in [key("text"), DocumentFields { text: TextField::Jq(".text".into()), others: OtherFields::All }] {
        let mut reader = Arrow.open(&file, &fields, Position::default(), 64 << 20, &Cancel::default()).unwrap();
        let (mut rows, mut blocks) = (0, 0);
        while let Some(block) = reader.next(Vec::new()).unwrap() {
            let DocumentBlock::Rows(block) = &block else { panic!("no rows") };
            block
                .decode(&mut |found| {
                    rows += found.len();
                    Ok(())
                })
                .unwrap();
            blocks += 1;
        }
        assert_eq!(rows, ROWS);
        assert!(blocks >= ROWS / 8, "{blocks}");
    }
}
