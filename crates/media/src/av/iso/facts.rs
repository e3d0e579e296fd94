//! Derives facts from tracks, as the reference program does by reading all packets and decoding the sound.

use super::edits::{self, Timeline};
use super::entry::Kind;
use super::fragments;
use super::samples::{parsed, Sample, Visitor};
use super::track::{Track, NO_DURATION};
use super::Movie;
use crate::av::codec::{mp3_frame, AudioCodec, AudioSetup, Packet, SampleTally, VideoCodec};
use crate::av::cover::CoverPicture;
use crate::av::rational::{rescale, rescale_base, seconds, Rational, Rounding, INT_MAX};
use crate::av::AvProbeResult;
use crate::{ProbeError, Reader};

/// A summary of a stream's samples.
#[derive(Clone, Copy, Debug, Default)]
struct Overview {
    count: u64,
    /// Decoding and presentation time of the first sample.
    first: Option<(i64, i64)>,
    exceeds_file: bool,
}

/// Returns the facts of the first video and the first audio stream.
pub fn assemble(reader: &mut Reader, movie: Movie) -> Result<AvProbeResult, ProbeError> {
    let mut probed = AvProbeResult::default();
    let video = movie.tracks.iter().position(|track| matches!(track.kind, Kind::Video | Kind::Cover));
    let audio = movie.tracks.iter().position(|track| track.kind == Kind::Audio);
    for index in video.into_iter().chain(audio) {
        check(&movie, index)?;
    }
    let stage = Stage { movie: &movie, fragmented: movie.fragments.announced() };
    let mut seek = None;
    if let Some(index) = video {
        seek = stage.video(reader, index, &mut probed)?;
    }
    if let Some(index) = audio {
        stage.audio(reader, index, seek, &mut probed)?;
    }
    Ok(probed)
}

/// Checks that a stream can be decoded.
fn check(movie: &Movie, index: usize) -> Result<(), ProbeError> {
    let Some(track) = movie.tracks.get(index) else { return Ok(()) };
    if track.kind == Kind::Cover {
        return Ok(());
    }
    let Some(entry) = &track.entry else {
        return Err(ProbeError::broken("a track has no sample description", 0));
    };
    let (what, unknown) = match track.kind {
        Kind::Video => ("video", entry.video == VideoCodec::Unknown),
        _ => ("sound", entry.audio.codec == AudioCodec::Unknown),
    };
    if entry.encrypted {
        return Err(ProbeError::broken(format!("its {what} is encrypted"), 0));
    }
    if unknown {
        let format = String::from_utf8_lossy(&entry.format).into_owned();
        return Err(ProbeError::broken(format!("its {what} is of an unknown kind: {format:?}"), 0));
    }
    Ok(())
}

struct Stage<'a> {
    movie: &'a Movie,
    fragmented: bool,
}

impl Stage<'_> {
    /// Visits all samples of a track: first those in the header, then those in fragments.
    fn visit(
        &self,
        reader: &mut Reader,
        index: usize,
        line: &Timeline,
        visitor: &mut Visitor,
    ) -> Result<(), ProbeError> {
        let Some(track) = self.movie.tracks.get(index) else { return Ok(()) };
        let mut wanted = true;
        edits::visit(track, line, reader, &mut |reader, sample| {
            wanted = visitor(reader, sample)?;
            Ok(wanted)
        })?;
        if !wanted || !self.fragmented {
            return Ok(());
        }
        fragments::visit(reader, &self.movie.fragments, &self.movie.tracks, index, visitor)
    }

    fn overview(&self, reader: &mut Reader, index: usize, line: &Timeline) -> Result<Overview, ProbeError> {
        let mut view = Overview {
            count: line.count,
            first: (line.count > 0).then_some((line.first, line.first)),
            exceeds_file: line.exceeds_file,
        };
        if !self.fragmented && !line.exceeds_file && line.start.is_some() {
            return Ok(view);
        }
        let early = self.movie.tracks.get(index).map_or(0, |track| track.early);
        view = Overview::default();
        self.visit(reader, index, line, &mut |reader, sample| {
            if view.first.is_none() {
                if sample.at < reader.len() && sample.at.saturating_add(sample.size) > reader.len() {
                    return Err(ProbeError::broken("it ends in the middle of its first picture", reader.len()));
                }
                view.first = Some((sample.time, sample.time + sample.shift + early));
            }
            view.exceeds_file = sample.size > 0 && sample.at >= reader.len();
            view.count += u64::from(!view.exceeds_file);
            Ok(!view.exceeds_file)
        })?;
        Ok(view)
    }

    /// Adds the facts of a video stream. Returns the time (in ticks, with its base) to which seeking to the beginning leads; it determines
    /// where decoding of the sound begins.
    fn video(
        &self,
        reader: &mut Reader,
        index: usize,
        probed: &mut AvProbeResult,
    ) -> Result<Option<(i64, Rational)>, ProbeError> {
        let Some(track) = self.movie.tracks.get(index) else { return Ok(None) };
        if track.kind == Kind::Cover {
            return self.cover(reader, track, probed).map(|()| None);
        }
        let line = edits::timeline(track, reader)?;
        let view = self.overview(reader, index, &line)?;
        if view.first.is_none() {
            return Err(ProbeError::broken("its video has no samples", 0));
        }
        let base = track.base();
        let start = line.start.or(view.first.filter(|_| view.count > 0).map(|(_, shown)| shown));
        let mut end = Some(line.duration);
        if line.duration == NO_DURATION {
            end = self.last_end(reader, index, &line)?;
        }
        let Some(end) = end else {
            return Err(ProbeError::broken("its video has no duration", 0));
        };
        let duration = seconds(end.saturating_sub(start.unwrap_or(0)), base);
        let facts = &mut probed.facts;
        facts.video_duration = Some(duration);
        facts.video_num_frames = Some(view.count);
        facts.video_fps = match frame_rate(track) {
            Some(rate) => Some(rate),
            None if duration == 0.0 => return Err(ProbeError::broken("its video has no frames and no duration", 0)),
            None => Some(view.count as f64 / duration),
        };
        let size = self.size(reader, index, &line)?;
        (facts.video_width, facts.video_height) = (Some(size.0), Some(size.1));
        if view.exceeds_file {
            probed.remarks.push("it ends before all of its video".into());
        }
        let wanted = line.lead.saturating_add(track.early).saturating_neg();
        let found = self.search(reader, index, &line, wanted)?.map_or(line.first, |(_, time)| time);
        Ok(Some((found, base)))
    }

    /// Returns the index and time of the last sample that is a key frame and not after `wanted`, otherwise those of the first sample.
    fn search(
        &self,
        reader: &mut Reader,
        index: usize,
        line: &Timeline,
        wanted: i64,
    ) -> Result<Option<(u64, i64)>, ProbeError> {
        let (mut number, mut found) = (0, None);
        self.visit(reader, index, line, &mut |_, sample| {
            if found.is_none() || sample.key && sample.time <= wanted {
                found = Some((number, sample.time));
            }
            number += 1;
            Ok(sample.time <= wanted)
        })?;
        Ok(found)
    }

    /// Returns the end of the last packet, for a stream of unknown duration.
    fn last_end(&self, reader: &mut Reader, index: usize, line: &Timeline) -> Result<Option<i64>, ProbeError> {
        let early = self.movie.tracks.get(index).map_or(0, |track| track.early);
        let mut end = None;
        self.visit(reader, index, line, &mut |reader, sample| {
            let there = sample.size == 0 || sample.at < reader.len();
            if there {
                end = Some(sample.time.saturating_add(sample.shift + early).saturating_add(sample.duration));
            }
            Ok(there)
        })?;
        Ok(end)
    }

    fn size(&self, reader: &mut Reader, index: usize, line: &Timeline) -> Result<(u32, u32), ProbeError> {
        let Some(entry) = self.movie.tracks.get(index).and_then(|track| track.entry.as_ref()) else {
            return Ok((0, 0));
        };
        let declared = entry.video.size_in_config(&entry.config);
        if declared.is_some() || !entry.video.needs_packet() {
            return Ok(declared.unwrap_or(entry.size));
        }
        let mut declared = None;
        self.visit(reader, index, line, &mut |reader, sample| {
            let count = usize::try_from(sample.size).unwrap_or(usize::MAX).min(64 << 10);
            declared = entry.video.size_in_packet(reader.up_to(sample.at, count)?);
            Ok(false)
        })?;
        Ok(declared.unwrap_or(entry.size))
    }

    /// Adds the facts of a cover, which counts as a video stream without frames.
    fn cover(&self, reader: &mut Reader, track: &Track, probed: &mut AvProbeResult) -> Result<(), ProbeError> {
        let Some((mime, at, end)) = track.cover else { return Ok(()) };
        let Some(cover) = CoverPicture::new(reader, mime.as_bytes(), at, end.saturating_sub(at))? else {
            return Ok(());
        };
        let sound = self.movie.tracks.iter().find(|track| track.kind == Kind::Audio);
        let length = match sound {
            Some(sound) => Some((edits::timeline(sound, reader)?.duration, sound.base()))
                .filter(|&(ticks, _)| ticks != NO_DURATION),
            None => None,
        };
        cover.show(reader, length, &mut probed.facts)
    }

    fn audio(
        &self,
        reader: &mut Reader,
        index: usize,
        seek: Option<(i64, Rational)>,
        probed: &mut AvProbeResult,
    ) -> Result<(), ProbeError> {
        let Some((track, entry)) = self.movie.tracks.get(index).and_then(|track| Some((track, track.entry.as_ref()?)))
        else {
            return Ok(());
        };
        let line = edits::timeline(track, reader)?;
        let base = track.base();
        let mut setup = entry.audio.clone();
        let wanted = seek
            .map_or(0, |(time, from)| rescale_base(time, from, base))
            .saturating_sub(line.lead.saturating_add(track.early));
        let begin = self.search(reader, index, &line, wanted)?;
        if begin.is_none() && seek.is_none() {
            return Err(ProbeError::broken("its sound has no samples", 0));
        }
        let mut first = None;
        self.visit(reader, index, &line, &mut |reader, sample| {
            first = Some(sample);
            if setup.codec == AudioCodec::Mpeg {
                if let Some(header) = reader.up_to(sample.at, 4)?.first_chunk().and_then(mp3_frame) {
                    (setup.rate, setup.channels, setup.frame) = (header.rate, header.channels, header.samples);
                }
            }
            Ok(false)
        })?;
        let padding = track.priming.unwrap_or(line.cut);
        let heard = Rational::new(1, i64::from(setup.rate));
        let mut cut = padding;
        let mut start = line.start;
        if let (Some(first), Some((_, time))) = (first, begin) {
            cut = (padding - rescale_base(time.saturating_sub(first.time), base, heard)).max(0);
            let aac = if setup.codec == AudioCodec::Aac || line.applied { padding } else { 0 };
            start =
                start.or(Some((first.time + first.shift + track.early).saturating_add(rescale_base(aac, heard, base))));
        }
        if cut == 0 && setup.codec == AudioCodec::Opus {
            cut = setup.preskip.unwrap_or(0).into();
        }
        let mut hearing =
            AudioTally { track, tally: SampleTally::new(base, setup.rate, cut), setup, pending: None, base };
        let from = begin.map_or(0, |(number, _)| number);
        let mut number = 0;
        self.visit(reader, index, &line, &mut |reader, sample| {
            number += 1;
            if number <= from {
                return Ok(true);
            }
            if sample.size > 0 && sample.at >= reader.len() {
                probed.remarks.push("it ends before all of its sound".into());
                return Ok(false);
            }
            hearing.next(reader, sample)?;
            Ok(true)
        })?;
        hearing.finish(reader, line.duration)?;
        let facts = &mut probed.facts;
        facts.audio_sample_rate = Some(hearing.setup.rate);
        facts.audio_channels = Some(hearing.setup.channels);
        facts.audio_num_samples = Some(hearing.tally.samples());
        facts.audio_duration =
            hearing.tally.duration(start, Some(line.duration).filter(|&duration| duration != NO_DURATION));
        Ok(())
    }
}

fn frame_rate(track: &Track) -> Option<f64> {
    if track.rate_samples <= 0 || track.rate_ticks <= 0 {
        return None;
    }
    let rate = Rational::reduced(track.rate_samples.saturating_mul(i64::from(track.scale)), track.rate_ticks, INT_MAX);
    rate.is_positive().then(|| rate.as_f64())
}

/// Counts the samples that the audio decoder outputs.
struct AudioTally<'a> {
    track: &'a Track,
    setup: AudioSetup,
    tally: SampleTally,
    /// The last sample, whose duration depends on the next one.
    pending: Option<Sample>,
    base: Rational,
}

impl AudioTally<'_> {
    fn next(&mut self, reader: &mut Reader, sample: Sample) -> Result<(), ProbeError> {
        if let Some(before) = self.pending.replace(sample) {
            let duration = if before.duration == 0 { (sample.time - before.time).max(0) } else { before.duration };
            self.count_sample(reader, &before, duration, false)?;
        }
        Ok(())
    }

    fn finish(&mut self, reader: &mut Reader, end: i64) -> Result<(), ProbeError> {
        if let Some(last) = self.pending.take() {
            let duration = if last.duration == 0 { end.saturating_sub(last.time).max(0) } else { last.duration };
            self.count_sample(reader, &last, duration, true)?;
        }
        Ok(())
    }

    fn count_sample(
        &mut self,
        reader: &mut Reader,
        sample: &Sample,
        duration: i64,
        last: bool,
    ) -> Result<(), ProbeError> {
        let mut size = sample.size;
        let end = sample.at.saturating_add(size);
        if end > reader.len() {
            if !matches!(self.setup.codec, AudioCodec::Pcm(_)) {
                return Err(ProbeError::broken("it ends in the middle of its sound", reader.len()));
            }
            size = reader.len().saturating_sub(sample.at);
        }
        let scale = i64::from(self.track.scale.max(1));
        let declared = rescale(duration, i64::from(self.setup.rate), scale, Rounding::Near);
        let trusted = match self.setup.codec {
            AudioCodec::Flac | AudioCodec::Alac => declared > 0 && i64::from(self.setup.rate) == scale,
            AudioCodec::Opus => !last && declared > 0 && declared % 120 == 0,
            AudioCodec::Mpeg => self.setup.frame > 0,
            _ => false,
        };
        let samples = if trusted && self.setup.codec == AudioCodec::Mpeg {
            i64::from(self.setup.frame)
        } else if trusted {
            declared
        } else {
            let count = self.setup.header_bytes().min(usize::try_from(size).unwrap_or(usize::MAX));
            let head = reader.sparse(sample.at, count)?.to_vec();
            self.setup.samples(&head, size).unwrap_or(declared)
        };
        // MPEG audio is split into frames only if the time scale is its sample rate and the durations in the header differ. Fragments have
        // none in the header.
        let is_split = scale == i64::from(self.setup.rate) && self.track.has_unequal_durations;
        let parsed = parsed(self.setup.codec) && (self.setup.codec != AudioCodec::Mpeg || is_split);
        let duration = if (parsed || duration == 0) && self.setup.rate > 0 {
            rescale(samples, scale, i64::from(self.setup.rate), Rounding::Down)
        } else {
            duration
        };
        let pts = sample.time.saturating_add(sample.shift + self.track.early);
        debug_assert!(self.base.den > 0);
        self.tally.add(Packet { pts: Some(pts), duration, samples, discard: sample.discard, padding: 0 });
        Ok(())
    }
}
