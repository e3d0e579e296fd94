#![expect(clippy::disallowed_methods, reason = "test data need not be published")]

use super::*;
use gristmill_core::{Cancel, ExitClass};
use gristmill_data::formats::bsade::Range as RepeatedText;
use gristmill_storage::read::stamp_at;
use proptest::prelude::*;
use std::sync::atomic::AtomicU64;

/// A document to be written: distance of its line from the previous one, distance of the line numbers, and its ranges.
type DocumentSpec = (u64, u64, Vec<(u64, u64)>);

/// Writes files of these documents in groups of `piece`, and reads them again.
fn written(files: &[Vec<DocumentSpec>], piece: usize) -> (tempfile::TempDir, Vec<Document>) {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = MAGIC.to_vec();
    let mut directory = Directory::new("text", 5, Keep::First, Mode::Remove);
    let mut all = Vec::new();
    for (number, documents) in files.iter().enumerate() {
        let at = bytes.len() as u64;
        let mut section = Section::default();
        let (mut start, mut line) = (0, 0);
        for some in documents.chunks(piece) {
            let mut gathered = RangeBlocks::default();
            for (further, lines, ranges) in some {
                (start, line) = (start + further, line + lines);
                let mut end = 0;
                let mut found = Vec::new();
                for (gap, len) in ranges {
                    found.push(RepeatedText::new(end + gap, end + gap + len));
                    end += gap + len;
                }
                gathered.add(start, line, &found);
                let ranges = found.iter().map(|range| range.start..range.end).collect();
                all.push(Document { number: all.len() as u64, file: number, start, line, ranges });
            }
            bytes.extend(section.add(&mut gathered));
            assert!(gathered.is_empty());
        }
        let (table, section) = section.end();
        bytes.extend(table);
        let source =
            Source { name: format!("{number}.jsonl"), path: folder.path().join("none"), bytes: 1, modified_ns: 1 };
        directory.files.push(RangesOfFile { source, text_bytes: 9, removed_bytes: 4, at, section });
        assert_eq!(bytes.len() as u64 - at, section.bytes());
    }
    let end = end(&directory, bytes.len() as u64).unwrap();
    bytes.extend(end);
    std::fs::write(folder.path().join("ranges"), bytes).unwrap();
    (folder, all)
}

fn documents() -> impl Strategy<Value = Vec<DocumentSpec>> {
    let range = (0_u64..70_000, 1_u64..3_000_000);
    let ranges = prop::collection::vec(range, 1..5);
    prop::collection::vec((1_u64..1 << 40, 1_u64..1_000, ranges), 0..60)
}

proptest! {
    #[test]
    fn removed_ranges_are_read_back_from_any_document(files in prop::collection::vec(documents(), 0..5), piece in 1_usize..70, from in 0_u64..200) {
        let (folder, all) = written(&files, piece);
        let removed = RemovedRanges::open(&folder.path().join("ranges")).unwrap();
        prop_assert_eq!(removed.len(), all.len() as u64);
        prop_assert_eq!(removed.is_empty(), all.is_empty());
        let some = removed.documents(from, 17).unwrap();
        let wanted: Vec<Document> = all.iter().skip(from as usize).take(17).cloned().collect();
        prop_assert_eq!(some, wanted);
        for document in all.iter().step_by(7) {
            prop_assert_eq!(removed.find(document.file, document.start).unwrap(), Some(document.clone()));
            prop_assert_eq!(removed.find(document.file, document.start + 1).unwrap().filter(|found| found.start != document.start + 1), None);
            prop_assert!(removed.first_of(document.file) <= document.number);
        }
        prop_assert_eq!(removed.find(files.len(), 0).unwrap(), None);
    }

    #[test]
    fn damaged_removed_ranges_are_refused_or_read_differently(at in 0_usize..4_000, byte in any::<u8>(), cut in any::<bool>()) {
        let document_specs: Vec<DocumentSpec> = (0..300).map(|number| (number + 1, 1, vec![(number, 9), (1, 3)])).collect();
        let (folder, all) = written(&[document_specs.clone(), document_specs], 40);
        let path = folder.path().join("ranges");
        let mut bytes = std::fs::read(&path).unwrap();
        let at = at % bytes.len();
        if cut { bytes.truncate(at) } else { bytes[at] = byte }
        std::fs::write(&path, bytes).unwrap();
        let Ok(removed) = RemovedRanges::open(&path) else { return Ok(()) };
        for from in [0, 299, 599] {
            let _ = removed.documents(from, 1_000);
        }
        let _ = removed.find(1, all.last().unwrap().start);
    }
}

#[test]
fn removed_ranges_of_a_document_are_found_among_many_blocks() {
    let document_specs: Vec<DocumentSpec> =
        (0..20_000).map(|number| (100 + number % 7, 1 + number % 3, vec![(number % 50, 500)])).collect();
    let (folder, all) = written(&[document_specs], 20_000);
    let removed = RemovedRanges::open(&folder.path().join("ranges")).unwrap();
    assert!(removed.directory().files[0].section.blocks > 20, "{:?}", removed.directory().files[0].section);
    for number in [0, 1, 9_999, 19_999] {
        assert_eq!(removed.documents(number, 1).unwrap()[0], all[number as usize]);
    }
    assert!(removed.documents(20_000, 1).unwrap().is_empty());
}

fn source(path: &Path) -> Source {
    let stamp = stamp_at(path).unwrap();
    let name = path.file_name().unwrap().to_str().unwrap().to_owned();
    Source { name, path: path.to_owned(), bytes: stamp.bytes, modified_ns: stamp.modified_ns }
}

#[test]
fn removed_text_is_read_only_from_an_unchanged_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    std::fs::write(&path, "{\"text\": \"one\"}\n\n{\"text\": \"z\\u00e4ch\"}\n{\"id\": 1}\n").unwrap();
    let known = source(&path);
    let cancel = Cancel::default();
    let read = |start, line| read_text(&known, "text", start, line, &cancel);
    assert_eq!(read(0, 0).unwrap(), "one");
    assert_eq!(read(17, 2).unwrap(), "zäch");
    assert_eq!(read(40, 3).unwrap_err().class, ExitClass::Data);
    std::fs::write(&path, "{\"text\": \"one\"}\n").unwrap();
    assert!(read(0, 0).unwrap_err().to_string().contains("has changed since the run"));
    std::fs::remove_file(&path).unwrap();
    assert!(read(0, 0).unwrap_err().to_string().contains("no longer exists"));
}

#[test]
fn first_occurrence_is_found_in_file_order_before_the_document() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, texts: &[String]| {
        let path = folder.path().join(name);
        let lines: String = texts.iter().map(|text| format!("{}\n", serde_json::json!({ "text": text }))).collect();
        std::fs::write(&path, lines).unwrap();
        source(&path)
    };
    // The long line exceeds the line buffer, so it is read in pieces.
    let long = "y".repeat(9 << 20) + "the passage" + &"z".repeat(1 << 20);
    let earlier = write("e.jsonl", &["nothing".to_owned(), "ä the passage here".to_owned()]);
    let own = write("a.jsonl", &["other".to_owned(), long, "the passage".to_owned()]);
    let (made, _) = written(&[], 1);
    let mut directory = Directory::new("text", 11, Keep::First, Mode::Remove);
    let section = SectionFacts::default();
    directory.files.push(RangesOfFile { source: own, text_bytes: 1, removed_bytes: 0, at: 8, section });
    let open = |directory: &Directory| {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(end(directory, 8).unwrap());
        std::fs::write(made.path().join("ranges"), bytes).unwrap();
        RemovedRanges::open(&made.path().join("ranges")).unwrap()
    };
    let removed = open(&directory);
    let read = AtomicU64::new(0);
    let find = |removed: &RemovedRanges, until| {
        Search { passage: "the passage".into(), until }.run(removed, &read, &Cancel::default()).unwrap()
    };
    let first = find(&removed, (0, u64::MAX)).unwrap();
    assert_eq!((first.source, first.line, first.from), (0, 1, 9 << 20));
    assert_eq!(find(&removed, (0, first.start - 1)), None);
    directory.earlier.push(earlier);
    let removed = open(&directory);
    let first = find(&removed, (1, u64::MAX)).unwrap();
    assert_eq!((first.source, first.line, first.from), (0, 1, 3));
    assert!(removed.bytes_until(1, 5) > 5 && removed.source(2).is_none());
    let cancel = Cancel::default();
    cancel.cancel();
    let search = Search { passage: "the passage".into(), until: (1, u64::MAX) };
    assert!(search.run(&removed, &read, &cancel).unwrap_err().is_cancelled());
}
