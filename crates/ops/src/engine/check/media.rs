//! Compares media rows with the entries that they describe: shard by shard for a prepared data set, slice by slice for a folder.

use super::{bad_file, PreparedDataset};
use crate::engine::media::{is_in_samples, picks, picks_file, ProbeVerdict, Prober, REPLACE_HINT};
use gristmill_core::lfs::{LFS_HINT, LFS_POINTER};
use gristmill_core::{
    text, ExitClass, Failure, Handles, MediaFilter, MediaPlan, MediaType, Outcome, Problem, ProblemKind, ShardId,
    Subject,
};
use gristmill_data::formats::energon::layout;
use gristmill_data::formats::energon::media_json::{from_json, to_json};
use gristmill_data::formats::energon::tables::{failure, has_media_tables, open_readonly};
use gristmill_data::source::media_folder;
use gristmill_media::{ByteSource, Part};
use gristmill_storage::files;
use gristmill_storage::location::hint_for;
use gristmill_storage::read::open_read;
use rusqlite::Connection;
use std::path::{Component, Path};

/// The depth of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Check the rows and the names of the entries.
    Rows,
    /// Also decode every picture completely.
    Decode,
    /// Also read the header of every entry again and compare it with its row.
    Probe,
}

/// Rows between two checks for cancellation.
const CANCEL_EVERY: u64 = 1024;
/// Rows of one slice of a folder's table.
const ROWS_PER_SLICE: i64 = 2048;
const REMAKE_HINT: &str = "gristmill prepare-media PATH writes its row again";
const PRUNE: &str = "gristmill prepare-media PATH --prune … removes such rows";

/// Opens the database; `None` when it has no media tables.
fn open(database: &Path) -> Outcome<Option<Connection>> {
    let connection = open_readonly(database)?;
    Ok(has_media_tables(&connection).map_err(|error| failure(database, &error))?.then_some(connection))
}

/// Returns the filters that select entries by name. Other filters select by content, so their selection is unknown here.
fn name_filters(connection: &Connection) -> rusqlite::Result<Vec<MediaFilter>> {
    let mut statement = connection.prepare("SELECT strategy, coalesce(patterns, '') FROM media_filters LIMIT 100")?;
    let rows = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
    let filters = rows.filter_map(|row| match row {
        Ok((strategy, _)) if strategy == "EXTENSION" => Some(Ok(MediaFilter::Extension)),
        Ok((strategy, patterns)) if strategy == "GLOB" => {
            Some(Ok(MediaFilter::Glob(patterns.split(',').map(str::to_owned).collect())))
        }
        Ok(_) => None,
        Err(error) => Some(Err(error)),
    });
    filters.collect()
}

/// Checks the media rows of a prepared data set by themselves: whether each can be parsed and names an entry.
pub fn check_rows(prepared: &PreparedDataset, handles: &Handles<'_>) -> Outcome<()> {
    let database = prepared.database();
    if !prepared.has_tables {
        return Ok(());
    }
    let Ok(Some(connection)) = open(&database) else { return Ok(()) };
    let failed = |error: rusqlite::Error| failure(&database, &error);
    let sql = "SELECT entry_key, metadata_type, metadata_json FROM media_metadata";
    let mut statement = connection.prepare(sql).map_err(failed)?;
    let mut rows = statement.query([]).map_err(failed)?;
    let mut count = 0_u64;
    while let Some(row) = rows.next().map_err(failed)? {
        count += 1;
        if count.is_multiple_of(CANCEL_EVERY) {
            handles.cancel.check()?;
        }
        let Some(found) = MediaRow::of(row, 0).map_err(failed)? else {
            handles.problems.report(no_text(&database))?;
            continue;
        };
        let subject = || Subject::path(&database).key(&found.key);
        found.check_json(&prepared.root, subject(), handles)?;
        if !is_in_samples(&connection, &database, &found.key)? {
            handles.problems.report(stale(&prepared.root, subject()))?;
        }
    }
    Ok(())
}

fn no_text(database: &Path) -> Problem {
    Problem::problem(ProblemKind::BadFile, Subject::path(database), "a media row has a value that is not text")
}

fn stale(root: &Path, subject: Subject) -> Problem {
    let problem = Problem::problem(ProblemKind::StaleMedia, subject, "a media row names an entry that does not exist");
    problem.with_hint(hint_for(root, PRUNE))
}

/// A row of `media_metadata`.
struct MediaRow {
    key: String,
    kind: String,
    json: String,
}

impl MediaRow {
    /// Reads the row whose three columns begin at `first`; `None` if any of them is not text.
    fn of(row: &rusqlite::Row<'_>, first: usize) -> rusqlite::Result<Option<Self>> {
        let text = |column: usize| row.get_ref(first + column).map(|value| value.as_str().ok().map(str::to_owned));
        let (key, kind, json) = (text(0)?, text(1)?, text(2)?);
        Ok(key.zip(kind).zip(json).map(|((key, kind), json)| Self { key, kind, json }))
    }

    fn check_json(&self, root: &Path, subject: Subject, handles: &Handles<'_>) -> Outcome<()> {
        match from_json(&self.kind, &self.json) {
            Ok(_) => Ok(()),
            Err(why) => {
                let message = format!("the media row cannot be read: {why}");
                handles.problems.report(
                    Problem::problem(ProblemKind::BadFile, subject, message).with_hint(hint_for(root, REMAKE_HINT)),
                )
            }
        }
    }

    fn media_type(&self) -> Option<MediaType> {
        [MediaType::Image, MediaType::Av].into_iter().find(|kind| kind.name() == self.kind)
    }
}

/// Examines entries at a given depth.
struct EntryChecker<'a> {
    /// The folder of the data set.
    root: &'a Path,
    prober: Prober<'a>,
    depth: Depth,
    handles: &'a Handles<'a>,
}

/// Returns the plan for probing headers only, or for decoding whole pictures.
fn plan_of(depth: Depth) -> MediaPlan {
    MediaPlan { filter: MediaFilter::Extension, decode: depth == Depth::Decode }
}

impl EntryChecker<'_> {
    fn at(&mut self, row: &MediaRow, source: &dyn ByteSource, subject: impl Fn() -> Subject) -> Outcome<()> {
        let wanted = match self.depth {
            Depth::Rows => None,
            Depth::Decode => row.media_type().filter(|kind| *kind == MediaType::Image),
            Depth::Probe => row.media_type(),
        };
        let Some(media_type) = wanted else { return Ok(()) };
        let report = |kind, message: String| {
            let hint = if kind == ProblemKind::IndexMismatch { REMAKE_HINT } else { REPLACE_HINT };
            let hint = hint_for(self.root, hint);
            self.handles.problems.report(Problem::problem(kind, subject(), message).with_hint(hint))
        };
        match self.prober.probe_as(media_type, source)? {
            ProbeVerdict::Other | ProbeVerdict::Media { facts: None, .. } => Ok(()),
            ProbeVerdict::Media { facts: Some(facts), damage, .. } => {
                if let Some(damage) = damage {
                    report(ProblemKind::BrokenMedia, format!("the picture cannot be decoded: {damage}"))?;
                }
                let now = to_json(&facts);
                if self.depth == Depth::Probe && now != row.json {
                    let message = format!("its media row says {}, and it holds {now}", row.json);
                    report(ProblemKind::IndexMismatch, message)?;
                }
                Ok(())
            }
            ProbeVerdict::NotMedia(why) if why == LFS_POINTER => {
                let message = format!("it has a media row, but {why}");
                let problem = Problem::problem(ProblemKind::NotMedia, subject(), message);
                self.handles.problems.report(problem.with_hint(LFS_HINT))
            }
            ProbeVerdict::NotMedia(why) => report(ProblemKind::NotMedia, format!("it has a media row, but: {why}")),
            ProbeVerdict::Broken(why) => report(ProblemKind::BrokenMedia, format!("it has a media row, but: {why}")),
            ProbeVerdict::Unreadable(error) => {
                let why = Failure::io("reading a medium", "", &error).why;
                let problem = Problem::problem(ProblemKind::Unreadable, subject(), format!("it cannot be read: {why}"));
                self.handles.problems.report(problem)
            }
        }
    }
}

/// Query for every entry of a shard with its media row, if it has one.
const ENTRIES: &str = "SELECT s.sample_key || '.' || p.part_name, p.content_byte_offset, p.content_byte_size, \
    m.entry_key, m.metadata_type, m.metadata_json FROM sample_parts AS p CROSS JOIN samples AS s \
    ON s.tar_file_id = p.tar_file_id AND s.sample_index = p.sample_index \
    LEFT JOIN media_metadata AS m ON m.entry_key = s.sample_key || '.' || p.part_name WHERE p.tar_file_id = ?1";

/// Checks the media rows of one shard's entries, and records the selected entries without a row.
pub fn check_shard(prepared: &PreparedDataset, id: ShardId, depth: Depth, handles: &Handles<'_>) -> Outcome<()> {
    let database = prepared.database();
    if !prepared.has_tables {
        return Ok(());
    }
    let Ok(Some(connection)) = open(&database) else { return Ok(()) };
    let shard = prepared.shard(id)?;
    let file = if depth == Depth::Rows || shard.is_tgz { None } else { Some(open_read(&shard.path)?) };
    let file = file.filter(|file| !gristmill_data::source::compressed_start(file));
    let failed = |error: rusqlite::Error| failure(&database, &error);
    let filters = name_filters(&connection).map_err(failed)?;
    let mut statement = connection.prepare(ENTRIES).map_err(failed)?;
    let mut rows = statement.query([id.0]).map_err(failed)?;
    let plan = plan_of(depth);
    let mut look =
        EntryChecker { root: &prepared.root, prober: Prober::new(&plan, false, handles.cancel), depth, handles };
    let mut without = UnindexedEntries::default();
    let mut count = 0_u64;
    while let Some(row) = rows.next().map_err(failed)? {
        count += 1;
        if count.is_multiple_of(CANCEL_EVERY) {
            handles.cancel.check()?;
        }
        let Ok(Ok(name)) = row.get_ref(0).map(|name| name.as_str()) else { continue };
        let Some(found) = MediaRow::of(row, 3).map_err(failed)? else {
            without.note(name, filters.iter().any(|filter| picks(filter, name)));
            continue;
        };
        let place = |column| row.get::<_, i64>(column).ok().and_then(|value| u64::try_from(value).ok());
        if let (Some(file), Some(offset), Some(size)) = (&file, place(1), place(2)) {
            look.at(&found, &Part::new(file, offset, size), || Subject::shard(&shard.name).key(&found.key))?;
        }
    }
    without.report(&prepared.root, Subject::shard(&shard.name), handles)
}

/// Entries that a filter selects but that have no row.
#[derive(Default)]
struct UnindexedEntries {
    count: u64,
    first: String,
}

impl UnindexedEntries {
    fn note(&mut self, name: &str, is_picked: bool) {
        if is_picked {
            if self.count == 0 {
                name.clone_into(&mut self.first);
            }
            self.count += 1;
        }
    }

    fn report(self, root: &Path, subject: Subject, handles: &Handles<'_>) -> Outcome<()> {
        if self.count == 0 {
            return Ok(());
        }
        let what = text::count_verb(self.count, "entry", "has", "have");
        let message = format!(
            "{what} no media row although a filter picks {}, {} first: broken, no media, or added later",
            text::agree(self.count, "it", "them"),
            self.first
        );
        let note = Problem::note(ProblemKind::NotMedia, subject, message);
        handles
            .problems
            .report(note.with_hint(hint_for(root, "gristmill prepare-media PATH describes what can be described")))
    }
}

/// Rows of a folder's table that are checked together.
#[derive(Clone, Copy, Debug)]
pub struct Slice {
    after: i64,
    up_to: i64,
    /// Maximum number of rows in the slice.
    pub rows: u64,
}

/// Checks a folder's table as a whole, and divides its rows into slices. A folder without media tables is a failure.
pub fn folder_slices(root: &Path, handles: &Handles<'_>) -> Outcome<Vec<Slice>> {
    let database = layout::in_nv_meta(root, layout::INDEX_SQLITE);
    let Some(connection) = open(&database)? else {
        return Err(Failure::data("checking the folder", "its database has no media tables")
            .on(Subject::path(&database))
            .with_hint(hint_for(root, "gristmill prepare-media PATH makes them")));
    };
    let failed = |error: rusqlite::Error| failure(&database, &error);
    let filters = name_filters(&connection).map_err(failed)?;
    let mut without = UnindexedEntries::default();
    {
        let found = media_folder::walk(root, |name| filters.iter().any(|filter| picks_file(filter, name)), handles)?;
        let mut known = connection.prepare("SELECT 1 FROM media_metadata WHERE entry_key = ?1").map_err(failed)?;
        for (number, name) in found.files.names().enumerate() {
            if (number as u64).is_multiple_of(CANCEL_EVERY) {
                handles.cancel.check()?;
            }
            without.note(name, !known.exists([name]).map_err(failed)?);
        }
    }
    without.report(root, Subject::path(root), handles)?;
    let last: Option<i64> =
        connection.query_row("SELECT max(rowid) FROM media_metadata", [], |row| row.get(0)).map_err(failed)?;
    let last = last.unwrap_or(0).max(0);
    let bounds = (0..=last).step_by(ROWS_PER_SLICE as usize).take_while(|after| *after < last);
    Ok(bounds
        .map(|after| {
            let up_to = after.saturating_add(ROWS_PER_SLICE).min(last);
            Slice { after, up_to, rows: up_to.abs_diff(after) }
        })
        .collect())
}

/// Checks the rows of one slice and adds them to the progress. Returns their number.
pub fn check_files(root: &Path, slice: &Slice, depth: Depth, handles: &Handles<'_>) -> Outcome<u64> {
    let database = layout::in_nv_meta(root, layout::INDEX_SQLITE);
    let connection = open_readonly(&database)?;
    let failed = |error: rusqlite::Error| failure(&database, &error);
    let sql = "SELECT entry_key, metadata_type, metadata_json FROM media_metadata WHERE rowid > ?1 AND rowid <= ?2";
    let mut statement = connection.prepare(sql).map_err(failed)?;
    let mut rows = statement.query([slice.after, slice.up_to]).map_err(failed)?;
    let plan = plan_of(depth);
    let mut look = EntryChecker { root, prober: Prober::new(&plan, false, handles.cancel), depth, handles };
    let mut count = 0;
    while let Some(row) = rows.next().map_err(failed)? {
        handles.cancel.check()?;
        count += 1;
        handles.progress.add(1, 0);
        let Some(found) = MediaRow::of(row, 0).map_err(failed)? else {
            handles.problems.report(no_text(&database))?;
            continue;
        };
        let path = root.join(&found.key);
        found.check_json(root, Subject::path(&path), handles)?;
        let is_plain = |part: Component<'_>| matches!(part, Component::Normal(name) if name != layout::NV_META);
        if found.key.is_empty() || !Path::new(&found.key).components().all(is_plain) || !files::is_file(&path) {
            handles.problems.report(stale(root, Subject::path(&path)))?;
            continue;
        }
        if depth != Depth::Rows {
            match open_read(&path) {
                Ok(file) => look.at(&found, &file, || Subject::path(&path))?,
                Err(failure) if failure.class == ExitClass::Data => handles.problems.report(bad_file(failure))?,
                Err(failure) => return Err(failure),
            }
        }
    }
    Ok(count)
}
