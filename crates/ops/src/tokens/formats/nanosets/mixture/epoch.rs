//! One epoch before it is shuffled. Each window is taken from the data set that is furthest below its share.

use super::{Request, ACTIVITY};
use gristmill_core::{Failure, Handles, Outcome};

/// Samples between two checks of the cancel flag.
const PROGRESS_EVERY: u64 = 1 << 16;

/// Id of a window in a mixture: the windows of all data sets are numbered consecutively, in the order of the data sets.
pub(super) trait Id: Copy + Send + 'static {
    /// Converts a number, which must fit.
    fn of(number: u64) -> Self;
    fn number(self) -> u64;
}

impl Id for u32 {
    fn of(number: u64) -> Self {
        number as Self
    }
    fn number(self) -> u64 {
        u64::from(self)
    }
}

impl Id for u64 {
    fn of(number: u64) -> Self {
        number
    }
    fn number(self) -> u64 {
        self
    }
}

/// An epoch of a mixture, before or after it is shuffled.
pub(super) struct Epoch<T> {
    /// The window of each sample.
    pub ids: Vec<T>,
    /// Number of samples taken from each data set.
    pub used: Vec<u64>,
}

/// Builds one epoch. The request must have been checked. The memory used is that of the window ids.
pub(super) fn build_epoch<T: Id>(request: &Request, handles: &Handles<'_>) -> Outcome<Epoch<T>> {
    let samples = request.epoch();
    let mut ids: Vec<T> = Vec::new();
    let count = usize::try_from(samples).unwrap_or(usize::MAX);
    if ids.try_reserve_exact(count).is_err() {
        let why = format!("an epoch of {samples} samples does not fit into the memory of this machine");
        return Err(Failure::environment(ACTIVITY, why));
    }
    let weights = request.normalised();
    // Common numbers of data sets are compile-time constants. The unused lanes are never furthest below their share.
    let used = match weights.len() {
        1..=2 => fill(&mut FixedWeights::<2>::new(request, &weights), samples, &mut ids, handles)?,
        3..=4 => fill(&mut FixedWeights::<4>::new(request, &weights), samples, &mut ids, handles)?,
        5..=8 => fill(&mut FixedWeights::<8>::new(request, &weights), samples, &mut ids, handles)?,
        9..=16 => fill(&mut FixedWeights::<16>::new(request, &weights), samples, &mut ids, handles)?,
        _ => fill(&mut DynamicWeights::new(request, &weights), samples, &mut ids, handles)?,
    };
    let used = used.get(..weights.len()).unwrap_or_default().to_vec();
    // A data set without windows and weight can be chosen if all data sets are exactly at their share and it is the first one.
    if let Some(member) = used.iter().zip(&request.lengths).position(|(used, length)| *used > 0 && *length == 0) {
        let why = format!("data set {} has no window, and the reference takes one from it all the same", member + 1);
        return Err(Failure::data(ACTIVITY, why).with_hint("leave it out"));
    }
    Ok(Epoch { ids, used })
}

/// State of the selection among the data sets.
trait Choice {
    /// Selects the data set of the next window, for sample number `x`, and returns the id of the window.
    fn next_window(&mut self, x: f64) -> u64;
    /// Returns the number of samples taken from each data set so far.
    fn used(&self) -> Vec<u64>;
}

fn fill<T: Id>(choice: &mut impl Choice, samples: u64, ids: &mut Vec<T>, handles: &Handles<'_>) -> Outcome<Vec<u64>> {
    let mut first = 0;
    while first < samples {
        handles.cancel.check()?;
        let end = (first + PROGRESS_EVERY).min(samples);
        // The reference program computes the first sample as if it were the second.
        ids.extend((first..end).map(|sample| T::of(choice.next_window(sample.max(1) as f64))));
        handles.progress.add(end - first, 0);
        first = end;
    }
    Ok(choice.used())
}

/// State for up to `D` data sets.
struct FixedWeights<const D: usize> {
    weights: [f64; D],
    /// Number of windows that were drawn from each data set; infinite for places without a data set.
    used: [f64; D],
    /// The id that each data set yields next.
    next: [u64; D],
    /// First id of each data set.
    start: [u64; D],
    /// The id after the last one of each data set.
    end: [u64; D],
}

impl<const D: usize> FixedWeights<D> {
    fn new(request: &Request, weights: &[f64]) -> Self {
        let bounds = bounds(request);
        let bound = |lane: usize| bounds.get(lane).copied().unwrap_or_default();
        Self {
            weights: std::array::from_fn(|lane| weights.get(lane).copied().unwrap_or(0.0)),
            used: std::array::from_fn(|lane| if lane < weights.len() { 0.0 } else { f64::INFINITY }),
            next: std::array::from_fn(|lane| bound(lane).0),
            start: std::array::from_fn(|lane| bound(lane).0),
            end: std::array::from_fn(|lane| bound(lane).1),
        }
    }
}

impl<const D: usize> Choice for FixedWeights<D> {
    #[inline]
    fn next_window(&mut self, x: f64) -> u64 {
        let mut best = 0;
        let mut lag = self.weights[0] * x - self.used[0];
        for lane in 1..D {
            let other = self.weights[lane] * x - self.used[lane];
            if other > lag {
                lag = other;
                best = lane;
            }
        }
        self.used[best] += 1.0;
        let id = self.next[best];
        self.next[best] = if id + 1 == self.end[best] { self.start[best] } else { id + 1 };
        id
    }

    fn used(&self) -> Vec<u64> {
        self.used.iter().map(|&used| used as u64).collect()
    }
}

/// State for any number of data sets.
struct DynamicWeights {
    weights: Vec<f64>,
    /// Number of windows that were drawn from each data set.
    used: Vec<f64>,
    /// The id that each data set yields next.
    next: Vec<u64>,
    /// First id of each data set, and the id after its last one.
    bounds: Vec<(u64, u64)>,
}

impl DynamicWeights {
    fn new(request: &Request, weights: &[f64]) -> Self {
        let bounds = bounds(request);
        let next = bounds.iter().map(|bound| bound.0).collect();
        Self { weights: weights.to_vec(), used: vec![0.0; weights.len()], next, bounds }
    }
}

impl Choice for DynamicWeights {
    fn next_window(&mut self, x: f64) -> u64 {
        let mut best = 0;
        let mut lag = f64::NEG_INFINITY;
        for (member, (weight, used)) in self.weights.iter().zip(&self.used).enumerate() {
            let other = weight * x - used;
            if other > lag {
                lag = other;
                best = member;
            }
        }
        self.used[best] += 1.0;
        let id = self.next[best];
        let (start, end) = self.bounds[best];
        self.next[best] = if id + 1 == end { start } else { id + 1 };
        id
    }

    fn used(&self) -> Vec<u64> {
        self.used.iter().map(|&used| used as u64).collect()
    }
}

/// Returns the range of window ids of each data set: the first id, and the id after the last.
pub(super) fn bounds(request: &Request) -> Vec<(u64, u64)> {
    let mut end = 0;
    let bound = |&length: &u64| {
        let start = end;
        end += length;
        (start, end)
    };
    request.lengths.iter().map(bound).collect()
}
