//! Takes the results of the scan that the guided prepare starts when it opens.

use super::workers::Opened;
use super::{recorded, PrepareGuide};
use crate::tui::widgets::Toast;
use gristmill_core::text::duration;
use gristmill_core::{DatasetFacts, PreparePlan};
use std::sync::Arc;

impl PrepareGuide {
    /// Takes the scan that was started; what it finds follows.
    pub(super) fn opened(&mut self, opened: Opened) {
        self.scan = Some(opened.scan);
        self.failure = None;
        self.interrupted = opened.interrupted;
    }

    /// Takes the first facts with the shards in them: only now answers that name shards can be taken over.
    fn open(&mut self, facts: Arc<DatasetFacts>) {
        self.is_open = true;
        let earlier = facts.prepared.as_ref().and_then(|p| p.plan.as_deref().cloned());
        self.steps.see(facts);
        if let Some(earlier) = earlier {
            self.steps.remember_earlier(earlier);
        }
        if let Some(given) = self.given.take().filter(|given| *given != PreparePlan::new(given.path.clone())) {
            self.steps.adopt(&given);
        }
        if let Some(unchosen) = self.unchosen.take().and_then(|line| serde_json::from_str(&line).ok()) {
            self.steps.restore_alternatives(&unchosen);
        }
    }

    /// Takes what the scan has found. Returns whether anything is new.
    pub(super) fn follow_scan(&mut self) -> bool {
        let Some(scan) = &self.scan else {
            self.steps.is_scanning = false;
            return false;
        };
        let facts = scan.facts();
        let failure = scan.failure().filter(|f| !f.is_cancelled());
        self.steps.is_scanning = !scan.is_finished();
        self.time = scan.rate().1.map(duration);
        if let Some(failure) = failure.filter(|f| self.failure.as_ref() != Some(f)) {
            if self.is_open {
                self.notices.push(Toast::failure(&failure));
            }
            self.failure = Some(failure);
            return true;
        }
        let is_news = !self.seen.as_ref().is_some_and(|seen| Arc::ptr_eq(seen, &facts));
        if !facts.opened || !is_news {
            return false;
        }
        // A scan that was started again knows less than is on the screen until its shards are found.
        if facts.shards.len() < self.steps.answers.facts.shards.len() && self.steps.is_scanning {
            return false;
        }
        self.see(facts);
        true
    }

    /// Takes new facts.
    pub(super) fn see(&mut self, facts: Arc<DatasetFacts>) {
        self.seen = Some(Arc::clone(&facts));
        let facts = recorded::with_recorded_counts(facts);
        if self.is_open {
            self.steps.see(facts);
        } else {
            self.open(facts);
        }
    }
}
