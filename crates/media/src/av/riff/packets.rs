//! Counts the samples in packets: from their sizes if each byte has a fixed position, from frame headers otherwise.

use super::format::{Coding, SoundFormat};
use super::frames::Frames;
use crate::av::rational::{self, Rational};
use crate::{ProbeError, Reader};

/// A contiguous piece of coded sound in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct AudioRun {
    /// Offset of its first byte.
    pub at: u64,
    /// Length in bytes; it ends within the file.
    pub len: u64,
}

impl AudioRun {
    /// Creates a piece of `len` bytes at `at`.
    pub fn new(at: u64, len: u64) -> Self {
        Self { at, len }
    }
}

/// The result of counting.
#[derive(Debug, Default)]
pub(super) struct PacketCounts {
    /// Samples per channel that a decoder outputs.
    pub samples: u64,
    /// End of the last packet with a time stamp, in samples.
    pub end: Option<i64>,
    /// Unusual findings that are not errors.
    pub remarks: Vec<String>,
}

/// The maximum number of channels that decoders accept.
const MAX_CHANNELS: u32 = 512;
/// Number of packets per second of sound.
const PACKETS_PER_SECOND: i64 = 10;
/// Size of a packet in bytes if the block size is unknown.
const ANY_PACKET: u64 = 4096;

/// Converts `ticks` samples to seconds.
pub(super) fn seconds(ticks: i64, rate: u32) -> f64 {
    rational::seconds(ticks, Rational::new(1, i64::from(rate)))
}

/// Returns the bits of a coded sample if all have the same size; 0 otherwise.
pub(super) fn bits_of_sample(coding: Coding) -> u32 {
    match coding {
        Coding::Pcm(bits) => bits,
        Coding::ImaAdpcm(_) | Coding::MsAdpcm | Coding::TwoPerByte => 4,
        _ => 0,
    }
}

/// Counts the sound in these pieces. `format_at` is the offset of the format, for error messages.
pub(super) fn count(
    reader: &mut Reader,
    format: &SoundFormat,
    pieces: &[AudioRun],
    format_at: u64,
) -> Result<PacketCounts, ProbeError> {
    let channels = format.channels;
    if channels == 0 || channels > MAX_CHANNELS {
        return Err(ProbeError::broken(format!("{channels} is not a valid number of channels"), format_at + 2));
    }
    match format.coding {
        Coding::Mpeg | Coding::Ac3 | Coding::Aac => by_frames(reader, format, pieces, format_at),
        Coding::Other(kind) => {
            Err(ProbeError::broken(format!("its sound is coded as {kind:#06x}, which is not read"), format_at))
        }
        _ => by_size(format, pieces),
    }
}

/// Counts the frames in these pieces of a WAV file.
fn by_frames(
    reader: &mut Reader,
    format: &SoundFormat,
    pieces: &[AudioRun],
    format_at: u64,
) -> Result<PacketCounts, ProbeError> {
    let base = Rational::new(1, i64::from(format.rate));
    let Some(mut frames) = Frames::of(format, base) else {
        return Err(ProbeError::broken("its sound is coded in a way that is not read in this kind of file", format_at));
    };
    for piece in pieces {
        frames.read_frames(reader, piece.at, piece.len, None)?;
    }
    let found = frames.finish(reader.len())?;
    if found.samples == 0 {
        return Err(ProbeError::broken("there is no frame in its sound", format_at));
    }
    Ok(PacketCounts { samples: found.samples, end: found.end, remarks: found.remarks })
}

/// Returns the size in bytes of the packets that FFmpeg reads.
fn packet_size(format: &SoundFormat) -> u64 {
    let block = i64::from(format.block_align);
    if block == 0 {
        return ANY_PACKET;
    }
    let bits = i64::from(bits_of_sample(format.coding));
    let exact = bits * i64::from(format.rate) * i64::from(format.channels);
    let bit_rate = if bits > 0 { exact } else { format.bit_rate };
    let most = i64::from(i32::MAX) / block;
    let blocks = if bit_rate > 0 {
        let blocks = (bit_rate / 8 / PACKETS_PER_SECOND / block).clamp(1, most);
        1 << blocks.ilog2()
    } else {
        (ANY_PACKET as i64 / block).clamp(1, most)
    };
    u64::try_from(block * blocks).unwrap_or(ANY_PACKET)
}

/// The facts of one packet.
pub(super) struct PacketFacts {
    /// Samples per channel that a decoder outputs.
    pub samples: u64,
    /// Duration in samples; a packet of duration 0 has no time stamp.
    pub duration: i64,
}

fn by_size(format: &SoundFormat, pieces: &[AudioRun]) -> Result<PacketCounts, ProbeError> {
    let size = packet_size(format);
    let mut counted = PacketCounts::default();
    let mut next = 0_i64;
    for piece in pieces {
        let (whole, rest) = (piece.len / size, piece.len % size);
        if whole > 0 {
            let held = in_packet(format, size, piece.at)?;
            counted.samples = counted.samples.saturating_add(held.samples.saturating_mul(whole));
            if held.duration > 0 {
                next = next.saturating_add(held.duration.saturating_mul(i64::try_from(whole).unwrap_or(i64::MAX)));
                counted.end = Some(next);
            }
        }
        if rest > 0 {
            let held = in_packet(format, rest, piece.at + whole * size)?;
            counted.samples = counted.samples.saturating_add(held.samples);
            if held.duration > 0 {
                next = next.saturating_add(held.duration);
                counted.end = Some(next);
            }
        }
    }
    Ok(counted)
}

/// Returns the facts of a packet of `size` bytes at `at`.
///
/// # Errors
/// [`ProbeError::Broken`] if it is too short for a single sample of each channel: decoders stop there.
pub(super) fn in_packet(format: &SoundFormat, size: u64, at: u64) -> Result<PacketFacts, ProbeError> {
    let channels = u64::from(format.channels);
    let broken = || {
        Err(ProbeError::broken(
            format!("its sound ends with {}, which is less than one sample", gristmill_core::text::count(size, "byte")),
            at,
        ))
    };
    match format.coding {
        Coding::Pcm(bits) => {
            let samples = size / (u64::from(bits / 8) * channels).max(1);
            if samples == 0 {
                return broken();
            }
            Ok(PacketFacts { samples, duration: ticks(size * 8 / (u64::from(bits) * channels)) })
        }
        Coding::TwoPerByte | Coding::G726(_) => {
            let bits = if let Coding::G726(bits) = format.coding { u64::from(bits) } else { 4 };
            if bits == 0 || bits > 5 {
                return Err(ProbeError::broken(format!("{bits} is not a valid number of bits per sample"), at));
            }
            let samples = size * 8 / bits / channels;
            if samples == 0 {
                return broken();
            }
            Ok(PacketFacts { samples, duration: ticks(samples) })
        }
        Coding::ImaAdpcm(_) | Coding::MsAdpcm => in_blocks(format, size).map_or_else(broken, Ok),
        _ => broken(),
    }
}

/// Returns the facts of a packet of ADPCM blocks; `None` if a block is too short.
fn in_blocks(format: &SoundFormat, size: u64) -> Option<PacketFacts> {
    let block = if format.block_align > 0 { u64::from(format.block_align) } else { size };
    let (whole, rest) = (size / block, size % block);
    let in_whole = in_block(format, block);
    let mut samples = if whole > 0 { in_whole?.checked_mul(whole)? } else { 0 };
    if rest > 0 {
        samples = samples.checked_add(in_block(format, rest)?)?;
    }
    Some(PacketFacts { samples, duration: ticks(in_whole.unwrap_or(0).saturating_mul(whole)) })
}

/// Returns the number of samples per channel in one block.
fn in_block(format: &SoundFormat, size: u64) -> Option<u64> {
    let channels = u64::from(format.channels);
    let samples = match format.coding {
        Coding::ImaAdpcm(bits) => {
            let (bytes, samples) = match bits {
                2 => (4, 16),
                3 => (12, 32),
                4 => (4, 8),
                5 => (20, 32),
                _ => return None,
            };
            1 + size.saturating_sub(4 * channels) / (bytes * channels) * samples
        }
        _ => size.checked_sub(6 * channels)? * 2 / channels,
    };
    (samples > 0).then_some(samples)
}

fn ticks(samples: u64) -> i64 {
    i64::try_from(samples).unwrap_or(i64::MAX)
}
