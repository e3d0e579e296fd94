//! Text for people: untrusted text made safe, and numbers, sizes and durations in the one way they are written.

use std::borrow::Cow;
use std::time::Duration;

/// Makes untrusted text safe to print on one line: controls, escapes, bidi and invisible characters become visible stand-ins.
///
/// Nothing vanishes silently: `\n` becomes `␊`, ESC `␛`, other C0 controls their picture, C1 and format characters `<U+202E>`.
/// At most 16 combining marks per base character are kept.
pub fn display_safe(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|b| (0x20..0x7f).contains(&b)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut marks = 0usize;
    for c in text.chars() {
        if is_mark(c) {
            marks += 1;
            if marks > 16 {
                if marks == 17 {
                    out.push('…');
                }
                continue;
            }
        } else {
            marks = 0;
        }
        match c {
            '\u{0}'..='\u{1f}' => out.push(char::from_u32(0x2400 + c as u32).unwrap_or('?')),
            '\u{7f}' => out.push('␡'),
            c if is_unsafe(c) => {
                use std::fmt::Write as _;
                let _ = write!(out, "<U+{:04X}>", c as u32);
            }
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// [`display_safe`] for bytes that may not be UTF-8: undecodable bytes become `\xNN`.
pub fn display_safe_bytes(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        out.push_str(&display_safe(chunk.valid()));
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

fn is_mark(c: char) -> bool {
    matches!(c as u32,
        0x0300..=0x036f | 0x0483..=0x0489 | 0x0591..=0x05bd | 0x0610..=0x061a | 0x064b..=0x065f | 0x0e31 | 0x0e34..=0x0e3a
        | 0x0e47..=0x0e4e | 0x1ab0..=0x1aff | 0x1dc0..=0x1dff | 0x20d0..=0x20ff | 0xfe00..=0xfe0f | 0xfe20..=0xfe2f | 0xe0100..=0xe01ef)
}

/// Whether [`display_safe`] leaves a single character as it is.
pub fn is_printable(c: char) -> bool {
    !c.is_ascii_control() && !is_unsafe(c)
}

fn is_unsafe(c: char) -> bool {
    matches!(c as u32,
        0x80..=0x9f | 0xad | 0x061c | 0x115f | 0x1160 | 0x180e | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f | 0x3164 | 0xfeff
        | 0xffa0 | 0xfff9..=0xfffb | 0x1d173..=0x1d17a | 0xe0000..=0xe007f)
}

/// `1234567` → `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// A size with a binary unit and at most one decimal: `512 B`, `48.1 KiB`, `4.3 GiB`.
pub fn bytes(size: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if size < 1024 {
        return format!("{size} B");
    }
    let mut value = size as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// `0:04`, `12:30`, `1h02m`, `3d04h`.
pub fn duration(time: Duration) -> String {
    let s = time.as_secs();
    match s {
        0..3600 => format!("{}:{:02}", s / 60, s % 60),
        3600..86_400 => format!("{}h{:02}m", s / 3600, s % 3600 / 60),
        _ => format!("{}d{:02}h", s / 86_400, s % 86_400 / 3600),
    }
}

/// `1 shard`, `2 shards`, `1,234 samples`.
pub fn count(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(number), if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dangerous_character_becomes_a_visible_stand_in() {
        assert_eq!(display_safe("plain.tar"), "plain.tar");
        assert_eq!(display_safe("a\x1b[31mb\n"), "a␛[31mb␊");
        assert_eq!(display_safe("x\u{202e}y\u{9b}z"), "x<U+202E>y<U+009B>z");
        assert_eq!(display_safe_bytes(b"a\xffb"), "a\\xffb");
    }

    #[test]
    fn numbers_sizes_and_durations_are_written_one_way() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1024), "1.0 KiB");
        assert_eq!(bytes(1024 * 1024 - 1), "1.0 MiB");
        assert_eq!(duration(Duration::from_secs(64)), "1:04");
        assert_eq!(duration(Duration::from_secs(3720)), "1h02m");
        assert_eq!(count(1, "shard"), "1 shard");
    }
}
