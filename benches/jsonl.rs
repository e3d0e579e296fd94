//! Benchmarks whole processes on one JSONL file: 1.3 million lines, 500 MB, in the page cache.
//!
//! ```text
//! cargo bench --bench jsonl                            # prepare, verify, lint; and `wc -l` for comparison
//! THREADS=1 RUNS=21 cargo bench --bench jsonl          # default: 2 threads and 11 runs; reports the median
//! ```
//!
//! The floor is `wc -l`, which searches for the same line ends and writes no files. The reference program needs 20 CPU s for this file
//! (idle machine, file in the cache).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::disallowed_methods)]
#![allow(dead_code, reason = "the folder for bench data is shared with the other benches")]

mod generate;
mod measure;

use measure::Cost;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const LINES: usize = 1_300_000;

fn main() {
    let path = make();
    let bytes = std::fs::metadata(&path).unwrap().len();
    let threads = setting("THREADS", 2);
    println!("{LINES} lines, {:.0} MB, {threads} threads", bytes as f64 / 1e6);
    let index = path.with_extension("jsonl.idx");
    let mut floor = Command::new("wc");
    floor.arg("-l").arg(&path);
    let wc = median(|| measure::run(floor.stdout(Stdio::null())));
    println!("wc -l      {wc}");
    let prepare = median(|| {
        let _ = std::fs::remove_file(&index);
        gristmill("prepare", &path, threads)
    });
    assert_eq!(std::fs::metadata(&index).unwrap().len(), 8 * (LINES as u64 + 1));
    println!("prepare    {prepare}  {:.2} × wc -l", prepare.wall.as_secs_f64() / wc.wall.as_secs_f64());
    println!("again      {}", median(|| gristmill("prepare", &path, threads)));
    println!("verify     {}", median(|| gristmill("verify", &path, threads)));
    println!("lint       {}", median(|| gristmill("lint", &path, threads)));
    println!("info       {}", median(|| gristmill("info", &path, threads)));
}

fn setting(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Returns the median wall time, the mean processor time (the kernel counts it in hundredths of a second), and the highest peak.
fn median(mut run: impl FnMut() -> Cost) -> Cost {
    let runs = setting("RUNS", 11).max(1);
    let before = measure::cpu_time(true);
    let mut costs: Vec<Cost> = (0..runs).map(|_| run()).collect();
    let cpu = (measure::cpu_time(true) - before) / runs as u32;
    costs.sort_by_key(|cost| cost.wall);
    let peak_kib = costs.iter().map(|cost| cost.peak_kib).max().unwrap_or(0);
    Cost { cpu, peak_kib, ..costs[runs / 2] }
}

fn gristmill(command: &str, path: &Path, threads: usize) -> Cost {
    let mut program = Command::new(env!("CARGO_BIN_EXE_gristmill"));
    program.arg(command).arg(path).args(["--threads", &threads.to_string()]);
    measure::run(program.stdout(Stdio::null()).stderr(Stdio::null()))
}

/// Creates the file unless it exists: lines of 100 to 670 bytes, like texts with a few facts.
fn make() -> PathBuf {
    let dir = generate::home().join("jsonl");
    std::fs::create_dir_all(&dir).unwrap();
    let path = dir.join("corpus.jsonl");
    let words = "the quick brown fox jumps over a lazy dog while seven wizards box with quiet vigour and judge my vow ";
    let text = words.repeat(7);
    if std::fs::metadata(&path).is_ok_and(|facts| facts.len() > 470_000_000) {
        return path;
    }
    let mut out = BufWriter::with_capacity(1 << 20, File::create(&path).unwrap());
    for number in 0..LINES {
        // The lengths follow no pattern that a branch predictor could learn.
        let length = 40 + (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17) as usize % 570;
        let score = number % 1000;
        writeln!(out, r#"{{"id": {number}, "score": 0.{score:03}, "text": "{}"}}"#, &text[..length]).unwrap();
    }
    out.into_inner().unwrap();
    path
}
