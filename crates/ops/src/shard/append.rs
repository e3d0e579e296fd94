//! Checks new samples against the keys of a prepared set, for `--append`.

use super::pattern::NamePattern;
use super::record::subject_of;
use super::sample::Sample;
use super::ADDING;
use crate::engine::dataset::{has_only_splits, UPDATE_HINT};
use gristmill_core::text::count_verb;
use gristmill_core::{
    Failure, Handles, HiddenSample, NullProblemSink, Outcome, PartRow, Problem, ProblemKind, Progress, SampleRow,
    Subject,
};
use gristmill_data::formats::energon::info::Info;
use gristmill_data::formats::energon::{layout, tables};
use gristmill_data::source::discover::shard_at;
use gristmill_data::source::tar::{scan_shard, HiddenPart, ScanSink};
use gristmill_storage::files;
use gristmill_storage::location::hint_for;
use rusqlite::{Connection, OptionalExtension as _};
use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_128;

/// Maximum number of repeated keys that are reported with their places.
const MAX_LISTED: u64 = 1_000;

/// The keys of a prepared set.
pub(super) struct SetKeys {
    database: PathBuf,
    connection: Connection,
    /// Names of the set's shards, in the order of the index.
    shards: Vec<String>,
    /// Hashes of the keys that are not UTF-8, which the index does not have, with the positions of their shards. Read when the first such
    /// key is checked.
    unindexed: Option<HashMap<u128, usize>>,
    set: PathBuf,
    counts: Vec<u64>,
    repeated: u64,
}

impl SetKeys {
    pub(super) fn open(set: &Path) -> Outcome<Self> {
        let refuse = |why: &str, hint: &str| {
            let failure = Failure::usage(ADDING, why).on(Subject::path(set)).of_kind(ProblemKind::MissingFile);
            Err(failure.with_hint(hint))
        };
        let Some(info) = Info::read(set)? else {
            return match has_only_splits(set) {
                true => refuse("it is not prepared: .nv-meta/.info.json is missing", &hint_for(set, UPDATE_HINT)),
                false => refuse("it is not prepared", "prepare it first, or leave out --append to write a new set"),
            };
        };
        let database = layout::in_nv_meta(set, layout::INDEX_SQLITE);
        if !files::is_file(&database) {
            return refuse("it has no index of its keys", "gristmill prepare PATH --tar-index-only writes one");
        }
        let connection = tables::open_readonly(&database)?;
        let (shards, counts) = info.shard_counts.into_iter().unzip();
        Ok(Self { database, connection, shards, unindexed: None, set: set.to_owned(), counts, repeated: 0 })
    }

    /// Returns the names of the shards in the index.
    pub(super) fn shards(&self) -> &[String] {
        &self.shards
    }

    /// Reports a sample whose key the set already has.
    pub(super) fn check(&mut self, sample: &Sample, handles: &Handles<'_>) -> Outcome<()> {
        let found = match std::str::from_utf8(&sample.key) {
            Ok(key) => self.indexed(key)?,
            Err(_) => self.unindexed(&sample.key, handles)?,
        };
        let Some(shard) = found else { return Ok(()) };
        self.repeated += 1;
        if self.repeated > MAX_LISTED {
            return Ok(());
        }
        let shard = self.shards.get(shard).map_or("the set", String::as_str);
        let why = format!("the set has the key already, in {shard}");
        handles.problems.report(Problem::problem(ProblemKind::DuplicateKey, subject_of(sample), why))
    }

    /// Returns the position of the shard that has a key, from the index.
    fn indexed(&self, key: &str) -> Outcome<Option<usize>> {
        let sql = "SELECT tar_file_id FROM samples WHERE sample_key = ?1";
        let found = self.connection.prepare_cached(sql).and_then(|mut query| {
            let place = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0);
            query.query_row([key], place).optional()
        });
        let found = found.map_err(|error| tables::failure(&self.database, &error))?;
        Ok(found.map(|shard| usize::try_from(shard).unwrap_or(usize::MAX)))
    }

    /// Returns the position of the shard that has a key which the index does not have.
    fn unindexed(&mut self, key: &[u8], handles: &Handles<'_>) -> Outcome<Option<usize>> {
        let known = match self.unindexed.take() {
            Some(known) => known,
            None => self.read_unindexed(handles)?,
        };
        let found = known.get(&xxh3_128(key)).copied();
        self.unindexed = Some(known);
        Ok(found)
    }

    /// Reads the keys that the index does not have, from the shards with more samples than rows in the index.
    fn read_unindexed(&self, handles: &Handles<'_>) -> Outcome<HashMap<u128, usize>> {
        let mut known = HashMap::new();
        let sql = "SELECT count(*) FROM samples WHERE tar_file_id = ?1";
        for (position, (name, count)) in self.shards.iter().zip(&self.counts).enumerate() {
            let rows = self.connection.query_row(sql, [position as i64], |row| row.get::<_, i64>(0));
            let rows = rows.map_err(|error| tables::failure(&self.database, &error))?;
            if u64::try_from(rows).is_ok_and(|rows| rows >= *count) {
                continue;
            }
            let progress = Progress::default();
            let handles = Handles { progress: &progress, problems: &NullProblemSink, ..*handles };
            scan_shard(&shard_at(&self.set.join(name))?, &mut UnindexedKeys { known: &mut known, position }, &handles)?;
        }
        Ok(known)
    }

    /// Fails if a key is repeated.
    pub(super) fn finish(&self) -> Outcome<()> {
        if self.repeated == 0 {
            return Ok(());
        }
        let why = format!("{} in the set already; nothing is written", count_verb(self.repeated, "key", "is", "are"));
        let failure = Failure::data(ADDING, why).of_kind(ProblemKind::DuplicateKey);
        Err(failure.with_hint("--drop-keys leaves samples out; --duplicates applies to the inputs only"))
    }
}

/// Collects the keys of a shard that are not UTF-8.
struct UnindexedKeys<'a> {
    known: &'a mut HashMap<u128, usize>,
    position: usize,
}

impl ScanSink for UnindexedKeys<'_> {
    fn part(&mut self, _: PartRow<'_>) -> Outcome<()> {
        Ok(())
    }

    fn sample(&mut self, _: SampleRow<'_>) -> Outcome<()> {
        Ok(())
    }

    fn hidden_sample(&mut self, _: HiddenSample) -> Outcome<()> {
        Ok(())
    }

    fn hidden_part(&mut self, part: HiddenPart<'_>) -> Outcome<()> {
        if std::str::from_utf8(part.key).is_err() {
            self.known.entry(xxh3_128(part.key)).or_insert(self.position);
        }
        Ok(())
    }
}

/// Returns the number after the highest shard number in a folder, or `start` if it is higher.
pub(super) fn next_number(folder: &Path, pattern: &NamePattern, start: u64) -> Outcome<u64> {
    let entries = match files::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(start),
        Err(error) => return Err(Failure::io(ADDING, folder, &error)),
    };
    let mut next = start;
    for entry in entries {
        let entry = entry.map_err(|error| Failure::io(ADDING, folder, &error))?;
        if let Some(number) = entry.file_name().to_str().and_then(|name| pattern.number(name)) {
            let Some(after) = number.checked_add(1) else {
                let failure =
                    Failure::usage(ADDING, "no shard number is left after its highest one").on(Subject::path(folder));
                return Err(failure.with_hint("--pattern names the new shards differently"));
            };
            next = next.max(after);
        }
    }
    Ok(next)
}
