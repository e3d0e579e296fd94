//! `.npy` files: the header and the first values. Arrays of Python objects are never read, because unpickling them could run code.

use super::{short, TensorView, ValueStatistics, MAX_EXAMINED_BYTES, MAX_SHOWN_VALUES};
use gristmill_core::text::{bytes as size_words, display_safe, display_safe_bytes};
use gristmill_pycompat::npy::NpyHeader;

/// Maximum size of a header in bytes; numpy's limit is 10,000 characters.
const MAX_HEADER_BYTES: usize = 64 << 10;
/// Maximum number of axes; numpy supports 64.
const MAX_AXES: usize = 64;

/// Number of bytes at the beginning of a file that [`view`] needs.
pub const NEEDED_BYTES: usize = MAX_EXAMINED_BYTES + MAX_HEADER_BYTES;

/// Returns an array, given the first bytes of its file and the length of the file. The error is for the user, safe to show.
pub fn view(name: &str, first: &[u8], length: u64) -> Result<TensorView, String> {
    let header = NpyHeader::read(first, MAX_HEADER_BYTES)?;
    let shape = header.shape()?;
    if shape.len() > MAX_AXES {
        return Err("its numpy header cannot be read".into());
    }
    let mut view = TensorView {
        name: display_safe(name).into_owned(),
        dtype: display_safe(&header.dtype).into_owned(),
        shape,
        is_fortran: header.is_fortran,
        values: Vec::new(),
        spread: None,
        note: None,
    };
    let Some(item) = Item::of(&header.dtype) else {
        view.note = Some(match header.dtype.contains('O') {
            true => "Python objects: reading them runs code, so they are never read".into(),
            false => "values of this type are not shown".into(),
        });
        return Ok(view);
    };
    let there = length.saturating_sub(header.data as u64);
    let needed = view.items().and_then(|n| n.checked_mul(item.bytes as u64));
    match needed {
        None => {
            view.note = Some(format!("its shape needs more bytes than there can be; {} are there", size_words(there)))
        }
        Some(needed) if needed > there => {
            let words = format!("cut short: {} of {} are there", size_words(there), size_words(needed));
            view.note = Some(words);
        }
        _ => {}
    }
    let end = needed.map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX)).min(MAX_EXAMINED_BYTES);
    let data = first.get(header.data..).unwrap_or_default();
    let data = data.get(..end).unwrap_or(data);
    item.read(data, &mut view);
    if let (Some(spread), Some(all)) = (&view.spread, view.items()) {
        if spread.examined < all && view.note.is_none() {
            view.note = Some(format!("from the first {}", gristmill_core::text::count(spread.examined, "value")));
        }
    }
    Ok(view)
}

/// Encoding of one value in the file.
struct Item {
    kind: u8,
    bytes: usize,
    is_big: bool,
}

impl Item {
    /// Returns the encoding of a type; `None` for types whose values are not shown.
    fn of(dtype: &str) -> Option<Self> {
        let is_big = dtype.starts_with('>');
        let plain = dtype.trim_start_matches(['<', '>', '|', '=']);
        let kind = *plain.as_bytes().first()?;
        let size: usize = plain.get(1..)?.parse().ok()?;
        let bytes = match (kind, size) {
            (b'f', 2 | 4 | 8) | (b'i' | b'u', 1 | 2 | 4 | 8) | (b'b', 1) | (b'c', 8 | 16) => size,
            (b'S', 1..=65_536) => size,
            (b'U', 1..=16_384) => size * 4,
            _ => return None,
        };
        Some(Self { kind, bytes, is_big })
    }

    fn read(&self, data: &[u8], view: &mut TensorView) {
        let items = data.chunks_exact(self.bytes);
        match self.kind {
            b'S' | b'U' => view.values = items.take(MAX_SHOWN_VALUES).map(|item| self.text(item)).collect(),
            b'c' => view.values = items.take(MAX_SHOWN_VALUES).map(|item| self.complex(item)).collect(),
            b'i' | b'u' => {
                view.values = items.clone().take(MAX_SHOWN_VALUES).map(|item| self.integer(item).to_string()).collect();
                // The conversion to f64 loses digits of large numbers, which the distribution does not need.
                view.spread = ValueStatistics::of(&items.map(|item| self.integer(item) as f64).collect::<Vec<_>>());
            }
            b'b' => {
                let words = |item: &[u8]| if item.first() == Some(&0) { "False" } else { "True" }.to_owned();
                view.values = items.clone().take(MAX_SHOWN_VALUES).map(words).collect();
                let number = |item: &[u8]| f64::from(u8::from(item.first() != Some(&0)));
                view.spread = ValueStatistics::of(&items.map(number).collect::<Vec<_>>());
            }
            _ => {
                let numbers: Vec<f64> = items.map(|item| self.float(item)).collect();
                view.values = numbers.iter().take(MAX_SHOWN_VALUES).map(|n| short(*n)).collect();
                view.spread = ValueStatistics::of(&numbers);
            }
        }
    }

    /// Returns the bytes of an item as one number; the byte order is that of the type.
    fn bits(&self, item: &[u8]) -> u64 {
        let join = |bits: u64, byte: &u8| bits << 8 | u64::from(*byte);
        if self.is_big {
            item.iter().fold(0, join)
        } else {
            item.iter().rev().fold(0, join)
        }
    }

    fn integer(&self, item: &[u8]) -> i128 {
        let bits = self.bits(item);
        if self.kind == b'u' {
            return i128::from(bits);
        }
        let shift = 64 - 8 * item.len().clamp(1, 8) as u32;
        // The cast preserves the bits: the sign is extended to 64 bits.
        i128::from(((bits << shift) as i64) >> shift)
    }

    fn float(&self, item: &[u8]) -> f64 {
        let bits = self.bits(item);
        match item.len() {
            2 => half_to_f64(bits as u16),
            4 => f64::from(f32::from_bits(bits as u32)),
            _ => f64::from_bits(bits),
        }
    }

    fn complex(&self, item: &[u8]) -> String {
        let (real, imaginary) = item.split_at(item.len() / 2);
        let (real, imaginary) = (self.float(real), self.float(imaginary));
        let sign = if imaginary.is_sign_negative() { '-' } else { '+' };
        format!("{}{sign}{}j", short(real), short(imaginary.abs()))
    }

    fn text(&self, item: &[u8]) -> String {
        const MAX_SHOWN: usize = 200;
        if self.kind == b'S' {
            let end = item.iter().rposition(|b| *b != 0).map_or(0, |at| at + 1);
            return display_safe_bytes(item.get(..end.min(MAX_SHOWN)).unwrap_or_default());
        }
        let codes = item.chunks_exact(4).map(|code| self.bits(code)).take(MAX_SHOWN);
        let text: String = codes
            .map(|code| u32::try_from(code).ok().and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect();
        display_safe(text.trim_end_matches('\0')).into_owned()
    }
}

/// Converts a 16-bit float.
fn half_to_f64(bits: u16) -> f64 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let (exponent, fraction) = (i32::from((bits >> 10) & 0x1f), f64::from(bits & 0x3ff));
    sign * match exponent {
        0 => fraction * 2_f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction / 1024.0) * 2_f64.powi(exponent - 15),
    }
}

#[cfg(test)]
pub(in super::super) mod tests {
    use super::*;

    /// Returns a file of version 1 with this header and data.
    pub(in super::super::super) fn file(dtype: &str, shape: &str, data: &[u8]) -> Vec<u8> {
        let mut header = format!("{{'descr': {dtype}, 'fortran_order': False, 'shape': {shape}, }}");
        while (header.len() + 11) % 64 != 0 {
            header.push(' ');
        }
        header.push('\n');
        let mut out = b"\x93NUMPY\x01\x00".to_vec();
        out.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
        out.extend(header.as_bytes());
        out.extend(data);
        out
    }

    fn of(dtype: &str, shape: &str, data: &[u8]) -> TensorView {
        let file = file(dtype, shape, data);
        view("", &file, file.len() as u64).unwrap()
    }

    #[test]
    fn npy_values_of_every_type_and_byte_order_are_read() {
        let floats: Vec<u8> = [1.5_f32, -2.0, f32::NAN, 0.25].iter().flat_map(|f| f.to_le_bytes()).collect();
        let view = of("'<f4'", "(2, 2)", &floats);
        assert_eq!(view.describe(), "float32 (2, 2)");
        assert_eq!(view.values, ["1.5", "-2", "NaN", "0.25"]);
        let spread = view.spread.unwrap();
        assert_eq!((spread.min, spread.max, spread.not_finite, spread.examined), (-2.0, 1.5, 1, 4));
        assert_eq!(of("'>i2'", "(2,)", &[0xff, 0xfe, 1, 0]).values, ["-2", "256"]);
        assert_eq!(of("'|u1'", "(3,)", &[0, 1, 255]).values, ["0", "1", "255"]);
        assert_eq!(of("'|b1'", "(2,)", &[0, 1]).values, ["False", "True"]);
        assert_eq!(of("'<f2'", "(2,)", &[0x00, 0x3c, 0x00, 0xc0]).values, ["1", "-2"]);
        assert_eq!(of("'|S4'", "(1,)", b"a\x1b\0\0").values, ["a␛"]);
        assert_eq!(of("'<U2'", "(1,)", &[0x2e, 0x20, 0, 0, 0, 0, 0, 0]).values, ["<U+202E>"]);
        assert_eq!(of("'<c8'", "(1,)", &floats[..8]).values, ["1.5-2j"]);
        assert_eq!(of("'<u8'", "(1,)", &[255; 8]).values, ["18446744073709551615"]);
    }

    #[test]
    fn npy_object_arrays_are_never_read() {
        let view = of("'|O'", "(3,)", b"\x80\x04cos\nsystem\n");
        assert!(view.values.is_empty() && view.note.unwrap().contains("never read"));
        assert!(of("[('a', '<f4'), ('b', 'O')]", "(3,)", b"").note.unwrap().contains("never read"));
    }

    #[test]
    fn wrong_npy_shapes_need_little_memory() {
        for shape in ["(18446744073709551615, 18446744073709551615)", "(1000000000000,)", "(0,)", "()"] {
            let view = of("'<f8'", shape, &[0; 16]);
            assert!(view.values.len() <= 2, "{shape}");
            assert!(view.lines(80, false).len() < 20);
        }
        assert!(of("'<f8'", "(99999999999,)", &[0; 16]).note.unwrap().starts_with("cut short: 16 B of "));
        for bad in ["(-1,)", "(1.5,)", "(99999999999999999999999,)", &format!("({})", "1,".repeat(1000))] {
            let file = file("'<f8'", bad, &[0; 16]);
            assert!(view("", &file, 100).is_err(), "{bad}");
        }
        assert!(view("", b"\x93NUMPY\x02\x00\xff\xff\xff\xff", 12).is_err());
        assert!(view("", b"", 0).is_err());
    }

    #[test]
    fn npy_lines_show_type_spread_and_rows() {
        let values: Vec<u8> = (0..12_u8).collect();
        let lines = of("'|u1'", "(3, 4)", &values).lines(40, true);
        assert_eq!(lines[0], "uint8 (3, 4)");
        assert_eq!(lines[1], "0 to 11, mean 5.5");
        assert_eq!(&lines[4..], [" 0  1  2  3", " 4  5  6  7", " 8  9 10 11"]);
    }

    #[test]
    fn npy_numbers_have_significant_digits_only() {
        for (number, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (-0.5, "-0.5"),
            (1234567.0, "1234567"),
            (0.000012345, "1.2345e-5"),
            (1e300, "1.0000e300"),
        ] {
            assert_eq!(short(number), text);
        }
    }
}
