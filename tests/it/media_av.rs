//! Compares the facts of sound and video with those of the reference program, file by file.

use gristmill_core::Cancel;
use gristmill_data::formats::energon::media_json::to_json;
use gristmill_media::Reader;
use std::collections::BTreeMap;
use std::path::Path;

/// Returns the facts in the format of the reference program: without unknown fields.
fn row(bytes: &[u8]) -> Result<String, String> {
    let (source, cancel) = (bytes, Cancel::default());
    let probed = gristmill_media::av::probe(&mut Reader::new(&source, &cancel)).map_err(|error| error.to_string())?;
    Ok(to_json(&probed.facts))
}

/// Returns the files of a folder whose facts differ from its `expected.json`, with both values.
fn differences(folder: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join("expected.json")).unwrap();
    let expected: BTreeMap<String, Option<String>> = serde_json::from_str(&text).unwrap();
    assert!(!expected.is_empty());
    let mut different = Vec::new();
    for (name, expected) in expected {
        let found = row(&std::fs::read(folder.join(&name)).unwrap());
        if found.as_ref().ok() != expected.as_ref() {
            different.push(format!(
                "{name}\n  peer {}\n  ours {}",
                expected.as_deref().unwrap_or("no row"),
                found.unwrap_or_else(|error| error)
            ));
        }
    }
    different
}

fn golden(family: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/media").join(family);
    let different = differences(&folder);
    assert!(different.is_empty(), "{}", different.join("\n"));
}

#[test]
fn wav_and_avi_facts_equal_those_of_the_reference() {
    golden("riff");
}

#[test]
fn flac_and_aac_facts_equal_those_of_the_reference() {
    golden("flac_adts");
}

#[test]
fn matroska_and_webm_facts_equal_those_of_the_reference() {
    golden("matroska");
}

#[test]
fn mp4_and_mov_facts_equal_those_of_the_reference() {
    golden("iso");
}

/// Compares the files of another folder with the facts in its `expected.json`, to check more files than this repository contains.
#[test]
fn media_facts_of_an_external_corpus_equal_those_of_the_reference() {
    let Some(folder) = std::env::var_os("GRISTMILL_MEDIA_CORPUS") else { return };
    let different = differences(Path::new(&folder));
    assert!(different.is_empty(), "{} differ\n{}", different.len(), different.join("\n"));
}
