//! Malicious data sets: the catalog does not panic, does not allocate memory for sizes that a file only claims, and continues its list.

use super::*;
use crate::engine::browse::{filter, loader, offsets, problems, Marks, ProblemList, SampleFilter, VisitFields};
use proptest::prelude::*;
use rusqlite::Connection;

/// Calls all methods of a catalog. Failures are permitted.
fn exercise(catalog: &dyn Catalog) {
    let cancel = Cancel::default();
    let groups = catalog.groups();
    let mut rows = catalog.samples(SampleAt::default(), 200, &cancel).unwrap_or_default();
    let last = groups.locate(groups.total().saturating_sub(1)).unwrap_or_default();
    let far = SampleAt { group: u32::MAX, index: u64::MAX };
    for from in
        [last, SampleAt { index: last.index.saturating_sub(3), ..last }, SampleAt { index: u64::MAX, ..last }, far]
    {
        rows.extend(catalog.samples(from, 5, &cancel).unwrap_or_default());
    }
    for row in &rows {
        for part in 0..=row.parts.len() {
            for from in [0, 5, u64::MAX] {
                let bytes = catalog.read(row, part, from, 1 << 20).unwrap_or_default();
                assert!(bytes.len() <= 1 << 20);
            }
        }
        let _ = offsets::view(catalog, row, &cancel);
        let _ = loader::view(catalog, row, None, &cancel);
    }
    for query in ["^0", "1", "/.*/"] {
        let mut left = 1_000;
        let _ = catalog.find(&KeyQuery::parse(query).unwrap(), &cancel, &mut |_| {
            left -= 1;
            left > 0
        });
    }
    let _ = catalog.locate(None, "001", &cancel);
    let _ = catalog.locate(Some("a.tar"), "001", &cancel);
    for group in 0..3 {
        let _ = catalog.visit(group, VisitFields { keys: true, sizes: true, parts: true }, &cancel, &mut |_| true);
    }
    let filter = SampleFilter { has: vec!["txt".into()], min_bytes: Some(1), ..SampleFilter::default() };
    let marks = Marks::new(&groups, &[], &["a.tar/001"]);
    filter::run(catalog, &filter, &marks, &ProblemList::default(), &cancel, &mut |matches| {
        let _ = matches.select(matches.total().saturating_sub(1));
    })
    .unwrap();
    let _ = problems::reported(catalog, &cancel);
}

fn mutate(path: &Path, changes: &[(usize, u8)], keep: f64) {
    let mut bytes = std::fs::read(path).unwrap();
    for (at, value) in changes {
        let len = bytes.len();
        bytes[at % len] = *value;
    }
    bytes.truncate((bytes.len() as f64 * keep) as usize);
    put(path, &bytes);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn damage_of_any_file_does_not_stop_the_browser(
        victim in prop::sample::select(vec!["a.tar", "a.tar.idx", ".nv-meta/index.sqlite", ".nv-meta/.info.json", "x.jsonl.idx"]),
        changes in prop::collection::vec((any::<usize>(), any::<u8>()), 0..30),
        keep in prop_oneof![Just(1.0), 0.0..1.0f64],
        without_tables in any::<bool>(),
    ) {
        let dir = small_set();
        prepare(dir.path());
        put(&dir.path().join("x.jsonl"), b"{}\n{}\n{}\n");
        put(&dir.path().join("x.jsonl.idx"), &gristmill_data::formats::energon::tar_idx::encode(&[0, 3, 6], 9));
        mutate(&dir.path().join(victim), &changes, keep);
        if without_tables {
            let _ = std::fs::remove_file(dir.path().join(".nv-meta/index.sqlite"));
        }
        for path in [dir.path().to_owned(), dir.path().join("x.jsonl")] {
            let Ok(opening) = Dataset::find(&path).and_then(|dataset| dataset.catalog(&TokenView::default())) else { continue };
            opening.background.into_iter().for_each(|work| work(&opening.stop));
            exercise(&*opening.catalog);
        }
        let _ = std::fs::remove_dir_all(dir.path().join(".nv-meta"));
        exercise(&*scanned(dir.path()));
    }
}

#[test]
fn invalid_database_rows_are_defects_of_their_samples() {
    let dir = small_set();
    prepare(dir.path());
    let database = dir.path().join(".nv-meta/index.sqlite");
    let sqlite = Connection::open(&database).unwrap();
    sqlite
        .execute_batch(
            "UPDATE samples SET byte_offset = -5 WHERE sample_key = '000';
             UPDATE samples SET sample_key = x'ff00' WHERE sample_key = '001';
             UPDATE samples SET byte_offset = 9223372036854775807, byte_size = 9223372036854775807 WHERE sample_key = '002';
             UPDATE sample_parts SET content_byte_size = 9223372036854775807 WHERE tar_file_id = 1;
             UPDATE samples SET sample_index = 'three' WHERE sample_key = 'x/101';
             INSERT INTO samples VALUES (0, 'twice', 2, 0, 0), (77, 'nowhere', 3, 0, 0), (0, 'beyond', 900, 0, 0);
             INSERT INTO sample_parts VALUES (0, 0, NULL, 3, 3), (0, 1, 'p', 'q', 3.5);",
        )
        .unwrap();
    drop(sqlite);
    let catalog = scanned(dir.path());
    let rows = all(&*catalog);
    assert_eq!(rows.len(), 6);
    let defect = |at: usize| rows[at].defect.as_deref().unwrap_or_default().to_owned();
    assert!(defect(0).contains("not a pair of numbers"), "{}", defect(0));
    assert!(defect(1).contains("key"), "{}", defect(1));
    assert!(defect(2).contains("several rows"), "{}", defect(2));
    assert_eq!((defect(4), &*rows[4].key), (String::new(), "x/101"), "what has no row is read from the headers");
    assert!(catalog.read(&rows[3], 0, 0, 1 << 20).is_err());
    assert_eq!(search_result(&catalog, "^nowhere"), []);
    assert_eq!(search_result(&catalog, "beyond"), []);
    exercise(&*catalog);
}

#[test]
fn huge_sample_counts_are_listed_without_memory() {
    let dir = small_set();
    prepare(dir.path());
    let text = "{\"energon_version\": \"7\", \"shard_counts\": {\"a.tar\": 9000000000000000000, \"../up.tar\": 18000000000000000000, \"gone.tar\": 3}}";
    put(&dir.path().join(".nv-meta/.info.json"), text.as_bytes());
    let catalog = scanned(dir.path());
    let groups = catalog.groups();
    assert_eq!(groups.total(), u64::MAX);
    assert!(groups.group(1).unwrap().failure.as_deref().unwrap().contains("leads out"));
    assert!(groups.group(2).unwrap().failure.is_some());
    let rows = catalog.samples(SampleAt { group: 0, index: 1 << 60 }, 5, &Cancel::default()).unwrap();
    assert_eq!(rows.len(), 5);
    assert!(rows.iter().all(|row| row.defect.is_some()));
    exercise(&*catalog);
}

#[test]
fn shards_that_vanish_or_shrink_while_they_are_browsed_are_reported() {
    let dir = small_set();
    prepare(dir.path());
    let catalog = scanned(dir.path());
    let rows = all(&*catalog);
    mutate(&dir.path().join("a.tar"), &[], 0.2);
    std::fs::remove_file(dir.path().join("c/b.tar")).unwrap();
    assert!(catalog.read(&rows[2], 0, 0, 10).unwrap_err().why.contains("ends before"));
    assert!(catalog.read(&rows[3], 0, 0, 10).unwrap_err().is_missing());
    assert_eq!(all(&*catalog), rows, "the index is still there");
    let raw = small_set();
    let catalog = scanned(raw.path());
    std::fs::remove_file(raw.path().join("a.tar")).unwrap();
    let rows = all(&*catalog);
    assert!(rows[0].defect.as_deref().unwrap().contains("no such file") && rows[3].defect.is_none());
    exercise(&*catalog);
}

#[test]
fn entries_with_names_of_any_bytes_are_listed() {
    let dir = tempfile::tempdir().unwrap();
    let mut builder = tar::Builder::new(Vec::new());
    for name in [&b"a\nb.txt"[..], b"\xff\xfe.txt", b"\x1b[31m.txt", b"ok.\xff", b"ok.txt"] {
        let mut header = tar::Header::new_ustar();
        header.as_mut_bytes()[..name.len()].copy_from_slice(name);
        header.set_size(1);
        header.set_entry_type(tar::EntryType::Regular);
        header.set_cksum();
        builder.append(&header, &b"x"[..]).unwrap();
    }
    put(&dir.path().join("a.tar"), &builder.into_inner().unwrap());
    let catalog = scanned(dir.path());
    let rows = all(&*catalog);
    let keys: Vec<&str> = rows.iter().map(|row| &*row.key).collect();
    assert_eq!(keys, ["a\nb", "\u{fffd}\u{fffd}", "\u{1b}[31m", "ok"]);
    let defects: Vec<bool> = rows.iter().map(|row| row.defect.is_some()).collect();
    assert_eq!(defects, [false, true, false, true]);
    assert_eq!(rows[3].parts.len(), 2);
    exercise(&*catalog);
    prepare(dir.path());
    let prepared = all(&*scanned(dir.path()));
    assert_eq!(prepared.len(), 4);
    assert_eq!(prepared[1], rows[1], "a sample without a row is read from the headers");
}

#[test]
fn damage_found_by_a_scan_is_a_problem_of_its_shard() {
    let dir = small_set();
    // Changes the header of the only entry of the second sample.
    mutate(&dir.path().join("a.tar"), &[(2_048 + 148, b'9')], 1.0);
    let catalog = scanned(dir.path());
    assert!(!catalog.problems().is_empty());
    assert!(catalog.problems().iter().all(|(at, _)| at.group == 0));
}
