//! Answers to requests for a range of an object, which may arrive in several pieces.

use super::super::retry::RetryReason;
use super::Reply;
use reqwest::header::HeaderMap;
use std::ops::Range;

/// Maximum size of an answer, in bytes.
pub(in crate::remote) const MAX_ANSWER_BYTES: usize = 16 << 20;

/// A successful answer, or the bytes of it that have arrived.
#[derive(Debug, Default)]
pub(in crate::remote) struct Answer {
    pub(in crate::remote) headers: HeaderMap,
    pub(in crate::remote) body: Vec<u8>,
    /// Size of the object, if a range was requested.
    pub(in crate::remote) total: u64,
    /// Version of the object, if a range was requested.
    pub(in crate::remote) version: String,
    /// Number of earlier tries of the request that failed or whose answers were lost; the store may have executed some of them.
    pub(in crate::remote) lost_answers: usize,
}

/// A request for a range.
pub(in crate::remote) struct RangeCall<'a> {
    /// Requested bytes. Bytes after the end of the object are omitted.
    pub(in crate::remote) range: &'a Range<u64>,
    /// Required version of the object.
    pub(in crate::remote) version: Option<&'a str>,
    /// Returns the version in the headers of an answer.
    pub(in crate::remote) version_of: fn(&HeaderMap) -> String,
}

/// Result of an answer to a request for a range.
pub(in crate::remote) enum RangeResult {
    /// All bytes have arrived.
    Complete,
    /// Some bytes are missing; another try may succeed.
    Retry(RetryReason),
    /// The answer does not contain a range.
    NoRanges,
    /// The answer contains another range.
    OtherRange,
    /// The object has another version than the requested one, or than the earlier bytes.
    OtherVersion,
}

impl Answer {
    pub(in crate::remote) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Returns the header `Range` for the missing bytes of a range.
    pub(in crate::remote) fn missing_range(&self, range: &Range<u64>) -> String {
        let end = if self.total > 0 { range.end.min(self.total) } else { range.end };
        let start = range.start + self.body.len() as u64;
        format!("bytes={start}-{}", end.saturating_sub(1))
    }

    /// Reads the body of a successful answer, and appends it to the bytes of earlier answers.
    pub(in crate::remote) async fn read_range(&mut self, call: &RangeCall<'_>, reply: &mut Reply) -> RangeResult {
        let start = call.range.start + self.body.len() as u64;
        let version = (call.version_of)(reply.headers());
        if reply.status() == 200 && reply.header("content-length") == Some("0") && start == 0 {
            // An empty object has no ranges.
            (self.headers, self.version) = (reply.headers().clone(), version);
            return RangeResult::Complete;
        }
        let part = match reply.status() {
            206 => reply.header("content-range").and_then(parse_content_range),
            _ => return RangeResult::NoRanges,
        };
        let is_first = self.headers.is_empty();
        let expected = call.version.or_else(|| (!is_first).then_some(self.version.as_str()));
        if expected.is_some_and(|expected| expected != version) {
            return RangeResult::OtherVersion;
        }
        let is_right = |(part, total): &(Range<u64>, u64)| {
            part.start == start && part.end == call.range.end.min(*total) && (is_first || *total == self.total)
        };
        let Some((part, total)) = part.filter(is_right) else { return RangeResult::OtherRange };
        if is_first {
            (self.headers, self.version, self.total) = (reply.headers().clone(), version, total);
        }
        let rest = usize::try_from(part.end - part.start).unwrap_or(usize::MAX);
        self.body.reserve_exact(rest.min(MAX_ANSWER_BYTES));
        let size = self.body.len() + rest;
        match reply.read(&mut self.body, rest).await {
            // If the connection is cut after the last byte, no byte is missing.
            _ if self.body.len() == size => RangeResult::Complete,
            Ok(()) => RangeResult::Retry(RetryReason::new("the body of the answer ends early")),
            Err(reason) => RangeResult::Retry(reason),
        }
    }
}

/// Parses `bytes 0-9/100` as the range and the size of the object.
fn parse_content_range(text: &str) -> Option<(Range<u64>, u64)> {
    let (range, total) = text.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (start, last) = range.split_once('-')?;
    let (start, last, total) = (start.parse().ok()?, last.parse::<u64>().ok()?, total.parse().ok()?);
    (start <= last && last < total).then(|| (start..last + 1, total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_range_is_parsed_into_both_ends_and_the_size() {
        assert_eq!(parse_content_range("bytes 0-9/100"), Some((0..10, 100)));
        for wrong in ["bytes 0-9/*", "bytes 9-8/100", "bytes 0-100/100", "0-9/100", "bytes */100"] {
            assert_eq!(parse_content_range(wrong), None, "{wrong}");
        }
    }
}
