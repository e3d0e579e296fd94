//! `jobs`: running and stopped runs, listed in any folder, and the command that resumes them.

use super::cli_support::{RunOutput, Sandbox};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Returns a sandbox with enough text for a run of some seconds in a debug build.
fn with_text() -> Sandbox {
    let sandbox = Sandbox::new();
    let line = |number: u64| {
        let words = (0..40).map(|word| format!("w{}", (number * 7_919 + word * 104_729) % 5_003)).collect::<Vec<_>>();
        format!("{}\n", serde_json::json!({ "text": words.join(" ") }))
    };
    sandbox.write("data/a.jsonl", (0..8_000).map(line).collect::<String>());
    std::fs::create_dir_all(sandbox.path("elsewhere")).unwrap();
    sandbox
}

/// Runs the program in a folder other than that of the data.
fn away(sandbox: &Sandbox, words: &[&str]) -> RunOutput {
    let output = sandbox.command(words).current_dir(sandbox.path("elsewhere")).output().unwrap();
    RunOutput {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn jobs_of_a_missing_path_are_an_error() {
    let sandbox = with_text();
    sandbox.say("jobs nowhere").ends(3).complains("no such file or folder").complains("nowhere");
    sandbox.say("jobs data").ends(0).says("No running or interrupted jobs");
}

/// Starts a run, stops it once its journal and `begun` exist, runs `jobs`, kills the run, and resumes it with the command that `jobs`
/// reports.
fn check_listed_job(line: &str, begun: &str, more: &str) {
    let sandbox = with_text();
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut child = sandbox.command(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let pid = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    let end = Instant::now() + Duration::from_secs(60);
    while !sandbox.has("out.gristmill/journal") || !sandbox.has(begun) {
        assert!(Instant::now() < end && child.try_wait().unwrap().is_none(), "it was not seen at work: {line}");
        std::thread::sleep(Duration::from_millis(1));
    }
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    let process = format!("process {}", child.id());
    sandbox.say("jobs").ends(0).says("running").says("out").says(&process);
    child.kill().unwrap();
    child.wait().unwrap();

    let output = sandbox.path("out").to_string_lossy().into_owned();
    let places = [sandbox.path("out"), sandbox.path("out.gristmill"), sandbox.path("")];
    let places: Vec<String> = places.iter().map(|place| place.to_string_lossy().into_owned()).collect();
    away(&sandbox, &["jobs"]).ends(0).says("interrupted").says("To continue: gristmill run ");
    let mut command = String::new();
    for words in [vec!["jobs"], vec!["jobs", &places[0]], vec!["jobs", &places[1]], vec!["jobs", &places[2]]] {
        let words: Vec<&str> = words.into_iter().chain(["--json"]).collect();
        let listing = away(&sandbox, &words).ends(0).json("ok");
        let jobs = listing["jobs"].as_array().unwrap();
        assert_eq!(jobs.len(), 1, "{words:?}: {listing}");
        assert_eq!((jobs[0]["state"].as_str(), jobs[0]["path"].as_str()), (Some("interrupted"), Some(&*output)));
        command = jobs[0]["command"].as_str().unwrap().to_owned();
    }
    for read in ["info out", "lint out", "info out.gristmill"] {
        let words: Vec<&str> = read.split(' ').collect();
        let ran = sandbox.run(&words);
        assert_ne!(ran.code, 0, "{read}");
        ran.complains("a run on it was stopped").complains(&command);
    }
    let words: Vec<&str> = command.split_whitespace().skip(1).collect();
    assert!(command.contains(more), "{command}");
    away(&sandbox, &words).ends(0);
    assert!(sandbox.has("out") && !sandbox.has("elsewhere/out"));
    sandbox.say(line).ends(0).says("Nothing to do");
    sandbox.say("jobs").ends(0).says("No running or interrupted jobs");
}

#[test]
fn running_and_stopped_packs_are_listed_by_jobs() {
    check_listed_job(
        &format!("pack data --format nanosets --tokenizer {} --eos-token <|endoftext|> --output out", bpe()),
        "data",
        "",
    );
}

#[test]
fn running_and_stopped_dedups_are_listed_by_jobs() {
    check_listed_job("dedup data --minlen 60 --output out", "data", "");
}

#[test]
fn resume_command_of_a_dedup_has_its_scratch_flag() {
    check_listed_job(
        "dedup data --minlen 60 --output out --memory 2M --scratch elsewhere",
        "out.gristmill/work/scratch.json",
        " --scratch /",
    );
}

fn bpe() -> String {
    let name = "tests/golden/modalities/tokenizers/bpe1k/tokenizer.json";
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(name).to_string_lossy().into_owned()
}
