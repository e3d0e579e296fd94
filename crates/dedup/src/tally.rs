//! Extrapolates from sampled windows to all windows, with an estimate of the error.

use super::growth::AddedShare;

/// Number of groups of keys whose results are compared to measure the random error.
pub(super) const GROUPS: u64 = 16;

/// Position of a window, the group of its key, and whether all windows before it in its document belong to the same anchor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WindowPosition(u64);

impl WindowPosition {
    const BITS: u32 = GROUPS.ilog2() + 1;

    pub(super) fn new(at: u64, group: u64, is_first: bool) -> Self {
        Self(at << Self::BITS | group << 1 | u64::from(is_first))
    }
    pub(super) fn at(self) -> u64 {
        self.0 >> Self::BITS
    }
    fn group(self) -> usize {
        (self.0 >> 1 & (GROUPS - 1)) as usize
    }
    fn is_first(self) -> bool {
        self.0 & 1 == 1
    }
}

/// An occurrence of a window.
#[derive(Clone, Copy, Debug)]
pub(super) struct WindowSample {
    pub(super) place: WindowPosition,
    /// Whether the window is removable according to the text that was read.
    pub(super) is_removable: bool,
    /// The addition from extrapolation to text that was not read.
    pub(super) grown: AddedShare,
}

/// Returns the tally of each group. Samples must be sorted by position.
pub(super) fn tallies(window_samples: &[WindowSample], apart: u64) -> [Tally; GROUPS as usize] {
    let mut groups = [Tally::default(); GROUPS as usize];
    let mut before: Option<&WindowSample> = None;
    for one in window_samples {
        let earlier = before.replace(one).filter(|earlier| {
            // Only samples of the same anchor are compared. Samples of two anchors may be as close, and carry the same information.
            one.place.at() - earlier.place.at() <= apart && earlier.place.group() == one.place.group()
        });
        if let Some(tally) = groups.get_mut(one.place.group()) {
            tally.note(one, earlier);
        }
    }
    groups
}

/// Number of windows, of positions at which a range may start (seen from both sides), and of starts of documents: either all of them, or
/// only removable ones and starts of ranges.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) windows: f64,
    places: f64,
    firsts: f64,
}

impl Counts {
    pub(super) fn sum(&self, other: &Self) -> Self {
        Self {
            windows: self.windows + other.windows,
            places: self.places + other.places,
            firsts: self.firsts + other.firsts,
        }
    }
}

/// The counts of the samples of some keys.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    all: Counts,
    /// Counts according to the text that was read.
    pub(super) found: Counts,
    /// The addition from extrapolation to text that was not read.
    pub(super) grown: Counts,
}

impl Tally {
    fn add(&mut self, other: &Self) {
        self.all = self.all.sum(&other.all);
        self.found = self.found.sum(&other.found);
        self.grown = self.grown.sum(&other.grown);
    }

    /// Adds an occurrence, and the previous one if both together show where ranges start.
    fn note(&mut self, one: &WindowSample, before: Option<&WindowSample>) {
        let (found, grown) = (f64::from(u8::from(one.is_removable)), f64::from(one.grown.removable));
        self.all.windows += 1.0;
        self.found.windows += found;
        self.grown.windows += grown;
        if one.place.is_first() {
            self.all.firsts += 1.0;
            self.found.firsts += found;
            self.grown.firsts += grown;
        } else if let Some(before) = before {
            self.all.places += (one.place.at() - before.place.at()) as f64;
            self.found.places += f64::from(u8::from(one.is_removable && !before.is_removable));
            // Both windows are removable wherever the less frequent one is.
            let is_rarer = before.grown.range_count < one.grown.range_count;
            self.grown.places += if is_rarer { grown - f64::from(before.grown.removable) } else { 0.0 };
        }
    }
}

/// The text that the samples represent.
#[derive(Clone, Copy, Debug)]
pub(super) struct SampledText {
    pub(super) windows: f64,
    pub(super) documents: f64,
    pub(super) length: u64,
}

impl SampledText {
    /// Returns the number of removable bytes for these counts.
    fn removable(&self, of: &Counts, all: &Counts) -> f64 {
        let share = |some: f64, all: f64| if all == 0.0 { 0.0 } else { some / all };
        let ranges = share(of.places, all.places) * (self.windows - self.documents).max(0.0)
            + share(of.firsts, all.firsts) * self.documents;
        share(of.windows, all.windows) * self.windows + ranges * (self.length - 1) as f64
    }

    /// Returns the estimate from all groups together, and its error: the deviation of the estimates from separate groups.
    pub(super) fn estimate(&self, groups: &[Tally], of: fn(&Tally) -> Counts) -> (f64, f64) {
        let mut all = Tally::default();
        groups.iter().for_each(|group| all.add(group));
        let total = self.removable(&of(&all), &all.all);
        let alone = groups.iter().map(|group| self.removable(&of(group), &group.all) - total);
        let spread: f64 = alone.map(|off| off * off).sum();
        (total, (spread / (GROUPS * (GROUPS - 1)) as f64).sqrt())
    }
}
