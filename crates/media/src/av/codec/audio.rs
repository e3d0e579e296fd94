//! Determines the number of samples in the packets of an audio codec.

use super::bits::Bits;
use super::vorbis::Setup;
use super::{ac3_frame, mp3_frame, opus_packet_samples};

/// Audio codecs; codecs that are parsed in the same way share a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AudioCodec {
    /// ISO/IEC 14496-3.
    Aac,
    /// MPEG-1 and MPEG-2 audio of any layer.
    Mpeg,
    /// ATSC A/52.
    Ac3,
    /// ATSC A/52 annex E.
    Eac3,
    /// Apple's lossless codec.
    Alac,
    /// RFC 6716.
    Opus,
    /// The Vorbis I specification.
    Vorbis,
    /// RFC 9639.
    Flac,
    /// Uncompressed samples, of the given number of bytes each.
    Pcm(u32),
    /// Packets of a fixed number of samples per channel.
    Fixed(u32),
    /// Blocks of 34 bytes per channel with 64 samples.
    ImaQt,
    /// WavPack blocks as stored in Matroska.
    Wavpack,
    /// TTA frames: all but the last have the same length.
    Tta,
    /// A codec whose packet durations come from the container.
    Other,
    /// An unknown codec.
    Unknown,
}

/// The codec of a stream, configured to count the samples of its packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AudioSetup {
    /// The codec.
    pub codec: AudioCodec,
    /// Samples per second; 0 if unknown.
    pub rate: u32,
    /// Number of channels; 0 if unknown.
    pub channels: u32,
    /// Samples per packet if all packets have the same number; 0 otherwise.
    pub frame: u32,
    /// Number of samples that the decoder drops at the beginning.
    pub preskip: Option<u32>,
    /// Number of samples in the rest of the stream, for codecs whose last packet is shorter.
    pub left: u64,
    vorbis: Option<(Setup, Option<u32>)>,
}

impl AudioSetup {
    /// Creates a setup from the values in the container.
    pub fn new(codec: AudioCodec, rate: u32, channels: u32) -> Self {
        let frame = match codec {
            AudioCodec::Aac => 1024,
            AudioCodec::Ac3 => 1536,
            AudioCodec::Fixed(samples) => samples,
            _ => 0,
        };
        let rate = if codec == AudioCodec::Opus { 48_000 } else { rate };
        Self { codec, rate, channels, frame, preskip: None, left: 0, vorbis: None }
    }

    /// Applies the decoder configuration in FFmpeg's form: an AudioSpecificConfig, an `OpusHead`, a FLAC STREAMINFO, an ALAC cookie, or the
    /// three Vorbis headers.
    pub fn configure(&mut self, config: &[u8]) {
        match self.codec {
            AudioCodec::Aac => self.aac(config).unwrap_or(()),
            AudioCodec::Opus => self.opus(config).unwrap_or(()),
            AudioCodec::Flac => self.flac(config).unwrap_or(()),
            AudioCodec::Alac => self.alac(config).unwrap_or(()),
            AudioCodec::Vorbis => self.vorbis(config).unwrap_or(()),
            _ => {}
        }
    }

    /// Number of bytes at the beginning of a packet that [`samples`](Self::samples) requires.
    pub fn header_bytes(&self) -> usize {
        match self.codec {
            AudioCodec::Mpeg | AudioCodec::Wavpack => 4,
            AudioCodec::Eac3 => 8,
            AudioCodec::Alac => 7,
            AudioCodec::Opus => 2,
            AudioCodec::Vorbis => 1,
            AudioCodec::Flac => 16,
            _ => 0,
        }
    }

    /// Returns the samples per channel that a decoder outputs for a packet of `len` bytes that begins with `head`; `None` if only the
    /// container determines them.
    pub fn samples(&mut self, head: &[u8], len: u64) -> Option<i64> {
        match self.codec {
            AudioCodec::Aac | AudioCodec::Ac3 | AudioCodec::Fixed(_) => Some(i64::from(self.frame)),
            AudioCodec::Mpeg => mp3_frame(head.first_chunk()?).map(|header| i64::from(header.samples)),
            AudioCodec::Eac3 => ac3_frame(head).map(|header| i64::from(header.samples)),
            AudioCodec::Alac => Some(alac_samples(head).map_or(i64::from(self.frame), i64::from)),
            AudioCodec::Opus => opus_packet_samples(head).map(i64::from),
            AudioCodec::Vorbis => self.vorbis_samples(head),
            AudioCodec::Flac => flac_samples(head).map(i64::from),
            AudioCodec::Pcm(bytes) => {
                let frame = u64::from(bytes).checked_mul(u64::from(self.channels)).filter(|&frame| frame > 0)?;
                i64::try_from(len / frame).ok()
            }
            AudioCodec::ImaQt => {
                let block = u64::from(self.channels).checked_mul(34).filter(|&block| block > 0)?;
                i64::try_from(len / block * 64).ok()
            }
            AudioCodec::Wavpack => Some(i64::from(u32::from_le_bytes(head.get(..4)?.try_into().ok()?))),
            AudioCodec::Tta => {
                let samples = (u64::from(self.rate) * 256 / 245).min(self.left);
                self.left -= samples;
                i64::try_from(samples).ok()
            }
            AudioCodec::Other | AudioCodec::Unknown => None,
        }
    }

    /// Reads an AudioSpecificConfig (ISO/IEC 14496-3 §1.6.2.1).
    fn aac(&mut self, config: &[u8]) -> Option<()> {
        let mut bits = Bits::new(config);
        let mut kind = aac_object(&mut bits)?;
        let rate = aac_rate(&mut bits)?;
        let channels = bits.number(4)?;
        let (mut wider, mut stereo) = (None, false);
        if kind == 5 || kind == 29 {
            stereo = kind == 29;
            wider = Some(aac_rate(&mut bits)?);
            kind = aac_object(&mut bits)?;
            if kind == 22 {
                bits.skip(4)?;
            }
        }
        self.rate = if rate > 0 { rate } else { self.rate };
        self.channels = match channels {
            0 => self.channels,
            1..=6 => channels,
            7 | 12 | 14 => 8,
            11 => 7,
            13 => 24,
            _ => self.channels,
        };
        let short = bits.bit()?;
        let mut tail = bits.clone();
        if channels == 0 {
            if bits.bit()? {
                bits.skip(14)?;
            }
            bits.skip(1)?;
            if let Some(count) = aac_elements(&mut bits) {
                self.channels = count;
            }
        }
        if wider.is_none() {
            (wider, stereo) = aac_extension(&mut tail).unwrap_or((None, false));
        }
        let doubled = wider.is_some_and(|wider| wider > rate);
        self.frame = if short { 960 } else { 1024 };
        if doubled {
            self.frame *= 2;
            self.rate = self.rate.saturating_mul(2);
        }
        if stereo && self.channels == 1 {
            self.channels = 2;
        }
        Some(())
    }

    /// Reads an identification header (RFC 7845 §5.1).
    fn opus(&mut self, config: &[u8]) -> Option<()> {
        let channels = u32::from(*config.get(9)?);
        if channels > 0 {
            self.channels = channels;
        }
        self.preskip = Some(u16::from_le_bytes(config.get(10..12)?.try_into().ok()?).into());
        Some(())
    }

    /// Reads a STREAMINFO block (RFC 9639 §8.2).
    fn flac(&mut self, config: &[u8]) -> Option<()> {
        let info = if config.starts_with(b"fLaC") { config.get(8..)? } else { config };
        let mut bits = Bits::new(info.get(10..)?);
        let (rate, channels) = (bits.number(20)?, bits.number(3)? + 1);
        if rate > 0 {
            (self.rate, self.channels) = (rate, channels);
        }
        Some(())
    }

    /// Reads the magic cookie: frame length, …, channels, …, rate.
    fn alac(&mut self, config: &[u8]) -> Option<()> {
        self.frame = u32::from_be_bytes(config.get(..4)?.try_into().ok()?);
        let channels = u32::from(*config.get(9)?);
        let rate = u32::from_be_bytes(config.get(20..24)?.try_into().ok()?);
        if channels > 0 && rate > 0 {
            (self.channels, self.rate) = (channels, rate);
        }
        Some(())
    }

    /// Reads the three headers, laced as in Matroska (`2`, two lengths, the headers).
    fn vorbis(&mut self, config: &[u8]) -> Option<()> {
        let setup = Setup::from_private(config)?;
        (self.channels, self.rate) = (setup.channels, setup.rate);
        self.vorbis = Some((setup, None));
        Some(())
    }

    /// Returns the samples from the overlap of two blocks; 0 for the first block.
    fn vorbis_samples(&mut self, head: &[u8]) -> Option<i64> {
        let (setup, last) = self.vorbis.as_mut()?;
        let Some(block) = setup.block(head) else { return Some(0) };
        let before = last.replace(block.size);
        Some(before.map_or(0, |before| i64::from(before / 4 + block.size / 4)))
    }
}

fn aac_object(bits: &mut Bits) -> Option<u32> {
    match bits.number(5)? {
        31 => Some(32 + bits.number(6)?),
        kind => Some(kind),
    }
}

fn aac_rate(bits: &mut Bits) -> Option<u32> {
    const RATES: [u32; 13] =
        [96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8000, 7350];
    match bits.number(4)? {
        15 => bits.number(24),
        index => Some(RATES.get(index as usize).copied().unwrap_or(0)),
    }
}

/// Reads a program config element, and returns the number of its channels.
fn aac_elements(bits: &mut Bits) -> Option<u32> {
    bits.skip(4 + 2 + 4)?;
    let counts = [bits.number(4)?, bits.number(4)?, bits.number(4)?];
    let low = bits.number(2)?;
    bits.skip(3 + 4)?;
    for extra in [4, 4, 3] {
        if bits.bit()? {
            bits.skip(extra)?;
        }
    }
    let mut channels = low;
    for _ in 0..counts.iter().sum::<u32>() {
        channels += if bits.bit()? { 2 } else { 1 };
        bits.skip(4)?;
    }
    Some(channels)
}

/// Reads the backward compatible extension after the configuration: the doubled rate, and whether parametric stereo is used.
fn aac_extension(bits: &mut Bits) -> Option<(Option<u32>, bool)> {
    while bits.left() > 15 {
        if bits.clone().number(11)? != 0x2b7 {
            bits.skip(1)?;
            continue;
        }
        bits.skip(11)?;
        let mut wider = None;
        if aac_object(bits)? == 5 && bits.bit()? {
            wider = Some(aac_rate(bits)?);
        }
        let stereo = bits.left() > 11 && bits.number(11)? == 0x548 && bits.bit()?;
        return Some((wider, stereo));
    }
    Some((None, false))
}

/// Returns the number of samples in an ALAC frame, which only the last frame of a stream specifies.
fn alac_samples(head: &[u8]) -> Option<u32> {
    let mut bits = Bits::new(head);
    bits.skip(3 + 4 + 12)?;
    let is_declared = bits.bit()?;
    bits.skip(3)?;
    if is_declared {
        bits.number(32)
    } else {
        None
    }
}

/// Returns the samples of a FLAC frame (RFC 9639 §9.1).
fn flac_samples(head: &[u8]) -> Option<u32> {
    if *head.first()? != 0xff || head.get(1)? & 0xfc != 0xf8 {
        return None;
    }
    let code = head.get(2)? >> 4;
    // The first byte of the coded number determines its length.
    let number = match head.get(4)?.leading_ones() {
        0 => 1,
        ones => ones as usize,
    };
    let at = 4 + number;
    match code {
        1 => Some(192),
        2..=5 => Some(576 << (code - 2)),
        6 => Some(u32::from(*head.get(at)?) + 1),
        7 => Some(u32::from(u16::from_be_bytes(head.get(at..at + 2)?.try_into().ok()?)) + 1),
        8..=15 => Some(256 << (code - 8)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configured(codec: AudioCodec, config: &[u8]) -> AudioSetup {
        let mut setup = AudioSetup::new(codec, 1, 1);
        setup.configure(config);
        setup
    }

    #[test]
    fn aac_configuration_gives_rate_channels_and_frame_length() {
        let plain = configured(AudioCodec::Aac, &[0x12, 0x10]);
        assert_eq!((plain.rate, plain.channels, plain.frame), (44_100, 2, 1024));
        let wide = configured(AudioCodec::Aac, &[0x2b, 0x92, 0x08, 0x00]);
        assert_eq!((wide.rate, wide.channels, wide.frame), (44_100, 2, 2048));
        let hidden = configured(AudioCodec::Aac, &[0x13, 0x88, 0x56, 0xe5, 0xa5, 0x48, 0x80]);
        assert_eq!((hidden.rate, hidden.channels, hidden.frame), (44_100, 2, 2048));
        let short = configured(AudioCodec::Aac, &[0x12, 0x14]);
        assert_eq!(short.frame, 960);
    }

    #[test]
    fn sample_count_is_read_from_packets() {
        assert_eq!(flac_samples(&[0xff, 0xf8, 0x79, 0x18, 0x05, 0x0e, 0xe7]), Some(3816));
        assert_eq!(AudioSetup::new(AudioCodec::Pcm(2), 8000, 2).samples(&[], 4096), Some(1024));
    }

    #[test]
    fn short_and_random_audio_headers_do_not_panic() {
        let codecs = [
            AudioCodec::Aac,
            AudioCodec::Opus,
            AudioCodec::Flac,
            AudioCodec::Alac,
            AudioCodec::Vorbis,
            AudioCodec::Eac3,
        ];
        let bytes: Vec<u8> = (0..64_u8).map(|i| i.wrapping_mul(37) ^ 0xff).collect();
        for codec in codecs {
            for len in 0..bytes.len() {
                let mut setup = configured(codec, &bytes[..len]);
                let _ = setup.samples(&bytes[..len], len as u64);
            }
        }
    }
}
