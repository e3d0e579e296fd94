//! The progress of a run: written at block boundaries, and read by a resumed run.
//!
//! The file and its lines have the format of the journals of other jobs: a checksum and a JSON object per line, of which the first
//! identifies the plan. The records are different: each contains the changes since the previous one.

use super::super::format::LengthChange;
use super::super::spool::Mark;
use crate::job::journal::{checked, line, Header};
use crate::tokens::encode::SpecialTokenCounts;
use gristmill_core::{Outcome, Problem, ProblemKind, Severity};
use gristmill_storage::fs::{Fs, WriteFile, PRIVATE_FILE};
use gristmill_storage::publish::write_file;
use gristmill_storage::read::read_whole;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// Maximum size of a journal that is read, in bytes.
const MAX_JOURNAL_BYTES: u64 = 1 << 30;
/// Minimum interval between syncs of the journal.
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// The position from which a run resumes. All blocks before it are in the spools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ResumePosition {
    /// Index of the pass over the text.
    pub(super) pass: usize,
    /// Index of the file in the pass.
    pub(super) file: usize,
    /// Number of bytes of the file's uncompressed text before the position.
    pub(super) offset: u64,
    /// Number of lines before the position; with an index, number of its entries.
    pub(super) line: u64,
    /// Number of bytes of the file on disk that were read before the position.
    #[serde(default)]
    pub(super) consumed: u64,
}

/// Counts of a run up to a record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Totals {
    pub(super) documents: u64,
    pub(super) tokens: u64,
    pub(super) bytes: u64,
    /// The counts for each spec.
    pub(super) targets: Vec<TargetTotals>,
    /// Keys of the first line without a text.
    pub(super) keys: Vec<String>,
    /// Documents with special tokens in their texts.
    #[serde(default)]
    pub(super) special: SpecialTokenCounts,
    /// The first file that contains a document with special tokens in its text.
    #[serde(default)]
    pub(super) special_file: String,
}

/// Counts for a spec: documents with text, and the tokens of their texts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TargetTotals {
    pub(super) documents: u64,
    pub(super) tokens: u64,
    /// Number of written tokens; counted only if the plan limits the tokens.
    #[serde(default, skip_serializing_if = "crate::job::is_zero")]
    pub(super) written: u64,
    /// Documents that are truncated.
    #[serde(default)]
    pub(super) truncated: LengthChange,
    /// Documents that are padded while texts are packed.
    #[serde(default)]
    pub(super) padded: LengthChange,
    /// Reason, whether it is by design, and number of documents.
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

/// A record of the journal. Applying all records in order yields the complete state.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) place: ResumePosition,
    /// The marks of the spools that grew, by `FORMAT/SPOOL`.
    pub(super) marks: BTreeMap<String, Mark>,
    /// The complete totals.
    pub(super) totals: Totals,
    /// The state of the writer of each format.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) states: BTreeMap<String, Value>,
    /// Problems found since the previous record.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) problems: Vec<Problem>,
    /// Problems since the previous record that are only counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) more: Vec<(Severity, ProblemKind, u64)>,
}

impl Record {
    fn merge_later(&mut self, later: Self) {
        self.place = later.place;
        self.marks.extend(later.marks);
        self.totals = later.totals;
        self.states.extend(later.states);
        self.problems.extend(later.problems);
        self.more.extend(later.more);
    }
}

/// The identity of the inputs of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RunInputs {
    /// Hash of the state of all inputs.
    pub(super) inputs: String,
    /// The reason why the reference tokenizer is used; `None` while the fast tokenizer is used.
    pub(super) reference: Option<String>,
}

/// The journal of an active run.
pub(super) struct Journal {
    file: Box<dyn WriteFile>,
    synced: Instant,
}

impl Journal {
    /// Opens the journal and returns the records of a stopped run of this plan on these inputs. Creates a new journal if there is no such
    /// run.
    pub(super) fn open(
        fs: &dyn Fs,
        path: &Path,
        plan: &str,
        inputs: &str,
    ) -> Outcome<(Self, RunInputs, Option<Record>)> {
        let bytes = read_whole(path, MAX_JOURNAL_BYTES)?.unwrap_or_default();
        match read(&bytes, plan).filter(|(begin, _)| begin.inputs == inputs) {
            Some((begin, record)) => {
                // Rewrites the journal as one record, because a truncated line would make all later lines unreadable.
                let mut whole = line(&Header::of(plan))?;
                whole.extend(line(&begin)?);
                if let Some(record) = &record {
                    whole.extend(line(record)?);
                }
                write_file(fs, path, &whole, PRIVATE_FILE)?;
                Ok((Self { file: fs.append_file(path)?, synced: Instant::now() }, begin, record))
            }
            None => {
                let begin = RunInputs { inputs: inputs.to_owned(), reference: None };
                Ok((Self::create(fs, path, plan, &begin)?, begin, None))
            }
        }
    }

    /// Creates a new journal, replacing an existing one.
    pub(super) fn create(fs: &dyn Fs, path: &Path, plan: &str, begin: &RunInputs) -> Outcome<Self> {
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

    /// Returns how many bytes of text a stopped run of this plan has packed. Does not change the journal.
    pub(super) fn bytes_done(path: &Path, plan: &str) -> Outcome<u64> {
        let bytes = read_whole(path, MAX_JOURNAL_BYTES)?.unwrap_or_default();
        let record = read(&bytes, plan).and_then(|(_, record)| record);
        Ok(record.map_or(0, |record| record.totals.bytes))
    }

    /// Appends a record. It survives a kill of the process. Losses after a power failure are detected by the marks.
    pub(super) fn record(&mut self, record: &Record) -> Outcome<()> {
        self.file.write_all(&line(record)?)?;
        if self.synced.elapsed() >= SYNC_EVERY {
            self.file.sync()?;
            self.synced = Instant::now();
        }
        Ok(())
    }
}

/// Returns the state in a journal; `None` if the journal belongs to another plan or has another format.
fn read(bytes: &[u8], plan: &str) -> Option<(RunInputs, Option<Record>)> {
    let mut lines = bytes.split(|byte| *byte == b'\n').map_while(checked);
    let header: Header = serde_json::from_slice(lines.next()?).ok()?;
    if header != Header::of(plan) {
        return None;
    }
    let begin: RunInputs = serde_json::from_slice(lines.next()?).ok()?;
    let mut all: Option<Record> = None;
    for json in lines {
        // Records only contain changes, so none can be used after an unreadable one.
        let Ok(record) = serde_json::from_slice::<Record>(json) else { break };
        match &mut all {
            Some(all) => all.merge_later(record),
            None => all = Some(record),
        }
    }
    Some((begin, all))
}
