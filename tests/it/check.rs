//! `info`, `lint` and `verify` on intact and on damaged data sets.

use gristmill_core::plan::{FieldExpr, SplitPattern};
use gristmill_core::{
    Cancel, Duplicates, Handles, Outcome, PreparePlan, Problem, ProblemKind, ProblemLog, Progress, RunOptions,
    SampleMapping, Scope, Severity, SplitPlan,
};
use gristmill_ops::engine::check::{info, lint, verify, CheckCounts, InfoOptions, LintOptions};
use gristmill_ops::job::prepare::PrepareJob;
use std::path::{Path, PathBuf};

struct TestDataset {
    folder: tempfile::TempDir,
}

type Sample<'a> = (&'a str, &'a [(&'a str, &'a str)]);

fn put(path: &Path, bytes: &[u8]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

fn tar(samples: &[Sample<'_>]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (key, parts) in samples {
        for (part, content) in *parts {
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            header.set_mode(0o644);
            header.set_cksum();
            builder.append_data(&mut header, format!("{key}.{part}"), content.as_bytes()).unwrap();
        }
    }
    builder.into_inner().unwrap()
}

fn many(shard: usize, n: usize) -> Vec<u8> {
    let keys: Vec<String> = (0..n).map(|i| format!("s{shard}/{i:04}")).collect();
    let samples: Vec<Sample<'_>> =
        keys.iter().map(|k| (k.as_str(), &[("txt", "some words"), ("json", "{\"a\": 1}")][..])).collect();
    tar(&samples)
}

impl TestDataset {
    /// Returns `n` prepared shards of ten samples each.
    fn prepared(n: usize) -> Self {
        let set = Self::raw(n);
        set.prepare(|_| ());
        set
    }
    fn raw(n: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for shard in 0..n {
            put(&folder.path().join(format!("shard_{shard}.tar")), &many(shard, 10));
        }
        Self { folder }
    }
    fn root(&self) -> &Path {
        self.folder.path()
    }
    fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }
    fn prepare(&self, change: impl FnOnce(&mut PreparePlan)) {
        let mut plan = PreparePlan::new(self.root().to_str().unwrap());
        plan.splits = SplitPlan::Ratio("1,1,1".into());
        plan.loading = SampleMapping::FieldMap {
            sample_type: "TextSample".into(),
            fields: vec![FieldExpr { field: "text".into(), expr: "txt".into() }],
        };
        change(&mut plan);
        PrepareJob::start(plan, RunOptions::default(), None).unwrap().wait().unwrap();
    }
    fn edit(&self, name: &str, change: impl FnOnce(String) -> String) {
        let path = self.path(name);
        put(&path, change(std::fs::read_to_string(&path).unwrap()).as_bytes());
    }
    fn sql(&self, text: &str) {
        rusqlite::Connection::open(self.path(".nv-meta/index.sqlite")).unwrap().execute_batch(text).unwrap();
    }
    fn lint(&self) -> Vec<Problem> {
        linted(self.root()).1
    }
    fn verify(&self) -> Vec<Problem> {
        run(|handles| verify(self.root(), handles)).1
    }
}

fn run(check: impl FnOnce(&Handles<'_>) -> Outcome<CheckCounts>) -> (CheckCounts, Vec<Problem>) {
    let (progress, cancel, problems) = (Progress::default(), Cancel::default(), ProblemLog::default());
    let checked = check(&Handles { progress: &progress, cancel: &cancel, problems: &problems }).unwrap();
    let reading = progress.read();
    assert_eq!(reading.items_done, reading.items_total);
    (checked, problems.to_vec())
}

fn linted(root: &Path) -> (CheckCounts, Vec<Problem>) {
    run(|handles| lint(root, &LintOptions::default(), handles))
}

fn bad(problems: &[Problem]) -> Vec<ProblemKind> {
    problems.iter().filter(|p| p.severity != Severity::Note).map(|p| p.kind).collect()
}

#[track_caller]
fn find(problems: &[Problem], kind: ProblemKind, text: &str) -> Problem {
    let found = problems.iter().find(|p| p.kind == kind && p.to_string().contains(text));
    found.unwrap_or_else(|| panic!("no {kind:?} with '{text}' in {problems:#?}")).clone()
}

#[test]
fn valid_data_set_has_no_lint_or_verify_problems() {
    let set = TestDataset::prepared(3);
    let (checked, problems) = linted(set.root());
    assert_eq!(problems, []);
    assert_eq!((checked.shards, checked.samples, checked.parts), (3, 30, 60));
    let (checked, problems) = run(|handles| verify(set.root(), handles));
    assert_eq!(problems, []);
    assert_eq!((checked.shards, checked.samples, checked.parts), (3, 30, 60));
}

#[test]
fn reference_data_sets_have_no_problems_and_info() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/energon");
    for case in ["captioning_fieldmap", "presplit_folders", "odd_names"] {
        let folder = tempfile::tempdir().unwrap();
        for side in ["input", "expected"] {
            for entry in walkdir::WalkDir::new(golden.join(case).join(side)).into_iter().flatten() {
                if entry.file_type().is_file() {
                    let name = entry.path().strip_prefix(golden.join(case).join(side)).unwrap();
                    put(&folder.path().join(name), &std::fs::read(entry.path()).unwrap());
                }
            }
        }
        let root = folder.path();
        let (checked, problems) = linted(root);
        let expected = match case {
            "presplit_folders" => vec![ProblemKind::ShardNotIndexed],
            "odd_names" => vec![ProblemKind::UnreadShard, ProblemKind::LinkedPart],
            _ => vec![],
        };
        assert_eq!(bad(&problems), expected, "{case}: {problems:#?}");
        assert!(checked.samples > 5);
        let (_, problems) = run(|handles| verify(root, handles));
        assert_eq!(bad(&problems), expected, "{case}: {problems:#?}");
        let report = info(root, &InfoOptions::default()).unwrap();
        assert_eq!(report.samples, checked.samples);
        assert_eq!(report.is_crude, case == "odd_names");
        assert!(report.sample_type.is_some() && report.problems.is_empty(), "{case}: {:?}", report.problems);
    }
}

#[test]
fn info_counts_samples_shards_and_excludes_per_split() {
    let set = TestDataset::raw(4);
    set.prepare(|plan| {
        plan.splits = SplitPlan::Patterns(vec![
            SplitPattern { name: "extra".into(), pattern: "shard_2".into() },
            SplitPattern { name: "train".into(), pattern: "shard_[01]".into() },
        ]);
        plan.excludes = vec!["shard_1.tar".into(), "shard_0.tar/s0/000{1..3}".into()];
    });
    let report = info(set.root(), &InfoOptions::default()).unwrap();
    assert_eq!((report.samples, report.shards), (40, 4));
    assert_eq!(report.unassigned, ["shard_3.tar"]);
    assert_eq!((report.excluded_shards, report.excluded_samples), (1, 3));
    let train = &report.splits[0];
    assert_eq!((train.name.as_str(), train.shards, train.samples), ("train", 1, 10));
    assert_eq!((train.excluded_shards, train.excluded_samples), (1, 3));
    assert!((train.share - 0.25).abs() < 1e-9);
    assert_eq!(report.splits[1].name, "extra");
    assert_eq!(report.sample_type.as_deref(), Some("TextSample"));
    assert_eq!(report.version.as_deref(), Some("7.4.1"));
    assert!(report.by_gristmill && report.has_sample_tables);
}

#[test]
fn info_works_without_dataset_yaml_and_reports_missing_shards() {
    let set = TestDataset::raw(3);
    set.prepare(|plan| plan.loading = SampleMapping::NoDatasetYaml);
    std::fs::remove_file(set.path("shard_1.tar")).unwrap();
    let report = info(set.root(), &InfoOptions::default()).unwrap();
    assert_eq!(report.sample_type, None);
    find(&report.problems, ProblemKind::MissingFile, "shard_1.tar");
    assert_eq!(report.samples, 30);
}

#[test]
fn info_of_unprepared_data_set_is_refused_with_prepare_hint() {
    let set = TestDataset::raw(1);
    let failure = info(set.root(), &InfoOptions::default()).unwrap_err();
    assert_eq!(failure.class.code(), 1);
    assert!(failure.hint.unwrap().contains("gristmill prepare"));
    assert_eq!(info(&set.path("nowhere"), &InfoOptions::default()).unwrap_err().class.code(), 3);
}

#[test]
fn wrong_part_offset_is_found_by_lint_and_verify() {
    let set = TestDataset::prepared(3);
    set.sql("UPDATE sample_parts SET content_byte_offset = content_byte_offset + 512 WHERE tar_file_id = 1 AND sample_index = 4 AND part_name = 'txt'");
    for problems in [set.lint(), set.verify()] {
        let problem = find(&problems, ProblemKind::IndexMismatch, "shard_1.tar");
        assert!(problem.hint.unwrap().contains("--tar-index-only"));
    }
}

#[test]
fn wrong_sample_rows_of_every_kind_are_found() {
    for (sql, text) in [
        ("UPDATE samples SET sample_key = 'other' WHERE tar_file_id = 0 AND sample_index = 2", "the table says 'other'"),
        ("UPDATE samples SET byte_offset = 1 WHERE tar_file_id = 0 AND sample_index = 2", "at 1 with"),
        ("UPDATE samples SET byte_size = 'x' WHERE tar_file_id = 0 AND sample_index = 9", "sample 9"),
        ("DELETE FROM samples WHERE tar_file_id = 0 AND sample_index = 0", "sample 0 has no row"),
        ("DELETE FROM sample_parts WHERE tar_file_id = 0 AND sample_index = 5", "2 parts of sample 5 have no row"),
        ("DELETE FROM sample_parts WHERE tar_file_id = 0 AND sample_index = 5 AND part_name = 'json'", "1 part of sample 5 has no row"),
        ("INSERT INTO samples VALUES (0, 'new', 10, 0, 0)", "1 sample row after the last"),
        ("INSERT INTO sample_parts VALUES (0, 3, 'zip', 99999999, 0)", "1 part row of sample 3"),
        ("UPDATE sample_parts SET content_byte_size = 3 WHERE tar_file_id = 0 AND sample_index = 1 AND part_name = 'txt'", "3 bytes"),
        ("UPDATE sample_parts SET part_name = 'jpg' WHERE tar_file_id = 0 AND sample_index = 1 AND part_name = 'txt'", "'jpg'"),
    ] {
        let set = TestDataset::prepared(3);
        set.sql(sql);
        find(&set.verify(), ProblemKind::IndexMismatch, text);
        find(&set.lint(), ProblemKind::IndexMismatch, text);
    }
}

#[test]
fn orphan_rows_missing_sql_index_and_invalid_uuid_are_found() {
    let set = TestDataset::prepared(2);
    set.sql("INSERT INTO samples VALUES (7, 'x', 0, 0, 0); INSERT INTO sample_parts VALUES (-1, 0, 'x', 0, 0); DROP INDEX idx_sample_parts_full");
    put(&set.path(".nv-meta/index.uuid"), b"nonsense");
    let problems = set.lint();
    find(&problems, ProblemKind::IndexMismatch, "1 sample row belongs to no shard");
    find(&problems, ProblemKind::IndexMismatch, "1 part row belongs to no shard");
    find(&problems, ProblemKind::BadFile, "idx_sample_parts_full");
    find(&problems, ProblemKind::BadFile, "index.uuid");
}

#[test]
fn a_table_without_unique_keys_shows_its_duplicates() {
    let set = TestDataset::prepared(2);
    set.sql(
        "CREATE TABLE s2 AS SELECT * FROM samples; DROP TABLE samples; ALTER TABLE s2 RENAME TO samples; \
         UPDATE samples SET sample_key = 's0/0000' WHERE tar_file_id = 1 AND sample_index = 1",
    );
    let problems = set.lint();
    find(&problems, ProblemKind::BadFile, "has no unique index on sample_key");
    find(&problems, ProblemKind::DuplicateKey, "'s0/0000' has 2 rows");
    find(&problems, ProblemKind::IndexMismatch, "sample 1");
}

#[test]
fn invalid_database_is_a_problem_and_other_checks_continue() {
    let set = TestDataset::prepared(2);
    put(&set.path(".nv-meta/index.sqlite"), b"this is no database at all, only text that is long enough");
    std::fs::remove_file(set.path("shard_1.tar")).unwrap();
    let mut idx = std::fs::read(set.path("shard_0.tar.idx")).unwrap();
    idx[8] ^= 1;
    put(&set.path("shard_0.tar.idx"), &idx);
    let problems = set.lint();
    find(&problems, ProblemKind::BadFile, "index.sqlite");
    find(&problems, ProblemKind::MissingFile, "shard_1.tar");
    find(&problems, ProblemKind::IndexMismatch, "shard_0.tar");
}

#[test]
fn damaged_database_page_is_found_by_lint() {
    let set = TestDataset::prepared(3);
    let path = set.path(".nv-meta/index.sqlite");
    let mut bytes = std::fs::read(&path).unwrap();
    let page = bytes.len() / 4096 - 2;
    for byte in &mut bytes[page * 4096..page * 4096 + 600] {
        *byte = 0xff;
    }
    put(&path, &bytes);
    assert!(bad(&set.lint()).contains(&ProblemKind::BadFile));
}

#[test]
fn missing_cut_or_unordered_tar_index_is_found() {
    let set = TestDataset::prepared(3);
    std::fs::remove_file(set.path("shard_0.tar.idx")).unwrap();
    let idx = std::fs::read(set.path("shard_1.tar.idx")).unwrap();
    put(&set.path("shard_1.tar.idx"), &idx[..idx.len() - 8]);
    let mut idx = std::fs::read(set.path("shard_2.tar.idx")).unwrap();
    idx[16..24].copy_from_slice(&7u64.to_le_bytes());
    put(&set.path("shard_2.tar.idx"), &idx);
    for problems in [set.lint(), set.verify()] {
        find(&problems, ProblemKind::MissingFile, "shard_0.tar.idx");
        find(&problems, ProblemKind::BadFile, "it has 10 words; 10 samples need 11");
        find(&problems, ProblemKind::BadFile, "word 2 is 7");
        find(&problems, ProblemKind::IndexMismatch, ".tar.idx says that sample 2 begins at 7");
    }
}

#[test]
fn changed_shards_are_found_by_size_and_time() {
    let set = TestDataset::prepared(3);
    put(&set.path("shard_0.tar"), &many(0, 11));
    let file = std::fs::OpenOptions::new().append(true).open(set.path("shard_1.tar")).unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    put(&set.path("shard_2.tar"), &many(2, 10)[..2048]);
    let problems = set.lint();
    find(&problems, ProblemKind::ShardChanged, "shard_0.tar: its size was");
    find(&problems, ProblemKind::ShardChanged, "1 shard has another modification time");
    find(&problems, ProblemKind::ShardChanged, "shard_2.tar: the index says that the archive ends");
    find(&problems, ProblemKind::IndexMismatch, "counts 10 samples, the archive has 11");
}

#[test]
fn new_and_missing_shards_are_found_and_excluded_ones_ignored() {
    let set = TestDataset::raw(4);
    set.prepare(|plan| plan.exclude_shards = vec!["_3".into()]);
    put(&set.path("late.tar"), &many(9, 1));
    std::fs::remove_file(set.path("shard_1.tar")).unwrap();
    let problems = set.lint();
    assert_eq!(bad(&problems), [ProblemKind::ShardNotIndexed, ProblemKind::MissingFile], "{problems:#?}");
    find(&problems, ProblemKind::ShardNotIndexed, "late.tar");
}

#[test]
fn unresolved_shard_names_and_unmatched_excludes_are_found() {
    let set = TestDataset::prepared(3);
    set.edit(".nv-meta/split.yaml", |_| {
        "split_parts:\n  train:\n  - shard_{0..1}.tar\n  - shrd_2.tar\n  val:\n  - shard_1.tar\n  test: []\nexclude:\n\
         - shard_0.tar/s0/0001\n- shard_0.tar/s0/nope\n- shard_1.tar/s0/0001\n- gone.tar/x\n"
            .to_owned()
    });
    let problems = set.lint();
    let problem = find(&problems, ProblemKind::MatchesNothing, "shrd_2.tar");
    assert!(problem.hint.unwrap().contains("'shard_2.tar'"));
    find(&problems, ProblemKind::MatchesNothing, "'gone.tar/x' names no shard");
    find(&problems, ProblemKind::MatchesNothing, "'s0/nope'");
    find(&problems, ProblemKind::MatchesNothing, "shard_1.tar, 's0/0001'");
    assert_eq!(find(&problems, ProblemKind::ShardInTwoSplits, "'train' and 'val'").severity, Severity::Note);
    assert_eq!(find(&problems, ProblemKind::EmptySplit, "'test'").severity, Severity::Note);
    assert_eq!(bad(&problems).len(), 4, "{problems:#?}");
}

/// The result of `verify` shows whether training can start.
#[test]
fn verify_reports_errors_that_stop_a_loader_before_the_first_sample() {
    let set = TestDataset::prepared(3);
    set.edit(".nv-meta/split.yaml", |text| {
        text.replace("train:\n", "train:\n  - nosuch.tar\n")
            .replace("exclude: []", "exclude: [shard_0.tar/none, gone.tar/x]")
    });
    let problems = set.verify();
    find(&problems, ProblemKind::MatchesNothing, "nosuch.tar");
    find(&problems, ProblemKind::MatchesNothing, "shard_0.tar/none");
    let gone = problems.iter().filter(|p| p.to_string().contains("gone.tar/x")).count();
    assert_eq!(gone, 1, "each is reported once: {problems:#?}");
    let set = TestDataset::prepared(2);
    set.edit(".nv-meta/dataset.yaml", |text| text.replace("__class__", "__klass__"));
    assert_ne!(bad(&set.verify()), []);
    let set = TestDataset::prepared(2);
    set.edit(".nv-meta/split.yaml", |text| format!("{text}bogus: 1\n"));
    assert_ne!(bad(&set.verify()), []);
}

#[test]
fn shard_with_damaged_beginning_must_be_excluded_entirely() {
    let folder = tempfile::tempdir().unwrap();
    let mut builder = tar::Builder::new(Vec::new());
    for name in ["sub/", "sub/more/"] {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Directory);
        header.set_size(0);
        builder.append_data(&mut header, name, &b""[..]).unwrap();
    }
    let mut bytes = builder.into_inner().unwrap();
    bytes.truncate(1024);
    bytes[512] ^= 1;
    bytes.extend(many(0, 10));
    put(&folder.path().join("a.tar"), &bytes);
    put(&folder.path().join("b.tar"), &many(1, 10));
    let set = TestDataset { folder };
    set.prepare(|plan| plan.splits = SplitPlan::Ratio("1,0,0".into()));
    let split = std::fs::read_to_string(set.path(".nv-meta/split.yaml")).unwrap();
    assert!(split.contains("- a.tar\n") && split.contains("exclude:\n- a.tar\n"), "{split}");
    assert_eq!(find(&set.lint(), ProblemKind::SampleExcluded, "a.tar").severity, Severity::Note);
    set.edit(".nv-meta/split.yaml", |text| text.replace("exclude:\n- a.tar\n", "exclude:\n"));
    for problems in [set.lint(), set.verify()] {
        let problem = find(&problems, ProblemKind::SampleExcluded, "the loader starts reading in the damage");
        assert_eq!(problem.severity, Severity::Problem);
        assert!(problem.hint.unwrap().ends_with("--exclude-sample a.tar"));
    }
}

#[test]
fn a_shard_without_samples_is_a_problem_of_both_checks() {
    let set = TestDataset::raw(1);
    put(&set.path("none.tar"), &tar(&[]));
    set.prepare(|_| ());
    for problems in [set.lint(), set.verify()] {
        let empty: Vec<_> = problems.iter().filter(|p| p.kind == ProblemKind::EmptyShard).collect();
        assert_eq!((empty.len(), empty[0].severity), (1, Severity::Problem), "{empty:?}");
    }
    let set = TestDataset::raw(0);
    put(&set.path("none.tar"), &tar(&[]));
    set.prepare(|plan| plan.loading = SampleMapping::NoDatasetYaml);
    let problems: Vec<_> = set.lint().into_iter().filter(|p| p.kind != ProblemKind::EmptyShard).collect();
    assert_eq!(bad(&problems), [], "tables without a row have no uuid");
}

#[test]
fn invalid_or_missing_split_yaml_is_found() {
    let set = TestDataset::prepared(2);
    put(&set.path(".nv-meta/split.yaml"), b"split_parts: {}\nexlude: []\n");
    find(&set.lint(), ProblemKind::BadFile, "split.yaml");
    std::fs::remove_file(set.path(".nv-meta/split.yaml")).unwrap();
    find(&set.lint(), ProblemKind::MissingFile, "no trainer can load");
}

#[test]
fn samples_without_a_mapped_part_are_found_unless_excluded() {
    let folder = tempfile::tempdir().unwrap();
    let text: &[(&str, &str)] = &[("txt", "t")];
    let none: &[(&str, &str)] = &[("json", "{}")];
    put(&folder.path().join("a.tar"), &tar(&[("1", text), ("2", none), ("3", none), ("4", text)]));
    put(&folder.path().join("b.tar"), &tar(&[("5", none)]));
    let set = TestDataset { folder };
    set.prepare(|plan| {
        plan.splits = SplitPlan::Patterns(vec![SplitPattern { name: "train".into(), pattern: "a".into() }]);
        plan.excludes = vec!["a.tar/3".into()];
    });
    let problems = set.lint();
    assert_eq!(bad(&problems), [ProblemKind::SampleLacksPart], "{problems:#?}");
    let problem = find(&problems, ProblemKind::SampleLacksPart, "a.tar, '2'");
    assert!(problem.hint.unwrap().contains("a.tar/2"));
}

#[test]
fn unknown_and_missing_fields_of_a_field_map_are_found() {
    let set = TestDataset::prepared(2);
    set.edit(".nv-meta/dataset.yaml", |text| text.replace("text: txt", "txet: txt"));
    let problems = set.lint();
    assert!(find(&problems, ProblemKind::UnknownField, "txet").hint.unwrap().contains("'text'"));
    find(&problems, ProblemKind::MissingField, "'text'");
}

#[test]
fn without_sample_tables_tar_indexes_are_checked_against_shards() {
    let set = TestDataset::raw(2);
    set.prepare(|plan| plan.scope = Scope::WithoutSampleTables);
    let problems = set.lint();
    assert_eq!(bad(&problems), []);
    find(&problems, ProblemKind::MissingFile, "access by name");
    let mut idx = std::fs::read(set.path("shard_1.tar.idx")).unwrap();
    idx[8] ^= 1;
    put(&set.path("shard_1.tar.idx"), &idx);
    find(&set.lint(), ProblemKind::IndexMismatch, ".tar.idx says");
}

#[test]
fn duplicates_excluded_by_keep_first_are_no_problems() {
    let folder = tempfile::tempdir().unwrap();
    let parts: &[(&str, &str)] = &[("txt", "t")];
    put(&folder.path().join("a.tar"), &tar(&[("1", parts), ("2", parts), ("1", parts)]));
    put(&folder.path().join("b.tar"), &tar(&[("0", parts), ("2", parts), ("3", parts)]));
    let set = TestDataset { folder };
    set.prepare(|plan| {
        plan.splits = SplitPlan::Ratio("1,0,0".into());
        plan.duplicates = Duplicates::KeepFirst;
    });
    assert_eq!(bad(&set.lint()), []);
    assert_eq!(bad(&set.verify()), []);
}

#[test]
fn long_names_and_skipped_entries_are_no_index_mismatches() {
    let folder = tempfile::tempdir().unwrap();
    let mut builder = tar::Builder::new(Vec::new());
    let long = "k".repeat(180);
    for name in ["__meta__/x.txt".to_owned(), "a.txt".into(), "noext".into(), format!("{long}.txt"), "b.txt".into()] {
        let mut header = tar::Header::new_gnu();
        header.set_size(3);
        header.set_cksum();
        builder.append_data(&mut header, name, &b"abc"[..]).unwrap();
    }
    put(&folder.path().join("a.tar"), &builder.into_inner().unwrap());
    let set = TestDataset { folder };
    set.prepare(|plan| plan.splits = SplitPlan::Ratio("1,0,0".into()));
    let (checked, problems) = linted(set.root());
    assert_eq!(bad(&problems), [], "{problems:#?}");
    assert_eq!(checked.samples, 3);
}

#[test]
fn leftover_files_are_noted() {
    let set = TestDataset::prepared(2);
    put(&set.path("old.tar.idx"), b"");
    put(&set.path("shard_0.tar.idx.tmp"), b"");
    let problems = set.lint();
    assert_eq!(bad(&problems), []);
    find(&problems, ProblemKind::Other, "old.tar.idx");
    find(&problems, ProblemKind::Other, "shard_0.tar.idx.tmp");
}

#[test]
fn a_check_that_is_cancelled_stops() {
    let set = TestDataset::prepared(2);
    let (progress, cancel, problems) = (Progress::default(), Cancel::default(), ProblemLog::default());
    cancel.cancel();
    let handles = Handles { progress: &progress, cancel: &cancel, problems: &problems };
    assert!(lint(set.root(), &LintOptions::default(), &handles).unwrap_err().is_cancelled());
    assert!(verify(set.root(), &handles).unwrap_err().is_cancelled());
}

#[test]
fn number_of_threads_does_not_change_check_results() {
    use gristmill_ops::job::check::{run_lint, run_verify};
    let set = TestDataset::prepared(6);
    set.sql("UPDATE samples SET byte_offset = 1 WHERE sample_index = 3 AND tar_file_id IN (1, 4)");
    for threads in [1, 4] {
        let (checked, mut problems) = run(|handles| run_lint(set.root(), &LintOptions::default(), threads, handles));
        let (verified, mut found) = run(|handles| run_verify(set.root(), threads, handles));
        assert_eq!((checked.shards, checked.samples, verified), (6, 60, checked));
        problems.sort_by_key(ToString::to_string);
        found.sort_by_key(ToString::to_string);
        assert_eq!(bad(&problems), [ProblemKind::IndexMismatch; 2]);
        assert_eq!(problems, found);
    }
}

#[test]
fn shard_name_outside_the_data_set_is_not_followed() {
    let set = TestDataset::prepared(2);
    let outside = tempfile::tempdir().unwrap();
    put(&outside.path().join("x.tar"), &many(1, 2));
    let name = outside.path().join("x.tar").to_str().unwrap().to_owned();
    for bad in [name.as_str(), "../x.tar", "./shard_1.tar/../x.tar"] {
        set.edit(".nv-meta/.info.json", |_| format!("{{\"shard_counts\": {{\"shard_0.tar\": 10, \"{bad}\": 2}}}}"));
        find(&set.lint(), ProblemKind::BadFile, "leads out of the data set");
        find(&set.verify(), ProblemKind::BadFile, "leads out of the data set");
    }
}

#[test]
fn missing_sample_loader_is_found() {
    let set = TestDataset::raw(2);
    set.prepare(|plan| plan.loading = SampleMapping::SampleLoader { sample_type: "TextSample".into() });
    assert_eq!(bad(&set.lint()), []);
    std::fs::remove_file(set.path(".nv-meta/sample_loader.py")).unwrap();
    assert_eq!(bad(&set.lint()), [ProblemKind::MissingFile]);
}

#[test]
fn info_json_with_an_unknown_key_is_refused() {
    let set = TestDataset::prepared(1);
    set.edit(".nv-meta/.info.json", |text| text.replace("shard_counts", "shard_count"));
    let failure = info(set.root(), &InfoOptions::default()).unwrap_err();
    assert!(failure.to_string().contains("shard_count"), "{failure}");
}

/// A small random number generator with the same numbers on every machine.
struct RandomNumbers(u64);

impl RandomNumbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % bound.max(1)
    }
}

#[test]
fn checks_of_randomly_damaged_files_never_panic() {
    let set = TestDataset::prepared(2);
    let names = [
        "shard_0.tar",
        "shard_0.tar.idx",
        ".nv-meta/.info.json",
        ".nv-meta/split.yaml",
        ".nv-meta/dataset.yaml",
        ".nv-meta/index.sqlite",
        ".nv-meta/index.uuid",
        ".nv-meta/gristmill/report.json",
        ".nv-meta/gristmill/plan.yaml",
    ];
    let mut random = RandomNumbers(42);
    for name in names {
        let whole = std::fs::read(set.path(name)).unwrap();
        let mut found = 0;
        for round in 0..24 {
            let mut bytes = whole.clone();
            match round % 3 {
                0 => bytes.truncate(random.below(whole.len())),
                1 => {
                    let at = random.below(whole.len());
                    bytes[at] ^= 1 << random.below(8);
                }
                _ => {
                    let at = random.below(whole.len());
                    let end = (at + 1 + random.below(64)).min(bytes.len());
                    bytes[at..end].iter_mut().for_each(|b| *b = random.below(256) as u8);
                }
            }
            put(&set.path(name), &bytes);
            let (progress, cancel, problems) = (Progress::default(), Cancel::default(), ProblemLog::default());
            let handles = Handles { progress: &progress, cancel: &cancel, problems: &problems };
            let linted = lint(set.root(), &LintOptions::default(), &handles);
            let verified = verify(set.root(), &handles);
            let seen = info(set.root(), &InfoOptions::default());
            assert_eq!(linted.is_ok(), verified.is_ok(), "{name}");
            assert_eq!(linted.is_ok(), seen.is_ok(), "{name}");
            found += usize::from(linted.is_err() || problems.count_from(Severity::Problem) > 0);
        }
        put(&set.path(name), &whole);
        let ours = name.contains("gristmill");
        assert!(ours || found >= 8, "{name}: only {found} of 24 were noticed");
    }
}

#[test]
fn strict_check_ends_at_the_first_problem() {
    let set = TestDataset::prepared(3);
    set.sql("UPDATE samples SET byte_offset = 1 WHERE sample_index = 3; INSERT INTO samples VALUES (7, 'x', 0, 0, 0)");
    let (progress, cancel, problems) = (Progress::default(), Cancel::default(), ProblemLog::new(true));
    let handles = Handles { progress: &progress, cancel: &cancel, problems: &problems };
    let failure = lint(set.root(), &LintOptions::default(), &handles).unwrap_err();
    assert!(failure.to_string().contains("belongs to no shard"), "{failure}");
    set.sql("DELETE FROM samples WHERE tar_file_id = 7");
    let problems = ProblemLog::new(true);
    let handles = Handles { progress: &progress, cancel: &cancel, problems: &problems };
    let failure = verify(set.root(), &handles).unwrap_err();
    assert!(failure.to_string().contains("sample 3: the table says"), "{failure}");
    assert_eq!(problems.to_vec().len(), 1);
}
