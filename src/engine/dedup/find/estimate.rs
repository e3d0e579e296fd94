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

/// Distances between sampled windows of one anchor. Two neighbours are taken each time, so that the starts of ranges show.
const STRIDE: u64 = 128;

/// One place of a sampled window.
#[derive(Clone, Copy, Debug)]
struct Sample {
    hash: u64,
    /// Position, and in the lowest bit whether the document starts there (with the nearer one of two distances).
    place: u64,
}

/// Reads documents and samples their windows. As a [`Scanner`](super::Scanner) it takes one document after the other, in pieces.
pub struct Sampler {
    walk: Walk,
    seeing: Seeing,
}

/// What comes behind the choice of anchors.
struct Seeing {
    min_length: u64,
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
    /// How far that may be off, in bytes: the chance in the sample, one standard deviation.
    pub margin: u64,
    /// Windows in the sample: a few hundred say little, ten thousand a lot.
    pub sampled: u64,
    /// Windows that occur most often, with one place and the count of each.
    pub passages: Vec<Passage>,
}

impl Sampler {
    /// Of the windows of a sampled key one in so many is looked at.
    pub const WINDOWS: u64 = STRIDE / 2;

    /// Samples the windows of one anchor key in `one_in`, and of these one in [`WINDOWS`](Self::WINDOWS). Takes 16 bytes for each
    /// sampled window. Windows of less than 32 bytes have so many anchors that the estimate is a rough one.
    pub fn new(rule: &Rule, one_in: u64) -> Self {
        Self {
            walk: Walk::new(rule, Bits::ALL),
            seeing: Seeing {
                min_length: rule.min_length.max(1),
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
        self.seeing.samples.bytes += self.walk.end(&mut self.seeing)?;
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
        if key % self.one_in == 0 {
            self.samples.add(walk, owned, key / self.one_in, self.min_length, self.base);
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

impl Samples {
    /// Windows of one anchor whose distance falls on two neighbours that depend on its key.
    fn add(&mut self, walk: &Walk, owned: &Owned, salt: u64, length: u64, base: u64) {
        let chosen = salt % STRIDE;
        let mut at = owned.low;
        while at <= owned.high {
            let step = (owned.at - at + STRIDE - chosen) % STRIDE;
            if step > 1 {
                // On to the next distance that is chosen: the farther one of two comes first.
                at += step - 1;
                continue;
            }
            let hash = xxhash_rust::xxh3::xxh3_64_with_seed(walk.tail().get(at, at + length), salt);
            self.kept.push(Sample { hash, place: (base + at) << 1 | u64::from(at == 0 && step == 0) });
            at += 1;
        }
    }

    /// Adds places that another sampler saw in text that comes earlier and of which nothing is removed.
    pub fn join_earlier(&mut self, mut other: Self) {
        self.kept.append(&mut other.kept);
    }

    /// Adds what another sampler saw.
    pub fn join(&mut self, mut other: Self) {
        self.kept.append(&mut other.kept);
        self.bytes += other.bytes;
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
        let mut judged: Vec<(u64, bool)> = Vec::with_capacity(self.kept.len());
        for same in self.kept.chunk_by(|a, b| a.hash == b.hash) {
            let count = same.len() as u64;
            let stays = if count < rule.min_count { same.len() } else { usize::from(rule.keep == Keep::First) };
            let judge = |(number, sample): (usize, &Sample)| (sample.place, number >= stays);
            judged.extend(same.iter().enumerate().map(judge).filter(|(place, _)| place >> 1 >= own));
            if let Some(first) = same.first() {
                passages.add(Passage { at: first.place >> 1, len: rule.min_length, count });
            }
        }
        judged.sort_unstable();
        let removable = judged.iter().filter(|(_, removable)| *removable).count();
        // A start is a removable window behind one that stays, or at the start of its document.
        let (mut pairs, mut starts) = (0u64, 0u64);
        let mut before = None;
        for &(place, removable) in &judged {
            let neighbour = before.replace((place >> 1, removable)).filter(|(at, _)| at + 1 == place >> 1);
            if place & 1 == 1 || neighbour.is_some() {
                pairs += 1;
                starts += u64::from(removable && !neighbour.is_some_and(|(_, removable)| removable));
            }
        }
        let windows = (self.windows - self.periodic) as f64;
        let share = |some: u64, all: u64| if all == 0 { 0.0 } else { some as f64 / all as f64 };
        let ranges = share(starts, pairs) * windows + self.stretches as f64;
        let inner = share(removable as u64, judged.len() as u64) * windows;
        let outer = ranges * rule.min_length.saturating_sub(1) as f64;
        // Ranges are what chance decides on: neighbouring windows tell the same story.
        let margin = (inner + outer) / (starts.max(1) as f64).sqrt();
        let bytes = inner + self.periodic as f64 + outer;
        Estimate {
            bytes: self.bytes,
            removable: (bytes as u64).min(self.bytes),
            margin: margin as u64,
            sampled: judged.len() as u64,
            passages: passages.heaviest(most),
        }
    }
}
