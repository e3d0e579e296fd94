//! A run in progress, as all stages use it: the decisions made before the text is read, and the journal.

use super::budget::Budget;
use super::inputs::Inputs;
use super::layout::Layout;
use super::split::{Division, Memory};
use crate::job::journal::{DoneUnit, Journal, SpoolDigest};
use crate::job::task::TaskContext;
use gristmill_core::{DedupPlan, Failure, FileStamp, Outcome};
use gristmill_dedup::Rule;
use gristmill_storage::kept::ReadCache;
use serde::de::DeserializeOwned;
use serde::Serialize;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_128;

/// Version of the choice of anchors. Must be increased when the choice changes, because records of different versions cannot be combined.
const ANCHOR_VERSION: u32 = 2;
/// Placeholder: units in the journal are identified by name, and the state of their inputs is part of the key of the journal.
const NO_STAMP: FileStamp = FileStamp { bytes: 0, modified_ns: 0, inode: 0 };

/// Everything that is decided before the text is read.
pub(super) struct Job<'a> {
    pub(super) context: &'a TaskContext,
    pub(super) plan: &'a DedupPlan,
    pub(super) layout: &'a Layout,
    pub(super) inputs: &'a Inputs,
    pub(super) rule: Rule,
    pub(super) memory: Memory,
    pub(super) division: Division,
    pub(super) budget: Arc<Budget>,
    /// Memory for the cache of match results for text on scratch, in bytes.
    pub(super) match_cache_bytes: u64,
    pub(super) journal: Journal,
    /// Cache of objects that were read from stores; removed at the end of the run.
    pub(super) _kept: ReadCache,
}

impl Job<'_> {
    /// Returns the results that a stopped run recorded for a unit.
    pub(super) fn recorded_unit<T: DeserializeOwned>(&self, unit: &str) -> Option<T> {
        recorded_unit(&self.journal, unit)
    }

    /// Records a unit as done, with its results.
    pub(super) fn note(&self, unit: &str, notes: &impl Serialize) -> Outcome<()> {
        note(&self.journal, unit, notes)
    }
}

pub(super) fn recorded_unit<T: DeserializeOwned>(journal: &Journal, unit: &str) -> Option<T> {
    let done = journal.finished(unit, &NO_STAMP)?;
    serde_json::from_str(&done.notes).ok()
}

pub(super) fn note(journal: &Journal, unit: &str, notes: &impl Serialize) -> Outcome<()> {
    let notes = serde_json::to_string(notes).map_err(|error| Failure::environment("the journal", error.to_string()))?;
    journal.record(&DoneUnit { unit: unit.to_owned(), input: NO_STAMP, spool: SpoolDigest::default(), notes })
}

/// Returns the key of the journal: the plan and the state of the files.
pub(super) fn journal_key(hash: &str, inputs: &Inputs) -> String {
    format!("{:032x}", xxh3_128(format!("{ANCHOR_VERSION} {hash} {}", inputs.fingerprint()).as_bytes()))
}
