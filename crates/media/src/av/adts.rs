//! AAC in ADTS frames: reads the header of every frame, without decoding.

use super::rational::{rescale, seconds, Rational, Rounding};
use super::{after_id3, AvProbeResult};
use crate::{ProbeError, Reader};
use gristmill_core::AvFacts;

/// Length of a header without checksum, in bytes.
const HEADER_BYTES: usize = 7;
/// Samples per channel of one block.
const SAMPLES_PER_BLOCK: u64 = 1024;
/// Ticks per second in FFmpeg's time base for ADTS, a multiple of every sample rate.
const TICKS_PER_SECOND: i64 = 28_224_000;
/// Sample rates by their code.
const RATES: [u32; 13] =
    [96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350];
/// Maximum number of bytes that are searched for the next frame after invalid data.
const MAX_JUNK_BYTES: u64 = 5_000_000;
/// The longest frame, in bytes.
const MAX_FRAME_BYTES: usize = 8191;
/// Number of frames at the beginning that are checked for spectral band replication.
const SBR_FRAMES: u64 = 8;
/// Minimum number of consecutive frames with spectral band replication, unless there are fewer: a single frame can match accidentally.
const MIN_SBR_FRAMES: u64 = 3;

/// The fields of a frame header.
#[derive(Clone, Copy, Debug)]
struct Header {
    rate: u32,
    /// Number of channels; 0 if the first block specifies it.
    channels: u32,
    /// Length of the whole frame in bytes.
    len: usize,
    /// Number of sample blocks in the frame.
    blocks: u64,
    /// Offset of the first block in the frame, in bytes.
    content: usize,
}

impl Header {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let [0xff, b, c, d, e, f, g, ..] = *bytes else { return None };
        if b & 0xf0 != 0xf0 {
            return None;
        }
        let [b, c, d, e, f, g] = [b, c, d, e, f, g].map(u32::from);
        let channels = match (c & 1) << 2 | d >> 6 {
            7 => 8,
            code => code,
        };
        Some(Self {
            rate: RATES.get((c >> 2 & 15) as usize).copied()?,
            channels,
            len: ((d & 3) << 11 | e << 3 | f >> 5) as usize,
            blocks: u64::from(g & 3) + 1,
            content: if b & 1 == 1 { HEADER_BYTES } else { HEADER_BYTES + 2 },
        })
    }
}

/// Whether these first bytes begin with a frame, which another frame follows if the bytes extend that far.
pub fn matches(first: &[u8]) -> bool {
    let is_header = |bytes: &[u8]| bytes.len() >= HEADER_BYTES && bytes[0] == 0xff && bytes[1] & 0xf6 == 0xf0;
    if !is_header(first) {
        return false;
    }
    let Some(header) = Header::parse(first).filter(|header| header.len >= HEADER_BYTES) else { return false };
    first.get(header.len..).is_none_or(|rest| rest.len() < HEADER_BYTES || is_header(rest) || rest.starts_with(b"ID3"))
}

/// The state collected from the frames so far.
#[derive(Default)]
struct FrameSummary {
    frames: u64,
    blocks: u64,
    /// Sample rate of the first frame.
    rate: u32,
    /// Number of channels of the last frame, which the reference program reports.
    channels: u32,
    /// Number of blocks in each of the checked frames.
    block_votes: [u64; SBR_FRAMES as usize],
    /// Which of the checked frames contain data for twice the sample rate: one bit per frame.
    doubling: u8,
}

impl FrameSummary {
    /// Returns the number of frames before the first one that contains data for twice the rate; all frames if none does.
    fn plain_frames(&self) -> u64 {
        let asked = self.frames.min(SBR_FRAMES);
        let all = |from: u64| (from..asked).all(|frame| self.doubling >> frame & 1 == 1);
        (0..asked).find(|from| (*from == 0 || asked - from >= MIN_SBR_FRAMES) && all(*from)).unwrap_or(self.frames)
    }

    /// Returns the number of blocks in the first `frames` frames, limited to the checked ones.
    fn blocks_before(&self, frames: u64) -> u64 {
        self.block_votes.iter().take(usize::try_from(frames).unwrap_or(usize::MAX)).sum()
    }
}

/// Reads the facts of the sound.
///
/// # Errors
/// [`ProbeError::Broken`] if a frame is cut off or invalid.
pub fn probe(reader: &mut Reader) -> Result<AvProbeResult, ProbeError> {
    let mut at = after_id3(reader)?;
    let mut walk = FrameSummary::default();
    let mut remarks = Vec::new();
    loop {
        let left = reader.len().saturating_sub(at);
        if left == 0 {
            break;
        }
        let head = reader.up_to(at, 10)?;
        if head.len() < HEADER_BYTES {
            return Err(ProbeError::broken(
                format!("{} too few for a frame", gristmill_core::text::count_verb(left, "byte", "is", "are")),
                at,
            ));
        }
        if head[0] != 0xff || head[1] & 0xf0 != 0xf0 {
            match find_next_frame(reader, at)? {
                Some(next) => at = next,
                None => break,
            }
            continue;
        }
        let header = Header::parse(head)
            .filter(|header| header.len >= header.content)
            .ok_or_else(|| ProbeError::broken("a frame header is invalid", at))?;
        if left == HEADER_BYTES as u64 && header.len > HEADER_BYTES {
            remarks.push("it is cut short after the header of a frame".to_owned());
            break;
        }
        if (header.len as u64) > left {
            return Err(ProbeError::broken("its last frame is cut off", at));
        }
        frame(reader, at, header, &mut walk)?;
        at += header.len as u64;
    }
    if walk.frames == 0 {
        return Err(ProbeError::broken("it has no frames", at));
    }
    Ok(AvProbeResult { facts: facts(&walk), remarks })
}

/// Counts one frame.
fn frame(reader: &mut Reader, at: u64, header: Header, walk: &mut FrameSummary) -> Result<(), ProbeError> {
    if walk.frames == 0 {
        walk.rate = header.rate;
    }
    if walk.frames < SBR_FRAMES || header.channels == 0 {
        let bytes = reader.up_to(at, header.len.min(MAX_FRAME_BYTES))?;
        let content = bytes.get(header.content..).unwrap_or_default();
        if walk.frames < SBR_FRAMES {
            walk.doubling |= u8::from(doubles(content)) << walk.frames;
        }
        if header.channels > 0 {
            walk.channels = header.channels;
        } else if let Some(channels) = listed_channels(content) {
            walk.channels = channels;
        } else if walk.channels == 0 {
            return Err(ProbeError::broken("it does not say how many channels it has", at));
        }
    } else {
        walk.channels = header.channels;
    }
    if let Some(blocks) = usize::try_from(walk.frames).ok().and_then(|frame| walk.block_votes.get_mut(frame)) {
        *blocks = header.blocks;
    }
    walk.frames += 1;
    walk.blocks += header.blocks;
    Ok(())
}

fn facts(walk: &FrameSummary) -> AvFacts {
    let plain = walk.plain_frames();
    let doubled = plain < walk.frames;
    let rate = i64::from(walk.rate);
    let each = rescale(SAMPLES_PER_BLOCK as i64, TICKS_PER_SECOND, rate, Rounding::Near);
    let end = each.saturating_mul(i64::try_from(walk.frames).unwrap_or(i64::MAX));
    AvFacts {
        audio_duration: Some(seconds(end, Rational::new(1, TICKS_PER_SECOND))),
        // With one channel, the decoder outputs two as soon as parametric stereo is possible.
        audio_channels: Some(if doubled && walk.channels == 1 { 2 } else { walk.channels }),
        audio_sample_rate: Some(if plain == 0 { walk.rate * 2 } else { walk.rate }),
        audio_num_samples: Some(
            if doubled { walk.blocks * 2 - walk.blocks_before(plain) } else { walk.blocks } * SAMPLES_PER_BLOCK,
        ),
        ..AvFacts::default()
    }
}

/// Returns the offset of the next frame after a tag or invalid data at `at`; `None` if there is none.
fn find_next_frame(reader: &mut Reader, at: u64) -> Result<Option<u64>, ProbeError> {
    if reader.up_to(at, 10)?.len() < 10 {
        return Err(ProbeError::broken("the data after its last frame is not a frame", at));
    }
    if let [b'I', b'D', b'3', major, minor, flags, a, b, c, d] = *reader.up_to(at, 10)? {
        if major != 0xff && minor != 0xff && (a | b | c | d) & 0x80 == 0 {
            let size = [a, b, c, d].into_iter().fold(0_u64, |size, byte| size << 7 | u64::from(byte));
            return Ok(Some(at + 10 + size + if flags & 0x10 != 0 { 10 } else { 0 }));
        }
    }
    // The ten bytes that were examined are not searched.
    let mut from = at + 10;
    let end = from.saturating_add(MAX_JUNK_BYTES);
    while from < end {
        let bytes = reader.up_to(from, 32 << 10)?;
        if bytes.len() < 2 {
            return Ok(None);
        }
        let found =
            memchr::memchr_iter(0xff, bytes).find(|at| bytes.get(at + 1).is_some_and(|next| next & 0xf0 == 0xf0));
        match found {
            Some(found) => return Ok(Some(from + found as u64)),
            None => from += bytes.len() as u64 - 1,
        }
    }
    Err(ProbeError::broken("there is too much between two frames that is none", at))
}

/// Reads bits, most significant first; returns `None` past the end.
struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Bits<'_> {
    fn read_bits(&mut self, count: usize) -> Option<u32> {
        let mut value = 0;
        for _ in 0..count {
            let byte = *self.bytes.get(self.at / 8)?;
            value = value << 1 | u32::from(byte >> (7 - self.at % 8) & 1);
            self.at += 1;
        }
        Some(value)
    }
}

/// Returns the number of channels in a program config element at the beginning of a block.
fn listed_channels(content: &[u8]) -> Option<u32> {
    const PROGRAM_CONFIG: u32 = 5;
    let mut bits = Bits { bytes: content, at: 0 };
    if bits.read_bits(3)? != PROGRAM_CONFIG {
        return None;
    }
    bits.read_bits(4 + 2 + 4)?;
    let (front, side, back) = (bits.read_bits(4)?, bits.read_bits(4)?, bits.read_bits(4)?);
    let low = bits.read_bits(2)?;
    bits.read_bits(3 + 4)?;
    for width in [4, 4, 3] {
        if bits.read_bits(1)? == 1 {
            bits.read_bits(width)?;
        }
    }
    let mut channels = low;
    for _ in 0..front + side + back {
        channels += 1 + bits.read_bits(1)?;
        bits.read_bits(4)?;
    }
    Some(channels)
}

/// Whether a block ends with data for twice the sample rate (SBR): a fill element of that kind, followed by the end marker.
///
/// The data before the fill element can only be skipped by decoding them. Since the end of the frame is known, each possible offset of such
/// an element is checked for whether the element ends where the frame does.
fn doubles(content: &[u8]) -> bool {
    let end = content.len() * 8;
    // The longest fill element has 270 bytes.
    let first = end.saturating_sub(271 * 8);
    (first..end.saturating_sub(14)).any(|at| fill_ends(content, at, end).unwrap_or(false))
}

fn fill_ends(content: &[u8], at: usize, end: usize) -> Option<bool> {
    const FILL: u32 = 6;
    const END: u32 = 7;
    const SBR: [u32; 2] = [13, 14];
    let mut bits = Bits { bytes: content, at };
    if bits.read_bits(3)? != FILL {
        return Some(false);
    }
    let mut count = bits.read_bits(4)? as usize;
    if count == 15 {
        count = (count + bits.read_bits(8)? as usize).checked_sub(1)?;
    }
    let payload = bits.at;
    if count == 0 || !SBR.contains(&bits.read_bits(4)?) {
        return Some(false);
    }
    bits.at = payload + count * 8;
    Some(bits.read_bits(3)? == END && bits.at <= end && end - bits.at < 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adts_header_gives_rate_channels_and_length() {
        let header = Header::parse(&[0xff, 0xf1, 0x50, 0x80, 0x1b, 0xff, 0xfc]).unwrap();
        assert_eq!((header.rate, header.channels, header.len, header.blocks, header.content), (44_100, 2, 223, 1, 7));
        assert!(Header::parse(&[0xff, 0xf1, 0x7c, 0x80, 0x1b, 0xff, 0xfc]).is_none(), "no such rate");
        assert!(Header::parse(&[0xff, 0xf1]).is_none());
    }

    #[test]
    fn aac_data_for_the_doubled_rate_is_detected() {
        // Some bits, a fill element of two bytes that begins with 1101, the end marker, and the padding of the last byte.
        let bits = concat!("10110", "110", "0010", "1101", "000000000000", "111", "0");
        let bytes: Vec<u8> =
            bits.as_bytes().chunks(8).map(|byte| byte.iter().fold(0, |value, bit| value << 1 | (bit - b'0'))).collect();
        assert!(doubles(&bytes));
        let mut other = bytes.clone();
        other[3] &= 0xf1;
        assert!(!doubles(&other));
        assert!(!doubles(&[]));
    }
}
