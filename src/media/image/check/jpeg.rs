//! JPEG: the segments make sense, all tables are there, and the scans end with the mark of the end.

use super::cut;
use super::scans::{Frame, Scans};
use crate::media::{ProbeError, Reader};

/// How much of a scan is looked at in one go, in bytes.
const PIECE: usize = 32 << 10;

pub(super) fn check(reader: &mut Reader) -> Result<(), ProbeError> {
    let mut scans = Scans::default();
    let mut at = 2;
    loop {
        let (marker, after) = next_marker(reader, at)?;
        at = after;
        match marker {
            0xd9 if scans.begun => return Ok(()),
            0xd9 => return Err(broken("no picture before the end mark", at)),
            0xd8 => return Err(broken("a second start mark", at)),
            // Marks without a length. Restart marks matter within a scan only.
            0x01 | 0xd0..=0xd7 => continue,
            _ => {}
        }
        let len = usize::from(u16::from_be_bytes(reader.array(at).map_err(|error| ended(error, reader))?));
        let skipped = matches!(marker, 0xdc | 0xe0..=0xef | 0xfe);
        if len < 2 && !skipped {
            return Err(broken("a segment of an impossible length", at));
        }
        let len = len.max(2);
        let (from, end) = (at + 2, at + len as u64);
        if end > reader.len() {
            return Err(cut(reader));
        }
        let understood = match marker {
            0xc4 => scans.huffman(reader.exactly(from, len - 2)?),
            0xc0..=0xc3 | 0xc9 | 0xca => scans.frame(reader.exactly(from, len - 2)?, Frame::of(marker)),
            0xda => scans.scan(reader.exactly(from, len - 2)?),
            0xdb => scans.quantisation(reader.exactly(from, len - 2)?),
            0xdd if len != 4 => Err("a restart interval of a wrong length"),
            0xcc | 0xdd => Ok(()),
            _ if skipped => Ok(()),
            0xc5..=0xcf => Err("a coding that readers do not know"),
            _ => Err("a segment that readers do not know"),
        };
        understood.map_err(|what| broken(what, at))?;
        at = if marker == 0xda { end_of_scan(reader, end)? } else { end };
    }
}

fn broken(what: &str, at: u64) -> ProbeError {
    ProbeError::broken(format!("the JPEG picture has {what}"), at)
}

fn ended(error: ProbeError, reader: &Reader) -> ProbeError {
    match error {
        ProbeError::Broken { .. } => cut(reader),
        error => error,
    }
}

/// The next marker from `at` on, and the place behind it. Whatever comes before it is skipped.
fn next_marker(reader: &mut Reader, mut at: u64) -> Result<(u8, u64), ProbeError> {
    loop {
        let bytes = reader.up_to(at, 2)?;
        match *bytes {
            [0xff, 0xff] => at += 1,
            [0xff, 0] => at += 2,
            [0xff, marker] => return Ok((marker, at + 2)),
            [_, _] => at = skip_to_mark(reader, at)?,
            _ => return Err(cut(reader)),
        }
    }
}

fn skip_to_mark(reader: &mut Reader, at: u64) -> Result<u64, ProbeError> {
    let bytes = reader.up_to(at, PIECE)?;
    Ok(at + memchr::memchr(0xff, bytes).unwrap_or(bytes.len()) as u64)
}

/// Where the first marker behind the codes of a scan lies: stuffed bytes and restart marks belong to them.
fn end_of_scan(reader: &mut Reader, mut at: u64) -> Result<u64, ProbeError> {
    loop {
        let bytes = reader.up_to(at, PIECE)?;
        if bytes.len() < 2 {
            return Err(cut(reader));
        }
        let marker = memchr::memchr_iter(0xff, &bytes[..bytes.len() - 1])
            .find(|place| !matches!(bytes.get(place + 1), Some(0 | 0xd0..=0xd7 | 0xff)));
        match marker {
            Some(place) => return Ok(at + place as u64),
            // The last byte may be the first one of a marker.
            None => at += bytes.len() as u64 - 1,
        }
    }
}
