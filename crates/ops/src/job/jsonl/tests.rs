use super::pooled::scan_ranges;
use super::*;
use crate::engine::check::CheckCounts;
use crate::job::JobState;
use gristmill_core::{Cancel, ExitClass, Failure, Handles, Problem, ProblemKind, ProblemLog, Progress, Severity};
use gristmill_data::formats::energon::jsonl_idx::index_path;
use gristmill_data::formats::energon::tar_idx;
use gristmill_data::source::jsonl::units;
use gristmill_storage::fs::RealFs;
use gristmill_storage::publish::write_file;
use gristmill_storage::read::open_read;
use gristmill_storage::run_folder::RunFolder;
use std::path::{Path, PathBuf};

fn put(dir: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = dir.join(name);
    write_file(&RealFs, &path, bytes, 0o640).unwrap();
    path
}

fn options(threads: usize) -> RunOptions {
    RunOptions { threads, ..RunOptions::default() }
}

fn start_index(path: &Path) -> Outcome<Task<JsonlReport>> {
    start(&PreparePlan::new(path.to_string_lossy()), false, options(2), Arc::new(RealFs))
}

fn preview(path: &Path, options: RunOptions) -> Outcome<JsonlReport> {
    start(&PreparePlan::new(path.to_string_lossy()), true, options, Arc::new(RealFs))?.wait()
}

fn run(path: &Path) -> Outcome<JsonlReport> {
    start_index(path)?.wait()
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Returns the failure of a refused `prepare`, and all problems found.
fn refused(bytes: &[u8]) -> (Failure, Vec<Problem>) {
    let dir = tempfile::tempdir().unwrap();
    let path = put(dir.path(), "a.jsonl", bytes);
    let task = start_index(&path).unwrap();
    while !task.is_finished() {
        std::thread::yield_now();
    }
    let (problems, _) = task.findings();
    assert_eq!(task.status().state, JobState::Failed);
    let failure = task.wait().unwrap_err();
    assert_eq!(failure.class, ExitClass::Data, "{failure}");
    assert_eq!(names(dir.path()), ["a.jsonl"], "something was left");
    (failure, problems)
}

fn checked(work: impl Fn(&Handles<'_>) -> Outcome<CheckCounts>) -> (Outcome<CheckCounts>, Vec<Problem>) {
    let (progress, cancel, log) = (Progress::default(), Cancel::default(), ProblemLog::default());
    let result = work(&Handles { progress: &progress, cancel: &cancel, problems: &log });
    let reading = progress.read();
    assert!(result.is_err() || reading.bytes_done == reading.bytes_total, "{reading:?}");
    (result, log.to_vec())
}

fn verified(path: &Path) -> (Outcome<CheckCounts>, Vec<Problem>) {
    checked(|handles| run_verify(path, &options(2), handles))
}

fn linted(path: &Path) -> Vec<Problem> {
    let (result, problems) = checked(|handles| run_lint(path, &options(2), handles));
    result.unwrap();
    problems
}

#[test]
fn jsonl_run_leaves_only_its_index_and_second_run_does_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = put(dir.path(), "a.v2.jsonl", b"\n{\"a\": 1}\r\n\n{\"a\": 2}");
    let report = run(&path).unwrap();
    assert_eq!((report.samples, report.bytes, report.blank_lines, report.nothing_to_do), (2, 20, 2, false));
    assert_eq!(report.files.len(), 1);
    assert_eq!(
        (report.files[0].name.as_str(), report.files[0].bytes, report.files[0].replaces),
        ("a.v2.jsonl.idx", 24, false)
    );
    assert_eq!(names(dir.path()), ["a.v2.jsonl", "a.v2.jsonl.idx"]);
    assert_eq!(tar_idx::read(&index_path(&path)).unwrap(), [0, 12, 20]);
    assert_eq!(open_read(&index_path(&path)).unwrap().mode(), 0o640);
    let again = run(&path).unwrap();
    assert!(again.nothing_to_do && again.files.is_empty());
    assert_eq!(names(dir.path()), ["a.v2.jsonl", "a.v2.jsonl.idx"]);
}

#[test]
fn an_index_of_another_state_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let path = put(dir.path(), "a.jsonl", b"{}\n{}\n");
    put(dir.path(), "a.jsonl.idx", &tar_idx::encode(&[0, 2], 6));
    let report = run(&path).unwrap();
    assert!(!report.nothing_to_do && report.files[0].replaces);
    assert_eq!(tar_idx::read(&index_path(&path)).unwrap(), [0, 3, 6]);
    // A file with the same content but other permissions is replaced.
    RealFs.set_mode(&index_path(&path), 0o600).unwrap();
    assert!(!run(&path).unwrap().nothing_to_do);
    assert_eq!(open_read(&index_path(&path)).unwrap().mode(), 0o640);
}

#[test]
fn index_of_a_read_only_file_is_writable_by_its_owner() {
    let dir = tempfile::tempdir().unwrap();
    let path = put(dir.path(), "a.jsonl", b"{}\n");
    RealFs.set_mode(&path, 0o444).unwrap();
    run(&path).unwrap();
    assert_eq!(open_read(&index_path(&path)).unwrap().mode(), 0o644);
}

#[test]
fn dry_run_reports_the_same_and_writes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = put(dir.path(), "a.jsonl", b"{}\n\n{}\n");
    let report = preview(&path, options(2)).unwrap();
    assert_eq!((report.samples, report.blank_lines, report.files[0].bytes), (2, 1, 24));
    assert_eq!(names(dir.path()), ["a.jsonl"]);
    put(dir.path(), "b.jsonl", b"[]\n");
    assert!(preview(&dir.path().join("b.jsonl"), options(1)).is_err());
}

#[test]
fn index_does_not_depend_on_range_size_and_threads() {
    let dir = tempfile::tempdir().unwrap();
    let text: String =
        (0..500).map(|i| format!("{}{{\"n\": {i}}}{}\n", " ".repeat(i % 3), "\n".repeat(i % 4))).collect();
    let path = put(dir.path(), "a.jsonl", text.as_bytes());
    let file = open_read(&path).unwrap();
    let mut wanted: Option<Vec<u8>> = None;
    for threads in [1, 2, 7] {
        for size in [1, 2, 13, 64, 1000, 1 << 20] {
            let (progress, cancel, log) = (Progress::default(), Cancel::default(), ProblemLog::default());
            let handles = Handles { progress: &progress, cancel: &cancel, problems: &log };
            let mut bytes = Vec::new();
            let sink = |piece: &[u8]| {
                bytes.extend_from_slice(piece);
                Ok(())
            };
            let ranges = units(file.len(), size);
            let (counts, line_ends) = scan_ranges(&file, ranges.clone(), threads, &handles, sink).unwrap();
            assert_eq!((counts.samples, counts.blank), (500, 750));
            for (unit, before) in ranges.iter().zip(line_ends) {
                let really = text.as_bytes()[..unit.start as usize].iter().filter(|byte| **byte == b'\n').count();
                assert_eq!(before, really as u64);
            }
            assert_eq!(*wanted.get_or_insert_with(|| bytes.clone()), bytes, "{threads} threads, ranges of {size}");
        }
    }
}

#[test]
fn bad_lines_are_reported_by_line_byte_and_column() {
    let (failure, problems) = refused(b"{\"a\": 1}\n  [1, 2]\n{\"b\": 2}\n\n{\"c\": \xff\x1b[31m\n\"x\"\n");
    assert_eq!(failure.why, "3 of 6 lines are not JSON objects; nothing was written");
    let reported: Vec<_> = problems.iter().filter(|problem| problem.severity > Severity::Note).collect();
    let places: Vec<_> =
        reported.iter().map(|problem| (problem.subject.line.unwrap(), problem.subject.byte_offset.unwrap())).collect();
    assert_eq!(places, [(2, 11), (5, 39), (6, 41)]);
    assert_eq!(reported[0].message, "column 3: the line is an array, not an object; it begins with [1, 2]");
    assert_eq!(reported[1].message, "column 12: the line does not end with }; it begins with {\"c\": \\xff␛[31m");
    assert!(reported[0]
        .hint
        .as_ref()
        .unwrap()
        .starts_with("take it apart: jq -c 'if type == \"array\" then .[] else . end'"));
}

#[test]
fn each_kind_of_bad_file_has_its_own_message_and_hint() {
    let utf16: Vec<u8> = "{\"a\": 1}\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    for (bytes, said, hint) in [
        (&b""[..], "the file is empty", "one JSON object a line"),
        (b"\n", "its only line is blank", "one JSON object a line"),
        (b" \r\n\t\n\n", "all its lines are blank", "one JSON object a line"),
        (b"\xef\xbb\xbf{\"a\": 1}\n", "byte order mark", "tail -c +4"),
        (b"{}\n\xef\xbb\xbf{\"a\": 1}\n", "byte order mark", "sed "),
        (b"[{\"a\": 1}]\n", "is an array", "then .[] else . end"),
        (b"{\n  \"a\": 1\n}\n", "continues in the next line", "jq -c ."),
        (b"\0\0\0\0\0\0\n", "NUL bytes", "tr -d"),
        (b"{\"a\": 1}\0\0\0\n", "ends with NUL bytes", "tr -d"),
        (b"{\"a\": 1}\n{\"b\": \"cut sh", "does not end with }", "cut short"),
        (b"42\n", "is a number", "wrap"),
        (b"hello\n", "does not begin with {", "one JSON object"),
        (&utf16, "encoded in UTF-16LE", "iconv -f UTF-16LE -t UTF-8"),
        (b"\x1f\x8b\x08\0\0\0\0\0", "compressed with gzip", "gzip -dc < "),
        (b"\x28\xb5\x2f\xfd\0\0", "compressed with zstd", "zstd -dc < "),
        (b"BZh91AY&SY", "compressed with bzip2", "bzip2 -dc < "),
        (b"\xfd7zXZ\0\0", "compressed with xz", "xz -dc < "),
    ] {
        let (failure, problems) = refused(bytes);
        let first = problems.iter().find(|problem| problem.severity > Severity::Note);
        let (message, way) = match first {
            Some(problem) => (problem.message.clone(), problem.hint.clone()),
            None => (failure.why.clone(), failure.hint.clone()),
        };
        assert!(message.contains(said), "{said}: {message}");
        assert!(way.as_ref().is_some_and(|way| way.contains(hint)), "{hint}: {way:?}");
    }
}

#[test]
fn lines_that_are_not_utf8_are_indexed_and_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = put(dir.path(), "a.jsonl", b"{\"a\": \"\xc3\xa9\"}\n{\"b\": \"\xe9\"}\n{\"c\": 1}\n");
    for report in [preview(&path, options(1)).unwrap(), run(&path).unwrap()] {
        assert_eq!((report.samples, report.findings.problems.len()), (3, 1), "{:?}", report.findings.problems);
        let problem = &report.findings.problems[0];
        assert_eq!((problem.kind, problem.severity), (ProblemKind::BadJson, Severity::Problem));
        assert_eq!((problem.subject.line, problem.subject.byte_offset), (Some(2), Some(19)));
        assert!(problem.message.contains("not UTF-8"), "{}", problem.message);
        assert!(problem.hint.as_ref().unwrap().contains("--skip-bad-lines"), "{:?}", problem.hint);
    }
    assert_eq!(tar_idx::read(&index_path(&path)).unwrap(), [0, 12, 23, 32]);
    assert_eq!(verified(&path).1.len(), 1);
}

#[test]
fn characters_that_ranges_cut_are_found_and_no_others() {
    let dir = tempfile::tempdir().unwrap();
    let is_not_utf8 = |text: &[u8], size: u64| {
        let file = open_read(&put(dir.path(), "a.jsonl", text)).unwrap();
        let (progress, cancel, log) = (Progress::default(), Cancel::default(), ProblemLog::default());
        let handles = Handles { progress: &progress, cancel: &cancel, problems: &log };
        let (counts, _) = scan_ranges(&file, units(file.len(), size), 2, &handles, |_| Ok(())).unwrap();
        counts.is_not_utf8
    };
    for size in 4..24 {
        assert!(!is_not_utf8("{\"a\": \"éЖ中文😀😀é\"}\n".as_bytes(), size), "ranges of {size}");
        for bad in [&b"\xff"[..], b"\x80", b"\xe4\xb8", b"\xf0\x9f\x98", b"\x80\x80\x80\x80\x80", b"\xed\xa0\x80"] {
            let text = [b"{\"a\": \"\xc3\xa9", bad, b"\xf0\x9f\x98\x80\"}\n"].concat();
            assert!(is_not_utf8(&text, size), "{bad:?} in ranges of {size}");
        }
    }
}

#[test]
fn lines_ended_by_cr_alone_are_one_sample_with_a_note() {
    let dir = tempfile::tempdir().unwrap();
    let path = put(dir.path(), "a.jsonl", b"{\"a\": 1}\r{\"b\": 2}\r");
    let report = run(&path).unwrap();
    assert_eq!(report.samples, 1);
    assert!(report.findings.problems[0].message.contains("CR alone"), "{:?}", report.findings.problems);
    let path = put(dir.path(), "b.jsonl", b"{\"a\": \"}\\r{\"}\r\n");
    assert!(run(&path).unwrap().findings.problems.is_empty());
}

#[test]
fn a_thousand_bad_lines_are_reported_and_all_are_counted() {
    let dir = tempfile::tempdir().unwrap();
    let path = put(dir.path(), "a.jsonl", "x\n".repeat(25_000).as_bytes());
    let task = start_index(&path).unwrap();
    while !task.is_finished() {
        std::thread::yield_now();
    }
    let (problems, counts) = task.findings();
    assert_eq!((problems.len(), counts), (1000, vec![(Severity::Problem, ProblemKind::BadLine, 25_000)]));
    assert_eq!(problems[999].subject.line, Some(1000));
    assert!(task.wait().unwrap_err().why.starts_with("25,000 of 25,000 lines"));
}

#[test]
fn old_index_is_kept_if_the_new_file_has_bad_lines() {
    let dir = tempfile::tempdir().unwrap();
    let path = put(dir.path(), "a.jsonl", b"{}\n");
    run(&path).unwrap();
    put(dir.path(), "a.jsonl", b"{}\nx\n");
    assert!(run(&path).is_err());
    assert_eq!(tar_idx::read(&index_path(&path)).unwrap(), [0, 3]);
}

#[test]
fn index_run_is_refused_while_another_process_holds_the_lock() {
    let dir = tempfile::tempdir().unwrap();
    let path = put(dir.path(), "a.jsonl", b"{}\n");
    let own = RunFolder::for_output(&index_path(&path));
    let lock = gristmill_storage::lock::DatasetLock::acquire(&RealFs, &own, false).unwrap();
    let failure = run(&path).unwrap_err();
    assert_eq!(failure.class, ExitClass::Environment);
    assert!(failure.why.contains("held by process"), "{failure}");
    assert!(own.lock().exists());
    drop(lock);
    run(&path).unwrap();
    assert_eq!(names(dir.path()), ["a.jsonl", "a.jsonl.idx"]);
}

#[test]
fn verify_reports_an_index_that_does_not_match_its_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = put(dir.path(), "a.jsonl", b"{}\n{ }\n{}\n");
    assert!(verified(&path).0.unwrap_err().why.contains("not indexed"));
    run(&path).unwrap();
    let (result, problems) = verified(&path);
    assert_eq!((result.unwrap().samples, problems.len()), (3, 0));
    for (index, said) in [
        (tar_idx::encode(&[0, 3, 8], 10), "value 2, the place of sample 2, is 8 and should be 7"),
        (tar_idx::encode(&[0, 4, 8], 11), "value 1, the place of sample 1, is 4 and should be 3; 3 values differ"),
        (tar_idx::encode(&[0, 3, 7], 11), "value 3, the size of the file, is 11 and should be 10"),
        (tar_idx::encode(&[0, 3], 10), "lists 2 samples, and the file holds 3"),
        (b"1234567".to_vec(), "not a multiple of 8"),
        (Vec::new(), "lists 0 samples, and the file holds 3"),
    ] {
        put(dir.path(), "a.jsonl.idx", &index);
        let problems = verified(&path).1;
        assert!(problems.iter().any(|problem| problem.message.contains(said)), "{said}: {problems:?}");
        assert!(problems.iter().all(|problem| problem.kind == ProblemKind::IndexMismatch));
    }
}

#[test]
fn lint_parses_every_line_and_names_the_place() {
    let dir = tempfile::tempdir().unwrap();
    let text = "{\"ok\": 1}\n\n{\"a\": 1,}\n{\"a\": 1, \"a\": 2}\n{\"n\": NaN}\n[1]\n{\"é\": \"\u{202e}\", b}\n";
    let path = put(dir.path(), "a.jsonl", text.as_bytes());
    let problems = linted(&path);
    let place = |problem: &Problem| (problem.kind, problem.subject.line, problem.subject.byte_offset);
    let mut places: Vec<_> = problems.iter().map(place).collect();
    places.sort();
    let line7 = text.find("{\"é\"").unwrap() as u64;
    assert_eq!(
        places,
        [
            (ProblemKind::BadLine, Some(6), Some(49)),
            (ProblemKind::BadJson, Some(3), Some(19)),
            (ProblemKind::BadJson, Some(7), Some(line7 + 14)),
            (ProblemKind::RepeatedField, Some(4), Some(30)),
            (ProblemKind::OddJson, Some(5), Some(44)),
            (ProblemKind::MissingFile, None, None),
        ]
    );
    let bad = problems.iter().find(|problem| problem.subject.line == Some(7)).unwrap();
    assert_eq!(bad.message, "column 15: expected a key in double quotes, near {\"é\": \"<U+202E>\", b}");
}

#[test]
fn lint_line_numbers_do_not_depend_on_ranges() {
    let dir = tempfile::tempdir().unwrap();
    let mut text: Vec<u8> = Vec::new();
    // The file has more than two ranges of the smallest size, with bad lines at regular intervals.
    for number in 0..30_000 {
        text.extend(format!("{{\"n\": {number}, \"text\": \"{}\"}}\n", "x".repeat(number % 100)).as_bytes());
        if number % 1000 == 999 {
            text.extend(b"{\"n\": }\n");
        }
    }
    let path = put(dir.path(), "a.jsonl", &text);
    run(&path).unwrap();
    let problems = linted(&path);
    let mut lines: Vec<u64> = problems.iter().map(|problem| problem.subject.line.unwrap()).collect();
    lines.sort_unstable();
    assert_eq!(lines, (1..=30).map(|number| number * 1001).collect::<Vec<_>>());
    assert!(text.len() > 2 << 20);
}
