//! Complete runs on the golden data sets, compared byte for byte; later runs; sources of reused results.

use super::*;
use gristmill_core::plan::{FieldExpr, SplitPattern};
use gristmill_core::{Duplicates, ExitClass, Rerun, SampleMapping, Scope, SplitPlan, Tgz};
use gristmill_storage::publish::write_file;
use std::path::PathBuf;

fn golden(case: &str, side: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/energon").join(case).join(side)
}

fn files_below(root: &Path) -> Vec<PathBuf> {
    walkdir::WalkDir::new(root)
        .sort_by_file_name()
        .into_iter()
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| entry.path().strip_prefix(root).unwrap().to_path_buf())
        .collect()
}

#[expect(clippy::disallowed_methods, reason = "test data is not published")]
fn put(path: &Path, bytes: &[u8]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

fn copy_of(case: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in files_below(&golden(case, "input")) {
        put(&folder.path().join(&name), &std::fs::read(golden(case, "input").join(&name)).unwrap());
    }
    folder
}

fn plan_for(root: &Path, splits: SplitPlan, loading: SampleMapping) -> PreparePlan {
    let mut plan = PreparePlan::new(root.to_str().unwrap());
    plan.splits = splits;
    plan.loading = loading;
    plan
}

fn ratio(text: &str) -> SplitPlan {
    SplitPlan::Ratio(text.into())
}

fn field(field: &str, expr: &str) -> FieldExpr {
    FieldExpr { field: field.into(), expr: expr.into() }
}

fn run_with(plan: &PreparePlan, threads: usize) -> Outcome<PrepareReport> {
    PrepareJob::start(plan.clone(), RunOptions { threads, ..RunOptions::default() }, None)?.wait()
}

/// Asserts that every file of the reference program exists with the same bytes. The database is compared by another test, and the uuid is
/// random.
fn assert_golden(case: &str, root: &Path) {
    let mut compared = 0;
    for name in files_below(&golden(case, "expected")) {
        let text = name.to_string_lossy().into_owned();
        if text.starts_with("dump/") || text.ends_with("loader_view.json") || text.ends_with("index.sqlite") {
            continue;
        }
        let ours = std::fs::read(root.join(&name)).unwrap_or_else(|e| panic!("{text}: {e}"));
        if text.ends_with("index.uuid") {
            assert_eq!(ours.len(), 36);
            continue;
        }
        let theirs = std::fs::read(golden(case, "expected").join(&name)).unwrap();
        assert_eq!(ours, theirs, "{case}: {text}:\n{}", String::from_utf8_lossy(&ours));
        compared += 1;
    }
    assert!(compared > 3);
}

#[test]
fn job_log_has_sentences_without_debug_output() {
    let folder = copy_of("captioning_fieldmap");
    let mut plan = plan_for(folder.path(), ratio("8,1,1"), SampleMapping::Crude { cooker: false });
    for rerun in [Rerun::Refuse, Rerun::Overwrite, Rerun::Update] {
        plan.rerun = rerun.clone();
        let job = PrepareJob::start(plan.clone(), RunOptions::default(), None).unwrap();
        while !job.task.is_finished() {
            std::thread::yield_now();
        }
        let log = job.task.status().log;
        job.wait().unwrap();
        assert!(!log.is_empty());
        for line in log {
            let is_debug =
                ["Nothing", "None", "Some(", "Ok(", "Rows", " { ", "\""].iter().any(|word| line.contains(word));
            assert!(!is_debug, "{rerun:?}: {line}");
        }
    }
}

#[test]
fn golden_data_sets_are_written_byte_for_byte_with_any_number_of_workers() {
    for threads in [1, 2, 7] {
        let folder = copy_of("captioning_fieldmap");
        let fields = vec![field("image", "jpg"), field("caption", "detail.json[caption][long],txt")];
        let loading = SampleMapping::FieldMap { sample_type: "CaptioningSample".into(), fields };
        run_with(&plan_for(folder.path(), ratio("8,1,1"), loading), threads).unwrap();
        assert_golden("captioning_fieldmap", folder.path());

        let folder = copy_of("odd_names");
        let report =
            run_with(&plan_for(folder.path(), ratio("1,0,0"), SampleMapping::Crude { cooker: false }), threads)
                .unwrap();
        assert_golden("odd_names", folder.path());
        assert_eq!((report.shards, report.samples), (10, 23));

        let folder = copy_of("presplit_folders");
        let patterns = [
            ("train", "train/.*"),
            ("val", "val/shard_{00000,00001}.tar"),
            ("test", "test"),
            ("all", ".*"),
            ("none", "rain/.*"),
        ];
        let patterns =
            patterns.map(|(name, pattern)| SplitPattern { name: name.into(), pattern: pattern.into() }).to_vec();
        let loading = SampleMapping::FieldMap { sample_type: "TextSample".into(), fields: vec![field("text", "txt")] };
        let mut plan = plan_for(folder.path(), SplitPlan::Patterns(patterns), loading);
        plan.exclude_shards = vec!["x8".into()];
        let refused = run_with(&plan, threads).unwrap_err();
        assert_eq!(refused.class, ExitClass::Usage, "a pattern that matches nothing: {refused}");
        plan.compat = true;
        run_with(&plan, threads).unwrap();
        assert_golden("presplit_folders", folder.path());
    }
}

#[test]
fn finished_scan_is_reused_and_gives_the_same_bytes() {
    let folder = copy_of("captioning_fieldmap");
    let scan = LiveScan::start(folder.path(), &RunOptions { threads: 2, ..RunOptions::default() }).unwrap();
    let facts = scan.wait().unwrap();
    assert!(facts.scan_complete);
    assert_eq!(facts.samples_seen, 18);
    assert_eq!(facts.parts["detail.json"].samples, 18);
    assert_eq!(facts.sketches.len(), 18, "of few shards every sample is looked at");
    assert!(!folder.path().join(".nv-meta").exists(), "looking writes nothing");
    let fields = vec![field("image", "jpg"), field("caption", "detail.json[caption][long],txt")];
    let loading = SampleMapping::FieldMap { sample_type: "CaptioningSample".into(), fields };
    let plan = plan_for(folder.path(), ratio("8,1,1"), loading);
    let job = PrepareJob::start(plan, RunOptions::default(), Some(scan)).unwrap();
    let report = job.wait().unwrap();
    assert_golden("captioning_fieldmap", folder.path());
    assert_eq!(report.samples, 18);
    let empty =
        report.counts.iter().filter(|(_, kind, _)| *kind == ProblemKind::EmptySplit).map(|(.., n)| n).sum::<u64>();
    assert_eq!(empty, 1, "the empty val split is noted once: {:?}", report.problems);
    assert!(!folder.path().join(".nv-meta/gristmill/work").exists(), "work is cleaned up");
}

#[test]
fn repeated_plan_does_nothing_and_a_different_plan_is_refused() {
    let folder = copy_of("captioning_fieldmap");
    let plan = plan_for(folder.path(), ratio("8,1,1"), SampleMapping::Crude { cooker: false });
    assert!(!run_with(&plan, 1).unwrap().nothing_to_do);
    assert!(run_with(&plan, 1).unwrap().nothing_to_do);
    let other = plan_for(folder.path(), ratio("1,1,1"), SampleMapping::Crude { cooker: false });
    let failure = run_with(&other, 1).unwrap_err();
    assert_eq!(failure.class, ExitClass::Data, "{failure}");
    assert!(failure.hint.unwrap_or_default().contains("--update"));
}

#[test]
fn an_update_reads_only_new_shards_and_keeps_excludes_and_assignments() {
    let folder = copy_of("captioning_fieldmap");
    let root = folder.path();
    let held_back = root.join("shards/shard_0003.tar");
    let bytes = std::fs::read(&held_back).unwrap();
    std::fs::remove_file(&held_back).unwrap();
    let mut plan = plan_for(root, ratio("1,1,1"), SampleMapping::Crude { cooker: false });
    plan.excludes = vec!["shards/shard_0000.tar/sample_0001".into()];
    run_with(&plan, 1).unwrap();
    // The file is removed: an update must not need it.
    put(&held_back, &bytes);
    let mut update = PreparePlan::new(root.to_str().unwrap());
    update.rerun = Rerun::Update;
    update.new_to = Some("val".into());
    let job = PrepareJob::start(update, RunOptions::default(), None).unwrap();
    let report = job.wait().unwrap();
    assert_eq!((report.shards, report.samples), (4, 18));
    let split = std::fs::read_to_string(root.join(".nv-meta/split.yaml")).unwrap();
    assert_eq!(
        split,
        "split_parts:\n  train:\n  - shards/shard_0000.tar\n  val:\n  - shards/shard_0001.tar\n  - shards/shard_0003.tar\n  \
         test:\n  - shards/shard_0002.tar\nexclude:\n- shards/shard_0000.tar/sample_0001\n"
    );
    let database = rusqlite::Connection::open(root.join(".nv-meta/index.sqlite")).unwrap();
    let rows: (i64, i64) = database
        .query_row("SELECT (SELECT count(*) FROM samples), (SELECT count(*) FROM sample_parts)", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .unwrap();
    assert_eq!(rows, (18, 54));
    assert!(std::fs::read_dir(root.join(".nv-meta")).unwrap().any(|e| e
        .unwrap()
        .file_name()
        .to_string_lossy()
        .contains(".bak-")));
    assert!(std::fs::read_to_string(root.join(".nv-meta/dataset.yaml")).unwrap().contains("CrudeWebdataset"));
}

fn twins(root: &Path) -> PreparePlan {
    for name in ["a.tar", "b.tar"] {
        let mut builder = tar::Builder::new(Vec::new());
        for key in ["x", "y"] {
            let mut header = tar::Header::new_gnu();
            header.set_size(1);
            header.set_cksum();
            let entry = if key == "x" { "same.txt".to_owned() } else { format!("{name}-{key}.txt") };
            builder.append_data(&mut header, entry, &b"1"[..]).unwrap();
        }
        put(&root.join(name), &builder.into_inner().unwrap());
    }
    plan_for(root, ratio("1,0,0"), SampleMapping::Crude { cooker: false })
}

#[test]
fn duplicate_keys_are_refused_with_both_places_and_resolved_by_options() {
    let folder = tempfile::tempdir().unwrap();
    let mut plan = twins(folder.path());
    let failure = run_with(&plan, 2).unwrap_err();
    assert_eq!(failure.class, ExitClass::Data);
    let text = failure.to_string();
    assert!(text.contains("a.tar") && text.contains("b.tar") && text.contains("same"), "{text}");
    assert!(!folder.path().join(".nv-meta/.info.json").exists());
    plan.duplicates = Duplicates::KeepFirst;
    let report = run_with(&plan, 2).unwrap();
    assert_eq!(report.excludes, 1);
    let split = std::fs::read_to_string(folder.path().join(".nv-meta/split.yaml")).unwrap();
    assert!(split.ends_with("exclude:\n- b.tar/same\n"), "{split}");

    let folder = tempfile::tempdir().unwrap();
    let mut plan = twins(folder.path());
    plan.scope = Scope::WithoutSampleTables;
    run_with(&plan, 1).unwrap();
    assert!(!folder.path().join(".nv-meta/index.sqlite").exists());
    assert!(folder.path().join(".nv-meta/.info.json").exists());
}

#[test]
fn an_update_keeps_the_excludes_of_a_user_among_samples_of_one_key() {
    for first in ["a.tar/same", "b.tar/same"] {
        let folder = tempfile::tempdir().unwrap();
        let mut plan = twins(folder.path());
        plan.duplicates = Duplicates::KeepFirst;
        plan.excludes = vec![first.to_owned()];
        run_with(&plan, 2).unwrap();
        let exclude = || {
            let split = std::fs::read_to_string(folder.path().join(".nv-meta/split.yaml")).unwrap();
            split.split_once("exclude:\n").unwrap().1.to_owned()
        };
        assert_eq!(exclude(), format!("- {first}\n"));
        // Both shards must be read again.
        for name in ["a.tar", "b.tar"] {
            let bytes = std::fs::read(folder.path().join(name)).unwrap();
            put(&folder.path().join(name), &[&bytes[..], &[0; 512]].concat());
        }
        let mut update = PreparePlan::new(folder.path().to_str().unwrap());
        (update.rerun, update.duplicates) = (Rerun::Update, Duplicates::KeepFirst);
        run_with(&update, 2).unwrap();
        assert_eq!(exclude(), format!("- {first}\n"));
    }
}

#[test]
fn cancelled_run_publishes_nothing_and_resumes_later() {
    let folder = copy_of("captioning_fieldmap");
    let plan = plan_for(folder.path(), ratio("8,1,1"), SampleMapping::Crude { cooker: false });
    let job = PrepareJob::start(plan.clone(), RunOptions::default(), None).unwrap();
    job.task.cancel();
    let result = job.wait();
    if let Err(failure) = result {
        assert!(failure.is_cancelled(), "{failure}");
        assert!(!folder.path().join(".nv-meta/.info.json").exists());
        assert!(!folder.path().join("shards/shard_0000.tar.idx").exists());
    }
    run_with(&plan, 1).unwrap();
    assert!(folder.path().join(".nv-meta/.info.json").exists());
}

#[test]
fn overwrite_after_a_scan_of_a_prepared_data_set_discards_wrong_index_rows() {
    let folder = copy_of("captioning_fieldmap");
    let root = folder.path();
    let mut plan = plan_for(root, ratio("8,1,1"), SampleMapping::Crude { cooker: false });
    run_with(&plan, 1).unwrap();
    // A wrong row in the old index must not survive an overwrite.
    let database = root.join(".nv-meta/index.sqlite");
    rusqlite::Connection::open(&database)
        .unwrap()
        .execute("UPDATE samples SET sample_key = 'wrong' || sample_key", [])
        .unwrap();
    let scan = LiveScan::start(root, &RunOptions::default()).unwrap();
    let facts = scan.wait().unwrap();
    assert!(facts.scan_complete);
    assert_eq!((facts.samples_seen, facts.parts["txt"].samples), (18, 18));
    assert_eq!(facts.shards.iter().map(|shard| shard.samples).collect::<Vec<_>>(), [5, 4, 3, 6]);
    assert!(facts.sketches.len() >= 18);
    plan.rerun = Rerun::Overwrite;
    let report = PrepareJob::start(plan, RunOptions::default(), Some(scan)).unwrap().wait().unwrap();
    assert_eq!(report.samples, 18);
    let connection = rusqlite::Connection::open(&database).unwrap();
    let wrong: i64 = connection
        .query_row("SELECT count(*) FROM samples WHERE sample_key LIKE 'wrong%'", [], |row| row.get(0))
        .unwrap();
    assert_eq!(wrong, 0);
}

fn update_of(root: &Path) -> PreparePlan {
    let mut update = PreparePlan::new(root.to_str().unwrap());
    update.rerun = Rerun::Update;
    update
}

/// A run that another machine stopped while it published leaves a set without `.info.json`.
#[test]
fn update_without_info_json_keeps_splits_and_excludes() {
    let root = Path::new("mem://prepare-elsewhere/set");
    let write = |name: &Path, bytes: &[u8]| write_file(&RealFs, &root.join(name), bytes, 0o644).unwrap();
    let input = golden("captioning_fieldmap", "input");
    for name in files_below(&input) {
        write(&name, &std::fs::read(input.join(&name)).unwrap());
    }
    run_with(&plan_for(root, ratio("8,1,1"), SampleMapping::Crude { cooker: false }), 1).unwrap();
    let exclude = PreparePlan { excludes: vec!["shards/shard_0001.tar".into()], ..update_of(root) };
    run_with(&exclude, 1).unwrap();
    let texts = || {
        [".info.json", "split.yaml", "dataset.yaml"].map(|name| {
            let bytes = gristmill_storage::files::read(root.join(".nv-meta").join(name)).unwrap();
            String::from_utf8(bytes).unwrap()
        })
    };
    let before = texts();
    assert!(before[1].contains("- shards/shard_0001.tar"), "{before:?}");
    let info = root.join(".nv-meta/.info.json");
    RealFs.remove_file(&info).unwrap();
    let failure = crate::engine::check::PreparedDataset::open(root).err().unwrap();
    assert!(failure.hint.unwrap().contains("--update"));
    let report = run_with(&update_of(root), 1).unwrap();
    assert_eq!(texts(), before);
    let is_note = |problem: &Problem| problem.message.contains("the splits and excludes of split.yaml stay");
    assert!(report.problems.iter().any(is_note), "{:?}", report.problems);

    RealFs.remove_file(&info).unwrap();
    write(Path::new(".nv-meta/split.yaml"), b"split_parts: [");
    let failure = run_with(&update_of(root), 1).unwrap_err();
    assert!(failure.to_string().contains("an update keeps its content"), "{failure}");
}

#[test]
fn update_that_only_adds_excludes_does_not_rewrite_indexes() {
    let folder = copy_of("captioning_fieldmap");
    let root = folder.path();
    run_with(&plan_for(root, ratio("8,1,1"), SampleMapping::Crude { cooker: false }), 1).unwrap();
    let index = root.join("shards/shard_0000.tar.idx");
    let before = std::fs::metadata(&index).unwrap().modified().unwrap();
    let mut update = update_of(root);
    update.excludes = vec!["shards/shard_0001.tar".into()];
    let report = run_with(&update, 1).unwrap();
    assert!(!report.nothing_to_do);
    let split = std::fs::read_to_string(root.join(".nv-meta/split.yaml")).unwrap();
    assert!(split.ends_with("exclude:\n- shards/shard_0001.tar\n"), "{split}");
    assert_eq!(std::fs::metadata(&index).unwrap().modified().unwrap(), before);
    assert!(!report.files.iter().any(|file| file.name.ends_with(".tar.idx")), "{:?}", report.files);
    assert!(run_with(&update, 1).unwrap().nothing_to_do, "the same exclude again changes nothing");
}

#[test]
fn an_update_with_unusable_answers_or_an_unreadable_split_yaml_is_refused() {
    let folder = copy_of("captioning_fieldmap");
    let root = folder.path();
    run_with(&plan_for(root, ratio("8,1,1"), SampleMapping::Crude { cooker: false }), 1).unwrap();
    let mut update = update_of(root);
    update.new_to = Some("bogus".into());
    let failure = run_with(&update, 1).unwrap_err();
    assert!(failure.to_string().contains("bogus"), "{failure}");
    put(&root.join(".nv-meta/split.yaml"), b"split_parts: [\n- x");
    let failure = run_with(&update_of(root), 1).unwrap_err();
    assert_eq!(failure.class, ExitClass::Data, "{failure}");
    assert!(failure.hint.unwrap_or_default().contains("--force-overwrite"));
    assert_eq!(std::fs::read(root.join(".nv-meta/split.yaml")).unwrap(), b"split_parts: [\n- x");
}

#[test]
fn a_refused_run_leaves_nothing_to_resume() {
    let folder = tempfile::tempdir().unwrap();
    let plan = twins(folder.path());
    run_with(&plan, 1).unwrap_err();
    let own = gristmill_storage::run_folder::RunFolder::for_webdataset(folder.path());
    assert!(!own.journal().exists() && !own.work_folder().exists());
}

#[test]
fn report_without_tables_has_no_part_count() {
    let folder = copy_of("captioning_fieldmap");
    let fields = vec![field("image", "jpg"), field("caption", "txt")];
    let loading = SampleMapping::FieldMap { sample_type: "CaptioningSample".into(), fields };
    let plan = plan_for(folder.path(), ratio("1,0,0"), loading);
    let first = run_with(&plan, 1).unwrap();
    assert!(first.parts.is_some_and(|parts| first.amounts().contains(&text::count(parts, "part"))));
    let second = run_with(&plan, 1).unwrap();
    assert_eq!((second.nothing_to_do, second.parts), (true, None));
    assert!(!second.amounts().iter().any(|words| words.contains("part")), "{:?}", second.amounts());
}

mod resume;

/// A field whose key only exists in the first shard is detected, because the field map is tried on samples of all shards.
#[test]
fn a_field_map_is_tried_on_samples_of_all_shards() {
    for shards in [3usize, 200] {
        let folder = tempfile::tempdir().unwrap();
        for shard in 0..shards {
            let mut builder = tar::Builder::new(Vec::new());
            for sample in 0..30 {
                let key = if shard == 0 { "caption" } else { "other" };
                let json = format!("{{\"{key}\": \"words\"}}");
                let mut header = tar::Header::new_gnu();
                header.set_size(json.len() as u64);
                header.set_cksum();
                builder.append_data(&mut header, format!("{shard:03}_{sample:02}.json"), json.as_bytes()).unwrap();
            }
            put(&folder.path().join(format!("{shard:03}.tar")), &builder.into_inner().unwrap());
        }
        let scan = LiveScan::start(folder.path(), &RunOptions { threads: 2, ..RunOptions::default() }).unwrap();
        let facts = scan.wait().unwrap();
        let places: Vec<_> = facts.sketches.iter().map(|sketch| (&sketch.shard, sketch.parts[0].1)).collect();
        assert!(places.is_sorted() && facts.sketches.len() <= 8 + 48, "{shards}: {places:?}");
        let from: std::collections::BTreeSet<_> = places.iter().map(|(shard, _)| *shard).collect();
        assert_eq!(from.len(), shards.min(48), "{shards}");
        let loading =
            SampleMapping::FieldMap { sample_type: "TextSample".into(), fields: vec![field("text", "json[caption]")] };
        let report = run_with(&plan_for(folder.path(), ratio("1,0,0"), loading), 2).unwrap();
        let told: Vec<_> = report.problems.iter().filter(|p| p.kind == ProblemKind::FieldFails).collect();
        assert_eq!(told.len(), 1, "{:?}", report.problems);
        assert!(told[0].message.contains("fails on") && !told[0].message.contains("every"), "{}", told[0].message);
    }
}

#[test]
fn sample_without_split_is_not_kept_over_its_copy_in_a_split() {
    let shard = |keys: &[&str]| {
        let mut builder = tar::Builder::new(Vec::new());
        for key in keys {
            let mut header = tar::Header::new_gnu();
            header.set_size(1);
            header.set_cksum();
            builder.append_data(&mut header, format!("{key}.txt"), &b"1"[..]).unwrap();
        }
        builder.into_inner().unwrap()
    };
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let gzip = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut encoder, bytes).unwrap();
        encoder.finish().unwrap()
    };
    put(&root.join("a.tgz"), &gzip(&shard(&["x", "y"])));
    put(&root.join("b.tar"), &shard(&["x", "y", "only"]));
    put(&root.join("c.tar"), &shard(&["x", "left", "y"]));
    let mut plan = plan_for(root, ratio("1,0,0"), SampleMapping::Crude { cooker: false });
    plan.duplicates = Duplicates::KeepFirst;
    plan.tgz = Tgz::Skip;
    plan.excludes = vec!["b.tar/y".into()];
    let report = run_with(&plan, 1).unwrap();
    let split = std::fs::read_to_string(root.join(".nv-meta/split.yaml")).unwrap();
    assert!(split.ends_with("exclude:\n- b.tar/y\n- c.tar/x\n"), "x is read from b, y from c: {split}");
    let database = rusqlite::Connection::open(root.join(".nv-meta/index.sqlite")).unwrap();
    let mut rows = database.prepare("SELECT sample_key, tar_file_id FROM samples ORDER BY 1").unwrap();
    let row = |row: &rusqlite::Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?));
    let rows: Vec<_> = rows.query_map([], row).unwrap().map(Result::unwrap).collect();
    let wanted = [("left", 2), ("only", 1), ("x", 1), ("y", 2)].map(|(key, id)| (key.to_owned(), id));
    assert_eq!(rows, wanted);
    let told: Vec<&str> = report.problems.iter().map(|p| p.message.as_str()).collect();
    assert!(told.iter().any(|words| words.contains("the earlier one is in no training")), "{told:?}");
}

#[test]
fn reindexing_one_changed_shard_corrects_its_count() {
    let folder = copy_of("captioning_fieldmap");
    let root = folder.path();
    let plan = plan_for(root, ratio("8,1,1"), SampleMapping::Crude { cooker: false });
    run_with(&plan, 1).unwrap();
    let info = root.join(".nv-meta/.info.json");
    let before = std::fs::read_to_string(&info).unwrap();
    let alone = PreparePlan { scope: Scope::TarIndexOnly, rerun: Rerun::Overwrite, ..plan };
    let told = run_with(&alone, 1).unwrap().problems;
    assert!(told.iter().all(|p| p.kind != ProblemKind::IndexMismatch), "{told:?}");
    assert_eq!(std::fs::read_to_string(&info).unwrap(), before, "counts that hold stay as they are, byte for byte");
    std::fs::copy(
        golden("captioning_fieldmap", "input").join("shards/shard_0003.tar"),
        root.join("shards/shard_0001.tar"),
    )
    .unwrap();
    std::fs::remove_file(root.join("shards/shard_0003.tar")).unwrap();
    let compat = PreparePlan { compat: true, ..alone.clone() };
    let told = run_with(&compat, 1).unwrap().problems;
    assert!(told.iter().any(|p| p.message == "4 samples in .info.json, 6 in the shard"), "{told:?}");
    assert_eq!(std::fs::read_to_string(&info).unwrap(), before);
    let told = run_with(&alone, 1).unwrap().problems;
    assert!(told.iter().all(|p| p.severity == Severity::Note), "{told:?}");
    let counts = gristmill_data::formats::energon::info::Info::read(root).unwrap().unwrap().shard_counts;
    assert_eq!(counts.iter().map(|(_, n)| *n).collect::<Vec<_>>(), [5, 6, 3]);
}

/// If a shard is missing from the list, the shards after it must not get the rows of other shards.
#[test]
fn update_ignores_old_tables_with_more_shards_than_the_list() {
    let folder = copy_of("captioning_fieldmap");
    let root = folder.path();
    run_with(&plan_for(root, ratio("8,1,1"), SampleMapping::Crude { cooker: false }), 1).unwrap();
    let rows = |root: &Path| {
        let database = rusqlite::Connection::open(root.join(".nv-meta/index.sqlite")).unwrap();
        let mut rows = database.prepare("SELECT sample_key, tar_file_id FROM samples ORDER BY 1").unwrap();
        let row = |row: &rusqlite::Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?));
        let rows: Vec<_> = rows.query_map([], row).unwrap().map(Result::unwrap).collect();
        rows
    };
    let whole = rows(root);
    let path = root.join(".nv-meta/.info.json");
    let mut info = gristmill_data::formats::energon::info::Info::read(root).unwrap().unwrap();
    info.shard_counts.remove(1);
    put(&path, info.to_json().as_bytes());
    let report = run_with(&update_of(root), 1).unwrap();
    assert_eq!(rows(root), whole);
    assert!(report.problems.iter().any(|p| p.kind == ProblemKind::IndexMismatch), "{:?}", report.problems);
}
