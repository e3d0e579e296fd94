//! Whether bytes are MPEG audio: how many frames stand in a row, judged as FFmpeg judges.

use super::super::codec::MpegHeader;
use crate::{ProbeError, Reader};

/// Bytes that are looked at where nothing is recognised at the beginning.
const FAR: usize = 1 << 20;
/// Copies of a header within its own frame, above which it is none.
const IMITATIONS: usize = 2;

/// Whether these first bytes are MPEG audio. It is a guess: surer kinds are asked first.
pub fn matches(first: &[u8]) -> bool {
    let found = FrameRuns::in_bytes(first);
    found.at_start > 1 && found.at_start_to_end
        || found.at_start >= 7
        || found.most >= 4 && first.len() < 2 * found.bytes
        || found.most >= 1 && first.len() < 10 * found.bytes
}

/// Whether the entry is MPEG audio behind a long stretch of something else, such as zeros.
///
/// # Errors
/// Where it cannot be read.
pub fn matches_far(reader: &mut Reader, start: u64) -> Result<bool, ProbeError> {
    Ok(matches(reader.up_to(start, FAR)?))
}

/// Rows of frames.
#[derive(Default)]
struct FrameRuns {
    /// Frames in the longest row, and bytes of the one with most.
    most: usize,
    bytes: usize,
    /// Frames in the row at the first byte that is not zero, and whether it ends where the bytes end.
    at_start: usize,
    at_start_to_end: bool,
}

impl FrameRuns {
    fn in_bytes(bytes: &[u8]) -> Self {
        let mut found = Self::default();
        let end = bytes.len().saturating_sub(4);
        let zeros = bytes.iter().take(end).take_while(|byte| **byte == 0).count();
        let mut at = zeros;
        while at < end {
            let from = at;
            let row = Row::at(bytes, at, end);
            found.most = found.most.max(row.frames);
            found.bytes = found.bytes.max(row.bytes);
            if from == zeros {
                found.at_start = row.frames;
                found.at_start_to_end = row.end == bytes.len();
            }
            at = row.end + 1;
            if row.frames == 0 {
                let ahead = bytes.get(at..end).unwrap_or_default().iter().position(|byte| *byte == 0xff);
                at = ahead.map_or(end, |ahead| at + ahead);
            }
        }
        found
    }
}

/// Frames one behind the other.
struct Row {
    frames: usize,
    bytes: usize,
    end: usize,
}

impl Row {
    fn at(bytes: &[u8], start: usize, end: usize) -> Self {
        let mut row = Self { frames: 0, bytes: 0, end: start };
        while row.end < end {
            let head = |at: usize| bytes.get(at..).and_then(|rest| rest.first_chunk::<4>()).copied();
            let Some(length) = head(row.end).and_then(MpegHeader::parse).and_then(|header| header.bytes()) else {
                break;
            };
            let length = length as usize;
            let there = length.min(end - row.end);
            let own = head(row.end).unwrap_or_default();
            let inside = bytes.get(row.end + 4..(row.end + there + 3).min(bytes.len())).unwrap_or_default();
            let imitations = inside.windows(4).filter(|other| same(own, other)).take(IMITATIONS + 1).count();
            if imitations > IMITATIONS {
                break;
            }
            row.bytes += length;
            row.frames += 1;
            if there < length {
                break;
            }
            row.end += length;
        }
        row
    }
}

/// Whether two headers are of the same kind.
fn same(own: [u8; 4], other: &[u8]) -> bool {
    const COMPARED: [u8; 4] = [0xff, 0xfe, 0x0c, 0xcf];
    own.iter().zip(other).zip(COMPARED).all(|((a, b), mask)| (a ^ b) & mask == 0)
}
