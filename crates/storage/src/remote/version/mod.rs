//! Size, version and time of an object, in the forms of headers and of listings.

pub(super) mod beginnings;
pub(super) mod known;
mod writes;

/// Ends what is known of all objects, when another process may have written them.
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
    /// What the store distinguishes versions by; without quotes, when it is compared.
    pub(super) etag: String,
    pub(super) modified_ns: i64,
}

impl ObjectVersion {
    /// Returns what the headers of an answer say, and the size and the version of the object.
    pub(super) fn of(headers: &HeaderMap, bytes: u64, version: String) -> Self {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let modified_ns = text("last-modified").and_then(parse_http_date).unwrap_or_default();
        Self { bytes, etag: version, modified_ns }
    }

    /// Returns the information of the object. Headers have whole seconds, so those of listings are cut off.
    pub(super) fn info(&self) -> FileInfo {
        let modified_ns = self.modified_ns.div_euclid(SECOND_NS) * SECOND_NS;
        FileInfo::of_object(self.bytes, modified_ns, plain_etag(&self.etag))
    }
}

/// Returns the tag of a version that the headers of an answer have, without quotes.
pub(super) fn etag_of(headers: &HeaderMap) -> String {
    plain_etag(headers.get("etag").and_then(|value| value.to_str().ok()).unwrap_or_default()).to_owned()
}

/// Returns the tag of a version without quotes.
pub(super) fn plain_etag(etag: &str) -> &str {
    etag.trim().trim_start_matches("W/").trim_matches('"')
}
