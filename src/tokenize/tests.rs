//! The readers against the Python packages, and the fast reader against the reference.

use super::*;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Where the trained tokenizers of the tests are.
fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/tokenizers").join(name)
}

/// Texts, and for each tokenizer the ids of each, as the Python packages gave them (`tokenizers` 0.23.3, `sentencepiece` 0.2.3).
#[derive(Deserialize)]
struct Oracle {
    texts: Vec<String>,
    ids: BTreeMap<String, Vec<Vec<u32>>>,
}

#[test]
fn ids_are_those_of_the_python_packages() {
    // A larger file of the same form can be given, to look deeper.
    let file = std::env::var_os("GRISTMILL_TOKENIZER_ORACLE").map_or_else(|| golden("oracle.json"), PathBuf::from);
    let folder = std::env::var_os("GRISTMILL_TOKENIZER_FOLDER").map_or_else(|| golden(""), PathBuf::from);
    let oracle: Oracle = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let mut all_wrong = Vec::new();
    for (name, all) in &oracle.ids {
        let ending = if name.starts_with("spm") { "model" } else { "json" };
        let tokenizer = Tokenizer::load(folder.join(format!("{name}.{ending}")).to_str().unwrap()).unwrap();
        let mut encoder = tokenizer.encoder();
        let (mut wrong, mut ids) = (Vec::new(), Vec::new());
        for (text, expected) in oracle.texts.iter().zip(all) {
            for by_reference in [false, true] {
                ids.clear();
                if by_reference {
                    encoder.encode_by_reference(text, &mut ids).unwrap();
                } else {
                    encoder.encode(text, &mut ids).unwrap();
                }
                if ids != *expected {
                    wrong.push(format!("{by_reference} {text:?}: {ids:?}, not {expected:?}"));
                }
            }
        }
        let first = wrong.iter().take(5).cloned().collect::<Vec<_>>().join("\n");
        println!(
            "{name}: fast {} ({:?}), wrong {} of {}",
            tokenizer.is_fast(),
            tokenizer.facts().slow_because,
            wrong.len(),
            all.len()
        );
        if !wrong.is_empty() {
            all_wrong.push(format!("{name}: {} wrong\n{first}", wrong.len()));
        }
    }
    assert!(all_wrong.is_empty(), "{}", all_wrong.join("\n"));
}
