//! Checks every file of an index shard against the other files (docs/formats/bsade.md §3 and §5).

use super::original::{describe, read_line};
use gristmill_core::text::{agree, bytes as size, count, grouped};
use gristmill_core::{Failure, Handles, Outcome, Problem, ProblemKind, Subject};
use gristmill_data::formats::bsade::{
    table_memory, table_width, DocumentLocations, RangesReader, Shard, TableCheck, KEPT_LENGTHS, REMOVE_RANGES,
    SEPARATOR,
};
use gristmill_pycompat::json_fields::Fields;
use gristmill_storage::files;
use gristmill_storage::read::{open_read, ReadFile};
use memchr::memchr_iter;
use std::path::{Path, PathBuf};

/// Bytes read at a time.
const READ_BYTES: u64 = 1 << 20;
/// Limit of findings of one kind that are reported for one shard.
const MAX_REPORTED: u64 = 20;
/// Prefix of the names of the folders of ranges; the minimum length follows.
const RANGES_FOLDER: &str = "dedup_minlen";

/// The content of a shard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShardFacts {
    /// The number of documents.
    pub documents: u64,
    /// Bytes of text without separators.
    pub text_bytes: u64,
    /// Whether there is a suffix table.
    pub has_table: bool,
    /// Whether the order of the table was checked.
    pub is_table_checked: bool,
    /// For each minimum length with ranges: the minimum length, the number of ranges, and the bytes that they cover.
    pub ranges: Vec<(u64, u64, u64)>,
}

/// Checks a shard and reports the problems. `table_bytes` is the memory limit for checking the order of the suffix table, 0 to skip this
/// check. A table that would need more is reported in a note.
pub fn check_shard(folder: &Path, table_bytes: u64, handles: Handles<'_>) -> Outcome<ShardFacts> {
    let mut facts = ShardFacts::default();
    let shard = match Shard::open(folder) {
        Ok(shard) => shard,
        Err(failure) => return report(failure, handles).map(|()| facts),
    };
    facts.documents = shard.documents();
    facts.text_bytes = shard.tokenized().len().saturating_sub(facts.documents);
    documents(&shard, handles)?;
    separators(&shard, handles)?;
    if let Some(table) = shard.table() {
        facts.has_table = true;
        facts.is_table_checked = check_table(&shard, table, table_bytes, handles)?;
    }
    for (min_length, folder) in ranges_folders(folder)? {
        if let Some((count, bytes)) = ranges(&shard, min_length, &folder, handles)? {
            facts.ranges.push((min_length, count, bytes));
        }
    }
    Ok(facts)
}

/// Reports a failure that is caused by the data as a finding. Any other failure ends the check.
fn report(failure: Failure, handles: Handles<'_>) -> Outcome<()> {
    if failure.class != gristmill_core::ExitClass::Data && !failure.is_missing() {
        return Err(failure);
    }
    let kind = if failure.is_missing() { ProblemKind::MissingFile } else { ProblemKind::BadFile };
    handles.problems.report(Problem::of_failure(kind, failure))
}

/// Reports the first findings of a kind, and counts the others.
struct LimitedFindings<'a> {
    handles: Handles<'a>,
    kind: ProblemKind,
    count: u64,
}

impl<'a> LimitedFindings<'a> {
    fn new(kind: ProblemKind, handles: Handles<'a>) -> Self {
        Self { handles, kind, count: 0 }
    }

    fn report(&mut self, file: &ReadFile, at: u64, message: impl Into<String>) -> Outcome<()> {
        self.count += 1;
        let problem = Problem::problem(self.kind, Subject::path(file.path()).at(at), message);
        match self.count <= MAX_REPORTED {
            true => self.handles.problems.report(problem),
            false => {
                self.handles.problems.count_more(problem.severity, problem.kind, 1);
                Ok(())
            }
        }
    }
}

/// Checks that offsets ascend and that lines of metadata are valid.
fn documents(shard: &Shard, handles: Handles<'_>) -> Outcome<()> {
    let mut places = shard.places();
    let (mut line, mut path, mut fields) = (Vec::new(), String::new(), Fields::any());
    let mut findings = LimitedFindings::new(ProblemKind::IndexMismatch, handles);
    loop {
        let place = match places.next(handles.cancel) {
            Ok(Some(place)) => place,
            Ok(None) => return Ok(()),
            // After an error, the following documents cannot be located.
            Err(failure) => return report(failure, handles),
        };
        handles.progress.add(1, place.meta_end - place.meta_start);
        match read_line(shard.metadata(), &place, &mut line) {
            Ok(()) => {
                let why = match describe(&line, &mut fields, &mut path) {
                    Err(why) => why,
                    Ok(_) if memchr::memchr(b'\n', &line) != Some(line.len() - 1) => "it has two lines instead of one",
                    Ok(_) => continue,
                };
                let message = format!("document {}: {why}", grouped(place.number));
                findings.report(shard.metadata(), place.meta_start, message)?;
            }
            Err(failure) => report(failure, handles)?,
        }
    }
}

/// Checks that separators are exactly at the offsets.
fn separators(shard: &Shard, handles: Handles<'_>) -> Outcome<()> {
    let file = shard.tokenized();
    let mut places = shard.places();
    let next = |places: &mut DocumentLocations<'_>| places.next(handles.cancel).ok().flatten().map(|place| place.start);
    let mut expected = next(&mut places);
    let mut findings = LimitedFindings::new(ProblemKind::IndexMismatch, handles);
    let mut buffer = Vec::new();
    let mut at = 0;
    while at < file.len() {
        handles.cancel.check()?;
        buffer.resize(usize::try_from((file.len() - at).min(READ_BYTES)).unwrap_or_default(), 0);
        file.read_exact_at(&mut buffer, at).map_err(|error| Failure::io("reading the index", file.path(), &error))?;
        for found in memchr_iter(SEPARATOR, &buffer).map(|place| at + place as u64) {
            while let Some(missing) = expected.filter(|place| *place < found) {
                findings.report(file, missing, "no document begins at this offset")?;
                expected = next(&mut places);
            }
            match expected == Some(found) {
                true => expected = next(&mut places),
                false => findings.report(file, found, "a separator that no offset names")?,
            }
        }
        at += buffer.len() as u64;
        handles.progress.add(0, buffer.len() as u64);
    }
    while let Some(missing) = expected {
        findings.report(file, missing, "no document begins here, though the offsets say so")?;
        expected = next(&mut places);
    }
    Ok(())
}

/// Checks the suffix table; returns whether its order was checked.
fn check_table(shard: &Shard, table: &ReadFile, memory: u64, handles: Handles<'_>) -> Outcome<bool> {
    let bytes = shard.tokenized().len();
    let width = u64::from(table_width(bytes));
    let subject = || Subject::path(table.path());
    if table.len() != bytes.saturating_mul(width) {
        let message = format!(
            "its size is {}; {} of {} each {} expected",
            size(table.len()),
            count(bytes, "entry"),
            count(width, "byte"),
            agree(bytes, "is", "are")
        );
        handles.problems.report(Problem::problem(ProblemKind::BadFile, subject(), message))?;
        return Ok(false);
    }
    if memory == 0 {
        return Ok(false);
    }
    let needed = table_memory(bytes);
    if needed > memory || u32::try_from(bytes).is_err() {
        let message =
            format!("its order was not checked: that needs {}, and {} are allowed", size(needed), size(memory));
        handles.problems.report(Problem::note(ProblemKind::Other, subject(), message))?;
        return Ok(false);
    }
    let failed = |file: &ReadFile, error: &std::io::Error| Failure::io("reading the index", file.path(), error);
    let mut text = vec![0; usize::try_from(bytes).unwrap_or_default()];
    shard.tokenized().read_exact_at(&mut text, 0).map_err(|error| failed(shard.tokenized(), &error))?;
    let mut entries = Vec::with_capacity(text.len());
    let (mut at, mut buffer) = (0, Vec::new());
    while at < table.len() {
        handles.cancel.check()?;
        buffer.resize(usize::try_from((table.len() - at).min(READ_BYTES * width)).unwrap_or_default(), 0);
        table.read_exact_at(&mut buffer, at).map_err(|error| failed(table, &error))?;
        entries.extend(buffer.chunks_exact(width.max(1) as usize).map(|entry| {
            let number = entry.iter().rev().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
            u32::try_from(number).unwrap_or(u32::MAX)
        }));
        at += buffer.len() as u64;
    }
    let (number, why) = match TableCheck::of(&text, &entries) {
        TableCheck::Right => return Ok(true),
        // A text of a single byte needs no table.
        TableCheck::NotAPosition(_) if width == 0 => return Ok(true),
        TableCheck::NotAPosition(number) => (number, "names no position of the text, or one that was named before"),
        TableCheck::OutOfOrder(number) => (number, "shows that the order of suffixes is broken"),
    };
    let message = format!("entry {} {why}", grouped(number));
    let problem = Problem::problem(ProblemKind::IndexMismatch, subject().at(number * width), message);
    handles
        .problems
        .report(problem.with_hint("dedup does not need the table; build the index again to search in it"))?;
    Ok(true)
}

/// Returns the folders of ranges of a shard with their minimum lengths.
fn ranges_folders(folder: &Path) -> Outcome<Vec<(u64, PathBuf)>> {
    let failed = |error: &std::io::Error| Failure::io("reading the index", folder, error);
    let mut found = Vec::new();
    for entry in files::read_dir(folder).map_err(|error| failed(&error))? {
        let entry = entry.map_err(|error| failed(&error))?;
        let length = entry.file_name().to_str().and_then(|name| name.strip_prefix(RANGES_FOLDER)?.parse().ok());
        found.extend(length.map(|length| (length, entry.into_path())));
    }
    found.sort_unstable();
    Ok(found)
}

/// Checks that ranges are in order, inside documents, disjoint and long enough. Returns their number, and the bytes that they cover.
fn ranges(shard: &Shard, min_length: u64, folder: &Path, handles: Handles<'_>) -> Outcome<Option<(u64, u64)>> {
    let path = folder.join(REMOVE_RANGES);
    let mut reader = match open_read(&path).and_then(RangesReader::new) {
        Ok(reader) => reader,
        Err(failure) => return report(failure, handles).map(|()| None),
    };
    let count = reader.count();
    let (mut places, mut own, mut bytes) = (shard.places(), Vec::new(), 0);
    let problem = |message: String| Problem::problem(ProblemKind::IndexMismatch, Subject::path(&path), message);
    // Positions that are invalid were reported before.
    while let Ok(Some(place)) = places.next(handles.cancel) {
        if let Err(failure) = reader.of_document(&place, handles.cancel, &mut own) {
            return report(failure, handles).map(|()| None);
        }
        for (number, range) in own.iter().enumerate() {
            bytes += range.len();
            let before = number.checked_sub(1).and_then(|before| own.get(before));
            let why = match before {
                _ if range.len() < min_length => "is shorter than the minimum length",
                Some(before) if before.end == range.start => "touches the one before it",
                _ => continue,
            };
            let message = format!("the range {} to {} of document {} {why}", range.start, range.end, place.number);
            handles.problems.report(problem(message))?;
        }
    }
    match reader.next(handles.cancel) {
        Ok(Some(range)) => handles
            .problems
            .report(problem(format!("the range {} to {} is after the last document", range.start, range.end)))?,
        Ok(None) => {}
        Err(failure) => report(failure, handles)?,
    }
    check_kept_lengths(folder, handles)?;
    Ok(Some((count, bytes)))
}

/// Checks that the file contains one ascending number per line. The file only exists after the output was written.
fn check_kept_lengths(folder: &Path, handles: Handles<'_>) -> Outcome<()> {
    let file = match open_read(&folder.join(KEPT_LENGTHS)) {
        Ok(file) => file,
        Err(failure) if failure.is_missing() => return Ok(()),
        Err(failure) => return report(failure, handles),
    };
    let (mut at, mut before, mut number) = (0, 0u64, None::<u64>);
    let mut buffer = Vec::new();
    while at < file.len() {
        handles.cancel.check()?;
        buffer.resize(usize::try_from((file.len() - at).min(READ_BYTES)).unwrap_or_default(), 0);
        file.read_exact_at(&mut buffer, at).map_err(|error| Failure::io("reading the index", file.path(), &error))?;
        for (place, byte) in buffer.iter().enumerate() {
            let digit = byte.wrapping_sub(b'0');
            let is_fine = match (byte, number) {
                (b'\n', Some(length)) => {
                    number = None;
                    std::mem::replace(&mut before, length) <= length
                }
                _ if digit < 10 => {
                    number = number.unwrap_or(0).checked_mul(10).and_then(|number| number.checked_add(digit.into()));
                    number.is_some()
                }
                _ => false,
            };
            if !is_fine {
                let message = "expected numbers in ascending order, one per line";
                let subject = Subject::path(file.path()).at(at + place as u64);
                return handles.problems.report(Problem::problem(ProblemKind::BadFile, subject, message));
            }
        }
        at += buffer.len() as u64;
    }
    Ok(())
}
