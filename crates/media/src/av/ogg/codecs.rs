//! The codecs in Ogg: parses their headers, and determines the durations of their packets.

use super::super::codec::{opus_packet_samples, vorbis};
use super::super::rational::Rational;
use super::pages::{Packet, Page};
use crate::ProbeError;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Vorbis,
    Opus,
    Flac,
    Video,
}

/// A codec and the fields of its headers.
pub(super) enum Codec {
    Vorbis(Vorbis),
    Opus { channels: u32, pre_skip: u32, headers: u32 },
    Flac { channels: u32, rate: u32, blocks: u32, ready: bool },
    Video(Video),
}

/// The state of a Vorbis stream, during and after its headers.
#[derive(Default)]
pub(super) struct Vorbis {
    identification: Vec<u8>,
    headers: u32,
    setup: Option<vorbis::Setup>,
}

/// VP8 or Theora.
pub(super) struct Video {
    theora: bool,
    pub(super) fps: Rational,
    pub(super) width: u32,
    pub(super) height: u32,
    /// For Theora: number of bits of a granule that count frames since the last key frame, and whether counting starts at 0.
    shift: u32,
    from_zero: bool,
    headers: u32,
}

impl Codec {
    /// Recognises the codec by the first page of a stream.
    pub(super) fn of(page: &Page) -> Option<Self> {
        if page.starts_with(b"\x01vorbis") {
            Some(Self::Vorbis(Vorbis::default()))
        } else if page.starts_with(b"OpusHead") {
            Some(Self::Opus { channels: 0, pre_skip: 0, headers: 0 })
        } else if page.starts_with(b"\x7fFLAC") {
            Some(Self::Flac { channels: 0, rate: 0, blocks: 0, ready: false })
        } else if page.starts_with(b"OVP80") || page.starts_with(b"\x80theora") {
            let theora = page.starts_with(b"\x80");
            let fps = Rational::new(0, 1);
            Some(Self::Video(Video { theora, fps, width: 0, height: 0, shift: 0, from_zero: false, headers: 0 }))
        } else {
            None
        }
    }

    pub(super) fn kind(&self) -> Kind {
        match self {
            Self::Vorbis(_) => Kind::Vorbis,
            Self::Opus { .. } => Kind::Opus,
            Self::Flac { .. } => Kind::Flac,
            Self::Video(_) => Kind::Video,
        }
    }

    pub(super) fn is_video(&self) -> bool {
        self.kind() == Kind::Video
    }

    /// Returns the number of samples per second.
    pub(super) fn rate(&self) -> u32 {
        match self {
            Self::Vorbis(vorbis) => vorbis.setup.as_ref().map_or(0, |setup| setup.rate),
            Self::Opus { .. } => 48_000,
            Self::Flac { rate, .. } => *rate,
            Self::Video(_) => 0,
        }
    }

    pub(super) fn channels(&self) -> u32 {
        match self {
            Self::Vorbis(vorbis) => vorbis.setup.as_ref().map_or(0, |setup| setup.channels),
            Self::Opus { channels, .. } | Self::Flac { channels, .. } => *channels,
            Self::Video(_) => 0,
        }
    }

    /// Returns the number of samples to discard at the beginning.
    pub(super) fn pre_skip(&self) -> i64 {
        match self {
            Self::Opus { pre_skip, .. } => (*pre_skip).into(),
            _ => 0,
        }
    }

    /// Whether the headers are incomplete.
    pub(super) fn wants_headers(&self) -> bool {
        match self {
            Self::Vorbis(vorbis) => vorbis.setup.is_none(),
            Self::Opus { headers, .. } => *headers < 2,
            Self::Flac { ready, .. } => !ready,
            Self::Video(video) => video.headers == 0,
        }
    }

    /// Reads a packet at the beginning, and returns whether it is a header. The first packet that is not a header ends the headers.
    pub(super) fn header(&mut self, packet: &Packet, first_page: bool, at: u64) -> Result<bool, ProbeError> {
        let wrong = |what: &str| Err(ProbeError::broken(format!("its {what} header cannot be read"), at));
        let bytes = packet.bytes.as_slice();
        match self {
            Self::Vorbis(vorbis) => match vorbis.header(bytes) {
                Some(is_header) => Ok(is_header),
                None => wrong("Vorbis"),
            },
            Self::Opus { channels, pre_skip, headers } => {
                if first_page {
                    let fine = opus_head(bytes);
                    let Some((count, skip)) = fine else { return wrong("Opus") };
                    (*channels, *pre_skip, *headers) = (count, skip, 1);
                    return Ok(true);
                }
                if *headers == 1 {
                    *headers = 2;
                    return if bytes.starts_with(b"OpusTags") { Ok(true) } else { wrong("Opus") };
                }
                Ok(false)
            }
            Self::Flac { channels, rate, ready, blocks } => {
                if bytes.first() == Some(&0xff) {
                    *ready = true;
                    return Ok(false);
                }
                if bytes.first().is_some_and(|kind| kind & 0x7f == 0x7f) {
                    let Some(info) = flac_info(bytes) else { return wrong("FLAC") };
                    (*rate, *channels, *blocks) = info;
                }
                Ok(true)
            }
            Self::Video(video) => match video.header(bytes) {
                Some(is_header) => Ok(is_header),
                None => wrong("video"),
            },
        }
    }

    /// Whether a packet after the headers contains sound or a frame; headers may be repeated.
    pub(super) fn is_data(&self, packet: &Packet, at: u64) -> Result<bool, ProbeError> {
        let bytes = packet.bytes.as_slice();
        match self {
            Self::Vorbis(vorbis) => {
                if bytes.starts_with(b"\x01vorbis") && !vorbis.is_like(bytes) {
                    return Err(ProbeError::broken("rate or channels change in the middle", at));
                }
                Ok(!matches!(bytes, [1 | 3 | 5, b'v', b'o', b'r', b'b', b'i', b's', ..]))
            }
            Self::Opus { .. } if bytes.is_empty() => Err(ProbeError::broken("a packet of Opus is empty", at)),
            Self::Opus { .. } => Ok(!bytes.starts_with(b"OpusHead") && !bytes.starts_with(b"OpusTags")),
            Self::Flac { .. } => Ok(bytes.first() == Some(&0xff)),
            Self::Video(video) if video.theora => Ok(bytes.first().is_none_or(|first| first & 0x80 == 0)),
            Self::Video(_) => Ok(!bytes.starts_with(b"OVP80")),
        }
    }

    /// Returns the duration of a packet in the container's units; `None` if it is broken. `before` is the size of the previous Vorbis
    /// block.
    pub(super) fn duration(&self, packet: &Packet, before: &mut u32) -> Option<u32> {
        match self {
            Self::Vorbis(vorbis) => {
                let setup = vorbis.setup.as_ref()?;
                let block = setup.block(&packet.bytes)?;
                let duration = (block.before.unwrap_or(*before) + block.size) / 4;
                *before = block.size;
                Some(duration)
            }
            Self::Opus { .. } => opus_packet_samples(&packet.bytes),
            Self::Flac { blocks, rate, .. } => {
                super::super::flac::frame_samples(&packet.bytes).filter(|_| *rate > 0 && *blocks > 0)
            }
            Self::Video(video) if video.theora => Some(1),
            Self::Video(_) => Some(u32::from(packet.bytes.first().is_some_and(|first| first & 0x10 != 0))),
        }
    }

    /// Returns the short block size of Vorbis, assumed for the block before the first packet.
    pub(super) fn short_block(&self) -> u32 {
        match self {
            Self::Vorbis(Vorbis { setup: Some(setup), .. }) => setup.blocks[0],
            _ => 0,
        }
    }

    /// Converts a granule to a time.
    pub(super) fn time(&self, granule: i64) -> i64 {
        let Self::Video(video) = self else { return granule };
        let granule = granule.cast_unsigned();
        if video.theora {
            let since = granule & ((1 << video.shift) - 1);
            return ((granule >> video.shift) + since + u64::from(video.from_zero)).cast_signed();
        }
        let hidden = (granule >> 30) & 3 == 0;
        (granule >> 32).cast_signed() - i64::from(hidden)
    }
}

impl Vorbis {
    /// Whether an identification header has the same channels and rate.
    fn is_like(&self, header: &[u8]) -> bool {
        header.get(11..16) == self.identification.get(11..16)
    }

    fn header(&mut self, bytes: &[u8]) -> Option<bool> {
        match (bytes.first()?, self.headers) {
            (first, headers) if first & 1 == 0 => return (headers == 3).then_some(false),
            (1, 0) if bytes.len() == 30 => self.identification = bytes.to_vec(),
            (3, 1) => {}
            (5, 2) => self.setup = Some(vorbis::Setup::from_headers(&self.identification, bytes)?),
            (first, _) if *first > 5 => return Some(true),
            _ => return None,
        }
        self.headers += 1;
        Some(true)
    }
}

impl Video {
    fn header(&mut self, bytes: &[u8]) -> Option<bool> {
        let number = |at: usize, count: usize| {
            bytes
                .get(at..at + count)
                .map(|bytes| bytes.iter().fold(0_u32, |number, byte| number << 8 | u32::from(*byte)))
        };
        let fps = |at| Some(Rational::new(number(at, 4)?.into(), number(at + 4, 4)?.into()));
        if self.theora {
            if bytes.first()? & 0x80 == 0 {
                return Some(false);
            }
            if bytes.first() == Some(&0x80) {
                self.fps = fps(22)?;
                (self.width, self.height) = (number(14, 3)?, number(17, 3)?);
                self.shift = number(40, 2)? >> 5 & 0x1f;
                self.from_zero = number(7, 3)? < 0x03_02_01;
            }
        } else {
            if !bytes.starts_with(b"OVP80") || bytes.len() < 7 {
                return Some(false);
            }
            match bytes.get(5)? {
                1 => {
                    self.fps = fps(18)?;
                    (self.width, self.height) = (number(8, 2)?, number(10, 2)?);
                }
                2 => {}
                _ => return None,
            }
        }
        self.headers += 1;
        self.fps.is_positive().then_some(true)
    }
}

/// Returns the number of channels and of samples to skip.
fn opus_head(bytes: &[u8]) -> Option<(u32, u32)> {
    let [b'O', b'p', b'u', b's', b'H', b'e', b'a', b'd', version, channels, low, high, _, _, _, _, _, _, family, ..] =
        *bytes
    else {
        return None;
    };
    // Family 0 allows only mono and stereo.
    let fine = version & 0xf0 == 0 && channels > 0 && (family > 0 || channels <= 2);
    fine.then(|| (channels.into(), u16::from_le_bytes([low, high]).into()))
}

/// Returns rate, channels and the longest block.
fn flac_info(bytes: &[u8]) -> Option<(u32, u32, u32)> {
    let [0x7f, b'F', b'L', b'A', b'C', 1, _, _, _, _, _, _, _, 0, 0, 0, 34, rest @ ..] = bytes else {
        return None;
    };
    let [_, _, high, low, _, _, _, _, _, _, a, b, c, ..] = *rest else { return None };
    let rate = u32::from_be_bytes([0, a, b, c]) >> 4;
    (rate > 0).then(|| (rate, u32::from(c >> 1 & 7) + 1, u32::from(u16::from_be_bytes([high, low]))))
}
