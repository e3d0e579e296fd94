//! Checks that a run that is killed at any moment continues from its progress, and ends with the same bytes.
//!
//! By default a few kills are tested; `GRISTMILL_KILLS=50` tests 50 in each format.

use super::same_bytes::{all_formats, line, FORMATS};
use super::{jsonl, ran, texts, without_own_folders};
use crate::cli_kills::{kill_until_done, rounds, KillTimes};
use crate::cli_support::Sandbox;
use crate::support::assert_same;
use gristmill_ops::job::journal::Journal;
use gristmill_storage::fs::RealFs;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Writes texts large enough for a run of some seconds in a debug build.
fn large(sandbox: &Sandbox) {
    let texts = texts(6_000);
    sandbox.write("data/a.jsonl", jsonl(&texts[..4_000]));
    sandbox.write("data/b.jsonl", jsonl(&texts[4_000..]));
}

fn survives(formats: &str) {
    let sandbox = Sandbox::new();
    large(&sandbox);
    let start = Instant::now();
    sandbox.say(&line(formats, "wanted")).ends(0);
    let whole = start.elapsed();
    let wanted = without_own_folders(&sandbox.path("wanted"));
    let mut moments = KillTimes::default();
    for round in 0..rounds() {
        let output = format!("out-{round}");
        let text = line(&format!("{formats} --memory 8M"), &output);
        let words: Vec<&str> = text.split_whitespace().collect();
        let stopped = kill_until_done(&sandbox, &words, whole, 0.3, &mut moments);
        assert_same(
            &without_own_folders(&sandbox.path(&output)),
            &wanted,
            &format!("round {round} after {stopped} kills"),
        );
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
fn partitions_survive_kills() {
    survives("--format megatron --partitions 3 --empty-texts document");
}

#[test]
fn all_formats_at_once_survive_kills() {
    survives(&all_formats());
}

#[test]
fn terminated_pack_leaves_no_output() {
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
        // The signal ends the program if it arrives before the handler is installed.
        assert!(matches!(code, None | Some(143)), "{code:?}");
        let is_empty = !sandbox.has("out") || without_own_folders(&sandbox.path("out")).is_empty();
        assert!(is_empty, "only folders of our own");
    }
    sandbox.say(&text).ends(0);
}

#[test]
fn lock_of_a_run_that_was_killed_at_its_end_is_removed_by_the_next() {
    let sandbox = Sandbox::new();
    sandbox.write("data/a.jsonl", jsonl(["one", "two"]));
    let me = gristmill_storage::identity::ProcessIdentity::current();
    let dead = gristmill_storage::identity::ProcessIdentity { started: me.started + 1, ..me };
    let mut lock = serde_json::to_value(dead).unwrap();
    (lock["token"], lock["system_lock"]) = ("left".into(), true.into());
    let lock = lock.to_string();
    let shard = "shard data --output set --sample-type CrudeWebdataset --yes";
    let prepare = "prepare other --sample-type CrudeWebdataset --split-ratio 1,0,0 --yes";
    sandbox.tar("other/a.tar", ["one"]);
    for (folder, line) in [
        ("packed.gristmill", line("--format nanosets", "packed")),
        ("kept.gristmill", "dedup data --minlen 50 --output kept --yes".to_owned()),
        ("set.gristmill", shard.to_owned()),
        ("set/.nv-meta/gristmill", shard.to_owned()),
        ("other/.nv-meta/gristmill", prepare.to_owned()),
    ] {
        sandbox.say(&line).ends(0);
        let has = |name: &str| sandbox.has(&format!("{folder}/{name}"));
        for other_plan in [None, Some("of another plan")] {
            sandbox.write(&format!("{folder}/lock"), &lock);
            sandbox.write(&format!("{folder}/work/spool"), "");
            let journal = sandbox.path(folder).join("journal");
            if let Some(hash) = other_plan {
                Journal::open(&RealFs, &journal, hash).unwrap();
            }
            sandbox.say(&line).ends(0).says("Nothing to do");
            assert!(!has("lock"), "{line}");
            // Work of a stopped run of another plan is kept.
            assert_eq!([has("journal"), has("work/spool")], [other_plan.is_some(); 2], "{line} {other_plan:?}");
        }
    }
}
