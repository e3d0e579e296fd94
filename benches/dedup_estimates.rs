//! Measures how often the bounds of an estimate contain the bytes that a run removes, on generated corpora of several kinds.
//!
//! ```text
//! cargo bench --bench dedup_estimates        # 100 corpora of each kind
//! cargo bench --bench dedup_estimates 10     # 10 of each
//! ```
//!
//! Each corpus is sampled as a whole, and by reading a half, a quarter and a tenth, with five minimum lengths. Exits with 1 if fewer than
//! 95 of 100 bounds contain the true value, if some are wider than 25 points, or if the estimate grows with the minimum length.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::disallowed_methods)]

use gristmill_core::dedup::SHOWN_LENGTHS;
use gristmill_core::{Cancel, DedupPlan, RunOptions};
use gristmill_ops::job::dedup::{estimates, SampleBudget};
use std::path::Path;
use std::time::Duration;

/// Number of files of a corpus; each is read as a whole or skipped.
const FILES: usize = 960;
const DOCUMENTS: usize = 8;
const PARTS: [f64; 4] = [1.0, 0.5, 0.25, 0.1];
/// Amount of memory in bytes that is too small to search a whole corpus.
const LITTLE: u64 = 4 << 20;

struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        ((self.0 >> 33) as usize) % n.max(1)
    }

    fn words(&mut self, bytes: usize) -> String {
        let mut text = String::new();
        while text.len() < bytes {
            text.push_str(&format!("{:x} ", self.below(1 << 24)));
        }
        text
    }
}

type Kind = (&'static str, fn(&mut Dice) -> Vec<String>);

const KINDS: [Kind; 6] =
    [("unique", unique), ("copies", copies), ("notices", notices), ("pages", pages), ("quotes", quotes), ("one", one)];

fn many(dice: &mut Dice, mut of: impl FnMut(&mut Dice) -> String) -> Vec<String> {
    (0..FILES * DOCUMENTS).map(|_| of(dice)).collect()
}

fn unique(dice: &mut Dice) -> Vec<String> {
    many(dice, |dice| {
        let length = 60 + dice.below(900);
        dice.words(length)
    })
}

/// Returns documents some of which are copies of others: most occur twice, some many times.
fn copies(dice: &mut Dice) -> Vec<String> {
    let (mut texts, percent) = (unique(dice), 1 + dice.below(60));
    for at in 1..texts.len() {
        if dice.below(100) < percent {
            texts[at] = texts[dice.below(at)].clone();
        }
    }
    texts
}

/// Returns documents that begin with one of a few notices, some of which are much more frequent than others.
fn notices(dice: &mut Dice) -> Vec<String> {
    let notices: Vec<String> = (0..20).map(|_| dice.words(400)).collect();
    let percent = 5 + dice.below(80);
    many(dice, |dice| {
        let (notice, length) = (dice.below(20) * dice.below(20) / 20, 60 + dice.below(700));
        let begins = if dice.below(100) < percent { notices[notice].as_str() } else { "" };
        format!("{begins}{}", dice.words(length))
    })
}

/// Returns pages of sites; each site has its own header and footer.
fn pages(dice: &mut Dice) -> Vec<String> {
    let sites: Vec<(String, String)> = (0..30 + dice.below(100))
        .map(|_| {
            let (head, foot) = (60 + dice.below(200), 60 + dice.below(300));
            (dice.words(head), dice.words(foot))
        })
        .collect();
    many(dice, |dice| {
        let (head, foot) = &sites[dice.below(sites.len())];
        let length = 60 + dice.below(700);
        format!("{head}{}{foot}", dice.words(length))
    })
}

/// Returns documents of paragraphs of all lengths, many of which are also in other documents.
fn quotes(dice: &mut Dice) -> Vec<String> {
    let paragraphs: Vec<String> = (0..400 + dice.below(4_000))
        .map(|_| {
            let length = 40 + dice.below(600);
            dice.words(length)
        })
        .collect();
    let percent = 5 + dice.below(60);
    many(dice, |dice| {
        let piece = |dice: &mut Dice| match dice.below(100) < percent {
            true => paragraphs[dice.below(paragraphs.len())].clone(),
            false => {
                let length = 40 + dice.below(600);
                dice.words(length)
            }
        };
        (0..1 + dice.below(3)).map(|_| piece(dice)).collect()
    })
}

/// Returns documents, 20 to 99 % of which contain the same passage.
fn one(dice: &mut Dice) -> Vec<String> {
    let (passage, percent) = (dice.words(300), 20 + dice.below(80));
    many(dice, |dice| {
        let length = 60 + dice.below(700);
        let begins = if dice.below(100) < percent { passage.as_str() } else { "" };
        format!("{begins}{}", dice.words(length))
    })
}

fn write(mut texts: Vec<String>, dice: &mut Dice, folder: &Path) {
    for at in (1..texts.len()).rev() {
        texts.swap(at, dice.below(at + 1));
    }
    for (number, some) in texts.chunks(DOCUMENTS).enumerate() {
        let lines: String = some.iter().map(|text| format!("{{\"text\": \"{text}\"}}\n")).collect();
        std::fs::write(folder.join(format!("{number:04}.jsonl")), lines).unwrap();
    }
}

/// Results for one kind and part.
#[derive(Clone, Copy, Default)]
struct Tally {
    bounds: u32,
    right: u32,
    grows: u32,
    widest: f64,
    off: f64,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let corpora: u64 = arguments.first().map_or(100, |count| count.parse().unwrap());
    println!("{corpora} corpora of each kind, {} minimum lengths\n", SHOWN_LENGTHS.len());
    println!("kind      part  contain the truth  widest  off by, on average");
    let mut all = Tally::default();
    for (kind, of) in KINDS {
        let mut tallies = [Tally::default(); PARTS.len()];
        (0..corpora).for_each(|seed| try_corpus(&of, seed, &mut tallies));
        for (part, tally) in PARTS.iter().zip(&tallies) {
            let share = |some: u32| f64::from(some) * 100.0 / f64::from(tally.bounds);
            let off = tally.off * 100.0 / f64::from(tally.bounds);
            println!("{kind:8} {part:5.2} {:16.1} % {:7.1} {off:8.1}", share(tally.right), tally.widest * 100.0);
            all.bounds += tally.bounds;
            all.right += tally.right;
            all.grows += tally.grows;
            all.widest = all.widest.max(tally.widest);
        }
    }
    let covered = f64::from(all.right) * 100.0 / f64::from(all.bounds);
    println!("\n{covered:.1} % of all bounds contain the truth; {} shares grow with the length", all.grows);
    let is_right = covered >= 95.0 && all.grows == 0 && all.widest < 0.25 + 1e-9;
    std::process::exit(i32::from(!is_right));
}

fn try_corpus(of: &fn(&mut Dice) -> Vec<String>, seed: u64, tallies: &mut [Tally; PARTS.len()]) {
    let (mut dice, folder) = (Dice(seed.wrapping_mul(977) + 13), tempfile::tempdir().unwrap());
    write(of(&mut dice), &mut dice, folder.path());
    let plan = DedupPlan::new(folder.path().to_string_lossy().into_owned(), "");
    let tell = |memory_bytes: u64, most_bytes: u64| {
        let options = RunOptions { memory_bytes, threads: 2, ..RunOptions::default() };
        let effort = SampleBudget { longest: Duration::from_secs(600), most_bytes, searches: true };
        estimates(&plan, &SHOWN_LENGTHS, &options, effort, &Cancel::default()).unwrap()
    };
    let truths = tell(1 << 30, u64::MAX);
    assert!(truths.iter().all(|one| one.is_exact()));
    for (part, tally) in PARTS.iter().zip(tallies) {
        let most_bytes = if *part == 1.0 { u64::MAX } else { (truths[0].input_bytes as f64 * part) as u64 };
        let mut before = 1.0;
        for (found, truth) in tell(LITTLE, most_bytes).iter().zip(&truths) {
            let (length, truth) = (found.lengths[0], truth.lengths[0].share);
            assert!(!length.is_exact);
            let most = length.most_share.unwrap();
            tally.bounds += 1;
            tally.right += u32::from(length.least_share - 1e-9 <= truth && truth <= most + 1e-9);
            tally.grows += u32::from(length.share > before);
            tally.widest = tally.widest.max(most - length.least_share);
            tally.off += (length.share - truth).abs();
            before = length.share;
        }
    }
}
