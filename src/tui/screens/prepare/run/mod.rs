//! Step Run: how the run stands, and what came of it.

pub(super) mod view;

use super::spots::{Pointed, Spot};
use super::step::{Answers, Ask, StepState};
use crate::tui::keymap::{Action, Context};
use crate::tui::screens::run::{RunAsk, RunState};
use gristmill_core::PreparePlan;

impl StepState for RunState {
    fn stops(&self, _: &Answers) -> usize {
        1
    }

    fn focus(&self) -> usize {
        0
    }

    fn set_focus(&mut self, _: usize) {}

    fn context(&self, _: &Answers) -> Context {
        RunState::context(self)
    }

    fn act(&mut self, action: Action, answers: &Answers) -> Vec<Ask> {
        let ask = self.follow(action).map(|ask| match ask {
            RunAsk::Cancel => Ask::Cancel,
            RunAsk::Background => Ask::Background,
            RunAsk::Leave => Ask::Leave,
            RunAsk::Retry => Ask::Start,
            RunAsk::Browse => Ask::Browse,
            RunAsk::Splits => Ask::Splits,
            RunAsk::Problems(action) => Ask::Problems(action),
            RunAsk::TooLate => Ask::TooLate,
            RunAsk::Copy => Ask::Copy(view::loader_snippet(answers)),
        });
        ask.into_iter().collect()
    }

    fn refresh(&mut self, _: &Answers) {}

    fn write(&self, _: &Answers, _: &mut PreparePlan) {}

    fn adopt(&mut self, _: &PreparePlan, _: &Answers) {}

    fn flags(&self, _: &Answers) -> String {
        String::new()
    }

    fn blocker(&self, _: &Answers) -> Option<String> {
        None
    }

    fn has_inner(&self) -> bool {
        self.asks_cancel
    }

    fn point(&mut self, _: Spot, pointed: Pointed, _: &Answers) {
        pointed.apply(&mut self.problems.list);
    }
}

#[cfg(test)]
pub(super) mod tests;
