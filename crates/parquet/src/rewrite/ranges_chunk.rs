//! Writes the column of ranges in a row group: for each row, a list of structs with `start` and `end`.

use super::bounds::Bounds;
use super::pages::{PageContent, PageFormat, PageWriter, WrittenChunk, PLAIN};
use super::text_chunk::PAGE_ROWS;
use super::Output;
use crate::runs::RunWriter;
use gristmill_core::Outcome;
use std::ops::Range;

/// Definition levels of a missing list, an empty list, and a number.
const NO_LIST: u32 = 0;
const EMPTY_LIST: u32 = 1;
pub(crate) const MAX_DEFINITION: u32 = 4;
pub(crate) const MAX_REPETITION: u32 = 1;
/// Size in bytes of the numbers at which a page ends.
const PAGE_BYTES: usize = 1 << 20;

/// Writes the two leaf columns; the second is stored in memory, compressed, until the first is complete.
pub(crate) struct RangesWriter {
    starts: NumberWriter,
    ends: NumberWriter,
    end_pages: Vec<u8>,
}

/// Writes one leaf column.
struct NumberWriter {
    pages: PageWriter,
    repetition: RunWriter,
    definition: RunWriter,
    bytes: Vec<u8>,
    rows: u32,
    values: u32,
    nulls: u32,
}

impl RangesWriter {
    /// Starts the column at offset `start` of the file.
    pub(crate) fn new(format: PageFormat, start: u64) -> Outcome<Self> {
        let format = PageFormat { max_definition: MAX_DEFINITION, max_repetition: MAX_REPETITION, ..format };
        Ok(Self {
            starts: NumberWriter::new(format, start)?,
            ends: NumberWriter::new(format, 0)?,
            end_pages: Vec::new(),
        })
    }

    /// Adds a row; `None` for a row without a list.
    pub(crate) fn add(&mut self, ranges: Option<&[Range<usize>]>, out: &mut Output<'_>) -> Outcome<()> {
        self.starts.add(ranges, |range| range.start, out)?;
        in_memory(&mut self.end_pages, |out| self.ends.add(ranges, |range| range.end, out))
    }

    /// Ends both columns.
    pub(crate) fn finish(mut self, out: &mut Output<'_>) -> Outcome<[WrittenChunk; 2]> {
        self.starts.write_page(out)?;
        in_memory(&mut self.end_pages, |out| self.ends.write_page(out))?;
        let mut ends = self.ends.pages.finish();
        ends.shift(out.position());
        out.write(&self.end_pages)?;
        Ok([self.starts.pages.finish(), ends])
    }
}

/// Runs `write` with an output that appends to `memory`.
fn in_memory(memory: &mut Vec<u8>, write: impl FnOnce(&mut Output<'_>) -> Outcome<()>) -> Outcome<()> {
    let at = memory.len() as u64;
    let mut append = |bytes: &[u8]| {
        memory.extend_from_slice(bytes);
        Ok(())
    };
    write(&mut Output::new(&mut append, at))
}

impl NumberWriter {
    fn new(format: PageFormat, start: u64) -> Outcome<Self> {
        Ok(Self {
            pages: PageWriter::new(format, start)?,
            repetition: RunWriter::new(MAX_REPETITION),
            definition: RunWriter::new(MAX_DEFINITION),
            bytes: Vec::new(),
            rows: 0,
            values: 0,
            nulls: 0,
        })
    }

    fn add(
        &mut self,
        ranges: Option<&[Range<usize>]>,
        number: impl Fn(&Range<usize>) -> usize,
        out: &mut Output<'_>,
    ) -> Outcome<()> {
        match ranges {
            None | Some([]) => {
                self.add_levels(0, if ranges.is_some() { EMPTY_LIST } else { NO_LIST });
                self.nulls += 1;
            }
            Some(ranges) => {
                for (index, range) in ranges.iter().enumerate() {
                    self.add_levels(u32::from(index > 0), MAX_DEFINITION);
                    self.bytes.extend_from_slice(&(number(range) as u64).to_le_bytes());
                }
            }
        }
        self.rows += 1;
        match self.bytes.len() >= PAGE_BYTES || self.rows >= PAGE_ROWS {
            true => self.write_page(out),
            false => Ok(()),
        }
    }

    fn add_levels(&mut self, repetition: u32, definition: u32) {
        self.repetition.append(repetition);
        self.definition.append(definition);
        self.values += 1;
    }

    fn write_page(&mut self, out: &mut Output<'_>) -> Outcome<()> {
        if self.rows == 0 {
            return Ok(());
        }
        let repetition = std::mem::replace(&mut self.repetition, RunWriter::new(MAX_REPETITION)).finish();
        let definition = std::mem::replace(&mut self.definition, RunWriter::new(MAX_DEFINITION)).finish();
        let content = PageContent {
            encoding: PLAIN,
            rows: self.rows,
            values: self.values,
            nulls: self.nulls,
            repetition: &repetition,
            definition: &definition,
            bytes: &self.bytes,
            bounds: Bounds::default(),
        };
        self.pages.write_page(content, out)?;
        self.bytes.clear();
        (self.rows, self.values, self.nulls) = (0, 0, 0);
        Ok(())
    }
}
