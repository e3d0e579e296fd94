//! The records of names and contents that a worker collects.

use super::names;
use gristmill_core::{Mutex, Outcome};
use gristmill_storage::fs::Fs;
use gristmill_storage::sort::bytes::SpoolWriter;
use gristmill_storage::sort::{Run, RunSource, Sorter};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Maximum number of distinct part names; further names are missing in the report.
const PART_NAMES: usize = 4_096;
/// Number of numeric fields of a content record: split, shard, sample, part, tag of the whole sample.
const CONTENT: usize = 5;
/// Number of numeric fields of a name record: split, shard, sample.
const NAME: usize = 3;

/// Part names by number, counted from 1.
#[derive(Default)]
pub(super) struct PartNames(Mutex<(Vec<String>, HashMap<String, u64>)>);

impl PartNames {
    fn number(&self, name: &str) -> u64 {
        let mut guard = self.0.lock();
        let (names, numbers) = &mut *guard;
        if let Some(&number) = numbers.get(name) {
            return number;
        }
        if names.len() >= PART_NAMES {
            return PART_NAMES as u64 + 1;
        }
        names.push(name.to_owned());
        numbers.insert(name.to_owned(), names.len() as u64);
        names.len() as u64
    }
    pub(super) fn name(&self, number: u64) -> Option<String> {
        let guard = self.0.lock();
        guard.0.get(usize::try_from(number).ok()?.checked_sub(1)?).cloned()
    }
}

/// The records of one worker, sorted in memory and, beyond its limit, in runs on disk. Reused for one shard after another.
pub struct RecordBuffer {
    fs: Arc<dyn Fs>,
    dir: PathBuf,
    number: usize,
    names: SplitSide<NAME>,
    contents: SplitSide<CONTENT>,
    part_names: Arc<PartNames>,
    /// Numbers of part names that this worker has found.
    known_parts: HashMap<String, u64>,
    text: Vec<u8>,
    is_broken: bool,
}

struct SplitSide<const N: usize> {
    sorter: Sorter<N>,
    out: Option<SpoolWriter>,
    runs: Vec<Run>,
    records: u64,
}

impl<const N: usize> SplitSide<N> {
    fn new(memory: usize) -> Self {
        Self { sorter: Sorter::new(memory), out: None, runs: Vec::new(), records: 0 }
    }

    fn push(&mut self, text: &[u8], numbers: [u64; N], at: (&dyn Fs, &Path, String)) -> Outcome<()> {
        if self.sorter.is_full_for(text.len()) {
            self.spill(at)?;
        }
        self.sorter.push(text, numbers);
        self.records += 1;
        Ok(())
    }

    fn spill(&mut self, (fs, dir, name): (&dyn Fs, &Path, String)) -> Outcome<()> {
        let out = match &mut self.out {
            Some(out) => out,
            none => none.insert(SpoolWriter::create(fs, dir, name)?),
        };
        self.runs.push(self.sorter.spill(out)?);
        Ok(())
    }

    /// Writes the records that are in memory, and returns all runs.
    fn finish(mut self, at: (&dyn Fs, &Path, String)) -> Outcome<Vec<RunSource>> {
        if self.records == 0 {
            return Ok(Vec::new());
        }
        let dir = at.1.to_path_buf();
        self.spill(at)?;
        let Some(out) = self.out else { return Ok(Vec::new()) };
        let file = out.finish()?;
        let path = dir.join(file.name);
        let last = self.runs.len().saturating_sub(1);
        // The file of all runs is removed after the last of them was merged.
        let source = |(n, run)| RunSource { path: path.clone(), run, base: 0, temporary: n == last };
        Ok(self.runs.into_iter().enumerate().map(source).collect())
    }
}

impl RecordBuffer {
    /// Returns an empty buffer for the worker with this number. `memory` limits the records that are sorted at a time, in bytes.
    pub(super) fn new(fs: Arc<dyn Fs>, dir: &Path, number: usize, memory: usize, part_names: Arc<PartNames>) -> Self {
        Self {
            fs,
            dir: dir.to_path_buf(),
            number,
            names: SplitSide::new(memory / 3),
            contents: SplitSide::new(memory / 3 * 2),
            part_names,
            known_parts: HashMap::new(),
            text: Vec::new(),
            is_broken: false,
        }
    }

    /// Returns the number of the worker.
    pub fn number(&self) -> usize {
        self.number
    }

    pub(super) fn push_name(&mut self, key: &str, numbers: [u64; NAME]) -> Outcome<()> {
        names::record(key, &mut self.text);
        let text = std::mem::take(&mut self.text);
        let at = (&*self.fs, self.dir.as_path(), format!("names-{}", self.number));
        let pushed = self.names.push(&text, numbers, at);
        self.text = text;
        self.is_broken |= pushed.is_err();
        pushed
    }

    pub(super) fn push_content(&mut self, hash: &[u8], numbers: [u64; CONTENT]) -> Outcome<()> {
        let at = (&*self.fs, self.dir.as_path(), format!("contents-{}", self.number));
        let pushed = self.contents.push(hash, numbers, at);
        self.is_broken |= pushed.is_err();
        pushed
    }

    pub(super) fn part_number(&mut self, name: &str) -> u64 {
        if let Some(&number) = self.known_parts.get(name) {
            return number;
        }
        let number = self.part_names.number(name);
        if self.known_parts.len() < PART_NAMES {
            self.known_parts.insert(name.to_owned(), number);
        }
        number
    }
    /// Whether writing the files of the buffer has failed.
    pub(super) fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Returns the number of records.
    pub(super) fn records(&self) -> u64 {
        self.names.records + self.contents.records
    }

    /// Writes the records that are in memory, and returns the runs of names and those of contents.
    pub(super) fn finish(self, fs: &dyn Fs, scratch: &Path) -> Outcome<(Vec<RunSource>, Vec<RunSource>)> {
        let names = self.names.finish((fs, scratch, format!("names-{}", self.number)))?;
        Ok((names, self.contents.finish((fs, scratch, format!("contents-{}", self.number)))?))
    }
}
