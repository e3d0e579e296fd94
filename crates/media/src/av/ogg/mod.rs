//! Ogg: Vorbis, Opus, FLAC, VP8 and Theora in pages.
//!
//! Pages and packets are timed like in FFmpeg's demuxer; only the first bytes of packets are examined.

mod codecs;
mod pages;
mod timing;

#[cfg(test)]
mod tests;

use super::rational::seconds;
use super::{AvProbeResult, Rational};
use crate::{ProbeError, Reader};
use codecs::{Codec, Kind};
use gristmill_core::AvFacts;
use pages::{Assembly, Packets, Page, Pages, FIRST};
use timing::Timing;

/// The maximum number of streams that are distinguished; real files have fewer.
const MAX_STREAMS: usize = 64;

/// Whether these first bytes belong to an Ogg file.
pub fn matches(first: &[u8]) -> bool {
    first.starts_with(b"OggS\0") && first.get(5).is_some_and(|flags| *flags <= 7)
}

/// One logical stream.
struct Stream {
    serial: u32,
    codec: Option<Codec>,
    assembly: Assembly,
    timing: Timing,
    /// Offset of the page with the first data packet.
    begins: Option<u64>,
}

/// Reads the headers and every page.
///
/// # Errors
/// [`ProbeError::Broken`] if a header is missing or wrong, or a packet cannot be decoded.
pub fn probe(reader: &mut Reader) -> Result<AvProbeResult, ProbeError> {
    let start = super::after_id3(reader)?;
    let mut streams = headers(reader, start)?;
    let mut pages = Pages::new(start);
    let mut remarks = Vec::new();
    let mut end = start;
    while let Some(page) = pages.next(reader)? {
        end = page.at;
        match stream_of(&mut streams, &page)? {
            Some(stream) => stream.data(&page)?,
            None => break,
        }
    }
    let facts = facts(&mut streams)?;
    if facts == AvFacts::default() {
        return Err(ProbeError::broken("it holds no sound or video of a known codec", start));
    }
    if !streams.iter().any(|stream| stream.timing.ended) {
        remarks.push(format!("its last page is missing (byte {end})"));
    }
    Ok(AvProbeResult { facts, remarks })
}

/// Reads pages until the first packet that is not a header.
fn headers(reader: &mut Reader, start: u64) -> Result<Vec<Stream>, ProbeError> {
    let mut streams: Vec<Stream> = Vec::new();
    let mut pages = Pages::new(start);
    while let Some(page) = pages.next(reader)? {
        let known = streams.iter().position(|stream| stream.serial == page.serial);
        let at = known.unwrap_or(streams.len());
        if known.is_none() {
            if streams.len() == MAX_STREAMS {
                return Err(ProbeError::broken("it has too many streams", page.at));
            }
            let codec = Codec::of(&page);
            let (assembly, timing) = (Assembly::default(), Timing::default());
            streams.push(Stream { serial: page.serial, codec, assembly, timing, begins: None });
        }
        let Some(stream) = streams.get_mut(at) else { break };
        let Some(codec) = &mut stream.codec else { continue };
        let packets = stream.assembly.add(&page, true);
        for packet in &packets.complete {
            if !codec.header(packet, page.flags & FIRST != 0, page.at)? {
                for stream in &mut streams {
                    stream.assembly = Assembly::default();
                }
                if let Some(stream) = streams.get_mut(at) {
                    stream.begins = Some(page.at);
                }
                return Ok(streams);
            }
        }
    }
    Err(ProbeError::broken("it ends before its sound or pictures begin", reader.len()))
}

/// Returns the stream of a page; `None` if reading ends. A new stream replaces one of the same kind.
fn stream_of<'a>(streams: &'a mut [Stream], page: &Page) -> Result<Option<&'a mut Stream>, ProbeError> {
    if let Some(at) = streams.iter().position(|stream| stream.serial == page.serial) {
        return Ok(streams.get_mut(at));
    }
    let [stream] = streams else {
        return Err(ProbeError::broken("a further stream begins in the middle of several", page.at));
    };
    let (Some(next), Some(codec)) = (Codec::of(page), stream.codec.as_ref()) else {
        return Err(ProbeError::broken("a stream of an unknown kind follows the first", page.at));
    };
    if codec.kind() == Kind::Opus {
        // Readers stop at the end of the first link of an Opus chain, and do not decode the other links.
        return Ok(None);
    }
    if codec.kind() != next.kind() {
        return Err(ProbeError::broken("a stream of another kind follows the first", page.at));
    }
    stream.serial = page.serial;
    stream.timing.restart(next.kind());
    Ok(Some(stream))
}

impl Stream {
    fn data(&mut self, page: &Page) -> Result<(), ProbeError> {
        let Some(codec) = &mut self.codec else { return Ok(()) };
        let headers = codec.wants_headers();
        let Packets { complete: whole, ends_with_whole } = self.assembly.add(page, headers);
        let mut first = true;
        for (at, packet) in whole.iter().enumerate() {
            if codec.wants_headers() && codec.header(packet, page.flags & FIRST != 0, page.at)? {
                continue;
            }
            if !codec.is_data(packet, page.at)? {
                continue;
            }
            let rest = whole.get(at + 1..).unwrap_or_default();
            self.timing.packet(codec, (first, packet, rest), page, ends_with_whole)?;
            first = false;
        }
        Ok(())
    }
}

/// Returns the facts of the first stream of each kind.
fn facts(streams: &mut [Stream]) -> Result<AvFacts, ProbeError> {
    let mut facts = AvFacts::default();
    let first = |streams: &[Stream], video: bool| {
        streams.iter().position(|stream| stream.codec.as_ref().is_some_and(|codec| codec.is_video() == video))
    };
    if let Some(stream) = first(streams, true).and_then(|at| streams.get_mut(at)) {
        if let Some(Codec::Video(video)) = &stream.codec {
            let base = Rational::new(video.fps.den, video.fps.num);
            facts.video_duration = stream.timing.granule_end().map(|ticks| seconds(ticks, base));
            facts.video_num_frames = Some(stream.timing.packets);
            facts.video_fps = Some(video.fps.as_f64());
            (facts.video_width, facts.video_height) = (Some(video.width), Some(video.height));
        }
    }
    if let Some(stream) = first(streams, false).and_then(|at| streams.get_mut(at)) {
        let Some(codec) = &stream.codec else { return Ok(facts) };
        let sound = stream.timing.sound();
        let base = Rational::new(1, codec.rate().into());
        facts.audio_duration = sound.duration.map(|ticks| seconds(ticks, base));
        facts.audio_num_samples = Some(sound.samples);
        facts.audio_sample_rate = Some(codec.rate());
        facts.audio_channels = Some(codec.channels());
        if stream.timing.packets == 0 && codec.kind() != Kind::Vorbis {
            let at = stream.begins.unwrap_or(0);
            return Err(ProbeError::broken("its sound cannot be found", at));
        }
    }
    Ok(facts)
}
