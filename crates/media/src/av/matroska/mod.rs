//! Matroska and WebM (RFC 9559).

mod blocks;
mod codecs;
mod ebml;
mod rate;
mod sound;
mod tracks;
mod video;

use super::codec::VideoCodec;
use super::cover::CoverPicture;
use super::frame_span::{FrameSpan, MAX_SEARCHED_FRAMES};
use super::rational::{rescale, Rational, Rounding};
use super::AvProbeResult;
use crate::{ProbeError, Reader};
use blocks::Frame;
use ebml::Element;
use tracks::{Header, Kind};

const HEAD: u32 = 0x1a45_dfa3;
const SEGMENT: u32 = 0x1853_8067;

/// Whether these first bytes belong to an EBML document.
pub fn matches(first: &[u8]) -> bool {
    first.starts_with(&[0x1a, 0x45, 0xdf, 0xa3])
}

/// Reads the facts of the first video and the first audio stream.
///
/// # Errors
/// [`ProbeError::Broken`] if there is no segment, no track, or no data of a track.
pub fn probe(reader: &mut Reader) -> Result<AvProbeResult, ProbeError> {
    let segment = segment(reader)?;
    let end = segment.end.unwrap_or(reader.len()).min(reader.len());
    let mut file = File::open(reader, segment.body, end)?;
    let mut probed = AvProbeResult::default();
    let video = file.header.tracks.iter().position(|track| matches!(track.kind, Kind::Video { .. }));
    let audio = file.header.tracks.iter().position(|track| matches!(track.kind, Kind::Audio { .. }));
    if video.is_none() && audio.is_none() && file.header.cover.is_none() {
        return Err(ProbeError::broken("it has no video and no sound", segment.body));
    }
    file.header.check([video, audio])?;
    file.read_elements(reader, video, audio, &mut probed)?;
    if video.is_none() {
        file.cover(reader, &mut probed)?;
    }
    if segment.end.is_some_and(|end| end > reader.len()) || !file.sound {
        probed.remarks.push("it is damaged or cut short".into());
    }
    Ok(probed)
}

/// Returns the location of the first key frame of the first video track; `None` if the track is not of `codec`, or has none.
///
/// # Errors
/// [`ProbeError::Broken`] if there is no segment, or it ends before its clusters.
pub fn key_frame(reader: &mut Reader, codec: VideoCodec) -> Result<Option<FrameSpan>, ProbeError> {
    let segment = segment(reader)?;
    let file = File::open(reader, segment.body, segment.end.unwrap_or(reader.len()).min(reader.len()))?;
    let is_video = |track: &&tracks::Track| matches!(track.kind, Kind::Video { .. });
    let Some(track) = file.header.tracks.iter().find(is_video) else { return Ok(None) };
    let Kind::Video { codec: coded, config, .. } = &track.kind else { return Ok(None) };
    if *coded != codec {
        return Ok(None);
    }
    let ((from, end), mut left, mut found) = (file.clusters, MAX_SEARCHED_FRAMES, None);
    blocks::visit(reader, from, end, &mut |_, frame| {
        left -= 1;
        if frame.track == track.number && frame.key && frame.len > 0 {
            let (config, stripped) = (config.clone(), track.stripped.clone());
            found = Some(FrameSpan { config, stripped, at: frame.at, len: frame.len });
        }
        Ok(found.is_none() && left > 0)
    })?;
    Ok(found)
}

/// Returns the segment after the document header.
fn segment(reader: &mut Reader) -> Result<Element, ProbeError> {
    let broken = |at| ProbeError::broken("it has no segment", at);
    let mut at = 0;
    // The header, possibly void elements, and the segment.
    for _ in 0..8 {
        let element = Element::at(reader, at, reader.len())?.ok_or_else(|| broken(at))?;
        match element.id {
            SEGMENT => return Ok(element),
            HEAD => document(reader, &element)?,
            _ => {}
        }
        at = element.end.ok_or_else(|| broken(at))?;
    }
    Err(broken(at))
}

/// Checks the document header: the versions must be supported, and the type must be present.
fn document(reader: &mut Reader, head: &Element) -> Result<(), ProbeError> {
    let mut typed = false;
    tracks::children(reader, head, &mut |reader, element| {
        let most = match element.id {
            0x42f7 => 1,
            0x42f2 => 4,
            0x42f3 => 8,
            0x4285 => 3,
            id => {
                typed |= id == 0x4282;
                return Ok(());
            }
        };
        if element.unsigned(reader)?.unwrap_or(0) > most {
            return Err(ProbeError::broken("it is of an unknown version", element.body));
        }
        Ok(())
    })?;
    if !typed {
        return Err(ProbeError::broken("it does not say what kind of document it is", head.body));
    }
    Ok(())
}

/// A file whose header was read.
struct File {
    header: Header,
    /// Offsets at which clusters may begin, and at which they end.
    clusters: (u64, u64),
    /// Whether no damage was found.
    sound: bool,
}

impl File {
    /// Reads everything before the clusters; if the tracks are missing there, they are searched for after the clusters.
    fn open(reader: &mut Reader, body: u64, end: u64) -> Result<Self, ProbeError> {
        let (mut header, mut at, mut first_cluster) = (Header::default(), body, None);
        while let Some(element) = Element::at(reader, at, end)? {
            match element.id {
                0x1549_a966 => header.info(reader, &element)?,
                0x1654_ae6b if element.end.is_some_and(|body_end| body_end > reader.len()) => {
                    return Err(ProbeError::broken("it ends in the description of its tracks", reader.len()));
                }
                0x1654_ae6b => header.tracks(reader, &element)?,
                0x1941_a469 => header.attachments(reader, &element)?,
                0x1f43_b675 => {
                    first_cluster.get_or_insert(at);
                    if !header.tracks.is_empty() {
                        break;
                    }
                }
                _ => {}
            }
            match element.end {
                Some(next) if next <= end => at = next,
                _ => break,
            }
        }
        let first = first_cluster.ok_or_else(|| ProbeError::broken("it ends before its first cluster", at))?;
        Ok(Self { header, clusters: (first, end), sound: true })
    }

    /// Returns the time of a frame in ticks of its track, minus the codec delay.
    fn time(&self, track: usize, frame: &Frame) -> i64 {
        let Some(track) = self.header.tracks.get(track) else { return frame.time };
        let ticks = if track.scale == 1.0 { frame.time } else { (frame.time as f64 / track.scale) as i64 };
        ticks.saturating_sub(self.delay(track))
    }

    fn delay(&self, track: &tracks::Track) -> i64 {
        let base = self.header.base(track);
        let delay = i64::try_from(track.codec_delay).unwrap_or(0);
        rescale(delay, base.den, base.num.saturating_mul(1_000_000_000), Rounding::Near)
    }

    /// Returns the duration of a frame in ticks, as far as the container specifies it.
    fn declared_duration(&self, track: usize, frame: &Frame) -> Option<i64> {
        let track = self.header.tracks.get(track)?;
        let whole = match frame.duration {
            Some(duration) => duration,
            None if track.default_duration > 0 => {
                track.default_duration.saturating_mul(u64::from(frame.laces)) / self.header.scale
            }
            None => return None,
        };
        // A duration that is not divisible by the number of frames is distributed over them.
        let until = |frames: u32| u128::from(whole) * u128::from(frames) / u128::from(frame.laces.max(1));
        i64::try_from(until(frame.lace + 1) - until(frame.lace)).ok().filter(|ticks| *ticks > 0)
    }

    /// Returns the time of the first key frame in the stream in which the reference program seeks: the video, or the sound if there is no
    /// video or it has no size.
    fn beginning(
        &self,
        reader: &mut Reader,
        video: Option<usize>,
        audio: Option<usize>,
    ) -> Result<Option<i64>, ProbeError> {
        let Some(track) = video.filter(|at| self.header.has_size(*at)).or(audio).or(video) else { return Ok(None) };
        let number = self.header.tracks.get(track).map(|track| track.number);
        let ((from, end), mut found) = (self.clusters, None);
        blocks::visit(reader, from, end, &mut |_, frame| {
            if Some(frame.track) == number && frame.key {
                found = Some(self.time(track, &frame));
            }
            Ok(found.is_none())
        })?;
        match found {
            None => Err(ProbeError::broken("it has no frame that decoding could begin with", from)),
            found => Ok(found),
        }
    }

    /// Reads all clusters, and adds the resulting facts.
    fn read_elements(
        &mut self,
        reader: &mut Reader,
        video: Option<usize>,
        audio: Option<usize>,
        probed: &mut AvProbeResult,
    ) -> Result<(), ProbeError> {
        let number = |at: Option<usize>| at.and_then(|at| self.header.tracks.get(at)).map(|track| track.number);
        let (video_number, audio_number) = (number(video), number(audio));
        let (from, end) = self.clusters;
        let begin = self.beginning(reader, video, audio)?;
        // Without video, seeking takes place in the sound itself.
        let seek = begin.filter(|_| video.is_some());
        let mut pictures = video.and_then(|at| video::Pictures::new(&self.header, at));
        let mut sound = audio.and_then(|at| sound::SoundCounter::new(&self.header, at, seek, video.is_some()));
        let undamaged = blocks::visit(reader, from, end, &mut |reader, frame| {
            if let (Some(at), Some(pictures)) = (video.filter(|_| Some(frame.track) == video_number), &mut pictures) {
                pictures.add(reader, &frame, self.time(at, &frame), self.declared_duration(at, &frame))?;
                if let Some(sound) = &mut sound {
                    sound.count_picture(self.time(at, &frame), frame.key);
                }
            }
            if let (Some(at), Some(sound)) = (audio.filter(|_| Some(frame.track) == audio_number), &mut sound) {
                sound.add(reader, &frame, self.time(at, &frame), self.declared_duration(at, &frame))?;
            }
            Ok(true)
        })?;
        let duration = |at: Option<usize>| at.and_then(|at| self.whole_duration(at));
        if let Some(pictures) = pictures {
            pictures.add_facts(duration(video), &mut probed.facts)?;
        }
        if let Some(sound) = sound {
            sound.add_facts(duration(audio), &mut probed.facts)?;
        }
        self.sound &= undamaged;
        Ok(())
    }

    /// Returns the duration of the segment in ticks of a track.
    fn whole_duration(&self, track: usize) -> Option<i64> {
        let base = self.header.base(self.header.tracks.get(track)?);
        let nanoseconds = self.header.duration? * self.header.scale as f64;
        Some((nanoseconds / 1e9 / base.as_f64()).round() as i64)
    }

    /// Reports an attached picture as a video stream if there is no other.
    fn cover(&self, reader: &mut Reader, probed: &mut AvProbeResult) -> Result<(), ProbeError> {
        let Some((mime, at, len)) = &self.header.cover else { return Ok(()) };
        let microseconds = Rational::new(1, 1_000_000);
        let whole = self.header.duration.map(|ticks| (ticks * self.header.scale as f64 / 1000.0) as i64);
        match CoverPicture::new(reader, mime, *at, *len)? {
            Some(cover) => cover.show(reader, whole.map(|whole| (whole, microseconds)), &mut probed.facts),
            None => Ok(()),
        }
    }
}
