//! Waveforms of sound, decoded within fixed limits of time and length.

use super::PartBytes;
use gristmill_core::Cancel;
use std::io::{self, Read, Seek, SeekFrom};
use std::time::{Duration, Instant};
use symphonia::core::audio::sample::Sample as _;
use symphonia::core::codecs::audio::{AudioDecoder, AudioDecoderOptions};
use symphonia::core::codecs::CodecParameters;
use symphonia::core::common::Limit;
use symphonia::core::errors::Error;
use symphonia::core::formats::probe::Hint;
use symphonia::core::formats::{FormatOptions, FormatReader, TrackType};
use symphonia::core::io::{MediaSource, MediaSourceStream};
use symphonia::core::meta::MetadataOptions;

/// Maximum time for decoding; the waveform up to that time is shown.
const MAX_DECODING_TIME: Duration = Duration::from_millis(1_500);
/// Maximum seconds of sound that are decoded.
const MAX_SECONDS: f64 = 1_200.0;
/// Maximum number of peaks; more than any screen has columns.
const MAX_PEAKS: usize = 4_096;
/// Maximum number of samples in a packet, for all channels together.
const MAX_PACKET_SAMPLES: usize = 16 << 20;
/// Number of consecutive packets with errors after which decoding stops.
const MAX_UNDECODABLE_PACKETS: usize = 100;
/// Maximum size in bytes of a picture inside a file.
const MAX_PICTURE_BYTES: usize = 16 << 20;

/// The waveform of a sound.
#[derive(Clone, Debug, PartialEq)]
pub struct Waveform {
    /// Minimum and maximum sample of each interval, from -1 to 1, for all channels together; the intervals are equal.
    pub peaks: Vec<(f32, f32)>,
    /// Decoded duration in seconds.
    pub seconds: f64,
    /// Samples per second.
    pub rate: u32,
    /// Number of channels.
    pub channels: usize,
    /// Codec name from the decoding library, such as `mp3`, `flac` or `aac`.
    pub codec: String,
    /// Whether decoding stopped before the end of the sound.
    pub is_cut: bool,
    /// Number of packets that could not be decoded.
    pub undecodable: usize,
}

impl Waveform {
    /// Returns the waveform divided into `columns` equal intervals.
    pub fn columns(&self, columns: usize) -> Vec<(f32, f32)> {
        let count = self.peaks.len();
        if count == 0 {
            return Vec::new();
        }
        let piece = |column: usize| {
            let from = column * count / columns;
            let to = ((column + 1) * count / columns).max(from + 1).min(count);
            let peaks = self.peaks.get(from..to).unwrap_or_default();
            peaks.iter().fold((0.0_f32, 0.0_f32), |(low, high), (l, h)| (low.min(*l), high.max(*h)))
        };
        (0..columns).map(piece).collect()
    }

    /// Returns the largest absolute value of a sample.
    pub fn loudest(&self) -> f32 {
        self.peaks.iter().fold(0.0, |loudest, (low, high)| loudest.max(-low).max(*high))
    }
}

/// Result of [`preview_audio`].
#[derive(Debug, Default)]
pub struct AudioPreview {
    /// The waveform, or the reason why there is none; safe to show.
    pub waveform: Option<Result<Waveform, String>>,
    /// The first picture in the file, still encoded.
    pub visual: Option<Vec<u8>>,
}

/// Decodes the first sound track. Takes at most 1.5 seconds, unless a read takes longer.
pub fn preview_audio(suffix: &str, bytes: &dyn PartBytes, cancel: &Cancel) -> AudioPreview {
    let stream = Stream { bytes, at: 0, cancel, until: Instant::now() + MAX_DECODING_TIME };
    let until = stream.until;
    let mut heard = AudioPreview::default();
    let source = MediaSourceStream::new(Box::new(stream), Default::default());
    let mut hint = Hint::new();
    hint.with_extension(suffix);
    let mut meta = MetadataOptions::default();
    meta.limit_visual_bytes = Limit::Maximum(MAX_PICTURE_BYTES);
    let format = symphonia::default::get_probe().probe(&hint, source, FormatOptions::default(), meta);
    let mut format = match format {
        Ok(format) => format,
        Err(error) => {
            heard.waveform = Some(Err(safe_message(&error)));
            return heard;
        }
    };
    heard.visual = visual(format.as_mut());
    if format.default_track(TrackType::Audio).is_some() {
        let done = || cancel.is_cancelled() || Instant::now() >= until;
        heard.waveform = Some(decode(format.as_mut(), &done));
    }
    heard
}

fn safe_message(error: &Error) -> String {
    match error {
        Error::Unsupported(_) => "its codec is not supported".to_owned(),
        error => gristmill_core::text::display_safe(error.to_string().trim_end()).into_owned(),
    }
}

fn visual(format: &mut dyn FormatReader) -> Option<Vec<u8>> {
    let attached = {
        let mut metadata = format.metadata();
        let revision = metadata.skip_to_latest()?;
        let mut visuals =
            revision.media.visuals.iter().chain(revision.per_track.iter().flat_map(|t| &t.metadata.visuals));
        visuals.next().map(|v| v.data.to_vec())
    };
    attached.filter(|data| !data.is_empty())
}

fn decode(format: &mut dyn FormatReader, done: &dyn Fn() -> bool) -> Result<Waveform, String> {
    let track = format.default_track(TrackType::Audio).ok_or("it has no sound")?;
    let track_id = track.id;
    let Some(CodecParameters::Audio(parameters)) = track.codec_params.as_ref() else {
        return Err("its audio codec is unknown".into());
    };
    let mut decoder = symphonia::default::get_codecs()
        .make_audio_decoder(parameters, &AudioDecoderOptions::default())
        .map_err(|error| safe_message(&error))?;
    let mut outline = Outline { rate: parameters.sample_rate.unwrap_or(0), ..Outline::default() };
    let mut is_cut = false;
    let mut bad_in_a_row = 0;
    loop {
        if done() || outline.seconds() > MAX_SECONDS {
            is_cut = true;
            break;
        }
        let packet = match format.next_packet() {
            Ok(Some(packet)) => packet,
            Ok(None) => break,
            Err(Error::IoError(error)) if error.kind() == io::ErrorKind::UnexpectedEof => break,
            Err(error) if outline.frames == 0 => return Err(safe_message(&error)),
            Err(_) => {
                is_cut = true;
                break;
            }
        };
        if packet.track_id != track_id {
            continue;
        }
        if outline.decode_packet(decoder.as_mut(), &packet) {
            bad_in_a_row = 0;
        } else {
            bad_in_a_row += 1;
            if bad_in_a_row >= MAX_UNDECODABLE_PACKETS {
                is_cut = true;
                break;
            }
        }
    }
    if outline.frames == 0 {
        return Err("none of its sound can be decoded".into());
    }
    let codec = gristmill_core::text::display_safe(decoder.codec_info().short_name).into_owned();
    Ok(Waveform {
        seconds: outline.seconds(),
        rate: outline.rate,
        channels: outline.channels,
        codec,
        is_cut,
        undecodable: outline.undecodable,
        peaks: outline.finish(),
    })
}

/// Collects peaks. The intervals grow with the sound, so that their number is bounded.
#[derive(Default)]
struct Outline {
    /// Minimum and maximum sample of each complete interval.
    peaks: Vec<(f32, f32)>,
    /// Minimum and maximum sample of the interval that has begun.
    current: (f32, f32),
    /// Number of frames in the interval that has begun.
    in_current: u64,
    /// Number of frames in a complete interval.
    per_peak: u64,
    frames: u64,
    rate: u32,
    channels: usize,
    undecodable: usize,
    samples: Vec<f32>,
}

impl Outline {
    fn seconds(&self) -> f64 {
        self.frames as f64 / f64::from(self.rate.max(1))
    }

    /// Decodes a packet and returns whether that succeeded.
    fn decode_packet(&mut self, decoder: &mut dyn AudioDecoder, packet: &symphonia::core::packet::Packet) -> bool {
        let Ok(audio) = decoder.decode(packet) else {
            self.undecodable += 1;
            return false;
        };
        let count = audio.samples_interleaved();
        if count > MAX_PACKET_SAMPLES {
            self.undecodable += 1;
            return false;
        }
        self.samples.resize(count, f32::MID);
        audio.copy_to_slice_interleaved(&mut self.samples);
        let channels = audio.spec().channels().count().max(1);
        if self.frames == 0 {
            (self.rate, self.channels) = (audio.spec().rate(), channels);
        }
        let samples = std::mem::take(&mut self.samples);
        for frame in samples.chunks_exact(channels) {
            self.add(frame);
        }
        self.samples = samples;
        true
    }

    fn add(&mut self, frame: &[f32]) {
        for sample in frame.iter().filter(|s| s.is_finite()) {
            let sample = sample.clamp(-1.0, 1.0);
            self.current = (self.current.0.min(sample), self.current.1.max(sample));
        }
        self.frames += 1;
        self.in_current += 1;
        self.per_peak = self.per_peak.max(1);
        if self.in_current >= self.per_peak {
            self.peaks.push(std::mem::take(&mut self.current));
            self.in_current = 0;
        }
        if self.peaks.len() >= MAX_PEAKS {
            let pairs = self.peaks.chunks(2);
            self.peaks =
                pairs.map(|p| p.iter().fold((0.0_f32, 0.0_f32), |a, b| (a.0.min(b.0), b.1.max(a.1)))).collect();
            self.per_peak *= 2;
        }
    }

    fn finish(mut self) -> Vec<(f32, f32)> {
        if self.in_current > 0 {
            self.peaks.push(self.current);
        }
        self.peaks
    }
}

/// A part as a stream, which ends on cancellation or at the time limit.
struct Stream<'a> {
    bytes: &'a dyn PartBytes,
    at: u64,
    cancel: &'a Cancel,
    until: Instant,
}

impl Read for Stream<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.cancel.is_cancelled() || Instant::now() >= self.until {
            return Err(io::Error::other("it takes too long"));
        }
        let piece = self.bytes.read(self.at, buf.len()).map_err(|failure| io::Error::other(failure.to_string()))?;
        let count = piece.len().min(buf.len());
        for (to, from) in buf.iter_mut().zip(&piece) {
            *to = *from;
        }
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for Stream<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let place = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.bytes.len().checked_add_signed(by),
        };
        self.at = place.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(self.at)
    }
}

impl MediaSource for Stream<'_> {
    fn is_seekable(&self) -> bool {
        true
    }

    fn byte_len(&self) -> Option<u64> {
        Some(self.bytes.len())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Returns a sound file with one channel of 16 bits and `rate` samples per second.
    pub(in crate::preview) fn wav(rate: u32, samples: &[i16]) -> Vec<u8> {
        let mut out = b"RIFF".to_vec();
        out.extend((36 + samples.len() as u32 * 2).to_le_bytes());
        out.extend(b"WAVEfmt \x10\0\0\0\x01\0\x01\0");
        out.extend(rate.to_le_bytes());
        out.extend((rate * 2).to_le_bytes());
        out.extend(b"\x02\0\x10\0data");
        out.extend((samples.len() as u32 * 2).to_le_bytes());
        out.extend(samples.iter().flat_map(|s| s.to_le_bytes()));
        out
    }

    fn of(bytes: Vec<u8>) -> Result<Waveform, String> {
        preview_audio("wav", &bytes, &Cancel::default()).waveform.unwrap()
    }

    #[test]
    fn waveform_shows_the_peaks_of_the_sound() {
        let samples: Vec<i16> = (0..8_000).map(|i| if i < 4_000 { 0 } else { 16_384 * (i % 2 * 2 - 1) }).collect();
        let wave = of(wav(8_000, &samples)).unwrap();
        assert_eq!((wave.rate, wave.channels, wave.is_cut), (8_000, 1, false));
        assert!((wave.seconds - 1.0).abs() < 0.01, "{}", wave.seconds);
        let columns = wave.columns(4);
        assert_eq!(columns[0], (0.0, 0.0));
        assert!(columns[3].0 < -0.49 && columns[3].1 > 0.49, "{columns:?}");
        assert!(wave.peaks.len() <= MAX_PEAKS);
        assert_eq!(wave.columns(0), []);
    }

    #[test]
    fn wrong_sound_headers_give_an_error_or_the_readable_part() {
        let good = wav(8_000, &[1_000; 800]);
        for (at, value) in
            [(4, u32::MAX), (40, u32::MAX), (24, u32::MAX), (24, 0), (22, 0xffff_0001), (32, 0), (16, u32::MAX)]
        {
            let mut bad = good.clone();
            bad[at..at + 4].copy_from_slice(&value.to_le_bytes());
            let started = Instant::now();
            let _ = of(bad);
            assert!(started.elapsed() < Duration::from_secs(20));
        }
        assert!(of(Vec::new()).is_err());
        assert!(of(b"ID3 nothing".to_vec()).is_err());
    }

    #[test]
    fn cancelled_audio_preview_has_no_waveform() {
        let cancel = Cancel::default();
        cancel.cancel();
        assert!(preview_audio("wav", &wav(8_000, &[0; 100]), &cancel).waveform.unwrap().is_err());
    }
}
