//! Benchmarks packing JSONL into tokens in whole processes, compared with other ways to do the same.
//!
//! ```text
//! cargo bench --bench pack                       # 87 MB of English and 87 MB in many scripts
//! LARGE=1 cargo bench --bench pack               # and memory at 1 GB
//! RUNS=5 cargo bench --bench pack                # default: 3; reports the median
//! TEXT=mine.jsonl TOKENIZER=tokenizer.json cargo bench --bench pack   # your own text, with a tokenizer that has <|endoftext|>
//! ```
//!
//! Figures of the reference programs on a comparable machine: datatrove 0.10.1 packs 2.8 MB/s with 2 workers; Modalities 0.38 million
//! tokens per CPU second; Forager with the HF tokenizers 0.56 million. The fastest other known way from a file of lines to ids in memory
//! reaches 148 MB/s with 2 threads. `benches/peers_pack.py` packs the same text with the reference programs on this machine. Files are in
//! the page cache; outputs are written and synchronised.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::disallowed_methods)]

mod generate;
mod measure;
mod texts;

use measure::Cost;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;
use texts::{ENGLISH, LARGE, MANY};

fn main() {
    if let Some((text, tokenizer)) = texts::own() {
        return rows("your text", &text, &tokenizer);
    }
    let only = std::env::var("ONLY").unwrap_or_default();
    for set in [ENGLISH, MANY] {
        for llama3 in [false, true] {
            let kind = if llama3 { "Llama-3 style" } else { "GPT-2 style" };
            let title = format!("{}, {kind}", set.name);
            if title.contains(&only) {
                rows(&title, &set.make(), &texts::tokenizer(llama3));
            }
        }
    }
    if std::env::var_os("LARGE").is_some() {
        let path = LARGE.make();
        println!("\n{}, {:.0} MB, GPT-2 style", LARGE.name, megabytes(&path));
        for format in ["nanosets", "modalities", "forager"] {
            let (cost, tokens) = pack(&path, &texts::tokenizer(false), format, 2, 1);
            print_row(format, megabytes(&path), tokens, cost);
        }
    }
}

fn megabytes(path: &Path) -> f64 {
    std::fs::metadata(path).unwrap().len() as f64 / 1e6
}

fn rows(title: &str, path: &Path, tokenizer: &Path) {
    let size = megabytes(path);
    println!("\n{title}, {size:.0} MB");
    let runs = std::env::var("RUNS").ok().and_then(|text| text.parse().ok()).unwrap_or(3);
    for format in ["nanosets", "modalities", "forager"] {
        let (cost, tokens) = pack(path, tokenizer, format, 2, runs);
        print_row(format, size, tokens, cost);
    }
    let (one, tokens) = pack(path, tokenizer, "nanosets", 1, runs);
    print_row("nanosets, 1 thread", size, tokens, one);
    let (seconds, ids, text) = encode_alone(path, tokenizer, runs);
    println!(
        "  {:22} {:7.1} MB/s of text {:6.2} s, {:.1} M tokens; the whole pipeline takes {:.2} × that",
        "fastokens alone, cold",
        text / seconds / 1e6,
        seconds,
        ids as f64 / 1e6,
        one.wall.as_secs_f64() / seconds,
    );
    // Alternates the two, so that other load on the machine affects both.
    let of_turn = |_| (pack(path, tokenizer, "nanosets", 2, 1).0.wall.as_secs_f64(), in_memory(path, tokenizer, 2));
    let turns: Vec<(f64, f64)> = (0..runs).map(of_turn).collect();
    let (ours, seconds) = (median(turns.iter().map(|turn| turn.0)), median(turns.iter().map(|turn| turn.1)));
    println!(
        "  {:22} {:7.1} MB/s {:6.2} s; nanosets in turn with it {:.2} s, {:.2} × as fast",
        "ids in memory, 2",
        size / seconds,
        seconds,
        ours,
        median(turns.iter().map(|(ours, theirs)| theirs / ours)),
    );
}

fn median(all: impl Iterator<Item = f64>) -> f64 {
    let mut all: Vec<f64> = all.collect();
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

fn print_row(name: &str, size: f64, tokens: u64, cost: Cost) {
    println!(
        "  {name:22} {:7.1} MB/s {cost}, {:.1} M tokens, {:.2} M per CPU s",
        size / cost.wall.as_secs_f64(),
        tokens as f64 / 1e6,
        tokens as f64 / 1e6 / cost.cpu.as_secs_f64(),
    );
}

/// Packs one format with the program; returns the run with the median wall time, and the tokens written.
fn pack(path: &Path, tokenizer: &Path, format: &str, threads: usize, runs: usize) -> (Cost, u64) {
    let output = generate::home().join("texts").join(format!("packed-{format}"));
    let target = if format == "modalities" { output.join("a.pbin") } else { output.clone() };
    let index = output.join("a.idx");
    let mut costs: Vec<Cost> = Vec::new();
    for _ in 0..runs {
        clear(&output);
        let mut program = Command::new(env!("CARGO_BIN_EXE_gristmill"));
        program.arg("pack").arg(path).args([
            "--format",
            format,
            "--eos-token",
            texts::END,
            "--threads",
            &threads.to_string(),
        ]);
        program.arg("--tokenizer").arg(tokenizer).arg("--output").arg(&target);
        match format {
            // Reading the lines for the index is part of the work.
            "modalities" => program.arg("--index").arg(&index),
            "forager" => program.args(["--sample-size", "2048", "--dtype", "u32"]),
            _ => &mut program,
        };
        costs.push(measure::run(program.stdout(Stdio::null()).stderr(Stdio::null())));
    }
    let tokens = tokens_in(&output, format);
    clear(&output);
    let peak_kib = costs.iter().map(|cost| cost.peak_kib).max().unwrap();
    costs.sort_by_key(|cost| cost.wall);
    (Cost { peak_kib, ..costs[runs / 2] }, tokens)
}

/// Removes the output folder, which is created again, and the program's own folder next to it.
fn clear(output: &Path) {
    let own = PathBuf::from(format!("{}.gristmill", output.display()));
    for folder in [output, &own] {
        let _ = std::fs::remove_dir_all(folder);
    }
    std::fs::create_dir_all(output).unwrap();
    let _ = std::fs::remove_dir(output);
    if output.ends_with("packed-modalities") {
        std::fs::create_dir_all(output).unwrap();
    }
}

fn tokens_in(output: &Path, format: &str) -> u64 {
    match format {
        "nanosets" => {
            let metadata = std::fs::read_to_string(output.join("00000_unshuffled.ds.metadata")).unwrap();
            metadata.lines().nth(1).unwrap().parse().unwrap()
        }
        "modalities" => {
            let head = std::fs::read(output.join("a.pbin")).unwrap();
            let bytes = u64::from_le_bytes(head[..8].try_into().unwrap());
            bytes / u64::from(u32::from_le_bytes(head[8..12].try_into().unwrap()))
        }
        _ => std::fs::read_dir(output.join("tokenized-samples"))
            .unwrap()
            .map(|f| f.unwrap().metadata().unwrap().len() / 4)
            .sum(),
    }
}

/// Encodes texts that are already in memory with the fast library, in one thread with cold caches; returns seconds, ids, and bytes of text.
/// The result is the median of `runs` runs, each with a newly loaded tokenizer.
fn encode_alone(path: &Path, tokenizer: &Path, runs: usize) -> (f64, u64, f64) {
    let texts = texts::first_texts(path, usize::MAX);
    let mut all: Vec<(f64, u64)> = (0..runs)
        .map(|_| {
            let encoder = fastokens::Tokenizer::from_file(tokenizer).unwrap();
            let start = Instant::now();
            let ids = texts.iter().map(|text| encoder.encode(text).unwrap().len() as u64).sum();
            (start.elapsed().as_secs_f64(), ids)
        })
        .collect();
    all.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (seconds, ids) = all[runs / 2];
    (seconds, ids, texts.iter().map(String::len).sum::<usize>() as f64)
}

/// Only converts a file to ids in memory, with `serde_json` and the fast library; returns seconds.
fn in_memory(path: &Path, tokenizer: &Path, threads: usize) -> f64 {
    let encoder = fastokens::Tokenizer::from_file(tokenizer).unwrap();
    let start = Instant::now();
    let data = std::fs::read(path).unwrap();
    let lines: Vec<&[u8]> = data.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
    let next = std::sync::atomic::AtomicUsize::new(0);
    let ids: u64 = std::thread::scope(|scope| {
        let work = || {
            let mut mine = 0;
            loop {
                let at = next.fetch_add(256, std::sync::atomic::Ordering::Relaxed);
                let Some(lines) = lines.get(at..lines.len().min(at + 256)).filter(|lines| !lines.is_empty()) else {
                    break;
                };
                for line in lines {
                    let value: serde_json::Value = serde_json::from_slice(line).unwrap();
                    mine += encoder.encode(value["text"].as_str().unwrap()).unwrap().len() as u64;
                }
            }
            mine
        };
        let others: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        others.into_iter().map(|other| other.join().unwrap()).sum()
    });
    let seconds = start.elapsed().as_secs_f64();
    assert!(ids > 0);
    seconds
}
