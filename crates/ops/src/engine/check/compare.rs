//! Scans one shard again and compares every row with `.tar.idx` and the tables during the scan.

use super::sample_checks::SampleChecker;
use super::tar_idx_reader::TarIdxReader;
use super::unindexed_pieces::{KeySpools, UnindexedPieces};
use super::{CheckCounts, PreparedDataset};
use gristmill_core::text::shell_quote;
use gristmill_core::{
    Handles, HiddenSample, Outcome, PartRow, Problem, ProblemKind, ProblemSink, SampleRow, Severity, Shard, ShardId,
    Subject,
};
use gristmill_data::formats::energon::tables::{self, Tables};
use gristmill_data::source::tar::{scan_shard, ScanSink};
use gristmill_storage::location::hint_for;
use rusqlite::{Rows, Statement};
use std::path::Path;

/// Limit of mismatches per shard that are reported individually.
const MAX_NAMED_MISMATCHES: u64 = 10;

pub(super) const SAMPLES_SQL: &str = "SELECT sample_index, sample_key, byte_offset, byte_size FROM samples \
                                      WHERE tar_file_id = ?1 ORDER BY sample_index";
pub(super) const PARTS_SQL: &str =
    "SELECT sample_index, part_name, content_byte_offset, content_byte_size FROM sample_parts \
                                    WHERE tar_file_id = ?1 ORDER BY sample_index, content_byte_offset";

/// Hint for a wrong row.
pub(super) const REMAKE_HINT: &str = "gristmill prepare PATH --tar-index-only makes the index again";

/// Scans a shard and compares it with the index. Findings are reported to the handles; an error means that the check itself could not
/// continue.
pub(super) fn compare_shard(
    prepared: &PreparedDataset,
    id: ShardId,
    shard: &Shard,
    watch: &mut SampleChecker<'_>,
    keys: Option<&KeySpools>,
    handles: &Handles<'_>,
) -> Outcome<CheckCounts> {
    let tables = prepared.tables()?;
    let words = TarIdxReader::open(&prepared.root.join(shard.index_name()));
    let words = match words {
        Ok(words) => Some(words),
        Err(failure) if failure.is_cancelled() => return Err(failure),
        // A missing file is reported by the check of the files.
        Err(_) => None,
    };
    let database = prepared.database();
    let mut statements = match &tables {
        Some(tables) => Some(prepare(tables, &database)?),
        None => None,
    };
    let (samples, parts) = match &mut statements {
        Some((samples, parts)) => {
            let bad = |e: rusqlite::Error| tables::failure(&database, &e);
            (Some(samples.query([id.0]).map_err(bad)?), Some(parts.query([id.0]).map_err(bad)?))
        }
        None => (None, None),
    };
    let mut sink = RowComparison {
        shard,
        id,
        tables: tables.as_ref(),
        words,
        samples: Cursor::new(samples, &database),
        parts: Cursor::new(parts, &database),
        now: 0,
        unlisted_parts: 0,
        pieces: UnindexedPieces::default(),
        findings: Findings::new(&prepared.root, shard, handles.problems),
        watch,
        checked: CheckCounts { shards: 1, bytes: shard.stamp.bytes, ..CheckCounts::default() },
    };
    let filter = NoteFilter { problems: handles.problems, prepared };
    let filtered = Handles { problems: &filter, ..*handles };
    let scan = match keys {
        Some(keys) => keys.scan((shard, id), &filtered, &mut sink)?,
        None => scan_shard(shard, &mut sink, &filtered)?,
    };
    let pieces = std::mem::take(&mut sink.pieces);
    match scan.apple_double.filter(|entries| entries.is_refused()) {
        Some(entries) => {
            sink.watch.forget_apple_doubles();
            handles.problems.report(entries.problem(&shard.name))?;
        }
        None => pieces.finish(&shard.name, prepared, handles.problems)?,
    }
    sink.finish(scan.end_offset, prepared.entry(id).map_or(0, |(_, count)| count))
}

fn prepare<'t>(tables: &'t Tables, path: &std::path::Path) -> Outcome<(Statement<'t>, Statement<'t>)> {
    let make = |sql| tables.connection().prepare(sql).map_err(|e| tables::failure(path, &e));
    Ok((make(SAMPLES_SQL)?, make(PARTS_SQL)?))
}

/// Passes problems on and drops notes: the notes of a scan were reported when the data set was prepared.
struct NoteFilter<'a> {
    problems: &'a dyn ProblemSink,
    prepared: &'a PreparedDataset,
}

impl ProblemSink for NoteFilter<'_> {
    fn report(&self, problem: Problem) -> Outcome<()> {
        if problem.severity == Severity::Note {
            return Ok(());
        }
        match problem.kind {
            ProblemKind::SampleExcluded => self.problems.report(self.damaged(problem)),
            // A recorded count of 0 has the same meaning and is reported separately.
            ProblemKind::EmptyShard if self.is_recorded_empty(&problem) => Ok(()),
            _ => self.problems.report(problem),
        }
    }
    fn count_more(&self, severity: Severity, kind: ProblemKind, number: u64) {
        self.problems.count_more(severity, kind, number);
    }
}

impl NoteFilter<'_> {
    fn is_recorded_empty(&self, problem: &Problem) -> bool {
        let counts = &self.prepared.info.shard_counts;
        counts.iter().any(|(name, count)| Some(name) == problem.subject.shard.as_ref() && *count == 0)
    }

    /// Rewords the problem of a sample that contains damage, or of a shard that begins with damage: a note if `split.yaml` excludes it,
    /// otherwise with the command that excludes it.
    fn damaged(&self, mut problem: Problem) -> Problem {
        let Some(shard) = &problem.subject.shard else { return problem };
        let key = problem.subject.key.as_deref();
        let what = match key {
            Some(_) => "it touches damage",
            None => "the loader starts reading in the damage before its first sample",
        };
        if self.prepared.excludes(shard, key) {
            problem.severity = Severity::Note;
            problem.message = match key {
                Some(_) => format!("{what} and is excluded from training"),
                None => format!("{what}; the shard is excluded from training"),
            };
        } else {
            let item = crate::engine::outputs::exclude_item(shard, key);
            let item = shell_quote(&item);
            problem.message = match key {
                Some(_) => format!("{what} and is not excluded"),
                None => format!("{what}, and the shard is not excluded"),
            };
            let command = hint_for(&self.prepared.root, "gristmill prepare PATH --update --exclude-sample");
            problem.hint = Some(format!("{command} {item}"));
        }
        problem
    }
}

/// A row of either table: position, text, and two numbers. A number of the wrong type is read as the largest possible number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) index: u64,
    pub(super) text: String,
    pub(super) first: u64,
    pub(super) second: u64,
}

/// The table rows of one shard.
pub(super) struct Cursor<'s, 'p> {
    rows: Option<Rows<'s>>,
    head: Option<Row>,
    path: &'p std::path::Path,
}

impl<'s, 'p> Cursor<'s, 'p> {
    pub(super) fn new(rows: Option<Rows<'s>>, path: &'p std::path::Path) -> Self {
        Self { rows, head: None, path }
    }
    pub(super) fn is_there(&self) -> bool {
        self.rows.is_some()
    }
    /// Returns the next row without consuming it.
    pub(super) fn peek(&mut self) -> Outcome<Option<&Row>> {
        if self.head.is_none() {
            let bad = |e: rusqlite::Error| tables::failure(self.path, &e);
            if let Some(rows) = &mut self.rows {
                if let Some(row) = rows.next().map_err(bad)? {
                    self.head = Some(read(row).map_err(bad)?);
                }
            }
        }
        Ok(self.head.as_ref())
    }
    pub(super) fn take(&mut self) -> Outcome<Option<Row>> {
        self.peek()?;
        Ok(self.head.take())
    }
    /// Consumes and returns the next row if it belongs to the sample with this index.
    pub(super) fn take_of(&mut self, index: u64) -> Outcome<Option<Row>> {
        if self.peek()?.is_some_and(|row| row.index == index) {
            return self.take();
        }
        Ok(None)
    }
    /// Skips rows before `index`; returns their number.
    pub(super) fn skip_before(&mut self, index: u64) -> Outcome<u64> {
        let mut skipped = 0;
        while self.peek()?.is_some_and(|row| row.index < index) {
            self.head = None;
            skipped += 1;
        }
        Ok(skipped)
    }
}

/// Describes how a row differs from name, offset and size in the archive. Numbers that are missing, negative or text were read as the
/// largest number, which never equals a number found by a scan.
fn difference(sample: u64, row: &Row, (name, offset, size): (&str, u64, u64)) -> String {
    format!(
        "sample {sample}: the table says '{}' at {} with {} bytes, the archive has '{name}' at {offset} with {}",
        row.text,
        row.first,
        row.second,
        gristmill_core::text::count(size, "byte")
    )
}

fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Row> {
    let number = |column: usize| -> rusqlite::Result<u64> {
        Ok(match row.get_ref(column)? {
            rusqlite::types::ValueRef::Integer(n) => u64::try_from(n).unwrap_or(u64::MAX),
            _ => u64::MAX,
        })
    };
    let text = match row.get_ref(1)? {
        rusqlite::types::ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
        _ => String::from("\u{fffd}"),
    };
    Ok(Row { index: number(0)?, text, first: number(2)?, second: number(3)? })
}

/// Reports the first mismatches of a shard and counts the rest.
pub(super) struct Findings<'a> {
    root: &'a Path,
    shard: &'a str,
    problems: &'a dyn ProblemSink,
    count: u64,
}

impl<'a> Findings<'a> {
    pub(super) fn new(root: &'a Path, shard: &'a Shard, problems: &'a dyn ProblemSink) -> Self {
        Self { root, shard: &shard.name, problems, count: 0 }
    }
    pub(super) fn add(&mut self, subject: Subject, message: String) -> Outcome<()> {
        self.count += 1;
        if self.count > MAX_NAMED_MISMATCHES {
            return Ok(());
        }
        self.problems.report(
            Problem::problem(ProblemKind::IndexMismatch, subject, message).with_hint(hint_for(self.root, REMAKE_HINT)),
        )
    }
    pub(super) fn at(&self, byte_offset: u64) -> Subject {
        Subject::shard(self.shard).at(byte_offset)
    }
    pub(super) fn finish(self) -> Outcome<()> {
        let Some(more) = self.count.checked_sub(MAX_NAMED_MISMATCHES).filter(|n| *n > 0) else { return Ok(()) };
        let message =
            format!("{} with the archive", gristmill_core::text::count_verb(more, "more row", "disagrees", "disagree"));
        self.problems.report(
            Problem::problem(ProblemKind::IndexMismatch, Subject::shard(self.shard), message)
                .with_hint(hint_for(self.root, REMAKE_HINT)),
        )
    }
}

struct RowComparison<'a, 's, 'p, 'w, 'k> {
    shard: &'a Shard,
    id: ShardId,
    tables: Option<&'a Tables>,
    words: Option<TarIdxReader>,
    samples: Cursor<'s, 'p>,
    parts: Cursor<'s, 'p>,
    /// Index of the sample to which the next parts belong.
    now: u64,
    /// Number of parts of this sample that have no row.
    unlisted_parts: u64,
    pieces: UnindexedPieces,
    findings: Findings<'a>,
    watch: &'w mut SampleChecker<'k>,
    checked: CheckCounts,
}

impl ScanSink for RowComparison<'_, '_, '_, '_, '_> {
    fn part(&mut self, row: PartRow<'_>) -> Outcome<()> {
        self.checked.parts += 1;
        self.watch.part(row.part_name);
        if !self.parts.is_there() {
            return Ok(());
        }
        self.extra_parts_before(self.now)?;
        let Some(stored) = self.parts.take_of(self.now)? else {
            self.unlisted_parts += 1;
            self.pieces.add_part(row.part_name);
            return Ok(());
        };
        let same = stored.text == row.part_name
            && stored.first == row.content_byte_offset
            && stored.second == row.content_byte_size;
        if !same {
            let archive = (row.part_name, row.content_byte_offset, row.content_byte_size);
            let message = format!("part row of {}", difference(self.now, &stored, archive));
            self.findings.add(self.findings.at(row.content_byte_offset), message)?;
        }
        Ok(())
    }

    fn sample(&mut self, row: SampleRow<'_>) -> Outcome<()> {
        self.word(row.byte_offset)?;
        self.watch.sample(row.key);
        if self.samples.is_there() {
            self.compare_sample_row(&row)?;
        }
        self.next_sample(row.byte_offset)
    }

    fn hidden_sample(&mut self, row: HiddenSample) -> Outcome<()> {
        self.word(row.byte_offset)?;
        self.watch.drop_parts();
        self.next_sample(row.byte_offset)
    }

    /// A sample of AppleDouble entries has no rows in an index of this program; another program may have written some.
    fn apple_double_sample(&mut self, row: SampleRow<'_>) -> Outcome<()> {
        self.word(row.byte_offset)?;
        self.watch.apple_double(row.key);
        self.samples.take_of(self.now)?;
        if self.parts.is_there() {
            self.parts.skip_before(self.now + 1)?;
        }
        self.next_sample(row.byte_offset)
    }
}

impl RowComparison<'_, '_, '_, '_, '_> {
    fn word(&mut self, byte_offset: u64) -> Outcome<()> {
        let Some(words) = &mut self.words else { return Ok(()) };
        match words.next()? {
            Some(word) if word == byte_offset => Ok(()),
            Some(word) => {
                let message = format!(
                    ".tar.idx says that sample {} begins at {word}, the archive has it at {byte_offset}",
                    self.now
                );
                self.findings.add(self.findings.at(byte_offset), message)
            }
            None => {
                self.findings.add(self.findings.at(byte_offset), format!(".tar.idx ends before sample {}", self.now))
            }
        }
    }

    fn compare_sample_row(&mut self, row: &SampleRow<'_>) -> Outcome<()> {
        let extra = self.samples.skip_before(self.now)?;
        if extra > 0 {
            let message = format!(
                "{} before sample {} that the archive does not have",
                gristmill_core::text::count(extra, "sample row"),
                self.now
            );
            self.findings.add(self.findings.at(row.byte_offset), message)?;
        }
        let subject = self.findings.at(row.byte_offset).key(row.key);
        match self.samples.take_of(self.now)? {
            Some(stored) => {
                if stored.text != row.key || stored.first != row.byte_offset || stored.second != row.byte_size {
                    let message = difference(self.now, &stored, (row.key, row.byte_offset, row.byte_size));
                    self.findings.add(subject.clone(), message)?;
                }
                if self.unlisted_parts > 0 {
                    let message = format!(
                        "{} of sample {} {} no row",
                        gristmill_core::text::count(self.unlisted_parts, "part"),
                        self.now,
                        gristmill_core::text::agree(self.unlisted_parts, "has", "have")
                    );
                    self.findings.add(subject, message)?;
                }
            }
            None if self.compare_with_kept(row.key)? => {}
            None => self.findings.add(subject, format!("sample {} has no row in the table", self.now))?,
        }
        Ok(())
    }

    /// Whether the first sample with this key has a row. With `--duplicates keep-first`, only the first of several samples with the same
    /// key has one; the sample without a row is a copy of it, or another piece of the same sample.
    fn compare_with_kept(&mut self, key: &str) -> Outcome<bool> {
        let Some(tables) = self.tables else { return Ok(false) };
        let kept = tables.sample_by_key(key)?;
        let kept = kept.filter(|kept| (kept.tar_file_id, kept.sample_index) < (self.id.0, self.now));
        if let Some(kept) = kept.as_ref().filter(|_| !self.watch.excludes(key)) {
            self.pieces.compare(key, kept, tables)?;
        }
        Ok(kept.is_some())
    }

    fn next_sample(&mut self, byte_offset: u64) -> Outcome<()> {
        self.checked.samples += 1;
        self.now += 1;
        self.unlisted_parts = 0;
        self.pieces.begin_sample();
        if self.parts.is_there() {
            let extra = self.parts.skip_before(self.now)?;
            if extra > 0 {
                let message = format!(
                    "{} of sample {} that the archive does not have",
                    gristmill_core::text::count(extra, "part row"),
                    self.now - 1
                );
                self.findings.add(self.findings.at(byte_offset), message)?;
            }
        }
        Ok(())
    }

    fn extra_parts_before(&mut self, index: u64) -> Outcome<()> {
        let extra = self.parts.skip_before(index)?;
        if extra > 0 {
            let message = format!(
                "{} before sample {index} that the archive does not have",
                gristmill_core::text::count(extra, "part row")
            );
            self.findings.add(Subject::shard(&self.shard.name), message)?;
        }
        Ok(())
    }

    fn finish(mut self, end_offset: u64, counted: u64) -> Outcome<CheckCounts> {
        let subject = || Subject::shard(&self.shard.name);
        if let Some(words) = &mut self.words {
            let end = words.next()?;
            if end != Some(end_offset) {
                let says = end.map_or("nothing".to_owned(), |e| e.to_string());
                let message = format!(".tar.idx says that the archive ends at {says}, it ends at {end_offset}");
                self.findings.add(subject().at(end_offset), message)?;
            } else if words.next()?.is_some() {
                let message = format!(
                    ".tar.idx has {}, {} expected",
                    gristmill_core::text::count(words.count(), "word"),
                    self.now + 1
                );
                self.findings.add(subject(), message)?;
            }
        }
        let samples = self.samples.skip_before(u64::MAX)?;
        let parts = self.parts.skip_before(u64::MAX)?;
        for (rows, what) in [(samples, "sample"), (parts, "part")] {
            if rows > 0 {
                let message = format!(
                    "{} after the last sample of the archive",
                    gristmill_core::text::count(rows, &format!("{what} row"))
                );
                self.findings.add(subject(), message)?;
            }
        }
        if counted != self.now {
            let message = format!(
                ".info.json counts {}, the archive has {}",
                gristmill_core::text::count(counted, "sample"),
                self.now
            );
            self.findings.add(subject(), message)?;
        }
        self.findings.finish()?;
        Ok(self.checked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_comparison_uses_database_indexes_without_sorting() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        connection.execute_batch(tables::CREATE_SAMPLE_TABLES).unwrap();
        connection.execute_batch(tables::CREATE_SAMPLE_INDEXES).unwrap();
        for sql in [SAMPLES_SQL, PARTS_SQL] {
            let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let steps = statement.query_map([1], |row| row.get::<_, String>(3)).unwrap();
            let steps: Vec<String> = steps.map(Result::unwrap).collect();
            assert!(steps[0].contains("USING INDEX idx_") || steps[0].contains("COVERING INDEX idx_"), "{steps:?}");
            assert!(!steps.iter().any(|s| s.ends_with("FOR ORDER BY")), "{steps:?}");
        }
    }
}
