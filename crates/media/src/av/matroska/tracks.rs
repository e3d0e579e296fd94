//! The elements before the clusters: time scale, tracks, attached pictures.

use super::codecs;
use super::ebml::Element;
use crate::av::codec::{AudioCodec, AudioSetup, Timing, VideoCodec};
use crate::av::rational::{Rational, INT_MAX};
use crate::{ProbeError, Reader};

/// Default nanoseconds per tick.
const DEFAULT_TICK_NS: u64 = 1_000_000;
/// The maximum number of tracks; a malicious file may have any number.
const MAX_TRACKS: usize = 1_000;
/// The maximum number of bytes of a codec name.
const MAX_NAME_BYTES: usize = 64;

/// A video or audio track.
#[derive(Clone, Debug)]
pub struct Track {
    /// Number of the track, to which blocks refer.
    pub number: u64,
    /// Video or sound.
    pub kind: Kind,
    /// The codec ID in the file.
    pub codec: String,
    /// Nanoseconds per frame; 0 if not specified.
    pub default_duration: u64,
    /// Delay of the decoder in nanoseconds.
    pub codec_delay: u64,
    /// Factor by which its ticks are longer than those of the segment.
    pub scale: f64,
    /// Bytes that were removed from the beginning of each frame.
    pub stripped: Vec<u8>,
}

/// The kind of a track.
#[derive(Clone, Debug)]
pub enum Kind {
    /// Video.
    Video {
        codec: VideoCodec,
        /// Width and height in pixels, from the codec configuration, otherwise from the container.
        size: (u32, u32),
        /// Timing according to the codec configuration.
        timing: Option<Timing>,
        /// The codec configuration.
        config: Vec<u8>,
    },
    /// Sound.
    Audio {
        /// The codec and its configuration.
        setup: Box<AudioSetup>,
        /// Samples per second according to the container; the decoder may output others.
        rate: u32,
    },
}

/// The contents of the elements before the clusters.
#[derive(Clone, Debug)]
pub struct Header {
    /// Nanoseconds per tick.
    pub scale: u64,
    /// Duration of the segment in ticks, if specified.
    pub duration: Option<f64>,
    /// In file order.
    pub tracks: Vec<Track>,
    /// The first attached picture: MIME type, offset, length in bytes.
    pub cover: Option<(Vec<u8>, u64, u64)>,
}

impl Default for Header {
    fn default() -> Self {
        Self { scale: DEFAULT_TICK_NS, duration: None, tracks: Vec::new(), cover: None }
    }
}

impl Header {
    /// Returns the time base of a track.
    pub fn base(&self, track: &Track) -> Rational {
        let nanoseconds = (self.scale as f64 * track.scale) as i64;
        Rational::reduced(nanoseconds.max(1), 1_000_000_000, INT_MAX)
    }

    /// Whether a track is video of a known size.
    pub fn has_size(&self, track: usize) -> bool {
        self.tracks.get(track).is_some_and(|track| match track.kind {
            Kind::Video { size: (width, height), .. } => width > 0 && height > 0,
            Kind::Audio { .. } => false,
        })
    }

    /// Checks that the codecs of these tracks are known.
    ///
    /// # Errors
    /// [`ProbeError::Broken`] with the name of an unknown codec.
    pub fn check(&self, tracks: [Option<usize>; 2]) -> Result<(), ProbeError> {
        for track in tracks.into_iter().flatten().filter_map(|track| self.tracks.get(track)) {
            let unknown = match &track.kind {
                Kind::Video { codec, .. } => *codec == VideoCodec::Unknown,
                Kind::Audio { setup, .. } => setup.codec == AudioCodec::Unknown,
            };
            if unknown {
                return Err(ProbeError::broken(format!("its codec is unknown: {:?}", track.codec), 0));
            }
        }
        Ok(())
    }

    /// Reads the segment information.
    pub fn info(&mut self, reader: &mut Reader, info: &Element) -> Result<(), ProbeError> {
        children(reader, info, &mut |reader, element| {
            match element.id {
                0x2a_d7b1 => {
                    self.scale = element.unsigned(reader)?.filter(|scale| *scale > 0).unwrap_or(DEFAULT_TICK_NS)
                }
                0x4489 => self.duration = element.float(reader)?.filter(|length| *length > 0.0),
                _ => {}
            }
            Ok(())
        })
    }

    /// Reads all tracks.
    pub fn tracks(&mut self, reader: &mut Reader, tracks: &Element) -> Result<(), ProbeError> {
        children(reader, tracks, &mut |reader, element| {
            if element.id == 0xae && self.tracks.len() < MAX_TRACKS {
                self.tracks.extend(Entry::read(reader, element)?.track());
            }
            Ok(())
        })
    }

    /// Searches the attachments for a picture.
    pub fn attachments(&mut self, reader: &mut Reader, attachments: &Element) -> Result<(), ProbeError> {
        children(reader, attachments, &mut |reader, file| {
            if file.id != 0x61a7 || self.cover.is_some() {
                return Ok(());
            }
            let (mut mime, mut data) = (Vec::new(), None);
            children(reader, file, &mut |reader, element| {
                match element.id {
                    0x4660 => mime = element.bytes(reader)?,
                    0x465c => data = element.size().map(|size| (element.body, size)),
                    _ => {}
                }
                Ok(())
            })?;
            if let Some((at, len)) = data.filter(|_| mime.starts_with(b"image/")) {
                self.cover = Some((mime, at, len));
            }
            Ok(())
        })
    }
}

/// A callback for child elements.
type Visitor<'a> = dyn FnMut(&mut Reader, &Element) -> Result<(), ProbeError> + 'a;

/// Passes the children of an element of known size to `visitor`, in file order.
pub fn children(reader: &mut Reader, parent: &Element, visitor: &mut Visitor) -> Result<(), ProbeError> {
    let end = parent.end.unwrap_or(reader.len()).min(reader.len());
    let mut at = parent.body;
    while let Some(element) = Element::at(reader, at, end)? {
        visitor(reader, &element)?;
        match element.end {
            Some(next) if next <= end => at = next,
            _ => break,
        }
    }
    Ok(())
}

/// Returns the name of a codec, up to a terminating zero.
fn name(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len()).min(MAX_NAME_BYTES);
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// The raw fields of a TrackEntry.
#[derive(Default)]
struct Entry {
    number: u64,
    kind: u64,
    codec: String,
    private: Vec<u8>,
    default_duration: u64,
    codec_delay: u64,
    scale: Option<f64>,
    size: (u32, u32),
    rate: f64,
    output_rate: f64,
    channels: u64,
    bits: u64,
    stripped: Vec<u8>,
}

impl Entry {
    fn read(reader: &mut Reader, track: &Element) -> Result<Self, ProbeError> {
        let mut entry = Self { rate: 8000.0, channels: 1, ..Self::default() };
        children(reader, track, &mut |reader, element| {
            match element.id {
                0xd7 => entry.number = element.unsigned(reader)?.unwrap_or(0),
                0x83 => entry.kind = element.unsigned(reader)?.unwrap_or(0),
                0x86 => entry.codec = name(&element.bytes(reader)?),
                0x63a2 => entry.private = element.bytes(reader)?,
                0x23_e383 => entry.default_duration = element.unsigned(reader)?.unwrap_or(0),
                0x56aa => entry.codec_delay = element.unsigned(reader)?.unwrap_or(0),
                0x23_314f => entry.scale = element.float(reader)?,
                0xe0 | 0xe1 => entry.details(reader, element)?,
                0x6d80 => entry.encodings(reader, element)?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(entry)
    }

    fn details(&mut self, reader: &mut Reader, details: &Element) -> Result<(), ProbeError> {
        children(reader, details, &mut |reader, element| {
            let pixels = |value: Option<u64>| u32::try_from(value.unwrap_or(0)).unwrap_or(0);
            match element.id {
                0xb0 => self.size.0 = pixels(element.unsigned(reader)?),
                0xba => self.size.1 = pixels(element.unsigned(reader)?),
                0xb5 => self.rate = element.float(reader)?.unwrap_or(8000.0),
                0x78b5 => self.output_rate = element.float(reader)?.unwrap_or(0.0),
                0x9f => self.channels = element.unsigned(reader)?.unwrap_or(1),
                0x6264 => self.bits = element.unsigned(reader)?.unwrap_or(0),
                _ => {}
            }
            Ok(())
        })
    }

    /// Only header stripping is supported; other encodings are ignored.
    fn encodings(&mut self, reader: &mut Reader, encodings: &Element) -> Result<(), ProbeError> {
        let mut stripped = Vec::new();
        children(reader, encodings, &mut |reader, encoding| {
            children(reader, encoding, &mut |reader, compression| {
                if compression.id != 0x5034 {
                    return Ok(());
                }
                let (mut algorithm, mut settings) = (0, Vec::new());
                children(reader, compression, &mut |reader, element| {
                    match element.id {
                        0x4254 => algorithm = element.unsigned(reader)?.unwrap_or(0),
                        0x4255 => settings = element.bytes(reader)?,
                        _ => {}
                    }
                    Ok(())
                })?;
                if algorithm == 3 && settings.len() <= 64 {
                    stripped = settings;
                }
                Ok(())
            })
        })?;
        self.stripped = stripped;
        Ok(())
    }

    /// Returns the track if it is video or sound, and its codec is of that kind.
    fn track(self) -> Option<Track> {
        let kind = match (self.kind, self.codec.as_bytes().first()) {
            (1, Some(b'V')) => self.video(),
            (2, Some(b'A')) => Kind::Audio { setup: Box::new(self.audio()), rate: self.container_rate() },
            _ => return None,
        };
        Some(Track {
            number: self.number,
            kind,
            codec: self.codec,
            default_duration: self.default_duration,
            codec_delay: self.codec_delay,
            scale: self.scale.filter(|scale| *scale >= 0.01 && scale.is_finite()).unwrap_or(1.0),
            stripped: self.stripped,
        })
    }

    fn video(&self) -> Kind {
        let (codec, config) = codecs::video(&self.codec, &self.private);
        let config = self.private.get(config..).unwrap_or_default();
        let size = codec.size_in_config(config).unwrap_or(self.size);
        Kind::Video { codec, size, timing: codec.timing(config), config: config.to_vec() }
    }

    fn container_rate(&self) -> u32 {
        if self.rate >= 0.0 {
            self.rate as u32
        } else {
            0
        }
    }

    fn audio(&self) -> AudioSetup {
        let channels = u32::try_from(self.channels).unwrap_or(0);
        let (codec, config) = codecs::audio(&self.codec, &self.private, self.bits);
        let mut setup = AudioSetup::new(codec, self.container_rate(), channels);
        setup.configure(self.private.get(config..).unwrap_or_default());
        if codec == AudioCodec::Aac && self.output_rate > self.rate {
            setup.rate = self.output_rate as u32;
        }
        setup
    }
}
