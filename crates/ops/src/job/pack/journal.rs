//! How far a run is: written at borders of pieces, read by the run that goes on.
//!
//! The same file and the same kind of line as the journal of other jobs (a checksum and a JSON object, the first line says which plan),
//! with records of its own: each says what changed since the one before.

use super::spool::Mark;
use crate::engine::pack::SpecialTokenCounts;
use crate::job::journal::{checked, line, Header};
use gristmill_core::{Outcome, Problem, ProblemKind, Severity};
use gristmill_storage::fs::{Fs, WriteFile, PRIVATE_FILE};
use gristmill_storage::publish::write_file;
use gristmill_storage::read::read_whole;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// The largest journal that is read back, in bytes.
const MAX_JOURNAL_BYTES: u64 = 1 << 30;
/// How often the journal is made durable at most.
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// The place from which a run goes on: pieces before it are in the spools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ResumePosition {
    /// Which pass over the text.
    pub(super) pass: usize,
    /// Which of its files.
    pub(super) file: usize,
    /// Bytes of its unpacked text before it.
    pub(super) offset: u64,
    /// Lines before it; with an index, its items.
    pub(super) line: u64,
}

/// What was counted so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Totals {
    pub(super) documents: u64,
    pub(super) tokens: u64,
    pub(super) bytes: u64,
    /// One for each recipe.
    pub(super) targets: Vec<TargetTotals>,
    /// Forager: tokens behind the last whole sample.
    pub(super) dropped_samples: u64,
    /// Keys of the first line whose text was missing.
    pub(super) keys: Vec<String>,
    /// Documents with special tokens in their texts.
    #[serde(default)]
    pub(super) special: SpecialTokenCounts,
    /// The file with the first of them.
    #[serde(default)]
    pub(super) special_file: String,
}

/// Documents whose length the tokenizer file changes, and the tokens by which it does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LengthChange {
    pub(super) documents: u64,
    pub(super) tokens: u64,
}

impl LengthChange {
    /// Adds documents by the number of tokens that each lost or got.
    pub(super) fn add(&mut self, tokens: &[u64]) {
        self.documents += tokens.iter().filter(|tokens| **tokens > 0).count() as u64;
        self.tokens += tokens.iter().sum::<u64>();
    }
}

/// What was counted for a recipe: documents with text, and the tokens of their texts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TargetTotals {
    pub(super) documents: u64,
    pub(super) tokens: u64,
    /// Documents that are truncated.
    #[serde(default)]
    pub(super) truncated: LengthChange,
    /// Documents that are padded as they are packed.
    #[serde(default)]
    pub(super) padded: LengthChange,
    /// Reason, whether by design, how many.
    pub(super) skipped: Vec<(String, bool, u64)>,
}

impl TargetTotals {
    pub(super) fn skip(&mut self, reason: &str, is_by_design: bool, documents: u64) {
        let same = |known: &&mut (String, bool, u64)| known.0 == reason && known.1 == is_by_design;
        match self.skipped.iter_mut().find(same) {
            Some(known) => known.2 += documents,
            None => self.skipped.push((reason.to_owned(), is_by_design, documents)),
        }
    }
}

/// What a task of Nanosets has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct TaskCounts {
    /// Usable documents, left out or not by `skip` and `limit`.
    pub(super) usable: u64,
    /// Characters of the documents that were packed.
    pub(super) chars: Spread,
    /// Files that were begun.
    pub(super) files: u64,
    /// Documents of each file that was ended.
    pub(super) documents: Spread,
    /// Documents of the file at work.
    pub(super) in_file: u64,
}

/// Figures of many values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Spread {
    pub(super) count: u64,
    pub(super) total: u64,
    pub(super) least: u64,
    pub(super) most: u64,
    pub(super) squares: f64,
}

impl Spread {
    pub(super) fn add(&mut self, value: u64) {
        self.least = if self.count == 0 { value } else { self.least.min(value) };
        self.most = self.most.max(value);
        self.count += 1;
        self.total += value;
        self.squares += (value as f64) * (value as f64);
    }
}

/// A record: the whole state is all of them, one laid over the other.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) place: ResumePosition,
    /// Spools that grew.
    pub(super) marks: BTreeMap<String, Mark>,
    /// All of it.
    pub(super) totals: Totals,
    /// Tasks that went on.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) tasks: BTreeMap<u32, TaskCounts>,
    /// Found since the record before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) problems: Vec<Problem>,
    /// Only counted, since the record before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) more: Vec<(Severity, ProblemKind, u64)>,
}

impl Record {
    fn lay_over(&mut self, later: Self) {
        self.place = later.place;
        self.marks.extend(later.marks);
        self.totals = later.totals;
        self.tasks.extend(later.tasks);
        self.problems.extend(later.problems);
        self.more.extend(later.more);
    }
}

/// What a run works on, beside its plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Begin {
    /// Fingerprint of all inputs as they were.
    pub(super) inputs: String,
    /// Why the reference tokenizer is used.
    pub(super) reference: Option<String>,
}

/// The journal of a run at work.
pub(super) struct Journal {
    file: Box<dyn WriteFile>,
    synced: Instant,
}

impl Journal {
    /// What a stopped run of this plan on these inputs left, and the journal to go on in; without one, a new journal and nothing.
    pub(super) fn open(fs: &dyn Fs, path: &Path, plan: &str, inputs: &str) -> Outcome<(Self, Begin, Option<Record>)> {
        let bytes = read_whole(path, MAX_JOURNAL_BYTES)?.unwrap_or_default();
        match read(&bytes, plan).filter(|(begin, _)| begin.inputs == inputs) {
            Some((begin, record)) => {
                // Written anew as one record: a line that was cut would stand in the way of all that come behind it.
                let mut whole = line(&Header::of(plan))?;
                whole.extend(line(&begin)?);
                if let Some(record) = &record {
                    whole.extend(line(record)?);
                }
                write_file(fs, path, &whole, PRIVATE_FILE)?;
                Ok((Self { file: fs.append_file(path)?, synced: Instant::now() }, begin, record))
            }
            None => {
                let begin = Begin { inputs: inputs.to_owned(), reference: None };
                Ok((Self::create(fs, path, plan, &begin)?, begin, None))
            }
        }
    }

    /// A new one in the place of whatever is there.
    pub(super) fn create(fs: &dyn Fs, path: &Path, plan: &str, begin: &Begin) -> Outcome<Self> {
        fs.remove_file(path)?;
        let mut file = fs.create_file(path)?;
        let mut head = line(&Header::of(plan))?;
        head.extend(line(begin)?);
        file.write_all(&head)?;
        file.sync()?;
        if let Some(folder) = path.parent() {
            fs.sync_dir(folder)?;
        }
        Ok(Self { file, synced: Instant::now() })
    }

    /// Bytes of text that a stopped run of this plan has done; nothing is changed.
    pub(super) fn peek(path: &Path, plan: &str) -> Outcome<u64> {
        let bytes = read_whole(path, MAX_JOURNAL_BYTES)?.unwrap_or_default();
        let record = read(&bytes, plan).and_then(|(_, record)| record);
        Ok(record.map_or(0, |record| record.totals.bytes))
    }

    /// Adds a record. It survives a kill at once; what a power cut takes is found out by the marks.
    pub(super) fn record(&mut self, record: &Record) -> Outcome<()> {
        self.file.write_all(&line(record)?)?;
        if self.synced.elapsed() >= SYNC_EVERY {
            self.file.sync()?;
            self.synced = Instant::now();
        }
        Ok(())
    }
}

/// `None` when the journal belongs to something else.
fn read(bytes: &[u8], plan: &str) -> Option<(Begin, Option<Record>)> {
    let mut lines = bytes.split(|byte| *byte == b'\n').map_while(checked);
    let header: Header = serde_json::from_slice(lines.next()?).ok()?;
    if header != Header::of(plan) {
        return None;
    }
    let begin: Begin = serde_json::from_slice(lines.next()?).ok()?;
    let mut all: Option<Record> = None;
    for json in lines {
        // A record that cannot be read ends what can be relied on: those behind it say only what changed since.
        let Ok(record) = serde_json::from_slice::<Record>(json) else { break };
        match &mut all {
            Some(all) => all.lay_over(record),
            None => all = Some(record),
        }
    }
    Some((begin, all))
}
