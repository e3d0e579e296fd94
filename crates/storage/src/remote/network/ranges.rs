//! Answers to requests for a range of an object, which may come in several pieces.

use super::super::retry::RetryReason;
use super::Reply;
use reqwest::header::HeaderMap;
use std::ops::Range;

/// Maximum size of an answer, in bytes.
pub(in crate::remote) const MAX_ANSWER_BYTES: usize = 16 << 20;

/// An answer with success, or what has come of it.
#[derive(Debug, Default)]
pub(in crate::remote) struct Answer {
    pub(in crate::remote) headers: HeaderMap,
    pub(in crate::remote) body: Vec<u8>,
    /// Size of the object, if a range was asked for.
    pub(in crate::remote) total: u64,
    /// Version of the object, if a range was asked for.
    pub(in crate::remote) version: String,
    /// Earlier tries of the request whose answers were no success or were lost, some of which the store may have carried out.
    pub(in crate::remote) lost_answers: usize,
}

/// A range that is asked for.
pub(in crate::remote) struct RangeCall<'a> {
    /// Bytes to get. Those after the end of the object are left out.
    pub(in crate::remote) range: &'a Range<u64>,
    /// Version that the object has to have.
    pub(in crate::remote) version: Option<&'a str>,
    /// Returns the version that the headers of an answer name.
    pub(in crate::remote) version_of: fn(&HeaderMap) -> String,
}

/// What an answer to a request for a range is.
pub(in crate::remote) enum RangeResult {
    /// All bytes are there.
    Complete,
    /// Some are missing, and may come later.
    Retry(RetryReason),
    /// The answer is not about a range.
    NoRanges,
    /// The range is another one.
    OtherRange,
    /// The object is not the one that is asked for, or that earlier bytes are of.
    OtherVersion,
}

impl Answer {
    pub(in crate::remote) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Returns the header `Range` for what is missing of a range.
    pub(in crate::remote) fn missing_range(&self, range: &Range<u64>) -> String {
        let end = if self.total > 0 { range.end.min(self.total) } else { range.end };
        let start = range.start + self.body.len() as u64;
        format!("bytes={start}-{}", end.saturating_sub(1))
    }

    /// Reads the body of an answer with success, after what earlier answers brought of it.
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
            // Of a connection that is cut after the last byte nothing is missing.
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
    fn a_content_range_has_both_ends_and_the_size() {
        assert_eq!(parse_content_range("bytes 0-9/100"), Some((0..10, 100)));
        for wrong in ["bytes 0-9/*", "bytes 9-8/100", "bytes 0-100/100", "0-9/100", "bytes */100"] {
            assert_eq!(parse_content_range(wrong), None, "{wrong}");
        }
    }
}
