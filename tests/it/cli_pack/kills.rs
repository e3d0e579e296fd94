//! A run that is killed at any moment goes on from what it had done, and ends in the same bytes.
//!
//! A few kills are always tried; `GRISTMILL_KILLS=50` tries that many in each format.

use super::same_bytes::{line, FORMATS};
use super::{jsonl, own_left_out, ran, texts};
use crate::cli_support::Sandbox;
use crate::support::assert_same;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Large enough that a run takes a while in a debug build.
fn large(sandbox: &Sandbox) {
    let texts = texts(6_000);
    sandbox.write("data/a.jsonl", jsonl(&texts[..4_000]));
    sandbox.write("data/b.jsonl", jsonl(&texts[4_000..]));
}

fn kills() -> u32 {
    std::env::var("GRISTMILL_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(3)
}

fn survives(formats: &str) {
    let sandbox = Sandbox::new();
    large(&sandbox);
    let start = Instant::now();
    sandbox.say(&line(formats, "wanted")).ends(0);
    let whole = start.elapsed();
    let wanted = own_left_out(&sandbox.path("wanted"));
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    for round in 0..kills() {
        let output = format!("out-{round}");
        let text = line(&format!("{formats} --memory 8M"), &output);
        let words: Vec<&str> = text.split_whitespace().collect();
        let mut stopped = 0;
        loop {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Later kills come later, so that the run ends some time.
            let share = (state >> 33) as f64 / f64::from(1u32 << 31) + 0.3 * f64::from(stopped);
            let wait: Duration = whole.mul_f64(share);
            let mut child = sandbox.command(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            let until = Instant::now() + wait;
            while Instant::now() < until && child.try_wait().unwrap().is_none() {
                std::thread::sleep(Duration::from_millis(1));
            }
            if let Some(status) = child.try_wait().unwrap() {
                assert_eq!(status.code(), Some(0), "round {round} after {stopped} kills");
                break;
            }
            child.kill().unwrap();
            child.wait().unwrap();
            stopped += 1;
        }
        assert_same(&own_left_out(&sandbox.path(&output)), &wanted, &format!("round {round} after {stopped} kills"));
        let again = ran(&mut sandbox.command(&words));
        assert_eq!(again.code, 0, "{}", again.err);
        assert!(again.out.contains("Nothing to do"), "{}", again.out);
        std::fs::remove_dir_all(sandbox.path(&output)).unwrap();
        let _ = std::fs::remove_dir_all(sandbox.path(&format!("{output}.gristmill")));
    }
}

#[test]
fn each_format_survives_kills() {
    for (_, flags) in FORMATS {
        survives(flags);
    }
}

#[test]
fn all_formats_at_once_survive_kills() {
    let all: Vec<&str> = FORMATS.iter().map(|(_, flags)| *flags).collect();
    survives(&all.join(" "));
}

#[test]
fn a_run_that_is_asked_to_stop_leaves_nothing_half_written() {
    let sandbox = Sandbox::new();
    large(&sandbox);
    let text = line(FORMATS[1].1, "out");
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut child = sandbox.command(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(60));
    let pid = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
    let code = child.wait().unwrap().code();
    if code != Some(0) {
        // Before it listens the signal itself ends it.
        assert!(matches!(code, None | Some(143)), "{code:?}");
        let is_empty = !sandbox.has("out") || own_left_out(&sandbox.path("out")).is_empty();
        assert!(is_empty, "only folders of our own");
    }
    sandbox.say(&text).ends(0);
}
