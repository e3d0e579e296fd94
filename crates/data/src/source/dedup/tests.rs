use super::*;
use crate::source::documents::Packing;
use gristmill_core::{Cancel, ExitClass, ProblemKind};
use gristmill_pycompat::line_checker::MAX_KEY_BYTES;
use gristmill_storage::fs::RealFs;
use gristmill_storage::publish::write_file;
use gristmill_storage::read::stamp_at;
use std::io::Write as _;
use std::path::Path;

fn put(path: &Path, bytes: &[u8]) {
    write_file(&RealFs, path, bytes, 0o600).unwrap();
}

fn text_file(path: &Path, packing: Packing) -> TextFile {
    let stamp = stamp_at(path).unwrap();
    TextFile {
        path: path.to_owned(),
        name: "x".into(),
        bytes: stamp.bytes,
        stamp,
        packing,
        source: &crate::source::documents::Jsonl,
        rows: None,
        damaged: Vec::new(),
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Number, offset, kind and text of a line.
type ReadLine = (u64, u64, Kind, String);

fn read_holding(file: &TextFile, held_line: usize) -> (Vec<ReadLine>, Option<Damage>) {
    let cancel = Cancel::default();
    let spool = Box::new(Vec::new());
    let mut documents = Documents::open_holding(file, "text", Position::default(), spool, held_line, &cancel).unwrap();
    let mut seen = Vec::new();
    while let Some(record) = documents.next().unwrap() {
        let mut text = String::new();
        let length = record
            .each_piece(&mut String::new(), &mut |piece| {
                text.push_str(piece);
                Ok(())
            })
            .unwrap();
        assert_eq!(length, text.len() as u64);
        assert_eq!(record.problem(file).is_some(), matches!(record.kind, Kind::Passed(_)));
        seen.push((record.line, record.start, record.kind, text));
    }
    (seen, documents.damage().cloned())
}

fn read(bytes: &[u8]) -> Vec<ReadLine> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a");
    put(&path, bytes);
    read_holding(&text_file(&path, Packing::Plain), MAX_BUFFERED_LINE_BYTES).0
}

fn kinds(bytes: &[u8]) -> Vec<String> {
    read(bytes)
        .into_iter()
        .map(|(_, _, kind, text)| match kind {
            Kind::Document => format!("={text}"),
            Kind::Blank | Kind::Null => String::new(),
            Kind::Passed(SkippedLine::Invalid { why, .. } | SkippedLine::NoText(why) | SkippedLine::TooMuch(why)) => {
                why.to_owned()
            }
        })
        .collect()
}

#[test]
fn document_lines_are_classified_with_the_reason() {
    let lines: &[(&[u8], &str)] = &[
        (br#"{"text":"a\u00e9\n\"b"}"#, "=aé\n\"b"),
        (b"{\"text\": \"crlf\"}\r", "=crlf"),
        (b"", ""),
        (b" \t\r", ""),
        (br#"{"text": ""}"#, "="),
        (br#"{"text": 1, "text": "last"}"#, "=last"),
        (br#"{"text": "a", "\u0074ext": 1}"#, "its text is a number"),
        (br#"{"text": null}"#, "its text is null"),
        (br#"{"text": ["a"]}"#, "its text is an array"),
        (br#"{"a": {"text": "deeper"}}"#, "it has no text"),
        (br#"["text"]"#, "the line is an array, not an object"),
        (br#""text""#, "the line is a string, not an object"),
        (br#"{"text": "\ud83d"}"#, "its text contains a lone surrogate"),
        (br#"{"text": "\ud83d\ude00", "s": "\ud83d"}"#, "=😀"),
        (b"{\"text\": \"\xff\"}", "a byte that is not UTF-8"),
        (b"{\"text\": \"\xed\xa0\x80\"}", "a byte that is not UTF-8"),
        (b"\xef\xbb\xbf{\"text\": \"a\"}", "it starts with a byte-order mark, which is not part of JSON"),
        (br#"{"text": "a"} x"#, "unexpected data after the value"),
        (b"{\"text\": \"a\tb\"}", "a control character in a string must be escaped"),
        (br#"{"text": NaN}"#, "its text is a number"),
        ("{\"text\": \"\u{2028}\u{85}\"}".as_bytes(), "=\u{2028}\u{85}"),
    ];
    let all: Vec<u8> = lines.iter().flat_map(|(line, _)| [*line, b"\n"].concat()).collect();
    let seen = kinds(&all);
    for ((line, wanted), seen) in lines.iter().zip(&seen) {
        assert_eq!(seen, wanted, "{}", line.escape_ascii());
    }
    assert_eq!(seen.len(), lines.len());
    let places: Vec<(u64, u64)> = read(&all).iter().map(|(line, start, ..)| (*line, *start)).collect();
    let mut start = 0;
    for (number, (line, _)) in lines.iter().enumerate() {
        assert_eq!(places[number], (number as u64, start));
        start += line.len() as u64 + 1;
    }
    assert_eq!(kinds(b"{\"text\":\"no end\"}"), ["=no end"]);
    assert_eq!(kinds(b""), Vec::<String>::new());
}

#[test]
fn text_is_read_from_another_key() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a");
    put(&path, "{\"text\": 1, \"\\u00e9\": \"x\"}\n{\"é\": \"y\"}\n".as_bytes());
    let cancel = Cancel::default();
    let file = text_file(&path, Packing::Plain);
    let mut documents = Documents::open(&file, "é", Position::default(), Box::new(Vec::new()), &cancel).unwrap();
    let mut spare = String::new();
    assert_eq!(documents.next().unwrap().unwrap().text(&mut spare), Some("x"));
    let second = documents.position();
    assert_eq!(documents.next().unwrap().unwrap().text(&mut spare), Some("y"));
    assert!(documents.next().unwrap().is_none());
    let mut again = Documents::open(&file, "é", second, Box::new(Vec::new()), &cancel).unwrap();
    let record = again.next().unwrap().unwrap();
    assert_eq!((record.line, record.text(&mut spare)), (1, Some("y")));
}

#[test]
fn lines_are_read_across_gzip_members_and_zstd_frames() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a");
    let whole = b"{\"text\": \"one\"}\n{\"text\": \"two\"}\n{\"text\": \"three\"}";
    let pieces = [&whole[..7], &whole[7..20], &[], &whole[20..]];
    for packing in [Packing::Gzip, Packing::Zstd] {
        let packed: Vec<u8> = pieces
            .iter()
            .flat_map(|piece| match packing {
                Packing::Gzip => gzip(piece),
                _ => zstd::encode_all(*piece, 3).unwrap(),
            })
            .collect();
        put(&path, &packed);
        for held in [3, MAX_BUFFERED_LINE_BYTES] {
            let (seen, damage) = read_holding(&text_file(&path, packing), held);
            let texts: Vec<&str> = seen.iter().map(|(.., text)| text.as_str()).collect();
            assert_eq!((texts, damage), (vec!["one", "two", "three"], None));
        }
    }
}

#[test]
fn cut_stream_gives_the_lines_before_the_cut_and_reports_damage() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a");
    let lines: String = (0..2000).map(|number| format!("{{\"text\": \"{number} {}\"}}\n", number * 7919)).collect();
    let packed = gzip(lines.as_bytes());
    put(&path, &packed[..packed.len() / 2]);
    let file = text_file(&path, Packing::Gzip);
    for held in [3, MAX_BUFFERED_LINE_BYTES] {
        let (seen, damage) = read_holding(&file, held);
        let damage = damage.unwrap();
        assert!(seen.len() > 500 && seen.len() < 1500, "{}", seen.len());
        assert_eq!(damage.at.line, seen.len() as u64);
        assert_eq!(damage.problem(&file).kind, ProblemKind::CutShort);
        assert!(seen.iter().all(|(_, _, kind, _)| *kind == Kind::Document));
    }
}

#[test]
fn text_compressed_by_a_high_ratio_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a");
    let mut encoder = zstd::stream::Encoder::new(Vec::new(), 1).unwrap();
    let line = format!("{{\"text\": \"{}\"}}\n", " ".repeat(1 << 20));
    for _ in 0..100 {
        encoder.write_all(line.as_bytes()).unwrap();
    }
    let packed = encoder.finish().unwrap();
    assert!(packed.len() < line.len() / 10);
    put(&path, &packed);
    let cancel = Cancel::default();
    let file = text_file(&path, Packing::Zstd);
    let mut documents = Documents::open(&file, "text", Position::default(), Box::new(Vec::new()), &cancel).unwrap();
    let mut count = 0;
    while let Some(record) = documents.next().unwrap() {
        assert_eq!(record.kind, Kind::Document);
        count += 1;
    }
    assert_eq!((count, documents.damage()), (100, None));
}

#[test]
fn file_that_changes_during_reading_is_detected() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a");
    put(&path, b"{\"text\": \"a\"}\n");
    let file = text_file(&path, Packing::Plain);
    let cancel = Cancel::default();
    let open = || Documents::open(&file, "text", Position::default(), Box::new(Vec::new()), &cancel);
    let mut documents = open().unwrap();
    documents.next().unwrap().unwrap();
    let mut more = gristmill_storage::fs::Fs::append_file(&RealFs, &path).unwrap();
    more.write_all(b"x").unwrap();
    more.close().unwrap();
    // The reader may return the added bytes as a line; it reports the change at the end.
    let failure = loop {
        match documents.next() {
            Ok(Some(_)) => {}
            Ok(None) => panic!("it was not noticed"),
            Err(failure) => break failure,
        }
    };
    assert_eq!(failure.class, ExitClass::Data);
    assert!(open().is_err());
}

#[test]
fn files_are_listed_in_the_global_order() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["d2", "d10", ".hidden", "crawl=z", "a"] {
        gristmill_storage::fs::Fs::create_dir(&RealFs, &dir.path().join(name), 0o700).unwrap();
    }
    let line = b"{\"text\": \"a\"}\n";
    for name in [
        "d2/x.jsonl",
        "d10/x.jsonl",
        "a.jsonl",
        "a/x.json",
        "crawl=b.jsonl",
        "crawl=z/a.jsonl",
        "c.jsonl.part-1",
        ".h.jsonl",
        ".hidden/x.jsonl",
        "é.jsonl",
        "notes.txt",
        "w.json5",
        "y.jsonl.bz2",
        "lies.jsonl.gz",
        "empty.jsonl.gz",
    ] {
        put(&dir.path().join(name), if name.starts_with("empty") { b"" } else { line });
    }
    put(&dir.path().join("g.jsonl"), &gzip(line));
    put(&dir.path().join("z.jsonl.gz"), &gzip(line));
    put(&dir.path().join("z.json.zst"), &zstd::encode_all(&line[..], 1).unwrap());
    let listing = list(dir.path(), false, &Cancel::default()).unwrap();
    let names: Vec<&str> = listing.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "a.jsonl",
            "a/x.json",
            "crawl=b.jsonl",
            "c.jsonl.part-1",
            "d10/x.jsonl",
            "d2/x.jsonl",
            "empty.jsonl.gz",
            "z.json.zst",
            "z.jsonl.gz",
            "crawl=z/a.jsonl",
            "é.jsonl",
        ]
    );
    let packings: Vec<Packing> = listing.files.iter().map(|file| file.packing).collect();
    assert_eq!(packings[6..9], [Packing::Plain, Packing::Zstd, Packing::Gzip]);
    let left_out: Vec<String> = listing
        .problems
        .iter()
        .filter(|problem| problem.severity == gristmill_core::Severity::Problem)
        .map(|problem| problem.subject.path.as_deref().unwrap().rsplit_once('/').unwrap().1.to_owned())
        .collect();
    assert_eq!(left_out, ["g.jsonl", "lies.jsonl.gz", "w.json5", "y.jsonl.bz2"], "what y holds is no bzip2");
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(list(empty.path(), false, &Cancel::default()).unwrap_err().class, ExitClass::Usage);
}

#[test]
fn line_with_too_long_keys_or_too_many_fields_is_skipped() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a");
    let keys = format!("{{\"{}\": 1, \"text\": \"a\"}}", "k".repeat(MAX_KEY_BYTES + 1));
    let fields: Vec<String> = (0..70_000).map(|number| format!("\"{number}\":0")).collect();
    let fields = format!("{{{},\"text\":\"a\"}}", fields.join(","));
    put(&path, format!("{keys}\n{fields}\n").as_bytes());
    let (seen, _) = read_holding(&text_file(&path, Packing::Plain), 100);
    assert!(seen.iter().all(|(_, _, kind, _)| matches!(kind, Kind::Passed(SkippedLine::TooMuch(_)))), "{seen:?}");
    let (seen, _) = read_holding(&text_file(&path, Packing::Plain), MAX_BUFFERED_LINE_BYTES);
    assert_eq!(seen[0].2, Kind::Document, "a line that is held has no such limit");
    assert!(matches!(seen[1].2, Kind::Passed(SkippedLine::TooMuch(_))));
}
