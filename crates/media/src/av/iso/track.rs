//! One track: the contents of the boxes in its header.

use super::boxes::{be32, be64, BoxHeader, WordReader};
use super::entry::{Entry, Kind};
use super::tables::{DurationTable, Table};
use crate::av::rational::Rational;
use crate::{ProbeError, Reader};

/// An entry of an edit list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edit {
    /// Duration in ticks of the movie.
    pub duration: i64,
    /// Media time in ticks of the track; -1 for a pause.
    pub time: i64,
}

/// Value of a duration that is not specified.
pub const NO_DURATION: i64 = i64::MIN;

/// The maximum number of edits of one track that are read; real files have fewer.
const MAX_EDITS: u64 = 4096;

/// A track, as described by its header.
#[derive(Clone, Debug, Default)]
pub struct Track {
    /// The kind of the track.
    pub kind: Kind,
    /// The track ID; `None` before it is known.
    pub id: Option<u32>,
    /// Ticks per second; 0 before it is known.
    pub scale: u32,
    /// Duration in ticks; [`NO_DURATION`] if no box specifies it.
    pub duration: i64,
    /// Display width and height of the track in pixels.
    pub shown: (u32, u32),
    /// The first sample description.
    pub entry: Option<Entry>,
    /// Number of the description whose samples are read; `None` if all samples are read.
    pub description: Option<u32>,
    /// Table of `stts`: numbers of samples and their duration.
    pub times: Option<Table>,
    /// Whether the durations in this table differ.
    pub has_unequal_durations: bool,
    /// Table of `ctts`: numbers of samples and their shift.
    pub shifts: Option<Table>,
    /// Table of `stsc`: first chunk, samples per chunk, description.
    pub chunks: Table,
    /// Table of the offsets of chunks, and whether they have 64 bits.
    pub offsets: Option<(Table, bool)>,
    /// Table of the sizes of samples, and the width of each number in bits: 4, 8, 16 or 32.
    pub sizes: Option<(Table, u32)>,
    /// Size of every sample in bytes; 0 if the sizes differ.
    pub size: u32,
    /// Number of samples.
    pub samples: u64,
    /// Table of the key frames, from `stss`.
    pub keys: Option<Table>,
    /// The edit list.
    pub edits: Vec<Edit>,
    /// The number of samples in the ratio for the frame rate.
    pub rate_samples: i64,
    /// The number of ticks in the ratio for the frame rate; see [`rate_samples`](Self::rate_samples).
    pub rate_ticks: i64,
    /// Ticks by which decoding times precede those of the table, to compensate for negative shifts.
    pub early: i64,
    /// Number of samples to cut at the beginning, according to a tag.
    pub priming: Option<i64>,
    /// End of the samples in the header, in ticks.
    pub end: i64,
    /// Whether the tables are complete, so that the track yields packets.
    pub usable: bool,
    /// Ticks per second of the movie at the time the track was read.
    pub movie_scale: u32,
    /// Whether the edit list selects samples, and not only shifts times.
    pub edited: bool,
    /// Whether a `sidx` lists its fragments.
    pub listed: bool,
    /// The MIME type of a cover, and the offsets of the beginning and end of its picture.
    pub cover: Option<(&'static str, u64, u64)>,
    /// Boxes that were already read.
    pub read_boxes: UniqueBoxes,
}

/// Boxes that are allowed only once in a track.
#[derive(Clone, Copy, Debug, Default)]
pub struct UniqueBoxes {
    media_header: bool,
    descriptions: bool,
}

impl Track {
    /// Creates a track without any known values.
    pub fn new() -> Self {
        Self { duration: NO_DURATION, ..Self::default() }
    }

    /// Returns the time base; valid after the track was read.
    pub fn base(&self) -> Rational {
        if self.usable {
            Rational::new(1, i64::from(self.scale.max(1)))
        } else {
            Rational::new(1, 90_000)
        }
    }

    /// Reads a box of the track; irrelevant boxes are skipped.
    pub fn read_box(&mut self, reader: &mut Reader, head: &BoxHeader, isom: &super::Brand) -> Result<(), ProbeError> {
        match &head.kind {
            b"tkhd" => self.track_header(reader, head),
            b"mdhd" => self.media_header(reader, head),
            b"hdlr" => self.handler(reader, head),
            b"stsd" => self.descriptions(reader, head, isom),
            b"stts" => self.read_times(reader, head),
            b"ctts" => self.read_shifts(reader, head),
            b"stsc" => {
                let table = table(reader, head, 12)?;
                if self.chunks.count == 0 {
                    self.chunks = table;
                }
                Ok(())
            }
            b"stco" | b"co64" => {
                let long = &head.kind == b"co64";
                let table = offsets(reader, head, if long { 8 } else { 4 })?;
                if table.count > 0 && self.offsets.is_none() {
                    self.offsets = Some((table, long));
                }
                Ok(())
            }
            b"stsz" | b"stz2" => self.read_sizes(reader, head),
            b"stss" => {
                self.keys = Some(Table { at: head.body + 8, count: u64::from(be32(reader, head.body + 4)?) });
                Ok(())
            }
            b"elst" => self.read_edits(reader, head),
            _ => Ok(()),
        }
    }

    fn track_header(&mut self, reader: &mut Reader, head: &BoxHeader) -> Result<(), ProbeError> {
        if self.id.is_some() {
            return Err(ProbeError::broken("a track has two headers", head.at));
        }
        let long = reader.array::<1>(head.body)? == [1];
        let at = head.body + if long { 20 } else { 12 };
        self.id = Some(be32(reader, at)?);
        let size = at + if long { 16 } else { 12 } + 8 + 8 + 36;
        self.shown = (be32(reader, size)? >> 16, be32(reader, size + 4)? >> 16);
        Ok(())
    }

    fn media_header(&mut self, reader: &mut Reader, head: &BoxHeader) -> Result<(), ProbeError> {
        let [version] = reader.array(head.body)?;
        if self.read_boxes.media_header || version > 1 {
            return Err(ProbeError::broken("the header of a track's media is of an unknown kind", head.at));
        }
        self.read_boxes.media_header = true;
        let long = version == 1;
        let at = head.body + if long { 20 } else { 12 };
        let scale = be32(reader, at)?;
        self.scale = if scale == 0 || scale > i32::MAX as u32 { 1 } else { scale };
        let duration = if long { be64(reader, at + 4)? as i64 } else { i64::from(be32(reader, at + 4)?) };
        let unknown = if long { -1 } else { i64::from(u32::MAX) };
        self.duration = if duration == unknown { 0 } else { duration };
        Ok(())
    }

    fn handler(&mut self, reader: &mut Reader, head: &BoxHeader) -> Result<(), ProbeError> {
        match &reader.array::<4>(head.body + 8)? {
            b"vide" => self.kind = Kind::Video,
            b"soun" => self.kind = Kind::Audio,
            _ => {}
        }
        Ok(())
    }

    fn descriptions(&mut self, reader: &mut Reader, head: &BoxHeader, isom: &super::Brand) -> Result<(), ProbeError> {
        let [version] = reader.array(head.body)?;
        let count = be32(reader, head.body + 4)?;
        if self.read_boxes.descriptions || count == 0 || u64::from(count) > head.len() / 8 || count > 1024 {
            return Err(ProbeError::broken("the sample descriptions of a track cannot be read", head.at));
        }
        self.read_boxes.descriptions = true;
        let mut at = head.body + 8;
        for index in 0..count {
            let size = u64::from(be32(reader, at)?);
            let format = reader.array::<4>(at + 4)?;
            if size < 8 {
                return Err(ProbeError::broken("a sample description is too short", at));
            }
            let description = BoxHeader { kind: format, at, body: at + 8, end: (at + size).min(head.end) };
            match &self.entry {
                None => {
                    self.entry = Some(Entry::read(reader, &description, &mut self.kind, version, isom)?);
                    self.description = Some(index);
                }
                Some(entry) if entry.format == format => self.description = None,
                Some(_) => {}
            }
            at += size;
        }
        if let Some(entry) = &mut self.entry {
            entry.complete(self.scale);
        }
        Ok(())
    }

    /// Reads `stts`: durations above 2^32 - 480,000 are negative corrections, which shorten subsequent durations.
    fn read_times(&mut self, reader: &mut Reader, head: &BoxHeader) -> Result<(), ProbeError> {
        let table = Table { at: head.body + 8, count: u64::from(be32(reader, head.body + 4)?) };
        let (mut ticks, mut samples) = (0_i64, 0_i64);
        let mut first = None;
        self.has_unequal_durations = false;
        let mut times = DurationTable::new(&table);
        while let Some((count, duration)) = times.next(reader)? {
            self.has_unequal_durations |= *first.get_or_insert(duration) != duration;
            ticks = ticks.saturating_add(duration.saturating_mul(i64::from(count)));
            samples = samples.saturating_add(i64::from(count));
        }
        if ticks > 0 && samples <= i64::from(i32::MAX) - self.rate_samples {
            self.rate_ticks = self.rate_ticks.saturating_add(ticks);
            self.rate_samples += samples;
        }
        if ticks != 0 {
            self.duration = self.duration.min(ticks);
        }
        self.end = ticks;
        self.times = Some(table);
        Ok(())
    }

    fn read_shifts(&mut self, reader: &mut Reader, head: &BoxHeader) -> Result<(), ProbeError> {
        let table = Table { at: head.body + 8, count: u64::from(be32(reader, head.body + 4)?) };
        if table.count == 0 {
            return Ok(());
        }
        self.shifts = None;
        let mut words = table.words(2);
        let mut index = 0;
        while let Some((count, shift)) = words.pair(reader)? {
            index += 1;
            // The last two entries are ignored, because they are often wrong.
            if (count as i32) <= 0 || index + 1 >= table.count {
                continue;
            }
            let shift = i64::from(shift as i32);
            if shift.abs() > 1 << 28 {
                return Ok(());
            }
            self.early = self.early.max(-shift);
        }
        self.shifts = Some(table);
        Ok(())
    }

    fn read_sizes(&mut self, reader: &mut Reader, head: &BoxHeader) -> Result<(), ProbeError> {
        let (size, bits) = if &head.kind == b"stsz" {
            (be32(reader, head.body + 4)?, 32)
        } else {
            (0, u32::from(reader.array::<1>(head.body + 7)?[0]))
        };
        let count = u64::from(be32(reader, head.body + 8)?);
        self.size = size;
        if size == 0 {
            if !matches!(bits, 4 | 8 | 16 | 32) {
                return Err(ProbeError::broken("the sizes of the samples are of an unknown kind", head.at));
            }
            if count >= (i64::from(i32::MAX) / i64::from(bits)) as u64 {
                return Err(ProbeError::broken("a track has more samples than can be", head.at));
            }
            let at = head.body + 12;
            if at + (count * u64::from(bits)).div_ceil(8) > reader.len() {
                // Without sizes, there are no samples.
                self.samples = 0;
                return Ok(());
            }
            self.sizes = Some((Table { at, count }, bits));
        }
        self.samples = count;
        Ok(())
    }

    fn read_edits(&mut self, reader: &mut Reader, head: &BoxHeader) -> Result<(), ProbeError> {
        let long = reader.array::<1>(head.body)? == [1];
        let count = head.len().saturating_sub(8) / if long { 20 } else { 12 };
        self.edits.clear();
        let mut words = WordReader::new(head.body + 8, count.min(MAX_EDITS) * if long { 5 } else { 3 });
        while let Some((first, second)) = words.pair(reader)? {
            let edit = if long {
                let Some((high, low)) = words.pair(reader)? else { break };
                let wide = |high, low| (u64::from(high) << 32 | u64::from(low)) as i64;
                Edit { duration: wide(first, second), time: wide(high, low) }
            } else {
                Edit { duration: i64::from(first), time: i64::from(second as i32) }
            };
            words.next(reader)?;
            self.edits.push(edit);
        }
        Ok(())
    }

    /// Returns the number of chunks.
    pub fn chunk_count(&self) -> u64 {
        self.offsets.map_or(0, |(table, _)| table.count)
    }
}

/// Reads the location of a table with entries of `size` bytes, which must fit into its box.
fn table(reader: &mut Reader, head: &BoxHeader, size: u64) -> Result<Table, ProbeError> {
    let count = u64::from(be32(reader, head.body + 4)?);
    if count * size + 4 > head.len() {
        return Err(ProbeError::broken("a table of its header is larger than its box", head.at));
    }
    Ok(Table { at: head.body + 8, count })
}

/// Reads the location of a table of chunk offsets, limited to the entries that fit into the box.
fn offsets(reader: &mut Reader, head: &BoxHeader, size: u64) -> Result<Table, ProbeError> {
    let count = u64::from(be32(reader, head.body + 4)?).min(head.len().saturating_sub(8) / size);
    let table = Table { at: head.body + 8, count };
    if table.at + count * size > reader.len() {
        return Err(ProbeError::broken("a table of its header is cut short", reader.len()));
    }
    Ok(table)
}
