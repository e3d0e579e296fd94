//! `dedup` on the command line: the cases of the reference, bad input, and the same bytes under all conditions.

mod bad_input;
mod estimate;
mod faults;
mod flags;
mod golden;
mod kills;
mod large;
mod left_out;
mod ranges;
mod tables;

use super::cli_support::{RunOutput, Sandbox};
use super::support::{assert_same, picture, put};
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

/// A case of the reference.
struct Case {
    name: String,
    min_length: u64,
    shards: u32,
}

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/dedup")
}

/// Returns all cases of the reference.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for entry in std::fs::read_dir(golden()).unwrap() {
        let path = entry.unwrap().path();
        if path.join("case.json").exists() {
            let facts: Value = serde_json::from_slice(&std::fs::read(path.join("case.json")).unwrap()).unwrap();
            cases.push(Case {
                name: path.file_name().unwrap().to_str().unwrap().to_owned(),
                min_length: facts["minlen"].as_u64().unwrap(),
                shards: facts["shards"].as_u64().unwrap() as u32,
            });
        }
    }
    assert!(cases.len() >= 10);
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    cases
}

impl Case {
    fn input(&self) -> PathBuf {
        golden().join(&self.name).join("input")
    }
    fn expected(&self, what: &str) -> BTreeMap<PathBuf, Vec<u8>> {
        picture(&golden().join(&self.name).join("expected").join(what))
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Returns every file below a folder, decompressed.
fn unpacked(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = picture(root);
    for (name, bytes) in &mut files {
        let packed = std::mem::take(bytes);
        *bytes = match name.extension().and_then(|end| end.to_str()) {
            Some("gz") => {
                let mut plain = Vec::new();
                flate2::read::MultiGzDecoder::new(&packed[..]).read_to_end(&mut plain).unwrap();
                plain
            }
            Some("zst") => zstd::stream::decode_all(&packed[..]).unwrap(),
            _ => packed,
        };
    }
    files
}

fn jsonl(texts: impl IntoIterator<Item = impl AsRef<str>>) -> Vec<u8> {
    let line = |text: &str| format!("{}\n", serde_json::json!({"text": text, "id": text.len()}));
    texts.into_iter().map(|text| line(text.as_ref())).collect::<String>().into_bytes()
}

/// Returns the texts of an output file.
fn texts_of(bytes: &[u8]) -> Vec<String> {
    let lines = std::str::from_utf8(bytes).unwrap().lines();
    lines.map(|line| serde_json::from_str::<Value>(line).unwrap()["text"].as_str().unwrap().to_owned()).collect()
}

/// Returns documents of words that repeat in part, the same ones each time.
fn some_texts(count: usize) -> Vec<String> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let word = |number: usize| format!("w{number:x} ");
    let passages: Vec<String> = (0..20).map(|_| (0..30 + next(60)).map(|_| word(next(100_000))).collect()).collect();
    let mut texts: Vec<String> = Vec::new();
    for number in 0..count {
        let mut text = String::new();
        for _ in 0..1 + next(4) {
            match next(3) {
                0 => text.push_str(&passages[next(passages.len())]),
                _ => text.extend((0..next(80)).map(|_| word(next(100_000)))),
            }
        }
        if number > 0 && next(20) == 0 {
            text = texts[next(number)].clone();
        }
        texts.push(text);
    }
    texts
}

/// Applies the rule with a set of all windows seen so far, as docs/formats/bsade.md §4 and §6 define it.
fn slowly(texts: &[String], length: usize) -> Vec<String> {
    let mut seen: HashSet<&[u8]> = HashSet::new();
    let mut out = Vec::new();
    for text in texts {
        let bytes = text.as_bytes();
        let mut gone = vec![false; bytes.len()];
        for (at, window) in bytes.windows(length).enumerate() {
            if !seen.insert(window) {
                gone[at..at + length].fill(true);
            }
        }
        let mut kept = Vec::new();
        let mut at = 0;
        while at < bytes.len() {
            if !gone[at] {
                kept.push(bytes[at]);
                at += 1;
                continue;
            }
            let mut end = at;
            while end < bytes.len() && gone[end] {
                end += 1;
            }
            let is_inside = |at: usize| at < bytes.len() && bytes[at] & 0xc0 == 0x80;
            let mut start = at;
            while is_inside(start) {
                start += 1;
            }
            let mut stop = end;
            while stop != bytes.len() && is_inside(stop) {
                stop -= 1;
            }
            if start > stop {
                kept.extend_from_slice(&bytes[at..end]);
            } else {
                kept.extend_from_slice(&bytes[at..start]);
                kept.extend_from_slice(&bytes[stop..end]);
            }
            at = end;
        }
        out.push(String::from_utf8(kept).unwrap());
    }
    out
}
