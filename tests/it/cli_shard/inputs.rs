//! Selection of inputs: splits, states of inputs, sets of media.

use super::{entries, raw_tar};
use crate::cli_support::Sandbox;
use std::io::Write as _;

#[test]
fn split_flag_selects_splits_of_every_input_kind() {
    let sandbox = Sandbox::new();
    for name in ["files/train/a.txt", "files/val/b.txt"] {
        sandbox.write(name, "x");
    }
    sandbox.say("shard files --split train --output of-files").ends(0);
    assert_eq!(entries(&sandbox, "of-files/train/shard_000000.tar"), ["train/a.txt"]);
    assert!(!sandbox.has("of-files/val"));
    sandbox.write("rows.jsonl", "{\"s\": \"train\", \"k\": \"a\"}\n{\"s\": \"val\", \"k\": \"b\"}\n");
    sandbox.say("shard rows.jsonl --split-column s --key k --split val --output of-rows").ends(0);
    assert_eq!(entries(&sandbox, "of-rows/val/shard_000000.tar"), ["b.json"]);
    assert!(!sandbox.has("of-rows/train"));
    sandbox.tar("in/0.tar", ["a"]);
    sandbox.write("plain/a.txt", "x");
    for input in ["in/0.tar", "in", "plain", "rows.jsonl"] {
        sandbox.say(&format!("shard {input} --split train --output no")).ends(2).complains("--split");
    }
}

#[test]
fn splits_of_a_prepared_input_take_precedence_over_folder_names() {
    let sandbox = Sandbox::new();
    sandbox.tar("set/train/0.tar", ["train/a"]);
    sandbox.tar("set/val/0.tar", ["val/b"]);
    sandbox.say("prepare set --yes --split-ratio 1,0,0 --skip-dataset-yaml").ends(0);
    sandbox.say("shard set --output out").ends(0);
    assert_eq!(entries(&sandbox, "out/shard_000000.tar").len(), 4);
}

#[test]
fn shard_does_nothing_only_for_unchanged_inputs() {
    let sandbox = Sandbox::new();
    sandbox.write("photos/a.txt", "1");
    sandbox.write("photos/b.txt", "2");
    sandbox.write("drop", "b\n");
    let line = "shard photos --output out --drop-keys drop";
    sandbox.say(line).ends(0);
    sandbox.say(line).ends(0).says("Nothing to do");
    sandbox.write("photos/c.txt", "3");
    for line in [line.to_owned(), format!("{line} --dry-run")] {
        sandbox.say(&line).ends(1).complains("the inputs have changed");
    }
    std::fs::remove_file(sandbox.path("photos/c.txt")).unwrap();
    sandbox.say(line).ends(0).says("Nothing to do");
    sandbox.write("drop", "a\n");
    sandbox.say(line).ends(1).complains("the inputs have changed");
}

#[test]
fn append_adds_new_samples_of_changed_inputs() {
    let sandbox = Sandbox::new();
    sandbox.write("first/a.txt", "1");
    sandbox.say("shard first --output set").ends(0);
    sandbox.write("more/b.txt", "2");
    let line = "shard more --output set --append --new-to train";
    sandbox.say(line).ends(0);
    sandbox.say(line).ends(0).says("Nothing to do");
    std::fs::remove_file(sandbox.path("more/b.txt")).unwrap();
    sandbox.write("more/c.txt", "3");
    sandbox.say(line).ends(0);
    let shards = ["shard_000000.tar", "shard_000001.tar", "shard_000002.tar"];
    let names: Vec<_> = shards.iter().flat_map(|shard| entries(&sandbox, &format!("set/{shard}"))).collect();
    assert_eq!(names, ["a.txt", "b.txt", "c.txt"]);
    sandbox.say("lint set").ends(0);
}

#[test]
fn compressed_input_shards_are_recognized_as_unchanged() {
    let sandbox = Sandbox::new();
    sandbox.tar("plain/0.tar", ["a", "b"]);
    let tar = std::fs::read(sandbox.path("plain/0.tar")).unwrap();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&tar).unwrap();
    sandbox.write("in/0.tar.gz", packed.finish().unwrap());
    for line in ["shard in --output out", "shard in --output other --scratch scratch"] {
        std::fs::create_dir_all(sandbox.path("scratch")).unwrap();
        sandbox.say(line).ends(0);
        sandbox.say(line).ends(0).says("Nothing to do");
    }
}

#[test]
fn overflow_of_shard_numbers_is_refused() {
    let sandbox = Sandbox::new();
    for name in ["a", "b", "c"] {
        sandbox.write(&format!("in/{name}.txt"), name);
    }
    let line = format!("shard in --output out --max-count 1 --start {}", u64::MAX);
    sandbox.say(&line).ends(2).complains("--start");
    assert!(!sandbox.has("out"));
}

#[test]
fn key_prefixes_of_inputs_are_distinct() {
    let sandbox = Sandbox::new();
    for folder in ["1/x", "2/x", "3/x-2"] {
        sandbox.tar(&format!("{folder}/0.tar"), ["k"]);
    }
    sandbox.say("shard 1/x 2/x 3/x-2 --duplicates prefix --output out").ends(0);
    let names = entries(&sandbox, "out/shard_000000.tar");
    let keys: Vec<&str> = names.iter().filter_map(|name| name.strip_suffix(".txt")).collect();
    assert_eq!(keys, ["x/0.tar/k", "x-3/0.tar/k", "x-2/0.tar/k"]);
}

#[test]
fn changed_media_shards_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.tar_of("media/0.tar", &[("a.jpg".into(), b"1".to_vec()), ("b.jpg".into(), b"2".to_vec())]);
    sandbox.say("prepare media --yes --split-ratio 1,0,0 --skip-dataset-yaml").ends(0);
    sandbox.write("rows.jsonl", "{\"m\": \"a.jpg\"}\n");
    let line = |output: &str| format!("shard rows.jsonl --media m --media-root media --no-json --output {output}");
    sandbox.say(&line("good")).ends(0);
    assert_eq!(entries(&sandbox, "good/shard_000000.tar"), ["a.jpg"]);
    sandbox.tar_of("media/0.tar", &[("b.jpg".into(), b"2".to_vec()), ("a.jpg".into(), b"1".to_vec())]);
    sandbox.say(&line("bad")).ends(1).complains("changed since it was indexed").complains("--update");
    assert!(!sandbox.has("bad"));
}

#[test]
fn store_addresses_in_rows_are_problems() {
    let sandbox = Sandbox::new();
    sandbox.write("a.jpg", "x");
    sandbox.write("rows.jsonl", "{\"m\": \"a.jpg\"}\n{\"m\": \"s3://bucket/b.jpg\"}\n{\"m\": \"/c.jpg\"}\n");
    let ran = sandbox.say("shard rows.jsonl --media m --output out").ends(1);
    ran.complains("s3://bucket/b.jpg: it is an address, and not below one that --media-root names")
        .complains("/c.jpg: it is absolute");
    assert_eq!(entries(&sandbox, "out/shard_000000.tar").len(), 2);
}

#[test]
fn text_lines_contain_only_utf8() {
    let sandbox = Sandbox::new();
    sandbox.write("in/a.json", b"{\"t\": \"\xff\"}");
    sandbox.write("in/a.jpg", "x");
    sandbox.say("shard in --media-to media --text-to rest.jsonl").ends(1).complains("not UTF-8");
    assert!(std::str::from_utf8(&sandbox.read("rest.jsonl")).is_ok());
}

#[test]
fn coco_columns_are_those_of_images() {
    let sandbox = Sandbox::new();
    sandbox.write("img/1.jpg", "x");
    sandbox.write("c.JSON", r#"{"images": [{"id": 7, "file_name": "1.jpg", "t": "a mill"}], "annotations": []}"#);
    sandbox.say("shard c.JSON --media-root img --media file_name:img.jpg --text t --key id --output out").ends(0);
    assert_eq!(entries(&sandbox, "out/shard_000000.tar"), ["7.img.jpg", "7.json", "7.txt"]);
    sandbox.write("lines.json", "{\"images\": [1], \"annotations\": [2]}\n");
    sandbox.say("shard lines.json --output lines").ends(0);
    assert_eq!(entries(&sandbox, "lines/shard_000000.tar"), ["000000000.json"]);
}

#[test]
fn rows_of_several_inputs_are_numbered_consecutively() {
    let sandbox = Sandbox::new();
    sandbox.write("1.jsonl", "{\"n\": 1}\n{\"n\": 2}\n");
    sandbox.write("2.jsonl", "{\"n\": 3}\n");
    sandbox.write("3.jsonl", "");
    sandbox.say("shard 1.jsonl 2.jsonl --key number --output rows").ends(0);
    let expected = ["000000000.json", "000000001.json", "000000002.json"];
    assert_eq!(entries(&sandbox, "rows/shard_000000.tar"), expected);
    // Together with other inputs, all samples are renumbered.
    sandbox.tar("tars/0.tar", ["x"]);
    sandbox.say("shard tars 1.jsonl --key number --keep-parts json --output both").ends(0);
    assert_eq!(entries(&sandbox, "both/shard_000000.tar"), expected);
}

#[test]
fn media_files_next_to_shards_are_noted_as_skipped() {
    let sandbox = Sandbox::new();
    sandbox.write("in/p.jpg", "picture");
    sandbox.tar("in/x/0.tar", ["a"]);
    sandbox.write("plain/stats.json", "{}");
    sandbox.tar("plain/0.tar", ["a"]);
    sandbox.say("shard in --output tars").ends(0).complains("files such as p.jpg are left out").complains("--as files");
    assert_eq!(entries(&sandbox, "tars/shard_000000.tar"), ["a.json", "a.txt"]);
    let ran = sandbox.say("shard in --output files --as files").ends(0);
    assert!(!ran.err.contains("left out"), "{}", ran.err);
    assert!(entries(&sandbox, "files/shard_000000.tar").contains(&"p.jpg".to_owned()));
    let ran = sandbox.say("shard plain --output others").ends(0);
    assert!(!ran.err.contains("left out"), "{}", ran.err);
}

#[test]
fn damaged_samples_with_non_utf8_keys_are_left_out() {
    let sandbox = Sandbox::new();
    raw_tar(&sandbox, "in/0.tar", &[b"\xffa.txt", b"\xffa.json", b"b.txt", b"c.txt"]);
    let mut bytes = sandbox.read("in/0.tar");
    bytes[1_024 + 10] ^= 1;
    sandbox.write("in/0.tar", bytes);
    let ran = sandbox.say("shard in --output out").ends(1).complains("it touches damage; it is left out");
    assert_eq!(entries(&sandbox, "out/shard_000000.tar"), ["c.txt"], "{}", ran.err);
}

#[test]
fn folder_of_row_files_is_read_as_rows() {
    let sandbox = Sandbox::new();
    sandbox.write("lines/1.jsonl", "{\"n\": 1}\n{\"n\": 2}\n");
    sandbox.write("lines/2.jsonl", "{\"n\": 3}\n");
    sandbox.write("tables/sub/1.csv", "a,b\n1,2\n3,4\n");
    sandbox.write("tables/LICENSE", "free");
    for (folder, samples, files) in [("lines", 3, 2), ("tables", 2, 1)] {
        sandbox.say(&format!("shard {folder} --output {folder}-rows")).ends(0);
        assert_eq!(entries(&sandbox, &format!("{folder}-rows/shard_000000.tar")).len(), samples);
        sandbox.say(&format!("shard {folder} --as files --output {folder}-files")).ends(0);
        assert_eq!(entries(&sandbox, &format!("{folder}-files/shard_000000.tar")).len(), files);
    }
    sandbox.write("tables/1.txt", "a caption");
    sandbox
        .say("shard tables --output both")
        .ends(0)
        .complains("it is read as files because of 1.txt")
        .complains("--as rows");
    assert_eq!(entries(&sandbox, "both/shard_000000.tar"), ["1.txt", "sub/1.csv"]);
}

#[test]
fn descriptions_indexes_and_names_in_capitals_do_not_make_rows_parts() {
    let sandbox = Sandbox::new();
    sandbox.write("given/A.JSONL", "{\"n\": 1}\n");
    sandbox.write("given/b.jsonl", "{\"n\": 2}\n");
    sandbox.write("given/c.ndjson", "{\"n\": 3}\n");
    sandbox.write("given/README.md", "# Rows");
    sandbox.write("given/dataset_infos.json", "{}");
    sandbox.say("prepare given/b.jsonl --yes").ends(0);
    assert!(sandbox.has("given/b.jsonl.idx"));
    let ran = sandbox.say("shard given --output rows").ends(0);
    assert_eq!(entries(&sandbox, "rows/shard_000000.tar").len(), 3, "{}", ran.err);
    sandbox.write("tables/A.CSV", "n\n4\n");
    sandbox.write("tables/B.Tsv", "n\n5\n");
    sandbox.say("shard tables --output cells").ends(0);
    assert_eq!(entries(&sandbox, "cells/shard_000000.tar").len(), 2);
    sandbox.write("given/p.jpg", Sandbox::jpeg(8, 8));
    sandbox.say("shard given --output files").ends(0).complains("it is read as files because of p.jpg");
}

#[test]
fn row_with_a_damaged_text_in_any_column_is_left_out() {
    let sandbox = Sandbox::new();
    sandbox.write("a.csv", b"text,other\na,\xff\nb,c\n");
    let ran = sandbox.say("shard a.csv --text text --output out").ends(1);
    ran.complains("its text is not UTF-8 (column `other`)");
}

#[test]
fn links_to_folders_above_the_input_are_not_followed() {
    let sandbox = Sandbox::new();
    sandbox.write("parent/data/a.txt", "a");
    sandbox.tar("parent/0.tar", ["x"]);
    std::os::unix::fs::symlink("..", sandbox.path("parent/data/up")).unwrap();
    sandbox.say("shard parent/data --output out").ends(0).complains("it leads back to");
    assert_eq!(entries(&sandbox, "out/shard_000000.tar"), ["a.txt"]);
}

#[test]
fn overlong_name_costs_no_other_sample() {
    let sandbox = Sandbox::new();
    let mut tar = tar::Builder::new(Vec::new());
    for name in ["a.txt".to_owned(), format!("{}.txt", "n".repeat(5_000)), "b.txt".to_owned()] {
        let mut header = tar::Header::new_gnu();
        header.set_size(1);
        tar.append_data(&mut header, name, &b"x"[..]).unwrap();
    }
    sandbox.write("in/0.tar", tar.into_inner().unwrap());
    sandbox.say("shard in --output out").ends(1).complains("1 name has more than 4,096 bytes");
    assert_eq!(entries(&sandbox, "out/shard_000000.tar"), ["a.txt", "b.txt"]);
    sandbox.say("prepare in --yes --split-ratio 1,0,0 --skip-dataset-yaml").ends(1);
    assert!(!sandbox.text("in/.nv-meta/split.yaml").contains("0.tar/"), "no sample is excluded");
}
