//! Sample descriptions: determine the codec and its configuration.

use super::boxes::{self, be32, BoxHeader};
use super::Brand;
use crate::av::codec::{AudioCodec, AudioSetup, VideoCodec};
use crate::{ProbeError, Reader};

/// Maximum size in bytes of a decoder configuration that is stored.
const MAX_CONFIG_BYTES: u64 = 64 << 10;

/// The kind of a track.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Moving pictures.
    Video,
    /// Sound.
    Audio,
    /// A picture that belongs to the file, such as an album cover.
    Cover,
    /// Anything else.
    #[default]
    Data,
}

/// A sample description.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The four-character code of the format.
    pub format: [u8; 4],
    /// Width and height in pixels in the description.
    pub size: (u32, u32),
    /// The video codec.
    pub video: VideoCodec,
    /// The audio codec and its configuration.
    pub audio: AudioSetup,
    /// The decoder configuration.
    pub config: Vec<u8>,
    /// Bytes of one sample of all channels of uncompressed audio; 0 for other codecs.
    pub sample_size: u32,
    /// Samples per frame of QuickTime's legacy codecs; 0 or 1 for others.
    pub samples_per_frame: u32,
    /// Size in bytes of such a frame.
    pub bytes_per_frame: u32,
    /// Whether the samples are encrypted.
    pub encrypted: bool,
}

impl Entry {
    /// Reads the description of a track of this kind; a track of unknown kind gets its kind from the format.
    pub fn read(
        reader: &mut Reader,
        head: &BoxHeader,
        kind: &mut Kind,
        version: u8,
        brand: &Brand,
    ) -> Result<Self, ProbeError> {
        let (audio, video) = (audio_codec(&head.kind), video_codec(&head.kind));
        if *kind == Kind::Data {
            if audio != AudioCodec::Unknown {
                *kind = Kind::Audio;
            } else if video != VideoCodec::Unknown && &head.kind != b"mp4s" {
                *kind = Kind::Video;
            }
        }
        let mut entry = Self {
            format: head.kind,
            size: (0, 0),
            video,
            audio: AudioSetup::new(audio, 0, 0),
            config: Vec::new(),
            sample_size: 0,
            samples_per_frame: 0,
            bytes_per_frame: 0,
            encrypted: matches!(&head.kind, b"encv" | b"enca"),
        };
        match kind {
            Kind::Video => entry.read_video(reader, head)?,
            Kind::Audio => entry.read_audio(reader, head, version, brand)?,
            Kind::Data | Kind::Cover => {}
        }
        Ok(entry)
    }

    fn read_video(&mut self, reader: &mut Reader, head: &BoxHeader) -> Result<(), ProbeError> {
        let size = be32(reader, head.body + 24)?;
        self.size = (size >> 16, size & 0xffff);
        self.children(reader, head.body + 78, head.end)?;
        if &self.format == b"dvh1" && !self.config.is_empty() {
            self.video = VideoCodec::Hevc;
        }
        Ok(())
    }

    fn read_audio(&mut self, reader: &mut Reader, head: &BoxHeader, stsd: u8, brand: &Brand) -> Result<(), ProbeError> {
        let at = head.body + 8;
        let version = u16::from_be_bytes(reader.array(at)?);
        let channels = u32::from(u16::from_be_bytes(reader.array(at + 8)?));
        let mut bits = u32::from(u16::from_be_bytes(reader.array(at + 10)?));
        let (mut rate, mut channels) = (be32(reader, at + 16)? >> 16, channels);
        let mut next = at + 20;
        if !brand.isom || brand.quicktime || stsd == 0 && version > 0 {
            if version == 1 {
                self.samples_per_frame = be32(reader, next)?;
                self.bytes_per_frame = be32(reader, next + 8)?;
                next += 16;
            } else if version == 2 {
                let exact = f64::from_be_bytes(reader.array(next + 4)?);
                rate = if exact.is_finite() && (0.0..2e9).contains(&exact) { exact as u32 } else { 0 };
                channels = be32(reader, next + 12)?;
                bits = be32(reader, next + 20)?;
                self.bytes_per_frame = be32(reader, next + 28)?;
                self.samples_per_frame = be32(reader, next + 32)?;
                next += 36;
            }
        }
        if channels > 1024 {
            return Err(ProbeError::broken("a sample description has more channels than can be", at));
        }
        let mut codec = audio_codec(&self.format);
        if let AudioCodec::Pcm(bytes) = &mut codec {
            match (&self.format, bits) {
                (b"sowt" | b"twos" | b"NONE" | b"raw ", 8 | 16 | 24 | 32) => *bytes = bits / 8,
                (b"lpcm", 1..=64) => *bytes = bits.div_ceil(8),
                _ => {}
            }
        }
        self.audio = AudioSetup::new(codec, rate, channels);
        self.children(reader, next, head.end)?;
        match self.audio.codec {
            AudioCodec::Pcm(bytes) => self.sample_size = bytes.saturating_mul(self.audio.channels),
            AudioCodec::ImaQt => {
                (self.samples_per_frame, self.bytes_per_frame) = (64, 34 * self.audio.channels);
            }
            _ => {}
        }
        Ok(())
    }

    /// Reads the boxes in the description, including those nested in `wave`.
    fn children(&mut self, reader: &mut Reader, at: u64, end: u64) -> Result<(), ProbeError> {
        let mut stack = vec![(at, end)];
        while let Some((at, end)) = stack.pop() {
            let Some(head) = boxes::next(reader, at, end)? else { continue };
            stack.push((head.end, end));
            match &head.kind {
                b"wave" if stack.len() < 8 => stack.push((head.body, head.end)),
                b"esds" => self.elementary(reader, &head)?,
                b"avcC" | b"hvcC" | b"av1C" | b"glbl" => self.keep(reader, head.body, head.len())?,
                b"alac" if head.len() >= 28 => {
                    self.keep(reader, head.body + 4, 24)?;
                    self.audio.configure(&self.config);
                }
                b"dOps" if head.len() >= 11 => {
                    let [_, channels, low, high] = reader.array(head.body)?;
                    let declared = u32::from(channels);
                    self.audio.channels = if declared > 0 { declared } else { self.audio.channels };
                    self.audio.preskip = Some(u16::from_be_bytes([low, high]).into());
                }
                b"dfLa" if head.len() >= 42 => {
                    self.keep(reader, head.body + 8, 34)?;
                    self.audio.configure(&self.config);
                }
                b"dac3" if head.len() >= 3 => {
                    let [a, b, c] = reader.array(head.body)?;
                    let info = u32::from_be_bytes([0, a, b, c]);
                    self.audio.channels = dolby_channels(info >> 11 & 7, info >> 10 & 1);
                }
                b"dec3" if head.len() >= 5 => {
                    let [a, b, c] = reader.array(head.body + 2)?;
                    let info = u32::from_be_bytes([0, a, b, c]);
                    self.audio.channels = dolby_channels(info >> 9 & 7, info >> 8 & 1);
                }
                b"pcmC" if head.len() >= 6 => {
                    let [bits] = reader.array(head.body + 5)?;
                    self.audio.codec = AudioCodec::Pcm(u32::from(bits).div_ceil(8));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn keep(&mut self, reader: &mut Reader, at: u64, len: u64) -> Result<(), ProbeError> {
        if self.config.len() <= 1 {
            self.config = reader.up_to(at, usize::try_from(len.min(MAX_CONFIG_BYTES)).unwrap_or(0))?.to_vec();
        }
        Ok(())
    }

    /// Reads the object type and the configuration after it (ISO/IEC 14496-1 §7.2.6.5).
    fn elementary(&mut self, reader: &mut Reader, head: &BoxHeader) -> Result<(), ProbeError> {
        let bytes = reader
            .up_to(head.body + 4, usize::try_from(head.len().saturating_sub(4).min(MAX_CONFIG_BYTES)).unwrap_or(0))?;
        let Some((object, config)) = descriptor(bytes) else { return Ok(()) };
        let config = config.to_vec();
        match object {
            0x40 | 0x66..=0x68 => self.audio.codec = AudioCodec::Aac,
            0x69 | 0x6b => self.audio.codec = AudioCodec::Mpeg,
            0xa5 => self.audio.codec = AudioCodec::Ac3,
            0xa6 => self.audio.codec = AudioCodec::Eac3,
            0xad => self.audio.codec = AudioCodec::Opus,
            0xdd => self.audio.codec = AudioCodec::Vorbis,
            0x20 => self.video = VideoCodec::Mpeg4,
            0x21 => self.video = VideoCodec::H264,
            0x23 => self.video = VideoCodec::Hevc,
            0x60..=0x65 | 0x6a => self.video = VideoCodec::Mpeg2,
            0x6c => self.video = VideoCodec::Mjpeg,
            0x6d | 0x6e | 0xa3 | 0xa4 => self.video = VideoCodec::Other,
            0xb1 => self.video = VideoCodec::Vp9,
            _ => {}
        }
        self.audio = AudioSetup::new(self.audio.codec, self.audio.rate, self.audio.channels);
        self.audio.configure(&config);
        self.config = config;
        Ok(())
    }

    /// Completes the description after all boxes were read: a missing sample rate is replaced by the time scale.
    pub fn complete(&mut self, scale: u32) {
        if self.audio.rate == 0 && scale > 1 {
            self.audio.rate = scale;
        }
        match &self.format {
            b"samr" => (self.audio.rate, self.audio.channels) = (8000, 1),
            b"sawb" => (self.audio.rate, self.audio.channels) = (16_000, 1),
            _ => {}
        }
    }
}

fn dolby_channels(mode: u32, low: u32) -> u32 {
    [2, 1, 2, 3, 3, 4, 4, 5][mode as usize & 7] + low
}

/// Returns the object type of an elementary stream and its configuration.
fn descriptor(bytes: &[u8]) -> Option<(u8, &[u8])> {
    let (tag, mut rest) = tagged(bytes)?;
    if tag == 3 {
        let flags = *rest.get(2)?;
        let mut at = 3;
        if flags & 0x80 != 0 {
            at += 2;
        }
        if flags & 0x40 != 0 {
            at += 1 + usize::from(*rest.get(at)?);
        }
        if flags & 0x20 != 0 {
            at += 2;
        }
        rest = rest.get(at..)?;
    } else {
        rest = rest.get(2..)?;
    }
    let (tag, config) = tagged(rest)?;
    if tag != 4 {
        return None;
    }
    let object = *config.first()?;
    let specific =
        config.get(13..).and_then(tagged).filter(|(tag, _)| *tag == 5).map_or(&[][..], |(_, specific)| specific);
    Some((object, specific))
}

/// Returns the tag and the content of a descriptor.
fn tagged(bytes: &[u8]) -> Option<(u8, &[u8])> {
    let (&tag, mut rest) = bytes.split_first()?;
    let mut len = 0_usize;
    for _ in 0..4 {
        let (&byte, after) = rest.split_first()?;
        rest = after;
        len = len << 7 | usize::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            break;
        }
    }
    Some((tag, rest.get(..len.min(rest.len()))?))
}

fn audio_codec(format: &[u8; 4]) -> AudioCodec {
    match format {
        b"mp4a" => AudioCodec::Aac,
        b".mp3" | b"mp3 " | b".mp2" | b".mp1" | b"ms\0\x55" | b"ms\0P" => AudioCodec::Mpeg,
        b"ac-3" | b"sac3" | b"AC-3" => AudioCodec::Ac3,
        b"ec-3" => AudioCodec::Eac3,
        b"alac" => AudioCodec::Alac,
        b"Opus" => AudioCodec::Opus,
        b"fLaC" => AudioCodec::Flac,
        b"samr" => AudioCodec::Fixed(160),
        b"sawb" => AudioCodec::Fixed(320),
        b"ulaw" | b"alaw" | b"NONE" | b"raw " | b"ms\0\x06" | b"ms\0\x07" => AudioCodec::Pcm(1),
        b"sowt" | b"twos" | b"lpcm" | b"ipcm" => AudioCodec::Pcm(2),
        b"in24" => AudioCodec::Pcm(3),
        b"in32" | b"fl32" | b"fpcm" => AudioCodec::Pcm(4),
        b"fl64" => AudioCodec::Pcm(8),
        b"ima4" => AudioCodec::ImaQt,
        b"agsm" | b"dvi " | b"MAC3" | b"MAC6" | b"QDMC" | b"QDM2" | b"Qclp" | b"QCLP" | b"sqcp" | b"nmos" | b"sevc"
        | b"ssmv" | b"dtsc" | b"dtse" | b"dtsh" | b"dtsl" | b"DTS " | b"DTS+" | b"DTS-" | b"dtsx" | b"vdva"
        | b"dvca" | b"spex" | b"SPXN" | b"WMA2" | b"wma " | b"owma" | b"mlpa" | b"mha1" | b"mhm1" | b"ac-4"
        | b"XVbr" | b"ms\0\x02" | b"ms\0\x11" => AudioCodec::Other,
        _ => AudioCodec::Unknown,
    }
}

fn video_codec(format: &[u8; 4]) -> VideoCodec {
    match format {
        b"avc1"
        | b"avc2"
        | b"avc3"
        | b"avc4"
        | b"dvav"
        | b"dva1"
        | b"h264"
        | b"H264"
        | b"x264"
        | b"X264"
        | b"AVin"
        | b"aivx"
        | b"rv64"
        | b"xalg"
        | b"avlg"
        | [b'a', b'i', b'1' | b'5', _] => VideoCodec::H264,
        b"hev1" | b"hvc1" | b"dvhe" | b"dvh1" => VideoCodec::Hevc,
        b"vp08" | b"VP80" => VideoCodec::Vp8,
        b"vp09" | b"VP90" => VideoCodec::Vp9,
        b"av01" | b"AV01" => VideoCodec::Av1,
        b"mp4v" | b"DIVX" | b"divx" | b"XVID" | b"xvid" | b"3IV2" | b"3iv2" | b"DX50" | b"FMP4" => VideoCodec::Mpeg4,
        b"m1v "
        | b"m1v1"
        | b"mpeg"
        | b"mp1v"
        | b"m2v1"
        | b"mpg1"
        | b"mp2v"
        | b"MPEG"
        | b"mpg2"
        | [b'h', b'd', b'v', _]
        | [b'm', b'x', b'3' | b'4' | b'5', b'n' | b'p']
        | [b'x', b'd', b'5' | b'v' | b'h', _]
        | b"AVmp" => VideoCodec::Mpeg2,
        b"jpeg" | b"mjpa" | b"mjpb" | b"AVRn" | b"AVDJ" | b"MJPG" | b"mjpg" | b"dmb1" => VideoCodec::Mjpeg,
        b"apch" | b"apcn" | b"apcs" | b"apco" | b"ap4h" | b"ap4x" | b"aprn" | b"aprh" => VideoCodec::Prores,
        _ if other_video(format) => VideoCodec::Other,
        _ => VideoCodec::Unknown,
    }
}

/// Whether the size in the description is valid for this format.
fn other_video(format: &[u8; 4]) -> bool {
    const HANDLED_BOXES: &[&[u8; 4]] = &[
        b"raw ", b"yuv2", b"2vuy", b"2Vuy", b"UYVY", b"YV12", b"I420", b"v210", b"v308", b"v408", b"v410", b"y408",
        b"v4+ ", b"yuvs", b"yuvu", b"bxyv", b"bxbg", b"bxrg", b"AVUI", b"AV1x", b"AVup", b"NO16", b"DVOO", b"R420",
        b"R411", b"R10k", b"R10g", b"r210", b"B48r", b"b48r", b"b64a", b"b16g", b"BGRA", b"RGBA", b"ABGR", b"L555",
        b"L565", b"B565", b"24BG", b"SVQ1", b"svq1", b"svqi", b"SVQ3", b"rle ", b"smc ", b"rpza", b"cvid", b"cinx",
        b"8BPS", b"WRLE", b"h263", b"H263", b"s263", b"dvc ", b"dvcp", b"dvpp", b"dv5n", b"dv5p", b"AVdv", b"AVd1",
        b"dvhq", b"dvhp", b"dvh5", b"dvh6", b"dvh3", b"dvsd", b"CDVC", b"CDVH", b"mjp2", b"MJ2C", b"AVdn", b"AVdh",
        b"AVDV", b"png ", b"MNG ", b"tiff", b"gif ", b"icod", b"drac", b"vc-1", b"WVC1", b"VC-1", b"FLV1", b"FFV1",
        b"ffv1", b"HFYU", b"FFVH", b"MSVC", b"CRAM", b"msmp", b"MP41", b"MP42", b"MP43", b"DIV3", b"3IVD", b"kpcd",
        b"Hap1", b"Hap5", b"HapY", b"HapA", b"HapM", b"Hap7", b"HapH", b"CFHD", b"DXD3", b"DXDI", b"SHQ0", b"SHQ1",
        b"SHQ2", b"SHQ3", b"SHQ4", b"SHQ5", b"SHQ7", b"SHQ9", b"pxlt", b"Vxlz", b"WMV1", b"WMV2", b"WMV3", b"VP30",
        b"VP31", b"VP60", b"VP6F", b"vp4v", b"theo", b"SP53", b"SP54", b"ULRA", b"ULRG", b"ULY0", b"ULY2", b"ULH0",
        b"ULH2", b"M8RG", b"M8RA", b"vvc1", b"vvi1", b"evc1", b"gifs", b"cdvp", b"SPV1", b"fiel", b"ZyGo", b"qdrw",
        b"rv40", b"RV40", b"MPNG", b"LAGS", b"snow", b"BBCD",
    ];
    HANDLED_BOXES.contains(&format)
}
