//! The header of an AVI file, which describes its streams before the first chunk of data.

use crate::av::codec::VideoCodec;
use crate::av::rational::{rescale, Rational, Rounding, INT_MAX};
use crate::av::riff::format::{Coding, SoundFormat};
use crate::{ProbeError, Reader};

/// The number of streams that two digits can identify.
const MAX_STREAMS: usize = 100;
/// The maximum number of chunks in the header.
const MAX_CHUNKS: u32 = 1 << 14;
/// A longer header chunk is treated as the beginning of the data, in bytes.
const MAX_CHUNK_BYTES: u32 = 1_000_000;

/// The parsed header.
pub(super) struct Header {
    /// Streams, indexed by stream number.
    pub streams: Vec<Stream>,
    /// Offset of the first data chunk.
    pub chunks_at: u64,
    /// The maximum end of a chunk.
    pub last_end: u64,
    /// End of the file according to its header.
    pub riff_end: u64,
}

/// The description of a stream.
pub(super) struct Stream {
    /// The kind of the stream and its format.
    pub track: Track,
    /// The time base.
    pub base: Rational,
    /// Start time in ticks of the time base.
    pub start: u64,
    /// Length according to the header, in ticks; `None` if only its length in bytes is known.
    pub duration: Option<i64>,
    /// Bytes of one sample; 0 if each chunk is one sample.
    pub sample_size: u32,
}

/// The kind of a stream.
pub(super) enum Track {
    /// Video.
    Video(Picture),
    /// Sound.
    Audio(SoundFormat),
    /// Subtitles and the like, or an unknown kind.
    Other,
}

/// The format of a video stream.
pub(super) struct Picture {
    fourcc: [u8; 4],
    width: u32,
    height: u32,
}

/// Bytes of the first packet that are searched for a size.
const SIZE_SEARCH_BYTES: u32 = 64 << 10;
/// The first bytes of a PNG file, up to the width.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR";

impl Picture {
    /// Returns the size of the first frame, whose offset and length are `first`: from its own header, if it has one.
    pub fn size(&self, reader: &mut Reader, first: (u64, u32)) -> Result<(u32, u32), ProbeError> {
        let Some(codec) = self.codec() else { return Ok((self.width, self.height)) };
        let count = usize::try_from(first.1.min(SIZE_SEARCH_BYTES)).unwrap_or_default();
        let packet = reader.up_to(first.0, count)?;
        let size = match codec {
            VideoCodec::Other => packet.strip_prefix(PNG).and_then(|rest| {
                let (width, rest) = rest.split_first_chunk()?;
                Some((u32::from_be_bytes(*width), u32::from_be_bytes(*rest.first_chunk()?)))
            }),
            VideoCodec::H264 | VideoCodec::Hevc => codec.size_in_config(packet),
            _ => codec.size_in_packet(packet),
        };
        Ok(size.unwrap_or((self.width, self.height)))
    }

    /// Returns the codec for the FourCC if its packets contain the size. (JPEG frames may be single fields, so the file header is more
    /// reliable for them.)
    fn codec(&self) -> Option<VideoCodec> {
        Some(match &self.fourcc.map(|letter| letter.to_ascii_uppercase()) {
            b"FMP4" | b"DIVX" | b"DX50" | b"XVID" | b"MP4S" | b"M4S2" | b"MP4V" | b"3IV2" | b"3IVX" | b"RMP4" => {
                VideoCodec::Mpeg4
            }
            b"H264" | b"X264" | b"AVC1" | b"DAVC" | b"VSSH" => VideoCodec::H264,
            b"HEVC" | b"H265" | b"HVC1" => VideoCodec::Hevc,
            b"MPG1" | b"MPG2" | b"MPEG" | b"MP2V" | b"MPG\0" | [1 | 2, 0, 0, 0x10] => VideoCodec::Mpeg2,
            b"VP80" => VideoCodec::Vp8,
            b"VP90" => VideoCodec::Vp9,
            b"AV01" => VideoCodec::Av1,
            b"MPNG" | b"PNG " | b"PNG1" => VideoCodec::Other,
            _ => return None,
        })
    }
}

impl Header {
    /// Returns the first video stream, and its number.
    pub fn first_video(&self) -> Option<(usize, &Stream)> {
        self.streams.iter().enumerate().find(|(_, stream)| matches!(stream.track, Track::Video(_)))
    }

    /// Returns the first audio stream, and its number.
    pub fn first_audio(&self) -> Option<(usize, &Stream)> {
        self.streams.iter().enumerate().find(|(_, stream)| matches!(stream.track, Track::Audio(_)))
    }
}

/// The state while the header is read.
struct HeaderState {
    streams: Vec<Stream>,
    /// The type of the last stream header.
    kind: [u8; 4],
    /// Microseconds per frame.
    frame_period: u32,
    riff_end: u64,
    file_len: u64,
}

/// Reads everything before the data.
pub(super) fn read(reader: &mut Reader) -> Result<Header, ProbeError> {
    let riff_end = u64::from(number(reader, 4)?) + 8;
    let file_len = reader.len();
    let last_end = match riff_end {
        _ if file_len >= riff_end && file_len > 0 => file_len,
        8 => i64::MAX as u64,
        _ => riff_end,
    };
    let mut reading = HeaderState { streams: Vec::new(), kind: [0; 4], frame_period: 0, riff_end, file_len };
    let mut at = 12;
    for _ in 0..MAX_CHUNKS {
        let head: [u8; 8] = reader.array(at)?;
        let [a, b, c, d, size @ ..] = head;
        let size = u32::from_le_bytes(size);
        let content = at + 8;
        at = content + u64::from(size) + u64::from(size & 1);
        match &[a, b, c, d] {
            b"LIST" => match &reader.array::<4>(content)? {
                b"movi" => return Ok(reading.finish(content + 4, last_end)),
                b"INFO" | b"ncdt" => {}
                _ => at = content + 4,
            },
            b"avih" | b"amvh" => reading.frame_period = number(reader, content)?,
            b"strh" => reading.stream_header(reader, content)?,
            b"strf" if size > 0 => reading.format(reader, content, size)?,
            b"strd" | b"indx" | b"vprp" | b"IDIT" | b"dmlh" | b"strf" => {}
            _ if size > MAX_CHUNK_BYTES => return Ok(reading.finish(content, last_end)),
            _ => {}
        }
    }
    Err(ProbeError::broken("its header has too many chunks", at))
}

fn number(reader: &mut Reader, at: u64) -> Result<u32, ProbeError> {
    Ok(u32::from_le_bytes(reader.array(at)?))
}

impl HeaderState {
    fn finish(self, chunks_at: u64, last_end: u64) -> Header {
        Header { streams: self.streams, chunks_at, last_end, riff_end: self.riff_end }
    }

    fn stream_header(&mut self, reader: &mut Reader, at: u64) -> Result<(), ProbeError> {
        let bytes: [u8; 48] = reader.array(at)?;
        let field = |index: usize| -> u32 {
            bytes.get(index * 4..).and_then(|rest| rest.first_chunk()).map_or(0, |bytes| u32::from_le_bytes(*bytes))
        };
        let [a, b, c, d, ..] = bytes;
        self.kind = [a, b, c, d];
        match &self.kind {
            b"pads" => return Ok(()),
            b"iavs" | b"ivas" => return Err(ProbeError::broken("it is a DV stream, which is not read", at)),
            _ if self.streams.len() == MAX_STREAMS => {
                return Err(ProbeError::broken("it has too many streams", at));
            }
            _ => {}
        }
        let (mut scale, mut rate) = (field(5), field(6));
        if scale == 0 || rate == 0 {
            (scale, rate) = if self.frame_period > 0 { (self.frame_period, 1_000_000) } else { (1, 25) };
        }
        let (start, length) = (u64::from(field(7)), i64::from(field(8)));
        let sample_size = if &self.kind == b"vids" { 0 } else { field(11) };
        let cut = length > 0 && self.file_len > 0 && self.riff_end > self.file_len;
        let declared = if cut { self.shortened(length) } else { length };
        self.streams.push(Stream {
            track: Track::Other,
            base: base(scale, rate),
            start,
            duration: (sample_size == 0).then_some(declared),
            sample_size,
        });
        Ok(())
    }

    /// Scales a length down for a file that is cut short.
    fn shortened(&self, length: i64) -> i64 {
        let fit = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        rescale(length, fit(self.file_len), fit(self.riff_end), Rounding::Near)
    }

    fn format(&mut self, reader: &mut Reader, at: u64, size: u32) -> Result<(), ProbeError> {
        let kind = self.kind;
        let Some(stream) = self.streams.last_mut().filter(|stream| matches!(stream.track, Track::Other)) else {
            return Ok(());
        };
        match &kind {
            b"vids" => {
                let (width, height) = (number(reader, at + 4)?, number(reader, at + 8)?.cast_signed().unsigned_abs());
                stream.track = Track::Video(Picture { fourcc: reader.array(at + 16)?, width, height });
            }
            b"auds" => {
                let format = SoundFormat::read(reader, at, u64::from(size), false)?;
                stream.sample_size = sample_size(stream.sample_size, &format);
                stream.track = Track::Audio(format);
            }
            _ => {}
        }
        Ok(())
    }
}

/// Returns the bytes of one sample of sound: the block size takes precedence over the declared one, and is 0 for codecs with frames.
fn sample_size(declared: u32, format: &SoundFormat) -> u32 {
    let block = format.block_align;
    let size = if declared > 0 && block > 0 { block } else { declared };
    let framed = match format.coding {
        Coding::Aac => matches!(block, 1024 | 4096),
        Coding::Mpeg => block == 1152,
        _ => false,
    };
    if framed && size == block {
        0
    } else {
        size
    }
}

/// Returns the time base; if it is invalid, the default of video streams.
fn base(scale: u32, rate: u32) -> Rational {
    let base = Rational::reduced(i64::from(scale), i64::from(rate), INT_MAX);
    if base.is_positive() {
        base
    } else {
        Rational::new(1, 90_000)
    }
}
