//! The entries of a scanned shard by name, read from its spool, for probing media.

use super::rows::{Record, RowReader};
use super::SpooledShard;
use gristmill_core::Outcome;

/// The position of an entry's content in the (decompressed) archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Offset of its first byte.
    pub offset: u64,
    /// Length of the content in bytes.
    pub size: u64,
}

/// Iterator over the entries of samples that have a row, in archive order.
///
/// A spool stores a sample's key after its parts, so a second reader reads one sample ahead, and no sample is held in memory.
pub struct Entries {
    ahead: RowReader,
    current: RowReader,
    /// Number of parts of the sample read by `ahead` that were not returned yet.
    left: u64,
}

impl Entries {
    /// Opens a spool.
    pub fn of(spool: &SpooledShard) -> Outcome<Self> {
        Ok(Self { ahead: spool.open_rows()?, current: spool.open_rows()?, left: 0 })
    }

    /// Reads the next entry. Sets `name` to its name in the media tables, `key.part`.
    pub fn next(&mut self, name: &mut String) -> Outcome<Option<Entry>> {
        if self.left == 0 && !self.next_sample()? {
            return Ok(None);
        }
        self.left -= 1;
        let entry = self.next_part()?;
        name.clear();
        let text = |bytes| std::str::from_utf8(bytes).map_err(|_| self.current.damaged());
        name.push_str(text(self.ahead.key())?);
        name.push('.');
        name.push_str(text(self.current.part_name())?);
        Ok(Some(entry))
    }

    /// Advances to the next sample that has parts.
    fn next_sample(&mut self) -> Outcome<bool> {
        loop {
            match self.ahead.next()? {
                None => return Ok(false),
                Some(Record::Part { .. }) => self.left += 1,
                Some(Record::Sample { .. }) if self.left > 0 => return Ok(true),
                Some(Record::Sample { .. }) => {}
                Some(Record::Hidden) => {
                    while self.left > 0 {
                        self.next_part()?;
                        self.left -= 1;
                    }
                }
            }
        }
    }

    fn next_part(&mut self) -> Outcome<Entry> {
        loop {
            match self.current.next()? {
                Some(Record::Part { offset, size }) => return Ok(Entry { offset, size }),
                Some(_) => {}
                None => return Err(self.current.damaged()),
            }
        }
    }
}
