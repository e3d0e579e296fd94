//! Footer entries of columns that are rewritten or moved.

use super::pages::WrittenChunk;
use crate::raw_struct::{binary, int, list, struct_list, wire, RawStruct};
use crate::thrift::ThriftResult;
use parquet::basic::CompressionCodec;

/// Fields of `ColumnChunk`.
pub(crate) mod chunk_field {
    pub(crate) const FILE_OFFSET: i16 = 2;
    pub(crate) const METADATA: i16 = 3;
    /// Offset and length.
    pub(crate) const OFFSET_INDEX: (i16, i16) = (4, 5);
    /// Offset and length.
    pub(crate) const COLUMN_INDEX: (i16, i16) = (6, 7);
}

/// Fields of `ColumnMetaData`.
pub(crate) mod metadata_field {
    pub(crate) const TYPE: i16 = 1;
    pub(crate) const ENCODINGS: i16 = 2;
    pub(crate) const PATH: i16 = 3;
    pub(crate) const CODEC: i16 = 4;
    pub(crate) const VALUES: i16 = 5;
    pub(crate) const UNPACKED: i16 = 6;
    pub(crate) const PACKED: i16 = 7;
    pub(crate) const DATA_PAGE: i16 = 9;
    pub(crate) const INDEX_PAGE: i16 = 10;
    pub(crate) const DICTIONARY_PAGE: i16 = 11;
    pub(crate) const STATISTICS: i16 = 12;
    pub(crate) const ENCODING_STATISTICS: i16 = 13;
    /// Offset and length.
    pub(crate) const BLOOM_FILTER: (i16, i16) = (14, 15);
    pub(crate) const SIZE_STATISTICS: i16 = 16;
}

/// Fields of `Statistics`.
pub(crate) mod statistics_field {
    pub(crate) const NULLS: i16 = 3;
    pub(crate) const MAX: i16 = 5;
    pub(crate) const MIN: i16 = 6;
    pub(crate) const MAX_IS_EXACT: i16 = 7;
    pub(crate) const MIN_IS_EXACT: i16 = 8;
}

const INT64: i32 = 2;

/// Whether the entry of a column has a minimum or a maximum.
pub(crate) fn has_bounds(column: &RawStruct) -> bool {
    statistics(column).is_some_and(|old| old.has(statistics_field::MIN) || old.has(statistics_field::MAX))
}

fn statistics(column: &RawStruct) -> Option<RawStruct> {
    let (metadata, _) = RawStruct::parse(column.get(chunk_field::METADATA)?).ok()?;
    RawStruct::parse(metadata.get(metadata_field::STATISTICS)?).ok().map(|(old, _)| old)
}

/// Adjusts the offsets in the entry of a column whose pages are copied.
pub(crate) fn shift_column_offsets(column: &mut RawStruct, by: i64) -> ThriftResult<()> {
    use metadata_field as f;
    let (mut metadata, _) = RawStruct::parse(column.get(chunk_field::METADATA).unwrap_or_default())?;
    for field in [f::DATA_PAGE, f::INDEX_PAGE, f::DICTIONARY_PAGE] {
        shift_offset_field(&mut metadata, field, by);
    }
    column.set_struct(chunk_field::METADATA, &metadata);
    shift_offset_field(column, chunk_field::FILE_OFFSET, by);
    Ok(())
}

/// Adjusts an offset; 0 means that there is none.
fn shift_offset_field(fields: &mut RawStruct, id: i16, by: i64) {
    if let Some(at) = fields.get_int(id).filter(|at| *at != 0) {
        fields.set_i64(id, u64::try_from(at.saturating_add(by)).unwrap_or_default());
    }
}

/// Updates the entry of a column to the written pages. Minimum, maximum and number of nulls are written only if the entry had them before.
pub(crate) fn replace_column(column: &mut RawStruct, chunk: &WrittenChunk) -> ThriftResult<()> {
    use metadata_field as f;
    let old = statistics(column);
    let (mut metadata, _) = RawStruct::parse(column.get(chunk_field::METADATA).unwrap_or_default())?;
    for field in [f::INDEX_PAGE, f::DICTIONARY_PAGE, f::STATISTICS, f::ENCODING_STATISTICS, f::SIZE_STATISTICS] {
        metadata.remove(field);
    }
    metadata.remove(f::BLOOM_FILTER.0);
    metadata.remove(f::BLOOM_FILTER.1);
    set_pages(&mut metadata, chunk);
    if let Some(old) = old {
        let mut new = RawStruct::default();
        if old.has(statistics_field::NULLS) {
            new.set_i64(statistics_field::NULLS, chunk.nulls);
        }
        if let (true, Some((min, is_exact))) = (old.has(statistics_field::MIN), chunk.bounds.min()) {
            new.set_binary(statistics_field::MIN, min).set_bool(statistics_field::MIN_IS_EXACT, is_exact);
        }
        if let (true, Some((max, is_exact))) = (old.has(statistics_field::MAX), chunk.bounds.max()) {
            new.set_binary(statistics_field::MAX, &max).set_bool(statistics_field::MAX_IS_EXACT, is_exact);
        }
        metadata.set_struct(f::STATISTICS, &new);
    }
    if column.get_int(chunk_field::FILE_OFFSET).is_some_and(|at| at != 0) {
        column.set_i64(chunk_field::FILE_OFFSET, chunk.start);
    }
    column.set_struct(chunk_field::METADATA, &metadata);
    Ok(())
}

fn set_pages(metadata: &mut RawStruct, chunk: &WrittenChunk) {
    use metadata_field as f;
    let encodings: Vec<Vec<u8>> = chunk.encodings.iter().map(|encoding| int(i64::from(*encoding))).collect();
    metadata.set_list(f::ENCODINGS, wire::I32, &encodings);
    metadata.set_i64(f::VALUES, chunk.values);
    metadata.set_i64(f::UNPACKED, chunk.unpacked).set_i64(f::PACKED, chunk.packed);
    metadata.set_i64(f::DATA_PAGE, chunk.pages.first().map_or(chunk.start, |page| page.offset));
    if let Some(at) = chunk.dictionary {
        metadata.set_i64(f::DICTIONARY_PAGE, at);
    }
}

/// Returns the entry of a new column of numbers.
pub(crate) fn new_column(path: &[&str], codec: CompressionCodec, chunk: &WrittenChunk) -> RawStruct {
    use metadata_field as f;
    let mut metadata = RawStruct::default();
    let path: Vec<Vec<u8>> = path.iter().map(|name| binary(name.as_bytes())).collect();
    metadata.set_i32(f::TYPE, INT64).set_list(f::PATH, wire::BINARY, &path).set_i32(f::CODEC, codec as i32);
    set_pages(&mut metadata, chunk);
    let mut column = RawStruct::default();
    column.set_i64(chunk_field::FILE_OFFSET, 0).set_struct(chunk_field::METADATA, &metadata);
    column
}

/// Encodes an offset index, which lists the locations of pages.
pub(crate) fn offset_index(chunk: &WrittenChunk) -> Vec<u8> {
    let location = |page: &super::pages::WrittenPage| {
        let mut location = RawStruct::default();
        location.set_i64(1, page.offset).set_i32(2, i32::try_from(page.size).unwrap_or(i32::MAX));
        location.set_i64(3, page.first_row);
        location.encode()
    };
    let mut index = RawStruct::default();
    index.set_list(1, wire::STRUCT, &chunk.pages.iter().map(location).collect::<Vec<_>>());
    index.encode()
}

/// Adjusts the offsets in an offset index.
pub(crate) fn move_offset_index(bytes: &[u8], by: i64) -> ThriftResult<Vec<u8>> {
    let (mut index, _) = RawStruct::parse(bytes)?;
    let mut locations = struct_list(index.get(1).unwrap_or(&[wire::STRUCT]))?;
    locations.iter_mut().for_each(|location| shift_offset_field(location, 1, by));
    index.set_list(1, wire::STRUCT, &locations.iter().map(RawStruct::encode).collect::<Vec<_>>());
    Ok(index.encode())
}

/// Encodes a column index, which lists minimum and maximum of pages; `None` if a page has no short bound.
pub(crate) fn column_index(chunk: &WrittenChunk) -> Option<Vec<u8>> {
    let (mut are_null, mut min, mut max, mut nulls) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for page in &chunk.pages {
        let is_null = page.nulls == page.values;
        are_null.push(vec![if is_null { wire::TRUE } else { wire::FALSE }]);
        min.push(binary(if is_null { &[] } else { page.bounds.min()?.0 }));
        max.push(binary(&if is_null { Vec::new() } else { page.bounds.max()?.0 }));
        nulls.push(int(i64::from(page.nulls)));
    }
    let mut index = RawStruct::default();
    index.set(1, wire::LIST, list(wire::TRUE, &are_null));
    index.set_list(2, wire::BINARY, &min).set_list(3, wire::BINARY, &max);
    // 0 means that the bounds are unordered.
    index.set_i32(4, 0).set_list(5, wire::I64, &nulls);
    Some(index.encode())
}
