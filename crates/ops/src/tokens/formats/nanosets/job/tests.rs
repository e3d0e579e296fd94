use super::super::mixture::job::{MixtureIndexReport, DATASET_INDEX, SAMPLE_INDEX};
use super::super::mixture::{Member, MixtureIndexPlan};
use super::super::operations::{NanosetsMerge, NanosetsShuffle};
use crate::job::files_report::FilesReport;
use crate::job::report::Report;
use crate::operations::{start, MixIndex, Operation};
use crate::tokens::formats::nanosets::engine::{MergePlan, WindowsPlan};
use gristmill_core::{ExitClass, Outcome, RunOptions};
use gristmill_storage::fs::fault::{Fault, FaultFs};
use gristmill_storage::fs::RealFs;
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn golden(case: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/nanosets").join(case)
}

fn files_in(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    files.map(|f| (f.file_name().into_string().unwrap(), std::fs::read(f.path()).unwrap())).collect()
}

fn merge_plan() -> MergePlan {
    let input = golden("06_merge/expected");
    MergePlan { seed: Some(7), max_tokens_per_file: 400, ..MergePlan::new(input, "", "all") }
}

fn merge_all(plan: MergePlan, output: &Path, overwrite: bool) -> Outcome<FilesReport> {
    run::<NanosetsMerge, _>(MergePlan { output: output.to_owned(), overwrite, ..plan })
}

fn run<O: Operation<Preview = R, Report = R>, R: Report>(plan: O::Plan) -> Outcome<R> {
    start::<O, _>(plan, false, RunOptions::default(), Arc::new(RealFs))?.wait()
}

#[test]
fn merge_publishes_exactly_the_files_of_the_reference() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("deep/merged");
    let plan = MergePlan { output: output.clone(), ..merge_plan() };
    let dry = start::<NanosetsMerge, _>(plan, true, RunOptions::default(), Arc::new(RealFs)).unwrap().wait().unwrap();
    assert_eq!((dry.tokens, dry.units, dry.inputs, output.exists()), (1124, 30, 3, false));
    let report = merge_all(merge_plan(), &output, false).unwrap();
    assert_eq!(files_in(&output), files_in(&golden("06_merge/merged")));
    assert_eq!(report.files.len(), 10);
    assert!(report.files.iter().all(|file| file.bytes == files_in(&output)[&file.name].len() as u64));
    assert_eq!(std::fs::read_dir(dir.path().join("deep")).unwrap().count(), 1, "our own folder is gone");
    assert!(!report.nothing_to_do);
    let stamp = || gristmill_storage::read::stamp_at(&output.join("000_all.ds")).unwrap();
    let before = stamp();
    let again = merge_all(merge_plan(), &output, false).unwrap();
    assert!(again.nothing_to_do && before == stamp(), "the same merge leaves everything alone");
    let failure = merge_all(MergePlan { seed: Some(8), ..merge_plan() }, &output, false).unwrap_err();
    assert_eq!(failure.class, ExitClass::Data);
    assert_eq!(files_in(&output), files_in(&golden("06_merge/merged")), "another one is refused");
    assert_eq!(std::fs::read_dir(dir.path().join("deep")).unwrap().count(), 1);
    // A merge with fewer files in the same folder removes all files of the old merge.
    let one = MergePlan { max_tokens_per_file: 0, ..merge_plan() };
    let report = merge_all(one, &output, true).unwrap();
    assert!(report.files.iter().all(|file| file.replaces));
    assert_eq!(files_in(&output).len(), 4);
}

#[test]
fn a_merge_into_its_own_input_is_refused() {
    let plan = merge_plan();
    let failure = merge_all(plan.clone(), &plan.input.clone(), false).unwrap_err();
    assert_eq!(failure.class, ExitClass::Usage);
    let bad = MergePlan { name: "../x".into(), ..plan };
    assert_eq!(merge_all(bad, Path::new("/nonexistent"), false).unwrap_err().class, ExitClass::Usage);
}

/// Makes each disk operation fail in turn, and checks that the output has all files or none.
fn at_every_fault(run: impl Fn(Arc<FaultFs>, &Path) -> Outcome<()>, expected: &BTreeMap<String, Vec<u8>>) {
    for at in 0.. {
        let dir = tempfile::tempdir().unwrap();
        let output = dir.path().join("out");
        let fs = Arc::new(FaultFs::new(Fault::From { at, errno: Errno::NOSPC }));
        let result = run(fs, &output);
        let there = if output.is_dir() { files_in(&output) } else { BTreeMap::new() };
        match result {
            Ok(()) => {
                assert_eq!(there, *expected);
                return;
            }
            Err(failure) => {
                assert_eq!(failure.class, ExitClass::Environment, "{failure}");
                let last_is_there = there.contains_key("all.ds.metadata") || there.contains_key(SAMPLE_INDEX);
                assert!(!last_is_there || there == *expected, "fault {at}: {:?}", there.keys());
            }
        }
    }
}

#[test]
fn merge_on_a_full_disk_leaves_no_partial_output() {
    let run = |fs: Arc<FaultFs>, output: &Path| {
        let plan = MergePlan { output: output.to_owned(), ..merge_plan() };
        start::<NanosetsMerge, _>(plan, false, RunOptions::default(), fs)?.wait().map(drop)
    };
    at_every_fault(run, &files_in(&golden("06_merge/merged")));
}

fn index_plan(output: &Path) -> MixtureIndexPlan {
    MixtureIndexPlan {
        version: gristmill_core::plan::PLAN_VERSION,
        members: [8, 2, 5, 5].map(Member::Windows).to_vec(),
        weights: Some(vec![0.1, 0.5, 0.3, 0.1]),
        sequence_length: None,
        samples: 70,
        training: Default::default(),
        seed: 1234,
        output: output.to_owned(),
        overwrite: false,
    }
}

fn start_index(plan: MixtureIndexPlan, is_preview: bool) -> Outcome<MixtureIndexReport> {
    start::<MixIndex, _>(plan, is_preview, RunOptions::default(), Arc::new(RealFs))?.wait()
}

#[test]
fn an_index_is_published_as_two_arrays() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("mix");
    let report = start_index(index_plan(&output), false).unwrap();
    let drawn: Vec<u64> = report.outlook.members.iter().map(|share| share.samples).collect();
    assert_eq!(drawn, [7, 34, 21, 8]);
    let files = files_in(&output);
    assert_eq!(files.len(), 2);
    let numbers = |name: &str| -> Vec<u64> {
        let content = &files[name][128..];
        content.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect()
    };
    assert_eq!(numbers(DATASET_INDEX)[..8], [1, 1, 0, 2, 3, 1, 3, 1]);
    assert_eq!(numbers(SAMPLE_INDEX)[..8], [1, 0, 0, 4, 1, 0, 0, 0]);
    assert_eq!(numbers(SAMPLE_INDEX).len(), 70);
    assert!(files[SAMPLE_INDEX].starts_with(b"\x93NUMPY\x01\x00v\x00{'descr': '<i8'"));
    assert!(!report.nothing_to_do);
    let again = |plan| start_index(plan, false);
    assert!(again(index_plan(&output)).unwrap().nothing_to_do);
    let dry = start_index(index_plan(&output), true).unwrap();
    assert!(
        dry.findings.problems.iter().any(|note| note.message.contains("of that name already")),
        "{:?}",
        dry.findings.problems
    );
    for other in
        [MixtureIndexPlan { seed: 1, ..index_plan(&output) }, MixtureIndexPlan { samples: 71, ..index_plan(&output) }]
    {
        assert_eq!(again(other).unwrap_err().class, ExitClass::Data);
    }
    assert_eq!(files_in(&output), files, "another one is refused");
    let over = MixtureIndexPlan { overwrite: true, seed: 1, ..index_plan(&output) };
    start_index(over, false).unwrap();
    assert_ne!(files_in(&output), files);
    let run = |fs: Arc<FaultFs>, output: &Path| {
        start::<MixIndex, _>(index_plan(output), false, RunOptions::default(), fs)?.wait().map(drop)
    };
    at_every_fault(run, &files);
}

#[test]
fn folders_are_mixed_by_their_window_counts() {
    let dir = tempfile::tempdir().unwrap();
    let folders = ["02_modern_noshuffle/expected", "03_modern_doc_shuffle_split/expected"];
    let plan = |weights, samples, sequence_length| MixtureIndexPlan {
        members: folders.iter().map(|folder| Member::Folder(golden(folder))).collect(),
        weights,
        samples,
        sequence_length,
        ..index_plan(&dir.path().join("mix"))
    };
    let dry = |plan| start_index(plan, true);
    let report = dry(plan(Some(vec![0.8, 0.2]), 100, Some(32))).unwrap();
    assert_eq!(report.outlook.members.iter().map(|share| share.windows).collect::<Vec<_>>(), [35, 76]);
    assert_eq!(report.outlook.members.iter().map(|share| share.samples).collect::<Vec<_>>(), [80, 20]);
    assert!(!dir.path().join("mix").exists());
    assert_eq!(dry(plan(None, 100, None)).unwrap_err().class, ExitClass::Usage);
    assert_eq!(dry(plan(None, 100, Some(0))).unwrap_err().class, ExitClass::Usage);
    assert_eq!(dry(plan(None, 100, Some(100_000))).unwrap_err().class, ExitClass::Data, "no window at all");
    let mut other = plan(None, 100, Some(32));
    other.members.push(Member::Folder(golden("07_wordlevel_u32/expected")));
    assert!(dry(other).unwrap_err().why.contains("4 bytes"));
}

#[test]
fn shuffled_windows_are_published_without_index_and_metadata() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("shuffled");
    let plan = WindowsPlan::new(golden("02_modern_noshuffle/expected"), &output, 33, 1);
    let report = run::<NanosetsShuffle, _>(plan.clone()).unwrap();
    assert_eq!((report.units, report.tokens), (35, 35 * 33));
    let names: Vec<String> = files_in(&output).into_keys().collect();
    assert_eq!(names, ["00000_unshuffled.ds", "00001_unshuffled.ds", "00002_unshuffled.ds"]);
    let again = |plan| run::<NanosetsShuffle, _>(plan);
    assert!(again(plan.clone()).unwrap().nothing_to_do);
    assert!(again(WindowsPlan { seed: 2, ..plan.clone() }).is_err());
    assert!(again(WindowsPlan { overwrite: true, seed: 2, ..plan }).is_ok_and(|report| !report.nothing_to_do));
}
