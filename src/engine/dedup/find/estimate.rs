//! What a dedup would remove, from a sample of all distinct windows.
//!
//! A window is in the sample because of its bytes alone: the key of its anchor and its distance to it. So all places of a sampled
//! window are sampled, whichever documents they are in, and its count is exact. Runs and periodic text are counted in full.

use super::owners::Owned;
use super::passages::{Passage, Passages};
use super::periodic::Shift;
use super::walk::{Bits, Visit, Walk};
use super::Rule;
use crate::model::dedup::Keep;
use crate::model::Outcome;

/// Samples of one anchor are at most so many windows apart, and about so many fall on an ordinary one.
const APART: u64 = 32;
const OF_ANCHOR: u64 = 8;
/// Groups of keys that are compared to tell how much is chance.
const GROUPS: u64 = 16;

/// One place of a sampled window.
#[derive(Clone, Copy, Debug)]
struct Sample {
    hash: u64,
    place: Place,
}

/// Position, the group of its key, and whether no window between it and the start of its document is another anchor's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place(u64);

impl Place {
    const BITS: u32 = GROUPS.ilog2() + 1;

    fn new(at: u64, group: u64, is_first: bool) -> Self {
        Self(at << Self::BITS | group << 1 | u64::from(is_first))
    }
    fn at(self) -> u64 {
        self.0 >> Self::BITS
    }
    fn group(self) -> usize {
        (self.0 >> 1 & (GROUPS - 1)) as usize
    }
    fn is_first(self) -> bool {
        self.0 & 1 == 1
    }
}

/// Reads documents and samples their windows. As a [`Scanner`](super::Scanner) it takes one document after the other, in pieces.
pub struct Sampler {
    walk: Walk,
    seeing: Seeing,
}

/// What comes behind the choice of anchors.
struct Seeing {
    min_length: u64,
    /// Windows between two that are sampled of one anchor.
    apart: u64,
    one_in: u64,
    base: u64,
    before: Option<(u64, u64)>,
    /// The period with which the last windows came again; 0 where they did not.
    period: u64,
    shift: Shift,
    samples: Samples,
}

/// What was sampled.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    kept: Vec<Sample>,
    /// Text, without separators.
    bytes: u64,
    /// Documents with windows.
    documents: u64,
    windows: u64,
    /// Windows that repeat those a period earlier, and stretches of them.
    periodic: u64,
    stretches: u64,
}

/// What a dedup would remove, about.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// Bytes of text that were looked at.
    pub bytes: u64,
    /// Bytes that would be removed.
    pub removable: u64,
    /// How far that may be off by chance, in bytes: one standard deviation, from what groups of keys tell each for itself.
    pub margin: u64,
    /// Windows in the sample: a few hundred say little, ten thousand a lot.
    pub sampled: u64,
    /// Windows that occur most often, with one place and the count of each.
    pub passages: Vec<Passage>,
}

impl Sampler {
    /// Windows between two that are sampled of one anchor.
    pub fn apart(rule: &Rule) -> u64 {
        (rule.min_length / 2 / OF_ANCHOR).clamp(1, APART)
    }

    /// Samples the windows of one anchor key in `one_in`, and of these one in [`apart`](Self::apart). Takes 16 bytes for each sampled
    /// window. Windows of less than 32 bytes have so many anchors that the estimate is a rough one.
    pub fn new(rule: &Rule, one_in: u64) -> Self {
        Self {
            walk: Walk::new(rule, Bits::ALL),
            seeing: Seeing {
                min_length: rule.min_length.max(1),
                apart: Self::apart(rule),
                one_in: one_in.max(1),
                base: 0,
                before: None,
                period: 0,
                shift: Shift::default(),
                samples: Samples::default(),
            },
        }
    }

    /// A document begins; `base` is the position of its first byte of text.
    pub fn start_document(&mut self, base: u64) {
        self.walk.start();
        let seeing = &mut self.seeing;
        (seeing.base, seeing.before, seeing.period, seeing.shift) = (base, None, 0, Shift::default());
    }

    /// The next bytes of the document.
    pub fn push(&mut self, piece: &[u8]) -> Outcome<()> {
        self.walk.push(piece, &mut self.seeing)
    }

    /// The document is over.
    pub fn end_document(&mut self) -> Outcome<()> {
        let bytes = self.walk.end(&mut self.seeing)?;
        let samples = &mut self.seeing.samples;
        samples.bytes += bytes;
        samples.documents += u64::from(bytes >= self.seeing.min_length);
        Ok(())
    }

    /// Windows in the sample so far.
    pub fn sampled(&self) -> usize {
        self.seeing.samples.kept.len()
    }

    /// What was sampled so far; the sampler begins anew.
    pub fn take(&mut self) -> Samples {
        std::mem::take(&mut self.seeing.samples)
    }
}

impl Visit for Seeing {
    fn owned(&mut self, walk: &Walk, owned: &Owned) -> Outcome<()> {
        let key = walk.key(owned);
        let windows = owned.high - owned.low + 1;
        let period = match self.before.replace((key, owned.at)) {
            Some((same, at)) if same == key => owned.at - at,
            _ => 0,
        };
        let end = owned.high + self.min_length;
        self.samples.windows += windows;
        if period > 0 && self.shift.holds(walk.tail(), period, owned.low, end) {
            self.samples.periodic += windows;
            self.samples.stretches += u64::from(self.period == 0);
            self.period = period;
            return Ok(());
        }
        self.period = 0;
        if key.is_multiple_of(self.one_in) {
            self.add(walk, owned, key / self.one_in);
        }
        Ok(())
    }

    fn period(&self) -> u64 {
        self.period
    }

    fn passed(&mut self, from: u64, to: u64, _period: u64) -> Outcome<()> {
        self.before = None;
        self.samples.windows += to - from;
        self.samples.periodic += to - from;
        Ok(())
    }
}

impl Seeing {
    /// Windows of one anchor at distances that depend on its key.
    fn add(&mut self, walk: &Walk, owned: &Owned, salt: u64) {
        let Self { apart, min_length, base, samples, .. } = self;
        let (chosen, group) = (salt % *apart, salt / *apart % GROUPS);
        let mut at = owned.low + (owned.at - owned.low + *apart - chosen) % *apart;
        let mut is_first = owned.low == 0;
        while at <= owned.high {
            let hash = xxhash_rust::xxh3::xxh3_64_with_seed(walk.tail().get(at, at + *min_length), salt);
            samples.kept.push(Sample { hash, place: Place::new(*base + at, group, is_first) });
            is_first = false;
            at += *apart;
        }
    }
}

/// What the samples of some keys tell.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    /// Windows, and how many of them are removable.
    windows: f64,
    removable: f64,
    /// Places at which a range may start, seen from both sides, and how many do.
    places: f64,
    starts: f64,
    /// Beginnings of documents, and how many are removable.
    firsts: f64,
    first_starts: f64,
}

impl Tally {
    fn add(&mut self, other: &Self) {
        self.windows += other.windows;
        self.removable += other.removable;
        self.places += other.places;
        self.starts += other.starts;
        self.firsts += other.firsts;
        self.first_starts += other.first_starts;
    }

    /// Bytes that are removable, by these shares of so many windows and documents.
    fn removable(&self, windows: f64, documents: f64, length: u64) -> f64 {
        let share = |some: f64, all: f64| if all == 0.0 { 0.0 } else { some / all };
        let ranges = share(self.starts, self.places) * (windows - documents).max(0.0)
            + share(self.first_starts, self.firsts) * documents;
        share(self.removable, self.windows) * windows + ranges * (length - 1) as f64
    }
}

impl Samples {
    /// Adds places that another sampler saw in text that comes earlier and of which nothing is removed.
    pub fn join_earlier(&mut self, mut other: Self) {
        self.kept.append(&mut other.kept);
    }

    /// Adds what another sampler saw.
    pub fn join(&mut self, mut other: Self) {
        self.kept.append(&mut other.kept);
        self.bytes += other.bytes;
        self.documents += other.documents;
        self.windows += other.windows;
        self.periodic += other.periodic;
        self.stretches += other.stretches;
    }

    /// Counts, for the rule with which all samplers worked. What lies before `own` is the text of which nothing is removed
    /// ([`join_earlier`](Self::join_earlier)). `most` passages are given at most.
    pub fn estimate(mut self, rule: &Rule, own: u64, most: usize) -> Estimate {
        self.kept.sort_unstable_by_key(|sample| (sample.hash, sample.place));
        let mut passages = Passages::default();
        // Place, and whether the window there is removable.
        let mut judged: Vec<(Place, bool)> = Vec::with_capacity(self.kept.len());
        for same in self.kept.chunk_by(|a, b| a.hash == b.hash) {
            let count = same.len() as u64;
            let stays = if count < rule.min_count { same.len() } else { usize::from(rule.keep == Keep::First) };
            let judge = |(number, sample): (usize, &Sample)| (sample.place, number >= stays);
            judged.extend(same.iter().enumerate().map(judge).filter(|(place, _)| place.at() >= own));
            if let Some(first) = same.first() {
                passages.add(Passage { at: first.place.at(), len: rule.min_length, count });
            }
        }
        judged.sort_unstable();
        let length = rule.min_length.max(1);
        let groups = tallies(&judged, Sampler::apart(rule));
        let mut all = Tally::default();
        groups.iter().for_each(|group| all.add(group));
        let (windows, documents) = ((self.windows - self.periodic) as f64, self.documents as f64);
        let hashed = all.removable(windows, documents, length);
        let periodic = self.periodic + self.stretches * (length - 1);
        // Each group alone would have told so much.
        let alone = groups.map(|group| group.removable(windows, documents, length) - hashed);
        let spread: f64 = alone.iter().map(|off| off * off).sum();
        let margin = (spread / (GROUPS * (GROUPS - 1)) as f64).sqrt();
        Estimate {
            bytes: self.bytes,
            removable: (hashed as u64 + periodic).min(self.bytes),
            margin: margin as u64,
            sampled: judged.len() as u64,
            passages: passages.heaviest(most),
        }
    }
}

/// What the samples of each group tell, which come in the order of their places.
fn tallies(judged: &[(Place, bool)], apart: u64) -> [Tally; GROUPS as usize] {
    let mut groups = [Tally::default(); GROUPS as usize];
    let mut before: Option<(Place, bool)> = None;
    for &(place, removable) in judged {
        let earlier = before.replace((place, removable));
        let Some(tally) = groups.get_mut(place.group()) else { continue };
        let one = f64::from(u8::from(removable));
        tally.windows += 1.0;
        tally.removable += one;
        if place.is_first() {
            tally.firsts += 1.0;
            tally.first_starts += one;
        } else if let Some((earlier, was)) = earlier.filter(|(earlier, _)| {
            // Samples of one anchor; of two they may be as near, and tell the same.
            place.at() - earlier.at() <= apart && earlier.group() == place.group()
        }) {
            tally.places += (place.at() - earlier.at()) as f64;
            tally.starts += f64::from(u8::from(removable && !was));
        }
    }
    groups
}
