//! Header readers: what a picture, sound or video is, from the fewest bytes (docs/formats/energon.md §12).
//!
//! Everything read here is hostile: no reader allocates by a size it was told, loops without bound, or trusts an offset.

pub mod av;
pub mod bytes;
pub mod image;
pub mod kind;

pub use bytes::{ByteSource, Part, Reader};

use gristmill_core::{MediaFacts, MediaType};

/// Why nothing is known of an entry.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// It is not of the type that it was taken for.
    #[error("{0}")]
    NotMedia(String),
    /// It is of that type, but broken: what, and where in the entry.
    #[error("{what} (byte {at})")]
    Broken {
        /// In a user's words.
        what: String,
        /// Offset in the entry, in bytes.
        at: u64,
    },
    /// The file or archive could not be read.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// Somebody asked to stop.
    #[error("stopped")]
    Cancelled,
}

impl ProbeError {
    /// Something broken, and where.
    pub fn broken(what: impl Into<String>, at: u64) -> Self {
        Self::Broken { what: what.into(), at }
    }
}

/// What was found out about one entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Probed {
    /// Its facts.
    pub facts: MediaFacts,
    /// What is odd and does not stop anybody: cut short after a good header, and the like.
    pub remarks: Vec<String>,
}

/// What an entry is, taken for the type that its name or its first bytes told. Within that type the content decides.
pub fn probe(reader: &mut Reader, media_type: MediaType) -> Result<Probed, ProbeError> {
    if reader.is_empty() {
        return Err(ProbeError::NotMedia("it is empty".to_owned()));
    }
    match media_type {
        MediaType::Image => image::probe(reader),
        MediaType::Av => av::probe(reader),
    }
}
