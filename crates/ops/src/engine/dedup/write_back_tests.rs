//! Compares written lines with the output of Python's `json.dumps`, and lines read in pieces with lines held in memory.

use super::compose::RangesPlacement;
use super::line_notes::NotedLine;
use super::write_back::{Layout, WriteBack};
use gristmill_core::dedup::{DedupPlan, Mode, Variant};
use gristmill_core::Cancel;
use gristmill_data::formats::bsade::Range;
use gristmill_data::source::dedup::{Body, Documents, Kind, Position, TextFile, MAX_BUFFERED_LINE_BYTES};
use gristmill_data::source::documents::Packing;
use gristmill_storage::fs::RealFs;
use gristmill_storage::publish::write_file;
use gristmill_storage::read::stamp_at;
use proptest::prelude::*;
use std::path::Path;

const BETWEEN: u8 = 1;

fn layouts() -> [Layout; 3] {
    let layout = |ranges| Layout { text_key: "text".into(), ranges };
    let under = RangesPlacement::Under(vec!["metadata".into(), "sa_remove_ranges".into()]);
    [layout(RangesPlacement::Removed), layout(under), layout(RangesPlacement::AfterText)]
}

fn file_of(dir: &Path, bytes: &[u8], packing: Packing) -> TextFile {
    let path = dir.join("x");
    write_file(&RealFs, &path, bytes, 0o600).unwrap();
    let stamp = stamp_at(&path).unwrap();
    TextFile {
        path,
        name: "x".into(),
        bytes: stamp.bytes,
        stamp,
        packing,
        source: &gristmill_data::source::documents::Jsonl,
        rows: None,
        damaged: Vec::new(),
    }
}

/// Returns all lines, each written in these layouts. `ranges` returns the ranges for a text of the given length in bytes.
fn written(file: &TextFile, held: usize, layouts: &[Layout], ranges: impl Fn(u64) -> Vec<Range>) -> Vec<Vec<String>> {
    let cancel = Cancel::default();
    let mut documents =
        Documents::open_holding(file, "text", Position::default(), Box::new(Vec::new()), held, &cancel).unwrap();
    let mut writers: Vec<WriteBack> = layouts.iter().map(WriteBack::new).collect();
    let mut lines = Vec::new();
    while let Some(record) = documents.next().unwrap() {
        let length = record.each_piece(&mut String::new(), &mut |_| Ok(())).unwrap();
        let own = if record.kind == Kind::Document { ranges(length) } else { Vec::new() };
        let line = writers.iter_mut().map(|writer| {
            let mut out = Vec::new();
            let written = writer
                .write(&record, &own, &mut |bytes| {
                    out.extend_from_slice(bytes);
                    Ok(())
                })
                .unwrap();
            assert_eq!(written.bytes, out.len() as u64);
            let note = writer.note(&record, length).unwrap();
            if let (Some(_), Body::Buffered(line)) = (note.bytes(), record.body) {
                let mut again = Vec::new();
                let noted = writer.write_noted(&NotedLine { line, note }, &own, &mut |bytes| {
                    again.extend_from_slice(bytes);
                    Ok(())
                });
                assert_eq!(
                    (noted.unwrap(), String::from_utf8_lossy(&again)),
                    (Some(written), String::from_utf8_lossy(&out))
                );
            }
            String::from_utf8_lossy(&out).into_owned()
        });
        lines.push(line.collect());
    }
    lines
}

#[test]
fn lines_with_python_formatted_other_fields_are_noted() {
    let dir = tempfile::tempdir().unwrap();
    let [remove, under, _] = layouts();
    for (line, is_noted) in [
        (r#"{"text": "é\/"}"#, true),
        (r#"{"id": 1, "text": "a", "m": {"x": [1.5]}}"#, true),
        (r#"{"id": 1, "text": "a"}"#, true),
        (r#"{"text": "a", "m": "\u00e9"}"#, true),
        (r#"{"text": "a", "m": "é"}"#, false),
        (r#"{"text": "a", "m": 1.50}"#, false),
        (r#"{"text": "a", "m":1}"#, false),
        (r#"{"text":"a"}"#, false),
        (r#"{"te\u0078t": "a"}"#, false),
        (r#" {"text": "a"}"#, false),
        (r#"{"text": "a"} "#, false),
        (r#"{"text": "a", "text": "b"}"#, false),
        (r#"{"m": 1, "text": "a", "m": 2}"#, false),
        (r#"{"text": 1}"#, false),
        ("[1]", false),
    ] {
        let file = file_of(dir.path(), line.as_bytes(), Packing::Plain);
        let open = |held| {
            let spool = Box::new(Vec::new());
            Documents::open_holding(&file, "text", Position::default(), spool, held, &Cancel::default()).unwrap()
        };
        let note = |layout, held| {
            let mut documents = open(held);
            let record = documents.next().unwrap().unwrap();
            let length = record.each_piece(&mut String::new(), &mut |_| Ok(())).unwrap();
            WriteBack::new(layout).note(&record, length).unwrap()
        };
        let noted = note(&remove, MAX_BUFFERED_LINE_BYTES);
        assert_eq!(noted.bytes(), is_noted.then_some(line.len()), "{line}");
        assert_eq!((note(&under, MAX_BUFFERED_LINE_BYTES).bytes(), note(&remove, 0).bytes()), (None, None), "{line}");
        if is_noted {
            assert_eq!(open(MAX_BUFFERED_LINE_BYTES).next_known(line.len()).unwrap(), Some(line.as_bytes()));
            for wrong in [line.len() - 1, line.len() + 1] {
                assert_eq!(open(MAX_BUFFERED_LINE_BYTES).next_known(wrong).unwrap(), None);
            }
            let other = NotedLine { line: &[b'x'; 100], note: noted };
            assert_eq!(WriteBack::new(&remove).write_noted(&other, &[], &mut |_| Ok(())).unwrap(), None);
        }
    }
}

fn check_corpus(corpus: &[u8]) {
    let cases: Vec<Vec<&[u8]>> = corpus
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| line.split(|byte| *byte == BETWEEN).collect())
        .collect();
    let dir = tempfile::tempdir().unwrap();
    let lines: Vec<&[u8]> = cases.iter().map(|case| case[0]).collect();
    let file = file_of(dir.path(), &lines.join(&b'\n'), Packing::Plain);
    let [remove, under, after_text] = layouts();
    for held in [MAX_BUFFERED_LINE_BYTES, 1] {
        let removed = written(&file, held, std::slice::from_ref(&remove), |_| Vec::new());
        let annotated = written(&file, held, &[under.clone(), after_text.clone()], |_| vec![Range::new(1, 2)]);
        assert_eq!((removed.len(), annotated.len()), (cases.len(), cases.len()));
        for ((case, removed), annotated) in cases.iter().zip(&removed).zip(&annotated) {
            let line = String::from_utf8_lossy(case[0]);
            let wanted = |column: usize| format!("{}\n", String::from_utf8_lossy(case[column]));
            assert_eq!(removed[0], wanted(1), "held {held}: {line}");
            assert_eq!(annotated[0], wanted(2), "held {held}: {line}");
            assert_eq!(annotated[1], wanted(3), "held {held}: {line}");
        }
    }
}

#[test]
fn records_are_written_as_python_json_dumps() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/python/json_dumps");
    check_corpus(&std::fs::read(root.join("cases.txt")).unwrap());
    // Optionally checks a larger corpus made by `make.py`.
    if let Some(path) = std::env::var_os("GRISTMILL_JSON_DUMPS") {
        check_corpus(&std::fs::read(path).unwrap());
    }
}

#[test]
fn ranges_are_written_at_the_key_path_of_the_layout() {
    let dir = tempfile::tempdir().unwrap();
    let line = r#"{"m": {"x": {"y": 1, "z": 2, "y": {"q": 1}}, "x2": 1}, "text": "0123456789", "n": 5}"#;
    let file = file_of(dir.path(), line.as_bytes(), Packing::Plain);
    let text = r#"{"text": "0123456789", "#;
    for (key, wanted) in [
        ("m.x.y", r#""m": {"x": {"y": [[2, 4]], "z": 2}, "x2": 1}, "n": 5}"#),
        ("m.x.y.r", r#""m": {"x": {"y": {"q": 1, "r": [[2, 4]]}, "z": 2}, "x2": 1}, "n": 5}"#),
        ("m.x.y.q.r", r#""m": {"x": {"y": {"q": {"r": [[2, 4]]}}, "z": 2}, "x2": 1}, "n": 5}"#),
        ("m.new.deep", r#""m": {"x": {"y": {"q": 1}, "z": 2}, "x2": 1, "new": {"deep": [[2, 4]]}}, "n": 5}"#),
        ("n.a", r#""m": {"x": {"y": {"q": 1}, "z": 2}, "x2": 1}, "n": {"a": [[2, 4]]}}"#),
        ("n", r#""m": {"x": {"y": {"q": 1}, "z": 2}, "x2": 1}, "n": [[2, 4]]}"#),
        ("é", r#""m": {"x": {"y": {"q": 1}, "z": 2}, "x2": 1}, "n": 5, "\u00e9": [[2, 4]]}"#),
    ] {
        let mut plan = DedupPlan::new("a", "b");
        (plan.mode, plan.annotate_key) = (Mode::Annotate, key.to_owned());
        let layout = Layout::of(&plan).unwrap();
        for held in [MAX_BUFFERED_LINE_BYTES, 1] {
            let lines = written(&file, held, std::slice::from_ref(&layout), |_| vec![Range::new(2, 4)]);
            assert_eq!(lines[0][0], format!("{text}{wanted}\n"), "{key}");
        }
    }
    let mut plan = DedupPlan::new("a", "b");
    (plan.mode, plan.annotate_key) = (Mode::Annotate, "text.a".to_owned());
    assert!(Layout::of(&plan).is_err());
    plan.annotate_key = ".".repeat(40);
    assert!(Layout::of(&plan).is_err());
    (plan.variant, plan.text_key) = (Variant::B, "sa_remove_ranges".to_owned());
    assert!(Layout::of(&plan).is_err());
}

#[test]
fn lines_without_text_are_kept_and_blank_lines_removed() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = b"{\"text\":1}\r\n\n{ \"a\" : \xff\n \t\r\n{\"text\":\"a\"}";
    let file = file_of(dir.path(), bytes, Packing::Plain);
    let lines = written(&file, MAX_BUFFERED_LINE_BYTES, &layouts()[..1], |_| Vec::new());
    let lines: Vec<&str> = lines.iter().map(|line| line[0].as_str()).collect();
    assert_eq!(lines, ["{\"text\":1}\r\n", "", "{ \"a\" : \u{fffd}\n", "", "{\"text\": \"a\"}\n"]);
}

/// Generates lines of JSON, many of them with small errors.
fn line() -> impl Strategy<Value = String> {
    let text = r#"([ -!#-\[\]-~]|é|漢|😀|\\n|\\"|\\u00e9|\\ud83d|\\ude00|\\u0041){0,40}"#;
    let value = prop_oneof![
        Just("1".to_owned()),
        Just("-0.50e3".to_owned()),
        Just("[1, {\"a\":2,\"a\":\"é\"},[]]".to_owned()),
        Just("{ }".to_owned()),
        text.prop_map(|text| format!("\"{text}\"")),
    ];
    let key = prop_oneof![Just("text"), Just("te\\u0078t"), Just("metadata"), Just("a"), Just("\\u0061"), Just("é")];
    let field = (key, value, "[ \t]{0,2}").prop_map(|(key, value, white)| format!("{white}\"{key}\"{white}:{value}"));
    let object = proptest::collection::vec(field, 0..6).prop_map(|fields| format!("{{{}}}", fields.join(",")));
    (object, 0usize..400, ".{0,2}").prop_map(|(line, at, noise)| match line.char_indices().nth(at) {
        Some((at, _)) => format!("{}{noise}{}", &line[..at], &line[at..]).replace('\n', ""),
        None => line,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn lines_written_in_pieces_equal_lines_written_whole(
        lines in proptest::collection::vec(line(), 1..6),
        cuts in proptest::collection::btree_set(0u64..80, 0..8),
        is_packed in any::<bool>(),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let bytes = lines.join("\n").into_bytes();
        let (bytes, packing) = match is_packed {
            true => (zstd::encode_all(&bytes[..], 1).unwrap(), Packing::Zstd),
            false => (bytes, Packing::Plain),
        };
        let file = file_of(dir.path(), &bytes, packing);
        let cuts: Vec<u64> = cuts.into_iter().collect();
        let ranges = |length: u64| {
            let pairs = cuts.chunks_exact(2).map(|pair| Range::new(pair[0], pair[1]));
            pairs.filter(|range| range.end <= length).collect()
        };
        let held = written(&file, MAX_BUFFERED_LINE_BYTES, &layouts(), ranges);
        prop_assert_eq!(&held, &written(&file, 1, &layouts(), ranges));
        prop_assert_eq!(&held, &written(&file, 20, &layouts(), ranges));
        // Writing the output again leaves it unchanged.
        let removed: String = held.iter().map(|line| line[0].as_str()).collect();
        let again = file_of(dir.path(), removed.as_bytes(), Packing::Plain);
        let twice: String = written(&again, MAX_BUFFERED_LINE_BYTES, &layouts()[..1], |_| Vec::new()).concat().concat();
        prop_assert_eq!(twice, removed);
    }
}
