//! Formats points in time, in UTC.

use std::time::SystemTime;

/// Formats a time as `YYYYMMDDThhmmssZ`.
pub fn stamp(now: SystemTime) -> String {
    let [year, month, day, hour, minute, second] = fields(now);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}

/// Formats a time as `YYYY-MM-DD_hh-mm-ss`, as in the names of datatrove's log folders.
pub fn log_stamp(now: SystemTime) -> String {
    let [year, month, day, hour, minute, second] = fields(now);
    format!("{year:04}-{month:02}-{day:02}_{hour:02}-{minute:02}-{second:02}")
}

/// Formats a time as `YYYY-MM-DD hh:mm:ss.mmmZ`, the prefix of lines in log files.
pub fn log_time(now: SystemTime) -> String {
    let [year, month, day, hour, minute, second] = fields(now);
    let millis = now.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.subsec_millis());
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// Returns year, month, day, hour, minute and second. Times before 1970 become 1970-01-01 00:00:00.
fn fields(now: SystemTime) -> [u64; 6] {
    let seconds = now.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil_from_days(days);
    [year, month, day, rest / 3600, rest % 3600 / 60, rest % 60]
}

/// Converts days since 1970-01-01 into year, month and day of the Gregorian calendar.
fn civil_from_days(mut days: u64) -> (u64, u64, u64) {
    let leap = |y: u64| y.is_multiple_of(4) && (!y.is_multiple_of(100) || y.is_multiple_of(400));
    let mut year = 1970;
    loop {
        let length = if leap(year) { 366 } else { 365 };
        if days < length {
            break;
        }
        days -= length;
        year += 1;
    }
    let february = if leap(year) { 29 } else { 28 };
    for (month, length) in (1..).zip([31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]) {
        if days < length {
            return (year, month, days + 1);
        }
        days -= length;
    }
    (year, 12, 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn time_stamps_on_leap_days_have_the_right_date() {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_709_210_096);
        assert_eq!(stamp(time), "20240229T123456Z");
        assert_eq!(log_stamp(time), "2024-02-29_12-34-56");
        assert_eq!(log_time(time + Duration::from_millis(7)), "2024-02-29 12:34:56.007Z");
        assert_eq!(stamp(SystemTime::UNIX_EPOCH), "19700101T000000Z");
    }
}
