//! Benchmarks the search for repeated text, in memory and in one thread, against a suffix array.
//!
//! ```text
//! cargo bench --bench dedup                  # all rows but the suffix arrays
//! cargo bench --bench dedup suffix           # suffix arrays (libsais, one thread), ranges compared: 125 MB and 500 MB, some minutes, 6 GB
//! cargo bench --bench dedup check            # the same on 100 MB with all minimum lengths: are the ranges equal?
//! ```
//!
//! Each row is a separate process. The CPU time includes only the search; the memory excludes the text.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::disallowed_methods)]

mod corpus;
mod generate;
mod measure;
mod suffix;
mod texts;

use gristmill_core::dedup::Keep;
use gristmill_dedup::{find_all, Rule};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// Name of a text, and the function that creates it.
type Text = (&'static str, fn() -> Vec<u8>);

const TEXTS: [Text; 11] = [
    ("mixed-100", || corpus::Corpus::tokenized(100_000_000, 1)),
    ("mixed-125", || corpus::Corpus::tokenized(125_000_000, 1)),
    ("mixed-240", || corpus::Corpus::tokenized(240_000_000, 1)),
    ("mixed-500", || corpus::Corpus::tokenized(500_000_000, 1)),
    ("hot", corpus::hot),
    ("equal", corpus::equal_documents),
    ("period-1", || corpus::periodic(1)),
    ("period-2", || corpus::periodic(2)),
    ("period-499", || corpus::periodic(499)),
    ("period-501", || corpus::periodic(501)),
    ("period-1000", || corpus::periodic(1000)),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["row", text, length, method] => row(text, length.parse().unwrap(), method),
        ["suffix"] => {
            for (text, length) in [("mixed-125", 500), ("mixed-500", 500), ("mixed-500", 100)] {
                start(text, length, "suffix");
            }
        }
        ["check"] => [20, 50, 100, 500, 5000].iter().for_each(|length| start("mixed-100", *length, "suffix")),
        ["find", text, length] => start(text, length.parse().unwrap(), "find"),
        _ => {
            for length in [500, 100, 50] {
                start("mixed-500", length, "find");
            }
            for length in [500, 100] {
                start("mixed-125", length, "find");
            }
            for text in ["mixed-240", "hot", "equal", "period-1", "period-2", "period-499", "period-501", "period-1000"]
            {
                start(text, 500, "find");
            }
            start("mixed-125", 500, "count");
            start("period-1", 500, "count");
        }
    }
}

/// Returns the path of a text, which is created unless it exists.
fn text(name: &str) -> PathBuf {
    let dir = generate::home().join("dedup");
    std::fs::create_dir_all(&dir).unwrap();
    let path = dir.join(name);
    if !path.is_file() {
        let make = TEXTS.iter().find(|text| text.0 == name).expect("a text of this name").1;
        let part = path.with_extension("part");
        std::fs::write(&part, make()).unwrap();
        std::fs::rename(part, &path).unwrap();
    }
    path
}

/// Runs a row in a separate process, and prints the memory that it used in addition to the text.
fn start(name: &str, length: u64, method: &str) {
    let bytes = std::fs::metadata(text(name)).unwrap().len();
    print!("{name:12} {:4} MB  minlen {length:4}  {method:6} ", bytes / 1_000_000);
    std::io::stdout().flush().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap());
    let cost = measure::run(child.args(["row", name, &length.to_string(), method]));
    println!("  {:5} MiB beside the text", (cost.peak_kib << 10).saturating_sub(bytes) >> 20);
}

fn row(name: &str, min_length: u64, method: &str) {
    let bytes = std::fs::read(text(name)).unwrap();
    let mut rule = Rule { min_length, keep: Keep::First, min_count: 2 };
    if method == "count" {
        rule.min_count = 3;
    }
    let (find_cpu, found) = timed(|| find_all(&bytes, &rule).unwrap());
    let found: Vec<(u64, u64)> = found.iter().map(|range| (range.start, range.end)).collect();
    let removed: u64 = found.iter().map(|range| range.1 - range.0).sum();
    let each = find_cpu.as_nanos() as f64 / bytes.len() as f64;
    let share = removed as f64 * 100.0 / bytes.len() as f64;
    print!("{:6.2} CPU s  {each:5.2} ns a byte  {share:5.1} % removable", find_cpu.as_secs_f64());
    if method == "suffix" {
        let (cpu, expected) = timed(|| suffix::ranges(&bytes, min_length as usize));
        assert!(found == expected, "{name} {min_length}: the ranges differ");
        let times = cpu.as_secs_f64() / find_cpu.as_secs_f64();
        print!("  suffix array {:6.2} CPU s, {times:.0} ×, equal ranges", cpu.as_secs_f64());
    }
    std::io::stdout().flush().unwrap();
}

fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let before = measure::cpu_time(false);
    let result = work();
    (measure::cpu_time(false) - before, result)
}
