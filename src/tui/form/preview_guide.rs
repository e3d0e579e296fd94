//! The guide of operations that have no guide of their own; other guides use it for their preview.

use super::field::Field;
use super::guide::Guide;
use super::state::Form;
use super::steps::blocking_reason;
use super::view::{draw_below, draw_fields, from_row, hidden_mistakes};
use crate::tui::screen::{Ui, UiEnv};
use crate::tui::screens::run::JobRequest;
use crate::tui::widgets::page::{failure_lines, waiting, wrapped};
use crate::tui::widgets::report::report_lines;
use crate::tui::work::Stoppable;
use gristmill_core::text::{count, grouped};
use gristmill_core::{Cancel, Failure, Mutex, Outcome, Problem, RunOptions};
use gristmill_ops::job::report::Report;
use gristmill_ops::job::JobStatus;
use gristmill_ops::operations::AnyPlan;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::Frame;
use std::sync::Arc;
use std::time::Duration;

/// Minimum height in rows of a preview below the fields.
const MIN_PREVIEW_ROWS: u16 = 4;
/// Interval between two checks whether a preview has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A plan and its preview.
pub type PlanPreview = (Box<dyn AnyPlan>, Arc<Outcome<Box<dyn Report>>>);
/// Draws the preview of an operation as lines with at most this many columns.
pub type Draw = fn(&dyn Report, usize, &Ui) -> Vec<Line<'static>>;

/// Returns the lines of a preview as the command line prints them.
pub fn draw_printed(report: &dyn Report, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    report_lines(report, true, columns, ui)
}

/// Shows the preview that `--dry-run` prints, below the fields and in the review.
pub struct PreviewGuide {
    worker: Stoppable<Box<dyn AnyPlan>, PlanPreview>,
    draw: Draw,
    requested_plan: Option<Box<dyn AnyPlan>>,
    known: Option<PlanPreview>,
    /// What the running preview has read so far, in words.
    amount: Arc<Mutex<String>>,
}

impl PreviewGuide {
    /// Creates the guide and its worker.
    pub fn new(draw: Draw, env: &UiEnv) -> Self {
        let options = env.options.clone();
        let amount = Arc::new(Mutex::new(String::new()));
        let written = Arc::clone(&amount);
        let worker = Stoppable::start("preview", env.wake.clone(), move |plan: Box<dyn AnyPlan>, cancel| {
            let preview = Arc::new(run_preview(&*plan, options.clone(), cancel, &written));
            (plan, preview)
        });
        Self { worker, draw, requested_plan: None, known: None, amount }
    }

    /// Returns the description of the work with the amount that was read so far: `checking, 412 of 1,000 shards`.
    pub fn activity(&self, words: &str) -> String {
        let amount = self.amount.lock();
        match amount.is_empty() {
            true => words.to_owned(),
            false => format!("{words}, {amount}"),
        }
    }

    /// Returns the lines below the fields: mistakes in answers whose field is hidden, the reason why there is no preview yet, its failure,
    /// or the preview drawn by `draw`.
    pub fn result_lines<R: Report>(
        &self,
        guide: &dyn Guide,
        form: &Form,
        columns: usize,
        ui: &Ui,
        draw: impl Fn(&R, usize, &Ui) -> Vec<Line<'static>>,
    ) -> Vec<Line<'static>> {
        if form.mistakes.keys().any(|field| matches!(field, Field::Option(_))) {
            return hidden_mistakes(form, columns, ui);
        }
        // For an empty list, the guide explains why options have no answer.
        let why = guide.blocking_reason(form, form.step).or_else(|| blocking_reason(form, guide, form.step));
        match (why, self.report(form)) {
            (Some(why), _) => wrapped(&why, columns, ui.theme.muted),
            (None, None) => vec![waiting(guide.waits_for(), ui)],
            (None, Some(Err(failure))) => failure_lines(failure, columns, ui),
            (None, Some(Ok(report))) => report.typed().map(|report| draw(report, columns, ui)).unwrap_or_default(),
        }
    }

    /// Sets the preview of a plan, for tests.
    #[cfg(test)]
    pub fn set_preview(&mut self, plan: &dyn AnyPlan, preview: Outcome<Box<dyn Report>>) {
        self.known = Some((plan.boxed_clone(), Arc::new(preview)));
    }

    /// Requests the preview of a plan, unless the last request was for the same plan.
    pub fn request_preview(&mut self, plan: &dyn AnyPlan) {
        if self.requested_plan.as_ref().is_none_or(|asked| !asked.is_same(plan)) {
            self.requested_plan = Some(plan.boxed_clone());
            self.worker.submit(plan.boxed_clone());
        }
    }

    /// Returns the last preview and its plan, which may differ from the current answers.
    pub fn last(&self) -> Option<&PlanPreview> {
        self.known.as_ref()
    }

    /// Returns the preview of these answers, once it is known.
    pub fn report(&self, form: &Form) -> Option<&Outcome<Box<dyn Report>>> {
        self.known.as_ref().filter(|(plan, _)| plan.is_same(form.plan())).map(|(_, preview)| preview.as_ref())
    }
}

fn run_preview(
    plan: &dyn AnyPlan,
    options: RunOptions,
    cancel: &Cancel,
    amount: &Mutex<String>,
) -> Outcome<Box<dyn Report>> {
    let task = plan.start(true, options)?;
    while !task.ends_within(POLL_INTERVAL) {
        *amount.lock() = amount_words(&task.status());
        if cancel.is_cancelled() {
            task.cancel();
        }
    }
    amount.lock().clear();
    task.wait()
}

/// Returns the number of items that a task has read, in words; empty at its start.
fn amount_words(status: &JobStatus) -> String {
    let (done, total) = (status.progress.items_done, status.progress.items_total);
    match (done, total) {
        (0, _) => String::new(),
        (done, total) if total >= done => format!("{} of {}", grouped(done), count(total, status.item)),
        (done, _) => count(done, status.item),
    }
}

impl Guide for PreviewGuide {
    fn request_data(&mut self, form: &mut Form) {
        if form.mistakes.is_empty() && form.plan().check(false).is_empty() {
            self.request_preview(form.plan());
        }
    }

    fn apply_results(&mut self, _: &mut Form) -> bool {
        self.worker.take_into(&mut self.known)
    }

    fn is_busy(&self) -> bool {
        self.worker.is_waiting()
    }

    fn status(&self) -> Option<String> {
        self.is_busy().then(|| self.activity("checking"))
    }

    fn preview(&self, form: &Form) -> Option<Result<&[Problem], &Failure>> {
        self.report(form).map(|preview| preview.as_ref().map(|report| report.findings().0))
    }

    fn preview_lines(&self, form: &Form, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
        match self.report(form) {
            Some(Ok(report)) => (self.draw)(&**report, columns, ui),
            _ => Vec::new(),
        }
    }

    fn draw_step(&mut self, form: &mut Form, frame: &mut Frame, area: Rect, ui: &Ui) -> bool {
        let fields = form.fields().to_vec();
        let rows = u16::try_from(fields.len() + form.mistakes.len() + 1).unwrap_or(u16::MAX);
        let is_last = form.step + 1 == form.review();
        if !is_last || rows.saturating_add(MIN_PREVIEW_ROWS) > area.height || !form.plan().check(false).is_empty() {
            return false;
        }
        let line = draw_fields(form, frame, area, 0, &fields, ui) + 1;
        let columns = usize::from(area.width);
        let lines = match self.report(form) {
            None => vec![waiting(&self.activity(self.waits_for()), ui)],
            Some(Err(failure)) => failure_lines(failure, columns, ui),
            Some(Ok(report)) => (self.draw)(&**report, columns, ui),
        };
        draw_below(form, frame, from_row(area, line), lines, ui);
        true
    }

    fn resume(&mut self, _: &mut Form) {
        (self.requested_plan, self.known) = (None, None);
    }

    fn request(&mut self, form: &Form) -> JobRequest {
        self.worker.stop();
        JobRequest::of_plan(form.plan())
    }
}
