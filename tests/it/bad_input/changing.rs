//! Shards that grow, shrink, vanish or are replaced while they are read. A callback of the scan makes the change, at an exact offset.

use super::sandbox::{keys, Sandbox};
use super::tars::{archive, samples};
use crate::support::put;
use gristmill_core::{
    Cancel, Handles, HiddenSample, Outcome, PartRow, PreparePlan, Problem, ProblemKind, ProblemLog, Progress,
    RunOptions, SampleMapping, SampleRow, Severity, SplitPlan,
};
use gristmill_data::source::tar::{scan_shard, ScanSink, ShardScan};
use gristmill_ops::job::prepare::PrepareJob;
use gristmill_ops::job::scan::LiveScan;
use std::path::Path;

/// Changes the file when the first sample is known, and collects the keys of the samples.
struct FileChanger<'a> {
    change: Option<&'a dyn Fn()>,
    keys: Vec<String>,
}

impl ScanSink for FileChanger<'_> {
    fn part(&mut self, _: PartRow<'_>) -> Outcome<()> {
        Ok(())
    }
    fn sample(&mut self, row: SampleRow<'_>) -> Outcome<()> {
        if let Some(change) = self.change.take() {
            change();
        }
        self.keys.push(row.key.to_owned());
        Ok(())
    }
    fn hidden_sample(&mut self, _: HiddenSample) -> Outcome<()> {
        Ok(())
    }
}

/// Exceeds one window of the scan, so that a part of the file is read after the change.
const SAMPLES: usize = 3000;

fn scan_while(sandbox: &Sandbox, change: impl Fn()) -> (ShardScan, Vec<String>, Vec<Problem>) {
    let shard = gristmill_data::source::discover::discover(&sandbox.data()).unwrap().shards.remove(0);
    let (progress, cancel, log) = (Progress::default(), Cancel::default(), ProblemLog::default());
    let handles = Handles { progress: &progress, cancel: &cancel, problems: &log };
    let mut sink = FileChanger { change: Some(&change), keys: Vec::new() };
    let scan = scan_shard(&shard, &mut sink, &handles).unwrap();
    (scan, sink.keys, log.to_vec())
}

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    put(&sandbox.at("a.tar"), &archive(&samples("k", SAMPLES)));
    sandbox
}

#[track_caller]
fn assert_noticed(problems: &[Problem], word: &str) {
    let found = problems.iter().find(|problem| problem.kind == ProblemKind::ChangedDuringScan);
    let problem = found.unwrap_or_else(|| panic!("not noticed: {problems:?}"));
    assert_eq!((problem.severity, problem.subject.shard.as_deref()), (Severity::Problem, Some("a.tar")));
    assert!(problem.message.contains(word) && problem.hint.is_some(), "{problem:?}");
}

#[test]
fn shard_that_grows_during_scan_is_reported() {
    let sandbox = sandbox();
    let path = sandbox.at("a.tar");
    let grow = || {
        use std::io::Write as _;
        let mut file = std::fs::File::options().append(true).open(&path).unwrap();
        file.write_all(&[7; 100_000]).unwrap();
    };
    let (scan, found, problems) = scan_while(&sandbox, grow);
    assert_noticed(&problems, "changed");
    assert_eq!((scan.samples as usize, found.len()), (SAMPLES, SAMPLES), "what was whole before is whole");
    assert!(scan.stamp.bytes < std::fs::metadata(&path).unwrap().len(), "the next run sees another size");
}

#[test]
fn a_shard_that_is_cut_while_it_is_read_keeps_its_whole_samples() {
    let sandbox = sandbox();
    let path = sandbox.at("a.tar");
    let cut = || std::fs::File::options().write(true).open(&path).unwrap().set_len(2_000_000).unwrap();
    let (scan, found, problems) = scan_while(&sandbox, cut);
    assert_noticed(&problems, "changed");
    assert!(problems.iter().any(|problem| problem.kind == ProblemKind::CutShort), "{problems:?}");
    assert!(
        scan.samples as usize >= 2_000_000 / 2048 && scan.end_offset <= archive(&samples("k", SAMPLES)).len() as u64
    );
    assert_eq!(found.len() as u64, scan.samples);
}

#[test]
fn shard_removed_during_scan_is_reported() {
    let sandbox = sandbox();
    let path = sandbox.at("a.tar");
    let (scan, _, problems) = scan_while(&sandbox, || std::fs::remove_file(&path).unwrap());
    assert_noticed(&problems, "removed");
    assert_eq!(scan.samples as usize, SAMPLES, "an open file is read to its end");
}

#[test]
fn a_shard_that_is_replaced_while_it_is_read_is_noticed() {
    let sandbox = sandbox();
    let path = sandbox.at("a.tar");
    let other = sandbox.sibling("other.tar");
    put(&other, &archive(&samples("o", 5)));
    let (_, found, problems) = scan_while(&sandbox, || std::fs::rename(&other, &path).unwrap());
    assert_noticed(&problems, "replaced");
    assert!(found.iter().all(|key| key.starts_with('k')), "one file's samples, not a mixture");
}

fn plan(root: &Path) -> PreparePlan {
    let mut plan = PreparePlan::new(root.to_str().unwrap());
    plan.splits = SplitPlan::Ratio("1,0,0".into());
    plan.loading = SampleMapping::Crude { cooker: false };
    plan
}

/// Scans to the end as the screens do, changes the data, then starts the run.
fn run_after(sandbox: &Sandbox, change: impl Fn()) -> Outcome<gristmill_ops::job::prepare::PrepareReport> {
    let options = RunOptions { scratch: Some(sandbox.sibling("tmp")), ..RunOptions::default() };
    let scan = LiveScan::start(&sandbox.data(), &options).unwrap();
    scan.wait().unwrap();
    change();
    PrepareJob::start(plan(&sandbox.data()), options, Some(scan))?.wait()
}

#[test]
fn shard_changed_between_scan_and_run_is_read_again() {
    let sandbox = Sandbox::new();
    put(&sandbox.at("a.tar"), &archive(&samples("k", 3)));
    put(&sandbox.at("b.tar"), &archive(&samples("b", 3)));
    let path = sandbox.at("a.tar");
    let report = run_after(&sandbox, || put(&path, &archive(&samples("n", 7)))).unwrap();
    assert_eq!(report.samples, 10);
    let wanted: Vec<String> = (0..7).map(|number| format!("n{number}")).collect();
    assert_eq!(keys(&sandbox.data(), "a.tar"), wanted, "the index describes what is there now");
    // The record of the run also contains the new state, so that no file counts as changed afterwards.
    let again = sandbox.run(["lint", ".", "--json"]);
    assert_eq!(again.code, 0, "{again}");
    let update = sandbox.prepare(&["--update"]);
    assert_eq!(update.json()["nothing_to_do"], true, "{update}");
}

#[test]
fn shard_removed_between_scan_and_run_ends_the_run() {
    let sandbox = Sandbox::new();
    put(&sandbox.at("a.tar"), &archive(&samples("k", 3)));
    put(&sandbox.at("b.tar"), &archive(&samples("b", 3)));
    let path = sandbox.at("b.tar");
    let failure = run_after(&sandbox, || std::fs::remove_file(&path).unwrap()).unwrap_err();
    assert_eq!(failure.class.code(), 3, "{failure}");
    assert!(failure.to_string().contains("b.tar") && failure.hint.is_some(), "{failure}");
    super::sandbox::assert_unprepared(&sandbox.data());
}

#[test]
fn data_set_prepared_by_another_run_meanwhile_is_not_overwritten() {
    let sandbox = Sandbox::new();
    put(&sandbox.at("a.tar"), &archive(&samples("k", 3)));
    let other = || assert_eq!(sandbox.prepare(&["--exclude-sample", "a.tar/k1"]).code, 0);
    let failure = run_after(&sandbox, other).unwrap_err();
    assert_eq!(failure.class.code(), 1, "{failure}");
    assert!(failure.to_string().contains("another run") && failure.hint.is_some(), "{failure}");
    assert_eq!(super::sandbox::excludes(&sandbox.data()), ["a.tar/k1"], "what the other run wrote stays");
}
