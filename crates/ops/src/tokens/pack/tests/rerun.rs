//! The number of threads, the memory, the block sizes and kills do not affect the output.

use super::*;
use crate::job::record::check_running;
use gristmill_core::{DedupPlan, ExitClass};
use gristmill_storage::fs::fault::{Fault, FaultFs};
use gristmill_storage::publish::write_file;
use gristmill_storage::run_folder::RunFolder;
use rustix::io::Errno;

/// A folder of valid and invalid documents, with a path for the output.
pub(super) struct World {
    pub(super) dir: tempfile::TempDir,
}

/// A change to the plan of all formats.
type Change = fn(&mut PackPlan);

impl World {
    pub(super) fn new() -> Self {
        let world = Self { dir: tempfile::tempdir().unwrap() };
        for file in 0..3_usize {
            let mut text = String::new();
            for line in 0..12 {
                match (file + line) % 7 {
                    5 => text.push_str("{\"id\": 1}\n"),
                    6 => text.push_str("not json\n"),
                    n => text
                        .push_str(&format!("{{\"text\": \"document {line} of {file}{}\"}}\n", " word".repeat(n * 3))),
                }
            }
            world.put(&format!("in/{file}.jsonl"), text.as_bytes());
        }
        world.put("in/3.jsonl", b"");
        world.put("in/4.jsonl", b"{\"text\": \"one\"}\r{\"text\": \"two\"}\n{\"text\": \"no line end\"}");
        world
    }

    pub(super) fn put(&self, name: &str, bytes: &[u8]) {
        let path = self.dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        write_file(&RealFs, &path, bytes, 0o644).unwrap();
    }

    pub(super) fn output(&self) -> PathBuf {
        self.dir.path().join("out")
    }

    pub(super) fn plan(&self) -> PackPlan {
        let mut plan = plan(&self.dir.path().join("in"), "modalities/tokenizers/wl200", &self.output());
        plan.modalities = Some(ModalitiesTarget::default());
        plan.nanosets = Some(NanosetsTarget {
            tasks: Some(2),
            shuffle: DocumentShuffle::Documents,
            max_tokens_per_file: Some(90),
            skip: 1,
            ..NanosetsTarget::default()
        });
        plan.forager = Some(ForagerTarget::new(SampleSize::Fixed(13)));
        plan
    }

    pub(super) fn run(&self, options: RunOptions, tuning: Tuning, fs: Arc<dyn Fs>) -> Outcome<PackReport> {
        start_on(self.plan(), options, tuning, fs)?.wait()
    }

    pub(super) fn go(&self) -> Outcome<PackReport> {
        self.run(options(1), LINE_BY_LINE, Arc::new(RealFs))
    }

    /// Asserts that the run folder contains a record and nothing to resume.
    fn assert_tidy(&self, context: &str) {
        let own = self.dir.path().join("out.gristmill");
        let names: std::collections::BTreeSet<String> =
            std::fs::read_dir(own).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        // A killed run may have created draft files of the lock without acquiring it.
        let names: Vec<&str> = names.iter().map(String::as_str).filter(|name| !name.starts_with("lock.")).collect();
        assert_eq!(names, ["plan.yaml", "report.json"], "{context}");
    }
}

/// Every line is a block, and every block is recorded in the journal.
pub(super) const LINE_BY_LINE: Tuning = Tuning { block_bytes: Some(1), commit_bytes: Some(0), free_bytes: None };

#[test]
fn packed_bytes_do_not_depend_on_threads_memory_and_block_size() {
    let world = World::new();
    let report = world.go().unwrap();
    assert!(report.targets.iter().all(|target| target.documents > 0 && target.skipped.len() >= 2), "{report:?}");
    let expected = files(&world.output());
    assert!(expected.len() > 15, "{:?}", expected.keys());
    for (threads, block, memory) in
        [(1, None, 256 << 20), (2, Some(40), 1), (7, Some(100), 3_000), (3, Some(1), 1 << 20), (2, Some(1 << 20), 1)]
    {
        let world = World::new();
        let options = RunOptions { threads, memory_bytes: memory, ..RunOptions::default() };
        let tuning = Tuning { block_bytes: block, commit_bytes: None, free_bytes: None };
        let other = world.run(options, tuning, Arc::new(RealFs)).unwrap();
        assert_same(&files(&world.output()), &expected, &format!("{threads} {block:?} {memory}"));
        assert_eq!((other.documents, other.tokens, other.bytes), (report.documents, report.tokens, report.bytes));
        assert_eq!(other.targets.len(), report.targets.len());
        let lines = |report: &PackReport| {
            report.problems.iter().map(|problem| (problem.subject.line, problem.message.clone())).collect::<Vec<_>>()
        };
        assert_eq!(lines(&other), lines(&report));
    }
}

#[test]
fn formats_packed_together_have_the_same_bytes_as_packed_alone() {
    let together = World::new();
    together.go().unwrap();
    let expected = files(&together.output());
    let alone: [(&str, Change); 3] = [
        ("modalities", |plan| (plan.nanosets, plan.forager) = (None, None)),
        ("nanosets", |plan| (plan.modalities, plan.forager) = (None, None)),
        ("forager", |plan| (plan.modalities, plan.nanosets) = (None, None)),
    ];
    for (name, change) in alone {
        let world = World::new();
        let mut plan = world.plan();
        change(&mut plan);
        run(&plan).unwrap();
        let prefix = format!("{name}/");
        let part: BTreeMap<String, Vec<u8>> = expected
            .iter()
            .filter_map(|(path, bytes)| Some((path.strip_prefix(&prefix)?.to_owned(), bytes.clone())))
            .collect();
        assert_same(&files(&world.output()), &part, name);
    }
}

#[test]
fn pack_killed_at_any_operation_resumes_to_the_same_bytes() {
    let expected = World::new();
    let whole = expected.go().unwrap();
    let expected = files(&expected.output());
    let counting = FaultFs::new(Fault::Nothing);
    World::new().run(options(1), LINE_BY_LINE, Arc::new(counting.clone())).unwrap();
    let ops = counting.ops();
    let mut resumed = 0;
    // The steps cover every kind of file operation over all runs, in acceptable time.
    for at in (0..ops).step_by(11).chain((ops - 60..ops).step_by(3)) {
        let world = World::new();
        let result = world.run(options(1), LINE_BY_LINE, Arc::new(FaultFs::new(Fault::Kill { at })));
        let context = format!("killed at {at} of {ops}");
        if result.is_err() {
            let again = world.go().unwrap_or_else(|failure| panic!("{context}: {failure}"));
            if !again.nothing_to_do {
                resumed += u64::from(again.resumed_bytes > 0);
                assert_eq!((again.documents, again.tokens, again.bytes), (whole.documents, whole.tokens, whole.bytes));
                assert_eq!(again.counts, whole.counts, "{context}");
            }
        }
        assert_same(&files(&world.output()), &expected, &context);
        world.go().unwrap();
        world.assert_tidy(&context);
    }
    assert!(resumed > 10, "{resumed}");
}

#[test]
fn full_disk_or_power_cut_publishes_no_partial_output_and_pack_resumes() {
    let expected = World::new();
    expected.go().unwrap();
    let expected = files(&expected.output());
    let counting = FaultFs::new(Fault::Nothing);
    World::new().run(options(1), LINE_BY_LINE, Arc::new(counting.clone())).unwrap();
    let ops = counting.ops();
    for at in (0..ops).step_by(37) {
        for fault in [Fault::Full { at, errno: Errno::NOSPC }, Fault::PowerCut { at }] {
            let world = World::new();
            let result = world.run(options(2), LINE_BY_LINE, Arc::new(FaultFs::new(fault)));
            let context = format!("{fault:?} of {ops}");
            if let Err(failure) = &result {
                // After an injected failure, another thread may read back data that was not written.
                if matches!(fault, Fault::Full { .. }) {
                    assert_eq!(failure.class, ExitClass::Environment, "{context}: {failure}");
                    assert!(!world.output().exists() || files(&world.output()).is_empty(), "{context}");
                }
            }
            world.go().unwrap_or_else(|failure| panic!("{context}: {failure}"));
            assert_same(&files(&world.output()), &expected, &context);
        }
    }
}

#[test]
fn second_run_does_nothing_and_a_different_plan_is_refused_with_differences() {
    let world = World::new();
    world.go().unwrap();
    let before = files(&world.output());
    let again = world.go().unwrap();
    assert!(again.nothing_to_do);
    let mut other = world.plan();
    other.seed = 7;
    let failure = run(&other).unwrap_err();
    assert!(failure.class == ExitClass::Data && failure.why.contains("seed: 42 → 7"), "{failure}");
    assert_same(&files(&world.output()), &before, "refused");
    other.overwrite = true;
    run(&other).unwrap();
    assert_ne!(files(&world.output()), before);
    // The first plan again; no file of the other plan remains.
    let back = PackPlan { overwrite: true, ..world.plan() };
    run(&back).unwrap();
    assert_same(&files(&world.output()), &before, "overwritten");
    world.put("in/0.jsonl", b"{\"text\": \"new\"}\n");
    let failure = world.go().unwrap_err();
    assert!(failure.why.contains("the input changed") && failure.why.contains("0.jsonl"), "{failure}");
}

#[test]
fn files_of_other_programs_are_not_replaced() {
    for (name, is_in_the_way) in [
        ("out/modalities/1.pbin", true),
        ("out/nanosets/00001_unshuffled.ds", true),
        ("out/forager/index/x", true),
        ("out/other", false),
    ] {
        let world = World::new();
        world.put(name, b"precious");
        let result = world.go();
        assert_eq!(result.is_err(), is_in_the_way, "{name}");
        assert_eq!(std::fs::read(world.dir.path().join(name)).unwrap(), b"precious");
    }
}

#[test]
fn stopped_run_of_another_plan_is_kept_without_restart() {
    let world = World::new();
    let ops = {
        let counting = FaultFs::new(Fault::Nothing);
        World::new().run(options(1), LINE_BY_LINE, Arc::new(counting.clone())).unwrap();
        counting.ops()
    };
    world.run(options(1), LINE_BY_LINE, Arc::new(FaultFs::new(Fault::Kill { at: ops / 2 }))).unwrap_err();
    let mut other = world.plan();
    other.seed = 9;
    let failure = run(&other).unwrap_err();
    assert!(failure.why.contains("stopped run") && failure.hint.unwrap().contains("--restart"));
    let own = RunFolder::for_output(&world.output());
    let failure = check_running(&DedupPlan::new("in", "out"), &own).unwrap_err();
    assert!(failure.why.contains("a stopped run of `gristmill pack`"), "{failure}");
    let options = RunOptions { restart: true, ..options(1) };
    start(other, options).unwrap().wait().unwrap();
}

#[test]
fn input_that_changes_during_the_run_is_named_in_the_failure() {
    let world = World::new();
    let task = start_on(world.plan(), options(1), LINE_BY_LINE, Arc::new(RealFs)).unwrap();
    world.put("in/2.jsonl", b"{\"text\": \"other\"}\n");
    // Either the file was listed after the change, or the run detected the change.
    if let Err(failure) = task.wait() {
        assert!(
            failure.class == ExitClass::Data && failure.subject.path.as_deref().unwrap().ends_with("2.jsonl"),
            "{failure}"
        );
        assert!(!world.output().exists());
    }
}

#[test]
fn run_without_valid_documents_is_refused_with_the_existing_keys() {
    let world = World::new();
    let mut plan = world.plan();
    plan.text = TextField::Key("content".into());
    let failure = run(&plan).unwrap_err();
    assert_eq!(failure.class, ExitClass::Data);
    assert!(failure.hint.as_ref().unwrap().contains("The lines have the keys: text"), "{failure:?}");
    assert!(!world.output().exists() && !world.dir.path().join("out.gristmill").exists());
}

#[test]
fn cancelled_pack_publishes_nothing_and_resumes() {
    let world = World::new();
    let task = start_on(world.plan(), options(2), LINE_BY_LINE, Arc::new(RealFs)).unwrap();
    task.cancel();
    if let Err(failure) = task.wait() {
        assert!(failure.is_cancelled(), "{failure}");
        assert!(!world.output().exists());
    }
    let expected = World::new();
    expected.go().unwrap();
    world.go().unwrap();
    assert_same(&files(&world.output()), &files(&expected.output()), "cancelled");
}

#[test]
fn stale_sample_schema_is_removed_by_overwrite() {
    let world = World::new();
    let mut plan = world.plan();
    (plan.modalities, plan.nanosets, plan.overwrite) = (None, None, true);
    world.put("out/index/sample_schema.json", b"{}");
    world.put("out/index/file_location.txt", b"nowhere.bin\n");
    run(&plan).unwrap();
    let made = files(&world.output());
    assert!(!made.contains_key("index/sample_schema.json"), "{:?}", made.keys());
    assert!(made.contains_key("index/sample_locations.bin"));
}

#[test]
fn insufficient_disk_space_is_refused_before_packing() {
    let world = World::new();
    let with = |free| Tuning { free_bytes: Some(free), ..LINE_BY_LINE };
    let failure = world.run(options(1), with(100), Arc::new(RealFs)).unwrap_err();
    assert_eq!(failure.class, ExitClass::Environment);
    assert!(failure.why.contains("needed, and 100 B are free"), "{failure}");
    assert!(!world.output().exists());
    // Enough for the estimate, but not for the worst case.
    let needed = preview(&world.plan(), &options(1), &Default::default()).unwrap().needed_bytes;
    world.run(options(1), with(needed), Arc::new(RealFs)).unwrap();
    assert!(world.output().exists());
}

#[test]
fn preview_matches_the_report_and_writes_nothing() {
    let world = World::new();
    let seen = preview(&world.plan(), &options(1), &Default::default()).unwrap();
    assert!(!world.output().exists() && !world.dir.path().join("out.gristmill").exists());
    let report = world.go().unwrap();
    assert_eq!((seen.file_count, seen.documents, seen.tokens), (5, report.documents, report.tokens));
    for (before, after) in seen.targets.iter().zip(&report.targets) {
        assert_eq!(
            (&before.format, &before.path, before.skipped.len()),
            (&after.format, &after.path, after.skipped.len())
        );
        assert!(before.tokens.abs_diff(after.tokens) < 60, "{} {}", before.tokens, after.tokens);
        assert!(!before.outputs.is_empty());
        for output in &before.outputs {
            let size = std::fs::metadata(&output.name).unwrap().len();
            assert!(output.bytes.abs_diff(size) < size / 3 + 300, "{} {} {size}", output.name, output.bytes);
        }
    }
    assert!(preview(&world.plan(), &options(1), &Default::default()).unwrap().nothing_to_do);
    let mut wrong = world.plan();
    wrong.text = TextField::Key("content".into());
    wrong.output = world.dir.path().join("elsewhere").to_str().unwrap().into();
    let seen = preview(&wrong, &options(1), &Default::default()).unwrap();
    assert!(seen.problems.iter().any(|problem| problem.hint.as_ref().is_some_and(|hint| hint.contains("text"))));
}

#[test]
fn long_line_without_a_document_does_not_increase_the_estimate() {
    let world = World { dir: tempfile::tempdir().unwrap() };
    let documents = |count: usize| "{\"text\": \"some words of a document\"}\n".repeat(count);
    let long = format!("{{\"version\": \"{}\"}}", "no text ".repeat(1 << 20));
    world.put("in/a.jsonl", documents(60_000).as_bytes());
    world.put("in/b.json", long.as_bytes());
    let mut plan = world.plan();
    (plan.nanosets, plan.forager) = (Some(NanosetsTarget::default()), None);
    plan.modalities = None;
    let seen = preview(&plan, &options(1), &Default::default()).unwrap();
    let report = start_on(plan.clone(), options(1), Tuning::default(), Arc::new(RealFs)).unwrap().wait().unwrap();
    assert_eq!((seen.file_count, report.documents), (2, 60_000));
    assert!(seen.tokens.abs_diff(report.tokens) < report.tokens / 4, "{} {}", seen.tokens, report.tokens);
    // If such long lines are documents, they are estimated from the sampled places in which one starts.
    let text = "words ".repeat(1 << 16);
    world.put("in/b.json", format!("{{\"text\": \"{text}\"}}\n").repeat(20).as_bytes());
    plan.output = world.dir.path().join("other").to_str().unwrap().into();
    let seen = preview(&plan, &options(1), &Default::default()).unwrap();
    let report = start_on(plan, options(1), Tuning::default(), Arc::new(RealFs)).unwrap().wait().unwrap();
    assert!(seen.tokens.abs_diff(report.tokens) < report.tokens / 4, "{} {}", seen.tokens, report.tokens);
}

#[test]
fn an_output_in_the_input_folder_is_never_read_as_input() {
    let world = World::new();
    let mut plan = world.plan();
    plan.output = world.dir.path().join("in/out").to_str().unwrap().into();
    (plan.modalities, plan.forager) = (None, None);
    run(&plan).unwrap();
    assert!(run(&plan).unwrap().nothing_to_do);
    plan.overwrite = true;
    assert_eq!(run(&plan).unwrap().files, 5);
    plan.output = world.dir.path().join("in").to_str().unwrap().into();
    let failure = run(&plan).unwrap_err();
    assert_eq!(failure.class, ExitClass::Usage, "{failure}");
}

#[test]
fn readable_part_of_a_cut_file_is_packed_and_the_damage_reported() {
    use std::io::Write as _;
    let world = World::new();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    let text: String =
        (0..4000_u64).map(|line| format!("{{\"text\": \"document {}\"}}\n", line * line * 7919)).collect();
    encoder.write_all(text.as_bytes()).unwrap();
    let packed = encoder.finish().unwrap();
    world.put("in/5.jsonl.gz", &packed[..packed.len() / 2]);
    let mut plan = world.plan();
    (plan.modalities, plan.forager) = (None, None);
    let report = run(&plan).unwrap();
    assert!(report.documents > 1000 && report.documents < 4000, "{}", report.documents);
    assert!(report.problems.iter().any(|problem| problem.kind == gristmill_core::ProblemKind::CutShort));
}

#[test]
fn document_of_megabytes_is_packed_with_little_memory() {
    let world = World::new();
    let long = format!("{{\"text\": \"{}\"}}\n{{\"text\": \"after\"}}\n", "many words ".repeat(400_000));
    world.put("in/6.jsonl", long.as_bytes());
    let options = RunOptions { threads: 2, memory_bytes: 1 << 20, ..RunOptions::default() };
    let report = world.run(options, Tuning::default(), Arc::new(RealFs)).unwrap();
    assert!(report.tokens > 400_000 && report.problems.iter().all(|problem| !problem.message.contains("longer")));
}

#[test]
fn run_started_with_relative_paths_resumes_by_its_recorded_plan() {
    let world = World::new();
    let counting = FaultFs::new(Fault::Nothing);
    World::new().run(options(1), LINE_BY_LINE, Arc::new(counting.clone())).unwrap();
    let up = "../".repeat(std::env::current_dir().unwrap().components().count() - 1);
    let from_here = |path: &str| format!("{up}{}", path.trim_start_matches('/'));
    let mut near = world.plan();
    near.inputs.iter_mut().chain([&mut near.output]).for_each(|path| *path = from_here(path));
    let killed = Arc::new(FaultFs::new(Fault::Kill { at: counting.ops() / 2 }));
    assert!(start_on(near.clone(), options(1), LINE_BY_LINE, killed).unwrap().wait().is_err());
    let left = std::fs::read_to_string(world.dir.path().join("out.gristmill/work/plan.yaml")).unwrap();
    let left: PackPlan = crate::engine::plan::file::read_typed(&left, "pack").unwrap();
    assert!(left.inputs.iter().chain([&left.output]).all(|path| path.starts_with('/')), "{left:?}");
    let again = start_on(left, options(1), LINE_BY_LINE, Arc::new(RealFs)).unwrap().wait().unwrap();
    assert!(again.resumed_bytes > 0, "what was done is done again");
    assert!(start_on(near, options(1), LINE_BY_LINE, Arc::new(RealFs)).unwrap().wait().unwrap().nothing_to_do);
}
