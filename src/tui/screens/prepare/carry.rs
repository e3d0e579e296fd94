//! Carries out what the steps of the guided prepare ask for: the run, drafts, other screens, what the mouse does.

use super::step::{Ask, Step};
use super::{draft, PrepareScreen};
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::Effect;
use crate::tui::screens::problems::ProblemEditor;
use crate::tui::screens::run::too_late;
use crate::tui::screens::splits::SplitSession;
use crate::tui::screens::{browse, splits};
use crate::tui::widgets::{Gesture, Level, Toast};
use ratatui::crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

impl PrepareScreen {
    fn start(&mut self) -> Vec<Effect> {
        let options = self.env.options.clone();
        let plan = self.wizard.answers.plan.clone();
        self.save_draft_now();
        match self.env.jobs.start_prepare(plan, options, self.scan.take()) {
            Ok(id) => {
                self.env.jobs.forget_when_done(id, self.draft.clone());
                self.job = Some(id);
                self.wizard.show_run();
                Vec::new()
            }
            Err(failure) => {
                self.workers.open(self.path.clone(), self.draft.clone());
                vec![Effect::failure(&failure)]
            }
        }
    }

    pub(super) fn carry_out(&mut self, asks: Vec<Ask>) -> Vec<Effect> {
        let mut effects = Vec::new();
        for ask in asks {
            match ask {
                Ask::Start => effects.extend(self.start()),
                Ask::Cancel => {
                    if let Some(id) = self.job {
                        self.env.jobs.cancel(id);
                    }
                }
                Ask::SavePlan(file) => self.workers.save_plan(file, self.wizard.answers.plan.clone()),
                Ask::Copy(words) => {
                    effects.push(Effect::Copy(words));
                    effects.push(Effect::Toast(Toast::new(Level::Ok, "copied")));
                }
                Ask::Browse => {
                    let (path, start) = (self.path.clone(), browse::Start::First);
                    effects.push(Effect::Push(browse::open_shared(path, start, self.session(), &self.env)));
                }
                Ask::Splits => {
                    let screen = match self.session() {
                        Some(session) => splits::open_shared(session),
                        None => splits::open(self.path.clone(), self.env.clone()),
                    };
                    effects.push(Effect::Push(screen));
                }
                Ask::Problems(action) => {
                    if let Some(problem_editor) = &mut self.problem_editor {
                        effects.extend(problem_editor.act(action, &mut self.wizard.run.problems));
                    }
                }
                Ask::TooLate => effects.push(too_late()),
                Ask::Do(action) => effects.push(Effect::Do(action)),
                Ask::Facts => {
                    let facts = crate::tui::screens::facts::of_scan(&self.wizard.answers.facts);
                    effects.push(Effect::Push(facts));
                }
                Ask::ForgetDraft => self.workers.forget_draft(self.draft.clone()),
                Ask::Background => {
                    let key = self.env.key(Context::Global, Action::Jobs);
                    let words = format!("the run goes on in the background; {key} shows it");
                    effects.extend([Effect::Pop, Effect::Toast(Toast::new(Level::Info, words))]);
                }
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

    /// The splits that are edited in the list of problems.
    fn session(&self) -> Option<SplitSession> {
        self.problem_editor.as_ref().and_then(|problem_editor| problem_editor.session_of(&self.path))
    }

    /// Lets the list of problems of the run find out where its rows lead.
    pub(super) fn find_problem_targets(&mut self) {
        let run = &mut self.wizard.run;
        if run.is_running() {
            self.problem_editor = None;
        }
        if self.problem_editor.is_none() && run.has_cursor() {
            self.problem_editor = Some(ProblemEditor::new(self.path.clone(), &mut run.problems, &self.env));
        }
    }

    /// Picks up what was found out about them.
    pub(super) fn follow_problems(&mut self, effects: &mut Vec<Effect>) -> bool {
        self.find_problem_targets();
        let table = &mut self.wizard.run.problems;
        self.problem_editor.as_mut().is_some_and(|problem_editor| problem_editor.follow(table, effects))
    }

    pub(super) fn has_draft(&self) -> bool {
        self.wizard.is_dirty && !self.was_published
    }

    /// Writes the draft at once: called when there is no later.
    pub(super) fn save_draft_now(&mut self) {
        if !self.has_draft() {
            return;
        }
        let splits = self.wizard.splits.alternatives();
        match draft::save(&self.draft, &self.wizard.answers.plan, self.wizard.step, &splits) {
            Ok(()) => self.wizard.is_dirty = false,
            Err(failure) => tracing::warn!(%failure, "the draft could not be kept"),
        }
    }

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
                let is_twice = matches!(gesture, Gesture::DoubleClick { .. });
                let opens = is_twice && self.wizard.step == Step::Run && self.wizard.run.has_cursor();
                opens.then_some(Ask::Do(Action::OpenProblem)).into_iter().collect()
            }
        }
    }
}
