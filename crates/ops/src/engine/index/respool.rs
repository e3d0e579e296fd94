//! Rebuilds a shard's spool from an earlier index, so that a later run need not read an unchanged shard again.

use super::spool::{discard, SpoolSink, SpooledShard};
use gristmill_core::{
    Cancel, Failure, HiddenSample, Mutex, Outcome, PartFacts, PartRow, SampleRow, SampleSketch, Shard, ShardId,
};
use gristmill_data::formats::energon::layout;
use gristmill_data::formats::energon::tables::open_readonly;
use gristmill_data::source::tar::{is_sketched, keep_sketch, ScanSink, ShardScan, MAX_PART_NAMES};
use gristmill_storage::fs::Fs;
use gristmill_storage::read::open_read;
use gristmill_storage::sort::bytes::SpoolReader;
use gristmill_storage::sort::CANCEL_EVERY;
use rusqlite::{Connection, Row, Rows};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes of a `.tar.idx` read at a time.
const READ_BYTES: usize = 64 * 1024;

/// The files of an earlier index that describe a shard.
#[derive(Clone, Copy, Debug)]
pub struct OldIndex<'a> {
    /// The tables.
    pub tables: &'a OldTables,
    /// The shard's `tar_file_id` in this database.
    pub tar_file_id: u32,
    /// Path of the shard's `.tar.idx`.
    pub tar_idx: &'a Path,
}

/// The tables of an earlier index. Connections are kept between shards, so that a run opens as many as it has threads.
#[derive(Debug)]
pub struct OldTables {
    database: PathBuf,
    idle: Mutex<Vec<Connection>>,
}

impl OldTables {
    /// Names the tables of a data set, which are opened when a shard is read.
    pub fn new(root: &Path) -> Self {
        Self::at(layout::in_nv_meta(root, layout::INDEX_SQLITE))
    }

    pub(super) fn at(database: PathBuf) -> Self {
        Self { database, idle: Mutex::default() }
    }

    /// Closes the connections, because the tables may have been replaced.
    pub fn close(&self) {
        self.idle.lock().clear();
    }

    fn connection(&self) -> Outcome<Connection> {
        let idle = self.idle.lock().pop();
        idle.map_or_else(|| open_readonly(&self.database), Ok)
    }
}

/// Builds the spool of an unchanged shard from an earlier index, without reading the shard.
///
/// Returns `None` if that index cannot be read or its two files disagree, in which case the shard must be scanned. Samples that are only in
/// `.tar.idx` have no row in the new index either. Findings that only a scan can make (damage) are empty, because they were handled when
/// the index was made.
pub fn respool_unit(
    old: OldIndex<'_>,
    shard: &Shard,
    id: ShardId,
    spool_dir: &Path,
    fs: &dyn Fs,
    memory: usize,
    cancel: &Cancel,
) -> Outcome<Option<SpooledShard>> {
    let Ok(connection) = old.tables.connection() else { return Ok(None) };
    let Ok(file) = open_read(old.tar_idx) else { return Ok(None) };
    if file.len() < 8 || file.len() % 8 != 0 {
        return Ok(None);
    }
    let bytes = file.len();
    let offsets = SpoolReader::new(Arc::new(file), 0, bytes, READ_BYTES);
    let scan = ShardScan { stamp: shard.stamp, compressed: shard.is_tgz, ..ShardScan::default() };
    let copied =
        SpoolSink::create(fs, spool_dir, (id, &shard.name), memory).map_err(CopyError::from).and_then(|mut sink| {
            let mut copy = Copy { sink: &mut sink, offsets, left: bytes / 8 - 1, scan, shard, cancel };
            copy.run(&connection, old.tar_file_id)?;
            let scan = copy.scan;
            Ok(sink.finish(scan)?)
        });
    match copied {
        Ok(spool) => {
            old.tables.idle.lock().push(connection);
            Ok(Some(spool))
        }
        Err(stop) => {
            discard(fs, spool_dir, id, &shard.name);
            match stop {
                CopyError::Disagree => Ok(None),
                CopyError::Failed(failure) => Err(*failure),
            }
        }
    }
}

/// Reason why a copy ended early.
enum CopyError {
    /// The old index cannot be used.
    Disagree,
    /// The new spool cannot be written, or the job was cancelled.
    Failed(Box<Failure>),
}

impl From<rusqlite::Error> for CopyError {
    fn from(_: rusqlite::Error) -> Self {
        Self::Disagree
    }
}

impl From<Failure> for CopyError {
    fn from(failure: Failure) -> Self {
        Self::Failed(Box::new(failure))
    }
}

struct Copy<'a, 'b> {
    sink: &'a mut SpoolSink<'b>,
    offsets: SpoolReader,
    left: u64,
    scan: ShardScan,
    shard: &'a Shard,
    cancel: &'a Cancel,
}

const SAMPLES: &str = "SELECT sample_index, sample_key, byte_offset, byte_size FROM samples \
    WHERE tar_file_id = ?1 ORDER BY sample_index";
const PARTS: &str = "SELECT sample_index, part_name, content_byte_offset, content_byte_size FROM sample_parts \
    WHERE tar_file_id = ?1 ORDER BY sample_index, content_byte_offset";

impl Copy<'_, '_> {
    fn run(&mut self, connection: &Connection, tar_file_id: u32) -> Result<(), CopyError> {
        let (mut samples, mut parts) = (connection.prepare(SAMPLES)?, connection.prepare(PARTS)?);
        let mut samples = samples.query([tar_file_id])?;
        let mut parts = PartRowReader::new(parts.query([tar_file_id])?)?;
        let mut offset = self.offset()?;
        while let Some(row) = samples.next()? {
            let index = number(row, 0)?;
            while self.scan.samples < index {
                self.hidden(&mut offset)?;
            }
            let (key, at, size) = (row.get_ref(1)?.as_str(), number(row, 2)?, number(row, 3)?);
            let key = key.map_err(|_| CopyError::Disagree)?;
            if self.left == 0 || index != self.scan.samples || at != offset {
                return Err(CopyError::Disagree);
            }
            offset = self.offset()?;
            if at.checked_add(size) != Some(offset) {
                return Err(CopyError::Disagree);
            }
            self.copy_parts(&mut parts, index, key)?;
            self.sink.sample(SampleRow { key, sample_index: index, byte_offset: at, byte_size: size })?;
            self.left -= 1;
            self.scan.samples += 1;
            if self.scan.samples.is_multiple_of(CANCEL_EVERY) {
                self.cancel.check()?;
            }
        }
        while self.left > 0 {
            self.hidden(&mut offset)?;
        }
        if parts.index.is_some() {
            return Err(CopyError::Disagree);
        }
        self.scan.end_offset = offset;
        Ok(())
    }

    /// Reads the next number of `.tar.idx`.
    fn offset(&mut self) -> Result<u64, CopyError> {
        let mut bytes = Vec::with_capacity(8);
        self.offsets.take(8, &mut bytes).map_err(|_| CopyError::Disagree)?;
        bytes.try_into().map(u64::from_le_bytes).map_err(|_| CopyError::Disagree)
    }

    /// Copies a sample without a row.
    fn hidden(&mut self, offset: &mut u64) -> Result<(), CopyError> {
        self.left = self.left.checked_sub(1).ok_or(CopyError::Disagree)?;
        let end = self.offset()?;
        let byte_size = end.checked_sub(*offset).ok_or(CopyError::Disagree)?;
        let row = HiddenSample { sample_index: self.scan.samples, byte_offset: *offset, byte_size, is_damaged: false };
        self.sink.hidden_sample(row)?;
        self.scan.samples += 1;
        self.scan.without_parts += 1;
        *offset = end;
        Ok(())
    }

    fn copy_parts(&mut self, parts: &mut PartRowReader<'_>, index: u64, key: &str) -> Result<(), CopyError> {
        let mut sketch = SampleSketch { shard: self.shard.name.clone(), key: key.to_owned(), parts: Vec::new() };
        let keep = is_sketched(index, self.scan.sketches.len());
        let mut names: Vec<String> = Vec::new();
        while parts.index == Some(index) {
            let (name, offset, size) = (parts.name.as_str(), parts.offset, parts.size);
            self.sink.part(PartRow { part_name: name, content_byte_offset: offset, content_byte_size: size })?;
            let first = !names.iter().any(|known| known == name);
            self.count_part(name, size, first);
            if first && names.len() < MAX_PART_NAMES {
                names.push(name.to_owned());
            }
            if keep {
                sketch.parts.push((name.to_owned(), offset, size));
            }
            parts.advance()?;
        }
        self.scan.part_sets.add(&names.iter().map(String::as_str).collect::<Vec<_>>(), 1);
        if keep {
            keep_sketch(&mut self.scan.sketches, sketch);
        }
        Ok(())
    }

    fn count_part(&mut self, name: &str, size: u64, first: bool) {
        if !self.scan.parts.contains_key(name) {
            if self.scan.parts.len() >= MAX_PART_NAMES {
                return;
            }
            self.scan.parts.insert(name.to_owned(), PartFacts::default());
        }
        if let Some(facts) = self.scan.parts.get_mut(name) {
            facts.samples += u64::from(first);
            facts.bytes += size;
        }
    }
}

/// Reader of part rows, which reads one row ahead.
struct PartRowReader<'a> {
    rows: Rows<'a>,
    /// Sample number of the row read ahead; `None` after the last row.
    index: Option<u64>,
    name: String,
    offset: u64,
    size: u64,
}

impl<'a> PartRowReader<'a> {
    fn new(rows: Rows<'a>) -> Result<Self, CopyError> {
        let mut ahead = Self { rows, index: None, name: String::new(), offset: 0, size: 0 };
        ahead.advance()?;
        Ok(ahead)
    }

    fn advance(&mut self) -> Result<(), CopyError> {
        let Some(row) = self.rows.next()? else {
            self.index = None;
            return Ok(());
        };
        self.index = Some(number(row, 0)?);
        self.name.clear();
        self.name.push_str(row.get_ref(1)?.as_str().map_err(|_| CopyError::Disagree)?);
        (self.offset, self.size) = (number(row, 2)?, number(row, 3)?);
        Ok(())
    }
}

fn number(row: &Row<'_>, column: usize) -> Result<u64, CopyError> {
    u64::try_from(row.get::<_, i64>(column)?).map_err(|_| CopyError::Disagree)
}
