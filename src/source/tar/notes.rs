//! Findings of one shard that are folded by kind: one message with a count and the first place.

use crate::model::text::count;
use crate::model::{Outcome, Problem, ProblemKind, ProblemSink, Severity, Subject};
use std::collections::BTreeMap;

struct Fold {
    number: u64,
    first_name: String,
    first_offset: u64,
    why: &'static str,
}

/// What was counted so far.
#[derive(Default)]
pub(super) struct Notes(BTreeMap<ProblemKind, Fold>);

impl Notes {
    /// Counts one entry; the first of its kind is remembered.
    pub(super) fn count(&mut self, kind: ProblemKind, name: &[u8], byte_offset: u64, why: &'static str) {
        self.0.entry(kind).and_modify(|fold| fold.number += 1).or_insert_with(|| Fold {
            number: 1,
            first_name: printable(name),
            first_offset: byte_offset,
            why,
        });
    }

    /// Reports one problem per kind.
    pub(super) fn report(&self, shard: &str, problems: &dyn ProblemSink) -> Outcome<()> {
        for (&kind, fold) in &self.0 {
            let subject = Subject::shard(shard).key(&fold.first_name).at(fold.first_offset);
            let mut problem = Problem::note(kind, subject, message(kind, fold));
            if matches!(kind, ProblemKind::EntryNameNotUtf8 | ProblemKind::BadExtendedHeader) {
                problem.severity = Severity::Problem;
            }
            problems.report(problem)?;
        }
        Ok(())
    }
}

fn message(kind: ProblemKind, fold: &Fold) -> String {
    let number = fold.number;
    let entries = match number {
        1 => "1 entry".to_owned(),
        n => format!("{} entries", crate::model::text::grouped(n)),
    };
    let first = if number == 1 { "" } else { "; this is the first" };
    match kind {
        ProblemKind::UnnamedEntry => format!("{entries} without a part name skipped{first}"),
        ProblemKind::ReservedName => format!("{entries} with a reserved name (__…__) skipped{first}"),
        ProblemKind::SkippedEntryType => {
            format!("{entries} for folders, links or devices skipped{first}")
        }
        ProblemKind::RepeatedPart => {
            format!("{} more than once in a sample; the loader keeps the last{first}", count(number, "part"))
        }
        ProblemKind::EntryNameNotUtf8 => {
            format!("{} not UTF-8: {}{first}", count(number, "name"), fold.why)
        }
        _ => format!("{entries} with an extended header that cannot be understood: {}{first}", fold.why),
    }
}

/// A name from an archive as text; bytes that are not UTF-8 become `\xNN`.
pub(super) fn printable(name: &[u8]) -> String {
    match std::str::from_utf8(name) {
        Ok(text) => text.to_owned(),
        Err(_) => crate::model::text::display_safe_bytes(name),
    }
}
