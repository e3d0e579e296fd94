//! A prepared set that gets more shards, for `--append`.

use super::pattern::NamePattern;
use super::record::subject_of;
use super::sample::Sample;
use gristmill_core::text::count_verb;
use gristmill_core::{Failure, Outcome, Problem, ProblemKind, ProblemSink, Subject};
use gristmill_data::formats::energon::info::Info;
use gristmill_data::formats::energon::{layout, tables};
use gristmill_storage::files;
use rusqlite::{Connection, OptionalExtension as _};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

const WHAT: &str = "adding shards to the set";
/// Repeated keys that are listed with their places.
const MAX_LISTED: u64 = 1_000;

/// The keys of a prepared set.
pub(super) struct SetKeys {
    database: PathBuf,
    connection: Connection,
    /// Names of its shards, in the order of the index.
    shards: Vec<String>,
    repeated: u64,
}

impl SetKeys {
    pub(super) fn open(set: &Path) -> Outcome<Self> {
        let refuse = |why: &str, hint: &str| {
            let failure = Failure::usage(WHAT, why).on(Subject::path(set)).of_kind(ProblemKind::MissingFile);
            Err(failure.with_hint(hint))
        };
        let Some(info) = Info::read(set)? else {
            return refuse("it is not prepared", "prepare it first, or leave out --append to write a new set");
        };
        let database = layout::in_nv_meta(set, layout::INDEX_SQLITE);
        if !files::is_file(&database) {
            return refuse("it has no index of its keys", "gristmill prepare PATH --tar-index-only writes one");
        }
        let connection = tables::open_readonly(&database)?;
        let shards = info.shard_counts.into_iter().map(|(name, _)| name).collect();
        Ok(Self { database, connection, shards, repeated: 0 })
    }

    /// Reports a sample whose key is in the set already.
    pub(super) fn check(&mut self, sample: &Sample, problems: &dyn ProblemSink) -> Outcome<()> {
        let Ok(key) = std::str::from_utf8(&sample.key) else { return Ok(()) };
        let sql = "SELECT tar_file_id FROM samples WHERE sample_key = ?1";
        let found = self.connection.prepare_cached(sql).and_then(|mut query| {
            let place = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0);
            query.query_row([key], place).optional()
        });
        let Some(shard) = found.map_err(|error| tables::failure(&self.database, &error))? else { return Ok(()) };
        self.repeated += 1;
        if self.repeated > MAX_LISTED {
            return Ok(());
        }
        let shard =
            usize::try_from(shard).ok().and_then(|shard| self.shards.get(shard)).map_or("the set", String::as_str);
        let why = format!("the set has the key already, in {shard}");
        problems.report(Problem::problem(ProblemKind::DuplicateKey, subject_of(sample), why))
    }

    /// Fails if a key is repeated.
    pub(super) fn finish(&self) -> Outcome<()> {
        if self.repeated == 0 {
            return Ok(());
        }
        let why = format!("{} in the set already; nothing is written", count_verb(self.repeated, "key", "is", "are"));
        let failure = Failure::data(WHAT, why).of_kind(ProblemKind::DuplicateKey);
        Err(failure.with_hint("--drop-keys leaves samples out; --duplicates applies to the inputs only"))
    }
}

/// Returns the number after the highest of the shards in a folder, or the given one if it is higher.
pub(super) fn next_number(folder: &Path, pattern: &NamePattern, start: u64) -> Outcome<u64> {
    let entries = match files::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(start),
        Err(error) => return Err(Failure::io(WHAT, folder, &error)),
    };
    let mut next = start;
    for entry in entries {
        let entry = entry.map_err(|error| Failure::io(WHAT, folder, &error))?;
        if let Some(number) = entry.file_name().to_str().and_then(|name| pattern.number(name)) {
            let Some(after) = number.checked_add(1) else {
                let failure = Failure::usage(WHAT, "its highest number has none after it").on(Subject::path(folder));
                return Err(failure.with_hint("--pattern names the new shards differently"));
            };
            next = next.max(after);
        }
    }
    Ok(next)
}
