//! What the guided dedup has done in the background. Minimum lengths are worked out one after the other, and each is told as soon as it
//! is there; of the other questions the newest wins.

use super::seen::relevant;
use crate::job::dedup::{estimate, DedupEstimate};
use crate::model::{Cancel, DedupPlan, Outcome};
use crate::source::dedup::{list, Listing};
use crate::tui::screen::UiEnv;
use crate::tui::work::{Latest, Stream};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

type Estimated = Arc<Outcome<DedupEstimate>>;
type Question = (DedupPlan, u64, Cancel);

/// The workers.
pub struct Workers {
    files: Latest<(PathBuf, Cancel), Arc<Outcome<Listing>>>,
    lengths: Stream<Question, (DedupPlan, u64, Estimated)>,
    review: Latest<(DedupPlan, Cancel), (DedupPlan, Estimated)>,
    /// What stops the lengths that were asked for and are not answered.
    open: BTreeMap<u64, Cancel>,
    /// The answers that they were asked for.
    of: Option<DedupPlan>,
    leaving: Cancel,
    reviewing: Cancel,
}

impl Workers {
    /// Starts them.
    pub fn start(env: &UiEnv) -> Self {
        let (options, others) = (env.dedup_options(), env.dedup_options());
        Self {
            files: Latest::start("dedup-files", env.wake.clone(), |(folder, cancel): (PathBuf, Cancel)| {
                Arc::new(list(&folder, &cancel))
            }),
            lengths: Stream::start("dedup-lengths", env.wake.clone(), move |(plan, length, cancel): Question| {
                // What is no longer wanted, or was answered while it waited, is not begun.
                let asked = DedupPlan { min_length: Some(length), ..plan.clone() };
                let found = cancel.check().and_then(|()| estimate(&asked, &[length], &options, &cancel));
                (plan, length, Arc::new(found))
            }),
            review: Latest::start("dedup-review", env.wake.clone(), move |(plan, cancel): (DedupPlan, Cancel)| {
                let lengths: Vec<u64> = plan.min_length.into_iter().collect();
                let found = estimate(&plan, &lengths, &others, &cancel);
                (plan, Arc::new(found))
            }),
            open: BTreeMap::new(),
            of: None,
            leaving: Cancel::default(),
            reviewing: Cancel::default(),
        }
    }

    /// Finds the files.
    pub fn files(&mut self, folder: PathBuf) {
        self.files.ask((folder, self.leaving.clone()));
    }

    /// Works out what lengths come to, in this order; what was being worked out for other answers or other lengths ends.
    pub fn lengths(&mut self, plan: &DedupPlan, wanted: &[u64]) {
        let plan = relevant(plan);
        if self.of.as_ref() != Some(&plan) {
            self.stop();
            self.of = Some(plan.clone());
        }
        self.open.retain(|length, cancel| {
            let stays = wanted.contains(length);
            if !stays {
                cancel.cancel();
            }
            stays
        });
        let open = &mut self.open;
        let ask = |length: &u64| (plan.clone(), *length, open.entry(*length).or_default().clone());
        let questions: Vec<Question> = wanted.iter().map(ask).collect();
        self.lengths.want(questions);
    }

    /// Ends the working out of lengths.
    pub fn stop(&mut self) {
        self.lengths.want([]);
        std::mem::take(&mut self.open).into_values().for_each(|cancel| cancel.cancel());
        self.of = None;
    }

    /// Finds out what a run would do; what was being found out for other answers ends.
    pub fn review(&mut self, plan: DedupPlan) {
        self.reviewing.cancel();
        self.reviewing = Cancel::default();
        self.review.ask((plan, self.reviewing.clone()));
    }

    /// The files, once.
    pub fn take_files(&mut self) -> Option<Arc<Outcome<Listing>>> {
        self.files.take()
    }

    /// What lengths came to since the last call, for the answers that were asked last.
    pub fn take_lengths(&mut self) -> Vec<(u64, Estimated)> {
        let mut taken = Vec::new();
        for (plan, length, found) in self.lengths.take() {
            let is_stopped = matches!(found.as_ref(), Err(failure) if failure.is_cancelled());
            if is_stopped || self.of.as_ref() != Some(&plan) {
                continue;
            }
            if let Some(cancel) = self.open.remove(&length) {
                cancel.cancel();
                taken.push((length, found));
            }
        }
        taken
    }

    /// What a run would do, once.
    pub fn take_review(&mut self) -> Option<(DedupPlan, Estimated)> {
        self.review.take().filter(|(_, found)| !matches!(found.as_ref(), Err(failure) if failure.is_cancelled()))
    }

    /// Whether lengths are being worked out.
    pub fn is_estimating(&self) -> bool {
        !self.open.is_empty()
    }

    /// Whether files are being looked for.
    pub fn is_listing(&self) -> bool {
        self.files.is_waiting()
    }

    /// Whether a question is open.
    pub fn is_busy(&self) -> bool {
        self.is_listing() || self.is_estimating() || self.review.is_waiting()
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.stop();
        self.leaving.cancel();
        self.reviewing.cancel();
    }
}
