//! A WebDataset that is not prepared. Its shards are scanned while it is browsed, the shard in view first. Only the location of each sample
//! is stored.

use super::packed::PackedOffsets;
use super::problems::{ProblemList, SampleProblem};
use super::repeated_keys::RepeatedKeys;
use super::state::{GroupsState, ScanQueue};
use super::{
    headers, Background, BrowseSample, Catalog, CatalogHead, Groups, OpenedCatalog, SampleAt, VisitFields,
    VisitedSample, Visitor,
};
use gristmill_core::{
    Cancel, DatasetKind, Failure, Handles, HiddenSample, Mutex, Outcome, PartRow, Problem, ProblemSink, Progress,
    SampleRow, Severity, Shard, Subject,
};
use gristmill_data::source::discover::discover;
use gristmill_data::source::tar::{scan_shard, ScanSink, BLOCK_BYTES};
use gristmill_storage::location::is_remote;
use std::path::{Path, PathBuf};
use std::sync::{Arc, MutexGuard, OnceLock};
use std::time::{Duration, Instant};
use xxhash_rust::xxh3::xxh3_64;

/// Samples added at a time, and the time after which fewer are added, because samples of a store arrive slowly.
const SAMPLES_PER_BATCH: usize = 256;
const BATCH_TIME: Duration = Duration::from_millis(50);
/// Limit of concurrent scans; with several, a long shard does not delay the shard in view.
const MAX_SCANS: usize = 2;
/// Limit of concurrent scans of shards in a store, which mostly wait for responses.
const MAX_STORE_SCANS: usize = 8;
/// Size of the first shards in a store that are scanned although none is viewed, in bytes.
const MAX_STORE_BYTES: u64 = 256 << 20;
/// Limit of recorded problems of one shard.
const MAX_KEPT_PROBLEMS: usize = 1_000;

/// Opens the folder, or the shards named by a path. The shards of a folder are searched for in the background.
pub(crate) fn open(root: &Path, named: Option<Vec<Shard>>) -> Outcome<OpenedCatalog> {
    let stop = Cancel::default();
    let shared = Arc::new(ShardIndex {
        root: root.to_owned(),
        shards: OnceLock::new(),
        state: GroupsState::default(),
        turns: ScanQueue::default(),
        problems: Mutex::default(),
        keys: Mutex::default(),
    });
    let finder = Arc::clone(&shared);
    let mut background: Vec<Background> = vec![Box::new(move |cancel| {
        finder.find_shards(named);
        finder.scan_all(cancel);
    })];
    let scans = if is_remote(root) { MAX_STORE_SCANS } else { MAX_SCANS };
    for _ in 1..scans {
        let helper = Arc::clone(&shared);
        background.push(Box::new(move |cancel| helper.scan_all(cancel)));
    }
    Ok(OpenedCatalog { catalog: Arc::new(Raw { shared, stop: stop.clone() }), stop, background })
}

struct Raw {
    shared: Arc<ShardIndex>,
    stop: Cancel,
}

impl Drop for Raw {
    fn drop(&mut self) {
        self.stop.cancel();
        self.shared.turns.close();
    }
}

struct ShardIndex {
    root: PathBuf,
    shards: OnceLock<Vec<RawShard>>,
    state: GroupsState,
    turns: ScanQueue,
    problems: Mutex<Arc<ProblemList>>,
    keys: Mutex<RepeatedKeys>,
}

struct RawShard {
    shard: Shard,
    offsets: Mutex<PackedOffsets>,
}

impl RawShard {}

impl ShardIndex {
    fn find_shards(&self, named: Option<Vec<Shard>>) {
        let found = named.map_or_else(
            || discover(&self.root).map(|found| (found.shards, found.findings)),
            |named| Ok((named, Vec::new())),
        );
        let (shards, problems, failure) = match found {
            Ok((shards, problems)) => (shards, problems, None),
            Err(failure) => (Vec::new(), Vec::new(), Some(failure.why)),
        };
        for problem in problems.into_iter().filter(|problem| problem.severity > Severity::Note) {
            self.add_other(problem);
        }
        let names = shards.iter().map(|shard| {
            let note = shard.is_tgz.then(|| Arc::from(super::COMPRESSED_NOTE));
            (Arc::from(shard.name.as_str()), shard.stamp.bytes, note)
        });
        self.state.begin(names, failure.as_deref());
        let mut bytes = 0_u64;
        let is_within = |shard: &&Shard| {
            bytes = bytes.saturating_add(shard.stamp.bytes);
            bytes <= MAX_STORE_BYTES
        };
        // At least the first shard, which is in view.
        let free =
            if is_remote(&self.root) { shards.iter().take_while(is_within).count().max(1) } else { shards.len() };
        let count = shards.len();
        let shards =
            shards.into_iter().map(|shard| RawShard { shard, offsets: Mutex::new(PackedOffsets::new(BLOCK_BYTES)) });
        let _ = self.shards.set(shards.collect());
        self.turns.begin(count, free);
    }

    /// Scans shards that no other worker scans, until all are assigned.
    fn scan_all(&self, cancel: &Cancel) {
        while let Some(group) = self.turns.next(cancel) {
            let Ok(shard) = self.shard(group) else {
                self.turns.end_one();
                continue;
            };
            let findings = ShardFindings::default();
            let outcome = self.scan(group, shard, &findings, cancel);
            self.take_findings(group, shard, findings);
            self.turns.end_one();
            match outcome {
                Err(failure) if failure.is_cancelled() => return,
                Err(failure) => self.state.finish(group, shard.offsets.lock().len(), Some(Arc::from(failure.why))),
                Ok(()) => self.state.finish(group, shard.offsets.lock().len(), None),
            }
        }
    }

    fn scan(&self, group: u32, shard: &RawShard, findings: &ShardFindings, cancel: &Cancel) -> Outcome<()> {
        let progress = Progress::default();
        let handles = Handles { progress: &progress, cancel, problems: findings };
        let batch = Vec::with_capacity(SAMPLES_PER_BATCH);
        let flushed = Instant::now();
        let mut sink = OffsetSink { shard, group, index: self, findings, parts: 0, batch, flushed };
        let scanned = scan_shard(&shard.shard, &mut sink, &handles);
        sink.flush();
        shard.offsets.lock().shrink();
        scanned.map(drop)
    }

    fn take_findings(&self, group: u32, shard: &RawShard, findings: ShardFindings) {
        let found = findings.0.into_inner();
        let mut keys = self.keys.lock();
        if found.is_empty() && keys.is_reported() {
            return;
        }
        let offsets = shard.offsets.lock();
        let mut problems = self.problems.lock();
        let list = Arc::make_mut(&mut problems);
        for (offset, known) in found {
            // Damage between samples is assigned to the preceding sample.
            let index = offsets.holding(offset).or_else(|| offsets.len().checked_sub(1));
            match index {
                Some(index) => {
                    list.add(SampleAt { group, index }, known);
                }
                None => {
                    let subject = Subject::shard(&shard.shard.name);
                    list.add_other(Problem::problem(known.kind, subject, known.why.to_string()));
                }
            }
        }
        keys.report(list, |group| self.shard(group).map_or("", |shard| shard.shard.name.as_str()));
    }

    fn add_other(&self, problem: Problem) {
        Arc::make_mut(&mut self.problems.lock()).add_other(problem);
    }

    fn shard(&self, group: u32) -> Outcome<&RawShard> {
        let shards = self.shards.get().map(Vec::as_slice).unwrap_or_default();
        shards.get(group as usize).ok_or_else(|| Failure::data("looking at the data set", "there is no such shard"))
    }
}

/// Problems of one shard that have an offset.
#[derive(Default)]
struct ShardFindings(Mutex<Vec<(u64, SampleProblem)>>);

impl ShardFindings {
    fn lock(&self) -> MutexGuard<'_, Vec<(u64, SampleProblem)>> {
        self.0.lock()
    }

    fn keep(&self, offset: u64, problem: SampleProblem) {
        let mut kept = self.lock();
        if kept.len() < MAX_KEPT_PROBLEMS {
            kept.push((offset, problem));
        }
    }
}

impl ProblemSink for ShardFindings {
    fn report(&self, problem: Problem) -> Outcome<()> {
        if let (Some(offset), true) = (problem.subject.byte_offset, problem.severity > Severity::Note) {
            self.keep(offset, SampleProblem::new(problem.kind, problem.message));
        }
        Ok(())
    }
}

/// Records the offsets of samples.
struct OffsetSink<'a> {
    shard: &'a RawShard,
    group: u32,
    index: &'a ShardIndex,
    findings: &'a ShardFindings,
    /// The bits of the parts of the sample that is being read.
    parts: u64,
    /// Offset and end of each sample that is not yet in the index.
    batch: Vec<(u64, u64)>,
    flushed: Instant,
}

impl OffsetSink<'_> {
    fn add(&mut self, offset: u64, size: u64) {
        self.batch.push((offset, offset.saturating_add(size)));
        if self.batch.len() >= SAMPLES_PER_BATCH || self.flushed.elapsed() >= BATCH_TIME {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let mut offsets = self.shard.offsets.lock();
        for (offset, end) in self.batch.drain(..) {
            offsets.push(offset, end);
        }
        let len = offsets.len();
        drop(offsets);
        self.index.state.grow(self.group, len);
        self.flushed = Instant::now();
    }
}

impl ScanSink for OffsetSink<'_> {
    fn part(&mut self, row: PartRow<'_>) -> Outcome<()> {
        self.parts |= 1 << (xxh3_64(row.part_name.as_bytes()) % 64);
        Ok(())
    }
    fn sample(&mut self, row: SampleRow<'_>) -> Outcome<()> {
        let parts = std::mem::take(&mut self.parts);
        let at = SampleAt { group: self.group, index: row.sample_index };
        self.index.keys.lock().add(row.key, at, parts);
        for (_, known) in self.findings.lock().iter_mut().rev().take_while(|(at, _)| *at >= row.byte_offset) {
            known.key.get_or_insert_with(|| Arc::from(row.key));
        }
        self.add(row.byte_offset, row.byte_size);
        Ok(())
    }
    fn hidden_sample(&mut self, row: HiddenSample) -> Outcome<()> {
        self.parts = 0;
        self.add(row.byte_offset, row.byte_size);
        Ok(())
    }
}

impl Catalog for Raw {
    fn head(&self) -> CatalogHead<'_> {
        CatalogHead { kind: DatasetKind::RawWebDataset, root: &self.shared.root, group_word: "shard" }
    }

    fn groups(&self) -> Arc<Groups> {
        self.shared.state.groups()
    }

    fn prefer(&self, group: u32) {
        self.shared.turns.prefer(group);
    }

    fn scan_all(&self) {
        self.shared.turns.allow_all_scans();
    }

    fn is_idle(&self) -> bool {
        self.shared.turns.is_idle()
    }

    fn problems(&self) -> Arc<ProblemList> {
        Arc::clone(&self.shared.problems.lock())
    }

    fn samples(&self, from: SampleAt, count: usize, cancel: &Cancel) -> Outcome<Vec<BrowseSample>> {
        self.shared.turns.prefer(from.group);
        let groups = self.groups();
        super::over_groups(&groups, from, count.min(super::MAX_ROWS), |group, first, count| {
            let shard = self.shared.shard(group)?;
            let spans = shard.offsets.lock().spans(first, usize::try_from(count).unwrap_or(0));
            super::or_defects(headers::window(&shard.shard, group, first, &spans, cancel), group, first, count)
        })
    }

    fn read(&self, sample: &BrowseSample, part: usize, from: u64, limit: usize) -> Outcome<Vec<u8>> {
        super::read_in_shard(&self.shared.shard(sample.at.group)?.shard, sample.parts.get(part), from, limit)
    }

    fn shard(&self, group: u32) -> Outcome<Option<Shard>> {
        self.shared.shard(group).map(|shard| Some(shard.shard.clone()))
    }

    fn visit(&self, group: u32, wanted: VisitFields, cancel: &Cancel, take: Visitor<'_>) -> Outcome<()> {
        visit_shard(&self.shared.shard(group)?.shard, wanted, cancel, take)
    }
}

/// Visits the samples of a shard by reading its headers.
pub(super) fn visit_shard(shard: &Shard, wanted: VisitFields, cancel: &Cancel, take: Visitor<'_>) -> Outcome<()> {
    let progress = Progress::default();
    let silent = ShardFindings::default();
    let handles = Handles { progress: &progress, cancel, problems: &silent };
    let mut sink = VisitSink { wanted, take, cancel, parts: Default::default(), is_over: false };
    let scanned = scan_shard(shard, &mut sink, &handles);
    match scanned {
        Err(_) if sink.is_over => Ok(()),
        other => other.map(drop),
    }
}

struct VisitSink<'a> {
    wanted: VisitFields,
    take: Visitor<'a>,
    cancel: &'a Cancel,
    parts: super::rows::PartNames,
    is_over: bool,
}

impl VisitSink<'_> {
    fn hand(&mut self, index: u64, key: &str, byte_size: u64) -> Outcome<()> {
        self.cancel.check()?;
        let take = &mut *self.take;
        let goes_on = self.parts.with(|parts| take(VisitedSample { index, key, byte_size, parts }));
        self.parts.clear();
        if goes_on {
            return Ok(());
        }
        self.is_over = true;
        Err(Failure::cancelled())
    }
}

impl ScanSink for VisitSink<'_> {
    fn part(&mut self, row: PartRow<'_>) -> Outcome<()> {
        if self.wanted.parts {
            self.parts.push(row.part_name);
        }
        Ok(())
    }
    fn sample(&mut self, row: SampleRow<'_>) -> Outcome<()> {
        self.hand(row.sample_index, row.key, row.byte_size)
    }
    fn hidden_sample(&mut self, row: HiddenSample) -> Outcome<()> {
        self.hand(row.sample_index, "", row.byte_size)
    }
}
