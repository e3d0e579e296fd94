//! The scan that runs while a user answers questions before a run, and the state that it shares with the job that adopts it.
//!
//! Owns the threads that read tars before the run starts. Facts are built under one lock and returned as snapshots, so that a screen never
//! waits for a worker.

use super::pool;
use super::rate::Rate;
use super::times;
use crate::engine::dataset::OpenDataset;
use crate::engine::index::{self, OldIndex, OldTables, SpooledShard};
use gristmill_core::facts::add_parts;
use gristmill_core::handles::ProgressReading;
use gristmill_core::{
    Cancel, DatasetFacts, Failure, FileStamp, Handles, Mutex, Outcome, Problem, ProblemKind, ProblemLog, ProblemSink,
    Progress, RecordingSink, RunOptions, SampleSketch, Severity, Shard, ShardId, ShardState, Subject,
};
use gristmill_data::source::decode::{part_class, PartClass};
use gristmill_storage::files;
use gristmill_storage::fs::{Fs, RealFs};
use gristmill_storage::location::threads_for;
use gristmill_storage::scratch::Scratch;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Minimum interval between snapshots.
const SNAPSHOT_EVERY: Duration = Duration::from_millis(90);
/// Samples that are read before the scan begins, so that questions can be shown early.
const FIRST_SKETCHES: usize = 8;
/// Samples recorded for questions and field maps, from shards across the whole data set.
const MAX_SKETCHES: usize = 48;
/// Limit of the text of a recorded sample, in bytes. A larger sample is only recorded if it is one of the first.
const SKETCH_BYTES: u64 = 1 << 20;

/// The state and the results of a scan.
pub(super) struct State {
    pub(super) facts: DatasetFacts,
    pub(super) shards: Vec<Shard>,
    /// Parallel to `shards`: the spool of each shard that was scanned, unless it was discarded.
    pub(super) spools: Vec<Option<SpooledShard>>,
    /// Parallel to `shards`: the progress of each shard.
    marks: Vec<ShardProgress>,
    /// See [`OpenDataset::prepared`].
    pub(super) prepared: Option<FileStamp>,
    /// Position of each shard in the old index, by its name.
    old_ids: HashMap<String, u32>,
    failure: Option<Failure>,
    finished: bool,
    spool_bytes: u64,
    /// The version of the state, the time of the snapshot, and the facts.
    snapshot: Option<(u64, Instant, Arc<DatasetFacts>)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct ShardProgress {
    /// Whether the figures of the shard are in the facts.
    is_counted: bool,
    /// Whether the spool was made from the old index instead of the tar.
    is_from_index: bool,
    /// Whether the shard is being read, has been read, or is known from an earlier run.
    is_taken: bool,
}

/// State shared between the workers, the front end, and the job that adopts the scan.
pub(super) struct ScanShared {
    pub(super) root: PathBuf,
    pub(super) options: RunOptions,
    pub(super) fs: Arc<dyn Fs>,
    pub(super) progress: Arc<Progress>,
    pub(super) cancel: Cancel,
    /// Cancels work that only serves the questions. A job that adopts the scan does this work itself.
    pub(super) no_more_questions: Cancel,
    pub(super) problems: Arc<ProblemLog>,
    old_tables: OldTables,
    state: Mutex<State>,
    changed: Condvar,
    version: AtomicU64,
    rate: Mutex<Rate>,
}

impl ScanShared {
    pub(super) fn new(root: &Path, options: &RunOptions, fs: Arc<dyn Fs>) -> Outcome<Arc<Self>> {
        let kind = gristmill_data::source::kind::kind_of(root)?;
        let threads = threads_for(root, options.threads);
        Ok(Arc::new(Self {
            root: root.to_path_buf(),
            old_tables: OldTables::new(root),
            options: RunOptions { threads, ..options.clone() },
            fs,
            progress: Arc::default(),
            cancel: Cancel::default(),
            no_more_questions: Cancel::default(),
            problems: Arc::new(ProblemLog::new(options.strict)),
            state: Mutex::new(State {
                facts: DatasetFacts::new(root.to_path_buf(), kind),
                shards: Vec::new(),
                spools: Vec::new(),
                marks: Vec::new(),
                prepared: None,
                old_ids: HashMap::new(),
                failure: None,
                finished: false,
                spool_bytes: 0,
                snapshot: None,
            }),
            changed: Condvar::new(),
            version: AtomicU64::new(1),
            rate: Mutex::new(Rate::default()),
        }))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Changes the state and wakes all waiting threads.
    pub(super) fn update<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let result = change(&mut self.lock());
        self.version.fetch_add(1, Ordering::Release);
        self.changed.notify_all();
        result
    }

    pub(super) fn handles(&self) -> Handles<'_> {
        Handles { progress: &self.progress, cancel: &self.cancel, problems: &*self.problems }
    }

    /// Returns the latest snapshot. It is rebuilt after changes, at most every 90 ms.
    pub(super) fn facts(&self) -> Arc<DatasetFacts> {
        let version = self.version.load(Ordering::Acquire);
        let mut state = self.lock();
        if let Some((of, made, facts)) = &state.snapshot {
            let settled = state.finished || state.failure.is_some();
            if *of == version || (made.elapsed() < SNAPSHOT_EVERY && !settled) {
                return Arc::clone(facts);
            }
        }
        self.snapshot(&mut state, version)
    }

    /// Returns a new snapshot, regardless of the age of the last one; for decisions.
    pub(super) fn facts_now(&self) -> Arc<DatasetFacts> {
        let version = self.version.load(Ordering::Acquire);
        self.snapshot(&mut self.lock(), version)
    }

    fn snapshot(&self, state: &mut State, version: u64) -> Arc<DatasetFacts> {
        let mut facts = state.facts.clone();
        // Findings of the opening are added to the facts, so that a job includes them in its report.
        let found = self.problems.to_vec().into_iter().filter(|problem| !facts.findings.contains(problem));
        let found: Vec<Problem> = found.collect();
        facts.findings.extend(found);
        let facts = Arc::new(facts);
        state.snapshot = Some((version, Instant::now(), Arc::clone(&facts)));
        facts
    }

    pub(super) fn rate(&self) -> (f64, Option<Duration>) {
        let mut rate = self.rate.lock();
        let reading = self.progress.read();
        rate.add_reading(Instant::now(), reading);
        (rate.bytes_per_second(), rate.remaining(reading))
    }

    /// Stores an opened data set.
    pub(super) fn set_opened(&self, opened: OpenDataset) {
        self.old_tables.close();
        self.update(|state| {
            state.spools = vec![None; opened.shards.len()];
            state.marks = vec![ShardProgress::default(); opened.shards.len()];
            state.shards = opened.shards;
            state.facts = opened.facts;
            let old = state.facts.prepared.iter().flat_map(|prepared| &prepared.shard_counts);
            state.old_ids = old.map(|(name, _)| name.clone()).zip(0..).collect();
            state.prepared = opened.prepared;
        });
    }

    /// Marks a shard as taken because its result is already known. Returns false if it is being read or has been read.
    pub(super) fn take_over(&self, position: usize) -> bool {
        let mut state = self.lock();
        state.marks.get_mut(position).is_some_and(|mark| !std::mem::replace(&mut mark.is_taken, true))
    }

    /// Scans one shard into `folder` and adds its figures. Called from several threads.
    pub(super) fn scan_one(&self, position: usize, folder: &Path) -> Outcome<Option<SpooledShard>> {
        let Some(shard) = self.lock().shards.get(position).cloned() else { return Ok(None) };
        self.update(|state| set_shard_state(state, position, ShardState::Scanning));
        let id = ShardId(u32::try_from(position).unwrap_or(u32::MAX));
        let problems = RecordingSink::new(&*self.problems);
        let handles = Handles { problems: &problems, ..self.handles() };
        match index::scan_unit(&shard, id, folder, &*self.fs, self.sort_memory(), &handles) {
            Ok(spooled) => {
                self.count_in(position, &spooled);
                Ok(Some(SpooledShard { problems: problems.into_recorded(), ..spooled }))
            }
            Err(failure) if failure.is_cancelled() => {
                self.update(|state| set_shard_state(state, position, ShardState::Waiting));
                Err(failure)
            }
            Err(failure) => {
                self.update(|state| set_shard_state(state, position, ShardState::Failed));
                Err(failure)
            }
        }
    }

    /// Returns the memory for sorting of one worker in bytes; all workers together use a quarter of the memory.
    pub(super) fn sort_memory(&self) -> usize {
        let share = self.options.memory_bytes / (4 * self.options.threads.max(1) as u64);
        usize::try_from(share).unwrap_or(usize::MAX).max(64 << 10)
    }

    /// Removes the spool of a finished shard from the state and returns it. The flag is true if the spool was made from the old index.
    pub(super) fn take_spool(&self, position: usize) -> Option<(SpooledShard, bool)> {
        let mut state = self.lock();
        let is_from_index = state.marks.get(position).is_some_and(|mark| mark.is_from_index);
        state.spools.get_mut(position).and_then(Option::take).map(|spooled| (spooled, is_from_index))
    }

    /// Reads the rows of an unchanged shard from the old tables, or from the tar if the tables cannot be read.
    pub(super) fn respool_one(&self, position: usize, folder: &Path) -> Outcome<Option<SpooledShard>> {
        let Some((shard, old_id)) = self.indexed_shard(position) else { return self.scan_one(position, folder) };
        let tar_idx = self.root.join(shard.index_name());
        let old = OldIndex { tables: &self.old_tables, tar_file_id: old_id, tar_idx: &tar_idx };
        let id = ShardId(u32::try_from(position).unwrap_or(u32::MAX));
        self.update(|state| set_shard_state(state, position, ShardState::Scanning));
        let memory = self.sort_memory();
        match index::respool_unit(old, &shard, id, folder, &*self.fs, memory, &self.cancel) {
            Ok(Some(spooled)) => {
                self.update(|state| {
                    if let Some(mark) = state.marks.get_mut(position) {
                        mark.is_from_index = true;
                    }
                });
                self.count_in(position, &spooled);
                self.progress.add(1, shard.stamp.bytes);
                Ok(Some(spooled))
            }
            Ok(None) => self.scan_one(position, folder),
            Err(failure) => {
                self.update(|state| set_shard_state(state, position, ShardState::Waiting));
                Err(failure)
            }
        }
    }

    /// Returns a shard and its position in the old index.
    fn indexed_shard(&self, position: usize) -> Option<(Shard, u32)> {
        let state = self.lock();
        let shard = state.shards.get(position)?;
        Some((shard.clone(), *state.old_ids.get(&shard.name)?))
    }

    /// Adds the figures of one shard to the facts.
    pub(super) fn count_in(&self, position: usize, spooled: &SpooledShard) {
        self.update(|state| {
            let scan = &spooled.scan;
            if let Some(facts) = state.facts.shards.get_mut(position) {
                facts.state = ShardState::Scanned;
                facts.samples = scan.samples;
                facts.unusable |= scan.compressed && !facts.is_tgz;
                facts.apple_double.clone_from(&scan.apple_double);
            }
            let mark = state.marks.get_mut(position).map(|mark| std::mem::replace(&mut mark.is_counted, true));
            if mark == Some(false) {
                add_parts(&mut state.facts.parts, &scan.parts);
                state.facts.part_sets.merge(&scan.part_sets);
                state.facts.samples_seen += scan.samples - scan.without_parts.min(scan.samples);
            }
            spread_sketches(state, position, &scan.sketches);
            state.facts.scan_complete =
                state.facts.shards.iter().all(|s| matches!(s.state, ShardState::Scanned | ShardState::Failed));
        });
    }

    /// Records a shard that cannot be read as a finding for the screens. A run fails because of it.
    fn note_unreadable(&self, failure: &Failure) -> Outcome<()> {
        self.problems.report(Problem::of_failure(ProblemKind::Unreadable, failure.clone()))
    }

    fn finish(&self, result: Outcome<()>) {
        self.update(|state| {
            state.finished = true;
            if let Err(failure) = result {
                state.failure = Some(failure);
            }
        });
    }

    fn wait_for(&self, ready: impl Fn(&State) -> bool) -> Outcome<()> {
        let mut state = self.lock();
        while !ready(&state) && state.failure.is_none() && !state.finished {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.failure.clone().map_or(Ok(()), Err)
    }
}

fn set_shard_state(state: &mut State, position: usize, to: ShardState) {
    if let Some(shard) = state.facts.shards.get_mut(position) {
        shard.state = to;
    }
}

/// Records samples of a scanned shard: several from each shard if there are few shards, or one from every n-th of many shards, so that a
/// field map is not only tried at the beginning of the data set. They are in the order of the data set, regardless of the order of
/// scanning.
fn spread_sketches(state: &mut State, position: usize, found: &[SampleSketch]) {
    let shards = state.shards.len().max(1);
    let chosen = shards.min(MAX_SKETCHES);
    let is_chosen = position == 0 || position * chosen / shards != (position - 1) * chosen / shards;
    if !is_chosen && !state.facts.sketches.is_empty() {
        return;
    }
    let each = (MAX_SKETCHES / chosen).clamp(1, found.len().max(1));
    // The later samples of a shard are more typical of it than the first ones.
    let wanted = found.get(found.len() - each.min(found.len())..).unwrap_or_default();
    let small = wanted.iter().filter(|sketch| text_bytes(sketch) <= SKETCH_BYTES);
    keep_sketches(&mut state.facts.sketches, small);
    let places: HashMap<&str, usize> = state.shards.iter().map(|shard| shard.name.as_str()).zip(0..).collect();
    let place = |sketch: &SampleSketch| {
        let at = sketch.parts.first().map_or(0, |(_, offset, _)| *offset);
        (places.get(sketch.shard.as_str()).copied(), at)
    };
    state.facts.sketches.sort_by_key(place);
}

/// Returns the bytes that must be read to decode a sample, without pictures and other media, of which only the beginning is read.
fn text_bytes(sketch: &SampleSketch) -> u64 {
    let is_text = |name: &str| !matches!(part_class(name), PartClass::Image | PartClass::Media | PartClass::Bytes);
    sketch.parts.iter().filter(|(name, ..)| is_text(name)).map(|(_, _, bytes)| bytes).sum()
}

fn keep_sketches<'s>(kept: &mut Vec<SampleSketch>, found: impl Iterator<Item = &'s SampleSketch>) {
    for sketch in found {
        if !kept.iter().any(|k| k.shard == sketch.shard && k.key == sketch.key) {
            kept.push(sketch.clone());
        }
    }
}

/// A background scan of a data set. Dropping it stops the scan and removes its spools.
pub struct LiveScan {
    pub(super) shared: Arc<ScanShared>,
    pub(super) worker: Option<JoinHandle<()>>,
    pub(super) scratch: Option<Arc<Scratch>>,
}

impl LiveScan {
    /// Starts to open the data set and to scan its shards, and returns at once.
    ///
    /// Fails if the path cannot be a data set; later errors are returned by [`failure`](Self::failure). For a prepared data set, only new
    /// and changed shards are read; the figures of the others come from its index.
    pub fn start(path: &Path, options: &RunOptions) -> Outcome<Self> {
        let shared = ScanShared::new(path, options, Arc::new(RealFs))?;
        let scratch = Arc::new(Scratch::create(options.scratch.as_deref())?);
        let worker = {
            let (shared, scratch) = (Arc::clone(&shared), Arc::clone(&scratch));
            std::thread::Builder::new()
                .name("scan".into())
                .spawn(move || {
                    let _waits = shared.cancel.begin_wait_scope();
                    let result = run(&shared, &scratch);
                    shared.finish(result);
                })
                .map_err(|error| Failure::environment("starting a thread", error.to_string()))?
        };
        Ok(Self { shared, worker: Some(worker), scratch: Some(scratch) })
    }

    /// Returns all facts known so far; the same `Arc` until they change.
    pub fn facts(&self) -> Arc<DatasetFacts> {
        self.shared.facts()
    }

    /// Returns the number of shards and bytes scanned.
    pub fn progress(&self) -> ProgressReading {
        self.shared.progress.read()
    }

    /// Returns the bytes per second, and the remaining time if it is known.
    pub fn rate(&self) -> (f64, Option<Duration>) {
        self.shared.rate()
    }

    /// Returns the failure that ended opening or scanning early, if there is one.
    pub fn failure(&self) -> Option<Failure> {
        self.shared.lock().failure.clone()
    }

    /// Whether the scan has ended.
    pub fn is_finished(&self) -> bool {
        self.shared.lock().finished
    }

    /// Waits until the shards are listed.
    pub fn wait_opened(&self) -> Outcome<Arc<DatasetFacts>> {
        self.shared.wait_for(|state| state.facts.opened)?;
        Ok(self.shared.facts_now())
    }

    /// Waits until every shard is scanned.
    pub fn wait(&self) -> Outcome<Arc<DatasetFacts>> {
        self.shared.wait_for(|_| false)?;
        Ok(self.shared.facts_now())
    }

    /// Requests that the workers stop at the next safe point.
    pub fn cancel(&self) {
        self.shared.cancel.cancel();
        self.shared.no_more_questions.cancel();
    }

    /// Returns the shard with this name as a file, for reading the contents of its samples.
    pub fn shard(&self, name: &str) -> Option<Shard> {
        self.shared.lock().shards.iter().find(|shard| shard.name == name).cloned()
    }

    /// Returns the counts of the problems and notes found so far.
    pub fn counts(&self) -> Vec<(Severity, ProblemKind, u64)> {
        self.shared.problems.counts()
    }
}

impl Drop for LiveScan {
    fn drop(&mut self) {
        if let Some(worker) = self.worker.take() {
            self.cancel();
            // The workers check the cancel flag every few milliseconds. Spools are only removed after the workers have stopped.
            if worker.join().is_err() {
                tracing::warn!("a scan thread panicked");
            }
        }
    }
}

fn run(shared: &ScanShared, scratch: &Scratch) -> Outcome<()> {
    // On a read-only data set the scan continues without completing the publication; a run reports the failure again.
    super::recover::recover_interrupted(&shared.root, &*shared.problems)?;
    let opened = times::open(&shared.root, shared.options.threads, &shared.cancel)?;
    let (fresh, indexed) = unindexed_and_indexed(&opened);
    let bytes = opened.shards.iter().map(|shard| shard.stamp.bytes).sum();
    shared.progress.expect(opened.shards.len() as u64, bytes);
    let first = opened.shards.first().cloned();
    shared.set_opened(opened);
    if let Some(first) = first {
        read_first_samples(shared, &first);
    }
    let cap = scratch.cap_bytes();
    let units: Vec<(usize, bool)> =
        fresh.into_iter().map(|position| (position, false)).chain(indexed.into_iter().map(|p| (p, true))).collect();
    pool::run_units(&units, shared.options.threads, &shared.cancel, |&(position, is_indexed)| {
        if !shared.take_over(position) {
            return Ok(());
        }
        let spooled = if is_indexed {
            shared.respool_one(position, scratch.path())
        } else {
            shared.scan_one(position, scratch.path())
        };
        match spooled {
            Ok(Some(spooled)) => keep_spool(shared, position, spooled, cap),
            Ok(None) => Ok(()),
            Err(failure) if failure.is_cancelled() => Err(failure),
            Err(failure) => shared.note_unreadable(&failure),
        }
    })?;
    find_same_keys(shared, scratch);
    Ok(())
}

/// Finds keys shared by two samples, and which of these samples are pieces of one sample. Requires the spools of all shards.
fn find_same_keys(shared: &ScanShared, scratch: &Scratch) {
    let kept: Option<Vec<(u32, SpooledShard)>> = {
        let state = shared.lock();
        let readable = |at: &usize| state.facts.shards.get(*at).is_some_and(|s| s.state != ShardState::Failed);
        let positions = (0..state.shards.len()).filter(readable);
        positions.map(|at| Some((u32::try_from(at).ok()?, state.spools.get(at)?.clone()?))).collect()
    };
    let Some(kept) = kept else { return };
    let shards: Vec<(u32, &SpooledShard)> = kept.iter().map(|(number, spool)| (*number, spool)).collect();
    match index::same_keys(&*shared.fs, &shards, scratch.path(), &shared.no_more_questions) {
        Ok(keys) if keys.same.is_empty() && keys.scattered.is_empty() => {}
        Ok(keys) => shared.update(|state| {
            state.facts.same_keys = keys.same;
            state.facts.scattered = keys.scattered;
        }),
        Err(failure) => tracing::debug!(%failure, "the search for keys that name two samples did not end"),
    }
}

/// Returns the positions of the shards to read from tars, and of those whose rows are in an earlier index.
fn unindexed_and_indexed(opened: &OpenDataset) -> (Vec<usize>, Vec<usize>) {
    let every = 0..opened.shards.len();
    let Some(prepared) = &opened.facts.prepared else { return (every.collect(), Vec::new()) };
    let fresh: std::collections::HashSet<&str> =
        prepared.new_shards.iter().chain(&prepared.changed_shards).map(String::as_str).collect();
    every.partition(|&p| opened.shards.get(p).is_some_and(|shard| fresh.contains(shard.name.as_str())))
}

/// Reads the first samples of the first shard, so that questions can be shown before a large shard is completely read.
fn read_first_samples(shared: &ScanShared, shard: &Shard) {
    if let Ok(sketches) = gristmill_data::source::peek_samples(shard, FIRST_SKETCHES) {
        shared.update(|state| keep_sketches(&mut state.facts.sketches, sketches.iter()));
    }
}

/// Stores a spool. Above the limit `cap` only the figures are recorded, and the shard is read again when the job runs.
fn keep_spool(shared: &ScanShared, position: usize, spooled: SpooledShard, cap: u64) -> Outcome<()> {
    let bytes = spooled.spool_bytes();
    let beyond = shared.update(|state| {
        if state.spool_bytes + bytes > cap {
            return Some(spooled);
        }
        state.spool_bytes += bytes;
        if let Some(slot) = state.spools.get_mut(position) {
            *slot = Some(spooled);
        }
        None
    });
    beyond.map_or(Ok(()), |spooled| spooled.remove(&*shared.fs))
}

/// Waits until the shards are listed, or until opening has failed.
pub(super) fn wait_opened(shared: &ScanShared) -> Outcome<()> {
    shared.wait_for(|state| state.facts.opened)
}

/// Whether the shard is unchanged since it was scanned.
pub(super) fn unchanged(shard: &Shard, stamp: FileStamp) -> bool {
    gristmill_storage::read::stamp_at(&shard.path).is_ok_and(|now| now == stamp)
}

/// Converts the failure to read a shard that a run needs into a failure that ends the run.
pub(super) fn into_fatal_failure(failure: Failure, shard: &str) -> Failure {
    if failure.is_cancelled() {
        return failure;
    }
    let hint = match failure.subject.path.as_deref().is_some_and(|path| !files::exists(path)) {
        true => "it was removed after the scan: scan again, or leave it out with --exclude",
        false => "make it readable, or leave it out with --exclude",
    };
    let mut failure = failure;
    if failure.subject.is_empty() {
        failure.subject = Subject::shard(shard);
    }
    if failure.hint.is_none() {
        failure.hint = Some(hint.into());
    }
    failure
}
