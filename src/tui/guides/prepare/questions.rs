//! Requests of the guided prepare to its workers, and the application of their results.

use super::field_map::samples::SampleRequest;
use super::step::Step;
use super::PrepareGuide;
use gristmill_core::{DatasetFacts, PreparePlan, SampleMapping};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Minimum interval between checks of a plan while the facts grow.
const DERIVE_EVERY: Duration = Duration::from_millis(300);

impl PrepareGuide {
    /// Submits all requests that the current state needs.
    pub(super) fn request_step_data(&mut self, step: Step) {
        if !self.is_open {
            return;
        }
        let now = (self.steps.answers.plan.clone(), Arc::clone(&self.steps.answers.facts));
        self.request_splits(&now);
        self.request_field_values(step, &now);
        self.request_preview(step, &now);
        self.request_media(step, &now);
    }

    fn request_splits(&mut self, now: &(PreparePlan, Arc<DatasetFacts>)) {
        let (same_plan, same_facts) = match &self.derived_for {
            Some((plan, facts)) => (*plan == now.0, Arc::ptr_eq(facts, &now.1)),
            None => (false, false),
        };
        let is_soon = self.derived_at.is_some_and(|at| at.elapsed() < DERIVE_EVERY);
        if same_plan && (same_facts || is_soon && !now.1.scan_complete) {
            return;
        }
        self.derived_at = Some(Instant::now());
        self.derived_for = Some(now.clone());
        self.workers.derive.submit(now.clone());
    }

    fn request_field_values(&mut self, step: Step, now: &(PreparePlan, Arc<DatasetFacts>)) {
        let SampleMapping::FieldMap { sample_type, fields } = &now.0.loading else { return };
        if now.1.sketches.is_empty() || step < Step::SampleType {
            return;
        }
        let same = self.evaluated_for.as_ref().is_some_and(|(loading, facts)| {
            *loading == now.0.loading
                && facts.sketches.len() == now.1.sketches.len()
                && facts.scan_complete == now.1.scan_complete
        });
        if !same {
            self.evaluated_for = Some((now.0.loading.clone(), Arc::clone(&now.1)));
            let (class, fields, facts) = (sample_type.clone(), fields.clone(), Arc::clone(&now.1));
            self.workers.evaluate.submit(SampleRequest { class, fields, facts });
        }
    }

    /// Requests the media that the answers would record: only while the step Media is on the screen, and not more often than plans are
    /// checked.
    fn request_media(&mut self, step: Step, now: &(PreparePlan, Arc<DatasetFacts>)) {
        let Some(media) = now.0.media.as_ref().filter(|_| step == Step::Media) else { return };
        let (same_filter, same_facts) = match &self.media_for {
            Some((plan, facts)) => (plan.filter == media.filter, Arc::ptr_eq(facts, &now.1)),
            None => (false, false),
        };
        let is_soon = self.media_at.is_some_and(|at| at.elapsed() < DERIVE_EVERY);
        // A running request is not replaced when facts grow; otherwise it would never finish.
        let waits = self.workers.media.is_waiting() || is_soon && !now.1.scan_complete;
        if same_filter && (same_facts || waits) {
            return;
        }
        self.media_at = Some(Instant::now());
        self.media_for = Some((media.clone(), Arc::clone(&now.1)));
        self.workers.media.submit((media.clone(), Arc::clone(&now.1)));
    }

    fn request_preview(&mut self, step: Step, now: &(PreparePlan, Arc<DatasetFacts>)) {
        if step != Step::Review {
            return;
        }
        let same = self.previewed_for.as_ref().is_some_and(|(plan, facts)| {
            *plan == now.0 && (Arc::ptr_eq(facts, &now.1) || self.workers.preview.is_waiting())
        });
        if !same || self.preview.is_none() && !self.workers.preview.is_waiting() {
            self.previewed_for = Some(now.clone());
            self.workers.preview.submit(now.clone());
        }
    }

    /// Applies the results of the workers. Returns whether anything changed.
    pub(super) fn take_answers(&mut self) -> bool {
        let mut changed = self.workers.preview.take_into(&mut self.preview);
        changed |= self.workers.media.take_into(&mut self.steps.media.tally);
        if let Some(outcome) = self.workers.open.take() {
            changed = true;
            match outcome {
                Ok(opened) => self.opened(opened),
                Err(failure) => self.failure = Some(failure),
            }
        }
        if let Some(derived) = self.workers.derive.take() {
            self.steps.set_findings(derived);
            changed = true;
        }
        if let Some(results) = self.workers.evaluate.take() {
            self.steps.field_map.results = results;
            changed = true;
        }
        if let Some(encoded) = self.workers.pixels.take() {
            self.steps.field_map.pixels.insert(encoded);
            changed = true;
        }
        changed
    }
}
