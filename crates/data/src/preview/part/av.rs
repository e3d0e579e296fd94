//! Sound and video: facts from the headers, the waveform of the sound, and a picture if available: the first frame of AV1 and Motion JPEG,
//! or a cover.

use super::{title, PartPreview, PartReader};
use crate::preview::picture::{self, Picture};
use crate::preview::waveform::{self, Waveform};
use crate::preview::{Drawable, PartBytes};
use gristmill_core::text::{bytes as size_words, display_safe, duration, grouped};
use gristmill_core::{AvFacts, MediaFacts, MediaType, Outcome};
use gristmill_media::av::codec::VideoCodec;
use gristmill_media::av::key_frame;
use gristmill_media::{ByteSource, ProbeError, Reader};
use std::sync::Arc;
use std::time::Duration;

/// Maximum size in bytes of the beginning of a video that is searched for pictures.
const MAX_SEARCHED_BYTES: u64 = 16 << 20;
/// Maximum bytes of one frame that are read.
const FRAME_BYTES: usize = 8 << 20;
/// Maximum number of positions at which a picture may begin that are tried.
const MAX_TRIES: usize = 4;

/// Adapts a part to the interface of the header readers.
struct Source<'a>(&'a dyn PartBytes);

impl ByteSource for Source<'_> {
    fn len(&self) -> u64 {
        self.0.len()
    }
    fn read_at(&self, buf: &mut [u8], offset: u64) -> std::io::Result<usize> {
        let piece = self.0.read(offset, buf.len()).map_err(|failure| std::io::Error::other(failure.to_string()))?;
        let count = piece.len().min(buf.len());
        for (to, from) in buf.iter_mut().zip(&piece) {
            *to = *from;
        }
        Ok(count)
    }
}

impl PartReader<'_> {
    /// Returns the facts in the headers of the part, read as `media_type`; `None` if the headers are invalid.
    fn probed(&self, media_type: MediaType, out: &mut PartPreview) -> Option<MediaFacts> {
        let source = Source(self.bytes);
        match gristmill_media::probe(&mut Reader::new(&source, self.cancel), media_type) {
            Ok(probed) => {
                out.notes.extend(probed.remarks.iter().map(|r| display_safe(r).into_owned()));
                Some(probed.facts)
            }
            Err(ProbeError::Cancelled) => None,
            Err(error) => {
                out.notes.push(display_safe(&error.to_string()).into_owned());
                None
            }
        }
    }

    /// Shows a picture that is not decoded: the facts in its header, and its bytes.
    pub(super) fn picture_by_header(&self, out: &mut PartPreview) -> Outcome<()> {
        let length = self.bytes.len();
        let facts = self.probed(MediaType::Image, out);
        self.hex(out)?;
        if let Some(MediaFacts::Image(facts)) = facts {
            let measures = format!("{}×{}", facts.width, facts.height);
            out.title = title(self.name, &[measures, facts.mode.into(), size_words(length)]);
            out.facts.push(("format".into(), facts.format.into()));
        }
        Ok(())
    }

    /// Shows sound or video.
    pub(super) fn av(&self, out: &mut PartPreview) -> Outcome<()> {
        let length = self.bytes.len();
        let facts = match self.probed(MediaType::Av, out) {
            Some(MediaFacts::Av(facts)) => facts,
            _ => AvFacts::default(),
        };
        let suffix = self.name.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
        let heard = waveform::preview_audio(&suffix, self.bytes, self.cancel);
        let has_video = facts.video_width.is_some();
        let wave = match heard.waveform {
            Some(Ok(wave)) => Some(wave),
            Some(Err(why)) => {
                out.notes.push(format!("its sound is not drawn: {why}"));
                None
            }
            None => None,
        };
        self.describe(&facts, wave.as_ref(), length, out);
        let poster = match heard.visual.map(|v| picture::decode(&v)) {
            Some(Ok(picture)) if has_video => Some(picture),
            Some(Ok(picture)) => {
                out.facts.push(("brings a picture".into(), format!("{}×{}", picture.width, picture.height)));
                None
            }
            _ if has_video => match self.key_frame(out) {
                Some(picture) => Some(picture),
                None => self.frame(&facts)?,
            },
            _ => None,
        };
        out.body = match (poster, wave) {
            (Some(picture), _) => Drawable::Picture(Arc::new(picture)),
            (None, Some(wave)) => Drawable::Waveform(Arc::new(wave)),
            (None, None) => Drawable::fact("nothing of it can be drawn; see the facts"),
        };
        if has_video && !matches!(out.body, Drawable::Picture(_)) {
            out.notes.push("its pictures are not shown: only those of AV1 and MJPEG, and covers, can be".into());
        }
        Ok(())
    }

    fn describe(&self, facts: &AvFacts, wave: Option<&Waveform>, length: u64, out: &mut PartPreview) {
        let mut words = Vec::new();
        let mut add = |name: &str, value: String| out.facts.push((name.to_owned(), value));
        if let (Some(width), Some(height)) = (facts.video_width, facts.video_height) {
            words.push(format!("{width}×{height}"));
        }
        let known = facts
            .video_duration
            .into_iter()
            .chain(facts.audio_duration)
            .fold(None, |longest: Option<f64>, d| Some(longest.map_or(d, |l| l.max(d))));
        let whole = wave.filter(|w| !w.is_cut).map(|w| w.seconds);
        if let Some(seconds) = known.or(whole) {
            words.push(seconds_words(seconds));
        }
        if let Some(fps) = facts.video_fps {
            add("frames per second", short(fps));
        }
        if let Some(frames) = facts.video_num_frames {
            add("frames", grouped(frames));
        }
        let rate = facts.audio_sample_rate.or(wave.map(|w| w.rate));
        if let Some(rate) = rate {
            add("sound", format!("{} Hz", grouped(u64::from(rate))));
        }
        let channels = facts.audio_channels.map(u64::from).or(wave.map(|w| w.channels as u64));
        if let Some(channels) = channels {
            add("channels", channels.to_string());
        }
        if let Some(wave) = wave {
            add("codec", wave.codec.clone());
            add("loudest", format!("{:.0} %", wave.loudest() * 100.0));
            if wave.is_cut {
                out.notes.push(format!("only the first {} are drawn", seconds_words(wave.seconds)));
            }
            if wave.undecodable > 0 {
                out.notes.push(format!(
                    "{} could not be decoded",
                    gristmill_core::text::count(wave.undecodable as u64, "packet")
                ));
            }
        }
        words.push(size_words(length));
        out.title = title(self.name, &words);
    }

    /// Decodes the first key frame of an AV1 video; a failure becomes a note.
    fn key_frame(&self, out: &mut PartPreview) -> Option<Picture> {
        let source = Source(self.bytes);
        let why = match key_frame(&mut Reader::new(&source, self.cancel), VideoCodec::Av1, FRAME_BYTES as u64) {
            _ if self.cancel.is_cancelled() => return None,
            Ok(None) | Err(ProbeError::Cancelled) => return None,
            Ok(Some(frame)) => match picture::decode_av1(&frame.config, &frame.bytes) {
                Ok(picture) => return Some(picture),
                Err(error) => error.to_string(),
            },
            Err(error) => error.to_string(),
        };
        out.notes.push(format!("its first picture is not shown: {}", display_safe(&why)));
        None
    }

    /// Decodes the first frame of a video whose frames are JPEG pictures.
    fn frame(&self, facts: &AvFacts) -> Outcome<Option<Picture>> {
        const BLOCK_BYTES: usize = 1 << 20;
        let head = self.bytes.read(0, BLOCK_BYTES)?;
        let tail = self.bytes.read(self.bytes.len().saturating_sub(BLOCK_BYTES as u64), BLOCK_BYTES)?;
        let names = [&b"MJPG"[..], b"mjpg", b"jpeg", b"mjpa", b"V_MJPEG"];
        if !names.iter().any(|n| [&head, &tail].iter().any(|b| memchr::memmem::find(b, n).is_some())) {
            return Ok(None);
        }
        let (mut from, mut tried) = (0_u64, 0);
        while from < self.bytes.len().min(MAX_SEARCHED_BYTES) && !self.cancel.is_cancelled() {
            let block = self.bytes.read(from, BLOCK_BYTES + 3)?;
            for at in memchr::memmem::find_iter(&block, b"\xff\xd8\xff") {
                tried += 1;
                let frame = self.bytes.read(from + at as u64, FRAME_BYTES)?;
                let fits = |p: &Picture| facts.video_width == Some(p.width);
                if let Some(picture) = picture::decode(&frame).ok().filter(fits) {
                    return Ok(Some(picture));
                }
                if tried >= MAX_TRIES {
                    return Ok(None);
                }
            }
            from += BLOCK_BYTES as u64;
        }
        Ok(None)
    }
}

fn short(number: f64) -> String {
    crate::preview::tensor::short(number)
}

/// Formats a duration: `4.2 s`, `12:30`, `1h02m`.
fn seconds_words(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        return "unknown length".into();
    }
    match Duration::try_from_secs_f64(seconds) {
        Ok(time) if seconds >= 60.0 => duration(time),
        _ => format!("{seconds:.1} s"),
    }
}
