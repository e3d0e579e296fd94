//! Text that is large or highly repetitive, small enough for every test run: the results are the same as for other text.

use super::*;
use gristmill_core::{DedupPlan, RunOptions};
use gristmill_ops::job::dedup::{start_on, DedupReport, Tuning};
use gristmill_storage::fs::RealFs;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn run(root: &Path, name: &str, threads: usize, tuning: Tuning) -> DedupReport {
    let path = |name: &str| root.join(name).to_str().unwrap().to_owned();
    let mut plan = DedupPlan::new(path("data"), path(name));
    plan.min_length = Some(60);
    plan.export_index = Some(path(&format!("{name}.index")));
    let options = RunOptions { threads, ..RunOptions::default() };
    start_on(plan, options, tuning, Arc::new(RealFs)).unwrap().wait().unwrap()
}

#[test]
fn number_of_threads_does_not_change_the_output_of_one_file() {
    let sandbox = Sandbox::new();
    let texts = some_texts(700);
    let mut data = Vec::new();
    for (number, text) in texts.iter().enumerate() {
        data.extend(jsonl([text]));
        match number % 50 {
            7 => data.extend(b"{\"text\": 5}\n"),
            20 => data.extend(b"\n  \n"),
            33 => data.extend(b"no JSON at all\n"),
            _ => {}
        }
    }
    data.extend(jsonl([format!("{} a long one {}", "x".repeat(30_000), texts[5])]));
    data.pop();
    sandbox.write("data/a.jsonl", &data);
    sandbox.write("data/b.jsonl", jsonl(&texts[..50]));
    let root = sandbox.path("");
    let whole = run(&root, "whole", 1, Tuning::default());
    let wanted = [picture(&sandbox.path("whole")), picture(&sandbox.path("whole.index"))];
    assert!(whole.counts.iter().map(|(_, _, count)| count).sum::<u64>() > 28, "{:?}", whole.counts);
    for (threads, unit_bytes, piles) in [(1, 1, None), (3, 1, Some(0)), (3, 20_000, None), (7, 5_000, Some(600 << 10))]
    {
        let name = format!("parts-{threads}-{unit_bytes}");
        let report =
            run(&root, &name, threads, Tuning { parts: None, unit_bytes: Some(unit_bytes), spill_bytes: piles });
        assert_same(&picture(&sandbox.path(&name)), &wanted[0], &name);
        assert_same(&picture(&sandbox.path(&format!("{name}.index"))), &wanted[1], &name);
        assert_eq!(report.per_file, whole.per_file, "{name}");
        assert_eq!(report.totals, whole.totals, "{name}");
        assert_eq!(report.problems, whole.problems, "{name}: lines are counted from the beginning of the file");
        let places = |report: &DedupReport| -> Vec<(u64, u64, String)> {
            report.passages.iter().map(|one| (one.line, one.offset, one.text.clone())).collect()
        };
        assert!(places(&report).iter().all(|place| place.0 > 0), "{name}: {:?}", places(&report));
    }
}

#[test]
fn first_strict_problem_has_its_line_number_in_a_divided_file() {
    let sandbox = Sandbox::new();
    let mut data = jsonl(some_texts(9_000));
    let lines = data.iter().filter(|byte| **byte == b'\n').count();
    assert!(data.len() > 6 << 20, "large enough to be divided: {}", data.len());
    data.extend(b"no JSON\n");
    sandbox.write("data/a.jsonl", data);
    let ran = sandbox.say("dedup data --output out --minlen 60 --strict --threads 2").ends(1);
    ran.complains(&format!("a.jsonl, line {}", lines + 1));
}

#[test]
fn passage_in_thousands_of_contexts_is_deduplicated_in_little_memory() {
    let words = some_texts(40).concat();
    let passage: String = words.chars().skip(500).take(150).collect();
    // A run of 0 to 59 dashes precedes the passage; the text after it occurs only once, or in some documents.
    let texts: Vec<String> = (0..3_000)
        .map(|number: usize| {
            let end = format!("{:x} {:x}", number * 7_919 % 3_001, number % 5);
            format!("{}{}{passage}{end}", number * 31 % 1_009, "-".repeat(number % 60))
        })
        .collect();
    let sandbox = Sandbox::new();
    sandbox.write("data/a.jsonl", jsonl(&texts[..2_000]));
    sandbox.write("data/b.jsonl", jsonl(&texts[2_000..]));
    let wanted = slowly(&texts, 100);
    for memory in ["2M", "1G"] {
        let output = format!("out-{memory}");
        let line = format!("dedup data --minlen 100 --output {output} --memory {memory} --json");
        let result = sandbox.say(&line).ends(0).json("ok");
        let ours: Vec<String> =
            ["a", "b"].iter().flat_map(|name| texts_of(&sandbox.read(&format!("{output}/{name}.jsonl")))).collect();
        assert!(ours == wanted, "{memory}");
        assert!(result["passages"][0]["count"].as_u64().unwrap() >= 2_900, "{}", result["passages"][0]);
    }
    // Runs that count windows need no more memory.
    for (number, flags) in ["--min-count 3", "--keep none", "--keep none --min-count 2000"].into_iter().enumerate() {
        let run = |memory: &str| {
            let output = format!("counted-{number}-{memory}");
            let line = format!("dedup data --minlen 100 --output {output} --memory {memory} --json {flags}");
            let result = sandbox.say(&line).ends(0).json("ok");
            (picture(&sandbox.path(&output)), result["totals"].clone(), result["passages"][0]["count"].clone())
        };
        let (little, much) = (run("2M"), run("1G"));
        assert_same(&little.0, &much.0, flags);
        assert!(little.1 == much.1 && much.1["ranges"].as_u64().unwrap() > 2_900, "{flags}: {} {}", little.1, much.1);
        assert!(little.2.as_u64().unwrap() >= 2_900, "{flags}: {}", little.2);
    }
}

#[test]
fn equal_documents_and_short_windows_are_deduplicated_in_little_memory() {
    let mut texts = vec!["an equal document of some sixty bytes, thousands of them all".to_owned(); 4_000];
    texts.extend(some_texts(30));
    for length in [1, 2, 3, 8, 20] {
        let sandbox = Sandbox::new();
        sandbox.write("data/a.jsonl", jsonl(&texts));
        sandbox.say(&format!("dedup data --minlen {length} --output out --memory 2M")).ends(0);
        assert!(texts_of(&sandbox.read("out/a.jsonl")) == slowly(&texts, length), "{length}");
    }
}

#[test]
fn dry_run_estimate_is_close_to_the_removed_share() {
    let sandbox = Sandbox::new();
    let texts = some_texts(3_000);
    for (number, some) in texts.chunks(500).enumerate() {
        sandbox.write(&format!("data/{number}.jsonl"), jsonl(some));
    }
    sandbox.write("data/z.jsonl.gz", gzip(&jsonl(&texts[..700])));
    for length in [60, 200] {
        let flags = format!("dedup data --minlen {length} --output out-{length} --json");
        // With so little memory the text is sampled; otherwise a text this small is searched.
        let report = sandbox.say(&format!("{flags} --dry-run --memory 2M")).ends(0).json("ok");
        let done = sandbox.say(&flags).ends(0).json("ok");
        let text = done["totals"]["text_bytes"].as_f64().unwrap();
        let share = done["totals"]["removed_bytes"].as_f64().unwrap() / text;
        let estimate = report["lengths"][0]["share"].as_f64().unwrap();
        let margin = report["lengths"][0]["margin_bytes"].as_f64().unwrap() / text;
        // The sample is smaller, and the margin wider, where the machine has much else to do.
        assert!(margin > 0.0 && margin < 0.25, "{length}: {margin}");
        let off = (share - estimate).abs();
        assert!(share > 0.2 && off < 3.0 * margin, "{length}: {share} and {estimate}, {margin}");
        assert_eq!(report["sampled_bytes"], report["input_bytes"]);
        let passage = &report["passages"][0];
        assert!(passage["line"].as_u64().unwrap() > 0 && passage["count"].as_u64().unwrap() > 20, "{passage}");
        let (file, line) = (passage["file"].as_str().unwrap(), passage["line"].as_u64().unwrap() as usize);
        let text = &texts_of(&unpacked(&sandbox.path("data"))[Path::new(file)])[line - 1];
        let offset = passage["offset"].as_u64().unwrap() as usize;
        assert!(text[offset..].starts_with(passage["text"].as_str().unwrap()), "{passage}");
    }
}

#[test]
fn dry_run_estimates_no_removal_from_the_earlier_set() {
    let sandbox = Sandbox::new();
    let texts = some_texts(400);
    sandbox.write("earlier/a.jsonl", jsonl(vec![texts[0].as_str(); 300]));
    sandbox.write(
        "data/a.jsonl",
        jsonl(["nothing in here is anywhere else, and it is long enough for a window of sixty"]),
    );
    let line = "dedup data --against earlier --minlen 60 --output out --json --dry-run";
    let report = sandbox.say(line).ends(0).json("ok");
    assert_eq!(report["lengths"][0]["share"], 0.0, "{}", report["lengths"]);
    sandbox.write("data/a.jsonl", jsonl([texts[0].as_str(), "new"]));
    let report = sandbox.say(line).ends(0).json("ok");
    assert!(report["lengths"][0]["share"].as_f64().unwrap() > 0.9, "{}", report["lengths"]);
}

#[test]
fn scratch_of_a_stopped_run_is_kept_until_it_cannot_be_resumed() {
    let sandbox = Sandbox::new();
    for number in 0..10 {
        sandbox.write(&format!("data/{number}.jsonl"), jsonl(some_texts(200)));
    }
    std::fs::create_dir(sandbox.path("scratch")).unwrap();
    let left = || std::fs::read_dir(sandbox.path("scratch")).unwrap().count();
    let line = "dedup data --minlen 60 --output out --memory 2M --scratch scratch --threads 1";
    let mut command = sandbox.command(line.split(' '));
    command.env("GRISTMILL_SLOW_READS_MS", "20").stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let journal = sandbox.path("out.gristmill/journal");
    let until = Instant::now() + Duration::from_secs(60);
    while !std::fs::read_to_string(&journal).is_ok_and(|text| text.contains("read/")) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(left(), 1);
    // After another run in the same scratch folder, the first run can still be resumed.
    let other = "dedup data --minlen 60 --output other --memory 2M --scratch scratch";
    let report = sandbox.say(&format!("{other} --json")).ends(0).json("ok");
    let notes = report["problems"].as_array().unwrap();
    assert!(notes.iter().any(|note| note["message"].as_str().unwrap().contains("can be resumed")), "{notes:?}");
    assert_eq!(left(), 1);
    // Without its own folder it cannot be resumed.
    std::fs::remove_dir_all(sandbox.path("out.gristmill")).unwrap();
    sandbox.say(&format!("{other} --force-overwrite")).ends(0);
    assert_eq!(left(), 0);
}

#[test]
fn run_resumed_with_other_scratch_removes_the_old_scratch() {
    let sandbox = Sandbox::new();
    for number in 0..10 {
        sandbox.write(&format!("data/{number}.jsonl"), jsonl(some_texts(200)));
    }
    std::fs::create_dir(sandbox.path("scratch")).unwrap();
    let line = "dedup data --minlen 60 --output out --memory 2M --threads 1";
    let with_scratch = format!("{line} --scratch scratch");
    let mut command = sandbox.command(with_scratch.split(' '));
    command.env("GRISTMILL_SLOW_READS_MS", "20").stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    while !sandbox.has("out.gristmill/work/scratch.json") && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    sandbox.say(line).ends(0);
    assert_eq!(std::fs::read_dir(sandbox.path("scratch")).unwrap().count(), 0);
}
