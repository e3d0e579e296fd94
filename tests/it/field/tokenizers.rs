//! Tokenizer files: special tokens in texts, truncation and padding, unsupported files.

use super::{case, entries, is_clean, names, pack, pack_with};
use crate::cli_support::Sandbox;
use serde_json::Value;

/// The flags of each format, including required ones.
const FORMATS: [&str; 3] = [
    "--format nanosets --eos-token <|endoftext|>",
    "--format modalities --eod-token <|endoftext|>",
    "--format forager --sample-size 2 --eos-token <|endoftext|>",
];

#[test]
fn special_tokens_in_texts_are_reported_in_every_format() {
    for format in FORMATS {
        let sandbox = case("K04");
        let of = |input: &str| {
            sandbox.say(&format!("pack {input} {format} --tokenizer tokenizer.json --output {input}.out --json"))
        };
        let report = is_clean(&of("docs.jsonl"));
        let notes = entries(&report, "note");
        names(&notes, &["1 document has", "<|endoftext|>", "docs.jsonl", "\"line\":2"]);
        let report = is_clean(&of("plain.jsonl"));
        assert!(!entries(&report, "note").contains("special-token"), "{report:#}");
    }
}

#[test]
fn special_tokens_in_texts_are_reported_by_name_and_encoded() {
    let sandbox = case("K04");
    let with = ["<|im_start|>", "<|im_end|>", "<|tool|>"].iter().zip(257..).map(|(text, id)| {
        serde_json::json!({"id": id, "content": text, "single_word": false, "lstrip": false, "rstrip": false,
            "normalized": false, "special": true})
    });
    let mut file: Value = serde_json::from_slice(&sandbox.read("tokenizer.json")).unwrap();
    file["added_tokens"].as_array_mut().unwrap().extend(with);
    sandbox.write("tokenizer.json", file.to_string());
    let texts = ["<|im_start|>a<|im_end|>", "<|im_start|>b<|tool|>", "plain", "c<|endoftext|>", "<|im_start|>"];
    let lines: String = texts.iter().map(|text| format!("{{\"text\": \"{text}\"}}\n")).collect();
    sandbox.write("chat.jsonl", lines);
    let report = is_clean(&pack(&sandbox, "chat.jsonl"));
    names(&entries(&report, "note"), &["4 documents have", "`<|im_start|>` (3)", " and 1 more", "chat.jsonl"]);
    let bytes = sandbox.read("OUT/00000_unshuffled.ds");
    let ids: Vec<u16> = bytes.chunks(2).map(|pair| u16::from_le_bytes(pair.try_into().unwrap())).collect();
    assert_eq!((ids[0], ids[2], ids[3]), (257, 258, 256), "{ids:?}");
}

#[test]
fn truncation_and_padding_of_the_tokenizer_file_are_problems() {
    let of = |file: &str| {
        let sandbox = case("K05");
        let tokens = format!("--format nanosets --eos-token <|endoftext|> --tokenizer {file} --output OUT");
        let ran = sandbox.say(&format!("pack docs.jsonl {tokens} --json"));
        (sandbox, ran, tokens)
    };
    let stored = |sandbox: &Sandbox| sandbox.read("OUT/00000_unshuffled.ds").len() / 2;
    let (sandbox, ran, tokens) = of("cuts.json");
    let report = ran.json("problems");
    assert_eq!((ran.code, stored(&sandbox)), (1, 81));
    names(&entries(&report, "problem"), &["cuts.json", "4 documents are truncated", "113 tokens are lost"]);
    // The tokens of the texts in the file, without the end tokens.
    assert_eq!(report["tokens"], 81 - 6, "{report:#}");
    let quiet = sandbox.say(&format!("pack docs.jsonl {} -q", tokens.replace("OUT", "QUIET"))).ends(1);
    quiet.complains("4 documents are truncated");
    sandbox.say(&format!("pack docs.jsonl {} --problems-ok", tokens.replace("OUT", "OK"))).ends(0);
    // The findings of an earlier run are reported again.
    sandbox.say(&format!("pack docs.jsonl {tokens}")).ends(1).complains("113 tokens are lost");

    let (sandbox, ran, _) = of("pads.json");
    let report = ran.json("problems");
    assert_eq!((ran.code, stored(&sandbox)), (1, 270));
    names(&entries(&report, "problem"), &["pads.json", "4 documents are padded with 76 tokens"]);

    let (_, ran, _) = of("cuts_nothing.json");
    is_clean(&ran);
}

#[test]
fn forager_and_modalities_report_truncation_and_padding() {
    let run = |format: &str, file: &str| {
        let sandbox = case("K05");
        let ran = sandbox.say(&format!("pack docs.jsonl {format} --tokenizer {file} --output OUT --json"));
        ran
    };
    let forager = "--format forager --variable";
    // The template of Nanosets counts the end token; Forager's samples of variable length do not contain it.
    names(&entries(&run(forager, "cuts.json").json("problems"), "problem"), &["truncated to 16 tokens", "are lost"]);
    names(&entries(&run(forager, "pads.json").json("problems"), "problem"), &["padded with"]);
    let modalities = "--format modalities --eod-token <|endoftext|>";
    is_clean(&run(modalities, "cuts.json"));
    is_clean(&run(&format!("{modalities} --truncate-to 16"), "cuts_nothing.json"));
    // Skipped documents do not count as lost tokens.
    let limited = "--format nanosets --eos-token <|endoftext|> --limit 1";
    is_clean(&run(limited, "cuts.json"));
}

#[test]
fn unsupported_tokenizer_files_are_refused_with_their_kind() {
    let sandbox = case("K17");
    let tekken = sandbox.read("tekken.json");
    sandbox.write("other/name.json", &tekken);
    sandbox.write("folder/tekken.json", &tekken);
    sandbox.write("bpe/vocab.json", "{\"a\": 0, \"b\": 1}");
    sandbox.write("bpe/merges.txt", "#version: 0.2\na b\n");
    sandbox.write("bpe/config.json", "{\"architectures\": []}");
    sandbox.write("words/vocab.txt", "[PAD]\n[UNK]\nword\n");
    for (tokenizer, what) in [
        ("tekken.json", "tekken.json"),
        ("other/name.json", "tekken.json"),
        ("folder", "tekken.json"),
        ("bpe/vocab.json", "vocab.json"),
        ("bpe/merges.txt", "merges.txt"),
        ("bpe/config.json", "config.json"),
        ("bpe", "merges.txt"),
        ("words", "vocab.txt"),
        ("words/vocab.txt", "vocab.txt"),
    ] {
        let flags = format!("--format nanosets --eos-token </s> --tokenizer {tokenizer} --output OUT --json");
        let ran = sandbox.say(&format!("pack docs.jsonl {flags}"));
        let report = ran.json("refused");
        assert_eq!(ran.code, 1, "{tokenizer}");
        names(&report.to_string(), &[what, "not read", "tokenizer.json of the same model"]);
        assert!(!sandbox.has("OUT"));
    }
    assert_eq!(pack_with(&sandbox, "docs.jsonl", "--seed 1").code, 3, "no tokenizer.json is there");
}
