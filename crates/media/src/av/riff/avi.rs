//! AVI, including the additional segments of OpenDML.
//!
//! FFmpeg reads the chunks sequentially from the first to the end of the file, regardless of the index, so the same is done here: a few
//! bytes of each chunk are read, and as many bytes of coded sound as are needed to locate its frames.

mod header;
mod sound;

use super::super::rational::{seconds, Rational};
use crate::av::AvProbeResult;
use crate::{ProbeError, Reader};
use gristmill_core::AvFacts;
use header::{Header, Stream, Track};
use sound::SoundCounter;

/// Pairs of chunk and form names at the beginning of an AVI file.
const NAMES: [([u8; 4], [u8; 4]); 5] =
    [(*b"RIFF", *b"AVI "), (*b"RIFF", *b"AVIX"), (*b"RIFF", *b"AVI\x19"), (*b"ON2 ", *b"ON2f"), (*b"RIFF", *b"AMV ")];
/// Bytes that are read at a time in search of a chunk.
const SEARCH_BYTES: usize = 4 << 10;
/// The maximum length of a palette chunk in bytes.
const MAX_PALETTE_BYTES: u32 = 4 * 256 + 4;

/// Whether these first bytes belong to an AVI file.
pub fn matches(first: &[u8]) -> bool {
    NAMES.iter().any(|(outer, inner)| first.starts_with(outer) && first.get(8..12) == Some(inner))
}

/// Reads the facts of the first video and the first audio stream.
///
/// # Errors
/// [`ProbeError::Broken`] if the header is invalid, or a stream has no frames.
pub fn probe(reader: &mut Reader) -> Result<AvProbeResult, ProbeError> {
    if !matches(reader.up_to(0, 12)?) {
        return Err(ProbeError::broken("there is something before the AVI file", 0));
    }
    let header = header::read(reader)?;
    let mut walk = ChunkWalk::new(reader, &header)?;
    walk.chunks(reader)?;
    let mut remarks = Vec::new();
    if header.riff_end > reader.len() && header.riff_end != u64::from(u32::MAX) + 8 {
        remarks.push(format!(
            "it is cut short: its header announces {}, the file has {}",
            gristmill_core::text::count(header.riff_end, "byte"),
            reader.len()
        ));
    }
    let mut facts = AvFacts::default();
    if let Some((index, stream)) = header.first_video() {
        let frames = walk.states.get(index).map_or(0, |state| state.packets);
        let Some(first) = walk.first_frame.filter(|_| frames > 0) else {
            return Err(ProbeError::broken("its video stream has no frames", reader.len()));
        };
        video(reader, stream, frames, first, &mut facts)?;
    }
    if let Some((_, stream)) = header.first_audio() {
        let sound = walk.sound.take().map(|sound| sound.counted(reader.len())).transpose()?.unwrap_or_default();
        audio(stream, &sound, &mut facts);
        remarks.extend(sound.remarks);
    }
    Ok(AvProbeResult { facts, remarks })
}

fn video(
    reader: &mut Reader,
    stream: &Stream,
    frames: u64,
    first: (u64, u32),
    facts: &mut AvFacts,
) -> Result<(), ProbeError> {
    let Track::Video(picture) = &stream.track else { return Ok(()) };
    let size = picture.size(reader, first)?;
    facts.video_duration = stream.duration.map(|ticks| seconds(ticks, stream.base));
    facts.video_num_frames = Some(frames);
    facts.video_fps = Some(Rational::new(stream.base.den, stream.base.num).as_f64());
    facts.video_width = Some(size.0);
    facts.video_height = Some(size.1);
    Ok(())
}

fn audio(stream: &Stream, sound: &sound::PacketCounts, facts: &mut AvFacts) {
    let Track::Audio(format) = &stream.track else { return };
    facts.audio_duration = sound.end.or(stream.duration).map(|ticks| seconds(ticks, stream.base));
    facts.audio_channels = Some(sound.channels.unwrap_or(format.channels));
    facts.audio_sample_rate = Some(sound.rate.unwrap_or(format.rate));
    facts.audio_num_samples = sound.samples;
}

/// The state of one stream.
#[derive(Clone, Copy, Default)]
struct State {
    /// Number of non-empty packets.
    packets: u64,
    /// The two letters after the stream number in its chunks, and the number of consecutive occurrences.
    suffix: [u8; 2],
    stream_count: u32,
}

/// Iterates over the chunks.
struct ChunkWalk<'a> {
    header: &'a Header,
    states: Vec<State>,
    video: Option<usize>,
    audio: Option<usize>,
    sound: Option<SoundCounter>,
    /// Offset and length of the first packet of the video stream.
    first_frame: Option<(u64, u32)>,
    /// The maximum end of a chunk.
    end: u64,
}

/// The interpretation of the bytes at an offset.
enum ChunkKind {
    /// No valid chunk: the search continues at the next byte.
    Nothing,
    /// Data to skip, of the given number of bytes.
    Pass(u64),
    /// A packet: the index of its stream, and its length in bytes.
    Packet(usize, u32),
}

impl<'a> ChunkWalk<'a> {
    fn new(reader: &mut Reader, header: &'a Header) -> Result<Self, ProbeError> {
        let audio = header.first_audio();
        let sound = audio.map(|(_, stream)| SoundCounter::of(reader, stream)).transpose()?.flatten();
        Ok(Self {
            header,
            states: vec![State::default(); header.streams.len()],
            video: header.first_video().map(|(index, _)| index),
            audio: audio.map(|(index, _)| index),
            sound,
            first_frame: None,
            end: header.last_end,
        })
    }

    fn chunks(&mut self, reader: &mut Reader) -> Result<(), ProbeError> {
        let mut at = self.header.chunks_at;
        // The offset at which the search for the next chunk began.
        let mut from = at;
        'look: loop {
            let bytes = reader.sparse(at, SEARCH_BYTES)?;
            let mut here = 0;
            while let Some(head) = bytes.get(here..).and_then(|rest| rest.first_chunk::<8>().copied()) {
                let position = at + here as u64;
                match self.classify(&head, position, position - from) {
                    ChunkKind::Nothing => here += 1,
                    ChunkKind::Pass(count) => {
                        at = position + count;
                        from = at;
                        continue 'look;
                    }
                    ChunkKind::Packet(stream, size) => {
                        at = self.packet(reader, stream, head, position + 8, size)?;
                        from = at;
                        continue 'look;
                    }
                }
            }
            if here == 0 {
                return Ok(());
            }
            at += here as u64;
        }
    }

    /// Interprets a chunk header at `position`, which is `searched` bytes after the expected offset.
    fn classify(&mut self, head: &[u8; 8], position: u64, searched: u64) -> ChunkKind {
        let [a, b, c, d, size @ ..] = *head;
        let size = u32::from_le_bytes(size);
        if a > 127 || position.saturating_add(7).saturating_add(u64::from(size)) > self.end {
            return ChunkKind::Nothing;
        }
        let count = self.header.streams.len();
        match [a, b, c, d] {
            [b'L', b'I', b'S', b'T'] => return ChunkKind::Pass(12),
            [b'J', b'U', b'N', b'K'] | [b'i', b'd', b'x', b'1'] => return ChunkKind::Pass(8 + u64::from(size)),
            [b'i', b'x', c, d] if stream_number(c, d).is_some_and(|index| index < count) => {
                return ChunkKind::Pass(8 + u64::from(size));
            }
            _ => {}
        }
        let Some(index) = stream_number(a, b).filter(|index| *index < count) else { return ChunkKind::Nothing };
        if [c, d] == *b"ix" {
            return ChunkKind::Pass(8 + u64::from(size));
        }
        let Some(state) = self.states.get_mut(index) else { return ChunkKind::Nothing };
        let known = state.suffix == [c, d];
        if !known && (c > 127 || d > 127 || (state.stream_count >= 5 && searched > 1)) {
            return ChunkKind::Nothing;
        }
        if known {
            state.stream_count = state.stream_count.saturating_add(1);
        } else if size > 0 && [c, d] != *b"pc" {
            (state.suffix, state.stream_count) = ([c, d], 0);
        }
        ChunkKind::Packet(index, size)
    }

    /// Counts a packet; returns the offset at which the next chunk is expected.
    fn packet(
        &mut self,
        reader: &mut Reader,
        index: usize,
        head: [u8; 8],
        at: u64,
        size: u32,
    ) -> Result<u64, ProbeError> {
        let next = at + u64::from(size);
        let there = u64::from(size).min(reader.len().saturating_sub(at));
        if Some(index) == self.audio {
            if let Some(sound) = &mut self.sound {
                sound.packet(reader, at, there, size.into())?;
            }
            return Ok(next);
        }
        if there == 0 {
            return Ok(next);
        }
        if head[2..4] == *b"pc" && size <= MAX_PALETTE_BYTES {
            let [first, count] = reader.array(at)?;
            let last = first.wrapping_add(count).wrapping_sub(1);
            let colours = u64::from(last.checked_sub(first).map_or(0, |more| u16::from(more) + 1));
            return Ok(at + 4 + 4 * colours);
        }
        if let Some(state) = self.states.get_mut(index) {
            state.packets += 1;
        }
        if Some(index) == self.video && self.first_frame.is_none() {
            self.first_frame = Some((at, u32::try_from(there).unwrap_or(size)));
        }
        Ok(next)
    }
}

/// Returns the stream number of two digits.
fn stream_number(tens: u8, ones: u8) -> Option<usize> {
    let digit = |byte: u8| byte.is_ascii_digit().then(|| usize::from(byte - b'0'));
    Some(digit(tens)? * 10 + digit(ones)?)
}
