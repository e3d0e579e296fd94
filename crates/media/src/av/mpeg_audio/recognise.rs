//! Recognises MPEG audio by the number of consecutive frames, with the criteria of FFmpeg.

use super::super::codec::MpegHeader;
use crate::{ProbeError, Reader};

/// Bytes that are searched if nothing is recognised at the beginning.
const MAX_SEARCH_BYTES: usize = 1 << 20;
/// The maximum number of copies of a header within its own frame; with more, the header is not genuine.
const OTHER_SIGNATURES: usize = 2;

/// Whether these first bytes are MPEG audio. This is a heuristic, so more reliable signatures must be checked first.
pub fn matches(first: &[u8]) -> bool {
    let found = FrameRuns::in_bytes(first);
    found.at_start > 1 && found.at_start_to_end
        || found.at_start >= 7
        || found.most >= 4 && first.len() < 2 * found.bytes
        || found.most >= 1 && first.len() < 10 * found.bytes
}

/// Whether the entry is MPEG audio after a long run of other data, such as zeros.
///
/// # Errors
/// If the entry cannot be read.
pub fn matches_far(reader: &mut Reader, start: u64) -> Result<bool, ProbeError> {
    Ok(matches(reader.up_to(start, MAX_SEARCH_BYTES)?))
}

/// Sequences of frames in a piece of data.
#[derive(Default)]
struct FrameRuns {
    /// Number of frames in the longest sequence, and the largest number of bytes of a sequence.
    most: usize,
    bytes: usize,
    /// Number of frames in the sequence at the first non-zero byte, and whether it ends where the bytes end.
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

/// Consecutive frames.
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
            let imitations =
                inside.windows(4).filter(|other| is_same_kind(own, other)).take(OTHER_SIGNATURES + 1).count();
            if imitations > OTHER_SIGNATURES {
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
fn is_same_kind(own: [u8; 4], other: &[u8]) -> bool {
    const COMPARED: [u8; 4] = [0xff, 0xfe, 0x0c, 0xcf];
    own.iter().zip(other).zip(COMPARED).all(|((a, b), mask)| (a ^ b) & mask == 0)
}
