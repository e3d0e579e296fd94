//! Writes the index of a join: the keys of all members are sorted and merged, and the rows are sorted back into the order of the first
//! member.
//!
//! Memory is limited to buffers of a fixed size, regardless of the number of samples.

use super::join_plan::{JoinInput, JoinPlan};
use gristmill_core::mix::Nonmatch;
use gristmill_core::{Failure, Handles, Outcome, Subject};
use gristmill_data::formats::energon::join_idx::{Cell, JoinIdxWriter, CELL_BYTES};
use gristmill_data::formats::energon::tables::{failure, open_readonly};
use gristmill_storage::fs::Fs;
use gristmill_storage::sort::bytes::SpoolWriter;
use gristmill_storage::sort::{reduce, Merge, Run, RunSource, SortContext, Sorter};
use rusqlite::types::ValueRef;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

const ACTIVITY: &str = "joining the data sets";
/// Maximum number of sorted runs that are open at the same time.
const MERGE_WIDTH: usize = 64;
/// Minimum memory for sorting, in bytes.
const LEAST_MEMORY: usize = 1 << 20;
/// Rows between two checks of the cancel flag and updates of the progress.
const CANCEL_CHECK_EVERY: u64 = 4096;
/// Maximum number of missing keys named in a message.
const MAX_EXAMPLES: usize = 5;
/// Marker for a shard outside of the member's split.
const OTHER_SPLIT: u64 = u64::MAX;

/// Files, memory and options for building the index of a join.
pub struct JoinWork<'a> {
    /// Used to write files.
    pub fs: &'a dyn Fs,
    /// Folder for sorted runs.
    pub scratch: &'a Path,
    /// Memory limit for sorting, in bytes.
    pub memory: usize,
    /// Whether samples of excluded shards are kept, as in the reference program.
    pub compat: bool,
}

/// The counts of a finished join.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JoinCounts {
    /// Samples of the first member.
    pub samples: u64,
    /// Number of rows written.
    pub rows: u64,
    /// Samples omitted because a member with `nonmatch: skip` lacks them.
    pub skipped: u64,
    /// Per member: rows without a sample from it.
    pub filled: Vec<u64>,
    /// Rows without a sample from at least one member.
    pub rows_with_nothing: u64,
    /// Per member: samples that it only has in another split or in an excluded shard.
    pub in_other_splits: Vec<u64>,
    /// Size of the index in bytes.
    pub bytes: u64,
}

/// Writes the index of a join to the new file `path`. Fails if a member with `nonmatch: error` lacks samples (the failure contains their
/// number and names the first ones), or if the join has no rows. Adds one item to the progress per sample read and per row.
pub fn build(plan: &JoinPlan, path: &Path, work: &JoinWork<'_>, handles: &Handles<'_>) -> Outcome<JoinCounts> {
    let around = SortContext {
        fs: work.fs,
        scratch: work.scratch,
        cancel: handles.cancel,
        merge_width: MERGE_WIDTH,
        sort_memory: (work.memory / 2).max(LEAST_MEMORY),
    };
    let mut streams = Vec::with_capacity(plan.inputs.len());
    for (column, input) in plan.inputs.iter().enumerate() {
        let sources = sort_keys(input, column, &around, work.compat, handles)?;
        streams.push(MemberKeys::open(input, &sources)?);
    }
    let mut rows = Rows::create(&around, plan.inputs.len())?;
    let mut matching = JoinMatcher::new(plan);
    matching.run(&mut streams, &mut rows, handles)?;
    drop(streams);
    let mut counts = matching.finish()?;
    write(rows.finish()?, plan, path, &around, handles, &mut counts)?;
    Ok(counts)
}

/// Writes one sorted run of keys, each with the position of the shard, the number in the shard, offset and size.
fn sort_keys(
    input: &JoinInput,
    column: usize,
    around: &SortContext<'_>,
    compat: bool,
    handles: &Handles<'_>,
) -> Outcome<Vec<RunSource>> {
    let database = input.database();
    let failed = |error: &rusqlite::Error| failure(&database, error);
    let connection = open_readonly(&database)?;
    let places: HashMap<u32, u64> = input.order.iter().zip(0u64..).map(|(id, place)| (*id, place)).collect();
    let mut statement = connection
        .prepare("SELECT sample_key, tar_file_id, sample_index, byte_offset, byte_size FROM samples")
        .map_err(|error| failed(&error))?;
    let mut rows = statement.query([]).map_err(|error| failed(&error))?;
    let mut sorter = Sorter::<4>::new(around.sort_memory);
    let name = format!("join-{column}");
    let mut out = SpoolWriter::create(around.fs, around.scratch, name.clone())?;
    let (mut runs, mut count): (Vec<Run>, u64) = (Vec::new(), 0);
    while let Some(row) = rows.next().map_err(|error| failed(&error))? {
        count += 1;
        if count.is_multiple_of(CANCEL_CHECK_EVERY) {
            handles.cancel.check()?;
            handles.progress.add(CANCEL_CHECK_EVERY, 0);
        }
        let Sample { key, id, numbers } = Sample::of(row).map_err(|error| failed(&error))?;
        let is_out = !compat && input.excluded_shards.binary_search(&id).is_ok();
        if input.excluded.binary_search_by(|(shard, known)| (*shard, known.as_bytes()).cmp(&(id, key))).is_ok() {
            continue;
        }
        let place = places.get(&id).copied().filter(|_| !is_out);
        if place.is_none() && column == 0 {
            continue;
        }
        if sorter.is_full_for(key.len()) {
            runs.push(sorter.spill(&mut out)?);
        }
        let [index, offset, size] = numbers;
        sorter.push(key, [place.unwrap_or(OTHER_SPLIT), index, offset, size]);
    }
    handles.progress.add(count % CANCEL_CHECK_EVERY, 0);
    runs.push(sorter.spill(&mut out)?);
    let path = around.scratch.join(out.finish()?.name);
    let sources = runs.into_iter().map(|run| RunSource { path: path.clone(), run, base: 0, temporary: false });
    reduce::<4>(around, sources.collect(), &format!("{name}-merged"))
}

/// One row of `samples`.
struct Sample<'a> {
    key: &'a [u8],
    id: u32,
    numbers: [u64; 3],
}

impl<'a> Sample<'a> {
    fn of(row: &'a rusqlite::Row<'_>) -> rusqlite::Result<Self> {
        let key = match row.get_ref(0)? {
            ValueRef::Text(key) => key,
            other => return Err(rusqlite::Error::InvalidColumnType(0, "sample_key".into(), other.data_type())),
        };
        let number = |column: usize| {
            let value: i64 = row.get(column)?;
            u64::try_from(value).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, value))
        };
        Ok(Self { key, id: row.get(1)?, numbers: [number(2)?, number(3)?, number(4)?] })
    }
}

/// The keys of one member, in order.
struct MemberKeys {
    merge: Merge<4>,
    key: Vec<u8>,
    numbers: [u64; 4],
    is_done: bool,
    is_started: bool,
    label: String,
}

impl MemberKeys {
    fn open(input: &JoinInput, sources: &[RunSource]) -> Outcome<Self> {
        Ok(Self {
            merge: Merge::open(sources)?,
            key: Vec::new(),
            numbers: [0; 4],
            is_done: false,
            is_started: false,
            label: input.label.clone(),
        })
    }

    /// Advances to the next key. Fails if a key occurs twice, because it is unknown which sample must be joined.
    fn advance(&mut self) -> Outcome<()> {
        match self.merge.next_entry()? {
            None => self.is_done = true,
            Some((key, numbers)) => {
                if self.is_started && key == self.key.as_slice() {
                    let key = String::from_utf8_lossy(key).into_owned();
                    return Err(Failure::data(ACTIVITY, "a key occurs twice, so samples cannot be joined by it")
                        .on(Subject::path(&self.label).key(key))
                        .with_hint("prepare that data set again"));
                }
                self.key.clear();
                self.key.extend_from_slice(key);
                self.numbers = numbers;
            }
        }
        self.is_started = true;
        Ok(())
    }

    /// Advances to the first key that is not less than `key`, and returns the stored numbers if it equals `key`.
    fn find(&mut self, key: &[u8]) -> Outcome<Option<[u64; 4]>> {
        if !self.is_started {
            self.advance()?;
        }
        while !self.is_done && self.key.as_slice() < key {
            self.advance()?;
        }
        Ok((!self.is_done && self.key == key).then_some(self.numbers))
    }
}

/// Joined rows, sorted by the shard position and the number in the shard of the first member.
struct Rows<'a> {
    sort_context: &'a SortContext<'a>,
    sorter: Sorter<0>,
    out: SpoolWriter,
    runs: Vec<Run>,
    row: Vec<u8>,
}

impl<'a> Rows<'a> {
    fn create(around: &'a SortContext<'a>, columns: usize) -> Outcome<Self> {
        Ok(Self {
            sort_context: around,
            sorter: Sorter::new(around.sort_memory),
            out: SpoolWriter::create(around.fs, around.scratch, "join-rows".into())?,
            runs: Vec::new(),
            row: Vec::with_capacity(16 + columns * CELL_BYTES),
        })
    }

    fn push(&mut self, place: u64, index: u64, cells: &[Cell]) -> Outcome<()> {
        self.row.clear();
        self.row.extend_from_slice(&place.to_be_bytes());
        self.row.extend_from_slice(&index.to_be_bytes());
        cells.iter().for_each(|cell| self.row.extend_from_slice(&cell.to_bytes()));
        if self.sorter.is_full_for(self.row.len()) {
            self.runs.push(self.sorter.spill(&mut self.out)?);
        }
        self.sorter.push(&self.row, []);
        Ok(())
    }

    fn finish(mut self) -> Outcome<Vec<RunSource>> {
        self.runs.push(self.sorter.spill(&mut self.out)?);
        let path = self.sort_context.scratch.join(self.out.finish()?.name);
        let sources = self.runs.into_iter().map(|run| RunSource { path: path.clone(), run, base: 0, temporary: false });
        reduce::<0>(self.sort_context, sources.collect(), "join-rows-merged")
    }
}

/// Samples of the first member that another member lacks although its `nonmatch` is `error`.
#[derive(Default)]
struct MissingSamples {
    count: u64,
    in_other_splits: u64,
    examples: Vec<String>,
}

struct JoinMatcher<'a> {
    plan: &'a JoinPlan,
    counts: JoinCounts,
    missing: Vec<MissingSamples>,
    cells: Vec<Cell>,
}

impl<'a> JoinMatcher<'a> {
    fn new(plan: &'a JoinPlan) -> Self {
        let columns = plan.inputs.len();
        let counts =
            JoinCounts { filled: vec![0; columns], in_other_splits: vec![0; columns], ..JoinCounts::default() };
        let missing = (0..columns).map(|_| MissingSamples::default()).collect();
        Self { plan, counts, missing, cells: Vec::with_capacity(columns) }
    }

    fn run(&mut self, streams: &mut [MemberKeys], rows: &mut Rows<'_>, handles: &Handles<'_>) -> Outcome<()> {
        let Some((primary, others)) = streams.split_first_mut() else { return Ok(()) };
        primary.advance()?;
        while !primary.is_done {
            self.counts.samples += 1;
            if self.counts.samples.is_multiple_of(CANCEL_CHECK_EVERY) {
                handles.cancel.check()?;
                handles.progress.add(CANCEL_CHECK_EVERY, 0);
            }
            let [place, index, ..] = primary.numbers;
            if self.row(&primary.key, primary.numbers, others)? {
                self.counts.rows += 1;
                self.counts.rows_with_nothing += u64::from(self.cells.contains(&Cell::NOTHING));
                rows.push(place, index, &self.cells)?;
            }
            primary.advance()?;
        }
        handles.progress.add(self.counts.samples % CANCEL_CHECK_EVERY, 0);
        Ok(())
    }

    /// Sets `cells` to the row of a sample. Returns `false` if the sample is omitted or cannot be joined.
    fn row(&mut self, key: &[u8], numbers: [u64; 4], others: &mut [MemberKeys]) -> Outcome<bool> {
        self.cells.clear();
        self.cells.push(cell(numbers));
        let mut lacking = Vec::new();
        let mut is_skipped = false;
        for ((column, other), input) in (1..).zip(others).zip(self.plan.inputs.iter().skip(1)) {
            let found = other.find(key)?;
            let here = found.filter(|numbers| numbers[0] != OTHER_SPLIT);
            self.cells.push(here.map_or(Cell::NOTHING, cell));
            if here.is_none() {
                is_skipped |= input.nonmatch == Nonmatch::Skip;
                lacking.push((column, input.nonmatch, found.is_some()));
            }
        }
        if is_skipped {
            self.counts.skipped += 1;
        }
        let mut is_whole = true;
        for (column, nonmatch, is_elsewhere) in lacking {
            let column: usize = column;
            increment_if(&mut self.counts.in_other_splits, column, is_elsewhere);
            match nonmatch {
                // A sample that is omitted because of another member does not count as missing.
                _ if is_skipped => {}
                Nonmatch::None => increment_if(&mut self.counts.filled, column, true),
                Nonmatch::Skip => {}
                Nonmatch::Error => {
                    is_whole = false;
                    if let Some(missing) = self.missing.get_mut(column) {
                        missing.count += 1;
                        missing.in_other_splits += u64::from(is_elsewhere);
                        if missing.examples.len() < MAX_EXAMPLES {
                            missing.examples.push(String::from_utf8_lossy(key).into_owned());
                        }
                    }
                }
            }
        }
        Ok(is_whole && !is_skipped)
    }

    fn finish(self) -> Outcome<JoinCounts> {
        let Self { plan, counts, missing, .. } = self;
        let first = missing.iter().zip(&plan.inputs).find(|(missing, _)| missing.count > 0);
        if let Some((missing, input)) = first {
            return Err(lacks(plan, input, missing, counts.samples));
        }
        if counts.rows == 0 {
            return Err(Failure::data(
                ACTIVITY,
                "they have no sample in common, and the loader cannot read a join without rows",
            )
            .on(subject(plan))
            .with_hint("samples are joined by their whole key; `gristmill info` shows what the members hold"));
        }
        Ok(counts)
    }
}

fn increment_if(counts: &mut [u64], column: usize, is_one: bool) {
    if let Some(count) = counts.get_mut(column) {
        *count += u64::from(is_one);
    }
}

fn cell([place, _, offset, size]: [u64; 4]) -> Cell {
    // Positions are below 2³², and offsets and sizes were converted from signed numbers.
    Cell { shard: place as i64, byte_offset: offset as i64, byte_size: size as i64 }
}

fn subject(plan: &JoinPlan) -> Subject {
    Subject::path(&plan.shown).line(plan.at.line.into()).column(plan.at.column.into())
}

fn lacks(plan: &JoinPlan, input: &JoinInput, missing: &MissingSamples, samples: u64) -> Failure {
    let keys: Vec<String> = missing.examples.iter().map(|key| format!("'{key}'")).collect();
    let first = plan.inputs.first().map_or("", |input| input.label.as_str());
    let more = if missing.count > keys.len() as u64 { ", …" } else { "" };
    let elsewhere = match missing.in_other_splits {
        0 => String::new(),
        n if n == missing.count => "; it has them, but in another split or an excluded shard".to_owned(),
        n => format!("; {n} of them it has in another split or an excluded shard"),
    };
    let why = format!(
        "'{}' lacks {} of the {} of '{first}': {}{more}{elsewhere}",
        input.label,
        missing.count,
        gristmill_core::text::count(samples, "sample"),
        keys.join(", ")
    );
    Failure::data(ACTIVITY, why)
        .on(subject(plan))
        .with_hint("nonmatch: skip at that member leaves such samples out, nonmatch: none joins them with nothing")
}

/// Writes the rows to the file, in order.
fn write(
    sources: Vec<RunSource>,
    plan: &JoinPlan,
    path: &Path,
    around: &SortContext<'_>,
    handles: &Handles<'_>,
    counts: &mut JoinCounts,
) -> Outcome<()> {
    let columns = plan.inputs.len();
    let mut writer = JoinIdxWriter::new(around.fs.create_file(path)?, columns)?;
    let mut merge = Merge::<0>::open(&sources)?;
    let mut rows = 0u64;
    while let Some((row, [])) = merge.next_entry()? {
        rows += 1;
        if rows.is_multiple_of(CANCEL_CHECK_EVERY) {
            handles.cancel.check()?;
            handles.progress.add(CANCEL_CHECK_EVERY, 0);
        }
        writer.push(row.get(16..).unwrap_or_default())?;
    }
    handles.progress.add(rows % CANCEL_CHECK_EVERY, 0);
    counts.bytes = writer.finish()?;
    drop(merge);
    let used: Vec<PathBuf> = sources.into_iter().map(|source| source.path).collect();
    for path in used {
        around.fs.remove_file(&path)?;
    }
    Ok(())
}

/// Returns the number of rows that are read and written, which is the total of the progress.
pub fn steps(plan: &JoinPlan) -> u64 {
    let samples = |input: &JoinInput| input.samples.unwrap_or(0);
    let all: u64 = plan.inputs.iter().map(samples).sum();
    all + 2 * plan.inputs.first().map_or(0, samples)
}

#[cfg(test)]
#[path = "join_tests.rs"]
mod tests;
