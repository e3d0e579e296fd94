//! The files of Modalities on the command line: golden cases under the other program's names, and our own commands.

use super::cli_support::{copy_tree, Ran, Sandbox};
use serde_json::Value;
use std::path::{Path, PathBuf};

fn golden(case: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/modalities").join(case)
}

/// A golden case as the current folder: its input, and an empty `expected`.
fn case(name: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    copy_tree(&golden(name).join("input"), &sandbox.path("input"));
    std::fs::create_dir_all(sandbox.path("expected")).unwrap();
    copy_tree(&golden("tokenizers"), &sandbox.path("../tokenizers"));
    sandbox
}

fn expected(case: &str, file: &str) -> Vec<u8> {
    std::fs::read(golden(case).join("expected").join(file)).unwrap()
}

/// The commands of a golden case that have this name, with more words at their end, and the exit code that the other program had.
fn replay(sandbox: &Sandbox, name: &str, command: &str, more: &str) -> Vec<(Ran, i64)> {
    let case: Value = serde_json::from_slice(&std::fs::read(golden(name).join("case.json")).unwrap()).unwrap();
    let commands = case["commands"].as_array().unwrap().iter().zip(case["exit_status"].as_array().unwrap());
    let mut ran = Vec::new();
    for (words, code) in commands {
        let words: Vec<&str> = words.as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
        if words[2] == command {
            ran.push((sandbox.run(words.into_iter().chain(more.split_whitespace())), code.as_i64().unwrap()));
        }
    }
    assert!(!ran.is_empty());
    ran
}

fn replayed(sandbox: &Sandbox, name: &str, command: &str, more: &str) {
    for (ran, code) in replay(sandbox, name, command, more) {
        ran.ends(code as i32);
    }
}

/// Offsets and lengths at the end of a packed file of the present layout, whose numbers are all below 65,536.
fn index_of(bytes: &[u8]) -> Vec<(u64, u64)> {
    let at = 12 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let (mut numbers, mut at) = (Vec::new(), at + 2 + 9);
    while bytes[at] != b'.' {
        at += 1 + match bytes[at] {
            b'K' => {
                numbers.push(u64::from(bytes[at + 1]));
                1
            }
            b'M' => {
                numbers.push(u64::from(bytes[at + 1]) | u64::from(bytes[at + 2]) << 8);
                2
            }
            _ => 0,
        };
    }
    numbers.chunks(2).map(|pair| (pair[0], pair[1])).collect()
}

fn is_back_to_back(index: &[(u64, u64)]) -> bool {
    index.windows(2).all(|pair| pair[0].0 + pair[0].1 == pair[1].0)
}

#[test]
fn shuffles_and_chunks_are_those_of_the_other_program() {
    let sandbox = case("shuffle_tokenized");
    replayed(&sandbox, "shuffle_tokenized", "shuffle_tokenized_data", "");
    assert_eq!(sandbox.read("expected/shuffled.pbin"), expected("shuffle_tokenized", "shuffled.pbin"));
    for (name, command, suffix, chunks) in [
        ("chunk_tokenized", "create_shuffled_dataset_chunk", "pbin", 2),
        ("chunk_jsonl", "create_shuffled_jsonl_chunk", "jsonl", 3),
    ] {
        let sandbox = case(name);
        replayed(&sandbox, name, command, "");
        for chunk in 0..chunks {
            let file = format!("chunk{chunk}.{suffix}");
            assert_eq!(sandbox.read(&format!("expected/{file}")), expected(name, &file), "{file}");
        }
    }
}

#[test]
fn a_last_line_without_end_is_glued_only_when_asked_for() {
    let sandbox = case("shuffle_jsonl");
    replayed(&sandbox, "shuffle_jsonl", "shuffle_jsonl_data", "--compat");
    let theirs = expected("shuffle_jsonl", "shuffled.jsonl");
    assert_eq!(sandbox.read("expected/shuffled.jsonl"), theirs);
    replayed(&sandbox, "shuffle_jsonl", "shuffle_jsonl_data", "--file_existence_policy override");
    let ours = sandbox.text("expected/shuffled.jsonl");
    let input = sandbox.text("input/data.jsonl");
    assert_eq!(ours.len(), input.len() + 1);
    let mut lines: Vec<&str> = ours.lines().collect();
    // The order is the same; only the line end makes the difference.
    assert_eq!(lines.concat(), String::from_utf8(theirs).unwrap().replace('\n', ""));
    let mut wanted: Vec<&str> = input.lines().collect();
    lines.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(lines, wanted);
}

#[test]
fn merging_is_right_and_with_compat_as_wrong_as_there() {
    let sandbox = case("merge");
    replayed(&sandbox, "merge", "merge_packed_data", "");
    let (ours, theirs) = (sandbox.read("expected/merged.pbin"), expected("merge", "merged.pbin"));
    let index_at = 12 + u64::from_le_bytes(ours[..8].try_into().unwrap()) as usize;
    assert_eq!(ours[..index_at], theirs[..index_at], "the tokens are the same");
    assert!(is_back_to_back(&index_of(&ours)) && !is_back_to_back(&index_of(&theirs)));
    sandbox.say("verify expected/merged.pbin").ends(0);
    // The target must not exist.
    sandbox.say("modalities data merge_packed_data input/p0.pbin expected/merged.pbin").ends(2).complains("already");
    sandbox.say("modalities merge input --output expected/again.pbin").ends(0).says("Wrote expected/again.pbin");
    assert_eq!(sandbox.read("expected/again.pbin"), ours, "folders are sorted");
    std::fs::remove_file(sandbox.path("expected/merged.pbin")).unwrap();
    replayed(&sandbox, "merge", "merge_packed_data", "--compat");
    assert_eq!(sandbox.read("expected/merged.pbin"), theirs);
    assert!(!sandbox.has("expected/merged.pbin.gristmill"));
}

#[test]
fn repair_makes_of_a_wrongly_merged_file_what_a_right_merge_makes() {
    let sandbox = case("merge");
    sandbox.say("modalities merge input/p0.pbin input/p1.pbin input/p2.pbin -o right.pbin").ends(0);
    sandbox.say("modalities merge input/p0.pbin input/p1.pbin input/p2.pbin -o wrong.pbin --compat").ends(0);
    let (right, wrong) = (sandbox.read("right.pbin"), sandbox.read("wrong.pbin"));
    sandbox.say("verify wrong.pbin").ends(1).complains("gristmill repair");
    sandbox.say("lint wrong.pbin").ends(1).complains("merged");
    sandbox.say("modalities shuffle wrong.pbin -o s.pbin").ends(1).complains("gristmill repair");
    sandbox.say("repair wrong.pbin --dry-run").ends(0).says("Nothing was written");
    assert_eq!(sandbox.read("wrong.pbin"), wrong);
    sandbox.say("repair wrong.pbin").ends(0).says("Repaired wrong.pbin");
    assert_eq!(sandbox.read("wrong.pbin"), right);
    assert_eq!(sandbox.read("wrong.pbin.before-repair"), wrong);
    sandbox.say("verify wrong.pbin").ends(0).says("No problem found");
    sandbox.say("repair wrong.pbin").ends(0).says("Nothing to do");
    // Merged wrongly twice over.
    let theirs = wrong.clone();
    sandbox.write("wrong.pbin", &theirs);
    sandbox.say("modalities merge wrong.pbin input/p1.pbin -o twice.pbin --compat").ends(0);
    sandbox.say("repair twice.pbin").ends(0).says("Repaired");
    sandbox.say("modalities merge right.pbin input/p1.pbin -o wanted.pbin").ends(0);
    assert_eq!(sandbox.read("twice.pbin"), sandbox.read("wanted.pbin"));
}

#[test]
fn filtering_keeps_what_is_asked_for() {
    let sandbox = case("merge");
    let documents = index_of(&sandbox.read("input/p0.pbin"));
    sandbox.say("modalities filter input/p0.pbin -o some.pbin --documents 0,2-3").ends(0).says("3 documents");
    let lengths: Vec<u64> = index_of(&sandbox.read("some.pbin")).iter().map(|item| item.1).collect();
    assert_eq!(lengths, [documents[0].1, documents[2].1, documents[3].1]);
    sandbox.say("verify some.pbin").ends(0);
    sandbox.say("modalities filter input/p0.pbin -o long.pbin --min-tokens 999999").ends(1).complains("empty");
    assert!(!sandbox.has("long.pbin") && !sandbox.has("long.pbin.gristmill"));
    sandbox.say("modalities filter input/p0.pbin -o long.pbin").ends(2).complains("--documents");
    sandbox.write("list.txt", "0\n2-3\n");
    sandbox.say("modalities filter input/p0.pbin -o listed.pbin --documents-from list.txt").ends(0);
    assert_eq!(sandbox.read("listed.pbin"), sandbox.read("some.pbin"));
    sandbox.say("modalities filter input/p0.pbin -o some.pbin --documents 0").ends(1).complains("already");
    sandbox.say("modalities filter input/p0.pbin -o input/p0.pbin --documents 0 --overwrite").ends(2).complains("read");
}

#[test]
fn outputs_that_are_there_follow_the_policy() {
    let sandbox = case("shuffle_jsonl");
    let command = "modalities data shuffle_jsonl_data --input_data_path input/data.jsonl --output_data_path o.jsonl";
    sandbox.write("o.jsonl", "old\n");
    sandbox.say(command).ends(1).complains("file_existence_policy");
    sandbox.say(&format!("{command} --file_existence_policy skip")).ends(0).complains("nothing was done");
    assert_eq!(sandbox.text("o.jsonl"), "old\n");
    let ran = sandbox.say(&format!("{command} --file_existence_policy override --json")).ends(0);
    let seed = ran.json("ok")["seed"].as_str().unwrap().to_owned();
    let first = sandbox.read("o.jsonl");
    sandbox.say(&format!("{command} --file_existence_policy override --seed {seed}")).ends(0);
    assert_eq!(sandbox.read("o.jsonl"), first, "the seed that was drawn gives the same again");
    sandbox.say(&format!("{command} --file_existence_policy never")).ends(2);
    // The same by our own names.
    sandbox.say(&format!("modalities shuffle input/data.jsonl -o p.jsonl --seed {seed}")).ends(0);
    assert_eq!(sandbox.read("p.jsonl"), first);
}

#[test]
fn what_cannot_be_joined_is_refused() {
    let sandbox = case("chunk_jsonl");
    sandbox.say("modalities chunk input/a.jsonl -o c.jsonl --part 3/3").ends(2).complains("counted from 0");
    sandbox.say("modalities chunk input/a.jsonl -o c.pbin --part 0/3").ends(2).complains(".pbin");
    sandbox.write("empty.jsonl", "");
    sandbox.say("modalities chunk empty.jsonl -o c.jsonl --part 0/3").ends(1).complains("empty");
    sandbox.write("list.txt", "a.txt\n\nb.txt\n");
    let command =
        "modalities data create_shuffled_jsonl_chunk --input_data_root_path input --output_chunk_file_path c.jsonl \
                   --num_chunks 2";
    sandbox.say(&format!("{command} --input_file_list_path list.txt --chunk_id 0")).ends(1).complains("line 2");
    sandbox.say(&format!("{command} --input_file_list_path none.txt --chunk_id 0")).ends(3);
    sandbox.say(&format!("{command} --input_file_list_path input/list.txt --chunk_id 2")).ends(2);
    assert!(!sandbox.has("c.jsonl"));
}

/// A golden case with its index, packed under the other program's name.
fn packs_as_there(name: &str, more: &str) -> Sandbox {
    let sandbox = case(name);
    sandbox.write("expected/data.idx", expected(name, "data.idx"));
    for (ran, _) in replay(&sandbox, name, "pack_encoded_data", more) {
        ran.ends(0);
    }
    sandbox
}

#[test]
fn packed_files_are_those_of_the_other_program() {
    for name in [
        "pack_1_byte",
        "pack_4_byte",
        "pack_bpe",
        "pack_bos_eos_template",
        "pack_eod_in_text",
        "pack_jq_expression",
        "pack_sentencepiece",
        "pack_truncation",
    ] {
        let sandbox = packs_as_there(name, "");
        assert_eq!(sandbox.read("expected/data.pbin"), expected(name, "data.pbin"), "{name}");
        sandbox.say("verify expected/data.pbin").ends(0);
    }
}

#[test]
fn documents_that_are_lost_there_are_lost_only_when_asked_for() {
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
fn indexes_fail_where_they_fail_there() {
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
fn configurations_that_cannot_be_are_refused() {
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

#[test]
fn instruction_data_is_prepared_as_there() {
    let sandbox = case("instruction_tuning");
    replayed(&sandbox, "instruction_tuning", "prepare_instruction_tuning_data", "");
    let folder = "chat_b8419ad";
    let mut names: Vec<_> = std::fs::read_dir(golden("instruction_tuning").join("expected").join(folder))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names.len(), 13);
    for name in &names {
        let file = format!("{folder}/{name}");
        assert_eq!(sandbox.read(&format!("expected/{file}")), expected("instruction_tuning", &file), "{name}");
    }
    let mut made: Vec<_> = std::fs::read_dir(sandbox.path("expected").join(folder))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.ends_with(".gristmill"))
        .collect();
    made.sort();
    assert_eq!(made, names);
}

#[test]
fn conversations_that_cannot_be_used_are_left_out_or_end_the_run() {
    let sandbox = case("instruction_tuning");
    let good = sandbox.text("input/chat.jsonl");
    let bad = "{\"id\": 1}\nnot json\n{\"conversations\": [{\"from\": \"stranger\", \"value\": \"x\"}]}\n";
    sandbox.write("input/chat.jsonl", format!("{good}{bad}"));
    let command = "modalities data prepare_instruction_tuning_data --config_file_path input/it.yaml";
    let ran = sandbox.say(command).ends(0).complains("role mapping");
    assert!(ran.err.contains("line 13") && ran.err.contains("no 'conversations'"), "{}", ran.err);
    let train = "expected/chat_b8419ad/chat_out_train.b8419ad.jsonl";
    assert_eq!(sandbox.read(train), expected("instruction_tuning", "chat_b8419ad/chat_out_train.b8419ad.jsonl"));
    sandbox.say("modalities instruction input/it.yaml").ends(1);
    sandbox.say(&format!("{command} --compat")).ends(1).complains("line 13");
}

#[test]
fn hostile_packed_files_and_indexes_are_refused_quickly() {
    let sandbox = Sandbox::new();
    let packed = |data: u64, size: u32, rest: &[u8]| [&data.to_le_bytes()[..], &size.to_le_bytes(), rest].concat();
    let code = b"\x80\x04]\x94(cos\nsystem\n(X\x02\x00\x00\x00lstR.";
    // A group that says nothing of how many items it has, then ends.
    let cut = [&b"\x80\x04]\x94("[..], &b"K\x00K\x02\x86".repeat(1000)].concat();
    let framed = b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x7f]\x94.";
    for (name, bytes) in [
        ("beyond.pbin", packed(u64::MAX - 3, 2, b"abcd\x80\x04]\x94.")),
        ("longer.pbin", packed(1 << 40, 2, b"abcd\x80\x04]\x94.")),
        ("code.pbin", packed(4, 2, &[&b"abcd"[..], code].concat())),
        ("cut.pbin", packed(4, 2, &[&b"abcd"[..], &cut].concat())),
        ("frame.pbin", packed(4, 2, &[&b"abcd"[..], framed].concat())),
        ("size.pbin", packed(4, 9, b"abcd\x80\x04]\x94.")),
        ("odd.pbin", packed(3, 2, b"abc\x80\x04]\x94.")),
        ("unfinished.pbin", packed(0, 0, b"abcd")),
        ("tiny.pbin", b"\x00".to_vec()),
        ("empty.pbin", Vec::new()),
    ] {
        sandbox.write(name, bytes);
        for command in ["info", "lint", "verify", "repair"] {
            let ran = sandbox.say(&format!("{command} {name}")).ends(1);
            assert!(ran.err.contains(name) && !ran.err.contains("panicked"), "{command} {name}: {}", ran.err);
        }
        sandbox.say(&format!("modalities merge {name} {name} -o out.pbin")).ends(1);
    }
    // Offsets that lie nowhere.
    let item = b"\x80\x04]\x94(\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7fK\x04\x86K\x00K\x04\x86e.";
    sandbox.write("nowhere.pbin", packed(8, 2, &[&b"abcdefgh"[..], item].concat()));
    sandbox.say("verify nowhere.pbin").ends(1).complains("document 0");
    sandbox.say("repair nowhere.pbin").ends(1).complains("document 0");
    for command in ["merge nowhere.pbin -o o.pbin", "shuffle nowhere.pbin -o o.pbin"] {
        sandbox.say(&format!("modalities {command}")).ends(1);
    }
    assert!(!sandbox.has("o.pbin"));
    sandbox.write("bad.idx", code);
    sandbox.say("info bad.idx").ends(1).complains("code");
    sandbox.write("a.jsonl", "{}\n{}\n");
    sandbox.write("a.idx", b"\x80\x04]\x94(K\x00K\x02\x86\x94K\x04K\x02\x86\x94e.");
    sandbox.say("verify a.idx").ends(1).complains("byte 4");
}

#[test]
fn files_of_every_era_are_read_and_written_as_they_are_now() {
    let sandbox = Sandbox::new();
    let tokens: [u32; 6] = [7, 300, 0, 5, 9, 0];
    let index = |base: u8, size: u8| {
        let short = 3 * size;
        [
            &b"\x80\x04]\x94("[..],
            &[b'K', base, b'K', short, 0x86, 0x94, b'K', base + short, b'K', short, 0x86, 0x94],
            b"e.",
        ]
        .concat()
    };
    let bytes = |size: usize, big: bool| -> Vec<u8> {
        let pick = |token: &u32| {
            let (little, large) = (token.to_le_bytes(), token.to_be_bytes());
            if big {
                large[4 - size..].to_vec()
            } else {
                little[..size].to_vec()
            }
        };
        tokens.iter().flat_map(pick).collect()
    };
    let head = |length: usize, size: u32, big: bool| {
        if big {
            [&(length as u64).to_be_bytes()[..], &size.to_be_bytes()].concat()
        } else {
            [&(length as u64).to_le_bytes()[..], &size.to_le_bytes()].concat()
        }
    };
    let eras = [
        ("oldest", [&24u64.to_be_bytes()[..], &bytes(4, true), &index(8, 4)].concat(), 4),
        ("big", [&head(12, 2, true)[..], &bytes(2, true), &index(12, 2)].concat(), 2),
        ("little", [&head(12, 2, false)[..], &bytes(2, false), &index(12, 2)].concat(), 2),
        ("three", [&head(18, 3, false)[..], &bytes(3, false), &index(0, 3)].concat(), 4),
        ("now", [&head(12, 2, false)[..], &bytes(2, false), &index(0, 2)].concat(), 2),
    ];
    for (name, content, size) in eras {
        sandbox.write(&format!("{name}.pbin"), content);
        let code = i32::from(name != "now");
        sandbox.say(&format!("info {name}.pbin")).ends(code).says("documents");
        sandbox.say(&format!("modalities merge {name}.pbin -o {name}.new.pbin")).ends(0);
        let wanted = [&head(6 * size, size as u32, false)[..], &bytes(size, false)].concat();
        assert!(sandbox.read(&format!("{name}.new.pbin")).starts_with(&wanted), "{name}");
        let value = sandbox.say(&format!("info {name}.new.pbin --json")).ends(0).json("ok");
        assert_eq!((&value["documents"], &value["tokens"], &value["end_token"]), (&2.into(), &6.into(), &0.into()));
    }
}
