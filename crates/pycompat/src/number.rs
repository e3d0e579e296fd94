//! Formats and parses numbers as Python does.

/// Formats a float like `repr`: the shortest digits that read back equal, `1e-05`, `1e+16`, `25.0`, `inf`, `nan`.
pub fn float_repr(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    let sign = if value.is_sign_negative() { "-" } else { "" };
    let value = value.abs();
    if value.is_infinite() {
        return format!("{sign}inf");
    }
    // The shortest digits in the form `d.ddde±x`.
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let mut digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    if digits.len() >= FIRST_AMBIGUOUS && may_be_between(value) {
        digits = even_digits(value, digits);
    }
    let place = usize::try_from(exponent + 1).unwrap_or(0);
    if !(-4..16).contains(&exponent) {
        let (first, rest) = digits.split_at_checked(1).unwrap_or((&digits, ""));
        let point = if rest.is_empty() { "" } else { "." };
        let direction = if exponent < 0 { '-' } else { '+' };
        return format!("{sign}{first}{point}{rest}e{direction}{:02}", exponent.abs());
    }
    match digits.split_at_checked(place) {
        Some(("", fraction)) => format!("{sign}0.{}{fraction}", "0".repeat(exponent.unsigned_abs() as usize - 1)),
        Some((whole, "")) => format!("{sign}{whole}.0"),
        Some((whole, fraction)) => format!("{sign}{whole}.{fraction}"),
        None => format!("{sign}{digits}{}.0", "0".repeat(place - digits.len())),
    }
}

/// Minimum number of digits for which a float may have several shortest texts.
const FIRST_AMBIGUOUS: usize = 16;
/// Maximum number of fraction bits; more would result in more than 18 digits, as 5 to the power of 26 has 19.
const MAX_FRACTION_BITS: i64 = 25;
/// Maximum number of digits of a float written in full.
const ALL_DIGITS: usize = 800;

/// Whether a float may be exactly half-way between two shortest texts.
fn may_be_between(value: f64) -> bool {
    let bits = value.to_bits();
    let exponent = ((bits >> 52) & 0x7ff).max(1) as i64 - 1075;
    let mantissa = (bits & ((1 << 52) - 1)) | (u64::from(value.is_normal()) << 52);
    exponent + i64::from(mantissa.trailing_zeros()) >= -MAX_FRACTION_BITS
}

/// Selects between two shortest texts that are equally close: Python uses the one whose last digit is even, but Rust rounds up.
fn even_digits(value: f64, digits: String) -> String {
    let count = digits.len();
    let written = |more: usize| {
        let text = format!("{value:.more$e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
        (digits, exponent.parse::<i64>().unwrap_or(0))
    };
    let (all, exponent) = written(ALL_DIGITS);
    let half = all.get(count..).and_then(|rest| rest.strip_prefix('5'));
    let below = all.get(..count).and_then(|below| below.parse::<u64>().ok());
    let (Some(half), Some(below)) = (half, below) else { return digits };
    if half.bytes().any(|digit| digit != b'0') {
        return digits;
    }
    let power = exponent + 1 - count as i64;
    let even = (below + below % 2).to_string();
    match format!("{even}e{power}").parse() == Ok(value) && even.len() == count {
        true => even,
        false => digits,
    }
}

/// Parses text like Python's `int()`: surrounding white space, a sign, digits with single underscores between them; leading zeros are
/// ignored.
///
/// Returns `None` for numbers beyond `i128`.
pub fn parse_int(text: &str) -> Option<i128> {
    let text = text.trim();
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !is_digits_with_underscores(digits) {
        return None;
    }
    text.replace('_', "").parse().ok()
}

/// Whether `int()` accepts the text, regardless of the size of the number.
pub fn is_int(text: &str) -> bool {
    let text = text.trim();
    is_digits_with_underscores(text.strip_prefix(['+', '-']).unwrap_or(text))
}

fn is_digits_with_underscores(text: &str) -> bool {
    !text.is_empty() && text.split('_').all(|group| !group.is_empty() && group.bytes().all(|b| b.is_ascii_digit()))
}

/// Parses text like Python's `float()`, including underscores between digits.
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
            (f64::NEG_INFINITY, "-inf"),
            (0.0, "0.0"),
            (5e-324, "5e-324"),
            (1.797_693_134_862_315_7e308, "1.7976931348623157e+308"),
            (-123.456, "-123.456"),
            (0.001_5, "0.0015"),
            (1e15, "1000000000000000.0"),
            (2e-308, "2e-308"),
            // Exactly half-way between two shortest texts.
            (2_332_887_695_970_329.0 / 4.0, "583221923992582.2"),
            (2_332_887_695_970_331.0 / 4.0, "583221923992582.8"),
            (-4_503_599_627_370_497.0 / 4.0, "-1125899906842624.2"),
            (1.0 / 33_554_432.0, "2.9802322387695312e-08"),
            (9_007_199_254_740_993.0, "9007199254740992.0"),
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
