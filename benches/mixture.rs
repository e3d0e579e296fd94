//! Benchmarks the index of a Nanoset mixture: an epoch of 10⁸ samples from 8 data sets, ordered and shuffled in memory.
//!
//! ```text
//! cargo bench --bench mixture                          # default: SAMPLES=100000000 RUNS=3; reports the median
//! PYTHON=venv/bin/python cargo bench --bench mixture   # also the same algorithm in numpy and numba, with that Python
//! ```
//!
//! The Python side follows the reference: one compiled loop over the samples, two arrays, each shuffled with the same seed, then joined and
//! cut. Its compilation time is not counted. Both run on one thread and are measured in processor time, so that a busy machine has little
//! effect.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::disallowed_methods)]

use gristmill_core::{Cancel, Handles, ProblemLog, Progress};
use gristmill_ops::tokens::formats::mixture::{build, MixtureIndex, Request};
use std::process::Command;
use std::time::Duration;

const WEIGHTS: [f64; 8] = [0.05, 0.1, 0.15, 0.2, 0.05, 0.15, 0.2, 0.1];

fn main() {
    let samples = setting("SAMPLES", 100_000_000);
    let runs = setting("RUNS", 3);
    let request = Request {
        lengths: vec![samples / 8; 8],
        weights: Some(WEIGHTS.to_vec()),
        samples: samples / 8 * 8,
        seed: 1234,
    };
    let mut times = Vec::new();
    let mut sum = 0;
    for _ in 0..runs {
        let start = cpu_time();
        let index = made(&request);
        times.push(cpu_time() - start);
        sum = checksum(&index);
    }
    times.sort();
    let ours = times[times.len() / 2];
    println!("gristmill  {:.2} s, checksum {sum}, {} MiB at the most", ours.as_secs_f64(), peak_mib());
    let Ok(python) = std::env::var("PYTHON") else { return };
    let output = Command::new(python).args(["-c", ORACLE, &samples.to_string(), &runs.to_string()]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout).unwrap();
    let (seconds, theirs) = said.trim().split_once(' ').unwrap();
    let oracle = Duration::from_secs_f64(seconds.parse().unwrap());
    assert_eq!(theirs.parse::<u64>().unwrap(), sum, "the two indexes differ");
    let ratio = oracle.as_secs_f64() / ours.as_secs_f64();
    println!("numpy      {:.2} s, the same index: {ratio:.1} times as long", oracle.as_secs_f64());
}

fn made(request: &Request) -> MixtureIndex {
    let (progress, cancel, problems) = (Progress::default(), Cancel::default(), ProblemLog::default());
    build(request, &Handles { progress: &progress, cancel: &cancel, problems: &problems }).unwrap()
}

/// Returns a checksum that detects almost every difference of order or content.
fn checksum(index: &MixtureIndex) -> u64 {
    let mut sum = 0_u64;
    let add = |piece: &[(u32, u64)]| {
        for (member, window) in piece {
            sum = sum.wrapping_mul(31).wrapping_add(u64::from(*member)).wrapping_mul(31).wrapping_add(*window);
        }
        Ok(())
    };
    index.for_each_chunk(add).unwrap();
    sum
}

/// Returns the processor time of this process so far, with a resolution of a hundredth of a second.
fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks: u64 = fields[11..13].iter().map(|field| field.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 10)
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0");
    line.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) / 1024
}

const ORACLE: &str = r#"
import sys, time
import numpy as np
from numba import njit

samples, runs = int(sys.argv[1]) // 8 * 8, int(sys.argv[2])
weights = np.array([0.05, 0.1, 0.15, 0.2, 0.05, 0.15, 0.2, 0.1])
weights = weights / np.sum(weights)
lengths = np.array([samples // 8] * 8)

@njit
def lay_out(count, weights, lengths):
    member = np.empty((count,), dtype=np.uint64)
    window = np.empty((count,), dtype=np.int64)
    used = np.zeros((len(weights),), dtype=np.int64)
    for i in range(count):
        lag = weights * max(i, 1.0) - used
        most = np.argmax(lag)
        member[i] = most
        window[i] = used[most] % lengths[most]
        used[most] += 1
    return member, window

@njit
def checksum(member, window):
    total = np.uint64(0)
    for i in range(len(member)):
        total = total * np.uint64(31) + member[i]
        total = total * np.uint64(31) + np.uint64(window[i])
    return total

def index():
    member, window = lay_out(samples, weights, lengths)
    np.random.RandomState(1234).shuffle(member)
    np.random.RandomState(1234).shuffle(window)
    epochs = int(samples / samples) + 1
    member = np.concatenate([member for _ in range(epochs)])[:samples]
    window = np.concatenate([window for _ in range(epochs)])[:samples]
    return member, window

lay_out(8, weights, lengths)
times = []
for _ in range(runs):
    start = time.process_time()
    member, window = index()
    times.append(time.process_time() - start)
print(sorted(times)[len(times) // 2], checksum(member, window))
"#;
