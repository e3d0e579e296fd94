//! Checks that a run that is killed at any moment continues from its progress, and ends with the same bytes.
//!
//! By default a few kills are tested; `GRISTMILL_KILLS=50` tests 50 in each way.

use super::*;
use crate::cli_kills::{kill_until_done, rounds, KillTimes};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Writes a text large enough for a run of some seconds in a debug build.
fn large(sandbox: &Sandbox) {
    let texts = some_texts(6_000);
    sandbox.write("data/a.jsonl", jsonl(&texts[..2_500]));
    sandbox.write("data/b/c.jsonl.gz", gzip(&jsonl(&texts[2_500..4_000])));
    sandbox.write("data/d.jsonl", jsonl(&texts[4_000..]));
}

fn survives(flags: &str) {
    let sandbox = Sandbox::new();
    large(&sandbox);
    std::fs::create_dir(sandbox.path("scratch")).unwrap();
    let line = |output: &str, more: &str| {
        format!("dedup data --minlen 60 --output {output} --export-ranges {output}.ranges --shards 2 {more}")
    };
    let start = Instant::now();
    sandbox.say(&line("wanted", flags)).ends(0);
    let whole = start.elapsed();
    let wanted = [unpacked(&sandbox.path("wanted")), picture(&sandbox.path("wanted.ranges"))];
    let mut moments = KillTimes::default();
    for round in 0..rounds() {
        let output = format!("out-{round}");
        let text = line(&output, flags);
        let words: Vec<&str> = text.split_whitespace().collect();
        let stopped = kill_until_done(&sandbox, &words, whole, 0.2, &mut moments);
        let when = format!("round {round} after {stopped} kills");
        assert_same(&unpacked(&sandbox.path(&output)), &wanted[0], &when);
        assert_same(&picture(&sandbox.path(&format!("{output}.ranges"))), &wanted[1], &when);
        sandbox.say(&text).ends(0).says("Nothing to do");
        let left: Vec<_> = std::fs::read_dir(sandbox.path("scratch")).unwrap().collect();
        assert!(left.is_empty(), "{when}: {left:?}");
        assert!(!sandbox.has(&format!("{output}.gristmill/work")), "{when}");
    }
}

#[test]
fn a_run_in_memory_survives_kills() {
    survives("--threads 2");
}

#[test]
fn a_run_in_scratch_survives_kills() {
    survives("--threads 2 --memory 2M");
}

#[test]
fn a_run_in_scratch_elsewhere_survives_kills() {
    survives("--threads 1 --memory 2M --scratch scratch");
}

#[test]
fn terminated_dedup_is_resumed_by_the_next_run() {
    let sandbox = Sandbox::new();
    large(&sandbox);
    let text = "dedup data --minlen 60 --output out --memory 2M";
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut child = sandbox.command(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(80));
    let pid = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
    let code = child.wait().unwrap().code();
    if code != Some(0) {
        // The signal ends the program if it arrives before the handler is installed.
        assert!(matches!(code, None | Some(143)), "{code:?}");
        assert!(!sandbox.has("out/a.jsonl"), "nothing is visible");
        sandbox
            .say("dedup data --minlen 70 --output out")
            .ends(1)
            .complains("a stopped run of another plan can be resumed here");
    }
    sandbox.say(text).ends(0);
    let wanted = slowly(&some_texts(6_000), 60);
    let ours = unpacked(&sandbox.path("out"));
    let all: Vec<String> =
        ["a.jsonl", "b/c.jsonl.gz", "d.jsonl"].iter().flat_map(|name| texts_of(&ours[Path::new(name)])).collect();
    assert!(all == wanted, "what the rule says");
}

#[test]
fn resumed_dedup_skips_finished_units() {
    let sandbox = Sandbox::new();
    large(&sandbox);
    let text = "dedup data --minlen 60 --output out --memory 2M --threads 1";
    let words: Vec<&str> = text.split_whitespace().collect();
    let journal = sandbox.path("out.gristmill/journal");
    let mut child = sandbox.command(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let is_written = |text: &str| text.lines().any(|line| line.contains("\"unit\":\"write/"));
    while !std::fs::read_to_string(&journal).is_ok_and(|text| is_written(&text)) && child.try_wait().unwrap().is_none()
    {
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    if child.wait().unwrap().code() == Some(0) {
        return;
    }
    let result = sandbox.say(&format!("{text} --json")).ends(0).json("ok");
    assert!(result["resumed_units"].as_u64().unwrap() > 1, "{}", result["resumed_units"]);
    assert_eq!(result["totals"]["documents"], 6_000);
}
