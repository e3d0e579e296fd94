//! Sparse entries of shards: their holes are filled.

use crate::cli_support::Sandbox;
use serde_json::Value;
use std::path::Path;

/// Returns an archive of a text and a file with these stored bytes, before which `push` adds headers.
fn archive(stored: &[u8], push: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_ustar();
    header.set_size(5);
    header.set_mode(0o644);
    tar.append_data(&mut header, "0000.txt", &b"first"[..]).unwrap();
    let mut bytes = tar.into_inner().unwrap();
    // Removes the end blocks, which must follow the last entry.
    bytes.truncate(1024);
    push(&mut bytes);
    bytes.extend_from_slice(stored);
    bytes.resize(bytes.len().next_multiple_of(512) + 1024, 0);
    bytes
}

fn push_header(bytes: &mut Vec<u8>, name: &str, size: usize, change: impl FnOnce(&mut tar::Header)) {
    let mut header = tar::Header::new_gnu();
    header.set_path(name).unwrap();
    header.set_size(size as u64);
    header.set_mode(0o644);
    change(&mut header);
    header.set_cksum();
    bytes.extend_from_slice(header.as_bytes());
}

/// Appends pax records, and the header of an entry with `size` stored bytes.
fn push_pax(bytes: &mut Vec<u8>, records: &[(&str, String)], size: usize) {
    let mut payload = String::new();
    for (keyword, value) in records {
        let rest = format!(" {keyword}={value}\n");
        let length = (rest.len()..).find(|length| length.to_string().len() + rest.len() == *length).unwrap();
        payload.push_str(&format!("{length}{rest}"));
    }
    push_header(bytes, "x", payload.len(), |header| header.set_entry_type(tar::EntryType::XHeader));
    bytes.extend_from_slice(payload.as_bytes());
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    push_header(bytes, "0001.npy", size, |_| ());
}

/// Returns a file in which every second block of 512 bytes is a hole, the offsets and lengths of the stored blocks, and their bytes.
fn sparse_file(stretches: usize) -> (Vec<u8>, Vec<(usize, usize)>, Vec<u8>) {
    let (mut file, mut map, mut stored) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..stretches {
        file.resize(file.len() + 512, 0);
        map.push((file.len(), 512));
        stored.extend([number as u8 + 1; 512]);
        file.extend([number as u8 + 1; 512]);
    }
    file.resize(file.len() + 100, 0);
    map.push((file.len(), 0));
    (file, map, stored)
}

/// Returns the content of an entry of an archive.
fn content(sandbox: &Sandbox, archive: &str, name: &str) -> Option<Vec<u8>> {
    let bytes = sandbox.read(archive);
    let mut archive = tar::Archive::new(bytes.as_slice());
    let mut entries = archive.entries().unwrap().map(Result::unwrap);
    let mut entry = entries.find(|entry| entry.path().unwrap() == Path::new(name))?;
    let mut content = Vec::new();
    std::io::Read::read_to_end(&mut entry, &mut content).unwrap();
    Some(content)
}

#[test]
fn sparse_gnu_archives_give_the_same_shards_as_plain_archives() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/field/T06");
    let sandbox = Sandbox::new();
    for folder in ["plain", "gnu", "pax"] {
        let input = golden.join(folder).display().to_string();
        let ran = sandbox.say(&format!("shard {input} --output {folder} --json")).ends(0).json("ok").to_string();
        assert_eq!(ran.contains("sparse-entry"), folder != "plain", "{ran}");
        assert!(sandbox.read(&format!("{folder}/shard_000000.tar")) == sandbox.read("plain/shard_000000.tar"));
    }
}

#[test]
fn sparse_entries_of_every_format_are_written_in_full() {
    let (file, map, stored) = sparse_file(30);
    let size = file.len().to_string();
    let pairs = |between: &str| {
        let numbers = map.iter().flat_map(|(at, bytes)| [at.to_string(), bytes.to_string()]);
        numbers.collect::<Vec<_>>().join(between)
    };
    let old = archive(&stored, |bytes| {
        push_header(bytes, "0001.npy", stored.len(), |header| {
            header.set_entry_type(tar::EntryType::GNUSparse);
            let gnu = header.as_gnu_mut().unwrap();
            gnu.set_real_size(file.len() as u64);
            gnu.set_is_extended(true);
            for (field, (at, bytes)) in gnu.sparse.iter_mut().zip(&map) {
                field.set_offset(*at as u64);
                field.set_length(*bytes as u64);
            }
        });
        let rest: Vec<&[(usize, usize)]> = map[4..].chunks(21).collect();
        for (number, chunk) in rest.iter().enumerate() {
            let mut extension = tar::GnuExtSparseHeader::new();
            for (field, (at, bytes)) in extension.sparse.iter_mut().zip(*chunk) {
                field.set_offset(*at as u64);
                field.set_length(*bytes as u64);
            }
            extension.set_is_extended(number + 1 < rest.len());
            bytes.extend_from_slice(extension.as_bytes());
        }
    });
    let name = || ("GNU.sparse.name", "0001.npy".to_owned());
    let mut of_0_0 = vec![("GNU.sparse.size", size.clone()), ("GNU.sparse.numblocks", map.len().to_string())];
    for (at, length) in &map {
        of_0_0.push(("GNU.sparse.offset", at.to_string()));
        of_0_0.push(("GNU.sparse.numbytes", length.to_string()));
    }
    let of_0_1 = vec![("GNU.sparse.size", size.clone()), name(), ("GNU.sparse.map", pairs(","))];
    let mut with_map = format!("{}\n{}\n", map.len(), pairs("\n")).into_bytes();
    with_map.resize(with_map.len().next_multiple_of(512), 0);
    with_map.extend_from_slice(&stored);
    let [major, minor] = [("GNU.sparse.major", "1".to_owned()), ("GNU.sparse.minor", "0".to_owned())];
    let of_1_0 = vec![major, minor, name(), ("GNU.sparse.realsize", size.clone())];
    let mut archives = vec![("old".to_owned(), old)];
    for (format, records, content) in [("0-0", of_0_0, &stored), ("0-1", of_0_1, &stored), ("1-0", of_1_0, &with_map)] {
        let bytes = archive(content, |bytes| push_pax(bytes, &records, content.len()));
        archives.push((format.to_owned(), bytes));
        // A size that does not fit into the header is in a record.
        for (order, at) in [("first", 0), ("last", records.len())] {
            let mut records = records.clone();
            records.insert(at, ("size", content.len().to_string()));
            let bytes = archive(content, |bytes| push_pax(bytes, &records, 0));
            archives.push((format!("{format}-{order}"), bytes));
        }
    }
    let sandbox = Sandbox::new();
    for (name, bytes) in archives {
        sandbox.write(&format!("{name}.tar"), bytes);
        let ran = sandbox.say(&format!("shard {name}.tar --output {name} --json")).ends(0).json("ok").to_string();
        assert_eq!(ran.contains("Python's tarfile"), name.contains("st"), "{name}: {ran}");
        let written = content(&sandbox, &format!("{name}/shard_000000.tar"), "0001.npy");
        assert!(written.as_ref() == Some(&file), "{name}: {:?} bytes", written.map(|bytes| bytes.len()));
        assert_eq!(content(&sandbox, &format!("{name}/shard_000000.tar"), "0000.txt").unwrap(), b"first");
    }
}

#[test]
fn sparse_entries_that_python_misreads_are_problems() {
    let sandbox = Sandbox::new();
    let records = |more: &[(&'static str, &str)]| {
        let sparse = [("GNU.sparse.size", "1024"), ("GNU.sparse.map", "0,512")];
        more.iter().chain(&sparse).map(|(keyword, value)| (*keyword, (*value).to_owned())).collect::<Vec<_>>()
    };
    sandbox.write("a/0.tar", archive(&[7; 512], |bytes| push_pax(bytes, &records(&[]), 512)));
    sandbox.write("b/0.tar", archive(&[7; 512], |bytes| push_pax(bytes, &records(&[("size", "512")]), 0)));
    for (folder, is_misread) in [("a", false), ("b", true)] {
        let found = sandbox
            .say(&format!("prepare {folder} --yes --split-ratio 1,0,0 --skip-dataset-yaml --json"))
            .ends(1)
            .json("problems")
            .to_string();
        assert_eq!(found.contains("Python's tarfile misreads"), is_misread, "{found}");
        assert!(found.contains("gristmill shard writes such entries in full"), "{found}");
    }
}

#[test]
fn samples_whose_maps_are_broken_or_too_large_are_left_out() {
    let stored = [7; 512];
    for (map, size, why) in [
        ("512,512", "600", "does not fit its size"),
        ("0,512", "99999999999999", "more than 16 TiB"),
        ("0,100,600,900", "4096", "does not fit what is stored"),
        ("0,x", "4096", "is broken"),
    ] {
        let sandbox = Sandbox::new();
        let records = [("GNU.sparse.size", size.to_owned()), ("GNU.sparse.map", map.to_owned())];
        sandbox.write("in.tar", archive(&stored, |bytes| push_pax(bytes, &records, stored.len())));
        let report = sandbox.say("shard in.tar --output out --json").ends(1).json("problems");
        let problems: Vec<String> = report["problems"].as_array().unwrap().iter().map(Value::to_string).collect();
        let is_named = |text: &&String| text.contains(why) && text.contains("0001") && text.contains("left out");
        assert!(problems.iter().any(|text| is_named(&text)), "{map}: {problems:?}");
        assert_eq!(content(&sandbox, "out/shard_000000.tar", "0000.txt").unwrap(), b"first");
        assert_eq!(content(&sandbox, "out/shard_000000.tar", "0001.npy"), None);
    }
}

#[test]
fn holes_that_exceed_the_free_space_are_refused_before_anything_is_written() {
    let sandbox = Sandbox::new();
    let records = [("GNU.sparse.size", (1u64 << 43).to_string()), ("GNU.sparse.map", "0,512".to_owned())];
    sandbox.write("in.tar", archive(&[7; 512], |bytes| push_pax(bytes, &records, 512)));
    sandbox.say("shard in.tar --output out").ends(3).complains("are needed");
    assert!(!sandbox.has("out"));
}
