//! Several prepares of one folder at once.

use super::sandbox::{ended, indexed_parts, RunOutput, Sandbox};
use super::tars::{archive, samples};
use crate::support::{assert_same, put, settled_picture};

const RACES: usize = 5;
const RUNNERS: usize = 6;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    for name in ["a", "b", "c", "d"] {
        put(&sandbox.at(format!("{name}.tar")), &archive(&samples(name, 50)));
    }
    sandbox
}

/// Starts all runs at once and waits for all of them.
fn race(sandbox: &Sandbox, more: &[&str]) -> Vec<RunOutput> {
    let mut args = Sandbox::prepare_args(more);
    args.push("--json".into());
    let children: Vec<_> = (0..RUNNERS).map(|_| sandbox.command(&args).spawn().unwrap()).collect();
    children.into_iter().map(ended).collect()
}

#[track_caller]
fn assert_loser(ran: &RunOutput) {
    let (message, hint) = ran.error();
    assert!(message.contains("held by process"), "the holder is named: {ran}");
    assert!(hint.contains("--break-lock"), "{ran}");
}

#[test]
fn concurrent_first_prepares_do_the_work_once() {
    let alone = sandbox();
    assert_eq!(alone.prepare(&[]).code, 0);
    let wanted = settled_picture(&alone.data());
    for round in 0..RACES {
        let sandbox = sandbox();
        let runs = race(&sandbox, &[]);
        let mut worked = 0;
        for ran in &runs {
            match ran.code {
                0 if ran.json()["nothing_to_do"] == true => {}
                0 => worked += 1,
                3 => assert_loser(ran),
                _ => panic!("round {round}: {ran}"),
            }
        }
        assert_eq!(worked, 1, "round {round}: exactly one does the work");
        assert_same(&settled_picture(&sandbox.data()), &wanted, &format!("round {round}"));
        let left = |name: &str| sandbox.at(format!(".nv-meta/gristmill/{name}")).exists();
        let found: Vec<&str> = ["lock", "work"].into_iter().filter(|name| left(name)).collect();
        assert!(found.is_empty(), "round {round}: {found:?} is left");
    }
}

#[test]
fn concurrent_overwrites_leave_one_complete_data_set() {
    let sandbox = sandbox();
    assert_eq!(sandbox.prepare(&[]).code, 0);
    let wanted = settled_picture(&sandbox.data());
    for round in 0..RACES {
        let runs = race(&sandbox, &["--force-overwrite"]);
        assert!(runs.iter().any(|ran| ran.code == 0), "round {round}: one of them succeeds");
        for ran in runs.iter().filter(|ran| ran.code != 0) {
            assert_eq!(ran.code, 3, "round {round}: {ran}");
            assert_loser(ran);
        }
        assert_same(&settled_picture(&sandbox.data()), &wanted, &format!("round {round}"));
        assert_eq!(indexed_parts(&sandbox.data()).len(), 400);
    }
}

#[test]
fn readers_during_overwrites_end_with_known_exit_codes() {
    let sandbox = sandbox();
    assert_eq!(sandbox.prepare(&[]).code, 0);
    let mut writer_args = Sandbox::prepare_args(&["--force-overwrite"]);
    writer_args.push("--json".into());
    for _ in 0..RACES {
        let writer = sandbox.command(&writer_args).spawn().unwrap();
        let readers: Vec<_> =
            ["info", "lint", "doctor"].iter().map(|name| sandbox.command([name, "."]).spawn().unwrap()).collect();
        for reader in readers {
            let ran = ended(reader);
            assert!((0..=3).contains(&ran.code), "{ran}");
        }
        assert_eq!(ended(writer).code, 0);
    }
}

#[test]
fn lock_of_another_host_is_kept_until_break_lock() {
    let sandbox = sandbox();
    let lock =
        "{\"host\":\"elsewhere\",\"pid\":1,\"boot_id\":\"x\",\"started\":\"1\",\"token\":\"t\",\"system_lock\":true}";
    for content in [lock, "garbage", ""] {
        put(&sandbox.at(".nv-meta/gristmill/lock"), content.as_bytes());
        let ran = sandbox.prepare(&[]);
        assert_eq!(ran.code, 3, "'{content}': {ran}");
        assert!(ran.error().1.contains("--break-lock"), "{ran}");
        assert!(!sandbox.at(".nv-meta/.info.json").exists());
    }
    let ran = sandbox.prepare(&["--break-lock"]);
    assert_eq!(ran.code, 0, "{ran}");
}
