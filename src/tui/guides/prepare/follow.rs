//! Applies the results of the scan that starts when the form of prepare opens, and of a run.

use super::step::Step;
use super::workers::OpenedDataset;
use super::{recorded, source, PrepareGuide};
use crate::tui::form::Form;
use crate::tui::widgets::Toast;
use gristmill_core::text::{bytes, duration, inflect};
use gristmill_core::{DatasetFacts, PreparePlan, ProblemKind, Severity};
use std::sync::Arc;

impl PrepareGuide {
    /// Stores the started scan; its results arrive later.
    pub(super) fn opened(&mut self, opened: OpenedDataset) {
        self.scan = Some(opened.scan);
        self.failure = None;
        self.interrupted = opened.interrupted;
    }

    /// Applies the first facts that contain the shards: answers that name shards can be restored from now on.
    fn open(&mut self, facts: Arc<DatasetFacts>) {
        self.is_open = true;
        let earlier = facts.prepared.as_ref().and_then(|p| p.plan.as_deref().cloned());
        self.steps.set_facts(facts);
        if let Some(earlier) = earlier {
            self.steps.remember_earlier(earlier);
        }
        if let Some(given) = self.pending_answers.take().filter(|given| *given != PreparePlan::new(given.path.clone()))
        {
            self.steps.adopt(&given);
        }
        if let Some(unchosen) = self.unchosen.take().and_then(|line| serde_json::from_str(&line).ok()) {
            self.steps.restore_alternatives(&unchosen);
        }
    }

    /// Applies the findings of the scan. Returns whether any are new.
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
        let is_news = !self.latest_facts.as_ref().is_some_and(|seen| Arc::ptr_eq(seen, &facts));
        if !facts.opened || !is_news {
            return false;
        }
        // After a restart, the scan has fewer facts than the screen shows, until it has listed the shards again.
        if facts.shards.len() < self.steps.answers.facts.shards.len() && self.steps.is_scanning {
            return false;
        }
        self.set_facts(facts);
        true
    }

    /// Stores new facts.
    pub(super) fn set_facts(&mut self, facts: Arc<DatasetFacts>) {
        self.latest_facts = Some(Arc::clone(&facts));
        let facts = recorded::with_recorded_counts(facts);
        if self.is_open {
            self.steps.set_facts(facts);
        } else {
            self.open(facts);
        }
    }

    /// Applies the findings of a run that failed or was stopped. Unless all shards were read, a new scan replaces the one that the run took
    /// over.
    pub(super) fn return_from_run(&mut self, form: &mut Form) {
        if !std::mem::take(&mut self.is_run_shown) {
            return;
        }
        if let Some(id) = self.started.take() {
            match (self.env.jobs.result(id), self.env.jobs.view(id)) {
                (Some(result), Some(view)) if !result.is_ok() => {
                    if let Some(facts) = self.env.jobs.facts(id).filter(|facts| facts.opened) {
                        self.set_facts(facts);
                    }
                    self.learn_from_run(&view.status.counts, form);
                }
                // The run continues in the background, or succeeded: the form closes.
                _ => return,
            }
        }
        if self.scan.is_none() && !self.steps.answers.facts.scan_complete {
            self.workers.open.submit(self.path.clone());
        }
    }

    /// Applies the counts of problems that a failed run found. Duplicate keys are a question of the first step, which is then shown.
    pub(super) fn learn_from_run(&mut self, counts: &[(Severity, ProblemKind, u64)], form: &mut Form) {
        if self.steps.learn_from_run(counts) {
            form.select_step(Step::Source.index());
            self.steps.source.focus_on(source::FocusStop::Duplicates, &self.steps.answers);
        }
        self.update(form);
    }

    /// Returns the progress of the scan while it runs.
    pub(super) fn scan_status(&self) -> Option<String> {
        let facts = &self.steps.answers.facts;
        let scan = self.scan.as_ref().filter(|_| self.steps.is_scanning)?;
        let progress = scan.progress();
        let (rate, left) = scan.rate();
        let total = if progress.items_total > 0 { progress.items_total } else { facts.shards.len() as u64 };
        let mut status = format!("scanning {}/{total} {}", progress.items_done, inflect(total, "shard"));
        if rate >= 1.0 {
            status.push_str(&format!("  {}/s", bytes(rate as u64)));
        }
        if let Some(left) = left {
            status.push_str(&format!("  {} left", duration(left)));
        }
        Some(status)
    }
}
