//! Estimates the requests of a run to stores and the amount of data, for a preview.

use super::list::InputFile;
use super::sample::{Origin, Part};
use crate::job::report::ReportLine;
use gristmill_core::text::{bytes, count, grouped};
use gristmill_storage::location::is_remote;
use gristmill_storage::traffic::Traffic;

/// Measured number of content bytes per read request.
const READ_BYTES: u64 = 4 << 20;
/// Measured number of requests for writing a shard and its index, and the bytes per additional request.
const SHARD_REQUESTS: u64 = 5;
const WRITE_BYTES: u64 = 12 << 20;
/// Number of requests of a run that do not depend on shards: lock, plan, report, metadata and lookups.
const RUN_REQUESTS: u64 = 25;

/// Amount of content in stores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct StoredContent {
    /// Number of parts that are files.
    files: u64,
    /// Bytes of all parts.
    bytes: u64,
}

impl StoredContent {
    /// Counts a part if it is in a store.
    pub(super) fn add(&mut self, part: &Part, inputs: &[InputFile]) {
        let (path, files) = match &part.origin {
            Origin::File { path, .. } => (Some(path), 1),
            Origin::Range { file, .. } | Origin::Sparse { file, .. } => {
                (inputs.get(file.0 as usize).map(|file| &file.path), 0)
            }
            Origin::Bytes(_) => (None, 0),
        };
        if path.is_some_and(|path| is_remote(path)) {
            self.files += files;
            self.bytes = self.bytes.saturating_add(part.bytes);
        }
    }

    /// Adds the content of another set.
    pub(super) fn merge(self, other: Self) -> Self {
        Self { files: self.files + other.files, bytes: self.bytes.saturating_add(other.bytes) }
    }
}

/// Number of requests and transferred bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Amount {
    requests: u64,
    bytes: u64,
}

/// Data that a run reads from stores and writes to them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreEstimate {
    read: Amount,
    written: Amount,
}

impl StoreEstimate {
    /// Adds the reads: those of listing the samples, which the run repeats, and those of content that listing has not read.
    pub(super) fn with_input(self, content: StoredContent, listed: Traffic) -> Self {
        let rest = if listed.received < content.bytes { content } else { StoredContent::default() };
        let requests = listed.begun + rest.files + if rest.files > 0 { 0 } else { rest.bytes.div_ceil(READ_BYTES) };
        Self { read: Amount { requests, bytes: listed.received.saturating_add(rest.bytes) }, ..self }
    }

    /// Adds the written shards, given by their sizes in bytes.
    pub(super) fn with_output(self, shards: impl Iterator<Item = u64>) -> Self {
        let mut written = Amount { requests: RUN_REQUESTS, bytes: 0 };
        for shard in shards {
            written.requests += SHARD_REQUESTS + shard / WRITE_BYTES;
            written.bytes = written.bytes.saturating_add(shard);
        }
        Self { written, ..self }
    }

    /// Returns the estimate as lines of a report.
    pub(super) fn lines(&self) -> impl Iterator<Item = ReportLine> {
        let line = |(amount, verb, place): (Amount, &str, &str)| {
            let (bytes, requests) = (bytes(amount.bytes), rounded_requests(amount.requests));
            let words = format!("Would {verb} {bytes} {place} stores by {requests}.");
            (amount.requests > 0).then(|| ReportLine::plain(words))
        };
        [(self.read, "read", "from"), (self.written, "send", "to")].into_iter().filter_map(line)
    }
}

/// Rounds a number of requests up to two digits.
fn rounded_requests(requests: u64) -> String {
    let unit = 10_u64.pow(requests.max(1).ilog10().saturating_sub(1));
    let rounded = requests.div_ceil(unit) * unit;
    match rounded {
        1 => count(1, "request"),
        rounded => format!("about {} requests", grouped(rounded)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(begun: u64, received: u64) -> Traffic {
        Traffic { begun, received, ..Traffic::default() }
    }

    /// Expects the measured numbers of actual runs.
    #[test]
    fn store_estimates_are_near_measured_requests() {
        let content = |bytes| StoredContent { files: 0, bytes };
        let read = |bytes, begun, received| {
            StoreEstimate::default().with_input(content(bytes), listed(begun, received)).read.requests
        };
        assert_eq!(read(40_000_000, 134, 52_503_205), 134);
        assert_eq!(read(200_000_000, 208, 1_094_606), 256);
        let written = |sizes: &[u64]| StoreEstimate::default().with_output(sizes.iter().copied()).written.requests;
        assert_eq!(written(&[43_571_478]), 33);
        assert_eq!(written(&[10_570_000; 12]), 85);
        assert_eq!(written(&[200_264_138]), 45);
    }

    #[test]
    fn each_loose_file_is_estimated_as_one_request() {
        let content = StoredContent { files: 3, bytes: 90 }.merge(StoredContent { files: 1, bytes: 9 });
        let estimate = StoreEstimate::default().with_input(content, listed(2, 0));
        assert_eq!(estimate.read, Amount { requests: 6, bytes: 99 });
        let text: Vec<String> = estimate.lines().map(|line| line.rest).collect();
        assert_eq!(text, ["Would read 99 B from stores by about 6 requests."]);
    }

    #[test]
    fn estimated_requests_are_rounded_to_two_digits() {
        let texts = [1, 9, 85, 134, 12_345].map(rounded_requests);
        let expected =
            ["1 request", "about 9 requests", "about 85 requests", "about 140 requests", "about 13,000 requests"];
        assert_eq!(texts, expected);
    }
}
