//! Copies or writes the data between the last row group and the footer: page indexes and Bloom filters.

use super::column::{chunk_field, column_index, metadata_field, move_offset_index, offset_index};
use super::pages::WrittenChunk;
use super::schema::columns_of;
use super::{group_field, Output, Rewriter};
use crate::raw_struct::{wire, RawStruct};
use gristmill_core::Outcome;
use std::ops::Range;

/// Number of bytes that contain the header of a Bloom filter.
const BLOOM_HEADER_BYTES: u64 = 256;

/// Location of the pages of a column in the new file.
#[derive(Clone, Debug)]
pub(crate) enum ChunkPlacement {
    /// Copied; the offset differs from that in the old file by this number of bytes.
    Moved(i64),
    New(WrittenChunk),
}

/// Writes the indexes of all columns. New columns have an index if others have one.
pub(crate) fn write_indexes(
    rewriter: &Rewriter<'_>,
    groups: &mut [RawStruct],
    placed: &[Vec<ChunkPlacement>],
    out: &mut Output<'_>,
) -> Outcome<()> {
    for (group, placed) in groups.iter_mut().zip(placed) {
        let mut columns = rewriter.checked(columns_of(group))?;
        let has_index = columns.iter().any(|column| column.has(chunk_field::OFFSET_INDEX.0));
        for (column, placed) in columns.iter_mut().zip(placed) {
            match placed {
                ChunkPlacement::Moved(by) => move_indexes(rewriter, column, *by, out)?,
                ChunkPlacement::New(chunk) => write_new(column, chunk, has_index, out)?,
            }
        }
        let columns: Vec<Vec<u8>> = columns.iter().map(RawStruct::encode).collect();
        group.set_list(group_field::COLUMNS, wire::STRUCT, &columns);
    }
    Ok(())
}

fn write_new(column: &mut RawStruct, chunk: &WrittenChunk, has_index: bool, out: &mut Output<'_>) -> Outcome<()> {
    let had_bounds = column.has(chunk_field::COLUMN_INDEX.0);
    column.remove(chunk_field::COLUMN_INDEX.0);
    column.remove(chunk_field::COLUMN_INDEX.1);
    if let Some(index) = column_index(chunk).filter(|_| had_bounds) {
        write_part(column, chunk_field::COLUMN_INDEX, &index, out)?;
    }
    if has_index {
        write_part(column, chunk_field::OFFSET_INDEX, &offset_index(chunk), out)?;
    }
    Ok(())
}

/// Writes an index or filter, and sets its offset and size in the entry of the column.
fn write_part(fields: &mut RawStruct, (at, size): (i16, i16), part: &[u8], out: &mut Output<'_>) -> Outcome<()> {
    fields.set_i64(at, out.position()).set_i32(size, i32::try_from(part.len()).unwrap_or(i32::MAX));
    out.write(part)
}

fn move_indexes(rewriter: &Rewriter<'_>, column: &mut RawStruct, by: i64, out: &mut Output<'_>) -> Outcome<()> {
    let (mut metadata, _) =
        rewriter.checked(RawStruct::parse(column.get(chunk_field::METADATA).unwrap_or_default()))?;
    if let Some(range) = bloom_filter(rewriter, &metadata)? {
        let (at, size) = metadata_field::BLOOM_FILTER;
        metadata.set_i64(at, out.position());
        metadata.set_i32(size, i32::try_from(range.end - range.start).unwrap_or(i32::MAX));
        rewriter.copy(&range, out)?;
    }
    column.set_struct(chunk_field::METADATA, &metadata);
    if let Some(range) = part_range(rewriter, column, chunk_field::COLUMN_INDEX)? {
        column.set_i64(chunk_field::COLUMN_INDEX.0, out.position());
        rewriter.copy(&range, out)?;
    }
    if let Some(range) = part_range(rewriter, column, chunk_field::OFFSET_INDEX)? {
        let mut index = vec![0; usize::try_from(range.end - range.start).unwrap_or_default()];
        rewriter.file.read_at(&mut index, range.start)?;
        let moved = rewriter.checked(move_offset_index(&index, by))?;
        write_part(column, chunk_field::OFFSET_INDEX, &moved, out)?;
    }
    Ok(())
}

/// Returns the range of an index or filter in the old file; `None` if there is none.
fn part_range(rewriter: &Rewriter<'_>, fields: &RawStruct, (at, size): (i16, i16)) -> Outcome<Option<Range<u64>>> {
    let (Some(at), Some(size)) = (fields.get_int(at), fields.get_int(size)) else { return Ok(None) };
    let range = u64::try_from(at).ok().zip(u64::try_from(size).ok());
    let range = range.and_then(|(at, size)| Some(at..at.checked_add(size)?));
    match range.filter(|range| range.end <= rewriter.file.file().len()) {
        Some(range) => Ok(Some(range)),
        None => rewriter.checked(Err(crate::thrift::ThriftError::Malformed)),
    }
}

/// Returns the range of a Bloom filter in the old file. Old writers do not state its size, so it is read from its header.
fn bloom_filter(rewriter: &Rewriter<'_>, metadata: &RawStruct) -> Outcome<Option<Range<u64>>> {
    let (at, size) = metadata_field::BLOOM_FILTER;
    let Some(start) = metadata.get_int(at).and_then(|at| u64::try_from(at).ok()) else { return Ok(None) };
    if metadata.has(size) {
        return part_range(rewriter, metadata, (at, size));
    }
    let left = rewriter.file.file().len().saturating_sub(start).min(BLOOM_HEADER_BYTES);
    let mut bytes = vec![0; usize::try_from(left).unwrap_or_default()];
    rewriter.file.read_at(&mut bytes, start)?;
    let (header, header_bytes) = rewriter.checked(RawStruct::parse(&bytes))?;
    let bits = header.get_int(1).and_then(|size| u64::try_from(size).ok());
    let end = bits.and_then(|bits| start.checked_add(header_bytes as u64)?.checked_add(bits));
    match end.filter(|end| *end <= rewriter.file.file().len()) {
        Some(end) => Ok(Some(start..end)),
        None => rewriter.checked(Err(crate::thrift::ThriftError::Malformed)),
    }
}
