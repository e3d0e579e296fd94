//! Benchmarks dedup of whole folders of JSONL by the program, and plain reading and writing of the same files.
//!
//! ```text
//! cargo bench --bench dedup_files                        # 125 MB plain and packed, and 2.5 GB in 256 MiB
//! LARGE=1 cargo bench --bench dedup_files                # and 1, 3 and 10 GB in 1 GiB: some minutes, 40 GB of disk
//! RUNS=5 MINLEN=100 cargo bench --bench dedup_files      # default: 3 runs and 500 bytes; reports the median
//! ```
//!
//! The reference program on 125 MB, on a comparable machine: 70 CPU s and 186 s of wall time for its index and search alone, 1.1 GB per
//! process. The floor is the unavoidable work: decompress, parse, write, on the same number of threads. It is measured twice: with the
//! reader and the writer of this program, and with the usual choice of other programs, `serde_json` on lines. Files are in the page cache;
//! outputs are written and synchronised.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::disallowed_methods)]

mod corpus;
mod generate;
mod measure;
mod texts;

use gristmill_core::Cancel;
use gristmill_data::source::dedup::{list, Documents, Position, TextFile};
use gristmill_ops::engine::dedup::write_back::{Layout, WriteBack};
use gristmill_ops::engine::dedup::RangesPlacement;
use measure::Cost;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

const MEGABYTE: u64 = 1_000_000;
/// Number of files in a folder.
const FILES: u64 = 16;
/// Number of threads of the program and of the floor.
const THREADS: usize = 2;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    if let [word, folder, output] = arguments.as_slice() {
        let (folder, output) = (Path::new(folder), Path::new(output));
        return match word.as_str() {
            "own" => each_file(folder, |file| floor(file, &output.join(&file.name))),
            "serde_json" => each_file(folder, |file| floor_by_serde(file, &output.join(&file.name))),
            other => panic!("{other}"),
        };
    }
    let only = std::env::var("ONLY").unwrap_or_default();
    for ending in ["jsonl", "jsonl.zst", "jsonl.gz"] {
        if ending.contains(&only) {
            println!("125 MB, .{ending}");
            let folder = folder("125", 125 * MEGABYTE, ending);
            let floor = |by: &str| {
                let cost = median(|| {
                    let output = fresh("floor");
                    std::fs::create_dir(&output).unwrap();
                    let this = std::env::current_exe().unwrap();
                    measure::run(Command::new(this).arg(by).arg(&folder).arg(&output))
                });
                println!("  without, {by:10}{cost}");
                cost
            };
            let (own, serde) = (floor("own"), floor("serde_json"));
            let cost = median(|| dedup(&folder, None));
            println!("  dedup             {cost}  {:.2} and {:.2} × that", ratio(&cost, &own), ratio(&cost, &serde));
        }
    }
    if "memory".contains(&only) {
        println!("2.5 GB");
        let folder = folder("2500", 2_500 * MEGABYTE, "jsonl");
        let free = dedup(&folder, Some("8G"));
        println!("  --memory 8G       {free}");
        let small = dedup(&folder, Some("256M"));
        println!("  --memory 256M     {small}  {:.2} × that", ratio(&small, &free));
    }
    if std::env::var_os("LARGE").is_some() {
        let mut first = None;
        for megabytes in [1_000, 3_000, 10_000] {
            let folder = folder(&megabytes.to_string(), megabytes * MEGABYTE, "jsonl");
            let cost = dedup(&folder, Some("1G"));
            let each = cost.cpu.as_secs_f64() / megabytes as f64;
            let times = each / *first.get_or_insert(each);
            println!("{megabytes} MB  --memory 1G       {cost}  {times:.2} × the first for each byte");
        }
    }
}

fn ratio(cost: &Cost, base: &Cost) -> f64 {
    cost.cpu.as_secs_f64() / base.cpu.as_secs_f64()
}

/// Returns the run with the median processor time.
fn median(mut run: impl FnMut() -> Cost) -> Cost {
    let runs = std::env::var("RUNS").ok().and_then(|text| text.parse().ok()).unwrap_or(3);
    let mut costs: Vec<Cost> = (0..runs).map(|_| run()).collect();
    costs.sort_by_key(|cost| cost.cpu);
    costs[costs.len() / 2]
}

fn fresh(name: &str) -> PathBuf {
    let top = generate::home().join("dedup-files");
    for leftover in [top.join(name), top.join(format!("{name}.gristmill"))] {
        let _ = std::fs::remove_dir_all(leftover);
    }
    top.join(name)
}

fn dedup(folder: &Path, memory: Option<&str>) -> Cost {
    let output = fresh("out");
    let mut command = Command::new(env!("CARGO_BIN_EXE_gristmill"));
    let minlen = std::env::var("MINLEN").unwrap_or_else(|_| "500".into());
    command.arg("dedup").arg(folder).arg("--output").arg(&output).args([
        "--minlen",
        &minlen,
        "--threads",
        &THREADS.to_string(),
        "--yes",
        "--quiet",
    ]);
    memory.map(|memory| command.args(["--memory", memory]));
    let cost = measure::run(command.stdout(Stdio::null()));
    fresh("out");
    cost
}

/// Returns the folder of a corpus, which is created unless it exists.
fn folder(name: &str, bytes: u64, ending: &str) -> PathBuf {
    let folder = generate::home().join("dedup-files").join(format!("{name}-{ending}"));
    if folder.is_dir() {
        return folder;
    }
    let part = folder.with_extension("part");
    let _ = std::fs::remove_dir_all(&part);
    std::fs::create_dir_all(&part).unwrap();
    let (mut documents, mut text, mut number) = (corpus::Corpus::new(7), String::new(), 0_u64);
    for file in 0..FILES {
        let mut out = packed(&part.join(format!("{file:02}.{ending}")));
        let mut written = 0;
        while written < bytes / FILES {
            documents.next(&mut text);
            let text = serde_json::to_string(&text).unwrap();
            let line = format!(
                "{{\"id\": \"doc-{number}\", \"text\": {text}, \"meta\": {{\"source\": \"made\", \"score\": {}.5}}}}\n",
                number % 97
            );
            out.write_all(line.as_bytes()).unwrap();
            written += line.len() as u64;
            number += 1;
        }
        out.flush().unwrap();
    }
    std::fs::rename(part, &folder).unwrap();
    folder
}

/// Opens a file for writing, compressed according to its extension as dedup does.
fn packed(path: &Path) -> Box<dyn Write> {
    let file = BufWriter::with_capacity(1 << 20, File::create(path).unwrap());
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("gz") => Box::new(flate2::write::GzEncoder::new(file, flate2::Compression::default())),
        Some("zst") => Box::new(zstd::stream::write::Encoder::new(file, 3).unwrap().auto_finish()),
        _ => Box::new(file),
    }
}

/// Opens a file for reading, decompressed by its extension.
fn unpacked(path: &Path) -> Box<dyn BufRead> {
    let file = BufReader::with_capacity(1 << 20, File::open(path).unwrap());
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("gz") => Box::new(BufReader::with_capacity(1 << 20, flate2::bufread::MultiGzDecoder::new(file))),
        Some("zst") => Box::new(BufReader::with_capacity(1 << 20, zstd::stream::read::Decoder::new(file).unwrap())),
        _ => Box::new(file),
    }
}

/// Applies `work` to all files, several at a time.
fn each_file(folder: &Path, work: impl Fn(&TextFile) + Sync) {
    let files = list(folder, false, &Cancel::default()).unwrap().files;
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    work(file);
                }
            });
        }
    });
}

/// Does the work of [`floor`] with a JSON reader that builds every value, and with its writer.
fn floor_by_serde(file: &TextFile, output: &Path) {
    let mut line = Vec::new();
    let mut out = packed(output);
    let mut input = unpacked(&file.path);
    while input.read_until(b'\n', &mut line).unwrap() > 0 {
        let value: serde_json::Value = serde_json::from_slice(&line).unwrap();
        serde_json::to_writer(&mut out, &value).unwrap();
        out.write_all(b"\n").unwrap();
        line.clear();
    }
    out.flush().unwrap();
    drop(out);
    File::open(output).unwrap().sync_all().unwrap();
}

/// Decompresses, parses and writes a file.
fn floor(file: &TextFile, output: &Path) {
    let cancel = Cancel::default();
    let layout = Layout { text_key: "text".into(), ranges: RangesPlacement::Removed };
    let mut back = WriteBack::new(&layout);
    let mut out = packed(output);
    let start = Position { offset: 0, line: 0 };
    let mut documents = Documents::open(file, "text", start, Box::new(Vec::new()), &cancel).unwrap();
    while let Some(record) = documents.next().unwrap() {
        back.write(&record, &[], &mut |bytes| {
            out.write_all(bytes).unwrap();
            Ok(())
        })
        .unwrap();
    }
    out.flush().unwrap();
    drop(out);
    File::open(output).unwrap().sync_all().unwrap();
}
