//! User-facing text: escaping of untrusted text, and consistent formats for numbers, sizes and durations.

pub use super::safe::{display_safe, display_safe_bytes, display_safe_lines, is_printable};
pub use super::shell::{hint_for, shell_quote};

use std::borrow::Cow;
use std::fmt::Write as _;
use std::time::Duration;

/// Formats a number with group separators: `1234567` → `1,234,567`.
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

/// Formats bytes as hexadecimal digits in lower case.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Formats a size with a binary unit and at most one decimal: `512 B`, `48.1 KiB`, `4.3 GiB`.
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

/// Exclusive maximum of parsed sizes, in bytes.
const MAX_SIZE: f64 = (1u64 << 53) as f64;

/// Parses a size such as `64M`, `1.5GiB` or `1048576` into bytes. Units are binary.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 =
        text.get(..end).unwrap_or_default().parse().map_err(|_| "expected a size such as 256MiB or 1G".to_owned())?;
    let shift = match text.get(end..).unwrap_or_default().trim().to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        unit => return Err(format!("unknown unit '{unit}'; use KiB, MiB, GiB or TiB")),
    };
    let bytes = number * (1u64 << shift) as f64;
    match bytes {
        ..1.0 => Err("the size must be at least 1 byte".into()),
        // Larger numbers are not exact as `f64`, and no disk is that large.
        MAX_SIZE.. => Err("the size must be less than 8 PiB".into()),
        _ => Ok(bytes as u64),
    }
}

/// Formats a size so that [`parse_size`] returns exactly the same size: `512MiB`, `3000000000`.
pub fn exact_size(bytes: u64) -> String {
    let units = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
    let unit = units.into_iter().find(|(shift, _)| bytes > 0 && bytes.is_multiple_of(1 << shift));
    unit.map_or_else(|| bytes.to_string(), |(shift, unit)| format!("{}{unit}", bytes >> shift))
}

/// Formats a share of a whole with one decimal: `80.0 %`. `0 %` and `100 %` are exact.
pub fn percent(share: f64) -> String {
    match share * 100.0 {
        ..=0.0 => "0 %".to_owned(),
        100.0.. => "100 %".to_owned(),
        part => format!("{:.1} %", part.clamp(0.1, 99.9)),
    }
}

/// Formats a duration: `0:04`, `12:30`, `1h02m`, `3d04h`, `7d`.
pub fn duration(time: Duration) -> String {
    let s = time.as_secs();
    match s {
        0..3600 => format!("{}:{:02}", s / 60, s % 60),
        3600..86_400 => format!("{}h{:02}m", s / 3600, s % 3600 / 60),
        _ if s % 86_400 < 3600 => format!("{}d", s / 86_400),
        _ => format!("{}d{:02}h", s / 86_400, s % 86_400 / 3600),
    }
}

/// Formats an estimated duration: `less than a second`, `about 0:04`.
pub fn about(time: Duration) -> String {
    match time.as_secs() {
        0 => "less than a second".to_owned(),
        _ => format!("about {}", duration(time)),
    }
}

/// Formats a number with its noun: `1 shard`, `2 shards`, `1,234 samples`, `3 entries`.
pub fn count(number: u64, noun: &str) -> String {
    format!("{} {}", grouped(number), inflect(number, noun))
}

/// Returns a noun in the form that follows a number: `shard` after 1, `shards` after other numbers.
pub fn inflect(number: u64, noun: &str) -> Cow<'_, str> {
    match noun.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u'])) {
        _ if number == 1 => noun.into(),
        Some(stem) => format!("{stem}ies").into(),
        None if ["s", "x", "tch", "sh"].iter().any(|end| noun.ends_with(end)) => format!("{noun}es").into(),
        None => format!("{noun}s").into(),
    }
}

/// Formats a number of repetitions: `once`, `2 times`, `0.5 times`.
pub fn times(number: f64) -> String {
    if number == 1.0 {
        "once".to_owned()
    } else {
        format!("{number} times")
    }
}

/// Returns the form of a verb or pronoun that agrees with a number: `singular` for 1, `plural` for other numbers.
pub const fn agree<'a>(number: u64, singular: &'a str, plural: &'a str) -> &'a str {
    if number == 1 {
        singular
    } else {
        plural
    }
}

/// Formats a counted noun with its verb: `1 line is`, `2 lines are`.
pub fn count_verb(number: u64, noun: &str, singular: &str, plural: &str) -> String {
    format!("{} {}", count(number, noun), agree(number, singular, plural))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_take_binary_units() {
        assert_eq!(parse_size("1024"), Ok(1024));
        assert_eq!(parse_size("64M"), Ok(64 << 20));
        assert_eq!(parse_size("3GB"), Ok(3 << 30));
        assert_eq!(parse_size("1.5 GiB"), Ok(3 << 29));
        for text in ["lots", "0", "3 parsecs", "", "-1", "1e3"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn incomplete_share_never_shows_0_or_100_percent() {
        let shown = [0.0, 1e-9, 0.5, 0.8, 0.999_99, 1.0].map(percent);
        assert_eq!(shown, ["0 %", "0.1 %", "50.0 %", "80.0 %", "99.9 %", "100 %"]);
    }

    #[test]
    fn counts_byte_sizes_and_durations_have_one_format() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!((count(1, "entry"), count(0, "shard")), ("1 entry".to_owned(), "0 shards".to_owned()));
        assert_eq!((count(400, "entry"), count(2, "key")), ("400 entries".to_owned(), "2 keys".to_owned()));
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1024), "1.0 KiB");
        assert_eq!(bytes(1024 * 1024 - 1), "1.0 MiB");
        assert_eq!(duration(Duration::from_secs(64)), "1:04");
        assert_eq!(duration(Duration::from_secs(3720)), "1h02m");
        assert_eq!(duration(Duration::from_secs(86_400 + 3600)), "1d01h");
        assert_eq!(duration(Duration::from_secs(7 * 86_400 + 3599)), "7d");
        assert_eq!(about(Duration::from_millis(999)), "less than a second");
        assert_eq!(about(Duration::from_secs(4)), "about 0:04");
        assert_eq!(count(1, "shard"), "1 shard");
    }

    #[test]
    fn noun_is_singular_for_one_and_plural_otherwise() {
        let forms = |noun| [0, 1, 2, 1000].map(|number| inflect(number, noun).into_owned());
        assert_eq!(forms("shard"), ["shards", "shard", "shards", "shards"]);
        assert_eq!(forms("entry"), ["entries", "entry", "entries", "entries"]);
        assert_eq!(forms("key"), ["keys", "key", "keys", "keys"]);
        assert_eq!(forms("index"), ["indexes", "index", "indexes", "indexes"]);
        assert_eq!(forms("match"), ["matches", "match", "matches", "matches"]);
        assert_eq!(forms("epoch"), ["epochs", "epoch", "epochs", "epochs"]);
    }

    #[test]
    fn verb_agrees_with_its_count() {
        assert_eq!([0, 1, 2].map(|number| agree(number, "has", "have")), ["have", "has", "have"]);
        assert_eq!([0.5, 1.0, 2.0].map(times), ["0.5 times", "once", "2 times"]);
        assert_eq!(count_verb(1, "blank line", "is", "are"), "1 blank line is");
        assert_eq!(count_verb(1_000, "blank line", "is", "are"), "1,000 blank lines are");
    }
}
