//! Elements of EBML (RFC 8794): an id, a size that may be unknown, a body.

use crate::{ProbeError, Reader};

/// An element: its header has been read, its body has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    /// Its id, marker bits included.
    pub id: u32,
    /// Offset of its first body byte.
    pub body: u64,
    /// Offset behind its last body byte; `None` where the size is unknown.
    pub end: Option<u64>,
}

/// Bytes of an element that are read where elements lie far apart: its header, and the header of a block.
const APART: usize = 64;
/// The longest element that is read whole, in bytes.
const WHOLE: u64 = 1 << 20;

impl Element {
    /// The element at `at`, which lies inside one that ends at `end`; `None` where nothing more, or nothing sensible, is there.
    pub fn at(reader: &mut Reader, at: u64, end: u64) -> Result<Option<Self>, ProbeError> {
        let left = usize::try_from(end.saturating_sub(at)).unwrap_or(usize::MAX).min(12);
        Ok(Self::parsed(reader.up_to(at, left)?, at))
    }

    /// As [`at`](Self::at), reading no further ahead: behind a large body lies another one.
    pub fn apart(reader: &mut Reader, at: u64, end: u64) -> Result<Option<Self>, ProbeError> {
        let left = usize::try_from(end.saturating_sub(at)).unwrap_or(usize::MAX).min(APART);
        Ok(Self::parsed(reader.sparse(at, left)?, at))
    }

    fn parsed(head: &[u8], at: u64) -> Option<Self> {
        parse(head).map(|(id, size, len)| {
            let body = at + len as u64;
            Self { id, body, end: size.map(|size| body.saturating_add(size)) }
        })
    }

    /// Length of the body; `None` where it is unknown.
    pub fn size(&self) -> Option<u64> {
        self.end.map(|end| end - self.body)
    }

    /// The body as a number; 0 for an empty one, `None` where it is none.
    pub fn unsigned(&self, reader: &mut Reader) -> Result<Option<u64>, ProbeError> {
        let Some(size) = self.size().filter(|size| *size <= 8) else { return Ok(None) };
        let bytes = reader.up_to(self.body, size as usize)?;
        Ok((bytes.len() as u64 == size).then(|| bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte))))
    }

    /// The body as a number with a sign.
    pub fn signed(&self, reader: &mut Reader) -> Result<Option<i64>, ProbeError> {
        let bits = self.size().unwrap_or(0) * 8;
        Ok(self.unsigned(reader)?.map(|value| match bits {
            1..=63 if value >> (bits - 1) == 1 => (value as i64) - (1_i64 << bits),
            _ => value as i64,
        }))
    }

    /// The body as a float of four or eight bytes; 0 for an empty one.
    pub fn float(&self, reader: &mut Reader) -> Result<Option<f64>, ProbeError> {
        Ok(match self.size() {
            Some(0) => Some(0.0),
            Some(4) => Some(f64::from(f32::from_be_bytes(reader.array(self.body)?))),
            Some(8) => Some(f64::from_be_bytes(reader.array(self.body)?)),
            _ => None,
        })
    }

    /// The body, as far as the entry has it; empty where it is too long to be held.
    pub fn bytes(&self, reader: &mut Reader) -> Result<Vec<u8>, ProbeError> {
        match self.size().filter(|size| *size <= WHOLE) {
            Some(size) => Ok(reader.up_to(self.body, size as usize)?.to_vec()),
            None => Ok(Vec::new()),
        }
    }
}

/// Id, size (if known) and length of a header.
fn parse(head: &[u8]) -> Option<(u32, Option<u64>, usize)> {
    let id_len = head.first()?.leading_zeros() as usize + 1;
    if id_len > 4 {
        return None;
    }
    let id = head.get(..id_len)?.iter().fold(0, |id, byte| id << 8 | u32::from(*byte));
    let (size, size_len) = number(head.get(id_len..)?)?;
    Some((id, size, id_len + size_len))
}

/// A number of variable length, and how many bytes it takes; `None` inside stands for "unknown", all bits set.
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
    fn numbers_have_one_to_eight_bytes_and_may_be_unknown() {
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
