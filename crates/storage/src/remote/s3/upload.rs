//! What is known of an upload that goes on.

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
