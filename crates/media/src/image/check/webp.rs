//! The chunks of a WebP file, which libwebp validates to the end before it decodes the first frame.

use super::super::webp::bitstream;
use super::truncated;
use crate::{ProbeError, Reader};

const ANIMATION: u8 = 0x02;
/// Length of a frame's fields before its image, in bytes.
const FRAME_HEADER_BYTES: u64 = 16;

/// Iterates over chunks.
struct ChunkWalk<'r, 'a> {
    reader: &'r mut Reader<'a>,
    at: u64,
    end: u64,
}

fn wrong(at: u64) -> ProbeError {
    ProbeError::broken("the WebP file has a chunk that does not belong there", at)
}

/// Checks that all chunks are valid, including those of later frames.
pub(super) fn chunks(reader: &mut Reader) -> Result<(), ProbeError> {
    let end = 8 + u64::from(u32::from_le_bytes(reader.array(4)?));
    if end > reader.len() {
        return Err(truncated(reader));
    }
    let mut walk = ChunkWalk { reader, at: 12, end };
    let (kind, len) = walk.header()?;
    if &kind != b"VP8X" {
        return walk.check_length(len);
    }
    walk.check_length(len)?;
    let flags = walk.reader.array::<1>(walk.at)?[0];
    walk.at += len;
    let (is_animation, mut begun) = (flags & ANIMATION != 0, false);
    while walk.at != walk.end {
        let start = walk.at;
        let (kind, len) = walk.header()?;
        walk.check_length(len)?;
        match &kind {
            b"VP8X" => return Err(wrong(start)),
            b"ALPH" | b"VP8 " | b"VP8L" => {
                if begun || is_animation {
                    return Err(wrong(start));
                }
                walk.at = start;
                walk.picture()?;
            }
            b"ANIM" if len < 6 => return Err(wrong(start)),
            b"ANIM" => {
                begun = true;
                walk.at += len;
            }
            b"ANMF" => {
                if !begun || len < FRAME_HEADER_BYTES {
                    return Err(wrong(start));
                }
                walk.at += FRAME_HEADER_BYTES;
                walk.picture()?;
                if walk.at > start + 8 + len {
                    return Err(wrong(start));
                }
            }
            _ => walk.at += len,
        }
    }
    Ok(())
}

impl ChunkWalk<'_, '_> {
    /// Returns the name and the padded length of the current chunk.
    fn header(&mut self) -> Result<([u8; 4], u64), ProbeError> {
        if self.at + 8 > self.end {
            return Err(truncated(self.reader));
        }
        let [a, b, c, d, len @ ..] = self.reader.array::<8>(self.at)?;
        self.at += 8;
        Ok(([a, b, c, d], u64::from(u32::from_le_bytes(len)).next_multiple_of(2)))
    }

    fn check_length(&self, len: u64) -> Result<(), ProbeError> {
        if self.at + len > self.end {
            return Err(wrong(self.at));
        }
        Ok(())
    }

    /// Checks the chunks of one image: an optional alpha chunk, then the coded data.
    fn picture(&mut self) -> Result<(), ProbeError> {
        let (mut alpha, mut codes) = (false, false);
        loop {
            let start = self.at;
            let (kind, len) = self.header()?;
            self.check_length(len)?;
            match &kind {
                b"ALPH" if !alpha => {
                    if codes {
                        return Err(wrong(start));
                    }
                    alpha = true;
                }
                b"VP8L" if alpha => return Err(wrong(start)),
                b"VP8 " | b"VP8L" if !codes => {
                    bitstream(self.reader, &kind, self.at)?;
                    codes = true;
                }
                _ => {
                    // The chunk belongs to the enclosing level.
                    self.at = start;
                    break;
                }
            }
            self.at += len;
            if self.at == self.end {
                break;
            }
        }
        if codes || alpha {
            Ok(())
        } else {
            Err(wrong(self.at))
        }
    }
}
