//! Kills the real process with SIGKILL at any moment, then runs the same command again.

use super::sandbox::{ended, Sandbox};
use super::tars::{archive, samples};
use crate::support::{assert_same, copy_folder, picture, put, settled_picture};
use std::time::{Duration, Instant};

/// Returns the number of kill points of each test: `GRISTMILL_KILLS`, or 60.
fn kill_points() -> u32 {
    std::env::var("GRISTMILL_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(60)
}

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    for shard in 0..6 {
        put(&sandbox.at(format!("s{shard}.tar")), &archive(&samples(&format!("s{shard}_"), 150)));
    }
    sandbox
}

fn args(more: &[&str]) -> Vec<String> {
    let mut args = Sandbox::prepare_args(more);
    args.push("--json".into());
    args
}

fn is_published(sandbox: &Sandbox) -> bool {
    sandbox.at(".nv-meta/.info.json").exists()
}

/// Kills a run at evenly spread moments of its measured duration, and up to 10 % after it.
fn killed_at_any_moment(template: &Sandbox, more: &[&str]) {
    let mut whole = Duration::MAX;
    let mut wanted = settled_picture(&template.data());
    // The fastest of three runs, because other tests run at the same time.
    for _ in 0..3 {
        let undisturbed = Sandbox::new();
        copy_all(template, &undisturbed);
        let started = Instant::now();
        let ran = ended(undisturbed.command(args(more)).spawn().unwrap());
        whole = whole.min(started.elapsed());
        assert_eq!(ran.code, 0, "{ran}");
        wanted = settled_picture(&undisturbed.data());
    }
    let before = settled_picture(&template.data());
    let points = kill_points();
    let mut cut = 0;
    for point in 0..points {
        let sandbox = Sandbox::new();
        copy_all(template, &sandbox);
        let moment = whole.mul_f64(1.1 * f64::from(point) / f64::from(points));
        cut += u32::from(run_and_kill(&sandbox, more, moment));
        let when = format!("killed after {moment:?} of {whole:?}");
        let after = settled_picture(&sandbox.data());
        assert!(
            after == before || after == wanted || !is_published(&sandbox),
            "{when}: neither old nor new nor unprepared"
        );
        let stray: Vec<_> =
            after.keys().filter(|name| !before.contains_key(*name) && !wanted.contains_key(*name)).collect();
        assert!(stray.is_empty(), "{when}: {stray:?}");
        let again = ended(sandbox.command(args(more)).spawn().unwrap());
        assert_eq!(again.code, 0, "{when}: {again}");
        assert_same(&settled_picture(&sandbox.data()), &wanted, &when);
        let own: Vec<_> =
            ["lock", "work", "journal"].iter().filter(|n| sandbox.at(".nv-meta/gristmill").join(n).exists()).collect();
        assert!(own.is_empty(), "{when}: left over {own:?}");
        // A folder whose process was killed before it wrote its owner file is not removed yet, and is empty.
        let left: Vec<_> = walkdir::WalkDir::new(sandbox.sibling("tmp")).into_iter().flatten().collect();
        assert!(
            left.iter().all(|entry| entry.file_type().is_dir() || entry.metadata().unwrap().len() == 0),
            "{when}: the next run clears what the killed one left in scratch: {left:?}"
        );
    }
    assert!(cut > points / 6, "only {cut} of {points} runs were killed before their end");
}

/// Runs the program and kills it after `moment`; returns whether it was still running.
fn run_and_kill(sandbox: &Sandbox, more: &[&str], moment: Duration) -> bool {
    let mut child = sandbox
        .command(args(more))
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(moment);
    let running = child.try_wait().unwrap().is_none();
    child.kill().unwrap();
    child.wait().unwrap();
    running
}

/// Copies the data with the program's own folder, so that an overwrite starts from the same state. Modification times differ, which an
/// overwrite does not check.
fn copy_all(from: &Sandbox, to: &Sandbox) {
    copy_folder(&from.data(), &to.data());
    let own = from.at(".nv-meta/gristmill");
    if own.is_dir() {
        for (name, bytes) in picture(&own) {
            put(&to.at(".nv-meta/gristmill").join(name), &bytes);
        }
    }
}

#[test]
fn first_prepare_killed_at_any_moment_is_completed_by_the_next() {
    killed_at_any_moment(&sandbox(), &[]);
}

#[test]
fn overwrite_killed_at_any_moment_is_completed_by_the_next() {
    let template = sandbox();
    assert_eq!(template.prepare(&["--split-ratio", "1,1,1", "--exclude-sample", "s0.tar/s0_7"]).code, 0);
    put(&template.at("s7.tar"), &archive(&samples("s7_", 40)));
    killed_at_any_moment(&template, &["--force-overwrite"]);
}

#[test]
fn terminated_prepare_is_completed_by_the_next_run() {
    use rustix::process::{kill_process, Pid, Signal};
    let wanted = {
        let sandbox = sandbox();
        assert_eq!(sandbox.prepare(&[]).code, 0);
        settled_picture(&sandbox.data())
    };
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130)] {
        for step in 0..10 {
            let sandbox = sandbox();
            let child = sandbox.command(args(&[])).spawn().unwrap();
            std::thread::sleep(Duration::from_millis(step * 4));
            kill_process(Pid::from_raw(child.id() as i32).unwrap(), signal).unwrap();
            let ran = ended(child);
            // The signal ends the program if it arrives before the handler is installed; at the very end the run is already finished.
            assert!([code, 0, -1].contains(&ran.code), "{signal:?}: {ran}");
            let after = settled_picture(&sandbox.data());
            assert!(after == wanted || !is_published(&sandbox), "{signal:?} at step {step}");
            assert_eq!(sandbox.prepare(&[]).code, 0);
            assert_same(&settled_picture(&sandbox.data()), &wanted, "after the second run");
        }
    }
}
