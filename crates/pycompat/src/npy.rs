//! `.npy` files: one-dimensional arrays, byte for byte as numpy saves them (format version 1.0), and the headers of any arrays.

use gristmill_core::{Failure, Outcome, Subject};
use gristmill_storage::fs::{BufferedFile, Fs};
use std::path::Path;

/// The content starts at a multiple of this number of bytes.
const ALIGNMENT: usize = 64;
/// Number of digits for which numpy reserves space, so that an array can grow in place.
const LENGTH_DIGITS: usize = 21;
/// Size of the write buffer, in bytes.
const BUFFER_BYTES: usize = 1 << 20;

/// An eight-byte number type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dtype {
    /// `uint64`.
    U64,
    /// `int64`.
    I64,
}

impl Dtype {
    fn word(self) -> &'static str {
        match self {
            Self::U64 => "<u8",
            Self::I64 => "<i8",
        }
    }
}

/// Returns the bytes before the content of an array of `count` numbers.
pub fn header(dtype: Dtype, count: u64) -> Vec<u8> {
    header_of(dtype.word(), count)
}

/// Like [`header`], for a type in numpy notation, such as `<u2`.
pub fn header_of(word: &str, count: u64) -> Vec<u8> {
    const MAGIC: &[u8] = b"\x93NUMPY\x01\x00";
    let mut text = format!("{{'descr': '{word}', 'fortran_order': False, 'shape': ({count},), }}");
    text.extend(std::iter::repeat_n(' ', LENGTH_DIGITS.saturating_sub(count.to_string().len())));
    // As in numpy, a header that would fit exactly is padded with another block of spaces.
    let before = MAGIC.len() + 2 + text.len() + 1;
    text.extend(std::iter::repeat_n(' ', ALIGNMENT - before % ALIGNMENT));
    text.push('\n');
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&(text.len() as u16).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
    bytes
}

/// The header of a file.
#[derive(Clone, Debug)]
pub struct NpyHeader {
    /// Type of the items in numpy notation: `<f4`.
    pub dtype: String,
    /// Length of each axis; `None` if it is invalid.
    shape: Option<Vec<u64>>,
    /// Whether the first axis varies fastest.
    pub is_fortran: bool,
    /// Offset of the values, in bytes.
    pub data: usize,
}

/// Returns the reason for a header with invalid content.
fn broken() -> String {
    "its numpy header cannot be read".to_owned()
}

impl NpyHeader {
    /// Parses the header of a file from its first bytes. The header may have at most `max_bytes`. The error is user-facing.
    pub fn read(bytes: &[u8], max_bytes: usize) -> Result<Self, String> {
        if !bytes.starts_with(b"\x93NUMPY") {
            return Err("it is not a numpy array file".into());
        }
        let (length, start) = match bytes.get(6) {
            Some(1) => (bytes.get(8..10).map(|b| usize::from(u16::from_le_bytes([b[0], b[1]]))), 10),
            Some(2 | 3) => (bytes.get(8..12).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize), 12),
            _ => return Err("its numpy version is not known".into()),
        };
        let data = length.filter(|l| *l <= max_bytes).and_then(|l| l.checked_add(start)).ok_or_else(broken)?;
        let text = bytes.get(start..data).and_then(|b| std::str::from_utf8(b).ok()).ok_or_else(broken)?;
        let dtype = dtype(text).ok_or_else(broken)?;
        let is_fortran = text_after(text, "'fortran_order':").is_some_and(|rest| rest.starts_with("True"));
        Ok(Self { dtype, shape: shape(text), is_fortran, data })
    }

    /// Returns the length of each axis. The error is user-facing.
    pub fn shape(&self) -> Result<Vec<u64>, String> {
        self.shape.clone().ok_or_else(broken)
    }
}

fn text_after<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let at = text.find(key)?;
    text.get(at + key.len()..).map(str::trim_start)
}

/// Returns the quoted type; for structured types, their unquoted text.
fn dtype(text: &str) -> Option<String> {
    let rest = text_after(text, "'descr':")?;
    match rest.strip_prefix('\'') {
        Some(inner) => Some(inner.get(..inner.find('\'')?)?.to_owned()),
        None => Some(rest.get(..rest.find(']')? + 1)?.to_owned()),
    }
}

fn shape(text: &str) -> Option<Vec<u64>> {
    let rest = text_after(text, "'shape':")?.strip_prefix('(')?;
    let inner = rest.get(..rest.find(')')?)?;
    inner.split(',').map(str::trim).filter(|s| !s.is_empty()).map(|s| s.parse().ok()).collect()
}

/// Writes a one-dimensional array whose length is known in advance.
pub struct NpyWriter {
    file: BufferedFile,
    left: u64,
    path: std::path::PathBuf,
}

impl NpyWriter {
    /// Creates a file. Fails if it exists.
    pub fn create(fs: &dyn Fs, path: &Path, dtype: Dtype, count: u64) -> Outcome<Self> {
        let mut file = BufferedFile::new(fs.create_file(path)?, BUFFER_BYTES);
        file.write_all(&header(dtype, count))?;
        Ok(Self { file, left: count, path: path.to_owned() })
    }

    /// Appends 64-bit numbers.
    pub fn push(&mut self, numbers: impl Iterator<Item = u64>, bytes: &mut Vec<u8>) -> Outcome<()> {
        bytes.clear();
        numbers.for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
        self.left = self.left.checked_sub(bytes.len() as u64 / 8).ok_or_else(|| self.miscounted())?;
        self.file.write_all(bytes)
    }

    fn miscounted(&self) -> Failure {
        Failure::environment("writing the array", "it has not as many numbers as its header says")
            .on(Subject::path(&self.path))
    }

    /// Closes the file and returns its size in bytes. Fails if fewer numbers were written than given to [`create`](Self::create).
    pub fn finish(self) -> Outcome<u64> {
        if self.left > 0 {
            return Err(self.miscounted());
        }
        self.file.close()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_storage::fs::RealFs;

    #[test]
    fn npy_headers_match_numpy() {
        // `numpy.save` of `numpy.zeros(70, "u8")`.
        let text = format!("{{'descr': '<u8', 'fortran_order': False, 'shape': (70,), }}{}\n", " ".repeat(59));
        let mut expected = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        expected.extend_from_slice(text.as_bytes());
        assert_eq!(header(Dtype::U64, 70), expected);
        for count in [0, 9, 123_456_789, u64::MAX] {
            let header = header(Dtype::I64, count);
            assert_eq!((header.len(), header.last()), (128, Some(&b'\n')));
        }
    }

    #[test]
    fn npy_writer_requires_the_announced_number_of_values() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.npy");
        let mut buffer = Vec::new();
        let mut file = NpyWriter::create(&RealFs, &path, Dtype::I64, 3).unwrap();
        file.push([1, 2].into_iter(), &mut buffer).unwrap();
        file.push([u64::MAX].into_iter(), &mut buffer).unwrap();
        assert!(file.push([4].into_iter(), &mut buffer).is_err());
        let mut file = NpyWriter::create(&RealFs, &dir.path().join("b.npy"), Dtype::I64, 3).unwrap();
        file.push([1, 2, 3].into_iter(), &mut buffer).unwrap();
        assert_eq!(file.finish().unwrap(), 128 + 24);
        let short = NpyWriter::create(&RealFs, &dir.path().join("c.npy"), Dtype::U64, 1).unwrap();
        assert!(short.finish().unwrap_err().why.contains("as many numbers"));
    }
}
