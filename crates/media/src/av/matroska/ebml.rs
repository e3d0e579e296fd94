//! Elements of EBML (RFC 8794): an ID, a size that may be unknown, and a body.

use crate::{ProbeError, Reader};

/// An element whose header was read; the body was not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    /// The ID, including marker bits.
    pub id: u32,
    /// Offset of the first byte of the body.
    pub body: u64,
    /// Offset after the last byte of the body; `None` if the size is unknown.
    pub end: Option<u64>,
}

/// Number of bytes that are read if elements are far apart: the header of an element, and the header of a block.
const HEADER_READ_BYTES: usize = 64;
/// The longest element that is read as a whole, in bytes.
const MAX_ELEMENT_BYTES: u64 = 1 << 20;

impl Element {
    /// Reads the element at `at`, inside one that ends at `end`; `None` at the end or if the header is invalid.
    pub fn at(reader: &mut Reader, at: u64, end: u64) -> Result<Option<Self>, ProbeError> {
        let left = usize::try_from(end.saturating_sub(at)).unwrap_or(usize::MAX).min(12);
        Ok(Self::parsed(reader.up_to(at, left)?, at))
    }

    /// Like [`at`](Self::at), but without reading ahead: a large body is usually followed by another one.
    pub fn at_without_read_ahead(reader: &mut Reader, at: u64, end: u64) -> Result<Option<Self>, ProbeError> {
        let left = usize::try_from(end.saturating_sub(at)).unwrap_or(usize::MAX).min(HEADER_READ_BYTES);
        Ok(Self::parsed(reader.sparse(at, left)?, at))
    }

    fn parsed(head: &[u8], at: u64) -> Option<Self> {
        parse(head).map(|(id, size, len)| {
            let body = at + len as u64;
            Self { id, body, end: size.map(|size| body.saturating_add(size)) }
        })
    }

    /// Returns the length of the body in bytes; `None` if it is unknown.
    pub fn size(&self) -> Option<u64> {
        self.end.map(|end| end - self.body)
    }

    /// Reads the body as a number; 0 if it is empty, `None` if it is longer than eight bytes or cut short.
    pub fn unsigned(&self, reader: &mut Reader) -> Result<Option<u64>, ProbeError> {
        let Some(size) = self.size().filter(|size| *size <= 8) else { return Ok(None) };
        let bytes = reader.up_to(self.body, size as usize)?;
        Ok((bytes.len() as u64 == size).then(|| bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte))))
    }

    /// Reads the body as a signed number.
    pub fn signed(&self, reader: &mut Reader) -> Result<Option<i64>, ProbeError> {
        let bits = self.size().unwrap_or(0) * 8;
        Ok(self.unsigned(reader)?.map(|value| match bits {
            1..=63 if value >> (bits - 1) == 1 => (value as i64) - (1_i64 << bits),
            _ => value as i64,
        }))
    }

    /// Reads the body as a float of four or eight bytes; 0 if it is empty.
    pub fn float(&self, reader: &mut Reader) -> Result<Option<f64>, ProbeError> {
        Ok(match self.size() {
            Some(0) => Some(0.0),
            Some(4) => Some(f64::from(f32::from_be_bytes(reader.array(self.body)?))),
            Some(8) => Some(f64::from_be_bytes(reader.array(self.body)?)),
            _ => None,
        })
    }

    /// Reads the body as far as it is present; empty if it is too long to be kept in memory.
    pub fn bytes(&self, reader: &mut Reader) -> Result<Vec<u8>, ProbeError> {
        match self.size().filter(|size| *size <= MAX_ELEMENT_BYTES) {
            Some(size) => Ok(reader.up_to(self.body, size as usize)?.to_vec()),
            None => Ok(Vec::new()),
        }
    }
}

/// Returns the ID, the size (if known) and the length of a header.
fn parse(head: &[u8]) -> Option<(u32, Option<u64>, usize)> {
    let id_len = head.first()?.leading_zeros() as usize + 1;
    if id_len > 4 {
        return None;
    }
    let id = head.get(..id_len)?.iter().fold(0, |id, byte| id << 8 | u32::from(*byte));
    let (size, size_len) = number(head.get(id_len..)?)?;
    Some((id, size, id_len + size_len))
}

/// Reads a number of variable length, and returns it with its length in bytes; the inner `None` means unknown (all bits are set).
pub fn number(bytes: &[u8]) -> Option<(Option<u64>, usize)> {
    let first = *bytes.first()?;
    let len = first.leading_zeros() as usize + 1;
    let rest = bytes.get(1..len)?;
    let mask = 0xff_u8.checked_shr(len as u32).unwrap_or(0);
    let value = rest.iter().fold(u64::from(first & mask), |value, byte| value << 8 | u64::from(*byte));
    let unknown = (1_u64 << (7 * len)) - 1;
    Some(((value != unknown).then_some(value), len))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_core::Cancel;

    #[test]
    fn ebml_numbers_have_one_to_eight_bytes_or_unknown_value() {
        assert_eq!(number(&[0x81]), Some((Some(1), 1)));
        assert_eq!(number(&[0x40, 0x7f]), Some((Some(127), 2)));
        assert_eq!(number(&[0xff]), Some((None, 1)));
        assert_eq!(number(&[1, 255, 255, 255, 255, 255, 255, 255]), Some((None, 8)));
        assert_eq!(number(&[1, 0, 0, 0, 0, 0, 1, 0]), Some((Some(256), 8)));
        for bytes in [&[0][..], &[0x40], &[]] {
            assert_eq!(number(bytes), None, "{bytes:?}");
        }
    }

    #[test]
    fn bodies_are_numbers_floats_or_bytes() {
        let bytes = [0xd7_u8, 0x82, 0x01, 0x02, 0x75, 0xa2, 0x82, 0xff, 0xfe, 0x44, 0x89, 0x84, 0x41, 0x20, 0, 0];
        let (source, cancel) = (bytes.as_slice(), Cancel::default());
        let mut reader = Reader::new(&source, &cancel);
        let mut next = |at| Element::at(&mut reader, at, 16).unwrap().unwrap();
        let (number, signed, float) = (next(0), next(4), next(9));
        assert_eq!((number.id, number.size()), (0xd7, Some(2)));
        assert_eq!(number.unsigned(&mut reader).unwrap(), Some(258));
        assert_eq!(signed.signed(&mut reader).unwrap(), Some(-2));
        assert_eq!(float.float(&mut reader).unwrap(), Some(10.0));
        assert_eq!(number.bytes(&mut reader).unwrap(), [1, 2]);
        assert!(Element::at(&mut reader, 16, 16).unwrap().is_none());
    }
}
