//! Findings in one shard, combined by kind: one message with a count, the first names, and the first offset.

use super::walk::MAX_NAME;
use gristmill_core::text::{agree, count, count_verb};
use gristmill_core::{Outcome, Problem, ProblemKind, ProblemSink, Severity, Subject};
use std::collections::BTreeMap;

/// Maximum number of names in one message.
const MAX_NAMES: usize = 3;

/// Why an entry with a longer name is no part.
pub(super) const TOO_LONG: &str = "its name has more than 4,096 bytes";

/// What an overlong name means for its sample.
pub(super) const HAS_LONG_KEY: &str = "the key is too long";
pub(super) const LACKS_PART: &str = "a part is missing";

/// Text that is appended to the message about sparse entries whose stored size is in a pax record.
pub const MISREAD_BY_PYTHON: &str =
    "; Python's tarfile misreads entries whose stored size is in a pax record, and may read nothing after them";

struct FoldedFindings {
    number: u64,
    /// The first names, at most [`MAX_NAMES`].
    names: Vec<String>,
    first_offset: u64,
    why: &'static str,
}

/// Findings by kind; overlong names also by what they mean.
#[derive(Default)]
pub(super) struct Notes(BTreeMap<(ProblemKind, &'static str), FoldedFindings>);

impl Notes {
    /// Counts one finding; the names of the first ones of each kind are stored.
    pub(super) fn count(&mut self, kind: ProblemKind, name: &[u8], byte_offset: u64, why: &'static str) {
        let new = || FoldedFindings { number: 0, names: Vec::new(), first_offset: byte_offset, why };
        let meaning = if kind == ProblemKind::BadName { why } else { "" };
        let fold = self.0.entry((kind, meaning)).or_insert_with(new);
        fold.number += 1;
        if fold.why.is_empty() {
            fold.why = why;
        }
        if fold.names.len() < MAX_NAMES {
            fold.names.push(printable(name));
        }
    }

    /// Reports one problem per kind of finding.
    pub(super) fn report(&self, shard: &str, problems: &dyn ProblemSink) -> Outcome<()> {
        for (&(kind, _), fold) in &self.0 {
            let subject = Subject::shard(shard).at(fold.first_offset);
            let subject = subject.key(fold.names.first().map(String::as_str).unwrap_or_default());
            let mut problem = Problem::note(kind, subject, message(kind, fold));
            if matches!(
                kind,
                ProblemKind::EntryNameNotUtf8
                    | ProblemKind::BadExtendedHeader
                    | ProblemKind::BadName
                    | ProblemKind::SparseEntry
                    | ProblemKind::LinkedPart
            ) {
                problem.severity = Severity::Problem;
            }
            problem.hint = hint(kind).map(str::to_owned);
            problems.report(problem)?;
        }
        Ok(())
    }
}

fn message(kind: ProblemKind, fold: &FoldedFindings) -> String {
    let number = fold.number;
    let entries = count(number, "entry");
    let first = agree(number, "", "; this is the first");
    match kind {
        ProblemKind::UnnamedEntry => format!("{entries} without a part name skipped{first}"),
        ProblemKind::ReservedName => format!("{entries} with a reserved name (__…__) skipped{first}"),
        ProblemKind::SkippedEntryType => {
            format!("{entries} for folders, links or devices skipped{first}")
        }
        ProblemKind::SparseEntry => format!(
            "{} stored as sparse entries (files with holes): {}; access by name gets other bytes than the loader{}",
            count_verb(number, "part", "is", "are"),
            listed(fold),
            fold.why,
        ),
        ProblemKind::LinkedPart => format!(
            "{} and skipped, so that {} their part: {}",
            count_verb(number, "part", "is a link", "are links"),
            agree(number, "its sample lacks", "samples lack"),
            listed(fold)
        ),
        ProblemKind::RepeatedPart => {
            format!("{} more than once in a sample; the loader keeps the last{first}", count(number, "part"))
        }
        ProblemKind::BadName => {
            let names = count_verb(number, "name", "has", "have");
            let parts = if number == 1 { "it is no part" } else { "they are no parts" };
            let sample = match fold.why {
                LACKS_PART => agree(number, "its sample lacks a part", "their samples lack a part"),
                _ => agree(number, "its sample cannot be found by name", "their samples cannot be found by name"),
            };
            format!("{names} more than 4,096 bytes, so {parts}: {sample}")
        }
        ProblemKind::EntryNameNotUtf8 => {
            format!("{} not UTF-8: {}{first}", count(number, "name"), fold.why)
        }
        _ => format!("{entries} with an extended header that cannot be understood: {}{first}", fold.why),
    }
}

/// Returns the hint for a kind of finding, if it has one.
fn hint(kind: ProblemKind) -> Option<&'static str> {
    match kind {
        ProblemKind::SparseEntry => Some("gristmill shard writes such entries in full; or pack the shard again without -S (--sparse), bsdtar: with --no-read-sparse"),
        ProblemKind::LinkedPart => Some("pack the shard again with tar --hard-dereference -h"),
        _ => None,
    }
}

/// Lists the first names, and the number of further ones.
fn listed(fold: &FoldedFindings) -> String {
    let names: Vec<String> = fold.names.iter().map(|name| format!("'{name}'")).collect();
    let more = fold.number.saturating_sub(names.len() as u64);
    let more = if more > 0 { format!(" and {} more", gristmill_core::text::grouped(more)) } else { String::new() };
    format!("{}{more}", names.join(", "))
}

/// Returns a name from an archive as text, with `\xNN` for bytes that are not UTF-8. Only the beginning of an overlong name is returned.
pub(super) fn printable(name: &[u8]) -> String {
    let name = name.get(..MAX_NAME).unwrap_or(name);
    match std::str::from_utf8(name) {
        Ok(text) => text.to_owned(),
        Err(_) => gristmill_core::text::display_safe_bytes(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folded_messages_agree_with_their_counts() {
        let said = |kind, number| {
            let fold = FoldedFindings { number, names: vec!["a.jpg".to_owned()], first_offset: 0, why: "why" };
            message(kind, &fold)
        };
        for kind in [
            ProblemKind::UnnamedEntry,
            ProblemKind::ReservedName,
            ProblemKind::SkippedEntryType,
            ProblemKind::SparseEntry,
            ProblemKind::LinkedPart,
            ProblemKind::RepeatedPart,
            ProblemKind::EntryNameNotUtf8,
            ProblemKind::BadExtendedHeader,
            ProblemKind::BadName,
        ] {
            let (one, two) = (said(kind, 1), said(kind, 2));
            let noun = one.strip_prefix("1 ").and_then(|rest| rest.split(' ').next()).unwrap();
            assert!(two.starts_with(&count(2, noun)), "{one}\n{two}");
            let two = two.trim_end_matches("; this is the first");
            assert!(!one.contains(" are ") && !two.contains(" is "), "{one}\n{two}");
        }
        assert!(said(ProblemKind::LinkedPart, 1).starts_with("1 part is a link and skipped, so that its sample lacks"));
        assert!(said(ProblemKind::LinkedPart, 2).starts_with("2 parts are links and skipped, so that samples lack"));
        let mut notes = Notes::default();
        [HAS_LONG_KEY, LACKS_PART, LACKS_PART].iter().for_each(|why| notes.count(ProblemKind::BadName, b"n", 0, why));
        let said: Vec<String> = notes.0.iter().map(|((kind, _), fold)| message(*kind, fold)).collect();
        let [lacking, hidden] = &said[..] else { panic!("{said:?}") };
        assert!(lacking.ends_with("they are no parts: their samples lack a part"), "{lacking}");
        assert!(hidden.ends_with("it is no part: its sample cannot be found by name"), "{hidden}");
    }
}
