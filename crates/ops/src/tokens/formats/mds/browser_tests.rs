use super::*;
use crate::browse::open_tokens;
use crate::engine::browse::tokens::page;
use crate::engine::browse::{SampleAt, TokenView};
use gristmill_core::Cancel;
use gristmill_data::preview::Drawable;
use std::path::PathBuf;

fn golden(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/mds").join(path)
}

fn view() -> TokenView {
    TokenView { tokenizer: Some(golden("tokenizers/bpe1k").display().to_string()), ..TokenView::default() }
}

#[test]
fn mds_sample_is_a_row_with_its_text() {
    let catalog = open_tokens(&golden("d02_shards_hashes/expected"), &view()).unwrap();
    let rows = catalog.samples(SampleAt::default(), 10_000, &Cancel::default()).unwrap();
    assert_eq!(rows.len() as u64, catalog.groups().total());
    assert!(catalog.groups().groups.len() > 1 && rows.iter().all(|row| row.defect.is_none()));
    let sizes: Vec<u64> = rows.iter().map(|row| row.byte_size).collect();
    assert!(sizes.iter().all(|size| *size == sizes[0] && *size > 0), "{sizes:?}");
    let preview = page(catalog.tokens().unwrap(), &rows[0], 0, 0, &Cancel::default());
    let Drawable::Tokens(tokens) = preview.body else { panic!("{:?}", preview.body) };
    assert!(tokens.text.len() > 20, "{}", tokens.text);
}

#[test]
fn compressed_mds_shards_are_unpacked_once_and_have_the_same_rows() {
    let catalog = open_tokens(&golden("d05_zstd/expected"), &view()).unwrap();
    assert_eq!(catalog.groups().total(), 45);
    let rows = catalog.samples(SampleAt::default(), 10_000, &Cancel::default()).unwrap();
    assert!(rows.len() == 45 && rows.iter().all(|row| row.defect.is_none()), "{rows:?}");
    let raw: Vec<Vec<u8>> = ["shard.00000.mds.zstd", "shard.00001.mds.zstd"]
        .map(|name| zstd::decode_all(&std::fs::read(golden("d05_zstd/expected").join(name)).unwrap()[..]).unwrap())
        .into();
    for row in &rows {
        let shard = &raw[row.at.group as usize];
        let from = row.byte_offset as usize;
        let ours = catalog.read(row, 1, 0, 1 << 20).unwrap();
        assert_eq!(ours, shard[from..from + row.byte_size as usize]);
        assert_eq!(ours.len() % 4, 0);
    }
    let preview = page(catalog.tokens().unwrap(), &rows[44], 0, 0, &Cancel::default());
    assert!(matches!(preview.body, Drawable::Tokens(_)), "{:?}", preview.body);
}

#[test]
fn mds_shards_that_contradict_the_index_have_a_failure_reason() {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        gristmill_storage::publish::write_file(&gristmill_storage::fs::RealFs, &path, bytes, 0o644).unwrap();
    };
    let from = golden("d05_zstd/expected");
    let index = std::fs::read_to_string(from.join("index.json")).unwrap();
    let shard = std::fs::read(from.join("shard.00000.mds.zstd")).unwrap();
    put("shard.00000.mds.zstd", &shard);
    let reason = |index: &str| {
        put("index.json", index.as_bytes());
        let catalog = open_tokens(folder.path(), &view()).unwrap();
        let missing = catalog.groups().groups[1].failure.clone();
        assert!(missing.unwrap().contains("no such file"));
        match catalog.groups().groups[0].failure.clone() {
            Some(why) => why.to_string(),
            None => {
                let rows = catalog.samples(SampleAt::default(), 10, &Cancel::default()).unwrap();
                rows[0].defect.as_deref().unwrap().to_owned()
            }
        }
    };
    assert!(reason(&index.replace("7911", "7910")).contains("more than the 7910 bytes"));
    assert!(reason(&index.replace("7911", "8000")).contains("7911 bytes, and index.json has 8000"));
    assert!(reason(&index.replace("\"samples\": 29", "\"samples\": 28")).contains("another number of samples"));
    assert!(reason(&index.replacen("zstd:7", "lz4", 1)).contains("unknown"));
    let mut damaged = shard;
    damaged.truncate(1_000);
    put("shard.00000.mds.zstd", &damaged);
    assert!(!reason(&index).is_empty());
}

#[test]
fn rows_of_damaged_mds_shards_have_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let from = golden("d01_fixed/expected");
    for name in ["index.json", "shard.00000.mds"] {
        std::fs::copy(from.join(name), folder.path().join(name)).unwrap();
    }
    let mut bytes = std::fs::read(folder.path().join("shard.00000.mds")).unwrap();
    bytes[8..12].fill(0xff);
    let path = folder.path().join("shard.00000.mds");
    gristmill_storage::publish::write_file(&gristmill_storage::fs::RealFs, &path, &bytes, 0o644).unwrap();
    let catalog = open_tokens(folder.path(), &view()).unwrap();
    let rows = catalog.samples(SampleAt::default(), 10, &Cancel::default()).unwrap();
    assert!(rows[0].defect.as_deref().unwrap().contains("beyond the end"));
}
