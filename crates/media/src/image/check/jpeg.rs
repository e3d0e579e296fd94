//! JPEG: checks that the segments are valid, all tables are present, and the scans are followed by the end marker.

use super::codes;
use super::scans::{Frame, ScanState};
use super::truncated;
use crate::{ProbeError, Reader};

/// Bytes of a scan that are searched at a time.
const SEARCH_BYTES: usize = 32 << 10;

pub(super) fn check(reader: &mut Reader) -> Result<(), ProbeError> {
    let mut scans = ScanState::default();
    match segments(reader, &mut scans) {
        // An image of a single scan is complete with its last unit, even if the file ends there.
        Err(WalkEnd::Cut) if scans.only.is_some() => Ok(()),
        Err(WalkEnd::Cut) => Err(truncated(reader)),
        Err(WalkEnd::Error(error)) => Err(error),
        Ok(()) => Ok(()),
    }
}

/// Reason why a walk ends early.
enum WalkEnd {
    /// The file ends, and everything up to the end was valid.
    Cut,
    Error(ProbeError),
}

impl From<ProbeError> for WalkEnd {
    fn from(error: ProbeError) -> Self {
        Self::Error(error)
    }
}

fn segments(reader: &mut Reader, scans: &mut ScanState) -> Result<(), WalkEnd> {
    let mut at = 2;
    loop {
        let (marker, after) = next_marker(reader, at)?;
        at = after;
        match marker {
            0xd9 if scans.begun => return Ok(()),
            0xd9 => return Err(broken("no picture before the end mark", at).into()),
            0xd8 => return Err(broken("a second start mark", at).into()),
            // Markers without a length. Restart markers are relevant only within a scan.
            0x01 | 0xd0..=0xd7 => continue,
            _ => {}
        }
        if !matches!(marker, 0xc0..=0xc4 | 0xc9 | 0xca | 0xcc | 0xda..=0xdd | 0xe0..=0xef | 0xfe) {
            return Err(broken("a segment that readers do not know", at).into());
        }
        let len = usize::from(u16::from_be_bytes(reader.array(at).map_err(ended)?));
        let skipped = matches!(marker, 0xdc | 0xe0..=0xef | 0xfe);
        if len < 2 && !skipped {
            return Err(broken("a segment of an impossible length", at).into());
        }
        let len = len.max(2);
        let (from, end) = (at + 2, at + len as u64);
        if end > reader.len() {
            let there = usize::try_from(reader.len().saturating_sub(from)).unwrap_or(len).min(len - 2);
            return match scans.begin_of(marker, reader.exactly(from, there)?, len) {
                Ok(()) => Err(WalkEnd::Cut),
                Err(what) => Err(broken(what, at).into()),
            };
        }
        let understood = match marker {
            0xc4 => scans.huffman(reader.exactly(from, len - 2)?),
            0xc0..=0xc3 | 0xc9 | 0xca => scans.frame(reader.exactly(from, len - 2)?, Frame::of(marker)),
            0xda => scans.scan(reader.exactly(from, len - 2)?),
            0xdb => scans.quantisation(reader.exactly(from, len - 2)?),
            0xdd if len != 4 => Err("a restart interval of a wrong length"),
            0xdd => {
                scans.restart = u16::from_be_bytes(reader.array(from)?).into();
                Ok(())
            }
            0xcc => Ok(()),
            _ if skipped => Ok(()),
            _ => Err("a segment that readers do not know"),
        };
        understood.map_err(|what| broken(what, at))?;
        at = if marker == 0xda { end_of_scan(reader, end, scans)? } else { end };
    }
}

fn broken(what: &str, at: u64) -> ProbeError {
    ProbeError::broken(format!("the JPEG picture has {what}"), at)
}

fn ended(error: ProbeError) -> WalkEnd {
    match error {
        ProbeError::Broken { .. } => WalkEnd::Cut,
        error => error.into(),
    }
}

/// Returns the next marker from `at` on, and the offset after it. Bytes before it are skipped.
fn next_marker(reader: &mut Reader, mut at: u64) -> Result<(u8, u64), WalkEnd> {
    loop {
        let bytes = reader.up_to(at, 2)?;
        match *bytes {
            [0xff, 0xff] => at += 1,
            [0xff, 0] => at += 2,
            [0xff, marker] => return Ok((marker, at + 2)),
            [_, _] => at = skip_to_mark(reader, at)?,
            _ => return Err(WalkEnd::Cut),
        }
    }
}

fn skip_to_mark(reader: &mut Reader, at: u64) -> Result<u64, ProbeError> {
    let bytes = reader.up_to(at, SEARCH_BYTES)?;
    Ok(at + memchr::memchr(0xff, bytes).unwrap_or(bytes.len()) as u64)
}

/// Returns the offset of the first marker after the coded data of a scan; stuffed bytes and restart markers are part of the data.
fn end_of_scan(reader: &mut Reader, start: u64, scans: &mut ScanState) -> Result<u64, WalkEnd> {
    let mut at = start;
    // The end of the latest restart marker, and the number of restart markers.
    let (mut latest, mut marks) = (start, 0_u64);
    loop {
        let bytes = reader.up_to(at, SEARCH_BYTES)?;
        if bytes.len() < 2 {
            return unfinished(reader, scans, latest, marks);
        }
        for place in memchr::memchr_iter(0xff, &bytes[..bytes.len() - 1]) {
            // While a restart marker is due, bytes that are not valid markers are skipped.
            let is_due = scans
                .only
                .as_ref()
                .is_some_and(|only| scans.restart > 0 && (marks + 1) * u64::from(scans.restart) < only.count);
            match bytes.get(place + 1) {
                Some(0 | 0xff) => {}
                Some(1..=0xbf) if is_due => {}
                Some(0xd0..=0xd7) => {
                    latest = at + place as u64 + 2;
                    marks += 1;
                }
                _ => return Ok(at + place as u64),
            }
        }
        // The last byte may be the first one of a marker.
        at += bytes.len() as u64 - 1;
    }
}

/// Handles a scan that ends with the file: it is complete if it is the only scan and all of its units are present.
fn unfinished(reader: &mut Reader, scans: &mut ScanState, from: u64, marks: u64) -> Result<u64, WalkEnd> {
    let units = scans.only.take().ok_or(WalkEnd::Cut)?;
    let wanted = if scans.restart == 0 {
        // Decoding stops at an unexpected restart marker; the rest of the image is grey.
        if marks > 0 {
            0
        } else {
            units.count
        }
    } else {
        units.count.saturating_sub(marks * u64::from(scans.restart)).min(units.count)
    };
    let is_last_part = scans.restart == 0 || wanted <= scans.restart.into();
    let blocks = units.blocks.as_deref().unwrap_or_default();
    let is_whole =
        wanted == 0 || (is_last_part && !blocks.is_empty() && codes::are_there(reader, from, wanted, blocks)?);
    if is_whole {
        scans.only = Some(units);
    }
    Err(WalkEnd::Cut)
}
