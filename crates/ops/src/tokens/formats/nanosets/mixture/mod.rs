//! The window and the data set of each training sample, exactly as nanotron's Nanoset computes them (docs/formats/nanosets.md §7).
//!
//! [`Request`] is the input. [`MixtureForecast`] is an estimate, fast enough to be updated on every key press; [`index::build`] builds the
//! index.

mod epoch;
mod forecast;
pub mod index;
pub mod job;
mod plan;
mod tokenizer;
pub(crate) mod training;
mod warnings;
mod weights;

pub use super::engine::listing;
pub use forecast::{MixtureForecast, Share, EXACT_UP_TO};
pub use gristmill_data::formats::nanosets::windows;
pub use index::{build, MixtureIndex};
pub use plan::{resolve, Member, MixtureIndexPlan, ResolvedMixture};
pub use tokenizer::{FolderTokenizer, TokenizerSettings};
pub use warnings::warnings;
pub use weights::normalise;

use gristmill_core::{Failure, Outcome, Subject};

/// Default seed of the reference program.
pub const DEFAULT_SEED: u32 = 1234;
/// Maximum number of data sets in one mixture.
pub const MAX_MEMBERS: usize = 1 << 16;

const ACTIVITY: &str = "the mixture";

/// The parameters of a mixture.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Number of windows of each data set.
    pub lengths: Vec<u64>,
    /// One weight per data set, in any unit; `None` weighs each data set by its number of windows.
    pub weights: Option<Vec<f64>>,
    /// Number of training samples: training steps times the global batch size.
    pub samples: u64,
    /// Seed of the shuffle.
    pub seed: u32,
}

impl Request {
    /// Returns the number of windows of all data sets, which is the number of samples of one epoch.
    pub fn epoch(&self) -> u64 {
        self.lengths.iter().sum()
    }

    /// Returns the number of epochs that the reference program builds before it truncates them to the samples. If the samples are whole
    /// epochs, this is one more than needed.
    pub fn epochs(&self) -> u64 {
        // Python divides with rounding to the nearest double.
        (self.samples as f64 / self.epoch().max(1) as f64) as u64 + 1
    }

    /// Returns weights that add up to one.
    pub fn normalised(&self) -> Vec<f64> {
        match &self.weights {
            Some(weights) => normalise(weights),
            None => normalise(&self.lengths.iter().map(|&length| length as f64).collect::<Vec<_>>()),
        }
    }

    /// Refuses a request that cannot be mixed, and names the responsible data set if there is one. `names` are the names of the data sets;
    /// missing names are replaced by numbers.
    pub fn check(&self, names: &[String]) -> Outcome<()> {
        let members = self.lengths.len();
        if members == 0 {
            return Err(Failure::usage(ACTIVITY, "there is no data set"));
        }
        if members > MAX_MEMBERS {
            return Err(Failure::usage(ACTIVITY, format!("{members} data sets are more than {MAX_MEMBERS}")));
        }
        let all = self.lengths.iter().try_fold(0_u64, |all, &length| all.checked_add(length));
        match all {
            None => return Err(Failure::data(ACTIVITY, "the windows of all data sets do not fit into 64 bits")),
            Some(0) => return Err(Failure::data(ACTIVITY, "no data set has a single window")),
            Some(n) if n >= 1 << 53 => return Err(Failure::data(ACTIVITY, format!("{n} windows are more than 2^53"))),
            Some(_) => {}
        }
        if self.samples == 0 {
            return Err(Failure::usage(ACTIVITY, "at least one sample is needed").on(Subject::field("--samples")));
        }
        match &self.weights {
            Some(weights) => self.check_weights(weights, names),
            None => Ok(()),
        }
    }

    fn check_weights(&self, weights: &[f64], names: &[String]) -> Outcome<()> {
        let on = |failure: Failure, member: usize| failure.on(Subject::default().key(name(names, member)));
        if weights.len() != self.lengths.len() {
            let why = format!(
                "{} for {}",
                gristmill_core::text::count(weights.len() as u64, "weight"),
                gristmill_core::text::count(self.lengths.len() as u64, "data set")
            );
            return Err(Failure::usage(ACTIVITY, why));
        }
        for (member, &weight) in weights.iter().enumerate() {
            if !weight.is_finite() || weight < 0.0 {
                return Err(on(Failure::usage(ACTIVITY, format!("a weight of {weight} cannot be used")), member));
            }
            if weight > 0.0 && self.lengths[member] == 0 {
                let why = format!("it has no window, and a weight of {weight}: the reference divides by zero");
                let failure =
                    Failure::data(ACTIVITY, why).with_hint("give it the weight 0, or a shorter sequence length");
                return Err(on(failure, member));
            }
        }
        let sum: f64 = weights.iter().sum();
        if sum <= 0.0 || !sum.is_finite() {
            return Err(Failure::usage(ACTIVITY, format!("the weights add up to {sum}")));
        }
        Ok(())
    }
}

/// Returns the name of a data set, or its number from 1.
fn name(names: &[String], member: usize) -> String {
    names.get(member).cloned().unwrap_or_else(|| format!("data set {}", member + 1))
}

#[cfg(test)]
mod tests;
