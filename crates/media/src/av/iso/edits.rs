//! Edit lists: determine which samples are read, and when they are presented.

use super::entry::Kind;
use super::samples::{overrun, Sample, Samples};
use super::track::Track;
use crate::av::codec::AudioCodec;
use crate::av::rational::{rescale, Rounding};
use crate::{ProbeError, Reader};

/// The maximum number of samples that are visited for one track, over all its edits; exceeding it is an error.
const MAX_VISITED_SAMPLES: u64 = 10_000_000;

/// The result of applying the edits of a track.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// Number of samples, including those before and after each edit that are required for decoding.
    pub count: u64,
    /// Decoding time of the first sample.
    pub first: i64,
    /// Presentation time at which the track begins, if the edits or the tables determine it.
    pub start: Option<i64>,
    /// Duration in ticks.
    pub duration: i64,
    /// Samples of audio to be cut at the beginning.
    pub cut: i64,
    /// Difference between presentation and decoding times at the beginning, in ticks; subtracted from a time before seeking.
    pub lead: i64,
    /// Whether a sample starts after the end of the file.
    pub exceeds_file: bool,
    /// Whether the edits select samples, and not only shift times.
    pub applied: bool,
    /// For each edit, the time at which its discarded samples begin.
    prefixes: Vec<i64>,
    /// Number of ticks that is subtracted from all times of a video track.
    shift: i64,
}

/// A callback for samples; iteration stops when it returns `false`.
pub type Visitor<'a> = dyn FnMut(&mut Reader, Sample) -> Result<bool, ProbeError> + 'a;

/// Computes the timeline of a track from the header.
pub fn timeline(track: &Track, reader: &mut Reader) -> Result<Timeline, ProbeError> {
    if !track.usable {
        return Ok(Timeline { duration: track.duration, ..Timeline::default() });
    }
    let offset = offset(track);
    let first = if track.edited { 0 } else { offset.unwrap_or(0).saturating_neg() };
    if track.edited && !track.edits.is_empty() && track.samples > 0 && !overrun(track, reader)? {
        return edited(track, reader);
    }
    let mut line =
        Timeline { duration: track.duration, lead: offset.map_or(0, |_| media_start(track)), ..Timeline::default() };
    let mut samples = Samples::new(track, reader, first)?;
    while let Some(sample) = samples.next(reader)? {
        if line.count == 0 {
            line.first = sample.time;
            line.start = (track.kind == Kind::Video).then_some(sample.time + track.early + sample.shift);
        }
        line.exceeds_file |= sample.size > 0 && sample.at >= reader.len();
        line.count += 1;
        if line.count > MAX_VISITED_SAMPLES {
            return Err(invalid_edit_list());
        }
    }
    if !track.edited {
        line.cut = single_start(track).unwrap_or(0);
    }
    Ok(line)
}

/// Returns the shift of all times by the first edits if they are not applied: the media time minus the initial pause.
pub fn offset(track: &Track) -> Option<i64> {
    let pause = track.edits.first().filter(|edit| edit.time == -1).map_or(0, |edit| edit.duration);
    let start = media_start(track);
    if track.movie_scale == 0 || pause == 0 && start == 0 {
        return None;
    }
    let pause = rescale(pause, i64::from(track.scale), i64::from(track.movie_scale), Rounding::Near);
    Some(start.wrapping_sub(pause))
}

fn media_start(track: &Track) -> i64 {
    let first = usize::from(track.edits.first().is_some_and(|edit| edit.time == -1));
    track.edits.get(first).map_or(0, |edit| edit.time.max(0))
}

/// Returns the number of AAC samples to be cut if a single edit that is not applied specifies it.
pub fn single_start(track: &Track) -> Option<i64> {
    let pauses = usize::from(track.edits.first().is_some_and(|edit| edit.time == -1));
    let aac = track.entry.as_ref().is_some_and(|entry| entry.audio.codec == AudioCodec::Aac);
    (aac && track.kind == Kind::Audio && track.edits.len() == pauses + 1)
        .then(|| media_start(track))
        .filter(|&start| start > 0)
}

/// Visits the samples of a track according to its timeline.
pub fn visit(track: &Track, line: &Timeline, reader: &mut Reader, visitor: &mut Visitor) -> Result<(), ProbeError> {
    if !track.usable {
        return Ok(());
    }
    if line.applied {
        let mut walk = EditWalk::new(track, Some(line));
        return walk.run(reader, visitor);
    }
    let first = if track.edited { 0 } else { offset(track).unwrap_or(0).saturating_neg() };
    let mut samples = Samples::new(track, reader, first)?;
    while let Some(sample) = samples.next(reader)? {
        if !visitor(reader, sample)? {
            break;
        }
    }
    Ok(())
}

fn edited(track: &Track, reader: &mut Reader) -> Result<Timeline, ProbeError> {
    let mut walk = EditWalk::new(track, None);
    walk.run(reader, &mut |_, _| Ok(true))?;
    let shift = if track.kind == Kind::Video { walk.earliest.saturating_sub(walk.pauses).max(0) } else { 0 };
    Ok(Timeline {
        count: walk.count,
        first: walk.first.unwrap_or(0).saturating_sub(shift),
        start: Some(walk.pauses),
        duration: track.duration.min(walk.end.saturating_add(track.early)),
        cut: walk.cut,
        lead: walk.earliest.saturating_sub(walk.pauses),
        exceeds_file: walk.exceeds_file,
        applied: true,
        prefixes: walk.prefixes,
        shift,
    })
}

fn invalid_edit_list() -> ProbeError {
    ProbeError::broken("its edit lists are too long to be followed", 0)
}

/// Processes the edits in order: computes the timeline if there is none yet, otherwise passes the samples to the visitor.
struct EditWalk<'a> {
    track: &'a Track,
    line: Option<&'a Timeline>,
    prefixes: Vec<i64>,
    count: u64,
    first: Option<i64>,
    /// The earliest presentation time; -1 before any is known.
    earliest: i64,
    /// Duration of the empty edits at the beginning.
    pauses: i64,
    cut: i64,
    /// Presentation time at the end of the edits so far.
    end: i64,
    /// Number of audio edits so far: samples are cut only before the first one.
    sound_edits: u32,
    /// Number of samples visited, which is limited.
    steps: u64,
    exceeds_file: bool,
}

/// The state of one edit.
struct EditSegment {
    time: i64,
    duration: i64,
    /// Decoding time of the next sample.
    now: i64,
    begun: bool,
    /// Total duration of the samples before the beginning of the edit.
    before: i64,
    has_key_after: bool,
}

impl<'a> EditWalk<'a> {
    fn new(track: &'a Track, line: Option<&'a Timeline>) -> Self {
        Self {
            track,
            line,
            prefixes: Vec::new(),
            count: 0,
            first: None,
            earliest: -1,
            pauses: 0,
            cut: 0,
            end: -track.early,
            sound_edits: 0,
            steps: 0,
            exceeds_file: false,
        }
    }

    fn run(&mut self, reader: &mut Reader, visitor: &mut Visitor) -> Result<(), ProbeError> {
        if self.track.movie_scale == 0 {
            return Ok(());
        }
        let mut heard = false;
        for (index, edit) in self.track.edits.iter().enumerate() {
            let mut duration =
                rescale(edit.duration, i64::from(self.track.scale), i64::from(self.track.movie_scale), Rounding::Near);
            if (duration as u64).wrapping_add(edit.time as u64) > i64::MAX as u64 {
                duration = 0;
            }
            let now = self.end;
            self.end = self.end.saturating_add(duration);
            if !heard && edit.time == -1 {
                self.pauses = self.pauses.saturating_add(duration);
                self.prefixes.push(0);
                continue;
            }
            heard = true;
            self.sound_edits += u32::from(self.track.kind == Kind::Audio);
            let stretch = EditSegment { time: edit.time, duration, now, begun: false, before: 0, has_key_after: false };
            if !self.play_segment(reader, index, stretch, visitor)? {
                break;
            }
        }
        Ok(())
    }

    /// Returns the index of the sample at which decoding begins for an edit.
    fn entry_point(&mut self, reader: &mut Reader, time: i64) -> Result<u64, ProbeError> {
        let sound = self.track.kind == Kind::Audio;
        let mut samples = Samples::new(self.track, reader, 0)?;
        let mut wanted = time;
        let mut key: Option<(u64, i64)> = None;
        let mut any = None;
        let mut index = 0;
        while let Some(sample) = samples.next(reader)? {
            if index == 0 {
                if sound {
                    // Audio decoders require preceding data, up to one second.
                    wanted = wanted.saturating_sub(i64::from(self.track.scale)).max(sample.time);
                }
                wanted = wanted.saturating_sub(self.track.early);
            }
            if sample.time > wanted {
                break;
            }
            let shown = self.track.shifts.is_none() || sample.time.saturating_add(sample.shift) <= wanted;
            let keep = |old: Option<(u64, i64)>| match old {
                Some((_, at)) if at == sample.time => old,
                _ => Some((index, sample.time)),
            };
            if sample.key && shown {
                key = keep(key);
            }
            if self.track.shifts.is_none() {
                any = keep(any);
            }
            index += 1;
            self.step()?;
        }
        Ok(key.or(any).map_or(0, |(index, _)| index))
    }

    fn step(&mut self) -> Result<(), ProbeError> {
        self.steps += 1;
        if self.steps > MAX_VISITED_SAMPLES {
            Err(invalid_edit_list())
        } else {
            Ok(())
        }
    }

    fn play_segment(
        &mut self,
        reader: &mut Reader,
        index: usize,
        mut edit: EditSegment,
        visitor: &mut Visitor,
    ) -> Result<bool, ProbeError> {
        // Each edit reads the tables from their beginning, so a large number of edits of long tables would take quadratic time.
        if reader.bytes_read() / 16 > reader.len() + (1 << 20) {
            return Err(invalid_edit_list());
        }
        let entry = self.entry_point(reader, edit.time)?;
        let mut prefix = self.line.and_then(|line| line.prefixes.get(index)).copied();
        let mut samples = Samples::new(self.track, reader, 0)?;
        for _ in 0..entry {
            samples.next(reader)?;
        }
        let mut ahead = samples.next(reader)?;
        while let Some(sample) = ahead {
            self.step()?;
            ahead = samples.next(reader)?;
            let length = ahead.map_or(edit.duration, |next| next.time - sample.time);
            let shown = sample.time + self.track.early + sample.shift;
            let discard = self.place(&mut edit, &sample, length, shown);
            let before = !edit.begun;
            let mut time = edit.now;
            if let (true, Some(at)) = (before, &mut prefix) {
                time = *at;
                *at = at.saturating_add(length);
            }
            if before {
                edit.before = edit.before.saturating_add(length);
            } else {
                edit.now = edit.now.saturating_add(length);
            }
            self.count += 1;
            self.exceeds_file |= sample.size > 0 && sample.at >= reader.len();
            if self.line.is_none() && self.first.is_none() && !before {
                self.first = Some(time.saturating_sub(edit.before));
            }
            if self.prefixes.len() == index && !before {
                self.prefixes.push(time.saturating_sub(edit.before));
            }
            let shift = self.line.map_or(0, |line| line.shift);
            let shifted = Sample { time: time.saturating_sub(shift), discard, ..sample };
            if self.line.is_some() && !visitor(reader, shifted)? {
                return Ok(false);
            }
            if self.ends_edit(&mut edit, &sample, length, shown) {
                break;
            }
        }
        if self.prefixes.len() == index {
            // No sample of the edit is presented, so all of them retain the time at which the edit begins.
            self.prefixes.push(edit.now);
        }
        if self.first.is_none() && self.count > 0 {
            self.first = Some(edit.now);
        }
        Ok(true)
    }

    /// Whether a sample is decoded without being presented; updates the amount cut before the first presented sample.
    fn place(&mut self, edit: &mut EditSegment, sample: &Sample, length: i64, shown: i64) -> bool {
        if shown >= edit.time && shown < edit.duration.saturating_add(edit.time) {
            let at = edit.now.saturating_add(sample.shift + self.track.early);
            self.earliest = if self.earliest < 0 { at } else { self.earliest.min(at) };
            edit.begun = true;
            return false;
        }
        let vorbis = self.track.entry.as_ref().is_some_and(|entry| entry.audio.codec == AudioCodec::Vorbis);
        let cuts = self.track.kind == Kind::Audio && self.sound_edits == 1 && !vorbis;
        if cuts && shown < edit.time && shown.saturating_add(length) > edit.time {
            let cut = edit.time - shown;
            self.cut = self.cut.saturating_add(cut);
            edit.now = edit.now.saturating_sub(cut);
            edit.begun = true;
            return false;
        }
        if cuts && !edit.begun {
            self.cut = self.cut.saturating_add(length);
        }
        true
    }

    fn ends_edit(&self, edit: &mut EditSegment, sample: &Sample, length: i64, shown: i64) -> bool {
        let sound = self.track.kind == Kind::Audio;
        if shown.saturating_add(length) < edit.duration.saturating_add(edit.time) || !(sample.key || sound) {
            return false;
        }
        if self.track.shifts.is_some() && !sound && !edit.has_key_after {
            edit.has_key_after = true;
            return false;
        }
        true
    }
}
