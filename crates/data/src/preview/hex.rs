//! Bytes as rows of hexadecimal digits next to their characters.

/// A piece of a part, shown byte by byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HexView {
    /// Offset of the piece in the part, in bytes.
    pub from: u64,
    /// Bytes of the piece.
    pub bytes: Vec<u8>,
}

/// Maximum number of bytes per row.
pub const BYTES_PER_ROW: usize = 16;

impl HexView {
    /// Returns the bytes per row that fit into `columns`: 16, 8 or 4.
    pub fn row_bytes(columns: usize) -> usize {
        [BYTES_PER_ROW, 8].into_iter().find(|&bytes| Self::columns(bytes) <= columns).unwrap_or(4)
    }

    /// Returns the columns of a row of `bytes` bytes.
    fn columns(bytes: usize) -> usize {
        10 + bytes * 3 + bytes / 8 + 1 + bytes
    }

    /// Returns the number of rows of the whole piece.
    pub fn rows(&self, row_bytes: usize) -> usize {
        self.bytes.len().div_ceil(row_bytes.max(1))
    }

    /// Returns one row as offset, digits and characters, all in ASCII; `None` after the last row.
    pub fn row(&self, at: usize, row_bytes: usize) -> Option<(String, String, String)> {
        use std::fmt::Write as _;
        let start = at.checked_mul(row_bytes)?;
        let row = self.bytes.get(start..)?;
        let row = row.get(..row_bytes).unwrap_or(row);
        if row.is_empty() {
            return None;
        }
        let mut digits = String::with_capacity(row_bytes * 3 + 2);
        let mut characters = String::with_capacity(row_bytes);
        for (place, byte) in row.iter().enumerate() {
            if place > 0 && place % 8 == 0 {
                digits.push(' ');
            }
            let _ = write!(digits, "{byte:02x} ");
            characters.push(if (0x20..0x7f).contains(byte) { char::from(*byte) } else { '.' });
        }
        let full = row_bytes * 3 + row_bytes.saturating_sub(1) / 8;
        let missing = full.saturating_sub(digits.len());
        digits.extend(std::iter::repeat_n(' ', missing));
        Some((format!("{:08x}", self.from.saturating_add(start as u64)), digits, characters))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_rows_of_any_length_are_aligned() {
        let view = HexView { from: 0x100, bytes: (0x3c..0x50).collect() };
        let first = view.row(0, 16).unwrap();
        assert_eq!(first.0, "00000100");
        assert_eq!(first.1, "3c 3d 3e 3f 40 41 42 43  44 45 46 47 48 49 4a 4b ");
        assert_eq!(first.2, "<=>?@ABCDEFGHIJK");
        let second = view.row(1, 16).unwrap();
        assert_eq!((second.0.as_str(), second.2.as_str()), ("00000110", "LMNO"));
        assert_eq!(first.1.len(), second.1.len());
        assert!(view.row(2, 16).is_none());
        assert_eq!(view.rows(16), 2);
        assert_eq!((HexView::row_bytes(100), HexView::row_bytes(50), HexView::row_bytes(20)), (16, 8, 4));
    }
}
