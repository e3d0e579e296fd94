//! Benchmarks Parquet as input: one text column read in this process, and `pack` and `dedup` in whole processes, compared with the same
//! text as JSONL.
//!
//! ```text
//! cargo bench --bench tables                         # 87 MB of English with each codec
//! PYTHON=venv/bin/python cargo bench --bench tables  # and the column read by pyarrow, polars and DuckDB, in turn with ours
//! LARGE=1 cargo bench --bench tables                 # and dedup of 500 MB, and memory at 10 GB with a row group of 2.5 GiB
//! RUNS=9 cargo bench --bench tables                  # default: 5; reports the median
//! ONLY=pack cargo bench --bench tables               # columns, pack, dedup or memory
//! ```
//!
//! Files are in the page cache; outputs are written and synchronised. `benches/peers_tables.py` reads a column with the other programs,
//! `benches/peers_pack.py datatrove-parquet` packs a file with datatrove.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::disallowed_methods)]

mod generate;
mod measure;
mod texts;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use gristmill_parquet::{ParquetFile, TextBlocks, TextDecoder, Value};
use gristmill_storage::read::open_read;
use measure::Cost;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use texts::{Texts, ENGLISH};

/// Text of 500 MB, for dedup.
const MEDIUM: Texts = Texts { name: "medium.jsonl", bytes: 500_000_000, many_scripts: false };
/// Number of rows of a row group, as in data sets of the hub.
const ROW_GROUP: usize = 10_000;
/// Number of threads of the program.
const THREADS: &str = "2";
/// Size of a block that is decoded at a time, in bytes of text.
const BLOCK: usize = 1 << 20;

fn main() {
    let wanted = std::env::var("ONLY").unwrap_or_default();
    let is_wanted = |name: &str| name.contains(&wanted);
    let path = ENGLISH.make();
    if is_wanted("columns") {
        columns(&path);
    }
    if is_wanted("pack") {
        pack_in_turn(&path);
    }
    if std::env::var_os("LARGE").is_some() {
        if is_wanted("dedup") {
            dedup_in_turn(&MEDIUM.make());
        }
        if is_wanted("memory") {
            memory(&path);
        }
    }
}

fn runs() -> usize {
    std::env::var("RUNS").ok().and_then(|text| text.parse().ok()).unwrap_or(5)
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

fn codecs() -> [(&'static str, Compression); 3] {
    let zstd = Compression::ZSTD(ZstdLevel::try_new(3).unwrap());
    [("uncompressed", Compression::UNCOMPRESSED), ("snappy", Compression::SNAPPY), ("zstd", zstd)]
}

/// Returns the texts of a file as a Parquet file with one column, which is written unless it exists.
fn parquet(text: &Path, codec: &str) -> PathBuf {
    let path = text.with_extension(format!("{codec}.parquet"));
    if !path.is_file() {
        let (_, compression) = codecs().into_iter().find(|(name, _)| *name == codec).unwrap();
        write_parquet(&path, compression, |write| {
            each_text(text, ROW_GROUP, |texts| write(texts, true));
        });
    }
    path
}

/// Calls `each` with the texts of `rows` lines at a time.
fn each_text(path: &Path, rows: usize, mut each: impl FnMut(&[String])) {
    let mut texts = Vec::with_capacity(rows);
    for line in BufReader::new(File::open(path).unwrap()).lines() {
        let serde_json::Value::Object(fields) = serde_json::from_str(&line.unwrap()).unwrap() else {
            panic!("an object")
        };
        texts.push(fields["text"].as_str().unwrap().to_owned());
        if texts.len() == rows {
            each(&texts);
            texts.clear();
        }
    }
    if !texts.is_empty() {
        each(&texts);
    }
}

/// Writes a file. `fill` passes on rows, and whether the row group ends after them.
fn write_parquet(path: &Path, compression: Compression, fill: impl FnOnce(&mut dyn FnMut(&[String], bool))) {
    let properties = WriterProperties::builder().set_compression(compression).set_max_row_group_row_count(None).build();
    let batch = |texts: &[String]| {
        let column: ArrayRef = Arc::new(StringArray::from_iter_values(texts));
        RecordBatch::try_from_iter([("text", column)]).unwrap()
    };
    let part = path.with_extension("part");
    let out = BufWriter::new(File::create(&part).unwrap());
    let mut writer = ArrowWriter::try_new(out, batch(&[]).schema(), Some(properties)).unwrap();
    fill(&mut |texts, is_last| {
        writer.write(&batch(texts)).unwrap();
        if is_last {
            writer.flush().unwrap();
        }
    });
    writer.close().unwrap();
    std::fs::rename(part, path).unwrap();
}

fn columns(text: &Path) {
    for (codec, _) in codecs() {
        let path = parquet(text, codec);
        let (mut ours, mut theirs) = (Vec::new(), Vec::<(String, Vec<f64>)>::new());
        let mut bytes = 0;
        for _ in 0..runs() {
            let before = measure::cpu_time(false);
            bytes = read_column(&path);
            ours.push((measure::cpu_time(false) - before).as_secs_f64());
            for (name, seconds, length) in read_by_others(&path) {
                assert_eq!(length, bytes, "{name}");
                match theirs.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, all)) => all.push(seconds),
                    None => theirs.push((name, vec![seconds])),
                }
            }
        }
        let ours = median(ours);
        print!("one column, {codec:12} {:6.0} MB, {ours:.3} CPU s", bytes as f64 / 1e6);
        for (name, all) in theirs {
            let seconds = median(all);
            print!(", {name} {seconds:.3} ({:.2})", ours / seconds);
        }
        println!();
    }
}

/// Decodes the column `text` in this thread; returns the size of its text in bytes.
fn read_column(path: &Path) -> u64 {
    let file = ParquetFile::open(Arc::new(open_read(path).unwrap())).unwrap();
    let column = file.column("text").unwrap();
    let (mut blocks, mut decoder) = (TextBlocks::open(&file, &column, 0, BLOCK).unwrap(), TextDecoder::new());
    let (mut spare, mut bytes) = (Vec::new(), 0);
    while let Some(block) = blocks.next(std::mem::take(&mut spare)).unwrap() {
        for (_, value) in decoder.decode(&block).unwrap() {
            if let Value::Text(text) = value {
                bytes += text.len() as u64;
            }
        }
        spare = block.into_spare();
    }
    bytes
}

/// Returns the name, CPU seconds and bytes of text of each program that is installed for `$PYTHON`.
fn read_by_others(path: &Path) -> Vec<(String, f64, u64)> {
    let Some(python) = std::env::var_os("PYTHON") else { return Vec::new() };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers_tables.py");
    let output = Command::new(python).arg(script).arg(path).stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success());
    let rows = String::from_utf8(output.stdout).unwrap();
    rows.lines()
        .map(|row| {
            let fields: Vec<&str> = row.split(' ').collect();
            (fields[0].to_owned(), fields[1].parse().unwrap(), fields[2].parse().unwrap())
        })
        .collect()
}

fn pack_in_turn(text: &Path) {
    let table = parquet(text, "zstd");
    let tokenizer = texts::tokenizer(false);
    let run = |input: &Path| {
        let output = fresh("packed");
        let mut program = Command::new(env!("CARGO_BIN_EXE_gristmill"));
        program.arg("pack").arg(input).args(["--format", "nanosets", "--eos-token", texts::END, "--threads", THREADS]);
        program.arg("--tokenizer").arg(&tokenizer).arg("--output").arg(&output);
        let cost = measure::run(program.stdout(Stdio::null()).stderr(Stdio::null()));
        fresh("packed");
        cost
    };
    let turns = (0..runs()).map(|_| (run(text), run(&table))).collect();
    print_turns("pack to Nanosets", "JSONL", "Parquet (Zstandard)", turns);
}

fn dedup_in_turn(text: &Path) {
    let table = parquet(text, "zstd");
    let packed = text.with_extension("jsonl.zst");
    if !packed.is_file() {
        let mut out = zstd::Encoder::new(File::create(&packed).unwrap(), 3).unwrap();
        std::io::copy(&mut File::open(text).unwrap(), &mut out).unwrap();
        out.finish().unwrap().flush().unwrap();
    }
    let run = |input: &Path| {
        let output = fresh("deduplicated");
        let mut program = Command::new(env!("CARGO_BIN_EXE_gristmill"));
        program.arg("dedup").arg(input).arg("--output").arg(&output);
        program.args(["--minlen", "500", "--threads", THREADS, "--yes", "--quiet"]);
        let cost = measure::run(program.stdout(Stdio::null()));
        fresh("deduplicated");
        cost
    };
    let turns = (0..runs()).map(|_| (run(&packed), run(&table))).collect();
    print_turns("dedup", "JSONL (Zstandard)", "Parquet (Zstandard)", turns);
}

fn fresh(name: &str) -> PathBuf {
    let top = generate::home().join("tables");
    for leftover in [top.join(name), top.join(format!("{name}.gristmill"))] {
        let _ = std::fs::remove_dir_all(leftover);
    }
    std::fs::create_dir_all(&top).unwrap();
    top.join(name)
}

fn print_turns(what: &str, first: &str, second: &str, turns: Vec<(Cost, Cost)>) {
    let ratios = |of: fn(&Cost) -> f64| median(turns.iter().map(|(one, other)| of(other) / of(one)).collect());
    let (cpu, wall) = (ratios(|cost| cost.cpu.as_secs_f64()), ratios(|cost| cost.wall.as_secs_f64()));
    let middle = |mut costs: Vec<Cost>| {
        costs.sort_by_key(|cost| cost.cpu);
        costs[costs.len() / 2]
    };
    println!("{what}, {first:20} {}", middle(turns.iter().map(|turn| turn.0).collect()));
    println!("{what}, {second:20} {}", middle(turns.iter().map(|turn| turn.1).collect()));
    println!("{what}, medians of the ratios: CPU {cpu:.2}, wall {wall:.2}");
}

/// Packs 10 GB in four row groups, one of which has 2.5 GiB of text, and removes the file.
fn memory(text: &Path) {
    let path = generate::home().join("tables").join("large.parquet");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let sizes: [u64; 4] = [5 << 29, 7_400_000_000 / 3, 7_400_000_000 / 3, 7_400_000_000 / 3];
    let texts = texts::first_texts(text, usize::MAX);
    write_parquet(&path, Compression::ZSTD(ZstdLevel::try_new(1).unwrap()), |write| {
        for size in sizes {
            let mut written = 0;
            for texts in texts.chunks(1_000).cycle() {
                written += texts.iter().map(|text| text.len() as u64).sum::<u64>();
                write(texts, written >= size);
                if written >= size {
                    break;
                }
            }
        }
    });
    let output = fresh("packed");
    let mut program = Command::new(env!("CARGO_BIN_EXE_gristmill"));
    program.arg("pack").arg(&path).args(["--format", "nanosets", "--eos-token", texts::END, "--threads", THREADS]);
    program.arg("--tokenizer").arg(texts::tokenizer(false)).arg("--output").arg(&output);
    let cost = measure::run(program.stdout(Stdio::null()).stderr(Stdio::null()));
    println!("pack of 10 GB of text, row groups of 2.3 to 2.5 GiB {cost}");
    fresh("packed");
    std::fs::remove_file(path).unwrap();
}
