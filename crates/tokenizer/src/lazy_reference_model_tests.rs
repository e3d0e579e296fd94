//! Compares the results for single words with those of the whole model.

use super::*;
use crate::adversarial;
use crate::file::File;
use crate::join::in_turn;
use crate::reference::from_parts;
use crate::reference_model::{Raw, ReferenceModel};
use crate::tests::{golden, lists_of, rounds, RandomNumbers};
use serde_json::{json, Value};

/// Returns a tokenizer of the tests with parts of its model replaced: with the model of the reference, and with the lazy model.
fn both(name: &str, changes: &[(&str, Value)]) -> (tokenizers::Tokenizer, Raw) {
    let mut file: Value = serde_json::from_slice(&std::fs::read(golden(name)).unwrap()).unwrap();
    for (key, value) in changes {
        file["model"][*key] = value.clone();
    }
    let json = serde_json::to_vec(&file).unwrap();
    let file = File::read(&json, &in_turn).unwrap();
    let lists = lists_of(&file.model).unwrap();
    (tokenizers::Tokenizer::from_bytes(&json).unwrap(), from_parts(&file, Some(&lists)).unwrap())
}

/// Sets the number of words for which separate models are built.
fn wordwise_for(raw: &Raw, words: usize) {
    wordwise(raw).words.store(words, Ordering::Relaxed);
}

fn wordwise(raw: &Raw) -> &LazyReferenceModel {
    match raw.get_model() {
        ReferenceModel::Wordwise(model) => model,
        ReferenceModel::Whole(_) => panic!("the whole model was made"),
    }
}

#[test]
fn lazy_model_gives_the_ids_of_the_whole_model() {
    let kinds: [(&str, &[(&str, Value)]); 10] = [
        ("gpt2.json", &[]),
        ("gpt2.json", &[("ignore_merges", json!(true))]),
        ("llama3.json", &[]),
        ("qwen.json", &[]),
        ("llama2.json", &[]),
        ("metaspace.json", &[]),
        ("metaspace.json", &[("byte_fallback", json!(false)), ("fuse_unk", json!(true))]),
        ("metaspace.json", &[("byte_fallback", json!(false)), ("fuse_unk", json!(false))]),
        ("metaspace.json", &[("byte_fallback", json!(false)), ("unk_token", Value::Null)]),
        ("llama2.json", &[("ignore_merges", json!(true))]),
    ];
    for (name, changes) in kinds {
        let (whole, words) = both(name, changes);
        wordwise_for(&words, usize::MAX);
        let spelled = |id: u32| whole.id_to_token(id);
        let known: Vec<String> = (0..whole.get_vocab_size(true) as u32 + 3).filter_map(spelled).collect();
        for (id, text) in (0..whole.get_vocab_size(true) as u32 + 3).filter_map(|id| Some((id, spelled(id)?))) {
            assert_eq!(words.token_to_id(&text), whole.token_to_id(&text), "{name}");
            assert_eq!(words.id_to_token(id), Some(text), "{name}");
        }
        assert_eq!(words.get_vocab_size(true), whole.get_vocab_size(true));
        assert_eq!(words.token_to_id("no token is this"), None);
        let (mut dice, mut texts) = (RandomNumbers(0xfeed), adversarial::texts(&["<s>", "<|endoftext|>"]));
        texts.extend((0..rounds(400)).map(|_| dice.text(&known)));
        for text in texts {
            let expected = whole.encode(text.as_str(), false).unwrap();
            let found = words.encode(text.as_str(), false).unwrap();
            let places = |encoding: &tokenizers::Encoding| encoding.get_offsets().to_vec();
            assert_eq!(found.get_ids(), expected.get_ids(), "{name} {changes:?}: {text:?}");
            assert_eq!(found.get_tokens(), expected.get_tokens());
            assert_eq!(places(&found), places(&expected), "{name}: {text:?}");
        }
        // In a byte vocabulary, every character consists of tokens.
        let is_of_bytes = ["gpt2.json", "llama3.json", "qwen.json"].contains(&name);
        assert_eq!(wordwise(&words).whole.get().is_none(), is_of_bytes, "{name}");
    }
}

#[test]
fn lazy_model_handles_merges_in_any_order_and_duplicates() {
    let mut dice = RandomNumbers(77);
    for round in 0..rounds(150) {
        let letters = ["a", "b", "c", "Ġ"];
        let mut all: Vec<String> = letters.iter().map(|letter| (*letter).to_owned()).collect();
        let mut merges = Vec::new();
        for _ in 0..dice.roll(30) {
            let (left, right) = (all[dice.roll(all.len())].clone(), all[dice.roll(all.len())].clone());
            let joined = format!("{left}{right}");
            if joined.len() > 24 {
                continue;
            }
            if !all.contains(&joined) {
                all.push(joined);
            }
            merges.insert(dice.roll(merges.len() + 1), json!([left, right]));
        }
        let vocab: serde_json::Map<String, Value> = all.iter().cloned().zip((0..).map(|id| json!(id))).collect();
        let changes = [("vocab", vocab.into()), ("merges", json!(merges)), ("unk_token", Value::Null)];
        let (whole, words) = both("gpt2.json", &changes);
        wordwise_for(&words, usize::MAX);
        for length in [1, 2, 3, 5, 8, 13, 40, 200] {
            let text: String = (0..length).map(|_| ["a", "b", "c", " "][dice.roll(4)]).collect();
            let expected = whole.encode(text.as_str(), false).unwrap();
            let found = words.encode(text.as_str(), false).unwrap();
            assert_eq!(found.get_ids(), expected.get_ids(), "{round}: {text:?} {merges:?}");
        }
        assert!(wordwise(&words).whole.get().is_none());
    }
}

#[test]
fn many_or_long_words_use_the_whole_model() {
    let (whole, words) = both("gpt2.json", &[]);
    wordwise_for(&words, 10);
    let mut ids = Vec::new();
    for text in ["word".repeat(MAX_WORD_BYTES / 4 - 1), "word".repeat(MAX_WORD_BYTES / 4 + 1)] {
        assert!(wordwise(&words).whole.get().is_none());
        ids.extend(words.encode_fast(text.as_str(), false).unwrap().get_ids().to_vec());
        ids.extend(whole.encode_fast(text.as_str(), false).unwrap().get_ids().to_vec());
        let (one, other) = ids.split_at(ids.len() / 2);
        assert_eq!(one, other);
        ids.clear();
    }
    assert!(wordwise(&words).whole.get().is_some());
    let (_, words) = both("gpt2.json", &[]);
    wordwise_for(&words, 1_000);
    for number in 0..12 {
        let text: String = (0..100).map(|word| format!(" w{}q", spelled(100 * number + word))).collect();
        let found = words.encode_fast(text.as_str(), false).unwrap();
        assert_eq!(found.get_ids(), whole.encode_fast(text.as_str(), false).unwrap().get_ids(), "{text}");
        assert_eq!(wordwise(&words).whole.get().is_some(), number >= 10, "{number}");
    }
}

/// Returns a number in letters.
fn spelled(mut number: usize) -> String {
    let mut text = String::new();
    for _ in 0..5 {
        text.push(char::from(b'a' + (number % 26) as u8));
        number /= 26;
    }
    text
}
