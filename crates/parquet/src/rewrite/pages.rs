//! Writes the pages of one column in one row group.

use super::bounds::Bounds;
use super::packer::Packer;
use super::Output;
use crate::raw_struct::RawStruct;
use gristmill_core::{Failure, Outcome};
use parquet::basic::CompressionCodec;
use std::collections::BTreeSet;

/// Numbers of encodings in the format.
pub(crate) const PLAIN: i32 = 0;
pub(crate) const RLE: i32 = 3;
pub(crate) const RLE_DICTIONARY: i32 = 8;

/// Format of the pages of a column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageFormat {
    pub(crate) codec: CompressionCodec,
    /// Whether data pages have version 2.
    pub(crate) is_version_2: bool,
    /// Maximum levels of the column.
    pub(crate) max_definition: u32,
    pub(crate) max_repetition: u32,
}

/// Content of a page before compression.
#[derive(Debug)]
pub(crate) struct PageContent<'a> {
    pub(crate) encoding: i32,
    pub(crate) rows: u32,
    /// Number of values including nulls.
    pub(crate) values: u32,
    pub(crate) nulls: u32,
    pub(crate) repetition: &'a [u8],
    pub(crate) definition: &'a [u8],
    pub(crate) bytes: &'a [u8],
    pub(crate) bounds: Bounds,
}

/// A data page that was written.
#[derive(Clone, Debug)]
pub(crate) struct WrittenPage {
    pub(crate) offset: u64,
    /// Size including the header, in bytes.
    pub(crate) size: u64,
    /// Number of its first row in the row group.
    pub(crate) first_row: u64,
    pub(crate) values: u32,
    pub(crate) nulls: u32,
    pub(crate) bounds: Bounds,
}

/// Facts about the written column of a row group.
#[derive(Clone, Debug, Default)]
pub(crate) struct WrittenChunk {
    pub(crate) start: u64,
    /// Offset of the dictionary.
    pub(crate) dictionary: Option<u64>,
    pub(crate) pages: Vec<WrittenPage>,
    /// Number of values including nulls.
    pub(crate) values: u64,
    pub(crate) rows: u64,
    pub(crate) nulls: u64,
    /// Total sizes including headers, before and after compression.
    pub(crate) unpacked: u64,
    pub(crate) packed: u64,
    pub(crate) encodings: BTreeSet<i32>,
    pub(crate) bounds: Bounds,
}

impl WrittenChunk {
    /// Adds `by` to all offsets.
    pub(crate) fn shift(&mut self, by: u64) {
        self.start += by;
        self.dictionary = self.dictionary.map(|at| at + by);
        self.pages.iter_mut().for_each(|page| page.offset += by);
    }
}

/// Writes the pages of a column sequentially.
pub(crate) struct PageWriter {
    format: PageFormat,
    packer: Packer,
    body: Vec<u8>,
    written: WrittenChunk,
}

impl PageWriter {
    /// Starts a column at offset `start` of the file.
    pub(crate) fn new(format: PageFormat, start: u64) -> Outcome<Self> {
        let written = WrittenChunk { start, ..WrittenChunk::default() };
        Ok(Self { format, packer: Packer::new(format.codec)?, body: Vec::new(), written })
    }

    /// Writes the dictionary, which must be the first page; `bytes` has its entries in PLAIN encoding.
    pub(crate) fn write_dictionary(&mut self, entries: u32, bytes: &[u8], out: &mut Output<'_>) -> Outcome<()> {
        let mut fields = RawStruct::default();
        fields.set_i32(1, size(u64::from(entries))?).set_i32(2, PLAIN).set_bool(3, false);
        self.written.dictionary = Some(out.position());
        self.written.encodings.insert(PLAIN);
        let packed = self.packer.pack(bytes)?;
        let header = header(2, (7, fields), bytes.len(), packed)?;
        self.written.unpacked += (header.len() + bytes.len()) as u64;
        self.written.packed += (header.len() + packed.len()) as u64;
        out.write(&header)?;
        out.write(packed)
    }

    /// Writes a data page.
    pub(crate) fn write_page(&mut self, page: PageContent<'_>, out: &mut Output<'_>) -> Outcome<()> {
        let offset = out.position();
        let written = match self.format.is_version_2 {
            true => self.write_version_2(&page, out)?,
            false => self.write_version_1(&page, out)?,
        };
        let chunk = &mut self.written;
        chunk.unpacked += written;
        let size = out.position() - offset;
        chunk.packed += size;
        chunk.encodings.extend([page.encoding, RLE]);
        let (first_row, values, nulls) = (chunk.rows, page.values, page.nulls);
        chunk.rows += u64::from(page.rows);
        chunk.values += u64::from(values);
        chunk.nulls += u64::from(nulls);
        chunk.bounds.join(&page.bounds);
        chunk.pages.push(WrittenPage { offset, size, first_row, values, nulls, bounds: page.bounds });
        Ok(())
    }

    /// Writes a page of version 1; returns its size before compression.
    fn write_version_1(&mut self, page: &PageContent<'_>, out: &mut Output<'_>) -> Outcome<u64> {
        self.body.clear();
        let of_levels = [(self.format.max_repetition, page.repetition), (self.format.max_definition, page.definition)];
        for (_, levels) in of_levels.iter().filter(|(max, _)| *max > 0) {
            self.body.extend_from_slice(&(levels.len() as u32).to_le_bytes());
            self.body.extend_from_slice(levels);
        }
        self.body.extend_from_slice(page.bytes);
        let mut fields = RawStruct::default();
        fields.set_i32(1, size(u64::from(page.values))?).set_i32(2, page.encoding).set_i32(3, RLE).set_i32(4, RLE);
        let packed = self.packer.pack(&self.body)?;
        let header = header(0, (5, fields), self.body.len(), packed)?;
        out.write(&header)?;
        out.write(packed)?;
        Ok((header.len() + self.body.len()) as u64)
    }

    fn write_version_2(&mut self, page: &PageContent<'_>, out: &mut Output<'_>) -> Outcome<u64> {
        // Some readers cannot decompress an empty body.
        let is_packed = self.packer.is_packing() && !page.bytes.is_empty();
        let packed = if is_packed { self.packer.pack(page.bytes)? } else { page.bytes };
        self.body.clear();
        for part in [page.repetition, page.definition, packed] {
            self.body.extend_from_slice(part);
        }
        let mut fields = RawStruct::default();
        fields.set_i32(1, size(u64::from(page.values))?);
        fields.set_i32(2, size(u64::from(page.nulls))?);
        fields.set_i32(3, size(u64::from(page.rows))?).set_i32(4, page.encoding);
        fields.set_i32(5, size(page.definition.len() as u64)?);
        fields.set_i32(6, size(page.repetition.len() as u64)?).set_bool(7, is_packed);
        let unpacked = page.repetition.len() + page.definition.len() + page.bytes.len();
        let header = header(3, (8, fields), unpacked, &self.body)?;
        out.write(&header)?;
        out.write(&self.body)?;
        Ok((header.len() + unpacked) as u64)
    }

    pub(crate) fn finish(self) -> WrittenChunk {
        self.written
    }
}

/// Encodes the header of a page with this body.
fn header(kind: i32, (id, fields): (i16, RawStruct), unpacked: usize, body: &[u8]) -> Outcome<Vec<u8>> {
    let mut header = RawStruct::default();
    header.set_i32(1, kind).set_i32(2, size(unpacked as u64)?).set_i32(3, size(body.len() as u64)?);
    header.set_i32(4, crc32fast::hash(body) as i32).set_struct(id, &fields);
    Ok(header.encode())
}

fn size(value: u64) -> Outcome<i32> {
    i32::try_from(value).map_err(|_| Failure::data("writing a page of Parquet", "it has more than 2 GiB"))
}
