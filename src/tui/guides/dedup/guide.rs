//! Connects the form of dedup with its workers: requests estimates, applies their results and draws the steps.

use super::estimates::{relevant, DedupFacts, Estimates};
use super::view;
use super::workers::Workers;
use crate::tui::form::{Field, Form, Guide, KeyContexts};
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::{Effect, Ui, UiEnv};
use crate::tui::screens::repeats;
use crate::tui::screens::run::{job_requests, JobRequest};
use crate::tui::widgets::ListState;
use gristmill_core::dedup::{PROPOSED_MIN_LENGTH, SHOWN_LENGTHS};
use gristmill_core::options::Answer;
use gristmill_core::{DedupPlan, Failure, Outcome, Problem};
use gristmill_ops::job::dedup::DedupEstimate;
use gristmill_ops::operations::dedup::proposed_output;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::Frame;
use std::path::PathBuf;

/// The list of minimum lengths.
pub(super) const LENGTHS: Field = Field::List("lengths");
/// The text field for another length.
pub(super) const OWN_LENGTH: Field = Field::Option("minlen");

/// The guide of dedup.
pub struct DedupGuide {
    workers: Workers,
    /// The list of lengths; its last row is for another length.
    pub(super) lengths: ListState,
    /// Whether the user types another length.
    pub(super) is_own: bool,
    /// The facts about the data.
    pub(super) known: DedupFacts,
    /// The folder whose files were requested last.
    listed: String,
    /// The plan whose preview was requested last.
    requested_plan: Option<DedupPlan>,
}

pub(super) fn plan_of(form: &Form) -> DedupPlan {
    form.plan_of().cloned().unwrap_or_else(|| DedupPlan::new("", ""))
}

impl DedupGuide {
    /// Starts the workers.
    pub fn start(env: &UiEnv) -> Self {
        let workers = Workers::start(env);
        let lengths = ListState::new(SHOWN_LENGTHS.len() + 1);
        Self {
            workers,
            lengths,
            is_own: false,
            known: DedupFacts::default(),
            listed: String::new(),
            requested_plan: None,
        }
    }

    /// Returns the preview of the current answers.
    pub(super) fn review(&self, form: &Form) -> Option<&Outcome<DedupEstimate>> {
        let plan = form.plan_of::<DedupPlan>()?;
        self.known.review.as_ref().filter(|(of, _)| of == plan).map(|(_, review)| review.as_ref())
    }

    fn propose_output(&self, form: &mut Form) {
        if let Some(output) = proposed_output(&plan_of(form)) {
            form.propose("output", Answer::Text(output));
        }
    }

    /// Stops or restarts the estimates.
    fn set_stopped(&mut self, is_stopped: bool) {
        self.known.estimates.is_stopped = is_stopped;
        match is_stopped {
            true => self.workers.stop(),
            false => self.known.estimates.by_length.clear(),
        }
    }
}

/// Returns the lengths to be estimated, the selected one first.
pub(super) fn wanted_lengths(plan: &DedupPlan) -> Vec<u64> {
    let others = SHOWN_LENGTHS.into_iter().rev().filter(|length| Some(*length) != plan.min_length);
    plan.min_length.into_iter().chain(others).collect()
}

impl Guide for DedupGuide {
    fn begin(&mut self, form: &mut Form) {
        form.propose("minlen", Answer::Text(PROPOSED_MIN_LENGTH.to_string()));
        self.propose_output(form);
        let length = plan_of(form).min_length.unwrap_or(PROPOSED_MIN_LENGTH);
        let row = SHOWN_LENGTHS.iter().position(|known| *known == length);
        self.lengths.select(row.unwrap_or(SHOWN_LENGTHS.len()));
        self.is_own = row.is_none();
    }

    fn request_data(&mut self, form: &mut Form) {
        self.propose_output(form);
        let plan = plan_of(form);
        if self.listed != plan.source() {
            self.listed = plan.source().to_owned();
            // A failure concerned the earlier input.
            self.known.files.take_if(|files| files.is_err());
            self.workers.files.submit(PathBuf::from(plan.source()));
        }
        let relevant = relevant(&plan);
        if self.known.estimates.of.as_ref() != Some(&relevant) {
            self.known.estimates = Estimates { of: Some(relevant), ..Default::default() };
            self.workers.stop();
        }
        // Estimates start only once the input is valid, and only for lengths that are on the screen.
        let is_wanted = form.step_id() != "source" && self.known.files_blocker().is_none();
        if is_wanted && self.known.files.is_some() && !self.known.estimates.is_stopped {
            let estimates = &self.known.estimates;
            let mut wanted = wanted_lengths(&plan);
            wanted.retain(|length| {
                !estimates.by_length.contains_key(length) || estimates.first_estimates.contains(length)
            });
            self.workers.lengths(&plan, &wanted);
        }
        if form.is_review() && form.plan().check(false).is_empty() && self.requested_plan.as_ref() != Some(&plan) {
            self.requested_plan = Some(plan.clone());
            self.workers.review(plan);
        }
    }

    fn apply_results(&mut self, _: &mut Form) -> bool {
        let mut is_changed = self.workers.files.take_into(&mut self.known.files);
        for (length, estimate, is_first) in self.workers.take_lengths() {
            let estimates = &mut self.known.estimates;
            estimates.by_length.insert(length, estimate);
            match is_first {
                true => estimates.first_estimates.insert(length),
                false => estimates.first_estimates.remove(&length),
            };
            is_changed = true;
        }
        if let Some(review) = self.workers.take_review() {
            self.known.review = Some(review);
            is_changed = true;
        }
        is_changed
    }

    fn is_busy(&self) -> bool {
        self.workers.is_busy()
    }

    fn status(&self) -> Option<String> {
        match () {
            () if self.workers.files.is_waiting() => Some("looking for files".to_owned()),
            () if self.workers.is_busy() => Some("estimating".to_owned()),
            () => None,
        }
    }

    fn preview(&self, form: &Form) -> Option<Result<&[Problem], &Failure>> {
        self.review(form).map(|review| review.as_ref().map(|estimate| estimate.problems.as_slice()))
    }

    fn preview_lines(&self, form: &Form, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
        match self.review(form) {
            Some(Ok(estimate)) => view::review_lines(&plan_of(form), &self.known, estimate, columns, ui),
            _ => Vec::new(),
        }
    }

    fn resume(&mut self, _: &mut Form) {
        (self.requested_plan, self.known.review) = (None, None);
        self.known.estimates.is_stopped = false;
    }

    fn request(&mut self, form: &Form) -> JobRequest {
        self.set_stopped(true);
        job_requests::dedup(plan_of(form))
    }

    fn waits_for(&self) -> &'static str {
        "reading a sample of the documents"
    }

    fn contexts(&self, _: &Form) -> KeyContexts {
        KeyContexts {
            step: Context::Dedup,
            step_list: Context::DedupRail,
            review: Context::DedupReview,
            ..KeyContexts::default()
        }
    }

    fn fields(&self, form: &Form) -> Vec<Field> {
        match (form.step_id(), self.is_own) {
            ("length", true) => vec![LENGTHS, OWN_LENGTH],
            ("length", false) => vec![LENGTHS],
            _ => form.option_fields(),
        }
    }

    fn blocking_reason(&self, form: &Form, step: usize) -> Option<String> {
        match form.steps().get(step)?.id {
            "source" if plan_of(form).source().is_empty() => Some("a folder is needed".into()),
            "source" => self.known.files_blocker(),
            "length" if plan_of(form).min_length.is_none() => Some("a minimum length is needed".into()),
            _ => None,
        }
    }

    fn draw_step(&mut self, form: &mut Form, frame: &mut Frame, area: Rect, ui: &Ui) -> bool {
        match form.step_id() {
            "source" => view::draw_source(self, form, frame, area, ui),
            "length" => view::draw_length(self, form, frame, area, ui),
            _ => return false,
        }
        true
    }

    fn foot(&self, form: &Form, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
        view::mode_foot(form, columns, ui)
    }

    fn list(&mut self, name: &str) -> Option<&mut ListState> {
        (name == "lengths").then_some(&mut self.lengths)
    }

    fn select(&mut self, form: &mut Form, _: &str) {
        let length = SHOWN_LENGTHS.get(self.lengths.selected);
        self.is_own = length.is_none();
        let answer = length.map_or(Answer::Unset, |length| Answer::Text(length.to_string()));
        form.answer("minlen", &answer);
        if self.is_own {
            form.type_into("minlen", "");
        }
    }

    fn handle_action(&mut self, action: Action, form: &mut Form, env: &UiEnv) -> Option<Vec<Effect>> {
        match action {
            Action::Repeats => {
                let plan = plan_of(form);
                let target = repeats::RepeatsTarget::Folder(PathBuf::from(plan.source()));
                return Some(vec![Effect::Push(repeats::open(target, &plan, env.clone()))]);
            }
            Action::CancelJob => self.set_stopped(true),
            Action::Reload => self.set_stopped(false),
            _ => return None,
        }
        Some(Vec::new())
    }

    fn label(&self, action: Action) -> Option<&'static str> {
        match action {
            Action::CancelJob => Some("stop estimating"),
            Action::Reload => Some("estimate again"),
            _ => None,
        }
    }

    fn disabled_reason(&self, action: Action, _: &Form) -> Option<String> {
        match action {
            Action::CancelJob if !self.workers.is_estimating() => Some("nothing is being estimated".into()),
            Action::Repeats => self.known.files_blocker(),
            _ => None,
        }
    }
}
