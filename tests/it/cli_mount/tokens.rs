//! Packed tokens: the ids of each document as a numpy array, and its text.

use super::{sandbox, unmount, Mount};
use crate::cli_support::copy_tree;
use std::fs;
use std::io::BufRead;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

/// Returns the type of an array of one dimension, and its content.
fn array(bytes: &[u8]) -> (String, &[u8]) {
    let (head, content) = bytes.split_at(128);
    assert_eq!(&head[..10], b"\x93NUMPY\x01\x00\x76\x00");
    let text = std::str::from_utf8(&head[10..]).unwrap();
    let (dtype, rest) = text.strip_prefix("{'descr': '").unwrap().split_once('\'').unwrap();
    let count = rest.strip_prefix(", 'fortran_order': False, 'shape': (").unwrap().split_once(',').unwrap().0;
    let size: usize = dtype[2..].parse().unwrap();
    assert_eq!(count.parse::<usize>().unwrap() * size, content.len());
    assert!(text.ends_with(" \n"));
    (dtype.to_owned(), content)
}

/// Returns the arrays of all documents of a flat mount, in their order: their type, and the content of each.
fn arrays(mount: &Mount) -> (String, Vec<Vec<u8>>) {
    let count = fs::read_dir(&mount.at).unwrap().count();
    let mut dtypes = Vec::new();
    let documents = (0..count).map(|number| {
        let path = mount.at.join(format!("{number}.npy"));
        let bytes = fs::read(&path).unwrap();
        assert_eq!(bytes.len() as u64, path.metadata().unwrap().len());
        let (dtype, content) = array(&bytes);
        dtypes.push(dtype);
        content.to_vec()
    });
    let documents = documents.collect();
    dtypes.dedup();
    assert_eq!(dtypes.len(), 1, "{dtypes:?}");
    (dtypes.remove(0), documents)
}

#[test]
fn packed_documents_of_every_format_are_mounted_as_arrays() {
    let Some(sandbox) = sandbox() else { return };
    let read = |name: &str| fs::read(golden(name)).unwrap();
    let ds = |number: u32| read(&format!("nanosets/02_modern_noshuffle/expected/0000{number}_unshuffled.ds"));
    let pbin = read("modalities/pack_4_byte/expected/data.pbin");
    let length = u64::from_le_bytes(pbin[..8].try_into().unwrap()) as usize;
    let cases = [
        ("nanosets/02_modern_noshuffle/expected", "<u2", 30, [ds(0), ds(1), ds(2)].concat()),
        ("modalities/pack_4_byte/expected/data.pbin", "<u4", 0, pbin[12..12 + length].to_vec()),
        ("megatron/m01_basic/expected", "<u2", 0, read("megatron/m01_basic/expected/out_text_document.bin")),
        ("olmo/o01_basic/expected", "<u2", 0, read("olmo/o01_basic/expected/part-0-00000.npy")),
    ];
    for (number, (name, dtype, documents, ids)) in cases.into_iter().enumerate() {
        let (from, to) = (golden(name), sandbox.path(&format!("{number}")));
        match from.is_dir() {
            true => copy_tree(&from, &to),
            false => {
                fs::create_dir(&to).unwrap();
                fs::copy(&from, to.join(from.file_name().unwrap())).unwrap();
            }
        }
        let mount = Mount::say(&sandbox, &format!("mount {number} mnt --layout flat"), "mnt");
        let (found, arrays) = arrays(&mount);
        assert_eq!(found, dtype, "{name}");
        assert!(arrays.len() > 3 && (documents == 0 || arrays.len() == documents), "{name}: {}", arrays.len());
        assert!(arrays.concat() == ids, "{name}");
        mount.unmount();
    }
}

#[test]
fn packed_documents_are_mounted_in_folders_of_ten_thousand() {
    let Some(sandbox) = sandbox() else { return };
    let (documents, tokens) = (10_003_u64, 2);
    fs::create_dir(sandbox.path("set")).unwrap();
    let ids: Vec<u8> = (0..documents * tokens).flat_map(|id| (id as u16).to_le_bytes()).collect();
    sandbox.write("set/a.ds", &ids);
    let ends: Vec<u8> = (1..=documents).flat_map(|document| (document * tokens).to_le_bytes()).collect();
    sandbox.write("set/a.ds.index", ends);
    sandbox.write("set/a.ds.metadata", format!("none|2\n{}\n", documents * tokens));
    let mount = Mount::say(&sandbox, "mount set mnt", "mnt");
    let count = |name: &str| fs::read_dir(mount.at.join(name)).unwrap().count();
    assert_eq!([count(""), count("000000000"), count("000010000")], [2, 10_000, 3]);
    let last = fs::read(mount.at.join("000010000/10002.npy")).unwrap();
    assert_eq!(array(&last), ("<u2".to_owned(), &ids[ids.len() - 4..]));
    assert!(!mount.at.join("000000000/10002.npy").exists());
    mount.unmount();
}

#[test]
fn samples_of_compressed_shards_and_of_unknown_types_are_arrays() {
    let Some(sandbox) = sandbox() else { return };
    copy_tree(&golden("mds/d05_zstd/expected"), &sandbox.path("mds"));
    let mount = Mount::say(&sandbox, "mount mds mnt --layout flat", "mnt");
    let (dtype, documents) = arrays(&mount);
    let index: serde_json::Value = serde_json::from_slice(&sandbox.read("mds/index.json")).unwrap();
    let samples: u64 = index["shards"].as_array().unwrap().iter().map(|shard| shard["samples"].as_u64().unwrap()).sum();
    assert_eq!((dtype.as_str(), documents.len() as u64), ("<u4", samples));
    assert!(documents.iter().all(|document| document.len() == documents[0].len() && !document.is_empty()));
    mount.unmount();
    copy_tree(&golden("forager/tokens_16/expected"), &sandbox.path("forager"));
    let mut mount = Mount::say(&sandbox, "mount forager mnt --layout flat", "mnt");
    let mut line = String::new();
    mount.err.read_line(&mut line).unwrap();
    assert!(line.contains("the size of an id is unknown"), "{line}");
    let files = ["a", "b"].map(|name| sandbox.read(&format!("forager/tokenized-samples/{name}-tokenized-samples.bin")));
    assert!(arrays(&mount).1.concat() == files.concat());
}

#[test]
fn decoded_documents_are_mounted_as_texts() {
    let Some(sandbox) = sandbox() else { return };
    copy_tree(&golden("nanosets/02_modern_noshuffle/expected"), &sandbox.path("set"));
    sandbox.say("mount set mnt --decode").ends(2).complains("bpe1k.json").complains("--tokenizer FILE");
    sandbox.say("mount set mnt --tokenizer x").ends(2).complains("--decode");
    sandbox.write("lines.jsonl", "{}\n");
    sandbox.say("mount lines.jsonl mnt --decode").ends(2).complains("packed tokens");
    let tokenizer = golden("nanosets/tokenizers/bpe1k.json");
    let line = format!("mount set mnt --decode --tokenizer {}", tokenizer.display());
    let mount = Mount::say(&sandbox, &line, "mnt");
    let rows = fs::read_to_string(golden("nanosets/02_modern_noshuffle/input/a.jsonl")).unwrap();
    for (number, row) in rows.lines().take(3).enumerate() {
        let row: serde_json::Value = serde_json::from_str(row).unwrap();
        let wanted = format!("{}<|endoftext|>", row["text"].as_str().unwrap());
        let path = mount.at.join(format!("000000000/{number}.txt"));
        assert_eq!(path.metadata().unwrap().len(), 0);
        let mut part = [0; 6];
        assert_eq!(fs::File::open(&path).unwrap().read_at(&mut part, 3).unwrap(), 6);
        assert_eq!(part, wanted.as_bytes()[3..9]);
        assert_eq!(fs::read_to_string(&path).unwrap(), wanted);
        assert_eq!(path.metadata().unwrap().len(), wanted.len() as u64);
    }
    assert_eq!(fs::read_dir(mount.at.join("000000000")).unwrap().count(), 60);
    mount.unmount();
}

#[test]
fn numbers_tokenizer_decodes_ids_separated_by_spaces() {
    let Some(sandbox) = sandbox() else { return };
    copy_tree(&golden("megatron/m01_basic/expected"), &sandbox.path("pair"));
    let mount = Mount::say(&sandbox, "mount pair mnt --layout flat --decode --tokenizer numbers:65536", "mnt");
    let array_bytes = fs::read(mount.at.join("0.npy")).unwrap();
    let ids = array(&array_bytes).1.chunks_exact(2).map(|id| u16::from_le_bytes([id[0], id[1]]).to_string());
    assert_eq!(fs::read_to_string(mount.at.join("0.txt")).unwrap(), ids.collect::<Vec<_>>().join(" "));
    mount.unmount();
}

#[test]
fn changed_index_gives_read_errors() {
    let Some(sandbox) = sandbox() else { return };
    copy_tree(&golden("megatron/m01_basic/expected"), &sandbox.path("pair"));
    let mount = Mount::say(&sandbox, "mount pair mnt --layout flat", "mnt");
    assert!(fs::read(mount.at.join("0.npy")).is_ok());
    let index = sandbox.path("pair/out_text_document.idx");
    let mut bytes = fs::read(&index).unwrap();
    bytes.push(0);
    fs::write(&index, bytes).unwrap();
    let error = fs::read(mount.at.join("1.npy")).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(5));
    mount.unmount();
}

#[test]
fn files_that_are_damaged_are_problems() {
    let Some(sandbox) = sandbox() else { return };
    copy_tree(&golden("megatron/m01_basic/expected"), &sandbox.path("pair"));
    sandbox.write("pair/b_text_document.bin", "ab");
    sandbox.write("pair/b_text_document.idx", "MMIDIDX");
    let ran = sandbox.say("mount pair mnt --dry-run -q").ends(1);
    assert!(ran.err.contains("b_text_document.bin") && ran.err.contains("nothing of it is shown"), "{}", ran.err);
    let value = sandbox.say("mount pair mnt --dry-run --json").ends(1).json("problems");
    assert_eq!(value["problems"].as_array().unwrap().len(), 1, "{value}");
    // They are problems in the background, too.
    for flags in ["--json", "-q"] {
        let ran = sandbox.say(&format!("mount pair mnt --detach {flags}")).ends(1);
        unmount(&sandbox.path("mnt").canonicalize().unwrap());
        match flags {
            "--json" => assert_eq!(ran.json("problems")["problems"], value["problems"]),
            _ => assert!(ran.err.contains("nothing of it is shown"), "{}", ran.err),
        }
    }
}
