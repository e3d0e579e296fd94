//! Benchmarks windows, finds and filters over 10⁷ samples: 1,000 shards × 10,000 samples, prepared and raw.
//!
//! ```text
//! cargo bench --bench browse                 # prepared: windows, find, filter, stop, memory
//! cargo bench --bench browse -- raw          # the same set before it is prepared: scan and memory
//! SHARDS=100 cargo bench --bench browse      # a tenth of the set (the whole set takes 6.4 GB on disk)
//! GRISTMILL_SLOW_READS_MS=50 cargo bench --bench browse
//! ```
//!
//! The tars contain headers only: `jpg` in every sample, `txt` in three of four, without content.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::disallowed_methods)]

mod generate;
mod measure;

use gristmill_core::{Cancel, PreparePlan, RunOptions, SampleMapping, SplitPlan};
use gristmill_ops::browse::open;
use gristmill_ops::engine::browse::{
    filter, Catalog, KeyQuery, Marks, ProblemList, SampleAt, SampleFilter, SplitChoice,
};
use gristmill_ops::job::prepare::PrepareJob;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

const SAMPLES: usize = 10_000;
/// Number of rows of one window: a tall terminal with its margins.
const WINDOW: usize = 100;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let is_raw = words.iter().any(|word| word == "raw");
    let dir = make(std::env::var("SHARDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1_000));
    if is_raw {
        let _ = std::fs::remove_dir_all(dir.join(".nv-meta"));
        return raw(&dir);
    }
    if !dir.join(".nv-meta/.info.json").exists() {
        let start = Instant::now();
        prepare(&dir);
        println!("prepared in {:.1} s", start.elapsed().as_secs_f64());
    }
    let before = measure::memory_kib(std::process::id());
    let start = Instant::now();
    let catalog = open(&dir).unwrap();
    let total = catalog.groups().total();
    catalog.samples(SampleAt::default(), WINDOW, &Cancel::default()).unwrap();
    println!("{total} samples; open and first window {:.1} ms", ms(start.elapsed()));
    windows(&*catalog);
    finds(&*catalog);
    filters(&*catalog);
    stops(&catalog);
    println!("memory {} MiB more than before it was opened", (measure::memory_kib(std::process::id()) - before) / 1024);
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Creates the tars unless they exist.
fn make(shards: usize) -> PathBuf {
    let dir = generate::home().join(format!("browse-{shards}"));
    std::fs::create_dir_all(&dir).expect("the bench folder can be made");
    let last = dir.join(format!("shard_{:04}.tar", shards - 1));
    if last.exists() {
        return dir;
    }
    for shard in 0..shards {
        let path = dir.join(format!("shard_{shard:04}.tar"));
        let mut out = BufWriter::with_capacity(1 << 20, File::create(path).unwrap());
        for sample in 0..SAMPLES {
            let key = shard * SAMPLES + sample;
            out.write_all(&generate::header(&format!("{key:09}.jpg"), 0)).unwrap();
            if sample % 4 != 0 {
                out.write_all(&generate::header(&format!("{key:09}.txt"), 0)).unwrap();
            }
        }
        out.write_all(&[0; 1024]).unwrap();
        out.flush().unwrap();
    }
    dir
}

fn prepare(dir: &Path) {
    let mut plan = PreparePlan::new(dir.to_str().unwrap());
    plan.splits = SplitPlan::Ratio("8,1,1".into());
    plan.loading = SampleMapping::Crude { cooker: false };
    PrepareJob::start(plan, RunOptions { threads: 2, ..RunOptions::default() }, None).unwrap().wait().unwrap();
}

/// Measures windows that are spread over the whole data set.
fn windows(catalog: &dyn Catalog) {
    let groups = catalog.groups();
    let cancel = Cancel::default();
    let mut took = Vec::new();
    for nth in 0..2_000 {
        let at = gristmill_ops::engine::browse::random::sample(&groups, None, 1, nth).unwrap();
        let start = Instant::now();
        let rows = catalog.samples(at, WINDOW, &cancel).unwrap();
        took.push(start.elapsed());
        assert!(rows.iter().all(|row| row.defect.is_none() && !row.parts.is_empty()), "{:?}", rows.first());
    }
    took.sort();
    let at = |share: f64| ms(took[((took.len() - 1) as f64 * share) as usize]);
    println!("window of {WINDOW}: p50 {:.2} ms, p99 {:.2} ms, worst {:.2} ms", at(0.5), at(0.99), at(1.0));
}

fn finds(catalog: &dyn Catalog) {
    let last = catalog.groups().total() - 1;
    for text in [format!("^{last:09}"), "^00001234".into(), format!("{last:09}"), "777777".into(), "/7{5}$/".into()] {
        let (mut first, mut count) = (None, 0u64);
        let start = Instant::now();
        let query = KeyQuery::parse(&text).unwrap();
        catalog
            .find(&query, &Cancel::default(), &mut |_| {
                first.get_or_insert_with(|| start.elapsed());
                count += 1;
                true
            })
            .unwrap();
        let first = first.map_or(f64::NAN, ms);
        println!(
            "find {text:12} {count:8} found, the first after {first:8.2} ms, all after {:8.1} ms",
            ms(start.elapsed())
        );
    }
}

fn filters(catalog: &dyn Catalog) {
    let groups = catalog.groups();
    let names: Vec<String> = groups.groups.iter().map(|group| group.name.to_string()).collect();
    let (train, val) = names.split_at(names.len() * 9 / 10);
    let excludes: Vec<String> = (0..300_000.min(groups.total()))
        .map(|n| n * (groups.total() / 300_000).max(1))
        .map(|key| format!("{}/{key:09}", names[key as usize / SAMPLES]))
        .collect();
    let start = Instant::now();
    let marks =
        Marks::new(&groups, &[(Arc::from("train"), train.to_vec()), (Arc::from("val"), val.to_vec())], &excludes);
    println!("marks of {} excludes in {:.1} ms", marks.excluded_samples(), ms(start.elapsed()));
    let all = SampleFilter::default;
    for filter in [
        SampleFilter { split: Some(SplitChoice::Named("val".into())), ..all() },
        SampleFilter { lacks: vec!["txt".into()], ..all() },
        SampleFilter { min_bytes: Some(600), ..all() },
        SampleFilter { excluded: Some(true), ..all() },
        SampleFilter { key: Some(KeyQuery::parse("777").unwrap()), has: vec!["txt".into()], ..all() },
    ] {
        let (mut first, mut found, mut published) = (None, 0, 0);
        let start = Instant::now();
        filter::run(catalog, &filter, &marks, &ProblemList::default(), &Cancel::default(), &mut |matches| {
            if matches.total() > 0 {
                first.get_or_insert_with(|| start.elapsed());
            }
            (found, published) = (matches.total(), published + 1);
        })
        .unwrap();
        let title = filter.title();
        let first = first.map_or(f64::NAN, ms);
        println!(
            "filter {title:28} {found:8} match, the first after {first:7.1} ms, all after {:8.1} ms, {published} states",
            ms(start.elapsed())
        );
    }
}

/// Measures how long a search continues after it is cancelled.
fn stops(catalog: &Arc<dyn Catalog>) {
    let mut worst = Duration::ZERO;
    for _ in 0..20 {
        let cancel = Cancel::default();
        let (watched, theirs) = (cancel.clone(), Arc::clone(catalog));
        let worker = std::thread::spawn(move || {
            let query = KeyQuery::Substring("nowhere".into());
            theirs.find(&query, &watched, &mut |_| true).unwrap_err();
            Instant::now()
        });
        std::thread::sleep(Duration::from_millis(40));
        let asked = Instant::now();
        cancel.cancel();
        worst = worst.max(worker.join().unwrap().saturating_duration_since(asked));
    }
    println!("a find ends {:.2} ms after it is told to stop, at worst", ms(worst));
}

fn raw(dir: &Path) {
    let before = measure::memory_kib(std::process::id());
    let start = Instant::now();
    let catalog = open(dir).unwrap();
    let mut peak = 0;
    let mut first = None;
    while !catalog.groups().is_complete {
        if catalog.groups().total() > 0 {
            first.get_or_insert_with(|| start.elapsed());
        }
        peak = peak.max(measure::memory_kib(std::process::id()));
        std::thread::sleep(Duration::from_millis(2));
    }
    println!(
        "{} samples scanned in {:.1} s, the first shown after {:.0} ms; memory {} MiB at its peak, {} MiB at the end",
        catalog.groups().total(),
        start.elapsed().as_secs_f64(),
        first.map_or(f64::NAN, ms),
        (peak - before) / 1024,
        (measure::memory_kib(std::process::id()) - before) / 1024
    );
    windows(&*catalog);
}
