//! Splits, limits, compressed and damaged shards, several inputs.

use super::{entries, files_below};
use crate::cli_support::Sandbox;
use std::io::Write as _;

fn shards(sandbox: &Sandbox, output: &str) -> Vec<String> {
    files_below(&sandbox.path(output)).into_iter().filter(|name| name.ends_with(".tar")).collect()
}

#[test]
fn splits_of_a_prepared_input_are_kept_without_one_split() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    sandbox.say("prepare data --split-ratio 8,2,0 --sample-type CrudeWebdataset --yes").ends(0);
    sandbox.say("shard data --output out --max-count 20 --shuffle").ends(0).says("train: 24 samples, 2 shards");
    let names = ["train/shard_000000.tar", "train/shard_000001.tar", "val/shard_000000.tar"];
    assert_eq!(shards(&sandbox, "out"), names);
    let splits = sandbox.text("out/.nv-meta/split.yaml");
    assert!(splits.contains("train/shard_{000000..000001}.tar"), "{splits}");
    sandbox.say("shard data --output one --one-split --even --max-count 20").ends(0);
    assert_eq!(shards(&sandbox, "one"), ["shard_000000.tar", "shard_000001.tar"]);
    assert_eq!(entries(&sandbox, "one/shard_000000.tar").len(), 2 * 15);
    sandbox.say("shard data --output val --split val --shards 4").ends(0);
    let counts: Vec<usize> =
        shards(&sandbox, "val").iter().map(|name| entries(&sandbox, &format!("val/{name}")).len() / 2).collect();
    assert_eq!(counts, [2, 2, 1, 1]);
    sandbox.say("shard data --output none --split dev").ends(2).complains("its splits are train, val");
    sandbox.say("shard data out --output both").ends(2).complains("one of several inputs");
}

#[test]
fn brace_range_of_shards_is_an_input_of_shard() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    sandbox.say("shard data/s_{02..04}.tar --output out --no-prepare").ends(0).says("9 samples");
    assert_eq!(entries(&sandbox, "out/shard_000000.tar").len(), 2 * 9);
    sandbox.say("shard data/s_{08..11}.tar --output none").ends(3).complains("s_1");
    sandbox.say("shard data/s_{02..04}.tar --split train --output none").ends(2).complains("no splits");
}

#[test]
fn reported_checksums_equal_those_of_the_shards() {
    use sha2::{Digest as _, Sha256};
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    let report = sandbox.say("shard data --output out --max-count 8 --checksums --json").ends(0).json("ok");
    for file in report["files"].as_array().unwrap() {
        let sum: String = Sha256::digest(std::fs::read(file["path"].as_str().unwrap()).unwrap())
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(file["sha256"], sum);
    }
    let report = sandbox.say("shard data --output plain --json").ends(0).json("ok");
    assert!(report["files"][0]["sha256"].is_null());
}

#[test]
fn limit_takes_the_first_samples_in_output_order() {
    let sandbox = Sandbox::new();
    sandbox.tar("in/train/0.tar", ["a", "b", "c", "d"]);
    sandbox.tar("in/val/0.tar", ["e", "f", "g", "h"]);
    sandbox.say("shard in --output first --limit 5").ends(0);
    assert_eq!(shards(&sandbox, "first"), ["train/shard_000000.tar", "val/shard_000000.tar"]);
    assert_eq!(entries(&sandbox, "first/val/shard_000000.tar"), ["e.json", "e.txt"]);
    sandbox.say("shard in --output all --shuffle").ends(0);
    sandbox.say("shard in --output some --shuffle --limit 4").ends(0);
    for split in ["train", "val"] {
        let name = format!("{split}/shard_000000.tar");
        let (all, some) = (entries(&sandbox, &format!("all/{name}")), entries(&sandbox, &format!("some/{name}")));
        assert_eq!(some, all[..4], "the first of each split");
    }
}

#[test]
fn compressed_shards_are_read_by_their_content() {
    let sandbox = Sandbox::new();
    sandbox.tar("plain/0.tar", ["a", "b"]);
    sandbox.tar("plain/1.tar", ["c"]);
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(&sandbox.read("plain/0.tar")).unwrap();
    sandbox.write("packed/0.tar.gz", gz.finish().unwrap());
    sandbox.write("packed/1.TAR", sandbox.read("plain/1.tar"));
    sandbox.say("shard plain --output from-plain").ends(0);
    sandbox.say("shard packed --output from-packed").ends(0);
    assert!(sandbox.read("from-plain/shard_000000.tar") == sandbox.read("from-packed/shard_000000.tar"));
}

#[test]
fn several_inputs_are_merged_or_prefixed() {
    let sandbox = Sandbox::new();
    let entry = |name: &str| (name.to_owned(), name.as_bytes().to_vec());
    sandbox.tar_of("pictures/0.tar", &[entry("a.jpg"), entry("b.jpg")]);
    sandbox.tar_of("texts/0.tar", &[entry("b.txt"), entry("a.txt"), entry("c.txt")]);
    sandbox.say("shard pictures texts --output out --duplicates merge").ends(0);
    assert_eq!(entries(&sandbox, "out/shard_000000.tar"), ["a.jpg", "a.txt", "b.jpg", "b.txt", "c.txt"]);
    sandbox.say("shard pictures texts --output prefixed --duplicates prefix").ends(0);
    assert_eq!(entries(&sandbox, "prefixed/shard_000000.tar")[0], "pictures/0.tar/a.jpg");
    sandbox.say("shard pictures texts --output refused").ends(1).complains("0.tar of ");
}

#[test]
fn damaged_samples_are_left_out_and_listed() {
    let sandbox = Sandbox::new();
    sandbox.tar("in/0.tar", ["a", "b", "c"]);
    let mut bytes = sandbox.read("in/0.tar");
    // The header of the second part of sample b.
    bytes[3 * 1024] ^= 0xff;
    sandbox.write("in/0.tar", bytes);
    let ran = sandbox.say("shard in --output out").ends(1);
    ran.complains("it touches damage; it is left out").says("Wrote");
    let names = entries(&sandbox, "out/shard_000000.tar");
    assert!(names.contains(&"a.txt".to_owned()) && !names.iter().any(|name| name.starts_with("b.")), "{names:?}");
    // The same run again reports the same.
    sandbox.say("shard in --output out").ends(1).says("Nothing to do").complains("it touches damage");
}

#[test]
fn names_that_are_not_utf_8_are_kept_without_rows() {
    let sandbox = Sandbox::new();
    let mut tar = tar::Builder::new(Vec::new());
    for name in [&b"a.txt"[..], b"b\xff.txt", b"c.t\xff", b"c.txt"] {
        let mut header = tar::Header::new_ustar();
        header.as_mut_bytes()[..name.len()].copy_from_slice(name);
        header.set_size(3);
        header.set_mode(0o644);
        header.set_cksum();
        tar.append(&header, &b"abc"[..]).unwrap();
    }
    sandbox.write("in/0.tar", tar.into_inner().unwrap());
    sandbox.say("shard in --output out").ends(1).complains("not UTF-8");
    assert_eq!(entries(&sandbox, "out/shard_000000.tar").len(), 4);
    let copied = sandbox.read("out/shard_000000.tar");
    assert!(
        copied.windows(8).any(|bytes| bytes == b"=b\xff.txt\n") && copied.windows(6).any(|bytes| bytes == b"c.txt\0")
    );
    sandbox.say("verify out").ends(1).says("1 problem found").says("entry name is not UTF-8");
}

#[test]
fn names_that_readers_would_skip_are_not_written() {
    let sandbox = Sandbox::new();
    sandbox.tar("in/__x__/0.tar", ["a"]);
    sandbox.tar("in/y/0.tar", ["a"]);
    let line = "shard in --output out --duplicates prefix";
    sandbox.say(line).ends(1).complains("readers skip names").complains("rename the folder");
    assert!(!sandbox.has("out"));
    sandbox.tar("one/0.tar", ["__a", "b"]);
    sandbox.say("shard one --output out --rename-part txt=t__").ends(1).complains("readers skip names");
    assert_eq!(entries(&sandbox, "out/shard_000000.tar"), ["b.json", "b.t__"]);
}

#[test]
fn sizes_of_shards_have_units() {
    let sandbox = Sandbox::new();
    sandbox.tar("in/0.tar", ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]);
    sandbox.say("shard in --output out --max-size 10KiB").ends(0).says("to 3 shards");
    sandbox.say("shard in --output out --max-size 10240").ends(0).says("Nothing to do");
    sandbox.say("shard in --output other --max-size 3parsecs").ends(2).complains("unknown unit");
}

#[test]
fn deleted_key_list_of_the_browser_is_read_from_the_run_folder() {
    let sandbox = Sandbox::new();
    sandbox.tar("in/0.tar", ["a", "b", "c"]);
    let list = sandbox.path("x").ancestors().nth(2).unwrap().join("home/state/gristmill/key-lists/in-1.txt");
    std::fs::create_dir_all(list.parent().unwrap()).unwrap();
    std::fs::write(&list, "0.tar/a\n0.tar/c\n").unwrap();
    let keys = list.display();
    let line = |output: &str| format!("shard in --output {output} --keep-keys {keys}");
    sandbox.say(&line("out")).ends(0).says("2 samples");
    std::fs::remove_file(&list).unwrap();
    // The same plan has nothing to do, and another output has the same samples.
    sandbox.say(&line("out")).ends(0).says("Nothing to do");
    sandbox.say(&line("other")).ends(0).says("2 samples");
    assert!(sandbox.read("out/shard_000000.tar") == sandbox.read("other/shard_000000.tar"));
    for copy in ["out.gristmill/in-1.txt", "other.gristmill/in-1.txt"] {
        std::fs::remove_file(sandbox.path(copy)).unwrap();
    }
    let refused = sandbox.say(&line("third")).ends(2);
    refused
        .complains("in-1.txt")
        .complains("the browser wrote it, and it no longer exists")
        .complains("W in the browser");
    assert!(!sandbox.has("third"));
}
