//! The search for leaks: one unit for each compared shard, and the merge of all records.

use super::group::{repairs, Contents, Group, LeakGroups, Matcher, PartRef, SamplePosition};
use super::names;
use super::record_buffer::{PartNames, RecordBuffer};
use super::sample_hasher::{bit, SampleHasher};
use super::{Leak, LeakKind, LeakLocation, LeakOptions, Leaks, SplitLayout};
use crate::engine::check::PreparedDataset;
use gristmill_core::{
    Cancel, Handles, Mutex, NullProblemSink, Outcome, Problem, ProblemKind, Progress, RunOptions, ShardId, Subject,
};
use gristmill_data::source::compressed_start;
use gristmill_data::source::tar::scan_shard;
use gristmill_pycompat::braces;
use gristmill_storage::fs::Fs;
use gristmill_storage::location::hint_for;
use gristmill_storage::read::open_read;
use gristmill_storage::sort::{reduce, remove_temporary, Merge, RunSource, SortContext, CANCEL_EVERY};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

/// Maximum number of names to which the brace expressions of all excludes may expand in total.
const MAX_EXCLUDED: usize = 4_000_000;
/// Number of sorted runs that are open at the same time.
const MERGE_WIDTH: usize = 256;
/// Rows of the sample table that are read at a time.
const ROWS_PER_READ: u64 = 4_096;

/// A shard to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeakUnit {
    id: ShardId,
}

/// The counts of one shard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ShardTotals {
    /// The number of shards that were compared.
    pub shards: u64,
    /// Number of samples that were compared.
    pub samples: u64,
    /// The number of contents that were compared.
    pub contents: u64,
    /// The requested parts that were found, as one bit for each of the first 64.
    #[serde(skip)]
    pub met: u64,
}

impl ShardTotals {
    /// Adds the counts of another shard.
    pub fn add(&mut self, other: Self) {
        self.shards += other.shards;
        self.samples += other.samples;
        self.contents += other.contents;
        self.met |= other.met;
    }

    /// Returns the requested parts that no sample has.
    pub fn missing<'p>(&self, parts: &'p [String]) -> impl Iterator<Item = &'p str> {
        let met = self.met;
        let is_missing = move |place: usize| bit(place) != 0 && met & bit(place) == 0;
        parts.iter().enumerate().filter(move |(place, _)| is_missing(*place)).map(|(_, part)| part.as_str())
    }
}

/// A search over one data set, shared by all workers.
pub struct LeakSearch {
    prepared: PreparedDataset,
    options: LeakOptions,
    /// Split names, in their order.
    pub(super) splits: Vec<Arc<str>>,
    /// Numbers of the splits that contain each shard, without excluded shards.
    members: BTreeMap<u32, Vec<u32>>,
    excluded: HashMap<u32, HashSet<Box<str>>>,
    part_names: Arc<PartNames>,
    /// Shards that changed since they were indexed, so that their keys are not read from the table.
    changed: Mutex<HashSet<u32>>,
}

impl LeakSearch {
    /// Opens a data set. Fails with a hint if it is not prepared. Shards that are not in the index are ignored, because no loader reads
    /// them.
    pub fn open(root: &Path, layout: &SplitLayout, options: LeakOptions) -> Outcome<Self> {
        let prepared = PreparedDataset::open(root)?;
        let ids: HashMap<&str, u32> =
            (0..).zip(&prepared.info.shard_counts).map(|(id, (name, _))| (name.as_str(), id)).collect();
        let (shards, excluded) = excludes(&layout.excludes, &ids);
        let mut members: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (split, (_, names)) in (0..).zip(&layout.splits) {
            for name in names {
                let Some(id) = ids.get(&**name).filter(|id| !shards.contains(id)) else { continue };
                let splits = members.entry(*id).or_default();
                if !splits.contains(&split) {
                    splits.push(split);
                }
            }
        }
        Ok(Self {
            splits: layout.splits.iter().map(|(name, _)| Arc::clone(name)).collect(),
            members,
            excluded,
            options,
            prepared,
            part_names: Arc::default(),
            changed: Mutex::default(),
        })
    }

    /// Returns the shards to process, in the order of the index.
    pub fn units(&self) -> Vec<LeakUnit> {
        self.members.keys().map(|id| LeakUnit { id: ShardId(*id) }).collect()
    }

    /// Returns the size of these shards in bytes if contents are compared, otherwise 0.
    pub fn bytes(&self) -> u64 {
        let size = |id: &u32| self.prepared.shard(ShardId(*id)).map_or(0, |shard| shard.stamp.bytes);
        if self.options.content {
            self.members.keys().map(size).sum()
        } else {
            0
        }
    }

    /// Returns an empty buffer for the worker with this number. `memory` limits the records that are sorted at a time, in bytes.
    pub fn buffer(&self, fs: Arc<dyn Fs>, dir: &Path, number: usize, memory: usize) -> RecordBuffer {
        RecordBuffer::new(fs, dir, number, memory, Arc::clone(&self.part_names))
    }

    /// Adds the records of one shard to a buffer. A shard that cannot be read is a finding, not a failure.
    pub fn add_shard(&self, unit: LeakUnit, buffer: &mut RecordBuffer, handles: &Handles<'_>) -> Outcome<ShardTotals> {
        handles.cancel.check()?;
        let Some((name, _)) = self.prepared.entry(unit.id) else { return Ok(ShardTotals::default()) };
        match self.take_shard(unit.id, buffer, handles) {
            Err(failure) if !failure.is_cancelled() && !buffer.is_broken() => {
                handles.progress.add(1, 0);
                let problem = Problem::of_failure(ProblemKind::Unreadable, failure).on(Subject::shard(name));
                handles.problems.report(problem.with_effect("it was not compared"))?;
                Ok(ShardTotals::default())
            }
            taken => taken,
        }
    }

    fn take_shard(&self, id: ShardId, buffer: &mut RecordBuffer, handles: &Handles<'_>) -> Outcome<ShardTotals> {
        let count = self.prepared.entry(id).map_or(0, |(_, count)| count);
        if !self.options.content {
            if let Some(taken) = self.take_rows(id, count, buffer, handles)? {
                return Ok(taken);
            }
        }
        let shard = self.prepared.shard(id)?;
        let file = open_read(&shard.path)?;
        if compressed_start(&file) {
            handles.progress.add(1, 0);
            let message = "it was not compared: it is compressed, and no loader reads it";
            let subject = Subject::shard(&shard.name);
            handles.problems.report(Problem::note(ProblemKind::CompressedShard, subject, message))?;
            return Ok(ShardTotals::default());
        }
        let mut hasher = self.hasher(id, self.options.content.then_some(&file), handles.cancel, buffer);
        // Damage is reported by lint and verify.
        let scan = scan_shard(&shard, &mut hasher, &Handles { problems: &NullProblemSink, ..*handles })?;
        let taken =
            ShardTotals { shards: 1, samples: hasher.samples, contents: hasher.compared, met: hasher.found_parts };
        if scan.samples != count {
            self.changed.lock().insert(id.0);
            let message = "it has changed since it was indexed; its current content was compared";
            let problem = Problem::problem(ProblemKind::ShardChanged, Subject::shard(&shard.name), message);
            handles.problems.report(
                problem.with_hint(hint_for(&self.prepared.root, "gristmill prepare PATH --update indexes it again")),
            )?;
        }
        Ok(taken)
    }

    fn hasher<'a>(
        &'a self,
        id: ShardId,
        file: Option<&'a gristmill_storage::read::ReadFile>,
        cancel: &'a Cancel,
        buffer: &'a mut RecordBuffer,
    ) -> SampleHasher<'a> {
        let splits = self.members.get(&id.0).map(Vec::as_slice).unwrap_or_default();
        SampleHasher::new(&self.options, self.excluded.get(&id.0), splits, u64::from(id.0), file, cancel, buffer)
    }

    /// Reads only the names, from the sample table. Returns `None` if the table does not contain all of them.
    fn take_rows(
        &self,
        id: ShardId,
        count: u64,
        buffer: &mut RecordBuffer,
        handles: &Handles<'_>,
    ) -> Outcome<Option<ShardTotals>> {
        let Some(tables) = self.prepared.tables()? else { return Ok(None) };
        let rows = |from| tables.samples(id.0, from, ROWS_PER_READ);
        let last = rows(count.saturating_sub(1))?;
        if count > 0 && (last.len() != 1 || last.iter().any(|row| row.sample_index + 1 != count)) {
            return Ok(None);
        }
        let mut hasher = self.hasher(id, None, handles.cancel, buffer);
        let mut from = 0;
        loop {
            handles.cancel.check()?;
            let rows = rows(from)?;
            let Some(last) = rows.last() else { break };
            from = last.sample_index + 1;
            for row in &rows {
                hasher.name(&row.key, row.sample_index)?;
            }
        }
        handles.progress.add(1, 0);
        Ok(Some(ShardTotals { shards: 1, samples: hasher.samples, ..ShardTotals::default() }))
    }

    /// Merges the records of all workers and returns the leaks.
    pub fn finish(
        &self,
        buffers: Vec<RecordBuffer>,
        fs: &dyn Fs,
        scratch: &Path,
        options: &RunOptions,
        handles: &Handles<'_>,
    ) -> Outcome<Leaks> {
        let records = buffers.iter().map(RecordBuffer::records).sum();
        let (mut name_runs, mut content_runs) = (Vec::new(), Vec::new());
        for buffer in buffers {
            let (names, contents) = buffer.finish(fs, scratch)?;
            name_runs.extend(names);
            content_runs.extend(contents);
        }
        handles.progress.restart(records, 0);
        let memory = usize::try_from(options.memory_bytes).unwrap_or(usize::MAX);
        let around = SortContext { fs, scratch, cancel: handles.cancel, merge_width: MERGE_WIDTH, sort_memory: memory };
        let mut found = LeakGroups::default();
        merge(&around, name_runs, "names-merged", handles.progress, &mut names::Names::default(), &mut found)?;
        merge(&around, content_runs, "contents-merged", handles.progress, &mut Contents, &mut found)?;
        self.report(found, handles.cancel)
    }

    /// Returns shards in several splits, followed by the leaks found from records, with names instead of numbers.
    fn report(&self, mut found: LeakGroups, cancel: &Cancel) -> Outcome<Leaks> {
        for (id, splits) in self.members.iter().filter(|(_, splits)| splits.len() > 1) {
            let mut group = Group::default();
            let whole = PartRef { name: 0, ordinal: 0 };
            splits.iter().for_each(|split| group.add([u64::from(*split), u64::from(*id), 0], whole, 0));
            found.keep(LeakKind::Shard, &group);
        }
        let keys = names::keys(&found, &self.prepared, &self.changed(), cancel)?;
        let sizes = self.sizes();
        let leaks = found.groups().into_iter().filter_map(|(kind, group)| {
            let places = group.places().map(|place| self.place(kind, place, &keys)).collect::<Option<Vec<_>>>()?;
            let more = group.unlisted();
            let repairs = if more > 0 { Vec::new() } else { repairs(kind, &places, &sizes) };
            Some(Leak { kind, places, more, repairs })
        });
        Ok(Leaks {
            leaks: leaks.collect(),
            counts: found.counts(),
            between: found.pair_counts(&self.splits),
            common_names: found.common_names,
        })
    }

    /// Returns the location by names; `None` if the key of the sample can no longer be found, because its shard changed during the search.
    fn place(&self, kind: LeakKind, place: SamplePosition, keys: &names::SampleKeys) -> Option<LeakLocation> {
        let shard = self.prepared.entry(ShardId(place.shard)).map(|(name, _)| Arc::from(name))?;
        let key = match kind {
            LeakKind::Shard => None,
            _ => Some(keys.get(&(place.shard, place.sample))?.clone()),
        };
        let part = (kind == LeakKind::Part).then(|| self.part_names.name(place.part)).flatten();
        Some(LeakLocation { split: Arc::clone(self.splits.get(place.split as usize)?), shard, key, part })
    }

    fn changed(&self) -> HashSet<u32> {
        self.changed.lock().clone()
    }

    /// Returns the number of samples in each split, including individually excluded samples.
    fn sizes(&self) -> HashMap<Arc<str>, u64> {
        let mut sizes = HashMap::new();
        for (id, splits) in &self.members {
            let count = self.prepared.entry(ShardId(*id)).map_or(0, |(_, count)| count);
            for name in splits.iter().filter_map(|split| self.splits.get(*split as usize)) {
                *sizes.entry(Arc::clone(name)).or_default() += count;
            }
        }
        sizes
    }
}

/// Returns excluded shards, and the excluded keys of each shard. An item that cannot be expanded is ignored, because the loader refuses it.
fn excludes(items: &[Arc<str>], ids: &HashMap<&str, u32>) -> (HashSet<u32>, HashMap<u32, HashSet<Box<str>>>) {
    let (mut shards, mut keys) = (HashSet::new(), HashMap::<u32, HashSet<Box<str>>>::new());
    let mut left = MAX_EXCLUDED;
    for item in items {
        let Ok(names) = braces::expand(item, braces::MAX_RESULTS.min(left.max(1))) else { continue };
        left = left.saturating_sub(names.len() - 1);
        for name in names {
            if let Some(&id) = ids.get(name.as_str()) {
                shards.insert(id);
            }
            for (at, _) in name.match_indices('/') {
                if let Some(&id) = ids.get(&name[..at]) {
                    keys.entry(id).or_default().insert(name[at + 1..].into());
                }
            }
        }
    }
    (shards, keys)
}

fn merge<const N: usize>(
    around: &SortContext<'_>,
    runs: Vec<RunSource>,
    name: &str,
    progress: &Progress,
    matcher: &mut impl Matcher<N>,
    found: &mut LeakGroups,
) -> Outcome<()> {
    let runs = reduce::<N>(around, runs, name)?;
    let mut merge = Merge::<N>::open(&runs)?;
    let (mut before, mut group, mut count) = (Vec::new(), Group::default(), 0);
    while let Some((text, numbers)) = merge.next_entry()? {
        if count > 0 && !matcher.is_same(&before, text) {
            matcher.end(&group, found);
            group.clear();
        }
        before.clear();
        before.extend_from_slice(text);
        matcher.add(&mut group, text, numbers, found);
        count += 1;
        if count % CANCEL_EVERY == 0 {
            around.cancel.check()?;
            progress.add(CANCEL_EVERY, 0);
        }
    }
    matcher.end(&group, found);
    progress.add(count % CANCEL_EVERY, 0);
    drop(merge);
    remove_temporary(around.fs, &runs)
}
