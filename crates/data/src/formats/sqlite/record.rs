//! Rows in the encoding of SQLite: a header of type codes, then the values.

/// One column of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// NULL.
    Null,
    /// An integer.
    Int(i64),
    /// Text, in UTF-8.
    Text(&'a [u8]),
}

/// Encoder that reuses its buffer from row to row.
#[derive(Debug, Default)]
pub struct Record {
    bytes: Vec<u8>,
}

impl Record {
    /// Encodes a row of at most 12 columns, so that the length of its header takes one byte.
    pub fn encode(&mut self, values: &[Value<'_>]) -> &[u8] {
        debug_assert!(values.len() <= 12);
        let out = &mut self.bytes;
        out.clear();
        out.push(0);
        for value in values {
            match value {
                Value::Null => out.push(0),
                Value::Int(number) => out.push(integer_type(*number)),
                Value::Text(text) => push_varint(out, 13 + 2 * text.len() as u64),
            }
        }
        out[0] = out.len() as u8;
        for value in values {
            match value {
                Value::Null => {}
                Value::Int(number) => {
                    let width = INTEGER_WIDTH[usize::from(integer_type(*number))];
                    out.extend_from_slice(&number.to_be_bytes()[8 - width..]);
                }
                Value::Text(text) => out.extend_from_slice(text),
            }
        }
        out
    }
}

/// Size of an integer in bytes for each type code; codes 8 and 9 are the constants 0 and 1.
const INTEGER_WIDTH: [usize; 10] = [0, 1, 2, 3, 4, 6, 8, 0, 0, 0];

fn integer_type(number: i64) -> u8 {
    // Significant bits of the magnitude; a value of b bits needs b + 1 bits of two's complement.
    let bits = 64 - (number ^ (number >> 63)).leading_zeros();
    match bits {
        0 | 1 if number == 0 => 8,
        0 | 1 if number == 1 => 9,
        0..=7 => 1,
        8..=15 => 2,
        16..=23 => 3,
        24..=31 => 4,
        32..=47 => 5,
        _ => 6,
    }
}

/// Appends SQLite's variable-length integer: 7 bits per byte, most significant first; the ninth byte holds 8 bits.
pub(super) fn push_varint(out: &mut Vec<u8>, value: u64) {
    if value < 0x80 {
        out.push(value as u8);
        return;
    }
    if value < 0x4000 {
        out.extend_from_slice(&[(value >> 7) as u8 | 0x80, value as u8 & 0x7f]);
        return;
    }
    let mut bytes = [0u8; 9];
    let mut at = 9;
    let mut rest = value;
    if value >> 56 != 0 {
        at = 8;
        bytes[8] = value as u8;
        rest >>= 8;
        while at > 0 {
            at -= 1;
            bytes[at] = (rest & 0x7f) as u8 | 0x80;
            rest >>= 7;
        }
    } else {
        while rest != 0 {
            at -= 1;
            bytes[at] = (rest & 0x7f) as u8 | 0x80;
            rest >>= 7;
        }
        bytes[8] &= 0x7f;
    }
    out.extend_from_slice(&bytes[at..]);
}

/// Returns the length of the output of [`push_varint`] in bytes.
pub(super) fn varint_len(value: u64) -> usize {
    let bits = 64 - value.leading_zeros() as usize;
    match bits {
        0..=7 => 1,
        57.. => 9,
        _ => bits.div_ceil(7),
    }
}

/// Returns the variable-length integer at the beginning of `bytes`, and its length in bytes.
pub(super) fn read_varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0;
    for (at, &byte) in bytes.iter().take(9).enumerate() {
        if at == 8 {
            return Some((value << 8 | u64::from(byte), 9));
        }
        value = value << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((value, at + 1));
        }
    }
    None
}

/// A value of a stored row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Field<'a> {
    /// NULL.
    Null,
    /// A number; `None` if it is not an integer.
    Number(Option<i64>),
    /// Text.
    Text(&'a [u8]),
    /// Bytes.
    Blob(&'a [u8]),
}

impl Field<'_> {
    /// Returns an integer.
    pub fn number(self) -> Option<i64> {
        match self {
            Self::Number(number) => number,
            _ => None,
        }
    }

    /// Returns a text; empty for any other value.
    pub fn into_text(self) -> String {
        match self {
            Self::Text(text) => String::from_utf8_lossy(text).into_owned(),
            _ => String::new(),
        }
    }
}

/// An iterator over the values of a row, in order; it ends at a damaged value.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    types: &'a [u8],
    values: &'a [u8],
}

impl<'a> Fields<'a> {
    /// Reads the header of a row.
    pub fn of(row: &'a [u8]) -> Self {
        let parts = read_varint(row).and_then(|(header, read)| {
            let (header, values) = row.split_at_checked(usize::try_from(header).ok()?)?;
            Some((header.get(read..)?, values))
        });
        let (types, values) = parts.unwrap_or_default();
        Self { types, values }
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Field<'a>;

    fn next(&mut self) -> Option<Field<'a>> {
        let (code, read) = read_varint(self.types)?;
        let width = match usize::try_from(code).ok()? {
            7 => 8,
            code @ 0..10 => INTEGER_WIDTH[code],
            10 | 11 => return None,
            code => (code - 12) / 2,
        };
        let (value, rest) = self.values.split_at_checked(width)?;
        (self.types, self.values) = (self.types.get(read..)?, rest);
        let sign = if value.first().is_some_and(|byte| byte & 0x80 != 0) { -1 } else { 0 };
        Some(match code {
            0 => Field::Null,
            7 => Field::Number(None),
            8 | 9 => Field::Number(i64::try_from(code - 8).ok()),
            1..7 => Field::Number(Some(value.iter().fold(sign, |number, byte| number << 8 | i64::from(*byte)))),
            code if code % 2 == 0 => Field::Blob(value),
            _ => Field::Text(value),
        })
    }
}
