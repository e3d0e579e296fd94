//! Shows rows of tables as samples.

use super::{put, scanned};
use crate::engine::browse::{Catalog, SampleAt, VisitFields};
use gristmill_core::{Cancel, DatasetKind};
use std::path::{Path, PathBuf};

fn golden(case: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/parquet").join(case).join("input")
}

fn text(catalog: &dyn Catalog, at: SampleAt) -> String {
    let sample = catalog.samples(at, 1, &Cancel::default()).unwrap().remove(0);
    assert_eq!(sample.defect, None);
    let bytes = catalog.read(&sample, 0, 0, usize::MAX).unwrap();
    assert_eq!(sample.byte_size, bytes.len() as u64);
    assert_eq!(catalog.read(&sample, 0, 1, 3).unwrap(), bytes[1..4]);
    assert!(catalog.read(&sample, 1, 0, 3).is_err());
    String::from_utf8(bytes).unwrap()
}

#[test]
fn table_rows_are_samples_in_the_order_of_file_names() {
    let catalog = scanned(&golden("p01_parquet_files"));
    assert!(matches!(catalog.kind(), DatasetKind::TableFolder(kind) if kind.id == "parquet"));
    let groups = catalog.groups();
    assert!(groups.is_complete);
    let names: Vec<&str> = groups.groups.iter().map(|group| &*group.name).collect();
    assert_eq!(names, ["part-0.parquet", "part-1.parquet", "part-2.parquet"]);
    let all = catalog.samples(SampleAt::default(), 1_000, &Cancel::default()).unwrap();
    assert_eq!(all.len() as u64, groups.total());
    for sample in &all {
        let row: serde_json::Value = serde_json::from_str(&text(catalog.as_ref(), sample.at)).unwrap();
        assert_eq!(row.as_object().unwrap().keys().collect::<Vec<_>>(), ["text", "id", "n"]);
        let located = catalog.locate(Some(names[sample.at.group as usize]), &sample.key, &Cancel::default()).unwrap();
        assert_eq!(located, Some(sample.at));
    }
    assert_eq!(catalog.locate(None, "007", &Cancel::default()).unwrap(), None);
    let mut sizes = Vec::new();
    let wanted = VisitFields { sizes: true, ..VisitFields::default() };
    catalog
        .visit(0, wanted, &Cancel::default(), &mut |sample| {
            sizes.push(sample.byte_size);
            sizes.len() < 5
        })
        .unwrap();
    assert_eq!(sizes, all.iter().take(5).map(|sample| sample.byte_size).collect::<Vec<_>>());
}

#[test]
fn unencrypted_columns_of_an_encrypted_table_are_shown() {
    let dir = tempfile::tempdir().unwrap();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../parquet/tests/data/encrypted_column.parquet");
    put(&dir.path().join("a.parquet"), &std::fs::read(file).unwrap());
    let catalog = scanned(dir.path());
    let group = catalog.groups().groups[0].clone();
    assert_eq!(group.failure.as_deref(), Some("the column `text` is encrypted, and not read"));
    let row: serde_json::Value = serde_json::from_str(&text(catalog.as_ref(), SampleAt::default())).unwrap();
    assert_eq!(row.as_object().unwrap().keys().collect::<Vec<_>>(), ["open"]);
}

#[test]
fn damaged_row_group_does_not_hide_other_row_groups() {
    let dir = tempfile::tempdir().unwrap();
    let mut bytes = std::fs::read(golden("p02_codecs_and_encodings").join("6-zstd.parquet")).unwrap();
    bytes[200] ^= 1;
    put(&dir.path().join("a.parquet"), &bytes);
    put(&dir.path().join("b.parquet"), &bytes[..bytes.len() - 1]);
    let catalog = scanned(dir.path());
    let groups = catalog.groups();
    assert_eq!((groups.groups[0].samples, groups.groups[1].samples), (16, 0));
    assert!(groups.groups[1].failure.as_ref().unwrap().contains("footer is missing"));
    let rows = catalog.samples(SampleAt::default(), 16, &Cancel::default()).unwrap();
    let defects: Vec<bool> = rows.iter().map(|row| row.defect.is_some()).collect();
    assert!(defects[0] && !defects[15], "{defects:?}");
}
