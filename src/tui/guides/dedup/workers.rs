//! The workers of the form of dedup. Minimum lengths that are requested together are estimated together, in one pass over the text; of all
//! other requests, a new one replaces an older one.

use super::estimates::relevant;
use crate::tui::screen::UiEnv;
use crate::tui::work::{Stoppable, Stream};
use gristmill_core::{Cancel, DedupPlan, Outcome};
use gristmill_data::source::dedup::{list, Listing};
use gristmill_ops::job::dedup::{estimate, estimates, DedupEstimate, SampleBudget};
use std::path::PathBuf;
use std::sync::Arc;

type SharedEstimate = Arc<Outcome<DedupEstimate>>;
type EstimateQuestion = (DedupPlan, Vec<u64>, EstimateEffort, Cancel);
type EstimateAnswer = (DedupPlan, Vec<(u64, SharedEstimate)>, EstimateEffort);
type ReviewAnswer = (DedupPlan, EstimateEffort, SharedEstimate);

/// How much of the text is examined: a small sample for a preliminary estimate, then a larger one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EstimateEffort {
    First,
    Whole,
}

impl EstimateEffort {
    fn effort(self) -> SampleBudget {
        match self {
            Self::First => SampleBudget::FIRST,
            Self::Whole => SampleBudget::default(),
        }
    }

    /// Whether an estimate will be replaced by a better one.
    fn is_followed(self, found: &SharedEstimate) -> bool {
        self == Self::First && found.as_ref().as_ref().is_ok_and(|found| !found.is_exact())
    }
}

pub struct Workers {
    /// Lists the input files.
    pub files: Stoppable<PathBuf, Arc<Outcome<Listing>>>,
    lengths: Stream<EstimateQuestion, EstimateAnswer>,
    review: Stoppable<(DedupPlan, EstimateEffort), ReviewAnswer>,
    /// Requests without a final answer: the lengths requested together, how much text is examined, and the cancel flag.
    open: Vec<(Vec<u64>, EstimateEffort, Cancel)>,
    /// The plan that the lengths were requested for.
    of: Option<DedupPlan>,
}

impl Workers {
    /// Starts the workers.
    pub fn start(env: &UiEnv) -> Self {
        let (options, others) = (env.dedup_options(), env.dedup_options());
        Self {
            files: Stoppable::start("dedup-files", env.wake.clone(), |folder: PathBuf, cancel| {
                Arc::new(list(&folder, false, cancel))
            }),
            lengths: Stream::start(
                "dedup-lengths",
                env.wake.clone(),
                move |(plan, lengths, look, cancel): EstimateQuestion| {
                    // Requests that were cancelled in the meantime are not started.
                    let found =
                        cancel.check().and_then(|()| estimates(&plan, &lengths, &options, look.effort(), &cancel));
                    let each: Vec<SharedEstimate> = match found {
                        Ok(found) => found.into_iter().map(|one| Arc::new(Ok(one))).collect(),
                        Err(failure) => lengths.iter().map(|_| Arc::new(Err(failure.clone()))).collect(),
                    };
                    (plan, lengths.into_iter().zip(each).collect(), look)
                },
            ),
            review: Stoppable::start(
                "dedup-review",
                env.wake.clone(),
                move |(plan, look): (DedupPlan, EstimateEffort), cancel| {
                    let found = estimate(&plan, &others, look.effort(), cancel);
                    (plan, look, Arc::new(found))
                },
            ),
            open: Vec::new(),
            of: None,
        }
    }

    /// Requests estimates for the lengths, in this order; requests for other plans or lengths are cancelled.
    pub fn lengths(&mut self, plan: &DedupPlan, wanted: &[u64]) {
        let plan = relevant(plan);
        if self.of.as_ref() != Some(&plan) {
            self.stop();
            self.of = Some(plan.clone());
        }
        // A request for several lengths continues while one of them is wanted.
        self.open.retain(|(lengths, _, cancel)| {
            let stays = lengths.iter().any(|length| wanted.contains(length));
            if !stays {
                cancel.cancel();
            }
            stays
        });
        let is_asked = |length: &u64| self.open.iter().any(|(lengths, ..)| lengths.contains(length));
        let fresh: Vec<u64> = wanted.iter().copied().filter(|length| !is_asked(length)).collect();
        if fresh.is_empty() {
            return;
        }
        self.open.push((fresh, EstimateEffort::First, Cancel::default()));
        self.request_lengths();
    }

    fn request_lengths(&mut self) {
        let Some(plan) = &self.of else { return };
        let ask = |(lengths, look, cancel): &(Vec<u64>, EstimateEffort, Cancel)| {
            (plan.clone(), lengths.clone(), *look, cancel.clone())
        };
        let questions: Vec<EstimateQuestion> = self.open.iter().map(ask).collect();
        self.lengths.set_questions(questions);
    }

    /// Cancels the estimates of lengths.
    pub fn stop(&mut self) {
        self.lengths.set_questions([]);
        std::mem::take(&mut self.open).iter().for_each(|(.., cancel)| cancel.cancel());
        self.of = None;
    }

    /// Requests the preview of a run; a request for another plan is cancelled.
    pub fn review(&mut self, plan: DedupPlan) {
        self.review.submit((plan, EstimateEffort::First));
    }

    /// Returns the estimates since the last call, if they are for the newest plan, and whether each is preliminary.
    pub fn take_lengths(&mut self) -> Vec<(u64, SharedEstimate, bool)> {
        let mut taken = Vec::new();
        for (plan, found, look) in self.lengths.take() {
            let is_stopped = |one: &SharedEstimate| matches!(one.as_ref(), Err(failure) if failure.is_cancelled());
            let is_open = |(lengths, open, _): &(Vec<u64>, EstimateEffort, Cancel)| {
                *open == look && lengths.iter().eq(found.iter().map(|(length, _)| length))
            };
            let Some(place) = self.open.iter().position(is_open).filter(|_| self.of.as_ref() == Some(&plan)) else {
                continue;
            };
            if found.iter().any(|(_, one)| is_stopped(one)) {
                continue;
            }
            let (lengths, _, cancel) = self.open.remove(place);
            cancel.cancel();
            let is_followed = found.iter().any(|(_, one)| look.is_followed(one));
            if is_followed {
                self.open.insert(place, (lengths, EstimateEffort::Whole, Cancel::default()));
                self.request_lengths();
            }
            taken.extend(found.into_iter().map(|(length, found)| (length, found, is_followed)));
        }
        taken
    }

    /// Removes and returns the preview of a run, if it is ready.
    pub fn take_review(&mut self) -> Option<(DedupPlan, SharedEstimate)> {
        let (plan, look, found) = self.review.take()?;
        if look.is_followed(&found) {
            self.review.submit((plan.clone(), EstimateEffort::Whole));
        }
        Some((plan, found))
    }

    /// Whether estimates are being computed.
    pub fn is_estimating(&self) -> bool {
        !self.open.is_empty()
    }

    /// Whether a request is pending.
    pub fn is_busy(&self) -> bool {
        self.files.is_waiting() || self.is_estimating() || self.review.is_waiting()
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.stop();
    }
}
