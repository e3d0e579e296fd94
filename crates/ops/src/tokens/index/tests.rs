//! Compares both indexes with those of the reference programs for any number of threads, and checks that no unfinished files remain on
//! disk.

use super::*;
use crate::job::task::Task;
use crate::tokens::formats::forager::index_job::{run as run_forager, ForagerIndexPlan};
use crate::tokens::formats::modalities::job::{run_raw, start_raw, ExistingFile, RawIndexPlan};
use gristmill_core::{ExitClass, Outcome, RunOptions};
use gristmill_data::formats::modalities::raw_index::lines;
use gristmill_storage::fs::{Fs, RealFs};
use gristmill_storage::memory_store;
use gristmill_storage::publish::write_file;
use gristmill_storage::read::open_read;
use std::path::Path;
use std::sync::Arc;

/// Returns the content of an index.
fn items(index: &Path) -> Vec<(u64, u64)> {
    let index = open_read(index).unwrap();
    let mut reader = lines(&index);
    std::iter::from_fn(|| reader.next_item().unwrap()).collect()
}

fn options(threads: usize) -> RunOptions {
    RunOptions { threads, ..RunOptions::default() }
}

fn raw(plan: RawIndexPlan, threads: usize) -> Outcome<IndexReport> {
    start_raw(plan, options(threads))?.wait()
}

fn put(path: &Path, bytes: &[u8]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    write_file(&RealFs, path, bytes, 0o644).unwrap();
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn raw_indexes_match_the_reference() {
    let mut cases = 0;
    for entry in std::fs::read_dir("../../tests/golden/modalities").unwrap() {
        let case = entry.unwrap().path();
        if !case.file_name().unwrap().to_string_lossy().starts_with("idx_") {
            continue;
        }
        cases += 1;
        let wanted = std::fs::read(case.join("expected/data.idx")).ok();
        let store = Path::new("mem://raw-index").join(case.file_name().unwrap());
        memory_store::put(&store.join("data.jsonl"), &std::fs::read(case.join("input/data.jsonl")).unwrap());
        let result = raw(RawIndexPlan::new(store.join("data.jsonl")), 2);
        assert_eq!(result.is_ok(), wanted.is_some(), "{store:?}: {:?}", result.err());
        assert_eq!(gristmill_storage::files::read(store.join("data.idx")).ok(), wanted, "{store:?}");
        for threads in [1, 2, 7] {
            let dir = tempfile::tempdir().unwrap();
            let index = dir.path().join("deep/er/data.idx");
            let plan = RawIndexPlan { index: Some(index.clone()), ..RawIndexPlan::new(case.join("input/data.jsonl")) };
            let result = raw(plan, threads);
            assert_eq!(result.is_ok(), wanted.is_some(), "{case:?}: {:?}", result.err());
            assert_eq!(std::fs::read(&index).ok(), wanted, "{case:?}");
            assert!(!dir.path().join("deep/er/data.idx.gristmill").exists(), "{case:?}");
        }
    }
    assert!(cases >= 8, "only {cases} cases");
}

#[test]
fn raw_index_does_not_depend_on_ranges() {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("a.jsonl");
    let mut text = Vec::new();
    let mut wanted = Vec::new();
    for number in 0..40_000_u64 {
        let line = match number {
            // The line is longer than a range, and longer than the line buffer.
            77 => format!("\"{}\"", "x".repeat(5 << 20)),
            78 => format!("\"{}\"", "é".repeat(1 << 20)),
            _ => format!("{{\"n\": {number}, \"text\": \"{}\"}}", "y".repeat((number % 97) as usize)),
        };
        wanted.push((text.len() as u64, line.len() as u64));
        text.extend(line.bytes());
        text.push(b'\n');
    }
    put(&source, &text);
    for threads in [1, 2, 7] {
        let plan = RawIndexPlan { existing: ExistingFile::Override, ..RawIndexPlan::new(&source) };
        let report = raw(plan, threads).unwrap();
        assert_eq!((report.samples, report.bytes), (40_000, text.len() as u64));
        assert!(items(&dir.path().join("a.idx")) == wanted);
    }
}

#[test]
fn all_bad_lines_are_reported_and_nothing_is_written_unless_skipped() {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("a.jsonl");
    let long = format!("\"{}\u{1}\"", "x".repeat(5 << 20));
    put(&source, format!("{{}}\n\n[1,]\n{{\"a\": NaN}}\n{long}\n\"\u{7f}\"").as_bytes());
    let task = start_raw(RawIndexPlan::new(&source), options(2)).unwrap();
    while !task.is_finished() {
        std::thread::yield_now();
    }
    let places: Vec<_> = task.findings().0.iter().map(|p| (p.subject.line, p.subject.byte_offset)).collect();
    assert_eq!(places, [(Some(2), Some(3)), (Some(3), Some(7)), (Some(5), Some(20 + 1 + (5 << 20)))]);
    let failure = task.wait().unwrap_err();
    assert_eq!(failure.class, ExitClass::Data);
    assert!(failure.why.starts_with("3 of 6 lines are not JSON, the first in line 2"), "{failure}");
    assert_eq!(names(dir.path()), ["a.jsonl"]);
    let report = raw(RawIndexPlan { skip_bad_lines: true, ..RawIndexPlan::new(&source) }, 2).unwrap();
    assert_eq!((report.samples, report.skipped_lines), (3, 3));
    let starts: Vec<u64> = items(&dir.path().join("a.idx")).into_iter().map(|item| item.0).collect();
    assert_eq!(starts, [0, 9, 20 + long.len() as u64 + 1]);
}

#[test]
fn existing_index_is_refused_skipped_or_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let (source, index) = (dir.path().join("a.b.jsonl"), dir.path().join("a.b.idx"));
    put(&source, b"1\n");
    put(&index, b"old");
    let plan = |existing| RawIndexPlan { existing, ..RawIndexPlan::new(&source) };
    assert_eq!(raw(plan(ExistingFile::Error), 1).unwrap_err().class, ExitClass::Data);
    assert!(raw(plan(ExistingFile::Skip), 1).unwrap().left_alone);
    assert_eq!(std::fs::read(&index).unwrap(), b"old");
    put(&source, b"x\n");
    assert!(raw(plan(ExistingFile::Override), 1).is_err());
    assert_eq!(std::fs::read(&index).unwrap(), b"old", "a run that fails takes nothing away");
    put(&source, b"1\n");
    let dry = raw(RawIndexPlan { is_dry: true, ..plan(ExistingFile::Override) }, 1).unwrap();
    assert_eq!(std::fs::read(&index).unwrap(), b"old");
    let report = raw(plan(ExistingFile::Override), 1).unwrap();
    assert!(report.written[0].replaces);
    assert_eq!(
        (report.written, std::fs::read(&index).unwrap().len() as u64),
        (dry.written.clone(), dry.written[0].bytes)
    );
    let own = RawIndexPlan { index: Some(source.clone()), ..plan(ExistingFile::Override) };
    assert_eq!(raw(own, 1).unwrap_err().class, ExitClass::Usage);
}

#[test]
fn empty_compressed_and_missing_sources_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    put(&path("empty.jsonl"), b"");
    put(&path("packed.jsonl"), b"\x1f\x8b\x08\0\0");
    for (name, class) in
        [("empty.jsonl", ExitClass::Data), ("packed.jsonl", ExitClass::Data), ("no.jsonl", ExitClass::Environment)]
    {
        assert_eq!(raw(RawIndexPlan::new(path(name)), 2).unwrap_err().class, class, "{name}");
    }
    assert_eq!(names(dir.path()), ["empty.jsonl", "packed.jsonl"]);
}

fn copy(from: &Path, to: &Path) {
    for entry in walkdir::WalkDir::new(from).min_depth(1) {
        let entry = entry.unwrap();
        if entry.file_type().is_file() {
            put(&to.join(entry.path().strip_prefix(from).unwrap()), &std::fs::read(entry.path()).unwrap());
        }
    }
}

fn start_forager(plan: ForagerIndexPlan, options: RunOptions, fs: Arc<dyn Fs>) -> Outcome<Task<IndexReport>> {
    Task::start("forager-index", options, fs, move |context| run_forager(&plan, context))
}

fn forager(base: &Path, threads: usize) -> Outcome<IndexReport> {
    start_forager(ForagerIndexPlan::new(base), options(threads), Arc::new(RealFs))?.wait()
}

#[test]
fn forager_indexes_match_the_reference() {
    for case in ["jsonl_edges", "jsonl_empty_file", "jsonl_one_file", "jsonl_tree_sort"] {
        let golden = Path::new("../../tests/golden/forager").join(case);
        for threads in [1, 2, 7] {
            let dir = tempfile::tempdir().unwrap();
            copy(&golden.join("input"), dir.path());
            let report = forager(dir.path(), threads).unwrap();
            for name in ["file_location.txt", "sample_locations.bin"] {
                let wanted = std::fs::read(golden.join("expected/index").join(name)).unwrap();
                assert_eq!(std::fs::read(dir.path().join("index").join(name)).unwrap(), wanted, "{case}: {name}");
            }
            assert_eq!(names(&dir.path().join("index")).len(), 2);
            assert!(!dir.path().join("index.gristmill").exists());
            // A second index is refused.
            let failure = forager(dir.path(), threads).unwrap_err();
            assert_eq!(failure.class, ExitClass::Data);
            assert!(report.samples > 0);
        }
    }
}

#[test]
fn forager_rows_tile_files_read_in_many_ranges() {
    let dir = tempfile::tempdir().unwrap();
    let mut wanted = Vec::new();
    for (number, name) in ["a.jsonl", "b.jsonl"].iter().enumerate() {
        let mut text = Vec::new();
        for line in 0..30_000_usize {
            let len = if line == 100 { 3 << 20 } else { line % 151 };
            wanted.push([number as u64, text.len() as u64, len as u64 + 1]);
            text.resize(text.len() + len, b'x');
            text.push(b'\n');
        }
        text.extend(b"open");
        wanted.push([number as u64, text.len() as u64 - 4, 4]);
        put(&dir.path().join(name), &text);
    }
    let report = forager(dir.path(), 3).unwrap();
    assert_eq!(report.samples, wanted.len() as u64);
    let bytes = std::fs::read(dir.path().join("index/sample_locations.bin")).unwrap();
    let wanted: Vec<u8> = wanted.iter().flatten().flat_map(|number: &u64| number.to_le_bytes()).collect();
    assert!(bytes == wanted);
}

#[test]
fn names_with_newlines_are_refused_and_dry_runs_write_nothing() {
    let dir = tempfile::tempdir().unwrap();
    put(&dir.path().join("a.jsonl"), b"1\n2");
    let dry = ForagerIndexPlan { is_dry: true, ..ForagerIndexPlan::new(dir.path()) };
    let report = start_forager(dry, options(2), Arc::new(RealFs)).unwrap().wait().unwrap();
    assert_eq!((report.samples, report.written[1].bytes, names(dir.path())), (2, 48, vec!["a.jsonl".to_owned()]));
    put(&dir.path().join("a\nb.jsonl"), b"1\n");
    let failure = forager(dir.path(), 2).unwrap_err();
    assert!(failure.why.contains("newline"), "{failure}");
    assert_eq!(names(dir.path()), ["a\nb.jsonl", "a.jsonl"]);
    assert!(forager(&dir.path().join("a.jsonl"), 1).is_err());
}

#[test]
fn failed_write_at_any_operation_leaves_no_visible_index() {
    use gristmill_storage::fs::fault::{Fault, FaultFs};
    let failing = |at| Arc::new(FaultFs::new(Fault::Full { at, errno: rustix::io::Errno::NOSPC }));
    let dir = tempfile::tempdir().unwrap();
    put(&dir.path().join("a.jsonl"), b"1\n2\n");
    let mut failures = 0;
    for step in 0..60 {
        let raw = RawIndexPlan::new(dir.path().join("a.jsonl"));
        let raw =
            Task::start("raw-index", options(1), failing(step), move |context| run_raw(&raw, context)).unwrap().wait();
        let forager = ForagerIndexPlan::new(dir.path());
        let forager = start_forager(forager, options(1), failing(step)).unwrap().wait();
        for (is_done, name) in [(raw.is_ok(), "a.idx"), (forager.is_ok(), "index")] {
            let is_whole = match name {
                "index" => dir.path().join("index/sample_locations.bin").metadata().is_ok_and(|m| m.len() == 48),
                name => dir.path().join(name).metadata().is_ok_and(|m| m.len() > 0),
            };
            assert!(is_whole || !dir.path().join(name).exists(), "half of {name} after {step}");
            assert!(!is_done || is_whole);
            failures += usize::from(!is_done);
        }
        let _ = std::fs::remove_file(dir.path().join("a.idx"));
        let _ = std::fs::remove_dir_all(dir.path().join("index"));
    }
    assert!(failures > 10, "{failures}");
}
