//! MDS shards: the bytes of the reference program, and refusals.

use super::{bpe, golden, without_own_folders, Case, END};
use crate::cli_support::Sandbox;
use crate::support::{assert_same, picture};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

type Files = BTreeMap<PathBuf, Vec<u8>>;

/// Returns the files with decompressed shards, and the index without values that depend on the version of the compressor.
fn unpacked(files: Files) -> Files {
    let unpack = |(path, bytes): (PathBuf, Vec<u8>)| match path.extension().and_then(|end| end.to_str()) {
        Some("zstd") => (path.with_extension(""), zstd::decode_all(&bytes[..]).unwrap()),
        Some("json") => {
            let mut index: Value = serde_json::from_slice(&bytes).unwrap();
            for zip in index["shards"].as_array_mut().unwrap().iter_mut().map(|shard| &mut shard["zip_data"]) {
                if !zip.is_null() {
                    assert!(zip["bytes"].as_u64().unwrap() > 0);
                    zip["bytes"] = 0.into();
                    zip["hashes"].as_object_mut().unwrap().values_mut().for_each(|hash| *hash = "".into());
                }
            }
            (path, index.to_string().into_bytes())
        }
        _ => (path, bytes),
    };
    files.into_iter().map(unpack).collect()
}

#[test]
fn mds_shards_equal_the_reference_for_all_threads_and_memory() {
    for case in ["d01_fixed", "d02_shards_hashes", "d03_no_wrap", "d04_bos_and_template", "d05_zstd"] {
        let name = format!("mds/{case}");
        let facts: Value = serde_json::from_slice(&std::fs::read(golden(&name).join("case.json")).unwrap()).unwrap();
        let command: Vec<&str> =
            facts["gristmill"][0].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
        let expected = picture(&golden(&name).join("expected"));
        let is_packed = expected.keys().any(|path| path.extension().is_some_and(|end| end == "zstd"));
        for (threads, memory) in [("1", "64M"), ("2", "256M"), ("7", "1G")] {
            let case = Case::new(&name);
            let mut command = command.clone();
            command.extend(["--threads", threads, "--memory", memory]);
            case.run(&command).ends(0);
            let ours = without_own_folders(&case.sandbox.path("case/expected"));
            match is_packed {
                true => assert_same(&unpacked(ours), &unpacked(expected.clone()), &name),
                false => assert_same(&ours, &expected, &name),
            }
        }
    }
}

/// Writes a text of this many documents, each of one word.
fn text(sandbox: &Sandbox, documents: usize) {
    let lines: String = (0..documents).map(|number| format!("{{\"text\": \"word {number}\"}}\n")).collect();
    sandbox.write("a.jsonl", &lines);
}

#[test]
fn unusable_mds_answers_are_refused_with_hint() {
    let sandbox = Sandbox::new();
    text(&sandbox, 3);
    let line = format!("pack a.jsonl --format mds --tokenizer {} --eos-token {END} --output o --yes", bpe());
    sandbox.say(&line).ends(2).complains("no sample size is given").complains("--sample-size N");
    let sized = format!("{line} --sample-size 8");
    sandbox.say(&format!("{sized} --hashes crc32")).ends(2).complains("crc32").complains("xxh3_64");
    sandbox.say(&format!("{sized} --hashes md5,md5")).ends(2).complains("twice");
    sandbox.say(&format!("{sized} --compression zstd:23")).ends(2).complains("1 to 22");
    sandbox.say(&format!("{sized} --compression lz4")).ends(2).complains("snappy");
    sandbox.say(&format!("{sized} --size-limit 4294967296")).ends(2).complains("4294967295");
    sandbox.say(&format!("{line} --sample-size 9999")).ends(1).complains("no sample").complains("9,999 tokens");
    assert!(!sandbox.has("o"), "nothing was written");
    let nanosets = line.replace("--format mds", "--format nanosets");
    sandbox.say(&format!("{nanosets} --bos-token {END}")).ends(2).complains("--bos-token").complains("begin tokens");
    sandbox.say(&format!("{nanosets} --no-wrap")).ends(2).complains("--no-wrap").complains("--format mds");
}

#[test]
fn mds_report_counts_dropped_tokens() {
    let sandbox = Sandbox::new();
    text(&sandbox, 200);
    let line = format!("pack a.jsonl --format mds --tokenizer {} --eos-token {END} --sample-size 16 --json", bpe());
    let all = sandbox.say(&format!("{line} --output all --yes")).ends(0).json("ok");
    let (samples, tokens) = (&all["targets"][0]["documents"], all["targets"][0]["tokens"].as_u64().unwrap());
    assert_eq!(samples.as_u64().unwrap() * 16, tokens);
    assert_eq!(tokens + all["targets"][0]["dropped_tokens"].as_u64().unwrap(), all["tokens"].as_u64().unwrap() + 200);
    let ran = sandbox.say(&format!("{line} --no-wrap --output cut --yes")).ends(0).json("ok");
    let notes: Vec<&str> =
        ran["problems"].as_array().unwrap().iter().filter_map(|note| note["message"].as_str()).collect();
    assert!(notes.iter().any(|note| note.contains("left out after the end of a sample")), "{notes:?}");
    // A limit below one sample gives one shard per sample, after an empty one, as in the reference program.
    sandbox.say(&format!("{line} --size-limit 100 --output small --yes")).ends(0);
    let shards = std::fs::read_dir(sandbox.path("small")).unwrap().count();
    assert_eq!(shards as u64, samples.as_u64().unwrap() + 2, "and the index");
    let index: Value = serde_json::from_slice(&std::fs::read(sandbox.path("small/index.json")).unwrap()).unwrap();
    assert_eq!((&index["shards"][0]["samples"], &index["shards"][1]["samples"]), (&0.into(), &1.into()));
}

#[test]
fn mds_packed_with_other_formats_equals_mds_packed_separately() {
    let sandbox = Sandbox::new();
    text(&sandbox, 500);
    let line = format!("pack a.jsonl --tokenizer {} --eos-token {END} --yes", bpe());
    let formats = "--format mds --format nanosets --format forager --format modalities --sample-size 32";
    sandbox.say(&format!("{line} {formats} --output several")).ends(0);
    sandbox.say(&format!("{line} --format mds --sample-size 32 --output one")).ends(0);
    assert_same(
        &without_own_folders(&sandbox.path("several/mds")),
        &without_own_folders(&sandbox.path("one")),
        "the shards of one format alone",
    );
    // The same plan has nothing to do.
    sandbox.say(&format!("{line} {formats} --output several")).ends(0).says("Nothing to do");
}

#[test]
fn sets_are_described_and_checked_with_each_compression() {
    let sandbox = Sandbox::new();
    text(&sandbox, 300);
    let tokenizer = bpe();
    for compression in ["none", "zstd:1", "gz:9", "br:2", "bz2", "snappy"] {
        let compressed = if compression == "none" { String::new() } else { format!("--compression {compression}") };
        let pack = format!(
            "pack a.jsonl --format mds --tokenizer {tokenizer} --eos-token {END} --sample-size 16 --size-limit 4000 \
             --hashes sha1,xxh64 {compressed} --output o --yes --force-overwrite"
        );
        sandbox.say(&pack).ends(0);
        let info = sandbox.say("info o").ends(0).says("kind: MDS").says("tokens a sample: 16").says("sha1, xxh64");
        assert_eq!(info.out.contains("compression"), compression != "none");
        assert_eq!(sandbox.say("info o --json").ends(0).json("ok")["kind"], "mds-shards");
        sandbox.say("lint o").ends(0).says("No problem found in");
        sandbox.say(&format!("verify o --tokenizer {tokenizer}")).ends(0).says("No problem found in");
        sandbox.say("browse o --plain").ends(0).says("103 samples").says("ids 64 B");
        let index: Value = serde_json::from_slice(&sandbox.read("o/index.json")).unwrap();
        let shard = &index["shards"][1];
        let file = if shard["zip_data"].is_null() { &shard["raw_data"] } else { &shard["zip_data"] };
        let name = format!("o/{}", file["basename"].as_str().unwrap());
        let mut bytes = sandbox.read(&name);
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        sandbox.write(&name, &bytes);
        sandbox.say("verify o").ends(1).complains(file["basename"].as_str().unwrap());
        bytes.pop();
        sandbox.write(&name, &bytes);
        sandbox.say("lint o").ends(1).complains("index.json has");
    }
    sandbox.say("repair o").ends(2).complains("tokens of this kind cannot be repaired");
}
