//! A run that is killed at any moment is resumed, and ends with the same bytes.

use super::files_below;
use crate::cli_kills::{kill_until_done, rounds, KillTimes};
use crate::cli_support::Sandbox;
use std::time::Instant;

/// Writes shards large enough for a run of some seconds in a debug build.
fn large(sandbox: &Sandbox) {
    for shard in 0..6 {
        let entries: Vec<(String, Vec<u8>)> = (0..400)
            .flat_map(|sample| {
                let key = format!("{shard}/{sample:04}");
                [(format!("{key}.txt"), key.clone().into_bytes()), (format!("{key}.bin"), vec![sample as u8; 5_000])]
            })
            .collect();
        sandbox.tar_of(&format!("data/{shard}.tar"), &entries);
    }
}

fn visible(sandbox: &Sandbox, output: &str) -> Vec<(String, Vec<u8>)> {
    let folder = sandbox.path(output);
    let own = |name: &String| !name.starts_with(".nv-meta/gristmill/") && name != ".nv-meta/index.uuid";
    let names = files_below(&folder).into_iter().filter(own);
    names.map(|name| (name.clone(), std::fs::read(folder.join(&name)).unwrap())).collect()
}

#[test]
fn killed_shard_run_is_resumed_with_the_same_bytes() {
    for flags in ["--max-count 150", "--max-count 170 --shuffle"] {
        let sandbox = Sandbox::new();
        large(&sandbox);
        let start = Instant::now();
        sandbox.say(&format!("shard data --output wanted {flags}")).ends(0);
        let whole = start.elapsed();
        let wanted = visible(&sandbox, "wanted");
        assert!(wanted.len() > 30);
        let mut moments = KillTimes::default();
        for round in 0..rounds() {
            let output = format!("out-{round}");
            let line = format!("shard data --output {output} {flags} --threads 2");
            let words: Vec<&str> = line.split_whitespace().collect();
            let stopped = kill_until_done(&sandbox, &words, whole, 0.3, &mut moments);
            assert!(visible(&sandbox, &output) == wanted, "round {round} after {stopped} kills");
            assert!(
                !sandbox.has(&format!("{output}.gristmill/work"))
                    && !sandbox.has(&format!("{output}.gristmill/journal"))
            );
            sandbox.say(&line).ends(0).says("Nothing to do");
            std::fs::remove_dir_all(sandbox.path(&output)).unwrap();
        }
    }
}

#[test]
fn missing_preparation_is_written_by_the_next_shard_run() {
    let sandbox = Sandbox::new();
    large(&sandbox);
    let line = "shard data --output out --max-count 300";
    sandbox.say(line).ends(0);
    let wanted = visible(&sandbox, "out");
    // Simulates a run that was killed before the set was prepared.
    std::fs::remove_dir_all(sandbox.path("out/.nv-meta")).unwrap();
    let report = sandbox.say(&format!("{line} --json")).ends(0).json("ok");
    assert_eq!(report["samples"], 2_400);
    assert!(visible(&sandbox, "out") == wanted);
    sandbox.say(line).ends(0).says("Nothing to do");
}
