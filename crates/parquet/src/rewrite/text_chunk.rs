//! Writes a text column in a row group: with a dictionary if that saves space, otherwise in PLAIN encoding.

use super::bounds::Bounds;
use super::pages::{PageContent, PageFormat, PageWriter, WrittenChunk, PLAIN, RLE_DICTIONARY};
use super::Output;
use crate::runs::{bit_width, pack_values, RunWriter};
use gristmill_core::Outcome;
use std::collections::HashMap;

/// Size in bytes of the values at which a page ends.
const PAGE_BYTES: usize = 1 << 20;
/// Number of rows at which a page ends.
pub(crate) const PAGE_ROWS: u32 = 20_000;
/// Maximum size of the dictionary in bytes.
const MAX_DICTIONARY_BYTES: usize = 1 << 20;
/// Maximum number of rows that are buffered until the dictionary is complete.
const MAX_WAITING_ROWS: usize = 1 << 20;

/// A row that is buffered until the dictionary is complete.
#[derive(Clone, Copy, Debug)]
enum WaitingRow {
    /// A value, as its index in the dictionary.
    Value(u32),
    /// A null, as its definition level.
    Null(u32),
}

/// State of the encoding.
#[derive(Debug)]
enum Mode {
    /// Rows are buffered, because further entries may follow.
    Collecting(Dictionary, Vec<WaitingRow>),
    /// The dictionary is written, and pages refer to it.
    Indexed(Dictionary),
    Plain,
}

/// Distinct values, in PLAIN encoding.
#[derive(Debug, Default)]
struct Dictionary {
    numbers: HashMap<Box<[u8]>, u32>,
    bytes: Vec<u8>,
    /// Offset of the end of each entry.
    ends: Vec<usize>,
    /// Size in bytes of the values without a dictionary.
    plain_bytes: usize,
}

impl Dictionary {
    fn add(&mut self, value: &[u8]) -> u32 {
        self.plain_bytes += value.len() + 4;
        if let Some(number) = self.numbers.get(value) {
            return *number;
        }
        let number = self.ends.len() as u32;
        self.numbers.insert(value.into(), number);
        push_plain(&mut self.bytes, value);
        self.ends.push(self.bytes.len());
        number
    }

    fn entry(&self, number: u32) -> &[u8] {
        let number = number as usize;
        let start = number.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or_default();
        self.ends.get(number).and_then(|end| self.bytes.get(start + 4..*end)).unwrap_or_default()
    }
}

fn push_plain(out: &mut Vec<u8>, value: &[u8]) {
    out.extend_from_slice(&(value.len() as u32).to_le_bytes());
    out.extend_from_slice(value);
}

/// The page that is being filled.
#[derive(Debug)]
struct OpenPage {
    levels: RunWriter,
    rows: u32,
    nulls: u32,
    /// Values in PLAIN encoding.
    bytes: Vec<u8>,
    /// Indices of entries in the dictionary.
    numbers: Vec<u32>,
    bounds: Bounds,
}

/// Writes texts sequentially.
pub(crate) struct TextChunkWriter {
    pages: PageWriter,
    max_definition: u32,
    has_bounds: bool,
    mode: Mode,
    page: OpenPage,
    index_page: Vec<u8>,
}

impl TextChunkWriter {
    /// Starts a column at offset `start` of the file. Without `has_bounds`, minimum and maximum are not computed.
    pub(crate) fn new(format: PageFormat, start: u64, has_dictionary: bool, has_bounds: bool) -> Outcome<Self> {
        let mode = match has_dictionary {
            true => Mode::Collecting(Dictionary::default(), Vec::new()),
            false => Mode::Plain,
        };
        let page = OpenPage {
            levels: RunWriter::new(format.max_definition),
            rows: 0,
            nulls: 0,
            bytes: Vec::new(),
            numbers: Vec::new(),
            bounds: Bounds::default(),
        };
        let max_definition = format.max_definition;
        Ok(Self { pages: PageWriter::new(format, start)?, max_definition, has_bounds, mode, page, index_page: vec![] })
    }

    /// Adds a row without a value.
    pub(crate) fn add_null(&mut self, level: u32, out: &mut Output<'_>) -> Outcome<()> {
        match &mut self.mode {
            Mode::Collecting(_, rows) => {
                rows.push(WaitingRow::Null(level));
                self.check_waiting(out)
            }
            Mode::Indexed(_) | Mode::Plain => self.append_null(level, out),
        }
    }

    /// Adds a row.
    pub(crate) fn add(&mut self, value: &[u8], out: &mut Output<'_>) -> Outcome<()> {
        match &mut self.mode {
            Mode::Collecting(dictionary, rows) => {
                rows.push(WaitingRow::Value(dictionary.add(value)));
                self.check_waiting(out)
            }
            Mode::Indexed(dictionary) => match dictionary.numbers.get(value).copied() {
                Some(number) => self.append_number(number, value, out),
                None => {
                    self.write_page(out)?;
                    self.mode = Mode::Plain;
                    self.append_plain(value, out)
                }
            },
            Mode::Plain => self.append_plain(value, out),
        }
    }

    /// Writes the remaining rows and ends the column.
    pub(crate) fn finish(mut self, out: &mut Output<'_>) -> Outcome<WrittenChunk> {
        self.write_collected_rows(true, out)?;
        self.write_page(out)?;
        Ok(self.pages.finish())
    }

    fn check_waiting(&mut self, out: &mut Output<'_>) -> Outcome<()> {
        match &self.mode {
            Mode::Collecting(dictionary, rows)
                if dictionary.bytes.len() > MAX_DICTIONARY_BYTES || rows.len() >= MAX_WAITING_ROWS =>
            {
                let saves = dictionary.plain_bytes / 2 >= dictionary.bytes.len();
                self.write_collected_rows(saves, out)
            }
            _ => Ok(()),
        }
    }

    /// Writes the dictionary if it saves space, and the buffered rows.
    fn write_collected_rows(&mut self, saves: bool, out: &mut Output<'_>) -> Outcome<()> {
        let (dictionary, rows) = match std::mem::replace(&mut self.mode, Mode::Plain) {
            Mode::Collecting(dictionary, rows) => (dictionary, rows),
            other => {
                self.mode = other;
                return Ok(());
            }
        };
        let is_indexed = saves && !dictionary.ends.is_empty();
        if is_indexed {
            self.pages.write_dictionary(dictionary.ends.len() as u32, &dictionary.bytes, out)?;
        }
        for row in rows {
            match row {
                WaitingRow::Null(level) => self.append_null(level, out)?,
                WaitingRow::Value(number) if is_indexed => {
                    self.append_number(number, dictionary.entry(number), out)?;
                }
                WaitingRow::Value(number) => self.append_plain(dictionary.entry(number), out)?,
            }
        }
        if is_indexed {
            self.mode = Mode::Indexed(dictionary);
        }
        Ok(())
    }

    fn append_null(&mut self, level: u32, out: &mut Output<'_>) -> Outcome<()> {
        self.page.levels.append(level);
        self.page.nulls += 1;
        self.end_row(out)
    }

    fn append_number(&mut self, number: u32, value: &[u8], out: &mut Output<'_>) -> Outcome<()> {
        self.page.numbers.push(number);
        self.append_value(value, out)
    }

    fn append_plain(&mut self, value: &[u8], out: &mut Output<'_>) -> Outcome<()> {
        push_plain(&mut self.page.bytes, value);
        self.append_value(value, out)
    }

    fn append_value(&mut self, value: &[u8], out: &mut Output<'_>) -> Outcome<()> {
        self.page.levels.append(self.max_definition);
        if self.has_bounds {
            self.page.bounds.add(value);
        }
        self.end_row(out)
    }

    fn end_row(&mut self, out: &mut Output<'_>) -> Outcome<()> {
        self.page.rows += 1;
        match self.page.bytes.len() >= PAGE_BYTES || self.page.rows >= PAGE_ROWS {
            true => self.write_page(out),
            false => Ok(()),
        }
    }

    fn write_page(&mut self, out: &mut Output<'_>) -> Outcome<()> {
        let page = &mut self.page;
        if page.rows == 0 {
            return Ok(());
        }
        let is_indexed = !page.numbers.is_empty();
        if is_indexed {
            self.index_page.clear();
            // A width of 0 bits is avoided, as other writers do.
            let width = bit_width(page.numbers.iter().copied().max().unwrap_or_default()).max(1);
            self.index_page.push(width as u8);
            pack_values(&page.numbers, width, &mut self.index_page);
        }
        let levels = std::mem::replace(&mut page.levels, RunWriter::new(self.max_definition)).finish();
        let content = PageContent {
            encoding: if is_indexed { RLE_DICTIONARY } else { PLAIN },
            rows: page.rows,
            values: page.rows,
            nulls: page.nulls,
            repetition: &[],
            definition: &levels,
            bytes: if is_indexed { &self.index_page } else { &page.bytes },
            bounds: std::mem::take(&mut page.bounds),
        };
        self.pages.write_page(content, out)?;
        page.bytes.clear();
        page.bytes.shrink_to(2 * PAGE_BYTES);
        page.numbers.clear();
        (page.rows, page.nulls) = (0, 0);
        Ok(())
    }
}
