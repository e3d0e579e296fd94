//! Compares the index with a naive implementation of the rules, for ranges of any size.

use super::*;
use gristmill_data::source::jsonl::{units as ranges, BadLine};
use gristmill_storage::fs::RealFs;
use gristmill_storage::publish::write_file;
use gristmill_storage::read::open_read;
use proptest::prelude::*;
use std::path::{Path, PathBuf};

/// Indexes a file in memory line by line. Returns the index, and the numbers of bad lines, counted from 0.
fn naive(bytes: &[u8]) -> (Vec<u8>, Vec<u64>, u64) {
    let (mut values, mut bad, mut blank, mut at) = (Vec::new(), Vec::new(), 0, 0_u64);
    for (number, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let text: Vec<u8> = line.to_vec();
        let white = |byte: &u8| b" \t\r\n\x0b\x0c".contains(byte);
        let from = text.iter().position(|byte| !white(byte));
        match from {
            None => blank += 1,
            Some(from) => {
                let to = text.iter().rposition(|byte| !white(byte)).unwrap();
                if text[from] == b'{' && text[to] == b'}' {
                    values.push(if values.is_empty() { 0 } else { at });
                } else {
                    bad.push(number as u64);
                }
            }
        }
        at += line.len() as u64;
    }
    values.push(at);
    (values.iter().flat_map(|value| value.to_le_bytes()).collect(), bad, blank)
}

fn indexed(path: &Path, size: u64) -> (Vec<u8>, LineCounts) {
    let file = open_read(path).unwrap();
    let (progress, cancel) = (Progress::default(), Cancel::default());
    let mut bytes = Vec::new();
    let mut buffer = Vec::new();
    let mut merge = LineMerge::new(|piece: &[u8]| {
        bytes.extend_from_slice(piece);
        Ok(())
    });
    for unit in ranges(file.len(), size) {
        let lines = index_unit(&file, unit, &mut buffer, &progress, &cancel).unwrap();
        merge.append_unit(&lines).unwrap();
    }
    let counts = merge.finish(file.len()).unwrap();
    assert_eq!(progress.read().bytes_done, file.len());
    (bytes, counts)
}

fn put(dir: &Path, bytes: &[u8]) -> PathBuf {
    let path = dir.join("a.jsonl");
    write_file(&RealFs, &path, bytes, 0o644).unwrap();
    path
}

proptest! {
    #[test]
    fn jsonl_index_of_any_range_size_matches_a_naive_reading(
        text in "([ \t\r{}\\[x\u{b}\u{c}é]{0,6}\n{0,3}|\\{[a-z\"]{0,5}\\}[ \r]{0,2}\n{1,2}){0,12}",
        size in 1_u64..40,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let path = put(dir.path(), text.as_bytes());
        let (expected, bad, blank) = naive(text.as_bytes());
        let (bytes, counts) = indexed(&path, size);
        prop_assert_eq!(&bytes, &expected);
        prop_assert_eq!(counts.bad.iter().map(|bad| bad.line).collect::<Vec<_>>(), bad);
        prop_assert_eq!(counts.blank, blank);
        prop_assert_eq!(counts.samples + 1, expected.len() as u64 / 8);
        prop_assert_eq!(counts.lines, text.split_inclusive('\n').count() as u64);
        for BadLine { start, ends, .. } in &counts.bad {
            prop_assert!(*start <= ends.first_at && ends.first_at <= ends.last_at);
            prop_assert_eq!(text.as_bytes()[ends.first_at as usize], ends.first);
            prop_assert_eq!(text.as_bytes()[ends.last_at as usize], ends.last);
        }
    }
}
