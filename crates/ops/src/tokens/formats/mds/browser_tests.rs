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
fn a_row_is_a_sample_with_its_text() {
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
fn compressed_and_damaged_shards_have_a_reason_and_no_rows() {
    let catalog = open_tokens(&golden("d05_zstd/expected"), &view()).unwrap();
    assert!(catalog.groups().groups[0].failure.as_deref().unwrap().contains("compressed"));
    assert_eq!(catalog.groups().total(), 0);
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
