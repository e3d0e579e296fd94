//! The two forms of dates in answers: HTTP headers, and ISO 8601.

use gristmill_core::utc;
use std::ops::Range;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/// Days of the week, starting with the day of 1970-01-01.
const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
/// Seconds in a day.
const DAY: i64 = 86_400;
/// Nanoseconds in a second.
const SECOND_NS: i64 = 1_000_000_000;

/// The clock of a store, as far as it is known.
#[derive(Debug, Default)]
pub(super) struct StoreClock {
    /// Seconds by which it is ahead of the clock of this machine.
    offset: AtomicI64,
}

impl StoreClock {
    /// Sets the seconds by which it is ahead of the clock of this machine.
    pub(super) fn set(&self, offset: i64) {
        self.offset.store(offset, Ordering::Relaxed);
    }

    pub(super) fn now(&self) -> SystemTime {
        let offset = self.offset.load(Ordering::Relaxed);
        let distance = Duration::from_secs(offset.unsigned_abs());
        let now = SystemTime::now();
        if offset < 0 {
            now - distance
        } else {
            now + distance
        }
    }
}

/// Parses `Sun, 06 Nov 1994 08:49:37 GMT` as nanoseconds since 1970.
pub(super) fn parse_http_date(text: &str) -> Option<i64> {
    let mut parts = text.split(", ").nth(1)?.split(' ');
    let day = parts.next()?.parse().ok()?;
    let month = parts.next()?;
    let month = 1 + i64::try_from(MONTHS.iter().position(|known| *known == month)?).ok()?;
    let year = parts.next()?.parse().ok()?;
    let seconds = seconds_of_day(parts.next()?)?;
    nanoseconds(year, month, day, seconds, 0)
}

/// Formats a time as `Sun, 06 Nov 1994 08:49:37 GMT`.
pub(super) fn format_http_date(time: SystemTime) -> String {
    let stamp = utc::stamp(time);
    let part = |range: Range<usize>| stamp.get(range).unwrap_or_default();
    let days = time.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs()) / 86_400;
    let weekday = usize::try_from(days % 7).ok().and_then(|day| WEEKDAYS.get(day)).unwrap_or(&"");
    let month = part(4..6).parse().ok().and_then(|month: usize| MONTHS.get(month.checked_sub(1)?)).unwrap_or(&"");
    let (day, year, hour, minute, second) = (part(6..8), part(0..4), part(9..11), part(11..13), part(13..15));
    format!("{weekday}, {day} {month} {year} {hour}:{minute}:{second} GMT")
}

/// Parses `2013-05-24T00:00:00.123Z`, also with `UTC` or `+00:00` at its end, as nanoseconds since 1970.
pub(super) fn parse_iso_date(text: &str) -> Option<i64> {
    let (date, time) = text.trim().split_once('T')?;
    let time = time.trim_end_matches('Z').trim_end_matches("UTC").trim_end_matches("+00:00");
    let mut parts = date.split('-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let (time, fraction) = time.split_once('.').unwrap_or((time, ""));
    let fraction = fraction.get(..fraction.len().min(9))?;
    let fraction = if fraction.is_empty() { 0 } else { format!("{fraction:0<9}").parse().ok()? };
    nanoseconds(year, month, day, seconds_of_day(time)?, fraction)
}

/// Parses an ISO 8601 date as a time.
pub(super) fn parse_iso_time(text: &str) -> Option<SystemTime> {
    let time = u64::try_from(parse_iso_date(text)?).ok()?;
    Some(UNIX_EPOCH + Duration::from_nanos(time))
}

fn seconds_of_day(text: &str) -> Option<i64> {
    // Numbers of 32 bits cannot overflow the sum.
    let mut parts = text.split(':').map(|part| part.parse::<u32>().ok().map(i64::from));
    Some(parts.next()?? * 3600 + parts.next()?? * 60 + parts.next()??)
}

/// Returns nanoseconds since 1970. Counts days in years that begin in March, so that the leap day is the last one.
fn nanoseconds(year: i64, month: i64, day: i64, seconds: i64, fraction: i64) -> Option<i64> {
    if !(1..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let year = if month > 2 { year } else { year - 1 };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = 365 * year + year / 4 - year / 100 + year / 400 + day_of_year - 719_468;
    days.checked_mul(DAY)?.checked_add(seconds)?.checked_mul(SECOND_NS)?.checked_add(fraction)
}

/// Returns the current time of this machine in nanoseconds since 1970.
pub(super) fn now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos());
    i64::try_from(now).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http_and_iso_dates_give_the_same_time() {
        assert_eq!(parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777 * SECOND_NS));
        assert_eq!(parse_iso_date("1994-11-06T08:49:37.000Z"), Some(784_111_777 * SECOND_NS));
        assert_eq!(parse_iso_date("2024-02-29T12:34:56Z"), Some(1_709_210_096 * SECOND_NS));
        assert_eq!(parse_iso_date("1970-01-01T00:00:00.25+00:00"), Some(250_000_000));
        assert_eq!(parse_iso_date("2025-13-01T00:00:00Z"), None);
        assert_eq!(parse_http_date("yesterday"), None);
        let time = UNIX_EPOCH + Duration::from_secs(784_111_777);
        assert_eq!(format_http_date(time), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(parse_http_date("Sun, 06 Nov 1994 9223372036854775807:00:00 GMT"), None);
    }
}
