//! The sequence of frames: finds its start, counts the samples of each frame, and applies trimming.

use super::super::codec::{Layer, MpegHeader};
use super::super::rational::{rescale, Rounding};
use super::parser::{FileStart, Packet, Parser};
use super::tag::InfoTag;
use super::TICKS;
use crate::{ProbeError, Reader};

/// Bytes that are searched for two consecutive frames.
const MAX_SEARCH_BYTES: u64 = 64 << 10;
/// Length of an ID3v1 tag in bytes.
const ID3V1: u64 = 128;
/// Length of the footer of an APE tag in bytes.
const APE_FOOTER: u64 = 32;

/// The result of decoding the frames.
#[derive(Debug)]
pub(super) struct DecodedSound {
    /// Samples per channel.
    pub(super) samples: u64,
    /// End of the last frame with sound, in ticks; `None` if there is none.
    pub(super) end: Option<i64>,
    /// Channels of the last frame.
    pub(super) channels: u32,
    /// Unusual findings that are not errors.
    pub(super) remarks: Vec<String>,
}

/// Returns the offset of the first of two consecutive matching frames, at or after `from`.
pub(super) fn first(reader: &mut Reader, from: u64) -> Result<u64, ProbeError> {
    for at in from..from.saturating_add(MAX_SEARCH_BYTES) {
        let here = reader.up_to(at, 4)?;
        let Some(here) = here.first_chunk::<4>().copied() else {
            return Err(ProbeError::broken("no two frames of MPEG audio follow each other", at));
        };
        let Some(bytes) = MpegHeader::parse(here).and_then(|header| header.bytes()) else {
            continue;
        };
        // This read must not move the window, or a search through invalid data would read everything twice.
        let next = reader.up_to(at, bytes as usize + 4)?.get(bytes as usize..).unwrap_or_default();
        if next.first_chunk::<4>().is_some_and(|next| MpegHeader::parse(*next).is_some() && is_same_stream(here, *next))
        {
            return Ok(at);
        }
    }
    Ok(from)
}

/// Whether two headers have the same version, layer, rate, channel mode and emphasis.
fn is_same_stream(a: [u8; 4], b: [u8; 4]) -> bool {
    const COMPARED: u32 = 0xfffe_0ccf;
    (u32::from_be_bytes(a) ^ u32::from_be_bytes(b)) & COMPARED == 0
}

/// Reads all frames from `first` on.
pub(super) fn walk(
    reader: &mut Reader,
    first: u64,
    tag: &InfoTag,
    opened: FileStart,
) -> Result<DecodedSound, ProbeError> {
    let mut sound = DecodedSound { samples: 0, end: None, channels: 0, remarks: Vec::new() };
    let mut parser = Parser::new(first, opened);
    let mut time = 0_i64;
    let mut skip = tag.skip();
    while let Some(packet) = parser.next(reader)? {
        let start = time;
        time = time.saturating_add(packet.ticks);
        if packet.end > reader.len() {
            if is_tag(reader, packet.start)? {
                return Ok(sound);
            }
            sound.remarks.push(format!("its last frame is cut short (byte {})", packet.header_at));
        }
        if !has_sound(reader, &packet)? {
            continue;
        }
        let header = packet.header;
        sound.channels = header.channels;
        let trimmed = TrimmedFrame::new(&packet, start, &mut skip, tag, parser.rate());
        if trimmed.samples > 0 {
            sound.samples += trimmed.samples as u64;
            sound.end = Some(trimmed.end);
        }
    }
    let rest = parser.at().min(reader.len());
    if rest < reader.len() && !is_tag(reader, rest)? {
        rest_is_fine(reader, rest)?;
    }
    if sound.channels == 0 {
        return Err(ProbeError::broken("no frame holds sound", first));
    }
    Ok(sound)
}

/// A decoded frame after trimming.
struct TrimmedFrame {
    samples: i64,
    end: i64,
}

impl TrimmedFrame {
    fn new(packet: &Packet, start: i64, skip: &mut i64, tag: &InfoTag, rate: u32) -> Self {
        let samples = i64::from(packet.header.samples());
        let own_rate = i64::from(packet.header.rate);
        let ticks = |samples| rescale(samples, TICKS, own_rate, Rounding::Near);
        let counted = |ticks| rescale(ticks, rate.into(), TICKS, Rounding::Near);
        let (from, length) = (counted(start), counted(packet.ticks));
        let trailing = match tag.dropped() {
            Some((first, last)) if length > 0 && from + length >= first && from < last => {
                (from + length - first).min(length)
            }
            _ => 0,
        };
        if *skip >= samples {
            *skip -= samples;
            return Self { samples: 0, end: start };
        }
        let skipped = ticks(*skip);
        let start = start + skipped;
        let kept = samples - *skip;
        let duration = if packet.ticks >= skipped { packet.ticks - skipped } else { packet.ticks };
        *skip = 0;
        if trailing > 0 && trailing <= kept {
            return Self { samples: kept - trailing, end: start + ticks(kept - trailing) };
        }
        Self { samples: kept, end: start + duration }
    }
}

/// Whether a decoder outputs samples for a packet; fails if the decoder would stop.
fn has_sound(reader: &mut Reader, packet: &Packet) -> Result<bool, ProbeError> {
    let sound_at = match first_byte(reader, packet.start, packet.header_at)? {
        Some(at) if reader.up_to(at, 3)? == b"TAG" => return Ok(false),
        Some(at) => {
            return Err(ProbeError::broken("there is something between the frames that is no MPEG audio", at));
        }
        None => packet.header_at,
    };
    if packet.header.layer == Layer::III && !side_info_is_fine(reader, packet)? {
        // An invalid frame that is an entire packet stops a decoder; after zeros, it is skipped.
        if sound_at == packet.start {
            return Err(ProbeError::broken("a frame cannot be decoded", packet.header_at));
        }
        return Ok(false);
    }
    Ok(true)
}

/// Returns the offset of the first non-zero byte from `from` to `end`.
fn first_byte(reader: &mut Reader, from: u64, end: u64) -> Result<Option<u64>, ProbeError> {
    let mut at = from;
    while at < end {
        let count = usize::try_from(end - at).unwrap_or(usize::MAX).min(4096);
        let bytes = reader.up_to(at, count)?;
        if let Some(offset) = bytes.iter().position(|byte| *byte != 0) {
            return Ok(Some(at + offset as u64));
        }
        if bytes.is_empty() {
            break;
        }
        at += bytes.len() as u64;
    }
    Ok(None)
}

/// Whether the rest of the entry from `at` on is a tag that is ignored.
fn is_tag(reader: &mut Reader, at: u64) -> Result<bool, ProbeError> {
    let left = reader.len().saturating_sub(at);
    let bytes = reader.up_to(at, 8)?;
    Ok(left >= ID3V1 && bytes.starts_with(b"TAG") || left >= APE_FOOTER && bytes.starts_with(b"APETAGEX"))
}

/// Checks the bytes after the last frame: the decoder receives them too, and accepts only a short `TAG`.
fn rest_is_fine(reader: &mut Reader, rest: u64) -> Result<(), ProbeError> {
    let end = reader.len();
    let at = first_byte(reader, rest, end)?.unwrap_or(end);
    if end - at >= 4 && reader.up_to(at, 3)? == b"TAG" {
        return Ok(());
    }
    Err(ProbeError::broken("there is something after the last frame that is no MPEG audio", rest))
}

/// Whether the side information of a layer III frame is plausible; missing bytes count as zeros.
fn side_info_is_fine(reader: &mut Reader, packet: &Packet) -> Result<bool, ProbeError> {
    let MpegHeader { low_rate, channels, checksum, .. } = packet.header;
    let skipped = 4 + if checksum { 2 } else { 0 };
    let length = usize::try_from(packet.end - packet.header_at).unwrap_or(0).min(skipped + 32);
    let info = reader.up_to(packet.header_at, length)?.get(skipped..).unwrap_or_default();
    let field = |at: u32, width: u32| {
        (at..at + width).fold(0, |value, bit| {
            let byte = info.get((bit / 8) as usize).copied().unwrap_or(0);
            value << 1 | u32::from(byte >> (7 - bit % 8) & 1)
        })
    };
    let (granules, length, mut at) = match (low_rate, channels) {
        (false, 1) => (2, 59, 9 + 5 + 4),
        (false, _) => (2, 59, 9 + 3 + 8),
        (true, 1) => (1, 63, 8 + 1),
        (true, _) => (1, 63, 8 + 2),
    };
    for _ in 0..granules * channels {
        let big_values = field(at + 12, 9);
        let switched = at + 12 + 9 + 8 + if low_rate { 9 } else { 4 };
        if big_values > 288 || field(switched, 1) == 1 && field(switched + 1, 2) == 0 {
            return Ok(false);
        }
        at += length;
    }
    Ok(true)
}
