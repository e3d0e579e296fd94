//! The figures of a mixture, before its index is built.

use super::{build, MixtureIndex, Request};
use gristmill_core::{Handles, ProblemLog, Progress};
use serde::Serialize;

/// Number of samples up to which an epoch is built for exact figures.
pub const EXACT_UP_TO: u64 = 100_000;

/// The composition of a mixture.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MixtureForecast {
    /// Number of samples in the index.
    pub samples: u64,
    /// Number of samples of one epoch: the windows of all data sets.
    pub epoch: u64,
    /// Number of epochs that the reference program builds, the last of which is truncated.
    pub epochs: u64,
    /// Number of epochs that are read: samples divided by the samples of an epoch.
    pub passes: f64,
    /// Whether the figures of the data sets were counted. Otherwise they are calculated from the weights, with an error of a few samples
    /// per epoch.
    pub is_exact: bool,
    /// One entry per data set.
    pub members: Vec<Share>,
}

/// The figures of one data set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Share {
    /// Number of its windows.
    pub windows: u64,
    /// Its weight, normalised so that the sum of all weights is one.
    pub weight: f64,
    /// Number of samples taken from the data set in one epoch.
    pub in_epoch: u64,
    /// Number of samples taken from the data set in total.
    pub samples: u64,
    /// How often each of its windows is read, on average.
    pub repeats: f64,
    /// Number of windows that are in no sample, however many epochs follow in the same order.
    pub unread: u64,
}

impl MixtureForecast {
    /// Returns the figures of a request that has been [checked](Request::check): exact for an epoch of up to [`EXACT_UP_TO`] samples,
    /// otherwise [estimated](Self::estimate).
    pub fn exact_or_estimated(request: &Request) -> Self {
        if request.epoch() > EXACT_UP_TO {
            return Self::estimate(request);
        }
        let (progress, cancel, problems) = (Progress::default(), Default::default(), ProblemLog::default());
        let built = build(request, &Handles { progress: &progress, cancel: &cancel, problems: &problems });
        built.map_or_else(|_| Self::estimate(request), |index| Self::of(request, &index))
    }

    /// Returns the figures of a finished index.
    pub fn of(request: &Request, index: &MixtureIndex) -> Self {
        let (drawn, unread) = index.tally();
        let counted = index.used().iter().zip(drawn).zip(unread);
        Self::with(request, true, counted.map(|((used, drawn), unread)| (*used, drawn, unread)))
    }

    /// Returns figures calculated from the weights, with one step per data set.
    pub fn estimate(request: &Request) -> Self {
        let epoch = request.epoch().max(1);
        let weights = request.normalised();
        let (whole, rest) = (request.samples / epoch, request.samples % epoch);
        let share = rest as f64 / epoch as f64;
        let figures = weights.iter().zip(&request.lengths).map(|(weight, &windows)| {
            let used = (weight * epoch as f64).round() as u64;
            let drawn = used.saturating_mul(whole).saturating_add((used as f64 * share).round() as u64);
            let unread = match whole {
                0 => unused_windows(windows, used, share),
                _ => windows.saturating_sub(used),
            };
            (used, drawn, unread)
        });
        Self::with(request, false, figures)
    }

    fn with(request: &Request, is_exact: bool, figures: impl Iterator<Item = (u64, u64, u64)>) -> Self {
        let epoch = request.epoch();
        let members = figures.zip(&request.lengths).zip(request.normalised());
        let share = |(((in_epoch, samples, unread), &windows), weight): (((u64, u64, u64), &u64), f64)| Share {
            windows,
            weight,
            in_epoch,
            samples,
            repeats: if windows == 0 { 0.0 } else { samples as f64 / windows as f64 },
            unread,
        };
        Self {
            samples: request.samples,
            epoch,
            epochs: request.epochs(),
            passes: request.samples as f64 / epoch.max(1) as f64,
            is_exact,
            members: members.map(share).collect(),
        }
    }
}

/// Returns the expected number of unread windows if `used` samples cycle through `windows`, and only a share of the samples, selected by a
/// shuffle, is read.
fn unused_windows(windows: u64, used: u64, share: f64) -> u64 {
    let (times, more) = match windows {
        0 => return 0,
        _ => (used / windows, used % windows),
    };
    let missed = |times: u64| (1.0 - share).powi(i32::try_from(times).unwrap_or(i32::MAX));
    (more as f64 * missed(times + 1) + (windows - more) as f64 * missed(times)).round() as u64
}
