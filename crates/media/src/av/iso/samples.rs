//! Iterates over the samples of a track in decoding order, reading its tables run by run.

use super::boxes::WordReader;
use super::entry::Kind;
use super::tables::DurationTable;
use super::track::Track;
use crate::av::codec::AudioCodec;
use crate::{ProbeError, Reader};

/// A sample, as listed in the tables of the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Decoding time in ticks.
    pub time: i64,
    /// Presentation time minus decoding time, in ticks.
    pub shift: i64,
    /// Duration in ticks; 0 if the tables do not specify it.
    pub duration: i64,
    /// Whether the sample is a key frame.
    pub key: bool,
    /// Whether the sample is decoded, but not presented.
    pub discard: bool,
    /// Size in bytes.
    pub size: u64,
    /// Offset in the file.
    pub at: u64,
}

/// A callback for samples; iteration stops when it returns `false`.
pub type Visitor<'a> = dyn FnMut(&mut Reader, Sample) -> Result<bool, ProbeError> + 'a;

/// A value that applies to a number of samples.
#[derive(Clone, Debug, Default)]
struct Run<T> {
    /// Number of samples to which the value still applies.
    left: u64,
    value: T,
}

/// Iterates over the samples of a track without storing them.
pub struct Samples<'a> {
    track: &'a Track,
    times: Option<DurationTable>,
    time_run: Run<i64>,
    shifts: Option<WordReader>,
    shift_run: Run<i64>,
    keys: Option<WordReader>,
    next_key: Option<u64>,
    keys_from_one: bool,
    chunks: Chunks,
    sizes: Option<WordReader>,
    /// The remaining sizes of the current word, the next one in its highest bits, and their number.
    small: (u32, u32),
    number: u64,
    time: i64,
    /// Number of remaining samples in the current chunk of uncompressed audio.
    plain_left: u64,
    plain: bool,
}

/// Whether a track is uncompressed audio, whose samples are read up to 1024 at a time within each chunk.
pub fn is_plain(track: &Track, reader: &mut Reader) -> Result<bool, ProbeError> {
    let Some(times) = track.times.filter(|times| track.kind == Kind::Audio && times.count == 1) else {
        return Ok(false);
    };
    Ok(DurationTable::new(&times).next(reader)?.is_some_and(|(_, duration)| duration == 1))
}

impl<'a> Samples<'a> {
    /// Starts at the first sample; `first` is its decoding time in ticks.
    pub fn new(track: &'a Track, reader: &mut Reader, first: i64) -> Result<Self, ProbeError> {
        let mut keys = track.keys.map(|table| table.words(1));
        let next_key = match &mut keys {
            Some(keys) => keys.next(reader)?.map(u64::from),
            None => None,
        };
        let plain = is_plain(track, reader)?;
        Ok(Self {
            track,
            times: track.times.map(|table| DurationTable::new(&table)),
            time_run: Run::default(),
            shifts: track.shifts.map(|table| table.words(2)),
            shift_run: Run::default(),
            keys,
            next_key,
            keys_from_one: next_key.is_some_and(|key| key > 0),
            chunks: Chunks::new(track, reader)?,
            sizes: track
                .sizes
                .map(|(table, bits)| WordReader::new(table.at, (table.count * u64::from(bits)).div_ceil(32))),
            small: (0, 0),
            number: 0,
            time: first - if plain { 0 } else { track.early },
            plain_left: 0,
            plain,
        })
    }

    /// Returns the next sample; `None` after the last one.
    pub fn next(&mut self, reader: &mut Reader) -> Result<Option<Sample>, ProbeError> {
        if self.plain {
            self.next_plain(reader)
        } else {
            self.next_sample(reader)
        }
    }

    fn next_sample(&mut self, reader: &mut Reader) -> Result<Option<Sample>, ProbeError> {
        loop {
            if self.number >= self.track.samples {
                return Ok(None);
            }
            let Some((at, description)) = self.chunks.next(reader)? else { return Ok(None) };
            let size = self.size(reader)?;
            self.chunks.at = at.saturating_add(size);
            let key = self.key(reader)?;
            let shift = self.shift(reader)?;
            let duration = self.duration(reader)?;
            let sample = Sample { time: self.time, shift, duration, key, discard: false, size, at };
            self.time = self.time.saturating_add(duration);
            self.number += 1;
            if self.track.description.is_none_or(|only| u64::from(only) + 1 == u64::from(description)) {
                return Ok(Some(sample));
            }
        }
    }

    /// Returns a piece of a chunk of uncompressed audio: at most 1024 samples.
    fn next_plain(&mut self, reader: &mut Reader) -> Result<Option<Sample>, ProbeError> {
        if self.plain_left == 0 {
            let Some((at, _)) = self.chunks.next_chunk(reader)? else { return Ok(None) };
            self.chunks.at = at;
            self.plain_left = self.chunks.per_chunk;
        }
        let Some(entry) = &self.track.entry else { return Ok(None) };
        let (per, bytes) = (u64::from(entry.samples_per_frame), u64::from(entry.bytes_per_frame));
        let (samples, size) = if per > 1 && bytes == 0 {
            return Ok(None);
        } else if per >= 160 {
            (per, bytes)
        } else if per > 1 {
            let samples = (1024 / per * per).min(self.plain_left);
            (samples, samples / per * bytes)
        } else {
            let samples = self.plain_left.min(1024);
            (samples, samples * u64::from(if entry.sample_size > 0 { entry.sample_size } else { self.track.size }))
        };
        let at = self.chunks.at;
        self.chunks.at = at.saturating_add(size);
        self.plain_left = self.plain_left.saturating_sub(samples);
        let sample = Sample { time: self.time, shift: 0, duration: 0, key: true, discard: false, size, at };
        self.time = self.time.saturating_add(i64::try_from(samples).unwrap_or(0));
        Ok(Some(sample))
    }

    fn size(&mut self, reader: &mut Reader) -> Result<u64, ProbeError> {
        if self.track.size > 0 {
            let declared = self.track.entry.as_ref().map_or(0, |entry| entry.sample_size);
            return Ok(u64::from(self.track.size.max(declared)));
        }
        let Some(words) = &mut self.sizes else { return Ok(0) };
        let bits = self.track.sizes.map_or(32, |(_, bits)| bits).max(1);
        if self.small.1 == 0 {
            self.small = (words.next(reader)?.unwrap_or(0), 32 / bits);
        }
        self.small.1 -= 1;
        let size = self.small.0.checked_shr(32 - bits).unwrap_or(0);
        self.small.0 = self.small.0.checked_shl(bits).unwrap_or(0);
        Ok(u64::from(size))
    }

    fn key(&mut self, reader: &mut Reader) -> Result<bool, ProbeError> {
        let Some(keys) = &mut self.keys else { return Ok(true) };
        let Some(next) = self.next_key else {
            return Ok(self.track.kind == Kind::Audio || self.number == 0);
        };
        if self.number + u64::from(self.keys_from_one) != next {
            return Ok(false);
        }
        if let Some(key) = keys.next(reader)? {
            self.next_key = Some(u64::from(key));
        }
        Ok(true)
    }

    fn shift(&mut self, reader: &mut Reader) -> Result<i64, ProbeError> {
        let Some(words) = &mut self.shifts else { return Ok(0) };
        while self.shift_run.left == 0 {
            match words.pair(reader)? {
                Some((count, shift)) if (count as i32) > 0 => {
                    self.shift_run = Run { left: u64::from(count), value: i64::from(shift as i32) }
                }
                Some(_) => {}
                None => return Ok(0),
            }
        }
        self.shift_run.left -= 1;
        Ok(self.shift_run.value)
    }

    fn duration(&mut self, reader: &mut Reader) -> Result<i64, ProbeError> {
        let Some(times) = &mut self.times else { return Ok(0) };
        while self.time_run.left == 0 {
            match times.next(reader)? {
                Some((count, duration)) => self.time_run = Run { left: u64::from(count), value: duration },
                None => return Ok(self.time_run.value),
            }
        }
        self.time_run.left -= 1;
        Ok(self.time_run.value)
    }
}

/// Iterates over chunks and the samples in each.
#[derive(Clone, Debug)]
struct Chunks {
    runs: WordReader,
    /// First chunk, samples per chunk, and description of the next run.
    ahead: Option<(u64, u32, u32)>,
    per_chunk: u64,
    description: u32,
    offsets: WordReader,
    long: bool,
    number: u64,
    left: u64,
    /// Offset of the next sample of this chunk.
    at: u64,
}

impl Chunks {
    fn new(track: &Track, reader: &mut Reader) -> Result<Self, ProbeError> {
        let (offsets, long) = track
            .offsets
            .map_or((WordReader::default(), false), |(table, long)| (table.words(if long { 2 } else { 1 }), long));
        let mut chunks = Self {
            runs: track.chunks.words(3),
            ahead: None,
            per_chunk: 0,
            description: 1,
            offsets,
            long,
            number: 0,
            left: 0,
            at: 0,
        };
        chunks.read_next_run(reader)?;
        Ok(chunks)
    }

    fn read_next_run(&mut self, reader: &mut Reader) -> Result<(), ProbeError> {
        self.ahead = match (self.runs.pair(reader)?, self.runs.next(reader)?) {
            (Some((first, count)), Some(description)) => Some((u64::from(first), count.max(1), description.max(1))),
            _ => None,
        };
        Ok(())
    }

    fn next_chunk(&mut self, reader: &mut Reader) -> Result<Option<(u64, u32)>, ProbeError> {
        let at = if self.long {
            self.offsets.pair(reader)?.map(|(high, low)| u64::from(high) << 32 | u64::from(low))
        } else {
            self.offsets.next(reader)?.map(u64::from)
        };
        let Some(at) = at else { return Ok(None) };
        self.number += 1;
        while let Some((_, count, description)) =
            self.ahead.filter(|&(first, ..)| first <= self.number || self.number == 1 && self.per_chunk == 0)
        {
            (self.per_chunk, self.description) = (u64::from(count), description);
            self.read_next_run(reader)?;
        }
        Ok(Some((if at > i64::MAX as u64 { 0 } else { at }, self.description)))
    }

    /// Returns the offset of the next sample, and its description.
    fn next(&mut self, reader: &mut Reader) -> Result<Option<(u64, u32)>, ProbeError> {
        while self.left == 0 {
            let Some((at, _)) = self.next_chunk(reader)? else { return Ok(None) };
            self.at = at;
            self.left = self.per_chunk;
        }
        self.left -= 1;
        Ok(Some((self.at, self.description)))
    }
}

/// Whether a track's chunks contain more samples than the track: its edits are not applied then.
pub fn overrun(track: &Track, reader: &mut Reader) -> Result<bool, ProbeError> {
    let mut words = track.chunks.words(3);
    let (mut sum, mut before): (u64, Option<(u64, u64)>) = (0, None);
    while let (Some((first, count)), Some(_)) = (words.pair(reader)?, words.next(reader)?) {
        let first = u64::from(first);
        if let Some((start, per)) = before {
            sum = sum.saturating_add(first.saturating_sub(start).saturating_mul(per));
        }
        before = Some((first, u64::from(count.max(1))));
    }
    if let Some((start, per)) = before {
        sum = sum.saturating_add((track.chunk_count() + 1).saturating_sub(start).saturating_mul(per));
    }
    Ok(sum > track.samples)
}

/// Whether the durations of this codec's packets come from their frames, regardless of the tables.
pub fn parsed(codec: AudioCodec) -> bool {
    matches!(codec, AudioCodec::Mpeg | AudioCodec::Ac3 | AudioCodec::Eac3)
}
