//! The cases of the reference programs with inputs and outputs in a store: the same bytes as a local run, which other tests compare with
//! the reference.
//!
//! Cases without commands in their descriptions are in the tests of `crates/ops`, on `mem://`. Cases of mounts, which show modes and links,
//! are only compared on folders.

use super::{golden, without_own_folders, Case};
use crate::cli_store::Stores;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

/// Kinds of cases whose commands are in their descriptions.
const KINDS: [&str; 7] = ["arrow", "csv", "huggingface", "mds", "megatron", "olmo", "parquet"];
/// Cases whose tokenizers are created by their own tests.
const WITHOUT_TOKENIZER: [&str; 3] = ["p10_wide_ids", "m05_token_size", "o06_wide"];

/// Returns the output of a run in a comparable form: tables of OLMo are decompressed, and contain the local names of inputs.
fn comparable(files: impl IntoIterator<Item = (String, Vec<u8>)>) -> BTreeMap<String, Vec<u8>> {
    let plain = |(name, bytes): (String, Vec<u8>)| match name.strip_suffix(".csv.gz") {
        Some(stem) => {
            let mut text = String::new();
            flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap();
            (stem.to_owned(), text.replace("s3://b/", "").into_bytes())
        }
        None => (name, bytes),
    };
    files.into_iter().map(plain).collect()
}

#[test]
fn every_golden_case_packs_from_a_store_as_locally() {
    let stores = Stores::empty();
    let mut count = 0;
    for kind in KINDS {
        for entry in std::fs::read_dir(golden(kind)).unwrap() {
            let folder = entry.unwrap().path();
            let name = folder.file_name().unwrap().to_str().unwrap();
            let Ok(facts) = std::fs::read(folder.join("case.json")) else { continue };
            if WITHOUT_TOKENIZER.contains(&name) {
                continue;
            }
            let facts: Value = serde_json::from_slice(&facts).unwrap();
            for command in facts["gristmill"].as_array().unwrap() {
                let words: Vec<&str> = command.as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
                compare(&stores, &format!("{kind}/{name}"), &words);
                count += 1;
            }
        }
    }
    assert!(count >= 50, "{count}");
}

/// Compares a run in the store with a local one.
fn compare(stores: &Stores, name: &str, words: &[&str]) {
    let case = Case::new(name);
    stores.replace(&case.sandbox.path("case"));
    let local = case.run(words);
    let at = |word: &&str| match word.split('/').next() {
        Some("input" | "expected" | "_logs") => format!("s3://b/{word}"),
        _ => (*word).to_owned(),
    };
    let words: Vec<String> = words.iter().map(at).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let stored = stores.run_as(&mut case.command(&words));
    assert_eq!(stored.code, local.code, "{name}: {}{}", stored.out, stored.err);
    let ours = comparable(stores.stored("expected"));
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let made = case.sandbox.has("case/expected");
    let files = if made { without_own_folders(&case.sandbox.path("case/expected")) } else { BTreeMap::new() };
    let wanted = comparable(files.into_iter().map(|(path, bytes)| (text(&path), bytes)));
    assert_eq!(ours.keys().collect::<Vec<_>>(), wanted.keys().collect::<Vec<_>>(), "{name}");
    assert!(!wanted.is_empty() || local.code != 0, "{name}");
    wanted.iter().for_each(|(key, bytes)| assert!(ours[key] == *bytes, "{name}: {key} differs"));
}
