//! Pax records: the few keywords that change an entry's name, size or position, applied as in Python's `tarfile` 3.11.

use super::header::python_int;

/// A keyword that affects an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keyword {
    Path,
    Size,
    SparseName,
    SparseSize,
    SparseRealSize,
    SparseMap,
    SparseMajor,
    SparseMinor,
}

impl Keyword {
    fn find(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"path" => Self::Path,
            b"size" => Self::Size,
            b"GNU.sparse.name" => Self::SparseName,
            b"GNU.sparse.size" => Self::SparseSize,
            b"GNU.sparse.realsize" => Self::SparseRealSize,
            b"GNU.sparse.map" => Self::SparseMap,
            b"GNU.sparse.major" => Self::SparseMajor,
            b"GNU.sparse.minor" => Self::SparseMinor,
            _ => return None,
        })
    }
}

/// Records in the order of first appearance. A later value of a keyword replaces the earlier value at its position.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PaxRecords(Vec<(Keyword, Vec<u8>)>);

impl PaxRecords {
    /// Parses the payload of a pax header. Returns `Err` if a record is malformed; the records before it are stored.
    ///
    /// A record is `LENGTH KEYWORD=VALUE\n`, where the length includes the whole record. The reference silently uses the valid records of
    /// malformed payloads; here this is an error, so that a wrong name or size is not unnoticed.
    pub(super) fn read(&mut self, payload: &[u8]) -> Result<(), &'static str> {
        let mut rest = payload;
        while rest.first().is_some_and(|&b| b != 0) {
            let (keyword, value, length) = record(rest).ok_or("a pax record is malformed")?;
            if let Some(keyword) = Keyword::find(keyword) {
                self.set(keyword, value);
            }
            rest = &rest[length..];
        }
        if rest.iter().any(|&b| b != 0) {
            return Err("bytes follow the pax records");
        }
        Ok(())
    }

    fn set(&mut self, keyword: Keyword, value: &[u8]) {
        match self.0.iter_mut().find(|(k, _)| *k == keyword) {
            Some((_, old)) => value.clone_into(old),
            None => self.0.push((keyword, value.to_owned())),
        }
    }

    /// Whether no relevant keyword is set.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the value of a keyword.
    pub(super) fn get(&self, keyword: Keyword) -> Option<&[u8]> {
        self.0.iter().find(|(k, _)| *k == keyword).map(|(_, v)| v.as_slice())
    }

    /// Sets name and size from the records, in their order. Returns `Err` for an invalid number.
    pub(super) fn apply(&self, name: &mut Vec<u8>, size: &mut i128) -> Result<(), &'static str> {
        for (keyword, value) in &self.0 {
            match keyword {
                Keyword::SparseName => value.clone_into(name),
                Keyword::Path => {
                    let end = value.iter().rposition(|&b| b != b'/').map_or(0, |last| last + 1);
                    value[..end].clone_into(name);
                }
                Keyword::SparseSize | Keyword::SparseRealSize => {
                    *size = python_int(value, 10).ok_or("a sparse size is not a number")?;
                }
                Keyword::Size => *size = python_int(value, 10).ok_or("a pax size is not a number")?,
                Keyword::SparseMap | Keyword::SparseMajor | Keyword::SparseMinor => {}
            }
        }
        Ok(())
    }

    /// Whether a record sets the size, so that the offset of the next header must be recomputed.
    pub(super) fn resizes(&self) -> bool {
        self.get(Keyword::Size).is_some()
    }

    /// Returns the stored size of a sparse entry and the size of its file, if the records have both.
    pub(super) fn stored_and_real_size(&self) -> Option<(i128, i128)> {
        let number = |keyword| python_int(self.get(keyword)?, 10);
        let real = number(Keyword::SparseRealSize).or_else(|| number(Keyword::SparseSize))?;
        Some((number(Keyword::Size)?, real))
    }

    /// Whether the entry is sparse, in format 0.0, 0.1 or 1.0.
    pub(super) fn is_sparse(&self) -> bool {
        use Keyword::{SparseMajor, SparseMap, SparseRealSize, SparseSize};
        let of_sparse = |(keyword, _): &(Keyword, Vec<u8>)| {
            matches!(keyword, SparseMajor | SparseMap | SparseRealSize | SparseSize)
        };
        self.0.iter().any(of_sparse)
    }

    /// Whether the content begins with the sparse map (sparse format 1.0).
    pub(super) fn has_map_in_content(&self) -> bool {
        self.get(Keyword::SparseMap).is_none()
            && self.get(Keyword::SparseSize).is_none()
            && self.get(Keyword::SparseMajor) == Some(b"1")
            && self.get(Keyword::SparseMinor) == Some(b"0")
    }
}

/// Whether content looks like the payload of a pax header whose own header block is lost. Only short records are detected.
pub(super) fn begins_with_record(content: &[u8]) -> bool {
    record(content).is_some()
}

/// Parses one record at the start of `bytes`; returns keyword, value and total length.
pub(super) fn record(bytes: &[u8]) -> Option<(&[u8], &[u8], usize)> {
    let space = bytes.iter().take(20).position(|&b| b == b' ')?;
    let digits = &bytes[..space];
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let length: usize = std::str::from_utf8(digits).ok()?.parse().ok()?;
    let body = bytes.get(space + 1..length)?.strip_suffix(b"\n")?;
    let equals = memchr::memchr(b'=', body).filter(|&n| n > 0)?;
    Some((&body[..equals], &body[equals + 1..], length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(payload: &[u8]) -> (PaxRecords, bool) {
        let mut records = PaxRecords::default();
        let fine = records.read(payload).is_ok();
        (records, fine)
    }

    #[test]
    fn later_pax_values_replace_earlier_ones_in_their_place() {
        let (records, fine) = read(b"12 path=a.b\n14 comment=x=\n10 size=5\n12 path=c.d\n\0\0\0");
        assert!(fine);
        assert_eq!(records.0, [(Keyword::Path, b"c.d".to_vec()), (Keyword::Size, b"5".to_vec())]);
    }

    #[test]
    fn a_value_may_hold_newlines_and_equal_signs() {
        let (records, fine) = read(b"14 path=a\n=.b\n");
        assert!(fine);
        assert_eq!(records.get(Keyword::Path), Some(b"a\n=.b".as_slice()));
    }

    #[test]
    fn malformed_pax_records_are_reported_and_earlier_records_are_kept() {
        for bad in [
            "0 path=x\n",
            "99 path=x\n",
            "8 path=x\n",
            "x path=a\n",
            "8 path=xy\n",
            "6 =x\n\n",
            "99999999999999999999999 a=b\n",
            "9",
        ] {
            let mut payload = b"10 size=7\n".to_vec();
            payload.extend_from_slice(bad.as_bytes());
            let (records, fine) = read(&payload);
            assert!(!fine, "{bad}");
            assert_eq!(records.get(Keyword::Size), Some(b"7".as_slice()), "{bad}");
        }
    }

    #[test]
    fn pax_path_loses_trailing_slashes_and_size_is_a_python_integer() {
        let (records, _) = read(b"13 path=a.b/\n14 size= 1_0 \n");
        let (mut name, mut size) = (b"old".to_vec(), 3);
        assert!(records.apply(&mut name, &mut size).is_ok());
        assert_eq!((name.as_slice(), size), (b"a.b".as_slice(), 10));
        let (records, _) = read(b"10 size=x\n");
        assert!(records.apply(&mut name, &mut size).is_err());
    }
}
