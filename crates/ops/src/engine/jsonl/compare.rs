//! Compares the index on disk with the expected index of the file.

use gristmill_core::text::{count, grouped};
use gristmill_core::{Failure, Outcome, Problem, ProblemKind, ProblemSink, Subject};
use gristmill_data::formats::energon::jsonl_idx::WORD_BYTES;
use gristmill_storage::read::ReadFile;
use std::path::PathBuf;

/// Compares an index piece by piece.
pub struct IndexCompare {
    index: ReadFile,
    path: PathBuf,
    at: u64,
    differing: u64,
    /// The first difference: number of the value, value found, and value expected.
    first: Option<(u64, u64, u64)>,
    found: Vec<u8>,
}

impl IndexCompare {
    /// Creates a comparison that has not read anything yet.
    pub fn new(index: ReadFile) -> Self {
        let path = index.path().to_path_buf();
        Self { index, path, at: 0, differing: 0, first: None, found: Vec::new() }
    }

    /// Compares the next expected bytes, which must be whole values.
    pub fn compare_next(&mut self, wanted: &[u8]) -> Outcome<()> {
        let left = usize::try_from(self.index.len().saturating_sub(self.at)).unwrap_or(usize::MAX);
        self.found.resize(wanted.len().min(left), 0);
        self.index
            .read_exact_at(&mut self.found, self.at)
            .map_err(|error| Failure::io("reading the index", &self.path, &error))?;
        if self.found != wanted.get(..self.found.len()).unwrap_or_default() {
            let values = self.found.chunks_exact(WORD_BYTES).zip(wanted.chunks_exact(WORD_BYTES)).enumerate();
            for (number, (found, wanted)) in values.filter(|(_, (found, wanted))| found != wanted) {
                self.differing += 1;
                let place = self.at / WORD_BYTES as u64 + number as u64;
                self.first.get_or_insert((place, value(found), value(wanted)));
            }
        }
        self.at += wanted.len() as u64;
        Ok(())
    }

    /// Reports the differences. The last value must be the file's size.
    pub fn report_differences(&self, problems: &dyn ProblemSink) -> Outcome<()> {
        let (has, wanted) = (self.index.len(), self.at);
        let report = |message: String| {
            let problem = Problem::problem(ProblemKind::IndexMismatch, Subject::path(&self.path), message);
            problems.report(problem.with_hint("gristmill prepare makes the index again"))
        };
        if has % WORD_BYTES as u64 != 0 {
            report(format!("its length of {} is not a multiple of {WORD_BYTES}", count(has, "byte")))?;
        } else if has != wanted {
            let (ours, theirs) = (samples(has), samples(wanted));
            report(format!("it lists {}, and the file holds {}", count(ours, "sample"), grouped(theirs)))?;
        }
        if let Some((number, found, wanted)) = self.first {
            let more = match self.differing {
                1 => String::new(),
                many => format!("; {} differ in all", count(many, "value")),
            };
            let of = if number + 1 == self.at / WORD_BYTES as u64 {
                "the size of the file".to_owned()
            } else {
                format!("the place of sample {number}")
            };
            report(format!("value {number}, {of}, is {found} and should be {wanted}{more}"))?;
        }
        Ok(())
    }
}

fn samples(bytes: u64) -> u64 {
    (bytes / WORD_BYTES as u64).saturating_sub(1)
}

fn value(bytes: &[u8]) -> u64 {
    bytes.try_into().map(u64::from_le_bytes).unwrap_or(0)
}
