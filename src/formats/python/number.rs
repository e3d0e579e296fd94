//! Numbers as Python prints and reads them.

/// A float as `repr` writes it: the shortest digits that read back equal, `1e-05`, `1e+16`, `25.0`, `inf`, `nan`.
pub fn float_repr(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let plain = || {
        let plain = format!("{value}");
        if plain.contains('.') {
            plain
        } else {
            plain + ".0"
        }
    };
    if value == 0.0 || (1e-4..1e16).contains(&value.abs()) {
        return plain();
    }
    // `{:e}` gives the shortest digits too, as `d.ddde±x`.
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

/// Text as Python's `int()` reads it: surrounding space, a sign, digits with single underscores between them; leading zeros count for nothing.
///
/// Numbers beyond `i128` are not read.
pub fn parse_int(text: &str) -> Option<i128> {
    let text = text.trim();
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !is_digits_with_underscores(digits) {
        return None;
    }
    text.replace('_', "").parse().ok()
}

/// Whether `int()` takes the text, however large the number is.
pub fn is_int(text: &str) -> bool {
    let text = text.trim();
    is_digits_with_underscores(text.strip_prefix(['+', '-']).unwrap_or(text))
}

fn is_digits_with_underscores(text: &str) -> bool {
    !text.is_empty() && text.split('_').all(|group| !group.is_empty() && group.bytes().all(|b| b.is_ascii_digit()))
}

/// Text as Python's `float()` reads it, underscores between digits included.
pub fn parse_float(text: &str) -> Option<f64> {
    let text = text.trim();
    let bytes = text.as_bytes();
    for (i, byte) in bytes.iter().enumerate() {
        if *byte == b'_' {
            let digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
            if !digit(i.checked_sub(1)) || !digit(Some(i + 1)) {
                return None;
            }
        }
    }
    text.replace('_', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_printed_as_repr_prints_them() {
        for (value, text) in [
            (25.0, "25.0"),
            (0.48, "0.48"),
            (0.181_428_571_428_571_74, "0.18142857142857174"),
            (1e16, "1e+16"),
            (123_456_789_012_345_680.0, "1.2345678901234568e+17"),
            (1e-5, "1e-05"),
            (0.0001, "0.0001"),
            (-0.0, "-0.0"),
            (1e300, "1e+300"),
            (9_999_999_999_999_998.0, "9999999999999998.0"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(float_repr(value), text);
        }
    }

    #[test]
    fn numbers_are_read_as_python_reads_them() {
        assert_eq!(parse_int("00000"), Some(0));
        assert_eq!(parse_int(" +1_000 "), Some(1000));
        assert_eq!(parse_int("1__0"), None);
        assert_eq!(parse_int("_1"), None);
        assert_eq!(parse_int(""), None);
        assert_eq!(parse_int("-"), None);
        assert_eq!(parse_float("1_0.5e1_0"), Some(10.5e10));
        assert_eq!(parse_float("1_.5"), None);
        assert!(is_int("99999999999999999999999999999999999999999999999999"));
    }
}
