//! Executes the requests of the steps of the guided prepare: the run, drafts, other screens, the mouse.

use super::run::request;
use super::step::{Ask, Step};
use super::{draft, PrepareScreen};
use crate::tui::keymap::Action;
use crate::tui::screen::{Effect, UiEnv};
use crate::tui::screens::run::{JobRequest, RunScreen};
use crate::tui::screens::splits;
use crate::tui::widgets::{Level, Toast};
use ratatui::crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;
use std::rc::Rc;

impl PrepareScreen {
    /// Opens the run of the answers, which takes over the scan.
    fn start(&mut self) -> Effect {
        self.save_draft_now();
        self.wizard.accept_all();
        let request = request(&self.wizard.answers, self.scan.take());
        let (started, start) = (Rc::clone(&self.started), request.start);
        let start = Box::new(move |env: &UiEnv| start(env).inspect(|id| started.set(Some(*id))));
        self.is_run_shown = true;
        let request = JobRequest { start, draft: Some(self.draft.clone()), ..request };
        Effect::Push(Box::new(RunScreen::new(request, self.env.clone())))
    }

    /// Takes the findings of a run that failed or was stopped. A new scan replaces the one that the run took over, unless all shards were read.
    pub(super) fn return_from_run(&mut self) {
        if !std::mem::take(&mut self.is_run_shown) {
            return;
        }
        if let Some(id) = self.started.take() {
            match (self.env.jobs.result(id), self.env.jobs.view(id)) {
                (Some(result), Some(view)) if !result.is_ok() => {
                    if let Some(facts) = self.env.jobs.facts(id).filter(|facts| facts.opened) {
                        self.see(facts);
                    }
                    self.wizard.learn_from_run(&view.status.counts);
                }
                // It runs in the background, or succeeded: this screen closes.
                _ => return,
            }
        }
        if self.scan.is_none() && !self.wizard.answers.facts.scan_complete {
            self.workers.open(self.path.clone(), self.draft.clone());
        }
    }

    /// Executes requests of the steps.
    pub(super) fn carry_out(&mut self, asks: Vec<Ask>) -> Vec<Effect> {
        let mut effects = Vec::new();
        for ask in asks {
            match ask {
                Ask::Start => effects.push(self.start()),
                Ask::SavePlan(file) => self.workers.save_plan(file, self.wizard.answers.plan.clone()),
                Ask::Copy(words) => {
                    effects.push(Effect::Copy(words));
                    effects.push(Effect::Toast(Toast::new(Level::Ok, "copied")));
                }
                Ask::Splits => effects.push(Effect::Push(splits::open(self.path.clone(), self.env.clone()))),
                Ask::Facts => {
                    let facts = crate::tui::screens::facts::of_scan(&self.wizard.answers.facts);
                    effects.push(Effect::Push(facts));
                }
                Ask::ForgetDraft => self.workers.forget_draft(self.draft.clone()),
                Ask::Leave => {
                    if self.has_draft() {
                        effects.push(Effect::Toast(Toast::new(Level::Info, "your answers are kept as a draft")));
                    }
                    effects.insert(0, Effect::Pop);
                }
                Ask::Say(level, words) => effects.push(Effect::Toast(Toast::new(level, words))),
            }
        }
        effects
    }

    /// Whether answers changed since the draft was saved.
    pub(super) fn has_draft(&self) -> bool {
        self.wizard.is_dirty
    }

    /// Saves the draft on this thread, if answers changed.
    pub(super) fn save_draft_now(&mut self) {
        if !self.has_draft() {
            return;
        }
        let splits = self.wizard.splits.alternatives();
        match draft::save(&self.draft, &self.wizard.answers.plan, self.wizard.step, &splits) {
            Ok(()) => self.wizard.is_dirty = false,
            Err(failure) => tracing::warn!(%failure, "the draft could not be saved"),
        }
    }

    /// Handles the mouse. Returns requests of the steps.
    pub(super) fn mouse(&mut self, mouse: MouseEvent) -> Vec<Ask> {
        let place = Position { x: mouse.column, y: mouse.row };
        match mouse.kind {
            MouseEventKind::Down(MouseButton::Left) if self.rail.contains(place) => {
                let line = mouse.row.saturating_sub(self.rail.y);
                let step = Step::ALL.get(usize::from(line)).copied();
                self.wizard.rail = step.or(self.wizard.rail);
                step.map(|_| self.wizard.act(Action::Accept)).unwrap_or_default()
            }
            _ => {
                let Some(gesture) = self.spots.gesture(mouse) else { return Vec::new() };
                self.wizard.point(gesture);
                Vec::new()
            }
        }
    }
}
