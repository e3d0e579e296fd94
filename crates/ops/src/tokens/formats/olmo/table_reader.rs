//! Reads and validates tables of documents (docs/formats/olmo.md §3).

use flate2::bufread::MultiGzDecoder;
use gristmill_core::Cancel;
use gristmill_storage::read::open_read;
use std::io::{BufRead, BufReader, Read as _};
use std::path::Path;

/// Maximum size of a row in bytes.
const MAX_ROW_BYTES: u64 = 16 << 20;
/// Size of the read buffer, in bytes.
const BUFFER_BYTES: usize = 64 << 10;

/// Reads the rows of a table: for each document, the index of its first token and the index after its last token.
pub(super) struct TableReader {
    source: Box<dyn BufRead + Send>,
    row: Vec<u8>,
    rows: u64,
    end: u64,
}

impl TableReader {
    /// Opens a table.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub(super) fn open(path: &Path) -> Result<Self, String> {
        let file = open_read(path).map_err(|failure| failure.why)?.into_reader();
        let decoder = MultiGzDecoder::new(BufReader::with_capacity(BUFFER_BYTES, file));
        Ok(Self::of(BufReader::with_capacity(BUFFER_BYTES, decoder)))
    }

    fn of(source: impl BufRead + Send + 'static) -> Self {
        Self { source: Box::new(source), row: Vec::new(), rows: 0, end: 0 }
    }

    /// Returns the token range of the next document; `None` after the last one.
    ///
    /// # Errors
    /// The table is damaged, or the document does not start where the previous one ends.
    pub(super) fn next_row(&mut self) -> Result<Option<(u64, u64)>, String> {
        self.row.clear();
        // A quoted field may contain line breaks.
        while self.row.is_empty() || is_open(&self.row) {
            let left = MAX_ROW_BYTES.saturating_sub(self.row.len() as u64);
            let read = self.source.by_ref().take(left).read_until(b'\n', &mut self.row);
            match read.map_err(|error| format!("it cannot be decompressed: {error}"))? {
                0 if self.row.is_empty() => return Ok(None),
                0 => return Err(format!("row {} does not end", self.rows)),
                _ => {}
            }
        }
        let row = self.rows;
        let numbers = numbers(&self.row).ok_or_else(|| format!("row {row} does not begin with two numbers"))?;
        if numbers.0 != self.end || numbers.1 < numbers.0 {
            return Err(format!(
                "row {row} is from token {} to {}, after one that ends at {}",
                numbers.0, numbers.1, self.end
            ));
        }
        self.rows += 1;
        self.end = numbers.1;
        Ok(Some(numbers))
    }

    /// Reads the remaining rows, and returns the total number of documents and tokens.
    ///
    /// # Errors
    /// The table is damaged, or `cancel` is cancelled.
    pub(super) fn totals(mut self, cancel: &Cancel) -> Result<(u64, u64), String> {
        while self.next_row()?.is_some() {
            if cancel.is_cancelled() {
                return Err("cancelled".to_owned());
            }
        }
        Ok((self.rows, self.end))
    }
}

/// Whether the last field is quoted and continues in the next line.
fn is_open(row: &[u8]) -> bool {
    row.iter().filter(|byte| **byte == b'"').count() % 2 == 1
}

fn numbers(row: &[u8]) -> Option<(u64, u64)> {
    let mut fields = row.split(|byte| *byte == b',').map(|field| std::str::from_utf8(field).ok()?.parse().ok());
    Some((fields.next()??, fields.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(table: &'static str) -> Result<(u64, u64), String> {
        TableReader::of(table.as_bytes()).totals(&Cancel::default())
    }

    #[test]
    fn olmo_table_rows_must_be_consecutive_from_token_0() {
        assert_eq!(read(""), Ok((0, 0)));
        assert_eq!(read("0,3,a,b,1\r\n3,3,a,b,2\r\n3,9,\"a\n,\"\"9\",b,3\r\n"), Ok((3, 9)));
        assert!(read("1,3,a,b,1\r\n").unwrap_err().contains("row 0 is from token 1 to 3"));
        assert!(read("0,3,a,b,1\r\n4,5,a,b,1\r\n").unwrap_err().contains("row 1 is from token 4"));
        assert!(read("0,3,a,b,1\r\n3,2,a,b,1\r\n").unwrap_err().contains("to 2, after one that ends at 3"));
        for damaged in ["0", "0,x,a\r\n", "-1,2,a\r\n", "0,99999999999999999999,a\r\n", "\r\n"] {
            assert!(read(damaged).unwrap_err().contains("two numbers"), "{damaged}");
        }
        assert!(read("0,3,\"a").unwrap_err().contains("does not end"));
    }
}
