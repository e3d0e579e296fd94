//! Size, version and time of an object, from headers and from listings.

pub(super) mod beginnings;
pub(super) mod known;
mod writes;

/// Discards cached answers about all objects, when another process may have written them.
pub(crate) fn forget_all() {
    writes::forget_all();
}

use super::dates::parse_http_date;
use crate::file_info::FileInfo;
use reqwest::header::HeaderMap;

/// Nanoseconds in a second.
const SECOND_NS: i64 = 1_000_000_000;

/// Size, version and time of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ObjectVersion {
    pub(super) bytes: u64,
    /// The store's identifier of the version; compared without quotes.
    pub(super) etag: String,
    pub(super) modified_ns: i64,
}

impl ObjectVersion {
    /// Returns the version of an object with this size, and with the time in the headers of an answer.
    pub(super) fn of(headers: &HeaderMap, bytes: u64, version: String) -> Self {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let modified_ns = text("last-modified").and_then(parse_http_date).unwrap_or_default();
        Self { bytes, etag: version, modified_ns }
    }

    /// Returns the information of the object. Times are truncated to seconds, because headers have whole seconds.
    pub(super) fn info(&self) -> FileInfo {
        let modified_ns = self.modified_ns.div_euclid(SECOND_NS) * SECOND_NS;
        FileInfo::of_object(self.bytes, modified_ns, plain_etag(&self.etag))
    }
}

/// Returns the tag in the headers of an answer, without quotes.
pub(super) fn etag_of(headers: &HeaderMap) -> String {
    plain_etag(headers.get("etag").and_then(|value| value.to_str().ok()).unwrap_or_default()).to_owned()
}

/// Returns the tag of a version without quotes.
pub(super) fn plain_etag(etag: &str) -> &str {
    etag.trim().trim_start_matches("W/").trim_matches('"')
}
