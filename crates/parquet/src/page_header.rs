//! Headers of pages.

use crate::thrift::{Field, ThriftError, ThriftReader, ThriftResult, WireType};

/// Encoding of the values of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueEncoding {
    Plain,
    Dictionary,
    DeltaLength,
    DeltaStrings,
    /// An encoding that is not for byte strings, by its number in the format.
    Other(i32),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PageKind {
    Data(DataPage),
    Dictionary {
        values: u32,
        encoding: ValueEncoding,
    },
    /// A page with neither values nor a dictionary.
    Other,
}

/// Fields of a data page of version 1 or 2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DataPage {
    /// Number of values including nulls; without lists, this is the number of rows.
    pub(crate) values: u32,
    pub(crate) encoding: ValueEncoding,
    pub(crate) levels: LevelLayout,
}

/// Location of the levels in a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LevelLayout {
    /// Version 1: compressed together with the values; each kind of levels follows its length. The flags are false for a deprecated
    /// encoding.
    Prefixed { definition_is_runs: bool, repetition_is_runs: bool },
    /// Version 2: uncompressed, with these sizes in bytes: repetition levels, then definition levels.
    Separate { repetition: u32, definition: u32, is_packed: bool, rows: u32, nulls: u32 },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PageHeader {
    /// Size of the body in the file.
    pub(crate) packed: u32,
    /// Size of the body after decompression.
    pub(crate) unpacked: u32,
    /// Checksum of the body in the file.
    pub(crate) checksum: Option<u32>,
    pub(crate) kind: PageKind,
}

impl DataPage {
    /// Returns the size in bytes of the uncompressed levels before the body's compressed part.
    pub(crate) fn level_bytes(&self) -> u64 {
        match self.levels {
            LevelLayout::Prefixed { .. } => 0,
            LevelLayout::Separate { repetition, definition, .. } => u64::from(repetition) + u64::from(definition),
        }
    }
}

impl DataPage {
    /// Returns the number of rows, if the header states it.
    pub(crate) fn rows(&self) -> Option<u32> {
        match self.levels {
            LevelLayout::Prefixed { .. } => None,
            LevelLayout::Separate { rows, .. } => Some(rows),
        }
    }
}

impl PageHeader {
    /// Reads a header from the beginning of `bytes`; also returns its size in bytes.
    pub(crate) fn parse(bytes: &[u8]) -> ThriftResult<(Self, usize)> {
        let mut reader = ThriftReader::new(bytes);
        let (mut kind, mut packed, mut unpacked, mut checksum) = (None, None, None, None);
        let (mut data, mut data2, mut dictionary) = (None, None, None);
        let mut last = 0;
        while let Some(field) = reader.read_field(last)? {
            last = field.id;
            match field.id {
                1 => kind = Some(reader.read_i32(field.wire)?),
                2 => unpacked = Some(read_size(&mut reader, field)?),
                3 => packed = Some(read_size(&mut reader, field)?),
                4 => checksum = Some(reader.read_i32(field.wire)? as u32),
                5 => data = Some(parse_data(&mut reader, field)?),
                7 => dictionary = Some(parse_dictionary(&mut reader, field)?),
                8 => data2 = Some(parse_data_2(&mut reader, field)?),
                _ => reader.skip(field.wire)?,
            }
        }
        let missing = ThriftError::Malformed;
        let kind = match kind.ok_or(missing)? {
            0 => PageKind::Data(data.ok_or(missing)?),
            2 => dictionary.ok_or(missing)?,
            3 => PageKind::Data(data2.ok_or(missing)?),
            _ => PageKind::Other,
        };
        let header = Self { packed: packed.ok_or(missing)?, unpacked: unpacked.ok_or(missing)?, checksum, kind };
        if let PageKind::Data(page) = &header.kind {
            if page.level_bytes() > u64::from(header.packed.min(header.unpacked)) {
                return Err(ThriftError::Malformed);
            }
        }
        Ok((header, reader.position()))
    }
}

fn read_size(reader: &mut ThriftReader<'_>, field: Field) -> ThriftResult<u32> {
    u32::try_from(reader.read_i32(field.wire)?).map_err(|_| ThriftError::Malformed)
}

fn read_encoding(reader: &mut ThriftReader<'_>, field: Field) -> ThriftResult<ValueEncoding> {
    Ok(match reader.read_i32(field.wire)? {
        0 => ValueEncoding::Plain,
        2 | 8 => ValueEncoding::Dictionary,
        6 => ValueEncoding::DeltaLength,
        7 => ValueEncoding::DeltaStrings,
        other => ValueEncoding::Other(other),
    })
}

/// Passes each field of a struct to `each`, which reads its value.
fn read_struct<'a>(
    reader: &mut ThriftReader<'a>,
    outer: Field,
    mut each: impl FnMut(&mut ThriftReader<'a>, Field) -> ThriftResult<()>,
) -> ThriftResult<()> {
    if outer.wire != WireType::Struct {
        return Err(ThriftError::Malformed);
    }
    let mut last = 0;
    while let Some(field) = reader.read_field(last)? {
        last = field.id;
        each(reader, field)?;
    }
    Ok(())
}

fn parse_data(reader: &mut ThriftReader<'_>, outer: Field) -> ThriftResult<DataPage> {
    let (mut values, mut encoding) = (None, None);
    let (mut definition_is_runs, mut repetition_is_runs) = (true, true);
    read_struct(reader, outer, |reader, field| {
        match field.id {
            1 => values = Some(read_size(reader, field)?),
            2 => encoding = Some(read_encoding(reader, field)?),
            3 => definition_is_runs = reader.read_i32(field.wire)? == RLE,
            4 => repetition_is_runs = reader.read_i32(field.wire)? == RLE,
            _ => reader.skip(field.wire)?,
        }
        Ok(())
    })?;
    let missing = ThriftError::Malformed;
    let levels = LevelLayout::Prefixed { definition_is_runs, repetition_is_runs };
    Ok(DataPage { values: values.ok_or(missing)?, encoding: encoding.ok_or(missing)?, levels })
}

/// Number of the run-length encoding (RLE).
const RLE: i32 = 3;

fn parse_data_2(reader: &mut ThriftReader<'_>, outer: Field) -> ThriftResult<DataPage> {
    let (mut values, mut nulls, mut rows, mut encoding) = (None, None, None, None);
    let (mut definition, mut repetition, mut is_packed) = (None, None, true);
    read_struct(reader, outer, |reader, field| {
        match (field.id, field.wire) {
            (1, _) => values = Some(read_size(reader, field)?),
            (2, _) => nulls = Some(read_size(reader, field)?),
            (3, _) => rows = Some(read_size(reader, field)?),
            (4, _) => encoding = Some(read_encoding(reader, field)?),
            (5, _) => definition = Some(read_size(reader, field)?),
            (6, _) => repetition = Some(read_size(reader, field)?),
            (7, WireType::Bool(value)) => is_packed = value,
            _ => reader.skip(field.wire)?,
        }
        Ok(())
    })?;
    let missing = ThriftError::Malformed;
    let levels = LevelLayout::Separate {
        repetition: repetition.ok_or(missing)?,
        definition: definition.ok_or(missing)?,
        is_packed,
        rows: rows.ok_or(missing)?,
        nulls: nulls.ok_or(missing)?,
    };
    Ok(DataPage { values: values.ok_or(missing)?, encoding: encoding.ok_or(missing)?, levels })
}

fn parse_dictionary(reader: &mut ThriftReader<'_>, outer: Field) -> ThriftResult<PageKind> {
    let (mut values, mut encoding) = (None, None);
    read_struct(reader, outer, |reader, field| {
        match field.id {
            1 => values = Some(read_size(reader, field)?),
            2 => encoding = Some(read_encoding(reader, field)?),
            _ => reader.skip(field.wire)?,
        }
        Ok(())
    })?;
    let missing = ThriftError::Malformed;
    Ok(PageKind::Dictionary { values: values.ok_or(missing)?, encoding: encoding.ok_or(missing)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Header of a page of version 1 with ten values, of 100 bytes, which are 40 bytes in the file.
    const DATA: [u8; 18] = [0x15, 0, 0x15, 0xC8, 1, 0x15, 80, 0x15, 13, 0x1C, 0x15, 20, 0x15, 16, 0x15, 6, 0, 0];

    #[test]
    fn data_page_headers_are_parsed() {
        let (header, size) = PageHeader::parse(&DATA).unwrap();
        let levels = LevelLayout::Prefixed { definition_is_runs: true, repetition_is_runs: true };
        let page = DataPage { values: 10, encoding: ValueEncoding::Dictionary, levels };
        let expected =
            PageHeader { packed: 40, unpacked: 100, checksum: Some(-7_i32 as u32), kind: PageKind::Data(page) };
        assert_eq!((header, size), (expected, DATA.len()));
        for end in 0..DATA.len() {
            assert_eq!(PageHeader::parse(&DATA[..end]), Err(ThriftError::Short), "{end}");
        }
    }

    #[test]
    fn levels_outside_of_the_page_are_refused() {
        let page = |definition: u8| {
            [
                0x15, 6, 0x15, 20, 0x15, 20, 0x5C, 0x15, 2, 0x15, 0, 0x15, 2, 0x15, 0, 0x15, definition, 0x15, 0, 0x12,
                0, 0,
            ]
        };
        assert!(PageHeader::parse(&page(20)).is_ok());
        assert_eq!(PageHeader::parse(&page(22)), Err(ThriftError::Malformed));
        assert_eq!(PageHeader::parse(&page(1)), Err(ThriftError::Malformed));
    }

    proptest! {
        #[test]
        fn any_page_header_is_parsed_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = PageHeader::parse(&bytes);
        }

        #[test]
        fn changed_page_headers_are_parsed_or_refused(at in 0..DATA.len(), byte in any::<u8>()) {
            let mut bytes = DATA;
            bytes[at] = byte;
            if let Ok((header, size)) = PageHeader::parse(&bytes) {
                prop_assert!(size <= bytes.len());
                prop_assert!(header.packed <= i32::MAX as u32);
            }
        }
    }
}
