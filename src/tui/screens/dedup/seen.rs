//! What is known of the data that is to be deduplicated, as the workers found it out.

use gristmill_core::{DedupPlan, Outcome};
use gristmill_ops::job::dedup::DedupEstimate;
use gristmill_ops::source::dedup::Listing;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What minimum lengths come to, and for which answers.
#[derive(Default)]
pub struct Estimates {
    /// The answers that they depend on.
    pub of: Option<DedupPlan>,
    /// By length in bytes; those that are still worked out are not there.
    pub by_length: BTreeMap<u64, Arc<Outcome<DedupEstimate>>>,
    /// Lengths of which that is a first look: better figures are worked out.
    pub first_looks: BTreeSet<u64>,
    /// Somebody asked to stop: no more are worked out.
    pub is_stopped: bool,
}

/// Everything that is known.
#[derive(Default)]
pub struct Seen {
    /// The files.
    pub files: Option<Arc<Outcome<Listing>>>,
    /// What minimum lengths come to.
    pub estimates: Estimates,
    /// What a run would do, and for which plan.
    pub review: Option<(DedupPlan, Arc<Outcome<DedupEstimate>>)>,
}

impl Seen {
    /// Why nothing can be read.
    pub fn files_blocker(&self) -> Option<String> {
        self.files.as_ref().and_then(|found| found.as_ref().as_ref().err()).map(ToString::to_string)
    }

    /// What a length comes to; `None` while it is worked out.
    pub fn estimate(&self, length: u64) -> Option<&Outcome<DedupEstimate>> {
        self.estimates.by_length.get(&length).map(Arc::as_ref)
    }
}

/// The answers that what a minimum length comes to depends on; the others are as if never given.
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
