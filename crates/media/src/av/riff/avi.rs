//! AVI, also with the further segments of OpenDML.
//!
//! FFmpeg reads the chunks one after the other, from the first to the end of the file, whatever the index says, so they are
//! walked here as well: a few bytes of each, and of coded sound as many as tell where its frames begin.

mod header;
mod sound;

use super::super::rational::{seconds, Rational};
use crate::av::AvProbed;
use crate::{ProbeError, Reader};
use gristmill_core::AvFacts;
use header::{Header, Stream, Track};
use sound::Sound;

/// The pairs of names that such a file may begin with.
const NAMES: [([u8; 4], [u8; 4]); 5] =
    [(*b"RIFF", *b"AVI "), (*b"RIFF", *b"AVIX"), (*b"RIFF", *b"AVI\x19"), (*b"ON2 ", *b"ON2f"), (*b"RIFF", *b"AMV ")];
/// Bytes that are read at once in search of a chunk.
const SEARCH_BYTES: usize = 4 << 10;
/// A chunk of a palette has at most so many bytes.
const PALETTE: u32 = 4 * 256 + 4;

/// Whether these first bytes are an AVI file.
pub fn matches(first: &[u8]) -> bool {
    NAMES.iter().any(|(outer, inner)| first.starts_with(outer) && first.get(8..12) == Some(inner))
}

/// Reads the facts of the first video and the first audio stream.
///
/// # Errors
/// [`ProbeError::Broken`] where the header is none, or a stream has no frames.
pub fn probe(reader: &mut Reader) -> Result<AvProbed, ProbeError> {
    if !matches(reader.up_to(0, 12)?) {
        return Err(ProbeError::broken("there is something before the AVI file", 0));
    }
    let header = header::read(reader)?;
    let mut walk = Walk::new(reader, &header)?;
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
    Ok(AvProbed { facts, remarks })
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

fn audio(stream: &Stream, sound: &sound::Counted, facts: &mut AvFacts) {
    let Track::Audio(format) = &stream.track else { return };
    facts.audio_duration = sound.end.or(stream.duration).map(|ticks| seconds(ticks, stream.base));
    facts.audio_channels = Some(sound.channels.unwrap_or(format.channels));
    facts.audio_sample_rate = Some(sound.rate.unwrap_or(format.rate));
    facts.audio_num_samples = sound.samples;
}

/// What was seen of one stream.
#[derive(Clone, Copy, Default)]
struct State {
    /// Packets with something in them.
    packets: u64,
    /// The two letters behind the number of its chunks, and how often they came in a row.
    suffix: [u8; 2],
    seen: u32,
}

/// The walk through the chunks.
struct Walk<'a> {
    header: &'a Header,
    states: Vec<State>,
    video: Option<usize>,
    audio: Option<usize>,
    sound: Option<Sound>,
    /// Offset and length of the first packet of the video stream.
    first_frame: Option<(u64, u32)>,
    /// No chunk ends behind this.
    end: u64,
}

/// What stands at a place.
enum ChunkKind {
    /// Nothing that means anything: on with the next byte.
    Nothing,
    /// Something to pass over: on so many bytes further.
    Pass(u64),
    /// A packet of a stream, with so many bytes.
    Packet(usize, u32),
}

impl<'a> Walk<'a> {
    fn new(reader: &mut Reader, header: &'a Header) -> Result<Self, ProbeError> {
        let audio = header.first_audio();
        let sound = audio.map(|(_, stream)| Sound::of(reader, stream)).transpose()?.flatten();
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
        // Where the search for the next chunk began.
        let mut from = at;
        'look: loop {
            let bytes = reader.sparse(at, SEARCH_BYTES)?;
            let mut here = 0;
            while let Some(head) = bytes.get(here..).and_then(|rest| rest.first_chunk::<8>().copied()) {
                let position = at + here as u64;
                match self.found(&head, position, position - from) {
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

    /// What a chunk's head at `position` is, `searched` bytes behind where one was expected.
    fn found(&mut self, head: &[u8; 8], position: u64, searched: u64) -> ChunkKind {
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
        if !known && (c > 127 || d > 127 || (state.seen >= 5 && searched > 1)) {
            return ChunkKind::Nothing;
        }
        if known {
            state.seen = state.seen.saturating_add(1);
        } else if size > 0 && [c, d] != *b"pc" {
            (state.suffix, state.seen) = ([c, d], 0);
        }
        ChunkKind::Packet(index, size)
    }

    /// Counts a packet; returns where the next chunk is looked for.
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
        if head[2..4] == *b"pc" && size <= PALETTE {
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

/// The number of a stream that two digits tell.
fn stream_number(tens: u8, ones: u8) -> Option<usize> {
    let digit = |byte: u8| byte.is_ascii_digit().then(|| usize::from(byte - b'0'));
    Some(digit(tens)? * 10 + digit(ones)?)
}
