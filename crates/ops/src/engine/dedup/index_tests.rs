//! Indexes made by the reference program: they are accepted, damage is found, and their content can be written.

use super::golden_tests::{golden, layouts, shards_of, CASES};
use super::original::{Index, IndexedDocuments};
use super::verify::check_shard;
use super::write_back::WriteBack;
use gristmill_core::{Cancel, Handles, Problem, ProblemLog, Progress};
use gristmill_data::formats::bsade::{ranges_folder, shard_folder, KEPT_LENGTHS, REMOVE_RANGES};
use gristmill_storage::fs::{Fs as _, RealFs};
use std::collections::BTreeMap;
use std::path::Path;

/// Copies a golden index to the paths that the reference program uses.
fn index_of(case: &str, to: &Path) -> (Index, u64) {
    let facts: serde_json::Value =
        serde_json::from_slice(&std::fs::read(golden(case).join("case.json")).unwrap()).unwrap();
    let min_length = facts["minlen"].as_u64().unwrap();
    for shard in 0..shards_of(case) {
        let (from, folder) = (golden(case).join("expected/index").join(shard.to_string()), shard_folder(to, shard));
        let ranges = ranges_folder(to, shard, min_length);
        RealFs.create_dir(&folder, 0o700).unwrap();
        RealFs.create_dir(&ranges, 0o700).unwrap();
        for entry in std::fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name();
            let is_of_ranges = name == REMOVE_RANGES || name == KEPT_LENGTHS;
            let target = if is_of_ranges { ranges.join(&name) } else { folder.join(&name) };
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
    (Index::open(to).unwrap(), min_length)
}

fn problems(folder: &Path) -> Vec<Problem> {
    let (progress, cancel, log) = (Progress::default(), Cancel::default(), ProblemLog::default());
    check_shard(folder, 1 << 30, Handles { progress: &progress, cancel: &cancel, problems: &log }).unwrap();
    log.to_vec()
}

#[test]
fn dedup_indexes_of_the_reference_pass_the_check_and_give_its_output() {
    for case in CASES {
        let dir = tempfile::tempdir().unwrap();
        let (index, min_length) = index_of(case, dir.path());
        assert_eq!(index.shards, shards_of(case));
        let cancel = Cancel::default();
        let mut written: BTreeMap<(&str, String), Vec<u8>> = BTreeMap::new();
        let (mut documents, mut text_bytes, mut count, mut covered) = (0, 0, 0, 0);
        for number in 0..index.shards {
            let (progress, log) = (Progress::default(), ProblemLog::default());
            let handles = Handles { progress: &progress, cancel: &cancel, problems: &log };
            let facts = check_shard(&shard_folder(dir.path(), number), 1 << 30, handles).unwrap();
            assert_eq!(log.to_vec(), [], "{case}");
            documents += facts.documents;
            text_bytes += facts.text_bytes;
            let (length, ranges, bytes) = facts.ranges[0];
            assert_eq!((length, facts.is_table_checked), (min_length, facts.has_table));
            count += ranges;
            covered += bytes;

            let shard = index.shard(number).unwrap();
            let mut reader = index.ranges(number, min_length).unwrap().unwrap();
            assert!(index.ranges(number, min_length + 1).unwrap().is_none());
            let mut documents = IndexedDocuments::new(&shard, &cancel);
            let mut own = Vec::new();
            let mut writers = layouts().map(|(mode, layout)| (mode, WriteBack::new(&layout)));
            while let Some(document) = documents.next().unwrap() {
                reader.of_document(&document.place, &cancel, &mut own).unwrap();
                for (mode, writer) in &mut writers {
                    let out = written.entry((mode, document.path.to_owned())).or_default();
                    let mut take = |bytes: &[u8]| {
                        out.extend_from_slice(bytes);
                        Ok(())
                    };
                    writer.write_indexed(&document, document.others, &own, &mut take).unwrap();
                }
            }
            assert_eq!(reader.next(&cancel).unwrap(), None);
        }
        let stats: serde_json::Value =
            serde_json::from_slice(&std::fs::read(golden(case).join("expected/stats.json")).unwrap()).unwrap();
        assert_eq!(stats["documents"], documents);
        assert_eq!(stats["text_bytes"], text_bytes);
        assert_eq!(stats["remove_ranges"], count);
        assert_eq!(stats["remove_bytes"], covered);
        for ((mode, name), bytes) in &written {
            let expected = std::fs::read(golden(case).join("expected").join(mode).join(name)).unwrap();
            assert!(*bytes == expected, "{case} {mode} {name}");
        }
    }
}

#[test]
fn damage_of_any_dedup_index_file_is_found() {
    let source = tempfile::tempdir().unwrap();
    let (_, min_length) = index_of("v06_edges", source.path());
    let ranges = format!("dedup_minlen{min_length}/{REMOVE_RANGES}");
    let kept = format!("dedup_minlen{min_length}/{KEPT_LENGTHS}");
    type Change = (&'static str, fn(&mut Vec<u8>));
    let changes: &[Change] = &[
        ("tokenized", |bytes| bytes[0] = b'x'),
        ("tokenized", |bytes| bytes[40] = 0xff),
        ("tokenized", |bytes| bytes.truncate(100)),
        ("offset", |bytes| bytes[8] += 1),
        ("offset", |bytes| bytes[15] = 0xff),
        ("offset", |bytes| bytes.truncate(17)),
        ("offset", |bytes| bytes.truncate(16)),
        ("metaoff", |bytes| bytes[8] -= 1),
        ("metadata", |bytes| bytes[3] = b'x'),
        ("metadata", |bytes| bytes.truncate(60)),
        ("table", |bytes| bytes.swap(0, 2)),
        ("table", |bytes| bytes[0] = bytes[2]),
        ("table", |bytes| {
            bytes.pop();
        }),
        ("ranges", |bytes| bytes[0] += 1),
        ("ranges", |bytes| bytes[8] -= 1),
        ("ranges", |bytes| bytes[8] = 0xff),
        ("ranges", |bytes| bytes.truncate(20)),
        ("kept", |bytes| bytes.splice(0..0, *b"9\n3\n").for_each(drop)),
        ("kept", |bytes| bytes.splice(0..0, *b"x\n").for_each(drop)),
    ];
    for (number, (name, change)) in changes.iter().enumerate() {
        let dir = tempfile::tempdir().unwrap();
        index_of("v06_edges", dir.path());
        let folder = shard_folder(dir.path(), 0);
        let path = folder.join(match *name {
            "ranges" => &ranges,
            "kept" => &kept,
            other => other,
        });
        let mut bytes = std::fs::read(&path).unwrap();
        change(&mut bytes);
        gristmill_storage::publish::write_file(&RealFs, &path, &bytes, 0o600).unwrap();
        assert!(!problems(&folder).is_empty(), "{number} {name}");
    }
    for name in ["tokenized", "offset", "metadata", "metaoff"] {
        let dir = tempfile::tempdir().unwrap();
        index_of("v06_edges", dir.path());
        let folder = shard_folder(dir.path(), 0);
        RealFs.remove_file(&folder.join(name)).unwrap();
        assert_eq!(problems(&folder).len(), 1, "{name}");
    }
}

#[test]
fn paths_outside_the_input_and_gaps_between_shards_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (index, _) = index_of("v06_edges", dir.path());
    let folder = shard_folder(dir.path(), 0);
    let metadata = std::fs::read_to_string(folder.join("metadata")).unwrap();
    for path in ["../1.jsonl", "/1.jsonlx", "./e1.json", "e1//x.js", "e\\u0000.json", "\\ud800.j"] {
        let changed = metadata.replacen("e1.jsonl", &path[..8.min(path.len())], 1);
        let missing = metadata.len() - changed.len();
        let changed = changed.replacen("{}}", &format!("{{}}{}}}", " ".repeat(missing)), 1);
        gristmill_storage::publish::write_file(&RealFs, &folder.join("metadata"), changed.as_bytes(), 0o600).unwrap();
        let shard = index.shard(0).unwrap();
        let cancel = Cancel::default();
        assert!(IndexedDocuments::new(&shard, &cancel).next().is_err(), "{path}");
    }
    RealFs.rename(&folder, &dir.path().join("2")).unwrap();
    assert!(Index::open(dir.path()).is_err());
    let empty = tempfile::tempdir().unwrap();
    assert!(Index::open(empty.path()).is_err());
}
