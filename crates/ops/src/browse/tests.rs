//! Compares catalogs of real data sets with each other and with another tar reader.

mod agree;
mod hostile;
mod kinds;
mod tables;
mod views;

use super::open;
use crate::datasets::Dataset;
use crate::engine::browse::{BrowseSample, Catalog, KeyQuery, SampleAt, TokenView};
use crate::job::prepare::PrepareJob;
use gristmill_core::{Cancel, Duplicates, PreparePlan, ProblemKind, RunOptions, SampleMapping, SplitPlan};
use std::path::Path;
use std::sync::Arc;

/// Creates a tar with the given entry names and contents.
fn put_tar(path: &Path, entries: &[(&str, &[u8])]) {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, content) in entries {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, name, *content).unwrap();
    }
    put(path, &builder.into_inner().unwrap());
}

#[expect(clippy::disallowed_methods, reason = "test data is not published")]
fn put(path: &Path, bytes: &[u8]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

fn prepare(root: &Path) {
    prepare_with(root, Duplicates::Fail);
}

fn prepare_with(root: &Path, duplicates: Duplicates) {
    let mut plan = PreparePlan::new(root.to_str().unwrap());
    plan.splits = SplitPlan::Ratio("1,0,0".into());
    plan.loading = SampleMapping::Crude { cooker: false };
    plan.duplicates = duplicates;
    PrepareJob::start(plan, RunOptions { threads: 1, ..RunOptions::default() }, None).unwrap().wait().unwrap();
}

/// Creates a data set of two shards with three samples each, and an empty shard between them.
fn small_set() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    put_tar(
        &dir.path().join("a.tar"),
        &[
            ("000.jpg", b"picture"),
            ("000.txt", b"words"),
            ("001.jpg", b"p"),
            ("002.txt", &[7; 700]),
            ("002.json", b"{}"),
        ],
    );
    put_tar(&dir.path().join("c/b.tar"), &[("x/100.txt", b"1"), ("x/101.txt", b"2"), ("x/102.txt", b"3")]);
    dir
}

/// Opens a catalog and finishes its background work.
fn scanned(path: &Path) -> Arc<dyn Catalog> {
    let opening = Dataset::find(path).unwrap().catalog(&TokenView::default()).unwrap();
    for work in opening.background {
        work(&opening.stop);
    }
    opening.catalog
}

fn all(catalog: &dyn Catalog) -> Vec<BrowseSample> {
    catalog.samples(SampleAt::default(), 100_000, &Cancel::default()).unwrap()
}

fn search_result(catalog: &Arc<dyn Catalog>, query: &str) -> Vec<(u32, u64)> {
    let mut found = Vec::new();
    let query = KeyQuery::parse(query).unwrap();
    catalog
        .find(&query, &Cancel::default(), &mut |at| {
            found.push((at.group, at.index));
            true
        })
        .unwrap();
    found
}

#[test]
fn prepared_data_set_is_listed_and_read_across_shards() {
    let dir = small_set();
    prepare(dir.path());
    let catalog = open(dir.path()).unwrap();
    assert_eq!((catalog.groups().total(), catalog.group_word()), (6, "shard"));
    let samples = all(&*catalog);
    let keys: Vec<&str> = samples.iter().map(|sample| &*sample.key).collect();
    assert_eq!(keys, ["000", "001", "002", "x/100", "x/101", "x/102"]);
    assert!(samples.iter().all(|sample| sample.defect.is_none()));
    let names: Vec<&str> = samples[2].parts.iter().map(|part| &*part.name).collect();
    assert_eq!(names, ["txt", "json"]);
    assert_eq!(catalog.read(&samples[2], 0, 690, 100).unwrap(), [7; 10]);
    assert_eq!(catalog.read(&samples[2], 0, 700, 100).unwrap(), b"");
    assert!(catalog.read(&samples[2], 9, 0, 1).is_err());
    let middle = catalog.samples(SampleAt { group: 0, index: 2 }, 2, &Cancel::default()).unwrap();
    assert_eq!(middle, samples[2..4]);
}

#[test]
fn replaced_shard_is_reported_and_its_old_parts_are_not_shown() {
    let dir = small_set();
    prepare(dir.path());
    put_tar(&dir.path().join("a.tar"), &[("x.jpg", &[9; 4000]), ("y.txt", &[8; 9000])]);
    let catalog = scanned(dir.path());
    let groups = catalog.groups();
    let why = groups.groups[0].failure.as_deref().unwrap();
    assert!(why.contains("when it was indexed") && why.contains("--update indexes it again"), "{why}");
    assert!(groups.groups[0].is_unreadable() && groups.groups[1].failure.is_none());
    let samples = all(&*catalog);
    let failure = catalog.read(&samples[0], 0, 0, 100).unwrap_err();
    assert!(failure.why.contains("not that of this part"), "{failure}");
    assert!(failure.hint.unwrap().contains("--update"));
    assert_eq!(catalog.read(&samples[3], 0, 0, 100).unwrap(), b"1");
    let report = crate::engine::check::info(dir.path(), &Default::default()).unwrap();
    let changed: Vec<_> = report.problems.iter().filter(|p| p.kind == ProblemKind::ShardChanged).collect();
    assert_eq!(changed.len(), 1);
    assert_eq!(changed[0].subject.shard.as_deref(), Some("a.tar"));
}

#[test]
fn keys_of_a_prepared_data_set_are_found_by_prefix_substring_and_pattern() {
    let dir = small_set();
    prepare(dir.path());
    let catalog = open(dir.path()).unwrap();
    assert_eq!(search_result(&catalog, "^00"), [(0, 0), (0, 1), (0, 2)]);
    assert_eq!(search_result(&catalog, "^x/102"), [(1, 2)]);
    assert_eq!(search_result(&catalog, "02"), [(0, 2), (1, 2)]);
    assert_eq!(search_result(&catalog, "/^.01$/"), [(0, 1)]);
    assert_eq!(search_result(&catalog, "nowhere"), []);
    let cancel = Cancel::default();
    let place = |group, key| catalog.locate(group, key, &cancel).unwrap().map(|at| (at.group, at.index));
    assert_eq!(place(None, "x/101"), Some((1, 1)));
    assert_eq!(place(Some("c/b.tar"), "x/101"), Some((1, 1)));
    assert_eq!(place(Some("a.tar"), "x/101"), None);
    cancel.cancel();
    assert!(catalog.find(&KeyQuery::Substring("0".into()), &cancel, &mut |_| true).unwrap_err().is_cancelled());
}

#[test]
fn background_scan_completes_and_stops_when_its_catalog_is_dropped() {
    let dir = small_set();
    let catalog = open(dir.path()).unwrap();
    let start = std::time::Instant::now();
    while !catalog.groups().is_complete {
        assert!(start.elapsed().as_secs() < 120, "the scan does not end");
        std::thread::yield_now();
    }
    assert_eq!(catalog.groups().total(), 6);
    drop(catalog);
    drop(open(dir.path()).unwrap());
}

#[test]
fn locations_without_samples_are_refused_with_a_hint() {
    let dir = tempfile::tempdir().unwrap();
    put(&dir.path().join("m.yaml"), b"");
    let failure = open(&dir.path().join("m.yaml")).err().unwrap();
    assert!(failure.why.contains("members") && failure.hint.unwrap().contains("gristmill info"));
    assert!(open(&dir.path().join("none")).is_err());
}
