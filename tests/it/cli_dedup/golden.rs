//! The cases of the reference, byte for byte, for any number of threads, any memory and any division of the work.

use super::*;
use gristmill_core::dedup::{Mode, Variant};
use gristmill_core::{DedupPlan, RunOptions};
use gristmill_ops::job::dedup::{start_on, Tuning};
use gristmill_storage::fs::RealFs;
use std::sync::Arc;

#[test]
fn every_dedup_case_equals_the_reference_output() {
    for case in cases() {
        let sandbox = Sandbox::new();
        let input = case.input();
        for mode in ["remove", "annotate"] {
            let wanted = case.expected(mode);
            for (number, how) in
                ["--threads 1", "--threads 2 --memory 16M", "--threads 7 --memory 4G"].iter().enumerate()
            {
                let output = format!("{mode}-{number}");
                let length = case.min_length.to_string();
                let mut words =
                    vec!["dedup", input.to_str().unwrap(), "--output", &output, "--minlen", &length, "--mode", mode];
                words.extend(how.split(' '));
                let ran = sandbox.run(&words);
                assert!([0, 1].contains(&ran.code), "{}: {}", case.name, ran.err);
                assert_same(&unpacked(&sandbox.path(&output)), &wanted, &format!("{} {mode} {how}", case.name));
            }
        }
    }
}

fn plan(case: &Case, output: &Path) -> DedupPlan {
    let mut plan = DedupPlan::new(case.input().to_str().unwrap(), output.to_str().unwrap());
    plan.min_length = Some(case.min_length);
    plan
}

fn run(plan: DedupPlan, threads: usize, tuning: Tuning) {
    let options = RunOptions { threads, ..RunOptions::default() };
    start_on(plan, options, tuning, Arc::new(RealFs)).unwrap().wait().unwrap();
}

#[test]
fn dedup_output_is_independent_of_partitioning() {
    for case in cases() {
        let wanted = case.expected("annotate");
        for parts in [1, 2, 13, 256] {
            for (unit_bytes, piles) in [(None, None), (Some(1), None), (None, Some(0)), (Some(1), Some(600 << 10))] {
                let dir = tempfile::tempdir().unwrap();
                let output = dir.path().join("out");
                let mut plan = plan(&case, &output);
                plan.mode = Mode::Annotate;
                run(plan, 1 + parts as usize % 3, Tuning { parts: Some(parts), unit_bytes, spill_bytes: piles });
                let when = format!("{} in {parts} parts, {unit_bytes:?}, {piles:?}", case.name);
                assert_same(&unpacked(&output), &wanted, &when);
                assert!(!dir.path().join("out.gristmill/work").exists(), "{when}: scratch is cleaned");
            }
        }
    }
}

#[test]
fn the_index_and_the_ranges_are_those_of_the_reference() {
    for case in cases() {
        let dir = tempfile::tempdir().unwrap();
        let mut plan = plan(&case, &dir.path().join("out"));
        let path = |name: &str| Some(dir.path().join(name).to_str().unwrap().to_owned());
        let wanted = case.expected("index");
        (plan.export_index, plan.export_ranges, plan.shards) = (path("index"), path("ranges"), case.shards);
        plan.table = wanted.keys().any(|name| name.ends_with("table"));
        run(plan, 2, Tuning::default());
        // The reference stores the last two of them in a separate folder.
        let is_range =
            |name: &Path| name.ends_with("remove_ranges") || name.ends_with("kept_in_the_middle_lengths.txt");
        let folder = format!("dedup_minlen{}", case.min_length);
        let place = |name: &Path| match is_range(name) {
            true => name.parent().unwrap().join(&folder).join(name.file_name().unwrap()),
            false => name.to_path_buf(),
        };
        let index: BTreeMap<PathBuf, Vec<u8>> =
            wanted.iter().map(|(name, bytes)| (place(name), bytes.clone())).collect();
        let mut ours = picture(&dir.path().join("index"));
        if !wanted.keys().any(|name| name.ends_with("table")) {
            ours.retain(|name, _| !name.ends_with("table"));
        }
        assert_same(&ours, &index, &format!("{} index", case.name));
        let ranges: BTreeMap<PathBuf, Vec<u8>> = index.into_iter().filter(|(name, _)| is_range(name)).collect();
        assert_same(&picture(&dir.path().join("ranges")), &ranges, &format!("{} ranges", case.name));
    }
}

#[test]
fn variant_b_lists_the_same_ranges_after_the_text() {
    for case in cases() {
        let dir = tempfile::tempdir().unwrap();
        let output = dir.path().join("out");
        let mut plan = plan(&case, &output);
        (plan.mode, plan.variant) = (Mode::Annotate, Variant::B);
        run(plan, 2, Tuning::default());
        for (name, newer) in case.expected("annotate") {
            let older = unpacked(&output).remove(&name).unwrap();
            let (newer, older) = (String::from_utf8(newer).unwrap(), String::from_utf8(older).unwrap());
            assert_eq!(newer.lines().count(), older.lines().count());
            for (newer, older) in newer.lines().zip(older.lines()) {
                let parsed = (serde_json::from_str::<Value>(newer), serde_json::from_str::<Value>(older));
                // Skips lines with unpaired surrogates in other fields, which this reader rejects.
                let (Ok(a), Ok(b)) = parsed else { continue };
                assert_eq!(a["text"], b["text"]);
                let text = newer.find("\", ").map_or(newer, |end| &newer[..end]);
                assert!(older.starts_with(text), "{older}");
                let is_in_the_input = a.get("sa_remove_ranges").is_some();
                if !is_in_the_input {
                    assert_eq!(a["metadata"]["sa_remove_ranges"], b["sa_remove_ranges"], "{} {name:?}", case.name);
                    assert!(older.contains("\", \"sa_remove_ranges\": ["), "{older}");
                }
            }
        }
    }
}

#[test]
fn dedup_report_has_the_figures_of_the_reference() {
    for case in cases() {
        let sandbox = Sandbox::new();
        let length = case.min_length.to_string();
        let input = case.input();
        let ran = sandbox.run(["dedup", input.to_str().unwrap(), "-o", "out", "--minlen", &length, "--json"]);
        let result: Value = serde_json::from_str(&ran.out).unwrap();
        let stats: Value =
            serde_json::from_slice(&std::fs::read(golden().join(&case.name).join("expected/stats.json")).unwrap())
                .unwrap();
        let totals = &result["totals"];
        assert_eq!(totals["ranges"], stats["remove_ranges"], "{} {stats}", case.name);
        assert_eq!(totals["range_bytes"], stats["remove_bytes"], "{} {stats}", case.name);
        assert_eq!(totals["documents"], stats["documents"], "{} {stats}", case.name);
        assert_eq!(totals["text_bytes"], stats["text_bytes"], "{} {stats}", case.name);
    }
}

#[test]
fn dedup_reads_an_index_of_the_reference_program() {
    for case in cases() {
        let index = golden().join(&case.name).join("expected/index");
        let sandbox = Sandbox::new();
        let length = case.min_length.to_string();
        let index = index.to_str().unwrap();
        let run = |output: &str, mode: &str, more: &str| {
            let mut words = vec!["dedup", "--from-index", index, "-o", output, "--minlen", &length, "--mode", mode];
            words.extend(more.split_whitespace());
            sandbox.run(&words)
        };
        run("out", "remove", "--export-ranges ranges").ends(0);
        assert_same(&unpacked(&sandbox.path("out")), &case.expected("remove"), &case.name);
        run("out", "remove", "--export-ranges ranges").ends(0).says("Nothing to do");
        run("marked", "annotate", "--memory 1M --threads 7").ends(0);
        assert_same(&unpacked(&sandbox.path("marked")), &case.expected("annotate"), &case.name);
        for shard in 0..case.shards {
            let folder = format!("ranges/{shard}/dedup_minlen{length}");
            for name in ["remove_ranges", "kept_in_the_middle_lengths.txt"] {
                let wanted = std::fs::read(format!("{index}/{shard}/{name}")).unwrap();
                assert_eq!(sandbox.read(&format!("{folder}/{name}")), wanted, "{} {shard} {name}", case.name);
            }
        }
        let estimate = run("other", "remove", "--dry-run --json").ends(0).json("ok");
        assert!(estimate["documents"].as_u64().unwrap() > 0);
        sandbox.run(["verify", index]).ends(0).says("No problem found");
    }
}

#[test]
fn exported_index_is_reusable_and_its_damage_is_reported() {
    let sandbox = Sandbox::new();
    sandbox.write("data/a.jsonl", jsonl(some_texts(50)));
    sandbox.write("data/b/c.jsonl.gz", gzip(&jsonl(some_texts(80))));
    sandbox.say("dedup data --minlen 60 --output out --export-index index --shards 2 --table").ends(0);
    sandbox.say("verify index").ends(0).says("No problem found in 2 shards, 130 documents");
    sandbox.say("dedup --from-index index --minlen 60 --output again").ends(0);
    assert_same(&unpacked(&sandbox.path("again")), &unpacked(&sandbox.path("out")), "the same by the index");
    let mut offsets = sandbox.read("index/1/offset");
    offsets[9] ^= 1;
    sandbox.write("index/1/offset", offsets);
    let report = sandbox.say("verify index --json").ends(1).json("problems");
    assert!(report["problems"].to_string().contains("index/1"), "{}", report["problems"]);
    sandbox.say("dedup --from-index index --minlen 60 --output third").ends(1).complains("index/1");
    assert!(!sandbox.has("third"));
    sandbox.say("dedup --from-index data --minlen 60 --output third").ends(2).complains("no folder named 0");
    // A path that leads out of the output is never followed.
    let metadata = sandbox.text("index/0/metadata").replace("\"a.jsonl\"", "\"../x.js\"");
    sandbox.write("index/0/metadata", metadata);
    sandbox.say("dedup --from-index index --minlen 60 --output third").ends(1).complains("outside of the folder");
    assert!(!sandbox.has("x.js") && !sandbox.has("third"));
    std::fs::remove_dir_all(sandbox.path("index/0")).unwrap();
    sandbox.say("verify index").ends(1).complains("shard 0 is missing");
}
