//! FLAC: the header, the picture, and the last frame.
//!
//! The reference program counts the samples that it decodes. The last frame contains its position, so the sound ends where the last frame
//! ends, regardless of the header; the reference program refuses a file whose last frame is cut off.

mod frame;

use super::cover::CoverPicture;
use super::rational::{seconds, Rational};
use super::{after_id3, AvProbeResult};
use crate::bytes::MAX_READ_BYTES;
use crate::{ProbeError, Reader};
use frame::{Frame, MAX_HEADER_BYTES};
use gristmill_core::AvFacts;

/// Types of the metadata blocks that are read.
const STREAMINFO: u8 = 0;
const CUESHEET: u8 = 5;
const PICTURE: u8 = 6;
/// Length of the header block, in bytes.
const STREAMINFO_LEN: u64 = 34;
/// The maximum number of metadata blocks.
const MAX_BLOCKS: u32 = 1 << 12;
/// Length of the first read in search of the last frame, in bytes.
const TAIL_BYTES: usize = 32 << 10;
/// The maximum number of samples that are skipped in search of the last frame.
const MAX_SKIPPED_SAMPLES: u64 = 1 << 24;
/// The shortest block of samples that a header may specify.
const SHORTEST_BLOCK: u32 = 16;

/// Returns the samples per channel of the frame at the beginning of `bytes`; `None` if there is none.
pub fn frame_samples(bytes: &[u8]) -> Option<u32> {
    frame::Frame::parse(bytes).map(|frame| frame.samples)
}

/// Whether these first bytes belong to a FLAC file.
pub fn matches(first: &[u8]) -> bool {
    first.starts_with(b"fLaC")
}

/// The fields of the header block.
struct Info {
    rate: u32,
    bits: u32,
    /// Samples per channel; 0 if not specified.
    samples: u64,
    /// The longest frame in bytes; 0 if not specified.
    longest_frame: usize,
    /// The longest block in samples.
    longest_block: u32,
}

/// The header, the picture, and the offset of the first frame.
struct Layout {
    info: Info,
    cover: Option<CoverPicture>,
    frames_at: u64,
}

/// Reads the facts of the sound and of its cover.
///
/// # Errors
/// [`ProbeError::Broken`] if the header is invalid, there is no sound, or the last frame is cut off.
pub fn probe(reader: &mut Reader) -> Result<AvProbeResult, ProbeError> {
    let start = after_id3(reader)?;
    let Layout { info, cover, frames_at } = layout(reader, start)?;
    let first = Frame::parse(reader.up_to(frames_at, MAX_HEADER_BYTES)?)
        .ok_or_else(|| ProbeError::broken("there is no sound after its header", frames_at))?;
    if first.bits.is_some_and(|bits| bits != info.bits) {
        return Err(ProbeError::broken("its header and its frames state different numbers of samples", frames_at));
    }
    if first.samples > info.longest_block {
        return Err(ProbeError::broken("its frames are longer than its header allows", frames_at));
    }
    let mut remarks = Vec::new();
    let last = last_frame(reader, &info, &first, frames_at)?;
    if info.samples != 0 && info.samples != last.end {
        remarks.push(format!(
            "its header states {}, its frames end at {}",
            gristmill_core::text::count(info.samples, "sample"),
            last.end
        ));
    }
    let base = Rational::new(1, i64::from(info.rate));
    let ticks = |samples: u64| i64::try_from(samples).unwrap_or(i64::MAX);
    let mut facts = AvFacts {
        audio_duration: Some(seconds(ticks(last.timed_end), base)),
        audio_channels: Some(first.channels),
        audio_sample_rate: Some(first.rate.unwrap_or(info.rate)),
        audio_num_samples: Some(last.end),
        ..AvFacts::default()
    };
    if let Some(cover) = cover {
        let declared = (info.samples > 0).then(|| (ticks(info.samples), base));
        cover.show(reader, declared, &mut facts)?;
    }
    Ok(AvProbeResult { facts, remarks })
}

/// Reads the metadata blocks.
fn layout(reader: &mut Reader, start: u64) -> Result<Layout, ProbeError> {
    if reader.up_to(start, 4)? != b"fLaC" {
        return Err(ProbeError::broken("there is something before the FLAC header", start));
    }
    let mut at = start + 4;
    let (mut info, mut cover) = (None, None);
    for _ in 0..MAX_BLOCKS {
        let [kind, a, b, c] = reader.array(at)?;
        let len = u64::from(u32::from_be_bytes([0, a, b, c]));
        let content = at + 4;
        match (kind & 0x7f, &info) {
            (STREAMINFO, None) if len == STREAMINFO_LEN => info = Some(streaminfo(reader, content)?),
            (STREAMINFO, _) => {
                return Err(ProbeError::broken("its header block is there twice or of a wrong length", at))
            }
            (_, None) => return Err(ProbeError::broken("its first block is not the header block", at)),
            (CUESHEET, _) => cuesheet(reader, content, len)?,
            (PICTURE, _) if cover.is_none() => cover = picture(reader, content, len)?,
            _ => {}
        }
        at = content + len;
        if kind & 0x80 != 0 {
            let info = info.ok_or_else(|| ProbeError::broken("it has no header block", at))?;
            return Ok(Layout { info, cover, frames_at: at });
        }
    }
    Err(ProbeError::broken("it has too many metadata blocks", at))
}

fn streaminfo(reader: &mut Reader, at: u64) -> Result<Info, ProbeError> {
    let bytes: [u8; 34] = reader.array(at)?;
    let [_, _, d, e, _, _, _, h, i, j, p, q, r, s, t, u, v, w, ..] = bytes;
    let packed = u64::from_be_bytes([p, q, r, s, t, u, v, w]);
    let field = |shift: u32, width: u32| (packed >> shift & ((1 << width) - 1)) as u32;
    let info = Info {
        rate: field(44, 20),
        bits: field(36, 5) + 1,
        samples: packed & ((1 << 36) - 1),
        longest_frame: u32::from_be_bytes([0, h, i, j]) as usize,
        longest_block: u32::from(u16::from_be_bytes([d, e])),
    };
    if info.bits < 4 || info.longest_block < SHORTEST_BLOCK || info.rate == 0 {
        return Err(ProbeError::broken("its header states values that no file can have", at));
    }
    Ok(info)
}

/// Checks a cue sheet. The reference program refuses a file whose cue sheet is too short, has no track but the lead-out, or has a track
/// without an index point.
fn cuesheet(reader: &mut Reader, at: u64, len: u64) -> Result<(), ProbeError> {
    let broken = || ProbeError::broken("its cue sheet is invalid", at);
    if len < 431 {
        return Err(broken());
    }
    let [tracks] = reader.array(at + 395)?;
    let mut next = 396;
    let tracks = tracks.checked_sub(1).filter(|tracks| *tracks > 0).ok_or_else(broken)?;
    for _ in 0..tracks {
        if next + 36 > len {
            return Err(broken());
        }
        let [points] = reader.array(at + next + 35)?;
        if points == 0 {
            return Err(broken());
        }
        next += 36 + u64::from(points) * 12;
    }
    Ok(())
}

/// Returns the picture in a block; `None` if the reference program ignores it.
fn picture(reader: &mut Reader, at: u64, len: u64) -> Result<Option<CoverPicture>, ProbeError> {
    let end = at + len;
    let mut next = at + 4;
    let text = |reader: &mut Reader, at: u64| -> Result<Option<u64>, ProbeError> {
        if at + 4 > end {
            return Ok(None);
        }
        let len = u64::from(u32::from_be_bytes(reader.array(at)?));
        Ok((at + 4 + len <= end).then_some(len))
    };
    let Some(mime_len) = text(reader, next)? else { return Ok(None) };
    let mime = reader.up_to(next + 4, usize::try_from(mime_len.min(64)).unwrap_or(64))?.to_vec();
    next += 4 + mime_len;
    let Some(words_len) = text(reader, next)? else { return Ok(None) };
    next += 4 + words_len + 16;
    let Some(picture_len) = text(reader, next)? else { return Ok(None) };
    CoverPicture::new(reader, &mime, next + 4, picture_len)
}

struct SoundEnd {
    /// End of the sound, in samples per channel.
    end: u64,
    /// End of the sound according to the time stamps, in samples per channel.
    timed_end: u64,
}

/// Finds the last frame; a single read suffices for typical files.
fn last_frame(reader: &mut Reader, info: &Info, first: &Frame, frames_at: u64) -> Result<SoundEnd, ProbeError> {
    let len = reader.len();
    let mut look = if info.longest_frame > 0 { info.longest_frame.saturating_add(1 << 10) } else { TAIL_BYTES };
    loop {
        look = look.min(MAX_READ_BYTES);
        let at = len.saturating_sub(look as u64).max(frames_at);
        let bytes = reader.up_to(at, look)?;
        if let Some(chain) = chain(bytes, info, first) {
            return chain.ok_or_else(|| ProbeError::broken("its last frame is cut off or broken", len));
        }
        if at == frames_at || look == MAX_READ_BYTES {
            return Err(ProbeError::broken("its last frame cannot be found", at));
        }
        look = look.saturating_mul(4);
    }
}

/// Follows the frames in `bytes`, which end with the file. The outer `None` means that they contain no complete frame, the inner one that
/// complete frames are followed by one that is cut off.
fn chain(bytes: &[u8], info: &Info, first: &Frame) -> Option<Option<SoundEnd>> {
    let fits = |frame: &Frame| {
        (frame.channels, frame.bits, frame.rate, frame.counts_samples)
            == (first.channels, first.bits, first.rate, first.counts_samples)
            && frame.samples <= info.longest_block
    };
    let (mut at, mut work) = (0, MAX_SKIPPED_SAMPLES);
    let mut found: Option<Frame> = None;
    while let Some(rest) = next_frame(bytes, at) {
        let here = bytes.len() - rest.len();
        at = here + 1;
        let Some(frame) = Frame::parse(rest).filter(fits) else { continue };
        let Some(len) = frame.len(rest, info.bits, &mut work) else {
            // A header that continues the previous frame is genuine: this frame is the last one, and cut off.
            if found.is_some_and(|before| follows(&before, &frame)) {
                return Some(None);
            }
            continue;
        };
        found = Some(frame);
        at = here + len;
    }
    Some(Some(ends(&found?, first)))
}

fn next_frame(bytes: &[u8], from: usize) -> Option<&[u8]> {
    let rest = bytes.get(from..)?;
    memchr::memchr(0xff, rest).and_then(|found| rest.get(found..))
}

/// Whether one frame directly follows another.
fn follows(before: &Frame, frame: &Frame) -> bool {
    let step = if frame.counts_samples { u64::from(before.samples) } else { 1 };
    before.number.checked_add(step) == Some(frame.number)
}

fn ends(last: &Frame, first: &Frame) -> SoundEnd {
    let start = if last.counts_samples { last.number } else { last.number.saturating_mul(u64::from(first.samples)) };
    let end = start.saturating_add(u64::from(last.samples));
    // Without a rate in their headers, the frames have no duration, and the last one has no time stamp.
    let timed_end =
        if last.rate.is_some() || last.counts_samples { end } else { start.saturating_sub(u64::from(first.samples)) };
    SoundEnd { end, timed_end }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_core::Cancel;

    fn golden(name: &str) -> Vec<u8> {
        std::fs::read(format!("{}/../../tests/golden/media/flac_adts/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
    }

    #[test]
    fn long_flac_block_before_the_frames_is_not_read() {
        let bytes = golden("total0.flac");
        // The header block, padding as the last block, and the frames.
        let first = bytes.windows(2).position(|pair| pair == [0xff, 0xf8]).unwrap();
        let mut long = bytes[..42].to_vec();
        long.extend([0x81, 0x10, 0, 0]);
        long.resize(long.len() + (1 << 20), 0);
        long.extend(&bytes[first..]);
        let (source, cancel) = (long.as_slice(), Cancel::default());
        let mut reader = Reader::new(&source, &cancel);
        let probed = probe(&mut reader).unwrap();
        assert_eq!(probed.facts.audio_num_samples, Some(12_000));
        assert!(reader.bytes_read() < 64 << 10, "{}", reader.bytes_read());
    }

    #[test]
    fn every_cut_of_the_last_flac_frame_is_detected() {
        let bytes = golden("noblocks.flac");
        for cut in 1..40 {
            let (source, cancel) = (&bytes[..bytes.len() - cut], Cancel::default());
            let error = probe(&mut Reader::new(&source, &cancel)).unwrap_err();
            assert!(error.to_string().starts_with("its last frame is cut off"), "{cut}: {error}");
        }
    }
}
