//! Facts about the data, from the workers.

use gristmill_core::{DedupPlan, Outcome};
use gristmill_data::source::dedup::Listing;
use gristmill_ops::job::dedup::DedupEstimate;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Estimates for minimum lengths, and the answers that they are for.
#[derive(Default)]
pub struct Estimates {
    /// The answers that they depend on.
    pub of: Option<DedupPlan>,
    /// By length in bytes; without those that are still being estimated.
    pub by_length: BTreeMap<u64, Arc<Outcome<DedupEstimate>>>,
    /// Lengths with a first estimate, which a better one replaces.
    pub first_estimates: BTreeSet<u64>,
    /// Whether the user stopped the estimates.
    pub is_stopped: bool,
}

/// Everything that is known.
#[derive(Default)]
pub struct DedupFacts {
    pub files: Option<Arc<Outcome<Listing>>>,
    /// Estimates for minimum lengths.
    pub estimates: Estimates,
    /// The preview of a run, and its plan.
    pub review: Option<(DedupPlan, Arc<Outcome<DedupEstimate>>)>,
}

impl DedupFacts {
    /// Returns why nothing can be read.
    pub fn files_blocker(&self) -> Option<String> {
        self.files.as_ref().and_then(|found| found.as_ref().as_ref().err()).map(ToString::to_string)
    }

    /// Returns the estimate for a length; `None` while it is being made.
    pub fn estimate(&self, length: u64) -> Option<&Outcome<DedupEstimate>> {
        self.estimates.by_length.get(&length).map(Arc::as_ref)
    }
}

/// Returns the answers that estimates depend on; the others have their defaults.
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
