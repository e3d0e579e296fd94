//! `sample_locations.bin`: the location of each sample, 24 bytes per sample (docs/formats/forager.md §1.2).

use gristmill_core::{Failure, Outcome, Subject};
use gristmill_storage::read::ReadFile;

/// Bytes of one row.
pub const ROW_BYTES: usize = 24;
/// Rows read at a time.
const ROWS_PER_READ: u64 = 16 << 10;

/// Location of a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Number of the file: its index in `file_location.txt`.
    pub file: u64,
    /// Offset in that file, in bytes.
    pub offset: u64,
    /// Length in bytes.
    pub bytes: u64,
}

impl Row {
    /// Returns the bytes as stored in the file.
    pub fn to_bytes(self) -> [u8; ROW_BYTES] {
        let mut bytes = [0; ROW_BYTES];
        for (place, number) in bytes.chunks_exact_mut(8).zip([self.file, self.offset, self.bytes]) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    /// Parses a row; returns `None` unless `bytes` has 24 bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut numbers = bytes.chunks_exact(8).map(|word| word.try_into().map_or(0, u64::from_le_bytes));
        let row = Self { file: numbers.next()?, offset: numbers.next()?, bytes: numbers.next()? };
        (bytes.len() == ROW_BYTES).then_some(row)
    }
}

/// The rows of an index.
#[derive(Debug)]
pub struct Rows {
    file: ReadFile,
}

impl Rows {
    /// Creates the rows of an open file. A size that is not a multiple of [`ROW_BYTES`] is a data failure.
    pub fn new(file: ReadFile) -> Outcome<Self> {
        if !file.len().is_multiple_of(ROW_BYTES as u64) {
            let why = format!(
                "its size of {} is not a multiple of {ROW_BYTES}",
                gristmill_core::text::count(file.len(), "byte")
            );
            return Err(Failure::data("reading the sample locations", why).on(Subject::path(file.path())));
        }
        Ok(Self { file })
    }

    /// Returns the number of samples.
    pub fn len(&self) -> u64 {
        self.file.len() / ROW_BYTES as u64
    }
    /// Whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns up to `count` rows from `first` on; fewer at the end.
    pub fn read(&self, first: u64, count: u64) -> Outcome<Vec<Row>> {
        let count = count.min(self.len().saturating_sub(first));
        let mut bytes = vec![0; usize::try_from(count).unwrap_or(usize::MAX / ROW_BYTES).saturating_mul(ROW_BYTES)];
        self.file
            .read_exact_at(&mut bytes, first.saturating_mul(ROW_BYTES as u64))
            .map_err(|error| Failure::io("reading the sample locations", self.file.path(), &error))?;
        Ok(bytes.chunks_exact(ROW_BYTES).filter_map(Row::from_bytes).collect())
    }

    /// Passes every row with its number to `take`, in order, until `take` fails.
    pub fn for_each_row(&self, mut take: impl FnMut(u64, Row) -> Outcome<()>) -> Outcome<()> {
        let mut first = 0;
        while first < self.len() {
            let rows = self.read(first, ROWS_PER_READ)?;
            for (number, row) in (first..).zip(&rows) {
                take(number, *row)?;
            }
            first += rows.len() as u64;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_storage::fs::RealFs;
    use gristmill_storage::publish::write_file;
    use gristmill_storage::read::open_read;

    #[test]
    fn sample_locations_are_read_as_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rows");
        let rows: Vec<Row> = (0..40_000).map(|n| Row { file: n / 7, offset: n << 33, bytes: n }).collect();
        let bytes: Vec<u8> = rows.iter().flat_map(|row| row.to_bytes()).collect();
        write_file(&RealFs, &path, &bytes, 0o644).unwrap();
        let read = Rows::new(open_read(&path).unwrap()).unwrap();
        let mut seen = Vec::new();
        read.for_each_row(|number, row| {
            assert_eq!(number, seen.len() as u64);
            seen.push(row);
            Ok(())
        })
        .unwrap();
        assert_eq!(seen, rows);
        assert_eq!((read.read(39_999, 10).unwrap(), read.read(50_000, 1).unwrap()), (vec![rows[39_999]], vec![]));
        write_file(&RealFs, &path, &bytes[..30], 0o644).unwrap();
        assert!(Rows::new(open_read(&path).unwrap()).unwrap_err().why.contains("multiple"));
    }
}
