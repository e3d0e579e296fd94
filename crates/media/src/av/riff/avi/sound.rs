//! Counts the sound of an AVI file packet by packet.

use super::header::{Stream, Track};
use crate::av::codec::{AudioCodec, AudioSetup};
use crate::av::rational::Rational;
use crate::av::riff::format::{Coding, SoundFormat};
use crate::av::riff::frames::{self, Frames};
use crate::av::riff::packets;
use crate::{ProbeError, Reader};

/// The maximum number of bytes of a decoder configuration that are read.
const MAX_CONFIG_BYTES: usize = 64;
/// Number of samples of uncompressed sound that are read at a time.
const AT_ONCE: u64 = 1024;

/// The result of counting.
#[derive(Debug, Default)]
pub(super) struct PacketCounts {
    /// Samples per channel; `None` if counting requires decoding.
    pub samples: Option<u64>,
    /// End of the last packet.
    pub end: Option<i64>,
    /// Number of channels, if the frames specify it.
    pub channels: Option<u32>,
    /// Samples per second, if the frames specify it.
    pub rate: Option<u32>,
    /// Unusual findings that are not errors.
    pub remarks: Vec<String>,
}

/// Counts the sound of one stream.
pub(super) struct SoundCounter {
    format: SoundFormat,
    /// Setup for AAC; unused for other codecs.
    aac: AudioSetup,
    base: Rational,
    sample_size: u64,
    /// Size of a block in bytes, each of which counts as one sample if there is no sample size.
    block: u64,
    /// Start of the next chunk: in bytes if there is a sample size, otherwise in samples.
    offset: u64,
    samples: u64,
    end: Option<i64>,
    frames: Option<Frames>,
}

impl SoundCounter {
    /// Creates a counter for an audio stream; `None` for other streams.
    pub fn of(reader: &mut Reader, stream: &Stream) -> Result<Option<Self>, ProbeError> {
        let Track::Audio(format) = &stream.track else { return Ok(None) };
        let mut aac = AudioSetup::new(AudioCodec::Aac, format.rate, format.channels);
        if let (Coding::Aac, Some((at, len))) = (format.coding, format.setup) {
            aac.configure(reader.up_to(at, usize::try_from(len).unwrap_or(MAX_CONFIG_BYTES).min(MAX_CONFIG_BYTES))?);
        }
        let sample_size = u64::from(stream.sample_size);
        let block = match format.coding {
            Coding::Aac if format.block_align <= 4 => 0,
            _ => u64::from(format.block_align),
        };
        Ok(Some(Self {
            format: format.clone(),
            aac,
            base: stream.base,
            sample_size,
            block,
            offset: stream.start.saturating_mul(sample_size.max(1)),
            samples: 0,
            end: None,
            frames: Frames::of(format, stream.base),
        }))
    }

    /// Counts a chunk at `at` of `declared` bytes, of which the file contains `len`.
    pub fn packet(&mut self, reader: &mut Reader, at: u64, len: u64, declared: u64) -> Result<(), ProbeError> {
        if len < declared && self.format.coding == Coding::Aac {
            return Err(ProbeError::broken("its last frame of sound is cut off", at + len));
        }
        let at_once = match self.sample_size {
            0 | 1 => len,
            size if size < 32 => AT_ONCE * size,
            size => size,
        };
        if len == 0 {
            self.advance(0);
        }
        let mut done = 0;
        while done < len {
            let size = at_once.min(len - done).max(1);
            self.piece(reader, at + done, size)?;
            self.advance(size);
            done += size;
        }
        Ok(())
    }

    /// Returns the number of samples per second of the decoder's output.
    fn rate(&self) -> u32 {
        if self.format.coding == Coding::Aac && self.aac.rate > 0 {
            self.aac.rate
        } else {
            self.format.rate
        }
    }

    fn advance(&mut self, size: u64) {
        let step = match (self.sample_size, self.block) {
            (0, 0) => 1,
            (0, block) => size.div_ceil(block),
            _ => size,
        };
        self.offset = self.offset.saturating_add(step);
    }

    fn piece(&mut self, reader: &mut Reader, at: u64, size: u64) -> Result<(), ProbeError> {
        let start = i64::try_from(self.offset / self.sample_size.max(1)).unwrap_or(i64::MAX);
        if let Some(frames) = &mut self.frames {
            return frames.read_frames(reader, at, size, Some(start));
        }
        let (samples, duration) = match self.format.coding {
            Coding::Aac => (u64::from(self.aac.frame), i64::from(self.aac.frame)),
            Coding::Other(_) | Coding::Mpeg | Coding::Ac3 => (0, 0),
            _ => {
                let held = packets::in_packet(&self.format, size, at)?;
                (held.samples, held.duration)
            }
        };
        self.samples = self.samples.saturating_add(samples);
        self.end = Some(start.saturating_add(frames::in_base(duration, self.rate(), self.base)));
        Ok(())
    }

    /// Returns the result after all chunks were counted.
    pub fn counted(self, file_len: u64) -> Result<PacketCounts, ProbeError> {
        if let Some(frames) = self.frames {
            let found = frames.finish(file_len)?;
            return Ok(PacketCounts {
                samples: Some(found.samples),
                end: found.end,
                channels: found.channels,
                rate: found.rate,
                remarks: found.remarks,
            });
        }
        if let Coding::Other(kind) = self.format.coding {
            let remarks = vec![format!("its sound is coded as {kind:#06x}, so that its samples cannot be counted")];
            return Ok(PacketCounts { remarks, ..PacketCounts::default() });
        }
        let aac = (self.format.coding == Coding::Aac).then_some(&self.aac);
        Ok(PacketCounts {
            samples: Some(self.samples),
            end: self.end,
            channels: aac.map(|setup| setup.channels).filter(|channels| *channels > 0),
            rate: aac.map(|setup| setup.rate).filter(|rate| *rate > 0),
            remarks: Vec::new(),
        })
    }
}
