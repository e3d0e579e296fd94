//! Facts about the data for the form of dedup, computed by its workers.

use gristmill_core::{DedupPlan, Outcome};
use gristmill_data::source::dedup::Listing;
use gristmill_ops::job::dedup::DedupEstimate;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Estimates for minimum lengths, and the plan that they are computed for.
#[derive(Default)]
pub struct Estimates {
    /// The plan that they are computed for.
    pub of: Option<DedupPlan>,
    /// The estimates by length in bytes; a length is missing until its estimate is ready.
    pub by_length: BTreeMap<u64, Arc<Outcome<DedupEstimate>>>,
    /// Lengths with a preliminary estimate, which a better one will replace.
    pub first_estimates: BTreeSet<u64>,
    /// Whether the user stopped the estimates.
    pub is_stopped: bool,
}

/// All facts about the data.
#[derive(Default)]
pub struct DedupFacts {
    pub files: Option<Arc<Outcome<Listing>>>,
    /// Estimates for minimum lengths.
    pub estimates: Estimates,
    /// The preview of a run, and its plan.
    pub review: Option<(DedupPlan, Arc<Outcome<DedupEstimate>>)>,
}

impl DedupFacts {
    /// Returns why no input can be read.
    pub fn files_blocker(&self) -> Option<String> {
        self.files.as_ref().and_then(|found| found.as_ref().as_ref().err()).map(ToString::to_string)
    }

    /// Returns the estimate for a length; `None` until it is ready.
    pub fn estimate(&self, length: u64) -> Option<&Outcome<DedupEstimate>> {
        self.estimates.by_length.get(&length).map(Arc::as_ref)
    }
}

/// Returns a plan with only those answers of `plan` that affect estimates; the others have their defaults.
pub fn relevant(plan: &DedupPlan) -> DedupPlan {
    DedupPlan {
        text_key: plan.text_key.clone(),
        keep: plan.keep,
        min_count: plan.min_count,
        against: plan.against.clone(),
        from_index: plan.from_index.clone(),
        ..DedupPlan::new(plan.input.clone(), "")
    }
}
