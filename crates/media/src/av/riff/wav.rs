//! WAV: RIFF, RIFX, RF64, BW64 and Wave64.
//!
//! FFmpeg reads such a file in packets of about a tenth of a second. The amount of sound in a file that is cut short depends on where the
//! last packet ends, so the same packets are counted here.

use super::format::{Coding, SoundFormat};
use super::packets::{self, AudioRun};
use crate::av::AvProbeResult;
use crate::{ProbeError, Reader};
use gristmill_core::AvFacts;

/// Number of bytes that a file must exceed to be recognised.
const MIN_FILE_BYTES: usize = 32;
/// The GUIDs of Wave64 without their first four bytes, which are the chunk name as in RIFF (the outermost GUID has a different ending).
const W64_RIFF: [u8; 16] = *b"riff\x2e\x91\xcf\x11\xa5\xd6\x28\xdb\x04\xc1\x00\x00";
const W64_CHUNK: [u8; 12] = *b"\xf3\xac\xd3\x11\x8c\xd1\x00\xc0\x4f\x8e\xdb\x8a";
/// The maximum number of chunks that are visited.
const MAX_CHUNKS: u32 = 1 << 20;
/// Offset that is used for the end of the sound if its length is unknown.
const UNKNOWN_END: u64 = i64::MAX as u64;

/// Whether these first bytes belong to a WAV file of any kind.
pub fn matches(first: &[u8]) -> bool {
    if first.len() > 40 && first.starts_with(&W64_RIFF) && first[24..].starts_with(b"wave") {
        return first[28..40] == W64_CHUNK;
    }
    first.len() > MIN_FILE_BYTES
        && first.get(8..12) == Some(b"WAVE")
        && match &first[..4] {
            b"RIFF" | b"RIFX" => true,
            b"RF64" | b"BW64" => first.get(12..16) == Some(b"ds64"),
            _ => false,
        }
}

/// The state collected from the chunks.
struct Header {
    format: Option<(SoundFormat, u64)>,
    /// Offset of the sound.
    data_at: Option<u64>,
    /// End of the sound according to the header; [`UNKNOWN_END`] if not specified.
    data_end: u64,
    /// Bytes of sound according to the header; 0 if not specified.
    data_size: u64,
    /// Samples per channel according to the header; 0 if not specified.
    samples: u64,
    big_endian: bool,
    wave64: bool,
}

impl Header {
    fn new(big_endian: bool, wave64: bool) -> Self {
        Self { format: None, data_at: None, data_end: 0, data_size: 0, samples: 0, big_endian, wave64 }
    }

    /// Reads a data chunk; returns its end. In RF64 files, an earlier chunk specifies its size.
    fn data_chunk(&mut self, content: u64, size: u64, sized64: bool) -> u64 {
        self.data_at = Some(content);
        self.data_end = if sized64 {
            content.saturating_add(self.data_size).min(UNKNOWN_END)
        } else if size == 0 || size == u64::from(u32::MAX) {
            self.data_size = 0;
            UNKNOWN_END
        } else {
            self.data_size = size;
            content + size
        };
        self.data_end
    }
}

/// Reads the facts of the sound.
///
/// # Errors
/// [`ProbeError::Broken`] if the chunks are invalid, or the samples of the sound's coding cannot be counted.
pub fn probe(reader: &mut Reader) -> Result<AvProbeResult, ProbeError> {
    let header = if reader.up_to(0, 16)? == W64_RIFF { wave64_header(reader)? } else { riff_header(reader)? };
    let Some((format, format_at)) = &header.format else {
        return Err(ProbeError::broken("it does not say how its sound is coded: there is no fmt chunk", reader.len()));
    };
    let Some(data_at) = header.data_at else {
        return Err(ProbeError::broken("it has no sound: there is no data chunk", reader.len()));
    };
    let pieces = pieces(reader, &header, data_at)?;
    let counted = packets::count(reader, format, &pieces, *format_at)?;
    let declared =
        declared_duration(&header, format, reader.len()).or_else(|| by_bit_rate(format, reader.len(), data_at));
    let ticks = counted.end.or(declared);
    let mut remarks = counted.remarks;
    let there = reader.len().saturating_sub(data_at);
    if header.data_end != UNKNOWN_END && header.data_end > reader.len() {
        remarks.push(format!(
            "it is cut short: its header announces {} of sound, the file has {there}",
            gristmill_core::text::count(header.data_end.saturating_sub(data_at), "byte")
        ));
    }
    let facts = AvFacts {
        audio_duration: ticks.map(|ticks| packets::seconds(ticks, format.rate)),
        audio_channels: Some(format.channels),
        audio_sample_rate: Some(format.rate),
        audio_num_samples: Some(counted.samples),
        ..AvFacts::default()
    };
    Ok(AvProbeResult { facts, remarks })
}

/// Reads the chunks of RIFF and RF64 files.
fn riff_header(reader: &mut Reader) -> Result<Header, ProbeError> {
    let first: [u8; 16] = reader.array(0)?;
    let (sized64, big_endian) = match &first[..4] {
        b"RIFF" => (false, false),
        b"RIFX" => (false, true),
        b"RF64" | b"BW64" => (true, false),
        _ => return Err(ProbeError::broken("there is something before the WAV file", 0)),
    };
    let mut header = Header::new(big_endian, false);
    let mut at = 12;
    if sized64 {
        at = ds64(reader, &mut header)?;
    }
    let mut chunks = 0..MAX_CHUNKS;
    while let Some((id, size)) = chunk(reader, at, big_endian)? {
        if chunks.next().is_none() {
            return Err(ProbeError::broken("it has too many chunks", at));
        }
        let content = at + 8;
        let mut next = content + size;
        match &id {
            b"fmt " if header.format.is_none() => {
                header.format = Some((SoundFormat::read(reader, content, size, big_endian)?, content));
            }
            b"data" => {
                next = header.data_chunk(content, size, sized64);
                if !sized64 && size == 0 {
                    break;
                }
            }
            b"fact" if header.samples == 0 => {
                let bytes: [u8; 4] = padded(reader.up_to(content, 4)?);
                header.samples =
                    u64::from(if big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) });
            }
            b"LIST" | b"list" if size < 4 => {
                return Err(ProbeError::broken(
                    format!("its LIST chunk has {} where it needs 4", gristmill_core::text::count(size, "byte")),
                    at,
                ));
            }
            b"cue " if header.format.is_some() && size >= 4 => cues(reader, content, size)?,
            b"XMA2" | b"SMV0" => {
                return Err(ProbeError::broken("it holds XMA sound or SMV pictures, which are not read", at));
            }
            _ => {}
        }
        if next >= reader.len() {
            break;
        }
        at = next + (next & 1);
    }
    Ok(header)
}

/// Reads the 64-bit sizes at the beginning of an RF64 file; returns the offset of the chunks after them.
fn ds64(reader: &mut Reader, header: &mut Header) -> Result<u64, ProbeError> {
    let bytes: [u8; 32] = reader.array(12)?;
    let size = u64::from(u32_at(&bytes, 4));
    let (data, samples) = (u64_at(&bytes, 16), u64_at(&bytes, 24));
    if &bytes[..4] != b"ds64" || size < 24 {
        return Err(ProbeError::broken("its ds64 chunk is missing or too short", 12));
    }
    if data > UNKNOWN_END || samples > UNKNOWN_END {
        return Err(ProbeError::broken("the sizes in its ds64 chunk are below zero", 28));
    }
    (header.data_size, header.samples) = (data, samples);
    Ok(20 + size)
}

/// Checks that a list of cues does not extend past the end of the file: the reference program refuses such a file.
fn cues(reader: &mut Reader, content: u64, size: u64) -> Result<(), ProbeError> {
    let count = u64::from(u32::from_le_bytes(padded(reader.up_to(content, 4)?)));
    let last = content + 4 + count.saturating_sub(1) * 24;
    if count > 0 && size >= count * 24 + 4 && last + 4 > reader.len() {
        return Err(ProbeError::broken("its list of cues is cut short", reader.len()));
    }
    Ok(())
}

/// Returns the name and size of the chunk at `at`; `None` at the end of the file.
fn chunk(reader: &mut Reader, at: u64, big_endian: bool) -> Result<Option<([u8; 4], u64)>, ProbeError> {
    let bytes = reader.up_to(at, 8)?;
    let [a, b, c, d, size @ ..] = bytes else { return Ok(None) };
    let Ok(size) = <[u8; 4]>::try_from(size) else { return Ok(None) };
    let size = if big_endian { u32::from_be_bytes(size) } else { u32::from_le_bytes(size) };
    Ok(Some(([*a, *b, *c, *d], u64::from(size))))
}

/// Reads the chunks of a Wave64 file.
fn wave64_header(reader: &mut Reader) -> Result<Header, ProbeError> {
    let mut header = Header::new(false, true);
    let first: [u8; 40] = reader.array(0)?;
    if u64_at(&first, 16) < 16 + 8 + 16 + 8 + 16 + 8 {
        return Err(ProbeError::broken("the file's own size is too small", 16));
    }
    let mut at = 40;
    for _ in 0..MAX_CHUNKS {
        let Some((name, size)) = wave64_chunk(reader, at)? else { return Ok(header) };
        if size <= 24 || size > UNKNOWN_END - at {
            return Err(ProbeError::broken(format!("{size} is not a valid chunk size"), at + 16));
        }
        match name {
            Some(b"fmt ") => header.format = Some((SoundFormat::read(reader, at + 24, size - 24, false)?, at + 24)),
            Some(b"fact") => header.samples = u64_at(&padded::<8>(reader.up_to(at + 24, 8)?), 0),
            Some(b"data") => {
                header.data_at = Some(at + 24);
                header.data_end = at + size;
                header.data_size = size - 24;
                at += size;
                continue;
            }
            _ => {}
        }
        at += size.next_multiple_of(8);
    }
    Err(ProbeError::broken("it has too many chunks", at))
}

type Wave64Chunk<'a> = Option<(Option<&'a [u8; 4]>, u64)>;

fn wave64_chunk<'a>(reader: &'a mut Reader, at: u64) -> Result<Wave64Chunk<'a>, ProbeError> {
    let bytes = reader.up_to(at, 24)?;
    if bytes.len() < 24 {
        return Ok(None);
    }
    let size = u64_at(bytes, 16);
    let known = bytes[4..16] == W64_CHUNK;
    Ok(Some((bytes.first_chunk().filter(|_| known), size)))
}

/// Returns the pieces of the file that contain sound: the data chunk, and further ones after it.
fn pieces(reader: &mut Reader, header: &Header, data_at: u64) -> Result<Vec<AudioRun>, ProbeError> {
    let mut pieces = vec![AudioRun::new(data_at, header.data_end.min(reader.len()).saturating_sub(data_at))];
    let mut at = header.data_end;
    let mut chunks = 0..MAX_CHUNKS;
    while at < reader.len() && chunks.next().is_some() && pieces.len() < 1 << 12 {
        if header.wave64 {
            let Some((name, size)) = wave64_chunk(reader, at)? else { break };
            if size <= 24 || size > UNKNOWN_END - 8 {
                break;
            }
            let end = if name == Some(b"data") { at.saturating_add(size) } else { 0 };
            if end > 0 {
                pieces.push(AudioRun::new(at + 24, end.min(reader.len()).saturating_sub(at + 24)));
                at = end;
            } else {
                at = at.saturating_add(size.next_multiple_of(8));
            }
            continue;
        }
        let Some((id, size)) = chunk(reader, at, header.big_endian)? else { break };
        let end = at + 8 + size;
        if &id == b"data" {
            pieces.push(AudioRun::new(at + 8, end.min(reader.len()).saturating_sub(at + 8)));
            at = end;
        } else {
            at = end + (end & 1);
        }
    }
    Ok(pieces)
}

/// Returns the length in samples according to the header.
fn declared_duration(header: &Header, format: &SoundFormat, file_len: u64) -> Option<i64> {
    let channels = u64::from(format.channels);
    let data_size = if header.data_size > UNKNOWN_END >> 3 { 0 } else { header.data_size };
    let mut samples = header.samples;
    if header.wave64 {
        return i64::try_from(samples).ok().filter(|samples| *samples > 0);
    }
    if channels > 1 && data_size > 0 && samples > 0 && format.bit_rate > 0 && samples.is_multiple_of(channels) {
        let declared = 8.0 * data_size as f64 * channels as f64 * f64::from(format.rate) / samples as f64;
        if (declared / format.bit_rate as f64 - 1.0).abs() < 0.3 {
            samples /= channels;
        }
    }
    if data_size > 0
        && samples > 0
        && channels > 0
        && (data_size << 3) / samples / channels > u64::from(format.bits) + 1
    {
        samples = 0;
    }
    let bits = u64::from(packets::bits_of_sample(format.coding));
    let exact = !matches!(format.coding, Coding::ImaAdpcm(_) | Coding::MsAdpcm);
    if (samples == 0 || exact) && bits > 0 && channels > 0 && data_size > 0 && header.data_end <= file_len {
        samples = (data_size << 3) / (channels * bits);
    }
    i64::try_from(samples).ok().filter(|samples| *samples > 0)
}

/// Returns the length in samples from the file's size and the declared bit rate, used if nothing else specifies it.
fn by_bit_rate(format: &SoundFormat, file_len: u64, data_at: u64) -> Option<i64> {
    use crate::av::rational::{rescale, Rounding};
    let bits = i64::from(packets::bits_of_sample(format.coding));
    let exact = i64::from(format.rate).checked_mul(i64::from(format.channels)).and_then(|all| all.checked_mul(bits));
    let bit_rate = exact.filter(|rate| *rate > 0).unwrap_or(format.bit_rate);
    let bytes = i64::try_from(file_len.checked_sub(data_at)?).ok().filter(|bytes| *bytes > 0)?;
    (bit_rate > 0).then(|| rescale(bytes, 8 * i64::from(format.rate), bit_rate, Rounding::Near))
}

/// Returns the first `N` bytes, padded with zeros.
fn padded<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut all = [0; N];
    let count = bytes.len().min(N);
    all[..count].copy_from_slice(&bytes[..count]);
    all
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ByteSource;
    use gristmill_core::Cancel;

    /// A header followed by zeros up to a length.
    struct PaddedFile {
        header: Vec<u8>,
        len: u64,
    }

    impl ByteSource for PaddedFile {
        fn len(&self) -> u64 {
            self.len
        }
        fn read_at(&self, buf: &mut [u8], offset: u64) -> std::io::Result<usize> {
            let count = usize::try_from(self.len.saturating_sub(offset)).unwrap_or(usize::MAX).min(buf.len());
            for (at, byte) in (offset..).zip(&mut buf[..count]) {
                *byte = usize::try_from(at).ok().and_then(|at| self.header.get(at)).copied().unwrap_or(0);
            }
            Ok(count)
        }
    }

    fn format(kind: u16, channels: u16, rate: u32, bits: u16, block: u16) -> Vec<u8> {
        let mut bytes = [kind.to_le_bytes(), channels.to_le_bytes()].concat();
        bytes.extend(rate.to_le_bytes());
        bytes.extend((rate * u32::from(block)).to_le_bytes());
        bytes.extend([block.to_le_bytes(), bits.to_le_bytes()].concat());
        bytes
    }

    fn file(format: &[u8], declared: u32) -> Vec<u8> {
        let mut bytes = b"RIFF\0\0\0\0WAVEfmt ".to_vec();
        bytes.extend(u32::try_from(format.len()).unwrap().to_le_bytes());
        bytes.extend(format);
        bytes.extend(b"data");
        bytes.extend(declared.to_le_bytes());
        bytes
    }

    fn facts(bytes: &[u8]) -> Result<AvProbeResult, ProbeError> {
        probe(&mut Reader::new(&bytes, &Cancel::default()))
    }

    #[test]
    fn wav_file_of_gigabytes_needs_one_small_read() {
        let header = file(&format(1, 2, 48_000, 16, 4), 3_000_000_000);
        let len = header.len() as u64 + 3_000_000_000;
        let (source, cancel) = (PaddedFile { header, len }, Cancel::default());
        let mut reader = Reader::new(&source, &cancel);
        let probed = probe(&mut reader).unwrap();
        assert_eq!(probed.facts.audio_num_samples, Some(750_000_000));
        assert_eq!(probed.facts.audio_duration, Some(15_625.0));
        assert_eq!(reader.bytes_read(), 4096);
    }

    #[test]
    fn cut_wav_sound_is_counted_with_a_remark() {
        let mut bytes = file(&format(1, 1, 8000, 16, 2), 400);
        bytes.extend([0; 100]);
        let probed = facts(&bytes).unwrap();
        assert_eq!((probed.facts.audio_num_samples, probed.facts.audio_duration), (Some(50), Some(0.006_25)));
        assert_eq!(probed.remarks, ["it is cut short: its header announces 400 bytes of sound, the file has 100"]);
    }

    #[test]
    fn half_a_sample_after_a_whole_packet_is_broken() {
        // A tenth of a second is 800 samples; packets have the next lower power of two.
        let mut bytes = file(&format(1, 1, 8000, 16, 2), 1025);
        bytes.extend([0; 1025]);
        let error = facts(&bytes).unwrap_err();
        assert!(matches!(error, ProbeError::Broken { at: 1068, .. }), "{error}");
        bytes.push(0);
        bytes[40..44].copy_from_slice(&1026_u32.to_le_bytes());
        assert_eq!(facts(&bytes).unwrap().facts.audio_num_samples, Some(513));
    }

    #[test]
    fn missing_and_unknown_wav_chunks_are_named() {
        let refused = |bytes: &[u8], part: &str| {
            let error = facts(bytes).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        };
        let mut bytes = file(&format(0x31, 1, 8000, 0, 65), 65);
        bytes.extend([0; 65]);
        refused(&bytes, "coded as 0x0031, which is not read");
        refused(b"RIFF\0\0\0\0WAVEdata\x04\0\0\0abcd", "no fmt chunk");
        refused(&file(&format(1, 1, 8000, 16, 2), 0)[..36], "no data chunk");
        refused(&file(&format(1, 0, 8000, 16, 2), 0), "0 is not a valid number of channels");
        refused(&file(&format(1, 1, 0, 16, 2), 0), "0 is not a valid sample rate");
    }
}
