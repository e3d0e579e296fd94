//! Benchmarks whole processes that index text for Modalities and Forager, in the page cache, and `wc -l` for comparison.
//!
//! ```text
//! cargo bench --bench rawindex                         # 1.07 GB at 2.4 KB a line and at 100 bytes a line; 2 M short lines
//! THREADS=1 RUNS=9 cargo bench --bench rawindex        # default: 2 threads and 5 runs; reports the median
//! ```
//!
//! The reference programs on files of these sizes: `create_raw_index` 17.5 CPU s and 17 s of wall time for 1.07 GB; the index of
//! Forager 1.7 CPU s for it, and 3.4 CPU s for 2 M short lines.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::disallowed_methods)]
#![allow(dead_code, reason = "the folder for bench data is shared with the other benches")]

mod generate;
mod measure;

use measure::Cost;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const BYTES: u64 = 1_070_000_000;

fn main() {
    let threads = setting("THREADS", 2);
    let texts = generate::home().join("rawindex");
    for (name, line, bytes, aim) in
        [("long", 2_400, BYTES, 1.6), ("short", 100, BYTES, 4.0), ("tiny", 30, 60_000_000, f64::INFINITY)]
    {
        let path = make(&texts.join(name), line, bytes);
        let size = std::fs::metadata(&path).unwrap().len();
        println!("{name}: {:.0} MB, about {line} bytes a line, {threads} threads", size as f64 / 1e6);
        let mut floor = Command::new("wc");
        floor.arg("-l").arg(&path);
        let wc = median(|| measure::run(floor.stdout(Stdio::null())));
        println!("  wc -l        {wc}");
        let against = |cost: &Cost| cost.wall.as_secs_f64() / wc.wall.as_secs_f64();
        let index = path.with_extension("idx");
        let cost = median(|| {
            let _ = std::fs::remove_file(&index);
            gristmill(&["index", path.to_str().unwrap(), "--format", "modalities"], threads)
        });
        println!("  modalities   {cost}  {:.2} × wc -l (aim {aim})", against(&cost));
        let folder = path.parent().unwrap();
        let cost = median(|| {
            let _ = std::fs::remove_dir_all(folder.join("index"));
            gristmill(&["index", folder.to_str().unwrap(), "--format", "forager"], threads)
        });
        println!("  forager      {cost}  {:.2} × wc -l", against(&cost));
    }
}

fn setting(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Returns the median wall time, the mean processor time (the kernel counts it in hundredths of a second), and the highest peak.
fn median(mut run: impl FnMut() -> Cost) -> Cost {
    let runs = setting("RUNS", 5).max(1);
    let before = measure::cpu_time(true);
    let mut costs: Vec<Cost> = (0..runs).map(|_| run()).collect();
    let cpu = (measure::cpu_time(true) - before) / runs as u32;
    costs.sort_by_key(|cost| cost.wall);
    let peak_kib = costs.iter().map(|cost| cost.peak_kib).max().unwrap_or(0);
    Cost { cpu, peak_kib, ..costs[runs / 2] }
}

fn gristmill(args: &[&str], threads: usize) -> Cost {
    let mut program = Command::new(env!("CARGO_BIN_EXE_gristmill"));
    program.args(args).args(["--threads", &threads.to_string()]);
    measure::run(program.stdout(Stdio::null()).stderr(Stdio::null()))
}

/// Creates a file of lines of about this length unless it exists: text with escapes and some letters beyond ASCII, and a few facts.
fn make(folder: &Path, line: usize, bytes: u64) -> PathBuf {
    std::fs::create_dir_all(folder).unwrap();
    let path = folder.join("corpus.jsonl");
    if std::fs::metadata(&path).is_ok_and(|facts| facts.len() >= bytes) {
        return path;
    }
    let words = "The quick brown fox, so they say, jumps over \\\"lazy\\\" dogs.\\nSeven wizards box with quiet vigour – née Größe – \
                 and judge my vow of black quartz; it was \\u00e9t\\u00e9 then, and nobody knew why the sphinx had left the village. ";
    let pieces: Vec<&str> = words.split_inclusive(' ').collect();
    let mut out = BufWriter::with_capacity(1 << 20, File::create(&path).unwrap());
    let (mut written, mut number) = (0, 0_u64);
    while written < bytes {
        // The lengths follow no pattern that a branch predictor could learn.
        let random = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17) as usize;
        let wanted = line.saturating_sub(36) / 2 + random % line.saturating_sub(35).max(1);
        let mut text = String::with_capacity(wanted + 32);
        let mut at = random >> 20;
        while text.len() < wanted {
            text.push_str(pieces[at % pieces.len()]);
            at += 1;
        }
        let line = format!("{{\"id\": {number}, \"text\": \"{text}\"}}\n");
        out.write_all(line.as_bytes()).unwrap();
        written += line.len() as u64;
        number += 1;
    }
    out.into_inner().unwrap();
    path
}
