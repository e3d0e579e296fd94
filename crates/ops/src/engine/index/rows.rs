//! The row spool: a shard's parts and samples in archive order, a few bytes each.
//!
//! A record begins with a number: 0 is a sample, 1 a sample without a key, 2 a part with its name, 3 a part with its name, which is
//! assigned the next number, and n ≥ 4 a part with the name number n − 4. Offsets are differences to the previous end.

use gristmill_core::{HiddenSample, Outcome, PartRow, SampleRow};
use gristmill_storage::sort::bytes::{push_delta, push_int, push_text, SpoolFile, SpoolReader, SpoolWriter};
use gristmill_storage::sort::{Run, Sorter};
use std::collections::HashMap;

const SAMPLE: u64 = 0;
const HIDDEN: u64 = 1;
const PART: u64 = 2;
const PART_NAMED: u64 = 3;
const PART_KNOWN: u64 = 4;

/// Maximum number of numbered names. Further names, and longer ones, are written out each time. This limits the memory of writer and
/// reader.
const MAX_NUMBERED_NAMES: usize = 4096;
const MAX_NUMBERED_NAME_BYTES: usize = 256;
/// Number of names that are compared linearly before the map lookup; few data sets have more names.
const FIRST_NAMES: usize = 6;

/// The ends of the previous content and the previous sample.
#[derive(Default)]
struct LastEnds {
    content: u64,
    sample: u64,
}

/// Writes a row spool.
pub(in crate::engine) struct RowWriter {
    out: SpoolWriter,
    /// The first names, which a linear search finds faster than `numbers`.
    first: Vec<Box<str>>,
    numbers: HashMap<Box<str>, u64>,
    key: Vec<u8>,
    ends: LastEnds,
}

impl RowWriter {
    pub(in crate::engine) fn new(out: SpoolWriter) -> Self {
        Self { out, first: Vec::new(), numbers: HashMap::new(), key: Vec::new(), ends: LastEnds::default() }
    }

    pub(in crate::engine) fn part(&mut self, row: PartRow<'_>) -> Outcome<()> {
        match self.number(row.part_name) {
            Some(number) => push_int(self.out.buffer(), PART_KNOWN + number),
            None => {
                let keep = self.numbers.len() < MAX_NUMBERED_NAMES && row.part_name.len() <= MAX_NUMBERED_NAME_BYTES;
                if keep {
                    self.numbers.insert(row.part_name.into(), self.numbers.len() as u64);
                    if self.first.len() < FIRST_NAMES {
                        self.first.push(row.part_name.into());
                    }
                }
                let out = self.out.buffer();
                push_int(out, if keep { PART_NAMED } else { PART });
                push_int(out, row.part_name.len() as u64);
                out.extend_from_slice(row.part_name.as_bytes());
            }
        }
        push_delta(self.out.buffer(), self.ends.content, row.content_byte_offset);
        push_int(self.out.buffer(), row.content_byte_size);
        self.ends.content = row.content_byte_offset.wrapping_add(row.content_byte_size);
        self.out.check()
    }

    fn number(&self, name: &str) -> Option<u64> {
        let early = self.first.iter().position(|known| &**known == name);
        early.map(|at| at as u64).or_else(|| self.numbers.get(name).copied())
    }

    pub(in crate::engine) fn sample(&mut self, row: SampleRow<'_>) -> Outcome<()> {
        let out = self.out.buffer();
        push_int(out, SAMPLE);
        push_text(out, &self.key, row.key.as_bytes());
        self.key.clear();
        self.key.extend_from_slice(row.key.as_bytes());
        self.place(row.byte_offset, row.byte_size)
    }

    pub(in crate::engine) fn hidden(&mut self, row: HiddenSample) -> Outcome<()> {
        push_int(self.out.buffer(), HIDDEN);
        self.place(row.byte_offset, row.byte_size)
    }

    fn place(&mut self, offset: u64, size: u64) -> Outcome<()> {
        let out = self.out.buffer();
        push_delta(out, self.ends.sample, offset);
        push_int(out, size);
        self.ends.sample = offset.wrapping_add(size);
        self.out.check()
    }

    /// Writes the last run of keys after the rows, and closes the file.
    pub(in crate::engine) fn finish(mut self, keys: &mut Sorter<1>) -> Outcome<(SpoolFile, Run)> {
        let run = keys.spill(&mut self.out)?;
        Ok((self.out.finish()?, run))
    }
}

/// One record of a row spool. Names and keys are stored in the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Record {
    /// A part; its name is [`RowReader::part_name`].
    Part { offset: u64, size: u64 },
    /// A sample; its key is [`RowReader::key`].
    Sample { offset: u64, size: u64 },
    /// A sample that has no row in the tables.
    Hidden,
}

/// Reads a row spool.
pub(in crate::engine) struct RowReader {
    from: SpoolReader,
    names: Vec<Vec<u8>>,
    /// Index in `names` of the current name; `None` if it is in `name`.
    known: Option<usize>,
    name: Vec<u8>,
    key: Vec<u8>,
    ends: LastEnds,
}

impl RowReader {
    pub(in crate::engine) fn new(from: SpoolReader) -> Self {
        let (names, name, key) = (Vec::new(), Vec::new(), Vec::new());
        Self { from, names, known: None, name, key, ends: LastEnds::default() }
    }

    /// Returns the name of the part last returned by [`next`](Self::next).
    pub(in crate::engine) fn part_name(&self) -> &[u8] {
        self.known.and_then(|number| self.names.get(number)).unwrap_or(&self.name)
    }

    /// Returns the key of the sample last returned by [`next`](Self::next).
    pub(in crate::engine) fn key(&self) -> &[u8] {
        &self.key
    }

    /// Returns the failure for a spool with an invalid format.
    pub(in crate::engine) fn damaged(&self) -> gristmill_core::Failure {
        self.from.damaged()
    }

    pub(in crate::engine) fn next(&mut self) -> Outcome<Option<Record>> {
        if self.from.at_end() {
            return Ok(None);
        }
        let record = match self.from.int()? {
            SAMPLE => {
                self.from.text(&mut self.key)?;
                let (offset, size) = self.place()?;
                Record::Sample { offset, size }
            }
            HIDDEN => {
                self.place()?;
                Record::Hidden
            }
            code => {
                self.read_name(code)?;
                let offset = self.from.delta(self.ends.content)?;
                let size = self.from.int()?;
                self.ends.content = offset.wrapping_add(size);
                Record::Part { offset, size }
            }
        };
        Ok(Some(record))
    }

    fn read_name(&mut self, code: u64) -> Outcome<()> {
        if code >= PART_KNOWN {
            let number = (code - PART_KNOWN) as usize;
            if number >= self.names.len() {
                return Err(self.from.damaged());
            }
            self.known = Some(number);
            return Ok(());
        }
        let bytes = self.from.int()?;
        self.name.clear();
        self.from.take(bytes, &mut self.name)?;
        self.known = None;
        if code == PART_NAMED {
            self.names.push(self.name.clone());
        }
        Ok(())
    }

    fn place(&mut self) -> Outcome<(u64, u64)> {
        let offset = self.from.delta(self.ends.sample)?;
        let size = self.from.int()?;
        self.ends.sample = offset.wrapping_add(size);
        Ok((offset, size))
    }
}
