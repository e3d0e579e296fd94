//! Packed files and lines that are created from others: merged, shuffled, cut, filtered.

use super::{case, expected, index_of, replayed};
use crate::cli_support::Sandbox;

fn is_back_to_back(index: &[(u64, u64)]) -> bool {
    index.windows(2).all(|pair| pair[0].0 + pair[0].1 == pair[1].0)
}

#[test]
fn shuffles_and_chunks_equal_those_of_modalities() {
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
fn last_line_without_newline_is_kept_separate_without_compat() {
    let sandbox = case("shuffle_jsonl");
    replayed(&sandbox, "shuffle_jsonl", "shuffle_jsonl_data", "--compat");
    let theirs = expected("shuffle_jsonl", "shuffled.jsonl");
    assert_eq!(sandbox.read("expected/shuffled.jsonl"), theirs);
    replayed(&sandbox, "shuffle_jsonl", "shuffle_jsonl_data", "--file_existence_policy override");
    let ours = sandbox.text("expected/shuffled.jsonl");
    let input = sandbox.text("input/data.jsonl");
    assert_eq!(ours.len(), input.len() + 1);
    let mut lines: Vec<&str> = ours.lines().collect();
    // The order is the same; only the line ends differ.
    assert_eq!(lines.concat(), String::from_utf8(theirs).unwrap().replace('\n', ""));
    let mut wanted: Vec<&str> = input.lines().collect();
    lines.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(lines, wanted);
}

#[test]
fn merge_writes_contiguous_documents_and_compat_the_reference_bytes() {
    let sandbox = case("merge");
    replayed(&sandbox, "merge", "merge_packed_data", "");
    let (ours, theirs) = (sandbox.read("expected/merged.pbin"), expected("merge", "merged.pbin"));
    let index_at = 12 + u64::from_le_bytes(ours[..8].try_into().unwrap()) as usize;
    assert_eq!(ours[..index_at], theirs[..index_at], "the tokens are the same");
    assert!(is_back_to_back(&index_of(&ours)) && !is_back_to_back(&index_of(&theirs)));
    sandbox.say("verify expected/merged.pbin").ends(0);
    // The target must not exist.
    sandbox
        .say("modalities data merge_packed_data input/p0.pbin expected/merged.pbin")
        .ends(2)
        .complains("already")
        .complains("hint: give another name");
    sandbox.say("modalities merge input --output expected/again.pbin").ends(0).says("Wrote expected/again.pbin");
    sandbox
        .say("modalities merge input --output expected/again.pbin")
        .ends(1)
        .complains("or --force-overwrite replaces it");
    assert_eq!(sandbox.read("expected/again.pbin"), ours, "folders are sorted");
    std::fs::remove_file(sandbox.path("expected/merged.pbin")).unwrap();
    replayed(&sandbox, "merge", "merge_packed_data", "--compat");
    assert_eq!(sandbox.read("expected/merged.pbin"), theirs);
    assert!(!sandbox.has("expected/merged.pbin.gristmill"));
}

#[test]
fn repair_turns_a_compat_merge_into_a_correct_merge() {
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
    // A wrong merge that contains a wrong merge.
    let theirs = wrong.clone();
    sandbox.write("wrong.pbin", &theirs);
    sandbox.say("modalities merge wrong.pbin input/p1.pbin -o twice.pbin --compat").ends(0);
    sandbox.say("repair twice.pbin").ends(0).says("Repaired");
    sandbox.say("modalities merge right.pbin input/p1.pbin -o wanted.pbin").ends(0);
    assert_eq!(sandbox.read("twice.pbin"), sandbox.read("wanted.pbin"));
}

#[test]
fn compat_merge_of_parts_smaller_than_the_header_is_repaired() {
    let sandbox = Sandbox::new();
    let packed = |tokens: &[u16], index: &[u8]| {
        let bytes: Vec<u8> = tokens.iter().flat_map(|token| token.to_le_bytes()).collect();
        [&(bytes.len() as u64).to_le_bytes()[..], &2_u32.to_le_bytes(), &bytes, b"\x80\x04]\x94", index].concat()
    };
    let parts: [&[u16]; 3] = [&[5, 6, 0], &[7, 0], &[1, 2, 3, 4, 5, 6, 7, 8, 9, 0]];
    sandbox.write("a.pbin", packed(parts[0], b"K\x00K\x06\x86\x94a."));
    sandbox.write("b.pbin", packed(parts[1], b"K\x00K\x04\x86\x94a."));
    sandbox.write("c.pbin", packed(parts[2], b"K\x00K\x14\x86\x94a."));
    sandbox.say("modalities merge a.pbin b.pbin c.pbin -o right.pbin").ends(0);
    // Each later part is placed at the end of the previous part, less 12 bytes.
    let index = b"(K\x00K\x06\x86\x94J\xfa\xff\xff\xffK\x04\x86\x94J\xf2\xff\xff\xffK\x14\x86\x94e.";
    sandbox.write("wrong.pbin", packed(&parts.concat(), index));
    for command in ["info", "lint", "verify"] {
        let ran = sandbox.say(&format!("{command} wrong.pbin"));
        let output = format!("{}{}", ran.out, ran.err);
        assert!(output.contains("from document 1 on, 2 documents"), "{command}: {output}");
    }
    sandbox.say("modalities shuffle wrong.pbin -o s.pbin").ends(1).complains("gristmill repair");
    sandbox.say("modalities shuffle wrong.pbin -o s.pbin --compat").ends(1).complains("document 1");
    assert!(!sandbox.has("s.pbin"));
    sandbox.say("repair wrong.pbin").ends(0).says("Repaired wrong.pbin");
    assert_eq!(sandbox.read("wrong.pbin"), sandbox.read("right.pbin"));
}

#[test]
fn filter_without_matches_writes_the_same_empty_file_as_modalities() {
    let sandbox = case("filter_nothing_left");
    replayed(&sandbox, "filter_nothing_left", "input/p0.pbin", "");
    for file in ["some.pbin", "none.pbin"] {
        assert_eq!(sandbox.read(&format!("expected/{file}")), expected("filter_nothing_left", file), "{file}");
    }
    let ran = sandbox.say("modalities filter input/p0.pbin -o again.pbin --min-tokens 1000000 --json").ends(0);
    let report = ran.json("ok");
    assert_eq!((&report["documents"], &report["problems"][0]["severity"]), (&0.into(), &"note".into()), "{report:#}");
}

#[test]
fn filter_keeps_the_selected_documents() {
    let sandbox = case("merge");
    let documents = index_of(&sandbox.read("input/p0.pbin"));
    sandbox.say("modalities filter input/p0.pbin -o some.pbin --documents 0,2-3").ends(0).says("3 documents");
    let lengths: Vec<u64> = index_of(&sandbox.read("some.pbin")).iter().map(|item| item.1).collect();
    assert_eq!(lengths, [documents[0].1, documents[2].1, documents[3].1]);
    sandbox.say("verify some.pbin").ends(0);
    let none = sandbox.say("modalities filter input/p0.pbin -o none.pbin --min-tokens 999999").ends(0);
    none.complains("no document is left");
    assert!(!sandbox.has("long.pbin") && !sandbox.has("long.pbin.gristmill"));
    sandbox.say("modalities filter input/p0.pbin -o long.pbin").ends(2).complains("--documents");
    sandbox.write("list.txt", "0\n2-3\n");
    sandbox.say("modalities filter input/p0.pbin -o listed.pbin --documents-from list.txt").ends(0);
    assert_eq!(sandbox.read("listed.pbin"), sandbox.read("some.pbin"));
    sandbox.say("modalities filter input/p0.pbin -o some.pbin --documents 0").ends(1).complains("already");
    sandbox.say("modalities filter input/p0.pbin -o input/p0.pbin --documents 0 --overwrite").ends(2).complains("read");
}

#[test]
fn existing_outputs_follow_the_file_existence_policy() {
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
    // The same with the program's own command.
    sandbox.say(&format!("modalities shuffle input/data.jsonl -o p.jsonl --seed {seed}")).ends(0);
    assert_eq!(sandbox.read("p.jsonl"), first);
}

#[test]
fn invalid_chunk_inputs_are_refused() {
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

#[test]
fn modalities_result_shows_equivalent_command() {
    let sandbox = case("merge");
    for command in [
        "modalities merge input/p0.pbin input/p1.pbin --output m.pbin",
        "modalities shuffle input/p0.pbin --seed=-7 --output s.pbin",
        "modalities shuffle input/p0.pbin --output s.pbin --force-overwrite --compat",
        "modalities chunk input/p0.pbin input/p1.pbin --part 0/2 --seed 3 --output c.pbin",
        "modalities filter input/p0.pbin --documents 0 --min-tokens 1 --output f.pbin",
    ] {
        let value = sandbox.say(&format!("{command} --json")).ends(0).json("ok");
        assert_eq!(value["equivalent_command"], format!("gristmill {command}"));
    }
}
