//! `.npy` files of one dimension, byte for byte as numpy saves them (format version 1.0).

use gristmill_core::{Failure, Outcome, Subject};
use gristmill_storage::fs::{BufferedFile, Fs};
use std::path::Path;

/// The content begins at a multiple of this many bytes.
const ALIGNMENT: usize = 64;
/// Number of digits for which numpy leaves room, so that the array may grow in place.
const LENGTH_DIGITS: usize = 21;
/// Buffer size in bytes.
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

/// Does the same for a type as numpy writes it, such as `<u2`.
pub fn header_of(word: &str, count: u64) -> Vec<u8> {
    const MAGIC: &[u8] = b"\x93NUMPY\x01\x00";
    let mut text = format!("{{'descr': '{word}', 'fortran_order': False, 'shape': ({count},), }}");
    text.extend(std::iter::repeat_n(' ', LENGTH_DIGITS.saturating_sub(count.to_string().len())));
    // A header that would fit exactly gets another block of spaces, as in numpy.
    let before = MAGIC.len() + 2 + text.len() + 1;
    text.extend(std::iter::repeat_n(' ', ALIGNMENT - before % ALIGNMENT));
    text.push('\n');
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&(text.len() as u16).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
    bytes
}

/// Writes an array of one dimension whose length is known in advance.
pub struct NpyWriter {
    file: BufferedFile,
    left: u64,
    path: std::path::PathBuf,
}

impl NpyWriter {
    /// Creates a file. It is an error if the file exists.
    pub fn create(fs: &dyn Fs, path: &Path, dtype: Dtype, count: u64) -> Outcome<Self> {
        let mut file = BufferedFile::new(fs.create_file(path)?, BUFFER_BYTES);
        file.write_all(&header(dtype, count))?;
        Ok(Self { file, left: count, path: path.to_owned() })
    }

    /// Appends numbers, of 64 bits each.
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

    /// Closes the file and returns its size in bytes. Fails if fewer numbers were written than announced.
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
    fn headers_are_those_of_numpy() {
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
    fn as_many_numbers_are_written_as_were_announced() {
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
