//! Test cases made by the reference program: given its ranges, both outputs and all files of the index match byte for byte.

use super::compose::RangesPlacement;
use super::export::{write_table, RangesExport, ShardExport};
use super::output::CompressedOutput;
use super::write_back::{Layout, WriteBack};
use gristmill_core::{Cancel, Outcome};
use gristmill_data::formats::bsade::{shard_files, Range, RangesReader, TABLE};
use gristmill_data::source::dedup::{list, Documents, Kind, Position, TextFile};
use gristmill_data::source::documents::{Blocks, Packing};
use gristmill_storage::fs::{BufferedFile, Fs as _, RealFs};
use gristmill_storage::read::{open_read, stamp_at};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub(super) const CASES: [&str; 10] = [
    "v01_basic",
    "v02_unicode_cuts",
    "v03_runs",
    "v04_shards",
    "v05_dup_docs",
    "v06_edges",
    "v07_metadata",
    "v08_compressed",
    "v09_mixed_100",
    "v10_mixed_50_one_shard",
];

pub(super) fn golden(case: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/dedup").join(case)
}

pub(super) fn shards_of(case: &str) -> u32 {
    let facts: serde_json::Value =
        serde_json::from_slice(&std::fs::read(golden(case).join("case.json")).unwrap()).unwrap();
    facts["shards"].as_u64().unwrap() as u32
}

fn ranges_of(path: &Path) -> Vec<Range> {
    let mut reader = RangesReader::new(open_read(path).unwrap()).unwrap();
    let mut ranges = Vec::new();
    while let Some(range) = reader.next(&Cancel::default()).unwrap() {
        ranges.push(range);
    }
    ranges
}

pub(super) fn layouts() -> [(&'static str, Layout); 2] {
    let layout = |ranges| Layout { text_key: "text".into(), ranges };
    let under = RangesPlacement::Under(vec!["metadata".into(), "sa_remove_ranges".into()]);
    [("remove", layout(RangesPlacement::Removed)), ("annotate", layout(under))]
}

/// Reads every line of a file.
fn each(file: &TextFile, mut take: impl FnMut(&gristmill_data::source::dedup::Record<'_>) -> Outcome<()>) {
    let cancel = Cancel::default();
    let mut documents = Documents::open(file, "text", Position::default(), Box::new(Vec::new()), &cancel).unwrap();
    while let Some(record) = documents.next().unwrap() {
        take(&record).unwrap();
    }
    assert!(documents.damage().is_none());
}

/// Returns the text of a compressed file.
fn unpacked(path: &Path, packing: Packing) -> Vec<u8> {
    let stamp = stamp_at(path).unwrap();
    let file = TextFile {
        path: path.to_owned(),
        name: "x".into(),
        bytes: stamp.bytes,
        stamp,
        packing,
        source: &gristmill_data::source::documents::Jsonl,
        rows: None,
        damaged: Vec::new(),
    };
    let mut blocks = Blocks::open(&file, 1 << 20, Position::default(), &Cancel::default()).unwrap();
    let mut out = Vec::new();
    while let Some(block) = blocks.next(Vec::new()).unwrap() {
        out.extend_from_slice(&block.bytes);
    }
    out
}

/// Returns the ranges of one document, relative to its text, and the remaining ranges.
fn split(ranges: &[Range], separator: u64, text_bytes: u64) -> (Vec<Range>, &[Range]) {
    let end = separator + 1 + text_bytes;
    let count = ranges.iter().take_while(|range| range.start < end).count();
    let own = ranges[..count].iter().map(|range| Range::new(range.start - separator - 1, range.end - separator - 1));
    (own.collect(), &ranges[count..])
}

#[test]
fn outputs_and_index_match_the_reference() {
    for case in CASES {
        let dir = tempfile::tempdir().unwrap();
        let listing = list(&golden(case).join("input"), false, &Cancel::default()).unwrap();
        assert!(listing.problems.is_empty());
        let shards = shards_of(case);
        let index = golden(case).join("expected/index");
        let mut found: BTreeMap<(&str, String), Vec<u8>> = BTreeMap::new();
        for shard in 0..shards {
            let expected = index.join(shard.to_string());
            let folder = dir.path().join(shard.to_string());
            RealFs.create_dir(&folder, 0o700).unwrap();
            let ranges = ranges_of(&expected.join("remove_ranges"));
            let mut left = ranges.as_slice();
            let mut export = ShardExport::create(&RealFs, &folder).unwrap();
            let mut ranges_export = RangesExport::create(&RealFs, &folder).unwrap();
            for file in &listing.files[shard_files(listing.files.len(), shards, shard)] {
                let mut outputs = layouts().map(|(mode, layout)| {
                    let path = dir.path().join(format!("{mode}-out"));
                    RealFs.remove_file(&path).unwrap();
                    let out = BufferedFile::new(RealFs.create_file(&path).unwrap(), 1000);
                    (mode, path, WriteBack::new(&layout), CompressedOutput::new(out, &file.name).unwrap())
                });
                each(file, |record| {
                    assert_eq!(record.kind, Kind::Document);
                    let separator = export.size().bytes;
                    let text_bytes = record.each_piece(&mut String::new(), &mut |_| Ok(()))?;
                    let (own, rest) = split(left, separator, text_bytes);
                    left = rest;
                    for (_, _, write_back, out) in &mut outputs {
                        let written = write_back.write(record, &own, &mut |bytes| out.write(bytes))?;
                        assert_eq!(written.removed, write_back.shortened().iter().map(|r| r.len()).sum::<u64>());
                    }
                    ranges_export.add(separator, &own, outputs[0].2.shortened())?;
                    export.add(&file.name, record)
                });
                for (mode, path, _, out) in outputs {
                    out.end().unwrap().close().unwrap();
                    found.insert((mode, file.name.clone()), unpacked(&path, Packing::of_name(&file.name)));
                }
            }
            assert!(left.is_empty());
            export.finish().unwrap();
            ranges_export.finish(&RealFs, &folder).unwrap();
            write_table(&RealFs, &folder, 1 << 30, &Cancel::default()).unwrap();
            for entry in std::fs::read_dir(&expected).unwrap() {
                let name = entry.unwrap().file_name();
                let ours = std::fs::read(folder.join(&name)).unwrap();
                assert!(ours == std::fs::read(expected.join(&name)).unwrap(), "{case} {shard} {name:?}");
            }
            assert!(case >= "v09" || expected.join(TABLE).is_file(), "{case}");
        }
        for ((mode, name), ours) in &found {
            let expected = std::fs::read(golden(case).join("expected").join(mode).join(name)).unwrap();
            assert!(*ours == expected, "{case} {mode} {name}");
        }
        for mode in ["remove", "annotate"] {
            let root = golden(case).join("expected").join(mode);
            let files = walkdir::WalkDir::new(&root).into_iter().filter(|e| e.as_ref().unwrap().file_type().is_file());
            assert_eq!(files.count(), listing.files.len(), "{case}");
        }
    }
}
