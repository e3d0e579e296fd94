//! The drop-in names of Megatron-LM's tools: the same bytes, and refusals.

use super::{golden, golden_path, without_own_folders, Case};
use crate::cli_support::Sandbox;
use crate::support::{assert_same, copy_folder, picture};
use serde_json::{json, Value};
use std::path::Path;

fn read_json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// Creates the tokenizers that are described by their number of entries.
fn grow_tokenizers(sandbox: &Sandbox) {
    let base = golden("megatron/tokenizers");
    std::fs::remove_file(sandbox.path("tokenizers")).unwrap();
    copy_folder(&base, &sandbox.path("tokenizers"));
    for (path, facts) in read_json(&base.join("grow.json")).as_object().unwrap() {
        let mut file = read_json(&base.join(facts["base"].as_str().unwrap()));
        let last = facts["entries"].as_u64().unwrap() - 1;
        let vocabulary = file["model"]["vocab"].as_object_mut().unwrap();
        let first = vocabulary.values().map(|id| id.as_u64().unwrap()).max().unwrap() + 1;
        vocabulary.extend((first..last).map(|id| (format!("<dummy_{id}>"), id.into())));
        let added = json!({"id": last, "content": "<|last|>", "single_word": false, "lstrip": false, "rstrip": false,
            "normalized": false, "special": true});
        file["added_tokens"].as_array_mut().unwrap().push(added);
        sandbox.write(&format!("tokenizers/{path}"), file.to_string());
        let config = format!("tokenizers/{}", Path::new(path).with_file_name("tokenizer_config.json").display());
        sandbox.write(&config, std::fs::read(base.join("bpe1k/tokenizer_config.json")).unwrap());
    }
}

/// Runs the commands of a case with several numbers of threads, and compares every byte.
fn comes_out(name: &str, code: i32) {
    let name = format!("megatron/{name}");
    let facts = read_json(&golden(&name).join("case.json"));
    for (threads, memory) in [("1", "64M"), ("2", "256M"), ("7", "1G")] {
        let case = Case::new(&name);
        if name.contains("m05") {
            grow_tokenizers(&case.sandbox);
        }
        for command in facts["gristmill"].as_array().unwrap() {
            let mut words: Vec<&str> = command.as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
            words.extend(["--memory", memory]);
            match words.iter().position(|word| *word == "--workers") {
                Some(at) => words[at + 1] = threads,
                None => words.extend(["--threads", threads]),
            }
            case.run(&words).ends(code);
        }
        let ours = without_own_folders(&case.sandbox.path("case/expected"));
        assert_same(&ours, &picture(&golden(&name).join("expected")), &format!("{name}, {threads} threads"));
    }
}

#[test]
fn preprocess_data_writes_the_bytes_of_the_reference() {
    for name in ["m01_basic", "m02_append_eod", "m03_json_keys", "m04_template", "m05_token_size"] {
        comes_out(name, 0);
    }
}

#[test]
fn partitioned_preprocess_data_equals_the_reference_order() {
    comes_out("m06_partitions", 0);
    comes_out("m07_partitions_sequential", 0);
}

#[test]
fn lines_on_which_the_reference_hangs_are_left_out_and_named() {
    comes_out("m10_bad_lines", 1);
    comes_out("m09_empty_input", 1);
    let case = Case::new("megatron/m10_bad_lines");
    let line = "megatron preprocess_data --tokenizer-type HuggingFaceTokenizer --tokenizer-model ../tokenizers/bpe1k \
                --input input/a.jsonl --output-prefix o --workers 2 --append-eod";
    let mut ran = case.run(&line.split_whitespace().collect::<Vec<_>>()).ends(1);
    for finding in ["line 3", "its text is null", "its text is a number", "the line is blank", "it has no text"] {
        ran = ran.complains(finding);
    }
}

#[test]
fn preprocess_data_fast_writes_the_bytes_of_the_reference() {
    comes_out("m13_fast", 0);
    comes_out("m14_fast_no_eod", 0);
}

/// Returns a command line with the arguments that all tools need.
fn tool(tool: &str, more: &str) -> String {
    let tokenizer = golden_path("megatron/tokenizers/bpe1k");
    format!("megatron {tool} --tokenizer-type HuggingFaceTokenizer --tokenizer-model {tokenizer} {more}")
}

#[test]
fn line_without_one_of_the_json_keys_is_in_no_pair() {
    let sandbox = Sandbox::new();
    let lines = [
        r#"{"a": "one", "b": ["two", "three"]}"#,
        r#"{"a": "one"}"#,
        r#"{"a": "one", "b": ["two", 3]}"#,
        r#"{"a": ["\ud800"], "b": "two"}"#,
        r#"{"a": "", "b": []}"#,
        r#"{"b": "two", "a": "\u006fne"}"#,
    ];
    sandbox.write("x.jsonl", lines.join("\n"));
    let keys = "--input x.jsonl --output-prefix out/x --workers 2 --json-keys a b --append-eod";
    let ran = sandbox.say(&tool("preprocess_data", keys)).ends(1);
    ran.complains("line 2").complains("line 3").complains("line 4");
    let documents = |name: &str| {
        let index = sandbox.read(name);
        let number = |at: usize| u64::from_le_bytes(index[at..at + 8].try_into().unwrap());
        (number(18), number(26) - 1)
    };
    assert_eq!(documents("out/x_a_document.idx"), (2, 3));
    assert_eq!(documents("out/x_b_document.idx"), (3, 3));
    sandbox.say("lint out").ends(0);
    // The same with the flags of `pack`.
    let tokenizer = golden_path("megatron/tokenizers/bpe1k");
    let pack = format!(
        "pack x.jsonl --format megatron --tokenizer {tokenizer} --eos-token <|endoftext|> --json-key a --json-key b \
         --empty-texts document --output out/y --yes"
    );
    sandbox.say(&pack).ends(1);
    for end in ["a_document.bin", "a_document.idx", "b_document.bin", "b_document.idx"] {
        assert_eq!(sandbox.read(&format!("out/x_{end}")), sandbox.read(&format!("out/y_{end}")), "{end}");
    }
}

#[test]
fn lines_of_globbed_files_are_distributed_to_partitions() {
    let sandbox = Sandbox::new();
    let line = |number: u32| format!("{{\"text\": \"number {number}\"}}\n");
    let lines = |numbers: &mut dyn Iterator<Item = u32>| numbers.map(line).collect::<String>();
    sandbox.write("in/a.jsonl", format!("{}\n{}", lines(&mut (0..4)), lines(&mut (5..7))));
    sandbox.write("in/b.jsonl", lines(&mut (7..20)));
    sandbox.write("in/other.txt", "no");
    let arguments = |more: &str| tool("preprocess_data", &format!("--workers 3 --append-eod {more}"));
    sandbox
        .say(&arguments("--partitions 3 --input in/?.jsonl --output-prefix dealt"))
        .ends(1)
        .complains("--keep-sequential-samples");
    // Line 4 is blank.
    let ordered = (0..3).flat_map(|partition| (0..20).filter(move |number| number % 3 == partition && *number != 4));
    sandbox.write("ordered.jsonl", lines(&mut ordered.collect::<Vec<_>>().into_iter()));
    sandbox.say(&arguments("--input ordered.jsonl --output-prefix plain")).ends(0);
    for end in ["bin", "idx"] {
        let of = |name: &str| sandbox.read(&format!("{name}_text_document.{end}"));
        assert_eq!(of("dealt"), of("plain"), "{end}");
    }
}

#[test]
fn unsupported_preprocess_data_flags_are_refused_with_alternatives() {
    let sandbox = Sandbox::new();
    sandbox.write("x.jsonl", "{\"text\": \"one\"}\n");
    let files = "--input x.jsonl --output-prefix x";
    let more = |more: &str| tool("preprocess_data", &format!("{files} --workers 1 {more}"));
    sandbox.say(&more("--split-sentences")).ends(2).complains("list of strings");
    sandbox.say(&more("--find-optimal-num-workers")).ends(2).complains("--workers");
    sandbox.say(&more("--tokenizer-special-tokens <|new|>")).ends(2).complains("not in the vocabulary");
    sandbox.say(&tool("preprocess_data", "--input x.jsonl --output-prefix o/ --workers 1")).ends(2).complains("folder");
    sandbox.say(&tool("preprocess_data", files)).ends(2).complains("--workers");
    let of_type = |name: &str| format!("megatron preprocess_data --tokenizer-type {name} {files} --workers 1");
    for name in ["GPT2BPETokenizer", "TikTokenizer", "SFTTokenizer", "Unknown"] {
        sandbox.say(&of_type(name)).ends(2).complains("HuggingFaceTokenizer").complains(name);
    }
    sandbox.say(&of_type("HuggingFaceTokenizer")).ends(2).complains("--tokenizer-model");
    sandbox.say(&of_type("NullTokenizer")).ends(2).complains("--vocab-size");
    let end = "--tokenizer-type NullTokenizer --vocab-size 9 --null-tokenizer-eod-id 9 --append-eod";
    sandbox.say(&format!("megatron preprocess_data {end} {files} --workers 1")).ends(2).complains("no token 9");
    let model = golden_path("tokenizers/spm_bpe_bytes.model");
    let piece = |tool: &str, more: &str| {
        format!("megatron {tool} --tokenizer-type Llama2Tokenizer --tokenizer-model {model} {files} {more}")
    };
    sandbox.say(&piece("preprocess_data_fast", "")).ends(2).complains("preprocess_data also accepts SentencePiece");
    sandbox.say(&piece("preprocess_data", "--workers 1 --append-eod")).ends(0);
    assert!(sandbox.read("x_text_document.bin").len() > 2);
    let wrong = format!("megatron preprocess_data --tokenizer-type HuggingFaceTokenizer --tokenizer-model {model}");
    sandbox.say(&format!("{wrong} {files} --workers 1")).ends(2).complains("SentencePieceTokenizer");
}

/// Like Python's `[int(word) for word in text.split(' ')]`; the last id, or a given one, ends a document.
#[test]
fn null_tokenizer_packs_numbers_as_ids() {
    let sandbox = Sandbox::new();
    sandbox.write("x.jsonl", "{\"text\": \"5 0 65498\"}\n{\"text\": \"70\"}\n");
    let of = |size: &str, more: &str, output: &str| {
        format!(
            "megatron preprocess_data --tokenizer-type NullTokenizer --vocab-size {size} --input x.jsonl --workers 1 \
             --append-eod --output-prefix {output} {more}"
        )
    };
    sandbox.say(&of("65499", "", "narrow")).ends(0);
    sandbox.say(&of("65500", "--null-tokenizer-eod-id 7", "wide")).ends(0);
    let narrow = [5u16, 0, 65498, 65498, 70, 65498].iter().flat_map(|id| id.to_le_bytes());
    let wide = [5i32, 0, 65498, 7, 70, 7].iter().flat_map(|id| id.to_le_bytes());
    assert!(sandbox.read("narrow_text_document.bin").into_iter().eq(narrow));
    assert!(sandbox.read("wide_text_document.bin").into_iter().eq(wide));
    sandbox.say("verify narrow_text_document").ends(0);
    sandbox.write("x.jsonl", "{\"text\": \"5 x\"}\n{\"text\": \"\"}\n{\"text\": \"6\"}\n");
    sandbox.say(&of("9", "", "bad")).ends(1).complains("line 1").complains("line 2");
    assert_eq!(sandbox.read("bad_text_document.bin"), [6, 0, 8, 0]);
}

#[test]
fn vocab_and_merges_files_give_the_bytes_of_tokenizer_json() {
    let sandbox = Sandbox::new();
    let golden = read_json(&golden("tokenizers/gpt2.json"));
    let merges = golden["model"]["merges"].as_array().unwrap().iter().map(|pair| match pair.as_array() {
        Some(pair) => format!("{} {}\n", pair[0].as_str().unwrap(), pair[1].as_str().unwrap()),
        None => format!("{}\n", pair.as_str().unwrap()),
    });
    sandbox.write("of/gpt2-merges.txt", format!("#version: 0.2\n{}", merges.collect::<String>()));
    sandbox.write("of/gpt2-vocab.json", golden["model"]["vocab"].to_string());
    sandbox.write("x.jsonl", "{\"text\": \"Grüße, it's <|endoftext|> 日本\"}\n{\"text\": \"\"}\n");
    let files = "--tokenizer-type GPT2BPETokenizer --vocab-file of/gpt2-vocab.json --merge-file of/gpt2-merges.txt \
                 --input x.jsonl --append-eod";
    sandbox.say(&format!("megatron preprocess_data {files} --workers 2 --output-prefix slow/x")).ends(0);
    sandbox.say(&format!("megatron preprocess_data_fast {files} --output-prefix fast/x")).ends(0);
    let json = golden_path("tokenizers/gpt2.json");
    for (kind, empty_texts) in [("slow", "document"), ("fast", "sequence")] {
        let pack = format!(
            "pack x.jsonl --format megatron --tokenizer {json} --eos-token <|endoftext|> --empty-texts {empty_texts} \
             --output {kind}/y --yes"
        );
        sandbox.say(&pack).ends(0);
        for end in ["document.bin", "document.idx"] {
            let of = |name: &str| sandbox.read(&format!("{kind}/{name}_text_{end}"));
            assert_eq!(of("x"), of("y"), "{kind}, {end}");
        }
    }
    // The plan contains both files with paths that do not depend on the current folder.
    let plan = String::from_utf8(sandbox.read("slow/x.gristmill/plan.yaml")).unwrap();
    assert!(plan.contains("of/gpt2-merges.txt") && plan.contains("gpt2:/"), "{plan}");
    let pack = "pack x.jsonl --format megatron --tokenizer gpt2:of/gpt2-vocab.json:of/gpt2-merges.txt --eos-token \
                <|endoftext|> --empty-texts document --output slow/z --yes";
    sandbox.say(pack).ends(0);
    assert_eq!(sandbox.read("slow/z_text_document.bin"), sandbox.read("slow/x_text_document.bin"));
    let nowhere = files.replace("gpt2-merges", "nowhere");
    let nowhere = format!("megatron preprocess_data {nowhere} --workers 2 --output-prefix o/x");
    sandbox.say(&nowhere).ends(3).complains("nowhere.txt").complains("no such file");
    let half = nowhere.replace("--merge-file of/nowhere.txt", "");
    sandbox.say(&half).ends(2).complains("--merge-file");
}

#[test]
fn every_argument_is_accepted() {
    let sandbox = Sandbox::new();
    sandbox.write("x.jsonl", "{\"text\": \"one\"}\n");
    let more = "--input x.jsonl --output-prefix x --workers 1 --log-interval 10 --keep-newlines --lang french \
                --vocab-size 5 --padded-vocab-size 8 --no-pad-vocab-size --vocab-extra-ids 0 --tokenizer-hf-no-use-fast \
                --trust-remote-code --null-tokenizer-pad-id 1 --chat-template x --use-gigatoken --append-eod \
                --keep-sequential-samples --tokenizer-special-tokens <|pad|> --json-keys text";
    sandbox.say(&tool("preprocess_data", more)).ends(0).complains("--trust-remote-code");
    assert!(sandbox.has("x_text_document.idx"));
}

/// Writes a pair of sequences of these lengths, each a document; tokens have four bytes if `is_large`, otherwise two.
fn pair(sandbox: &Sandbox, name: &str, is_large: bool, lengths: &[i32], modes: &[u8]) {
    let (code, width) = if is_large { (4, 4) } else { (8, 2) };
    let mut index = b"MMIDIDX\0\0\x01\0\0\0\0\0\0\0".to_vec();
    index.push(code);
    index.extend((lengths.len() as u64).to_le_bytes());
    index.extend((lengths.len() as u64 + 1).to_le_bytes());
    index.extend(lengths.iter().flat_map(|length| length.to_le_bytes()));
    let mut offset = 0_i64;
    for length in lengths {
        index.extend(offset.to_le_bytes());
        offset += i64::from(*length) * width;
    }
    index.extend((0..=lengths.len() as u64).flat_map(u64::to_le_bytes));
    index.extend(modes);
    let tokens: Vec<u8> = (0..offset).map(|byte| byte as u8).collect();
    sandbox.write(&format!("{name}.idx"), index);
    sandbox.write(&format!("{name}.bin"), tokens);
}

#[test]
fn merge_datasets_writes_the_bytes_of_the_reference() {
    comes_out("m08_merge", 0);
    let case = Case::new("megatron/m08_merge");
    case.run(&["megatron", "merge", "input", "--output", "expected/all"]).ends(0).says("Merged");
    case.is_as_expected("expected");
    case.run(&["megatron", "merge", "input", "--output", "expected/all"]).ends(0).says("Nothing to do");
    case.sandbox.write("case/expected/all.bin", "mine");
    case.run(&["megatron", "merge", "input", "--output", "expected/all"]).ends(1).complains("--force-overwrite");
    case.run(&["megatron", "merge", "input", "--output", "expected/all", "--force-overwrite"]).ends(0);
    case.is_as_expected("expected");
}

#[test]
fn merge_datasets_orders_pairs_by_name_without_suffix() {
    let sandbox = Sandbox::new();
    pair(&sandbox, "in/a", false, &[1, 2], &[]);
    pair(&sandbox, "in/a-b", false, &[3], &[]);
    sandbox.write("in/notes.txt", "x");
    let line = "megatron merge_datasets --input in --output-prefix out/all";
    sandbox.say(line).ends(0).complains("notes.txt");
    let lengths = &sandbox.read("out/all.idx")[34..46];
    assert_eq!(lengths, [1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0]);
    sandbox.say("verify out/all").ends(0);
    // Tokens without an index are a loss, and the output is not part of the input.
    sandbox.write("in/c_text_document.bin", "xx");
    sandbox.say(line).ends(1).complains("c_text_document.bin").complains("not finished");
    std::fs::remove_file(sandbox.path("in/c_text_document.bin")).unwrap();
    sandbox.say("megatron merge_datasets --input in --output-prefix in/a").ends(2).complains("in/a.idx");
    sandbox.say("megatron merge_datasets --input out/nowhere --output-prefix x").ends(3);
    std::fs::create_dir(sandbox.path("empty")).unwrap();
    sandbox.say("megatron merge_datasets --input empty --output-prefix x").ends(2).complains("no pair");
}

#[test]
fn incompatible_pairs_are_refused_by_merge_datasets() {
    let sandbox = Sandbox::new();
    pair(&sandbox, "in/a", false, &[1, 2], &[]);
    pair(&sandbox, "in/b", true, &[3], &[]);
    let line = "megatron merge_datasets --input in --output-prefix all";
    sandbox.say(line).ends(1).complains("in/b.idx").complains("i32").complains("u16");
    pair(&sandbox, "in/b", false, &[3], &[]);
    sandbox.write("in/b.bin", "short");
    sandbox.say(line).ends(1).complains("in/b.idx").complains("the .bin file has 5");
    pair(&sandbox, "in/b", false, &[3], &[1]);
    sandbox.say(line).ends(2).complains("in/b.idx").complains("--multimodal");
    sandbox.say(&format!("{line} --multimodal")).ends(2).complains("in/a.idx").complains("no modes");
    assert!(!sandbox.has("all.bin") && !sandbox.has("all.idx"), "nothing was written");
    sandbox.say(&format!("{line} --compat")).ends(0);
    let size = |name: &str| std::fs::metadata(sandbox.path(name)).unwrap().len();
    assert_eq!(size("all.idx"), 34 + 12 * 3 + 8 * 4);
    pair(&sandbox, "in/a", false, &[1, 2], &[0, 1]);
    sandbox.say(&format!("{line} --multimodal")).ends(0);
    assert!(sandbox.read("all.idx").ends_with(&[0, 1, 1]));
    sandbox.say("lint all").ends(0);
}
