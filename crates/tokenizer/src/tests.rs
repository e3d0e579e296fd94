//! Compares the tokenizers with the Python packages, and the fast tokenizer with the reference.

use super::*;
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Returns the path of a trained tokenizer of the tests.
pub(super) fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/tokenizers").join(name)
}

/// Returns the parsed lists of a file.
pub(super) fn lists_of<'a>(file: &'a file::ModelFile<'a>) -> Result<bpe::Lists<'a>, String> {
    bpe::Lists::new(file, &join::in_turn, || ()).0
}

/// Texts, and the ids of each text for each tokenizer, from the Python packages (`tokenizers` 0.23.3, `sentencepiece` 0.2.3).
#[derive(Deserialize)]
struct Oracle {
    texts: Vec<String>,
    ids: BTreeMap<String, Vec<Vec<u32>>>,
}

#[test]
fn token_ids_match_the_python_packages() {
    // The environment can name a larger file of the same form, for a more thorough test.
    let file = std::env::var_os("GRISTMILL_TOKENIZER_ORACLE").map_or_else(|| golden("oracle.json"), PathBuf::from);
    let folder = std::env::var_os("GRISTMILL_TOKENIZER_FOLDER").map_or_else(|| golden(""), PathBuf::from);
    let oracle: Oracle = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let mut all_wrong = Vec::new();
    for (name, all) in &oracle.ids {
        let ending = if name.starts_with("spm") { "model" } else { "json" };
        let tokenizer = Tokenizer::load(folder.join(format!("{name}.{ending}")).to_str().unwrap()).unwrap();
        let mut encoder = tokenizer.encoder();
        let (mut wrong, mut ids) = (Vec::new(), Vec::new());
        for way in ["fast", "by the reference"] {
            for (text, expected) in oracle.texts.iter().zip(all) {
                ids.clear();
                if way == "by the reference" {
                    encoder.encode_by_reference(text, &mut ids).unwrap();
                } else {
                    encoder.encode(text, &mut ids).unwrap();
                }
                if ids != *expected {
                    wrong.push(format!("{way} {text:?}: {ids:?}, not {expected:?}"));
                }
            }
        }
        assert_eq!(all.len(), oracle.texts.len());
        let first = wrong.iter().take(5).cloned().collect::<Vec<_>>().join("\n");
        if !wrong.is_empty() {
            all_wrong.push(format!("{name}: {} wrong\n{first}", wrong.len()));
        }
    }
    assert!(all_wrong.is_empty(), "{}", all_wrong.join("\n"));
}

fn load(name: &str) -> Tokenizer {
    Tokenizer::load(golden(name).to_str().unwrap()).unwrap()
}

/// A small random number generator with a fixed seed, so that every run uses the same texts.
pub(super) struct RandomNumbers(pub(super) u64);

impl RandomNumbers {
    pub(super) fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % sides
    }

    fn char(&mut self) -> char {
        let ranges = [
            (0, 0x80),
            (0x20, 0x7f),
            (0x80, 0x250),
            (0x300, 0x600),
            (0x600, 0x1200),
            (0x1e00, 0x2c00),
            (0x3000, 0x3400),
            (0x4e00, 0xa000),
            (0xac00, 0xd7a4),
            (0xf900, 0x10000),
            (0x10000, 0x20000),
            (0x20000, 0x110000),
        ];
        let (from, to) = ranges[self.roll(ranges.len())];
        char::from_u32(from + self.roll((to - from) as usize) as u32).unwrap_or(' ')
    }

    pub(super) fn text(&mut self, pieces: &[String]) -> String {
        let mut text = String::new();
        for _ in 0..=self.roll(12) {
            match self.roll(10) {
                0 | 1 => (0..=self.roll(5)).for_each(|_| text.push(self.char())),
                2 => text.push_str(&[" ", "\n", "\t", "a", "7", "'", "▁"][self.roll(7)].repeat(self.roll(20))),
                3 => text.push(' '),
                4 => {
                    // The piece is cut at a random position, so that parts of added tokens occur, too.
                    let piece = &pieces[self.roll(pieces.len())];
                    let most = self.roll(piece.len().min(40) + 1);
                    text.extend(piece.char_indices().take_while(|(at, c)| at + c.len_utf8() <= most).map(|(_, c)| c));
                }
                _ => {
                    let piece = &pieces[self.roll(pieces.len())];
                    if piece.len() < 64 {
                        text.push_str(piece);
                    }
                }
            }
        }
        text
    }
}

/// Returns the number of texts for each tokenizer, which an environment variable overrides: 100,000 for the full test.
pub(super) fn rounds(default: usize) -> usize {
    std::env::var("GRISTMILL_TOKENIZER_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn the_fast_reader_gives_the_ids_of_the_reference() {
    let rounds = rounds(800);
    for name in ["gpt2", "llama3", "qwen", "llama2", "metaspace"] {
        let tokenizer = load(&format!("{name}.json"));
        assert!(tokenizer.is_fast(), "{name}: {:?}", tokenizer.facts().slow_because);
        let added = tokenizer.facts().added;
        let mut pieces = adversarial::texts(&added.iter().map(|token| token.text.as_str()).collect::<Vec<_>>());
        pieces.extend(added.into_iter().map(|token| token.text));
        pieces.extend(
            (0..tokenizer.full_size() as u32).map(|id| String::from_utf8_lossy(&tokenizer.piece(id)).into_owned()),
        );
        let mut encoder = tokenizer.encoder();
        let mut dice = RandomNumbers(0x5eed);
        let (mut ids, mut expected) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let text = dice.text(&pieces);
            ids.clear();
            expected.clear();
            encoder.encode(&text, &mut ids).unwrap();
            encoder.encode_by_reference(&text, &mut expected).unwrap();
            assert_eq!(ids, expected, "{name}: {text:?}");
        }
    }
}

#[test]
fn batch_encoding_gives_the_ids_of_single_encoding() {
    // The vocabulary lacks the first byte of Cyrillic letters, so some cache misses cannot be merged.
    let mut lacking: serde_json::Value = serde_json::from_slice(&std::fs::read(golden("gpt2.json")).unwrap()).unwrap();
    for (key, has_it) in [("vocab", true), ("merges", false)] {
        let list = &mut lacking["model"][key];
        match list {
            serde_json::Value::Object(tokens) if has_it => tokens.retain(|token, _| !token.contains('Ð')),
            serde_json::Value::Array(merges) => merges.retain(|merge| !merge.to_string().contains('Ð')),
            _ => panic!("{key}"),
        }
    }
    let mut all: Vec<(String, Tokenizer)> = ["gpt2", "llama3", "qwen", "llama2", "metaspace", "unigram", "wordpiece"]
        .map(|name| (name.to_owned(), load(&format!("{name}.json"))))
        .into();
    all.extend(["spm_bpe_bytes", "spm_unigram"].map(|name| (name.to_owned(), load(&format!("{name}.model")))));
    let lacking = Tokenizer::from_bytes("lacking", &serde_json::to_vec(&lacking).unwrap()).unwrap();
    assert!(lacking.is_fast());
    all.push(("lacking".to_owned(), lacking));
    let mut dice = RandomNumbers(77);
    for (name, tokenizer) in all {
        let added: Vec<String> = tokenizer.facts().added.into_iter().map(|token| token.text).collect();
        let mut pieces = adversarial::texts(&added.iter().map(String::as_str).collect::<Vec<_>>());
        pieces.extend(added);
        let (mut encoder, mut alone, mut batch) = (tokenizer.encoder(), tokenizer.encoder(), Batch::default());
        for round in 0..rounds(60) / 5 {
            let many = if round % 8 == 0 { 300 } else { 12 };
            let mut texts: Vec<String> = (0..dice.roll(many)).map(|_| dice.text(&pieces)).collect();
            // More new words than the limit of collected cache misses.
            let new = |dice: &mut RandomNumbers| {
                (0..3 + dice.roll(25)).map(|_| (b'a' + dice.roll(26) as u8) as char).collect::<String>()
            };
            texts.extend((0..dice.roll(8)).map(|_| (0..dice.roll(120)).map(|_| new(&mut dice) + " ").collect()));
            let words: String = (0..400).map(|_| new(&mut dice) + " ").collect();
            let (half, blanks) = (texts.len() / 2, " ".repeat(300_000));
            match dice.roll(6) {
                0 => texts.insert(half, format!("{words}{blanks}b")),
                1 => texts.insert(half, String::new()),
                2 => texts.insert(half, "Это новые слова".to_owned()),
                3 => texts.insert(half, format!("{words}слова {words}")),
                _ => {}
            }
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            encoder.encode_all(&texts, &mut batch).unwrap();
            for (number, text) in texts.iter().enumerate() {
                let mut ids = Vec::new();
                let ids = alone.encode(text, &mut ids).ok().map(|()| ids);
                assert_eq!(batch.ids(number), ids.as_deref(), "{name}, {round}, {number}: {text:?}");
            }
            assert_eq!(batch.ids(texts.len()), None);
        }
    }
}

#[test]
fn text_that_fails_to_encode_does_not_affect_its_batch() {
    let json = r#"{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,
        "pre_tokenizer":{"type":"WhitespaceSplit"},"post_processor":null,"decoder":null,
        "model":{"type":"WordLevel","vocab":{"a":0,"b":1},"unk_token":"?"}}"#;
    let tokenizer = Tokenizer::from_bytes("words.json", json.as_bytes()).unwrap();
    let (mut encoder, mut batch) = (tokenizer.encoder(), Batch::default());
    for _ in 0..2 {
        encoder.encode_all(&["a b", "zebra", "", "b"], &mut batch).unwrap();
        let found: Vec<_> = (0..4).map(|number| batch.ids(number).map(<[u32]>::to_vec)).collect();
        assert_eq!(found, [Some(vec![0, 1]), None, Some(vec![]), Some(vec![1])]);
    }
}

#[test]
fn unsupported_models_are_left_to_the_reference() {
    for name in ["unigram", "wordpiece"] {
        let tokenizer = load(&format!("{name}.json"));
        assert!(!tokenizer.is_fast());
        assert!(tokenizer.facts().slow_because.is_some());
    }
}

#[test]
fn spans_have_the_token_ids_and_are_inside_the_text() {
    let oracle: Oracle = serde_json::from_slice(&std::fs::read(golden("oracle.json")).unwrap()).unwrap();
    for (name, all) in &oracle.ids {
        let ending = if name.starts_with("spm") { "model" } else { "json" };
        let mut encoder = load(&format!("{name}.{ending}")).encoder();
        for (text, expected) in oracle.texts.iter().zip(all) {
            let spans = encoder.encode_spans(text).unwrap();
            assert_eq!(spans.iter().map(|span| span.id).collect::<Vec<_>>(), *expected, "{name} {text:?}");
            let (bytes, chars) = (text.len(), text.chars().count());
            for span in &spans {
                let is_inside =
                    span.bytes.start <= span.bytes.end && span.bytes.end <= bytes && span.chars.end <= chars;
                assert!(
                    is_inside && span.chars.start <= span.chars.end && !span.is_template,
                    "{name} {text:?} {span:?}"
                );
            }
        }
    }
}

#[test]
fn token_at_a_character_matches_python() {
    let text = "Héllo 世界 👍🏽 <s>x";
    let expected = [
        Some(1),
        Some(2),
        Some(3),
        Some(3),
        Some(4),
        None,
        Some(6),
        Some(8),
        None,
        Some(11),
        Some(12),
        None,
        Some(15),
        Some(16),
        Some(17),
        Some(18),
        None,
    ];
    let spans = load("llama3.json").encoder().encode_spans_with_template(text).unwrap();
    let found: Vec<_> = (0..=text.chars().count()).map(|at| token_at_char(&spans, at)).collect();
    assert_eq!(found, expected);
    assert!(spans[0].is_template && spans.iter().skip(1).all(|span| !span.is_template));
}

#[test]
fn sentencepiece_spans_match_python() {
    let places = |name: &str, text: &str| -> Vec<(u32, usize, usize)> {
        let spans = load(name).encoder().encode_spans(text).unwrap();
        spans.into_iter().map(|span| (span.id, span.bytes.start, span.bytes.end)).collect()
    };
    assert_eq!(
        places("spm_unigram_bytes.model", "Héllo  世界 👍 ab"),
        [
            (264, 0, 0),
            (923, 0, 1),
            (574, 1, 3),
            (505, 3, 5),
            (877, 5, 6),
            (264, 6, 8),
            (236, 8, 8),
            (192, 8, 8),
            (158, 8, 11),
            (239, 11, 11),
            (157, 11, 11),
            (148, 11, 14),
            (264, 14, 15),
            (248, 15, 15),
            (167, 15, 15),
            (153, 15, 15),
            (149, 15, 19),
            (264, 19, 20),
            (7, 20, 22)
        ]
    );
    assert_eq!(
        places("spm_unigram.model", " Héllo  世界 👍鿿鿿 ab "),
        [
            (731, 1, 2),
            (337, 2, 4),
            (237, 4, 6),
            (636, 6, 7),
            (3, 7, 9),
            (0, 9, 15),
            (3, 15, 16),
            (0, 16, 26),
            (10, 26, 28),
            (53, 28, 29)
        ]
    );
}

#[test]
fn token_ids_are_decoded_to_text() {
    for (name, text, decoded) in [
        ("gpt2.json", "Héllo  世界\n👍", "Héllo  世界\n👍"),
        ("llama2.json", "Héllo  世界\n👍", "Héllo  世界\n👍"),
        ("spm_bpe_bytes.model", "Héllo  世界\n👍", "Héllo  世界\n👍"),
        ("spm_unigram.model", "Héllo  there ab", "Héllo there ab"),
    ] {
        let tokenizer = load(name);
        let mut ids = Vec::new();
        tokenizer.encoder().encode(text, &mut ids).unwrap();
        assert_eq!(tokenizer.decode(&ids), decoded, "{name}");
        let bytes: Vec<u8> = ids.iter().flat_map(|id| tokenizer.piece(*id)).collect();
        assert_eq!(String::from_utf8(bytes).unwrap().trim_start(), decoded, "{name}");
        assert!(tokenizer.piece(u32::MAX).is_empty() && tokenizer.token_of(u32::MAX).is_none());
        assert!(tokenizer.decode(&[u32::MAX]).is_empty());
    }
}

#[test]
fn encoding_appends_ids_independent_of_earlier_texts() {
    for name in ["gpt2.json", "metaspace.json", "spm_unigram.model", "spm_bpe_bytes.model"] {
        let tokenizer = load(name);
        let (mut used, mut out) = (tokenizer.encoder(), vec![9]);
        used.encode("one 鿿", &mut out).unwrap();
        let after_first = out.len();
        used.encode("鿿 two", &mut out).unwrap();
        let mut alone = Vec::new();
        tokenizer.encoder().encode("鿿 two", &mut alone).unwrap();
        assert_eq!((out[0], &out[after_first..]), (9, alone.as_slice()), "{name}");
    }
}

#[test]
fn broken_tokenizer_files_have_distinct_messages() {
    let why = |bytes: &[u8]| Tokenizer::from_bytes("x", bytes).err().map(|failure| failure.why).unwrap();
    assert!(why(b"{\"version\":\"1.0\"").contains("EOF"));
    assert!(why(b"{}").contains("Model"));
    assert!(why(br#"{"version":"1.0","model":{"type":"Magic"}}"#).contains("is unknown"));
    assert!(why(br#"{"model":{"type":"WordLevel","vocab":{"a":4294967296},"unk_token":"a"}}"#).contains("4294967296"));
    assert!(why(b"").contains("empty"));
    assert!(why(b"\x0a\x03abc").contains("SentencePiece"));
    assert!(why(b"IQ== 0\nIg== 1\n").contains("tiktoken"));
    for cut in [10, 1_000, 10_000] {
        let file = std::fs::read(golden("spm_bpe_bytes.model")).unwrap();
        assert!(Tokenizer::from_bytes("cut", &file[..cut]).is_err());
    }
    let failure = Tokenizer::load("no/such/tokenizer.json").err().unwrap();
    assert!(failure.is_missing() || failure.hint.is_some());
    let failure = Tokenizer::load(golden("").parent().unwrap().to_str().unwrap()).err().unwrap();
    assert!(failure.why.contains("no tokenizer.json"), "{failure}");
}

#[test]
fn tokenizer_facts_and_warnings_reflect_the_file() {
    let facts = load("llama3.json").facts();
    assert_eq!((facts.model, facts.base_size, facts.full_size, facts.greatest_id), ("BPE", 1100, 1104, 1103));
    assert!(
        facts.has_template && facts.is_fast && !facts.has_padding && !facts.has_truncation && !facts.has_normalizer
    );
    assert_eq!(facts.warnings, ["the template puts `<|begin_of_text|>` before every text"]);
    assert_eq!(facts.warnings_for(true, true), facts.warnings);
    assert!(facts.warnings_for(true, false).is_empty(), "the plan does not use the template");
    let facts = load("spm_unigram.model").facts();
    assert_eq!((facts.kind, facts.model, facts.has_normalizer), (TokenizerKind::SentencePiece, "Unigram", true));
    assert!(facts.added.iter().any(|token| token.text == "</s>" && token.is_special));

    let mut file: serde_json::Value = serde_json::from_slice(&std::fs::read(golden("gpt2.json")).unwrap()).unwrap();
    file["truncation"] =
        serde_json::json!({"max_length": 3, "strategy": "LongestFirst", "stride": 0, "direction": "Left"});
    file["padding"] = serde_json::json!({"strategy": {"Fixed": 5}, "direction": "Left", "pad_to_multiple_of": 4, "pad_id": 7,
        "pad_type_id": 0, "pad_token": "x"});
    file["added_tokens"] = serde_json::json!([{"id": 5000, "content": "<far>", "single_word": false, "lstrip": false,
        "rstrip": false, "normalized": false, "special": true}]);
    file["post_processor"] = serde_json::Value::Null;
    let tokenizer = Tokenizer::from_bytes("x", &serde_json::to_vec(&file).unwrap()).unwrap();
    let warnings = tokenizer.facts().warnings.join("; ");
    for part in ["`<far>` has the id 900, not 5000", "cuts texts to 3 tokens", "pads texts"] {
        assert!(warnings.contains(part), "{warnings}");
    }
    assert!(tokenizer.is_fast(), "the fast reader takes the reference's ids, not the file's");
    let mut ids = Vec::new();
    tokenizer.encoder().encode("one two three four five six <far>", &mut ids).unwrap();
    assert_eq!(ids.last(), Some(&900));
    let raw = ids.len();
    assert!(raw > 5, "raw ids are neither cut nor padded");
    let mut cut = Vec::new();
    Template { prefix: vec![1], suffix: vec![] }.apply(&ids, tokenizer.truncation().as_ref(), &mut cut).unwrap();
    assert_eq!(cut, [1, ids[raw - 2], ids[raw - 1]]);
    let mut batch = [vec![1, 2], cut];
    tokenizer.padding().unwrap().apply(&mut batch);
    assert_eq!(batch[0], [7, 7, 7, 7, 7, 7, 1, 2]);
    assert_eq!(batch[1][..5], [7; 5]);
    let too_short = Truncation { max_length: 1, side: Side::Right };
    let two = Template { prefix: vec![1], suffix: vec![2] };
    assert!(two.apply(&ids, Some(&too_short), &mut Vec::new()).is_err());
}

/// Compares the pieces with those of the Python package, whose regex engine has its own definitions of words, classes and line ends.
#[test]
fn split_patterns_match_the_python_package() {
    for (pattern, text, pieces) in [
        (r"\w+|[^\w\s]+", "1½ m² x", 5),
        ("[[:alpha:]]+", "héllo wörld", 3),
        ("[[:punct:]]", "a—b", 3),
        ("[[:space:]]+", "a\u{3000}b", 3),
        (r"\d{1,3}(?=(?:\d{3})*\b)", "1½", 1),
        (r"\n*^#+", "a\n## b", 3),
        ("(?i)ss", "Straße", 3),
        (r"\w+", "क्\u{200d}ष", 3),
        (r"\X", "e\u{301}a", 2),
    ] {
        let file = json!({
            "version": "1.0",
            "added_tokens": [],
            "pre_tokenizer": {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false},
            "model": {"type": "WordLevel", "vocab": {"[UNK]": 0}, "unk_token": "[UNK]"},
        });
        let tokenizer = Tokenizer::from_bytes("t.json", file.to_string().as_bytes()).unwrap();
        let mut ids = Vec::new();
        tokenizer.encoder().encode(text, &mut ids).unwrap();
        assert_eq!(ids.len(), pieces, "{pattern} on {text:?}");
    }
}

/// Asserts that the fast tokenizer returns the ids of the reference for these texts.
fn agrees_with_the_reference(tokenizer: &Tokenizer, texts: &[impl AsRef<str>]) {
    assert!(tokenizer.is_fast(), "{:?}", tokenizer.facts().slow_because);
    let mut encoder = tokenizer.encoder();
    for text in texts.iter().map(AsRef::as_ref) {
        let (mut ids, mut wanted) = (Vec::new(), Vec::new());
        encoder.encode(text, &mut ids).unwrap();
        encoder.encode_by_reference(text, &mut wanted).unwrap();
        assert_eq!(ids, wanted, "{text}");
    }
}

#[test]
fn normalized_and_unnormalized_added_tokens_are_searched_in_turn() {
    let mut file: serde_json::Value = serde_json::from_slice(&std::fs::read(golden("gpt2.json")).unwrap()).unwrap();
    // A pattern before the byte-level split, which only the fast tokenizer of the other crate accepts.
    let bytes = json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true});
    let split = json!({"type": "Split", "pattern": {"Regex": "\\p{N}{1,3}"}, "behavior": "Isolated", "invert": false});
    file["pre_tokenizer"] = json!({"type": "Sequence", "pretokenizers": [split, bytes]});
    let first = file["model"]["vocab"].as_object().unwrap().len();
    let token = |(at, (text, is_word, normalized)): (usize, (&str, bool, bool))| {
        json!({"id": first + at, "content": text, "single_word": is_word, "lstrip": false, "rstrip": is_word,
            "normalized": normalized, "special": false})
    };
    let tokens = [("the q", false, false), ("<s>", false, false), ("<x>", true, true), ("quick", false, true)];
    file["added_tokens"] = tokens.into_iter().enumerate().map(token).collect();
    let tokenizer = Tokenizer::from_bytes("x", file.to_string().as_bytes()).unwrap();
    let texts = ["quickthe q<x><s>the", "the q<x> b", "quick<x>", "a<x>", "the quick", "<s><x><s>", "<x> <s> 1234"];
    agrees_with_the_reference(&tokenizer, &texts);
}

#[test]
fn normalizer_that_removes_an_added_token_is_refused_on_loading() {
    let file = |normalized: bool| {
        let mut file: serde_json::Value =
            serde_json::from_slice(&std::fs::read(golden("metaspace.json")).unwrap()).unwrap();
        let first = file["model"]["vocab"].as_object().unwrap().len();
        file["normalizer"] = json!({"type": "Replace", "pattern": {"String": " "}, "content": ""});
        file["added_tokens"] = json!([{"id": first, "content": "  ", "single_word": false, "lstrip": false,
            "rstrip": false, "normalized": normalized, "special": false}]);
        file.to_string()
    };
    let failure = Tokenizer::from_bytes("x", file(true).as_bytes()).err().unwrap();
    assert!(failure.why.contains("removes the added token"), "{failure:?}");
    let tokenizer = Tokenizer::from_bytes("x", file(false).as_bytes()).unwrap();
    let mut ids = Vec::new();
    tokenizer.encoder().encode("a  b", &mut ids).unwrap();
    assert!(ids.len() >= 3, "{ids:?}");
}

#[test]
fn long_word_of_unknown_characters_has_no_ids() {
    let known: Vec<char> = "▁helowrdab1.é你\n\t👍\u{301} x\ry".chars().collect();
    let mut vocab: serde_json::Map<_, _> =
        known.iter().enumerate().map(|(id, character)| (character.to_string(), json!(id))).collect();
    vocab.insert("he".into(), json!(known.len()));
    let file = json!({
        "version": "1.0",
        "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never", "split": true},
        "model": {"type": "BPE", "vocab": vocab, "merges": [["h", "e"]]},
    });
    let tokenizer = Tokenizer::from_bytes("x", file.to_string().as_bytes()).unwrap();
    // Earlier words must not affect later ones in the same lane.
    let texts = [("hello", 20), ("Ж", 200), ("Z", 100), ("Щ", 5), ("Щ", 40), ("𐍈", 250)];
    agrees_with_the_reference(&tokenizer, &texts.map(|(piece, times)| piece.repeat(times)));
}

#[test]
fn refusal_by_the_reference_alone_is_a_difference_without_failure() {
    let mut file: serde_json::Value = serde_json::from_slice(&std::fs::read(golden("gpt2.json")).unwrap()).unwrap();
    let first = file["model"]["vocab"].as_object().unwrap().len();
    let token = |id: usize, text: &str, left: bool, right: bool| {
        json!({"id": id, "content": text, "single_word": false, "lstrip": left, "rstrip": right, "normalized": false,
            "special": true})
    };
    file["added_tokens"] = json!([token(first, "<|end|>", false, true), token(first + 1, "  ", true, false)]);
    let tokenizer = Tokenizer::from_bytes("x", file.to_string().as_bytes()).unwrap();
    let text = "a<|end|>   ";
    assert_eq!(tokenizer.encoder().encode(text, &mut Vec::new()).unwrap_err().class, gristmill_core::ExitClass::Data);
    assert!(tokenizer.is_fast(), "{:?}", tokenizer.facts().slow_because);
    assert!(tokenizer.guard().check(text, &[1, 2]).unwrap().is_some());
    let long = format!("{text}{}", "b".repeat(2 << 20));
    assert_eq!(tokenizer.guard().check(&long, &[1, 2]).unwrap(), None, "its beginning cannot be encoded");
}
