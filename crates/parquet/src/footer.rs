//! A first scan of the footer before the crate `parquet` parses it: detects encryption, and counts that would exhaust memory or the stack.

use crate::thrift::{ThriftError, ThriftReader, ThriftResult, WireType};
use std::collections::HashSet;

/// Maximum depth of a schema.
const MAX_SCHEMA_DEPTH: usize = 64;

/// Result of the scan: the encrypted parts of the file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct FooterScan {
    /// Row groups and columns whose pages are encrypted.
    pub(crate) encrypted: HashSet<(usize, usize)>,
    /// Whether an encrypted column does not state its position, because its metadata is encrypted as well.
    pub(crate) is_hidden: bool,
}

/// Scans the metadata of a file.
pub(crate) fn scan_footer(bytes: &[u8]) -> ThriftResult<FooterScan> {
    let mut scan = FooterScan::default();
    let mut reader = ThriftReader::new(bytes);
    let mut last = 0;
    while let Some(field) = reader.read_field(last)? {
        last = field.id;
        match (field.id, field.wire) {
            (2, WireType::List) => check_schema(&mut reader)?,
            (4, WireType::List) => scan_row_groups(&mut reader, &mut scan)?,
            _ => reader.skip(field.wire)?,
        }
    }
    Ok(scan)
}

/// Checks that the numbers of children in the schema describe a single tree of limited depth.
fn check_schema(reader: &mut ThriftReader<'_>) -> ThriftResult<()> {
    let (element, count) = reader.read_list()?;
    if element != WireType::Struct {
        return Err(ThriftError::Malformed);
    }
    // For each level of the path to the current element, the number of children that must follow.
    let mut open: Vec<usize> = Vec::new();
    for index in 0..count {
        if index > 0 {
            let expected = open.last_mut().ok_or(ThriftError::Malformed)?;
            *expected -= 1;
        }
        let children = read_children(reader)?;
        if children > count {
            return Err(ThriftError::Malformed);
        }
        open.push(children);
        while open.last() == Some(&0) {
            open.pop();
        }
        if open.len() > MAX_SCHEMA_DEPTH {
            return Err(ThriftError::Malformed);
        }
    }
    match open.is_empty() {
        true => Ok(()),
        false => Err(ThriftError::Malformed),
    }
}

fn read_children(reader: &mut ThriftReader<'_>) -> ThriftResult<usize> {
    let (mut last, mut children) = (0, 0);
    while let Some(field) = reader.read_field(last)? {
        last = field.id;
        match field.id {
            5 => children = usize::try_from(reader.read_i32(field.wire)?).map_err(|_| ThriftError::Malformed)?,
            _ => reader.skip(field.wire)?,
        }
    }
    Ok(children)
}

fn scan_row_groups(reader: &mut ThriftReader<'_>, scan: &mut FooterScan) -> ThriftResult<()> {
    let (element, count) = reader.read_list()?;
    if element != WireType::Struct {
        return Err(ThriftError::Malformed);
    }
    for row_group in 0..count {
        let mut last = 0;
        while let Some(field) = reader.read_field(last)? {
            last = field.id;
            match (field.id, field.wire) {
                (1, WireType::List) => scan_columns(reader, row_group, scan)?,
                _ => reader.skip(field.wire)?,
            }
        }
    }
    Ok(())
}

fn scan_columns(reader: &mut ThriftReader<'_>, row_group: usize, scan: &mut FooterScan) -> ThriftResult<()> {
    let (element, count) = reader.read_list()?;
    if element != WireType::Struct {
        return Err(ThriftError::Malformed);
    }
    for column in 0..count {
        let (mut last, mut has_metadata, mut is_encrypted) = (0, false, false);
        while let Some(field) = reader.read_field(last)? {
            last = field.id;
            has_metadata |= field.id == 3;
            is_encrypted |= matches!(field.id, 8 | 9);
            reader.skip(field.wire)?;
        }
        if is_encrypted {
            scan.encrypted.insert((row_group, column));
            scan.is_hidden |= !has_metadata;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns a schema whose elements have these numbers of children.
    fn schema(children: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0x29, (children.len() as u8) << 4 | 0x0C];
        for number in children {
            bytes.extend([0x55, number * 2, 0]);
        }
        bytes.push(0);
        bytes
    }

    #[test]
    fn schemas_must_be_one_tree() {
        for children in [&[0][..], &[1, 0], &[2, 1, 0, 0], &[2, 2, 0, 0, 0]] {
            assert_eq!(scan_footer(&schema(children)), Ok(FooterScan::default()), "{children:?}");
        }
        for children in [&[1][..], &[0, 0], &[2, 0], &[1, 2, 0], &[63, 0]] {
            assert_eq!(scan_footer(&schema(children)), Err(ThriftError::Malformed), "{children:?}");
        }
    }

    #[test]
    fn deep_schemas_are_refused() {
        for (depth, is_sound) in [(63_u8, true), (65, false)] {
            let mut bytes = vec![0x29, 0xFC, depth + 1];
            bytes.extend([0x55, 2, 0].repeat(usize::from(depth)));
            bytes.extend([0x55, 0, 0, 0]);
            assert_eq!(scan_footer(&bytes).is_ok(), is_sound, "{depth}");
        }
    }

    #[test]
    fn encrypted_columns_are_found() {
        // One row group with two columns; the second has metadata and field 8.
        let bytes = [0x49, 0x1C, 0x19, 0x2C, 0x26, 0, 0, 0x3C, 0, 0x5C, 0, 0, 0, 0];
        let scan = scan_footer(&bytes).unwrap();
        assert_eq!((scan.encrypted, scan.is_hidden), (HashSet::from([(0, 1)]), false));
    }

    proptest! {
        #[test]
        fn any_footer_is_scanned_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = scan_footer(&bytes);
        }
    }
}
