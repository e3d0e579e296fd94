//! Runs that are stopped by signals: no incomplete file is visible, and the same command resumes.

use super::cli_support::Sandbox;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};

const LINE: &str = "prepare data --yes --json --split-ratio 8,1,1 --skip-dataset-yaml --threads 1";

/// Returns a sandbox with shards that take some seconds to scan.
fn large() -> Sandbox {
    let sandbox = Sandbox::new();
    for shard in 0..4 {
        let mut archive = Vec::new();
        let mut header = tar::Header::new_ustar();
        header.set_size(0);
        header.set_mode(0o644);
        header.set_mtime(1_700_000_000);
        for number in 0..40_000 {
            header.set_path(format!("{shard}-{number:06}.txt")).unwrap();
            header.set_cksum();
            archive.extend_from_slice(header.as_bytes());
        }
        sandbox.write(&format!("data/s_{shard:02}.tar"), archive);
    }
    sandbox
}

/// Starts the run and waits until it scans.
fn scanning(sandbox: &Sandbox) -> Child {
    let mut child =
        sandbox.command(LINE.split_whitespace()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut events = BufReader::new(child.stderr.as_mut().unwrap());
    let mut line = String::new();
    while !line.contains("\"scan\"") {
        line.clear();
        assert!(events.read_line(&mut line).unwrap() > 0, "it ended before it scanned");
    }
    child
}

fn interrupted_by(signal: rustix::process::Signal, code: i32) {
    let sandbox = large();
    let mut child = scanning(&sandbox);
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, signal).unwrap();
    let mut out = String::new();
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(code));
    assert!(out.is_empty(), "no result object: {out}");
    assert!(!sandbox.has("data/.nv-meta/.info.json") && !sandbox.has("data/s_00.tar.idx"));
    let scratch = std::fs::read_dir(sandbox.path("../tmp")).unwrap().count();
    assert_eq!(scratch, 0, "scratch is removed");
    let value = sandbox.say(LINE).ends(0).json("ok");
    assert_eq!(value["samples"], 160_000);
}

#[test]
fn sigint_is_exit_code_130_and_the_run_can_be_resumed() {
    interrupted_by(rustix::process::Signal::INT, 130);
}

#[test]
fn sigterm_is_exit_code_143_and_the_run_can_be_resumed() {
    interrupted_by(rustix::process::Signal::TERM, 143);
}

#[test]
fn killed_prepare_publishes_nothing_and_its_scratch_is_removed_by_the_next() {
    let sandbox = large();
    let mut child = scanning(&sandbox);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!sandbox.has("data/.nv-meta/.info.json") && !sandbox.has("data/s_00.tar.idx"));
    sandbox.say("jobs").ends(0);
    sandbox.say(LINE).ends(0);
    assert_eq!(std::fs::read_dir(sandbox.path("../tmp")).unwrap().count(), 0);
    assert!(!sandbox.has("data/.nv-meta/gristmill/work"));
}

#[test]
fn closed_output_pipe_does_not_stop_prepare() {
    let sandbox = large();
    let mut child = scanning(&sandbox);
    drop(child.stdout.take());
    drop(child.stderr.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(sandbox.has("data/.nv-meta/.info.json"));
}
