//! Estimates for a text that is only partly read.

use super::Sandbox;
use gristmill_core::dedup::Keep;
use gristmill_core::{Cancel, DedupPlan, RunOptions};
use gristmill_ops::job::dedup::{estimates, start_on, DedupEstimate, LengthEstimate, SampleBudget, Tuning};
use gristmill_storage::fs::RealFs;
use std::sync::Arc;
use std::time::Duration;

/// Number of files, each small enough to be read or skipped as a whole.
const FILES: usize = 240;

struct RandomNumbers(u64);

impl RandomNumbers {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        ((self.0 >> 33) as usize) % n
    }

    fn words(&mut self, bytes: usize) -> String {
        let mut text = String::new();
        while text.len() < bytes {
            let word = self.below(1 << 24);
            text.push_str(&format!("{word:x} "));
        }
        text
    }
}

/// Writes documents, some of which are copies of others, at any position, and some of which contain one of a few notices.
fn corpus(sandbox: &Sandbox) {
    let mut random = RandomNumbers(7);
    let notices: Vec<String> = (0..20).map(|_| random.words(400)).collect();
    let mut texts: Vec<String> = Vec::new();
    for _ in 0..FILES * 8 {
        let text = match random.below(10) {
            0 | 1 if !texts.is_empty() => texts[random.below(texts.len())].clone(),
            2 => {
                let (notice, length) = (random.below(20) * random.below(20) / 20, 500 + random.below(2_000));
                notices[notice].clone() + &random.words(length)
            }
            _ => {
                let length = 500 + random.below(2_000);
                random.words(length)
            }
        };
        texts.push(text);
    }
    // Without this shuffle copies follow their originals; with it, all files are alike.
    for at in (1..texts.len()).rev() {
        texts.swap(at, random.below(at + 1));
    }
    for (number, some) in texts.chunks(8).enumerate() {
        let lines: String = some.iter().map(|text| format!("{{\"text\": \"{text}\"}}\n")).collect();
        sandbox.write(&format!("data/{number:03}.jsonl"), lines.into_bytes());
    }
}

fn estimate_of(plan: &DedupPlan, part: f64, threads: usize) -> (DedupEstimate, LengthEstimate) {
    let options = RunOptions { memory_bytes: 16 << 20, threads, ..RunOptions::default() };
    let whole = estimates(plan, &[200], &options, SampleBudget::default(), &Cancel::default()).unwrap().pop().unwrap();
    let effort = SampleBudget {
        longest: Duration::from_secs(600),
        most_bytes: (whole.input_bytes as f64 * part).round() as u64,
        ..SampleBudget::default()
    };
    let found = estimates(plan, &[200], &options, effort, &Cancel::default()).unwrap().pop().unwrap();
    let length = found.lengths[0];
    (found, length)
}

#[test]
fn estimate_from_part_of_the_text_has_bounds() {
    let sandbox = Sandbox::new();
    corpus(&sandbox);
    for keep in [Keep::First, Keep::None] {
        let path = |name: &str| sandbox.path(name).to_string_lossy().into_owned();
        let plan = DedupPlan { keep, ..DedupPlan::new(path("data"), path(&format!("out-{keep:?}"))) };
        let plan = DedupPlan { min_length: Some(200), ..plan };
        let run = start_on(plan.clone(), RunOptions::default(), Tuning::default(), Arc::new(RealFs)).unwrap();
        let totals = run.wait().unwrap().totals;
        let truth = totals.removed_bytes as f64 / totals.text_bytes as f64;
        assert!(truth > 0.2, "{truth}");
        // An existing output needs no estimate, so the plan names none.
        let plan = DedupPlan { output: String::new(), ..plan };
        for (part, off) in [(1.0, 0.0), (0.6, 0.04), (0.45, 0.05), (0.3, 0.08)] {
            let (found, length) = estimate_of(&plan, part, 2);
            // The part that is read does not depend on the speed of the threads.
            assert_eq!(length, estimate_of(&plan, part, 7).1);
            assert_eq!(length.is_exact, part == 1.0);
            let read = found.sampled_bytes as f64 / found.input_bytes as f64;
            assert!((read - part).abs() < 0.03, "{read} {part}");
            let most = length.most_share.unwrap();
            let is_within = length.least_share <= truth && truth <= most;
            assert!(is_within && (length.share - truth).abs() <= off, "{keep:?} {part}: {truth} {length:?}");
            assert!(most - length.least_share < 0.25 + 1e-9, "{keep:?} {part}: {length:?}");
            assert!(found.basis(&length).contains(if part < 1.0 { "for all of it" } else { "From all" }));
        }
        // A smaller part leaves more uncertainty, and the bounds have their maximum width.
        let (found, length) = estimate_of(&plan, 0.05, 2);
        let width = length.most_share.unwrap() - length.least_share;
        assert!((width - 0.25).abs() < 1e-9 && found.basis(&length).contains("for all of it"), "{keep:?}: {length:?}");
    }
}

/// Writes text with copies of all sizes, with characters of several bytes, and with a line that is not a record.
fn many_copies(sandbox: &Sandbox, megabytes: usize) {
    let mut random = RandomNumbers(11);
    let pieces: Vec<String> = (0..200)
        .map(|_| {
            let bytes = 20 + random.below(900);
            random.words(bytes)
        })
        .collect();
    let (mut lines, mut bytes) = (String::from("no record\n"), 0);
    while bytes < megabytes << 20 {
        let mut text = String::new();
        for _ in 0..4 {
            let own = random.below(2_000);
            text.push_str(&random.words(own));
            // Characters that differ only in their last byte: a repeat may begin or end within one.
            text.push(['ä', 'ö', 'ü', '東'][random.below(4)]);
            let at = random.below(200);
            text.push_str(&pieces[at]);
        }
        bytes += text.len();
        lines.push_str(&format!("{{\"text\": \"{text}\"}}\n"));
    }
    sandbox.write("data/a.jsonl", lines.into_bytes());
}

#[test]
fn estimate_is_exact_in_sufficient_memory_and_never_grows_with_length() {
    let sandbox = Sandbox::new();
    many_copies(&sandbox, 9);
    let mut truths = Vec::new();
    for length in [50, 100, 200, 500] {
        let run = format!("dedup data --minlen {length} --problems-ok --json");
        let made = sandbox.say(&format!("{run} --output out-{length}")).ends(0).json("problems");
        let (text, removed) = (&made["totals"]["text_bytes"], &made["totals"]["removed_bytes"]);
        truths.push(removed.as_f64().unwrap() / text.as_f64().unwrap());
        // 256M is the limit of a run; 48M is sufficient because the text is read several times.
        for memory in ["256M", "48M"] {
            let dry = sandbox.say(&format!("{run} --dry-run --memory {memory}")).ends(0).json("problems");
            let found = &dry["lengths"][0];
            assert_eq!(
                (&found["is_exact"], &found["removed_bytes"]),
                (&true.into(), removed),
                "{memory} {length}: {dry}"
            );
            assert_eq!((&dry["text_bytes"], &found["least_share"]), (text, &found["most_share"]));
        }
    }
    let plan = DedupPlan::new(sandbox.path("data").to_string_lossy().into_owned(), "");
    let options = RunOptions { memory_bytes: 12 << 20, ..RunOptions::default() };
    let effort = SampleBudget { longest: Duration::from_secs(600), ..SampleBudget::default() };
    let mut before = 1.0;
    for (length, truth) in [50, 100, 200, 500].into_iter().zip(truths) {
        // Each length is estimated separately.
        let found =
            estimates(&plan, &[length], &options, effort, &Cancel::default()).unwrap().pop().unwrap().lengths[0];
        let (least, most) = (found.least_share, found.most_share.unwrap());
        assert!(least <= truth && truth <= most && most - least < 0.25 + 1e-9, "{truth} {found:?}");
        assert!(found.share <= before && !found.is_exact, "{before} {found:?}");
        before = found.share;
    }
}

#[test]
fn shortest_windows_are_estimated_without_sampling() {
    let sandbox = Sandbox::new();
    let mut random = RandomNumbers(3);
    let letters =
        |random: &mut RandomNumbers| (0..400).map(|_| b"abcdefgh "[random.below(9)] as char).collect::<String>();
    let lines: String = (0..7_000).map(|_| format!("{{\"text\": \"{}\"}}\n", letters(&mut random))).collect();
    sandbox.write("data/a.jsonl", lines.into_bytes());
    // The text is too large to be searched as a whole with so little memory.
    for length in [1, 2, 3] {
        let dry = format!("dedup data --minlen {length} --memory 16M --dry-run --json");
        let preview = sandbox.say(&dry).ends(0).json("ok");
        let length = &preview["lengths"][0];
        assert!(length["share"].as_f64().unwrap() > 0.99 && length["least_share"].as_f64().unwrap() > 0.1, "{preview}");
    }
}
