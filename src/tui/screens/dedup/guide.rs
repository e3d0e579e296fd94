//! The guided dedup as a form: asks the workers, brings what they find to the answers, and hands the plan on to its run.

use super::seen::{relevant, Estimates};
use super::state::DedupState;
use super::step::Step;
use super::view;
use super::workers::Workers;
use crate::tui::form::{Answers as _, Contexts, Guide, Look};
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::{Effect, Screen, Ui, UiEnv};
use crate::tui::screens::repeats;
use crate::tui::screens::run::{orders, JobRequest, RunScreen};
use gristmill_core::DedupPlan;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::Frame;
use std::path::{Path, PathBuf};

/// See the module.
pub struct DedupGuide {
    workers: Workers,
    /// What the review was asked for last.
    asked: Option<DedupPlan>,
}

impl DedupGuide {
    /// Stops the estimates, or begins them again.
    fn stop_or_go_on(&mut self, goes_on: bool, estimates: &mut Estimates) {
        if !goes_on {
            self.workers.stop();
        }
        estimates.is_stopped = !goes_on;
        if goes_on {
            estimates.by_length.clear();
        }
    }
}

impl Guide for DedupGuide {
    type Answers = DedupState;
    const CONTEXTS: Contexts = Contexts {
        step: Context::Dedup,
        text: Context::DedupText,
        rail: Context::DedupRail,
        review: Context::DedupReview,
    };
    const LOOK: Look = Look { rail: 17, label: 16 };

    fn start(plan: &DedupPlan, env: &UiEnv) -> Self {
        let mut workers = Workers::start(env);
        workers.files(PathBuf::from(plan.source()));
        Self { workers, asked: None }
    }

    fn answers(plan: DedupPlan) -> DedupState {
        DedupState::new(plan)
    }

    fn take_over(&mut self, state: &mut DedupState, before: DedupState) {
        state.seen.files = before.seen.files;
    }

    fn ask(&mut self, state: &mut DedupState) {
        let plan = relevant(&state.plan);
        let estimates = &mut state.seen.estimates;
        if estimates.of.as_ref() != Some(&plan) {
            *estimates = Estimates { of: Some(plan), ..Default::default() };
            self.workers.stop();
        }
        // What would be read has to be right first; and nobody waits for figures that are not looked at.
        let step = state.form.step;
        let is_wanted = step >= Step::Length && state.blocker(Step::Source).is_none();
        if is_wanted && state.seen.files.is_some() && !state.seen.estimates.is_stopped {
            let mut wanted = state.wanted_lengths();
            let estimates = &state.seen.estimates;
            let is_known = |length: &u64| estimates.by_length.contains_key(length);
            wanted.retain(|length| !is_known(length) || estimates.first_looks.contains(length));
            self.workers.lengths(&state.plan, &wanted);
        }
        if step == Step::Review && state.is_complete() && self.asked.as_ref() != Some(&state.plan) {
            self.asked = Some(state.plan.clone());
            self.workers.review(state.plan.clone());
        }
    }

    fn take(&mut self, state: &mut DedupState) -> bool {
        let mut changed = false;
        if let Some(files) = self.workers.take_files() {
            state.seen.files = Some(files);
            changed = true;
        }
        for (length, found, is_first_look) in self.workers.take_lengths() {
            let estimates = &mut state.seen.estimates;
            estimates.by_length.insert(length, found);
            match is_first_look {
                true => estimates.first_looks.insert(length),
                false => estimates.first_looks.remove(&length),
            };
            changed = true;
        }
        if let Some(review) = self.workers.take_review() {
            state.seen.review = Some(review);
            changed = true;
        }
        changed
    }

    fn is_busy(&self) -> bool {
        self.workers.is_busy()
    }

    fn status(&self) -> Option<&'static str> {
        match () {
            () if self.workers.is_listing() => Some("looking for files"),
            () if self.workers.is_busy() => Some("estimating"),
            () => None,
        }
    }

    fn forget_outlook(&mut self, state: &mut DedupState) {
        self.asked = None;
        state.seen.review = None;
        state.seen.estimates.is_stopped = false;
    }

    fn title(state: &DedupState, env: &UiEnv) -> String {
        env.short_path(Path::new(state.plan.source()))
    }

    fn draw_step(state: &mut DedupState, frame: &mut Frame, area: Rect, ui: &Ui) {
        match state.form.step {
            Step::Source => view::source(state, frame, area, ui),
            Step::Length => view::length(state, frame, area, ui),
            Step::Mode | Step::Review => view::mode(state, frame, area, ui),
        }
    }

    fn outlook_lines(state: &DedupState, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
        view::outlook_lines(state, columns, ui)
    }

    fn hand_on(&mut self, state: &mut DedupState, env: &UiEnv, draft: &Path) -> Box<dyn Screen> {
        self.stop_or_go_on(false, &mut state.seen.estimates);
        let order = orders::dedup(state.plan.clone(), state.command());
        Box::new(RunScreen::new(JobRequest { draft: Some(draft.to_owned()), ..order }, env.clone()))
    }

    fn act(&mut self, action: Action, state: &mut DedupState, env: &UiEnv) -> Option<Vec<Effect>> {
        match action {
            Action::Repeats => {
                let target = repeats::Target::Folder(PathBuf::from(state.plan.source()));
                return Some(vec![Effect::Push(repeats::open(target, &state.plan, env.clone()))]);
            }
            Action::CancelJob => self.stop_or_go_on(false, &mut state.seen.estimates),
            Action::Reload => self.stop_or_go_on(true, &mut state.seen.estimates),
            _ => return None,
        }
        Some(Vec::new())
    }

    fn label(action: Action) -> Option<&'static str> {
        match action {
            Action::CancelJob => Some("stop estimating"),
            Action::Reload => Some("estimate again"),
            _ => None,
        }
    }

    fn why_disabled(&self, action: Action, state: &DedupState) -> Option<String> {
        match action {
            Action::CancelJob if !self.workers.is_estimating() => Some("nothing is being estimated".into()),
            Action::Repeats => state.blocker(Step::Source),
            _ => None,
        }
    }
}
