//! The six b-trees of the tables `samples` and `sample_parts`, filled row by row.

use super::parts::PartsByName;
use gristmill_core::{Failure, Outcome};
use gristmill_data::formats::energon::tables::{CREATE_SAMPLE_INDEXES, CREATE_SAMPLE_TABLES};
use gristmill_data::formats::sqlite::{IndexTree, PageWriter, Record, SchemaEntry, TableTree, Value};
use gristmill_storage::sort::SortContext;
use std::path::Path;

/// The position of a sample: its shard's number in the index, and its number in the shard.
#[derive(Clone, Copy)]
pub(super) struct SamplePosition {
    pub(super) shard: u32,
    pub(super) index: u64,
}

/// Offset and length of a part or sample.
#[derive(Clone, Copy)]
pub(super) struct Span {
    pub(super) offset: u64,
    pub(super) size: u64,
}

/// The trees, and the file that contains them.
pub(super) struct Tables {
    pages: PageWriter,
    record: Record,
    samples: TableTree,
    samples_by_key: IndexTree,
    samples_by_place: IndexTree,
    parts: TableTree,
    parts_seq: IndexTree,
    parts_full: IndexTree,
    by_name: PartsByName,
    pub(super) part_rows: u64,
    pub(super) sample_rows: u64,
}

impl Tables {
    /// Creates the database file. Replaces a file left by a killed run.
    pub(super) fn create(around: &SortContext<'_>, database: &Path) -> Outcome<Self> {
        around.fs.remove_file(database)?;
        Ok(Self {
            pages: PageWriter::create(around.fs, database)?,
            record: Record::default(),
            samples: TableTree::default(),
            samples_by_key: IndexTree::default(),
            samples_by_place: IndexTree::default(),
            parts: TableTree::default(),
            parts_seq: IndexTree::default(),
            parts_full: IndexTree::default(),
            by_name: PartsByName::new(around.sort_memory),
            part_rows: 0,
            sample_rows: 0,
        })
    }

    /// Adds a part of the next sample. Positions must ascend, and so must offsets within a sample.
    pub(super) fn add_part(
        &mut self,
        place: SamplePosition,
        name: &[u8],
        span: Span,
        around: &SortContext<'_>,
    ) -> Outcome<()> {
        let (shard, index) = place.values()?;
        let (offset, size) = span.values()?;
        self.part_rows += 1;
        let rowid = signed(self.part_rows)?;
        let row = self.record.encode(&[shard, index, Value::Text(name), offset, size]);
        self.parts.push(&mut self.pages, rowid, row)?;
        let entry = self.record.encode(&[shard, index, offset, Value::Int(rowid)]);
        self.parts_seq.push(&mut self.pages, entry)?;
        self.by_name.push(name, [self.part_rows, span.offset, span.size], around)
    }

    /// Adds a sample, after its parts. Row numbers and positions must ascend.
    pub(super) fn add_sample(
        &mut self,
        place: SamplePosition,
        rowid: u64,
        key: &[u8],
        span: Span,
        around: &SortContext<'_>,
    ) -> Outcome<()> {
        let (shard, index) = place.values()?;
        let (offset, size) = span.values()?;
        let rowid = signed(rowid)?;
        self.sample_rows += 1;
        let row = self.record.encode(&[shard, Value::Text(key), index, offset, size]);
        self.samples.push(&mut self.pages, rowid, row)?;
        let entry = self.record.encode(&[shard, index, Value::Int(rowid)]);
        self.samples_by_place.push(&mut self.pages, entry)?;
        let Self { by_name, record, parts_full, pages, .. } = self;
        by_name.drain(around, |name, [rowid, offset, size]| {
            let (offset, size) = Span { offset, size }.values()?;
            let rowid = Value::Int(signed(rowid)?);
            parts_full.push(pages, record.encode(&[shard, index, Value::Text(name), offset, size, rowid]))
        })
    }

    /// Adds a key to the unique index. Keys must ascend.
    pub(super) fn add_key(&mut self, key: &[u8], rowid: u64) -> Outcome<()> {
        let entry = self.record.encode(&[Value::Text(key), Value::Int(signed(rowid)?)]);
        self.samples_by_key.push(&mut self.pages, entry)
    }

    /// Writes the remaining pages and syncs the file. Returns the file's size in bytes.
    pub(super) fn finish(self) -> Outcome<u64> {
        let mut pages = self.pages;
        let samples = self.samples.finish(&mut pages)?;
        let parts = self.parts.finish(&mut pages)?;
        let by_key = self.samples_by_key.finish(&mut pages)?;
        let mut entries = vec![
            entry("table", "samples", "samples", samples)?,
            SchemaEntry {
                kind: "index",
                name: "sqlite_autoindex_samples_1",
                table: "samples",
                root: by_key,
                sql: None,
            },
            entry("table", "sample_parts", "sample_parts", parts)?,
        ];
        for (name, table, tree) in [
            ("idx_samples_by_tar_and_idx", "samples", self.samples_by_place),
            ("idx_sample_parts_seq", "sample_parts", self.parts_seq),
            ("idx_sample_parts_full", "sample_parts", self.parts_full),
        ] {
            let root = tree.finish(&mut pages)?;
            entries.push(entry("index", name, table, root)?);
        }
        pages.finish(&entries)
    }
}

/// Returns a row of the schema, with its SQL statement.
fn entry(kind: &'static str, name: &'static str, table: &'static str, root: u32) -> Outcome<SchemaEntry<'static>> {
    let statements = [CREATE_SAMPLE_TABLES, CREATE_SAMPLE_INDEXES];
    let mut all = statements.iter().flat_map(|text| text.split(';')).map(str::trim);
    let sql = all.find(|sql| {
        let mut words = sql.split_ascii_whitespace();
        words.next() == Some("CREATE")
            && words.next().is_some_and(|word| word.eq_ignore_ascii_case(kind))
            && words.next() == Some(name)
    });
    match sql {
        Some(sql) => Ok(SchemaEntry { kind, name, table, root, sql: Some(sql) }),
        None => Err(Failure::environment("building the database", format!("'{name}' has no definition"))),
    }
}

impl SamplePosition {
    fn values(self) -> Outcome<(Value<'static>, Value<'static>)> {
        Ok((Value::Int(i64::from(self.shard)), Value::Int(signed(self.index)?)))
    }
}

impl Span {
    fn values(self) -> Outcome<(Value<'static>, Value<'static>)> {
        Ok((Value::Int(signed(self.offset)?), Value::Int(signed(self.size)?)))
    }
}

/// Converts a number to SQLite's signed integer.
fn signed(number: u64) -> Outcome<i64> {
    i64::try_from(number)
        .map_err(|_| Failure::data("building the database", format!("{number} is more than its columns can hold")))
}
