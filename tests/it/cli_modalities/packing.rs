//! Packing and indexing under the names of the reference program.

use super::{case, expected, index_of, replay, replayed};
use crate::cli_support::Sandbox;

/// Packs a golden case, with its index, under the name of the reference program.
fn packs_as_there(name: &str, more: &str) -> Sandbox {
    let sandbox = case(name);
    sandbox.write("expected/data.idx", expected(name, "data.idx"));
    for (ran, _) in replay(&sandbox, name, "pack_encoded_data", more) {
        ran.ends(0);
    }
    sandbox
}

#[test]
fn packed_files_equal_those_of_modalities() {
    for name in [
        "pack_1_byte",
        "pack_4_byte",
        "pack_bpe",
        "pack_bos_eos_template",
        "pack_eod_in_text",
        "pack_jq_expression",
        "pack_sentencepiece",
        "pack_truncation",
        "pack_special_tokens_list",
        "pack_special_tokens_padding",
        "pack_eod_unknown",
    ] {
        let sandbox = packs_as_there(name, "");
        assert_eq!(sandbox.read("expected/data.pbin"), expected(name, "data.pbin"), "{name}");
        sandbox.say("verify expected/data.pbin").ends(0);
    }
}

#[test]
fn special_token_flags_pack_the_same_bytes_as_a_configuration() {
    let sandbox = case("pack_special_tokens_list");
    let flags =
        "--eod-token <|endoftext|> --special-token ^ --special-token $ --special-token \u{b0} --special-token er \
                 --special-token in --special-token ~";
    let command = "pack input/data.jsonl --format modalities --tokenizer ../tokenizers/bpe1k --json";
    let ran = sandbox.say(&format!("{command} --output a.pbin {flags}"));
    let report = ran.json("ok");
    assert_eq!(sandbox.read("a.pbin"), expected("pack_special_tokens_list", "data.pbin"));
    assert!(report["equivalent_command"].as_str().unwrap().contains("--special-token er"), "{report}");
    let message = report["problems"][0]["message"].as_str().unwrap();
    assert!(
        message.contains("`<|pad|>`") && !message.contains("`er`"),
        "what is cut out on purpose is not reported: {message}"
    );
    let ran = sandbox.say(&format!("{command} --output b.pbin --eod-token <|endoftext|> --special-token notthere"));
    ran.ends(2).complains("notthere");
}

#[test]
fn unknown_end_token_is_refused_without_compat() {
    let sandbox = case("pack_eod_unknown");
    let theirs = expected("pack_eod_unknown", "data.pbin");
    let command = "pack --config input/pack.yaml --output out.pbin";
    sandbox.say(command).ends(2).complains("--eos-id 0").complains("--compat");
    assert!(!sandbox.has("out.pbin"));
    sandbox.say(&format!("{command} --compat")).ends(0).complains("is not in the tokenizer's vocabulary");
    assert_eq!(sandbox.read("out.pbin"), theirs);
    sandbox.say("pack --config input/pack.yaml --output id.pbin --eos-id 0").ends(0);
    assert_eq!(sandbox.read("id.pbin"), theirs);
    sandbox.write("expected/data.idx", expected("pack_eod_unknown", "data.idx"));
    for (ran, _) in replay(&sandbox, "pack_eod_unknown", "pack_encoded_data", "") {
        ran.ends(0).complains("(id 0)");
    }
}

#[test]
fn unknown_token_is_that_of_the_files_next_to_the_tokenizer() {
    let sandbox = case("pack_eod_unknown");
    sandbox.write("tk/tokenizer.json", sandbox.read("../tokenizers/wl200/tokenizer.json"));
    sandbox.write("input/pack.yaml", sandbox.text("input/pack.yaml").replace("../tokenizers/wl200", "tk"));
    sandbox.write("expected/data.idx", expected("pack_eod_unknown", "data.idx"));
    let pack = || replay(&sandbox, "pack_eod_unknown", "pack_encoded_data", "--file_existence_policy override");
    let general = r#"{"tokenizer_class": "PreTrainedTokenizerFast"}"#;
    for config in ["{}", general, r#"{"tokenizer_class": "BertTokenizer", "unk_token": null}"#] {
        sandbox.write("tk/tokenizer_config.json", config);
        for (ran, _) in pack() {
            ran.ends(2).complains("is not in the tokenizer's vocabulary");
        }
        assert!(!sandbox.has("expected/data.pbin"), "{config}");
    }
    let packs = || {
        for (ran, _) in pack() {
            ran.ends(0).complains("(id 0)");
        }
    };
    for config in [r#"{"tokenizer_class": "BertTokenizer"}"#, r#"{"unk_token": {"content": "<unk>"}}"#] {
        sandbox.write("tk/tokenizer_config.json", config);
        packs();
    }
    sandbox.write("tk/tokenizer_config.json", general);
    sandbox.write("tk/special_tokens_map.json", r#"{"unk_token": "<unk>"}"#);
    packs();
}

#[test]
fn lines_without_any_document_are_packed_only_with_compat() {
    let sandbox = case("pack_bpe");
    sandbox.write("input/data.jsonl", "{\"text\": 5}\n{\"text\": \"\"}\n");
    sandbox.say("modalities data create_raw_index input/data.jsonl --index_path expected/data.idx").ends(0);
    for (ran, _) in replay(&sandbox, "pack_bpe", "pack_encoded_data", "") {
        ran.ends(1).complains("input/data.jsonl: no line gave a document").complains("jq_pattern");
    }
    assert!(!sandbox.has("expected/data.pbin"));
    for (ran, _) in replay(&sandbox, "pack_bpe", "pack_encoded_data", "--compat") {
        ran.ends(0);
    }
    assert_eq!(sandbox.read("expected/data.pbin").len(), 17, "a header, the width of tokens and an empty index");
}

#[test]
fn invalid_special_token_values_of_a_configuration_are_refused() {
    let sandbox = case("pack_special_tokens_list");
    let yaml = sandbox.text("input/pack.yaml");
    for (from, to, names) in [
        ("pad_token: '~'", "pad_token: ['~']", "pad_token"),
        ("pad_token: '~'", "eot_token: '~'", "eot_token"),
        ("      - er", "      - 7", "additional_special_tokens"),
        ("      - er", "      - notthere", "notthere"),
    ] {
        assert!(yaml.contains(from));
        sandbox.write("x.yaml", yaml.replace(from, to));
        sandbox.say("pack --config x.yaml --output x.pbin").ends(2).complains(names);
    }
}

#[test]
fn documents_that_modalities_drops_are_kept_without_compat() {
    for name in ["pack_quirk_missing_field", "pack_quirk_empty_text"] {
        let theirs = expected(name, "data.pbin");
        let sandbox = packs_as_there(name, "--compat");
        assert_eq!(sandbox.read("expected/data.pbin"), theirs, "{name}");
        let sandbox = packs_as_there(name, "");
        let (ours, theirs) = (index_of(&sandbox.read("expected/data.pbin")), index_of(&theirs));
        assert!(ours.len() > theirs.len() && ours.starts_with(&theirs), "{name}: {} {}", ours.len(), theirs.len());
        let lines = sandbox.text("input/data.jsonl").lines().count();
        assert_eq!(ours.len(), lines - 1, "{name}: only the one without text is left out");
    }
}

#[test]
fn text_after_the_end_of_a_raw_index_is_reported() {
    let sandbox = case("pack_bpe");
    sandbox.write("expected/data.idx", expected("pack_bpe", "data.idx"));
    let whole = sandbox.text("input/data.jsonl");
    sandbox.write("input/data.jsonl", format!("{whole}\n \n"));
    for (ran, _) in replay(&sandbox, "pack_bpe", "pack_encoded_data", "") {
        assert!(!ran.ends(0).err.contains("raw index"), "blank lines are no text");
    }
    sandbox.write("input/data.jsonl", format!("{whole}{{\"text\": \"more\"}}\n"));
    for (ran, _) in replay(&sandbox, "pack_bpe", "pack_encoded_data", "--file_existence_policy override") {
        ran.ends(0).complains("its raw index ends at byte").complains("what follows is not packed");
    }
    assert_eq!(sandbox.read("expected/data.pbin"), expected("pack_bpe", "data.pbin"));
    // An index that was written later may omit lines on purpose.
    sandbox.write("expected/data.idx", expected("pack_bpe", "data.idx"));
    for (ran, _) in replay(&sandbox, "pack_bpe", "pack_encoded_data", "--file-existence-policy override") {
        assert!(!ran.ends(0).err.contains("raw index"));
    }
}

#[test]
fn raw_index_fails_for_the_same_files_as_modalities() {
    for name in ["idx_fail_control_char", "idx_fail_empty_file", "idx_fail_empty_line"] {
        let sandbox = case(name);
        for (ran, code) in replay(&sandbox, name, "create_raw_index", "") {
            assert_eq!(code, 1);
            ran.ends(1);
        }
        assert!(!sandbox.has("expected/data.idx"), "{name}");
    }
    for name in ["idx_basic", "idx_lenient_json", "idx_crlf_no_final_newline", "idx_1000_lines"] {
        let sandbox = case(name);
        replayed(&sandbox, name, "create_raw_index", "");
        assert_eq!(sandbox.read("expected/data.idx"), expected(name, "data.idx"), "{name}");
        sandbox.say("verify expected/data.idx --source input/data.jsonl").ends(0);
        sandbox.say("info expected/data.idx").ends(0).says("raw index");
    }
}

#[test]
fn invalid_modalities_configurations_are_refused() {
    let sandbox = case("pack_bpe");
    let yaml = sandbox.text("input/pack.yaml");
    let command = "modalities data pack_encoded_data";
    sandbox.say(&format!("{command} input/pack.yaml")).ends(1).complains("create_raw_index");
    sandbox.write("a.yaml", yaml.replace("num_cpus: 2", "num_cpus: '2'"));
    sandbox.say(&format!("{command} a.yaml")).ends(2).complains("settings.num_cpus");
    sandbox.write("b.yaml", yaml.replace("input/data.jsonl", "${settings.nothing}"));
    sandbox.say(&format!("{command} b.yaml")).ends(2).complains("settings.nothing");
    sandbox.say(&format!("{command} none.yaml")).ends(3);
}
