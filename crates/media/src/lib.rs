//! Header readers: determine the facts of an image, sound or video from as few bytes as possible (docs/formats/energon.md §12).
//!
//! All input is untrusted: no reader allocates by a size from the file, loops without bound, or trusts an offset.

// Tests create and damage files directly.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

pub mod av;
pub mod bytes;
pub mod image;
pub mod kind;

pub use bytes::{ByteSource, Part, Reader};

use gristmill_core::{MediaFacts, MediaType};

/// Reason why the facts of an entry could not be determined.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// The entry is not of the assumed type.
    #[error("{0}")]
    NotMedia(String),
    /// The entry is of the assumed type, but broken.
    #[error("{what} (byte {at})")]
    Broken {
        /// Description of the damage for the user.
        what: String,
        /// Offset in the entry, in bytes.
        at: u64,
    },
    /// The file or archive could not be read.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The caller cancelled the operation.
    #[error("stopped")]
    Cancelled,
}

impl ProbeError {
    /// Creates a [`Broken`](Self::Broken) error for the offset `at`, in bytes.
    pub fn broken(what: impl Into<String>, at: u64) -> Self {
        Self::Broken { what: what.into(), at }
    }
}

/// The result of probing one entry.
#[derive(Clone, Debug, PartialEq)]
pub struct ProbeResult {
    /// The facts of the entry.
    pub facts: MediaFacts,
    /// Unusual findings that are not errors, such as an entry that is truncated after a valid header.
    pub remarks: Vec<String>,
}

/// Reads the facts of an entry whose type was determined from its name or its first bytes. The content decides the format within that type.
pub fn probe(reader: &mut Reader, media_type: MediaType) -> Result<ProbeResult, ProbeError> {
    if reader.is_empty() {
        return Err(ProbeError::NotMedia("it is empty".to_owned()));
    }
    match media_type {
        MediaType::Image => image::probe(reader),
        MediaType::Av => av::probe(reader),
    }
}
