//! Tokenizers with vocabulary and merges in two files, `vocab.json` and `merges.txt`, which are interpreted by the rules of GPT-2.

use gristmill_core::problem::Subject;
use gristmill_core::{Failure, Outcome};
use gristmill_storage::read::read_whole;
use serde_json::{json, Map, Value};
use std::path::Path;

const ACTIVITY: &str = "reading the tokenizer";
/// Prefix of the name of such a tokenizer.
const PREFIX: &str = "gpt2:";
/// The only special token. If the vocabulary does not have it, it is appended.
pub const GPT2_END: &str = "<|endoftext|>";
/// Prefix of the first line of a file of merges.
const HEADER: &str = "#version";

/// Returns the name, as used in plans, of the tokenizer for two files.
pub fn vocab_merges_name(vocab: &str, merges: &str) -> String {
    format!("{PREFIX}{vocab}:{merges}")
}

/// Returns the paths of the vocabulary and the merges in the name of such a tokenizer; `None` for other names.
pub fn vocab_merges_files(named: &str) -> Option<(&str, &str)> {
    named.strip_prefix(PREFIX)?.rsplit_once(':')
}

/// Returns the `tokenizer.json` that is equivalent to the two files.
pub(super) fn read(vocab: &str, merges: &str, max_bytes: u64) -> Outcome<Vec<u8>> {
    let text = |path: &str| {
        let missing = || Failure::environment(ACTIVITY, "no such file").on(Subject::path(path));
        let bytes = read_whole(Path::new(path), max_bytes)?.ok_or_else(missing)?;
        String::from_utf8(bytes).map_err(|error| Failure::data(ACTIVITY, error.to_string()).on(Subject::path(path)))
    };
    let vocabulary: Map<String, Value> = serde_json::from_str(&text(vocab)?).map_err(|error| {
        let failure = Failure::data(ACTIVITY, format!("it is not a vocabulary: {error}")).on(Subject::path(vocab));
        failure.with_hint("a vocab.json is one object of tokens and their ids")
    })?;
    let lines = text(merges)?;
    let pairs = pairs_of(&lines).map_err(|why| {
        let failure = Failure::data(ACTIVITY, why).on(Subject::path(merges));
        failure.with_hint(
            "a merges.txt begins with `#version: 0.2`, and each line after it is two tokens with a space between",
        )
    })?;
    let end = vocabulary.get(GPT2_END).cloned().unwrap_or_else(|| {
        let ids = vocabulary.values().filter_map(Value::as_u64);
        ids.max().map_or(0, |greatest| greatest.saturating_add(1)).into()
    });
    let bytes = json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true});
    let added = json!({"id": end, "content": GPT2_END, "single_word": false, "lstrip": false, "rstrip": false,
        "normalized": false, "special": true});
    let model = json!({"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
        "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
        "vocab": vocabulary, "merges": pairs});
    let file = json!({"version": "1.0", "truncation": null, "padding": null, "added_tokens": [added], "normalizer": null,
        "pre_tokenizer": bytes, "post_processor": bytes, "decoder": bytes, "model": model});
    Ok(file.to_string().into_bytes())
}

fn pairs_of(merges: &str) -> Result<Vec<[&str; 2]>, String> {
    let mut lines = merges.lines().enumerate();
    if !lines.next().is_some_and(|(_, header)| header.starts_with(HEADER)) {
        return Err(format!("its first line does not begin with {HEADER}"));
    }
    let mut lines: Vec<_> = lines.collect();
    while lines.last().is_some_and(|(_, line)| line.is_empty()) {
        lines.pop();
    }
    lines
        .into_iter()
        .map(|(number, line)| match line.split_once(' ') {
            Some((left, right)) if !left.is_empty() && !right.is_empty() && !right.contains(' ') => Ok([left, right]),
            _ => Err(format!("line {} is not two tokens with a space between", number + 1)),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tokenizer;
    use gristmill_storage::{fs::RealFs, publish::write_file};

    #[test]
    fn vocab_and_merges_files_give_the_ids_of_tokenizer_json() {
        let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/tokenizers/gpt2.json");
        let file: Value = serde_json::from_slice(&std::fs::read(golden).unwrap()).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| {
            write_file(&RealFs, &dir.path().join(name), text.as_bytes(), 0o644).unwrap();
            dir.path().join(name).to_string_lossy().into_owned()
        };
        let lines: Vec<String> = file["model"]["merges"]
            .as_array()
            .unwrap()
            .iter()
            .map(|pair| match pair {
                Value::String(line) => line.clone(),
                pair => format!("{} {}", pair[0].as_str().unwrap(), pair[1].as_str().unwrap()),
            })
            .collect();
        let merges = put("merges.txt", &format!("#version: 0.2\n{}\n", lines.join("\n")));
        let vocab = put("vocab.json", &file["model"]["vocab"].to_string());
        let name = vocab_merges_name(&vocab, &merges);
        assert_eq!(vocab_merges_files(&name), Some((vocab.as_str(), merges.as_str())));
        let (ours, theirs) = (Tokenizer::load(&name).unwrap(), Tokenizer::load(golden).unwrap());
        let ids = |tokenizer: &Tokenizer, text: &str| {
            let mut ids = Vec::new();
            tokenizer.encoder().encode(text, &mut ids).unwrap();
            ids
        };
        for text in ["", " two  words\n", "It's 2026: <|endoftext|>", "naïve déjà-vu 日本語 🙂"] {
            assert_eq!(ids(&ours, text), ids(&theirs, text), "{text}");
        }
        assert_eq!(ours.full_size(), theirs.full_size());
        assert!(ours.template().unwrap().prefix.is_empty());

        let mut without = file["model"]["vocab"].as_object().unwrap().clone();
        without.remove(GPT2_END);
        let ids_of_rest: Map<String, Value> =
            without.iter().map(|(token, id)| (token.clone(), (id.as_u64().unwrap() - 1).into())).collect();
        let rest = put("rest.json", &Value::Object(ids_of_rest).to_string());
        let last = Tokenizer::load(&vocab_merges_name(&rest, &merges)).unwrap();
        assert_eq!(last.id_of(GPT2_END).map(u64::from), Some(last.full_size() - 1));
        for (name, text, why) in [
            ("headless.txt", "a b\n", "first line"),
            ("three.txt", "#version: 0.2\na b c\n", "line 2"),
            ("blank.txt", "#version: 0.2\na b\n\nc d\n", "line 3"),
        ] {
            let failure = Tokenizer::load(&vocab_merges_name(&vocab, &put(name, text))).err().unwrap();
            assert!(failure.why.contains(why), "{name}: {}", failure.why);
        }
        assert!(Tokenizer::load(&vocab_merges_name(&merges, &merges)).err().unwrap().why.contains("not a vocabulary"));
        assert!(Tokenizer::load(&vocab_merges_name(&vocab, "nowhere")).err().unwrap().why.contains("no such file"));
    }
}
