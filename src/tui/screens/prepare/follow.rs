//! Takes the results of the scan that the guided prepare starts when it opens.

use super::opening::has_answers;
use super::workers::Opened;
use super::{recorded, PrepareScreen};
use crate::tui::screen::Effect;
use crate::tui::widgets::{Level, Toast};
use gristmill_core::text::duration;
use gristmill_core::DatasetFacts;
use std::sync::Arc;

impl PrepareScreen {
    /// Takes the scan that was started; what it finds follows.
    pub(super) fn opened(&mut self, opened: Opened) {
        self.scan = Some(opened.scan);
        self.failure = None;
        // Opened again after a run, the answers are there already.
        if !self.is_open {
            self.found = opened.draft;
            self.interrupted = opened.interrupted;
        }
    }

    /// Takes the first facts with the shards in them: only now answers that name shards can be taken over.
    fn begin(&mut self, facts: Arc<DatasetFacts>) {
        self.is_open = true;
        let earlier = facts.prepared.as_ref().and_then(|p| p.plan.as_deref().cloned());
        self.wizard.see(facts);
        if let Some(earlier) = earlier {
            self.wizard.remember_earlier(earlier);
        }
        if std::mem::take(&mut self.resumes) {
            if let Some(interrupted) = self.interrupted.take() {
                return self.wizard.continue_run(interrupted);
            }
            let words = "the answers of the interrupted run are not known: give them again; what fits is taken over";
            self.notice = Some(Toast::new(Level::Warn, words));
        }
        self.wizard.interrupted = self.interrupted.take();
        match (self.given.take(), self.found.take()) {
            (Some(given), _) if has_answers(&given) => self.wizard.adopt(&given),
            (_, Some(draft)) => {
                self.wizard.take_draft(&draft.plan, draft.step, draft.age);
                self.wizard.take_alternatives(&draft.splits);
            }
            _ => {}
        }
    }

    pub(super) fn follow_scan(&mut self, effects: &mut Vec<Effect>) -> bool {
        let Some(scan) = &self.scan else {
            self.wizard.is_scanning = false;
            return false;
        };
        let facts = scan.facts();
        let failure = scan.failure().filter(|f| !f.is_cancelled());
        self.wizard.is_scanning = !scan.is_finished();
        self.wizard.review.time = scan.rate().1.map(duration);
        if let Some(failure) = failure.filter(|f| self.failure.as_ref() != Some(f)) {
            if self.is_open {
                effects.push(Effect::failure(&failure));
            }
            self.failure = Some(failure);
            return true;
        }
        let is_news = !self.seen.as_ref().is_some_and(|seen| Arc::ptr_eq(seen, &facts));
        if !facts.opened || !is_news {
            return false;
        }
        // A scan that was started again knows less than is on the screen until its shards are found.
        if facts.shards.len() < self.wizard.answers.facts.shards.len() && self.wizard.is_scanning {
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
            self.wizard.see(facts);
        } else {
            self.begin(facts);
        }
    }
}
