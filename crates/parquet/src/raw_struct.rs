//! Thrift structs as encoded in a file: fields can be replaced, and all other fields, including unknown ones, are preserved byte for byte.

use crate::bits::write_varint;
use crate::thrift::{ThriftError, ThriftReader, ThriftResult, WireType};
use std::collections::BTreeMap;

/// Wire types that are written.
pub(crate) mod wire {
    pub(crate) const TRUE: u8 = 1;
    pub(crate) const FALSE: u8 = 2;
    pub(crate) const BYTE: u8 = 3;
    pub(crate) const I32: u8 = 5;
    pub(crate) const I64: u8 = 6;
    pub(crate) const BINARY: u8 = 8;
    pub(crate) const LIST: u8 = 9;
    pub(crate) const STRUCT: u8 = 12;
}

/// A struct as a map from field ids to wire types and encoded values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RawStruct {
    fields: BTreeMap<i16, (u8, Vec<u8>)>,
}

impl RawStruct {
    /// Reads a struct up to its end mark from the beginning of `bytes`; also returns its size in bytes.
    pub(crate) fn parse(bytes: &[u8]) -> ThriftResult<(Self, usize)> {
        let mut reader = ThriftReader::new(bytes);
        let mut fields = BTreeMap::new();
        let mut last = 0;
        loop {
            let code = bytes.get(reader.position()).map_or(0, |header| header & 0x0F);
            let Some(field) = reader.read_field(last)? else { break };
            last = field.id;
            let start = reader.position();
            reader.skip(field.wire)?;
            let value = bytes.get(start..reader.position()).unwrap_or_default().to_vec();
            fields.insert(field.id, (code, value));
        }
        Ok((Self { fields }, reader.position()))
    }

    /// Returns the encoded value of a field.
    pub(crate) fn get(&self, id: i16) -> Option<&[u8]> {
        self.fields.get(&id).map(|(_, value)| value.as_slice())
    }

    /// Returns the value of an integer field.
    pub(crate) fn get_int(&self, id: i16) -> Option<i64> {
        let (code, value) = self.fields.get(&id)?;
        matches!(code, 4..=6).then(|| ThriftReader::new(value).read_int().ok()).flatten()
    }

    /// Returns the bytes of a string field.
    pub(crate) fn get_binary(&self, id: i16) -> Option<&[u8]> {
        let (code, value) = self.fields.get(&id)?;
        let mut rest = value.as_slice();
        let (size, header) = crate::bits::read_varint(rest)?;
        rest = rest.get(header..)?;
        (*code == wire::BINARY && rest.len() as u64 == size).then_some(rest)
    }

    pub(crate) fn has(&self, id: i16) -> bool {
        self.fields.contains_key(&id)
    }

    pub(crate) fn remove(&mut self, id: i16) {
        self.fields.remove(&id);
    }

    /// Sets a field to an encoded value.
    pub(crate) fn set(&mut self, id: i16, code: u8, value: Vec<u8>) -> &mut Self {
        self.fields.insert(id, (code, value));
        self
    }

    pub(crate) fn set_bool(&mut self, id: i16, value: bool) -> &mut Self {
        self.set(id, if value { wire::TRUE } else { wire::FALSE }, Vec::new())
    }

    pub(crate) fn set_i32(&mut self, id: i16, value: i32) -> &mut Self {
        self.set(id, wire::I32, int(i64::from(value)))
    }

    pub(crate) fn set_i64(&mut self, id: i16, value: u64) -> &mut Self {
        self.set(id, wire::I64, int(i64::try_from(value).unwrap_or(i64::MAX)))
    }

    pub(crate) fn set_binary(&mut self, id: i16, value: &[u8]) -> &mut Self {
        self.set(id, wire::BINARY, binary(value))
    }

    pub(crate) fn set_struct(&mut self, id: i16, value: &Self) -> &mut Self {
        self.set(id, wire::STRUCT, value.encode())
    }

    pub(crate) fn set_list(&mut self, id: i16, element: u8, values: &[Vec<u8>]) -> &mut Self {
        self.set(id, wire::LIST, list(element, values))
    }

    /// Encodes the struct with its end mark.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let size: usize = self.fields.values().map(|(_, value)| value.len() + 4).sum();
        let mut out = Vec::with_capacity(size + 1);
        let mut last = 0_i16;
        for (id, (code, value)) in &self.fields {
            match id.checked_sub(last) {
                Some(delta @ 1..=15) => out.push((delta as u8) << 4 | code),
                _ => {
                    out.push(*code);
                    out.extend(int(i64::from(*id)));
                }
            }
            out.extend_from_slice(value);
            last = *id;
        }
        out.push(0);
        out
    }
}

/// Encodes an integer.
pub(crate) fn int(value: i64) -> Vec<u8> {
    let mut out = Vec::new();
    write_varint((value << 1 ^ value >> 63) as u64, &mut out);
    out
}

/// Encodes a string.
pub(crate) fn binary(value: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len() + 5);
    write_varint(value.len() as u64, &mut out);
    out.extend_from_slice(value);
    out
}

/// Encodes a list of encoded elements.
pub(crate) fn list(element: u8, values: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::with_capacity(values.iter().map(Vec::len).sum::<usize>() + 6);
    match values.len() {
        count @ 0..=14 => out.push((count as u8) << 4 | element),
        count => {
            out.push(0xF0 | element);
            write_varint(count as u64, &mut out);
        }
    }
    values.iter().for_each(|value| out.extend_from_slice(value));
    out
}

/// Splits an encoded list of structs.
pub(crate) fn struct_list(bytes: &[u8]) -> ThriftResult<Vec<RawStruct>> {
    let mut reader = ThriftReader::new(bytes);
    let (element, count) = reader.read_list()?;
    if element != WireType::Struct {
        return Err(ThriftError::Malformed);
    }
    let mut rest = bytes.get(reader.position()..).unwrap_or_default();
    let mut all = Vec::new();
    for _ in 0..count {
        let (one, size) = RawStruct::parse(rest)?;
        all.push(one);
        rest = rest.get(size..).unwrap_or_default();
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn unchanged_thrift_struct_is_encoded_to_the_same_bytes() {
        let mut inner = RawStruct::default();
        inner.set_i32(1, -3).set_bool(40, true).set_binary(2, b"two");
        let mut outer = RawStruct::default();
        outer.set_struct(3, &inner).set_i64(900, 1 << 40).set_list(5, wire::STRUCT, &[inner.encode(), inner.encode()]);
        let bytes = outer.encode();
        let (parsed, size) = RawStruct::parse(&bytes).unwrap();
        assert_eq!((&parsed, size, parsed.encode()), (&outer, bytes.len(), bytes.clone()));
        assert_eq!(parsed.get_int(900), Some(1 << 40));
        assert_eq!(struct_list(parsed.get(5).unwrap()).unwrap(), [inner.clone(), inner.clone()]);
        assert_eq!((inner.get_binary(2), inner.get_int(1), inner.get_int(2)), (Some(&b"two"[..]), Some(-3), None));
        for end in 0..bytes.len() {
            assert_eq!(RawStruct::parse(&bytes[..end]), Err(ThriftError::Short), "{end}");
        }
    }

    proptest! {
        #[test]
        fn any_struct_is_refused_or_encoded_again(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            if let Ok((parsed, _)) = RawStruct::parse(&bytes) {
                prop_assert_eq!(RawStruct::parse(&parsed.encode()).unwrap().0, parsed);
            }
            let _ = struct_list(&bytes);
        }
    }
}
