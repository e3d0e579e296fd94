//! What is known of an upload that goes on.

use super::client::Call;
use super::write::write;
use bytes::Bytes;
use reqwest::Method;
use xxhash_rust::xxh3::xxh3_128;

/// Returns the request that sends a part.
pub(super) fn part_call(key: &str, number: u64, upload: &str, body: Bytes) -> Call {
    write(Method::PUT, key, vec![("partNumber", number.to_string()), ("uploadId", upload.to_owned())], body)
}

/// An upload that has the first parts of an object.
#[derive(Clone, Debug)]
pub(super) struct UploadAhead {
    /// Its name.
    pub(super) upload: String,
    pub(super) part_bytes: u64,
    /// The parts, in order.
    pub(super) sent: Vec<SentPart>,
}

/// A part of an upload.
#[derive(Clone, Debug)]
pub(super) struct SentPart {
    hash: u128,
    pub(super) tag: String,
}

impl SentPart {
    /// Returns a part without its tag.
    pub(super) fn of(bytes: &[u8]) -> Self {
        Self { hash: xxh3_128(bytes), tag: String::new() }
    }

    pub(super) fn with_tag(self, tag: String) -> Self {
        Self { tag, ..self }
    }

    /// Whether it has this content.
    pub(super) fn has(&self, bytes: &[u8]) -> bool {
        xxh3_128(bytes) == self.hash
    }
}
