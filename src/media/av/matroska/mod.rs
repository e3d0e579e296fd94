//! Matroska and WebM (RFC 9559).

mod ebml;

use super::AvProbed;
use crate::media::{ProbeError, Reader};

/// Whether these first bytes are an EBML document.
pub fn matches(first: &[u8]) -> bool {
    first.starts_with(&[0x1a, 0x45, 0xdf, 0xa3])
}

/// Reads the first video and the first audio stream.
pub fn probe(reader: &mut Reader) -> Result<AvProbed, ProbeError> {
    Err(ProbeError::broken("it has no streams", reader.len()))
}
