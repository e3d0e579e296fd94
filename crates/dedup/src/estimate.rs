//! Estimates the text that a dedup would remove, from a sample of all distinct windows.
//!
//! Whether a window is sampled depends only on its bytes: on the key of its anchor and its distance to the anchor. All occurrences of a
//! sampled window are therefore sampled, in all documents, and its count is exact. Runs and periodic text are counted completely. Text that
//! was not read may contain further occurrences; their number is extrapolated from the counts of sampled windows ([`super::growth`]).

use super::growth::{AddedShare, Extrapolation, ReadShare};
use super::owners::OwnedWindows;
use super::passages::{Passage, Passages};
use super::periodic::Shift;
use super::tally::{tallies, SampledText, WindowPosition, WindowSample, GROUPS};
use super::walk::{Bits, Visit, Walk};
use super::window_counts::WindowCounts;
use super::Rule;
use gristmill_core::dedup::Keep;
use gristmill_core::Outcome;

/// Maximum distance between samples of one anchor in windows, and usual number of samples per anchor. It is small because samples of one
/// anchor carry nearly the same information. With more anchors instead, a passage that repeats a thousand times is less likely to be
/// missed.
const MAX_SAMPLE_DISTANCE: u64 = 256;
const OF_ANCHOR: u64 = 3;

/// An occurrence of a sampled window.
#[derive(Clone, Copy, Debug)]
struct Sample {
    hash: u64,
    place: WindowPosition,
}

/// Reads documents in pieces and samples their windows. Like a [`Scanner`](super::Scanner), processes one document after the other.
pub struct Sampler {
    walk: Walk,
    stage: SampleStage,
}

/// The stage after the selection of anchors.
struct SampleStage {
    min_length: u64,
    /// Distance between two samples of one anchor, in windows.
    sample_distance: u64,
    /// One in this many anchors is sampled.
    one_in: u64,
    /// Position of the document in the whole text.
    base: u64,
    /// Key and position of the last sampled anchor.
    last_sample: Option<(u64, u64)>,
    /// Period with which the previous windows repeat, in bytes; 0 if they do not.
    period: u64,
    shift: Shift,
    samples: Samples,
}

/// The samples so far, and counts of the text they come from.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    kept: Vec<Sample>,
    /// Number of bytes of text, without separators.
    bytes: u64,
    /// Number of documents with windows.
    documents: u64,
    windows: u64,
    /// Number of windows that equal those one period earlier, and number of ranges that they form.
    periodic: u64,
    range_count: u64,
}

/// An estimate of the text that a dedup would remove.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// Number of bytes of text that were read.
    pub bytes: u64,
    /// Number of these bytes that would be removed if all of the text were deduplicated. If only a part was read, this is more than the
    /// repeats within the part.
    pub removable: u64,
    /// Standard deviation of the sampling error, in bytes. Computed from the estimates of separate groups of keys, and from the estimates
    /// without each lot of the text that was read.
    pub margin: u64,
    /// The part of `margin` that is caused by the choice of keys.
    pub key_margin: u64,
    /// Lower end of the likely range, in bytes.
    pub least: u64,
    /// Upper end of the likely range, in bytes; `None` if too little was read to determine it.
    pub most: Option<u64>,
    /// Number of windows in the sample. A few hundred give an imprecise estimate, ten thousand a good one.
    pub sampled: u64,
    /// The most frequent windows, each with a position and its count.
    pub passages: Vec<Passage>,
}

/// Prior for the difference between the repeats in the whole text and those within a searched part, as a share of the text: one standard
/// deviation.
const GROWTH_DEVIATION: f64 = 0.08;

impl Estimate {
    /// Combines the estimate with the result of a search: the share `share` of the text, from 0 to 1, repeats within `documents` searched
    /// documents. The share for the whole text is hardly lower. The less reliable the sampled keys are, the closer the result is to
    /// `share`, because all or none of the few keys of a passage may be sampled.
    pub fn combine_with_searched(&mut self, share: f64, documents: u64) {
        let bytes = |share: f64| ((share.max(0.0) * self.bytes as f64) as u64).min(self.bytes);
        // The searched documents are random. The error is computed as if each of them repeated either completely or not at all.
        let chance = (share * (1.0 - share) / documents.max(1) as f64).sqrt();
        let (searched, least) = (bytes(share), bytes(share - SEARCHED_DEVIATIONS * chance));
        let deviation = self.key_margin as f64 / self.bytes.max(1) as f64;
        let weight = GROWTH_DEVIATION.powi(2) / (GROWTH_DEVIATION.powi(2) + deviation.powi(2));
        self.least = self.least.max(least);
        self.removable = searched + (self.removable.saturating_sub(searched) as f64 * weight) as u64;
        let keys = self.key_margin as f64;
        self.key_margin = (keys * weight.sqrt()) as u64;
        let others = (self.margin as f64).powi(2) - keys.powi(2);
        self.margin = others.max(0.0).sqrt().hypot(self.key_margin as f64) as u64;
        self.most = self.most.map(|most| most.max(self.removable));
    }
}

/// Number of standard deviations between `least` and the result of the searched documents.
const SEARCHED_DEVIATIONS: f64 = 3.0;
/// Number of standard deviations between the estimate and its `least` and `most`.
const INTERVAL_DEVIATIONS: f64 = 2.0;

impl Sampler {
    /// Returns the distance between two samples of one anchor, in windows.
    pub fn sample_distance(rule: &Rule) -> u64 {
        (rule.min_length / 2 / OF_ANCHOR).clamp(1, MAX_SAMPLE_DISTANCE)
    }

    /// Returns a sampler for one in `one_in` anchor keys, and one in [`sample_distance`](Self::sample_distance) windows of these. Needs 16
    /// bytes per sampled window. For windows shorter than 32 bytes, which have very many anchors, the estimate is imprecise.
    pub fn new(rule: &Rule, one_in: u64) -> Self {
        Self {
            walk: Walk::new(rule, Bits::ALL),
            stage: SampleStage {
                min_length: rule.min_length.max(1),
                sample_distance: Self::sample_distance(rule),
                one_in: one_in.max(1),
                base: 0,
                last_sample: None,
                period: 0,
                shift: Shift::default(),
                samples: Samples::default(),
            },
        }
    }

    /// Starts a document; `base` is the position of its first byte of text.
    pub fn start_document(&mut self, base: u64) {
        self.walk.start();
        let seeing = &mut self.stage;
        (seeing.base, seeing.last_sample, seeing.period, seeing.shift) = (base, None, 0, Shift::default());
    }

    /// Adds the next bytes of the document.
    pub fn push(&mut self, piece: &[u8]) -> Outcome<()> {
        self.walk.push(piece, &mut self.stage)
    }

    /// Ends the document.
    pub fn end_document(&mut self) -> Outcome<()> {
        let bytes = self.walk.end(&mut self.stage)?;
        let samples = &mut self.stage.samples;
        samples.bytes += bytes;
        samples.documents += u64::from(bytes >= self.stage.min_length);
        Ok(())
    }

    /// Returns the number of windows in the sample so far.
    pub fn sampled(&self) -> usize {
        self.stage.samples.kept.len()
    }

    /// Returns the samples so far and resets the sampler.
    pub fn take_samples(&mut self) -> Samples {
        std::mem::take(&mut self.stage.samples)
    }
}

impl Visit for SampleStage {
    fn owned(&mut self, walk: &Walk, owned: &OwnedWindows) -> Outcome<()> {
        let key = walk.key(owned);
        let windows = owned.high - owned.low + 1;
        let period = match self.last_sample.replace((key, owned.at)) {
            Some((same, at)) if same == key => owned.at - at,
            _ => 0,
        };
        let end = owned.high + self.min_length;
        self.samples.windows += windows;
        if period > 0 && self.shift.is_periodic(walk.tail(), period, owned.low, end) {
            self.samples.periodic += windows;
            self.samples.range_count += u64::from(self.period == 0);
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
        self.last_sample = None;
        self.samples.windows += to - from;
        self.samples.periodic += to - from;
        Ok(())
    }
}

impl SampleStage {
    /// Samples windows of one anchor at distances that depend on its key.
    fn add(&mut self, walk: &Walk, owned: &OwnedWindows, salt: u64) {
        let Self { sample_distance: apart, min_length, base, samples, .. } = self;
        let (chosen, group) = (salt % *apart, salt / *apart % GROUPS);
        let mut at = owned.low + (owned.at - owned.low + *apart - chosen) % *apart;
        let mut is_first = owned.low == 0;
        while at <= owned.high {
            let hash = xxhash_rust::xxh3::xxh3_64_with_seed(walk.tail().get(at, at + *min_length), salt);
            samples.kept.push(Sample { hash, place: WindowPosition::new(*base + at, group, is_first) });
            is_first = false;
            at += *apart;
        }
    }
}

impl Samples {
    /// Returns the number of bytes that were hashed to identify windows.
    pub fn hashed(&self, rule: &Rule) -> u64 {
        self.kept.len() as u64 * rule.min_length
    }

    /// Adds the samples of earlier text from which nothing is removed.
    pub fn join_earlier(&mut self, mut other: Self) {
        self.kept.append(&mut other.kept);
    }

    /// Adds the samples and counts of another sampler.
    pub fn join(&mut self, mut other: Self) {
        self.kept.append(&mut other.kept);
        self.bytes += other.bytes;
        self.documents += other.documents;
        self.windows += other.windows;
        self.periodic += other.periodic;
        self.range_count += other.range_count;
    }

    /// Computes the estimate for the rule that all samplers used. Nothing is removed from the text before `own`
    /// ([`join_earlier`](Self::join_earlier)). Returns at most `most` passages.
    pub fn estimate(mut self, rule: &Rule, own: u64, seen: ReadShare<'_>, most: usize) -> Estimate {
        self.kept.sort_unstable_by_key(|sample| (sample.hash, sample.place));
        let mut passages = Passages::default();
        let mut growth = Extrapolation::new(seen, rule, own).filter(|_| seen.covers_all(rule));
        let mut unseen = (!seen.covers_all(rule) && own == 0).then(|| WindowCounts::new(seen.part));
        let mut window_samples: Vec<WindowSample> = Vec::with_capacity(self.kept.len());
        for same in self.kept.chunk_by(|a, b| a.hash == b.hash) {
            let count = same.len() as u64;
            let stays = if count < rule.min_count { same.len() } else { usize::from(rule.keep == Keep::First) };
            let first = window_samples.len();
            let window_sample = |(number, sample): (usize, &Sample)| WindowSample {
                place: sample.place,
                is_removable: number >= stays,
                grown: AddedShare::default(),
            };
            window_samples.extend(same.iter().enumerate().map(window_sample).filter(|one| one.place.at() >= own));
            let of_window = window_samples.get_mut(first..).unwrap_or_default();
            if let Some(unseen) = &mut unseen {
                unseen.add(seen.count_ranges(same.iter().map(|sample| sample.place.at())), same.len());
            }
            if let Some(growth) = &mut growth {
                let staying = of_window.iter().filter(|one| !one.is_removable).count();
                let grown = growth.add(same.iter().map(|sample| sample.place.at()), staying);
                of_window.iter_mut().for_each(|one| one.grown = grown);
            }
            if let Some(first) = same.first() {
                passages.add(Passage { at: first.place.at(), len: rule.min_length, count });
            }
        }
        window_samples.sort_unstable_by_key(|one| one.place);
        let length = rule.min_length.max(1);
        let groups = tallies(&window_samples, Sampler::sample_distance(rule));
        let (windows, documents) = ((self.windows - self.periodic) as f64, self.documents as f64);
        let whole = SampledText { windows, documents, length };
        let periodic = (self.periodic + self.range_count * (length - 1)) as f64;
        let (found, by_keys) = whole.estimate(&groups, |group| group.found);
        let least = found - INTERVAL_DEVIATIONS * by_keys;
        let gone: f64 =
            groups.iter().map(|group| group.found.windows).sum::<f64>() / window_samples.len().max(1) as f64;
        let (removable, margin, by_keys) = match (growth, unseen) {
            (None, None) => (found, by_keys, by_keys),
            (None, Some(unseen)) => {
                // A removable window counts as many bytes as on average in the text that was read.
                let bytes_each = if gone > 0.0 { found / (gone * windows).max(1.0) } else { 1.0 };
                ((unseen.removable(rule) * windows * bytes_each).max(found), by_keys, by_keys)
            }
            (Some(growth), _) => {
                let (both, by_keys) = whole.estimate(&groups, |group| group.found.sum(&group.grown));
                let all = both.max(found);
                let gone: f64 = groups.iter().map(|group| group.found.sum(&group.grown).windows).sum();
                // A removable window counts its average number of bytes.
                let bytes_each = all / (gone / window_samples.len().max(1) as f64 * windows).max(1.0);
                (all, by_keys.hypot(growth.spread() * windows * bytes_each), by_keys)
            }
        };
        let off = INTERVAL_DEVIATIONS * margin;
        let bytes = |wanted: f64| ((wanted + periodic).max(0.0) as u64).min(self.bytes);
        // If little of the text was read, the error of the estimate may exceed what its standard deviation suggests.
        let covers_all = seen.covers_all(rule);
        Estimate {
            bytes: self.bytes,
            removable: bytes(removable),
            margin: margin as u64,
            key_margin: by_keys as u64,
            least: bytes(least),
            most: covers_all.then(|| bytes(removable + off)),
            sampled: window_samples.len() as u64,
            passages: passages.heaviest(most),
        }
    }
}
