//! Movie fragments: runs of samples after the header (ISO/IEC 14496-12 §8.8).

use super::boxes::{self, be32, be64, BoxHeader, WordReader};
use super::edits;
use super::samples::{self, Sample};
use super::track::Track;
use crate::{ProbeError, Reader};

/// Default values for a track's fragments, from `trex`.
#[derive(Clone, Copy, Debug)]
struct Defaults {
    track: u32,
    description: u32,
    duration: u32,
    size: u32,
    flags: u32,
}

/// The state of a track while its fragments are read.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// Decoding time specified by the fragment.
    declared: Option<i64>,
    /// End of the previous run.
    next: Option<i64>,
    /// End of the track so far.
    end: i64,
    /// Decoding time of the last sample.
    last: Option<i64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct CurrentFragment {
    moof: u64,
    implicit: u64,
    base: u64,
    track: u32,
    has_fragment: bool,
    description: u32,
    duration: u32,
    size: u32,
    flags: u32,
}

/// Reads fragments in file order.
#[derive(Clone, Debug, Default)]
pub struct Fragments {
    defaults: Vec<Defaults>,
    states: Vec<State>,
    current: CurrentFragment,
}

/// The maximum number of tracks whose fragments are read.
const MAX_TRACKS: usize = 1024;
/// The maximum number of samples of all fragments together.
const MAX_SAMPLES: u64 = 10_000_000;

/// Passes the samples in all fragments of the track at `index` to `visitor`.
pub fn visit(
    reader: &mut Reader,
    fragments: &Fragments,
    tracks: &[Track],
    index: usize,
    visitor: &mut samples::Visitor,
) -> Result<(), ProbeError> {
    let (mut tracks, mut fragments, mut wanted) = (tracks.to_vec(), fragments.restarted(tracks), true);
    let len = reader.len();
    let mut stack = vec![(0, len)];
    while let (Some(&(at, end)), true) = (stack.last(), wanted) {
        let Some(head) = boxes::next(reader, at, end)? else {
            stack.pop();
            continue;
        };
        if let Some(top) = stack.last_mut() {
            top.0 = head.end;
        }
        match &head.kind {
            b"moof" if stack.len() == 1 => {
                fragments.begin(&head);
                stack.push((head.body, head.end));
            }
            b"traf" if stack.len() == 2 => stack.push((head.body, head.end)),
            b"tfhd" | b"tfdt" | b"trun" => {
                let mut give: Box<Visitor> = Box::new(|reader, owner, sample| {
                    if owner == index && wanted {
                        wanted = visitor(reader, sample)?;
                    }
                    Ok(())
                });
                fragments.read_box(reader, &head, &mut tracks, &mut *give)?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// A callback for samples, with the index of the track.
pub type Visitor<'a> = dyn FnMut(&mut Reader, usize, Sample) -> Result<(), ProbeError> + 'a;

impl Fragments {
    /// Whether the header contains `trex`, so that fragments may follow.
    pub fn announced(&self) -> bool {
        !self.defaults.is_empty()
    }

    /// Returns a copy that starts from the beginning, for another pass.
    pub fn restarted(&self, tracks: &[Track]) -> Self {
        let states = tracks.iter().map(|track| State { end: track.end, ..State::default() }).collect();
        Self { defaults: self.defaults.clone(), states, current: CurrentFragment::default() }
    }

    /// Reads `trex`.
    pub fn read_trex(&mut self, reader: &mut Reader, head: &BoxHeader) -> Result<(), ProbeError> {
        if self.defaults.len() < MAX_TRACKS {
            let at = head.body + 4;
            self.defaults.push(Defaults {
                track: be32(reader, at)?,
                description: be32(reader, at + 4)?,
                duration: be32(reader, at + 8)?,
                size: be32(reader, at + 12)?,
                flags: be32(reader, at + 16)?,
            });
        }
        Ok(())
    }

    /// Starts a fragment.
    pub fn begin(&mut self, head: &BoxHeader) {
        self.current = CurrentFragment { moof: head.at, implicit: head.at, ..CurrentFragment::default() };
        for state in &mut self.states {
            (state.declared, state.next) = (None, None);
        }
    }

    /// Reads a box of a fragment; irrelevant boxes are skipped.
    pub fn read_box(
        &mut self,
        reader: &mut Reader,
        head: &BoxHeader,
        tracks: &mut [Track],
        visitor: &mut Visitor,
    ) -> Result<(), ProbeError> {
        while self.states.len() < tracks.len() {
            let end = tracks.get(self.states.len()).map_or(0, |track| track.end);
            self.states.push(State { end, ..State::default() });
        }
        match &head.kind {
            b"tfhd" => self.track_header(reader, head, tracks),
            b"tfdt" => self.time(reader, head, tracks),
            b"trun" => self.run(reader, head, tracks, visitor),
            _ => Ok(()),
        }
    }

    fn find(&self, tracks: &[Track]) -> Option<usize> {
        let index = tracks.iter().position(|track| track.id == Some(self.current.track))?;
        let only = tracks.get(index)?.description;
        only.is_none_or(|only| only + 1 == self.current.description).then_some(index)
    }

    fn track_header(&mut self, reader: &mut Reader, head: &BoxHeader, tracks: &[Track]) -> Result<(), ProbeError> {
        let flags = be32(reader, head.body)? & 0xff_ffff;
        let track = be32(reader, head.body + 4)?;
        if track == 0 {
            return Err(ProbeError::broken("a fragment belongs to no track", head.at));
        }
        let Some(defaults) = self.defaults.iter().find(|defaults| defaults.track == track).copied() else {
            return Ok(());
        };
        let mut at = head.body + 8;
        let mut field = |reader: &mut Reader, flag: u32, otherwise: u32| -> Result<u32, ProbeError> {
            if flags & flag == 0 {
                return Ok(otherwise);
            }
            at += 4;
            be32(reader, at - 4)
        };
        let base = if flags & 1 != 0 {
            let (high, low) = (field(reader, 1, 0)?, field(reader, 1, 0)?);
            u64::from(high) << 32 | u64::from(low)
        } else if flags & 0x2_0000 != 0 {
            self.current.moof
        } else {
            self.current.implicit
        };
        self.current = CurrentFragment {
            base,
            track,
            has_fragment: true,
            description: field(reader, 2, defaults.description)?,
            duration: field(reader, 8, defaults.duration)?,
            size: field(reader, 0x10, defaults.size)?,
            flags: field(reader, 0x20, defaults.flags)?,
            ..self.current
        };
        if let Some(state) =
            tracks.iter().position(|known| known.id == Some(track)).and_then(|index| self.states.get_mut(index))
        {
            state.next = None;
        }
        Ok(())
    }

    fn time(&mut self, reader: &mut Reader, head: &BoxHeader, tracks: &[Track]) -> Result<(), ProbeError> {
        let Some(state) = self.find(tracks).and_then(|index| self.states.get_mut(index)) else { return Ok(()) };
        let long = reader.array::<1>(head.body)? != [0];
        let time = if long { be64(reader, head.body + 4)? as i64 } else { i64::from(be32(reader, head.body + 4)?) };
        (state.declared, state.end) = (Some(time), time);
        Ok(())
    }

    fn run(
        &mut self,
        reader: &mut Reader,
        head: &BoxHeader,
        tracks: &mut [Track],
        visitor: &mut Visitor,
    ) -> Result<(), ProbeError> {
        if !self.current.has_fragment {
            return Err(ProbeError::broken("a run of samples belongs to no track", head.at));
        }
        let Some(index) = self.find(tracks) else { return Ok(()) };
        let (Some(track), Some(state)) = (tracks.get_mut(index), self.states.get_mut(index)) else { return Ok(()) };
        let current = &mut self.current;
        let flags = be32(reader, head.body)? & 0xff_ffff;
        let count = be32(reader, head.body + 4)?;
        let fields = u64::from((flags >> 8 & 15).count_ones());
        let mut words = WordReader::new(head.body + 8, u64::from((flags & 5).count_ones()) + fields * u64::from(count));
        let mut at = current.base;
        if flags & 1 != 0 {
            let offset = words.next(reader)?.unwrap_or(0) as i32;
            at = at.wrapping_add_signed(i64::from(offset));
        }
        let mut first_flags = if flags & 4 != 0 { words.next(reader)? } else { None };
        let offset = edits::offset(track).unwrap_or(0);
        let mut time = state.next.or(state.declared).unwrap_or(state.end).saturating_sub(offset);
        for _ in 0..count {
            let mut field = |reader: &mut Reader, flag: u32, otherwise: u32| -> Result<u32, ProbeError> {
                if flags & flag == 0 {
                    Ok(otherwise)
                } else {
                    Ok(words.next(reader)?.unwrap_or(otherwise))
                }
            };
            let duration = field(reader, 0x100, current.duration)?;
            let size = field(reader, 0x200, current.size)?;
            let how = field(reader, 0x400, first_flags.take().unwrap_or(current.flags))?;
            let shift = i64::from(field(reader, 0x800, 0)? as i32);
            track.early = track.early.max(-shift);
            track.rate_samples += 1;
            if track.rate_samples as u64 > MAX_SAMPLES {
                return Err(ProbeError::broken("it has more samples than can be followed", head.at));
            }
            track.rate_ticks = track.rate_ticks.saturating_add(i64::from(duration));
            let discard = state.last.is_some_and(|last| last >= time);
            let sample = Sample {
                time,
                shift,
                duration: i64::from(duration),
                key: how & 0x0101_0000 == 0,
                discard,
                size: u64::from(size),
                at,
            };
            if size == 0 {
                return Err(ProbeError::broken("a sample of a fragment has no bytes", head.at));
            }
            visitor(reader, index, sample)?;
            state.last = Some(time);
            time = time.saturating_add(i64::from(duration));
            at = at.wrapping_add(u64::from(size));
        }
        if count == 0 {
            return Ok(());
        }
        current.implicit = at;
        let end = time.saturating_add(offset);
        (state.next, state.end) = (Some(end), end);
        track.duration = track.duration.max(end);
        Ok(())
    }
}
