//! Sound in frames that state their length: MPEG audio, AC-3 and AAC inside WAV and AVI files.

use super::format::SoundFormat;
use super::packets::{Counted, Piece};
use crate::media::{ProbeError, Reader};

/// Counts the frames in these pieces.
pub(super) fn count(
    reader: &mut Reader,
    format: &SoundFormat,
    pieces: &[Piece],
    format_at: u64,
) -> Result<Counted, ProbeError> {
    let _ = (reader, pieces);
    Err(ProbeError::broken(format!("its sound is coded as {:?}, which is not read", format.coding), format_at))
}
