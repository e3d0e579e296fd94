//! `info`, `lint` and `verify` of packed files and raw indexes.

use super::index_checker::{IndexChecker, IndexVerdict};
use crate::engine::check::tokens::Vocabulary;
use crate::engine::check::CheckCounts;
use gristmill_core::problem::Subject;
use gristmill_core::{Failure, Handles, Outcome, Problem, ProblemKind};
use gristmill_data::formats::modalities::packed::{Layout, PackedReader};
use gristmill_data::formats::modalities::raw_index;
use gristmill_storage::read::{open_read, ReadFile};
use serde::Serialize;
use std::path::Path;

/// Bytes read at a time: a multiple of every token size, so that no token is cut.
const READ_BYTES: usize = 21_845 * 12;
/// Documents between two checks of the cancel flag.
const CANCEL_CHECK_EVERY: u64 = 1 << 12;
/// Limit of findings of one kind that are reported individually.
const MAX_REPORTED: u64 = 20;

/// The facts of a packed file that `info` shows.
#[derive(Clone, Debug, Serialize)]
pub struct PackedFacts {
    /// Size of the file in bytes.
    pub bytes: u64,
    /// Layout of the file.
    pub layout: Layout,
    /// When files with this layout were written.
    pub era: &'static str,
    /// Whether current loaders read it.
    pub is_current: bool,
    /// Number of documents in the index.
    pub documents: u64,
    /// Total number of tokens.
    pub tokens: u64,
    /// Number of tokens of the shortest document; 0 without documents.
    pub shortest: u64,
    /// Number of tokens of the longest document.
    pub longest: u64,
    /// The token that ends the first document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_token: Option<u32>,
    /// Summary of the problems.
    pub problems: Vec<Problem>,
}

/// Reads the facts of a packed file: its header, its whole index, and the last token of its first document.
pub fn facts_of(path: &Path, handles: &Handles<'_>) -> Outcome<PackedFacts> {
    let packed = PackedReader::open_watched(open_read(path)?, handles.cancel)?;
    let layout = packed.layout();
    let size = u64::from(layout.token_bytes);
    let mut checker = IndexChecker::new(packed.data_bytes(), layout.token_bytes);
    let (mut shortest, mut longest, mut first, mut done) = (u64::MAX, 0, None, 0_u64);
    let mut items = packed.items();
    while let Some((offset, length)) = items.next_item()? {
        checker.check_item(offset, length);
        first = first.or(Some((offset, length)));
        shortest = shortest.min(length / size);
        longest = longest.max(length / size);
        done += 1;
        if done % CANCEL_CHECK_EVERY == 0 {
            handles.cancel.check()?;
        }
    }
    let end_token = match first.filter(|(offset, length)| *length >= size && packed.contains_span(*offset, *length)) {
        Some((offset, length)) => Some(last_token(&packed, offset + length)?),
        None => None,
    };
    let problems = about_layout(path, layout).into_iter().chain(about_index(path, checker.verdict())).collect();
    Ok(PackedFacts {
        bytes: packed.file().len(),
        layout,
        era: layout.era(),
        is_current: layout.is_current(),
        documents: packed.documents(),
        tokens: packed.tokens(),
        shortest: if done == 0 { 0 } else { shortest },
        longest,
        end_token,
        problems,
    })
}

fn last_token(packed: &PackedReader, end: u64) -> Outcome<u32> {
    let layout = packed.layout();
    let mut token = [0; 4];
    let token = token.get_mut(..usize::from(layout.token_bytes)).unwrap_or_default();
    packed.read(end.saturating_sub(token.len() as u64), token)?;
    Ok(layout.token(token))
}

fn about_layout(path: &Path, layout: Layout) -> Option<Problem> {
    if layout.is_current() {
        return None;
    }
    let message = format!("it is laid out as files were {}, which present loaders do not read", layout.era());
    let problem = Problem::problem(ProblemKind::BadFile, Subject::path(path), message);
    Some(problem.with_hint("`gristmill modalities merge FILE --output NEW.pbin` writes it as files are now"))
}

fn about_index(path: &Path, verdict: IndexVerdict) -> Option<Problem> {
    let problem = |message| Problem::problem(ProblemKind::IndexMismatch, Subject::path(path), message);
    match verdict {
        IndexVerdict::Right => None,
        IndexVerdict::WronglyMerged { documents, first } => {
            let message = format!(
                "it was merged wrongly: from document {first} on, {} placed some bytes too early in the index, so that \
                 reading by document gives other tokens",
                gristmill_core::text::count_verb(documents, "document", "is", "are")
            );
            Some(problem(message).with_hint("`gristmill repair` repairs the index"))
        }
        IndexVerdict::Wrong { document, why } => {
            Some(problem(format!("its documents do not follow each other: document {document}: {why}")))
        }
    }
}

/// Checks the header and the index.
pub fn lint(path: &Path, handles: &Handles<'_>) -> Outcome<CheckCounts> {
    report_findings(path, facts_of(path, handles)?, handles)
}

/// Reports the problems of an inspected file.
pub(super) fn report_findings(path: &Path, facts: PackedFacts, handles: &Handles<'_>) -> Outcome<CheckCounts> {
    for problem in facts.problems {
        handles.problems.report(problem)?;
    }
    if facts.documents == 0 {
        let message = "it has no document";
        handles.problems.report(Problem::problem(ProblemKind::EmptyShard, Subject::path(path), message))?;
    }
    Ok(CheckCounts { shards: 1, samples: facts.documents, parts: facts.tokens, bytes: facts.bytes })
}

/// Checks the header and the index, and reads every token. Each document must end like the first one, and no id may exceed the vocabulary
/// if there is one.
pub fn verify(path: &Path, vocabulary: Option<&Vocabulary>, handles: &Handles<'_>) -> Outcome<CheckCounts> {
    let checked = lint(path, handles)?;
    let packed = PackedReader::open_watched(open_read(path)?, handles.cancel)?;
    handles.progress.restart(packed.documents(), packed.data_bytes());
    verify_tokens(&packed, path, vocabulary, handles)?;
    Ok(checked)
}

/// Reads and checks every token of a file.
pub(super) fn verify_tokens(
    packed: &PackedReader,
    path: &Path,
    vocabulary: Option<&Vocabulary>,
    handles: &Handles<'_>,
) -> Outcome<()> {
    let layout = packed.layout();
    let mut ends = DocumentEnds::default();
    let (mut above, mut document, mut buffer) = (0_u64, 0_u64, vec![0; READ_BYTES]);
    let mut items = packed.items();
    while let Some((offset, length)) = items.next_item()? {
        if document % CANCEL_CHECK_EVERY == 0 {
            handles.cancel.check()?;
        }
        if packed.contains_span(offset, length) && length > 0 {
            let (greatest, tail) = scan(packed, offset, length, &mut buffer, handles)?;
            ends.check_end(document, &tail);
            if let Some(vocabulary) = vocabulary.filter(|vocabulary| greatest > vocabulary.greatest) {
                above += 1;
                if above <= MAX_REPORTED {
                    let Vocabulary { name, greatest: most } = vocabulary;
                    let message =
                        format!("document {document} has the id {greatest}, but the greatest of {name} is {most}");
                    let place = Subject::path(path).at(layout.header_bytes + offset);
                    handles.problems.report(Problem::problem(ProblemKind::BadFile, place, message))?;
                }
            }
        }
        handles.progress.add(1, length);
        document += 1;
    }
    handles.problems.count_more(
        gristmill_core::Severity::Problem,
        ProblemKind::BadFile,
        above.saturating_sub(MAX_REPORTED),
    );
    ends.report_ends(path, handles)
}

/// Returns the largest id of a document, and its last two tokens.
fn scan(
    packed: &PackedReader,
    offset: u64,
    length: u64,
    buffer: &mut [u8],
    handles: &Handles<'_>,
) -> Outcome<(u32, Vec<u32>)> {
    let (layout, end) = (packed.layout(), offset + length);
    let (mut at, mut greatest, mut tail) = (offset, 0, Vec::with_capacity(2));
    while at < end {
        let wanted = usize::try_from(end - at).unwrap_or(READ_BYTES).min(buffer.len());
        let Some(piece) = buffer.get_mut(..wanted) else { break };
        packed.read(at, piece)?;
        at += wanted as u64;
        if wanted == READ_BYTES {
            handles.cancel.check()?;
        }
        let size = usize::from(layout.token_bytes);
        greatest = piece.chunks_exact(size).map(|token| layout.token(token)).fold(greatest, u32::max);
        let last = piece.chunks_exact(size).rev().take(2).map(|token| layout.token(token));
        let last: Vec<u32> = last.collect();
        tail = last.into_iter().chain(tail).take(2).collect();
    }
    Ok((greatest, tail))
}

/// Checks the end tokens of documents.
#[derive(Default)]
struct DocumentEnds {
    known: Option<u32>,
    other: u64,
    /// The number of the first document with another end, and its last token.
    first_other: Option<(u64, u32)>,
    doubled: u64,
}

impl DocumentEnds {
    /// Checks the end of a document. `tail` contains its last two tokens, the last one first.
    fn check_end(&mut self, document: u64, tail: &[u32]) {
        let Some(last) = tail.first().copied() else { return };
        if *self.known.get_or_insert(last) != last {
            self.other += 1;
            self.first_other = self.first_other.or(Some((document, last)));
        } else if tail.get(1) == Some(&last) {
            self.doubled += 1;
        }
    }

    fn report_ends(&self, path: &Path, handles: &Handles<'_>) -> Outcome<()> {
        let known = self.known.unwrap_or_default();
        if let Some((document, last)) = self.first_other {
            let message = format!(
                "{} not end with the token {known} as the first one does: document {document} ends with {last}",
                gristmill_core::text::count_verb(self.other, "document", "does", "do")
            );
            handles.problems.report(Problem::problem(ProblemKind::IndexMismatch, Subject::path(path), message))?;
        }
        if self.doubled > 0 {
            let message = format!("{} documents end with the token {known} twice", self.doubled);
            handles.problems.report(Problem::note(ProblemKind::Other, Subject::path(path), message))?;
        }
        Ok(())
    }
}

/// Checks that a raw index can be read. Reports the number of lines and the end of the last line.
pub fn lint_index(path: &Path, handles: &Handles<'_>) -> Outcome<CheckCounts> {
    let index = open_read(path)?;
    let mut lines = raw_index::lines(&index);
    let (mut count, mut end) = (0_u64, 0_u64);
    while let Some((offset, length)) = lines.next_item()? {
        if offset < end && count > 0 {
            return Err(Failure::data("reading the index", format!("line {count} begins inside of the one before it"))
                .on(Subject::path(path)));
        }
        end = offset.checked_add(length).ok_or_else(|| {
            Failure::data("reading the index", "a line ends beyond the end of the file").on(Subject::path(path))
        })?;
        count += 1;
        if count % CANCEL_CHECK_EVERY == 0 {
            handles.cancel.check()?;
        }
    }
    Ok(CheckCounts { shards: 1, samples: count, parts: 0, bytes: index.len() })
}

/// Compares a raw index with the lines of its file.
pub fn verify_index(path: &Path, source: &Path, handles: &Handles<'_>) -> Outcome<CheckCounts> {
    let checked = lint_index(path, handles)?;
    let (index, file) = (open_read(path)?, open_read(source)?);
    handles.progress.restart(1, file.len());
    let mut items = raw_index::lines(&index);
    let mut wanted = items.next_item()?;
    let (mut number, mut left_out, mut wrong) = (0_u64, 0_u64, 0_u64);
    each_line(&file, handles, &mut |offset, length| {
        number += 1;
        match wanted {
            Some(item) if item == (offset, length) => wanted = items.next_item()?,
            Some((at, _)) if at > offset => left_out += 1,
            None => left_out += 1,
            Some((at, long)) => {
                wrong += 1;
                if wrong <= MAX_REPORTED {
                    let message = format!(
                        "the index has a line of {} at byte {at}, but line {number} has {} at byte {offset}",
                        gristmill_core::text::count(long, "byte"),
                        gristmill_core::text::count(length, "byte")
                    );
                    let place = Subject::path(path).at(at);
                    handles.problems.report(Problem::problem(ProblemKind::IndexMismatch, place, message))?;
                }
                // Continues with the first item after this line.
                while wanted.is_some_and(|(at, _)| at <= offset) {
                    wanted = items.next_item()?;
                }
            }
        }
        Ok(())
    })?;
    handles.problems.count_more(
        gristmill_core::Severity::Problem,
        ProblemKind::IndexMismatch,
        wrong.saturating_sub(MAX_REPORTED),
    );
    if let Some((at, _)) = wanted {
        let message = format!("the index speaks of byte {at}, where the file has no line");
        handles.problems.report(Problem::problem(ProblemKind::IndexMismatch, Subject::path(path), message))?;
    }
    if left_out > 0 {
        let message = format!(
            "{} of {} {} not in the index",
            gristmill_core::text::count(left_out, "line"),
            source.display(),
            gristmill_core::text::agree(left_out, "is", "are")
        );
        handles.problems.report(Problem::note(ProblemKind::BadLine, Subject::path(path), message))?;
    }
    Ok(checked)
}

/// Iterates over the lines of a file, with the offset and the length of each, without its line end.
fn each_line(file: &ReadFile, handles: &Handles<'_>, each: &mut dyn FnMut(u64, u64) -> Outcome<()>) -> Outcome<()> {
    let mut block = vec![0; 1 << 20];
    let (mut at, mut start) = (0, 0);
    loop {
        handles.cancel.check()?;
        let count =
            file.read_at(&mut block, at).map_err(|error| Failure::io("reading the lines", file.path(), &error))?;
        let Some(bytes) = block.get(..count).filter(|bytes| !bytes.is_empty()) else { break };
        for end in memchr::memchr_iter(b'\n', bytes) {
            let end = at + end as u64;
            each(start, end - start)?;
            start = end + 1;
        }
        at += count as u64;
        handles.progress.add(0, count as u64);
    }
    if start < at {
        each(start, at - start)?;
    }
    Ok(())
}
