//! Benchmarks the steps of the index engine on one shard of set W (10,000 samples, 46 MB, in the page cache).
//!
//! ```text
//! cargo bench --bench index                # all
//! cargo bench --bench index -- scan        # those whose name contains the word
//! ```
//!
//! * `scan`: headers to rows, the rows counted and dropped;
//! * `spool`: the same into spool files, as a worker of `prepare` does;
//! * `build`: spools to a database, from one run of keys and from many that need several merge passes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods, missing_docs)]

mod generate;

use criterion::{criterion_group, criterion_main, Criterion, Throughput};
use gristmill_core::{
    Cancel, Handles, HiddenSample, Outcome, PartRow, ProblemLog, Progress, SampleRow, Shard, ShardId,
};
use gristmill_data::source::discover::discover;
use gristmill_data::source::tar::{scan_shard, ScanSink};
use gristmill_ops::engine::index::{build, scan_unit, BuildOptions};
use gristmill_storage::fs::RealFs;

struct Counter(u64);

impl ScanSink for Counter {
    fn part(&mut self, row: PartRow<'_>) -> Outcome<()> {
        self.0 += row.content_byte_size;
        Ok(())
    }
    fn sample(&mut self, row: SampleRow<'_>) -> Outcome<()> {
        self.0 += row.byte_size;
        Ok(())
    }
    fn hidden_sample(&mut self, _: HiddenSample) -> Outcome<()> {
        Ok(())
    }
}

fn shard() -> Shard {
    discover(&generate::ONE_SHARD.make()).unwrap().shards.remove(0)
}

fn scan(c: &mut Criterion) {
    let shard = shard();
    let (progress, cancel, problems) = (Progress::default(), Cancel::default(), ProblemLog::default());
    let handles = Handles { progress: &progress, cancel: &cancel, problems: &problems };
    let out = tempfile::tempdir_in(generate::home()).unwrap();
    let mut group = c.benchmark_group("shard");
    group.throughput(Throughput::Elements(generate::ONE_SHARD.samples as u64)).sample_size(20);
    group.bench_function("scan", |b| {
        b.iter(|| {
            let mut counter = Counter(0);
            scan_shard(&shard, &mut counter, &handles).unwrap();
            counter.0
        });
    });
    group.bench_function("spool", |b| {
        b.iter(|| scan_unit(&shard, ShardId(0), out.path(), &RealFs, 16 << 20, &handles).unwrap());
    });
    for (name, memory) in [("build", 16 << 20), ("build_many_runs", 16 << 10)] {
        let spools = [scan_unit(&shard, ShardId(0), out.path(), &RealFs, memory, &handles).unwrap()];
        let options = BuildOptions { merge_width: 16, ..BuildOptions::default() };
        group.bench_function(name, |b| {
            b.iter(|| build(&RealFs, &spools, out.path(), out.path(), &options, &handles).unwrap());
        });
    }
    group.finish();
}

criterion_group!(benches, scan);
criterion_main!(benches);
