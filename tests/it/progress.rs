//! The progress of whole jobs, read before each operation on the file system.

use crate::cli_support::Sandbox;
use crate::support::{put, text_shard};
use gristmill_core::plan::PLAN_VERSION;
use gristmill_core::{
    DedupPlan, MediaFilter, MediaPlan, PrepareMediaPlan, PreparePlan, RunOptions, SampleMapping, SplitPlan,
};
use gristmill_ops::job::dedup::{self, Tuning};
use gristmill_ops::job::prepare::PrepareJob;
use gristmill_ops::job::task::Task;
use gristmill_ops::job::{media, JobState, JobStatus, Phase};
use gristmill_storage::fs::fault::FaultFs;
use gristmill_storage::fs::Fs;
use serde_json::Value;
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Blocks a job before each operation until the progress was read.
struct ReadBarrier {
    asked: Receiver<()>,
    go: Sender<()>,
}

impl ReadBarrier {
    fn new() -> (Self, Arc<dyn Fs>) {
        let ((ask, asked), (go, gone)) = (channel(), channel());
        let gone = Mutex::new(gone);
        let fs = FaultFs::watched(move |_| {
            // Without a receiver the job is not blocked.
            if ask.send(()).is_ok() {
                let _ = gone.lock().unwrap().recv();
            }
        });
        (Self { asked, go }, Arc::new(fs))
    }

    /// Returns the readings before each operation, and the last one.
    fn readings(&self, status: impl Fn() -> JobStatus, is_finished: impl Fn() -> bool) -> Vec<JobStatus> {
        let mut readings = Vec::new();
        while !is_finished() {
            if self.asked.recv_timeout(Duration::from_millis(10)).is_ok() {
                readings.push(status());
                self.go.send(()).unwrap();
            }
        }
        readings.push(status());
        readings
    }
}

/// Checks that progress never decreases, is complete only at the end, and is below 99 % when publishing begins.
fn check(readings: &[JobStatus]) {
    let shares: Vec<f64> = readings.iter().map(|status| status.share.unwrap_or(0.0)).collect();
    assert!(shares.is_sorted(), "{shares:?}");
    let (last, before) = readings.split_last().unwrap();
    assert_eq!((last.state, last.share, last.remaining), (JobState::Done, Some(1.0), None));
    let before: Vec<&JobStatus> = before.iter().filter(|status| status.state == JobState::Running).collect();
    assert!(before.iter().all(|status| status.share.is_none_or(|share| share < 1.0)), "{shares:?}");
    let publishing: Vec<f64> =
        before.iter().filter(|status| status.phase == Phase::Publish).filter_map(|status| status.share).collect();
    assert!(publishing.len() > 3, "{shares:?}");
    assert!(publishing[0] < 0.99 && publishing[publishing.len() / 2] < 0.99, "{publishing:?}");
}

fn check_task<R: Send + 'static>(gate: &ReadBarrier, task: Task<R>) {
    let readings = gate.readings(|| task.status(), || task.is_finished());
    assert!(task.wait().is_ok());
    check(&readings);
}

fn options() -> RunOptions {
    RunOptions { threads: 2, ..RunOptions::default() }
}

#[test]
fn a_prepare_counts_its_publishing() {
    let dir = tempfile::tempdir().unwrap();
    for shard in 0..40 {
        text_shard(&dir.path().join(format!("shard_{shard:02}.tar")), shard * 10, 6);
    }
    let mut plan = PreparePlan::new(dir.path().to_str().unwrap());
    plan.splits = SplitPlan::Ratio("1,1,1".into());
    plan.loading = SampleMapping::Crude { cooker: false };
    let (gate, fs) = ReadBarrier::new();
    let job = PrepareJob::start_on(plan, options(), None, fs).unwrap();
    let readings = gate.readings(|| job.task.status(), || job.task.is_finished());
    assert!(job.wait().is_ok());
    check(&readings);
    let publishing: Vec<&JobStatus> = readings.iter().filter(|status| status.phase == Phase::Publish).collect();
    let last = publishing.last().unwrap().progress;
    assert!(last.items_total > 40, "the files that are not indexes count, too: {last:?}");
    assert_eq!(last.items_done, last.items_total);
    assert!(publishing.iter().any(|status| status.progress.items_done == 20 && status.item == "output file"));
}

#[test]
fn a_dedup_counts_its_publishing() {
    let dir = tempfile::tempdir().unwrap();
    for file in 0..12 {
        let line = |n: usize| format!("{{\"text\": \"document {n} of file {file} and what is in all of them\"}}\n");
        put(&dir.path().join(format!("data/{file}.jsonl")), (0..20).map(line).collect::<String>().as_bytes());
    }
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let mut plan = DedupPlan::new(path("data"), path("out"));
    plan.min_length = Some(30);
    let (gate, fs) = ReadBarrier::new();
    let tuning = Tuning { parts: Some(2), unit_bytes: None, spill_bytes: None };
    check_task(&gate, dedup::start_on(plan, options(), tuning, fs).unwrap());
}

#[test]
fn a_prepare_media_counts_its_publishing() {
    let dir = tempfile::tempdir().unwrap();
    for number in 0..30 {
        put(&dir.path().join(format!("d/{number:03}.png")), &Sandbox::png(number + 1, 2));
    }
    let plan = PrepareMediaPlan {
        version: PLAN_VERSION,
        path: dir.path().to_str().unwrap().to_owned(),
        media: MediaPlan { filter: MediaFilter::Header, decode: false },
        prune: false,
        compat: false,
    };
    let (gate, fs) = ReadBarrier::new();
    check_task(&gate, media::start_on(plan, options(), fs).unwrap());
}

#[test]
fn progress_events_have_the_share_of_the_whole_job() {
    let sandbox = Sandbox::new();
    for shard in 0..300 {
        text_shard(&sandbox.path(&format!("set/shard_{shard:03}.tar")), shard * 10, 2);
    }
    let arguments = ["prepare", "set", "--split-ratio", "1,1,1", "--sample-type", "CrudeWebdataset", "--yes", "--json"];
    let ran = sandbox.run(arguments);
    ran.json("ok");
    let events: Vec<Value> = ran.err.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let events: Vec<&Value> = events.iter().filter(|event| event["event"] == "progress").collect();
    assert!(!events.is_empty(), "{}", ran.err);
    assert!(events.iter().all(|event| event.get("share").is_some()), "{}", ran.err);
    let shares: Vec<f64> = events.iter().map(|event| event["share"].as_f64().unwrap_or(0.0)).collect();
    assert!(shares.is_sorted() && shares.iter().all(|share| *share < 1.0), "{shares:?}");
    let publishing = events.iter().find(|event| event["phase"] == "publish");
    assert!(publishing.is_none_or(|event| event["share"].as_f64() < Some(0.99)), "{publishing:?}");
}
