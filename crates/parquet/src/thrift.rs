//! The Thrift compact protocol, as far as page headers and footers use it. Every length is checked against the remaining bytes.

/// Maximum depth of nested values that are skipped.
const MAX_DEPTH: u32 = 32;

/// Reason why a value cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ThriftError {
    /// The bytes end before the value does.
    Short,
    /// The bytes are not a value of the protocol.
    Malformed,
}

/// Result of reading a value.
pub(crate) type ThriftResult<T> = Result<T, ThriftError>;

/// Wire type of a field or of the elements of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WireType {
    /// A boolean whose value is part of the field header.
    Bool(bool),
    Byte,
    /// An integer of 16, 32 or 64 bits.
    Int,
    Double,
    Binary,
    List,
    Map,
    Struct,
    Uuid,
}

/// Header of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) id: i16,
    pub(crate) wire: WireType,
}

/// Reads values from bytes.
#[derive(Clone, Debug)]
pub(crate) struct ThriftReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> ThriftReader<'a> {
    /// Creates a reader at the beginning of `bytes`.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Returns the number of bytes that were read.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// Reads the header of the next field of a struct; `None` at the end of the struct. `last` is the id of the previous field, or 0.
    pub(crate) fn read_field(&mut self, last: i16) -> ThriftResult<Option<Field>> {
        let header = self.read_byte()?;
        if header == 0 {
            return Ok(None);
        }
        let id = match i16::from(header >> 4) {
            0 => i16::try_from(self.read_int()?).map_err(|_| ThriftError::Malformed)?,
            delta => last.checked_add(delta).ok_or(ThriftError::Malformed)?,
        };
        Ok(Some(Field { id, wire: wire_type(header & 0x0F)? }))
    }

    /// Reads the header of a list or set: the type of its elements, and their number, which is checked against the remaining bytes.
    pub(crate) fn read_list(&mut self) -> ThriftResult<(WireType, usize)> {
        let header = self.read_byte()?;
        let count = match header >> 4 {
            15 => usize::try_from(self.read_varint()?).map_err(|_| ThriftError::Malformed)?,
            count => usize::from(count),
        };
        // An element takes at least one byte.
        if count > self.bytes.len().saturating_sub(self.at) {
            return Err(ThriftError::Short);
        }
        Ok((wire_type(header & 0x0F)?, count))
    }

    /// Reads a signed integer.
    pub(crate) fn read_int(&mut self) -> ThriftResult<i64> {
        let value = self.read_varint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// Reads a signed integer of 32 bits.
    pub(crate) fn read_i32(&mut self, wire: WireType) -> ThriftResult<i32> {
        match wire {
            WireType::Int => i32::try_from(self.read_int()?).map_err(|_| ThriftError::Malformed),
            _ => Err(ThriftError::Malformed),
        }
    }

    /// Skips the value of a field.
    pub(crate) fn skip(&mut self, wire: WireType) -> ThriftResult<()> {
        self.skip_nested(wire, MAX_DEPTH)
    }

    fn skip_nested(&mut self, wire: WireType, depth: u32) -> ThriftResult<()> {
        let below = depth.checked_sub(1).ok_or(ThriftError::Malformed)?;
        match wire {
            WireType::Bool(_) => Ok(()),
            WireType::Byte => self.read_byte().map(|_| ()),
            WireType::Int => self.read_varint().map(|_| ()),
            WireType::Double => self.advance(8),
            WireType::Uuid => self.advance(16),
            WireType::Binary => {
                let count = self.read_varint()?;
                self.advance(usize::try_from(count).map_err(|_| ThriftError::Malformed)?)
            }
            WireType::List => {
                let (element, count) = self.read_list()?;
                (0..count).try_for_each(|_| self.skip_element(element, below))
            }
            WireType::Map => self.skip_map(below),
            WireType::Struct => {
                let mut last = 0;
                while let Some(field) = self.read_field(last)? {
                    self.skip_nested(field.wire, below)?;
                    last = field.id;
                }
                Ok(())
            }
        }
    }

    fn skip_map(&mut self, depth: u32) -> ThriftResult<()> {
        let count = self.read_varint()?;
        if count == 0 {
            return Ok(());
        }
        if count > self.bytes.len().saturating_sub(self.at) as u64 {
            return Err(ThriftError::Short);
        }
        let types = self.read_byte()?;
        let (key, value) = (wire_type(types >> 4)?, wire_type(types & 0x0F)?);
        for _ in 0..count {
            self.skip_element(key, depth)?;
            self.skip_element(value, depth)?;
        }
        Ok(())
    }

    /// Skips an element of a list or map, in which a boolean takes a byte.
    fn skip_element(&mut self, wire: WireType, depth: u32) -> ThriftResult<()> {
        match wire {
            WireType::Bool(_) => self.advance(1),
            other => self.skip_nested(other, depth),
        }
    }

    fn read_byte(&mut self) -> ThriftResult<u8> {
        let byte = *self.bytes.get(self.at).ok_or(ThriftError::Short)?;
        self.at += 1;
        Ok(byte)
    }

    fn read_varint(&mut self) -> ThriftResult<u64> {
        let (mut value, mut shift) = (0_u64, 0_u32);
        loop {
            let byte = self.read_byte()?;
            let bits = u64::from(byte & 0x7F);
            if shift == 63 && bits > 1 {
                return Err(ThriftError::Malformed);
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
            shift += 7;
            if shift > 63 {
                return Err(ThriftError::Malformed);
            }
        }
    }

    fn advance(&mut self, count: usize) -> ThriftResult<()> {
        if count > self.bytes.len().saturating_sub(self.at) {
            return Err(ThriftError::Short);
        }
        self.at += count;
        Ok(())
    }
}

fn wire_type(code: u8) -> ThriftResult<WireType> {
    Ok(match code {
        1 => WireType::Bool(true),
        2 => WireType::Bool(false),
        3 => WireType::Byte,
        4..=6 => WireType::Int,
        7 => WireType::Double,
        8 => WireType::Binary,
        9 | 10 => WireType::List,
        11 => WireType::Map,
        12 => WireType::Struct,
        13 => WireType::Uuid,
        _ => return Err(ThriftError::Malformed),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn integers_are_zigzag_varints() {
        for (bytes, value) in [
            (&[0][..], 0),
            (&[1], -1),
            (&[2], 1),
            (&[0xFE, 0x01], 127),
            (&[0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01], i64::MAX),
            (&[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01], i64::MIN),
        ] {
            assert_eq!(ThriftReader::new(bytes).read_int(), Ok(value));
            assert_eq!(ThriftReader::new(&bytes[..bytes.len() - 1]).read_int(), Err(ThriftError::Short));
        }
        assert_eq!(ThriftReader::new(&[0xFF; 11]).read_int(), Err(ThriftError::Malformed));
    }

    #[test]
    fn thrift_lists_longer_than_the_bytes_are_refused() {
        let list = [0xF8, 0xFF, 0xFF, 0xFF, 0xFF, 0x07, 0, 0];
        assert_eq!(ThriftReader::new(&list).read_list(), Err(ThriftError::Short));
        assert_eq!(ThriftReader::new(&[0x28, 0, 0]).read_list(), Ok((WireType::Binary, 2)));
    }

    #[test]
    fn deep_nesting_is_refused() {
        let deep = [0x1C; 1000];
        assert_eq!(ThriftReader::new(&deep).skip(WireType::Struct), Err(ThriftError::Malformed));
        let nested = [0x1C, 0x1C, 0x15, 0x02, 0, 0, 0];
        let mut reader = ThriftReader::new(&nested);
        assert_eq!((reader.skip(WireType::Struct), reader.position()), (Ok(()), nested.len()));
    }

    proptest! {
        #[test]
        fn any_thrift_value_is_skipped_within_its_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            for wire in [WireType::Struct, WireType::List, WireType::Map, WireType::Binary] {
                let mut reader = ThriftReader::new(&bytes);
                let _ = reader.skip(wire);
                prop_assert!(reader.position() <= bytes.len());
            }
        }
    }
}
