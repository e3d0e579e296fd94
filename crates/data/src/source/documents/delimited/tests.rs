//! Compares files with the results of pandas and datasets (tests/golden/csv): whole, in pieces, truncated and damaged.

use super::*;
use crate::source::documents::line_form::LineForm as _;
use crate::source::documents::list::text_file;
use crate::source::documents::{table_files, Row, Text};
use gristmill_core::{ExitClass, Problem};
use gristmill_storage::{fs::RealFs, publish::write_file};
use proptest::prelude::*;
use serde_json::Value;
use std::io::Write as _;

/// The rows of a file, each a text, null, or the reason why it is left out; then the message of a loss.
type ReadRows = (Vec<Result<Option<String>, &'static str>>, Option<String>);

fn golden(name: &str) -> Vec<Value> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/csv").join(name);
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn put(name: &str, bytes: &[u8]) -> (tempfile::TempDir, TextFile) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    write_file(&RealFs, &path, bytes, 0o600).unwrap();
    let file = text_file(path, name.to_owned(), true).unwrap();
    (dir, file)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn key(name: &str) -> DocumentFields {
    DocumentFields { text: TextField::Key(name.into()), others: OtherFields::None }
}

fn all_fields() -> DocumentFields {
    DocumentFields { text: TextField::Jq(".a | b".into()), others: OtherFields::All }
}

fn each_row(
    file: &TextFile,
    fields: &DocumentFields,
    from: Position,
    block: usize,
    each: &mut dyn FnMut(&Row<'_>),
) -> Vec<Position> {
    let mut reader = file.source.open(file, fields, from, block, &Cancel::default()).unwrap();
    let (mut positions, mut number) = (vec![from], from.line);
    while let Some(block) = reader.next(Vec::new()).unwrap() {
        let DocumentBlock::Rows(rows) = &block else { panic!("no rows") };
        rows.decode(&mut |rows| {
            for row in rows {
                assert_eq!(row.number, number);
                number += 1;
                each(row);
            }
            Ok(())
        })
        .unwrap();
        positions.push(reader.position());
        assert_eq!(reader.position().line, number);
    }
    positions
}

fn read(file: &TextFile, column: &str) -> ReadRows {
    let mut rows = Vec::new();
    each_row(file, &key(column), Position::default(), 1 << 20, &mut |row| {
        rows.push(match row.text {
            Some(Text::Is(text)) => Ok(Some(text.to_owned())),
            Some(Text::Unreadable(why)) => Err(why),
            _ => Ok(None),
        });
    });
    let mut reader = file.source.open(file, &key(column), Position::default(), 1 << 20, &Cancel::default()).unwrap();
    while reader.next(Vec::new()).unwrap().is_some() {}
    (rows, reader.damage().unwrap().map(|problem| problem.message))
}

fn json_rows(file: &TextFile, from: Position, block: usize) -> (Vec<Value>, Vec<Position>) {
    let mut rows = Vec::new();
    let positions = each_row(file, &all_fields(), from, block, &mut |row| {
        assert!(row.text.is_none(), "{row:?}");
        rows.push(serde_json::from_slice(row.line).unwrap());
    });
    (rows, positions)
}

/// Removes keys whose value is null, because rows with fewer cells lack them.
fn without_nulls(mut rows: Vec<Value>) -> Vec<Value> {
    for row in &mut rows {
        row.as_object_mut().unwrap().retain(|_, cell| !cell.is_null());
    }
    rows
}

#[test]
fn csv_cells_match_pandas_from_every_start_row() {
    for case in golden("pandas.jsonl") {
        let name = if case["separator"] == "," { "a.csv" } else { "a.tsv" };
        let bytes = case["text"].as_str().unwrap().as_bytes();
        let names: Vec<&str> = case["names"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        let expected: Vec<Value> = case["rows"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| {
                names
                    .iter()
                    .zip(row.as_array().unwrap())
                    .filter(|(_, cell)| !cell.is_null())
                    .map(|(name, cell)| ((*name).to_owned(), cell.clone()))
                    .collect::<serde_json::Map<_, _>>()
                    .into()
            })
            .collect();
        for (name, bytes) in [(name.to_owned(), bytes.to_vec()), (format!("{name}.gz"), gzip(bytes))] {
            let (_dir, file) = put(&name, &bytes);
            assert_eq!(file.source.columns_of(&file), names, "{case}");
            let (rows, positions) = json_rows(&file, Position::default(), 1);
            assert_eq!(without_nulls(rows), expected, "{case}");
            for at in positions {
                let rest = without_nulls(json_rows(&file, at, 1 << 20).0);
                assert_eq!(rest, expected[usize::try_from(at.line).unwrap()..], "from {at:?} of {case}");
            }
            assert_eq!(file.source.count_rows(&file, &Cancel::default()).unwrap(), (expected.len() as u64, None));
        }
    }
}

/// Returns the names of the columns; `None` if the header cannot be read.
fn header_names(source: &Delimited, file: &TextFile) -> Option<Vec<String>> {
    match source.header(file, &Cancel::default()).unwrap() {
        Header::Columns(columns) => Some(columns.names),
        Header::None | Header::Unreadable { .. } => None,
    }
}

impl dyn DocumentSource {
    fn columns_of(&self, file: &TextFile) -> Vec<String> {
        let source = [&CSV, &TSV].into_iter().find(|source| source.id == self.id()).unwrap();
        header_names(source, file).unwrap()
    }
}

#[test]
fn text_lines_match_datasets_from_every_start_row() {
    for case in golden("text.jsonl") {
        let bytes = case["text"].as_str().unwrap().as_bytes();
        let expected: Vec<&str> = case["rows"].as_array().unwrap().iter().map(|row| row.as_str().unwrap()).collect();
        let (_dir, file) = put("a.txt", bytes);
        if file.source.id() != "text" {
            assert!(bytes.is_empty() || bytes.starts_with(b"{"));
            continue;
        }
        let (rows, loss) = read(&file, "text");
        let rows: Vec<String> = rows.into_iter().map(|row| row.unwrap().unwrap()).collect();
        assert_eq!((rows, loss), (expected.iter().map(|row| (*row).to_owned()).collect(), None), "{case}");
        let (_, positions) = json_rows(&file, Position::default(), 1);
        for at in positions {
            let (rest, _) = json_rows(&file, at, 1 << 20);
            let rest: Vec<&str> = rest.iter().map(|row| row["text"].as_str().unwrap()).collect();
            assert_eq!(rest, expected[usize::try_from(at.line).unwrap()..], "from {at:?} of {case}");
        }
    }
}

#[test]
fn lost_rows_and_rows_without_text_are_reported_by_row() {
    let (_dir, file) = put("a.csv", b"text,n\na,x\nb\xff,2\nc,3,4\nd\nnull,5\n");
    let (rows, loss) = read(&file, "text");
    let some = |text: &str| Ok(Some(text.to_owned()));
    assert_eq!(rows[0], some("a"));
    assert!(rows[1].as_ref().unwrap_err().contains("UTF-8") && rows[2].as_ref().unwrap_err().contains("more cells"));
    assert_eq!((&rows[3..], loss), (&[some("d"), Ok(None)][..], None));
    // Invalid UTF-8 in a cell does not matter if the column is not read.
    assert_eq!(read(&file, "n").0[1], some("2"));

    let (_dir, file) = put("a.csv", b"text,n\na,1\n\"b,2\nc,3\n");
    let (rows, loss) = read(&file, "text");
    assert_eq!(rows, [some("a")]);
    assert!(loss.unwrap().contains("the quotes of a cell of row 1 have no end"));

    let packed = gzip(format!("text,n\n{}", (0..9_000).map(|n| format!("{n} x,{n}\n")).collect::<String>()).as_bytes());
    let (_dir, file) = put("a.csv.gz", &packed[..packed.len() / 2]);
    let (rows, loss) = read(&file, "text");
    assert!(
        rows.len() > 100 && rows.iter().enumerate().all(|(n, row)| *row == some(&format!("{n} x"))),
        "{}",
        rows.len()
    );
    let loss = loss.unwrap();
    assert!(loss.contains("gzip stream") && loss.contains("rows before it were read"), "{loss}");
}

#[test]
fn partly_read_csv_file_is_not_reported_as_damaged() {
    let rows: String = (0..40_000).map(|n| format!("\"some, \"\"words\"\"\nand {n}\",{n}\n")).collect();
    let (_dir, file) = put("a.csv", format!("text,n\n{rows}").as_bytes());
    assert_eq!(file.source.first_documents(&file, 32, &Cancel::default()).unwrap().damage, None);
    let mut reader = file.source.open(&file, &key("text"), Position::default(), 1, &Cancel::default()).unwrap();
    let mut blocks = 0;
    while reader.next(Vec::new()).unwrap().is_some() {
        blocks += 1;
        assert_eq!(reader.damage().unwrap(), None, "after block {blocks}");
    }
    assert!(blocks > 2, "{blocks}");
}

#[test]
fn only_the_row_that_is_too_long_is_left_out() {
    let long = "x".repeat(super::super::MAX_LINE_BYTES);
    let (_dir, file) = put("a.csv", format!("text,n\na,1\n\"{long}\n\",2\nb,3\n").as_bytes());
    let (rows, loss) = read(&file, "text");
    assert_eq!((rows.len(), &rows[0], &rows[2], loss), (3, &Ok(Some("a".into())), &Ok(Some("b".into())), None));
    assert!(rows[1].as_ref().unwrap_err().contains("64 MiB"));
    // Bytes after a quote without an end are lost and are not a row.
    let (_dir, file) = put("a.csv", format!("text,n\na,1\n\"{long}\n,2\nb,3\n").as_bytes());
    let (rows, loss) = read(&file, "text");
    assert_eq!(rows, [Ok(Some("a".into()))]);
    assert!(loss.unwrap().contains("row 1 have no end"));
}

#[test]
fn columns_that_pandas_reads_as_other_types_are_refused() {
    let header = "text,int,float,bool,nulls,mixed,late\n";
    let row = "a,1,-1.5e3,True,,1,\n,,inf,FALSE,null,true,\n";
    let (_dir, file) = put("a.csv", format!("{header}{row}b, 2 ,.5,,NA,,now\n").as_bytes());
    let layout = |fields: &DocumentFields| file.source.layout(&file, fields, &Cancel::default()).unwrap();
    for name in ["text", "nulls", "mixed", "late"] {
        assert_eq!(layout(&key(name)), Layout::Rows, "{name}");
    }
    for (name, what) in
        [("int", "holds numbers"), ("float", "holds numbers"), ("bool", "holds booleans"), ("no", "has no column")]
    {
        let Layout::NoText { why, hint } = layout(&key(name)) else { panic!("{name}") };
        assert!(why.contains(what) && hint.contains("--text-key: late, mixed, nulls, text"), "{why}: {hint}");
        assert_eq!(hint.contains(&format!("--jq '.[\"{name}\"] | tostring'")), name != "no", "{hint}");
    }
    assert_eq!(
        layout(&DocumentFields { text: TextField::Jq(".int | tostring".into()), others: OtherFields::None }),
        Layout::Rows
    );
}

#[test]
fn empty_csv_files_and_other_contents_are_described() {
    let layout = |name: &str, bytes: &[u8]| {
        let (_dir, file) = put(name, bytes);
        file.source.layout(&file, &key("text"), &Cancel::default()).unwrap()
    };
    for (name, bytes) in
        [("a.csv", &b""[..]), ("a.csv", b"\n \n"), ("a.tsv", b"text\n"), ("a.csv", b"text,n"), ("a.txt", b"")]
    {
        assert_eq!(layout(name, bytes), Layout::Empty, "{name} {bytes:?}");
    }
    let why = |layout: Layout| match layout {
        Layout::NoText { why, .. } => why,
        other => panic!("{other:?}"),
    };
    assert!(why(layout("a.csv", b"text\na,\n")).contains("more cells than the header has names, 1"));
    assert!(why(layout("a.txt.gz", &gzip(b"{\"text\": \"a\"}\n"))).contains("JSON"));
    // The content makes the file JSONL.
    assert_eq!(put("a.txt", b"{\"text\": \"a\"}\n").1.source.id(), "jsonl");
    assert_eq!(layout("a.txt", b"a\n"), Layout::Rows);
}

#[test]
fn csv_files_that_are_left_out_give_no_rows() {
    let key = |key: &str| DocumentFields { text: TextField::Key(key.into()), others: OtherFields::None };
    let rows = |name: &str, bytes: &[u8], fields: &DocumentFields| {
        let (_dir, file) = put(name, bytes);
        let mut rows = 0;
        each_row(&file, fields, Position::default(), 1 << 20, &mut |_| rows += 1);
        (rows, file.source.layout(&file, fields, &Cancel::default()).unwrap())
    };
    for (name, bytes) in [
        ("numbers.csv", &b"text,n\n1,1\n2,2\n"[..]),
        ("wide.csv", b"text,n\nx,1,3\ny,2\n"),
        ("quotes.csv", b"\"text,n\n1,1\n"),
        ("json.txt.gz", &gzip(b"\n{\"text\": \"a\"}\n")),
    ] {
        let (rows, layout) = rows(name, bytes, &key("text"));
        assert!(rows == 0 && matches!(layout, Layout::NoText { .. }), "{name}: {rows} rows, {layout:?}");
    }
    let cut = gzip(b"text,n\n1,1\n");
    assert!(matches!(rows("cut.csv.gz", &cut[..12], &key("text")), (0, Layout::NoText { .. })));
    // Rows before damage are read, even if there are none.
    assert!(matches!(rows("a.csv", b"text,n\n\"unclosed,1\n", &key("text")), (0, Layout::Rows)));
}

#[test]
fn jq_program_reads_columns_as_object_keys() {
    let (_dir, file) = put("a.csv", b"a.b,text\nhello,1\n");
    let fields = DocumentFields { text: TextField::Jq(".a.b".into()), others: OtherFields::None };
    assert_eq!(RowFields::of(wanted_of(&fields), &Columns::of_text()), Some(RowFields::all(&Columns::of_text())));
    assert_eq!(file.source.layout(&file, &fields, &Cancel::default()).unwrap(), Layout::Rows);
    assert_eq!(put("a.txt", b"\xef\xbb\xbf{\"text\": \"a\"}\n").1.source.id(), "jsonl", "a mark is no text");
}

#[test]
fn csv_headers_and_rows_of_very_many_cells_need_little_memory() {
    let names = |bytes: &[u8]| {
        let (_dir, file) = put("a.csv", bytes);
        header_names(&CSV, &file)
    };
    assert_eq!(names(&[&[b','; MAX_COLUMNS][..], b"\n"].concat()), None);
    assert_eq!(names(&[&[b','; MAX_COLUMNS - 1][..], b"\n"].concat()).unwrap().len(), MAX_COLUMNS);
    assert_eq!(names(&[&[b'a'; MAX_HEADER_BYTES + 1][..], b"\n"].concat()), None);
    for (row, words) in [
        (vec![b','; MAX_COLUMNS], ["65,536 cells", "Parquet"]),
        (vec![b'a'; MAX_HEADER_BYTES + 1], ["4 MiB", "into the first row"]),
    ] {
        let (_dir, file) = put("a.csv", &[&row[..], b"\n"].concat());
        match CSV.header(&file, &Cancel::default()).unwrap() {
            Header::Unreadable { why, hint } => assert!(why.ends_with(words[0]) && hint.contains(words[1]), "{why}"),
            Header::Columns(_) | Header::None => panic!("the header was read"),
        }
    }
    let mut cells = Cells::default();
    cells.read(&[b','; 1000], Some(b','), 2);
    assert_eq!(cells.len(), 3);
}

#[test]
fn table_rows_do_not_depend_on_the_requested_range() {
    let rows: Vec<String> = (0..4_000).map(|n| format!("\"{n}\n{}\",{n}\n", "words ".repeat(n % 200))).collect();
    let text = format!("text,n\n{}", rows.concat());
    for (name, bytes) in [("a.csv", text.as_bytes().to_vec()), ("a.csv.gz", gzip(text.as_bytes()))] {
        let (_dir, file) = put(name, &bytes);
        let found = table_files(&file.path).unwrap();
        let table = found[0].format.open(&file.path).unwrap();
        let (expected, _) = json_rows(&file, Position::default(), 1 << 20);
        assert_eq!((table.rows(), table.loss()), (4_000, None));
        let types: Vec<String> = table.summary().columns.into_iter().map(|column| column.type_name).collect();
        assert_eq!(types, ["string", "numbers"]);
        for (range, most) in [
            (0..64, 1 << 20),
            (3_990..4_000, 1 << 20),
            (1_000..1_001, 1),
            (0..4_000, usize::MAX),
            (17..4_000, 5_000),
            (4_000..4_001, 9),
        ] {
            let mut out = Vec::new();
            let count = table.json_rows(range.clone(), most, &mut out).unwrap();
            let lines: Vec<Value> =
                out.split_inclusive(|byte| *byte == b'\n').map(|line| serde_json::from_slice(line).unwrap()).collect();
            let first = usize::try_from(range.start).unwrap();
            assert_eq!(lines, expected[first..first + usize::try_from(count).unwrap()]);
            assert!(count > 0 || range.start == 4_000);
            if most == usize::MAX {
                assert_eq!(count, 4_000);
            }
        }
        assert!(table.group_of(2_000).contains(&2_000) && table.group_of(3_999).end == 4_000);
        let findings = table.check(&table.check_units()[0], true, &Cancel::default()).unwrap();
        assert_eq!((findings.rows, findings.problems.len()), (4_000, 0));
    }
    let (_dir, file) = put("a.csv", format!("text,n\n{}a,1\n\"", "b,1,2\n".repeat(30)).as_bytes());
    let table = table_files(&file.path).unwrap()[0].format.open(&file.path).unwrap();
    let problems = table.check(&table.check_units()[0], true, &Cancel::default()).unwrap().problems;
    let messages = |problems: &[Problem]| problems.iter().map(|problem| problem.message.clone()).collect::<Vec<_>>();
    assert_eq!(problems.len(), 21, "{:?}", messages(&problems));
    assert!(messages(&problems)[20].contains("more rows may be left out") && table.loss().is_some());
    let mut out = Vec::new();
    assert_eq!(table.json_rows(0..9, 99, &mut out).unwrap_err().class, ExitClass::Data);
    assert_eq!((table.json_rows(30..31, 99, &mut out).unwrap(), out.len()), (1, 21));
}

proptest! {
    #[test]
    fn csv_rows_of_any_bytes_do_not_depend_on_block_borders(bytes in proptest::collection::vec(
        prop_oneof![Just(b'"'), Just(b','), Just(b'\n'), Just(b'\r'), Just(b' '), Just(b'a'), any::<u8>()], 0..200),
        piece in 1_usize..9, delimiter in prop_oneof![Just(None), Just(Some(b',')), Just(Some(b'\t'))], has_header: bool) {
        let mut whole = bytes.clone();
        let mut form = RowForm::new(delimiter, has_header && delimiter.is_some());
        let mut again = form.clone();
        form.apply(&mut whole);
        let mut pieces = bytes.clone();
        pieces.chunks_mut(piece).for_each(|piece| again.apply(piece));
        prop_assert_eq!(&whole, &pieces);
        prop_assert_eq!(whole.len(), bytes.len());
        let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
        let mut cells = Cells::default();
        for line in lines.iter().filter_map(|line| line.strip_suffix(b"\n")) {
            cells.read(line, delimiter, usize::MAX);
            let content: usize = (0..cells.len()).map(|number| cells.get(number).len()).sum();
            prop_assert!(cells.len() > 0 && content <= line.len());
        }
        let (_dir, file) = put("a.csv", &bytes);
        let mut rows = 0;
        if header_names(&CSV, &file).is_some() {
            each_row(&file, &all_fields(), Position::default(), piece, &mut |_| rows += 1);
            prop_assert_eq!(file.source.count_rows(&file, &Cancel::default()).unwrap().0, rows);
        }
    }
}
