//! What is known of an upload that goes on.

use super::super::version::plain_etag;
use md5::{Digest as _, Md5};
use std::fmt::Write as _;
use xxhash_rust::xxh3::xxh3_128;

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
    /// Hash of its content; `None` if another process sent it, and its tag may be the MD5 of its content.
    hash: Option<u128>,
    pub(super) tag: String,
}

impl SentPart {
    /// Returns a part without its tag.
    pub(super) fn of(bytes: &[u8]) -> Self {
        Self { hash: Some(xxh3_128(bytes)), tag: String::new() }
    }

    /// Returns a part that another process sent.
    pub(super) fn of_tag(tag: String) -> Self {
        Self { hash: None, tag }
    }

    pub(super) fn with_tag(self, tag: String) -> Self {
        Self { tag, ..self }
    }

    /// Whether it has this content.
    pub(super) fn has(&self, bytes: &[u8]) -> bool {
        match self.hash {
            Some(hash) => xxh3_128(bytes) == hash,
            None => {
                let mut md5 = String::new();
                Md5::digest(bytes).iter().for_each(|byte| _ = write!(md5, "{byte:02x}"));
                plain_etag(&self.tag).eq_ignore_ascii_case(&md5)
            }
        }
    }
}
