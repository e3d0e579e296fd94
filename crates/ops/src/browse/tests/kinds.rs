//! Catalogs of JSONL files, folders of loose files, and compressed shards.

use super::*;

fn keys(samples: &[BrowseSample]) -> Vec<&str> {
    samples.iter().map(|sample| &*sample.key).collect()
}

#[test]
fn jsonl_lines_are_samples_with_or_without_an_index() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.jsonl");
    let text = b"\n \n{\"a\": 1}\n\n{\"b\": 2}\r\n  {\"c\": 3}";
    put(&path, text);
    let scanned_rows = all(&*scanned(&path));
    assert_eq!(keys(&scanned_rows), ["0", "1", "2"]);
    let spans: Vec<(u64, u64)> = scanned_rows.iter().map(|row| (row.byte_offset, row.byte_size)).collect();
    // As in the loader's index, blank lines belong to the previous sample, or to the first one at the start of the file.
    assert_eq!(spans, [(0, 13), (13, 10), (23, 10)]);
    let words: Vec<u64> = spans.iter().map(|span| span.0).collect();
    put(&dir.path().join("a.jsonl.idx"), &gristmill_data::formats::energon::tar_idx::encode(&words, text.len() as u64));
    let catalog = scanned(&path);
    assert!(catalog.groups().is_complete && catalog.group_word() == "file");
    assert_eq!(all(&*catalog), scanned_rows);
    assert_eq!(catalog.read(&scanned_rows[1], 0, 0, 100).unwrap(), b"{\"b\": 2}\r\n");
    assert_eq!(catalog.read(&scanned_rows[2], 0, 8, 100).unwrap(), b"3}");
    assert_eq!(search_result(&catalog, "2"), [(0, 2)]);
    assert_eq!(catalog.locate(None, "1", &Cancel::default()).unwrap(), Some(SampleAt { group: 0, index: 1 }));
    assert_eq!(catalog.locate(None, "01", &Cancel::default()).unwrap(), None);
}

#[test]
fn compressed_jsonl_is_listed_up_to_its_damage() {
    let dir = tempfile::tempdir().unwrap();
    let text: String =
        (0..20_000_u64).map(|n| format!("{{\"n\": {}}}\n", n.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut encoder, text.as_bytes()).unwrap();
    let packed = encoder.finish().unwrap();
    let path = dir.path().join("a.jsonl.gz");
    put(&path, &packed);
    let catalog = scanned(&path);
    assert_eq!(
        (catalog.kind(), catalog.root(), catalog.groups().total()),
        (gristmill_core::DatasetKind::Jsonl, &*path, 20_000)
    );
    let last = catalog.samples(SampleAt { group: 0, index: 19_999 }, 9, &Cancel::default()).unwrap();
    let line = text.lines().last().unwrap();
    assert_eq!(String::from_utf8(catalog.read(&last[0], 0, 0, 100).unwrap()).unwrap().trim_end(), line);
    assert!(catalog.groups().group(0).unwrap().failure.is_none());
    let misnamed = dir.path().join("b.jsonl");
    put(&misnamed, &packed);
    let catalog = scanned(&misnamed);
    assert_eq!(catalog.groups().total(), 20_000);
    assert!(catalog.groups().group(0).unwrap().failure.as_deref().unwrap().contains("compressed with gzip"));
    // The list shows the readable start of a truncated file, and the truncation.
    put(&path, &packed[..packed.len() / 2]);
    let catalog = scanned(&path);
    let group = catalog.groups().group(0).unwrap().clone();
    assert!((5_000..15_000).contains(&group.samples), "{}", group.samples);
    assert!(group.failure.unwrap().contains("cannot be unpacked further"));
    // The beginning of a line is not shown as a line.
    let rows = catalog.samples(SampleAt { group: 0, index: group.samples - 2 }, 9, &Cancel::default()).unwrap();
    let parts: Vec<usize> = rows.iter().map(|row| row.parts.len()).collect();
    assert_eq!((parts, rows[1].defect.is_some()), (vec![1, 0], true), "{rows:?}");
    put(&dir.path().join("b.jsonl.lz4"), b"\x04\x22\x4d\x18");
    assert!(open(&dir.path().join("b.jsonl.lz4")).is_err());
}

#[test]
fn lines_without_json_objects_are_rows_with_problems() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.jsonl");
    put(&path, b"{}\n[1]\n{}\nnull\n");
    let catalog = scanned(&path);
    let rows = all(&*catalog);
    let bad: Vec<bool> = rows.iter().map(|row| row.defect.is_some()).collect();
    assert_eq!(bad, [false, true, false, true]);
    let problems = catalog.problems();
    assert_eq!(problems.after(SampleAt::default()).map(|at| at.index), Some(1));
    put(&path, b"");
    assert_eq!(scanned(&path).groups().total(), 0);
    put(&path, b"\x1f\x8b\x08\0\0");
    let failure = scanned(&path).groups().group(0).unwrap().failure.clone();
    assert!(failure.unwrap().contains("cannot be unpacked"), "it is packed, and cut");
}

#[test]
fn jsonl_lines_longer_than_one_read_are_listed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.jsonl");
    let long = format!("{{\"t\": \"{}\"}}\n", "x".repeat(700_000));
    let text: String =
        (0..500).map(|n| if n % 250 == 7 { long.clone() } else { format!("{{\"n\": {n}}}\n") }).collect();
    put(&path, text.as_bytes());
    let catalog = scanned(&path);
    let rows = all(&*catalog);
    assert_eq!(rows.len(), 500);
    assert_eq!(rows[7].byte_size, long.len() as u64);
    assert_eq!(catalog.read(&rows[499], 0, 0, 99).unwrap(), b"{\"n\": 499}\n");
}

#[test]
fn loose_files_are_grouped_by_folder_and_link_loops_end() {
    let dir = tempfile::tempdir().unwrap();
    for name in
        ["b.png", "a.tar.gz", "none", ".hidden", "sub/1.jpg", "sub/deep/2.JPG", "sub/10.jpg", ".nv-meta/index.sqlite"]
    {
        put(&dir.path().join(name), name.as_bytes());
    }
    std::os::unix::fs::symlink(dir.path(), dir.path().join("sub/again")).unwrap();
    let catalog = scanned(dir.path());
    let groups = catalog.groups();
    let names: Vec<(&str, u64)> = groups.groups.iter().map(|group| (&*group.name, group.samples)).collect();
    assert_eq!(names, [(".", 4), ("sub", 2), ("sub/deep", 1)]);
    assert!(groups.is_complete);
    let rows = all(&*catalog);
    assert_eq!(keys(&rows), [".hidden", "a.tar", "b", "none", "1", "10", "2"]);
    let parts: Vec<&str> = rows.iter().map(|row| &*row.parts[0].name).collect();
    assert_eq!(parts, ["", "gz", "png", "", "jpg", "jpg", "JPG"]);
    assert_eq!(catalog.read(&rows[6], 0, 4, 99).unwrap(), b"deep/2.JPG");
    assert_eq!(search_result(&catalog, "1"), [(1, 0), (1, 1)]);
    std::fs::remove_file(dir.path().join("sub/1.jpg")).unwrap();
    assert!(all(&*catalog)[4].defect.is_some());
    assert!(catalog.read(&rows[4], 0, 0, 9).is_err());
}

#[test]
fn compressed_shard_is_listed_and_read_with_a_remark_on_speed() {
    let dir = small_set();
    let plain = std::fs::read(dir.path().join("a.tar")).unwrap();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut encoder, &plain).unwrap();
    put(&dir.path().join("a.tgz"), &encoder.finish().unwrap());
    let before = all(&*scanned(dir.path()))[..3].to_vec();
    std::fs::remove_file(dir.path().join("a.tar")).unwrap();
    let catalog = scanned(dir.path());
    assert!(catalog.groups().group(0).unwrap().failure.as_deref().unwrap().contains("slowly"));
    let rows = all(&*catalog);
    assert_eq!(rows[..3], before);
    assert_eq!(catalog.read(&rows[0], 1, 2, 9).unwrap(), b"rds");
}
