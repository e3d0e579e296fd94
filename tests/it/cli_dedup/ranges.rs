//! The ranges that a run writes next to its report are the ranges that it found, for any division of the work.

use super::*;
use gristmill_core::dedup::Mode;
use gristmill_core::{Cancel, DedupPlan, RunOptions};
use gristmill_ops::engine::dedup::removed::{RemovedRanges, Search};
use gristmill_ops::job::dedup::{start_on, Tuning};
use gristmill_storage::fs::RealFs;
use std::process::Stdio;
use std::sync::atomic::AtomicU64;
use std::sync::Arc;
use std::time::{Duration, Instant};

type ListedRanges = (String, Vec<std::ops::Range<usize>>);

fn data(sandbox: &Sandbox) {
    let mut texts = some_texts(90);
    texts.iter_mut().step_by(7).for_each(|text| text.insert_str(0, "Größe – 東京 "));
    sandbox.write("data/a.jsonl", [&jsonl(&texts[..30])[..], b"\nno JSON\n", &jsonl(&texts[30..40])[..]].concat());
    sandbox.write("data/b/c.jsonl.gz", gzip(&jsonl(&texts[40..70])));
    sandbox.write("data/d.jsonl", jsonl(["nothing", "of this", "repeats"]));
    sandbox.write("data/e.jsonl", jsonl(&texts[70..]));
}

fn plan(sandbox: &Sandbox, output: &str) -> DedupPlan {
    let path = |name: &str| sandbox.path(name).to_str().unwrap().to_owned();
    let plan = DedupPlan::new(path("data"), path(output));
    DedupPlan { min_length: Some(60), mode: Mode::Annotate, ..plan }
}

/// Returns the ranges in the records of the output, in their order, for documents with ranges.
fn listed(sandbox: &Sandbox, output: &str) -> Vec<ListedRanges> {
    let files = unpacked(&sandbox.path(output));
    let lines = files.values().flat_map(|bytes| std::str::from_utf8(bytes).unwrap().lines());
    let records = lines.filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let of = |record: Value| {
        let ranges = record["metadata"]["sa_remove_ranges"].as_array()?.iter();
        let at = |pair: &Value, end: usize| pair[end].as_u64().unwrap() as usize;
        let ranges: Vec<_> = ranges.map(|pair| at(pair, 0)..at(pair, 1)).collect();
        (!ranges.is_empty()).then(|| (record["text"].as_str().unwrap().to_owned(), ranges))
    };
    records.filter_map(of).collect()
}

fn opened(sandbox: &Sandbox, output: &str) -> (RemovedRanges, Vec<ListedRanges>) {
    let removed = RemovedRanges::open(&sandbox.path(&format!("{output}.gristmill/ranges"))).unwrap();
    let page = |number| removed.page(number, &Cancel::default()).unwrap().unwrap();
    let pages = (0..removed.len()).map(page).map(|page| (page.text, page.ranges)).collect();
    (removed, pages)
}

#[test]
fn recorded_ranges_equal_listed_ranges_for_every_partitioning() {
    let sandbox = Sandbox::new();
    data(&sandbox);
    for (number, (unit_bytes, piles, threads)) in
        [(None, None, 1), (Some(2 << 10), Some(0), 3), (Some(700), None, 2)].into_iter().enumerate()
    {
        let output = format!("out-{number}");
        let tuning = Tuning { parts: Some(3), unit_bytes, spill_bytes: piles };
        let options = RunOptions { threads, ..RunOptions::default() };
        start_on(plan(&sandbox, &output), options, tuning, Arc::new(RealFs)).unwrap().wait().unwrap();
        let wanted = listed(&sandbox, &output);
        let (removed, found) = opened(&sandbox, &output);
        assert!(wanted.len() > 20 && found == wanted, "{number}: {} of {}", found.len(), wanted.len());
        let names: Vec<&str> = removed.directory().files.iter().map(|file| file.source.name.as_str()).collect();
        assert_eq!(names, ["a.jsonl", "b/c.jsonl.gz", "d.jsonl", "e.jsonl"]);
        assert_eq!(removed.directory().files[2].section.documents, 0);
        // A reported passage is at its reported position.
        let passage = &removed.directory().passages[0];
        let source = passage.file.unwrap();
        let page = removed.page_at(source, passage.start, passage.line, &Cancel::default()).unwrap();
        assert!(page.text[passage.offset as usize..].starts_with(&passage.text));
        // Each range has an earlier occurrence, in a previous document or earlier in the same document.
        for number in (0..removed.len()).step_by(9) {
            let page = removed.page(number, &Cancel::default()).unwrap().unwrap();
            let Some(passage) = page.text.get(page.ranges[0].start..page.ranges[0].start + 60) else { continue };
            let search = Search { passage: passage.to_owned(), until: (page.source, page.start) };
            let first = search.run(&removed, &AtomicU64::new(0), &Cancel::default()).unwrap().unwrap();
            assert!((first.source, first.start, first.from) < (page.source, page.start, page.ranges[0].start as u64));
            let there = removed.page_at(first.source, first.start, first.line, &Cancel::default()).unwrap();
            assert!(there.text[first.from as usize..].starts_with(passage));
        }
    }
}

#[test]
fn resumed_run_records_the_same_ranges_and_a_run_from_an_index_none() {
    let sandbox = Sandbox::new();
    data(&sandbox);
    let flags = "dedup data --minlen 60 --mode annotate --threads 1 --problems-ok";
    sandbox.say(&format!("{flags} --output whole")).ends(0);
    let line = format!("{flags} --output out");
    let mut command = sandbox.command(line.split(' '));
    command.env("GRISTMILL_SLOW_READS_MS", "20").stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let journal = sandbox.path("out.gristmill/journal");
    let until = Instant::now() + Duration::from_secs(60);
    while !std::fs::read_to_string(&journal).is_ok_and(|text| text.contains("write/1")) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    sandbox.say(&line).ends(0);
    assert_eq!(opened(&sandbox, "out").1, opened(&sandbox, "whole").1);
    // The files of another run replace the ranges; a run from an index has none.
    sandbox.say("dedup data --minlen 60 --output made --export-index index --shards 1 --problems-ok").ends(0);
    sandbox.say("dedup --from-index index --minlen 60 --output out --force-overwrite").ends(0);
    assert!(!sandbox.path("out.gristmill/ranges").exists() && sandbox.path("out.gristmill/report.json").exists());
}
