//! Compares the fast tokenizer with the reference for every accepted form.

use super::pieces::WordBuffers;
use super::prefix_merges::PrefixMerges;
use super::symbols::Symbols;
use super::*;
use crate::adversarial;
use crate::byte_level;
use crate::join::in_turn;
use crate::reference::Reference;
use crate::tests::{golden, lists_of, rounds, RandomNumbers};
use serde_json::{json, Value};

/// A path in a file, and the value to set.
type Change = (&'static str, Value);
type Changes<'a> = &'a [Change];

/// Returns a tokenizer file of the tests with some values replaced.
fn changed(name: &str, changes: &[(&str, Value)]) -> Vec<u8> {
    let mut file: Value = serde_json::from_slice(&std::fs::read(golden(name)).unwrap()).unwrap();
    for (path, value) in changes {
        let (parent, name) = path.rsplit_once('/').unwrap();
        file.pointer_mut(parent).unwrap().as_object_mut().unwrap().insert(name.to_owned(), value.clone());
    }
    serde_json::to_vec(&file).unwrap()
}

fn read(json: &[u8]) -> (Reference, Result<Bpe, String>) {
    let file = File::read(json, &in_turn);
    let lists = file.as_ref().map(|file| lists_of(&file.model));
    let reference = Reference::parse(json, file.as_ref(), lists.as_ref()).unwrap();
    let raw = reference.tokenizer();
    let own = Tables::new(file.as_ref(), lists.as_ref(), None)
        .and_then(|tables| Bpe::new(tables, raw.get_added_vocabulary(), raw.get_normalizer()));
    (reference, own)
}

/// Compares the ids of this many random texts. With 1,000 or more, also compares the adversarial texts.
fn compare(name: &str, json: &[u8], rounds: usize) {
    let (reference, own) = read(json);
    let own = own.unwrap_or_else(|why| panic!("{name}: {why}"));
    let tokenizer = reference.tokenizer();
    let added: Vec<String> = tokenizer.get_added_tokens_decoder().into_values().map(|token| token.content).collect();
    let spellings: Vec<&str> = added.iter().map(String::as_str).collect();
    let mut pieces = adversarial::texts(&spellings);
    pieces.extend(added.iter().cloned());
    let known = (0..tokenizer.get_vocab_size(true) as u32).map(|id| reference.bytes_of(id));
    pieces.extend(known.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()));
    let (mut dice, mut scratch) = (RandomNumbers(0x5eed ^ name.len() as u64), Scratch::default());
    let (mut ids, mut expected, mut left) = (vec![], vec![], 0);
    let adversarial = if rounds >= 1_000 { pieces.len() } else { 0 };
    for round in 0..rounds + adversarial {
        let text = if round < adversarial { pieces[round].clone() } else { dice.text(&pieces) };
        ids.clear();
        expected.clear();
        let is_known = own.encode(&text, &mut scratch, &mut ids);
        match reference.encode(&text, &mut expected) {
            Ok(()) if is_known => assert_eq!(ids, expected, "{name}: {text:?}"),
            Ok(()) => left += 1,
            Err(_) => assert!(!is_known, "{name}: {text:?}"),
        }
    }
    // Adjacent tokens that strip spaces may overlap; such texts are not encoded by the fast tokenizer.
    assert!(left * 5 <= rounds, "{name}: {left} left to the reference");
}

fn byte_level(has_blank: bool, has_pattern: bool) -> Value {
    json!({"type": "ByteLevel", "add_prefix_space": has_blank, "trim_offsets": true, "use_regex": has_pattern})
}

fn split_at(pattern: &str) -> Value {
    let split = json!({"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false});
    json!({"type": "Sequence", "pretokenizers": [split, byte_level(false, false)]})
}

fn token(id: u32, content: &str, flags: [bool; 4]) -> Value {
    let [single_word, lstrip, rstrip, normalized] = flags;
    json!({"id": id, "content": content, "single_word": single_word, "lstrip": lstrip, "rstrip": rstrip,
        "normalized": normalized, "special": false})
}

#[test]
fn every_pattern_splits_as_the_reference_does() {
    for (pattern, _) in split::PATTERNS {
        for (name, normalizer) in [("llama3.json", Value::Null), ("gpt2.json", json!({"type": "NFC"}))] {
            let json = changed(name, &[("/pre_tokenizer", split_at(pattern)), ("/normalizer", normalizer)]);
            compare(pattern, &json, rounds(120));
        }
    }
}

#[test]
fn byte_level_tokenizers_of_every_kind_give_the_ids_of_the_reference() {
    let digits = json!({"type": "Digits", "individual_digits": true});
    let starcoder = json!({"type": "Sequence", "pretokenizers": [digits, byte_level(false, true)]});
    let odd = json!([
        token(0, "<|endoftext|>", [false, false, false, false]),
        token(900, " x", [false, true, false, true]),
        token(901, "word", [true, false, false, false]),
        token(902, "e\u{301}", [false, false, true, true]),
        token(903, "\n\n", [false, true, true, false]),
        token(904, "<|end", [false, false, false, true]),
    ]);
    let kinds: [(&str, &str, Changes<'_>); 6] = [
        ("blank", "gpt2.json", &[("/pre_tokenizer", byte_level(true, true))]),
        ("digits", "gpt2.json", &[("/pre_tokenizer", starcoder)]),
        ("whole", "gpt2.json", &[("/model/ignore_merges", json!(true))]),
        ("added", "gpt2.json", &[("/added_tokens", odd.clone())]),
        (
            "added, blank, composed",
            "gpt2.json",
            &[
                ("/added_tokens", odd),
                ("/pre_tokenizer", byte_level(true, true)),
                ("/normalizer", json!({"type": "NFC"})),
            ],
        ),
        ("no type", "gpt2.json", &[("/model/type", Value::Null), ("/model/unk_token", json!("<|endoftext|>"))]),
    ];
    for (name, file, changes) in kinds {
        compare(name, &changed(file, changes), rounds(150));
    }
}

#[test]
fn metaspace_tokenizers_of_every_kind_match_the_reference() {
    let replace = json!({"type": "Replace", "pattern": {"String": " "}, "content": "▁"});
    let at_blanks =
        json!({"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": false});
    let mut kinds: Vec<(String, &str, Vec<Change>)> = vec![
        ("prepended".into(), "llama2.json", vec![]),
        ("gemma".into(), "llama2.json", vec![("/normalizer", replace), ("/pre_tokenizer", at_blanks)]),
    ];
    for scheme in ["always", "first", "never"] {
        for is_split in [true, false] {
            let splitting =
                json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": is_split});
            let added = json!([
                token(0, "<unk>", [false, false, false, false]),
                token(1, "<s>", [false, false, true, true]),
                token(1000, "▁", [false, false, false, scheme == "first"]),
                token(1001, "lo", [true, true, false, true]),
            ]);
            let name = format!("{scheme} {is_split}");
            kinds.push((name.clone(), "metaspace.json", vec![("/pre_tokenizer", splitting.clone())]));
            let more = vec![("/pre_tokenizer", splitting.clone()), ("/added_tokens", added)];
            kinds.push((format!("{name}, added"), "metaspace.json", more));
            for is_fused in [true, false] {
                let unknown = vec![
                    ("/pre_tokenizer", splitting.clone()),
                    ("/model/byte_fallback", json!(false)),
                    ("/model/fuse_unk", json!(is_fused)),
                ];
                kinds.push((format!("{name}, unknown {is_fused}"), "metaspace.json", unknown));
            }
            if is_split {
                let whole = vec![("/pre_tokenizer", splitting), ("/model/ignore_merges", json!(true))];
                kinds.push((format!("{name}, whole"), "metaspace.json", whole));
            }
        }
    }
    for (name, file, changes) in kinds {
        compare(&name, &changed(file, &changes), rounds(60));
    }
}

#[test]
fn text_is_not_divided_if_a_token_has_the_word_mark_inside() {
    let mut file: Value = serde_json::from_slice(&std::fs::read(golden("llama2.json")).unwrap()).unwrap();
    let model = &mut file["model"];
    for (left, right) in [("e", "▁"), ("e▁", "▁t"), ("s", "▁a")] {
        let joined = format!("{left}{right}");
        if model["vocab"].get(&joined).is_none() {
            let id = model["vocab"].as_object().unwrap().len();
            model["vocab"][joined] = json!(id);
        }
        model["merges"].as_array_mut().unwrap().insert(5, json!([left, right]));
    }
    if model["vocab"].get("▁t").is_none() {
        panic!("the vocabulary has changed");
    }
    let json = serde_json::to_vec(&file).unwrap();
    assert!(!read(&json).1.unwrap().model.marks_begin);
    compare("marks inside", &json, rounds(100));
}

#[test]
fn unsupported_tokenizer_settings_are_refused_by_the_fast_reader() {
    let many: [(&str, &str, Value); 13] = [
        ("gpt2.json", "/model/dropout", json!(0.1)),
        ("gpt2.json", "/model/end_of_word_suffix", json!("</w>")),
        ("gpt2.json", "/pre_tokenizer", byte_level(false, false)),
        ("gpt2.json", "/pre_tokenizer", json!({"type": "Whitespace"})),
        ("gpt2.json", "/normalizer", json!({"type": "NFKC"})),
        ("gpt2.json", "/normalizer", json!({"type": "Lowercase"})),
        ("llama3.json", "/pre_tokenizer", split_at(r"\p{L}+|\s+")),
        ("llama3.json", "/pre_tokenizer/pretokenizers/0/behavior", json!("Removed")),
        ("llama3.json", "/pre_tokenizer/pretokenizers/0/invert", json!(true)),
        ("llama3.json", "/pre_tokenizer/pretokenizers/1/add_prefix_space", json!(true)),
        ("llama2.json", "/model/ignore_merges", json!(true)),
        ("llama2.json", "/pre_tokenizer", json!({"type": "Metaspace", "replacement": "▁"})),
        ("metaspace.json", "/pre_tokenizer/replacement", json!("_")),
    ];
    for (name, path, value) in many {
        let (_, own) = read(&changed(name, &[(path, value.clone())]));
        assert!(own.is_err(), "{name} {path} {value}");
    }
}

#[test]
fn long_words_have_the_ids_of_the_reference() {
    let (reference, own) = read(&std::fs::read(golden("gpt2.json")).unwrap());
    let (own, mut scratch) = (own.unwrap(), Scratch::default());
    for length in (1..140).chain([255, 256, 257, 1_000, 20_000]) {
        for part in ["the", "in", "é", "世界", "a", "нет", "👍", "zzq"] {
            let text: String = part.chars().cycle().take(length).collect();
            let (mut ids, mut expected) = (vec![], vec![]);
            // Encodes twice, so that cached ids are compared, too.
            for _ in 0..2 {
                ids.clear();
                expected.clear();
                assert!(own.encode(&text, &mut scratch, &mut ids));
                reference.encode(&text, &mut expected).unwrap();
                assert_eq!(ids, expected, "{part} {length}");
            }
        }
    }
}

/// Returns the characters that represent bytes.
fn spelled(bytes: &[u8]) -> String {
    let all: Vec<char> = (0..0x200).filter_map(char::from_u32).filter(|c| byte_level::byte_of(*c).is_some()).collect();
    bytes.iter().filter_map(|byte| all.iter().find(|c| byte_level::byte_of(**c) == Some(*byte))).collect()
}

/// Returns the smallest byte-level tokenizer with these merges: one token for each byte, and one for each product.
fn with_merges(merges: &[(String, String)]) -> Vec<u8> {
    let mut vocab = serde_json::Map::new();
    let bytes = (0..=255u8).map(|byte| spelled(&[byte]));
    for token in bytes.chain(merges.iter().map(|(left, right)| format!("{left}{right}"))) {
        let id = vocab.len();
        vocab.entry(token).or_insert(json!(id));
    }
    let merges: Vec<Value> = merges.iter().map(|(left, right)| json!([left, right])).collect();
    let changes = [("/model/vocab", vocab.into()), ("/model/merges", json!(merges)), ("/added_tokens", json!([]))];
    changed("gpt2.json", &changes)
}

#[test]
fn seeded_characters_give_the_ids_of_the_reference() {
    let pieces = ["今", "本", "é", "я", "👍", "a", "今本", "本今", "яя", "ü"];
    let mut dice = RandomNumbers(11);
    let mut seeded = 0;
    for round in 0..rounds(40) {
        let merges = random_merges(&mut dice, &pieces, 30);
        let (reference, own) = read(&with_merges(&merges));
        let (own, mut scratch) = (own.unwrap(), Scratch::default());
        seeded += usize::from(matches!(&own.model.symbols, Symbols::Bytes(bytes) if bytes.has_seeds()));
        for count in [1, 2, 3, 5, 8, 13, 21, 34, 70, 130, 300] {
            let text: String = (0..count).map(|_| pieces[dice.roll(pieces.len())]).collect();
            let (mut ids, mut expected) = (vec![], vec![]);
            assert!(own.encode(&text, &mut scratch, &mut ids));
            reference.encode(&text, &mut expected).unwrap();
            assert_eq!(ids, expected, "{round}: {text:?} {merges:?}");
        }
    }
    assert!(seeded > 0);
}

/// Returns merges as if trained on a text of these pieces, but with pairs in random order: they often span characters whose bytes are not
/// merged yet, and sometimes precede merges that produce their parts.
fn random_merges(dice: &mut RandomNumbers, pieces: &[&str], count: usize) -> Vec<(String, String)> {
    let sample: String = (0..count).map(|_| pieces[dice.roll(pieces.len())]).collect();
    let mut parts: Vec<Vec<u8>> = sample.bytes().map(|byte| vec![byte]).collect();
    let mut merges = Vec::new();
    for _ in 0..count {
        let at = dice.roll(parts.len() - 1);
        let (left, right) = (parts[at].clone(), parts[at + 1].clone());
        let pair = (spelled(&left), spelled(&right));
        if merges.contains(&pair) {
            continue;
        }
        merges.push(pair);
        let mut at = 0;
        while at + 1 < parts.len() {
            if parts[at] == left && parts[at + 1] == right {
                let gone = parts.remove(at + 1);
                parts[at].extend(gone);
            }
            at += 1;
        }
    }
    merges
}

#[test]
fn words_seeded_with_first_merges_have_the_ids_of_the_reference() {
    let pieces = ["今", "本", "日本", "é", "я", "京", "a", "今本", "東京都", "하", "ü", "है"];
    let mut dice = RandomNumbers(12);
    let mut words = 0;
    for round in 0..rounds(60) {
        let mut merges = random_merges(&mut dice, &pieces, 60);
        for _ in 0..round % 4 {
            let (one, other) = (dice.roll(merges.len()), dice.roll(merges.len()));
            merges.swap(one, other);
        }
        let json = with_merges(&merges);
        let (reference, own) = read(&json);
        let (mut own, file) = (own.unwrap(), File::read(&json, &in_turn).unwrap());
        assert!(own.model.early.is_none(), "so small a vocabulary joins its words otherwise");
        for reaching in [1, 2, 5, 12, 30] {
            let mut early = PrefixMerges::reaching(reaching);
            merge_stats::tokens(&file.model, |rank, token| early.add(rank, token));
            own.model.early = Some(early);
            let mut scratch = Scratch::default();
            for count in [6, 8, 13, 21, 34, 70, 130, 400] {
                let text: String = (0..count).map(|_| pieces[dice.roll(pieces.len())]).collect();
                words += usize::from(WordBuffers::are_for(text.as_bytes()));
                // Two texts, so that cached pieces are used, too, but not the cached word.
                for start in ["", "b"] {
                    let (mut ids, mut expected, text) = (vec![], vec![], format!("{start}{text}"));
                    assert!(own.encode(&text, &mut scratch, &mut ids));
                    reference.encode(&text, &mut expected).unwrap();
                    assert_eq!(ids, expected, "{round} {reaching}: {text:?} {merges:?}");
                }
            }
        }
    }
    assert!(words > 100);
}

#[test]
fn very_long_space_runs_use_reference() {
    let (_, own) = read(&std::fs::read(golden("llama3.json")).unwrap());
    let (own, mut ids) = (own.unwrap(), vec![7]);
    assert!(!own.encode(&format!("a{}b", " ".repeat(300_000)), &mut Scratch::default(), &mut ids));
    assert_eq!(ids, [7]);
}
