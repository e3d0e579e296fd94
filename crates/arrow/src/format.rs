//! Formats values as JSON text.

use std::io::Write as _;

/// Maximum size of a text in bytes.
pub const MAX_TEXT_BYTES: u64 = 64 << 20;

/// Reason why a text cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadText {
    /// It is not UTF-8; in the JSON, U+FFFD replaces its invalid bytes.
    NotUtf8,
    /// It is larger than [`MAX_TEXT_BYTES`]; in the JSON, it is null.
    TooLong,
}

/// Appends a JSON string. Returns the reason why the bytes cannot be read, if they cannot.
pub(crate) fn append_text(bytes: &[u8], out: &mut Vec<u8>) -> Option<BadText> {
    if bytes.len() as u64 > MAX_TEXT_BYTES {
        out.extend_from_slice(b"null");
        return Some(BadText::TooLong);
    }
    out.push(b'"');
    let bad = match simdutf8::basic::from_utf8(bytes) {
        Ok(text) => {
            append_escaped(text, out);
            None
        }
        Err(_) => {
            for chunk in bytes.utf8_chunks() {
                append_escaped(chunk.valid(), out);
                if !chunk.invalid().is_empty() {
                    out.extend_from_slice("\u{FFFD}".as_bytes());
                }
            }
            Some(BadText::NotUtf8)
        }
    };
    out.push(b'"');
    bad
}

fn append_escaped(text: &str, out: &mut Vec<u8>) {
    let is_special = |byte: &u8| *byte < 0x20 || matches!(byte, b'"' | b'\\');
    let mut rest = text.as_bytes();
    while let Some((plain, after)) = rest.iter().position(is_special).and_then(|at| rest.split_at_checked(at)) {
        out.extend_from_slice(plain);
        let Some((byte, after)) = after.split_first() else { break };
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            _ => append(out, format_args!("\\u{byte:04x}")),
        }
        rest = after;
    }
    out.extend_from_slice(rest);
}

/// Appends formatted text.
pub(crate) fn append(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    // Writing to memory does not fail.
    let _ = out.write_fmt(text);
}

/// Appends a number with the fewest digits that are parsed as the same number of the same type. An exponent is written as in Python:
/// `1e+20`, `1e-05`.
pub(crate) fn append_float(is_finite: bool, text: std::fmt::Arguments<'_>, out: &mut Vec<u8>) {
    if !is_finite {
        out.extend_from_slice(b"null");
        return;
    }
    let start = out.len();
    append(out, text);
    let number = out.get(start..).unwrap_or_default();
    let Some(at) = number.iter().position(|byte| *byte == b'e') else { return };
    let exponent = out.split_off(start + at + 1);
    let (sign, digits) = match exponent.strip_prefix(b"-") {
        Some(digits) => (b'-', digits),
        None => (b'+', exponent.as_slice()),
    };
    out.push(sign);
    if digits.len() == 1 {
        out.push(b'0');
    }
    out.extend_from_slice(digits);
}

/// Appends a date, given as days since 1970-01-01: `"2024-02-29"`.
pub(crate) fn append_date(days: i64, out: &mut Vec<u8>) {
    out.push(b'"');
    append_day(days, out);
    out.push(b'"');
}

fn append_day(days: i64, out: &mut Vec<u8>) {
    let (year, month, day) = civil_from_days(days);
    match year {
        0..=9999 => append(out, format_args!("{year:04}-{month:02}-{day:02}")),
        _ => append(out, format_args!("{year:+05}-{month:02}-{day:02}")),
    }
}

/// Appends a time of day: `"23:59:59.123"`. `per_second` is the number of units in a second.
pub(crate) fn append_time(value: i64, per_second: i64, out: &mut Vec<u8>) {
    out.push(b'"');
    append_clock(value, per_second, out);
    out.push(b'"');
}

/// Appends a timestamp since 1970: `"2024-02-29T23:59:59.5Z"`.
pub(crate) fn append_timestamp(value: i64, per_second: i64, is_utc: bool, out: &mut Vec<u8>) {
    let per_day = per_second * 86_400;
    out.push(b'"');
    append_day(value.div_euclid(per_day), out);
    out.push(b'T');
    append_clock(value.rem_euclid(per_day), per_second, out);
    out.extend_from_slice(if is_utc { b"Z\"" } else { b"\"" });
}

fn append_clock(value: i64, per_second: i64, out: &mut Vec<u8>) {
    if value < 0 {
        out.push(b'-');
    }
    let value = value.unsigned_abs();
    let per_second = per_second.unsigned_abs();
    let (seconds, part) = (value / per_second, value % per_second);
    append(out, format_args!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60));
    append_fraction(part, per_second, out);
}

/// Appends a fraction of a second with a point and 3, 6 or 9 digits, as needed.
fn append_fraction(part: u64, per_second: u64, out: &mut Vec<u8>) {
    let nanos = part * (1_000_000_000 / per_second);
    match nanos {
        0 => {}
        _ if nanos.is_multiple_of(1_000_000) => append(out, format_args!(".{:03}", nanos / 1_000_000)),
        _ if nanos.is_multiple_of(1_000) => append(out, format_args!(".{:06}", nanos / 1_000)),
        _ => append(out, format_args!(".{nanos:09}")),
    }
}

/// Appends an interval of months, days and milliseconds, each four bytes: `"P1M2DT3.004S"`.
pub(crate) fn append_interval(bytes: &[u8], out: &mut Vec<u8>) {
    let number = |at: usize| {
        let bytes = bytes.get(at..).and_then(<[u8]>::first_chunk);
        bytes.map(|bytes| u64::from(u32::from_le_bytes(*bytes))).unwrap_or_default()
    };
    append(out, format_args!("\"P{}M{}DT{}", number(0), number(4), number(8) / 1000));
    append_fraction(number(8) % 1000, 1000, out);
    out.extend_from_slice(b"S\"");
}

/// Appends a duration: `"-PT90.5S"`. `per_second` is the number of units in a second.
pub(crate) fn append_duration(value: i64, per_second: i64, out: &mut Vec<u8>) {
    let sign = if value < 0 { "-" } else { "" };
    let (value, per_second) = (value.unsigned_abs(), per_second.unsigned_abs());
    append(out, format_args!("\"{sign}PT{}", value / per_second));
    append_fraction(value % per_second, per_second, out);
    out.extend_from_slice(b"S\"");
}

/// Converts days since 1970-01-01 to year, month and day of the proleptic Gregorian calendar.
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    // Years begin in March, so that leap days are at the end of a year; 400 years have 146,097 days.
    let days = days.saturating_add(719_468);
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(append: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        append(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn dates_match_the_proleptic_gregorian_calendar() {
        for (days, date) in [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (11_016, "2000-02-29"),
            (19_782, "2024-02-29"),
            (-719_468, "0000-03-01"),
            (2_932_896, "9999-12-31"),
            (2_932_897, "+10000-01-01"),
            (-719_529, "-0001-12-31"),
        ] {
            assert_eq!(text(|out| append_date(days, out)), format!("\"{date}\""));
        }
        text(|out| append_date(i64::MAX, out));
        text(|out| append_timestamp(i64::MIN, 1000, true, out));
    }

    #[test]
    fn times_have_as_many_fraction_digits_as_their_unit_needs() {
        for (value, per_second, time) in [
            (0, 1_000, "00:00:00"),
            (86_399_999, 1_000, "23:59:59.999"),
            (1_500_000, 1_000_000, "00:00:01.500"),
            (1, 1_000_000, "00:00:00.000001"),
            (1, 1_000_000_000, "00:00:00.000000001"),
            (-1_000, 1_000, "-00:00:01"),
        ] {
            assert_eq!(text(|out| append_time(value, per_second, out)), format!("\"{time}\""));
        }
        assert_eq!(text(|out| append_timestamp(-1, 1_000, true, out)), "\"1969-12-31T23:59:59.999Z\"");
        assert_eq!(text(|out| append_duration(-90_500, 1_000, out)), "\"-PT90.500S\"");
        let interval = [1_u32, 2, 3_004].map(u32::to_le_bytes).concat();
        assert_eq!(text(|out| append_interval(&interval, out)), "\"P1M2DT3.004S\"");
    }

    #[test]
    fn floats_are_printed_as_in_python_and_nan_becomes_null() {
        for (value, json) in [
            (1e20, "1e+20"),
            (-1.5e16, "-1.5e+16"),
            (9_999_999_999_999_998.0, "9999999999999998.0"),
            (1e-4, "0.0001"),
            (-2.5e-5, "-2.5e-05"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (-0.0, "-0.0"),
            (f64::NAN, "null"),
        ] {
            assert_eq!(text(|out| append_float(value.is_finite(), format_args!("{value:?}"), out)), json);
        }
        let value = 0.1_f32;
        assert_eq!(text(|out| append_float(true, format_args!("{value:?}"), out)), "0.1");
    }

    #[test]
    fn texts_are_escaped() {
        assert_eq!(
            text(|out| assert_eq!(append_text("a\"\\\n\t\u{1}ü".as_bytes(), out), None)),
            "\"a\\\"\\\\\\n\\t\\u0001ü\""
        );
        assert_eq!(
            text(|out| assert_eq!(append_text(b"a\xFFb\xC3", out), Some(BadText::NotUtf8))),
            "\"a\u{FFFD}b\u{FFFD}\""
        );
        let long = vec![b'a'; MAX_TEXT_BYTES as usize + 1];
        assert_eq!(text(|out| assert_eq!(append_text(&long, out), Some(BadText::TooLong))), "null");
        assert!(text(|out| assert_eq!(append_text(&long[1..], out), None)).len() > MAX_TEXT_BYTES as usize);
    }
}
