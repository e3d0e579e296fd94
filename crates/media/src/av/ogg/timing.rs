//! Determines the times of a stream's packets from granules and packet durations.

use super::codecs::{Codec, Kind};
use super::pages::{Packet, Page, LAST};
use crate::ProbeError;

/// Opus granules above this are refused.
const MAX_GRANULE: i64 = 1 << 62;

/// The state of a stream's timing.
#[derive(Debug, Default)]
pub(super) struct Timing {
    /// Number of packets with sound or frames.
    pub(super) packets: u64,
    /// Whether the last page was seen.
    pub(super) ended: bool,
    /// The first known time.
    start: Option<i64>,
    /// The granule of the last page, as a time.
    last: Option<i64>,
    /// The time of the next packet: according to the container, and according to the packets.
    known: PacketTime,
    now: i64,
    /// For Vorbis, the end of the page before the last one; `before_last` sums up the durations of packets after it.
    first_of_last: Option<i64>,
    before_last: i64,
    block: Option<u32>,
    sound: DecoderOutput,
    seeking: SeekState,
}

/// The state of the seek to time 0 before decoding: readers seek to the last page that begins at or before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum SeekState {
    /// No page with a time was found yet.
    #[default]
    First,
    /// A page that begins before time 0 was found.
    Later,
    /// The page was found.
    Done,
}

/// The time of the next packet according to the container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PacketTime {
    At(i64),
    No,
}

impl Default for PacketTime {
    fn default() -> Self {
        Self::At(0)
    }
}

/// The state of the decoder's output.
#[derive(Clone, Copy, Debug, Default)]
struct DecoderOutput {
    started: bool,
    block: u32,
    skipped: i64,
    samples: i64,
    end: Option<i64>,
}

/// The total of the decoder's output.
pub(super) struct DecodedSound {
    pub(super) samples: u64,
    pub(super) duration: Option<i64>,
}

/// A packet with its times.
struct TimedPacket {
    time: i64,
    duration: i64,
    /// Samples to be discarded at its end.
    trimmed: i64,
    samples: i64,
}

impl Timing {
    /// Starts a new link of a chain: times restart at 0, except for FLAC.
    pub(super) fn restart(&mut self, kind: Kind) {
        if kind != Kind::Flac {
            self.known = PacketTime::At(0);
        }
        self.first_of_last = None;
    }

    /// Decides at the first packet of a page whether decoding restarts here. `begins` is the time derived from the page alone.
    fn seek(&mut self, codec: &Codec, begins: Option<i64>) {
        if self.seeking == SeekState::Done || codec.is_video() {
            return;
        }
        let known = match self.known {
            PacketTime::At(time) => Some(time - codec.pre_skip()),
            PacketTime::No => None,
        };
        let again = match (self.seeking, known, begins) {
            (SeekState::First, None, _) => return,
            (SeekState::First, Some(time), _) => {
                self.seeking = if time < 0 && self.packets == 1 { SeekState::Later } else { SeekState::Done };
                self.packets > 1 && time == 0
            }
            (SeekState::Later, _, Some(time)) if time <= codec.pre_skip() => true,
            (SeekState::Later, ..) => {
                self.seeking = SeekState::Done;
                false
            }
            (SeekState::Done, ..) => false,
        };
        if again {
            self.sound = DecoderOutput::default();
            self.first_of_last = None;
            self.known = begins.map_or(PacketTime::No, PacketTime::At);
            self.now = 0;
        }
    }

    /// Counts a packet, which may be the `first` on its page; `rest` are the packets after it on the page.
    pub(super) fn packet(
        &mut self,
        codec: &Codec,
        (first, packet, rest): (bool, &Packet, &[Packet]),
        page: &Page,
        ends_with_whole: bool,
    ) -> Result<(), ProbeError> {
        let last_page = page.flags & LAST != 0;
        self.ended |= last_page;
        self.packets += 1;
        let kind = codec.kind();
        if kind == Kind::Opus && (page.granule < 0 || page.granule > MAX_GRANULE) {
            return Err(ProbeError::broken("a page has no time", page.at));
        }
        let begins = matches!(self.known, PacketTime::No | PacketTime::At(0)) && !last_page;
        if begins && kind != Kind::Flac && (kind == Kind::Opus || page.granule >= 0) {
            self.begin(codec, Self::begins(codec, packet, rest, page), page.granule);
        }
        if first {
            let begins = (!last_page && page.granule >= 0).then(|| Self::begins(codec, packet, rest, page));
            self.seek(codec, begins);
        }
        let mut block = self.block.unwrap_or(codec.short_block());
        let Some(duration) = codec.duration(packet, &mut block).map(i64::from) else {
            return Err(ProbeError::broken("a packet cannot be decoded", page.at));
        };
        self.block = Some(block);
        let mut timed = TimedPacket { time: 0, duration, trimmed: 0, samples: duration };
        if kind == Kind::Opus {
            if let PacketTime::At(time) = self.known {
                self.start.get_or_insert(time);
                self.known = PacketTime::At(time - codec.pre_skip());
            }
        }
        timed.time = match self.known {
            PacketTime::At(time) => time,
            PacketTime::No => self.now,
        };
        if last_page {
            self.trim(kind, codec, &mut timed, page, rest.is_empty() && ends_with_whole);
        }
        self.start.get_or_insert(timed.time.max(if kind == Kind::Vorbis { 0 } else { i64::MIN }));
        self.now = timed.time.saturating_add(timed.duration);
        self.known = PacketTime::No;
        if rest.is_empty() && page.granule != -1 {
            let time = codec.time(page.granule);
            self.known = PacketTime::At(time);
            if page.granule != 0 {
                self.last = Some(time);
            }
        }
        self.sound.decode(codec, packet, &timed);
        Ok(())
    }

    /// Returns the time of the first packet on a page: its granule minus the durations of all packets on it.
    fn begins(codec: &Codec, packet: &Packet, rest: &[Packet], page: &Page) -> i64 {
        let mut block = codec.short_block();
        let mut sum = i64::from(codec.duration(packet, &mut block).unwrap_or(0));
        let end = codec.time(page.granule);
        for packet in rest {
            match codec.duration(packet, &mut block) {
                Some(duration) => sum += i64::from(duration),
                None if codec.kind() == Kind::Vorbis => return 0,
                None => {}
            }
        }
        end.saturating_sub(sum)
    }

    fn begin(&mut self, codec: &Codec, time: i64, granule: i64) {
        self.known = PacketTime::At(time);
        if codec.kind() == Kind::Vorbis {
            if granule == 0 && time != 0 {
                self.known = PacketTime::No;
            }
            self.start.get_or_insert(time.max(0));
            self.block = Some(codec.short_block());
        }
    }

    /// Trims the end of a stream: its last granule determines how much of the last packet counts.
    fn trim(&mut self, kind: Kind, codec: &Codec, timed: &mut TimedPacket, page: &Page, is_last: bool) {
        match kind {
            Kind::Opus => {
                let skip = timed.time + timed.duration - page.granule + codec.pre_skip();
                let skip = skip.min(timed.duration);
                if skip > 0 {
                    timed.trimmed = skip;
                    timed.duration = if skip < timed.duration { timed.duration - skip } else { 1 };
                }
            }
            Kind::Vorbis => {
                if let PacketTime::At(time) = self.known {
                    self.first_of_last = Some(time);
                    self.before_last = 0;
                }
                let from = self.first_of_last.unwrap_or(i64::MIN);
                let sum = from.wrapping_add(self.before_last);
                if is_last {
                    let skip = sum.wrapping_add(timed.duration).wrapping_sub(page.granule);
                    timed.trimmed = skip.max(0);
                    // Durations are unsigned 32-bit numbers, so a negative one wraps to a very large value.
                    timed.duration = i64::from(page.granule.wrapping_sub(sum) as u32);
                }
                self.before_last += timed.duration;
            }
            _ => {}
        }
    }

    /// Returns the result of decoding all packets.
    pub(super) fn sound(&self) -> DecodedSound {
        let start = self.start.unwrap_or(0);
        let end = self.sound.end.or(self.last).or((self.packets > 0).then_some(self.now));
        DecodedSound {
            samples: self.sound.samples.max(0).unsigned_abs(),
            duration: end.map(|end| end.saturating_sub(start)),
        }
    }

    /// Returns the last granule as a time, relative to the start.
    pub(super) fn granule_end(&self) -> Option<i64> {
        self.last.map(|last| last.saturating_sub(self.start.unwrap_or(0)))
    }
}

impl DecoderOutput {
    fn decode(&mut self, codec: &Codec, packet: &Packet, timed: &TimedPacket) {
        let mut samples = timed.samples;
        if codec.kind() == Kind::Vorbis {
            let mut before = self.block;
            let decoded = codec.duration(packet, &mut before).map_or(0, i64::from);
            self.block = before;
            if !std::mem::replace(&mut self.started, true) {
                return;
            }
            samples = decoded;
        }
        let (mut time, mut duration) = (timed.time, timed.duration);
        if timed.trimmed > 0 {
            // Trimming the end of a packet cancels the remaining skip at the beginning.
            self.skipped = codec.pre_skip();
        }
        let left = codec.pre_skip() - self.skipped;
        if left >= samples {
            self.skipped += samples;
            return;
        }
        if left > 0 {
            self.skipped += left;
            samples -= left;
            time = time.saturating_add(left);
            duration = if duration >= left { duration - left } else { duration };
        }
        if timed.trimmed > 0 && timed.trimmed <= samples {
            samples -= timed.trimmed;
            duration = samples;
            if samples == 0 {
                return;
            }
        }
        self.samples += samples;
        self.end = Some(time.saturating_add(duration));
    }
}
