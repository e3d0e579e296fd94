//! What is told of a text of which a part was read.

use super::Sandbox;
use gristmill::job::dedup::{estimates, start, DedupEstimate, Effort, LengthEstimate};
use gristmill::model::dedup::Keep;
use gristmill::model::{Cancel, DedupPlan, RunOptions};
use std::time::Duration;

/// Files, each small enough to be read or left as a whole.
const FILES: usize = 240;

struct Dice(u64);

impl Dice {
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

/// Documents of which some are copies of others, anywhere, and some carry one of a few notices.
fn corpus(sandbox: &Sandbox) {
    let mut dice = Dice(7);
    let notices: Vec<String> = (0..20).map(|_| dice.words(400)).collect();
    let mut texts: Vec<String> = Vec::new();
    for _ in 0..FILES * 8 {
        let text = match dice.below(10) {
            0 | 1 if !texts.is_empty() => texts[dice.below(texts.len())].clone(),
            2 => {
                let (notice, length) = (dice.below(20) * dice.below(20) / 20, 500 + dice.below(2_000));
                notices[notice].clone() + &dice.words(length)
            }
            _ => {
                let length = 500 + dice.below(2_000);
                dice.words(length)
            }
        };
        texts.push(text);
    }
    // Copies lie behind what they are copies of, else: no file is more than another.
    for at in (1..texts.len()).rev() {
        texts.swap(at, dice.below(at + 1));
    }
    for (number, some) in texts.chunks(8).enumerate() {
        let lines: String = some.iter().map(|text| format!("{{\"text\": \"{text}\"}}\n")).collect();
        sandbox.write(&format!("data/{number:03}.jsonl"), lines.into_bytes());
    }
}

fn told(plan: &DedupPlan, part: f64, threads: usize) -> (DedupEstimate, LengthEstimate) {
    let options = RunOptions { memory_bytes: 16 << 20, threads, ..RunOptions::default() };
    let whole = estimates(plan, &[200], &options, Effort::default(), &Cancel::default()).unwrap().pop().unwrap();
    let effort =
        Effort { longest: Duration::from_secs(600), most_bytes: (whole.input_bytes as f64 * part).round() as u64 };
    let found = estimates(plan, &[200], &options, effort, &Cancel::default()).unwrap().pop().unwrap();
    let length = found.lengths[0];
    (found, length)
}

#[test]
fn what_the_text_that_was_not_read_adds_is_told_with_its_bounds() {
    let sandbox = Sandbox::new();
    corpus(&sandbox);
    for keep in [Keep::First, Keep::None] {
        let path = |name: &str| sandbox.path(name).to_string_lossy().into_owned();
        let plan = DedupPlan { keep, ..DedupPlan::new(path("data"), path(&format!("out-{keep:?}"))) };
        let plan = DedupPlan { min_length: Some(200), ..plan };
        let totals = start(plan.clone(), RunOptions::default()).unwrap().wait().unwrap().totals;
        let truth = totals.removed_bytes as f64 / totals.text_bytes as f64;
        assert!(truth > 0.2, "{truth}");
        for (part, off) in [(1.0, 0.02), (0.6, 0.04), (0.45, 0.05), (0.3, 0.08)] {
            let (found, length) = told(&plan, part, 2);
            // What is read does not hang on who is faster.
            assert_eq!(length, told(&plan, part, 7).1);
            let read = found.sampled_bytes as f64 / found.input_bytes as f64;
            assert!((read - part).abs() < 0.03, "{read} {part}");
            let most = length.most_share.unwrap();
            let is_within = length.least_share <= truth && truth <= most;
            assert!(is_within && (length.share - truth).abs() < off, "{keep:?} {part}: {truth} {length:?}");
            // Of windows that all go the series has greater terms.
            let widest = if keep == Keep::First { 0.25 } else { 0.7 };
            assert!(most - length.least_share < widest, "{keep:?} {part}: {length:?}");
        }
        let (found, length) = told(&plan, 0.05, 2);
        assert!(length.is_least() && length.share < truth, "{length:?}");
        assert!(found.basis(&length).contains("so much at least"), "{}", found.basis(&length));
    }
    // How often passages would have to occur is not told of text that was not read.
    let path = |name: &str| sandbox.path(name).to_string_lossy().into_owned();
    let plan = DedupPlan { min_count: 3, ..DedupPlan::new(path("data"), path("out")) };
    assert!(told(&plan, 0.6, 2).1.is_least() && !told(&plan, 1.0, 2).1.is_least());
}

#[test]
fn of_the_shortest_windows_all_keys_are_looked_at() {
    let sandbox = Sandbox::new();
    let mut dice = Dice(3);
    let letters = |dice: &mut Dice| (0..400).map(|_| b"abcdefgh "[dice.below(9)] as char).collect::<String>();
    let lines: String = (0..7_000).map(|_| format!("{{\"text\": \"{}\"}}\n", letters(&mut dice))).collect();
    sandbox.write("data/a.jsonl", lines.into_bytes());
    // Too much to be searched as a whole with so little memory.
    for length in [1, 2, 3] {
        let dry = format!("dedup data --minlen {length} --memory 16M --dry-run --json");
        let told = sandbox.say(&dry).ends(0).json("ok");
        let length = &told["lengths"][0];
        assert!(length["share"].as_f64().unwrap() > 0.99 && length["least_share"].as_f64().unwrap() > 0.1, "{told}");
    }
}
