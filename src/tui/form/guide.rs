//! The part of a form that depends on the operation: suggestions and problems from the data, steps that draw themselves, and the preview.

use super::field::Field;
use super::state::Form;
use super::steps::blocking_reason;
use super::view::{draw_below, draw_fields, from_row, hidden_mistakes};
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::{Effect, Ui, UiEnv};
use crate::tui::screens::run::JobRequest;
use crate::tui::widgets::page::{failure_lines, waiting, wrapped};
use crate::tui::widgets::report::report_lines;
use crate::tui::widgets::{ListState, Toast};
use crate::tui::work::Stoppable;
use gristmill_core::text::{count, grouped};
use gristmill_core::{Failure, Mutex, Outcome, Problem, RunOptions};
use gristmill_ops::job::report::Report;
use gristmill_ops::job::JobStatus;
use gristmill_ops::operations::AnyPlan;
use ratatui::crossterm::event::{KeyEvent, MouseEvent};
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::Frame;
use std::any::Any;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Minimum height in rows of a preview below the fields.
const MIN_PREVIEW_ROWS: u16 = 4;
/// Interval between two checks whether a preview has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The key contexts of the parts of a form.
#[derive(Clone, Copy, Debug)]
pub struct KeyContexts {
    /// Key context of a step.
    pub step: Context,
    /// Key context of a text field in a step.
    pub text: Context,
    /// Key context of the list of steps.
    pub step_list: Context,
    /// Key context of the review.
    pub review: Context,
}

impl Default for KeyContexts {
    fn default() -> Self {
        Self {
            step: Context::Guided,
            text: Context::GuidedText,
            step_list: Context::GuidedRail,
            review: Context::GuidedReview,
        }
    }
}

/// The parts of a form that depend on the data, in addition to the options of its operation. Slow work runs on workers.
pub trait Guide: Any {
    /// Initializes a new form: its lists and first suggestions.
    fn begin(&mut self, _form: &mut Form) {}
    /// Returns the paths that identify a draft, in addition to the inputs of the plan.
    fn sources(&self) -> Vec<PathBuf> {
        Vec::new()
    }
    /// Submits requests to the workers for the data that the answers need.
    fn request_data(&mut self, form: &mut Form);
    /// Applies the results of the workers. Returns whether there were any.
    fn apply_results(&mut self, form: &mut Form) -> bool;
    /// Returns whether a worker is busy.
    fn is_busy(&self) -> bool;
    /// Returns a short description of the work in the background.
    fn status(&self) -> Option<String>;
    /// Returns the problems of the preview of these answers, or its failure; `None` until it is known.
    fn preview(&self, form: &Form) -> Option<Result<&[Problem], &Failure>>;
    /// Returns the preview as lines; empty until it is known.
    fn preview_lines(&self, form: &Form, columns: usize, ui: &Ui) -> Vec<Line<'static>>;
    /// Discards the preview when the form is shown again, because a run may have changed the files.
    fn resume(&mut self, form: &mut Form);
    /// Returns the request to run the plan, and stops the workers.
    fn request(&mut self, form: &Form) -> JobRequest;

    /// Returns the name of the work that the review waits for.
    fn waits_for(&self) -> &'static str {
        "checking"
    }
    /// Returns the key contexts of the parts of the form.
    fn contexts(&self, _form: &Form) -> KeyContexts {
        KeyContexts::default()
    }
    /// Returns the lines shown instead of the form while the data are being opened, or if they cannot be opened.
    fn opening_lines(&self, _columns: usize, _ui: &Ui) -> Vec<Line<'static>> {
        Vec::new()
    }
    /// Returns whether the data are open; without them, there is no form.
    fn is_open(&self) -> bool {
        true
    }
    /// Returns a message above every step.
    fn message(&self, _form: &Form) -> Option<String> {
        None
    }
    /// Removes and returns the pending notices.
    fn take_notices(&mut self) -> Vec<Toast> {
        Vec::new()
    }
    /// Returns whether the user has changed an answer; `None` if the form must compare plans instead.
    fn is_changed(&self) -> Option<bool> {
        None
    }
    /// Returns the typed answers that are not in the plan, as one line of a draft.
    fn unchosen(&self) -> Option<String> {
        None
    }
    /// Restores what [`unchosen`](Self::unchosen) returned.
    fn restore_unchosen(&mut self, _line: &str) {}
    /// Returns the fields of the step on the screen.
    fn fields(&self, form: &Form) -> Vec<Field> {
        form.option_fields()
    }
    /// Returns whether the form checks the plan when the last step is completed; otherwise, [`blocking_reason`](Self::blocking_reason)
    /// does.
    fn checks_plan(&self) -> bool {
        true
    }
    /// Returns why a step cannot be completed, apart from missing and wrong answers in its fields.
    fn blocking_reason(&self, _form: &Form, _step: usize) -> Option<String> {
        None
    }
    /// Draws the step on the screen. Returns `false` if the step consists only of fields, which the form draws.
    fn draw_step(&mut self, _form: &mut Form, _frame: &mut Frame, _area: Rect, _ui: &Ui) -> bool {
        false
    }
    /// Returns the lines below the fields of a step that the form draws.
    fn foot(&self, _form: &Form, _columns: usize, _ui: &Ui) -> Vec<Line<'static>> {
        Vec::new()
    }
    /// Returns the description of a list.
    fn list_help(&self, _list: Field) -> &'static str {
        ""
    }
    /// Returns a list by its name.
    fn list(&mut self, _name: &str) -> Option<&mut ListState> {
        None
    }
    /// Applies the selected row of a list to the plan.
    fn select(&mut self, _form: &mut Form, _list: &str) {}
    /// Handles a click on the selected row of a list; `column` counts from the start of the row.
    fn click(&mut self, _form: &mut Form, _list: &str, _column: usize, _is_double: bool) {}
    /// Handles the mouse in a step that draws its own fields. Returns `false` if the event is not on one of them.
    fn mouse(&mut self, _form: &mut Form, _mouse: MouseEvent) -> bool {
        false
    }
    /// Returns whether the focused field of the guide is a text field.
    fn wants_text(&self, _form: &Form) -> bool {
        false
    }
    /// Handles a pasted text while no text field has the focus.
    fn paste(&mut self, _form: &mut Form, _text: &str) {}
    /// Handles a typed key while no text field has the focus.
    fn key(&mut self, _form: &mut Form, _key: &KeyEvent) {}
    /// Returns whether the left and right keys change the selected row of a list.
    fn changes_rows(&self, _list: &str) -> bool {
        false
    }
    /// Returns whether the wheel scrolls a list without changing the selected row.
    fn scrolls_by_wheel(&self, _list: &str) -> bool {
        false
    }
    /// Handles an action that differs between forms; `None` for the other actions.
    fn handle_action(&mut self, _action: Action, _form: &mut Form, _env: &UiEnv) -> Option<Vec<Effect>> {
        None
    }
    /// Returns the label of an action, if this form has its own.
    fn label(&self, _action: Action) -> Option<&'static str> {
        None
    }
    /// Returns why an action is not possible now.
    fn disabled_reason(&self, _action: Action, _form: &Form) -> Option<String> {
        None
    }
}

/// A plan and its preview.
pub type PlanPreview = (Box<dyn AnyPlan>, Arc<Outcome<Box<dyn Report>>>);
/// Draws the preview of an operation as lines with at most this many columns.
pub type Draw = fn(&dyn Report, usize, &Ui) -> Vec<Line<'static>>;

/// Returns the lines of a preview as the command line prints them.
pub fn draw_printed(report: &dyn Report, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    report_lines(report, true, columns, ui)
}

/// The guide of operations that have no guide of their own. Below the fields and in the review, it shows the preview that `--dry-run`
/// prints.
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
    pub fn result_lines(
        &self,
        guide: &dyn Guide,
        form: &Form,
        columns: usize,
        ui: &Ui,
        draw: impl Fn(&dyn Report, usize, &Ui) -> Vec<Line<'static>>,
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
            (None, Some(Ok(report))) => draw(&**report, columns, ui),
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
    cancel: &gristmill_core::Cancel,
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
