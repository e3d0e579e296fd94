//! Join index files: samples of several data sets that are combined (docs/formats/energon.md §14.2).
//!
//! A file is `JIDX0001`, the number of columns as i64, then the cells row by row. A cell has three i64: position of the shard in the split,
//! byte offset and byte size of the sample; all three are -1 if the member lacks the sample. All numbers are little-endian.

use gristmill_core::problem::Subject;
use gristmill_core::{Failure, Outcome};
use gristmill_storage::fs::{BufferedFile, WriteFile};
use gristmill_storage::read::{open_read, ReadFile};
use std::path::Path;

const ACTIVITY: &str = "reading the join index";
const MAGIC: &[u8; 4] = b"JIDX";
const VERSION: &[u8; 4] = b"0001";
/// Bytes before the first row.
pub const HEADER: u64 = 16;
/// Bytes of one column of a row.
pub const CELL_BYTES: usize = 24;
/// Maximum number of columns; no sensible file has more.
const MAX_COLUMNS: u64 = 1 << 16;
/// Bytes passed to the operating system at a time.
const WRITE_BYTES: usize = 256 << 10;

/// One cell of a row: the location of the sample of one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Position of the shard in the member's split, from 0.
    pub shard: i64,
    /// Offset of the sample in the shard, in bytes.
    pub byte_offset: i64,
    /// Size of the sample, in bytes.
    pub byte_size: i64,
}

impl Cell {
    /// Marks a sample that the member lacks.
    pub const NOTHING: Self = Self { shard: -1, byte_offset: -1, byte_size: -1 };

    /// Returns the bytes as stored in the file.
    pub fn to_bytes(self) -> [u8; CELL_BYTES] {
        let mut bytes = [0; CELL_BYTES];
        for (place, value) in bytes.chunks_exact_mut(8).zip([self.shard, self.byte_offset, self.byte_size]) {
            place.copy_from_slice(&value.to_le_bytes());
        }
        bytes
    }

    /// Parses a cell from at least [`CELL_BYTES`] bytes; missing bytes are read as zeros.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let word = |at: usize| {
            let mut word = [0; 8];
            word.iter_mut().zip(bytes.iter().skip(at)).for_each(|(to, from)| *to = *from);
            i64::from_le_bytes(word)
        };
        Self { shard: word(0), byte_offset: word(8), byte_size: word(16) }
    }
}

/// Returns the header of a file with this number of columns.
pub fn header(columns: usize) -> [u8; HEADER as usize] {
    let mut bytes = [0; HEADER as usize];
    let parts = MAGIC.iter().chain(VERSION).copied().chain((columns as u64).to_le_bytes());
    bytes.iter_mut().zip(parts).for_each(|(to, from)| *to = from);
    bytes
}

/// Writes rows one at a time.
pub struct JoinIdxWriter {
    file: BufferedFile,
}

impl JoinIdxWriter {
    /// Begins a file with this number of columns.
    pub fn new(file: Box<dyn WriteFile>, columns: usize) -> Outcome<Self> {
        let mut file = BufferedFile::new(file, WRITE_BYTES);
        file.write_all(&header(columns))?;
        Ok(Self { file })
    }
    /// Adds a row: the concatenated bytes of its cells.
    pub fn push(&mut self, cells: &[u8]) -> Outcome<()> {
        self.file.write_all(cells)
    }
    /// Makes everything durable and returns the size in bytes.
    pub fn finish(self) -> Outcome<u64> {
        self.file.finish()
    }
}

/// A join index file, open for reading.
#[derive(Debug)]
pub struct JoinIdx {
    file: ReadFile,
    columns: usize,
    rows: u64,
}

impl JoinIdx {
    /// Opens a file and checks its header and its length.
    pub fn open(path: &Path) -> Outcome<Self> {
        let file = open_read(path)?;
        let broken = |why: String| {
            Failure::data(ACTIVITY, why)
                .on(Subject::path(path))
                .with_hint("`gristmill prepare META.yaml` writes it again")
        };
        let mut bytes = [0; HEADER as usize];
        if file.len() < HEADER {
            return Err(broken(format!(
                "it has {}, and its header alone has {HEADER}",
                gristmill_core::text::count(file.len(), "byte")
            )));
        }
        file.read_exact_at(&mut bytes, 0).map_err(|error| Failure::io(ACTIVITY, path, &error))?;
        let (magic, columns) = bytes.split_at(8);
        if !magic.starts_with(MAGIC) {
            return Err(broken("it does not begin with JIDX".into()));
        }
        if !magic.ends_with(VERSION) {
            return Err(broken("it is of another version than 0001".into()));
        }
        let columns = columns.iter().rev().fold(0u64, |value, &byte| (value << 8) | u64::from(byte));
        if columns == 0 || columns > MAX_COLUMNS {
            return Err(broken(format!("it has {} columns", columns as i64)));
        }
        let row = columns * CELL_BYTES as u64;
        if !(file.len() - HEADER).is_multiple_of(row) {
            return Err(broken(format!(
                "its length of {} is not a header and whole rows of {row} bytes",
                gristmill_core::text::count(file.len(), "byte")
            )));
        }
        Ok(Self { rows: (file.len() - HEADER) / row, columns: columns as usize, file })
    }
    /// Returns the number of members of the join.
    pub fn columns(&self) -> usize {
        self.columns
    }
    /// Returns the number of joined samples.
    pub fn rows(&self) -> u64 {
        self.rows
    }
    /// Returns one row; `None` after the last one.
    pub fn row(&self, index: u64) -> Outcome<Option<Vec<Cell>>> {
        if index >= self.rows {
            return Ok(None);
        }
        let mut bytes = vec![0; self.columns * CELL_BYTES];
        let at = HEADER + index * bytes.len() as u64;
        self.file.read_exact_at(&mut bytes, at).map_err(|error| Failure::io(ACTIVITY, self.file.path(), &error))?;
        Ok(Some(bytes.chunks_exact(CELL_BYTES).map(Cell::from_bytes).collect()))
    }
    /// Returns the number of rows in which a member lacks the sample.
    pub fn rows_with_nothing(&self) -> Outcome<u64> {
        let row = self.columns * CELL_BYTES;
        let (mut bytes, mut first, mut found) = (Vec::new(), 0, 0);
        while first < self.rows {
            let count = ((WRITE_BYTES / row).max(1) as u64).min(self.rows - first);
            self.read_rows(first, count, &mut bytes)?;
            let is_nothing =
                |row: &[u8]| row.chunks_exact(CELL_BYTES).any(|cell| Cell::from_bytes(cell) == Cell::NOTHING);
            found += bytes.chunks_exact(row).filter(|row| is_nothing(row)).count() as u64;
            first += count;
        }
        Ok(found)
    }
    /// Returns the number of the first row that differs from the row of another file. If one file is a prefix of the other, this is its
    /// number of rows. `None` when all rows are equal.
    pub fn first_difference(&self, other: &Self, cancel: &gristmill_core::Cancel) -> Outcome<Option<u64>> {
        if self.columns != other.columns {
            return Ok(Some(0));
        }
        let row = self.columns * CELL_BYTES;
        let rows_at_once = (WRITE_BYTES / row).max(1) as u64;
        let common = self.rows.min(other.rows);
        let (mut mine, mut theirs) = (Vec::new(), Vec::new());
        let mut first = 0;
        while first < common {
            cancel.check()?;
            let count = rows_at_once.min(common - first);
            self.read_rows(first, count, &mut mine)?;
            other.read_rows(first, count, &mut theirs)?;
            if mine != theirs {
                let differs = mine.chunks_exact(row).zip(theirs.chunks_exact(row)).take_while(|(a, b)| a == b).count();
                return Ok(Some(first + differs as u64));
            }
            first += count;
        }
        Ok((self.rows != other.rows).then_some(common))
    }
    fn read_rows(&self, first: u64, count: u64, bytes: &mut Vec<u8>) -> Outcome<()> {
        let row = (self.columns * CELL_BYTES) as u64;
        bytes.resize((count * row) as usize, 0);
        let at = HEADER + first * row;
        self.file.read_exact_at(bytes, at).map_err(|error| Failure::io(ACTIVITY, self.file.path(), &error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_core::Cancel;
    use gristmill_storage::fs::{Fs as _, RealFs};
    use gristmill_storage::publish::write_file;
    use std::path::PathBuf;

    fn written(dir: &Path, name: &str, rows: &[[Cell; 2]]) -> PathBuf {
        let path = dir.join(name);
        let mut writer = JoinIdxWriter::new(RealFs.create_file(&path).unwrap(), 2).unwrap();
        for row in rows {
            let bytes: Vec<u8> = row.iter().flat_map(|cell| cell.to_bytes()).collect();
            writer.push(&bytes).unwrap();
        }
        assert_eq!(writer.finish().unwrap(), HEADER + (rows.len() * 2 * CELL_BYTES) as u64);
        path
    }

    fn cell(n: i64) -> Cell {
        Cell { shard: n, byte_offset: 512 * n, byte_size: 1024 }
    }

    #[test]
    fn join_index_rows_are_read_as_written() {
        let dir = tempfile::tempdir().unwrap();
        let rows = [[cell(0), Cell::NOTHING], [cell(1), cell(i64::MAX / 512)]];
        let path = written(dir.path(), "a", &rows);
        let idx = JoinIdx::open(&path).unwrap();
        assert_eq!((idx.columns(), idx.rows()), (2, 2));
        assert_eq!(idx.row(0).unwrap().unwrap(), rows[0]);
        assert_eq!(idx.row(1).unwrap().unwrap(), rows[1]);
        assert_eq!(idx.row(2).unwrap(), None);
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(&bytes[..16], b"JIDX0001\x02\0\0\0\0\0\0\0");
        assert_eq!(&bytes[40..64], [0xff; 24]);
    }

    #[test]
    fn invalid_join_index_is_refused_with_the_reason() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        for (bytes, why) in [
            (&b""[..], "its header alone has 16"),
            (b"JIDX0001", "its header alone has 16"),
            (b"IDX00001\x01\0\0\0\0\0\0\0", "does not begin with JIDX"),
            (b"JIDX0002\x01\0\0\0\0\0\0\0", "another version"),
            (b"JIDX0001\0\0\0\0\0\0\0\0", "it has 0 columns"),
            (b"JIDX0001\xff\xff\xff\xff\xff\xff\xff\xff", "it has -1 columns"),
            (b"JIDX0001\x01\0\0\0\0\0\0\0cut", "whole rows of 24 bytes"),
        ] {
            write_file(&RealFs, &path, bytes, 0o644).unwrap();
            let failure = JoinIdx::open(&path).unwrap_err();
            assert!(failure.why.contains(why), "{}", failure.why);
            assert!(failure.hint.is_some());
        }
    }

    #[test]
    fn first_different_row_of_join_indexes_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let rows: Vec<[Cell; 2]> = (0..20_000).map(|n| [cell(n), cell(n + 1)]).collect();
        let whole = JoinIdx::open(&written(dir.path(), "a", &rows)).unwrap();
        let mut other = rows.clone();
        other[15_321][1] = Cell::NOTHING;
        let changed = JoinIdx::open(&written(dir.path(), "b", &other)).unwrap();
        let short = JoinIdx::open(&written(dir.path(), "c", &rows[..19_000])).unwrap();
        let cancel = Cancel::default();
        assert_eq!(whole.first_difference(&whole, &cancel).unwrap(), None);
        assert_eq!(whole.first_difference(&changed, &cancel).unwrap(), Some(15_321));
        assert_eq!(whole.first_difference(&short, &cancel).unwrap(), Some(19_000));
    }
}
